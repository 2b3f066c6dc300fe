//! What a plan says of each stage, and the task that it stands for.

use super::inputs::{PlannedDataset, PlannedModel, text_of};
use super::outputs::{check_output, foreign_in_output, foreign_in_registry, plain};
use crate::artifact::line::visible;
use crate::artifact::model::features_file::{features_text, parse_features};
use crate::artifact::{ArtifactError, PartRange, Registry};
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::parts::fit_mpc_shards;
use crate::pipeline::fit_mpc::task::{FitMpcConfig, FitMpcTask};
use crate::pipeline::gate::task::{BATCH_PAIRS, GateConfig, GateTask};
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::task::{GenerateConfig, GenerateTask};
use crate::pipeline::keys::Checked;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train::recipe::open_datasets;
use crate::pipeline::train::shards::{part_counts, part_weights};
use crate::pipeline::train::task::{TrainConfig, TrainTask};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a plan says of its stage, beside its recipe, seed and generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum StagePlan {
    /// Self-play; its pieces are parts of a dataset.
    Generate {
        config: Checked<GenerateConfig>,
        /// The lines of its book, if it has one.
        book: Vec<String>,
        /// Who plays.
        model: PlannedModel,
        /// The dataset folder.
        output: PathBuf,
    },
    /// A training; its pieces are its parts, wide ones first.
    Train {
        config: Checked<TrainConfig>,
        /// The patterns and phases, as in `features.toml`.
        features: String,
        /// The datasets, oldest first.
        datasets: Vec<PlannedDataset>,
        /// The model to improve upon, if any.
        parent: Option<PlannedModel>,
        /// The registry of the run, in which parts of the training are left as checkpoints.
        registry: PathBuf,
        /// Bytes that the rows of a shard may take in memory.
        memory: u64,
        /// The number of parts that are learned first.
        wide_parts: usize,
        /// The row visits of each part, about.
        weights: Vec<u64>,
    },
    /// MPC statistics; its pieces are parts of the samples.
    FitMpc {
        config: Checked<FitMpcConfig>,
        /// The model to fit.
        model: PlannedModel,
        /// The registry of the run.
        registry: PathBuf,
        /// The dataset folder of the samples.
        output: PathBuf,
    },
    /// A match; its pieces are batches of pairs.
    Gate {
        config: Checked<GateConfig>,
        /// The model that would be champion.
        candidate: PlannedModel,
        /// The model that it plays.
        baseline: PlannedModel,
        /// Datasets whose positions must not be openings.
        avoid: Vec<PlannedDataset>,
        /// The dataset folder of the games.
        output: PathBuf,
    },
}

impl StagePlan {
    /// What a plan says of a task, and its seed and generation; of a training, the generation of the newest dataset.
    pub(super) fn new(task: &StageTask<'_>) -> Result<(u64, u32, Self), StageError> {
        Ok(match task {
            StageTask::Generate(task) => {
                let plan = Self::Generate {
                    config: task.config.clone(),
                    book: task.book.map_or_else(Vec::new, Book::lines),
                    model: PlannedModel::new(task.model)?,
                    output: text_of(task.output)?.into(),
                };
                (task.seed, task.generation, plan)
            }
            StageTask::Train(task) => {
                let datasets = open_datasets(task)?;
                let plan = Self::Train {
                    config: task.config.clone(),
                    features: features_text(&task.features),
                    datasets: PlannedDataset::all(&task.datasets)?,
                    parent: task.parent.map(PlannedModel::new).transpose()?,
                    registry: text_of(task.registry.folder())?.into(),
                    memory: task.memory,
                    wide_parts: part_counts(task)[0],
                    weights: part_weights(task, &datasets),
                };
                (task.seed, datasets.last().map_or(1, |dataset| dataset.manifest().generation).max(1), plan)
            }
            StageTask::FitMpc(task) => {
                // A stage that cannot be cut says so now.
                fit_mpc_shards(*task)?;
                let plan = Self::FitMpc {
                    config: task.config.clone(),
                    model: PlannedModel::new(task.model)?,
                    registry: text_of(task.registry.folder())?.into(),
                    output: text_of(task.output.unwrap_or(Path::new("")))?.into(),
                };
                (task.seed, task.generation, plan)
            }
            StageTask::Gate(task) => {
                let plan = Self::Gate {
                    config: task.config.clone(),
                    candidate: PlannedModel::new(task.candidate)?,
                    baseline: PlannedModel::new(task.baseline)?,
                    avoid: PlannedDataset::all(task.avoid)?,
                    output: text_of(task.output)?.into(),
                };
                (task.seed, task.generation, plan)
            }
        })
    }

