//! A pattern set with its weights and vectors.

use super::incremental::{Incremental, static_value};
use super::pairs::parts_of;
use super::pattern_set::{COMPONENT_MAX, PatternSet, WEIGHT_BESIDE_VECTOR_MAX};
use super::tables::{TableSource, Tables};
use crate::engine::board::kernel::{KernelChoice, with_kernel};
use crate::engine::board::position::Position;
use crate::engine::score::Score;
use std::sync::Arc;

/// Weights for every feature of every phase and vectors for every feature of every group of phases,
/// mirrors equal.
///
/// The value of a position is Σ wᵢ + ½(|Σ vᵢ|² − Σ|vᵢ|²) over its features: the weights, and the
/// products of the vectors of all pairs (Rendle, "Factorization machines", 2010). The squares of
/// negative components are subtracted where the others are added. Each half of a square is rounded
/// down to a millidisc.
///
/// ```
/// use renma::engine::{Evaluation, Opponent, Pattern, PatternKind, PatternSet, Player, Position, Score};
/// use std::sync::Arc;
///
/// let corner = Pattern { name: "CORNER".to_owned(), kind: PatternKind::Squares(vec!["a1".parse()?]) };
/// let set = PatternSet::new("corners", vec![corner], vec![60])?;
/// // In millidiscs: an empty corner, one of the side to move, one of the opponent.
/// let evaluation = Evaluation::new(Arc::new(set), vec![0, 8_000, -8_000])?;
///
/// //   a b c d e f g h
/// // 1 X - - - - - - X
/// // …
/// // 8 - - - - - - - O      X to move
/// let position = Position::new(Player(1 << 0 | 1 << 7), Opponent(1 << 63)).expect("no square has two discs");
/// assert_eq!(evaluation.static_value(position), Score(8_000));
/// assert_eq!(evaluation.static_value(position.pass()), Score(-8_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Evaluation {
    set: Arc<PatternSet>,
    tables: Arc<Tables>,
    /// The same, laid out for the search.
    pub(in crate::engine) incremental: Arc<Incremental>,
}

/// Why weights do not fit a pattern set. Phases, groups, and the features of each are counted from
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what the variant is")]
pub enum EvaluationError {
    #[error("{found} weights for {expected} features")]
    Count { expected: usize, found: usize },
    #[error("phase {phase}, feature {feature}: its mirror has another weight")]
    Mirror { phase: usize, feature: usize },
    #[error(
        "phase {phase}, feature {feature}: a weight beside a vector is beyond ±{WEIGHT_BESIDE_VECTOR_MAX}"
    )]
    Weight { phase: usize, feature: usize },
    #[error("{found} components of vectors: {expected} expected")]
    ComponentCount { expected: usize, found: usize },
    #[error("group {group}, feature {feature}: a component is beyond ±{COMPONENT_MAX}")]
    Component { group: usize, feature: usize },
    #[error("group {group}, feature {feature}: its mirror has another vector")]
    VectorMirror { group: usize, feature: usize },
}

impl Evaluation {
    /// Joins weights `[phase][feature]`, in millidiscs, to their pattern set. If it has vectors,
    /// they are zero.
    ///
    /// # Errors
    ///
    /// A wrong count, or mirrors that differ.
    pub fn new(set: Arc<PatternSet>, weights: Vec<i16>) -> Result<Self, EvaluationError> {
        let vectors = vec![0; set.component_count()];
        Self::with_vectors(set, weights, vectors)
    }

    /// Joins weights `[phase][feature]`, in millidiscs, and vectors `[group][feature][component]`,
    /// in units of the root of half a millidisc, to their pattern set.
    ///
    /// # Errors
    ///
    /// A wrong count, a weight or a component out of range, or mirrors that differ.
    pub fn with_vectors(
        set: Arc<PatternSet>,
        weights: Vec<i16>,
        vectors: Vec<i8>,
    ) -> Result<Self, EvaluationError> {
        let expected = set.weight_count();
        if weights.len() != expected {
            return Err(EvaluationError::Count {
                expected,
                found: weights.len(),
            });
        }
        for (phase, weights) in weights.chunks_exact(set.feature_count()).enumerate() {
            for (feature, (&weight, &canonical)) in weights.iter().zip(set.canonical()).enumerate()
            {
                if weight != weights[canonical as usize] {
                    return Err(EvaluationError::Mirror { phase, feature });
                }
                if 0 < set.vector_size() && set.weight_max().unsigned_abs() < weight.unsigned_abs()
                {
                    return Err(EvaluationError::Weight { phase, feature });
                }
            }
        }
        check_vectors(&set, &vectors)?;
        let tables = Tables::whole(weights, vectors);
        Ok(Self::of_tables(set, tables))
    }

