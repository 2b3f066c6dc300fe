//! Training rows: datasets decoded once into small rows in memory, split by game.

use super::task::{Target, TrainConfig, TrainTask};
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::positions::PositionRow;
use crate::artifact::error::ArtifactError;
use crate::engine::board::position::Position;
use crate::engine::score::{Discs, Score};
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, belongs};
use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use std::collections::HashMap;
use std::iter::repeat_n;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Rows left out because their position, up to symmetry, occurs earlier, as often as the config lets it count.
    pub duplicates: u64,
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
        read_part(task, dataset, part, context)
    };
    let sets: Result<Vec<TrainingSet>, StageError> =
        context.pool()?.install(|| parts.into_par_iter().map(read).collect());
    let mut all = TrainingSet::default();
    for set in sets? {
        context.check()?;
        all.training.extend(set.training);
        all.validation.extend(set.validation);
        all.unlabeled += set.unlabeled;
    }
    if 0 < task.config.multiplicity_max {
        let before = all.training.len();
        all.training =
            context.pool()?.install(|| distinct(&all.training, task.config.multiplicity_max, context.stop))?;
        all.duplicates = (before - all.training.len()) as u64;
    }
    Ok(all)
}

/// Each position, up to symmetry, where it first occurs, as often as it occurs but at most `multiplicity_max` times, with
/// the mean of its targets rounded half away from zero.
fn distinct(rows: &[TrainingRow], multiplicity_max: u32, stop: &AtomicBool) -> Result<Vec<TrainingRow>, StageError> {
    let check = || if stop.load(Ordering::Relaxed) { Err(StageError::Interrupted) } else { Ok(()) };
    let mut places: HashMap<Position, usize> = HashMap::with_capacity(rows.len());
    let mut found: Vec<(TrainingRow, i64, i64)> = Vec::new();
    // Where the run is to stop, what comes of this has no use.
    let canonical = |row: &TrainingRow| if check().is_ok() { row.position.canonical() } else { row.position };
    let canonical: Vec<Position> = rows.par_iter().map(canonical).collect();
    for (row, canonical) in rows.iter().zip(canonical) {
        check()?;
        let place = *places.entry(canonical).or_insert(found.len());
        if place == found.len() {
            found.push((*row, 0, 0));
        }
        let (_, sum, count) = &mut found[place];
        *sum += i64::from(row.target);
        *count += 1;
    }
    let mean = |sum: i64, count: i64| (sum + sum.signum() * (count / 2)) / count;
    let times = |count: i64| count.min(i64::from(multiplicity_max)) as usize;
    let means = found
        .into_iter()
        .flat_map(|(row, sum, count)| repeat_n(TrainingRow { target: mean(sum, count) as i32, ..row }, times(count)));
    means.map(|row| check().map(|()| row)).collect()
}

fn read_part(
    task: &TrainTask<'_>,
    dataset: &Dataset,
    part: usize,
    context: Context<'_>,
) -> Result<TrainingSet, StageError> {
    let config = task.config;
    dataset.check_games(part)?;
    context.check()?;
    let recipe = dataset.manifest().recipe.to_string();
    let mut set = TrainingSet::default();
    let mut game = None;
    for (index, row) in dataset.rows_until(part, context.stop)?.iter().enumerate() {
        context.check()?;
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
            _ => is_held_out(task.seed, &recipe, row.game_id, config.validation),
        };
        game = Some((row.game_id, held_out));
        let rows = if held_out { &mut set.validation } else { &mut set.training };
        rows.push(TrainingRow { position, target });
    }
    Ok(set)
}

/// Whether a game of the dataset with this recipe is held out. Datasets draw separately, even for equal game numbers.
fn is_held_out(seed: u64, recipe: &str, game_id: u64, share: f64) -> bool {
    let name = [recipe.as_bytes(), &game_id.to_le_bytes()].concat();
    belongs(seed, Stream::Validation, &name, share)
}

