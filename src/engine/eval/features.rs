//! The one walk over the features of a position. Evaluation and learning take it.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

use super::number::{Number, Side};
use super::pattern_set::{INSTANCES_MAX, LANES, PatternSet};
use crate::engine::board::kernel::{Instructions, Kernel, KernelChoice, kernel_entry, with_kernel};
use crate::engine::board::position::Position;

/// Squares whose steps are added between two checks for the last one: the end of a loop is hard to
/// predict.
const SQUARES_TOGETHER: usize = 4;

/// Calls `$function::<…, BLOCKS>(…)` with the number of blocks of a set as a constant, so that sums
/// stay in registers.
macro_rules! with_blocks {
    ($set:expr, $function:ident$(::<$($type:ty),*>)?($($argument:expr),*)) => {
        match $set.block_count() {
            1 => $function::<$($($type,)*)? 1>($($argument),*),
            2 => $function::<$($($type,)*)? 2>($($argument),*),
            3 => $function::<$($($type,)*)? 3>($($argument),*),
            4 => $function::<$($($type,)*)? 4>($($argument),*),
            5 => $function::<$($($type,)*)? 5>($($argument),*),
            6 => $function::<$($($type,)*)? 6>($($argument),*),
            7 => $function::<$($($type,)*)? 7>($($argument),*),
            8 => $function::<$($($type,)*)? 8>($($argument),*),
            _ => unreachable!("a set has at most {INSTANCES_MAX} instances"),
        }
    };
}

const _: () = assert!(INSTANCES_MAX == 8 * LANES);

/// The configuration index of every instance, in the order of [`PatternSet::instances`], then
/// padding: sums of `PatternSet::steps`, twice for the discs of the opponent.
#[inline(always)]
fn indices<const BLOCKS: usize>(set: &PatternSet, position: Position) -> [[u16; LANES]; BLOCKS] {
    let mut sums = [[0; LANES]; BLOCKS];
    add_steps(set, position.opponent(), &mut sums);
    sums.iter_mut()
        .for_each(|sums| sums.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(2)));
    add_steps(set, position.player(), &mut sums);
    sums
}

/// Adds the steps of a set of squares. Beyond its last square there is one that adds nothing.
#[inline(always)]
fn add_steps<const BLOCKS: usize>(
    set: &PatternSet,
    mut squares: u64,
    sums: &mut [[u16; LANES]; BLOCKS],
) {
    let steps: &[[_; BLOCKS]; 65] = set
        .steps
        .as_chunks()
        .0
        .try_into()
        .expect("every square has one step per block");
    while squares != 0 {
        for _ in 0..SQUARES_TOGETHER {
            let steps = &steps[squares.trailing_zeros() as usize];
            squares &= squares.wrapping_sub(1);
            for (block, sums) in sums.iter_mut().enumerate() {
                let steps = &steps[block];
                sums.iter_mut()
                    .enumerate()
                    .for_each(|(lane, sum)| *sum = sum.wrapping_add(steps[lane]));
            }
        }
    }
}

/// Every feature of a position, by its number among those of a phase: instances, then numbers, in
/// the order of the set.
pub fn features(set: &PatternSet, position: Position) -> impl Iterator<Item = usize> {
    let mut lanes = [0; INSTANCES_MAX];
    with_blocks!(set, write_indices(set, position, &mut lanes));
    let instances = set
        .instances()
        .iter()
        .zip(lanes)
        .map(|(instance, index)| instance.offset + usize::from(index));
    instances.chain(
        set.numbers()
            .iter()
            .map(move |number| number_feature(number, position)),
    )
}

fn write_indices<const BLOCKS: usize>(
    set: &PatternSet,
    position: Position,
    lanes: &mut [u16; INSTANCES_MAX],
) {
    lanes[..BLOCKS * LANES].copy_from_slice(indices::<BLOCKS>(set, position).as_flattened());
}

#[inline(always)]
fn number_feature(feature: &(Number, usize), position: Position) -> usize {
    let (number, offset) = feature;
    let index = number.index(position, |side| match side {
        Side::Own => position.legal_moves(),
        Side::Opponent => position.pass().legal_moves(),
    });
    offset + index
}

/// Writes `map[feature]` for every feature of each position, one position after another, in the
/// order of the walk.
///
/// # Panics
///
/// If `map` does not have one element per feature of a phase, or `mapped` one per feature of the
/// positions.
pub fn map_features<R: AsRef<Position>>(
    kernel: KernelChoice,
    set: &PatternSet,
    rows: &[R],
    map: &[u32],
    mapped: &mut [u32],
) {
    assert!(
        map.len() == set.feature_count()
            && mapped.len() == rows.len() * set.features_per_position()
    );
    with_kernel!(kernel, map_features_entry::<R>(set, rows, map, mapped));
}

