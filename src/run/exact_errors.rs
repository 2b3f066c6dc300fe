//! The candidates' errors on the yardstick, each measured once: a model of millions of weights takes a fifth of a second to read.
//!
//! They are kept by the models' content in a hidden file of the registry, a cache that is safe to delete.

use super::yardstick::{self, exact_mae};
use crate::artifact::model::version::read_document;
use crate::artifact::seal::{read_sealed, write_sealed};
use crate::artifact::{ArtifactError, ContentHash, GenerationLine, LoadedModel, Registry, VersionId};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NAME: &str = ".exact-errors.json";

/// In discs; a score is a number of millidiscs with 32 bits.
const ERROR_MAX: f64 = 4e6;

/// The errors on one yardstick, in discs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactErrors {
    yardstick: ContentHash,
    models: BTreeMap<ContentHash, f64>,
}

impl ExactErrors {
    /// Those that are kept; none if they are missing or damaged, or of another yardstick, and no impossible ones.
    fn read(registry: &Registry) -> Self {
        let yardstick = yardstick::content();
        let kept: Option<Self> = read_sealed(&registry.folder().join(NAME)).ok();
        let mut kept = kept.filter(|kept| kept.yardstick == yardstick);
        if let Some(kept) = &mut kept {
            kept.models.retain(|_, error| (0.0..ERROR_MAX).contains(error));
        }
        kept.unwrap_or(Self { yardstick, models: BTreeMap::new() })
    }

    /// A line with the error of its candidate, and the candidate's content. A candidate that is gone or damaged has none.
    fn measure(&self, line: GenerationLine, registry: &Registry) -> Result<Measured, ArtifactError> {
        let id = line.candidate.as_deref().and_then(|id| id.parse::<VersionId>().ok());
        let (None, Some(id)) = (line.exact_mae, id) else { return Ok((None, line)) };
        let folder = registry.folder_of(id);
        let Some(document) = if_sound(read_document(&folder))? else { return Ok((None, line)) };
        let exact_mae = match self.models.get(&document.content) {
            Some(&kept) => Some(kept),
            None => if_sound(LoadedModel::read(&folder))?.map(|loaded| exact_mae(&loaded.model.evaluation)),
        };
        Ok((Some(document.content), GenerationLine { exact_mae, ..line }))
    }
}

/// A line, and the content of its candidate.
type Measured = (Option<ContentHash>, GenerationLine);

/// `None` if it is gone or damaged, which `model verify` reports. After a system error it may be sound.
fn if_sound<T>(read: Result<T, ArtifactError>) -> Result<Option<T>, ArtifactError> {
    match read {
        Err(error @ ArtifactError::Io { .. }) => Err(error),
        other => Ok(other.ok()),
    }
}

/// The lines of generations with the errors of their candidates on the yardstick, where they have none yet.
///
/// # Errors
///
/// A system error.
pub fn measured(lines: Vec<GenerationLine>, registry: &Registry) -> Result<Vec<GenerationLine>, ArtifactError> {
    let kept = ExactErrors::read(registry);
    lines.into_par_iter().map(|line| Ok(kept.measure(line, registry)?.1)).collect()
}

/// The same, and keeps what was measured for the next time.
pub fn measured_once(lines: Vec<GenerationLine>, registry: &Registry) -> Result<Vec<GenerationLine>, ArtifactError> {
    let kept = ExactErrors::read(registry);
    let measured = lines.into_par_iter().map(|line| kept.measure(line, registry));
    let measured: Vec<Measured> = measured.collect::<Result<_, _>>()?;
    let models = measured.iter().filter_map(|(content, line)| content.zip(line.exact_mae)).collect();
    let found = ExactErrors { models, ..kept };
    if found.models != kept.models {
        write_sealed(&registry.folder().join(NAME), &found)?;
    }
    Ok(measured.into_iter().map(|(_, line)| line).collect())
}
