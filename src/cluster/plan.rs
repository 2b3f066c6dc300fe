//! A plan: one stage cut into shards, with everything that determines its bytes.

use super::stage::StagePlan;
use crate::artifact::format::format_of;
use crate::artifact::line::visible;
use crate::artifact::seal::{read_sealed, seal};
use crate::artifact::{ArtifactError, ContentHash, FileKind, FormatVersion};
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train::shards::rounds;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;

/// The format version of a plan.
pub type PlanFormat = FormatVersion<2>;

/// What to do about a plan of another version.
const REMEDY: &str = "make it again with renma shard plan, or use the renma that made it";

/// A sealed plan, of this format or another.
pub const PLAN_FILE: FileKind = FileKind {
    name: "a plan",
    matches: |path| match read_sealed::<Value>(path) {
        Ok(plan) => Ok(plan.get("stage").is_some() && plan.get("shards").is_some()),
        Err(ArtifactError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    },
};

/// A stage and its shards. The paths in it are relative to the folder that all shards run in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    format: PlanFormat,
    algorithm: u32,
    /// The program that made it, which must make its shards too; since format 2.
    #[serde(default)]
    build: String,
    /// The pieces of each shard: the first, and the one after the last.
    pub shards: Vec<Range<usize>>,
    /// The hash of everything that determines the pieces, except their number.
    recipe: ContentHash,
    /// The run's seed.
    seed: u64,
    /// The generation, counted from 1; of a training, that of its newest dataset.
    pub generation: u32,
    /// What is cut.
    #[serde(flatten)]
    pub(super) stage: StagePlan,
}

/// A plan with the task that it cuts.
#[derive(Debug)]
pub struct LoadedPlan<'a> {
    /// Its file.
    pub path: &'a Path,
    /// The plan.
    pub plan: &'a Plan,
    /// What it cuts.
    pub task: StageTask<'a>,
}

impl Plan {
    /// A plan of a task, without shards.
    ///
    /// # Errors
    ///
    /// A bad setting, a missing dataset, a stage that cannot be cut, or a folder with a name that a plan cannot hold.
    pub fn new(task: &StageTask<'_>) -> Result<Self, StageError> {
        let (format, algorithm, shards) = (PlanFormat::CURRENT, task.stage().facts().algorithm, Vec::new());
        let (seed, generation, stage) = StagePlan::new(task)?;
        stage.check().map_err(StageError::Setting)?;
        Ok(Self { format, algorithm, build: build(), shards, recipe: task.recipe()?, seed, generation, stage })
    }

    /// The plan of a task with about `shard_count` shards of whole pieces, about equal in work. None is empty or has pieces of
    /// two rounds, so that there may be more or fewer of them.
    pub fn cut(self, task: &StageTask<'_>, shard_count: usize) -> Self {
        let (weights, rounds) = (self.weights(), self.rounds(task));
        let work =
            |pieces: &Range<usize>| weights[pieces.clone()].iter().map(|&weight| u128::from(weight)).sum::<u128>();
        let all = work(&(0..weights.len())).max(1);
        let shards = rounds.into_iter().flat_map(|round| {
            let count = (shard_count as u128 * work(&round)).div_ceil(all).clamp(1, round.len().max(1) as u128);
            cut(round, count as usize, |piece| weights[piece])
        });
        Self { shards: shards.collect(), ..self }
    }

    /// The pieces that can be made at the same time, one round after another.
    fn rounds(&self, task: &StageTask<'_>) -> Vec<Range<usize>> {
        match task {
            StageTask::Train(task) => rounds(task),
            _ => std::iter::once(0..self.weights().len()).collect(),
        }
    }

    /// How much work each of its pieces is, in units of the stage.
    pub fn weights(&self) -> Vec<u64> {
        self.stage.weights()
    }

