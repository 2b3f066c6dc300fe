//! Patterns as data: instances, mirrors, offsets and per-square tables are derived from them and
//! checked here.

use super::number::{CAP_MAX, Number};
use crate::engine::board::square::Square;
use crate::engine::board::symmetry::Symmetry;
use std::collections::BTreeSet;

/// The most bytes in the name of a pattern or of a set.
const NAME_MAX: usize = 100;

/// The most squares of a pattern: 3^10 configurations still fit an index of 16 bits.
pub const PATTERN_SQUARES_MAX: usize = 10;

/// The most instances of a pattern set.
pub const INSTANCES_MAX: usize = 128;

/// The most numbers of a pattern set.
pub const NUMBERS_MAX: usize = 8;

/// The most weights over all phases: a table of 128 MiB, enough for 61 phases of 18 patterns of 10
/// squares.
pub const WEIGHTS_MAX: usize = 1 << 26;

/// The most components of a vector.
pub const VECTOR_SIZE_MAX: u8 = 32;

/// A squared length of vectors, shifted right by this, is half of it in millidiscs: a component is
/// in units of the root of half a millidisc.
pub const PRODUCT_SHIFT: u32 = 2;

/// The most components over all groups: 1 GiB.
pub const COMPONENTS_MAX: usize = 1 << 30;

/// The largest component of a vector, and the smallest is its opposite: four of them add up within
/// 8 bits.
pub const COMPONENT_MAX: i8 = 31;

/// The largest weight beside a vector, and the smallest is its opposite: less half the square of
/// any vector, or more by it, it fits 16 bits.
pub const WEIGHT_BESIDE_VECTOR_MAX: i16 = {
    let square = (COMPONENT_MAX as i32 * COMPONENT_MAX as i32) * VECTOR_SIZE_MAX as i32;
    i16::MAX - (square >> PRODUCT_SHIFT) as i16
};

/// The squared sum of the vectors of a position stays within 32 bits.
const _: () = {
    let sum = COMPONENT_MAX as u64 * (INSTANCES_MAX + NUMBERS_MAX) as u64;
    assert!(VECTOR_SIZE_MAX as u64 * sum * sum <= i32::MAX as u64);
};

/// The number of empty squares at the start of a game.
pub const EMPTIES_MAX: u8 = 60;

/// The number of indices that the incremental tables update together.
pub const LANES: usize = 16;

/// What a pattern depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternKind {
    /// The discs on these squares; the first is the most significant base-3 digit.
    Squares(Vec<Square>),
    /// A number of the position.
    Number(Number),
}

/// A named pattern, as a features file lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names and types say it")]
pub struct Pattern {
    pub name: String,
    pub kind: PatternKind,
}

impl Pattern {
    /// The number of configurations, mirrors counted separately.
    pub fn configuration_count(&self) -> usize {
        match &self.kind {
            PatternKind::Squares(squares) => 3_usize.pow(squares.len() as u32),
            PatternKind::Number(number) => usize::from(number.index_max()) + 1,
        }
    }
}

/// The image of a pattern under a symmetry of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The pattern's index in [`PatternSet::patterns`].
    pub pattern: usize,
    /// Its squares, in the order of the pattern.
    pub squares: Vec<Square>,
    /// The feature of configuration 0.
    pub offset: usize,
}

/// The vectors that stand beside the weights of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorShape {
    /// Components per feature, up to [`VECTOR_SIZE_MAX`]; 0 if there are none.
    pub size: u8,
    /// How many of them, the last ones, count against the sum of products.
    pub negative: u8,
    /// The largest number of empty squares of each group of phases that share vectors, descending;
    /// each is that of a phase.
    pub empties_max: Vec<u8>,
}

impl VectorShape {
    /// No vectors: values are plain sums of weights.
    pub fn none() -> Self {
        Self {
            size: 0,
            negative: 0,
            empties_max: vec![EMPTIES_MAX],
        }
    }
}

