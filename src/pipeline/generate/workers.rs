//! The threads that play games, and the writer that puts them in order.

use super::openings::Openings;
use super::play::{Player, SelfplayGame};
use super::task::{Fixed, GenerateTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::games::{GAMES, GameRow};
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::{PartItems, PartRange};
use crate::artifact::dataset::positions::{POSITIONS, PositionRow};
use crate::artifact::dataset::recipe::Recipe;
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use crossbeam::channel::{Receiver, Sender, bounded};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a call has written.
#[derive(Default)]
pub(super) struct Written {
    pub(super) parts: BTreeMap<usize, Part>,
    pub(super) games: u64,
    pub(super) positions: u64,
    pub(super) nodes: u64,
}

/// Games that a thread sends to the writer together: waking the writer costs as much as playing a move.
const GAMES_PER_MESSAGE: usize = 8;

/// Messages that may wait for the writer; more would only cost memory.
const WAITING_MESSAGES: usize = 32;

/// Games that one thread has played.
type Message = Vec<SelfplayGame>;

/// Plays the games of parts with progress.
pub(super) fn play_missing(
    task: GenerateTask<'_>,
    recipe: &Recipe,
    missing: &[PartRange],
    wanted: u64,
    context: Context<'_>,
) -> Result<Written, StageError> {
    let games: u64 = missing.iter().map(|part| part.count).sum();
    context.progress.begin(Stage::Generate.name(), wanted, "games");
    context.progress.resume(wanted - games);
    let written = play_parts(task, recipe, missing, context);
    context.progress.end();
    let written = written?;
    if written.parts.len() < missing.len() {
        context.check_budget()?;
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
    let (sender, receiver) = bounded(WAITING_MESSAGES);
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
        if id.is_multiple_of(self.part_games) && context.is_ending() {
            self.end.fetch_min(place, Ordering::Relaxed);
        }
        (place < self.end.load(Ordering::Relaxed)).then_some(id)
    }
}

fn play_games(
    task: GenerateTask<'_>,
    openings: &Openings<'_>,
    (sender, claims, failed): &(Sender<Message>, &Claims<'_>, &AtomicBool),
    context: Context<'_>,
) {
    let mut player =
        Player::new((task.config, Fixed::TODAY), openings, task.seed, task.generation, &task.model.model, context.stop);
    let mut message = Message::with_capacity(GAMES_PER_MESSAGE);
    while !context.stopped() && !failed.load(Ordering::Relaxed) {
        let Some(id) = claims.next(context) else { break };
        // A game whose search was stopped has not been played.
        let Ok(game) = player.play(id) else { break };
        message.push(game);
        if message.len() == GAMES_PER_MESSAGE && sender.send(std::mem::take(&mut message)).is_err() {
            return;
        }
    }
    // A writer that has ended reports the reason itself.
    sender.send(message).unwrap_or_default();
}

fn write_parts(
    task: GenerateTask<'_>,
    recipe: &Recipe,
    missing: &[PartRange],
    receiver: Receiver<Message>,
    context: Context<'_>,
) -> Result<Written, StageError> {
    let mut waiting: BTreeMap<usize, BTreeMap<u64, SelfplayGame>> = BTreeMap::new();
    let mut written = Written::default();
    // Writing a part takes a moment: when this call is to stop, waiting games are left to the next one.
    for game in receiver.into_iter().flatten().take_while(|_| !context.stopped()) {
        context.progress.advance(1);
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
    let write_games = GAMES.write_rows(&part_path(output, &GAMES, range.index), &game_rows, &footer)?;
    let path = part_path(output, &POSITIONS, range.index);
    let write_positions = POSITIONS.write_rows(&path, &position_rows, &footer)?;
    let files = BTreeMap::from([(GAMES.name.to_owned(), write_games), (POSITIONS.name.to_owned(), write_positions)]);
    Ok(range.part(files))
}
