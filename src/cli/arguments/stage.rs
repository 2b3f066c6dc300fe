//! The arguments of the stages of a run.

use super::{ConfigArguments, folder, generation};
use crate::artifact::ModelRef;
use crate::generation::Generation;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// The commands of the stages.
#[derive(Debug, Subcommand)]
pub enum StageCommand {
    /// Play games and write their positions with deep-search scores
    Generate(GenerateArguments),
    /// Train a new model version on datasets
    Train(TrainArguments),
    /// Fit MPC statistics to a model, as a new version
    FitMpc(FitMpcArguments),
    /// Play a paired match and give a verdict
    Gate(GateArguments),
}

/// What every stage takes.
#[derive(Args, Debug)]
pub struct StageArguments {
    #[command(flatten)]
    pub config: ConfigArguments,
    /// The registry of the run, for new versions, version ids and `champion` [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
    #[command(flatten)]
    pub work: WorkArguments,
    /// Write the plan of its shards to a new file instead, for renma shard; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "budget")]
    pub plan: Option<PathBuf>,
    /// Number of shards; fewer if the stage has fewer parts [default: one per 3 minutes of work, at
    /// least 32; train: at least 16; gate: 100]
    #[arg(long, value_name = "N", requires = "plan", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub shards: Option<u32>,
    /// Overwrite another plan
    #[arg(long, requires = "plan", hide_short_help = true)]
    pub force: bool,
}

/// A size with its unit: a bare 4 is meant as gigabytes, and would be 4 bytes.
pub fn memory(text: &str) -> Result<ByteSize, &'static str> {
    let size = text
        .parse()
        .ok()
        .filter(|_| text.contains(char::is_alphabetic));
    size.ok_or("expected a number with its unit, such as --memory 4GB")
}

/// The time limit of a stage.
#[derive(Args, Debug)]
pub struct WorkArguments {
    /// Time limit (90s, 30m, 2h, 1h30m): stop at the end of a part, an epoch or a batch, with exit
    /// code 12
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub budget: Option<Duration>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma generate --config configs/default.toml --generation 1 --output datasets/try/selfplay/generation=0001"
)]
pub struct GenerateArguments {
    #[command(flatten)]
    pub stage: StageArguments,
    /// The model that plays: a folder, a version id, `champion` or a built-in [default: champion,
    /// else run.start]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<ModelRef>,
    /// The generation, counted from 1
    #[arg(long, default_value_t = Generation::FIRST, value_name = "G", value_parser = generation())]
    pub generation: Generation,
    /// The dataset folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub output: PathBuf,
    /// Overwrite a result of other inputs in the output folder
    #[arg(long)]
    pub replace: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma train --config configs/default.toml --dataset datasets/try/selfplay/generation=0001 --models models/try"
)]
pub struct TrainArguments {
    #[command(flatten)]
    pub stage: StageArguments,
    /// Dataset folders, oldest first
    #[arg(long, required = true, num_args = 1.., value_name = "DIR")]
    pub dataset: Vec<PathBuf>,
    /// The model to start from [default: zero weights]
    #[arg(long, value_name = "MODEL")]
    pub parent: Option<ModelRef>,
    /// Memory for rows (500MiB, 4GiB); beyond it they go to a scratch file. Does not affect the
    /// output
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = memory)]
    pub memory: ByteSize,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma fit-mpc --config configs/default.toml --model v0001 --models models/try"
)]
pub struct FitMpcArguments {
    #[command(flatten)]
    pub stage: StageArguments,
    /// The model to fit
    #[arg(long, value_name = "MODEL")]
    pub model: ModelRef,
    /// The generation of the samples, counted from 1
    #[arg(long, default_value_t = Generation::FIRST, value_name = "G", value_parser = generation())]
    pub generation: Generation,
    /// Keep the samples in this dataset folder
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub output: Option<PathBuf>,
    /// Overwrite a result of other inputs in the output folder
    #[arg(long)]
    pub replace: bool,
}

#[derive(Args, Debug)]
#[command(
    override_usage = "renma gate [OPTIONS] --config <FILE> --candidate <MODEL>\n                  --baseline <MODEL> --output <DIR>",
    after_help = "Exit codes: 0 accepted, 10 rejected, 11 inconclusive, 12 budget spent first.\n\nExample: renma gate --config configs/default.toml --candidate v0002 --baseline builtin:square-weights --models models/try --avoid datasets/try/selfplay/generation=0001 --output datasets/try/gate/generation=0001"
)]
pub struct GateArguments {
    #[command(flatten)]
    pub stage: StageArguments,
    /// The model that may become champion
    #[arg(long, value_name = "MODEL")]
    pub candidate: ModelRef,
    /// Its opponent
    #[arg(long, value_name = "MODEL")]
    pub baseline: ModelRef,
    /// Datasets whose positions must not be openings, such as those the candidate was trained on
    #[arg(long, num_args = 1.., value_name = "DATASET")]
    pub avoid: Vec<PathBuf>,
    /// The generation, counted from 1; it determines the openings
    #[arg(long, default_value_t = Generation::FIRST, value_name = "G", value_parser = generation())]
    pub generation: Generation,
    /// Play this number of pairs, without a sequential test [default: as the config says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub pairs: Option<u64>,
    /// The dataset folder of the games
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub output: PathBuf,
    /// Overwrite a result of other inputs in the output folder
    #[arg(long)]
    pub replace: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma promote models/try/v0002 --verdict datasets/try/gate/generation=0001"
)]
pub struct PromoteArguments {
    /// The version: a folder, or an id with --models
    #[arg(
        required_unless_present = "rollback",
        conflicts_with = "rollback",
        value_name = "MODEL"
    )]
    pub model: Option<ModelRef>,
    /// Take back the last promotion; each call takes back one more
    #[arg(long)]
    pub rollback: bool,
    /// Promote only if this gate accepted the model; a verdict acts once
    #[arg(long, value_name = "DIR", conflicts_with = "rollback")]
    pub verdict: Option<PathBuf>,
    /// The registry [default: the model's, else models/default]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
}
