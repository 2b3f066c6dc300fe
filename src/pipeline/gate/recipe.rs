//! What determines the games of a gate, except their number, and the step that a gate is.

use super::task::{FACTS, GateTask};
use crate::artifact::step::table_settings;
use crate::artifact::{ArtifactError, ContentHash, DatasetFormat, KnownModel, RULES, Recipe, Step};
use crate::pipeline::request::RequestDataset;

/// The recipe of a gate's games and the step that it is, with these contents of the avoided
/// datasets, ascending, each once.
pub fn identity<M: AsRef<KnownModel>>(
    task: &GateTask<M>,
    avoided: &[ContentHash],
) -> (Recipe, Step) {
    let (candidate, baseline) = (
        task.candidate.as_ref().content,
        task.baseline.as_ref().content,
    );
    let hashes: Vec<String> = avoided.iter().map(ToString::to_string).collect();
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("candidate", candidate.to_string()),
        ("baseline", baseline.to_string()),
        (
            "avoid",
            if hashes.is_empty() {
                "nothing".to_owned()
            } else {
                hashes.join(" ")
            },
        ),
    ];
    let step = FACTS.step(&task.config, &inputs);
    let models = [("candidate", candidate), ("baseline", baseline)];
    let origin = FACTS.origin(&task.config, task.seed, task.generation, &models);
    let mut settings = vec![
        (
            "format".to_owned(),
            DatasetFormat::CURRENT.number().to_string(),
        ),
        ("algorithm".to_owned(), FACTS.algorithm.to_string()),
        ("rules".to_owned(), RULES.to_owned()),
    ];
    let table = table_settings(origin.table, &origin.config);
    settings.extend(table.into_iter().filter(|(key, _)| key != "gate.games"));
    settings.extend(inputs.map(|(name, value)| (name.to_owned(), value)));
    (Recipe::new(settings, origin), step)
}

/// The contents of the datasets that a task avoids, ascending, each once.
///
/// # Errors
///
/// A missing or damaged one.
pub fn avoided_contents<M>(task: &GateTask<M>) -> Result<Vec<ContentHash>, ArtifactError> {
    let mut contents = task
        .avoid
        .iter()
        .map(RequestDataset::content)
        .collect::<Result<Vec<_>, _>>()?;
    contents.sort_unstable();
    contents.dedup();
    Ok(contents)
}
