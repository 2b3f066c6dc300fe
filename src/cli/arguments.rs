//! The command line.

pub(super) mod config;

use super::work::duration;
use crate::curate::export::ExportFormat;
use crate::curate::import::ImportFormat;
use crate::pipeline::search_settings::LevelSetting;
use crate::run::next::Generations;
use crate::run::state::Stage;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use config::ConfigCommand;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes strong Othello evaluation models by self-play.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    after_help = "Run ./pipeline.sh for whole generations; each command has an example in its --help."
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
pub(super) struct Common {
    /// Print one machine-readable result on stdout
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// How to show progress on stderr
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "HOW")]
    pub(super) progress: ProgressMode,
    /// Threads to work with; they never change a byte [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,
}

/// What every stage of a run takes.
#[derive(Args, Debug)]
pub(super) struct WorkArguments {
    /// Stop after so long (90s, 30m, 2h, 1h30m), at the end of a part, an epoch or a batch, with exit code 12
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// Count the budget from this moment, in seconds since 1970 [default: now]
    #[arg(long, hide = true, requires = "budget", value_name = "SECONDS")]
    pub(super) since: Option<u64>,
    /// Append a line about this call, with its times, to a file
    #[arg(long, hide = true, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProgressMode {
    /// A bar on a terminal, else lines
    Auto,
    /// A bar
    Bar,
    /// A line every few seconds
    Plain,
    /// Nothing
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
    /// Show what a run has done, what is running, stale or missing, and why
    Status(StatusArguments),
    /// Remove what nothing reachable needs, and what killed runs left behind
    Gc(GcArguments),
    /// Show a config with everything that it leaves to the default
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check, summarize, import, export and merge datasets
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// List, show, verify, import and export models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Cut self-play into shards that any machines make, and join them
    #[command(subcommand)]
    Shard(ShardCommand),
    /// Print the static or searched value of positions
    Eval(EvalArguments),
    /// Print the exact score of positions
    Solve(SolveArguments),
    /// Measure speed, with node counts
    #[command(subcommand)]
    Bench(BenchCommand),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma generate --config configs/default.toml --generation 1 --output datasets/try/selfplay/generation=0001"
)]
pub(super) struct GenerateCommandArguments {
    #[command(flatten)]
    pub(super) task: GenerateArguments,
    /// If the output folder holds a result of other inputs, make it again instead of refusing
    #[arg(long, hide = true)]
    pub(super) replace: bool,
    #[command(flatten)]
    pub(super) work: WorkArguments,
}

