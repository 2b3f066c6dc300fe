//! Rows to learn and rows to judge by: datasets decoded once, split by game.

use super::blocks::{BlockRow, Blocks};
use super::repeated_games::{ComparedGame, Comparison, game_name, parts_of, refuse_repeated};
use super::targets::{result, targets};
use super::task::{Target, TrainTask};
use crate::artifact::dataset::yardstick::is_in_yardstick;
use crate::artifact::{ArtifactError, Dataset, POSITIONS, PositionRow};
use crate::engine::{Opponent, Player, Position, Score};
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, belongs};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::mem::take;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Bytes that a row takes while its part is decoded, about.
const DECODED_SIZE: u64 = 200;

/// A position with what the weights are to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingRow {
    /// The position, seen by the side to move.
    pub position: Position,
    /// From the side to move.
    pub target: Score,
    /// How much it counts, in parts of [`TrainingRow::WEIGHT_ONE`].
    pub weight: u16,
    /// Its place among the rows of its block, in the order in which they came.
    pub(super) place: u16,
}

const _: () = assert!(size_of::<TrainingRow>() == 24);

/// A held-out position with everything that its value can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedRow {
    /// The position, and what the weights are to predict.
    pub row: TrainingRow,
    /// The deep-search score.
    pub score: Option<Score>,
    /// The final disc difference.
    pub result: Option<Score>,
    /// Whether the score is exact.
    pub exact: bool,
}

/// Rows in the order of datasets, parts and rows.
#[derive(Debug)]
pub struct TrainingSet {
    /// What weights are fitted to.
    pub training: Blocks<TrainingRow>,
    /// Whole games held out.
    pub validation: Blocks<JudgedRow>,
    /// Rows left out because the label that is to be learned is missing.
    pub unlabeled: u64,
    /// Rows left out because they are positions of the yardstick.
    pub yardstick_rows: u64,
}

impl From<TrainingRow> for JudgedRow {
    /// A row to learn keeps no label beside its target.
    fn from(row: TrainingRow) -> Self {
        Self {
            row,
            score: None,
            result: None,
            exact: false,
        }
    }
}

impl TrainingRow {
    /// The weight of a row that counts in full.
    pub const WEIGHT_ONE: u16 = 256;

    /// A row that counts in full.
    pub const fn new(position: Position, target: Score) -> Self {
        Self {
            position,
            target,
            weight: Self::WEIGHT_ONE,
            place: 0,
        }
    }
}

impl AsRef<Position> for TrainingRow {
    fn as_ref(&self) -> &Position {
        &self.position
    }
}

impl AsRef<Position> for JudgedRow {
    fn as_ref(&self) -> &Position {
        &self.row.position
    }
}

impl TrainingSet {
    /// Rows in memory, none of them held out.
    #[cfg(test)]
    pub(super) fn of_rows(rows: &[TrainingRow]) -> Self {
        let mut training = Blocks::new(PathBuf::new(), u64::MAX);
        training
            .extend(rows)
            .and_then(|()| training.finish())
            .expect("nothing is written");
        let validation = Blocks::new(PathBuf::new(), u64::MAX);
        Self {
            training,
            validation,
            unlabeled: 0,
            yardstick_rows: 0,
        }
    }

    fn add(&mut self, part: PartRows) -> Result<(), ArtifactError> {
        self.training.extend(&part.training)?;
        self.validation.extend(&part.validation)?;
        self.unlabeled += part.unlabeled;
        self.yardstick_rows += part.yardstick_rows;
        Ok(())
    }
}

/// How much a row with this target counts: 1/(1 + (target/scale)²), in 256ths and at least one; in
/// full if the scale is 0.
fn weight(target: Score, scale: f64) -> u16 {
    if scale == 0.0 {
        return TrainingRow::WEIGHT_ONE;
    }
    let share = target.discs() / scale;
    (f64::from(TrainingRow::WEIGHT_ONE) / (1.0 + share * share))
        .round()
        .max(1.0) as u16
}