kernel_entry! {
    fn map_features_entry<R: AsRef<Position>>(set: &PatternSet, rows: &[R], map: &[u32], mapped: &mut [u32]) -> () =
        map_features_body;
}

#[inline(always)]
fn map_features_body<K: Kernel, R: AsRef<Position>>(
    set: &PatternSet,
    rows: &[R],
    map: &[u32],
    mapped: &mut [u32],
) {
    with_blocks!(set, map_in_blocks::<K, R>(set, rows, map, mapped));
}

#[inline(always)]
fn map_in_blocks<K: Kernel, R: AsRef<Position>, const BLOCKS: usize>(
    set: &PatternSet,
    rows: &[R],
    map: &[u32],
    mapped: &mut [u32],
) {
    for (row, mapped) in rows
        .iter()
        .zip(mapped.chunks_exact_mut(set.features_per_position()))
    {
        let position = *row.as_ref();
        let (instances, numbers) = mapped.split_at_mut(set.instances().len());
        let indices = indices::<BLOCKS>(set, position);
        match K::INSTRUCTIONS {
            Instructions::Any => {
                portable::map(indices.as_flattened(), &set.lane_offsets, map, instances);
            }
            // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it. No
            // square has two discs, so an index is below the number of configurations of its
            // pattern, and `map` has an element for each; padding names the first element.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 | Instructions::Avx512 => unsafe {
                avx2::map(indices.as_flattened(), &set.lane_offsets, map, instances);
            },
        }
        for (mapped, number) in numbers.iter_mut().zip(set.numbers()) {
            *mapped = map[number_feature(number, position)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::Counted;
    use super::super::pattern_set::{Instance, Pattern, PatternKind};
    use super::*;
    use crate::engine::board::position::{Opponent, Player};
    use crate::engine::board::square::Square;

    struct Row(Position);

    impl AsRef<Position> for Row {
        fn as_ref(&self) -> &Position {
            &self.0
        }
    }

    /// Patterns with this many squares in each, and numbers.
    fn set(counts: &[usize]) -> PatternSet {
        let squares = |count: usize| {
            (0..count)
                .map(|place| Square::new((place * 7 % 64) as u8).unwrap())
                .collect()
        };
        let pattern = |(name, kind): (String, PatternKind)| Pattern { name, kind };
        let numbers = [
            Number::Parity,
            Number::Count {
                counted: Counted::Mobility,
                side: Side::Opponent,
                cap: 9,
            },
        ];
        let numbers = numbers
            .iter()
            .map(|&number| (format!("{number:?}"), PatternKind::Number(number)));
        let lists = counts
            .iter()
            .map(|&count| (count.to_string(), PatternKind::Squares(squares(count))));
        PatternSet::new(
            "test",
            numbers.chain(lists).map(pattern).collect(),
            vec![60],
        )
        .unwrap()
    }

    /// The features of a position by their definition.
    fn expected(set: &PatternSet, position: Position) -> Vec<usize> {
        let digit = |square: &Square| match position.player() & square.bit() {
            0 => 2 * usize::from(position.opponent() & square.bit() != 0),
            _ => 1,
        };
        let index = |instance: &Instance| {
            instance
                .squares
                .iter()
                .fold(0, |index, square| 3 * index + digit(square))
        };
        let parity = usize::from(position.empties() % 2);
        let moves = position.pass().legal_moves().count_ones().min(9) as usize;
        let numbers = set
            .numbers()
            .iter()
            .zip([parity, moves])
            .map(|((_, offset), index)| offset + index);
        set.instances()
            .iter()
            .map(|instance| instance.offset + index(instance))
            .chain(numbers)
            .collect()
    }

    #[test]
    fn every_kernel_maps_the_features_of_the_definition() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 31
        };
        for counts in [
            &[][..],
            &[1],
            &[2, 10],
            &[3, 4, 8],
            &[1, 2, 3, 4, 5, 6],
            &[2, 3, 4, 5, 6, 7, 8, 9, 10],
        ] {
            let set = set(counts);
            let map: Vec<u32> = (0..set.feature_count()).map(|_| random() as u32).collect();
            for _ in 0..200 {
                let (occupied, own) = (random() | random() & random(), random());
                let position =
                    Position::new(Player(occupied & own), Opponent(occupied & !own)).unwrap();
                let expected = expected(&set, position);
                assert!(
                    features(&set, position).eq(expected.iter().copied()),
                    "{position:?}"
                );
                for kernel in KernelChoice::all() {
                    let mut mapped = vec![0; 2 * expected.len()];
                    map_features(
                        kernel,
                        &set,
                        &[Row(Position::START), Row(position)],
                        &map,
                        &mut mapped,
                    );
                    let mapped = mapped.iter().skip(expected.len());
                    assert!(
                        mapped.eq(expected.iter().map(|&feature| &map[feature])),
                        "{kernel:?} {position:?}"
                    );
                }
            }
        }
    }
}