/// A checked set of patterns with its phases.
///
/// A *feature* is a configuration of a pattern: features of one phase are numbered from 0, pattern
/// after pattern.
///
/// ```
/// use renma::engine::{Pattern, PatternKind, PatternSet};
///
/// //   a b c d e f g h
/// // 1 * * - - - - 2 2
/// // 2 * * - - - - 2 2      four squares, and their images in the other corners
/// // …
/// // 7 3 3 - - - - 4 4
/// // 8 3 3 - - - - 4 4
/// let squares = ["a1", "b1", "a2", "b2"].map(|name| name.parse().expect("it is a square"));
/// let corner = Pattern { name: "CORNER".to_owned(), kind: PatternKind::Squares(squares.into()) };
/// // One phase down to 31 empty squares, another one to the end.
/// let set = PatternSet::new("corners", vec![corner], vec![60, 30])?;
/// assert_eq!(set.instances().len(), 4);
/// assert_eq!(set.feature_count(), 3_usize.pow(4)); // each square is empty, own or the opponent's
/// assert_eq!((set.phase(31), set.phase(30)), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternSet {
    name: String,
    patterns: Vec<Pattern>,
    phase_empties_max: Vec<u8>,
    offsets: Vec<usize>,
    instances: Vec<Instance>,
    numbers: Vec<(Number, usize)>, // with the feature of index 0
    canonical: Vec<u32>,           // [feature] -> the smallest mirror of it
    phase_of_empties: [u8; 65],    // [empties] -> phase
    vectors: VectorShape,
    group_of_empties: [u8; 65], // [empties] -> group of phases that share vectors
    /// What a disc of the side to move on each square adds to each instance's index; a disc of the
    /// opponent adds twice as much. A last square, beyond those of the board, adds nothing.
    pub(in crate::engine) steps: Vec<[u16; LANES]>, // [square][block]
    /// The feature of configuration 0 of each instance, then padding up to a whole number of
    /// blocks.
    pub(in crate::engine) lane_offsets: Vec<u32>,
}

/// Why a list of patterns is not a pattern set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what the variant is")]
pub enum PatternSetError {
    #[error("there is no pattern")]
    Empty,
    #[error("the name {0:?} is not one line of 1 to {NAME_MAX} bytes")]
    Name(String),
    #[error("pattern `{0}` is listed twice")]
    RepeatedName(String),
    #[error("pattern `{name}` has {count} squares: 1 to {PATTERN_SQUARES_MAX} expected")]
    SquareCount { name: String, count: usize },
    #[error("pattern `{name}` lists {square} twice")]
    RepeatedSquare { name: String, square: Square },
    #[error("pattern `{name}` has cap {cap}: 1 to {CAP_MAX} expected")]
    Cap { name: String, cap: u8 },
    #[error("the patterns have {0} instances together: at most {INSTANCES_MAX}")]
    Instances(usize),
    #[error("{0} patterns have no squares: at most {NUMBERS_MAX}")]
    Numbers(usize),
    #[error("{phases} phases of {features} features make {} weights: at most {WEIGHTS_MAX}", phases * features)]
    Weights { phases: usize, features: usize },
    #[error(
        "the first phase must begin with 60 empty squares, which are 4 discs, and each other phase later in the game"
    )]
    Phases,
    #[error("vectors of {0} components: at most {VECTOR_SIZE_MAX}")]
    VectorSize(u8),
    #[error("{negative} negative components: the vectors have {size}")]
    Negative { negative: u8, size: u8 },
    #[error(
        "the first group of phases that share vectors must begin with 60 empty squares, and each other group later in the game, where a phase begins"
    )]
    VectorGroups,
    #[error(
        "{groups} groups of {features} features with {size} components make {}: at most {COMPONENTS_MAX}",
        groups * features * usize::from(*size)
    )]
    Components {
        groups: usize,
        features: usize,
        size: u8,
    },
}

