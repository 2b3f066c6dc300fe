//! What searches say of the labels and the values of held-out positions: samples of them, solved or searched to a few depths.

use super::blocks::Blocks;
use super::metrics::Sums;
use super::rows::JudgedRow;
use super::task::{DepthError, LabelNoise};
use crate::artifact::model::version::Model;
use crate::engine::board::position::Position;
use crate::engine::eval::pattern_set::EMPTIES_MAX;
use crate::engine::score::Score;
use crate::engine::search::depth::Depth;
use crate::engine::search::limits::Limits;
use crate::engine::search::mpc_level::MpcLevel;
use crate::engine::search::result::Stopped;
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use crate::random::{RandomStream, Stream, stream};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::ops::RangeInclusive;

/// Positions with more empty squares take too long to solve by the thousand.
const SOLVED_EMPTIES_MAX: u8 = 16;

/// The depths whose values are compared with static ones.
const DEPTHS: [u8; 3] = [1, 2, 4];

/// A table of 2^16 entries per thread: 1 MiB, enough for 16 empty squares.
const TABLE_BITS: u8 = 16;

/// Solves at most `count` positions whose labels are not exact, and compares their labels with the exact scores; `None` if the
/// rows have no such position.
///
/// # Errors
///
/// [`StageError::Interrupted`], [`StageError::BudgetSpent`] before it begins, or whatever the system refuses.
pub(super) fn label_noise(
    model: &Model,
    rows: &Blocks<JudgedRow>,
    (seed, count): (u64, u32),
    context: Context<'_>,
) -> Result<Option<LabelNoise>, StageError> {
    let random = stream(seed, Stream::LabelNoise);
    let sample = sample(rows, &(0..=SOLVED_EMPTIES_MAX), |row| !row.exact, (random, count), context)?;
    if sample.is_empty() {
        return Ok(None);
    }
    let limits = Limits { exact_empties: Depth::MAX.0, ..Limits::full_width(Depth(1)) };
    let solved = searched(model, &sample, ("solve", context), |searcher, position| {
        Ok(searcher.search(position, limits).unless_stopped()?.score)
    })?;
    let error = |label: fn(&JudgedRow) -> Option<i32>| {
        let labels = sample.iter().zip(&solved).filter_map(|(row, exact)| Some((label(row)?, exact.0)));
        Sums::of_pairs(labels).error()
    };
    Ok(Some(LabelNoise {
        target: error(|row| Some(row.target)),
        score: error(|row| row.score),
        result: error(|row| row.result),
    }))
}

/// Searches at most `count` positions full width to each of the depths, and compares their values with the static ones; empty
/// without rows.
///
/// # Errors
///
/// As [`label_noise`].
pub(super) fn consistency(
    model: &Model,
    rows: &Blocks<JudgedRow>,
    (seed, count): (u64, u32),
    context: Context<'_>,
) -> Result<Vec<DepthError>, StageError> {
    let random = stream(seed, Stream::Consistency);
    let sample = sample(rows, &(0..=EMPTIES_MAX), |_| true, (random, count), context)?;
    if sample.is_empty() {
        return Ok(Vec::new());
    }
    let values = searched(model, &sample, ("search", context), |searcher, position| {
        let value = |depth| Ok(searcher.score_at_depth(position, Depth(depth), MpcLevel::FullWidth)?.0.0);
        DEPTHS.into_iter().map(value).collect::<Result<Vec<i32>, Stopped>>()
    })?;
    let static_value = |row: &JudgedRow| model.evaluation.static_value(row.position).clamp(Score::MIN, Score::MAX).0;
    let error = |place: usize, parity: u8| {
        let rows = sample.iter().zip(&values).filter(|(row, _)| row.position.empties() % 2 == parity);
        Sums::of_pairs(rows.map(|(row, values)| (values[place], static_value(row)))).error()
    };
    let found = (0..).zip(DEPTHS);
    Ok(found.map(|(place, depth)| DepthError { depth, even: error(place, 0), odd: error(place, 1) }).collect())
}

