//! What determines the samples of MPC statistics, except their number, and the step that a fit is.

use super::task::{FACTS, FitMpcTask, Method};
use crate::artifact::step::table_settings;
use crate::artifact::{DatasetFormat, KnownModel, Recipe, Step};

/// Rises when the same config would give other samples.
const SAMPLES_ALGORITHM: u32 = 4;

/// Keys on which no sample of `method = "line"` depends.
const FREE_KEYS: [&str; 2] = ["fit_mpc.games", "fit_mpc.level"];

/// The recipe of a task's samples.
pub fn recipe<M: AsRef<KnownModel>>(task: &FitMpcTask<M>) -> Recipe {
    let model = task.model.as_ref();
    let mut settings = vec![
        (
            "format".to_owned(),
            DatasetFormat::CURRENT.number().to_string(),
        ),
        ("algorithm".to_owned(), SAMPLES_ALGORITHM.to_string()),
        ("seed".to_owned(), task.seed.to_string()),
        ("generation".to_owned(), task.generation.to_string()),
        ("weights".to_owned(), model.weights.to_string()),
    ];
    // The searches of the source's form depend on the margin, and on all games: each uses the fits
    // before it.
    let is_line = matches!(task.config.method, Method::Line { .. });
    let models = [("searcher", model.content)];
    let origin = FACTS.origin(&task.config, task.seed, task.generation, &models);
    let is_free = |name: &str| is_line && FREE_KEYS.contains(&name);
    let table = table_settings(origin.table, &origin.config);
    settings.extend(table.into_iter().filter(|(name, _)| !is_free(name)));
    Recipe::new(settings, origin)
}

/// The step that a task is: the version that it makes names it.
pub fn step<M: AsRef<KnownModel>>(task: &FitMpcTask<M>) -> Step {
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("weights", task.model.as_ref().weights.to_string()),
    ];
    FACTS.step(&task.config, &inputs)
}
