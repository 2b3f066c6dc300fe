//! The walk's sums kept up to date from move to move: what the search evaluates with.
//!
//! Indices here count 0 for the side to move, 1 for an empty square and 2 for the opponent, so that a change of sides
//! maps an index i of a pattern of n squares to 3^n − 1 − i: one subtraction for all instances of a block.

use super::pattern_set::{INSTANCES_MAX, LANES, PatternKind, PatternSet};
use crate::engine::board::position::Position;
use crate::engine::board::square::Squares;

/// Blocks of [`LANES`] that an accumulator has room for: a pattern that fills a window alone has two instances or more
/// (fewer take the symmetry of at most eight squares), so at most half of the lanes are gaps.
const BLOCKS_MAX: usize = 2 * INSTANCES_MAX / LANES;

/// Instances that share a base in the weights.
const GROUP: usize = 4;

/// What 16 bits can address from one base.
const WINDOW: usize = 1 << 16;

type Block = [u16; LANES];

/// The index of every instance of a position, from the side to move.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(in crate::engine) struct Accumulator {
    blocks: [Block; BLOCKS_MAX],
}

impl Accumulator {
    /// Room for a position.
    pub(in crate::engine) const ZERO: Self = Self { blocks: [[0; LANES]; BLOCKS_MAX] };
}

/// Weights laid out for updates by moves.
#[derive(Debug)]
pub(in crate::engine) struct Incremental {
    block_count: usize,
    start: Vec<Block>,        // [block]: the indices of a board without discs
    swap: Vec<Block>,         // [block]: index + swapped index
    steps: Vec<Block>,        // [square][block]: 3^place
    bases: Vec<usize>,        // [group]
    weights: Vec<i16>,        // [phase][the tables of the patterns, each after a zero], then room for one window
    phase_begin: [usize; 65], // [empties] -> where its phase begins in `weights`
    constant: [i32; 65],      // [empties] -> the sum of the parity weights
}

/// A lane's place: its base, the distance of its table from there, and the squares, most significant first.
struct Lane<'a> {
    relative: usize,
    squares: &'a [crate::engine::board::square::Square],
}

impl Incremental {
    /// Lays out weights `[phase][feature]` of a set.
    pub(in crate::engine) fn new(set: &PatternSet, weights: &[i16]) -> Self {
        let (tables, phase_size) = table_begins(set);
        let (bases, lanes) = group_lanes(set, &tables);
        let block_count = lanes.len().div_ceil(LANES).max(1);
        assert!(block_count <= BLOCKS_MAX, "see BLOCKS_MAX");
        let mut this = Self {
            block_count,
            start: vec![[0; LANES]; block_count],
            swap: vec![[0; LANES]; block_count],
            steps: vec![[0; LANES]; block_count * 64],
            bases,
            weights: pack_weights(set, weights, &tables, phase_size),
            phase_begin: std::array::from_fn(|empties| set.phase(empties as u8) * phase_size),
            constant: std::array::from_fn(|empties| parity_sum(set, weights, empties as u8)),
        };
        for (index, lane) in lanes.iter().enumerate() {
            let (block, place) = (index / LANES, index % LANES);
            let last = 3_usize.pow(lane.squares.len() as u32) - 1;
            // Indices of 16 bits wrap, and wrap back.
            this.start[block][place] = (lane.relative + last / 2) as u16;
            this.swap[block][place] = (2 * lane.relative + last) as u16;
            for (power, square) in lane.squares.iter().rev().enumerate() {
                this.steps[square.index() * block_count + block][place] = 3_u16.pow(power as u32);
            }
        }
        this
    }

    /// The accumulator of a position.
    pub(in crate::engine) fn accumulator(&self, position: Position) -> Accumulator {
        let mut accumulator = Accumulator::ZERO;
        accumulator.blocks[..self.block_count].copy_from_slice(&self.start);
        for (set, times) in [(position.player(), u16::MAX), (position.opponent(), 1)] {
            for square in Squares(set) {
                let steps = &self.steps[square.index() * self.block_count..];
                for (block, steps) in accumulator.blocks[..self.block_count].iter_mut().zip(steps) {
                    for (lane, step) in block.iter_mut().zip(steps) {
                        *lane = lane.wrapping_add(step.wrapping_mul(times));
                    }
                }
            }
        }
        accumulator
    }