/// The error of a training without rows to learn.
fn no_rows(task: &TrainTask, set: &TrainingSet) -> StageError {
    let names: Vec<String> = task
        .datasets
        .iter()
        .map(|dataset| dataset.folder.display().to_string())
        .collect();
    let (min, max) = (task.config.empties_min, task.config.empties_max);
    let names = names.join(", ");
    if !set.validation.is_empty() {
        let reason =
            format!("cannot train: all games of {names} are held out, by train.validation");
        return StageError::NoRows(format!("{reason}\nlower it, or add games"));
    }
    let mut text = format!("cannot train: {names} has no rows with {min} to {max} empty squares");
    if 0 < set.yardstick_rows {
        let reason = "it holds the yardstick, which measures models: none is trained on it";
        return StageError::NoRows(format!("{text} to learn: {reason}\nname other datasets"));
    }
    if 0 < set.unlabeled {
        let (target, column) = match task.config.target {
            Target::Result {} => ("result", "`result`"),
            Target::Score {} => ("score", "`score`"),
            Target::Td { .. } => ("td", "`score`"),
        };
        text += &format!(
            " and a value in {column}, which train.target = \"{target}\" needs: {} rows lack it\n\
             choose another train.target, or import with --label-depth",
            set.unlabeled
        );
    }
    StageError::NoRows(text)
}

/// Reads the rows of all datasets, checked against their manifests, on the threads of the current
/// pool.
///
/// # Errors
///
/// Damage of any kind, no rows to learn, a full disk, or an interruption.
pub fn read_rows(
    task: &TrainTask,
    datasets: &[Dataset],
    context: Context<'_>,
) -> Result<TrainingSet, StageError> {
    let folder = task.registry.folder();
    let set = TrainingSet {
        training: Blocks::new(folder.to_owned(), task.memory / 2),
        validation: Blocks::new(folder.to_owned(), task.memory / 8),
        unlabeled: 0,
        yardstick_rows: 0,
    };
    filled(set, task, datasets, context)
}

/// [`read_rows`], only the rows to learn with numbers of empty squares in these ranges, in the same
/// blocks.
pub(super) fn read_some_rows(
    task: &TrainTask,
    datasets: &[Dataset],
    kept: Vec<RangeInclusive<u8>>,
    context: Context<'_>,
) -> Result<TrainingSet, StageError> {
    let training = Blocks::keeping(task.registry.folder().to_owned(), task.memory / 2, kept);
    let validation = Blocks::keeping(PathBuf::new(), u64::MAX, Vec::new());
    let set = TrainingSet {
        training,
        validation,
        unlabeled: 0,
        yardstick_rows: 0,
    };
    filled(set, task, datasets, context)
}

/// Decodes the parts of datasets, several at a time, and adds their rows in order while the next
/// are decoded.
fn filled(
    mut set: TrainingSet,
    task: &TrainTask,
    datasets: &[Dataset],
    context: Context<'_>,
) -> Result<TrainingSet, StageError> {
    let (parts, comparison) = (parts_of(datasets), Comparison::new(datasets));
    let mut games = Vec::new();
    let rows = parts
        .iter()
        .map(|(dataset, part)| dataset.manifest().parts[*part].files[POSITIONS.name].rows);
    let most = rows.max().unwrap_or(0).max(1);
    let together =
        (task.memory / 4 / (most * DECODED_SIZE)).clamp(1, 4 * context.threads as u64) as usize;
    let read = |parts: &[(&Dataset, usize)]| -> Result<Vec<PartRows>, StageError> {
        parts
            .par_iter()
            .map(|(dataset, part)| read_part(task, dataset, *part, comparison, context))
            .collect()
    };
    let mut add_all = |parts: Vec<PartRows>| {
        parts.into_iter().try_for_each(|mut part| {
            context.check()?;
            games.push(take(&mut part.games));
            Ok::<_, StageError>(set.add(part)?)
        })
    };
    let mut before = Vec::new();
    for parts in parts.chunks(together) {
        let (added, next) = rayon::join(|| add_all(before), || read(parts));
        added?;
        before = next?;
    }
    add_all(before)?;
    refuse_repeated(datasets, &games)?;
    set.training.finish()?;
    set.validation.finish()?;
    if set.training.is_empty() {
        Err(no_rows(task, &set))
    } else {
        Ok(set)
    }
}

#[derive(Default)]
struct PartRows {
    training: Vec<TrainingRow>,
    validation: Vec<JudgedRow>,
    unlabeled: u64,
    yardstick_rows: u64,
    games: Vec<ComparedGame>,
}

fn read_part(
    task: &TrainTask,
    dataset: &Dataset,
    part: usize,
    comparison: Comparison,
    context: Context<'_>,
) -> Result<PartRows, StageError> {
    context.check()?;
    dataset.check_games(part)?;
    context.check()?;
    let mut result = PartRows::default();
    let rows = dataset.positions(part, context.stop)?;
    for game in rows.chunk_by(|(_, left), (_, right)| left.game_id == right.game_id) {
        context.check()?;
        let name = game_name(game);
        result
            .games
            .extend(comparison.game(game[0].1.game_id, &name));
        result.add_game(task, &name, game);
    }
    Ok(result)
}

