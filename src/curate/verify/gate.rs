//! Checks the games of a gate and recomputes its verdict from them.

use super::over_parts;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::recipe::check_known_footers;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::{
    ArtifactError, Dataset, GATE_GAMES, GateGameRow, Manifest, OpeningCounts, Table, Verdict, VerdictFile,
};
use crate::engine::{Discs, Game, Position};
use crate::pipeline::gate::decider::Decider;
use crate::pipeline::gate::score::score;
use crate::pipeline::gate::task::GateConfig;
use crate::pipeline::keys::Checked;
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::collections::BTreeSet;

/// What was checked of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GateVerified {
    /// Games.
    pub games: u64,
    /// Games replayed move by move.
    pub replayed: u64,
    /// The verdict that they lead to.
    pub verdict: Verdict,
}

/// Checks every game and every pair, and that they lead to the verdict.
pub(super) fn verify(dataset: &Dataset, fast: bool, context: Context<'_>) -> Result<GateVerified, StageError> {
    let config = Checked::<GateConfig>::of_dataset(dataset)?;
    let verdict = read_verdict(dataset.folder())?;
    let settings = dataset.manifest().settings("gate");
    let batches = over_parts(context, "verify", dataset, |index| {
        check_known_footers(dataset, index, &settings)?;
        verify_part(dataset, index, fast, context)
    })?;
    let mut openings = BTreeSet::new();
    for (index, batch) in batches.iter().enumerate() {
        for (pair, opening) in (dataset.manifest().parts[index].first..).zip(&batch.openings) {
            if !openings.insert(opening) {
                let path = part_path(dataset.folder(), &GATE_GAMES, index);
                let reason = format!("pair {pair} has the opening of a pair before it, up to symmetry");
                return Err(ArtifactError::damaged(&path, reason).into());
            }
        }
    }
    let batches: Vec<Vec<GateGameRow>> = batches.into_iter().map(|batch| batch.rows).collect();
    let damaged = |reason| ArtifactError::damaged(&dataset.folder().join("verdict.json"), reason);
    check_manifest(dataset.manifest(), &verdict).map_err(damaged)?;
    check_openings(dataset, &verdict)?;
    check_verdict(&config, &batches, &verdict).map_err(damaged)?;
    let games = 2 * dataset.manifest().done;
    Ok(GateVerified { games, replayed: if fast { 0 } else { games }, verdict: verdict.verdict })
}

/// A part whose games are sound.
struct Batch {
    rows: Vec<GateGameRow>,
    /// The position after the opening of each pair, up to symmetry, if the games were replayed.
    openings: Vec<Position>,
}

fn verify_part(dataset: &Dataset, index: usize, fast: bool, context: Context<'_>) -> Result<Batch, StageError> {
    let part = &dataset.manifest().parts[index];
    let rows: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, context.stop)?;
    let damaged = |reason: String| ArtifactError::damaged(&part_path(dataset.folder(), &GATE_GAMES, index), reason);
    if rows.len() as u64 != 2 * part.count {
        return Err(damaged(format!("it has {} games, {} pairs expected", rows.len(), part.count)).into());
    }
    let mut openings = Vec::new();
    for (pair, games) in (part.first..).zip(rows.chunks_exact(2)) {
        context.check()?;
        check_pair(pair, games).map_err(&damaged)?;
        if !fast {
            let opening = |game| replay(game).map_err(|reason| damaged(format!("game {}: {reason}", game.game_id)));
            games[1..].iter().try_for_each(|game| opening(game).map(|_| ()))?;
            openings.push(opening(&games[0])?);
        }
    }
    Ok(Batch { rows, openings })
}

/// The two games of a pair begin with one opening, and each side plays black once.
fn check_pair(pair: u64, games: &[GateGameRow]) -> Result<(), String> {
    for (id, game) in (2 * pair..).zip(games) {
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

/// Plays a game to its result; returns the position after its opening, up to symmetry.
fn replay(row: &GateGameRow) -> Result<Position, String> {
    let game = Game::from_transcript(&row.moves).map_err(|error| format!("moves, {error}"))?;
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

/// Checks that a verdict belongs to the match that the manifest describes.
fn check_manifest(manifest: &Manifest, verdict: &VerdictFile) -> Result<(), String> {
    for (role, player) in [("candidate", &verdict.candidate), ("baseline", &verdict.baseline)] {
        if manifest.models.get(role) != Some(&player.content) {
            return Err(format!("its {role} is not that of the manifest"));
        }
    }
    let counts = [verdict.pairs_done, verdict.pairs_asked];
    if counts != [manifest.done, manifest.asked] {
        let [done, asked] = counts;
        let (listed, wanted) = (manifest.done, manifest.asked);
        return Err(format!("it counts {done} of {asked} pairs, the manifest {listed} of {wanted}"));
    }
    if verdict.config != manifest.config {
        return Err("its config is not that of the manifest".into());
    }
    if !verdict.avoided.is_sorted() {
        return Err("the avoided datasets are not in ascending order".into());
    }
    Ok(())
}

/// Checks that the openings of a verdict add up, and are those of the last part.
fn check_openings(dataset: &Dataset, verdict: &VerdictFile) -> Result<(), ArtifactError> {
    let OpeningCounts { drawn, repeated, in_training, unbalanced } = verdict.openings;
    let others = [repeated, in_training, unbalanced].into_iter().try_fold(verdict.pairs_done, u64::checked_add);
    if others != Some(drawn) {
        let reason = format!("its openings do not add up to the {drawn} that were drawn");
        return Err(ArtifactError::damaged(&dataset.folder().join("verdict.json"), reason));
    }
    let Some(last) = dataset.part_count().checked_sub(1) else { return Ok(()) };
    let path = part_path(dataset.folder(), &GATE_GAMES, last);
    let footer = Table::read_footer(&path)?;
    let counts = footer.get("renma.openings").and_then(|counts| serde_json::from_str(counts).ok());
    if counts != Some(verdict.openings) {
        return Err(ArtifactError::damaged(&path, "the openings in its footer are not those of the verdict"));
    }
    Ok(())
}

/// Checks that the games lead to the verdict, and that none came after the game that decided.
fn check_verdict(config: &GateConfig, batches: &[Vec<GateGameRow>], verdict: &VerdictFile) -> Result<(), String> {
    let mut decider = Decider::new(config);
    for (count, batch) in batches.iter().enumerate() {
        if decider.is_decided() {
            return Err(format!("it was decided after {count} of {} parts", batches.len()));
        }
        decider.look(batch);
    }
    let score = score(&batches.concat());
    let (told, counted) = (verdict.score.pairs, score.pairs);
    if told != counted {
        return Err(format!("it counts pairs {told:?}, its games make {counted:?}"));
    }
    if (&score, decider.test().as_ref()) != (&verdict.score, verdict.test.as_ref()) {
        return Err("its score or test is not the one that its games lead to".into());
    }
    if decider.verdict() != verdict.verdict {
        return Err(format!("its verdict is {:?}, its games lead to {:?}", verdict.verdict, decider.verdict()));
    }
    Ok(())
}
