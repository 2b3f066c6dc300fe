//! The moves of the games that `renma eval --review` reads.

use crate::artifact::ArtifactError;
use crate::cli::output::{counted, table};
use crate::engine::{Game, Score};
use crate::play::session::review::ReviewedMove;
use serde_json::{Value, json};
use std::path::Path;

/// An error unless each line is a game.
pub fn check_games(name: &Path, games: &[Game]) -> Result<(), ArtifactError> {
    let Some(place) = games.iter().position(|game| game.plies().is_empty()) else {
        return Ok(());
    };
    let reason = format!(
        "position {} has no moves\n--review reads games, f5d6c3..., one per line",
        place + 1
    );
    Err(ArtifactError::unfit(name, reason))
}

fn side(reviewed: &ReviewedMove) -> &'static str {
    if reviewed.black { "X" } else { "O" }
}

pub fn move_json(reviewed: &ReviewedMove) -> Value {
    json!({
        "ply": reviewed.ply,
        "side": side(reviewed),
        "move": reviewed.square.to_string(),
        "score": reviewed.score.0,
        "best_move": reviewed.best.to_string(),
        "best_score": reviewed.best_score.0,
        "loss": reviewed.loss().0,
        "exact": reviewed.exact,
        "turning_point": reviewed.is_turning_point(),
    })
}

/// The turning points of a game in its order, and what each side lost in all.
pub fn describe_review(number: usize, played: &[ReviewedMove]) -> String {
    let discs = |score: Score| format!("{:.2}", score.discs());
    let turning_points = (1..)
        .zip(played)
        .filter(|(_, reviewed)| reviewed.is_turning_point());
    let rows = turning_points.map(|(number, reviewed): (usize, _)| {
        [
            number.to_string(),
            side(reviewed).to_owned(),
            reviewed.square.to_string(),
            discs(reviewed.loss()),
            reviewed.best.to_string(),
            format!("{:+.2}", reviewed.best_score.discs()),
            if reviewed.exact { "yes" } else { "no" }.to_owned(),
        ]
    });
    let rows: Vec<[String; 7]> = rows.collect();
    let lost = |black: bool| {
        let moves = played.iter().filter(|reviewed| reviewed.black == black);
        discs(Score(moves.map(|reviewed| reviewed.loss().0).sum()))
    };
    let names = ["move", "side", "played", "lost", "best", "value", "exact"];
    let (count, moves) = (
        counted(rows.len() as u64, "turning point"),
        counted(played.len() as u64, "move"),
    );
    let points = if rows.is_empty() {
        String::new()
    } else {
        format!("{}\n", table(names, rows))
    };
    format!(
        "game {number}: {count} in {moves}; X lost {} discs, O lost {}\n{points}",
        lost(true),
        lost(false)
    )
}
