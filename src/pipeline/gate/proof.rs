//! What follows from the games of a batch without playing them again: their order, their pairs, their results.

use super::task::GateConfig;
use crate::artifact::{ArtifactError, Dataset, GATE_GAMES, GateGameRow};
use crate::engine::{Discs, Game, Position};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Reads a batch and proves its pairs; and if `replay`, that each game is legal, over, and ends with its result. Returns its games
/// and the position after the opening of each pair, up to symmetry; no position if the games were not replayed.
///
/// # Errors
///
/// A part that is damaged or contradicts itself, with the game.
pub fn prove_batch(
    dataset: &Dataset,
    index: usize,
    config: &GateConfig,
    replay: bool,
    stop: &AtomicBool,
) -> Result<(Vec<GateGameRow>, Vec<Position>), ArtifactError> {
    let part = &dataset.manifest().parts[index];
    let rows: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, stop)?;
    let damaged = |reason: String| dataset.damaged(&GATE_GAMES, index, reason);
    if rows.len() as u64 != 2 * part.count {
        return Err(damaged(format!("it has {} games, {} pairs expected", rows.len(), part.count)));
    }
    let mut openings = Vec::new();
    for (pair, games) in (part.first..).zip(rows.chunks_exact(2)) {
        check_pair(pair, games, config.opening_plies).map_err(&damaged)?;
        if replay {
            let opening = |game: &GateGameRow| {
                opening_of(game).map_err(|reason| damaged(format!("game {}: {reason}", game.game_id)))
            };
            opening(&games[1])?;
            openings.push(opening(&games[0])?);
        }
    }
    Ok((rows, openings))
}

/// The first batch with an opening that an earlier pair has, and the reason. The openings are those of all batches.
pub fn repeated_opening(dataset: &Dataset, openings: &[Vec<Position>]) -> Option<(usize, String)> {
    let mut seen = BTreeSet::new();
    for (index, (part, openings)) in dataset.manifest().parts.iter().zip(openings).enumerate() {
        if let Some((pair, _)) = (part.first..).zip(openings).find(|(_, opening)| !seen.insert(*opening)) {
            return Some((index, format!("pair {pair} has the opening of a pair before it, up to symmetry")));
        }
    }
    None
}

/// The two games of a pair begin with one opening, and each side plays black once.
fn check_pair(pair: u64, games: &[GateGameRow], opening_plies: u8) -> Result<(), String> {
    for (id, game) in (2 * pair..).zip(games) {
        if game.opening_plies != opening_plies {
            return Err(format!("game {id} has {} opening_plies, {opening_plies} expected", game.opening_plies));
        }
        if (game.game_id, game.pair, game.candidate_black) != (id, pair, id.is_multiple_of(2)) {
            let GateGameRow { game_id, pair, candidate_black, .. } = game;
            let found = format!("game {game_id} of pair {pair} with candidate_black = {candidate_black}");
            return Err(format!("{found} is in the place of game {id}"));
        }
    }
    let opening = |game: &GateGameRow| game.moves.get(..2 * usize::from(game.opening_plies)).map(str::to_owned);
    match [&games[0], &games[1]].map(opening) {
        [Some(first), Some(second)] if first == second => Ok(()),
        _ => Err(format!("the games of pair {pair} do not begin with one opening")),
    }
}

/// Plays a game to its result; gives the position after its opening, up to symmetry.
fn opening_of(row: &GateGameRow) -> Result<Position, String> {
    let game = Game::from_transcript(&row.moves).map_err(|error| format!("moves, {error}"))?;
    if game.transcript() != row.moves {
        return Err(format!("its moves are not written as {}", game.transcript()));
    }
    let after_opening = game.turns().nth(row.opening_plies.into()).map_or_else(|| game.to_move(), |turn| turn.colored);
    if !game.is_over() {
        return Err("its moves end before the game does".into());
    }
    let Discs(result) = if row.candidate_black { game.black_discs() } else { -game.black_discs() };
    if result != i32::from(row.result) {
        return Err(format!("its result is {}, its moves lead to {result}", row.result));
    }
    Ok(after_opening.position.canonical())
}
