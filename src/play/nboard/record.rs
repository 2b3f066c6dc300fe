//! The game on the board: every position since its start.

use crate::engine::board::notation::ColoredPosition;
use crate::engine::board::square::Square;
use crate::exchange::ggf::GgfGame;

/// The positions of a game, one per ply; a pass is a ply. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    positions: Vec<ColoredPosition>,
}

impl Record {
    pub(super) fn new(start: ColoredPosition) -> Self {
        Self { positions: vec![start] }
    }

    /// Replays a game; the error names the move that the rules forbid. Passes may be left out.
    pub(super) fn replay(game: &GgfGame) -> Result<Self, String> {
        let mut record = Self::new(game.start);
        for (number, played) in (1..).zip(&game.moves) {
            let forbidden = |reason: &str| format!("move {number}: {reason}");
            if played.black != record.current().black_to_move {
                record.play(None).map_err(|_| forbidden("it is the other side's turn"))?;
            }
            record.play(played.square).map_err(|reason| forbidden(&reason))?;
        }
        Ok(record)
    }

    pub(super) fn positions(&self) -> &[ColoredPosition] {
        &self.positions
    }

    /// The position after the last ply.
    pub(super) fn current(&self) -> ColoredPosition {
        self.positions[self.positions.len() - 1]
    }

    /// Whether this game begins with all of another.
    pub(super) fn continues(&self, other: &Self) -> bool {
        self.positions.starts_with(&other.positions)
    }

    /// Plays a move, after the pass that the rules may force before it; `None` is a pass.
    pub(super) fn play(&mut self, square: Option<Square>) -> Result<(), String> {
        let current = self.current();
        let must_pass = current.position.legal_moves() == 0;
        let passed = ColoredPosition { position: current.position.pass(), black_to_move: !current.black_to_move };
        let Some(square) = square else {
            if !must_pass {
                return Err("a pass is illegal: there is a legal move".to_owned());
            }
            self.positions.push(passed);
            return Ok(());
        };
        let mover = if must_pass { passed } else { current };
        let next = mover.position.play(square).ok_or_else(|| format!("{square} is illegal"))?;
        self.positions.extend(must_pass.then_some(passed));
        self.positions.push(ColoredPosition { position: next, black_to_move: !mover.black_to_move });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::ggf::parse_ggf;

    fn record(moves: &str) -> Result<Record, String> {
        Record::replay(&parse_ggf(&format!("(;GM[Othello]{moves};)")).unwrap())
    }

    /// After these moves black must pass.
    const BEFORE_PASS: &str = "B[D3]W[C3]B[E6]W[D2]B[D1]W[E1]B[B2]W[C1]";

    #[test]
    fn a_pass_may_be_written_or_left_out() {
        let before = record(BEFORE_PASS).unwrap();
        assert!(before.current().black_to_move && before.current().position.legal_moves() == 0);
        let reply = before.current().position.pass().children().next().unwrap().0.to_string().to_uppercase();
        let written = record(&format!("{BEFORE_PASS}B[PA]W[{reply}]")).unwrap();
        let left_out = record(&format!("{BEFORE_PASS}W[{reply}]")).unwrap();
        assert_eq!(written, left_out);
        assert_eq!(written.positions().len(), 11);
        let mut by_move = before.clone();
        by_move.play(Some(reply.parse().unwrap())).unwrap();
        assert_eq!(by_move, written);
        assert!(written.continues(&before) && !before.continues(&written));
    }

    #[test]
    fn a_forbidden_move_is_an_error_and_changes_nothing() {
        for (moves, words) in [
            ("B[A1]", "move 1: a1 is illegal"),
            ("B[F5]W[F5]", "move 2: f5 is illegal"),
            ("B[F5]B[F6]", "move 2: it is the other side's turn"),
            ("B[PA]", "move 1: a pass is illegal"),
        ] {
            assert_eq!(record(moves).unwrap_err().find(words), Some(0), "{moves}");
        }
        let mut record = Record::new(ColoredPosition::START);
        record.play("a1".parse().ok()).unwrap_err();
        record.play(None).unwrap_err();
        assert_eq!(record, Record::new(ColoredPosition::START));
    }
}
