//! A plan: one stage cut into shards, with everything that determines its bytes.

use super::stage::{Inputs, Outline, StagePlan};
use crate::artifact::format::format_of;
use crate::artifact::seal::{read_sealed, seal};
use crate::artifact::{ArtifactError, FileKind, FormatVersion};
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;

/// The format version of a plan.
pub type PlanFormat = FormatVersion<1>;

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
    /// The pieces of each shard: the first, and the one after the last.
    pub shards: Vec<Range<usize>>,
    /// What is cut.
    #[serde(flatten)]
    pub stage: StagePlan,
}

/// A plan with what it names.
#[derive(Debug)]
pub struct LoadedPlan {
    plan: Plan,
    inputs: Inputs,
}

/// How much work the shards of a plan are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardWork {
    /// What is counted.
    pub unit: &'static str,
    /// How many of them each shard makes.
    pub of_shards: Vec<u64>,
}

impl Plan {
    /// Cuts a stage into `shard_count` shards of whole pieces, about equal in work. None is empty or has pieces of two rounds,
    /// so that there may be more or fewer of them.
    #[must_use]
    pub fn new(stage: StagePlan, shard_count: usize) -> Self {
        let Outline { stage: kind, weights, rounds, .. } = stage.outline();
        let work =
            |pieces: &Range<usize>| weights[pieces.clone()].iter().map(|&weight| u128::from(weight)).sum::<u128>();
        let all = work(&(0..weights.len())).max(1);
        let shards = rounds.into_iter().flat_map(|round| {
            let count = (shard_count as u128 * work(&round)).div_ceil(all).clamp(1, round.len().max(1) as u128);
            cut(round, count as usize, |piece| weights[piece])
        });
        let shards = shards.collect();
        Self { format: PlanFormat::CURRENT, algorithm: kind.algorithm(), shards, stage }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    fn check(&self) -> Result<(), String> {
        self.stage.check()?;
        let mut next = 0;
        for (number, pieces) in self.shards.iter().enumerate() {
            if pieces.start != next || pieces.end <= pieces.start {
                let Range { start, end } = pieces;
                return Err(format!("shard {number} has the parts from {start} to before {end}, not from {next} on"));
            }
            next = pieces.end;
        }
        let needed = self.stage.outline().weights.len();
        if next == needed { Ok(()) } else { Err(format!("its shards make {next} parts, and its games need {needed}")) }
    }

    /// The text of the plan's file.
    #[must_use]
    pub fn text(&self) -> String {
        seal(self)
    }

    /// Reads a plan without what it names.
    pub(super) fn read(path: &Path) -> Result<Self, ArtifactError> {
        let value: Value = read_sealed(path)?;
        check_versions(path, &value)?;
        let plan: Self =
            serde_json::from_value(value).map_err(|error| ArtifactError::damaged(path, error.to_string()))?;
        plan.check().map_err(|reason| ArtifactError::unfit(path, reason))?;
        Ok(plan)
    }

    /// The plan of this very stage in a file, if there is one.
    #[must_use]
    pub fn found(stage: &StagePlan, path: &Path) -> Option<Self> {
        // What cannot be read is not this plan; writing it says what is wrong with the path.
        Self::read(path).ok().filter(|plan| plan.stage == *stage)
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

impl LoadedPlan {
    /// Reads a plan and what it names.
    ///
    /// # Errors
    ///
    /// A missing or damaged plan, one of another version, one that cannot be, or inputs that are not those it was made for.
    pub fn read(path: &Path) -> Result<Self, StageError> {
        Self::load(path, Plan::read(path)?)
    }

    /// Reads what a plan names; `path` is its file, for errors.
    ///
    /// # Errors
    ///
    /// Inputs that are not those it was made for.
    pub fn load(path: &Path, plan: Plan) -> Result<Self, StageError> {
        let inputs = plan.stage.load(path)?;
        Ok(Self { plan, inputs })
    }

    /// The stage that the plan cuts.
    #[must_use]
    pub fn task(&self) -> StageTask<'_> {
        self.plan.stage.task(&self.inputs)
    }

    /// That stage.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.plan.stage.outline().stage
    }

    /// The generation, counted from 1.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.plan.stage.outline().generation
    }

    /// How much work each shard is.
    #[must_use]
    pub fn work(&self) -> ShardWork {
        let Outline { stage, weights, .. } = self.plan.stage.outline();
        let of_shard = |pieces: &Range<usize>| weights[pieces.clone()].iter().sum();
        ShardWork { unit: stage.unit(), of_shards: self.plan.shards.iter().map(of_shard).collect() }
    }

    /// The pieces of each shard.
    #[must_use]
    pub fn shards(&self) -> &[Range<usize>] {
        &self.plan.shards
    }
}

/// The folder of a file that is named relative to the current one.
pub(super) fn folder_of(plan: &Path) -> &Path {
    plan.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn name_of(plan: &Path) -> String {
    plan.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Versions are checked before anything else, whose form they decide.
fn check_versions(path: &Path, plan: &Value) -> Result<(), ArtifactError> {
    let remedy = "make it again with renma shard plan";
    let text = |key: &str| plan.get(key).map_or("nothing".to_owned(), Value::to_string);
    format_of::<PlanFormat>(plan).map_err(|reason| ArtifactError::unfit(path, format!("{reason}\n{remedy}")))?;
    let named = plan.get("stage").and_then(Value::as_str);
    let Some(stage) = named.and_then(Stage::named) else {
        let stages = Stage::ALL.map(Stage::name).join(", ");
        return Err(ArtifactError::unfit(path, format!("it is a plan of {}, not of one of {stages}", text("stage"))));
    };
    let algorithm = stage.algorithm();
    if plan.get("algorithm").and_then(Value::as_u64) != Some(algorithm.into()) {
        let reason = format!("it is for algorithm {} of {stage}, this renma has {algorithm}", text("algorithm"));
        return Err(ArtifactError::unfit(path, format!("{reason}\n{remedy}, or use the renma that made it")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
