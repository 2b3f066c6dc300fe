//! The error of a model on the yardstick, which compares models of all runs.

use crate::artifact::dataset::yardstick::scored_positions;
use crate::engine::{Discs, Evaluation, Position, Score};
use std::sync::LazyLock;

/// Positions with greater scores are decided: both sides know who wins, and the margin depends on a
/// few moves.
const NEAR_EVEN: Discs = Discs(20);

/// Its near-even positions with their exact scores.
static POSITIONS: LazyLock<Vec<(Position, Score)>> = LazyLock::new(|| {
    let scored = scored_positions().iter().copied();
    scored
        .filter(|(_, score)| score.abs() <= NEAR_EVEN.into())
        .collect()
});

/// The *exact MAE* of a model: the mean absolute error in discs of its static value on the
/// near-even positions (exact score within ±20 discs) of the yardstick.
pub fn exact_mae(evaluation: &Evaluation) -> f64 {
    let errors = POSITIONS.iter().map(|&(position, exact)| {
        let Score(value) = evaluation.static_value(position);
        u64::from(value.abs_diff(exact.0))
    });
    // The sum is one of integers, so its order does not matter.
    Score::in_discs(errors.sum::<u64>() as f64 / POSITIONS.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::eval::builtin;

    #[test]
    fn the_error_of_the_disc_count_is_that_of_the_discs_on_the_board() {
        let errors = POSITIONS.iter().map(|(position, exact)| {
            let discs = |set: u64| f64::from(set.count_ones());
            (discs(position.player()) - discs(position.opponent()) - exact.discs()).abs()
        });
        let expected = errors.sum::<f64>() / POSITIONS.len() as f64;
        assert!((exact_mae(&builtin::disc_count()) - expected).abs() < 1e-9);
        assert!(POSITIONS.iter().all(|(_, exact)| exact.0.abs() <= 20_000));
    }
}
