//! The arguments of the commands about a run as a whole.

use super::{Choice, SettingArguments, choice, folder, generation, stage_name};
use crate::artifact::ArtifactError;
use crate::artifact::publish::{check_folder, exists};
use crate::config::{ConfigError, LoadedConfig, load_config_with};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use crate::run::folders::check_registry;
use crate::run::invocation::Invocation;
use crate::run::metrics::MetricsFormat;
use crate::run::next::Generations;
use clap::Args;
use std::env::current_dir;
use std::path::{Path, PathBuf};
use std::time::Duration;

const METRICS_FORMATS: [Choice<MetricsFormat>; 4] = [
    (MetricsFormat::Bmf, "bmf", "Bencher Metric Format, JSON"),
    (
        MetricsFormat::BenchmarkBigger,
        "benchmark-bigger",
        "customBiggerIsBetter of github-action-benchmark",
    ),
    (
        MetricsFormat::BenchmarkSmaller,
        "benchmark-smaller",
        "customSmallerIsBetter of github-action-benchmark",
    ),
    (
        MetricsFormat::Openmetrics,
        "openmetrics",
        "OpenMetrics, the text that Prometheus reads",
    ),
];

/// A run and its folders.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// The config: a file, or one of the program, such as builtin:default
    #[arg(long, value_name = "FILE", default_value = "configs/default.toml")]
    pub config: PathBuf,
    #[command(flatten)]
    pub set: SettingArguments,
    /// The registry [default: models/RUN]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
    /// The datasets [default: datasets/RUN]
    #[arg(long, value_name = "DIR")]
    pub datasets: Option<PathBuf>,
}

impl RunArguments {
    /// The config, and the run as a command line names it.
    pub fn load(&self) -> anyhow::Result<(LoadedConfig, Invocation)> {
        check_named_registry(self.models.as_deref())?;
        Ok(invocation(
            &self.config,
            &self.set,
            self.models.as_deref(),
            self.datasets.as_deref(),
        )?)
    }
}

/// A config with its settings, and the run in these folders, else in its own, as a command line
/// names it.
pub fn invocation(
    config: &Path,
    set: &SettingArguments,
    models: Option<&Path>,
    datasets: Option<&Path>,
) -> Result<(LoadedConfig, Invocation), ConfigError> {
    let loaded = load_config_with(config, &set.settings)?;
    let invocation = Invocation {
        config: from_here(config),
        settings: set
            .settings
            .iter()
            .map(|setting| setting.line().to_owned())
            .collect(),
        models: registry_folder(models, &loaded.name),
        datasets: datasets.map_or_else(|| Path::new("datasets").join(&loaded.name), Path::to_owned),
    };
    Ok((loaded, invocation))
}

/// An error unless the registry that a command names exists and is one; one that it does not name
/// need not exist yet.
pub fn check_named_registry(named: Option<&Path>) -> Result<(), ArtifactError> {
    match named.map_or(Ok(()), check_folder) {
        Err(ArtifactError::Missing { path }) => {
            let reason = "it does not exist\nname the registry of a run, such as models/default";
            Err(ArtifactError::refused("read", &path, reason))
        }
        other => other.and_then(|()| named.map_or(Ok(()), check_registry)),
    }
}

/// [`check_named_registry`] where the registry need not exist yet, or need not be read.
pub fn check_own_registry(named: Option<&Path>) -> Result<(), ArtifactError> {
    if named.map_or(Ok(false), exists)? {
        return check_named_registry(named);
    }
    Ok(())
}

/// The registry of a command without a run that names none.
pub const DEFAULT_REGISTRY: &str = "models/default";

/// The registry that a command without a run names, which must exist, else the default one.
pub fn named_registry(named: Option<&Path>) -> Result<PathBuf, ArtifactError> {
    check_named_registry(named)?;
    Ok(named.unwrap_or(Path::new(DEFAULT_REGISTRY)).to_owned())
}

