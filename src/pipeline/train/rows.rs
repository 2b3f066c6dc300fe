//! Training rows: datasets decoded once into small rows in memory, split by game.

use super::{Target, TrainConfig, TrainTask};
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::rows::DatasetRow;
use crate::artifact::error::ArtifactError;
use crate::engine::board::position::Position;
use crate::engine::eval::evaluation::DISC;
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, belongs};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// A position with what the weights are to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingRow {
    /// The position, seen by the side to move.
    pub position: Position,
    /// In millidiscs, from the side to move.
    pub target: i32,
}

const _: () = assert!(size_of::<TrainingRow>() == 24);

/// Rows in the order of datasets, parts and rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainingSet {
    /// What weights are fitted to.
    pub training: Vec<TrainingRow>,
    /// Whole games held out.
    pub validation: Vec<TrainingRow>,
    /// Rows left out because the label that is to be learnt is missing.
    pub unlabeled: u64,
}

/// Reads the rows of all datasets, checked against their manifests.
///
/// # Errors
///
/// Damage of any kind, or an interruption.
pub fn read_rows(task: &TrainTask<'_>, datasets: &[Dataset], context: Context<'_>) -> Result<TrainingSet, StageError> {
    let parts: Vec<(&Dataset, usize)> =
        datasets.iter().flat_map(|dataset| (0..dataset.part_count()).map(move |part| (dataset, part))).collect();
    let read = |(dataset, part): (&Dataset, usize)| {
        context.check()?;
        read_part(task, dataset, part).map_err(StageError::from)
    };
    let sets: Result<Vec<TrainingSet>, StageError> =
        context.pool()?.install(|| parts.into_par_iter().map(read).collect());
    let mut all = TrainingSet::default();
    for set in sets? {
        all.training.extend(set.training);
        all.validation.extend(set.validation);
        all.unlabeled += set.unlabeled;
    }
    Ok(all)
}

fn read_part(task: &TrainTask<'_>, dataset: &Dataset, part: usize) -> Result<TrainingSet, ArtifactError> {
    let config = task.config;
    let recipe = dataset.manifest().recipe.to_string();
    let mut set = TrainingSet::default();
    let mut game = None;
    for (index, row) in dataset.rows(part)?.iter().enumerate() {
        let position = row.position().map_err(|reason| {
            let path = part_path(dataset.folder(), &POSITIONS, part);
            ArtifactError::damaged(&path, format!("row {index}: {reason}"))
        })?;
        if row.empties < config.empties_min || config.empties_max < row.empties {
            continue;
        }
        let Some(target) = target(config, row) else {
            set.unlabeled += 1;
            continue;
        };
        let held_out = match game {
            Some((id, held_out)) if id == row.game_id => held_out,
            _ => {
                let name = [recipe.as_bytes(), &row.game_id.to_le_bytes()].concat();
                belongs(task.seed, Stream::Validation, &name, config.validation)
            }
        };
        game = Some((row.game_id, held_out));
        let rows = if held_out { &mut set.validation } else { &mut set.training };
        rows.push(TrainingRow { position, target });
    }
    Ok(set)
}

/// What the weights are to predict, unless the row lacks it.
fn target(config: &TrainConfig, row: &DatasetRow) -> Option<i32> {
    let result = row.result.map(|result| i32::from(result) * DISC);
    match config.target {
        Target::Result => result,
        Target::Score => row.score,
        Target::Blend => {
            let blend = config.blend * f64::from(result?) + (1.0 - config.blend) * f64::from(row.score?);
            Some(blend.round() as i32)
        }
    }
}