impl PatternSet {
    /// Derives everything from the patterns and the largest number of empty squares of each phase.
    ///
    /// # Errors
    ///
    /// The first thing that makes the list unusable.
    pub fn new(
        name: &str,
        patterns: Vec<Pattern>,
        phase_empties_max: Vec<u8>,
    ) -> Result<Self, PatternSetError> {
        check_name(name)?;
        check_patterns(&patterns)?;
        let descending = phase_empties_max.windows(2).all(|pair| pair[1] < pair[0]);
        if phase_empties_max.first() != Some(&EMPTIES_MAX) || !descending {
            return Err(PatternSetError::Phases);
        }
        let (phases, features) = (
            phase_empties_max.len(),
            patterns.iter().map(Pattern::configuration_count).sum(),
        );
        if WEIGHTS_MAX / phases < features {
            return Err(PatternSetError::Weights { phases, features });
        }
        let mut offsets = Vec::new();
        let mut instances = Vec::new();
        let mut numbers = Vec::new();
        let mut canonical = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let offset = canonical.len();
            offsets.push(offset);
            match &pattern.kind {
                PatternKind::Squares(squares) => {
                    let images = images(squares).into_iter();
                    instances.extend(images.map(|squares| Instance {
                        pattern: index,
                        squares,
                        offset,
                    }));
                    let smallest = canonical_configurations(squares).into_iter();
                    canonical.extend(smallest.map(|configuration| offset as u32 + configuration));
                }
                PatternKind::Number(number) => {
                    numbers.push((*number, offset));
                    canonical.extend((offset as u32..).take(pattern.configuration_count()));
                }
            }
            if instances.len() > INSTANCES_MAX {
                return Err(PatternSetError::Instances(instances.len()));
            }
        }
        if NUMBERS_MAX < numbers.len() {
            return Err(PatternSetError::Numbers(numbers.len()));
        }
        let steps = square_steps(&instances);
        let mut lane_offsets: Vec<u32> = instances
            .iter()
            .map(|instance| instance.offset as u32)
            .collect();
        lane_offsets.resize(steps.len() / 65 * LANES, 0);
        Ok(Self {
            name: name.to_owned(),
            patterns,
            phase_of_empties: ranges_by_empties(&phase_empties_max),
            phase_empties_max,
            vectors: VectorShape::none(),
            group_of_empties: [0; 65],
            offsets,
            steps,
            lane_offsets,
            instances,
            numbers,
            canonical,
        })
    }

    /// The same set with vectors beside the weights.
    ///
    /// # Errors
    ///
    /// A shape that does not fit the set.
    pub fn with_vectors(self, vectors: VectorShape) -> Result<Self, PatternSetError> {
        let VectorShape {
            size,
            negative,
            empties_max,
        } = &vectors;
        if VECTOR_SIZE_MAX < *size {
            return Err(PatternSetError::VectorSize(*size));
        }
        if size < negative {
            return Err(PatternSetError::Negative {
                negative: *negative,
                size: *size,
            });
        }
        let descending = empties_max.windows(2).all(|pair| pair[1] < pair[0]);
        let begins_phases = empties_max
            .iter()
            .all(|most| self.phase_empties_max.contains(most));
        if empties_max.first() != Some(&EMPTIES_MAX) || !descending || !begins_phases {
            return Err(PatternSetError::VectorGroups);
        }
        let (groups, features, size) = (empties_max.len(), self.feature_count(), *size);
        if COMPONENTS_MAX < groups * features * usize::from(size) {
            return Err(PatternSetError::Components {
                groups,
                features,
                size,
            });
        }
        Ok(Self {
            group_of_empties: ranges_by_empties(empties_max),
            vectors,
            ..self
        })
    }

    #[expect(missing_docs, reason = "the name says it")]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The patterns in the order of the features file.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// The instances of all patterns of squares.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The patterns without squares, each with its feature of index 0.
    pub fn numbers(&self) -> &[(Number, usize)] {
        &self.numbers
    }

    /// The feature of configuration 0 of a pattern.
    pub fn offset(&self, pattern: usize) -> usize {
        self.offsets[pattern]
    }

    /// The number of features that every position has: one per instance and one per number.
    pub fn features_per_position(&self) -> usize {
        self.instances.len() + self.numbers.len()
    }

    /// The number of features of one phase, mirrors counted separately.
    pub const fn feature_count(&self) -> usize {
        self.canonical.len()
    }

    #[expect(missing_docs, reason = "the name says it")]
    pub fn phase_count(&self) -> usize {
        self.phase_empties_max.len()
    }

    /// The largest number of empty squares of each phase, descending.
    pub fn phase_empties_max(&self) -> &[u8] {
        &self.phase_empties_max
    }

    /// The phase of a position with this many empty squares.
    #[inline]
    pub const fn phase(&self, empties: u8) -> usize {
        self.phase_of_empties[empties as usize] as usize
    }

    /// The vectors beside the weights.
    pub const fn vectors(&self) -> &VectorShape {
        &self.vectors
    }

    /// The number of components of each feature's vector; 0 if there are none.
    #[inline]
    pub const fn vector_size(&self) -> usize {
        self.vectors.size as usize
    }

    /// The number of components, the first ones, whose products count as they are; those of the
    /// others are subtracted.
    #[inline]
    pub const fn positive_size(&self) -> usize {
        self.vectors.size as usize - self.vectors.negative as usize
    }

    /// The largest weight of a feature, in millidiscs, and the smallest is its opposite, or one
    /// less without vectors.
    #[inline]
    pub const fn weight_max(&self) -> i16 {
        if self.vectors.size == 0 {
            i16::MAX
        } else {
            WEIGHT_BESIDE_VECTOR_MAX
        }
    }

    /// The number of groups of phases that share vectors.
    pub fn group_count(&self) -> usize {
        self.vectors.empties_max.len()
    }

    /// The number of weights: one per feature of every phase.
    pub fn weight_count(&self) -> usize {
        self.phase_count() * self.feature_count()
    }

    /// The number of components of all vectors.
    pub fn component_count(&self) -> usize {
        self.group_count() * self.feature_count() * self.vector_size()
    }

    /// The group of a position with this many empty squares.
    #[inline]
    pub const fn group(&self, empties: u8) -> usize {
        self.group_of_empties[empties as usize] as usize
    }

    /// The smallest mirror of each feature, where the weight and the vector that its mirrors share
    /// are stored.
    pub fn canonical(&self) -> &[u32] {
        &self.canonical
    }

    /// The number of blocks of [`LANES`] that hold the index of every instance, at least one.
    #[inline]
    pub fn block_count(&self) -> usize {
        self.steps.len() / 65
    }
}

