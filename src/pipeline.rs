//! The stages: each reads artifacts, does its work on all cores and publishes artifacts. A stage
//! never names another stage; they meet on disk.

pub mod book;
pub mod fit_mpc;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod gate;
pub mod generate;
pub mod item_sample;
pub mod keys;
pub mod level;
pub mod parts;
pub mod promote;
pub mod proof;
pub mod request;
pub mod selective;
pub mod stage;
pub mod stages;
pub mod train;
pub mod version;
pub mod work;
mod workers;
pub mod yardstick;

use crate::artifact::ArtifactError;
use crate::engine::Stopped;
use crate::exit_code;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// The observer of a stage at work.
pub trait Progress: Sync {
    /// A task of `total` items begins.
    fn begin(&self, _task: &str, _total: u64, _unit: &str) {}

    /// Items of the task that were done before it began.
    fn resume(&self, _items: u64) {}

    /// Items that are done.
    fn advance(&self, _items: u64) {}

    /// The result of the task so far, in a few words.
    fn note(&self, _text: &str) {}

    /// The task is over.
    fn end(&self) {}
}

/// Nobody watches.
impl Progress for () {}

/// The program around a stage: a clock, on which no result depends, and someone to talk to.
pub trait Host: Sync {
    /// Prints a line for people, unless they asked for errors only.
    fn say(&self, _text: &str) {}

    /// Prints what only people who asked for details see.
    fn detail(&self, _text: &str) {}

    /// Seconds since 1970, UTC.
    fn unix_seconds(&self) -> u64 {
        0
    }

    /// Seconds since some moment.
    fn seconds(&self) -> f64 {
        0.0
    }

    /// Processor seconds of all threads of this process.
    fn cpu_seconds(&self) -> f64 {
        0.0
    }
}

/// No clock, and nobody to talk to.
impl Host for () {}

/// How many items a task has, and how many were done before it began.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// All of them.
    pub total: u64,
    /// Those that were done before.
    pub done: u64,
}

impl From<u64> for Amount {
    fn from(total: u64) -> Self {
        Self { total, done: 0 }
    }
}

/// What a stage needs from its surroundings.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Number of worker threads, at least 1; does not affect the output.
    pub threads: usize,
    /// Raised when the run is to stop.
    pub stop: &'a AtomicBool,
    /// Raised when the budget is spent: the stage stops at the end of a part or an epoch.
    pub budget_spent: &'a AtomicBool,
    /// The observer.
    pub progress: &'a dyn Progress,
    /// The program around it.
    pub host: &'a dyn Host,
}

/// Why a stage did not finish.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// An artifact could not be read or written.
    #[error(transparent)]
    Artifact(ArtifactError),
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// Valid input without any rows to work on.
    #[error("{0}")]
    NoRows(String),
    /// The stop flag was raised; finished work is kept.
    #[error("interrupted; run the same command again to resume")]
    Interrupted,
    /// The budget was spent first; finished work is kept.
    #[error("the budget is spent; run the same command again to resume")]
    BudgetSpent,
    /// A part that the result needs is not there yet.
    #[error("cannot finish {}: part {part} is missing\nrun the shard that makes it, then finish again", folder.display())]
    Unfinished {
        /// The first part that is missing.
        part: usize,
        /// The folder of the parts.
        folder: PathBuf,
    },
    /// Parts that come out differently when their games are played again.
    #[error("cannot trust {}: {} of its parts are false\n  {}\nremove them and run their shards again", folder.display(), parts.len(), listed(parts))]
    FalseParts {
        /// The folder of the parts.
        folder: PathBuf,
        /// The file of each, and what is false.
        parts: Vec<(PathBuf, String)>,
    },
    /// A part from which another begins is not there yet.
    #[error("cannot begin part {part}: part {needed} is missing in {}\nrun the shard that makes it first", folder.display())]
    TooEarly {
        /// The part to make.
        part: usize,
        /// The part from which it begins.
        needed: usize,
        /// The folder of the parts.
        folder: PathBuf,
    },
    /// A shard failed for good on another machine, or what runs shards there cannot continue.
    #[error("{text}")]
    Elsewhere {
        /// What happened and the remedy.
        text: String,
        /// The exit code that says so.
        code: u8,
    },
    /// A mistake of our own.
    #[error(
        "{stage} stopped at an error in renma: {message}\nreport it; what was finished is kept"
    )]
    Panic {
        /// The stage.
        stage: &'static str,
        /// What it said.
        message: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// The threads could not be started.
    #[error("cannot start the threads")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

fn listed(parts: &[(PathBuf, String)]) -> String {
    let named = parts
        .iter()
        .map(|(path, reason)| format!("{}: {reason}", path.display()));
    named.collect::<Vec<_>>().join("\n  ")
}

impl StageError {
    /// The exit code that says so.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Artifact(error) => error.exit_code(),
            Self::Setting(_) => exit_code::USAGE,
            Self::NoRows(_) | Self::FalseParts { .. } => exit_code::BAD_INPUT,
            Self::Interrupted => exit_code::INTERRUPTED,
            Self::Unfinished { .. }
            | Self::TooEarly { .. }
            | Self::Thread(_)
            | Self::Threads(_) => exit_code::TRY_AGAIN,
            Self::BudgetSpent => exit_code::BUDGET_SPENT,
            Self::Elsewhere { code, .. } => *code,
            Self::Panic { .. } => exit_code::OTHER,
        }
    }
}

impl From<ArtifactError> for StageError {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::Interrupted => Self::Interrupted,
            other => Self::Artifact(other),
        }
    }
}

impl From<Stopped> for StageError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
    }
}

impl Context<'_> {
    /// A pool of the worker threads.
    pub fn pool(&self) -> Result<rayon::ThreadPool, StageError> {
        Ok(rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.max(1))
            .build()?)
    }

    /// Works on a task of which the observer sees how much is done.
    pub fn observe<T>(
        &self,
        task: &str,
        amount: impl Into<Amount>,
        unit: &str,
        work: impl FnOnce() -> T,
    ) -> T {
        let amount = amount.into();
        self.progress.begin(task, amount.total, unit);
        self.progress.resume(amount.done);
        let result = work();
        self.progress.end();
        result
    }

    /// Whether the run is to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error if the run is to stop.
    ///
    /// # Errors
    ///
    /// [`StageError::Interrupted`].
    pub fn check(&self) -> Result<(), StageError> {
        if self.stopped() {
            Err(StageError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Whether nothing new may be started.
    pub fn is_ending(&self) -> bool {
        self.stopped() || self.budget_spent.load(Ordering::Relaxed)
    }

    /// An error if nothing new may be started: the check between two parts or epochs.
    ///
    /// # Errors
    ///
    /// [`StageError::Interrupted`] or [`StageError::BudgetSpent`].
    pub fn check_budget(&self) -> Result<(), StageError> {
        self.check()?;
        if self.is_ending() {
            Err(StageError::BudgetSpent)
        } else {
            Ok(())
        }
    }
}
