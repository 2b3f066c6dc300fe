//! The range of squares of vectors that a search counts.

use super::features::features;
use super::pairs::half_square;
use super::pattern_set::{PatternSet, VECTOR_SIZE_MAX};
use crate::engine::board::position::Position;
use crate::engine::score::Score;
use std::sync::LazyLock;

/// Games whose positions show the range.
const GAMES: usize = 200;

/// The share of squares left out at each end of a range, as a divisor: 2 %.
const OUTSIDE: usize = 50;

/// The range of a group with these vectors, `[feature][component]`: that of the positions of the
/// group in games of a fixed sequence of random moves, without the tails.
pub fn square_range(set: &PatternSet, group: usize, vectors: &[i8]) -> (Score, Score) {
    static POSITIONS: LazyLock<Vec<Position>> = LazyLock::new(positions);
    let mut squares: Vec<Score> = POSITIONS
        .iter()
        .filter(|position| set.group(position.empties()) == group)
        .map(|&position| square(set, vectors, features(set, position)))
        .collect();
    squares.sort_unstable();
    let outside = squares.len() / OUTSIDE;
    let range = squares.get(outside).zip(squares.iter().nth_back(outside));
    let least = if set.vectors().negative == 0 {
        Score(0)
    } else {
        Score::MIN
    };
    range.map_or((least, Score::MAX), |(&least, &most)| (least, most))
}

/// Half the square of the sum of the vectors of these features.
fn square(set: &PatternSet, vectors: &[i8], features: impl Iterator<Item = usize>) -> Score {
    let size = set.vector_size();
    let mut sums = [0; VECTOR_SIZE_MAX as usize];
    for feature in features {
        for (sum, &component) in sums.iter_mut().zip(&vectors[feature * size..][..size]) {
            *sum += i32::from(component);
        }
    }
    Score(half_square(&sums[..size], set.positive_size()))
}

/// Positions of games from the start.
fn positions() -> Vec<Position> {
    let mut state = 1_u64;
    let mut positions = Vec::new();
    for _ in 0..GAMES {
        let mut position = Position::START;
        while !position.is_over() {
            if position.legal_moves() == 0 {
                position = position.pass();
                continue;
            }
            positions.push(position);
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let count = position.children().count();
            position = position
                .children()
                .nth((state >> 33) as usize % count)
                .expect("a child")
                .1;
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::super::builtin;
    use super::super::pairs::parts_of;
    use super::super::pattern_set::VectorShape;
    use super::*;

    #[test]
    fn a_range_holds_all_squares_of_its_group_but_2_percent_at_each_end() {
        let plain = builtin::square_weights();
        let shape = VectorShape {
            size: 4,
            negative: 1,
            empties_max: vec![60, 30],
        };
        let set = PatternSet::new("test", plain.set().patterns().to_vec(), vec![60, 30]).unwrap();
        let set = set.with_vectors(shape).unwrap();
        let vectors: Vec<i8> = (0..set.component_count())
            .map(|place| (place * 37 % 63) as i8 - 31)
            .collect();
        let weights = vec![0; set.weight_count()];
        let group_size = set.feature_count() * set.vector_size();
        let range = |group| square_range(&set, group, &vectors[group * group_size..]);
        assert_ne!(range(0), range(1));
        for group in 0..2 {
            let positions = positions()
                .into_iter()
                .filter(|position| set.group(position.empties()) == group);
            let (least, most) = range(group);
            let found: Vec<Score> = positions
                .map(|position| {
                    let vectors = &vectors[group * group_size..];
                    let (_, square) = parts_of(&set, &weights, vectors, features(&set, position));
                    square
                })
                .collect();
            let below = found.iter().filter(|&&square| square < least).count();
            let above = found.iter().filter(|&&square| most < square).count();
            assert!(
                5_000 < found.len() && below.max(above) <= found.len() / 50,
                "{below} and {above}"
            );
            assert!(found.len() / 100 < below.min(above), "{below} and {above}");
        }
    }
}
