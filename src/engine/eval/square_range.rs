//! The range of squares of vectors that a search counts.

use super::features::features;
use super::pairs::parts_of;
use super::pattern_set::PatternSet;
use crate::engine::board::position::Position;
use crate::engine::score::Score;

/// Games whose positions show the range.
const GAMES: usize = 200;

/// The share of squares left out at each end of a range, as a divisor: 2 %.
const OUTSIDE: usize = 50;

/// The range of each number of empty squares: that of the positions of its group in games of a
/// fixed sequence of random moves, without the tails.
pub fn square_ranges(set: &PatternSet, weights: &[i16], vectors: &[i8]) -> [(Score, Score); 65] {
    let (count, size) = (set.feature_count(), set.vector_size());
    if size == 0 {
        return [(Score(0), Score(0)); _];
    }
    let mut groups = vec![Vec::new(); set.group_count()];
    for position in positions() {
        let group = set.group(position.empties());
        let weights = &weights[set.phase(position.empties()) * count..];
        groups[group].push(
            parts_of(
                weights,
                &vectors[group * count * size..],
                size,
                features(set, position),
            )
            .1,
        );
    }
    let ranges = groups.into_iter().map(|mut squares| {
        squares.sort_unstable();
        let outside = squares.len() / OUTSIDE;
        Some((*squares.get(outside)?, *squares.iter().nth_back(outside)?))
    });
    let ranges: Vec<_> = ranges
        .map(|range| range.unwrap_or((Score(0), Score::MAX)))
        .collect();
    std::array::from_fn(|empties| ranges[set.group(empties as u8)])
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
    use super::super::pattern_set::VectorShape;
    use super::*;

    #[test]
    fn a_range_holds_all_squares_of_its_group_but_2_percent_at_each_end() {
        let plain = builtin::square_weights();
        assert_eq!(
            square_ranges(plain.set(), plain.weights(), &[]),
            [(Score(0), Score(0)); 65]
        );
        let shape = VectorShape {
            size: 4,
            empties_max: vec![60, 30],
        };
        let set = PatternSet::new("test", plain.set().patterns().to_vec(), vec![60, 30]).unwrap();
        let set = set.with_vectors(shape).unwrap();
        let vectors: Vec<i8> = (0..set.component_count())
            .map(|place| (place * 37 % 63) as i8 - 31)
            .collect();
        let weights = vec![0; set.phase_count() * set.feature_count()];
        let group_size = set.feature_count() * set.vector_size();
        let ranges = square_ranges(&set, &weights, &vectors);
        assert_ne!(ranges[60], ranges[30]);
        for group in 0..2 {
            let positions = positions()
                .into_iter()
                .filter(|position| set.group(position.empties()) == group);
            let found: Vec<(Score, (Score, Score))> = positions
                .map(|position| {
                    let vectors = &vectors[group * group_size..];
                    let (_, square) = parts_of(
                        &weights,
                        vectors,
                        set.vector_size(),
                        features(&set, position),
                    );
                    (square, ranges[usize::from(position.empties())])
                })
                .collect();
            let below = found
                .iter()
                .filter(|(square, (least, _))| square < least)
                .count();
            let above = found
                .iter()
                .filter(|(square, (_, most))| most < square)
                .count();
            assert!(
                5_000 < found.len() && below.max(above) <= found.len() / 50,
                "{below} and {above}"
            );
            assert!(found.len() / 100 < below.min(above), "{below} and {above}");
        }
    }
}
