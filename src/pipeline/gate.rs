//! The gate: a paired match between a candidate and a baseline, and a verdict.

mod avoided;
mod batches;
mod contest;
mod openings;
mod play;
mod recheck;
mod recipe;
mod rule;
mod score;

use super::search_settings::{LevelSetting, SelectiveConfig};
use super::{Context, StageError, check_parts, check_range};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow, to_batch};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, content_of};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::{OpeningCounts, VerdictFile, VerdictFormat};
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::publish::remove_file;
use crate::artifact::seal::write_sealed;
use crate::artifact::step::Step;
use avoided::Avoided;
use batches::{Batch, find_file, part_of};
use contest::{Outcome, contest};
use recipe::Recipe;
use rule::Rule;
use score::score;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Goes up when the same inputs would give other games or another verdict.
pub const ALGORITHM: u32 = 2;

/// How a match becomes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateMode {
    /// By a sequential test, which stops when it knows enough.
    Sprt,
    /// By the Elo interval after all games.
    Games,
}

/// The `[gate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GateConfig {
    pub mode: GateMode,
    pub games: u64,
    pub batch_pairs: u64,
    pub nelo0: f64,
    pub nelo1: f64,
    pub alpha: f64,
    pub beta: f64,
    pub interval: f64,
    pub opening_plies: u8,
    pub balance_depth: u8,
    pub balance_discs: f64,
    pub depth: u8,
    pub nodes: u64,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    pub table_bits: u8,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
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
        check_parts(("gate.games / 2", self.games / 2), ("gate.batch_pairs", self.batch_pairs))?;
        check_range("gate.nelo0", self.nelo0, -500.0, 500.0)?;
        check_range("gate.nelo1", self.nelo1, -500.0, 500.0)?;
        if self.nelo1 < self.nelo0 + 0.1 {
            let reason = format!("at least 0.1 more than gate.nelo0 = {} expected", self.nelo0);
            return Err(StageError::Setting(format!("gate.nelo1 = {}: {reason}", self.nelo1)));
        }
        check_range("gate.alpha", self.alpha, 1e-6, 0.4)?;
        check_range("gate.beta", self.beta, 1e-6, 0.4)?;
        check_range("gate.interval", self.interval, 0.1, 10.0)?;
        check_range("gate.opening_plies", self.opening_plies, 4, 20)?;
        check_range("gate.balance_depth", self.balance_depth, 0, 30)?;
        check_range("gate.balance_discs", self.balance_discs, 0.0, 64.0)?;
        check_range("gate.depth", self.depth, 1, 30)?;
        check_range("gate.nodes", self.nodes, 0, 1 << 40)?;
        check_range("gate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("gate.table_bits", self.table_bits, 8, 28)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("gate.mpc_level").map(|_| ())
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
    /// Datasets whose positions are no openings, in any order.
    pub avoid: &'a [PathBuf],
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
    /// Games played by this call.
    pub games_played: u64,
    /// The verdict with the match.
    #[serde(flatten)]
    pub verdict: VerdictFile,
}

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate without MPC statistics of its own, too few openings, or whatever the system refuses;
/// finished batches stay.
pub fn gate(task: GateTask<'_>, context: Context<'_>) -> Result<GateReport, StageError> {
    task.config.check()?;
    check_candidate(task.candidate)?;
    let avoided = Avoided::open(task.avoid)?;
    let recipe = Recipe::new(&task, avoided.contents());
    if task.recheck {
        return recheck::recheck(&task, &recipe, &avoided, context);
    }
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &[&GATE_GAMES])?;
    if let Some(verdict) = recipe.finished(&task)? {
        return Ok(GateReport { skipped: true, games_played: 0, verdict });
    }
    context.check_border()?;
    let ranges = PartRange::all(recipe.pairs, task.config.batch_pairs);
    let found = find_batches(&task, &recipe, &ranges, context)?;
    withdraw(task.output)?;
    let publish = |range: &PartRange, rows: &[GateGameRow], openings: &OpeningCounts| {
        let path = part_path(task.output, &GATE_GAMES, range.index);
        Ok(part_of(range, GATE_GAMES.write(&path, &to_batch(rows), &recipe.footer(range, openings))?))
    };
    let outcome = contest(&task, &avoided, &ranges, found, publish, context)?;
    let verdict = verdict_of(&task, &recipe, &outcome);
    publish_verdict(&task, &recipe, &outcome, &verdict)?;
    Ok(GateReport { skipped: false, games_played: outcome.games_played, verdict })
}

