//! Does a sample of a dataset's work again: whole games from their streams, exact scores by solving.

use super::GenerateConfig;
use super::openings::{OpeningChoice, Openings};
use super::play::Player;
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::games::{GAMES, GameRow};
use crate::artifact::dataset::positions::{POSITIONS, PositionRow};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::version::Model;
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, belongs};
use std::path::Path;

/// A table of 2^18 entries for solving.
const TABLE_BITS: u8 = 18;

/// The model that a dataset's manifest says has played it.
///
/// # Errors
///
/// A manifest that names none.
pub fn player_of(dataset: &Dataset) -> Result<ContentHash, ArtifactError> {
    let path = dataset.folder().join("manifest.json");
    let player = dataset.manifest().models.get("player").copied();
    player.ok_or_else(|| ArtifactError::unfit(&path, "no model played it: its games cannot be made again"))
}

/// Plays the chosen share of a part's games again and compares every row; gives how many.
///
/// # Errors
///
/// The first game that differs, or a dataset that did not come from `generate`.
pub fn remake_part(
    dataset: &Dataset,
    index: usize,
    share: f64,
    model: &Model,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let manifest = dataset.manifest();
    let config: GenerateConfig = serde_json::from_value(manifest.config.clone()).map_err(|error| {
        ArtifactError::unfit(&dataset.folder().join("manifest.json"), format!("its config: {error}"))
    })?;
    let games = dataset.games(index)?;
    // A book is not kept with the games: each begins again with the moves that its row says it took from there.
    let openings = match config.openings {
        OpeningChoice::Book => Openings::Played(&games),
        OpeningChoice::Random | OpeningChoice::All => Openings::new(&config, None).map_err(|error| {
            ArtifactError::unfit(&dataset.folder().join("manifest.json"), format!("its config: {error}"))
        })?,
    };
    let mut player = Player::new(&config, &openings, manifest.seed, manifest.generation, model, context.stop);
    let positions = dataset.positions(index)?;
    let mut rest = &positions[..];
    let mut count = 0;
    for game in &games {
        let (rows, others) = rest.split_at(usize::from(game.positions).min(rest.len()));
        rest = others;
        if !chosen(game.game_id, share) {
            continue;
        }
        count += 1;
        let again = player.play(game.game_id)?;
        compare(dataset.folder(), index, game, rows, &again.game, &again.positions)?;
    }
    Ok(count)
}

fn compare(
    folder: &Path,
    index: usize,
    game: &GameRow,
    rows: &[PositionRow],
    again: &GameRow,
    again_rows: &[PositionRow],
) -> Result<(), ArtifactError> {
    if game != again {
        let reason = format!("game {} plays out differently: {} and now {}", game.game_id, game.moves, again.moves);
        return Err(ArtifactError::damaged(&part_path(folder, &GAMES, index), reason));
    }
    match rows.iter().zip(again_rows).find(|(row, again)| row != again) {
        Some((row, again)) => {
            let reason = format!("game {}, ply {}: {row:?} and now {again:?}", game.game_id, row.ply);
            Err(ArtifactError::damaged(&part_path(folder, &POSITIONS, index), reason))
        }
        None => Ok(()),
    }
}

/// Solves the chosen share of a part's exact rows again; gives how many.
///
/// # Errors
///
/// The first row whose score is not the exact one.
pub fn resolve_part(
    dataset: &Dataset,
    index: usize,
    share: f64,
    model: &Model,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let path = part_path(dataset.folder(), &POSITIONS, index);
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(context.stop);
    let mut count = 0;
    for (number, row) in (0_u64..).zip(dataset.rows(index)?) {
        if row.exact != Some(true) || !chosen(row.game_id << 8 | u64::from(row.ply), share) {
            continue;
        }
        let damaged = |reason: String| ArtifactError::damaged(&path, format!("row {number}: {reason}"));
        let position = row.position().map_err(damaged)?;
        count += 1;
        searcher.clear();
        let score = searcher.solve(position).unless_stopped()?.score;
        if row.score != Some(score) {
            return Err(damaged(format!("its exact score is {score}, not {:?}", row.score)).into());
        }
    }
    Ok(count)
}

fn chosen(id: u64, share: f64) -> bool {
    belongs(0, Stream::Recheck, &id.to_le_bytes(), share)
}
