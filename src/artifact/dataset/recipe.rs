//! A recipe: everything that determines the rows of a dataset, except their number. Parts are made
//! by it, found by it, and told apart by it.

use super::folder::{Dataset, part_path};
use super::footer::{
    base_footer, footer_difference, listed_footer, part_footer, setting_in, setting_key,
};
use super::manifest::{DatasetFormat, DatasetKind, Manifest, Part, part_name};
use super::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::remove_file;
use crate::artifact::step::{Settings, difference, settings_hash};
use crate::artifact::table::{CONTENT_KEY, Footer, Table};
use crate::generation::Generation;
use arrow::array::RecordBatch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The recipe of a dataset that a stage makes.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The hash of `settings`.
    pub hash: ContentHash,
    /// Name and value of everything that determines the rows.
    pub settings: Settings,
    /// What a manifest says of where the rows come from.
    pub origin: DatasetOrigin,
}

/// What a manifest says of where a dataset's rows come from.
#[derive(Clone, Debug)]
pub struct DatasetOrigin {
    /// What the dataset holds.
    pub kind: DatasetKind,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: Generation,
    /// The models at work, by role.
    pub models: BTreeMap<String, ContentHash>,
    /// The name of the stage's config table.
    pub table: &'static str,
    /// The stage's config table.
    pub config: Value,
}

/// A part that was found in a folder: how a manifest lists it, and footer and rows of its files in
/// the order in which the tables were named.
pub type FoundPart = (Part, Vec<(Footer, RecordBatch)>);

impl Recipe {
    /// The recipe with these settings.
    pub fn new(settings: Settings, origin: DatasetOrigin) -> Self {
        Self {
            hash: settings_hash("recipe", &settings),
            settings,
            origin,
        }
    }

    /// The manifest of a folder that holds rows of this recipe, of `asked` items at most.
    ///
    /// # Errors
    ///
    /// A dataset of another kind, recipe or size, or a damaged one.
    pub fn manifest_in(
        &self,
        folder: &Path,
        asked: u64,
    ) -> Result<Option<Manifest>, ArtifactError> {
        let Some(manifest) = Manifest::find(folder, self.origin.kind)? else {
            return Ok(None);
        };
        if manifest.recipe != self.hash {
            let tables = manifest
                .parts
                .first()
                .into_iter()
                .flat_map(|part| part.files.keys());
            let mut footers = tables.filter_map(|table| {
                Table::read_footer(&folder.join(table).join(part_name(0))).ok()
            });
            return Err(self.conflict(folder, &footers.next_back().unwrap_or_default()));
        }
        self.check_count(folder, manifest.done, asked)?;
        Ok(Some(manifest))
    }

    /// The manifest of a folder that holds exactly `asked` items of this recipe.
    ///
    /// One with fewer keeps its parts and loses its manifest, until the rest is made.
    ///
    /// # Errors
    ///
    /// Those of [`Recipe::manifest_in`], or a system error.
    pub fn finished(&self, folder: &Path, asked: u64) -> Result<Option<Manifest>, ArtifactError> {
        let manifest = self.manifest_in(folder, asked)?;
        match manifest {
            Some(manifest) if manifest.done < asked => {
                remove_file(&folder.join("manifest.json")).map(|()| None)
            }
            other => Ok(other),
        }
    }

    /// The games of this many items.
    pub fn games(&self, items: u64) -> u64 {
        if self.origin.kind == DatasetKind::Gate {
            2 * items
        } else {
            items
        }
    }

    /// Refuses a folder that holds more items than are asked for.
    ///
    /// # Errors
    ///
    /// A conflict that names both numbers of games.
    pub fn check_count(&self, folder: &Path, found: u64, asked: u64) -> Result<(), ArtifactError> {
        if found <= asked {
            return Ok(());
        }
        let reason = format!(
            "it holds {} games already, and {}.games asks for {}\nchoose another --output or ask for more",
            self.games(found),
            self.origin.table,
            self.games(asked)
        );
        Err(ArtifactError::conflict(folder, reason))
    }

