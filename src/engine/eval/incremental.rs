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
use super::pattern_set::{
    EMPTIES_MAX, INSTANCES_MAX, LANES, PatternKind, PatternSet, configuration_sums,
};
use super::square_range::square_range;
use super::tables::Tables;
use crate::engine::board::kernel::{Instructions, Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::pages::Pages;
use crate::engine::score::Score;
use block::{Begins, Block, Change};
use std::sync::{Arc, OnceLock};
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

/// Weights and vectors laid out for updates by moves, each phase and each group of phases when a
/// position of theirs is valued first.
#[derive(Debug)]
pub struct Incremental {
    set: Arc<PatternSet>,
    source: Arc<Tables>,
    block_count: usize,
    start: Vec<Block>,             // [block]: the indices of a board without discs
    swap: Vec<Block>,              // [block]: index + swapped index
    steps: Vec<Block>,             // [square][block]: 3^place
    begins: Vec<Begins>,           // [block]
    places: OnceLock<Vec<u32>>,    // [feature] -> its place within a phase
    numbers: Vec<(Number, usize)>, // all but parity, each with where its table begins within a phase
    phases: Vec<OnceLock<Phase>>,
    phase_of: [usize; 65],        // [empties]
    groups: Vec<OnceLock<Group>>, // none without vectors
    group_of: [usize; 65],        // [empties]
}

/// The weights of a phase, each less half the square of the vector beside it.
#[derive(Debug)]
struct Phase {
    weights: Pages<i16>, // a zero, then the tables of the patterns, then room for every index
    parity: [i32; 2], // the sum of the parity weights of an even and an odd number of empty squares
}

/// The vectors of a group of phases.
#[derive(Debug)]
struct Group {
    vectors: Vectors,
    /// The least and the most that [`Incremental::square`] is.
    square_range: (Score, Score),
}

impl Incremental {
    /// Lays out the weights and vectors of a set.
    pub fn new(set: Arc<PatternSet>, source: Arc<Tables>) -> Self {
        let block_count = set.block_count();
        let counts = set
            .numbers()
            .iter()
            .filter(|(number, _)| *number != Number::Parity);
        let groups = if set.vector_size() == 0 {
            0
        } else {
            set.group_count()
        };
        let mut this = Self {
            block_count,
            start: vec![Block::ZERO; block_count],
            swap: vec![Block::ZERO; block_count],
            steps: set.steps[..64 * block_count]
                .iter()
                .map(|&steps| Block(steps))
                .collect(),
            begins: vec![Begins([0; LANES]); block_count],
            places: OnceLock::new(),
            numbers: counts
                .map(|&(number, offset)| (number, 1 + offset))
                .collect(),
            phases: (0..set.phase_count()).map(|_| OnceLock::new()).collect(),
            phase_of: std::array::from_fn(|empties| set.phase(empties as u8)),
            groups: (0..groups).map(|_| OnceLock::new()).collect(),
            group_of: std::array::from_fn(|empties| set.group(empties as u8)),
            set: Arc::clone(&set),
            source,
        };
        for (index, instance) in set.instances().iter().enumerate() {
            let (block, lane) = (index / LANES, index % LANES);
            let last = 3_u32.pow(instance.squares.len() as u32) - 1;
            this.start[block].0[lane] = (last / 2) as u16;
            this.swap[block].0[lane] = last as u16;
            this.begins[block].0[lane] = 1 + instance.offset as u32;
        }
        this
    }

    /// Lays out every phase and group now, for whoever cannot wait later.
    pub fn prepare(&self) {
        for empties in 0..=EMPTIES_MAX {
            self.phase(empties);
            self.group(empties);
        }
    }

    /// The phase of positions with this many empty squares.
    #[inline(always)]
    fn phase(&self, empties: u8) -> &Phase {
        let phase = self.phase_of[usize::from(empties)];
        let laid_out = &self.phases[phase];
        match laid_out.get() {
            Some(laid_out) => laid_out,
            None => self.lay_out_phase(phase),
        }
    }

    /// The group of positions with this many empty squares; `None` without vectors.
    #[inline(always)]
    fn group(&self, empties: u8) -> Option<&Group> {
        let group = self.group_of[usize::from(empties)];
        let laid_out = self.groups.get(group)?;
        Some(match laid_out.get() {
            Some(laid_out) => laid_out,
            None => self.lay_out_group(group),
        })
    }

    #[cold]
    fn lay_out_phase(&self, phase: usize) -> &Phase {
        self.phases[phase].get_or_init(|| {
            let set = &self.set;
            let weights = self.source.phase(set, phase);
            let group = set.group(set.phase_empties_max()[phase]);
            let vectors = self.source.group(set, group);
            Phase {
                weights: pack_weights(set, weights, vectors, self.places()),
                parity: [0, 1].map(|parity| parity_sum(set, weights, vectors, parity)),
            }
        })
    }

    #[cold]
    fn lay_out_group(&self, group: usize) -> &Group {
        self.groups[group].get_or_init(|| {
            let vectors = self.source.group(&self.set, group);
            Group {
                vectors: Vectors::new(&self.set, vectors, self.places()),
                square_range: square_range(&self.set, group, vectors),
            }
        })
    }

    fn places(&self) -> &[u32] {
        self.places.get_or_init(|| places(&self.set))
    }

    /// The accumulator of a position.
    #[inline(always)]
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
    /// its side to move: the weights, each less half the square of its vector, which is the value
    /// of a set without vectors.
    #[inline(always)]
    pub fn linear<K: Kernel>(
        &self,
        accumulator: &Accumulator,
        position: Position,
        moves: u64,
    ) -> Score {
        let empties = position.empties();
        let phase = self.phase(empties);
        let blocks = accumulator.blocks[..self.block_count]
            .iter()
            .zip(&self.begins);
        let mut sum = match K::INSTRUCTIONS {
            Instructions::Any => portable::sum(blocks, &phase.weights),
            // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
            // Tables begin within a phase, which is followed by as many weights as an index may
            // name.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 | Instructions::Avx512 => unsafe {
                avx2::sum(blocks, &phase.weights)
            },
        };
        if !self.numbers.is_empty() {
            sum += numbers_sum::<K>(&self.numbers, &phase.weights, position, moves);
        }
        Score(phase.parity[usize::from(empties & 1)] + sum)
    }

    /// The least and the most that [`Self::square`] can be with this many empty squares.
    #[inline(always)]
    pub fn square_range(&self, empties: u8) -> (Score, Score) {
        self.group(empties)
            .map_or((Score(0), Score(0)), |group| group.square_range)
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
        let (least, most) = self.square_range(position.empties());
        self.whole_square::<K>(accumulator, position, moves)
            .clamp(least, most)
    }

    /// The same, whatever its range.
    #[inline(always)]
    fn whole_square<K: Kernel>(
        &self,
        accumulator: &Accumulator,
        position: Position,
        moves: u64,
    ) -> Score {
        self.group(position.empties()).map_or(Score(0), |group| {
            let blocks = &accumulator.blocks[..self.block_count];
            vectors::square::<K>(&group.vectors, blocks, &self.begins, position, moves)
        })
    }
}