    /// The weights and vectors of a source that holds what [`Evaluation::with_vectors`] would
    /// accept. A phase and a group of phases are asked for when a position of theirs is valued
    /// first.
    pub fn on_use(set: Arc<PatternSet>, source: Box<dyn TableSource>) -> Self {
        let tables = Tables::on_use(&set, source);
        Self::of_tables(set, tables)
    }

    /// Gets every phase and group ready now, for whoever must not wait for one in a search.
    pub fn prepare(&self) {
        self.incremental.prepare();
    }

    fn of_tables(set: Arc<PatternSet>, tables: Tables) -> Self {
        let tables = Arc::new(tables);
        let incremental = Incremental::new(Arc::clone(&set), Arc::clone(&tables));
        Self {
            set,
            tables,
            incremental: Arc::new(incremental),
        }
    }

    /// Every weight and vector zero.
    pub fn zero(set: Arc<PatternSet>) -> Self {
        let weights = vec![0; set.weight_count()];
        Self::new(set, weights).expect("there is one zero for each weight")
    }

    #[expect(missing_docs, reason = "the type says it")]
    pub const fn set(&self) -> &Arc<PatternSet> {
        &self.set
    }

    /// The weights `[phase][feature]`, in millidiscs.
    pub fn weights(&self) -> &[i16] {
        self.tables.weights(&self.set)
    }

    /// The weights of the phase of a position with this many empty squares.
    #[inline]
    pub fn phase_weights(&self, empties: u8) -> &[i16] {
        self.tables.phase(&self.set, self.set.phase(empties))
    }

    /// The vectors `[group][feature][component]`, in units of the root of half a millidisc; none if
    /// their size is 0.
    pub fn vectors(&self) -> &[i8] {
        self.tables.vectors(&self.set)
    }

    /// The value of a position, not clamped.
    pub fn static_value(&self, position: Position) -> Score {
        with_kernel!(
            KernelChoice::detect(),
            static_value(&self.incremental, position)
        )
    }

    /// The value of a position by the walk over its features, in the two parts that the search
    /// bounds apart: the weights, each less half the square of its vector, and half the square of
    /// the sum of all vectors.
    #[cfg(test)]
    pub(in crate::engine) fn parts(&self, position: Position) -> (Score, Score) {
        let features = super::features::features(&self.set, position);
        self.parts_of(position.empties(), features)
    }

    /// The value of a position with this many empty squares and these features of its phase, not
    /// clamped.
    pub fn value_of(&self, empties: u8, features: impl Iterator<Item = usize>) -> Score {
        let (linear, square) = self.parts_of(empties, features);
        linear + square
    }

    fn parts_of(&self, empties: u8, features: impl Iterator<Item = usize>) -> (Score, Score) {
        let vectors = self.tables.group(&self.set, self.set.group(empties));
        parts_of(&self.set, self.phase_weights(empties), vectors, features)
    }
}

fn check_vectors(set: &PatternSet, vectors: &[i8]) -> Result<(), EvaluationError> {
    let (expected, found, size) = (set.component_count(), vectors.len(), set.vector_size());
    if found != expected {
        return Err(EvaluationError::ComponentCount { expected, found });
    }
    if size == 0 {
        return Ok(());
    }
    for (group, vectors) in vectors.chunks_exact(set.feature_count() * size).enumerate() {
        let vector = |feature: usize| &vectors[feature * size..][..size];
        for (feature, &canonical) in set.canonical().iter().enumerate() {
            if vector(feature)
                .iter()
                .any(|component| COMPONENT_MAX.unsigned_abs() < component.unsigned_abs())
            {
                return Err(EvaluationError::Component { group, feature });
            }
            if vector(feature) != vector(canonical as usize) {
                return Err(EvaluationError::VectorMirror { group, feature });
            }
        }
    }
    Ok(())
}
