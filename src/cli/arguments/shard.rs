//! The arguments of the `shard` commands.

use super::run::WorkerArguments;
use super::stage::WorkArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The `shard` commands.
#[derive(Debug, Subcommand)]
pub enum ShardCommand {
    /// Make shard K of a plan; repeating it, on any machine, is harmless
    #[command(
        after_help = "In a Slurm array K is $SLURM_ARRAY_TASK_ID.\n\nExample: renma shard run plan.json 0"
    )]
    Run {
        /// The plan
        plan: PathBuf,
        /// The shard, counted from 0
        #[arg(value_name = "K")]
        shard: u32,
    },
    /// Show which shards of a plan are done, and which to run now
    #[command(after_help = "Example: renma shard status plan.json --json")]
    Status {
        /// The plan
        plan: PathBuf,
        /// Of a match, run at most this many batches of 8 pairs beyond the last look at the score
        #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
        ahead: u32,
    },
    /// Run the shards of a plan on Dask workers or by a command, until it is ready to finish;
    /// repeat it to resume
    #[command(
        after_help = "A command, such as 'renma shard run {plan} {shard}', runs in this folder, without a shell, as many at once as --workers says. Exit code 75 and deaths by signal are retried.\n\nExample: renma shard drive plan.json --on dask"
    )]
    Drive(DriveArguments),
    /// Check the shards, and make the rest of the stage: manifest, statistics or verdict
    #[command(
        after_help = "It prints what the stage itself prints, and has its exit code.\n\nExample: renma shard finish plan.json"
    )]
    Finish {
        /// The plan
        plan: PathBuf,
        /// The seed that chooses the games to play again [default: a new one each time, printed]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        #[command(flatten)]
        work: WorkArguments,
    },
}

/// Where the shards of a plan run.
#[derive(Args, Debug)]
pub struct DriveArguments {
    /// The plan
    pub plan: PathBuf,
    /// `dask`, or a command with {plan} and {shard} in it
    #[arg(long, value_name = "HOW")]
    pub on: String,
    #[command(flatten)]
    pub workers: WorkerArguments,
    #[command(flatten)]
    pub work: WorkArguments,
}
