//! The arguments of the commands that value positions and play.

use super::stage::memory;
use crate::artifact::ModelRef;
use crate::config::setting::Setting;
use crate::engine::MpcLevel;
use crate::pipeline::level;
use crate::play::clock::parse_seconds;
use crate::play::levels::{Level, levels_text};
use bytesize::ByteSize;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Positions, and the model that values them.
#[derive(Args, Debug)]
pub struct PositionsArguments {
    /// Positions, one per line: in OBF, or as a game that leads to it, f5d6c3... or GGF; `-` for
    /// stdin, or the moves of one game
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    #[command(flatten)]
    pub model: ModelArguments,
}

#[derive(Args, Debug)]
#[command(
    after_help = "If there are fewer positions than threads, all threads work on each: scores stay the same, but nodes and the \
                  choice among equal moves vary.\n\nExample: renma solve positions.obf --threads 1 --json"
)]
pub struct SolveArguments {
    #[command(flatten)]
    pub positions: PositionsArguments,
    /// Transposition tables of all threads together [default: 16MiB per thread]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<ByteSize>,
}

/// The model of a command without a run.
#[derive(Args, Debug)]
pub struct ModelArguments {
    /// The model [default: champion, else builtin:champion]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<ModelRef>,
    /// The registry for version ids and `champion` [default: models/default]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "If the file lists exact scores of moves, as OBF can, the mean absolute error, the bias and the share of best \
                  moves follow.\n\nExample: renma eval positions.obf --model builtin:square-weights --depth 8 --moves --json"
)]
pub struct EvalArguments {
    #[command(flatten)]
    pub positions: PositionsArguments,
    /// Search depth in plies; 0 is the static value [default: 0, or 8 with --review]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub depth: Option<u8>,
    /// Solve positions with at most this many empty squares [default: 0, or 14 with --review]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub exact_empties: Option<u8>,
    /// Selective search: the confidence of a cut, 50 to 99 %, 100 for full width, or t=1.4 for that
    /// many sigmas [default: 100, or generate.mpc_level of --config]
    #[arg(long, value_name = "LEVEL", value_parser = level::parse)]
    pub mpc_level: Option<MpcLevel>,
    /// Search as in this config: with its generate.mpc_level, and its table [selective] if it has
    /// one
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Another value for a key of the config, such as train.epochs=3; repeat it for more keys
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "config")]
    pub settings: Vec<Setting>,
    /// Print the value of each legal move, and the value by which the search orders it
    #[arg(long)]
    pub moves: bool,
    /// Review each game: what every move lost against the best one, and the turning points, which
    /// lost 2 discs or more
    #[arg(long)]
    pub review: bool,
}

#[derive(Args, Debug)]
#[command(after_help = format!("{}\n\nExample: renma play --level casual", levels_text()))]
pub struct PlayArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// How strong the engine plays at first, by number or by name
    #[arg(long, value_name = "LEVEL", default_value_t = Level::DEFAULT)]
    pub level: Level,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma serve --model champion")]
pub struct ServeArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Port on 127.0.0.1; 0 is a free one
    #[arg(long, value_name = "N", default_value_t = 8064)]
    pub port: u16,
}

/// An engine that another program plays with.
#[derive(Args, Debug)]
pub struct EngineArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Search depth in plies; a program may set another by NBoard's `set depth` [default: 8, or no
    /// limit with a time limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=60))]
    pub depth: Option<u8>,
    /// Seconds per move; clocks that the other program sets hold too [default: no limit]
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub seconds: Option<Duration>,
    /// Positions visited per search at most [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Solve positions with at most this many empty squares [default: 14, or what the time allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub exact_empties: Option<u8>,
    /// Prove who wins with at most this many empty squares
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub wld_empties: u8,
    /// Selective search: the confidence of a cut, 50 to 99 %, 100 for full width, or t=1.4 for that
    /// many sigmas
    #[arg(long, value_name = "LEVEL", default_value = "100", value_parser = level::parse)]
    pub mpc_level: MpcLevel,
}
