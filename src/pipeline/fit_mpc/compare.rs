//! What a table does to searches: nodes, scores and moves against full width.

use super::metrics::{LevelNodes, NodesSaved};
use super::sample::Sample;
use super::sums::rounded;
use super::task::FitMpcTask;
use crate::engine::{
    Depth, LEVELS, Limits, MpcLevel, MpcTable, Position, Score, SearchResult, Searcher, Stopped,
};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// Some of the samples, evenly spread over games and their ranges of empty squares.
pub(super) fn some_positions(task: &FitMpcTask, samples: &[Sample]) -> Vec<Position> {
    let wanted = task.config.compared() as usize;
    // Each game has an even number of samples, one of each range: an odd stride meets all of them.
    let stride = (samples.len() / wanted).saturating_sub(1) | 1;
    samples
        .iter()
        .map(|sample| sample.position)
        .step_by(stride)
        .take(wanted)
        .collect()
}

/// Searches of positions with a table.
pub(super) struct Searches<'a> {
    pub(super) task: &'a FitMpcTask,
    pub(super) table: &'a MpcTable,
    pub(super) positions: &'a [Position],
    pub(super) context: Context<'a>,
}

impl Searches<'_> {
    /// Searches to the last depth with and without the table.
    pub(super) fn compare(&self) -> Result<NodesSaved, StageError> {
        let config = &self.task.config;
        let depth = config.depth_max;
        let full = self.to_depth(depth, MpcLevel::FullWidth)?;
        let full_width = nodes_of(&full);
        let own = config.level();
        let margin = own.percent().map(|_| MpcLevel::Sigmas(config.margin()));
        let named = LEVELS.into_iter().filter_map(MpcLevel::from_percent);
        let mut levels = Vec::new();
        for level in named.chain([own]).chain(margin) {
            let found = self.to_depth(depth, level)?;
            let pairs = || full.iter().zip(&found);
            let squares: u64 = pairs()
                .map(|(full, found)| u64::from(full.score.abs_diff(found.score)).pow(2))
                .sum();
            let same = pairs()
                .filter(|(full, found)| full.best_move == found.best_move)
                .count();
            let count = self.positions.len().max(1) as f64;
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
        while depth + depth_gained < Depth::MAX.0
            && nodes_of(&self.to_depth(depth + depth_gained + 1, own)?) <= full_width
        {
            depth_gained += 1;
        }
        Ok(NodesSaved {
            depth,
            positions: self.positions.len() as u64,
            full_width,
            levels,
            depth_gained,
        })
    }

    /// Mean nodes at the level of the config, by depth, at least 1.
    pub(super) fn costs(&self) -> Result<Vec<u64>, StageError> {
        let mean = |depth: u8| {
            let found = self.to_depth(depth, self.task.config.level())?;
            Ok((nodes_of(&found) / found.len().max(1) as u64).max(1))
        };
        (0..=self.task.config.depth_max).map(mean).collect()
    }

    fn to_depth(&self, depth: u8, mpc: MpcLevel) -> Result<Vec<SearchResult>, StageError> {
        let limits = Limits {
            mpc,
            ..Limits::full_width(Depth(depth))
        };
        self.each(|searcher, position| searcher.search(position, limits).unless_stopped())
    }

    /// Searches each position with an empty table, on the threads of the current pool.
    pub(super) fn each<T: Send>(
        &self,
        search: impl Fn(&mut Searcher<'_>, Position) -> Result<T, Stopped> + Sync,
    ) -> Result<Vec<T>, StageError> {
        let Self {
            task,
            table,
            positions,
            context,
        } = self;
        let (evaluation, table_bits) = (
            &task.model.model.evaluation,
            task.config.sampling().table_bits,
        );
        let new_searcher = || Searcher::new(evaluation, table, table_bits).stopped_by(context.stop);
        let search = |searcher: &mut Searcher<'_>, &position: &Position| {
            context.check()?;
            searcher.clear();
            Ok(search(searcher, position)?)
        };
        positions
            .par_iter()
            .map_init(new_searcher, search)
            .collect()
    }
}

fn nodes_of(found: &[SearchResult]) -> u64 {
    found.iter().map(|found| found.nodes).sum()
}
