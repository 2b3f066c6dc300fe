//! What training is asked to do, and what it reports.

use crate::artifact::{LoadedModel, Registry};
use crate::engine::{EMPTIES_MAX, PatternSet};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::keys::{Checked, ConfigTable, Key, KeyFault, Takes};
use crate::pipeline::request::{Models, Request, RequestDataset, Role};
use crate::pipeline::stage::Facts;
use crate::pipeline::version::VersionReport;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Goes up when the same inputs would give other weights.
pub const ALGORITHM: u32 = 3;

/// What is known of the stage.
pub const FACTS: Facts = Facts {
    name: "train",
    config_table: TrainConfig::NAME,
    algorithm: ALGORITHM,
    unit: "rows",
    dataset: None,
    registry_lock: Some(".train.lock"),
};

/// Row visits per second of one core: 0.49 µs each (docs/cluster.md).
pub const VISITS_PER_SECOND: f64 = 2e6;

/// The most binary digits of a weight behind a millidisc: the largest weight with them fits 32
/// bits.
const FRACTION_BITS_MAX: i64 = 8;

/// The coarsest weights, in millidiscs.
const QUANTUM_MAX: i64 = 1000;

/// The share of the ratio of vectors that is left after each epoch.
pub(super) const VECTOR_DECAY: f64 = 0.5;

/// The most that a tempo is worth, in discs.
const TEMPO_MAX: f64 = 8.0;

/// A number of empty squares.
const EMPTIES: Takes = Takes::Whole(0, EMPTIES_MAX as i64);

/// What the weights learn to predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum Target {
    /// The final disc difference.
    Result {},
    /// The deep-search score.
    Score {},
    /// λ-returns: scores mixed with what followed in the game.
    Td {
        lambda: Lambda,
        #[serde(default, skip_serializing_if = "is_off")]
        tempo: f64,
    },
}

/// What [`Lambda`] is read from.
const LAMBDA_EXPECTED: &str = "a list such as [[60, 0.8, 1.0]]: the most empty squares, from 60 down, each with one number \
    from 0 to 1, or with two, for even and odd numbers of empty squares";

/// λ by empty squares, from the most empty squares down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<LambdaRange>")]
pub struct Lambda(Vec<LambdaRange>);

/// λ for a range of empty squares, which begins at the most for which it holds and ends where the
/// next range begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected [EMPTIES, LAMBDA] or [EMPTIES, LAMBDA_EVEN, LAMBDA_ODD]"
)]
pub enum LambdaRange {
    /// The most empty squares, and λ.
    Same(u8, f64),
    /// The most empty squares, λ for even numbers of them, and λ for odd ones.
    ByParity(u8, f64, f64),
}

impl LambdaRange {
    const fn most(self) -> u8 {
        match self {
            Self::Same(most, _) | Self::ByParity(most, ..) => most,
        }
    }

    const fn at(self, empties: u8) -> f64 {
        match self {
            Self::Same(_, lambda) => lambda,
            Self::ByParity(_, even, _) if empties.is_multiple_of(2) => even,
            Self::ByParity(.., odd) => odd,
        }
    }
}

impl TryFrom<Vec<LambdaRange>> for Lambda {
    type Error = String;

    fn try_from(ranges: Vec<LambdaRange>) -> Result<Self, Self::Error> {
        let descending = ranges
            .windows(2)
            .all(|pair| pair[1].most() < pair[0].most());
        let within =
            |range: &LambdaRange| (0..2).all(|empties| (0.0..=1.0).contains(&range.at(empties)));
        let begins = ranges
            .first()
            .is_some_and(|first| first.most() == EMPTIES_MAX);
        if begins && descending && ranges.iter().all(within) {
            return Ok(Self(ranges));
        }
        Err(format!("expected {LAMBDA_EXPECTED}"))
    }
}

impl Lambda {
    /// λ for a number of empty squares.
    pub fn at(&self, empties: u8) -> f64 {
        let begun = self.0.iter().rfind(|range| empties <= range.most());
        begun.unwrap_or(&self.0[0]).at(empties)
    }
}

/// With which weights training begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// All zero.
    Zero,
    /// Those of the parent, if it has the same patterns; else zero. A phase begins with those of
    /// the parent's phase in the middle of its range.
    Parent,
}

/// The rounds of a training, in their order. Sets without vectors have the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Round {
    /// Weights from which neighboring phases begin.
    Wide,
    /// The weights of each phase.
    Phases,
    /// The vectors of each group of phases, beside those weights.
    Vectors,
    /// The weights of each phase again, beside those vectors.
    Refit,
}

