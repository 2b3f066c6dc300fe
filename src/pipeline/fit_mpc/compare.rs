//! What a table does to searches: nodes, scores and moves against full width.

use super::metrics::{LevelNodes, NodesSaved};
use super::sample::Sample;
use super::sums::rounded;
use super::task::FitMpcTask;
use crate::engine::{Depth, LEVELS, Limits, MpcLevel, MpcTable, Position, Score, SearchResult, Searcher, Stopped};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// A depth that no selective search of this many nodes gets beyond.
const DEPTH_GAINED_MAX: u8 = 8;

/// Some of the samples, evenly spread.
pub(super) fn some_positions(task: FitMpcTask<'_>, samples: &[Sample]) -> Vec<Position> {
    let wanted = task.config.compared() as usize;
    let stride = (samples.len() / wanted).max(1);
    samples.iter().map(|sample| sample.position).step_by(stride).take(wanted).collect()
}

/// Searches positions to the last depth with and without the table.
pub(super) fn compare(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    context: Context<'_>,
) -> Result<NodesSaved, StageError> {
    let depth = task.config.depth_max;
    let full = search_all(task, table, positions, (depth, MpcLevel::FullWidth), context)?;
    let full_width = nodes_of(&full);
    let own = task.config.level();
    let margin = own.percent().map(|_| MpcLevel::Sigmas(task.config.margin()));
    let named = LEVELS.into_iter().filter_map(MpcLevel::from_percent);
    let mut levels = Vec::new();
    for level in named.chain([own]).chain(margin) {
        let found = search_all(task, table, positions, (depth, level), context)?;
        let pairs = || full.iter().zip(&found);
        let squares: u64 = pairs().map(|(full, found)| u64::from(full.score.abs_diff(found.score)).pow(2)).sum();
        let same = pairs().filter(|(full, found)| full.best_move == found.best_move).count();
        let count = positions.len().max(1) as f64;
        levels.push(LevelNodes {
            level: level.percent(),
            nodes: nodes_of(&found),
            rms_difference: rounded(Score::in_discs((squares as f64 / count).sqrt()), 1e5),
            same_move: rounded(same as f64 / count, 1e5),
        });
    }
    levels.sort_by_key(|found| found.level.is_none().then_some(101).or(found.level));
    levels.dedup_by_key(|found| found.level);
    let mut depth_gained = 0;
    for gained in 1..=DEPTH_GAINED_MAX {
        let deeper = (depth + gained, task.config.level());
        let found = search_all(task, table, positions, deeper, context)?;
        if full_width < nodes_of(&found) {
            break;
        }
        depth_gained = gained;
    }
    Ok(NodesSaved { depth, positions: positions.len() as u64, full_width, levels, depth_gained })
}

/// Mean nodes of searches with the table at the level of the config, by depth, at least 1.
pub(super) fn costs(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    context: Context<'_>,
) -> Result<Vec<u64>, StageError> {
    let mean = |depth: u8| {
        let found = search_all(task, table, positions, (depth, task.config.level()), context)?;
        Ok((nodes_of(&found) / found.len().max(1) as u64).max(1))
    };
    (0..=task.config.depth_max).map(mean).collect()
}

fn nodes_of(found: &[SearchResult]) -> u64 {
    found.iter().map(|found| found.nodes).sum()
}

fn search_all(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    (depth, mpc): (u8, MpcLevel),
    context: Context<'_>,
) -> Result<Vec<SearchResult>, StageError> {
    let limits = Limits { mpc, ..Limits::full_width(Depth(depth)) };
    let search = |searcher: &mut Searcher<'_>, position| searcher.search(position, limits).unless_stopped();
    on_each(task, table, positions, search, context)
}

/// Searches positions on the threads of the current pool, each with an empty table.
pub(super) fn on_each<T: Send>(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    search: impl Fn(&mut Searcher<'_>, Position) -> Result<T, Stopped> + Sync,
    context: Context<'_>,
) -> Result<Vec<T>, StageError> {
    let evaluation = &task.model.model.evaluation;
    let new_searcher = || Searcher::new(evaluation, table, task.config.sampling().table_bits).stopped_by(context.stop);
    let search = |searcher: &mut Searcher<'_>, &position: &Position| {
        context.check()?;
        searcher.clear();
        Ok(search(searcher, position)?)
    };
    positions.par_iter().map_init(new_searcher, search).collect()
}
