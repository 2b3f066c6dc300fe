//! Searches positions whose source gave them no score.

use super::Labeler;
use crate::artifact::ImportedGame;
use crate::engine::{Limits, Searcher, Square};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};

/// Each thread has a transposition table of 2^16 entries.
const TABLE_BITS: u8 = 16;

/// Searches the positions without a score, each game with an empty table; returns their number.
pub(super) fn label(labeler: Labeler<'_>, games: &mut [ImportedGame], context: Context<'_>) -> Result<u64, StageError> {
    let model = &labeler.model.model;
    let new_searcher = || Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(context.stop);
    let label_game = |searcher: &mut Searcher<'_>, game: &mut ImportedGame| {
        context.check()?;
        searcher.clear();
        let mut count = 0;
        for row in game.rows.iter_mut().filter(|row| row.score.is_none()) {
            let position = row.position().expect("a record was checked when it was read");
            let result = searcher.search(position, Limits::full_width(labeler.depth)).unless_stopped()?;
            row.score = Some(result.score);
            row.static_score = Some(model.evaluation.static_value(position));
            row.depth = Some(result.depth.0);
            row.exact = Some(result.exact);
            row.best_move = result.best_move.map(Square::number);
            count += 1;
        }
        Ok(count)
    };
    let counts: Result<Vec<u64>, StageError> =
        context.pool()?.install(|| games.par_iter_mut().map_init(new_searcher, label_game).collect());
    Ok(counts?.iter().sum())
}