/// The `[train]` table.
///
/// The keys of the target stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct TrainConfig {
    pub ratio: f64,
    pub ratio_decay: f64,
    pub epochs: u32,
    pub clip: i32,
    pub fraction_bits: u8,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quantum: i32,
    // Before the target, which refuses the keys that nothing before it took.
    #[serde(flatten, skip_serializing_if = "is_off")]
    pub vectors: VectorSchedule,
    #[serde(flatten)]
    pub target: Target,
    pub weight_scale: f64,
    pub start: Start,
    pub shuffle: bool,
    pub validation: f64,
    pub empties_min: u8,
    pub empties_max: u8,
    pub overlap: u8,
    pub wide_overlap: u8,
}

/// How the ratio of the rule falls: the share of its error by which a position moves weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioSchedule {
    /// That of the first epoch.
    first: f64,
    /// The share of it that is left after each epoch.
    decay: f64,
}

impl RatioSchedule {
    /// The ratio of an epoch, counted from 0.
    pub fn ratio_of(self, epoch: u32) -> f64 {
        (0..epoch).fold(self.first, |ratio, _| ratio * self.decay)
    }
}

/// How vectors are learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct VectorSchedule {
    #[serde(rename = "vector_ratio")]
    pub ratio: f64,
    #[serde(rename = "vector_epochs")]
    pub epochs: u32,
}

impl VectorSchedule {
    /// The ratios of its epochs.
    pub const fn schedule(self) -> RatioSchedule {
        RatioSchedule {
            first: self.ratio,
            decay: VECTOR_DECAY,
        }
    }
}

impl Default for VectorSchedule {
    fn default() -> Self {
        Self {
            ratio: 0.012,
            epochs: 3,
        }
    }
}

impl TrainConfig {
    /// The ratios of the epochs of weights.
    pub const fn schedule(&self) -> RatioSchedule {
        RatioSchedule {
            first: self.ratio,
            decay: self.ratio_decay,
        }
    }

    /// The epochs of a part.
    pub(super) fn epochs_of(&self, round: Round) -> u32 {
        if round == Round::Vectors {
            self.vectors.epochs
        } else {
            self.epochs
        }
    }
}

impl ConfigTable for TrainConfig {
    const NAME: &'static str = "train";

    const KEYS: &'static [Key] = &[
        Key::new("ratio", Takes::Number(0.0, 1.0)),
        Key::new("ratio_decay", Takes::Number(0.0, 1.0)),
        Key::new("clip", Takes::Whole(1, i16::MAX as i64)).unit("millidiscs"),
        Key::new("fraction_bits", Takes::Whole(0, FRACTION_BITS_MAX)).unit("binary digits"),
        Key::new("quantum", Takes::Whole(1, QUANTUM_MAX))
            .unit("millidiscs")
            .optional(),
        Key::new("target", Takes::Words(&["result", "score", "td"])),
        Key::new(
            "lambda",
            Takes::Form(LAMBDA_EXPECTED, |value| Lambda::deserialize(value).is_ok()),
        )
        .only("target", &["td"]),
        Key::new("tempo", Takes::Number(-TEMPO_MAX, TEMPO_MAX))
            .unit("discs")
            .only("target", &["td"])
            .optional(),
        Key::new("weight_scale", Takes::Number(0.0, 1000.0)).unit("discs"),
        Key::new("start", Takes::Words(&["zero", "parent"])),
        Key::new("epochs", Takes::Whole(1, 100_000)),
        Key::new("shuffle", Takes::Flag),
        Key::new("validation", Takes::Number(0.0, 0.9)),
        Key::new("empties_min", EMPTIES).unit("empty squares"),
        Key::new("empties_max", EMPTIES).unit("empty squares"),
        Key::new("overlap", EMPTIES).unit("empty squares"),
        Key::new("wide_overlap", EMPTIES).unit("empty squares"),
        Key::new("vector_ratio", Takes::Number(0.0, 1.0)).optional(),
        Key::new("vector_epochs", Takes::Whole(1, 1000)).optional(),
    ];

    fn check(&self) -> Result<(), KeyFault> {
        if self.clip % self.quantum != 0 {
            let expected = format!("expected a multiple of train.quantum = {}", self.quantum);
            return Err(KeyFault::new("train.clip", self.clip, expected));
        }
        if self.empties_max < self.empties_min {
            let expected = format!("expected 0 to {}", self.empties_max);
            return Err(KeyFault::new(
                "train.empties_min",
                self.empties_min,
                expected,
            ));
        }
        Ok(())
    }
}

