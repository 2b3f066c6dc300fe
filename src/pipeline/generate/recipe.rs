//! What decides a dataset's games: its recipe, and how a folder that has another one is told apart.

use super::{ALGORITHM, GenerateConfig, GenerateTask};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, recipe_footer, setting_key};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, remove_file};
use crate::artifact::step::{Settings, first_difference, settings_hash};
use crate::artifact::table::Footer;
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
        let mut settings = vec![
            ("format".to_owned(), FORMAT.to_string()),
            ("algorithm".to_owned(), ALGORITHM.to_string()),
            ("rules".to_owned(), RULES.to_owned()),
            ("seed".to_owned(), task.seed.to_string()),
            ("generation".to_owned(), task.generation.to_string()),
            ("model".to_owned(), task.model.content.to_string()),
        ];
        let table = config.as_object().expect("a config is a table");
        let keys = table.iter().filter(|(key, _)| *key != "games");
        settings.extend(keys.map(|(key, value)| (format!("generate.{key}"), value.to_string())));
        Self { hash: settings_hash("recipe", &settings), config, games, part_games, settings }
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
            let settings = settings_of(&manifest);
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

fn settings_of(manifest: &Manifest) -> Settings {
    let mut settings = vec![
        ("format".to_owned(), manifest.format.to_string()),
        ("rules".to_owned(), manifest.rules.clone()),
        ("seed".to_owned(), manifest.seed.to_string()),
        ("generation".to_owned(), manifest.generation.to_string()),
    ];
    settings.extend(manifest.models.get("player").map(|model| ("model".to_owned(), model.to_string())));
    let table = manifest.config.as_object().into_iter().flatten();
    settings.extend(table.map(|(key, value)| (format!("generate.{key}"), value.to_string())));
    settings.push(("algorithm".to_owned(), ALGORITHM.to_string()));
    settings
}
