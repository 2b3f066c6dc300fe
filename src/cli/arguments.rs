//! The command line.

pub(super) mod bench;
pub(super) mod positions;
pub(super) mod run;
pub(super) mod shard;
pub(super) mod stage;

use crate::curate::export::ExportFormat;
use crate::curate::import::ImportFormat;
use crate::exit_code::MEANINGS;
use bench::BenchCommand;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use positions::{EvalArguments, SolveArguments};
use run::{GcArguments, StatusArguments};
use shard::ShardCommand;
use stage::{FitMpcArguments, GateArguments, GenerateCommandArguments, PromoteArguments, TrainArguments};
use std::path::{Path, PathBuf};

/// Trains Othello evaluation models by self-play.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = after_help())]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: GlobalArguments,
    #[command(subcommand)]
    pub(super) command: Command,
}

fn after_help() -> String {
    let codes = MEANINGS.iter().map(|(code, meaning)| format!("{code:>5}  {meaning}\n"));
    let codes: String = codes.collect();
    format!("Exit codes:\n{codes}\nEach command has an example in its --help. ./pipeline.sh runs whole generations.")
}

/// What every command takes.
#[derive(Args, Debug)]
pub(super) struct GlobalArguments {
    /// Print one machine-readable result on stdout
    #[arg(long, global = true, display_order = 100)]
    pub(super) json: bool,
    /// Progress on stderr: a bar, plain lines, none, or auto for a bar on a terminal and lines elsewhere
    #[arg(long, global = true, display_order = 101, value_enum, default_value = "auto", hide_possible_values = true)]
    #[arg(value_name = "HOW")]
    pub(super) progress: ProgressMode,
    /// Number of worker threads; does not affect the output [default: all cores]
    #[arg(long, global = true, display_order = 102, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
}

/// How to show progress; `Auto` is a bar on a terminal, else lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressMode {
    Auto,
    Bar,
    Plain,
    None,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Play games and write their positions with deep-search scores
    Generate(GenerateCommandArguments),
    /// Train a new model version on datasets
    Train(TrainArguments),
    /// Fit MPC statistics to a model, as a new version
    FitMpc(FitMpcArguments),
    /// Play a paired match and give a verdict
    Gate(GateArguments),
    /// Move the champion of a registry
    Promote(PromoteArguments),
    /// Show what is done, running, stale or missing in a run, and why
    Status(StatusArguments),
    /// Remove what a run no longer needs, and the remains of killed processes
    Gc(GcArguments),
    /// Check, summarize, import, export and merge datasets
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// List, show, verify, import and export models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Divide self-play into shards for other machines or processes, and merge them
    #[command(subcommand)]
    Shard(ShardCommand),
    /// Print static or searched values of positions
    Eval(EvalArguments),
    /// Print exact scores of positions
    Solve(SolveArguments),
    /// Measure speed, with node counts
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// The `dataset` commands.
#[derive(Debug, Subcommand)]
pub(super) enum DatasetCommand {
    /// Check hashes, schema and rows, replay every game, and recompute the verdict of a gate
    Verify(VerifyArguments),
    /// Summarize: counts, histograms, duplicates, variety, errors
    #[command(after_help = "Example: renma dataset inspect datasets/default/selfplay/generation=0001")]
    Inspect {
        /// The dataset folder
        #[arg(value_name = "DIR")]
        dataset: PathBuf,
    },
    /// Make a dataset from another program's games or positions
    Import(ImportArguments),
    /// Write all positions to one file in another program's format
    #[command(
        after_help = "Example: renma dataset export datasets/default/selfplay/generation=0001 --format csv --output positions.csv"
    )]
    Export {
        /// The dataset folder
        #[arg(value_name = "DIR")]
        dataset: PathBuf,
        /// The format
        #[arg(long, value_enum)]
        format: ExportFormat,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Merge datasets of positions into one, whose manifest names them
    #[command(
        after_help = "Example: renma dataset merge datasets/default/selfplay/generation=000* --output datasets/all/selfplay/generation=0001"
    )]
    Merge {
        /// The dataset folders, in order
        #[arg(required = true, value_name = "DIR")]
        datasets: Vec<PathBuf>,
        /// The dataset folder to make, which must not exist
        #[arg(long, value_name = "DIR", value_parser = folder())]
        output: PathBuf,
    },
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma dataset verify datasets/default/selfplay/generation=0001 --remake 1% --resolve 1%"
)]
pub(super) struct VerifyArguments {
    /// The dataset folder
    #[arg(value_name = "DIR")]
    pub(super) dataset: PathBuf,
    /// Skip the replay of games
    #[arg(long)]
    pub(super) fast: bool,
    /// Of self-play: also play this share of the games again from their random streams, and compare
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) remake: Option<f64>,
    /// Of positions: also solve this share of the exact rows again
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(super) resolve: Option<f64>,
    /// With --remake or --resolve: the seed that chooses games and rows [default: a new one each time, printed]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// With --remake: the registry of the model that played [default: models/RUN for datasets/RUN/..., else models/default]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
}

