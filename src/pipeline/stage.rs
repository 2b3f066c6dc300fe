//! The stages of the loop and what everyone else asks of them.

use super::keys::ConfigTable;
use super::{fit_mpc, gate, generate, train};
use crate::artifact::dataset::recipe::Origin;
use crate::artifact::{ContentHash, DatasetKind, LOCK_NAME, Step, Table};
use serde::Serialize;
use std::fmt;

/// A stage of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
pub struct Facts {
    /// The subcommand, and the stage that its versions say they come from.
    name: &'static str,
    /// The name of its table in a config.
    pub config_table: &'static str,
    /// The version of its algorithm, which rises when the same inputs would give another result.
    pub algorithm: u32,
    /// What its work is counted in.
    pub unit: &'static str,
    /// Of the dataset that it makes, if it makes one: the kind, and the folder of its generations among the datasets of a run.
    pub dataset: Option<(DatasetKind, &'static str)>,
    /// The lock in the registry, of a stage that makes versions.
    registry_lock: Option<&'static str>,
}

impl Stage {
    /// All of them, in the order of the loop.
    pub const ALL: [Self; 4] = [Self::Generate, Self::Train, Self::FitMpc, Self::Gate];

    /// What is known of it.
    pub const fn facts(self) -> Facts {
        match self {
            Self::Generate => Facts {
                name: "generate",
                config_table: generate::task::GenerateConfig::NAME,
                algorithm: generate::task::ALGORITHM,
                unit: "games",
                dataset: Some((DatasetKind::Selfplay, "selfplay")),
                registry_lock: None,
            },
            Self::Train => Facts {
                name: "train",
                config_table: train::task::TrainConfig::NAME,
                algorithm: train::task::ALGORITHM,
                unit: "rows",
                dataset: None,
                registry_lock: Some(".train.lock"),
            },
            Self::FitMpc => Facts {
                name: "fit-mpc",
                config_table: fit_mpc::task::FitMpcConfig::NAME,
                algorithm: fit_mpc::task::ALGORITHM,
                unit: "games",
                dataset: Some((DatasetKind::Mpc, "mpc")),
                registry_lock: Some(".fit-mpc.lock"),
            },
            Self::Gate => Facts {
                name: "gate",
                config_table: gate::task::GateConfig::NAME,
                algorithm: gate::task::ALGORITHM,
                unit: "games",
                dataset: Some((DatasetKind::Gate, "gate")),
                registry_lock: None,
            },
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

    /// What the dataset that it makes holds, if it makes one.
    pub fn dataset(self) -> Option<DatasetKind> {
        self.facts().dataset.map(|(kind, _)| kind)
    }

    /// The tables of that dataset, in the order in which they are published.
    pub fn tables(self) -> &'static [&'static Table] {
        self.dataset().map_or(&[], DatasetKind::tables)
    }

    /// One run of the stage: its inputs' contents, its config table and the version of its algorithm.
    pub fn step(self, config: &impl Serialize, inputs: &[(&str, String)]) -> Step {
        Step::new(self.name(), self.facts().algorithm, config, inputs)
    }

    /// What the manifest of the dataset that it makes says of where the rows come from.
    ///
    /// # Panics
    ///
    /// If it makes no dataset, or the config has no JSON form, which would be our own mistake.
    pub fn origin(
        self,
        config: &impl Serialize,
        (seed, generation): (u64, u32),
        models: &[(&str, ContentHash)],
    ) -> Origin {
        let Facts { config_table: table, dataset, .. } = self.facts();
        let (kind, _) = dataset.expect("it makes a dataset");
        let models = models.iter().map(|(role, content)| ((*role).to_owned(), *content)).collect();
        let config = serde_json::to_value(config).expect("a config is plain data");
        Origin { kind, seed, generation, models, table, config }
    }

    /// Whether it makes versions of a model.
    pub const fn makes_versions(self) -> bool {
        self.facts().registry_lock.is_some()
    }

    /// The lock that it holds at work: in the registry if it makes versions, else in the folder of its dataset.
    pub fn lock(self) -> &'static str {
        self.facts().registry_lock.unwrap_or(LOCK_NAME)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
