//! The one list of the stages: each with its facts, and with the task that it reads from a request.

use super::StageError;
use super::fit_mpc::task::FitMpcTask;
use super::gate::task::GateTask;
use super::generate::task::GenerateTask;
use super::request::{Models, Request};
use super::stage::{Facts, Stage};
use super::train::task::TrainTask;
use super::work::{Asked, Work};
use super::{fit_mpc, gate, generate, train};
use crate::artifact::{KnownModel, LoadedModel};
use std::fmt;

impl Stage {
    /// All of them, in the order of the loop.
    pub const ALL: [Self; 4] = [Self::Generate, Self::Train, Self::FitMpc, Self::Gate];

    /// What is known of it.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Self::Generate => &generate::task::FACTS,
            Self::Train => &train::task::FACTS,
            Self::FitMpc => &fit_mpc::task::FACTS,
            Self::Gate => &gate::task::FACTS,
        }
    }

    /// The stage with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Its name: the subcommand, and the stage that its versions say they come from.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Request {
    /// The task that it stands for, with models that are known.
    ///
    /// # Errors
    ///
    /// A bad setting, or something that the stage needs and the request does not name.
    pub fn asked(&self, models: &Models<KnownModel>) -> Result<Box<dyn Asked>, StageError> {
        Ok(match self.stage {
            Stage::Generate => Box::new(GenerateTask::new(self, models)?),
            Stage::Train => Box::new(TrainTask::new(self, models)?),
            Stage::FitMpc => Box::new(FitMpcTask::new(self, models)?),
            Stage::Gate => Box::new(GateTask::new(self, models)?),
        })
    }

    /// The task that it stands for, with its models.
    pub fn work(&self, models: &Models<LoadedModel>) -> Result<Box<dyn Work>, StageError> {
        Ok(match self.stage {
            Stage::Generate => Box::new(GenerateTask::new(self, models)?),
            Stage::Train => Box::new(TrainTask::new(self, models)?),
            Stage::FitMpc => Box::new(FitMpcTask::new(self, models)?),
            Stage::Gate => Box::new(GateTask::new(self, models)?),
        })
    }
}
