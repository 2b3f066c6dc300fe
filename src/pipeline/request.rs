//! What is asked of a stage, as one value. The command line, the loop, `renma run --dry-run -v` and
//! plan.json build, print and store the same one; the stage reads its task from it.

use super::StageError;
use super::book::Book;
use super::keys::{Checked, ConfigTable};
use super::stage::Stage;
use crate::artifact::model::features_file::{features_text, parse_features};
use crate::artifact::{
    ArtifactError, ContentHash, KnownModel, LoadedModel, Manifest, ModelRef, POSITIONS,
};
use crate::engine::PatternSet;
use crate::generation::Generation;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is asked of a stage. Its paths are relative to the folder in which the work is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The stage.
    pub stage: Stage,
    /// Its table of the config.
    pub config: Value,
    /// The patterns and phases to train, as in `features.toml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "write_features", deserialize_with = "read_features")]
    pub features: Option<Arc<PatternSet>>,
    /// The openings that its table names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<Book>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: Generation,
    /// The models at work, by role.
    pub models: BTreeMap<Role, RequestModel>,
    /// Of a training, the datasets to learn, oldest first; of a match, those whose positions must
    /// not be openings.
    pub datasets: Vec<RequestDataset>,
    /// The dataset folder, if it writes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The registry of the run: where version ids are looked up, and new versions go.
    pub registry: PathBuf,
    /// Bytes that the rows of a training may take in memory; the rest goes to a scratch file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// What a model does in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It plays, or its searches are measured.
    Model,
    /// Training begins with it.
    Parent,
    /// It would be champion.
    Candidate,
    /// It plays the candidate.
    Baseline,
}

/// A model that a stage works with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestModel {
    /// Where it is.
    pub name: ModelRef,
    /// The hash of its content, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
}

/// A dataset that a stage reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestDataset {
    /// Its folder.
    pub folder: PathBuf,
    /// The hash of its content, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
    /// Its positions, once they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<u64>,
}

/// The models of a request, by role: known by their documents, or loaded.
#[derive(Clone, Debug)]
pub struct Models<M>(BTreeMap<Role, M>);

impl Request {
    /// The stage's table.
    ///
    /// # Errors
    ///
    /// The first key that is out of range, missing or unknown, or does not go with the others.
    pub fn table<T: ConfigTable>(&self) -> Result<Checked<T>, StageError> {
        Ok(Checked::read(self.config.clone())?)
    }

    /// The dataset folder of a stage that needs one.
    ///
    /// # Errors
    ///
    /// No folder.
    pub fn needed_output(&self) -> Result<PathBuf, StageError> {
        self.output.clone().ok_or_else(|| {
            StageError::Setting("it has no dataset folder: add --output DIR".to_owned())
        })
    }

    /// Finds its models and notes their contents. The champion becomes the version that it is now
    /// or, before the first promotion, `start`.
    ///
    /// # Errors
    ///
    /// A missing or damaged model.
    pub fn find_models(&mut self, start: &ModelRef) -> Result<Models<KnownModel>, ArtifactError> {
        let mut models = BTreeMap::new();
        for (role, model) in &mut self.models {
            let known = model.name.find_of_run(&self.registry, start)?;
            *model = RequestModel::of(&known, &self.registry);
            models.insert(*role, known);
        }
        Ok(Models(models))
    }

    /// Notes the contents of its datasets, as far as they are not known.
    ///
    /// # Errors
    ///
    /// A missing or damaged dataset.
    pub fn find_datasets(&mut self) -> Result<(), ArtifactError> {
        for dataset in self
            .datasets
            .iter_mut()
            .filter(|dataset| dataset.positions.is_none())
        {
            *dataset = RequestDataset::read(&dataset.folder)?;
        }
        Ok(())
    }

    /// Every path in it, with what it is.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let models = self.models.values().filter_map(|model| match &model.name {
            ModelRef::Path(path) => Some(path.as_path()),
            ModelRef::Builtin(_) | ModelRef::Champion | ModelRef::Version(_) => None,
        });
        let datasets = self.datasets.iter().map(|dataset| dataset.folder.as_path());
        models
            .chain(datasets)
            .chain(self.output.as_deref())
            .chain([self.registry.as_path()])
    }
}

impl RequestModel {
    /// A model whose content is known.
    pub fn of(known: &KnownModel, registry: &Path) -> Self {
        Self {
            name: known.reference_in(registry),
            content: Some(known.content),
        }
    }
}

impl From<ModelRef> for RequestModel {
    fn from(name: ModelRef) -> Self {
        Self {
            name,
            content: None,
        }
    }
}

impl RequestDataset {
    /// The dataset in a folder, with its content.
    ///
    /// # Errors
    ///
    /// A missing or damaged manifest.
    pub fn read(folder: &Path) -> Result<Self, ArtifactError> {
        let manifest = Manifest::read_any(folder)?;
        let positions = manifest.rows(POSITIONS.name);
        Ok(Self {
            folder: folder.to_owned(),
            content: Some(manifest.content),
            positions: Some(positions),
        })
    }

    /// The hash of its content.
    ///
    /// # Errors
    ///
    /// A missing or damaged manifest, if it is not known yet.
    pub fn content(&self) -> Result<ContentHash, ArtifactError> {
        self.content
            .map_or_else(|| Ok(Manifest::read_any(&self.folder)?.content), Ok)
    }
}

impl From<PathBuf> for RequestDataset {
    fn from(folder: PathBuf) -> Self {
        Self {
            folder,
            content: None,
            positions: None,
        }
    }
}

impl<M: Clone> Models<M> {
    /// The model with a role.
    ///
    /// # Errors
    ///
    /// No model with it.
    pub fn get(&self, role: Role) -> Result<M, StageError> {
        self.find(role)
            .ok_or_else(|| StageError::Setting(format!("it has no {role}: add --{role} MODEL")))
    }

    /// The model with a role that a stage can do without.
    pub fn find(&self, role: Role) -> Option<M> {
        self.0.get(&role).cloned()
    }
}

impl Models<KnownModel> {
    /// Reads and checks the models themselves.
    ///
    /// # Errors
    ///
    /// A damaged model.
    pub fn load(self) -> Result<Models<LoadedModel>, ArtifactError> {
        let load = |(role, known): (Role, KnownModel)| Ok((role, known.load()?));
        Ok(Models(
            self.0
                .into_iter()
                .map(load)
                .collect::<Result<_, ArtifactError>>()?,
        ))
    }
}

impl<M> FromIterator<(Role, M)> for Models<M> {
    fn from_iter<I: IntoIterator<Item = (Role, M)>>(models: I) -> Self {
        Self(models.into_iter().collect())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Model => "model",
            Self::Parent => "parent",
            Self::Candidate => "candidate",
            Self::Baseline => "baseline",
        })
    }
}

#[expect(clippy::ref_option, reason = "serde passes references")]
fn write_features<S: Serializer>(
    features: &Option<Arc<PatternSet>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    features.as_deref().map(features_text).serialize(serializer)
}

fn read_features<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<PatternSet>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let features = parse_features(&text)
        .map_err(|reason| D::Error::custom(format!("its features: {reason}")))?;
    Ok(Some(Arc::new(features)))
}