/// The registry that a command names, else that of the run.
pub fn registry_folder(named: Option<&Path>, run: &str) -> PathBuf {
    named.map_or_else(|| Path::new("models").join(run), Path::to_owned)
}

/// A path as someone in this folder would type it, so that a page does not depend on where the
/// folder is.
fn from_here(path: &Path) -> PathBuf {
    let here = current_dir().ok();
    let inside = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    inside.unwrap_or_else(|| path.to_owned())
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma status --config configs/nightly.toml --format openmetrics")]
pub struct StatusArguments {
    /// Show only this stage, one line per generation
    #[arg(value_parser = stage_name(), value_name = "STAGE")]
    pub stage: Option<Stage>,
    #[command(flatten)]
    pub run: RunArguments,
    /// Print all columns of the table, however narrow the terminal
    #[arg(long)]
    pub wide: bool,
    /// Print Elo, exact MAE, speed and CPU seconds for a tool that draws trends
    #[arg(long, value_parser = choice(&METRICS_FORMATS), value_name = "FORMAT", conflicts_with_all = ["stage", "wide", "json"])]
    pub format: Option<MetricsFormat>,
}

/// A run of the loop.
#[derive(Args, Debug)]
#[command(
    after_help = "The datasets are written to datasets/RUN, the models to models/RUN, and a summary for machines to models/RUN/run.json. Finished generations are never touched: a changed key ends the run with 2, unless --from-next or --restart says what to do. The same command, without --restart, resumes a run that was stopped.\n\nExample: renma run --config configs/nightly.toml --budget 2h"
)]
pub struct LoopArguments {
    /// Work in this folder; --config stays relative to the current one
    #[arg(short = 'C', value_name = "DIR", default_value = ".", value_parser = folder())]
    pub folder: PathBuf,
    /// The config: a file, or one of the program, such as builtin:smoke; the run is named after it
    /// [default: configs/default.toml in DIR]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub set: SettingArguments,
    /// The last generation; +N: this number of new ones [default: run.generations]
    #[arg(long, value_name = "N")]
    pub generations: Option<Generations>,
    /// Time limit (90s, 30m, 2h, 1h30m): stop at the end of a part, an epoch or a batch, with exit
    /// code 12
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub budget: Option<Duration>,
    /// Where the stages run: local, dask, or a command with {plan} and {shard} in it that runs one
    /// shard
    #[arg(long, value_name = "HOW", default_value = "local")]
    pub on: String,
    #[command(flatten)]
    pub workers: WorkerArguments,
    /// Use a changed config from the next generation on; one that has begun keeps its own
    #[arg(long, conflicts_with = "restart")]
    pub from_next: bool,
    /// Remove generation G and all after it, after printing what is lost, and make them again
    #[arg(long, value_name = "G", value_parser = generation())]
    pub restart: Option<Generation>,
    /// Print what the run would do, how long it takes and what it needs, and write nothing; with
    /// -v, what its next generation asks of the stages, as lines of JSON
    #[arg(long)]
    pub dry_run: bool,
    /// End with the code of the last gate: 0 accepted, 10 rejected, 11 inconclusive
    #[arg(long)]
    pub exit_verdict: bool,
}

/// The machines that run shards.
#[derive(Args, Clone, Debug)]
pub struct WorkerArguments {
    /// Number of shards that run at once: commands, or Dask workers on this machine [default: all
    /// cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), conflicts_with = "scheduler")]
    pub workers: Option<u32>,
    /// A Dask scheduler of yours, reached with the Python in RENMA_PYTHON [default: one on this
    /// machine]
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub scheduler: Option<String>,
    /// Permit a scheduler on another machine without TLS
    #[arg(long, requires = "scheduler", hide_short_help = true)]
    pub insecure: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: renma gc --config configs/nightly.toml --dry-run")]
pub struct GcArguments {
    #[command(flatten)]
    pub run: RunArguments,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}