fn check_name(name: &str) -> Result<(), PatternSetError> {
    let is_sound = (1..=NAME_MAX).contains(&name.len()) && !name.contains(char::is_control);
    if is_sound {
        Ok(())
    } else {
        Err(PatternSetError::Name(name.chars().take(NAME_MAX).collect()))
    }
}

fn check_patterns(patterns: &[Pattern]) -> Result<(), PatternSetError> {
    if patterns.is_empty() {
        return Err(PatternSetError::Empty);
    }
    let mut names = BTreeSet::new();
    for Pattern { name, kind } in patterns {
        check_name(name)?;
        if !names.insert(name) {
            return Err(PatternSetError::RepeatedName(name.clone()));
        }
        match kind {
            PatternKind::Number(number) => {
                let cap = number.index_max();
                if !(1..=CAP_MAX).contains(&cap) {
                    return Err(PatternSetError::Cap {
                        name: name.clone(),
                        cap,
                    });
                }
            }
            PatternKind::Squares(squares) => {
                let count = squares.len();
                if !(1..=PATTERN_SQUARES_MAX).contains(&count) {
                    return Err(PatternSetError::SquareCount {
                        name: name.clone(),
                        count,
                    });
                }
                let mut seen = BTreeSet::new();
                if let Some(&square) = squares.iter().find(|&&square| !seen.insert(square)) {
                    return Err(PatternSetError::RepeatedSquare {
                        name: name.clone(),
                        square,
                    });
                }
            }
        }
    }
    Ok(())
}

