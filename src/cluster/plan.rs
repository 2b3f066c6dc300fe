//! A plan: a request cut into shards, with everything that determines its bytes.

use super::error::{ClusterError, PlanFault};
use super::outputs::{check_output, foreign_in_output, foreign_in_registry, plain};
use crate::artifact::format::format_of;
use crate::artifact::line::{is_line, visible};
use crate::artifact::seal::{read_sealed, seal};
use crate::artifact::{
    ArtifactError, ContentHash, FileKind, FormatVersion, KnownModel, Manifest, ModelRef, Registry,
};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::request::{Models, Request, RequestDataset, RequestModel, Role};
use crate::pipeline::stage::Stage;
use crate::pipeline::work::Work;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The format version of a plan. The third has the request as a whole.
pub type PlanFormat = FormatVersion<3>;

/// What to do about a plan of another version.
const REMEDY: &str = "make it again with --plan, or use the renma that made it";

/// A sealed plan, of this format or another.
pub const PLAN_FILE: FileKind = FileKind {
    name: "a plan",
    matches: |path| match read_sealed::<Value>(path) {
        Ok(plan) => {
            let is_request = plan.get("request").is_some() || plan.get("stage").is_some();
            Ok(is_request && plan.get("shards").is_some())
        }
        Err(ArtifactError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    },
};

/// A request and its shards. The paths in it are relative to the folder that all shards run in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: PlanFormat,
    algorithm: u32,
    /// The program that made it, which must make its shards too.
    build: String,
    /// The hash of everything that determines the pieces, except their number.
    recipe: ContentHash,
    /// The pieces of each shard: the first, and the one after the last.
    pub shards: Vec<Range<usize>>,
    /// What is cut.
    pub request: Request,
}

/// A plan with the work that it cuts.
pub struct LoadedPlan {
    /// Its file.
    pub path: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// What it cuts.
    pub work: Box<dyn Work>,
}

impl Plan {
    /// A plan of a request for this work, without shards.
    ///
    /// # Errors
    ///
    /// Work that cannot be cut, or a folder with a name that a plan cannot hold or that shards
    /// cannot write to.
    pub fn new(request: &Request, work: &dyn Work) -> Result<Self, StageError> {
        if let Some(reason) = work.undivided() {
            return Err(ClusterError::Undivided(reason).into());
        }
        for path in request.paths() {
            text_of(path)?;
        }
        let plan = Self {
            format: PlanFormat::CURRENT,
            algorithm: request.stage.facts().algorithm,
            build: build(),
            recipe: work.recipe()?,
            shards: Vec::new(),
            request: request.clone(),
        };
        plan.check_outputs()?;
        Ok(plan)
    }

    /// The same plan with about `shard_count` shards of whole pieces, about equal in work. None is
    /// empty or has pieces of two rounds, so that there may be more or fewer of them.
    pub fn cut(self, rounds: &[Vec<u64>], shard_count: usize) -> Self {
        let all = rounds
            .iter()
            .map(|round| work_of(round))
            .sum::<u128>()
            .max(1);
        let mut shards = Vec::new();
        let mut first = 0;
        for weights in rounds {
            let share = (shard_count as u128 * work_of(weights)).div_ceil(all);
            let count = share.clamp(1, weights.len().max(1) as u128) as usize;
            shards.extend(cut(first..first + weights.len(), count, |piece| {
                weights[piece - first]
            }));
            first += weights.len();
        }
        Self { shards, ..self }
    }

    /// The folder that its shards write to.
    pub(super) fn output(&self) -> &Path {
        self.request
            .output
            .as_deref()
            .unwrap_or(&self.request.registry)
    }

    /// The registry, if its stage writes to it.
    fn written_registry(&self) -> Option<&Path> {
        self.request
            .stage
            .facts()
            .makes_versions()
            .then_some(self.request.registry.as_path())
    }