/// What the weights are to predict, unless the row lacks it.
fn target(config: &TrainConfig, row: &PositionRow) -> Option<i32> {
    let result = row.result.map(|result| Score::from(Discs(result.into())).0);
    match config.target {
        Target::Result {} => result,
        Target::Score {} => row.score,
        Target::Blend { blend } => {
            let blend = blend * f64::from(result?) + (1.0 - blend) * f64::from(row.score?);
            Some(blend.round() as i32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::notation::ColoredPosition;
    use crate::engine::board::symmetry::Symmetry;
    use crate::engine::game::Ply;
    use crate::pipeline::train::task::{Rule, Start};

    fn check(rows: &[TrainingRow], multiplicity_max: u32, expected: &[TrainingRow]) {
        let found = distinct(rows, multiplicity_max, &AtomicBool::new(false)).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_dataset_and_seed_holds_out_games_of_its_own() {
        let share = 0.25;
        let held_out = |seed, recipe: &str| -> Vec<bool> {
            (0..4000).map(|game| is_held_out(seed, recipe, game, share)).collect()
        };
        let common = |left: &[bool], right: &[bool]| left.iter().zip(right).filter(|(a, b)| **a && **b).count();
        let first = held_out(1, "first");
        assert_eq!(first, held_out(1, "first"));
        for other in [held_out(1, "second"), held_out(2, "first")] {
            // 1,000 of 4,000, and 250 in both if they are independent; five standard errors.
            let (count, both) = (common(&other, &other), common(&first, &other));
            assert!(count.abs_diff(1000) < 137 && both.abs_diff(250) < 77, "{count} {both}");
        }
    }

    #[test]
    fn targets_are_the_labels_and_a_blend_is_rounded_half_away_from_zero() {
        let config = |target| TrainConfig {
            rule: Rule::Delta,
            ratio: 0.003,
            ratio_decay: 1.0,
            clip: 20_000,
            target,
            start: Start::Parent,
            epochs: 1,
            shuffle: false,
            validation: 0.0,
            empties_min: 0,
            empties_max: 60,
            multiplicity_max: 0,
        };
        let row =
            |score, result| PositionRow { score, result, ..PositionRow::unlabeled(ColoredPosition::START, Ply(0)) };
        let [result, score, half, quarter] =
            [Target::Result {}, Target::Score {}, Target::Blend { blend: 0.5 }, Target::Blend { blend: 0.25 }];
        for (target_is, found_score, found_result, expected) in [
            (score, Some(-1501), Some(3), Some(-1501)),
            (score, None, Some(3), None),
            (result, None, Some(-3), Some(-3000)),
            (result, Some(7), None, None),
            (half, Some(1), Some(3), Some(1501)),
            (half, Some(-1), Some(-3), Some(-1501)),
            (quarter, Some(1001), Some(0), Some(751)),
            (quarter, Some(0), Some(1), Some(250)),
            (half, None, Some(3), None),
            (half, Some(1), None, None),
        ] {
            let found = target(&config(target_is), &row(found_score, found_result));
            assert_eq!(found, expected, "{target_is:?} {found_score:?} {found_result:?}");
        }
    }

    #[test]
    fn positions_equal_up_to_symmetry_become_one_with_the_mean_target() {
        let first = Position::START.children().next().unwrap().1;
        let images: Vec<Position> = Symmetry::all().map(|symmetry| first.transform(symmetry)).collect();
        let row = |position, target| TrainingRow { position, target };
        let rows = [row(images[3], 1000), row(Position::START, 7), row(images[6], -2000), row(images[0], -2001)];
        check(&rows, 1, &[row(images[3], -1000), row(Position::START, 7)]);
        let twice = [row(images[3], -1000), row(images[3], -1000), row(Position::START, 7)];
        check(&rows, 2, &twice);
        check(&rows, 9, &[[twice[0]; 3].as_slice(), &[row(Position::START, 7)]].concat());
        check(&[row(first, 1), row(first, 2)], 1, &[row(first, 2)]);
        check(&[row(first, -1), row(first, -2)], 1, &[row(first, -2)]);
        let stopped = distinct(&rows, 1, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(StageError::Interrupted)), "{stopped:?}");
    }
}