    /// How much work each of the pieces is that shards divide, in units of the stage; at least 1.
    pub(super) fn weights(&self) -> Vec<u64> {
        let (games, piece_games) = match self {
            Self::Generate { config, .. } => (config.games, config.part_games),
            Self::Train { weights, .. } => return weights.iter().map(|weight| *weight.max(&1)).collect(),
            Self::FitMpc { config, .. } => (config.games, config.part_games),
            Self::Gate { config, .. } => (config.games, 2 * BATCH_PAIRS),
        };
        PartRange::all(games, piece_games).iter().map(|range| range.count).collect()
    }

    /// The folder that its shards write to.
    pub(super) fn output(&self) -> &Path {
        match self {
            Self::Generate { output, .. } | Self::FitMpc { output, .. } | Self::Gate { output, .. } => output,
            Self::Train { registry, .. } => registry,
        }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    pub(super) fn check(&self) -> Result<(), String> {
        check_output(self.output())?;
        match self {
            Self::FitMpc { registry, output, .. } => {
                check_output(registry)?;
                let [registry, output] = [registry, output].map(|folder| plain(folder));
                let is_apart = !output.starts_with(&registry) && !registry.starts_with(&output);
                if is_apart { Ok(()) } else { Err("its output and its registry lie within each other".into()) }
            }
            Self::Generate { config, book, .. } if config.openings.book().is_some() == book.is_empty() => {
                Err("its book is not the one that its config asks for".into())
            }
            // Dividing the work and showing progress add them up.
            Self::Train { .. } if self.weights().into_iter().try_fold(0_u64, u64::checked_add).is_none() => {
                Err("its row visits add up to more than 64 bits can count".into())
            }
            _ => Ok(()),
        }
    }

    /// Checks that the folders that its shards write to hold nothing foreign, for the plan in the file `path`.
    pub(super) fn check_folders(&self, path: &Path) -> Result<(), ArtifactError> {
        let (output, registry) = match self {
            Self::Generate { output, .. } | Self::Gate { output, .. } => (Some(output), None),
            Self::Train { registry, .. } => (None, Some(registry)),
            Self::FitMpc { registry, output, .. } => (Some(output), Some(registry)),
        };
        let in_output = output.map(|folder| Ok((folder, foreign_in_output(folder)?)));
        let in_registry = registry.map(|folder| Ok((folder, foreign_in_registry(folder)?)));
        for found in in_output.into_iter().chain(in_registry) {
            if let (folder, Some(foreign)) = found? {
                let reason = format!("shards cannot write to {}: it holds {}", folder.display(), foreign.display());
                let remedy = "move that away, or make the plan again for another folder";
                return Err(ArtifactError::unfit(path, format!("{}, which is not theirs\n{remedy}", visible(&reason))));
            }
        }
        Ok(())
    }

    /// Passes the task to a function, after reading the inputs that the plan in the file `path` references.
    pub(super) fn with_task<T>(
        &self,
        (seed, generation): (u64, u32),
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, ArtifactError> {
        let unfit = |reason: String| ArtifactError::unfit(path, reason);
        Ok(match self {
            Self::Generate { config, book, model, output } => {
                let model = &model.load(path)?;
                let book = if book.is_empty() { None } else { Some(Book::new(book).map_err(unfit)?) };
                let book = book.as_ref();
                act(StageTask::Generate(GenerateTask { config, book, seed, generation, model, output }))
            }
            Self::Train { config, features, datasets, parent, registry, memory, wide_parts, weights } => {
                datasets.iter().try_for_each(|dataset| dataset.check(path))?;
                let parent = parent.as_ref().map(|parent| parent.load(path)).transpose()?;
                let task = TrainTask {
                    config,
                    seed,
                    features: Arc::new(parse_features(features).map_err(unfit)?),
                    datasets: datasets.iter().map(|dataset| dataset.folder.as_path()).collect(),
                    parent: parent.as_ref(),
                    registry: &Registry::new(registry),
                    memory: *memory,
                };
                let ([wide, all], parts) = (part_counts(&task), weights.len());
                if (wide, all) != (*wide_parts, parts) {
                    let reason = format!("its training has {all} parts, {wide} of them wide");
                    return Err(unfit(format!("{reason}; the plan says {parts} and {wide_parts}")));
                }
                act(StageTask::Train(task))
            }
            Self::FitMpc { config, model, registry, output } => {
                let (model, registry, output) = (&model.load(path)?, &Registry::new(registry), Some(output.as_path()));
                act(StageTask::FitMpc(FitMpcTask { config, seed, generation, model, registry, output }))
            }
            Self::Gate { config, candidate, baseline, avoid, output } => {
                avoid.iter().try_for_each(|dataset| dataset.check(path))?;
                let (candidate, baseline) = (&candidate.load(path)?, &baseline.load(path)?);
                let avoid: &Vec<PathBuf> = &avoid.iter().map(|dataset| dataset.folder.clone()).collect();
                let remake = false;
                act(StageTask::Gate(GateTask { config, seed, generation, candidate, baseline, avoid, output, remake }))
            }
        })
    }
}
