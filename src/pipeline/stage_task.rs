//! Any stage of the loop as one value: what it is asked for, and what it reports.

use super::fit_mpc::task::{FitMpcReport, FitMpcTask};
use super::gate::task::{BATCH_PAIRS, GateReport, GateTask};
use super::generate::task::{GenerateReport, GenerateTask};
use super::parts::Shards;
use super::stage::Stage;
use super::train::task::{TrainReport, TrainTask};
use super::{Context, StageError, fit_mpc, gate, generate, train};
use crate::artifact::{ContentHash, KnownModel, LoadedModel, VerdictFile};
use serde::Serialize;
use std::path::Path;

/// What is asked of a stage.
#[derive(Clone, Debug)]
pub enum StageTask<'a, M = &'a LoadedModel> {
    /// Self-play.
    Generate(GenerateTask<'a, M>),
    /// A training.
    Train(TrainTask<'a, M>),
    /// MPC statistics.
    FitMpc(FitMpcTask<'a, M>),
    /// A match.
    Gate(GateTask<'a, M>),
}

/// A dataset as a task asks for it.
#[derive(Clone, Copy, Debug)]
pub struct TaskDataset<'a> {
    /// Where it is.
    pub folder: &'a Path,
    /// Its games, samples or pairs of games.
    pub items: u64,
    /// The parts that they fill.
    pub parts: u64,
}

/// What a stage reports.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "as in a task")]
pub enum StageReport {
    Generate(GenerateReport),
    Train(Box<TrainReport>),
    FitMpc(Box<FitMpcReport>),
    Gate(Box<GateReport>),
}

impl<M: AsRef<KnownModel>> StageTask<'_, M> {
    /// The stage.
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Generate(_) => Stage::Generate,
            Self::Train(_) => Stage::Train,
            Self::FitMpc(_) => Stage::FitMpc,
            Self::Gate(_) => Stage::Gate,
        }
    }

    /// The hash of everything that determines its parts, except their number.
    ///
    /// # Errors
    ///
    /// A missing or damaged dataset.
    pub fn recipe(&self) -> Result<ContentHash, StageError> {
        Ok(match self {
            Self::Generate(task) => generate::recipe::recipe(task).hash,
            Self::Train(task) => {
                train::recipe::step(task, &train::recipe::contents(&train::recipe::open_datasets(task)?)).id
            }
            Self::FitMpc(task) => fit_mpc::recipe::recipe(task).hash,
            Self::Gate(task) => gate::recipe::recipe(task)?.hash,
        })
    }

    /// The dataset that it writes, if it writes one.
    pub fn dataset(&self) -> Option<TaskDataset<'_>> {
        let (folder, items, part_items) = match self {
            Self::Generate(task) => (task.output, task.config.games, task.config.part_games),
            Self::Train(_) => return None,
            Self::FitMpc(task) => (task.output?, task.config.games, task.config.part_games),
            Self::Gate(task) => (task.output, task.config.games / 2, BATCH_PAIRS),
        };
        Some(TaskDataset { folder, items, parts: items.div_ceil(part_items) })
    }
}

impl StageTask<'_> {
    /// Its parts, which any number of processes make.
    ///
    /// # Errors
    ///
    /// A bad setting, or a stage that cannot be cut.
    pub fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        match self {
            Self::Generate(task) => Ok(Box::new(generate::parts::selfplay_parts(*task))),
            Self::Train(task) => Ok(Box::new(train::shards::TrainShards::new(task)?)),
            Self::FitMpc(task) => fit_mpc::parts::fit_mpc_shards(*task),
            Self::Gate(task) => Ok(Box::new(gate::batches::Batches::parts(task)?)),
        }
    }

    /// Makes all of it on this machine, as far as it is not made yet.
    ///
    /// # Errors
    ///
    /// Those of the stage; what was finished is kept.
    pub fn make(&self, context: Context<'_>) -> Result<StageReport, StageError> {
        Ok(match self {
            Self::Generate(task) => StageReport::Generate(generate::run::generate(*task, context)?),
            Self::Train(task) => StageReport::Train(train::run::train(task, context)?.into()),
            Self::FitMpc(task) => StageReport::FitMpc(fit_mpc::run::fit_mpc(*task, context)?.into()),
            Self::Gate(task) => StageReport::Gate(gate::run::gate(*task, context)?.into()),
        })
    }
}

impl StageReport {
    /// Whether all of it was made before.
    pub const fn is_skipped(&self) -> bool {
        match self {
            Self::Generate(report) => report.skipped,
            Self::Train(report) => report.skipped,
            Self::FitMpc(report) => report.skipped,
            Self::Gate(report) => report.skipped,
        }
    }

    /// The version that it made, if it makes versions.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Train(report) => Some(&report.id),
            Self::FitMpc(report) => Some(&report.id),
            Self::Generate(_) | Self::Gate(_) => None,
        }
    }

    /// Its verdict, if it gives one.
    pub fn verdict(&self) -> Option<&VerdictFile> {
        if let Self::Gate(report) = self { Some(&report.verdict) } else { None }
    }
}