/// The games to play, and by whom.
#[derive(Args, Debug)]
pub(super) struct GenerateArguments {
    /// The config file
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Who plays: a folder, a version id, `champion` or a built-in [default: champion, else run.start]
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// The generation, counted from 1
    #[arg(long, default_value_t = 1, value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) generation: u32,
    /// The dataset folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(super) output: PathBuf,
    /// The registry for version ids and `champion` [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma train --config configs/default.toml --dataset datasets/try/selfplay/generation=0001 --models models/try"
)]
pub(super) struct TrainArguments {
    /// The config file
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Dataset folders, oldest first
    #[arg(long, required = true, num_args = 1.., value_name = "DIR")]
    pub(super) dataset: Vec<PathBuf>,
    /// The model to improve upon [default: zero weights]
    #[arg(long, value_name = "MODEL")]
    pub(super) parent: Option<String>,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    #[command(flatten)]
    pub(super) work: WorkArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma fit-mpc --config configs/default.toml --model v0001 --models models/try")]
pub(super) struct FitMpcArguments {
    /// The config file
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// The model to measure
    #[arg(long, value_name = "MODEL")]
    pub(super) model: String,
    /// The generation the samples belong to, counted from 1
    #[arg(long, default_value_t = 1, value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) generation: u32,
    /// Keep the samples in this dataset folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(super) output: Option<PathBuf>,
    /// Draw the fit into this folder: scatter.svg, residual.svg, calibration.svg
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(super) report: Option<PathBuf>,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    /// If the output folder holds a result of other inputs, or the report folder other pictures, overwrite them
    #[arg(long)]
    pub(super) replace: bool,
    #[command(flatten)]
    pub(super) work: WorkArguments,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 accepted, 10 rejected, 11 inconclusive, 12 budget spent first.\n\nExample: renma gate --config configs/default.toml --candidate v0002 --baseline builtin:square-weights --models models/try --avoid datasets/try/selfplay/generation=0001 --output datasets/try/gate/generation=0001"
)]
pub(super) struct GateArguments {
    /// The config file
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Who wants to be champion
    #[arg(long, value_name = "MODEL")]
    pub(super) candidate: String,
    /// Whom it plays
    #[arg(long, value_name = "MODEL")]
    pub(super) baseline: String,
    /// Datasets whose positions are no openings, as those the candidate was trained on
    #[arg(long, num_args = 1.., value_name = "DATASET")]
    pub(super) avoid: Vec<PathBuf>,
    /// The generation, counted from 1; each has openings of its own
    #[arg(long, default_value_t = 1, value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) generation: u32,
    /// The dataset folder of the games
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub(super) output: PathBuf,
    /// The registry for version ids and `champion` [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    /// Play the games of a finished gate again and compare
    #[arg(long, conflicts_with = "replace")]
    pub(super) remake: bool,
    /// If the output folder holds a result of other inputs, make it again instead of refusing
    #[arg(long, hide = true)]
    pub(super) replace: bool,
    #[command(flatten)]
    pub(super) work: WorkArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma promote models/try/v0002 --verdict datasets/try/gate/generation=0001")]
pub(super) struct PromoteArguments {
    /// The version: a folder, or an id with --models
    #[arg(required_unless_present = "rollback", conflicts_with = "rollback", value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Take the last promotion back; each call takes back one more
    #[arg(long)]
    pub(super) rollback: bool,
    /// Promote only if this gate accepted the model; acts once
    #[arg(long, value_name = "DIR", conflicts_with = "rollback")]
    pub(super) verdict: Option<PathBuf>,
    /// The registry [default: the model's, else models/default]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    /// Append a line about this call, with its times, to a file
    #[arg(long, hide = true, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples: renma status --config configs/default.toml
          renma status train --config configs/default.toml
          renma status --config configs/default.toml --next

Example: renma status --config configs/default.toml --json")]
pub(super) struct StatusArguments {
    /// Show this stage alone, one line per generation
    #[arg(value_parser = stage_parser(), value_name = "STAGE")]
    pub(super) stage: Option<Stage>,
    /// The config file
    #[arg(long, value_name = "FILE", default_value = "configs/default.toml")]
    pub(super) config: PathBuf,
    /// Print what the next generation needs, as name=value lines
    #[arg(long, conflicts_with_all = ["stage", "key", "record"])]
    pub(super) next: bool,
    #[command(flatten)]
    pub(super) pipeline: PipelineArguments,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    /// The datasets of the run [default: datasets/RUN]
    #[arg(long, value_name = "DIR")]
    pub(super) datasets: Option<PathBuf>,
}

/// What only pipeline.sh asks for.
#[derive(Args, Debug)]
pub(super) struct PipelineArguments {
    /// Print the value of one key, `table.key`, or `run.name`, and nothing else
    #[arg(long, hide = true, value_name = "KEY", conflicts_with_all = ["stage", "record"])]
    pub(super) key: Option<String>,
    /// Lock the run by the open file on stdin, for as long as anyone has it open
    #[arg(long, hide = true, conflicts_with_all = ["stage", "key", "record", "next"])]
    pub(super) lock: bool,
    /// With --next: lock likewise, take the config into the run, and begin the generation
    #[arg(long, hide = true, requires = "next")]
    pub(super) begin: bool,
    /// With --begin: the last generation, or + and a number
    #[arg(long, hide = true, requires = "begin", value_name = "N")]
    pub(super) generations: Option<Generations>,
    /// With --begin: apply a changed config from the next generation on
    #[arg(long, hide = true, requires = "begin", conflicts_with = "restart")]
    pub(super) from_next: bool,
    /// With --begin: remove everything from this generation on
    #[arg(long, hide = true, requires = "begin", value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) restart: Option<u32>,
    /// Write a summary for machines to a file: the calls of the run's log, counts, figures, verdict
    #[arg(long, hide = true, value_name = "FILE", requires = "since", conflicts_with = "stage")]
    pub(super) record: Option<PathBuf>,
    /// With --record: when the pipeline began, in seconds since 1970
    #[arg(long, hide = true, value_name = "SECONDS")]
    pub(super) since: Option<u64>,
    /// With --record: how the pipeline ended; without it, it is still running
    #[arg(long, hide = true, value_name = "CODE")]
    pub(super) code: Option<u8>,
    /// With --record: the pipeline's budget
    #[arg(long, hide = true, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
}

/// The stages by their names.
fn stage_parser() -> impl TypedValueParser<Value = Stage> {
    let by_name = |name: String| Stage::ALL.into_iter().find(|stage| stage.name() == name);
    PossibleValuesParser::new(Stage::ALL.map(Stage::name))
        .map(move |name| by_name(name).expect("it is one of the names"))
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma gc --config configs/nightly.toml --dry-run")]
pub(super) struct GcArguments {
    /// The config file, whose run.keep_generations and run.window say what stays
    #[arg(long, value_name = "FILE", default_value = "configs/default.toml")]
    pub(super) config: PathBuf,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(super) models: Option<PathBuf>,
    /// The datasets of the run [default: datasets/RUN]
    #[arg(long, value_name = "DIR")]
    pub(super) datasets: Option<PathBuf>,
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

#[derive(Args, Debug)]
#[command(after_help = "Example: renma eval positions.obf --model builtin:square-weights --depth 8 --moves --json")]
pub(super) struct EvalArguments {
    /// Positions, one per line: in OBF, or as the moves of a game, f5d6c3..., whose last position counts; `-` for stdin
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,
    /// The model [default: champion, else builtin:champion]
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Plies to search; 0 is the static value
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub(super) depth: u8,
    /// Solve exactly from this many empty squares
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=60))]
    pub(super) exact_empties: u8,
    /// Selective search: the confidence of a cut, 50 to 99 %, 100 for full width, or t=1.4 for that many sigmas [default: 100,
    /// or generate.mpc_level of --config]
    #[arg(long, value_name = "LEVEL")]
    pub(super) mpc_level: Option<LevelSetting>,
    /// Search as this config says: with its table [selective], if it has one, and its generate.mpc_level
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Give the value of every legal move, and the value by which the search orders it
    #[arg(long)]
    pub(super) moves: bool,
    /// The registry for version ids and `champion`
    #[arg(long, value_name = "REG", default_value = "models/default")]
    pub(super) models: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma solve positions.obf --threads 1 --json")]
pub(super) struct SolveArguments {
    /// Positions, one per line: in OBF, or as the moves of a game, f5d6c3..., whose last position counts; `-` for stdin
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,
    /// The model that orders the moves [default: champion, else builtin:champion]
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// The registry for version ids and `champion`
    #[arg(long, value_name = "REG", default_value = "models/default")]
    pub(super) models: PathBuf,
}

/// The `shard` commands.
#[derive(Debug, Subcommand)]
pub(super) enum ShardCommand {
    /// Write a plan: self-play cut into shards, with all that decides it
    #[command(
        after_help = "Example: renma shard plan plan.json --config configs/default.toml --shards 8 --output datasets/try/selfplay/generation=0001"
    )]
    Plan {
        /// The plan to write: a new file; `-` for stdout
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// Overwrite another plan
        #[arg(long)]
        force: bool,
        /// How many shards; fewer if there are fewer parts
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        shards: u32,
        #[command(flatten)]
        task: GenerateArguments,
    },
    /// Make shard K of a plan; doing so again, anywhere, does no harm
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
        /// The seed that chooses the games to play again [default: another one each time, printed]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
}

