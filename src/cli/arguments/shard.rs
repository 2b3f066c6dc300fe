//! The arguments of the `shard` commands.

use super::stage::GenerateArguments;
use clap::Subcommand;
use std::path::PathBuf;

/// The `shard` commands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ShardCommand {
    /// Write a plan: self-play divided into shards, with everything that determines the games
    #[command(
        after_help = "Example: renma shard plan plan.json --config configs/default.toml --shards 8 --output datasets/try/selfplay/generation=0001"
    )]
    Plan {
        /// The plan, a new file; `-` for stdout
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// Overwrite another plan
        #[arg(long)]
        force: bool,
        /// Number of shards; fewer if there are fewer parts
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        shards: u32,
        #[command(flatten)]
        task: GenerateArguments,
    },
    /// Make shard K of a plan; repeating it, on any machine, is harmless
    #[command(after_help = "In a Slurm array K is $SLURM_ARRAY_TASK_ID.\n\nExample: renma shard run plan.json 0")]
    Run {
        /// The plan
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// The shard, counted from 0
        #[arg(value_name = "K")]
        shard: u32,
    },
    /// Check that all shards are there, play a sample of their games again, and publish the manifest
    #[command(after_help = "Example: renma shard finish plan.json")]
    Finish {
        /// The plan
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// The seed that chooses the games to play again [default: a new one each time, printed]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
}