kernel_entry! {
    /// The value of a position, not clamped, that no search leads to.
    pub fn static_value(incremental: &Incremental, position: Position) -> Score = static_value_body;

    /// The weights of numbers, whose tables begin at these places of `weights`. A separate
    /// function, so that an evaluation without numbers costs no more than a test.
    fn numbers_sum(numbers: &[(Number, usize)], weights: &[i16], position: Position, moves: u64) -> i32 = numbers_sum_body;
}

#[inline(always)]
fn static_value_body<K: Kernel>(incremental: &Incremental, position: Position) -> Score {
    let accumulator = incremental.accumulator(position);
    let moves = position.legal_moves_by::<K>();
    incremental.linear::<K>(&accumulator, position, moves)
        + incremental.whole_square::<K>(&accumulator, position, moves)
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
fn places(set: &PatternSet) -> Vec<u32> {
    let mut places = Vec::with_capacity(set.feature_count());
    for (index, pattern) in set.patterns().iter().enumerate() {
        let begin = 1 + set.offset(index) as u32;
        match &pattern.kind {
            PatternKind::Squares(squares) => {
                let powers: Vec<u32> = (0..squares.len() as u32)
                    .map(|place| 3_u32.pow(place))
                    .rev()
                    .collect();
                let renumbered = configuration_sums(&powers, [1, 0, 2]);
                places.extend(renumbered.into_iter().map(|place| begin + place));
            }
            PatternKind::Number(_) => {
                places.extend((0..pattern.configuration_count() as u32).map(|place| begin + place));
            }
        }
    }
    places
}

/// The weights of a phase at their places, each less half the square of the vector beside it.
fn pack_weights(set: &PatternSet, weights: &[i16], vectors: &[i8], places: &[u32]) -> Pages<i16> {
    let mut packed = Pages::zeros(1 + set.feature_count() + INDICES);
    if vectors.is_empty() {
        for (&place, &weight) in places.iter().zip(weights) {
            packed[place as usize] = weight;
        }
        return packed;
    }
    let (vectors, positive) = (vectors.chunks_exact(set.vector_size()), set.positive_size());
    for ((&place, &weight), vector) in places.iter().zip(weights).zip(vectors) {
        packed[place as usize] = weight - half_square(vector, positive) as i16;
    }
    packed
}

/// The sum of the weights of parity 0 or 1, each less half the square of its vector.
fn parity_sum(set: &PatternSet, weights: &[i16], vectors: &[i8], parity: usize) -> i32 {
    let (size, positive) = (set.vector_size(), set.positive_size());
    let parities = set
        .numbers()
        .iter()
        .filter(|(number, _)| *number == Number::Parity);
    parities
        .map(|(_, offset)| {
            let feature = offset + parity;
            let vector = &vectors[feature * size..][..size];
            i32::from(weights[feature]) - half_square(vector, positive)
        })
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
            negative: [0, 1, 3, 7, 8, 13][seed as usize % 6] * (seed / 6 % 3 % 2) as u8,
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
        for (component, negative) in [(31, 0), (-31, 0), (31, 32), (-31, 32), (31, 5)] {
            let shape = VectorShape {
                size: 32,
                negative,
                ..VectorShape::none()
            };
            let set = Arc::new((**small.set()).clone().with_vectors(shape).unwrap());
            let vectors = vec![component; set.component_count()];
            let surplus = 32 - 2 * i32::from(negative);
            let half_square = (31_i32.pow(2) * surplus).div_euclid(4);
            let square_of_sum = ((31 * 135_i32).pow(2) * surplus).div_euclid(4);
            for weight in [WEIGHT_BESIDE_VECTOR_MAX, -WEIGHT_BESIDE_VECTOR_MAX] {
                let weights = vec![weight; set.feature_count()];
                let evaluation =
                    Evaluation::with_vectors(Arc::clone(&set), weights, vectors.clone()).unwrap();
                let expected = square_of_sum + (i32::from(weight) - half_square) * 135;
                assert_eq!(evaluation.static_value(Position::START).0, expected);
                for kernel in KernelChoice::all() {
                    assert!(50 < with_kernel!(kernel, compare_game(&evaluation, 1)));
                }
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
            assert_eq!(
                static_value::<K>(incremental, position),
                linear + square,
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