/// The `bench` commands.
#[derive(Debug, Subcommand)]
pub(super) enum BenchCommand {
    /// Count move paths from the start, one thread, no hash
    #[command(after_help = "Example: renma bench perft --depth 11 --json")]
    Perft {
        /// Plies
        #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=14))]
        depth: u8,
    },
    /// Search midgame positions, one thread; the node count is a signature
    #[command(after_help = "Example: renma bench search --depth 8 --model models/default/v0002")]
    Search(BenchSearchArguments),
    /// Solve endgame positions, one thread
    #[command(after_help = "Example: renma bench endgame --depth 16")]
    Endgame(BenchSearchArguments),
    /// Apply the delta rule to the rows of a dataset in memory
    #[command(
        after_help = "Example: renma bench train --config configs/default.toml --dataset datasets/default/selfplay/generation=0001"
    )]
    Train {
        /// The config file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The dataset folder
        #[arg(long, value_name = "DIR")]
        dataset: PathBuf,
    },
    /// Play games into a temporary folder
    #[command(after_help = "Example: renma bench generate --config configs/default.toml --games 200")]
    Generate {
        /// The config file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Games to play
        #[arg(long, default_value_t = 200, value_name = "N")]
        games: u64,
        /// Who plays [default: run.start]
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(super) struct BenchSearchArguments {
    /// Plies to search, or empty squares to solve from
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub(super) depth: u8,
    /// Positions, made by random play
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) positions: u32,
    /// The model
    #[arg(long, default_value = "builtin:square-weights", value_name = "MODEL")]
    pub(super) model: String,
    /// Selective search: the confidence of a cut, 50 to 99 %, 100 for full width, or t=1.4 for that many sigmas
    #[arg(long, default_value = "100", value_name = "LEVEL")]
    pub(super) mpc_level: LevelSetting,
}