/// One call of the stage.
#[derive(Clone, Debug)]
pub struct TrainTask<M = LoadedModel> {
    /// The `[train]` table.
    pub config: Checked<TrainConfig>,
    /// The run's seed.
    pub seed: u64,
    /// The generation that it belongs to; does not affect the result.
    pub generation: Generation,
    /// The patterns and phases to train.
    pub features: Arc<PatternSet>,
    /// The datasets, oldest first.
    pub datasets: Vec<RequestDataset>,
    /// The model to improve upon, if any.
    pub parent: Option<M>,
    /// Where the new version goes.
    pub registry: Registry,
    /// Bytes that rows may take in memory; more of them go to a scratch file in the registry's
    /// folder. Does not affect the result.
    pub memory: u64,
}

/// Bytes of memory for the rows of a training, unless it is asked for with others.
pub const MEMORY: u64 = 4 << 30;

impl<M: Clone> TrainTask<M> {
    /// The task of a request.
    ///
    /// # Errors
    ///
    /// A bad setting, no features or no dataset.
    pub fn new(request: &Request, models: &Models<M>) -> Result<Self, StageError> {
        let features = request.features.clone();
        if request.datasets.is_empty() {
            return Err(StageError::Setting(
                "no dataset is named: add --dataset DIR".into(),
            ));
        }
        Ok(Self {
            config: request.table()?,
            seed: request.seed,
            generation: request.generation,
            features: features
                .ok_or_else(|| StageError::Setting("it has no features to train".to_owned()))?,
            datasets: request.datasets.clone(),
            parent: models.find(Role::Parent),
            registry: Registry::new(&request.registry),
            memory: request.memory.unwrap_or(MEMORY),
        })
    }
}

/// How far static values are from one kind of label, in discs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// Rows.
    pub rows: u64,
    /// The mean absolute error.
    pub mae: f64,
    /// The root of the mean squared error.
    pub rmse: f64,
    /// The mean of value minus label.
    pub bias: f64,
    /// The slope of the least-squares line of the label over the value: above 1, values are too
    /// close to zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
}

/// The errors of a training on rows of one kind, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorBand {
    /// Which rows.
    pub rows: BandRows,
    /// The mean absolute error with the weights of the parent.
    pub mae_before: Option<f64>,
    /// The error with the new weights.
    pub after: Error,
    /// Its bias with even and odd numbers of empty squares.
    pub biases: [Option<f64>; 2],
}

/// The rows of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandRows {
    /// Those with numbers of empty squares in this range.
    Empties(u32, u32),
    /// Those with an absolute target of at most this many discs, above the band before.
    Target(u32),
    /// All of them.
    All,
}

/// The numbers of empty squares of a band.
const BAND_EMPTIES: u32 = 10;

impl TrainMetrics {
    /// The errors by empty squares, by the size of the target, and of all rows.
    pub fn bands(&self) -> Vec<ErrorBand> {
        let by_empties = (0..=60)
            .step_by(BAND_EMPTIES as usize)
            .filter_map(|min| self.band_of_empties(min));
        let by_target = self.after.by_score.iter().map(|range| ErrorBand {
            rows: BandRows::Target(range.max),
            mae_before: self
                .before
                .by_score
                .iter()
                .find(|other| other.max == range.max)
                .map(|range| range.error.mae),
            after: range.error,
            biases: [Some(range.error.bias), None],
        });
        let all = ErrorBand {
            rows: BandRows::All,
            mae_before: Some(self.before.all.mae),
            after: self.after.all,
            biases: [Some(self.after.all.bias), None],
        };
        by_empties.chain(by_target).chain([all]).collect()
    }

    fn band_of_empties(&self, min: u32) -> Option<ErrorBand> {
        let max = (min + BAND_EMPTIES - 1).min(60);
        let within = |errors: &Errors, parity: Option<u32>| {
            let is_in = |range: &&RangeError| {
                (min..=max).contains(&range.min)
                    && parity.is_none_or(|parity| range.min % 2 == parity)
            };
            Error::joined(
                errors
                    .by_empties
                    .iter()
                    .filter(is_in)
                    .map(|range| &range.error),
            )
        };
        Some(ErrorBand {
            rows: BandRows::Empties(min, max),
            mae_before: within(&self.before, None).map(|error| error.mae),
            after: within(&self.after, None)?,
            biases: [0, 1].map(|parity| within(&self.after, Some(parity)).map(|error| error.bias)),
        })
    }
}

