//! Slots: the weights that are learned, one for each set of mirrors.

use super::rows::TrainingRow;
use crate::engine::eval::features::map_features;
use crate::engine::{KernelChoice, Pattern, PatternSet};
use std::ops::Range;

/// The slots of a phase. Those of one pattern are neighbors.
#[derive(Debug)]
pub struct SlotMap<'a> {
    pub set: &'a PatternSet,
    pub kernel: KernelChoice,
    slot_of_feature: Vec<u32>,
    feature_of_slot: Vec<u32>,
    /// The slots of each pattern, in order.
    slots_of_pattern: Vec<Range<usize>>,
}

impl<'a> SlotMap<'a> {
    /// The slots of a pattern set.
    pub fn new(set: &'a PatternSet) -> Self {
        let (mut slot_of_feature, mut feature_of_slot) = (vec![0; set.feature_count()], Vec::new());
        for (feature, &canonical) in set.canonical().iter().enumerate() {
            // A canonical feature is the first of its mirrors.
            if canonical as usize == feature {
                slot_of_feature[feature] = feature_of_slot.len() as u32;
                feature_of_slot.push(canonical);
            } else {
                slot_of_feature[feature] = slot_of_feature[canonical as usize];
            }
        }
        let slot_at =
            |begin: usize| feature_of_slot.partition_point(|&feature| (feature as usize) < begin);
        let slots_of = |(index, pattern): (usize, &Pattern)| {
            let begin = set.offset(index);
            slot_at(begin)..slot_at(begin + pattern.configuration_count())
        };
        let slots_of_pattern = set.patterns().iter().enumerate().map(slots_of).collect();
        Self {
            set,
            kernel: KernelChoice::detect(),
            slot_of_feature,
            feature_of_slot,
            slots_of_pattern,
        }
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.feature_of_slot.len()
    }

    /// Pattern and canonical configuration of each slot.
    pub fn configurations(&self) -> impl Iterator<Item = (usize, usize)> {
        let patterns = self.slots_of_pattern.iter().enumerate();
        patterns.flat_map(move |(pattern, slots)| {
            let features = &self.feature_of_slot[slots.clone()];
            features
                .iter()
                .map(move |&feature| (pattern, feature as usize - self.set.offset(pattern)))
        })
    }

    /// Writes the slots of rows, one row after another.
    pub fn write(&self, rows: &[TrainingRow], slots: &mut [u32]) {
        map_features(self.kernel, self.set, rows, &self.slot_of_feature, slots);
    }

    /// What belongs to features as what belongs to slots.
    pub fn gather<T: Copy>(&self, by_feature: &[T]) -> Vec<T> {
        self.feature_of_slot
            .iter()
            .map(|&feature| by_feature[feature as usize])
            .collect()
    }

    /// What belongs to slots as what belongs to features, equal for mirrors.
    pub fn spread<'s, T: Copy>(&'s self, by_slot: &'s [T]) -> impl Iterator<Item = T> + 's {
        self.slot_of_feature
            .iter()
            .map(|&slot| by_slot[slot as usize])
    }

    /// What belongs to slots at canonical features, and 0 at others.
    pub fn at_canonical(&self, by_slot: &[u32]) -> impl Iterator<Item = u32> {
        let slots = self
            .slot_of_feature
            .iter()
            .zip(self.set.canonical())
            .zip(0..);
        slots.map(|((&slot, &canonical), feature)| {
            if canonical == feature {
                by_slot[slot as usize]
            } else {
                0
            }
        })
    }
}
