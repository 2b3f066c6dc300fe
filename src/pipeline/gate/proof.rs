//! What follows from the games of a batch without playing them again: their order, their pairs,
//! their results.

use super::task::{BATCH_PAIRS, GateConfig};
use crate::artifact::GameId;
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::{ArtifactError, Dataset, GATE_GAMES, GateGameRow, Settings, Table};
use crate::engine::{Discs, Game, Position};
use crate::pipeline::StageError;
use crate::pipeline::keys::Checked;
use crate::pipeline::proof::{PartProof, check_division, check_roles};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// What the manifest of a gate permits its games to be.
pub struct PairProof {
    /// The `[gate]` table.
    pub config: Checked<GateConfig>,
    settings: Settings,
}

/// A batch that was proved.
pub struct ProvedBatch {
    /// Its games.
    pub rows: Vec<GateGameRow>,
    /// The position after the opening of each pair, up to symmetry; none if the games were not
    /// replayed.
    openings: Vec<Position>,
}

impl PartProof for PairProof {
    type Found = ProvedBatch;

    fn of(dataset: &Dataset) -> Result<Self, StageError> {
        let config = Checked::<GateConfig>::of_dataset(dataset)?;
        check_division(dataset, config.games / 2, BATCH_PAIRS)?;
        check_roles(dataset, &["baseline", "candidate"])?;
        Ok(Self {
            config,
            settings: dataset.manifest().settings("gate"),
        })
    }

    /// Unless `fast`, each game is legal, over, and ends with its result.
    fn prove(
        &self,
        dataset: &Dataset,
        index: usize,
        fast: bool,
        stop: &AtomicBool,
    ) -> Result<ProvedBatch, ArtifactError> {
        check_footers(dataset, index, &self.settings)?;
        let part = &dataset.manifest().parts[index];
        let rows: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, stop)?;
        let damaged = |reason: String| dataset.damaged(&GATE_GAMES, index, reason);
        if rows.len() as u64 != 2 * part.count {
            return Err(damaged(format!(
                "it has {} games, {} pairs expected",
                rows.len(),
                part.count
            )));
        }
        let mut openings = Vec::new();
        for (pair, games) in (part.first..).zip(rows.chunks_exact(2)) {
            check_pair(pair, games, self.config.opening_plies).map_err(&damaged)?;
            if !fast {
                let opening = |game: &GateGameRow| {
                    opening_of(game)
                        .map_err(|reason| damaged(format!("game {}: {reason}", game.game_id)))
                };
                opening(&games[1])?;
                openings.push(opening(&games[0])?);
            }
        }
        Ok(ProvedBatch { rows, openings })
    }

    /// No pair has the opening of an earlier one.
    fn contradiction(
        dataset: &Dataset,
        batches: &[ProvedBatch],
    ) -> Option<(usize, &'static Table, String)> {
        let mut seen = BTreeSet::new();
        for (index, (part, batch)) in dataset.manifest().parts.iter().zip(batches).enumerate() {
            if let Some((pair, _)) = (part.first..)
                .zip(&batch.openings)
                .find(|(_, opening)| !seen.insert(*opening))
            {
                let reason =
                    format!("pair {pair} has the opening of a pair before it, up to symmetry");
                return Some((index, &GATE_GAMES, reason));
            }
        }
        None
    }
}

/// The two games of a pair begin with one opening, and each side plays black once.
fn check_pair(pair: u64, games: &[GateGameRow], opening_plies: u8) -> Result<(), String> {
    for (id, game) in (2 * pair..).map(GameId).zip(games) {
        if game.opening_plies != opening_plies {
            return Err(format!(
                "game {id} has {} opening_plies, {opening_plies} expected",
                game.opening_plies
            ));
        }
        if (game.game_id, game.pair, game.candidate_black) != (id, pair, id.0.is_multiple_of(2)) {
            let GateGameRow {
                game_id,
                pair,
                candidate_black,
                ..
            } = game;
            let found =
                format!("game {game_id} of pair {pair} with candidate_black = {candidate_black}");
            return Err(format!("{found} is in the place of game {id}"));
        }
    }
    let opening = |game: &GateGameRow| {
        game.moves
            .get(..2 * usize::from(game.opening_plies))
            .map(str::to_owned)
    };
    match [&games[0], &games[1]].map(opening) {
        [Some(first), Some(second)] if first == second => Ok(()),
        _ => Err(format!(
            "the games of pair {pair} do not begin with one opening"
        )),
    }
}

/// Plays a game to its result; gives the position after its opening, up to symmetry.
fn opening_of(row: &GateGameRow) -> Result<Position, String> {
    let game = Game::from_transcript(&row.moves).map_err(|error| format!("moves, {error}"))?;
    if game.transcript() != row.moves {
        return Err(format!(
            "its moves are not written as {}",
            game.transcript()
        ));
    }
    let after_opening = game
        .turns()
        .nth(row.opening_plies.into())
        .map_or_else(|| game.to_move(), |turn| turn.colored);
    if !game.is_over() {
        return Err("its moves end before the game does".into());
    }
    let Discs(result) = if row.candidate_black {
        game.black_discs()
    } else {
        -game.black_discs()
    };
    if result != i32::from(row.result) {
        return Err(format!(
            "its result is {}, its moves lead to {result}",
            row.result
        ));
    }
    Ok(after_opening.position.canonical())
}
