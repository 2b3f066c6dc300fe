//! What the weights learn to predict: labels, or λ-returns over the rows of a game.

use super::task::{Lambda, Target};
use crate::artifact::PositionRow;
use crate::engine::{Discs, Position, Score, Square};

/// The target of each row of one game for its side to move; `None` where the label that it needs is
/// missing.
pub fn targets(target: &Target, rows: &[(Position, PositionRow)]) -> Vec<Option<Score>> {
    match target {
        Target::Result {} => rows.iter().map(|(_, row)| result(row)).collect(),
        Target::Score {} => rows.iter().map(|(_, row)| row.score).collect(),
        Target::Td { lambda, tempo } => returns(lambda, tempo * f64::from(Score::DISC.0), rows),
    }
}

/// The final disc difference.
pub fn result(row: &PositionRow) -> Option<Score> {
    row.result.map(|result| Score::from(Discs(result.into())))
}

/// λ-returns (Sutton, "Learning to predict by the methods of temporal differences", 1988): each
/// row's score is mixed with the return of the next row, from the end of the game backwards.
///
/// G(t) = (1 − λ)·score(t) + λ·s·G(t+1), with s = −1 where the other side is to move at t+1. A row
/// keeps its score where it is exact, where its move was random, and where the next row is not the
/// position after its move. The last row takes the result in the place of s·G(t+1). At the end,
/// `tempo` millidiscs are added to all that are not exact.
fn returns(lambda: &Lambda, tempo: f64, rows: &[(Position, PositionRow)]) -> Vec<Option<Score>> {
    let millidiscs = |score: Score| f64::from(score.0);
    let mut returns = vec![None; rows.len()];
    for index in (0..rows.len()).rev() {
        let (position, row) = &rows[index];
        let keeps_score = row.exact == Some(true) || row.random_move == Some(true);
        let future = match rows.get(index + 1) {
            _ if keeps_score => None,
            None => result(row).map(millidiscs),
            Some(next) => sign(*position, row, next)
                .and_then(|sign| returns[index + 1].map(|value: f64| sign * value)),
        };
        let mixed = |score: f64, future: f64| {
            let lambda = lambda.at(row.empties);
            (1.0 - lambda) * score + lambda * future
        };
        returns[index] = row
            .score
            .map(millidiscs)
            .map(|score| future.map_or(score, |future| mixed(score, future)));
    }
    let tempo = |row: &PositionRow| if row.exact == Some(true) { 0.0 } else { tempo };
    let rounded = |(value, (_, row)): (Option<f64>, &(Position, PositionRow))| {
        value.map(|value| Score((value + tempo(row)).round() as i32))
    };
    returns.into_iter().zip(rows).map(rounded).collect()
}

/// 1 if the same side is to move in the next row, −1 if it is the other one; `None` if the row's
/// move does not lead there.
fn sign(position: Position, row: &PositionRow, next: &(Position, PositionRow)) -> Option<f64> {
    let square = row.played_move.and_then(Square::new)?;
    let after = position.play(square)?;
    let (reached, sign) = if row.black_to_move == next.1.black_to_move {
        (after.pass(), 1.0)
    } else {
        (after, -1.0)
    };
    let passes = sign < 0.0 || after.legal_moves() == 0;
    (passes && reached == next.0).then_some(sign)
}
