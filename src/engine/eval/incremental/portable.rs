//! Moves and sums in plain code, which the fast backends are tested against.

use super::block::{Begins, Block, Change};
use crate::engine::eval::pairs::Signs;

#[inline(always)]
pub fn play<'a, const BLOCKS: usize>(
    change: Change<'a, BLOCKS, impl Iterator<Item = &'a [Block; BLOCKS]>>,
    after: &mut [Block; BLOCKS],
) {
    let mut sums = [Block::ZERO; BLOCKS];
    for steps in change.flipped {
        for (sum, steps) in sums.iter_mut().zip(steps) {
            *sum = sum.plus(*steps);
        }
    }
    for block in 0..BLOCKS {
        let change_of_index = sums[block].plus(sums[block]).plus(change.placed[block]);
        after[block] = change.swap[block]
            .minus(change.before[block])
            .plus(change_of_index);
    }
}

#[inline(always)]
pub fn sum<'a>(blocks: impl Iterator<Item = (&'a Block, &'a Begins)>, weights: &[i16]) -> i32 {
    let mut sum = 0;
    for (block, begins) in blocks {
        for (&index, &begin) in block.0.iter().zip(&begins.0) {
            sum += i32::from(weights[begin as usize + usize::from(index)]);
        }
    }
    sum
}

/// The squares of the sum of vectors of `SIZE` components, added up with their signs.
#[inline(always)]
pub fn squared_sum<const SIZE: usize>(components: &[i8], places: &[u32], signs: &Signs) -> i32 {
    let (vectors, _) = components.as_chunks::<SIZE>();
    let mut sums = [0_i32; SIZE];
    for &place in places {
        sums.iter_mut()
            .zip(vectors[place as usize])
            .for_each(|(sum, component)| *sum += i32::from(component));
    }
    sums.iter()
        .zip(signs)
        .map(|(sum, &sign)| sum * sum * i32::from(sign))
        .sum()
}