    /// Checks the folders that its shards write to, as if a person had typed them.
    fn check_outputs(&self) -> Result<(), PlanFault> {
        let (output, registry) = (self.request.output.as_deref(), self.written_registry());
        output
            .into_iter()
            .chain(registry)
            .try_for_each(check_output)?;
        let (Some(output), Some(registry)) = (output.map(plain), registry.map(plain)) else {
            return Ok(());
        };
        if output.starts_with(&registry) || registry.starts_with(&output) {
            return Err(PlanFault::Overlap);
        }
        Ok(())
    }

    /// Checks that the folders that its shards write to hold nothing foreign, for the plan in the
    /// file `path`.
    fn check_folders(&self, path: &Path) -> Result<(), ArtifactError> {
        let in_output = self
            .request
            .output
            .as_deref()
            .map(|folder| Ok((folder, foreign_in_output(folder)?)));
        let in_registry = self
            .written_registry()
            .map(|folder| Ok((folder, foreign_in_registry(folder)?)));
        for found in in_output.into_iter().chain(in_registry) {
            if let (folder, Some(foreign)) = found? {
                let reason = format!(
                    "shards cannot write to {}: it holds {}",
                    folder.display(),
                    foreign.display()
                );
                let remedy = "move that away, or make the plan again for another folder";
                return Err(ArtifactError::unfit(
                    path,
                    format!("{}, which is not theirs\n{remedy}", visible(&reason)),
                ));
            }
        }
        Ok(())
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    fn check(&self) -> Result<(), PlanFault> {
        self.check_outputs()?;
        if let Some(path) = self
            .request
            .paths()
            .find(|path| !path.to_str().is_some_and(is_line))
        {
            return Err(PlanFault::NotALine(path.to_owned()));
        }
        if self.request.generation == Generation::NONE {
            return Err(PlanFault::GenerationZero);
        }
        let mut next = 0;
        for (number, pieces) in self.shards.iter().enumerate() {
            if pieces.start != next || pieces.end <= pieces.start {
                return Err(PlanFault::Shard {
                    shard: number,
                    parts: pieces.clone(),
                    expected: next,
                });
            }
            next = pieces.end;
        }
        Ok(())
    }

    /// Checks that its shards make all pieces, and that their work can be added up: progress does
    /// it.
    fn check_pieces(&self, rounds: &[Vec<u64>]) -> Result<(), PlanFault> {
        let made = self.shards.last().map_or(0, |last| last.end);
        let needed: usize = rounds.iter().map(Vec::len).sum();
        if made != needed {
            return Err(PlanFault::Parts { made, needed });
        }
        let work = rounds
            .iter()
            .flatten()
            .try_fold(0_u64, |sum, work| sum.checked_add(*work));
        work.map(drop).ok_or(PlanFault::TooMuchWork)
    }

    /// The text of the plan's file.
    pub fn text(&self) -> String {
        seal(self)
    }

    /// Reads a plan without the inputs that it references.
    pub(super) fn read(path: &Path) -> Result<Self, ArtifactError> {
        let value: Value = read_sealed(path)?;
        check_versions(path, &value)?;
        let plan: Self = serde_json::from_value(value)
            .map_err(|error| ArtifactError::damaged(path, visible(&error.to_string())))?;
        plan.check()
            .map_err(|fault| ArtifactError::unfit(path, fault.to_string()))?;
        Ok(plan)
    }

    /// The plan in a file, if it cuts this very request, into whichever shards within its rounds.
    pub fn found(&self, rounds: &[Vec<u64>], path: &Path) -> Option<Self> {
        // A file that cannot be read is not this plan; writing the plan reports what is wrong with
        // the path.
        let found = Self::read(path).ok()?;
        let is_same = Self {
            shards: found.shards.clone(),
            ..self.clone()
        } == found;
        (is_same && found.check_pieces(rounds).is_ok() && found.keeps_rounds(rounds))
            .then_some(found)
    }

    /// Whether no shard has pieces of two rounds.
    fn keeps_rounds(&self, rounds: &[Vec<u64>]) -> bool {
        let mut end = 0;
        rounds.iter().all(|round| {
            end += round.len();
            self.shards.iter().any(|shard| shard.end == end)
        })
    }

    /// The models that it names, for the plan in the file `path`.
    fn find_models(&self, path: &Path) -> Result<Models<KnownModel>, ArtifactError> {
        let find = |(role, model): (&Role, &RequestModel)| {
            let found = model.name.find(&self.request.registry);
            let name = match model.name {
                ModelRef::Version(id) => Registry::new(&self.request.registry)
                    .folder_of(id)
                    .display()
                    .to_string(),
                _ => model.name.to_string(),
            };
            let named = Named {
                kind: "model",
                name,
                content: model.content,
            };
            Ok((*role, named.checked(found, |known| known.content, path)?))
        };
        self.request.models.iter().map(find).collect()
    }

    /// Checks that the datasets that it names are still there, for the plan in the file `path`.
    fn check_datasets(&self, path: &Path) -> Result<(), ArtifactError> {
        for RequestDataset {
            folder, content, ..
        } in &self.request.datasets
        {
            let name = folder.to_string_lossy().into_owned();
            let found = Manifest::read_any(folder);
            Named {
                kind: "dataset",
                name,
                content: *content,
            }
            .checked(found, |manifest| manifest.content, path)?;
        }
        Ok(())
    }
}

/// An input that a plan names by its content.
struct Named {
    kind: &'static str,
    name: String,
    content: Option<ContentHash>,
}

impl Named {
    /// The input as it was read for the plan in the file `path`, if it is the one that the plan
    /// names.
    fn checked<T>(
        &self,
        read: Result<T, ArtifactError>,
        content_of: impl FnOnce(&T) -> ContentHash,
        path: &Path,
    ) -> Result<T, ArtifactError> {
        let Self {
            kind,
            name,
            content,
        } = self;
        let Some(wanted) = content else {
            return Err(ArtifactError::unfit(
                path,
                format!("it names {kind} {name} without its content"),
            ));
        };
        let input = read.map_err(|error| match error {
            ArtifactError::Missing { .. } => {
                let reason = format!("its {kind} {name} ({}) does not exist", wanted.short());
                let remedy =
                    "start it in the folder in which the plan was made, or make the plan again";
                ArtifactError::conflict(path, format!("{reason}\n{remedy}"))
            }
            error => error,
        })?;
        let found = content_of(&input);
        if found == *wanted {
            return Ok(input);
        }
        let reason = format!(
            "{name} has content {} now, the plan was made for {}",
            found.short(),
            wanted.short()
        );
        Err(ArtifactError::unfit(
            path,
            format!("{reason}\nput that {kind} back, or make the plan again"),
        ))
    }
}

impl LoadedPlan {
    /// Reads a plan with the inputs that it references.
    ///
    /// # Errors
    ///
    /// A missing or damaged plan, one of another version or another build of the program, an
    /// invalid one, inputs that differ from those it was made for, or settings that do not match
    /// its hash.
    pub fn read(path: &Path) -> Result<Self, StageError> {
        let plan = Plan::read(path)?;
        let unfit = |reason: String| StageError::from(ArtifactError::unfit(path, reason));
        plan.check_folders(path)?;
        let models = plan.find_models(path)?;
        let asked = plan
            .request
            .asked(&models)
            .map_err(|error| unfit(error.to_string()))?;
        plan.check_pieces(&asked.rounds())
            .map_err(|fault| unfit(fault.to_string()))?;
        plan.check_datasets(path)?;
        let made = asked.recipe()?;
        if plan.recipe != made {
            return Err(unfit(format!(
                "its recipe is {}, and its settings make {}",
                plan.recipe.short(),
                made.short()
            )));
        }
        if plan.build != build() {
            let reason = format!(
                "{:?} made it, and this is {:?}: their parts may differ",
                plan.build,
                build()
            );
            return Err(unfit(format!("{reason}\n{REMEDY}")));
        }
        let work = plan.request.work(&models.load()?)?;
        Ok(Self {
            path: path.to_owned(),
            plan,
            work,
        })
    }

