//! What is learned separately, in rounds: wide parts, from which groups of neighboring phases
//! begin; one part per phase; and for sets with vectors, one part per group of phases that share
//! them, and one part per phase again.

use super::task::{Round, TrainConfig};
use crate::engine::{EMPTIES_MAX, PatternSet};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// Neighboring phases that begin from one wide part.
const GROUP_PHASES: usize = 5;

/// What is learned together, from rows in a range of empty squares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainPart {
    /// Its number among all parts of the training, round after round.
    pub number: u32,
    pub round: Round,
    /// The phases that begin from it, or the one whose weights it makes, or those that share its
    /// vectors.
    pub phases: Range<usize>,
    /// The range of its rows.
    pub empties: RangeInclusive<u8>,
}

impl TrainPart {
    /// The phase in the middle of its phases.
    pub fn middle(&self) -> usize {
        self.phases.start + self.phases.len() / 2
    }
}

/// What a part has learned so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Weights in units, by slot; or components of vectors in binary fractions,
    /// `[slot][component]`.
    pub weights: Vec<i32>,
    /// Updates that reached each slot.
    pub visits: Vec<u32>,
    /// The sum of the errors of each epoch that is done, in units; in millidiscs beside vectors
    /// that are learned.
    pub errors: Vec<u64>,
}

/// What each of some parts has learned, by its number.
pub type LearnedParts = BTreeMap<u32, Learned>;

/// The parts of a training.
#[derive(Debug)]
pub struct TrainPlan {
    /// By number. There are no wide ones if there is only one phase, or no `wide_overlap`.
    pub parts: Vec<TrainPart>,
}

impl TrainPlan {
    /// The parts that a config asks for.
    pub fn new(set: &PatternSet, config: &TrainConfig) -> Self {
        let count = set.phase_count();
        let each = |round| (0..count).map(move |phase| (round, phase..phase + 1));
        let grouped = if count == 1 || config.wide_overlap == 0 {
            0
        } else {
            count
        };
        let wide = (0..grouped)
            .step_by(GROUP_PHASES)
            .map(|begin| begin..count.min(begin + GROUP_PHASES));
        let mut rounds: Vec<(Round, Range<usize>)> =
            wide.map(|phases| (Round::Wide, phases)).collect();
        rounds.extend(each(Round::Phases));
        if 0 < set.vector_size() {
            let group = |phase: &usize| set.group(set.phase_empties_max()[*phase]);
            let phases: Vec<usize> = (0..count).collect();
            let groups = phases.chunk_by(|left, right| group(left) == group(right));
            rounds
                .extend(groups.map(|phases| (Round::Vectors, phases[0]..phases[0] + phases.len())));
            rounds.extend(each(Round::Refit));
        }
        let part = |(number, (round, phases)): (u32, (Round, Range<usize>))| {
            let mut part = TrainPart {
                number,
                round,
                empties: phase_empties(set, phases.start),
                phases,
            };
            let middle = phase_empties(set, part.middle());
            part.empties = match round {
                Round::Wide => widened(middle, config.wide_overlap),
                Round::Vectors => {
                    *phase_empties(set, part.phases.end - 1).start()..=*part.empties.end()
                }
                Round::Phases | Round::Refit => widened(middle, config.overlap),
            };
            part
        };
        Self {
            parts: (0..).zip(rounds).map(part).collect(),
        }
    }

    /// The parts of a round.
    pub fn round(&self, round: Round) -> impl Iterator<Item = &TrainPart> {
        self.parts.iter().filter(move |part| part.round == round)
    }

    /// The parts that make the weights of the model, one for each phase.
    pub fn last_round(&self) -> impl Iterator<Item = &TrainPart> {
        self.round(self.parts.last().map_or(Round::Phases, |part| part.round))
    }

    /// The part of a round that has a phase.
    pub fn of_phase(&self, round: Round, phase: usize) -> Option<&TrainPart> {
        self.round(round).find(|part| part.phases.contains(&phase))
    }

