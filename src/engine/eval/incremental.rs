//! The walk's sums, updated from move to move; the search evaluates with these.
//!
//! The digits of an index are 0 for the side to move, 1 for an empty square and 2 for the opponent,
//! so that a change of sides maps an index i of a pattern of n squares to 3^n − 1 − i: one
//! subtraction for all instances of a block.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod block;
mod portable;
mod vectors;

use super::number::{Number, Side};
use super::pairs::half_square;
use super::pattern_set::{INSTANCES_MAX, LANES, PatternKind, PatternSet};
use super::square_range::square_ranges;
use crate::engine::board::kernel::{Instructions, Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::score::Score;
use block::{Block, Change, Tables};
use std::borrow::Cow;
use vectors::Vectors;

/// The blocks of [`LANES`] that an accumulator has room for.
const BLOCKS_MAX: usize = INSTANCES_MAX / LANES;

/// The number of indices of 16 bits.
const INDICES: usize = 1 << 16;

/// The index of every instance of a position, from the side to move.
#[derive(Clone, Copy)]
pub struct Accumulator {
    blocks: [Block; BLOCKS_MAX],
}

impl Accumulator {
    /// Room for a position.
    pub const ZERO: Self = Self {
        blocks: [Block::ZERO; BLOCKS_MAX],
    };
}

/// Weights and vectors laid out for updates by moves.
#[derive(Debug)]
pub struct Incremental {
    block_count: usize,
    start: Vec<Block>,   // [block]: the indices of a board without discs
    swap: Vec<Block>,    // [block]: index + swapped index
    steps: Vec<Block>,   // [square][block]: 3^place
    tables: Vec<Tables>, // [block]
    weights: Vec<i16>, // [phase][a zero, then the tables of the patterns], then room for every index after the last
    phase_size: usize,
    phase_begin: [usize; 65], // [empties] -> where its phase begins in `weights`
    constant: [i32; 65],      // [empties] -> the sum of the parity weights
    numbers: Vec<(Number, usize)>, // all but parity, each with where its table begins within a phase
    vectors: Option<Vectors>,
    square_ranges: [(Score, Score); 65], // [empties] -> the least and the most that `square` is
}

impl Incremental {
    /// Lays out weights `[phase][feature]` and vectors `[group][feature][component]` of a set.
    pub fn new(set: &PatternSet, weights: &[i16], vectors: &[i8]) -> Self {
        let places = places(set);
        let block_count = set.block_count();
        let phase_size = set.feature_count() + 1;
        let counts = set
            .numbers()
            .iter()
            .filter(|(number, _)| *number != Number::Parity);
        let laid_out = Vectors::new(set, vectors, &places);
        let weights = &*linear_weights(set, weights, vectors);
        let mut this = Self {
            block_count,
            start: vec![Block::ZERO; block_count],
            swap: vec![Block::ZERO; block_count],
            steps: set.steps[..64 * block_count]
                .iter()
                .map(|&steps| Block(steps))
                .collect(),
            tables: vec![Tables([0; LANES]); block_count],
            weights: pack_weights(set, weights, &places, phase_size),
            phase_size,
            phase_begin: std::array::from_fn(|empties| set.phase(empties as u8) * phase_size),
            constant: std::array::from_fn(|empties| parity_sum(set, weights, empties as u8)),
            numbers: counts
                .map(|&(number, offset)| (number, 1 + offset))
                .collect(),
            square_ranges: square_ranges(set, weights, vectors),
            vectors: laid_out,
        };
        for (index, instance) in set.instances().iter().enumerate() {
            let (block, lane) = (index / LANES, index % LANES);
            let last = 3_u32.pow(instance.squares.len() as u32) - 1;
            this.start[block].0[lane] = (last / 2) as u16;
            this.swap[block].0[lane] = last as u16;
            this.tables[block].0[lane] = 1 + instance.offset as u32;
        }
        this
    }

    /// The accumulator of a position.
    pub fn accumulator(&self, position: Position) -> Accumulator {
        let mut accumulator = Accumulator::ZERO;
        accumulator.blocks[..self.block_count].copy_from_slice(&self.start);
        for (set, times) in [(position.player(), u16::MAX), (position.opponent(), 1)] {
            for square in Squares(set) {
                let steps = &self.steps[square.index() * self.block_count..];
                for (block, steps) in accumulator.blocks[..self.block_count].iter_mut().zip(steps) {
                    for (lane, step) in block.0.iter_mut().zip(&steps.0) {
                        *lane = lane.wrapping_add(step.wrapping_mul(times));
                    }
                }
            }
        }
        accumulator
    }

    /// Writes to `after` the accumulator after a move on `square` that turns over `flips`, seen by
    /// the opponent.
    #[inline(always)]
    pub fn play<K: Kernel>(
        &self,
        before: &Accumulator,
        square: Square,
        flips: u64,
        after: &mut Accumulator,
    ) {
        match self.block_count {
            1 => self.play_blocks::<K, 1>(0, before, square, flips, after),
            2 => self.play_blocks::<K, 2>(0, before, square, flips, after),
            3 => self.play_blocks::<K, 3>(0, before, square, flips, after),
            4 => self.play_blocks::<K, 4>(0, before, square, flips, after),
            5 => self.play_blocks::<K, 5>(0, before, square, flips, after),
            count => (0..count)
                .for_each(|block| self.play_blocks::<K, 1>(block, before, square, flips, after)),
        }
    }

    /// As `play`, for `BLOCKS` blocks from `begin` on.
    #[inline(always)]
    fn play_blocks<K: Kernel, const BLOCKS: usize>(
        &self,
        begin: usize,
        before: &Accumulator,
        square: Square,
        flips: u64,
        after: &mut Accumulator,
    ) {
        let change = Change {
            before: blocks(&before.blocks[begin..]),
            swap: blocks(&self.swap[begin..]),
            placed: self.steps_of::<BLOCKS>(square, begin),
            flipped: Squares(flips).map(|square| self.steps_of::<BLOCKS>(square, begin)),
        };
        let after = after.blocks[begin..]
            .first_chunk_mut()
            .expect("an accumulator has every block");
        match K::INSTRUCTIONS {
            Instructions::Any => portable::play(change, after),
            // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::play(change, after) },
        }
    }

    #[inline(always)]
    fn steps_of<const BLOCKS: usize>(&self, square: Square, begin: usize) -> &[Block; BLOCKS] {
        blocks(&self.steps[square.index() * self.block_count + begin..])
    }

    /// Writes to `after` the accumulator after a pass.
    #[inline(always)]
    pub fn pass(&self, before: &Accumulator, after: &mut Accumulator) {
        for ((after, before), swap) in after.blocks.iter_mut().zip(&before.blocks).zip(&self.swap) {
            *after = swap.minus(*before);
        }
    }

    /// The linear part of a static value, from the accumulator of a position and the legal moves of
    /// its side to move: the weights, each less half the square of its vector. It is the value
    /// without vectors, and a lower bound of it beside them.
    #[inline(always)]
    pub fn linear<K: Kernel>(
        &self,
        accumulator: &Accumulator,
        position: Position,
        moves: u64,
    ) -> Score {
        let empties = usize::from(position.empties());
        let weights = &self.weights[self.phase_begin[empties]..][..self.phase_size + INDICES];
        let blocks = accumulator.blocks[..self.block_count]
            .iter()
            .zip(&self.tables);
        let mut sum = match K::INSTRUCTIONS {
            Instructions::Any => portable::sum(blocks, weights),
            // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
            // Tables begin within a phase, which is followed by as many weights as an index may
            // name.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::sum(blocks, weights) },
        };
        if !self.numbers.is_empty() {
            sum += numbers_sum::<K>(&self.numbers, weights, position, moves);
        }
        Score(self.constant[empties] + sum)
    }

    /// The least and the most that [`Self::square`] can be with this many empty squares.
    #[inline(always)]
    pub fn square_range(&self, empties: u8) -> (Score, Score) {
        self.square_ranges[usize::from(empties)]
    }

    /// The other part as searches count it: half the square of the sum of all vectors, within
    /// [`Self::square_range`].
    #[inline(always)]
    pub fn square<K: Kernel>(
        &self,
        accumulator: &Accumulator,
        position: Position,
        moves: u64,
    ) -> Score {
        self.vectors.as_ref().map_or(Score(0), |vectors| {
            let blocks = &accumulator.blocks[..self.block_count];
            let (least, most) = self.square_range(position.empties());
            vectors::square::<K>(vectors, blocks, &self.tables, position, moves).clamp(least, most)
        })
    }
}

kernel_entry! {
    /// The weights of numbers, whose tables begin at these places of `weights`. A separate
    /// function, so that an evaluation without numbers costs no more than a test.
    fn numbers_sum(numbers: &[(Number, usize)], weights: &[i16], position: Position, moves: u64) -> i32 = numbers_sum_body;
}

#[inline(always)]
fn numbers_sum_body<K: Kernel>(
    numbers: &[(Number, usize)],
    weights: &[i16],
    position: Position,
    moves: u64,
) -> i32 {
    let weight =
        |number: &(Number, usize)| i32::from(weights[number_place::<K>(number, position, moves)]);
    numbers.iter().map(weight).sum()
}

/// The place of a number of a position, where its table begins at `begin`.
#[inline(always)]
fn number_place<K: Kernel>(feature: &(Number, usize), position: Position, moves: u64) -> usize {
    let (number, begin) = feature;
    let index = number.index(position, |side| match side {
        Side::Own => moves,
        Side::Opponent => position.pass().legal_moves_by::<K>(),
    });
    begin + index
}

/// The first `BLOCKS` of at least as many blocks.
#[inline(always)]
fn blocks<const BLOCKS: usize>(blocks: &[Block]) -> &[Block; BLOCKS] {
    blocks
        .first_chunk()
        .expect("every part of an accumulator has `block_count` blocks")
}

/// The place of each feature after a zero, that of a pattern of squares by its renumbered
/// configuration.
fn places(set: &PatternSet) -> Vec<usize> {
    let places = set
        .patterns()
        .iter()
        .enumerate()
        .flat_map(|(index, pattern)| {
            let begin = 1 + set.offset(index);
            (0..pattern.configuration_count()).map(move |configuration| match &pattern.kind {
                PatternKind::Squares(squares) => begin + renumber(configuration, squares.len()),
                PatternKind::Number(_) => begin + configuration,
            })
        });
    places.collect()
}

/// Each weight less half the square of the vector beside it.
fn linear_weights<'a>(set: &PatternSet, weights: &'a [i16], vectors: &[i8]) -> Cow<'a, [i16]> {
    if set.vector_size() == 0 {
        return Cow::Borrowed(weights);
    }
    let half_squares: Vec<i16> = vectors
        .chunks_exact(set.vector_size())
        .map(|vector| half_square(vector) as i16)
        .collect();
    let mut linear = weights.to_vec();
    for (weights, &empties_max) in linear
        .chunks_exact_mut(set.feature_count())
        .zip(set.phase_empties_max())
    {
        let half_squares = &half_squares[set.group(empties_max) * set.feature_count()..];
        weights
            .iter_mut()
            .zip(half_squares)
            .for_each(|(weight, half_square)| *weight -= half_square);
    }
    Cow::Owned(linear)
}

