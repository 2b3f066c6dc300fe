//! What a command works with: threads, the stop flag, progress, and how to name things.

use super::arguments::{GlobalArguments, ProgressMode};
use super::output::{IS_JSON, IS_QUIET, IS_VERBOSE, detail, print, print_json, say};
use super::progress::Watcher;
use crate::artifact::model::reference::load_champion;
use crate::artifact::{ArtifactError, Builtin, LoadedModel, ModelRef};
use crate::engine::MpcLevel;
use crate::exit_code;
use crate::pipeline::{Context, Host, StageError};
use crate::play::signals::is_ignored;
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Raised when the work is to stop.
pub static STOP: AtomicBool = AtomicBool::new(false);
static BUDGET_SPENT: AtomicBool = AtomicBool::new(false);
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// One run of the program.
pub struct Session {
    pub json: bool,
    pub quiet: bool,
    pub threads: usize,
    /// For a search whose result varies with several threads: one unless `--threads` says
    /// otherwise.
    pub threads_per_position: usize,
    pub watcher: Watcher,
}

impl Session {
    pub fn start(arguments: &GlobalArguments) -> anyhow::Result<Self> {
        handle_signals()?;
        IS_JSON.store(arguments.json, Ordering::Relaxed);
        IS_QUIET.store(arguments.quiet, Ordering::Relaxed);
        IS_VERBOSE.store(arguments.verbose, Ordering::Relaxed);
        let progress = if arguments.quiet {
            ProgressMode::None
        } else {
            arguments.progress
        };
        Ok(Self {
            json: arguments.json,
            quiet: arguments.quiet,
            threads: arguments.threads.map_or_else(cores, usize::from),
            threads_per_position: arguments.threads.map_or(1, usize::from),
            watcher: Watcher::new(progress),
        })
    }

    pub fn context(&self) -> Context<'_> {
        Context {
            threads: self.threads,
            stop: &STOP,
            budget_spent: &BUDGET_SPENT,
            progress: &self.watcher,
            host: self,
        }
    }

    /// Ends the work at the end of a part, an epoch or a batch once this time has passed.
    pub fn limit(&self, budget: Option<Duration>) {
        let Some(budget) = budget else { return };
        self.watcher.set_budget(budget);
        if budget.is_zero() {
            BUDGET_SPENT.store(true, Ordering::Relaxed);
        }
        std::thread::spawn(move || {
            std::thread::sleep(budget);
            BUDGET_SPENT.store(true, Ordering::Relaxed);
        });
    }

    /// Prints a result as JSON if that was asked for.
    pub fn print_json(&self, result: &impl Serialize) -> anyhow::Result<()> {
        if self.json {
            print_json(result)
        } else {
            Ok(())
        }
    }

    /// Prints a result as JSON if that was asked for, else as text.
    pub fn answer(&self, json: &impl Serialize, text: &str) -> anyhow::Result<()> {
        if self.json {
            print_json(json)
        } else {
            Ok(print(text)?)
        }
    }

    /// Says in one line what a stage did, with its name in the column of all stages. The lines of a
    /// run stand below the heading of their generation.
    pub fn summarize(&self, stage: &str, text: &str, skipped: bool) {
        let again = if skipped { ", made before" } else { "" };
        say(&format!(
            "{}{stage:<9} {text}{again}",
            self.watcher.indent()
        ));
    }
}

/// Handles signals: the first stops the work gracefully, the second at once. One that the program
/// was started to ignore, such as SIGHUP by `nohup`, stays ignored.
fn handle_signals() -> anyhow::Result<()> {
    let mut signals = Signals::new(
        [SIGINT, SIGTERM, SIGHUP]
            .into_iter()
            .filter(|&signal| !is_ignored(signal)),
    )?;
    let obey = move || {
        for _ in signals.forever() {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(exit_code::INTERRUPTED.into());
            }
            say("stopping; press Ctrl-C again to abort at once");
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(obey)
        .map_err(StageError::Thread)?;
    // With a handler for it, a write beyond the limit of file sizes (`ulimit -f`) fails instead of
    // ending the program.
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(())
}

/// The clock, and the terminal.
impl Host for Session {
    fn say(&self, text: &str) {
        say(text);
    }

    fn detail(&self, text: &str) {
        detail(text);
    }

    fn unix_seconds(&self) -> u64 {
        // A clock before 1970 is not set; no result depends on it.
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs()
    }

    fn seconds(&self) -> f64 {
        BEGAN.elapsed().as_secs_f64()
    }

    fn cpu_seconds(&self) -> f64 {
        processor_time().as_secs_f64()
    }
}

/// The number of cores that this process may use.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The model of a command without a run.
pub struct ChosenModel {
    pub model: LoadedModel,
    /// Why it is this one, if the user named none.
    pub note: Option<String>,
}

impl ChosenModel {
    /// Says which model a command took, unless the user did.
    pub fn announce(&self, command: &str) {
        if let Some(note) = &self.note {
            say(&format!("{command}: with {} ({note})", self.model.id));
        }
    }
}

/// [`model_or_default`]; says which it took.
pub fn choose_model(
    command: &str,
    named: Option<&ModelRef>,
    models: &Path,
) -> Result<ChosenModel, ArtifactError> {
    let chosen = model_or_default(named, models)?;
    chosen.announce(command);
    Ok(chosen)
}

/// The model that a command without a run names, else the registry's champion, else the shipped
/// one.
pub fn model_or_default(
    named: Option<&ModelRef>,
    models: &Path,
) -> Result<ChosenModel, ArtifactError> {
    if let Some(name) = named {
        return Ok(ChosenModel {
            model: name.load(models)?,
            note: None,
        });
    }
    let (model, note) = match load_champion(models)? {
        Some(champion) => (champion, format!("the champion of {}", models.display())),
        None => (
            LoadedModel::builtin(Builtin::Champion),
            format!("no champion in {}", models.display()),
        ),
    };
    Ok(ChosenModel {
        model,
        note: Some(note),
    })
}

/// Says if a level was set for a model without MPC statistics; built-in players without them are
/// expected to play full width.
pub fn warn_without_statistics(setting: &str, level: MpcLevel, model: &LoadedModel) {
    if level != MpcLevel::FullWidth && model.model.mpc.is_empty() {
        let name = &model.id;
        let (kind, tell): (_, fn(&str)) = if model.document.is_some() {
            ("warning", say)
        } else {
            ("note", detail)
        };
        tell(&format!(
            "{kind}: {setting} {level} has no effect: {name} has no MPC statistics and searches full width"
        ));
    }
}

/// Wall and processor time since a moment.
pub struct Stopwatch {
    began: Instant,
    processor: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            processor: processor_time(),
        }
    }

    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Processor seconds of all threads of this process.
    pub fn processor_seconds(&self) -> f64 {
        processor_time()
            .saturating_sub(self.processor)
            .as_secs_f64()
    }
}

/// Processor time of all threads of this process, from its start.
pub fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}
