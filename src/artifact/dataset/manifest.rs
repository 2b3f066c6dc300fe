//! A dataset's manifest: what it was made from, its parts, and a hash of each.

use super::bounds::PARTS_MAX;
use crate::artifact::error::ArtifactError;
use crate::artifact::format::FormatVersion;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::seal::write_sealed;
use crate::artifact::step::{Settings, table_settings};
use crate::artifact::table::FileEntry;
use crate::generation::Generation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// The format version of datasets of every kind.
pub type DatasetFormat = FormatVersion<1>;

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

impl DatasetKind {
    /// What a dataset of this kind holds, as messages say it.
    pub const fn content_words(self) -> &'static str {
        match self {
            Self::Selfplay => "games of self-play",
            Self::Imported => "imported games or positions",
            Self::Mpc => "search samples",
            Self::Gate => "games of a gate",
        }
    }
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
    /// The format version.
    pub format: DatasetFormat,
    /// What the dataset holds.
    pub kind: DatasetKind,
    /// The rules of the games: [`RULES`].
    pub rules: String,
    /// The hash of everything that determines the rows, except their number.
    pub recipe: ContentHash,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: Generation,
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
    /// The hash of all values, in order.
    pub content: ContentHash,
}

/// The name of part `index`.
pub fn part_name(index: usize) -> String {
    format!("part-{index:05}.parquet")
}

/// The number in the name of a part; `None` for any other name.
pub fn part_index(name: &OsStr) -> Option<usize> {
    let index = name
        .to_str()?
        .strip_prefix("part-")?
        .strip_suffix(".parquet")?
        .parse()
        .ok()?;
    (name == part_name(index).as_str()).then_some(index)
}

impl Manifest {
    /// The manifest of parts for which `asked` items were asked, of no seed, generation, models or
    /// config.
    pub fn new(kind: DatasetKind, recipe: ContentHash, asked: u64, parts: Vec<Part>) -> Self {
        Self {
            format: DatasetFormat::CURRENT,
            kind,
            rules: RULES.to_owned(),
            recipe,
            seed: 0,
            generation: Generation::NONE,
            models: BTreeMap::new(),
            config: serde_json::Value::Null,
            asked,
            done: parts.iter().map(|part| part.count).sum(),
            content: content_of(&parts),
            parts,
        }
    }

    /// Rows of a table, in all parts.
    pub fn rows(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.rows).sum()
    }

    /// Bytes of a table, in all parts.
    pub fn bytes(&self, table: &str) -> u64 {
        self.files(table).map(|file| file.bytes).sum()
    }

    /// Bytes of all tables.
    pub fn total_bytes(&self) -> u64 {
        self.parts
            .iter()
            .flat_map(|part| part.files.values())
            .map(|file| file.bytes)
            .sum()
    }

    fn files(&self, table: &str) -> impl Iterator<Item = &FileEntry> {
        self.parts
            .iter()
            .filter_map(move |part| part.files.get(table))
    }

    /// What the manifest says of how the dataset was made, with `table` for the keys of its config;
    /// models by role.
    pub fn settings(&self, table: &str) -> Settings {
        let mut settings = table_settings(table, &self.config);
        settings.push(("seed".to_owned(), self.seed.to_string()));
        settings.push(("generation".to_owned(), self.generation.to_string()));
        settings.extend(
            self.models
                .iter()
                .map(|(role, model)| (role.clone(), model.to_string())),
        );
        settings
    }

    /// Publishes the manifest, which makes the folder a dataset.
    ///
    /// # Errors
    ///
    /// More than [`PARTS_MAX`] parts, or a system error.
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
pub(super) fn check_part_count(folder: &Path, parts: usize) -> Result<(), ArtifactError> {
    if parts as u64 <= PARTS_MAX {
        return Ok(());
    }
    let reason = format!("it would have {parts} parts, and a dataset has {PARTS_MAX} at most");
    Err(ArtifactError::conflict(folder, reason))
}

/// The content hash of a dataset, from those of its files in order.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::dataset::games::GameRow;
    use crate::artifact::dataset::gate_games::GateGameRow;
    use crate::artifact::dataset::mpc_samples::MpcSampleRow;
    use crate::artifact::dataset::positions::PositionRow;
    use crate::artifact::table::Column;
    use crate::artifact::table::row::TableRow;

    const PAGE: &str = include_str!("../../../docs/datasets.md");

    /// The cells of the rows of the table on the page that comes after this text, without its head.
    fn table_after(text: &str) -> Vec<Vec<&'static str>> {
        let (_, rest) = PAGE.split_once(text).unwrap();
        let rows = rest
            .lines()
            .skip_while(|line| !line.starts_with("|--"))
            .skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        rows.map(|row| row.split('|').map(str::trim).skip(1).collect())
            .collect()
    }

    fn check_columns(text: &str, columns: &[Column]) {
        let found = table_after(text).into_iter().flat_map(|cells| {
            // What is said of missing values is not checked.
            let data_type = cells[1].split(", null").next().unwrap_or_default();
            cells[0]
                .split(", ")
                .map(|name| (name.to_owned(), data_type.to_owned()))
                .collect::<Vec<_>>()
        });
        let expected = columns
            .iter()
            .map(|column| (format!("`{}`", column.name), column.data_type.to_string()));
        let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
        assert_eq!(
            found, expected,
            "{text}: docs/datasets.md on the left, the declaration on the right"
        );
    }

    #[test]
    fn the_page_lists_every_column_in_order() {
        check_columns("\n## positions\n", PositionRow::COLUMNS);
        check_columns("\n## games\n", GameRow::COLUMNS);
        check_columns(
            "\n## samples (mpc) and games (gate)\n",
            MpcSampleRow::COLUMNS,
        );
        check_columns("| column of a gate's `games` ", GateGameRow::COLUMNS);
        let labels = PositionRow::COLUMNS
            .iter()
            .skip_while(|column| column.name != "score");
        let optional = PositionRow::COLUMNS
            .iter()
            .filter(|column| column.is_optional);
        let names = |column: &Column| column.name;
        assert!(
            optional.map(names).eq(labels.map(names)),
            "the page says that labels begin with `score`"
        );
    }

    #[test]
    fn the_page_lists_the_format() {
        let rows = table_after("\n## Formats\n");
        let row = rows
            .iter()
            .find(|cells| cells[0] == "datasets of every kind")
            .unwrap();
        assert_eq!(
            row[1],
            DatasetFormat::CURRENT.number().to_string(),
            "docs/datasets.md"
        );
    }
}
