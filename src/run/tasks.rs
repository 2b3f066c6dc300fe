//! What a generation asks of its stages. The task of each follows from the config and the folders of the run, and from what the
//! stages before it have made.

use super::folders::generation_folder;
use super::lineage::Lineage;
use crate::artifact::Registry;
use crate::config::LoadedConfig;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate::task::GateTask;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::TrainTask;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of memory for the rows of a training; beyond them they go to a scratch file.
pub(super) const TRAIN_MEMORY: u64 = 4 << 30;

/// A generation with everything that its tasks name, but for models.
#[derive(Clone, Debug)]
pub struct GenerationTasks {
    /// Its number, counted from 1.
    pub generation: u32,
    /// The config that makes it.
    pub config: LoadedConfig,
    /// The datasets that it trains on, oldest first.
    pub datasets: Vec<PathBuf>,
    registry: Registry,
    selfplay: PathBuf,
    samples: PathBuf,
    games: PathBuf,
}

impl Lineage<'_> {
    /// What a generation asks of its stages.
    ///
    /// # Errors
    ///
    /// A config that cannot be read, or a system error.
    pub fn tasks(&self, generation: u32) -> Result<GenerationTasks, StageError> {
        let config = self.config_of(generation)?;
        let folder = |stage| generation_folder(self.datasets, stage, generation);
        Ok(GenerationTasks {
            generation,
            datasets: self.training_folders(generation, config.config.run.window)?,
            config,
            registry: self.registry.clone(),
            selfplay: folder(Stage::Generate),
            samples: folder(Stage::FitMpc),
            games: folder(Stage::Gate),
        })
    }
}

impl GenerationTasks {
    /// The self-play of its champion.
    pub fn generate<M>(&self, champion: M) -> GenerateTask<'_, M> {
        GenerateTask {
            config: &self.config.config.generate,
            book: self.config.book.as_deref(),
            seed: self.config.config.run.seed,
            generation: self.generation,
            model: champion,
            output: &self.selfplay,
        }
    }

    /// The training that improves upon its champion.
    pub fn train<M>(&self, champion: M) -> TrainTask<'_, M> {
        TrainTask {
            config: &self.config.config.train,
            seed: self.config.config.run.seed,
            features: Arc::clone(&self.config.features),
            datasets: self.datasets.iter().map(PathBuf::as_path).collect(),
            parent: Some(champion),
            registry: &self.registry,
            memory: TRAIN_MEMORY,
        }
    }

    /// The MPC statistics of its draft.
    pub fn fit_mpc<M>(&self, draft: M) -> FitMpcTask<'_, M> {
        FitMpcTask {
            config: &self.config.config.fit_mpc,
            seed: self.config.config.run.seed,
            generation: self.generation,
            model: draft,
            registry: &self.registry,
            output: Some(&self.samples),
        }
    }

    /// The match of its candidate against its champion.
    pub fn gate<M>(&self, candidate: M, champion: M) -> GateTask<'_, M> {
        GateTask {
            config: &self.config.config.gate,
            seed: self.config.config.run.seed,
            generation: self.generation,
            candidate,
            baseline: champion,
            avoid: &self.datasets,
            output: &self.games,
            remake: false,
        }
    }
}