    /// Writes to `after` the accumulator after a move on `square` that turns over `flips`, seen by the opponent.
    #[inline(always)]
    pub(in crate::engine) fn play(&self, before: &Accumulator, square: usize, flips: u64, after: &mut Accumulator) {
        match self.block_count {
            1 => self.play_blocks::<1>(before, square, flips, after),
            2 => self.play_blocks::<2>(before, square, flips, after),
            3 => self.play_blocks::<3>(before, square, flips, after),
            4 => self.play_blocks::<4>(before, square, flips, after),
            5 => self.play_blocks::<5>(before, square, flips, after),
            _ => self.play_blocks::<BLOCKS_MAX>(before, square, flips, after),
        }
    }

    #[inline(always)]
    fn play_blocks<const BLOCKS: usize>(
        &self,
        before: &Accumulator,
        square: usize,
        flips: u64,
        after: &mut Accumulator,
    ) {
        let mut sums = [[0_u16; LANES]; BLOCKS];
        let mut rest = flips;
        while rest != 0 {
            let steps = self.steps_of::<BLOCKS>(rest.trailing_zeros() as usize);
            for (sum, steps) in sums.iter_mut().zip(steps) {
                for (sum, step) in sum.iter_mut().zip(steps) {
                    *sum = sum.wrapping_add(*step);
                }
            }
            rest &= rest - 1;
        }
        let steps = self.steps_of::<BLOCKS>(square);
        for block in 0..steps.len() {
            let (before, swap) = (&before.blocks[block], &self.swap[block]);
            let (sums, steps) = (&sums[block], &steps[block]);
            let after = &mut after.blocks[block];
            for lane in 0..LANES {
                let change = sums[lane].wrapping_mul(2).wrapping_add(steps[lane]);
                after[lane] = swap[lane].wrapping_sub(before[lane]).wrapping_add(change);
            }
        }
    }

    /// The steps of a square: `BLOCKS` of them, or fewer where `BLOCKS` stands for "many".
    #[inline(always)]
    fn steps_of<const BLOCKS: usize>(&self, square: usize) -> &[Block] {
        let count = if BLOCKS == BLOCKS_MAX { self.block_count } else { BLOCKS };
        &self.steps[square * count..][..count]
    }

    /// Writes to `after` the accumulator after a pass.
    #[inline(always)]
    pub(in crate::engine) fn pass(&self, before: &Accumulator, after: &mut Accumulator) {
        for ((after, before), swap) in after.blocks.iter_mut().zip(&before.blocks).zip(&self.swap) {
            for ((after, before), swap) in after.iter_mut().zip(before).zip(swap) {
                *after = swap.wrapping_sub(*before);
            }
        }
    }

    /// The static value of the position with this accumulator, in millidiscs; equals the walk's sum.
    #[inline(always)]
    pub(in crate::engine) fn value(&self, accumulator: &Accumulator, empties: u32) -> i32 {
        let begin = self.phase_begin[empties as usize];
        let mut sum = self.constant[empties as usize];
        for (lanes, base) in accumulator.blocks.as_flattened().chunks_exact(GROUP).zip(&self.bases) {
            let window: &[i16; WINDOW] =
                self.weights[begin + base..].first_chunk().expect("a window's room follows the last table");
            for &lane in lanes {
                sum += i32::from(window[usize::from(lane)]);
            }
        }
        sum
    }
}

/// Where each pattern's table begins within a phase, after one zero, and the size of a phase.
fn table_begins(set: &PatternSet) -> (Vec<usize>, usize) {
    let mut size = 0;
    let begins = set.patterns().iter().map(|pattern| {
        let begin = size;
        if matches!(pattern.kind, PatternKind::Squares(_)) {
            size += 1 + pattern.configuration_count();
        }
        begin
    });
    (begins.collect(), size)
}