impl Error {
    /// The error of all rows of several ranges together, without a slope; `None` if they have no
    /// rows.
    pub fn joined<'e>(errors: impl Iterator<Item = &'e Self>) -> Option<Self> {
        let (mut rows, mut absolute, mut squared, mut signed) = (0, 0.0, 0.0, 0.0);
        for error in errors {
            let count = error.rows as f64;
            rows += error.rows;
            absolute += count * error.mae;
            squared += count * error.rmse * error.rmse;
            signed += count * error.bias;
        }
        let count = rows as f64;
        let bias = signed / count;
        (0 < rows).then(|| Self {
            rows,
            mae: absolute / count,
            rmse: (squared / count).sqrt(),
            bias,
            slope: None,
        })
    }
}

/// The error of the rows in a range of empty squares, or of absolute labels in discs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeError {
    /// The least of the range.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// The error.
    #[serde(flatten)]
    pub error: Error,
}

/// The error over all rows, and by range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Of all rows.
    #[serde(flatten)]
    pub all: Error,
    /// By empty squares; only ranges that have rows, fewest empty squares first.
    pub by_empties: Vec<RangeError>,
    /// By absolute label: 0 to 8, 20, 40 and 64 discs.
    pub by_score: Vec<RangeError>,
}

/// The error against each kind of label, of the rows that have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelErrors {
    /// Against deep-search scores.
    pub score: Errors,
    /// Against final disc differences.
    pub result: Errors,
    /// Against exact scores.
    pub exact: Errors,
}

/// How much of what positions show was learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The share of the features of judged rows, each as often as it occurs, that training visited.
    pub seen: f64,
    /// Weights, mirrors counted once.
    pub weights: u64,
    /// Weights that no training has visited.
    pub unvisited: u64,
}

/// The error of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochLoss {
    /// The mean absolute error of each row before its update, in discs.
    pub mae: f64,
}

/// The figures of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainMetrics {
    /// Rows trained on.
    pub rows: u64,
    /// Rows held out.
    pub validation_rows: u64,
    /// Whether the errors are those of held-out rows; else of the training rows.
    pub held_out: bool,
    /// Rows left out because the label that is to be learned is missing.
    #[serde(default, skip_serializing_if = "is_off")]
    pub unlabeled: u64,
    /// Rows left out because they are positions of the yardstick.
    #[serde(default, skip_serializing_if = "is_off")]
    pub yardstick_rows: u64,
    /// Rows learned, each as often as it was visited.
    pub updates: u64,
    /// The error of each epoch, of the last round of weights.
    pub epochs: Vec<EpochLoss>,
    /// The error of each epoch of vectors; none without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector_epochs: Vec<EpochLoss>,
    /// Against the target, with the weights of the parent, or zero weights.
    pub before: Errors,
    /// Against the target, with the new weights.
    pub after: Errors,
    /// Against each label, with the new weights.
    pub labels: LabelErrors,
    /// The exact MAE of the new weights, in discs; none if a former program trained them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_mae: Option<f64>,
    /// What was learned of the judged rows.
    pub coverage: Coverage,
}

const fn one() -> i32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(value: &i32) -> bool {
    *value == 1
}

/// Whether a key has the value that changes nothing, which is then not written.
fn is_off<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What the stage did.
pub type TrainReport = VersionReport<TrainMetrics>;

#[cfg(test)]
mod tests {
    use super::*;

    fn lambda(text: &str) -> Result<Lambda, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn lambda_holds_for_a_range_and_a_parity() {
        let lambda = lambda("[[60, 0.25], [30, 0.5, 1.0], [12, 0.0]]").unwrap();
        let at = [60, 31, 30, 29, 13, 12, 0].map(|empties| lambda.at(empties));
        assert_eq!(at, [0.25, 0.25, 0.5, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(
            serde_json::to_string(&lambda).unwrap(),
            "[[60,0.25],[30,0.5,1.0],[12,0.0]]"
        );
    }

    #[test]
    fn lambda_begins_at_sixty_descends_and_lies_between_0_and_1() {
        for wrong in [
            "[]",
            "[[59, 0.5]]",
            "[[60, 0.5], [60, 0.5]]",
            "[[60, 1.5]]",
            "[[60, 0.5, -0.1]]",
        ] {
            assert!(
                lambda(wrong).unwrap_err().contains("from 60 down"),
                "{wrong}"
            );
        }
        for wrong in ["[[60]]", "[[60, 0.5, 0.5, 0.5]]", "[[60, \"half\"]]"] {
            assert!(
                lambda(wrong).unwrap_err().contains("[EMPTIES, LAMBDA]"),
                "{wrong}"
            );
        }
    }
}
