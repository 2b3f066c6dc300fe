//! What decides a dataset's games: its recipe, and how a folder that has another one is told apart.

use super::task::{ALGORITHM, GenerateConfig, GenerateTask};
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, recipe_footer, setting_key};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, remove_file};
use crate::artifact::step::{Settings, first_difference, settings_hash};
use crate::artifact::table::{Footer, Table};
use serde_json::Value;
use std::path::Path;

/// Everything that decides a game but how many there are.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) hash: ContentHash,
    /// The `[generate]` table, `games` included.
    pub(super) config: Value,
    pub(super) games: u64,
    pub(super) part_games: u64,
    /// Name and value of everything in the hash.
    pub(super) settings: Settings,
}

impl Recipe {
    pub(super) fn new(task: &GenerateTask<'_>) -> Self {
        let &GenerateConfig { games, part_games, .. } = task.config;
        // A book is known by its lines, wherever it lies.
        let book = task.book.map_or_else(String::new, |book| book.content().to_string());
        let config = GenerateConfig { book, ..task.config.clone() };
        let config = serde_json::to_value(config).expect("a config is plain data");
        let settings = settings(ALGORITHM, (task.seed, task.generation, Some(task.model.content)), &config);
        Self { hash: hash_of(&settings), config, games, part_games, settings }
    }

    /// The manifest of the folder if it holds all games of this recipe already.
    ///
    /// Fewer games of the same recipe are kept, and the manifest is withdrawn until the rest is there.
    pub(super) fn finished(&self, folder: &Path) -> Result<Option<Manifest>, ArtifactError> {
        let path = folder.join("manifest.json");
        if !exists(&path)? {
            return Ok(None);
        }
        let manifest = Manifest::read(folder, DatasetKind::Selfplay)?;
        if manifest.recipe != self.hash {
            let settings = settings_by(&manifest, ALGORITHM);
            let theirs = |name: &str| settings.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            return Err(self.conflict(folder, first_difference(&self.settings, theirs)));
        }
        if self.games < manifest.done {
            let reason = format!(
                "it holds {} games already, and generate.games asks for {}\nchoose another --output or ask for more",
                manifest.done, self.games
            );
            return Err(ArtifactError::Conflict { path: folder.to_owned(), reason });
        }
        if self.games == manifest.done {
            return Ok(Some(manifest));
        }
        remove_file(&path)?;
        Ok(None)
    }

    /// What every file of a part says of itself.
    pub(super) fn footer(&self, range: &PartRange) -> Footer {
        let mut footer = recipe_footer(self.hash, &self.settings);
        footer.insert("renma.first_game".into(), range.first.to_string());
        footer.insert("renma.games".into(), range.count.to_string());
        footer
    }

    /// The first setting in which a footer differs from this recipe.
    pub(super) fn footer_conflict(&self, folder: &Path, footer: &Footer) -> Option<ArtifactError> {
        if footer.get("renma.recipe") == Some(&self.hash.to_string()) {
            return None;
        }
        Some(self.conflict(folder, first_difference(&self.settings, |name| footer.get(&setting_key(name)))))
    }

    fn conflict(&self, folder: &Path, differing: Option<(&str, String)>) -> ArtifactError {
        let differing = differing.map_or_else(|| "it was made by another recipe".to_owned(), |(_, values)| values);
        let reason = format!("{differing}\nchoose another --output, or remove the folder");
        ArtifactError::Conflict { path: folder.to_owned(), reason }
    }
}

/// Everything in a recipe, by name.
fn settings(algorithm: u32, (seed, generation, model): (u64, u32, Option<ContentHash>), config: &Value) -> Settings {
    let mut settings = vec![
        ("format".to_owned(), FORMAT.to_string()),
        ("algorithm".to_owned(), algorithm.to_string()),
        ("rules".to_owned(), RULES.to_owned()),
        ("seed".to_owned(), seed.to_string()),
        ("generation".to_owned(), generation.to_string()),
    ];
    settings.extend(model.map(|model| ("model".to_owned(), model.to_string())));
    let keys = config.as_object().into_iter().flatten().filter(|(key, _)| *key != "games");
    settings.extend(keys.map(|(key, value)| (format!("generate.{key}"), value.to_string())));
    settings
}

fn hash_of(settings: &Settings) -> ContentHash {
    settings_hash("recipe", settings)
}

/// What a manifest says of everything in its recipe, if this version of the algorithm has made it.
fn settings_by(manifest: &Manifest, algorithm: u32) -> Settings {
    let player = manifest.models.get("player").copied();
    settings(algorithm, (manifest.seed, manifest.generation, player), &manifest.config)
}

/// The algorithm version and the settings behind a dataset of self-play; `None` if it was merged or imported.
///
/// A manifest does not name the version: its recipe is that of one of those there have been.
///
/// # Errors
///
/// A recipe that is not the one of the settings beside it; the footer of the first part tells which of them is another.
pub fn origin_of(dataset: &Dataset) -> Result<Option<(u32, Settings)>, ArtifactError> {
    let manifest = dataset.manifest();
    if manifest.kind != DatasetKind::Selfplay || !manifest.parents.is_empty() {
        return Ok(None);
    }
    let by = |algorithm| (algorithm, settings_by(manifest, algorithm));
    let made = (1..=ALGORITHM).rev().map(by).find(|(_, settings)| hash_of(settings) == manifest.recipe);
    if made.is_some() {
        return Ok(made);
    }
    let settings = settings_by(manifest, ALGORITHM);
    let footer = Table::read_footer(&part_path(dataset.folder(), &POSITIONS, 0)).unwrap_or_default();
    let differing = settings.iter().find_map(|(name, ours)| {
        let theirs = footer.get(&setting_key(name)).filter(|theirs| *theirs != ours)?;
        Some(format!(": {name} is {ours}, and {theirs} in the footer of its first part"))
    });
    let reason = format!("its recipe is not that of its settings{}", differing.unwrap_or_default());
    Err(ArtifactError::damaged(&dataset.folder().join("manifest.json"), reason))
}
