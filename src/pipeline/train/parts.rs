//! What is learned separately: one part per phase, and before them wide parts, from which groups of neighboring phases begin.

use super::task::TrainConfig;
use crate::engine::{EMPTIES_MAX, PatternSet};
use std::ops::{Range, RangeInclusive};

/// Neighboring phases that begin from one wide part.
const GROUP_PHASES: usize = 5;

/// Weights that are learned together, from rows in a range of empty squares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its number among all parts of the training, wide ones first.
    pub(super) number: u32,
    /// The phases that begin from it, or the one whose weights it makes.
    pub(super) phases: Range<usize>,
    /// The range of its rows.
    pub(super) empties: RangeInclusive<u8>,
}

impl Part {
    /// With the rows of the phase in the middle of its phases, and of this many numbers of empty squares to each side.
    fn new(set: &PatternSet, number: u32, phases: Range<usize>, overlap: u8) -> Self {
        let mut part = Self { number, phases, empties: 0..=0 };
        let empties = phase_empties(set, part.middle());
        let most = empties.end().saturating_add(overlap).min(EMPTIES_MAX);
        part.empties = empties.start().saturating_sub(overlap)..=most;
        part
    }

    /// The phase in the middle of its phases.
    pub(super) fn middle(&self) -> usize {
        self.phases.start + self.phases.len() / 2
    }
}

/// What a part has learned so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Learned {
    /// In units, by slot.
    pub(super) weights: Vec<i32>,
    /// Updates that reached each slot.
    pub(super) visits: Vec<u32>,
    /// The sum of the errors of each epoch that is done, in units.
    pub(super) errors: Vec<u64>,
}

/// The parts of a training.
#[derive(Debug)]
pub(super) struct Plan {
    /// None if there is only one phase, or no `wide_overlap`.
    pub(super) wide: Vec<Part>,
    /// One for the weights of each phase.
    pub(super) phases: Vec<Part>,
}

impl Plan {
    /// The parts that a config asks for.
    pub(super) fn new(set: &PatternSet, config: &TrainConfig) -> Self {
        let count = set.phase_count();
        let grouped = if count == 1 || config.wide_overlap == 0 { 0 } else { count };
        let groups = (0..grouped).step_by(GROUP_PHASES).map(|begin| begin..count.min(begin + GROUP_PHASES));
        let part = |(number, phases)| Part::new(set, number, phases, config.wide_overlap);
        let wide: Vec<Part> = (0..).zip(groups).map(part).collect();
        let part = |(number, phase)| Part::new(set, number, phase..phase + 1, config.overlap);
        let phases = (wide.len() as u32..).zip(0..count).map(part).collect();
        Self { wide, phases }
    }

    /// All parts, wide ones first.
    pub(super) fn parts(&self) -> Vec<&Part> {
        self.wide.iter().chain(&self.phases).collect()
    }

    /// Whether a part is learned before those of phases.
    pub(super) fn is_wide(&self, part: &Part) -> bool {
        (part.number as usize) < self.wide.len()
    }

    /// The wide part from which a part begins, if it is that of a phase.
    pub(super) fn wide_of(&self, part: &Part) -> Option<&Part> {
        self.wide.iter().find(|wide| !self.is_wide(part) && wide.phases.contains(&part.phases.start))
    }
}

/// The range of empty squares of a phase.
pub(super) fn phase_empties(set: &PatternSet, phase: usize) -> RangeInclusive<u8> {
    let most = set.phase_empties_max();
    let fewest = most.get(phase + 1).map_or(0, |&next| next + 1);
    fewest..=most[phase]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Number, Pattern, PatternKind};
    use crate::pipeline::fixtures::default_table;

    #[test]
    fn phases_and_groups_are_widened_within_the_board() {
        let parity = Pattern { name: "PARITY".into(), kind: PatternKind::Number(Number::Parity) };
        let most: Vec<u8> = (1..=12).map(|phase| 5 * phase).rev().collect();
        let set = PatternSet::new("test", vec![parity], most).unwrap();
        let overlapping = |overlaps: (u8, u8)| {
            default_table::<TrainConfig>().with(|config| (config.overlap, config.wide_overlap) = overlaps).unwrap()
        };
        let plan = Plan::new(&set, &overlapping((2, 5)));
        let ranges = |parts: &[Part]| -> Vec<_> {
            parts.iter().map(|part| (part.number, part.phases.clone(), part.empties.clone())).collect()
        };
        assert_eq!(ranges(&plan.wide), [(0, 0..5, 41..=55), (1, 5..10, 16..=30), (2, 10..12, 0..=10)]);
        let phases = ranges(&plan.phases);
        assert_eq!(phases[0], (3, 0..1, 54..=60));
        assert_eq!(phases[1], (4, 1..2, 49..=57));
        assert_eq!(phases[11], (14, 11..12, 0..=7));
        let groups: Vec<u32> = plan.phases.iter().map(|part| plan.wide_of(part).unwrap().number).collect();
        assert_eq!(groups, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
        assert!(plan.wide.iter().all(|part| plan.wide_of(part).is_none()));
        let narrow = Plan::new(&set, &overlapping((0, 0)));
        assert_eq!((narrow.wide.len(), narrow.phases[11].empties.clone()), (0, 0..=5));
        assert_eq!(narrow.wide_of(&narrow.phases[0]), None);
    }
}