    /// The parts from which a part begins, or beside which it learns.
    pub fn needs(&self, part: &TrainPart) -> Vec<&TrainPart> {
        let of_phase = |round| self.of_phase(round, part.phases.start);
        match part.round {
            Round::Wide => Vec::new(),
            Round::Phases => of_phase(Round::Wide).into_iter().collect(),
            Round::Vectors => self
                .round(Round::Phases)
                .filter(|phase| part.phases.contains(&phase.phases.start))
                .collect(),
            Round::Refit => of_phase(Round::Phases)
                .into_iter()
                .chain(of_phase(Round::Vectors))
                .collect(),
        }
    }
}

/// A range and this many numbers of empty squares to each side.
fn widened(empties: RangeInclusive<u8>, overlap: u8) -> RangeInclusive<u8> {
    empties.start().saturating_sub(overlap)..=empties.end().saturating_add(overlap).min(EMPTIES_MAX)
}

/// The range of empty squares of a phase.
pub fn phase_empties(set: &PatternSet, phase: usize) -> RangeInclusive<u8> {
    let most = set.phase_empties_max();
    let fewest = most.get(phase + 1).map_or(0, |&next| next + 1);
    fewest..=most[phase]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Number, Pattern, PatternKind, VectorShape};
    use crate::pipeline::fixtures::default_table;

    #[test]
    fn phases_and_groups_are_widened_within_the_board() {
        let parity = Pattern {
            name: "PARITY".into(),
            kind: PatternKind::Number(Number::Parity),
        };
        let most: Vec<u8> = (1..=12).map(|phase| 5 * phase).rev().collect();
        let set = PatternSet::new("test", vec![parity], most).unwrap();
        let overlapping = |overlaps: (u8, u8)| {
            default_table::<TrainConfig>()
                .with(|config| (config.overlap, config.wide_overlap) = overlaps)
                .unwrap()
        };
        let plan = TrainPlan::new(&set, &overlapping((2, 5)));
        let ranges = |plan: &TrainPlan, round| -> Vec<_> {
            plan.round(round)
                .map(|part| (part.number, part.phases.clone(), part.empties.clone()))
                .collect()
        };
        assert_eq!(
            ranges(&plan, Round::Wide),
            [(0, 0..5, 41..=55), (1, 5..10, 16..=30), (2, 10..12, 0..=10)]
        );
        let phases = ranges(&plan, Round::Phases);
        assert_eq!(phases[0], (3, 0..1, 54..=60));
        assert_eq!(phases[1], (4, 1..2, 49..=57));
        assert_eq!(phases[11], (14, 11..12, 0..=7));
        let needs = |plan: &TrainPlan, part: &TrainPart| {
            plan.needs(part)
                .iter()
                .map(|part| part.number)
                .collect::<Vec<_>>()
        };
        let groups: Vec<u32> = plan
            .round(Round::Phases)
            .map(|part| needs(&plan, part)[0])
            .collect();
        assert_eq!(groups, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
        assert!(
            plan.round(Round::Wide)
                .all(|part| plan.needs(part).is_empty())
        );
        let last: Vec<u32> = plan.last_round().map(|part| part.number).collect();
        assert_eq!((last[0], last.len(), plan.parts.len()), (3, 12, 15));

        let narrow = TrainPlan::new(&set, &overlapping((0, 0)));
        assert_eq!(
            (
                narrow.round(Round::Wide).count(),
                narrow.parts[11].empties.clone()
            ),
            (0, 0..=5)
        );
        assert!(
            narrow
                .parts
                .iter()
                .all(|part| narrow.needs(part).is_empty())
        );
        let shape = VectorShape {
            size: 4,
            empties_max: vec![60, 30],
            ..VectorShape::none()
        };
        let plan = TrainPlan::new(&set.with_vectors(shape).unwrap(), &overlapping((2, 5)));
        assert_eq!(
            ranges(&plan, Round::Vectors),
            [(15, 0..6, 31..=60), (16, 6..12, 0..=30)]
        );
        assert_eq!(ranges(&plan, Round::Refit)[11], (28, 11..12, 0..=7));
        assert_eq!(needs(&plan, &plan.parts[16]), [9, 10, 11, 12, 13, 14]);
        assert_eq!(needs(&plan, &plan.parts[28]), [14, 16]);
        assert!(plan.last_round().all(|part| part.round == Round::Refit));
    }
}
