//! What decides a dataset's games: its recipe, and how a folder that has another one is told apart.

use super::parts::PartRange;
use super::{GenerateConfig, GenerateTask};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, base_footer};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::step::Settings;
use crate::artifact::table::Footer;
use serde_json::Value;
use std::path::Path;

/// Goes up when the same config would give other games.
const ALGORITHM: u32 = 1;

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
        let mut hasher = FieldHasher::new("recipe");
        for (name, value) in &settings {
            hasher.field(name, value.as_bytes());
        }
        Self { hash: hasher.finish(), config, games, part_games, settings }
    }

    /// The manifest of the folder if it holds all games of this recipe already.
    ///
    /// Fewer games of the same recipe are kept, and the manifest is withdrawn until the rest is there.
    pub(super) fn finished(&self, folder: &Path) -> Result<Option<Manifest>, ArtifactError> {
        let path = folder.join("manifest.json");
        if !path.exists() {
            return Ok(None);
        }
        let manifest = Manifest::read(folder, DatasetKind::Selfplay)?;
        if manifest.recipe != self.hash {
            return Err(self.conflict(folder, &settings_of(&manifest)));
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
        std::fs::remove_file(&path).map_err(|source| ArtifactError::io("remove", &path, source))?;
        Ok(None)
    }

    /// What every file of a part says of itself.
    pub(super) fn footer(&self, range: &PartRange) -> Footer {
        let mut footer = base_footer(self.hash);
        footer.extend(self.settings.iter().map(|(name, value)| (format!("renma.{name}"), value.clone())));
        footer.insert("renma.first_game".into(), range.first.to_string());
        footer.insert("renma.games".into(), range.count.to_string());
        footer
    }

    /// The first setting in which a footer differs from this recipe.
    pub(super) fn footer_conflict(&self, folder: &Path, footer: &Footer) -> Option<ArtifactError> {
        if footer.get("renma.recipe") == Some(&self.hash.to_string()) {
            return None;
        }
        let strip = |(name, value): (&String, &String)| Some((name.strip_prefix("renma.")?.to_owned(), value.clone()));
        let settings: Vec<(String, String)> = footer.iter().filter_map(strip).collect();
        Some(self.conflict(folder, &settings))
    }

    fn conflict(&self, folder: &Path, found: &[(String, String)]) -> ArtifactError {
        let differing = self.settings.iter().find_map(|(name, ours)| {
            let theirs = found.iter().find(|(other, _)| other == name).map_or("nothing", |(_, value)| value);
            (theirs != ours).then(|| format!("{name} is {theirs} there and {ours} here"))
        });
        let differing = differing.unwrap_or_else(|| "it was made by another recipe".to_owned());
        let reason = format!("{differing}\nchoose another --output, or remove the folder");
        ArtifactError::Conflict { path: folder.to_owned(), reason }
    }
}

fn settings_of(manifest: &Manifest) -> Vec<(String, String)> {
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
