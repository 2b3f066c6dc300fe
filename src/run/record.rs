//! `run.json`: the record of the last call of the pipeline, as its readers see it. The loop writes
//! it.

use super::log::SIZE_MAX;
use crate::artifact::publish::{publish_bytes, read_bounded};
use crate::artifact::{ArtifactError, ChampionFile};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Its name in a registry's folder.
pub const RUN_RECORD_NAME: &str = "run.json";

/// What readers take from the record of the last call of the pipeline.
#[derive(Clone, Debug, Deserialize)]
pub struct LastCall {
    /// When it began and when it ended or was last at work, as text.
    pub began: String,
    /// See `began`.
    pub ended: String,
    /// How it ended, or that it is at work.
    pub outcome: String,
    /// Its exit code; `None` while it is at work, or after it was killed.
    pub code: Option<u8>,
    /// The champion at its end.
    #[serde(default)]
    pub champion: Option<String>,
    /// The config file as the call named it.
    #[serde(default)]
    pub config: Option<String>,
    /// The keys that the call set over it, as lines of TOML.
    #[serde(default)]
    pub settings: Vec<String>,
}

impl LastCall {
    /// That of a registry. A side file: one that is damaged says nothing, and the next call of the
    /// pipeline replaces it.
    pub fn read(registry: &Path) -> Result<Option<Self>, ArtifactError> {
        match read_bounded(&registry.join(RUN_RECORD_NAME), SIZE_MAX) {
            Err(ArtifactError::Missing { .. }) => Ok(None),
            other => Ok(serde_json::from_slice(&other?).ok()),
        }
    }
}

/// Puts the champion of a registry into a record, which may be older than the last promotion;
/// whether anything changed.
fn set_champion(record: &mut Value, registry: &Path) -> Result<bool, ArtifactError> {
    let champions = ChampionFile::read(registry)?;
    let champion = champions
        .champion()
        .map_or(Value::Null, |promotion| promotion.id.to_string().into());
    if record
        .get("champion")
        .is_none_or(|recorded| *recorded == champion)
    {
        return Ok(false);
    }
    for generation in record["generations"].as_array_mut().into_iter().flatten() {
        generation["champion"] =
            (!champion.is_null() && generation["candidate"] == champion).into();
    }
    record["champion"] = champion;
    Ok(true)
}

/// Writes the champion of a registry into the record there, if there is one that names another.
///
/// # Errors
///
/// A damaged `champion.json`, or a system error.
pub fn refresh(registry: &Path) -> Result<(), ArtifactError> {
    let path = registry.join(RUN_RECORD_NAME);
    let bytes = match read_bounded(&path, SIZE_MAX) {
        Err(ArtifactError::Missing { .. }) => return Ok(()),
        other => other?,
    };
    let Ok(mut record) = serde_json::from_slice(&bytes) else {
        return Ok(());
    };
    if !set_champion(&mut record, registry)? {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&record).expect("a JSON value has a text");
    publish_bytes(&path, format!("{text}\n").as_bytes())
}
