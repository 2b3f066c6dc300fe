//! What determines the games of a dataset, except their number.

use super::task::{ALGORITHM, FACTS, GenerateTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::footer::setting_in;
use crate::artifact::step::{settings_hash, table_settings};
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetFormat, DatasetKind, KnownModel, POSITIONS, RULES,
    Recipe, Settings, Step, Table,
};
use crate::generation::Generation;
use serde_json::Value;

/// The recipe of a task's games: the same settings play the same games.
pub fn recipe<M: AsRef<KnownModel>>(task: &GenerateTask<M>) -> Recipe {
    let player = task.model.as_ref().content;
    let origin = FACTS.origin(
        &resolved_config(task),
        task.seed,
        task.generation,
        &[("player", player)],
    );
    let settings = settings(
        DatasetFormat::CURRENT,
        ALGORITHM,
        task.seed,
        task.generation,
        Some(player),
        &origin.config,
    );
    Recipe::new(settings, origin)
}

/// The step that a task is, which its number of games belongs to.
pub fn step<M: AsRef<KnownModel>>(task: &GenerateTask<M>) -> Step {
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("model", task.model.as_ref().content.to_string()),
    ];
    FACTS.step(&resolved_config(task), &inputs)
}

/// The `[generate]` table, in which a book is known by its lines, wherever it lies.
fn resolved_config<M>(task: &GenerateTask<M>) -> Value {
    let mut table = serde_json::to_value(&task.config).expect("a config is plain data");
    if let Some(book) = table.get_mut("book") {
        *book = task
            .book
            .as_ref()
            .map_or_else(String::new, |book| book.content().to_string())
            .into();
    }
    table
}

/// Everything in a recipe, by name.
fn settings(
    format: DatasetFormat,
    algorithm: u32,
    seed: u64,
    generation: Generation,
    model: Option<ContentHash>,
    config: &Value,
) -> Settings {
    let mut settings = vec![
        ("format".to_owned(), format.number().to_string()),
        ("algorithm".to_owned(), algorithm.to_string()),
        ("rules".to_owned(), RULES.to_owned()),
        ("seed".to_owned(), seed.to_string()),
        ("generation".to_owned(), generation.to_string()),
    ];
    settings.extend(model.map(|model| ("model".to_owned(), model.to_string())));
    settings.extend(
        table_settings("generate", config)
            .into_iter()
            .filter(|(name, _)| name != "generate.games"),
    );
    settings
}

/// The algorithm version and the settings behind a dataset of self-play; `None` if it was imported.
///
/// A manifest does not name the version: its recipe is that of one of those there have been.
///
/// # Errors
///
/// A recipe that is not the one of the settings beside it; the footer of the first part tells which
/// of them is another.
pub fn origin_of(dataset: &Dataset) -> Result<Option<(u32, Settings)>, ArtifactError> {
    let manifest = dataset.manifest();
    if manifest.kind != DatasetKind::Selfplay {
        return Ok(None);
    }
    let by = |algorithm| {
        let player = manifest.models.get("player").copied();
        settings(
            manifest.format,
            algorithm,
            manifest.seed,
            manifest.generation,
            player,
            &manifest.config,
        )
    };
    let made = (1..=ALGORITHM)
        .rev()
        .map(|algorithm| (algorithm, by(algorithm)))
        .find(|(_, settings)| settings_hash("recipe", settings) == manifest.recipe);
    if made.is_some() {
        return Ok(made);
    }
    let settings = by(ALGORITHM);
    let footer =
        Table::read_footer(&part_path(dataset.folder(), &POSITIONS, 0)).unwrap_or_default();
    let differing = settings.iter().find_map(|(name, ours)| {
        let theirs = setting_in(&footer, name).filter(|theirs| *theirs != ours)?;
        Some(format!(
            ": {name} is {ours}, and {theirs} in the footer of its first part"
        ))
    });
    let reason = format!(
        "its recipe is not that of its settings{}",
        differing.unwrap_or_default()
    );
    Err(ArtifactError::damaged(
        &dataset.folder().join("manifest.json"),
        reason,
    ))
}
