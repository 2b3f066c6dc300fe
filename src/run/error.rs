//! Why a run does not continue. A stage reports it as a bad setting.

use crate::config::ConfigError;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use std::path::PathBuf;

/// Why a run does not continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A restart from a generation that gc has closed.
    #[error(
        "--restart {from}: {closed}, and what a restart there needs is gone\nrestart from generation {first} or later"
    )]
    Closed {
        /// Where the restart would begin.
        from: Generation,
        /// Which generations are closed, in words.
        closed: String,
        /// The first one that is not.
        first: Generation,
    },
    /// A restart from a generation that has not begun.
    #[error(
        "--restart {from}: run {run} has begun {begun} generations\nrestart from generation {} or earlier",
        (*.begun).max(Generation::FIRST)
    )]
    NotBegun {
        /// Where the restart would begin.
        from: Generation,
        /// The run.
        run: String,
        /// How many have begun.
        begun: Generation,
    },
    /// A dataset among those of the run that was made from other inputs.
    #[error(
        "cannot continue run {run}: {} was not made as its record asks: {because}\n\
         move it away to keep it, or restore what made it; --restart {generation} removes it and everything after it",
        folder.display()
    )]
    OtherOrigin {
        /// The run.
        run: String,
        /// The dataset.
        folder: PathBuf,
        /// How it differs.
        because: String,
        /// Its generation.
        generation: Generation,
    },
    /// A config that is not that of the finished generations.
    #[error(
        "cannot continue run {run}, of which {} finished:\n{changes}\n\
         --from-next keeps them and applies the config from the next generation on; \
         --restart G removes generation G and all after it;\n\
         a copy of the config under another name begins another run",
        if *.finished == Generation::FIRST { "generation 1 is".to_owned() } else { format!("{finished} generations are") }
    )]
    ChangedConfig {
        /// The run.
        run: String,
        /// How many generations are finished.
        finished: Generation,
        /// What differs.
        changes: String,
    },
    /// A stage of a finished generation that was made from other inputs.
    #[error(
        "cannot continue run {run}: {stage} of finished generation {generation} was made from other inputs: {because}\n\
         --restart {generation} removes it and all later generations"
    )]
    StaleStage {
        /// The run.
        run: String,
        /// The stage.
        stage: Stage,
        /// The generation.
        generation: Generation,
        /// Which inputs.
        because: String,
    },
    /// A snapshot of a config that is not one.
    #[error(transparent)]
    Snapshot(#[from] ConfigError),
}

impl From<RunError> for StageError {
    fn from(error: RunError) -> Self {
        Self::Setting(error.to_string())
    }
}
