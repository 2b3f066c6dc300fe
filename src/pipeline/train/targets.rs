//! What the weights learn to predict: labels, or λ-returns over the rows of a game.

use super::task::{Lambda, Target};
use crate::artifact::PositionRow;
use crate::engine::{Discs, Position, Score, Square};

/// The target of each row of one game for its side to move; `None` where the label that it needs is missing.
pub(super) fn targets(target: &Target, rows: &[(Position, PositionRow)]) -> Vec<Option<Score>> {
    match target {
        Target::Result {} => rows.iter().map(|(_, row)| result(row)).collect(),
        Target::Score {} => rows.iter().map(|(_, row)| row.score).collect(),
        Target::Td { lambda, tempo } => returns(lambda, tempo * f64::from(Score::DISC.0), rows),
    }
}

/// The final disc difference.
pub(super) fn result(row: &PositionRow) -> Option<Score> {
    row.result.map(|result| Score::from(Discs(result.into())))
}

/// λ-returns (Sutton, "Learning to predict by the methods of temporal differences", 1988): each row's score is mixed with
/// the return of the next row, from the end of the game backwards.
///
/// G(t) = (1 − λ)·score(t) + λ·s·G(t+1), with s = −1 where the other side is to move at t+1. A row keeps its score where it
/// is exact, where its move was random, and where the next row is not the position after its move. The last row takes the
/// result in the place of s·G(t+1). At the end, `tempo` millidiscs are added to all that are not exact.
fn returns(lambda: &Lambda, tempo: f64, rows: &[(Position, PositionRow)]) -> Vec<Option<Score>> {
    let millidiscs = |score: Score| f64::from(score.0);
    let mut returns = vec![None; rows.len()];
    for index in (0..rows.len()).rev() {
        let (position, row) = &rows[index];
        let keeps_score = row.exact == Some(true) || row.random_move == Some(true);
        let future = match rows.get(index + 1) {
            _ if keeps_score => None,
            None => result(row).map(millidiscs),
            Some(next) => sign(*position, row, next).and_then(|sign| returns[index + 1].map(|value: f64| sign * value)),
        };
        returns[index] = row.score.map(millidiscs).map(|score| match future {
            Some(future) => {
                let lambda = lambda.at(row.empties);
                (1.0 - lambda) * score + lambda * future
            }
            None => score,
        });
    }
    let tempo = |row: &PositionRow| if row.exact == Some(true) { 0.0 } else { tempo };
    let rounded = |(value, (_, row)): (Option<f64>, &(Position, PositionRow))| {
        value.map(|value| Score((value + tempo(row)).round() as i32))
    };
    returns.into_iter().zip(rows).map(rounded).collect()
}

/// 1 if the same side is to move in the next row, −1 if it is the other one; `None` if the row's move does not lead there.
fn sign(position: Position, row: &PositionRow, next: &(Position, PositionRow)) -> Option<f64> {
    let square = row.played_move.and_then(Square::new)?;
    let after = position.play(square)?;
    let (reached, sign) = if row.black_to_move == next.1.black_to_move { (after.pass(), 1.0) } else { (after, -1.0) };
    let passes = sign < 0.0 || after.legal_moves() == 0;
    (passes && reached == next.0).then_some(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Game, Turn};

    /// The rows of a game with passes, with scores that say where they are from.
    fn rows() -> Vec<(Position, PositionRow)> {
        let mut game = Game::default();
        while !game.is_over() {
            let last = game.latest().position.children().last();
            game.play_ply(last.map(|(square, _)| square)).expect("it is legal");
        }
        let row = |(number, turn): (i32, Turn)| {
            let row = PositionRow {
                score: Some(Score(number * 7_919 % 60_001 - 30_000)),
                exact: Some(turn.colored.position.empties() <= 3),
                played_move: Some(turn.square.index() as u8),
                random_move: Some(number == 7),
                result: Some(if turn.colored.black_to_move { 24 } else { -24 }),
                ..PositionRow::unlabeled(turn.colored, turn.ply)
            };
            (turn.colored.position, row)
        };
        let mut rows: Vec<_> = (1..).zip(game.turns()).map(row).collect();
        // A position that was left out, one without a score, and an unknown move.
        rows.remove(20);
        rows[30].1.score = None;
        rows[40].1.played_move = None;
        rows
    }

    /// The return of a row by its definition, from the start of the game forward.
    fn plain(lambda: &Lambda, rows: &[(Position, PositionRow)]) -> Option<f64> {
        let [(_, row), rest @ ..] = rows else { panic!("a game has rows") };
        let score = f64::from(row.score?.0);
        let of_side =
            |next: &PositionRow, value: f64| if next.black_to_move == row.black_to_move { value } else { -value };
        let future = match rest.first() {
            _ if row.exact? || row.random_move? => None,
            None => row.result.map(|result| 1000.0 * f64::from(result)),
            // The rows follow one another, but for the one that was left out.
            Some((_, next)) if row.played_move.is_some() && next.empties + 1 == row.empties => {
                plain(lambda, rest).map(|value| of_side(next, value))
            }
            Some(_) => None,
        };
        Some(future.map_or(score, |future| score + lambda.at(row.empties) * (future - score)))
    }

    #[test]
    fn returns_mix_the_scores_of_the_rest_of_the_game() {
        let lambda: Lambda = serde_json::from_str("[[60, 0.75], [44, 0.25, 0.5], [10, 1.0]]").expect("it is a list");
        let mut rows = rows();
        let is_pass = |pair: &[(Position, PositionRow)]| pair[0].1.black_to_move == pair[1].1.black_to_move;
        assert!(rows.windows(2).filter(|pair| is_pass(pair)).count() > 1, "a game without passes");
        for last_is_exact in [true, false] {
            rows.last_mut().expect("there are rows").1.exact = Some(last_is_exact);
            for tempo in [0.0, 0.4] {
                let found = targets(&Target::Td { lambda: lambda.clone(), tempo }, &rows);
                for (place, found) in found.into_iter().enumerate() {
                    let tempo = if rows[place].1.exact == Some(true) { 0.0 } else { 1000.0 * tempo };
                    let expected = plain(&lambda, &rows[place..]).map(|value| value + tempo);
                    let near =
                        found.zip(expected).map(|(found, expected)| (f64::from(found.0) - expected).abs() <= 0.51);
                    assert_eq!((found.is_some(), near.unwrap_or(true)), (expected.is_some(), true), "row {place}");
                }
            }
        }
        assert_eq!(targets(&Target::Result {}, &rows[..1]), [Some(Score(24_000))]);
        assert_eq!(targets(&Target::Score {}, &rows[29..31]), [rows[29].1.score, None]);
    }
}
