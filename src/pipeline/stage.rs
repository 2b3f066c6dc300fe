//! The stages by name, and what a stage says of itself. Its folder owns these facts;
//! [`stages`](super::stages) lists them.

use crate::artifact::dataset::recipe::DatasetOrigin;
use crate::artifact::{ContentHash, DatasetKind, LOCK_NAME, Step, Table};
use crate::generation::Generation;
use serde::{Deserialize, Serialize};

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Self-play.
    Generate,
    /// Training.
    Train,
    /// MPC statistics.
    FitMpc,
    /// The match.
    Gate,
}

/// What is known of a stage.
#[derive(Debug)]
pub struct Facts {
    /// The subcommand, and the stage that its versions say they come from.
    pub name: &'static str,
    /// The name of its table in a config.
    pub config_table: &'static str,
    /// The version of its algorithm, which rises when the same inputs would give another result.
    pub algorithm: u32,
    /// What its work is counted in.
    pub unit: &'static str,
    /// Of the dataset that it makes, if it makes one: the kind, and the folder of its generations
    /// among the datasets of a run.
    pub dataset: Option<(DatasetKind, &'static str)>,
    /// The lock in the registry, of a stage that makes versions.
    pub registry_lock: Option<&'static str>,
}

impl Facts {
    /// What the dataset that it makes holds, if it makes one.
    pub fn kind(&self) -> Option<DatasetKind> {
        self.dataset.map(|(kind, _)| kind)
    }

    /// The tables of that dataset, in the order in which they are published.
    pub fn tables(&self) -> &'static [&'static Table] {
        self.kind().map_or(&[], DatasetKind::tables)
    }

    /// One run of the stage: its inputs' contents, its config table and the version of its
    /// algorithm.
    pub fn step(&self, config: &impl Serialize, inputs: &[(&str, String)]) -> Step {
        Step::new(self.name, self.algorithm, config, inputs)
    }

    /// What the manifest of its dataset says of where the rows come from.
    ///
    /// # Panics
    ///
    /// If it makes no dataset.
    pub fn origin(
        &self,
        config: &impl Serialize,
        seed: u64,
        generation: Generation,
        models: &[(&str, ContentHash)],
    ) -> DatasetOrigin {
        DatasetOrigin {
            kind: self.kind().expect("it makes a dataset"),
            seed,
            generation,
            models: models
                .iter()
                .map(|(role, content)| ((*role).to_owned(), *content))
                .collect(),
            table: self.config_table,
            config: serde_json::to_value(config).expect("a config is plain data"),
        }
    }

    /// Whether it makes versions of a model.
    pub const fn makes_versions(&self) -> bool {
        self.registry_lock.is_some()
    }

    /// The lock that it holds at work: in the registry if it makes versions, else in the folder of
    /// its dataset.
    pub fn lock(&self) -> &'static str {
        self.registry_lock.unwrap_or(LOCK_NAME)
    }
}