/// Gathers instances in groups whose tables lie within one window; gaps are lanes without squares that read the zero.
fn group_lanes<'a>(set: &'a PatternSet, tables: &[usize]) -> (Vec<usize>, Vec<Lane<'a>>) {
    let mut bases: Vec<usize> = Vec::new();
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    for instance in set.instances() {
        let table = tables[instance.pattern];
        let end = table + 1 + set.patterns()[instance.pattern].configuration_count();
        let open = !lanes.len().is_multiple_of(GROUP) && bases.last().is_some_and(|base| end - base <= WINDOW);
        if !open {
            lanes.resize_with(lanes.len().next_multiple_of(GROUP), || Lane { relative: 0, squares: &[] });
            bases.push(table);
        }
        let relative = table + 1 - bases.last().expect("a base was pushed");
        lanes.push(Lane { relative, squares: &instance.squares });
    }
    lanes.resize_with(lanes.len().next_multiple_of(GROUP), || Lane { relative: 0, squares: &[] });
    (bases, lanes)
}

fn pack_weights(set: &PatternSet, weights: &[i16], tables: &[usize], phase_size: usize) -> Vec<i16> {
    let mut packed = vec![0; set.phase_count() * phase_size + WINDOW];
    for (phase, weights) in weights.chunks_exact(set.feature_count()).enumerate() {
        for (index, (pattern, table)) in set.patterns().iter().zip(tables).enumerate() {
            let PatternKind::Squares(squares) = &pattern.kind else { continue };
            let table = &mut packed[phase * phase_size + table + 1..];
            let weights = &weights[set.offset(index)..];
            for configuration in 0..pattern.configuration_count() {
                table[renumber(configuration, squares.len())] = weights[configuration];
            }
        }
    }
    packed
}

/// From 0 empty, 1 side to move, 2 opponent to 1, 0, 2.
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
    set.parity_offsets().iter().map(|offset| i32::from(weights[offset + parity])).sum()
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::Evaluation;
    use super::super::pattern_set::Pattern;
    use super::*;
    use std::sync::Arc;

    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state ^ (state >> 29)) >> 8
        }
    }

    /// Random weights over patterns of every size, mirrors equal.
    fn evaluation(lists: &[&str], phase_starts: Vec<u8>, seed: u64) -> Evaluation {
        let squares = |list: &str| PatternKind::Squares(list.split(' ').map(|name| name.parse().unwrap()).collect());
        let mut patterns: Vec<Pattern> =
            lists.iter().map(|list| Pattern { name: (*list).to_owned(), kind: squares(list) }).collect();
        patterns.insert(1, Pattern { name: "PARITY".to_owned(), kind: PatternKind::Parity });
        let set = PatternSet::new("test", patterns, phase_starts).unwrap();
        let mut next = numbers(seed);
        let mut weights = Vec::new();
        for _ in 0..set.phase_count() {
            let phase: Vec<i16> = (0..set.feature_count()).map(|_| next() as i16).collect();
            weights.extend(set.canonical().iter().map(|&canonical| phase[canonical as usize]));
        }
        Evaluation::new(Arc::new(set), weights).unwrap()
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

    #[test]
    fn the_incremental_value_is_the_walk_on_every_position_of_random_games() {
        let mut next = numbers(7);
        for game in 0..120 {
            let lists = &LISTS[game % 5..][..1 + game % 8];
            let evaluation = evaluation(lists, vec![4, 20, 33, 50], game as u64);
            let incremental = Incremental::new(evaluation.set(), evaluation.weights());
            let mut position = Position::START;
            let mut accumulator = incremental.accumulator(position);
            loop {
                let expected = evaluation.static_value(position);
                assert_eq!(incremental.value(&accumulator, u32::from(position.empties())), expected, "{lists:?}");
                let before = accumulator;
                let moves = position.children().count();
                if moves == 0 {
                    if position.is_over() {
                        break;
                    }
                    incremental.pass(&before, &mut accumulator);
                    position = position.pass();
                    continue;
                }
                let (square, after) = position.children().nth(next() as usize % moves).unwrap();
                incremental.play(&before, square.index(), position.flips(square), &mut accumulator);
                position = after;
            }
        }
    }
}