/// A file to write.
#[derive(Args, Debug)]
pub(super) struct OutputArguments {
    /// A new file; `-` for stdout. A named pipe is written to
    #[arg(long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Overwrite a file of the same format
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma dataset import WTH_2023.wtb --format wthor --output datasets/ffo/imported/2023")]
pub(super) struct ImportArguments {
    /// The file
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,
    /// Its format
    #[arg(long, value_enum)]
    pub(super) format: ImportFormat,
    /// The dataset folder, which must not exist
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(super) output: PathBuf,
    /// Skip bad records instead of stopping at the first; each is printed
    #[arg(long)]
    pub(super) keep_going: bool,
    /// Search the positions without a score to this depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub(super) label_depth: Option<u8>,
    /// With --label-depth: the model that searches [default: champion, else builtin:champion]
    #[arg(long, value_name = "MODEL", requires = "label_depth")]
    pub(super) model: Option<String>,
    /// The registry for version ids and `champion`
    #[arg(long, value_name = "REG", default_value = "models/default")]
    pub(super) models: PathBuf,
}

/// A folder to write: unlike a file it cannot be stdout.
fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new()
        .try_map(|path| if path == Path::new("-") { Err("`-` is stdout, and this is a folder") } else { Ok(path) })
}

/// A share as people write it: `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
    let share = digits.trim().parse::<f64>().map_err(|error| error.to_string())? / unit;
    if 0.0 < share && share <= 1.0 { Ok(share) } else { Err("expected more than 0 and at most 100%".into()) }
}

/// The `model` commands.
#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Print the versions of a registry as a table
    #[command(after_help = "Example: renma model list --models models/default")]
    List {
        /// The registry
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
        /// The datasets of the run [default: datasets/RUN beside models/RUN]
        #[arg(long, value_name = "DIR")]
        datasets: Option<PathBuf>,
    },
    /// Print one model with its lineage
    #[command(after_help = "Example: renma model show models/default/v0002")]
    Show {
        /// The model
        #[arg(value_name = "MODEL")]
        model: String,
        /// Tell what changed against this model
        #[arg(long, value_name = "MODEL")]
        against: Option<String>,
        /// The registry for version ids and `champion` [default: the model's, else models/default]
        #[arg(long, value_name = "REG")]
        models: Option<PathBuf>,
        /// The datasets of the run [default: datasets/RUN beside models/RUN]
        #[arg(long, value_name = "DIR")]
        datasets: Option<PathBuf>,
    },
    /// Check every byte of every version of a registry, and of the datasets and gates that they name
    #[command(after_help = "Example: renma model verify --models models/default")]
    Verify {
        /// The registry
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
        /// The datasets of the run [default: datasets/RUN beside models/RUN]
        #[arg(long, value_name = "DIR")]
        datasets: Option<PathBuf>,
    },
    /// Make a version from another program's file
    #[command(after_help = "Example: renma model import eval.dat --format es-cube-eval --models models/try")]
    Import {
        /// The file
        #[arg(value_name = "FILE")]
        input: PathBuf,
        /// Its format
        #[arg(long, value_enum)]
        format: ModelFormat,
        /// With mpc-dat: the model whose weights the statistics belong to
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// With mpc-dat: its deviations are this many sigmas
        #[arg(long, default_value_t = 1.4, value_name = "T")]
        t: f64,
        /// The registry
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
    },
    /// Write a model in another program's format
    #[command(
        after_help = "Example: renma model export --model models/try/v0001 --format es-cube-eval --output eval.dat"
    )]
    Export {
        /// The model
        #[arg(long, value_name = "MODEL")]
        model: String,
        /// The format
        #[arg(long, value_enum)]
        format: ModelFormat,
        #[command(flatten)]
        output: OutputArguments,
        /// With mpc-dat: write deviations of this many sigmas
        #[arg(long, default_value_t = 1.4, value_name = "T")]
        t: f64,
        /// The registry for version ids and `champion`
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
    },
}

/// Other programs' model formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ModelFormat {
    /// eval.dat: the 42,608 weights of es-cube
    EsCubeEval,
    /// mpc.dat: depth, offset and deviation from depth 3
    MpcDat,
}
