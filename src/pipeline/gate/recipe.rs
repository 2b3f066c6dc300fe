//! What determines the games of a gate, except their number, and the step that a gate is.

use super::avoided::Avoided;
use super::task::GateTask;
use crate::artifact::step::table_settings;
use crate::artifact::{ArtifactError, ContentHash, DatasetFormat, KnownModel, RULES, Recipe, Step};
use crate::pipeline::stage::Stage;

/// The recipe of a gate's games and the step that it is, with these contents of the avoided datasets, ascending, each once.
pub fn identity<M: AsRef<KnownModel>>(task: &GateTask<'_, M>, avoided: &[ContentHash]) -> (Recipe, Step) {
    let (candidate, baseline) = (task.candidate.as_ref().content, task.baseline.as_ref().content);
    let hashes: Vec<String> = avoided.iter().map(ToString::to_string).collect();
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("candidate", candidate.to_string()),
        ("baseline", baseline.to_string()),
        ("avoid", if hashes.is_empty() { "nothing".to_owned() } else { hashes.join(" ") }),
    ];
    let step = Stage::Gate.step(task.config, &inputs);
    let models = [("candidate", candidate), ("baseline", baseline)];
    let origin = Stage::Gate.origin(task.config, (task.seed, task.generation), &models);
    let mut settings = vec![
        ("format".to_owned(), DatasetFormat::CURRENT.number().to_string()),
        ("algorithm".to_owned(), Stage::Gate.facts().algorithm.to_string()),
        ("rules".to_owned(), RULES.to_owned()),
    ];
    let table = table_settings(origin.table, &origin.config);
    settings.extend(table.into_iter().filter(|(key, _)| key != "gate.games"));
    settings.extend(inputs.map(|(name, value)| (name.to_owned(), value)));
    (Recipe::new(settings, origin), step)
}

/// The step that a task is: its verdict names it.
///
/// # Errors
///
/// A missing or damaged dataset among those to avoid.
pub fn step<M: AsRef<KnownModel>>(task: &GateTask<'_, M>) -> Result<Step, ArtifactError> {
    Ok(identity(task, &Avoided::open(task.avoid)?.contents()).1)
}

/// The recipe of a task's games: the same settings play the same games.
///
/// # Errors
///
/// As [`step`].
pub fn recipe<M: AsRef<KnownModel>>(task: &GateTask<'_, M>) -> Result<Recipe, ArtifactError> {
    Ok(identity(task, &Avoided::open(task.avoid)?.contents()).0)
}