    /// How much work each of its shards is.
    pub fn shard_weights(&self) -> Vec<u64> {
        let weights = self.work.rounds().concat();
        self.plan
            .shards
            .iter()
            .map(|pieces| weights[pieces.clone()].iter().sum())
            .collect()
    }
}

/// A folder as a plan names it: a plan is JSON, and so are its names.
pub(super) fn text_of(folder: &Path) -> Result<String, StageError> {
    Ok(folder
        .to_str()
        .ok_or_else(|| PlanFault::NotText(folder.to_owned()))?
        .to_owned())
}

fn work_of(weights: &[u64]) -> u128 {
    weights.iter().map(|&weight| u128::from(weight)).sum()
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

/// What may change bytes beside the versions of algorithms: the program's version and those of its
/// libraries.
pub fn build() -> String {
    let libraries = ContentHash::of(include_bytes!("../../Cargo.lock"));
    format!(
        "renma {} with libraries {}",
        env!("CARGO_PKG_VERSION"),
        libraries.short()
    )
}

pub(super) fn name_of(plan: &Path) -> String {
    plan.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Versions are checked before anything else, whose form they decide.
fn check_versions(path: &Path, plan: &Value) -> Result<(), ArtifactError> {
    let unfit = |reason: String| ArtifactError::unfit(path, reason);
    let format = plan.get("format").unwrap_or(&Value::Null);
    // A plan lives as long as a run: those of other formats are made again.
    let is_current =
        format_of::<PlanFormat>(format).is_ok_and(|format| format == PlanFormat::CURRENT);
    if !is_current {
        let found = if format.is_null() {
            "no format version".to_owned()
        } else {
            format!("format {format}")
        };
        let ours = PlanFormat::CURRENT.number();
        return Err(unfit(format!(
            "it has {found}, this renma reads format {ours}\n{REMEDY}"
        )));
    }
    let named = plan.get("request").and_then(|request| request.get("stage"));
    let Some(stage) = named.and_then(Value::as_str).and_then(Stage::named) else {
        let stages = Stage::ALL.map(Stage::name).join(", ");
        let named = named.map_or("nothing".to_owned(), Value::to_string);
        return Err(unfit(format!(
            "it is a plan of {named}, not of one of {stages}"
        )));
    };
    let (found, algorithm) = (plan.get("algorithm"), stage.facts().algorithm);
    if found.and_then(Value::as_u64) != Some(algorithm.into()) {
        let found = found.map_or("nothing".to_owned(), Value::to_string);
        return Err(unfit(format!(
            "it is for algorithm {found} of {stage}, this renma has {algorithm}\n{REMEDY}"
        )));
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
                for weights in [
                    |_| 1,
                    |piece| 1 + piece as u64 * 7,
                    |piece| if piece == 0 { 1000 } else { 1 },
                ] {
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
        assert_eq!(
            cut(0..5, 2, |piece| if piece == 0 { 100 } else { 1 }),
            [0..1, 1..5]
        );
    }

    #[test]
    fn a_plan_has_a_request_and_shards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        for (value, expected) in [
            (json!({ "request": {}, "shards": [] }), true),
            (json!({ "stage": "gate", "shards": [] }), true),
            (json!({ "stage": "gate" }), false),
            (json!({ "shards": [] }), false),
        ] {
            write_sealed(&path, &value).unwrap();
            assert_eq!((PLAN_FILE.matches)(&path).unwrap(), expected, "{value}");
        }
    }
}
