//! The one walk over the features of a position. Evaluation and learning are visitors of it.

use super::number::Side;
use super::pattern_set::{INSTANCES_MAX, LANES, PatternSet};
use crate::engine::board::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};

/// A configuration of a pattern: its number among the features of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeatureIndex(pub usize);

/// What to do with each feature of a position.
pub trait FeatureVisitor {
    /// Called once for every instance, then once for every number.
    fn visit(&mut self, feature: FeatureIndex);
}

/// The configuration index of every instance, as sums of [`PatternSet::steps`].
#[derive(Clone, Debug)]
pub struct Indices {
    lanes: [[u16; LANES]; INSTANCES_MAX / LANES],
}

impl Indices {
    /// The indices of a position.
    #[must_use]
    #[inline]
    pub fn new(set: &PatternSet, position: Position) -> Self {
        let mut indices = Self { lanes: [[0; LANES]; INSTANCES_MAX / LANES] };
        for square in Squares(position.player()) {
            indices.add::<1>(set, square);
        }
        for square in Squares(position.opponent()) {
            indices.add::<2>(set, square);
        }
        indices
    }

    /// The index of each instance, in the order of [`PatternSet::instances`], then padding.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        self.lanes.as_flattened()
    }

    #[inline]
    fn add<const TIMES: u16>(&mut self, set: &PatternSet, square: Square) {
        for (lanes, steps) in self.lanes.iter_mut().zip(set.steps(square)) {
            for (lane, step) in lanes.iter_mut().zip(steps) {
                *lane = lane.wrapping_add(step * TIMES);
            }
        }
    }
}

/// Visits every feature of a position: instances, then numbers, in the order of the set.
#[inline(always)]
pub fn visit_features<V: FeatureVisitor>(set: &PatternSet, position: Position, visitor: &mut V) {
    let indices = Indices::new(set, position);
    for (instance, &index) in set.instances().iter().zip(indices.as_slice()) {
        visitor.visit(FeatureIndex(instance.offset + usize::from(index)));
    }
    for (number, offset) in set.numbers() {
        let index = number.index(position, |side| match side {
            Side::Own => position.legal_moves(),
            Side::Opponent => position.pass().legal_moves(),
        });
        visitor.visit(FeatureIndex(offset + index));
    }
}

/// Writes `map[feature]` for every feature of a position, in the order of the walk; `mapped` has one element for each.
pub fn map_features(kernel: KernelChoice, set: &PatternSet, position: Position, map: &[u32], mapped: &mut [u32]) {
    with_kernel!(kernel, map_features_entry(set, position, map, mapped));
}

kernel_entry! {
    fn map_features_entry(set: &PatternSet, position: Position, map: &[u32], mapped: &mut [u32]) -> () = map_features_body
}

#[inline(always)]
fn map_features_body<K: Kernel>(set: &PatternSet, position: Position, map: &[u32], mapped: &mut [u32]) {
    visit_features(set, position, &mut Mapped { map, rest: mapped.iter_mut() });
}

struct Mapped<'a> {
    map: &'a [u32],
    rest: std::slice::IterMut<'a, u32>,
}

impl FeatureVisitor for Mapped<'_> {
    #[inline(always)]
    fn visit(&mut self, FeatureIndex(index): FeatureIndex) {
        if let Some(mapped) = self.rest.next() {
            *mapped = self.map[index];
        }
    }
}