fn check_candidate(candidate: &LoadedModel) -> Result<(), StageError> {
    if candidate.document.is_none() || candidate.model.mpc_weights == Some(candidate.model.weights_hash()) {
        return Ok(());
    }
    let folder = candidate.folder.clone().unwrap_or_default();
    let reason = "its MPC statistics are not fitted to its weights\nrun renma fit-mpc first";
    Err(ArtifactError::unfit(&folder, reason).into())
}

/// What decides the games but how many there may be: the same settings play the same games.
///
/// # Errors
///
/// A missing or damaged dataset among those to avoid.
pub fn step(task: &GateTask<'_>) -> Result<Step, ArtifactError> {
    let recipe = Recipe::new(task, Avoided::open(task.avoid)?.contents());
    Ok(Step { id: recipe.hash, settings: recipe.settings })
}

/// The batches that are there, of a gate that was stopped or may now play more games.
fn find_batches(
    task: &GateTask<'_>,
    recipe: &Recipe,
    ranges: &[PartRange],
    context: Context<'_>,
) -> Result<BTreeMap<usize, Batch>, StageError> {
    let mut found = BTreeMap::new();
    for range in ranges {
        context.check()?;
        if let Some(batch) = recipe.find(task, range)? {
            found.insert(range.index, batch);
        }
    }
    if let Some((_, _, rows)) = find_file(task, recipe, ranges.len())? {
        recipe.check_pairs(task.output, recipe.pairs + rows.len() as u64 / 2)?;
    }
    Ok(found)
}

/// Takes back a verdict that more games may change, and what is left of one.
fn withdraw(folder: &Path) -> Result<(), ArtifactError> {
    ["verdict.json", "manifest.json"].iter().try_for_each(|name| remove_file(&folder.join(name)))
}

fn verdict_of(task: &GateTask<'_>, recipe: &Recipe, outcome: &Outcome) -> VerdictFile {
    let rule = Rule::new(task.config);
    VerdictFile {
        format: VerdictFormat::CURRENT,
        verdict: outcome.decision.unwrap_or_else(|| rule.last_word(outcome.pairs)),
        step: recipe.step,
        games_content: content_of(&outcome.parts),
        candidate: task.candidate.as_parent(),
        baseline: task.baseline.as_parent(),
        pairs_asked: recipe.pairs,
        pairs_done: outcome.pairs.iter().sum(),
        score: score(&outcome.rows, task.config.interval),
        test: rule.test(outcome.pairs),
        openings: outcome.openings,
        avoided: recipe.avoided.clone(),
        config: recipe.config.clone(),
    }
}

/// Publishes the manifest and, last, the verdict.
fn publish_verdict(
    task: &GateTask<'_>,
    recipe: &Recipe,
    outcome: &Outcome,
    verdict: &VerdictFile,
) -> Result<(), ArtifactError> {
    let models = [("candidate", task.candidate), ("baseline", task.baseline)];
    let manifest = Manifest {
        format: FORMAT,
        kind: DatasetKind::Gate,
        rules: RULES.to_owned(),
        recipe: recipe.hash,
        seed: task.seed,
        generation: task.generation,
        models: models.map(|(role, model)| (role.to_owned(), model.content)).into(),
        config: recipe.config.clone(),
        asked: verdict.pairs_asked,
        done: verdict.pairs_done,
        parents: Vec::new(),
        content: verdict.games_content,
        parts: outcome.parts.clone(),
    };
    manifest.write(task.output)?;
    write_sealed(&task.output.join("verdict.json"), verdict)
}
