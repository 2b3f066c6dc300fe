//! The moves of a game against the best ones: what each of them lost.

use super::GameSession;
use crate::engine::{ColoredPosition, Depth, Discs, Limits, Score, Square, Stopped};

/// A move that loses at least this much is a turning point: exact scores are even, and less is
/// within the error of a search.
const TURNING_POINT: Discs = Discs(2);

/// The default limits of a review, the same everywhere, so that a game has the same turning points
/// wherever it is reviewed.
pub const REVIEW_LIMITS: Limits = Limits {
    exact_empties: 14,
    ..Limits::full_width(Depth(8))
};

/// A move of a game, and the best one in its place. Scores are those of the side that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewedMove {
    /// Plies before it.
    pub ply: usize,
    /// Whether black played it.
    pub black: bool,
    #[expect(missing_docs, reason = "the name says it")]
    pub square: Square,
    /// What it was worth.
    pub score: Score,
    /// The best move; the one that was played if none was found to be better.
    pub best: Square,
    #[expect(missing_docs, reason = "the name says it")]
    pub best_score: Score,
    /// Whether both scores are the results of best play to the end.
    pub exact: bool,
}

impl ReviewedMove {
    /// What the move lost against the best one; never less than zero.
    pub fn loss(&self) -> Score {
        self.best_score - self.score
    }

    /// Whether the move lost two discs or more.
    pub fn is_turning_point(&self) -> bool {
        Score::from(TURNING_POINT) <= self.loss()
    }
}

impl GameSession<'_> {
    /// All moves of the game in order, passes left out. The limits must allow a depth of one ply at
    /// least.
    pub fn review(&mut self) -> Result<Vec<ReviewedMove>, Stopped> {
        let plies = 0..self.game.plies().len();
        plies
            .filter_map(|ply| self.review_move(ply).transpose())
            .collect()
    }

    /// The move after `ply` plies; `None` for a pass, and where there was no move yet. It depends
    /// on the game, the model and the limits alone.
    pub fn review_move(&mut self, ply: usize) -> Result<Option<ReviewedMove>, Stopped> {
        let Some(&Some(square)) = self.game.plies().get(ply) else {
            return Ok(None);
        };
        let ColoredPosition {
            position,
            black_to_move,
        } = self.game.positions()[ply];
        let next = self.game.positions()[ply + 1].position;
        // A proven winner would be compared with the size of a mere search.
        let limits = Limits {
            wld_empties: 0,
            depth: self.limits().depth.max(Depth(1)),
            ..self.limits()
        };
        // What deeper searches of later positions found would favor the move that was played.
        self.team.clear();
        let best = self.search_position(position, limits).unless_stopped()?;
        let mut reviewed = ReviewedMove {
            ply,
            black: black_to_move,
            square,
            score: best.score,
            best: best.best_move.unwrap_or(square),
            best_score: best.score,
            exact: best.exact,
        };
        if reviewed.best != square {
            // As deep as the best move was searched, so that the two compare.
            let exact_empties = if position.empties() <= limits.exact_empties {
                Depth::MAX.0
            } else {
                0
            };
            let reply_limits = Limits {
                depth: limits.depth - 1,
                exact_empties,
                ..limits
            };
            let reply = self.search_position(next, reply_limits).unless_stopped()?;
            reviewed.exact &= reply.exact;
            if -reply.score < best.score {
                reviewed.score = -reply.score;
            } else {
                reviewed.best = square;
            }
        }
        Ok(Some(reviewed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::engine::Game;
    use std::sync::atomic::AtomicBool;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// Every third move is the first legal one, the others the last: a game with passes and plenty
    /// of mistakes.
    fn game() -> Game {
        let mut game = Game::default();
        while !game.is_over() {
            let moves: Vec<_> = game.to_move().position.children().collect();
            let place = if game.plies().len() % 3 == 0 {
                0
            } else {
                moves.len() - 1
            };
            game.play(moves[place].0).unwrap();
        }
        game
    }

    #[test]
    fn a_move_loses_what_all_moves_are_worth_less_than_the_best() {
        // The limit of exact searches falls between a move and its reply in each of them.
        (4..=10).for_each(check_losses);
    }

    fn check_losses(exact_empties: u8) {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let limits = Limits {
            exact_empties,
            ..Limits::full_width(Depth(3))
        };
        let mut session = GameSession::new(&model, limits, &NEVER);
        session.set_game(game());
        let review = session.review().unwrap();
        let game = session.game().clone();
        assert!(game.plies().contains(&None));
        assert_eq!(review.len(), game.moves().count());
        for reviewed in &review {
            let colored = game.positions()[reviewed.ply];
            assert_eq!(
                (game.plies()[reviewed.ply], colored.black_to_move),
                (Some(reviewed.square), reviewed.black)
            );
            // Full-width searches agree with the values of all moves.
            let mut plain = GameSession::new(&model, limits, &NEVER);
            plain.set_game(Game::new(colored));
            let (values, _) = plain.move_values(limits).unwrap();
            let value = values
                .iter()
                .find(|value| value.square == reviewed.square)
                .unwrap();
            assert_eq!(
                (reviewed.best_score, reviewed.score),
                (values[0].score, value.score),
                "{reviewed:?}"
            );
            let best = values
                .iter()
                .find(|value| value.square == reviewed.best)
                .unwrap();
            assert_eq!(best.score, values[0].score, "{reviewed:?}");
            assert_eq!(reviewed.exact, colored.position.empties() <= exact_empties);
            assert_eq!(
                reviewed.loss() == Score(0),
                reviewed.best == reviewed.square,
                "{reviewed:?}"
            );
            assert_eq!(reviewed.is_turning_point(), 2_000 <= reviewed.loss().0);
        }
        assert!(
            5 < review
                .iter()
                .filter(|reviewed| reviewed.is_turning_point())
                .count()
        );
        assert_eq!(session.review().unwrap(), review);
    }

    #[test]
    fn exact_losses_add_up_to_the_result() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let limits = Limits {
            exact_empties: 12,
            ..Limits::full_width(Depth(1))
        };
        let mut session = GameSession::new(&model, limits, &NEVER);
        session.set_game(game());
        let review = session.review().unwrap();
        let exact: Vec<_> = review.iter().filter(|reviewed| reviewed.exact).collect();
        let sign = |reviewed: &ReviewedMove| if reviewed.black { 1 } else { -1 };
        let begin = exact[0].best_score.0 * sign(exact[0]);
        let lost: i32 = exact
            .iter()
            .map(|reviewed| reviewed.loss().0 * sign(reviewed))
            .sum();
        assert!(8 <= exact.len() && lost != 0);
        assert_eq!(begin - lost, Score::from(session.game().black_discs()).0);
    }

    #[test]
    fn only_moves_are_reviewed() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let mut session = GameSession::new(&model, Limits::full_width(Depth(0)), &NEVER);
        assert_eq!(session.review(), Ok(Vec::new()));
        session.set_game(Game::from_transcript("f5d6").unwrap());
        assert_eq!(session.review_move(2), Ok(None));
        session.undo();
        // The first move is as good as its images, so none of them is better.
        let review = session.review().unwrap();
        assert_eq!(
            (review.len(), review[0].loss(), review[0].best),
            (1, Score(0), review[0].square)
        );
    }
}