fn set_of(squares: &[Square]) -> u64 {
    squares.iter().fold(0, |set, square| set | square.bit())
}

/// The distinct images of the squares as sets; the first symmetry that gives a set decides the
/// order of its squares.
fn images(squares: &[Square]) -> Vec<Vec<Square>> {
    let mut seen = BTreeSet::new();
    Symmetry::all()
        .filter(|symmetry| seen.insert(symmetry.set(set_of(squares))))
        .map(|symmetry| {
            squares
                .iter()
                .map(|&square| symmetry.square(square))
                .collect()
        })
        .collect()
}

/// For each configuration, the smallest that a symmetry of the squares maps it to.
fn canonical_configurations(squares: &[Square]) -> Vec<u32> {
    let own = set_of(squares);
    let permutations: BTreeSet<Vec<usize>> = Symmetry::all()
        .filter(|symmetry| symmetry.set(own) == own)
        .map(|symmetry| {
            let place = |square: &Square| {
                let image = symmetry.square(*square);
                squares
                    .iter()
                    .position(|&other| other == image)
                    .expect("the symmetry keeps the set")
            };
            squares.iter().map(place).collect()
        })
        .collect();
    let mut smallest = vec![u32::MAX; 3_usize.pow(squares.len() as u32)];
    for permutation in permutations {
        let mut powers = vec![0; squares.len()];
        for (place, &from) in permutation.iter().rev().enumerate() {
            powers[from] = 3_u32.pow(place as u32);
        }
        let mirrors = configuration_sums(&powers, [0, 1, 2]);
        for (smallest, mirror) in smallest.iter_mut().zip(mirrors) {
            *smallest = mirror.min(*smallest);
        }
    }
    smallest
}

/// For each configuration of as many squares as there are weights, the sum over its squares of
/// weight times digit, where `digits` are used in place of 0, 1 and 2. The first square is that of
/// the greatest power of 3 in the number of a configuration.
pub fn configuration_sums(weights: &[u32], digits: [u32; 3]) -> Vec<u32> {
    let mut sums = vec![0];
    for weight in weights.iter().rev() {
        let longer = digits.map(|digit| sums.iter().map(move |sum| sum + digit * weight));
        sums = longer.into_iter().flatten().collect();
    }
    sums
}

/// The range of each number of empty squares. Boards with more of them than a game begins with
/// belong to the first range.
fn ranges_by_empties(empties_max: &[u8]) -> [u8; 65] {
    std::array::from_fn(|empties| {
        let begun = empties_max
            .iter()
            .filter(|&&most| empties <= usize::from(most))
            .count();
        begun.saturating_sub(1) as u8
    })
}

