//! The arguments of the `bench` commands.

use super::ConfigArguments;
use crate::artifact::ModelRef;
use crate::engine::MpcLevel;
use crate::pipeline::level;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The `bench` commands.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Count move paths from the start: one thread, no hash table
    #[command(after_help = "Example: renma bench perft --depth 11 --json")]
    Perft {
        /// Depth in plies
        #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=14))]
        depth: u8,
    },
    /// Search midgame positions, one thread; the node count is a signature
    #[command(after_help = "Example: renma bench search --depth 8 --model models/default/v0002")]
    Search(BenchSearchArguments),
    /// Solve positions of games near their end, one thread
    #[command(
        after_help = "Example: renma bench endgame --depth 14,18,20 --model builtin:champion"
    )]
    Endgame(BenchEndgameArguments),
    /// Train on the rows of a dataset in memory, without publishing a model
    #[command(
        after_help = "Example: renma bench train --config configs/default.toml --dataset datasets/default/selfplay/generation=0001"
    )]
    Train {
        #[command(flatten)]
        config: ConfigArguments,
        /// The dataset folder
        #[arg(long, value_name = "DIR")]
        dataset: PathBuf,
    },
    /// Play games into a temporary folder
    #[command(
        after_help = "Example: renma bench generate --config configs/default.toml --games 200"
    )]
    Generate {
        #[command(flatten)]
        config: ConfigArguments,
        /// Number of games
        #[arg(long, default_value_t = 200, value_name = "N")]
        games: u64,
        /// The model that plays [default: run.start]
        #[arg(long, value_name = "MODEL")]
        model: Option<ModelRef>,
    },
}

#[derive(Args, Debug)]
pub struct BenchSearchArguments {
    /// Search depth in plies
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub depth: u8,
    /// Number of positions, made by random play
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub positions: u32,
    /// The model
    #[arg(long, default_value = "builtin:square-weights", value_name = "MODEL")]
    pub model: ModelRef,
    /// Selective search: the confidence of a cut, 50 to 99 %, 100 for full width, or t=1.4 for that
    /// many sigmas
    #[arg(long, default_value = "100", value_name = "LEVEL", value_parser = level::parse)]
    pub mpc_level: MpcLevel,
}

/// The arguments of `renma bench endgame`.
#[derive(Debug, Args)]
pub struct BenchEndgameArguments {
    /// Numbers of empty squares
    #[arg(long, default_value = "8", value_delimiter = ',', value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub depth: Vec<u8>,
    /// Number of positions for each, one per game of a plain player
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub positions: u32,
    /// The seed of the games
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// The model
    #[arg(long, default_value = "builtin:square-weights", value_name = "MODEL")]
    pub model: ModelRef,
}
