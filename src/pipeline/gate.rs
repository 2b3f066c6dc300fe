//! The gate: a paired match between a candidate and a baseline, and a verdict.

mod elo;
mod play;

use super::{Context, StageError, check_range, mpc_level};
use crate::artifact::dataset::folder::{file_entry, part_path};
use crate::artifact::dataset::gate_games::{self, GATE_GAMES, GateGameRow};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, Part, RULES, base_footer, content_of};
use crate::artifact::dataset::verdict::{Verdict, VerdictFile, read_verdict};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::seal::write_sealed;
use crate::artifact::step::Step;
use elo::score;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Goes up when the same inputs would give other games or another verdict.
const ALGORITHM: u32 = 1;

/// The `[gate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GateConfig {
    pub games: u64,
    pub opening_plies: u8,
    pub depth: u8,
    pub exact_empties: u8,
    pub mpc_level: u8,
    pub interval: f64,
    pub table_bits: u8,
}

impl GateConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        if self.games == 0 {
            return Err(StageError::Setting("gate.games = 0: at least one pair of games is needed".into()));
        }
        if !self.games.is_multiple_of(2) {
            return Err(StageError::Setting(format!("gate.games = {}: games come in pairs", self.games)));
        }
        check_range("gate.games", self.games, 2, 10_000_000)?;
        check_range("gate.opening_plies", self.opening_plies, 4, 20)?;
        check_range("gate.depth", self.depth, 1, 30)?;
        check_range("gate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("gate.interval", self.interval, 0.1, 10.0)?;
        check_range("gate.table_bits", self.table_bits, 8, 28)?;
        mpc_level("gate.mpc_level", self.mpc_level).map(|_| ())
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GateTask<'a> {
    /// The `[gate]` table.
    pub config: &'a GateConfig,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// Who wants to be champion.
    pub candidate: &'a LoadedModel,
    /// Whom it plays.
    pub baseline: &'a LoadedModel,
    /// The dataset folder of the games.
    pub output: &'a Path,
    /// Whether to play the games of a finished gate again and compare.
    pub recheck: bool,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateReport {
    /// Whether the verdict was there already.
    pub skipped: bool,
    /// The verdict with the match.
    #[serde(flatten)]
    pub verdict: VerdictFile,
}

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate without MPC statistics of its own, or whatever the system refuses.
pub fn gate(task: GateTask<'_>, context: Context<'_>) -> Result<GateReport, StageError> {
    task.config.check()?;
    check_candidate(task.candidate)?;
    let step = step(&task).id;
    let _lock = FolderLock::take(task.output)?;
    let path = task.output.join("verdict.json");
    if path.exists() {
        let verdict = read_verdict(task.output)?;
        if verdict.step == step {
            if task.recheck {
                recheck(task, context)?;
            }
            return Ok(GateReport { skipped: true, verdict });
        }
        return Err(conflict(&task, &verdict).into());
    }
    if task.recheck {
        return Err(ArtifactError::Missing { path }.into());
    }
    let config = serde_json::to_value(task.config).expect("a config is plain data");
    Manifest::is_there(task.output, DatasetKind::Gate, step, ("gate", &config))?;
    context.check_border()?;
    let rows = play::match_games(task, context)?;
    let verdict = judge(task, step, &rows);
    write(task, step, &rows, &verdict)?;
    Ok(GateReport { skipped: false, verdict })
}

fn check_candidate(candidate: &LoadedModel) -> Result<(), StageError> {
    if candidate.document.is_none() || candidate.model.mpc_weights == Some(candidate.model.weights_hash()) {
        return Ok(());
    }
    let folder = candidate.folder.clone().unwrap_or_default();
    let reason = "its MPC statistics are not fitted to its weights\nrun renma fit-mpc first";
    Err(ArtifactError::unfit(&folder, reason).into())
}

/// What decides the verdict: the same settings play the same games.
#[must_use]
pub fn step(task: &GateTask<'_>) -> Step {
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("candidate", task.candidate.content.to_string()),
        ("baseline", task.baseline.content.to_string()),
    ];
    Step::new("gate", ALGORITHM, task.config, &inputs)
}

