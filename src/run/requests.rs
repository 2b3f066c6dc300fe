//! What a generation asks of its stages. The request for each follows from the config and the
//! folders of the run, and from what the stages before it have made.

use super::folders::generation_folder;
use super::lineage::Lineage;
use super::order::{Link, Source};
use crate::config::LoadedConfig;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::request::{Request, RequestModel};
use std::path::PathBuf;

/// A generation with everything that its requests name, but for models.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Its number, counted from 1.
    pub generation: Generation,
    /// The config that makes it.
    pub config: LoadedConfig,
    /// The datasets that it trains on, oldest first.
    pub datasets: Vec<PathBuf>,
    registry: PathBuf,
    run_datasets: PathBuf,
}

impl Lineage<'_> {
    /// What a generation asks of its stages.
    ///
    /// # Errors
    ///
    /// A config that cannot be read, or a system error.
    pub fn requests(&self, generation: Generation) -> Result<Requests, StageError> {
        let config = self.config_of(generation)?;
        Ok(Requests {
            generation,
            datasets: self.training_folders(generation, config.config.run.window)?,
            config,
            registry: self.registry.folder().to_owned(),
            run_datasets: self.datasets.to_owned(),
        })
    }
}

impl Requests {
    /// What is asked of a stage, with its models.
    pub fn of(&self, link: &Link, model_from: impl Fn(Source) -> RequestModel) -> Request {
        let stage = link.stage;
        let datasets = if link.dataset.is_some() {
            self.datasets.as_slice()
        } else {
            &[]
        };
        Request {
            generation: self.generation,
            models: link
                .models
                .iter()
                .map(|(role, source)| (*role, model_from(*source)))
                .collect(),
            datasets: datasets.iter().cloned().map(Into::into).collect(),
            output: stage
                .facts()
                .dataset
                .map(|_| generation_folder(&self.run_datasets, stage, self.generation)),
            ..self.config.request(stage, &self.registry)
        }
    }
}
