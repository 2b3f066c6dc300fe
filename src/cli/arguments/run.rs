//! The arguments of the commands about a run as a whole.

use super::{SettingArguments, stage_name};
use crate::pipeline::stage::Stage;
use crate::run::next::Generations;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// A run and its folders.
#[derive(Args, Debug)]
pub(in crate::cli) struct RunArguments {
    /// The config: a file, or one of the program, such as builtin:default
    #[arg(long, value_name = "FILE", default_value = "configs/default.toml")]
    pub(in crate::cli) config: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) set: SettingArguments,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub(in crate::cli) models: Option<PathBuf>,
    /// The datasets [default: datasets/RUN]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) datasets: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma status train --config configs/default.toml")]
pub(in crate::cli) struct StatusArguments {
    /// Show only this stage, one line per generation
    #[arg(value_parser = stage_name(), value_name = "STAGE")]
    pub(in crate::cli) stage: Option<Stage>,
    #[command(flatten)]
    pub(in crate::cli) run: RunArguments,
    /// Print all columns of the table, however narrow the terminal
    #[arg(long)]
    pub(in crate::cli) wide: bool,
    /// Print what the next generation needs, as name=value lines
    #[arg(long, conflicts_with_all = ["stage", "key", "record"])]
    pub(in crate::cli) next: bool,
    #[command(flatten)]
    pub(in crate::cli) pipeline: PipelineArguments,
}

/// What only pipeline.sh asks for.
#[derive(Args, Debug)]
pub(in crate::cli) struct PipelineArguments {
    /// Print the value of one key, `table.key`, or `run.name`, and nothing else
    #[arg(long, hide = true, value_name = "KEY", conflicts_with_all = ["stage", "record"])]
    pub(in crate::cli) key: Option<String>,
    /// Lock the run by the open file on stdin, for as long as any process has it open
    #[arg(long, hide = true, conflicts_with_all = ["stage", "key", "record", "next"])]
    pub(in crate::cli) lock: bool,
    /// With --next: lock likewise, take the config into the run, and begin the generation
    #[arg(long, hide = true, requires = "next")]
    pub(in crate::cli) begin: bool,
    /// Print what the rest of the run is expected to take, after a trial of two seconds; the next generation must fit on the disk
    #[arg(long, hide = true, conflicts_with_all = ["stage", "key", "record", "next"])]
    pub(in crate::cli) forecast: bool,
    /// With --begin: the seconds that the forecast said
    #[arg(long, hide = true, requires = "begin", value_name = "SECONDS")]
    pub(in crate::cli) expect: Option<f64>,
    /// With --begin or --forecast: the last generation, or + and a number
    #[arg(long, hide = true, value_name = "N")]
    pub(in crate::cli) generations: Option<Generations>,
    /// With --begin: apply a changed config from the next generation on
    #[arg(long, hide = true, conflicts_with = "restart")]
    pub(in crate::cli) from_next: bool,
    /// With --begin or --forecast: remove everything from this generation on
    #[arg(long, hide = true, value_name = "G", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::cli) restart: Option<u32>,
    /// Write a summary for machines to a file: the calls of the run's log, counts, figures, verdict
    #[arg(long, hide = true, value_name = "FILE", requires = "since", conflicts_with = "stage")]
    pub(in crate::cli) record: Option<PathBuf>,
    /// With --record: when the pipeline began, in seconds since 1970
    #[arg(long, hide = true, value_name = "SECONDS")]
    pub(in crate::cli) since: Option<u64>,
    /// With --record: the exit code of the pipeline, unless it is still running
    #[arg(long, hide = true, value_name = "CODE")]
    pub(in crate::cli) code: Option<u8>,
    /// With --record: the pipeline's budget
    #[arg(long, hide = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(in crate::cli) budget: Option<Duration>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma report --config configs/nightly.toml")]
pub(in crate::cli) struct ReportArguments {
    #[command(flatten)]
    pub(in crate::cli) run: RunArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma gc --config configs/nightly.toml --dry-run")]
pub(in crate::cli) struct GcArguments {
    #[command(flatten)]
    pub(in crate::cli) run: RunArguments,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}