    /// How much work each of its shards is.
    pub fn shard_weights(&self) -> Vec<u64> {
        let weights = self.weights();
        self.shards.iter().map(|pieces| weights[pieces.clone()].iter().sum()).collect()
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    fn check(&self) -> Result<(), String> {
        self.stage.check()?;
        if self.generation == 0 {
            return Err("generation is 0: generations are counted from 1".into());
        }
        let mut next = 0;
        for (number, pieces) in self.shards.iter().enumerate() {
            if pieces.start != next || pieces.end <= pieces.start {
                let Range { start, end } = pieces;
                return Err(format!("shard {number} has the parts from {start} to before {end}, not from {next} on"));
            }
            next = pieces.end;
        }
        let needed = self.weights().len();
        if next == needed { Ok(()) } else { Err(format!("its shards make {next} parts, and its games need {needed}")) }
    }

    /// The text of the plan's file.
    pub fn text(&self) -> String {
        seal(self)
    }

    /// Reads a plan without the inputs that it references.
    pub(super) fn read(path: &Path) -> Result<Self, ArtifactError> {
        let value: Value = read_sealed(path)?;
        check_versions(path, &value)?;
        let plan: Self =
            serde_json::from_value(value).map_err(|error| ArtifactError::damaged(path, visible(&error.to_string())))?;
        plan.check().map_err(|reason| ArtifactError::unfit(path, reason))?;
        Ok(plan)
    }

    /// The plan in a file, if it cuts this very stage, into whichever shards within its rounds.
    pub fn found(&self, task: &StageTask<'_>, path: &Path) -> Option<Self> {
        let rounds = self.rounds(task);
        let is_in_one =
            |shard: &Range<usize>| rounds.iter().any(|round| round.start <= shard.start && shard.end <= round.end);
        // A file that cannot be read is not this plan; writing the plan reports what is wrong with the path.
        let found = Self::read(path).ok().filter(|found| found.shards.iter().all(is_in_one));
        found.filter(|found| Self { shards: found.shards.clone(), ..self.clone() } == *found)
    }
}

/// Cuts pieces into `count` ranges of about equal weight, none empty.
fn cut(pieces: Range<usize>, count: usize, weight: impl Fn(usize) -> u64) -> Vec<Range<usize>> {
    let all: u128 = pieces.clone().map(|piece| u128::from(weight(piece))).sum();
    let (mut ranges, mut begin, mut done) = (Vec::with_capacity(count), pieces.start, 0);
    for piece in pieces.clone() {
        done += u128::from(weight(piece));
        let (cut, end) = (ranges.len() + 1, piece + 1);
        let is_full = all * cut as u128 <= done * count as u128 || pieces.end - end == count - cut;
        if cut < count && is_full {
            ranges.push(begin..end);
            begin = end;
        }
    }
    ranges.push(begin..pieces.end);
    ranges
}

/// What may change bytes beside the versions of algorithms: the program's version and those of its libraries.
pub fn build() -> String {
    let libraries = ContentHash::of(include_bytes!("../../Cargo.lock"));
    format!("renma {} with libraries {}", env!("CARGO_PKG_VERSION"), libraries.short())
}

/// Reads a plan with the inputs that it references, and passes it to a function.
///
/// # Errors
///
/// A missing or damaged plan, one of another version or another build of the program, an invalid one, inputs that differ from those
/// it was made for, or settings that do not match its hash.
pub fn with_plan<T, E: From<StageError>>(
    path: &Path,
    act: impl FnOnce(&LoadedPlan<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let plan = &Plan::read(path).map_err(StageError::from)?;
    plan.stage.check_folders(path).map_err(StageError::from)?;
    let acted = plan.stage.with_task((plan.seed, plan.generation), path, |task| {
        let (listed, made) = (plan.recipe, task.recipe()?);
        if listed != made {
            let reason = format!("its recipe is {}, and its settings make {}", listed.short(), made.short());
            return Err(StageError::from(ArtifactError::unfit(path, reason)).into());
        }
        if plan.build != build() {
            let made = if plan.build.is_empty() { "an older renma" } else { &plan.build };
            let reason = format!("{made:?} made it, and this is {:?}: their parts may differ\n{REMEDY}", build());
            return Err(StageError::from(ArtifactError::unfit(path, reason)).into());
        }
        act(&LoadedPlan { path, plan, task })
    });
    acted.map_err(StageError::from)?
}

pub(super) fn name_of(plan: &Path) -> String {
    plan.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Versions are checked before anything else, whose form they decide.
fn check_versions(path: &Path, plan: &Value) -> Result<(), ArtifactError> {
    let text = |key: &str| plan.get(key).map_or("nothing".to_owned(), Value::to_string);
    format_of::<PlanFormat>(plan.get("format").unwrap_or(&Value::Null)).map_err(|reason| {
        ArtifactError::unfit(
            path,
            format!(
                "{reason}
{REMEDY}"
            ),
        )
    })?;
    let named = plan.get("stage").and_then(Value::as_str);
    let Some(stage) = named.and_then(Stage::named) else {
        let stages = Stage::ALL.map(Stage::name).join(", ");
        return Err(ArtifactError::unfit(path, format!("it is a plan of {}, not of one of {stages}", text("stage"))));
    };
    let algorithm = stage.facts().algorithm;
    if plan.get("algorithm").and_then(Value::as_u64) != Some(algorithm.into()) {
        let reason = format!("it is for algorithm {} of {stage}, this renma has {algorithm}", text("algorithm"));
        return Err(ArtifactError::unfit(path, format!("{reason}\n{REMEDY}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::seal::write_sealed;
    use serde_json::json;

    #[test]
    fn ranges_cover_all_pieces_and_none_is_empty() {
        for pieces in 1..40 {
            for count in 1..=pieces {
                for weights in [|_| 1, |piece| 1 + piece as u64 * 7, |piece| if piece == 0 { 1000 } else { 1 }] {
                    let ranges = cut(3..3 + pieces, count, weights);
                    assert_eq!(ranges.len(), count);
                    assert!(ranges.iter().all(|range| !range.is_empty()), "{ranges:?}");
                    assert_eq!(
                        ranges.iter().cloned().flatten().collect::<Vec<_>>(),
                        (3..3 + pieces).collect::<Vec<_>>()
                    );
                }
            }
        }
        assert_eq!(cut(0..10, 3, |_| 1), [0..4, 4..7, 7..10]);
        assert_eq!(cut(0..5, 2, |piece| if piece == 0 { 100 } else { 1 }), [0..1, 1..5]);
    }

    #[test]
    fn a_plan_has_a_stage_and_shards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        for (value, expected) in [
            (json!({ "stage": "gate", "shards": [] }), true),
            (json!({ "stage": "gate" }), false),
            (json!({ "shards": [] }), false),
        ] {
            write_sealed(&path, &value).unwrap();
            assert_eq!((PLAN_FILE.matches)(&path).unwrap(), expected, "{value}");
        }
    }
}