fn square_steps(instances: &[Instance]) -> Vec<[u16; LANES]> {
    let blocks = instances.len().div_ceil(LANES).max(1);
    let mut steps = vec![[0; LANES]; 65 * blocks];
    for (index, instance) in instances.iter().enumerate() {
        for (place, square) in instance.squares.iter().rev().enumerate() {
            steps[square.index() * blocks + index / LANES][index % LANES] = 3_u16.pow(place as u32);
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(names: &str) -> PatternKind {
        PatternKind::Squares(names.split(' ').map(|name| name.parse().unwrap()).collect())
    }

    fn set(kind: PatternKind) -> Result<PatternSet, PatternSetError> {
        PatternSet::new(
            "test",
            vec![Pattern {
                name: "P".into(),
                kind,
            }],
            vec![60],
        )
    }

    #[test]
    fn mirrors_come_from_the_symmetries_of_the_pattern() {
        let row = set(squares("a1 b1 c1 d1 e1 f1 g1 h1")).unwrap();
        assert_eq!(row.instances().len(), 4);
        assert_eq!(
            row.canonical()[3_usize.pow(7)],
            1,
            "a disc on a1 is a disc on h1"
        );
        let edge = set(squares("a1 b1 c1 d1 e1 f1 g1 b2")).unwrap();
        assert_eq!(edge.instances().len(), 8);
        assert!(
            (0..)
                .zip(edge.canonical())
                .all(|(index, &canonical)| index == canonical)
        );
        let center = set(squares("d4 e4 d5 e5")).unwrap();
        assert_eq!(center.instances().len(), 1);
        assert_eq!(
            center.canonical()[27],
            1,
            "the four center squares are equivalent"
        );
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_reason() {
        assert_eq!(
            set(squares("a1 a1")).unwrap_err().to_string(),
            "pattern `P` lists a1 twice"
        );
        assert!(set(PatternKind::Squares(vec![])).is_err());
        assert!(set(squares("a1 b1 c1 d1 e1 f1 g1 h1 a2 b2 c2")).is_err());
        let parity = Pattern {
            name: "PARITY".into(),
            kind: PatternKind::Number(Number::Parity),
        };
        for phase_empties_max in [vec![], vec![59], vec![61], vec![60, 60], vec![60, 20, 30]] {
            let result = PatternSet::new("test", vec![parity.clone()], phase_empties_max);
            assert_eq!(result.unwrap_err(), PatternSetError::Phases);
        }
    }

    #[test]
    fn a_set_with_too_many_weights_is_refused_with_its_sizes() {
        let cells = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|column| (1..=8).map(move |row| format!("{column}{row}")));
        let cells: Vec<String> = cells.into_iter().flatten().collect();
        let pattern = |index: usize| Pattern {
            name: index.to_string(),
            kind: squares(&cells[index..index + 10].join(" ")),
        };
        let set = |patterns, phases: u8| {
            PatternSet::new(
                "test",
                (0..patterns).map(pattern).collect(),
                (0..phases).map(|phase| 60 - phase).collect(),
            )
        };
        let error = set(19, 61).unwrap_err();
        assert_eq!(
            error.to_string(),
            "61 phases of 1121931 features make 68437791 weights: at most 67108864"
        );
        assert!(set(11, 60).is_ok(), "more than 612,000 weights a phase");
    }

    #[test]
    fn a_set_with_too_many_components_is_refused_with_its_sizes() {
        // Pairs of squares that a reflection swaps: every pattern has four instances.
        let pairs = (1..=8).flat_map(|row| ["ah", "bg", "cf", "de"].map(|columns| (columns, row)));
        let pairs: Vec<String> = pairs
            .map(|(columns, row)| format!("{}{row} {}{row}", &columns[..1], &columns[1..]))
            .collect();
        let pattern = |index: usize| Pattern {
            name: index.to_string(),
            kind: squares(&pairs[index..index + 5].join(" ")),
        };
        let phases: Vec<u8> = (0..61).map(|phase| 60 - phase).collect();
        let set = PatternSet::new("test", (0..16).map(pattern).collect(), phases.clone()).unwrap();
        let shape = |groups: usize| VectorShape {
            size: 32,
            negative: 0,
            empties_max: phases[..groups].to_vec(),
        };
        let error = set.clone().with_vectors(shape(61)).unwrap_err();
        let expected =
            "61 groups of 944784 features with 32 components make 1844218368: at most 1073741824";
        assert_eq!(error.to_string(), expected);
        let set = set.with_vectors(shape(35)).unwrap();
        assert_eq!(set.component_count(), 1_058_158_080);
        assert_eq!(
            [64, 60, 59, 27, 26, 25, 0].map(|empties| set.group(empties)),
            [0, 0, 1, 33, 34, 34, 34]
        );
    }

    #[test]
    fn phases_are_ranges_of_empty_squares() {
        let parity = Pattern {
            name: "PARITY".into(),
            kind: PatternKind::Number(Number::Parity),
        };
        let set = PatternSet::new("test", vec![parity], vec![60, 44, 0]).unwrap();
        assert_eq!(
            [64, 60, 45, 44, 1, 0].map(|empties| set.phase(empties)),
            [0, 0, 0, 1, 1, 2]
        );
    }
}
