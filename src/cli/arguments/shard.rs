//! The arguments of the `shard` commands.

use super::run::WorkerArguments;
use super::stage::{StageRun, WorkArguments, memory};
use super::{folder, stage_name};
use crate::pipeline::stage::Stage;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The `shard` commands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ShardCommand {
    /// Write a plan: a stage divided into shards, with everything that determines its output
    #[command(
        after_help = "--stage decides which options are needed: those of the command of that name, with the same meaning.\n\nExample: renma shard plan plan.json --config configs/default.toml --shards 8 --output datasets/try/selfplay/generation=0001"
    )]
    Plan(Box<PlanArguments>),
    /// Make shard K of a plan; repeating it, on any machine, is harmless
    #[command(after_help = "In a Slurm array K is $SLURM_ARRAY_TASK_ID.\n\nExample: renma shard run plan.json 0")]
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
    /// Run the shards of a plan on Dask workers or by a command, until it is ready to finish; repeat it to resume
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

#[derive(Args, Debug)]
pub(in crate::cli) struct PlanArguments {
    /// The plan, a new file; `-` for stdout
    pub(in crate::cli) plan: PathBuf,
    /// Overwrite another plan
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) force: bool,
    /// The stage to divide
    #[arg(long, value_parser = stage_name(), default_value_t = Stage::Generate, value_name = "STAGE")]
    pub(in crate::cli) stage: Stage,
    /// Number of shards; fewer if the stage has fewer parts [default: one per 3 minutes of work, at least 32; train: at least 16; gate: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(in crate::cli) shards: Option<u32>,
    #[command(flatten)]
    pub(in crate::cli) run: StageRun,
    /// generate: the model that plays [default: champion, else run.start]; fit-mpc: the model to fit
    #[arg(long, value_name = "MODEL")]
    pub(in crate::cli) model: Option<String>,
    /// The generation, counted from 1
    #[arg(long, default_value_t = 1, value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) generation: u32,
    /// generate, fit-mpc, gate: the dataset folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(in crate::cli) output: Option<PathBuf>,
    /// train: dataset folders, oldest first
    #[arg(long, num_args = 1.., value_name = "DIR", required_if_eq("stage", Stage::Train.name()))]
    pub(in crate::cli) dataset: Vec<PathBuf>,
    /// train: the model to start from [default: zero weights]
    #[arg(long, value_name = "MODEL")]
    pub(in crate::cli) parent: Option<String>,
    /// train: memory for the rows of a shard [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = memory, hide_short_help = true)]
    pub(in crate::cli) memory: Option<ByteSize>,
    /// gate: the model that may become champion
    #[arg(long, value_name = "MODEL", required_if_eq("stage", Stage::Gate.name()))]
    pub(in crate::cli) candidate: Option<String>,
    /// gate: its opponent
    #[arg(long, value_name = "MODEL", required_if_eq("stage", Stage::Gate.name()))]
    pub(in crate::cli) baseline: Option<String>,
    /// gate: datasets whose positions must not be openings
    #[arg(long, num_args = 1.., value_name = "DATASET")]
    pub(in crate::cli) avoid: Vec<PathBuf>,
    /// generate, fit-mpc, gate: overwrite a result of other inputs in the output folder
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) replace: bool,
}

/// Where the shards of a plan run.
#[derive(Args, Debug)]
pub(in crate::cli) struct DriveArguments {
    /// The plan
    pub(in crate::cli) plan: PathBuf,
    /// `dask`, or a command with {plan} and {shard} in it
    #[arg(long, value_name = "HOW")]
    pub(in crate::cli) on: String,
    #[command(flatten)]
    pub(in crate::cli) workers: WorkerArguments,
    #[command(flatten)]
    pub(in crate::cli) work: WorkArguments,
}