/// The weights of each phase at their places.
fn pack_weights(
    set: &PatternSet,
    weights: &[i16],
    places: &[usize],
    phase_size: usize,
) -> Vec<i16> {
    let mut packed = vec![0; set.phase_count() * phase_size + INDICES];
    for (packed, weights) in packed
        .chunks_exact_mut(phase_size)
        .zip(weights.chunks_exact(set.feature_count()))
    {
        places
            .iter()
            .zip(weights)
            .for_each(|(&place, &weight)| packed[place] = weight);
    }
    packed
}

/// Maps the digits 0 (empty), 1 (side to move) and 2 (opponent) to 1, 0 and 2.
fn renumber(mut configuration: usize, squares: usize) -> usize {
    let (mut number, mut power) = (0, 1);
    for _ in 0..squares {
        number += [1, 0, 2][configuration % 3] * power;
        configuration /= 3;
        power *= 3;
    }
    number
}

fn parity_sum(set: &PatternSet, weights: &[i16], empties: u8) -> i32 {
    let parity = usize::from(empties & 1);
    let weights = &weights[set.phase(empties) * set.feature_count()..];
    let parities = set
        .numbers()
        .iter()
        .filter(|(number, _)| *number == Number::Parity);
    parities
        .map(|(_, offset)| i32::from(weights[offset + parity]))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::{Evaluation, EvaluationError};
    use super::super::number::Counted;
    use super::super::pattern_set::{Pattern, VectorShape, WEIGHT_BESIDE_VECTOR_MAX};
    use super::*;
    use crate::engine::board::kernel::{KernelChoice, with_kernel};
    use std::sync::Arc;

    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state ^ (state >> 29)) >> 8
        }
    }

    /// Random weights over patterns of every size, mirrors equal; odd seeds have every count too.
    fn evaluation(lists: &[&str], phase_empties_max: Vec<u8>, seed: u64) -> Evaluation {
        let squares = |list: &str| {
            PatternKind::Squares(list.split(' ').map(|name| name.parse().unwrap()).collect())
        };
        let mut patterns: Vec<Pattern> = lists
            .iter()
            .map(|list| Pattern {
                name: (*list).to_owned(),
                kind: squares(list),
            })
            .collect();
        let pattern = |name: &str, number| Pattern {
            name: name.to_owned(),
            kind: PatternKind::Number(number),
        };
        patterns.insert(1, pattern("PARITY", Number::Parity));
        if seed % 2 == 1 {
            let counts = [Counted::Mobility, Counted::Potential, Counted::Discs].into_iter();
            let counts =
                counts.flat_map(|counted| [Side::Own, Side::Opponent].map(|side| (counted, side)));
            patterns.extend(
                counts
                    .zip([31, 5, 64, 12, 20, 40])
                    .map(|((counted, side), cap)| {
                        pattern(
                            &format!("{counted:?} {side:?}"),
                            Number::Count { counted, side, cap },
                        )
                    }),
            );
        }
        let set = PatternSet::new("test", patterns, phase_empties_max).unwrap();
        let shape = VectorShape {
            size: [0, 3, 8, 16, 21, 32][seed as usize % 6],
            empties_max: vec![60, 31],
        };
        let set = set.clone().with_vectors(shape).unwrap_or(set);
        let mut next = numbers(seed);
        let (mut weights, most) = (Vec::new(), set.weight_max());
        for _ in 0..set.phase_count() {
            let phase: Vec<i16> = (0..set.feature_count())
                .map(|_| (next() as i16).clamp(-most, most))
                .collect();
            weights.extend(
                set.canonical()
                    .iter()
                    .map(|&canonical| phase[canonical as usize]),
            );
        }
        let mut vectors = Vec::new();
        for _ in 0..set.group_count() {
            let group: Vec<Vec<i8>> = (0..set.feature_count())
                .map(|_| {
                    (0..set.vector_size())
                        .map(|_| (next() % 63) as i8 - 31)
                        .collect()
                })
                .collect();
            vectors.extend(
                set.canonical()
                    .iter()
                    .flat_map(|&canonical| &group[canonical as usize]),
            );
        }
        Evaluation::with_vectors(Arc::new(set), weights, vectors).unwrap()
    }

    #[test]
    fn the_largest_vectors_and_weights_equal_the_walk() {
        // 128 instances, parity and six counts.
        let others = [
            "b1", "c1", "d1", "e1", "f1", "g1", "c2", "d2", "e2", "f2", "g2", "d3", "e3", "f3",
            "g3", "e4",
        ];
        let lists = others.map(|other| format!("a1 {other}"));
        let small = evaluation(&lists.each_ref().map(String::as_str), vec![60], 1);
        assert_eq!(small.set().features_per_position(), 135);
        for component in [31, -31] {
            let shape = VectorShape {
                size: 32,
                ..VectorShape::none()
            };
            let set = Arc::new((**small.set()).clone().with_vectors(shape).unwrap());
            let weights = vec![WEIGHT_BESIDE_VECTOR_MAX; set.feature_count()];
            let vectors = vec![component; set.component_count()];
            let evaluation = Evaluation::with_vectors(Arc::clone(&set), weights, vectors).unwrap();
            let expected = 31 * 31 * 32 * 135 * 134 / 4 + 25_079 * 135;
            assert_eq!(evaluation.static_value(Position::START).0, expected);
            for kernel in KernelChoice::all() {
                assert!(50 < with_kernel!(kernel, compare_game(&evaluation, 1)));
            }
            for weight in [WEIGHT_BESIDE_VECTOR_MAX + 1, i16::MIN] {
                let weights = vec![weight; set.feature_count()];
                let vectors = vec![component; set.component_count()];
                let error =
                    Evaluation::with_vectors(Arc::clone(&set), weights, vectors).unwrap_err();
                assert_eq!(
                    error,
                    EvaluationError::Weight {
                        phase: 0,
                        feature: 0
                    }
                );
            }
        }
    }

    const LARGE: &str = "a1 b1 c1 d1 e1 f1 g1 h1 b2 g2";
    const CORNER: &str = "a1 b1 c1 d1 a2 b2 c2 a3 b3 a4";
    const LISTS: [&str; 12] = [
        "a4 b4 c4 d4 e4 f4 g4 h4",
        LARGE,
        "a1 b2 c3 d4 e5 f6 g7 h8",
        "d4 e4 d5 e5",
        "a2 b3 c4 d5 e6 f7 g8",
        "a1",
        CORNER,
        "b1 a2",
        "a1 b1 c1 a2 b2 c2 a3 b3 c3",
        "a2 b2 c2 d2 e2 f2 g2 h2",
        "c3 d3 e3 f3",
        "c1 d1 c2 d2 e2",
    ];

    kernel_entry! {
        /// Plays a random game and compares each position's value with the walk's sum; the
        /// positions.
        fn compare_game(evaluation: &Evaluation, seed: u64) -> usize = compare_game_body;
    }

    fn compare_game_body<K: Kernel>(evaluation: &Evaluation, seed: u64) -> usize {
        let incremental = &evaluation.incremental;
        let mut next = numbers(seed);
        let mut position = Position::START;
        let mut accumulator = incremental.accumulator(position);
        for count in 1.. {
            let (linear, square) = evaluation.parts(position);
            let moves = position.legal_moves();
            assert_eq!(
                incremental.linear::<K>(&accumulator, position, moves),
                linear,
                "{position:?}"
            );
            let (least, most) = incremental.square_range(position.empties());
            assert_eq!(
                incremental.square::<K>(&accumulator, position, moves),
                square.clamp(least, most),
                "{position:?}"
            );
            let before = accumulator;
            let moves = position.children().count();
            if moves == 0 {
                if position.is_over() {
                    return count;
                }
                incremental.pass(&before, &mut accumulator);
                position = position.pass();
                continue;
            }
            let (square, after) = position.children().nth(next() as usize % moves).unwrap();
            incremental.play::<K>(&before, square, position.flips(square), &mut accumulator);
            position = after;
        }
        unreachable!()
    }

    #[test]
    fn all_kernels_equal_the_walk_on_every_position_of_10000_random_games() {
        let kernels = KernelChoice::all();
        let mut positions = 0;
        for set in 0..100 {
            let lists = &LISTS[set % 5..][..1 + set % 8];
            let evaluation = evaluation(lists, vec![60, 44, 31, 14], set as u64);
            for game in 0..100 {
                let seed = (set * 100 + game) as u64;
                let kernel = kernels[game % kernels.len()];
                positions += with_kernel!(kernel, compare_game(&evaluation, seed));
            }
        }
        assert!(600_000 < positions);
    }

    #[test]
    fn a_set_of_many_blocks_equals_the_walk() {
        let uneven = [
            "a1 b3", "a1 c4 d4", "b1 c3 d5", "b1 d3", "c1 e5 f4", "c1 e3", "d1 a3 c2",
        ];
        let evaluation = evaluation(
            &[LISTS.as_slice(), &uneven].concat(),
            vec![60, 44, 31, 14],
            1,
        );
        assert!(5 < evaluation.incremental.block_count);
        for kernel in KernelChoice::all() {
            assert!(
                (0..10)
                    .map(|seed| with_kernel!(kernel, compare_game(&evaluation, seed)))
                    .sum::<usize>()
                    > 500
            );
        }
    }
}
