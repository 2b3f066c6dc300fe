//! Checks a dataset against itself: hashes, schema, every row, and every game replayed by the rules.

use super::folder::{Dataset, part_path};
use super::games::{GAMES, GameRow};
use super::positions::{POSITIONS, PositionRow};
use crate::artifact::error::ArtifactError;
use crate::engine::board::notation::{ColoredPosition, parse_moves};
use crate::engine::game::Game;
use std::path::PathBuf;

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Verified {
    /// Games.
    pub games: u64,
    /// Rows of the positions table.
    pub positions: u64,
    /// Games replayed move by move.
    pub replayed: u64,
}

/// What is wrong with a dataset.
type Finding = ArtifactError;

/// Checks what the manifest says of the whole: parts without gaps, counts that add up.
///
/// # Errors
///
/// The first thing that does not fit.
pub fn verify_manifest(dataset: &Dataset) -> Result<(), Finding> {
    let manifest = dataset.manifest();
    let path = dataset.folder().join("manifest.json");
    let mut next = 0;
    for (index, part) in manifest.parts.iter().enumerate() {
        if part.first != next {
            return Err(Finding::damaged(&path, format!("part {index} begins with game {}, not {next}", part.first)));
        }
        next = part.first.checked_add(part.count).ok_or_else(|| Finding::damaged(&path, "its games overflow"))?;
    }
    if next != manifest.done || manifest.asked < manifest.done {
        let reason = format!("its parts hold {next} games, and it says {} of {}", manifest.done, manifest.asked);
        return Err(Finding::damaged(&path, reason));
    }
    Ok(())
}

/// Checks one part: hashes, schema and rows, and unless `fast`, that every game replays to its rows.
///
/// # Errors
///
/// The first thing that does not fit, with its row.
pub fn verify_part(dataset: &Dataset, index: usize, fast: bool) -> Result<Verified, Finding> {
    let part = &dataset.manifest().parts[index];
    let games = dataset.games(index)?;
    let positions = dataset.positions(index)?;
    let games_path = part_path(dataset.folder(), &GAMES, index);
    let positions_path = part_path(dataset.folder(), &POSITIONS, index);
    if games.len() as u64 != part.count {
        let reason = format!("it has {} games, the manifest says {}", games.len(), part.count);
        return Err(Finding::damaged(&games_path, reason));
    }
    for (row, position) in positions.iter().enumerate() {
        check_row(position).map_err(|reason| Finding::damaged(&positions_path, format!("row {row}: {reason}")))?;
    }
    let mut rest = &positions[..];
    for (id, game) in (part.first..).zip(&games) {
        if game.game_id != id {
            return Err(Finding::damaged(
                &games_path,
                format!("game {id} is missing: {} is in its place", game.game_id),
            ));
        }
        let count = rest.iter().take_while(|row| row.game_id == id).count();
        if count != usize::from(game.positions) {
            let reason = format!("game {id} has {count} rows, its game says {}", game.positions);
            return Err(Finding::damaged(&positions_path, reason));
        }
        let (rows, others) = rest.split_at(count);
        rest = others;
        if !fast {
            replay(game, rows).map_err(|reason| Finding::damaged(&positions_path, format!("game {id}: {reason}")))?;
        }
    }
    if let Some(row) = rest.first() {
        return Err(Finding::damaged(&positions_path, format!("game {} is not among the games", row.game_id)));
    }
    let replayed = if fast { 0 } else { games.len() as u64 };
    Ok(Verified { games: games.len() as u64, positions: positions.len() as u64, replayed })
}

/// Facts that a row must state whatever its game was.
fn check_row(row: &PositionRow) -> Result<(), String> {
    let position = row.position()?;
    let empties = position.empties();
    // Discs are 4 + ply − passes, and passes are never negative.
    if row.ply < 60 - empties.min(60) {
        return Err(format!("ply {} is too low for {empties} empty squares", row.ply));
    }
    if row.exact && row.depth != empties {
        return Err(format!("it is exact with depth {} and {empties} empty squares", row.depth));
    }
    if row.exact && row.score % 1000 != 0 {
        return Err(format!("exact score {} is no number of discs", row.score));
    }
    let legal = position.legal_moves();
    for (name, square) in [("best_move", row.best_move), ("played_move", row.played_move)] {
        if 63 < square || legal >> square & 1 == 0 {
            return Err(format!("{name} {square} is not legal"));
        }
    }
    Ok(())
}

/// Plays the game and compares each position with its row.
fn replay(game: &GameRow, rows: &[PositionRow]) -> Result<(), String> {
    let moves = parse_moves(&game.moves).map_err(|error| format!("moves, {error}"))?;
    let mut rows = rows.iter();
    let mut replayed = Game::new();
    let mut begun = false;
    for square in moves {
        let (current, ply) = (replayed.current(), replayed.ply());
        let found = rows.as_slice().first().is_some_and(|row| row.ply == ply);
        if found {
            let row = rows.next().expect("it was just seen");
            compare(row, game, current, square.number())?;
            begun = true;
        } else if begun {
            return Err(format!("ply {ply} has no row"));
        }
        replayed.play(square).map_err(|error| error.to_string())?;
    }
    if !replayed.is_over() {
        return Err("its moves end before the game does".into());
    }
    if let Some(row) = rows.next() {
        return Err(format!("the row of ply {} belongs to no position of the game", row.ply));
    }
    if replayed.black_discs() != i32::from(game.result) {
        return Err(format!("its result is {}, its moves lead to {}", game.result, replayed.black_discs()));
    }
    Ok(())
}

fn compare(row: &PositionRow, game: &GameRow, current: ColoredPosition, played: u8) -> Result<(), String> {
    let (black, white) = current.boards();
    let result = if current.black_to_move { game.result } else { -game.result };
    let same = (row.black, row.white, row.black_to_move) == (black, white, current.black_to_move);
    if !same {
        return Err(format!("ply {}: the board is not the one its moves lead to", row.ply));
    }
    if row.played_move != played {
        return Err(format!("ply {}: played_move is {}, the game has {played}", row.ply, row.played_move));
    }
    if row.result != result {
        return Err(format!("ply {}: result is {}, the game's is {result}", row.ply, row.result));
    }
    Ok(())
}

/// Files in the tables' folders that are no part of the dataset.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn strangers(dataset: &Dataset) -> Result<Vec<PathBuf>, ArtifactError> {
    let mut strangers = Vec::new();
    for table in [&GAMES, &POSITIONS] {
        let folder = dataset.folder().join(table.name);
        let failed = |source| ArtifactError::io("read", &folder, source);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let known = (0..dataset.part_count()).any(|index| part_path(dataset.folder(), table, index) == path);
            if !known {
                strangers.push(path);
            }
        }
    }
    strangers.sort();
    Ok(strangers)
}
