//! What is wrong with a command, a scheduler or a plan. A stage reports it as a bad setting, a
//! plan's file as unfit.

use crate::pipeline::StageError;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// Why shards cannot run as they were asked to.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The command of `--on` cannot be split into words, or lacks a place.
    #[error(
        "--on {command}: {reason}\nname both in it, as in 'renma shard run {{plan}} {{shard}}'"
    )]
    Command {
        /// The command.
        command: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A word that is almost one that `--on` knows.
    #[error("--on {on}: it is neither a place to run nor a command\ndid you mean {near}?")]
    Misspelled {
        /// The word.
        on: String,
        /// What it may be.
        near: &'static str,
    },
    /// The program of the command cannot be started.
    #[error("cannot start `{program}` for shard {shard}: {source}")]
    Program {
        /// The program.
        program: String,
        /// The shard.
        shard: usize,
        /// Why.
        source: io::Error,
    },
    /// A scheduler for something other than Dask.
    #[error("--scheduler needs --on dask")]
    SchedulerWithoutDask,
    /// A scheduler that anyone can reach.
    #[error(
        "--scheduler {address}: whoever reaches it can run programs as you, there and here, and the connection is not encrypted\n\
         use TLS (tls://HOST:PORT), or say --insecure in a network where you trust everyone"
    )]
    OpenScheduler {
        /// Its address.
        address: String,
    },
    /// No folder for the environment of Dask.
    #[error("no cache folder for Dask\nset HOME or XDG_CACHE_HOME")]
    NoCache,
    /// A Python that cannot run Dask.
    #[error("cannot use {}: {reason}\n{remedy}", python.display())]
    Python {
        /// The Python.
        python: PathBuf,
        /// Why.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A request that cannot be cut.
    #[error("{0}")]
    Undivided(String),
    /// A plan that cannot be.
    #[error(transparent)]
    Plan(#[from] PlanFault),
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// A plan is JSON, and so are its names.
    #[error(
        "cannot plan with {}: its name is not UTF-8, and a plan is text\nchoose another name for the folder",
        .0.display()
    )]
    NotText(PathBuf),
    /// A path that is not one line.
    #[error("{:?} is not a path of one line", .0.display().to_string())]
    NotALine(PathBuf),
    /// A folder outside the one in which shards run, or a version.
    #[error(
        "shards cannot write to {0:?}\nname a folder below the one in which they run, and not a version"
    )]
    Outside(String),
    /// Two folders of which one is in the other.
    #[error("its output and its registry lie within each other")]
    Overlap,
    /// Generation 0.
    #[error("generation is 0: generations are counted from 1")]
    GenerationZero,
    /// A shard that does not begin where the one before it ends, or is empty.
    #[error("shard {shard} has the parts from {} to before {}, not from {expected} on", parts.start, parts.end)]
    Shard {
        /// Its number.
        shard: usize,
        /// Its parts.
        parts: Range<usize>,
        /// Where it should begin.
        expected: usize,
    },
    /// Shards of more or fewer parts than the request needs.
    #[error("its shards make {made} parts, and its request needs {needed}")]
    Parts {
        /// Those of its shards.
        made: usize,
        /// Those that are needed.
        needed: usize,
    },
    /// Work that cannot be added up.
    #[error("its work adds up to more than 64 bits can count")]
    TooMuchWork,
}

impl From<ClusterError> for StageError {
    fn from(error: ClusterError) -> Self {
        Self::Setting(error.to_string())
    }
}

impl From<PlanFault> for StageError {
    fn from(fault: PlanFault) -> Self {
        ClusterError::from(fault).into()
    }
}
