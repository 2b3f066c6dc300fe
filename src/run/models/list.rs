//! The versions of a registry, with how they were trained, gated and rated.

use crate::artifact::{
    ArtifactError, ChampionFile, ModelDocument, Registry, Verdict, VersionId, Versions,
};
use crate::generation::Generation;
use crate::pipeline::train::task::TrainMetrics;
use crate::run::folders::gates;
use crate::run::log::{CallOutcome, read_calls};
use crate::run::standings::{Standing, standings};
use crate::run::status::train_metrics;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The versions of a registry.
#[derive(Clone, Debug)]
pub struct ModelList {
    /// The champion, if there is one.
    pub champion: Option<VersionId>,
    /// All versions, oldest first.
    pub versions: Vec<ListedVersion>,
    /// Ratings of everyone who played in the gates, best first.
    pub ladder: Vec<Standing>,
}

/// A version of a list.
#[derive(Clone, Debug)]
pub struct ListedVersion {
    /// Its `model.json`.
    pub document: Arc<ModelDocument>,
    /// The figures of the training behind it, if it was trained.
    pub training: Option<TrainMetrics>,
    /// The latest gate in which it was the candidate.
    pub verdict: Option<ListedVerdict>,
    /// When the stage that made it ended, in seconds since 1970, as far as the run's log knows.
    pub made_at: Option<u64>,
}

/// The outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ListedVerdict {
    /// The gate's generation.
    pub generation: Generation,
    /// What it decided.
    pub verdict: Verdict,
}

impl ModelList {
    /// Reads the registry and the gates of a run.
    ///
    /// # Errors
    ///
    /// A damaged document.
    pub fn read(models: &Path, datasets: &Path) -> Result<Self, ArtifactError> {
        let versions = Versions::read(&Registry::new(models))?;
        let gates = gates(datasets)?;
        let made_at = made_at(models)?;
        let ladder = standings(&gates, datasets, &versions)?;
        let listed = |document: &Arc<ModelDocument>| {
            let gate = gates
                .iter()
                .rev()
                .find(|gate| gate.verdict.candidate.content == document.content);
            ListedVersion {
                training: train_metrics(&versions, document),
                verdict: gate.map(|gate| ListedVerdict {
                    generation: gate.generation,
                    verdict: gate.verdict.verdict,
                }),
                made_at: made_at.get(&document.id.to_string()).copied(),
                document: Arc::clone(document),
            }
        };
        Ok(Self {
            champion: ChampionFile::read(models)?
                .champion()
                .map(|promotion| promotion.id),
            versions: versions.documents.iter().map(listed).collect(),
            ladder,
        })
    }
}

/// When each version was made, by its id.
fn made_at(models: &Path) -> Result<BTreeMap<String, u64>, ArtifactError> {
    let calls = read_calls(models)?;
    let making = calls
        .into_iter()
        .filter(|call| call.outcome == CallOutcome::Done && call.stage != "promote");
    Ok(making
        .filter_map(|call| Some((call.id?, call.began + call.seconds as u64)))
        .collect())
}