fn conflict(task: &GateTask<'_>, found: &VerdictFile) -> ArtifactError {
    let config = serde_json::to_value(task.config).expect("a config is plain data");
    let differing = config.as_object().into_iter().flatten().find_map(|(key, ours)| {
        let theirs = &found.config[key];
        (theirs != ours).then(|| format!("gate.{key} is {theirs} there and {ours} here"))
    });
    let models = (found.candidate.content != task.candidate.content)
        .then(|| format!("its candidate is {}, not {}", found.candidate.id, task.candidate.id))
        .or_else(|| {
            (found.baseline.content != task.baseline.content)
                .then(|| format!("its baseline is {}, not {}", found.baseline.id, task.baseline.id))
        });
    let differing = differing.or(models).unwrap_or_else(|| "its seed or generation is another".to_owned());
    ArtifactError::Conflict {
        path: task.output.to_owned(),
        reason: format!("it holds the verdict of another gate: {differing}\nchoose another --output"),
    }
}

fn judge(task: GateTask<'_>, step: ContentHash, rows: &[GateGameRow]) -> VerdictFile {
    let score = score(rows, task.config.interval);
    let verdict = if 0.0 < score.elo_low {
        Verdict::Accepted
    } else if score.elo_high < 0.0 {
        Verdict::Rejected
    } else {
        Verdict::Inconclusive
    };
    VerdictFile {
        verdict,
        step,
        candidate: task.candidate.as_parent(),
        baseline: task.baseline.as_parent(),
        score,
        config: serde_json::to_value(task.config).expect("a config is plain data"),
    }
}

/// Publishes the games, the manifest and, last, the verdict.
fn write(
    task: GateTask<'_>,
    step: ContentHash,
    rows: &[GateGameRow],
    verdict: &VerdictFile,
) -> Result<(), ArtifactError> {
    let footer = base_footer(step);
    let entry = GATE_GAMES.write(&part_path(task.output, &GATE_GAMES, 0), &gate_games::to_batch(rows), &footer)?;
    let files = BTreeMap::from([(GATE_GAMES.name.to_owned(), entry)]);
    let pairs = task.config.games / 2;
    let parts = vec![Part { first: 0, count: pairs, files }];
    let models = [("candidate", task.candidate), ("baseline", task.baseline)];
    let manifest = Manifest {
        format: FORMAT,
        kind: DatasetKind::Gate,
        rules: RULES.to_owned(),
        recipe: step,
        seed: task.seed,
        generation: task.generation,
        models: models.map(|(role, model)| (role.to_owned(), model.content)).into(),
        config: verdict.config.clone(),
        asked: pairs,
        done: pairs,
        parents: Vec::new(),
        content: content_of(&parts),
        parts,
    };
    manifest.write(task.output)?;
    write_sealed(&task.output.join("verdict.json"), verdict)
}

/// Plays the games again and compares them with those on disk.
fn recheck(task: GateTask<'_>, context: Context<'_>) -> Result<(), StageError> {
    let manifest = Manifest::read(task.output, DatasetKind::Gate)?;
    let path = part_path(task.output, &GATE_GAMES, 0);
    let part = manifest.parts.first().ok_or_else(|| ArtifactError::damaged(&path, "the manifest lists no part"))?;
    let batch = GATE_GAMES.read(&path, file_entry(task.output, part, &GATE_GAMES)?)?;
    let stored: Vec<GateGameRow> = gate_games::from_batch(&batch).collect();
    let played = play::match_games(task, context)?;
    match stored.iter().zip(&played).find(|(stored, played)| stored != played) {
        Some((stored, _)) => {
            let reason = format!("game {} does not play out the same again", stored.game_id);
            Err(ArtifactError::damaged(&path, reason).into())
        }
        None if stored.len() != played.len() => Err(ArtifactError::damaged(&path, "games are missing").into()),
        None => Ok(()),
    }
}