    /// A sound part of this recipe and range, if a folder holds one; `rows_max` of each table
    /// bounds what is read.
    ///
    /// # Errors
    ///
    /// A part of another recipe, [`ArtifactError::Interrupted`] once `stop` is raised, or a system
    /// error.
    pub fn find(
        &self,
        folder: &Path,
        range: &PartRange,
        tables: &[(&Table, u64)],
        stop: &AtomicBool,
    ) -> Result<Option<FoundPart>, ArtifactError> {
        let (mut entries, mut files) = (BTreeMap::new(), Vec::new());
        for &(table, rows_max) in tables {
            let of_recipe = |footer: &Footer| self.is_of(range, folder, footer).map(|_| rows_max);
            let found = match table.read_unlisted(
                &part_path(folder, table, range.index),
                of_recipe,
                stop,
            ) {
                Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => {
                    return Ok(None);
                }
                other => other?,
            };
            let (entry, footer, rows) = found;
            if !self.is_of(range, folder, &footer)? {
                return Ok(None);
            }
            entries.insert(table.name.to_owned(), entry);
            files.push((footer, rows));
        }
        Ok(Some((range.part(entries), files)))
    }

    /// Whether a folder has a part of this recipe and range, by the footer of its file in a table;
    /// its rows are not read.
    ///
    /// # Errors
    ///
    /// A part of another recipe, or a system error.
    pub fn has_part(
        &self,
        folder: &Path,
        range: &PartRange,
        table: &Table,
    ) -> Result<bool, ArtifactError> {
        match Table::read_footer(&part_path(folder, table, range.index)) {
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(false),
            other => self.is_of(range, folder, &other?),
        }
    }

    /// Whether a footer is that of a part of this range, or an error if it is of another recipe.
    fn is_of(
        &self,
        range: &PartRange,
        folder: &Path,
        footer: &Footer,
    ) -> Result<bool, ArtifactError> {
        let expected = self.footer(range);
        if setting_in(footer, "recipe") != setting_in(&expected, "recipe") {
            return Err(self.conflict(folder, footer));
        }
        Ok(expected
            .iter()
            .all(|(key, value)| footer.get(key) == Some(value)))
    }

    /// The metadata in every file of a part.
    pub fn footer(&self, range: &PartRange) -> Footer {
        let base = base_footer(DatasetFormat::CURRENT, self.hash);
        part_footer(
            self.origin.kind,
            base,
            &self.settings,
            [range.first, range.count],
        )
    }

    /// The manifest of a dataset with these parts, for which `asked` items were asked.
    pub fn manifest(&self, asked: u64, parts: Vec<Part>) -> Manifest {
        let DatasetOrigin {
            kind,
            seed,
            generation,
            models,
            config,
            ..
        } = self.origin.clone();
        Manifest {
            seed,
            generation,
            models,
            config,
            ..Manifest::new(kind, self.hash, asked, parts)
        }
    }

    /// A folder of another recipe: names the first setting that differs, by the footer of one of
    /// its files.
    fn conflict(&self, folder: &Path, footer: &Footer) -> ArtifactError {
        let theirs = |name: &str| footer.get(&setting_key(name)).map(String::as_str);
        let reason = match difference(&self.settings, theirs) {
            Some(difference) if !footer.is_empty() => difference,
            _ => "it was made by another recipe".to_owned(),
        };
        ArtifactError::conflict(
            folder,
            format!("{reason}\nchoose another --output, or remove the folder"),
        )
    }
}

/// Checks that the footers of a part say what the manifest says: format, rules, units, recipe with
/// its `settings`, the first item, the number of items, and the hash of the values.
///
/// # Errors
///
/// The first key of a footer that differs, with both values, or a file that cannot be read.
pub fn check_footers(
    dataset: &Dataset,
    index: usize,
    settings: &[(String, String)],
) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    // Elsewhere the manifest knows only some of the settings: those of them that a footer has are
    // compared.
    let all_known = matches!(manifest.kind, DatasetKind::Selfplay | DatasetKind::Imported);
    let part = &manifest.parts[index];
    for (table, entry) in &part.files {
        let path = dataset.folder().join(table).join(part_name(index));
        let mut footer = Table::read_listed_footer(&path, entry)?;
        let settings = settings
            .iter()
            .filter(|(name, _)| all_known || setting_in(&footer, name).is_some());
        let mut expected = listed_footer(manifest, part, settings);
        expected.insert(CONTENT_KEY.into(), entry.content.to_string());
        footer.retain(|key, _| all_known || expected.contains_key(key));
        if let Some(difference) = footer_difference(&footer, &expected) {
            return Err(ArtifactError::damaged(&path, difference));
        }
    }
    Ok(())
}
