//! A dataset's manifest: what it was made from, its parts, and a hash of each.

use super::bounds::PARTS_MAX;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::seal::write_sealed;
use crate::artifact::step::{Settings, table_settings};
use crate::artifact::table::FileEntry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The rules the games were played by.
pub const RULES: &str = "othello; score counts empties for the winner; a pass is a ply";

/// What a dataset holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatasetKind {
    /// Self-play positions and games.
    Selfplay,
    /// Positions, and perhaps games, of other programs; labels may be missing.
    Imported,
    /// Shallow and deep searches of sampled positions.
    Mpc,
    /// The games of a gate.
    Gate,
}

/// A part: a fixed range of items, with one file in each table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of the first item.
    pub first: u64,
    /// The number of items.
    pub count: u64,
    /// The part's file in each table.
    pub files: BTreeMap<String, FileEntry>,
}

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The format version, by kind.
    pub format: u32,
    /// What the dataset holds.
    pub kind: DatasetKind,
    /// The rules of the games: [`RULES`].
    pub rules: String,
    /// The hash of everything that determines the rows, except their number.
    pub recipe: ContentHash,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// The models that played, by role, as content hashes.
    pub models: BTreeMap<String, ContentHash>,
    /// The stage's config table.
    pub config: serde_json::Value,
    /// Items asked for.
    pub asked: u64,
    /// Items done; fewer than asked when a budget was spent, or when fewer were enough to decide.
    pub done: u64,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// The contents of the datasets that were merged into this one, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<ContentHash>,
    /// The hash of all values, in order.
    pub content: ContentHash,
}

/// The name of part `index`.
#[must_use]
pub fn part_name(index: usize) -> String {
    format!("part-{index:05}.parquet")
}

impl Manifest {
    /// Rows of a table, in all parts.
    #[must_use]
    pub fn rows(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.rows).sum()
    }

    /// Bytes of a table, in all parts.
    #[must_use]
    pub fn bytes(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.bytes).sum()
    }

    /// Bytes of all tables.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.parts.iter().flat_map(|part| part.files.values()).map(|file| file.bytes).sum()
    }

    fn files(&self, table: &str) -> impl Iterator<Item = &FileEntry> {
        self.parts.iter().filter_map(move |part| part.files.get(table))
    }

    /// What the manifest says of how the dataset was made, with `table` for the keys of its config; models by role.
    #[must_use]
    pub fn settings(&self, table: &str) -> Settings {
        let mut settings = table_settings(table, &self.config);
        settings.push(("seed".to_owned(), self.seed.to_string()));
        settings.push(("generation".to_owned(), self.generation.to_string()));
        settings.extend(self.models.iter().map(|(role, model)| (role.clone(), model.to_string())));
        settings
    }

    /// Publishes the manifest, which makes the folder a dataset.
    ///
    /// # Errors
    ///
    /// More than [`PARTS_MAX`] parts, or whatever the system refuses.
    pub fn write(&self, folder: &Path) -> Result<(), ArtifactError> {
        check_part_count(folder, self.parts.len())?;
        write_sealed(&folder.join("manifest.json"), self)
    }
}

/// An error if a dataset would have too many parts.
///
/// # Errors
///
/// More than [`PARTS_MAX`].
pub fn check_part_count(folder: &Path, parts: usize) -> Result<(), ArtifactError> {
    if parts as u64 <= PARTS_MAX {
        return Ok(());
    }
    let reason = format!("it would have {parts} parts, and a dataset has {PARTS_MAX} at most");
    Err(ArtifactError::Conflict { path: folder.to_owned(), reason })
}

/// The content hash of a dataset, from those of its files in order.
#[must_use]
pub fn content_of(parts: &[Part]) -> ContentHash {
    let mut hasher = FieldHasher::new("dataset");
    for part in parts {
        hasher.field("first", &part.first.to_le_bytes());
        for (table, file) in &part.files {
            hasher.field(table, file.content.to_string().as_bytes());
        }
    }
    hasher.finish()
}
