//! The weights and vectors of an evaluation, all of them or as they are asked for.

use super::pattern_set::PatternSet;
use std::fmt;
use std::sync::OnceLock;

/// Where weights and vectors come from when they are first asked for.
pub trait TableSource: Send + Sync {
    /// The weights of a phase, `[feature]`.
    fn weights(&self, phase: usize) -> Vec<i16>;

    /// The vectors of a group of phases, `[feature][component]`.
    fn vectors(&self, group: usize) -> Vec<i8>;
}

/// Weights `[phase][feature]` and vectors `[group][feature][component]`.
pub struct Tables {
    weights: OnceLock<Vec<i16>>,
    vectors: OnceLock<Vec<i8>>,
    /// What is not whole yet.
    source: Option<Box<dyn TableSource>>,
    phases: Vec<OnceLock<Vec<i16>>>,
    groups: Vec<OnceLock<Vec<i8>>>,
}

impl Tables {
    /// All of them.
    pub fn whole(weights: Vec<i16>, vectors: Vec<i8>) -> Self {
        Self {
            weights: weights.into(),
            vectors: vectors.into(),
            source: None,
            phases: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Those of a source, each when it is first asked for.
    pub fn on_use(set: &PatternSet, source: Box<dyn TableSource>) -> Self {
        Self {
            weights: OnceLock::new(),
            vectors: OnceLock::new(),
            source: Some(source),
            phases: (0..set.phase_count()).map(|_| OnceLock::new()).collect(),
            groups: (0..set.group_count()).map(|_| OnceLock::new()).collect(),
        }
    }

    fn source(&self) -> &dyn TableSource {
        self.source.as_deref().expect("what has no source is whole")
    }

    /// All weights.
    pub fn weights(&self, set: &PatternSet) -> &[i16] {
        self.weights.get_or_init(|| {
            let phases = (0..set.phase_count()).map(|phase| self.phase(set, phase));
            phases.collect::<Vec<_>>().concat()
        })
    }

    /// All vectors; none if their size is 0.
    pub fn vectors(&self, set: &PatternSet) -> &[i8] {
        self.vectors.get_or_init(|| {
            let groups = (0..set.group_count()).map(|group| self.group(set, group));
            groups.collect::<Vec<_>>().concat()
        })
    }

    /// The weights of a phase, `[feature]`.
    pub fn phase(&self, set: &PatternSet, phase: usize) -> &[i16] {
        let count = set.feature_count();
        match self.phases.get(phase) {
            Some(weights) => weights.get_or_init(|| self.source().weights(phase)),
            None => &self.weights(set)[phase * count..][..count],
        }
    }

    /// The vectors of a group of phases, `[feature][component]`; none if their size is 0.
    pub fn group(&self, set: &PatternSet, group: usize) -> &[i8] {
        let count = set.feature_count() * set.vector_size();
        match self.groups.get(group) {
            Some(vectors) => vectors.get_or_init(|| self.source().vectors(group)),
            None => &self.vectors(set)[group * count..][..count],
        }
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}
