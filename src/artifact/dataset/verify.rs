//! Checks a dataset against itself: hashes, schema, every row, and every game replayed by the
//! rules.

use super::folder::Dataset;
use super::game_id::GameId;
use super::games::{GAMES, GameRow};
use super::manifest::{DatasetKind, part_index};
use super::positions::{POSITIONS, PositionRow, contradiction};
use super::tables::TABLE_NAMES;
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::{FolderEntry, entries_in};
use crate::engine::{Black, ColoredPosition, Game, Ply, Turn, White};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What else is checked of a game that was replayed: its row, and the rows of its positions.
pub type GameCheck<'a> = &'a dyn Fn(&Game, &GameRow, &[PositionRow]) -> Result<(), String>;

/// Checks one part: hashes, schema and rows, and with a check, that every game replays to its rows
/// and passes it.
///
/// # Errors
///
/// The first thing that does not fit, with its row, or [`ArtifactError::Interrupted`] soon after
/// `stop` is raised.
pub fn verify_part(
    dataset: &Dataset,
    index: usize,
    check: Option<GameCheck<'_>>,
    stop: &AtomicBool,
) -> Result<(), ArtifactError> {
    let games = dataset.game_rows(index)?;
    let rows = dataset.rows(index, stop)?;
    for (number, row) in rows.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Err(ArtifactError::Interrupted);
        }
        row.check().map_err(|reason| {
            dataset.damaged(&POSITIONS, index, format!("row {number}: {reason}"))
        })?;
    }
    match games {
        Some(games) => verify_games(dataset, index, &games, &rows, check, stop),
        None => verify_lone_positions(dataset, index, &rows),
    }
}

fn verify_games(
    dataset: &Dataset,
    index: usize,
    games: &[GameRow],
    rows: &[PositionRow],
    check: Option<GameCheck<'_>>,
    stop: &AtomicBool,
) -> Result<(), ArtifactError> {
    let part = &dataset.manifest().parts[index];
    let in_games = |reason: String| dataset.damaged(&GAMES, index, reason);
    let in_positions = |reason: String| dataset.damaged(&POSITIONS, index, reason);
    if games.len() as u64 != part.count {
        return Err(in_games(format!(
            "it has {} games, the manifest says {}",
            games.len(),
            part.count
        )));
    }
    let mut rest = rows;
    for (id, game) in (part.first..).map(GameId).zip(games) {
        if stop.load(Ordering::Relaxed) {
            return Err(ArtifactError::Interrupted);
        }
        if game.game_id != id {
            return Err(in_games(format!(
                "game {id} is missing: {} is in its place",
                game.game_id
            )));
        }
        if let Ok(replayed) = Game::from_transcript(&game.moves)
            && replayed.transcript() != game.moves
        {
            return Err(in_games(format!(
                "game {id}: its moves are not written as {}",
                replayed.transcript()
            )));
        }
        let count = rest.iter().take_while(|row| row.game_id == id).count();
        if count != usize::from(game.positions) {
            return Err(in_positions(format!(
                "game {id} has {count} rows, its game says {}",
                game.positions
            )));
        }
        let (rows, others) = rest.split_at(count);
        rest = others;
        if let Some(check) = check {
            let checked = replay(game, rows, dataset.manifest().kind)
                .and_then(|played| check(&played, game, rows));
            checked.map_err(|reason| in_positions(format!("game {id}: {reason}")))?;
        }
    }
    if let Some(row) = rest.first() {
        return Err(in_positions(format!(
            "game {} is not among the games",
            row.game_id
        )));
    }
    Ok(())
}

