//! The moves of the games that `renma eval --review` reads.

use crate::artifact::{ArtifactError, Model};
use crate::cli::output::{counted, table};
use crate::engine::{Game, Limits, Score};
use crate::pipeline::{Context, StageError};
use crate::play::analysis::review;
use crate::play::session::review::ReviewedMove;
use serde::Serialize;
use std::path::Path;

/// A move of a game, and the best one in its place.
#[derive(Debug, Serialize)]
pub(super) struct PlayedMove {
    ply: usize,
    side: &'static str,
    #[serde(rename = "move")]
    square: String,
    score: i32,
    best_move: String,
    best_score: i32,
    loss: i32,
    exact: bool,
    turning_point: bool,
}

/// An error unless each line is a game.
pub(super) fn check_games(name: &Path, games: &[Game]) -> Result<(), ArtifactError> {
    match games.iter().position(|game| game.plies().is_empty()) {
        None => Ok(()),
        Some(place) => {
            let reason = format!("position {} has no moves\n--review reads games, f5d6c3..., one per line", place + 1);
            Err(ArtifactError::unfit(name, reason))
        }
    }
}

/// The moves of each game.
pub(super) fn review_games(
    limits: Limits,
    model: &Model,
    games: &[Game],
    context: Context<'_>,
) -> Result<Vec<Vec<PlayedMove>>, StageError> {
    let reviewed = review(limits, model, games, context)?;
    Ok(reviewed.iter().map(|moves| moves.iter().map(played_move).collect()).collect())
}

fn played_move(reviewed: &ReviewedMove) -> PlayedMove {
    PlayedMove {
        ply: reviewed.ply,
        side: if reviewed.black { "X" } else { "O" },
        square: reviewed.square.to_string(),
        score: reviewed.score.0,
        best_move: reviewed.best.to_string(),
        best_score: reviewed.best_score.0,
        loss: reviewed.loss().0,
        exact: reviewed.exact,
        turning_point: reviewed.is_turning_point(),
    }
}

/// The turning points of a game in its order, and what each side lost in all.
pub(super) fn describe_review(number: usize, played: &[PlayedMove]) -> String {
    let discs = |millidiscs: i32| format!("{:.2}", Score(millidiscs).discs());
    let turning_points = (1..).zip(played).filter(|(_, played)| played.turning_point);
    let rows = turning_points.map(|(number, played): (usize, _)| {
        [
            number.to_string(),
            played.side.to_owned(),
            played.square.clone(),
            discs(played.loss),
            played.best_move.clone(),
            format!("{:+.2}", Score(played.best_score).discs()),
            if played.exact { "yes" } else { "no" }.to_owned(),
        ]
    });
    let rows: Vec<[String; 7]> = rows.collect();
    let lost = |side: &str| discs(played.iter().filter(|played| played.side == side).map(|played| played.loss).sum());
    let names = ["move", "side", "played", "lost", "best", "value", "exact"];
    let (count, moves) = (counted(rows.len() as u64, "turning point"), counted(played.len() as u64, "move"));
    let points = if rows.is_empty() { String::new() } else { format!("{}\n", table(names, rows)) };
    format!("game {number}: {count} in {moves}; X lost {} discs, O lost {}\n{points}", lost("X"), lost("O"))
}
