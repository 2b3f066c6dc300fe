//! Self-play: games by the current model, their positions with deep-search scores, as a dataset.

pub mod finish;
pub mod openings;
mod parts;
mod play;
pub mod recheck;
pub mod recipe;

use super::search_settings::{LevelSetting, SelectiveConfig};
use super::{Context, StageError, check_parts, check_range};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::games::{self, GAMES, GameRow};
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, Part, RULES, content_of};
use crate::artifact::dataset::part_range::{PartItems, PartRange};
use crate::artifact::dataset::positions::{self, POSITIONS, PositionRow};
use crate::artifact::lock::FolderLock;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::step::Step;
use crate::artifact::table::Table;
use crossbeam::channel::{Receiver, Sender, bounded};
use openings::{Book, OpeningChoice, Openings};
use parts::Parts;
use play::{Player, SelfplayGame};
use recipe::Recipe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Goes up when the same config would give other games.
pub const ALGORITHM: u32 = 1;

/// With more plies there are too many openings to take in turn.
const ALL_PLIES_MAX: u8 = 7;

/// What a dataset of self-play consists of.
const TABLES: [&Table; 2] = [&GAMES, &POSITIONS];

/// The `[generate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GenerateConfig {
    pub games: u64,
    pub part_games: u64,
    pub openings: OpeningChoice,
    pub book: String,
    pub random_plies_min: u8,
    pub random_plies_max: u8,
    pub exploration: f64,
    pub exploration_empties: u8,
    pub exploration_discs: f64,
    pub play_depth: u8,
    pub label_depth: u8,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    pub label_from_ply: u8,
    pub table_bits: u8,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
}

impl GenerateConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        if self.games == 0 {
            return Err(StageError::Setting("generate.games = 0: at least one game is needed".into()));
        }
        check_range("generate.games", self.games, 1, 1 << 40)?;
        check_parts(("generate.games", self.games), ("generate.part_games", self.part_games))?;
        match (self.openings == OpeningChoice::Book, self.book.is_empty()) {
            (true, true) => {
                let reason = "generate.book = \"\": generate.openings = \"book\" needs a file of openings";
                return Err(StageError::Setting(reason.into()));
            }
            (false, false) => {
                let reason = format!("generate.book = \"{}\": only generate.openings = \"book\" reads one", self.book);
                return Err(StageError::Setting(reason));
            }
            _ => {}
        }
        check_range("generate.random_plies_max", self.random_plies_max, 0, 60)?;
        let plies_max = if self.openings == OpeningChoice::All { ALL_PLIES_MAX } else { self.random_plies_max };
        check_range("generate.random_plies_min", self.random_plies_min, 0, plies_max)?;
        check_range("generate.exploration_discs", self.exploration_discs, 0.0, 64.0)?;
        check_range("generate.exploration", self.exploration, 0.0, 1.0)?;
        check_range("generate.exploration_empties", self.exploration_empties, 0, 60)?;
        check_range("generate.play_depth", self.play_depth, 0, 30)?;
        check_range("generate.label_depth", self.label_depth, 0, 30)?;
        check_range("generate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("generate.label_from_ply", self.label_from_ply, 0, 60)?;
        check_range("generate.table_bits", self.table_bits, 8, 28)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("generate.mpc_level").map(|_| ())
    }

    /// The number of parts that the games fill.
    #[must_use]
    pub const fn part_count(&self) -> usize {
        self.games.div_ceil(self.part_games) as usize
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GenerateTask<'a> {
    /// The `[generate]` table.
    pub config: &'a GenerateConfig,
    /// What `generate.book` names.
    pub book: Option<&'a Book>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// Who plays.
    pub model: &'a LoadedModel,
    /// The dataset folder.
    pub output: &'a Path,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GenerateReport {
    /// Whether there was nothing left to do.
    pub skipped: bool,
    /// Games in the dataset.
    pub games: u64,
    /// Games played by this call.
    pub games_played: u64,
    /// Rows of the positions table.
    pub positions: u64,
    /// Rows written by this call.
    pub positions_written: u64,
    /// Positions that the searches of this call visited.
    pub nodes: u64,
    /// Bytes of both tables.
    pub bytes: u64,
    /// The hash of all values.
    pub content: crate::artifact::hash::ContentHash,
}

/// What one shard did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratePartsReport {
    /// Whether there was nothing left to do.
    pub skipped: bool,
    /// Games played by this call.
    pub games_played: u64,
    /// Rows written by this call.
    pub positions_written: u64,
    /// Positions that the searches of this call visited.
    pub nodes: u64,
}