/// At most `count` rows that meet a condition, drawn at random (Vitter, "Random sampling with a reservoir", 1985).
fn sample(
    rows: &Blocks<JudgedRow>,
    empties: &RangeInclusive<u8>,
    meets: impl Fn(&JudgedRow) -> bool,
    (mut random, count): (RandomStream, u32),
    context: Context<'_>,
) -> Result<Vec<JudgedRow>, StageError> {
    let (mut drawn, mut met, mut block_rows) = (Vec::new(), 0, Vec::new());
    if count == 0 {
        return Ok(drawn);
    }
    context.check_budget()?;
    for block in 0..rows.block_count() {
        context.check()?;
        block_rows.clear();
        rows.read(block, empties, &mut block_rows)?;
        for row in block_rows.iter().filter(|row| meets(row)) {
            met += 1;
            if met <= count {
                drawn.push(*row);
                continue;
            }
            let place = random.below(met);
            if place < count {
                drawn[place as usize] = *row;
            }
        }
    }
    Ok(drawn)
}

/// What a search says of each position, in their order, on the threads of the current pool.
fn searched<V: Send>(
    model: &Model,
    sample: &[JudgedRow],
    (task, context): (&str, Context<'_>),
    search: impl Fn(&mut Searcher<'_>, Position) -> Result<V, Stopped> + Sync,
) -> Result<Vec<V>, StageError> {
    let new_searcher = || Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(context.stop);
    context.progress.begin(task, sample.len() as u64, "positions");
    let values = sample.par_iter().map_init(new_searcher, |searcher, row| {
        context.check()?;
        searcher.clear();
        let value = search(searcher, row.position)?;
        context.progress.advance(1);
        Ok(value)
    });
    let values = values.collect();
    context.progress.end();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::model::builtin::Builtin;
    use crate::artifact::model::reference::LoadedModel;
    use crate::pipeline::fixtures::{context, position};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn blocks(rows: impl IntoIterator<Item = JudgedRow>) -> Blocks<JudgedRow> {
        let mut blocks = Blocks::new(PathBuf::new(), u64::MAX);
        blocks.extend(&rows.into_iter().collect::<Vec<_>>()).and_then(|()| blocks.finish()).unwrap();
        blocks
    }

    #[test]
    fn positions_near_the_end_without_exact_labels_are_solved() {
        let row = |empties: u8, exact| JudgedRow {
            score: (empties != 9).then_some(0),
            exact,
            ..JudgedRow::of_target(position(1, empties), 0)
        };
        let all: Vec<JudgedRow> =
            [(8, false), (8, true), (9, false), (16, false), (17, false), (20, false)].map(|(n, e)| row(n, e)).into();
        let (model, flag) = (LoadedModel::builtin(Builtin::DiscCount).model, AtomicBool::new(false));
        let noise = label_noise(&model, &blocks(all.clone()), (1, 100), context(&flag)).unwrap().unwrap();
        assert_eq!([noise.target, noise.score, noise.result].map(|error| error.rows), [3, 2, 0]);
        let far = blocks(all[4..].to_vec());
        assert_eq!(label_noise(&model, &far, (1, 100), context(&flag)).unwrap(), None);
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(label_noise(&model, &blocks(all), (1, 100), context(&flag)).is_err());
        assert_eq!(label_noise(&model, &far, (1, 0), context(&flag)).unwrap(), None, "nothing is asked for");
    }

    #[test]
    fn every_row_is_drawn_with_the_same_chance() {
        const ROWS: i32 = 40;
        let (flag, place) = (AtomicBool::new(false), position(1, 20));
        let rows = blocks((0..ROWS).map(|number| JudgedRow::of_target(place, number)));
        let draw = |seed, count| {
            let random = (stream(seed, Stream::Consistency), count);
            let drawn = sample(&rows, &(0..=60), |row| row.target % 4 != 0, random, context(&flag)).unwrap();
            drawn.iter().map(|row| row.target).collect::<Vec<_>>()
        };
        let eligible: Vec<i32> = (0..ROWS).filter(|number| number % 4 != 0).collect();
        assert_eq!((draw(1, 30), draw(1, 1000)), (eligible.clone(), eligible.clone()));
        let mut counts = [0_u32; ROWS as usize];
        for seed in 0..3000 {
            let mut drawn = draw(seed, 10);
            drawn.iter().for_each(|&number| counts[number as usize] += 1);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 10);
        }
        // 1,000 each, with a standard deviation of 26.
        assert!(eligible.iter().all(|&number| counts[number as usize].abs_diff(1000) < 130), "{counts:?}");
    }
}