/// Positions without games are numbered as games would be: every number occurs, in order, and those
/// of a game do not contradict each other.
fn verify_lone_positions(
    dataset: &Dataset,
    index: usize,
    rows: &[PositionRow],
) -> Result<(), ArtifactError> {
    let part = &dataset.manifest().parts[index];
    let mut next = part.first;
    for (number, row) in rows.iter().enumerate() {
        let continues = part.first < next && row.game_id == GameId(next - 1);
        if !continues && row.game_id != GameId(next) {
            return Err(dataset.damaged(
                &POSITIONS,
                index,
                format!("row {number}: game {next} is missing"),
            ));
        }
        next = row.game_id.0 + 1;
    }
    let mut number = 0;
    for game in rows.chunk_by(|left, right| left.game_id == right.game_id) {
        if let Some((place, reason)) = contradiction(game) {
            return Err(dataset.damaged(
                &POSITIONS,
                index,
                format!("row {}: {reason}", number + place),
            ));
        }
        number += game.len();
    }
    if next - part.first != part.count {
        let reason = format!(
            "it has {} games, the manifest says {}",
            next - part.first,
            part.count
        );
        return Err(dataset.damaged(&POSITIONS, index, reason));
    }
    Ok(())
}

/// Plays the game and compares each position with its row; an imported game may have been given up.
fn replay(game: &GameRow, rows: &[PositionRow], kind: DatasetKind) -> Result<Game, String> {
    let replayed = Game::from_transcript(&game.moves).map_err(|error| format!("moves, {error}"))?;
    if let Some(result) = game.result.filter(|result| !(-64..=64).contains(result)) {
        return Err(format!("its result {result} is beyond ±64"));
    }
    let mut rows = rows.iter().peekable();
    let mut begun = false;
    for Turn {
        ply: Ply(ply),
        colored,
        square,
    } in replayed.turns()
    {
        if let Some(row) = rows.next_if(|row| row.ply == ply) {
            compare(row, game, colored, Some(square.number()))?;
            begun = true;
        } else if begun {
            return Err(format!("ply {ply} has no row"));
        }
    }
    if replayed.is_over() {
        let black_discs = replayed.black_discs().0;
        if let Some(result) = game
            .result
            .filter(|result| i32::from(*result) != black_discs)
        {
            return Err(format!(
                "its result is {result}, its moves lead to {black_discs}"
            ));
        }
    } else if kind == DatasetKind::Selfplay {
        return Err("its moves end before the game does".into());
    } else if let Some(row) = rows.next_if(|row| row.ply == replayed.ply().0) {
        compare(row, game, replayed.to_move(), None)?;
    }
    match rows.next() {
        Some(row) => Err(format!(
            "the row of ply {} belongs to no position of the game",
            row.ply
        )),
        None => Ok(replayed),
    }
}

fn compare(
    row: &PositionRow,
    game: &GameRow,
    colored: ColoredPosition,
    played: Option<u8>,
) -> Result<(), String> {
    let (Black(black), White(white)) = colored.boards();
    let result = game.result.map(|result| {
        if colored.black_to_move {
            result
        } else {
            -result
        }
    });
    let same = (row.black, row.white, row.black_to_move) == (black, white, colored.black_to_move);
    if !same {
        return Err(format!(
            "ply {}: the board is not the one its moves lead to",
            row.ply
        ));
    }
    if row.played_move.is_some() && row.played_move != played {
        let (found, played) = (text(row.played_move), text(played));
        return Err(format!(
            "ply {}: played_move is {found}, the game has {played}",
            row.ply
        ));
    }
    if row.result.is_some() && row.result != result {
        return Err(format!(
            "ply {}: result is {}, the game's is {}",
            row.ply,
            text(row.result),
            text(result)
        ));
    }
    Ok(())
}

fn text(number: Option<impl ToString>) -> String {
    number.map_or("none".to_owned(), |number| number.to_string())
}

/// Files in the tables' folders that do not belong to the dataset. Hidden files are ignored: they
/// are locks, temporary files or the file manager's.
pub fn strangers(dataset: &Dataset) -> Result<Vec<PathBuf>, ArtifactError> {
    let mut strangers = Vec::new();
    for table in TABLE_NAMES {
        for FolderEntry { path, name, .. } in entries_in(&dataset.folder().join(table))? {
            let part = part_index(&name).and_then(|index| dataset.manifest().parts.get(index));
            let is_listed = part.is_some_and(|part| part.files.contains_key(table));
            if !is_listed && !name.as_encoded_bytes().starts_with(b".") {
                strangers.push(path);
            }
        }
    }
    Ok(strangers)
}