impl PartRows {
    fn add_game(&mut self, task: &TrainTask, name: &[u8], game: &[(Position, PositionRow)]) {
        let config = &task.config;
        let held_out = belongs(task.seed, Stream::Validation, name, config.validation);
        for ((position, row), target) in game.iter().zip(targets(&config.target, game)) {
            if row.empties < config.empties_min || config.empties_max < row.empties {
                continue;
            }
            if is_in_yardstick(*position) {
                self.yardstick_rows += 1;
                continue;
            }
            let Some(target) = target else {
                self.unlabeled += 1;
                continue;
            };
            let weight = weight(target, config.weight_scale);
            let learned = TrainingRow {
                weight,
                ..TrainingRow::new(*position, target)
            };
            if held_out {
                let (score, result, exact) = (row.score, result(row), row.exact == Some(true));
                self.validation.push(JudgedRow {
                    row: learned,
                    score,
                    result,
                    exact,
                });
            } else {
                self.training.push(learned);
            }
        }
    }
}

/// The bytes at a place of a row that this program wrote.
fn field<const SIZE: usize>(bytes: &[u8], begin: usize) -> [u8; SIZE] {
    *bytes[begin..].first_chunk().expect("a row has its size")
}

impl BlockRow for TrainingRow {
    const SIZE: usize = 24;

    fn set_place(&mut self, place: u16) {
        self.place = place;
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.position.player().to_le_bytes());
        bytes.extend(self.position.opponent().to_le_bytes());
        bytes.extend(self.target.0.to_le_bytes());
        bytes.extend(self.weight.to_le_bytes());
        bytes.extend(self.place.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Self {
        let [player, opponent] = [0, 8].map(|begin| u64::from_le_bytes(field(bytes, begin)));
        Self {
            position: Position::new(Player(player), Opponent(opponent))
                .expect("a scratch file holds positions"),
            target: Score(i32::from_le_bytes(field(bytes, 16))),
            weight: u16::from_le_bytes(field(bytes, 20)),
            place: u16::from_le_bytes(field(bytes, 22)),
        }
    }
}

impl BlockRow for JudgedRow {
    const SIZE: usize = TrainingRow::SIZE + 9;

    fn write(&self, bytes: &mut Vec<u8>) {
        self.row.write(bytes);
        bytes.extend(self.score.unwrap_or_default().0.to_le_bytes());
        bytes.extend(self.result.unwrap_or_default().0.to_le_bytes());
        let flags = [self.score.is_some(), self.result.is_some(), self.exact].map(u8::from);
        bytes.push(flags[0] | flags[1] << 1 | flags[2] << 2);
    }

    fn read(bytes: &[u8]) -> Self {
        let [score, result] =
            [0, 4].map(|begin| Score(i32::from_le_bytes(field(bytes, TrainingRow::SIZE + begin))));
        let flags = bytes[TrainingRow::SIZE + 8];
        Self {
            row: TrainingRow::read(bytes),
            score: (flags & 1 != 0).then_some(score),
            result: (flags & 2 != 0).then_some(result),
            exact: flags & 4 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_their_bytes() {
        let mut bytes = Vec::new();
        let row = TrainingRow {
            position: Position::START,
            target: Score::MIN,
            weight: 17,
            place: 65_535,
        };
        row.write(&mut bytes);
        assert_eq!(
            (bytes.len(), TrainingRow::read(&bytes)),
            (TrainingRow::SIZE, row)
        );
        for (score, result, exact) in [
            (None, Some(-3000), false),
            (Some(-7), None, true),
            (Some(0), Some(0), true),
        ] {
            let [score, result] = [score, result].map(|score| score.map(Score));
            let row = JudgedRow {
                row,
                score,
                result,
                exact,
            };
            bytes.clear();
            row.write(&mut bytes);
            assert_eq!(
                (bytes.len(), JudgedRow::read(&bytes)),
                (JudgedRow::SIZE, row)
            );
        }
    }

    #[test]
    fn even_positions_count_most() {
        for (target, scale, expected) in [
            (0, 20.0, 256),
            (-20_000, 20.0, 128),
            (60_000, 20.0, 26),
            (64_000, 0.5, 1),
            (64_000, 0.0, 256),
        ] {
            assert_eq!(weight(Score(target), scale), expected, "{target} {scale}");
        }
    }
}