/// What decides the games but how many there are: the same settings play the same games.
#[must_use]
pub fn step(task: &GenerateTask<'_>) -> Step {
    let recipe = Recipe::new(task);
    Step { id: recipe.hash, settings: recipe.settings }
}

/// Makes the dataset complete: plays the games it lacks, then publishes its manifest.
///
/// # Errors
///
/// A bad setting, a folder that holds something else, a model that cannot search, or whatever the system refuses; finished parts stay.
pub fn generate(task: GenerateTask<'_>, context: Context<'_>) -> Result<GenerateReport, StageError> {
    task.config.check()?;
    let recipe = Recipe::new(&task);
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &TABLES)?;
    if let Some(manifest) = recipe.finished(task.output)? {
        return Ok(report(&manifest, &Written::default()));
    }
    context.check_border()?;
    let parts = Parts::find(task.output, &recipe, 0..task.config.part_count(), context)?;
    let missing = parts.missing();
    let mut written = play_missing(task, &recipe, &missing, task.config.games, context)?;
    let manifest = manifest_of(task, &recipe, parts.complete(std::mem::take(&mut written.parts))?);
    manifest.write(task.output)?;
    Ok(report(&manifest, &written))
}

/// Makes the `wanted` parts, as far as the folder lacks them, and no manifest.
///
/// Any number of such calls may share a folder, on many machines: what they publish does not depend on who does it.
///
/// # Errors
///
/// As [`generate`].
pub fn generate_parts(
    task: GenerateTask<'_>,
    wanted: Range<usize>,
    context: Context<'_>,
) -> Result<GeneratePartsReport, StageError> {
    task.config.check()?;
    let recipe = Recipe::new(&task);
    if recipe.finished(task.output)?.is_some() {
        return Ok(GeneratePartsReport { skipped: true, games_played: 0, positions_written: 0, nodes: 0 });
    }
    sweep_dataset(task.output, &TABLES)?;
    let parts = Parts::find(task.output, &recipe, wanted, context)?;
    let (missing, games) = (parts.missing(), parts.games());
    let Written { games: games_played, positions: positions_written, nodes, .. } =
        play_missing(task, &recipe, &missing, games, context)?;
    Ok(GeneratePartsReport { skipped: missing.is_empty(), games_played, positions_written, nodes })
}

/// What a call has written.
#[derive(Default)]
struct Written {
    parts: BTreeMap<usize, Part>,
    games: u64,
    positions: u64,
    nodes: u64,
}

fn manifest_of(task: GenerateTask<'_>, recipe: &Recipe, parts: Vec<Part>) -> Manifest {
    Manifest {
        format: FORMAT,
        kind: DatasetKind::Selfplay,
        rules: RULES.to_owned(),
        recipe: recipe.hash,
        seed: task.seed,
        generation: task.generation,
        models: BTreeMap::from([("player".to_owned(), task.model.content)]),
        config: recipe.config.clone(),
        asked: task.config.games,
        done: task.config.games,
        parents: Vec::new(),
        content: content_of(&parts),
        parts,
    }
}

fn report(manifest: &Manifest, written: &Written) -> GenerateReport {
    GenerateReport {
        skipped: written.games == 0,
        games: manifest.done,
        games_played: written.games,
        positions: manifest.rows(POSITIONS.name),
        positions_written: written.positions,
        nodes: written.nodes,
        bytes: manifest.bytes(POSITIONS.name) + manifest.bytes(GAMES.name),
        content: manifest.content,
    }
}

/// Games that a thread hands to the writer together: waking it costs as much as playing a move.
const LOT_GAMES: usize = 8;

/// Lots that may wait for the writer; more would only cost memory.
const WAITING_LOTS: usize = 32;

/// Games that one thread has played.
type Lot = Vec<SelfplayGame>;

/// Plays the games of parts with progress.
fn play_missing(
    task: GenerateTask<'_>,
    recipe: &Recipe,
    missing: &[PartRange],
    wanted: u64,
    context: Context<'_>,
) -> Result<Written, StageError> {
    let games: u64 = missing.iter().map(|part| part.count).sum();
    context.progress.begin("generate", wanted, "games");
    context.progress.resume(wanted - games);
    let written = play_parts(task, recipe, missing, context);
    context.progress.end();
    let written = written?;
    if written.parts.len() < missing.len() {
        context.check_border()?;
    }
    Ok(written)
}

