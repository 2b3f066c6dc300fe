//! Values of positions against exact scores, which a file lists for their moves.

use super::analysis::Analyzed;
use crate::artifact::Model;
use crate::engine::board::notation::MoveScore;
use crate::engine::{Depth, Limits, Position, Score, Searcher};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

/// Static values need no transposition table.
const TABLE_BITS: u8 = 0;

/// How far values are from exact scores, and how often a best move was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactComparison {
    /// Those with exact scores.
    pub positions: usize,
    /// The mean absolute error, in discs.
    pub mae: f64,
    /// The mean of value minus exact score, in discs.
    pub bias: f64,
    /// The share of `best_move_positions` in which the chosen move has the best score; `None`
    /// without such positions.
    pub best_moves: Option<f64>,
    /// Positions with exact scores of moves and a legal move.
    pub best_move_positions: usize,
}

/// Compares what was found for positions with the scores that a file lists for the moves of each;
/// `None` if it lists none. The exact score of a position is the best one listed.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that cannot be started.
pub fn compare(
    model: &Model,
    positions: &[Position],
    listed: &[Vec<MoveScore>],
    analyzed: &[Analyzed],
    context: Context<'_>,
) -> Result<Option<ExactComparison>, StageError> {
    let found = positions.iter().zip(listed).zip(analyzed);
    let scored = found.filter_map(|((&position, scores), Analyzed { result, .. })| {
        let exact = Score::from(scores.iter().map(|listed| listed.discs).max()?);
        Some((position, scores, exact, result))
    });
    let scored: Vec<_> = scored.collect();
    if scored.is_empty() {
        return Ok(None);
    }
    let new_searcher = || Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS);
    let has_best_move = scored.par_iter().map_init(
        new_searcher,
        |searcher, &(position, scores, exact, result)| {
            context.check()?;
            // A static value has no move: it is the one with the best static value after it, which
            // comes first.
            let chosen = match result.best_move {
                None => searcher
                    .move_values(position, Limits::full_width(Depth(0)))?
                    .0
                    .first()
                    .map(|value| value.square),
                chosen => chosen,
            };
            if scores.iter().all(|listed| listed.square.is_none()) {
                return Ok(None);
            }
            let mut best = scores
                .iter()
                .filter(|listed| Score::from(listed.discs) == exact);
            Ok(chosen.map(|chosen| best.any(|listed| listed.square == Some(chosen))))
        },
    );
    let has_best_move: Result<Vec<Option<bool>>, StageError> =
        context.pool()?.install(|| has_best_move.collect());
    let has_best_move: Vec<bool> = has_best_move?.into_iter().flatten().collect();
    // The sums are those of integers, so their order does not matter.
    let errors = scored
        .iter()
        .map(|(_, _, exact, result)| i64::from(result.score.0) - i64::from(exact.0));
    let mean = |sum: i64| Score::in_discs(sum as f64 / scored.len() as f64);
    let best_moves = has_best_move.iter().filter(|&&is_best| is_best).count();
    Ok(Some(ExactComparison {
        positions: scored.len(),
        mae: mean(errors.clone().map(i64::abs).sum()),
        bias: mean(errors.sum()),
        best_moves: (!has_best_move.is_empty())
            .then(|| best_moves as f64 / has_best_move.len() as f64),
        best_move_positions: has_best_move.len(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::engine::SearchResult;
    use crate::exchange::positions::read_positions;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    const START: &str = "---------------------------OX------XO---------------------------";
    /// Black has no move, white has one.
    const PASS: &str = "OX--------------------------------------------------------------";

    fn analyzed(millidiscs: i32, best_move: Option<&str>) -> Analyzed {
        let best_move = best_move.map(|name| name.parse().unwrap());
        let result = SearchResult::finished(Score(millidiscs), best_move, Depth(1), false, 1);
        Analyzed {
            result,
            moves: None,
            seconds: 0.0,
        }
    }

    fn compared(lines: &[String], analyzed: &[Analyzed]) -> Option<ExactComparison> {
        let scored = read_positions(Path::new("a"), lines.join("\n").into_bytes()).unwrap();
        let positions: Vec<Position> = scored
            .iter()
            .map(|scored| scored.game.latest().position)
            .collect();
        let listed: Vec<Vec<MoveScore>> = scored.into_iter().map(|scored| scored.scores).collect();
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let never = AtomicBool::new(false);
        let context = Context {
            threads: 2,
            stop: &never,
            budget_spent: &never,
            progress: &(),
            host: &(),
        };
        compare(&model, &positions, &listed, analyzed, context).unwrap()
    }

    #[test]
    fn figures_are_means_over_the_positions_with_scores() {
        let lines = [
            format!("{START} X; d3:-6; c4:+2; f5:+2; e6:-8; --:-127;"),
            format!("{START} X; e6:-4; --:-127; d3:-6;"),
            format!("{START} X; --:-127;"),
            format!("{START} X;"),
            format!("{PASS} X; pa:+3;"),
            format!("{START} X; d3:+5;"),
        ];
        // Errors of +1.5, -6, +0.25 and +0.25 discs; one of two best moves, a worse move, a pass,
        // and the best move.
        let values = [
            analyzed(3_500, Some("f5")),
            analyzed(-10_000, Some("d3")),
            analyzed(60_000, Some("d3")),
            analyzed(-60_000, None),
            analyzed(3_250, None),
            analyzed(5_250, Some("d3")),
        ];
        let expected = ExactComparison {
            positions: 4,
            mae: 2.0,
            bias: -1.0,
            best_moves: Some(2.0 / 3.0),
            best_move_positions: 3,
        };
        assert_eq!(compared(&lines, &values), Some(expected));
    }

    #[test]
    fn a_move_that_is_not_listed_is_not_a_best_one() {
        let found = compared(
            &[format!("{START} X; d3:+2;")],
            &[analyzed(2_000, Some("c4"))],
        )
        .unwrap();
        assert_eq!(
            (found.mae, found.bias, found.best_moves),
            (0.0, 0.0, Some(0.0))
        );
    }

    #[test]
    fn a_pass_counts_for_the_errors_alone() {
        let found = compared(&[format!("{PASS} X; --:-1;")], &[analyzed(500, None)]).unwrap();
        assert_eq!(
            (
                found.mae,
                found.bias,
                found.best_moves,
                found.best_move_positions
            ),
            (1.5, 1.5, None, 0)
        );
    }

    #[test]
    fn a_score_without_a_move_counts_for_the_errors_alone() {
        let lines = [format!("{START} X; --:+2;"), format!("{START} X; d3:-1;")];
        let found = compared(
            &lines,
            &[analyzed(500, Some("d3")), analyzed(0, Some("d3"))],
        )
        .unwrap();
        assert_eq!(
            (
                found.mae,
                found.bias,
                found.best_moves,
                found.best_move_positions
            ),
            (1.25, -0.25, Some(1.0), 1)
        );
    }

    #[test]
    fn without_a_search_the_move_is_the_one_with_the_best_static_value_after_it() {
        // Black has d3, white d2 and e3. After d1 black's weights are 5 - 5 + 3 and white's 3;
        // after f3 15 + 3 + 3 and -5.
        let board = format!("{}O-------XO{}", "-".repeat(11), "-".repeat(43));
        for (listed, expected) in [("d1:+2; f3:+4;", 1.0), ("d1:+4; f3:+2;", 0.0)] {
            let found = compared(&[format!("{board} X; {listed}")], &[analyzed(0, None)]).unwrap();
            assert_eq!(found.best_moves, Some(expected), "{listed}");
        }
    }

    #[test]
    fn without_scores_there_is_nothing_to_compare() {
        let lines = [format!("{START} X; --:-127;"), "f5d6".to_owned()];
        assert_eq!(
            compared(&lines, &[analyzed(0, None), analyzed(0, None)]),
            None
        );
    }
}
