//! The evaluations that need no file: disc count and square weights, written as patterns like any
//! other.

use super::evaluation::Evaluation;
use super::pattern_set::{Pattern, PatternKind, PatternSet};
use crate::engine::board::square::Square;
use crate::engine::score::Score;
use std::sync::Arc;

/// Weights of a1–d1, a2–d2, a3–d3, a4–d4; the other three quarters mirror them.
const SQUARE_WEIGHTS: [i32; 16] = [
    120, -20, 20, 5, -20, -40, -5, -5, 20, -5, 15, 3, 5, -5, 3, 3,
];

/// Millidiscs per point of [`SQUARE_WEIGHTS`].
const SQUARE_WEIGHT_UNIT: i32 = 50;

/// Own minus opponent's square weights, times 50 millidiscs.
pub fn square_weights() -> Evaluation {
    square_sums("square-weights", |square| {
        let fold = |place: u8| usize::from(place.min(7 - place));
        let (column, row) = (fold(square.number() % 8), fold(square.number() / 8));
        SQUARE_WEIGHTS[row * 4 + column] * SQUARE_WEIGHT_UNIT
    })
}

/// The disc difference, in millidiscs.
pub fn disc_count() -> Evaluation {
    square_sums("disc-count", |_| Score::DISC.0)
}

/// A sum over the squares, as two patterns whose eight instances cover each square once.
fn square_sums(name: &str, value: impl Fn(Square) -> i32) -> Evaluation {
    let pattern = |name: &str, squares: [&str; 8]| Pattern {
        name: name.to_owned(),
        kind: PatternKind::Squares(
            squares
                .map(|square| square.parse().expect("a square's name"))
                .into(),
        ),
    };
    let patterns = vec![
        pattern("DIAGONAL", ["a1", "b1", "a2", "b2", "c3", "d3", "c4", "d4"]),
        pattern("FLANKS", ["c1", "d1", "c2", "d2", "a3", "b3", "a4", "b4"]),
    ];
    let set = PatternSet::new(name, patterns, vec![60]).expect("the two patterns are sound");
    let mut weights = Vec::new();
    for pattern in set.patterns() {
        let PatternKind::Squares(squares) = &pattern.kind else {
            continue;
        };
        for configuration in 0..pattern.configuration_count() {
            let mut rest = configuration;
            let mut sum = 0;
            for &square in squares.iter().rev() {
                sum += [0, 1, -1][rest % 3] * value(square);
                rest /= 3;
            }
            weights.push(i16::try_from(sum).expect("eight squares stay far below 32 discs"));
        }
    }
    Evaluation::new(Arc::new(set), weights).expect("mirrored squares have equal values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::position::Position;
    use crate::engine::board::square::Squares;

    const TABLE: [i32; 64] = [
        120, -20, 20, 5, 5, 20, -20, 120, //
        -20, -40, -5, -5, -5, -5, -40, -20, //
        20, -5, 15, 3, 3, 15, -5, 20, //
        5, -5, 3, 3, 3, 3, -5, 5, //
        5, -5, 3, 3, 3, 3, -5, 5, //
        20, -5, 15, 3, 3, 15, -5, 20, //
        -20, -40, -5, -5, -5, -5, -40, -20, //
        120, -20, 20, 5, 5, 20, -20, 120,
    ];

    #[test]
    fn the_builtins_are_plain_sums_over_the_squares() {
        let (squares, discs) = (square_weights(), disc_count());
        let mut position = Position::START;
        while let Some((_, next)) = position.children().last() {
            let table = |set| {
                Squares(set)
                    .map(|square| TABLE[square.index()])
                    .sum::<i32>()
            };
            let expected = (table(position.player()) - table(position.opponent())) * 50;
            assert_eq!(
                squares.static_value(position),
                Score(expected),
                "{position:?}"
            );
            let difference =
                position.player().count_ones() as i32 - position.opponent().count_ones() as i32;
            assert_eq!(discs.static_value(position), Score(difference * 1000));
            position = next;
        }
    }
}