/// Plays the games of the parts on all threads, claimed in order, and writes each part when its last game is in.
fn play_parts(
    task: GenerateTask<'_>,
    recipe: &Recipe,
    missing: &[PartRange],
    context: Context<'_>,
) -> Result<Written, StageError> {
    let games = PartItems::new(missing);
    let openings = Openings::new(task.config, task.book)?;
    let pool = context.pool()?;
    let end = games.count().into();
    let claims = Claims { games, part_games: task.config.part_games, next: 0.into(), end };
    let failed = AtomicBool::new(false);
    let (sender, receiver) = bounded(WAITING_LOTS);
    std::thread::scope(|scope| {
        let writer = std::thread::Builder::new().name("writer".to_owned()).spawn_scoped(scope, || {
            let result = write_parts(task, recipe, missing, receiver, context);
            failed.store(result.is_err(), Ordering::Relaxed);
            result
        });
        let writer = writer.map_err(StageError::Thread)?;
        let senders = (sender, &claims, &failed);
        pool.broadcast(|_| play_games(task, &openings, &senders, context));
        drop(senders);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        context.check()?;
        Ok(written)
    })
}

/// The games to play, claimed by the threads in order; a spent budget ends them where a part begins.
struct Claims<'a> {
    games: PartItems<'a>,
    part_games: u64,
    next: AtomicU64,
    end: AtomicU64,
}

impl Claims<'_> {
    fn next(&self, context: Context<'_>) -> Option<u64> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let id = self.games.get(place)?;
        if id.is_multiple_of(self.part_games) && context.ends_here() {
            self.end.fetch_min(place, Ordering::Relaxed);
        }
        (place < self.end.load(Ordering::Relaxed)).then_some(id)
    }
}

fn play_games(
    task: GenerateTask<'_>,
    openings: &Openings<'_>,
    (sender, claims, failed): &(Sender<Lot>, &Claims<'_>, &AtomicBool),
    context: Context<'_>,
) {
    let mut player = Player::new(task.config, openings, task.seed, task.generation, &task.model.model, context.stop);
    let mut lot = Lot::with_capacity(LOT_GAMES);
    while !context.stopped() && !failed.load(Ordering::Relaxed) {
        let Some(id) = claims.next(context) else { break };
        // A game whose search was stopped has not been played.
        let Ok(game) = player.play(id) else { break };
        lot.push(game);
        if lot.len() == LOT_GAMES && sender.send(std::mem::take(&mut lot)).is_err() {
            return;
        }
    }
    // A writer that is gone has told why.
    sender.send(lot).unwrap_or_default();
}

fn write_parts(
    task: GenerateTask<'_>,
    recipe: &Recipe,
    missing: &[PartRange],
    receiver: Receiver<Lot>,
    context: Context<'_>,
) -> Result<Written, StageError> {
    let mut waiting: BTreeMap<usize, BTreeMap<u64, SelfplayGame>> = BTreeMap::new();
    let mut written = Written::default();
    // A part takes a moment to write: those that wait are left to the next call when this one is to stop.
    for game in receiver.into_iter().flatten().take_while(|_| !context.stopped()) {
        context.progress.advance(1, game.positions.len() as u64);
        written.nodes += game.nodes;
        let index = (game.game.game_id / task.config.part_games) as usize;
        let games = waiting.entry(index).or_default();
        games.insert(game.game.game_id, game);
        let place = missing.binary_search_by_key(&index, |part| part.index).expect("only missing games are played");
        let range = &missing[place];
        if games.len() as u64 == range.count {
            let games = waiting.remove(&index).expect("it was just found");
            let part = write_part(task.output, recipe, range, games)?;
            written.games += part.count;
            written.positions += part.files[POSITIONS.name].rows;
            written.parts.insert(index, part);
        }
    }
    Ok(written)
}

/// Publishes a part: games first, then positions, whose presence says that the part is done.
fn write_part(
    output: &Path,
    recipe: &Recipe,
    range: &PartRange,
    games: BTreeMap<u64, SelfplayGame>,
) -> Result<Part, StageError> {
    let mut game_rows: Vec<GameRow> = Vec::new();
    let mut position_rows: Vec<PositionRow> = Vec::new();
    for game in games.into_values() {
        position_rows.extend(game.positions);
        game_rows.push(game.game);
    }
    let footer = recipe.footer(range);
    let write_games = GAMES.write(&part_path(output, &GAMES, range.index), &games::to_batch(&game_rows), &footer)?;
    let batch = positions::to_batch(&position_rows);
    let write_positions = POSITIONS.write(&part_path(output, &POSITIONS, range.index), &batch, &footer)?;
    let files = BTreeMap::from([(GAMES.name.to_owned(), write_games), (POSITIONS.name.to_owned(), write_positions)]);
    Ok(range.part(files))
}
