//! Positions for benchmarks, the same ones everywhere: of random play, and of games by a plain
//! player.

use crate::engine::eval::builtin::square_weights;
use crate::engine::{Depth, Game, MpcLevel, MpcTable, Position, Searcher, Square, Squares};
use crate::random::{Stream, stream};

/// Random moves at the beginning of a plain player's game: 10 to 20.
const RANDOM_PLIES_MIN: u32 = 10;
const RANDOM_PLIES_COUNT: u32 = 11;
/// How far the plain player looks ahead.
const PLAIN_DEPTH: Depth = Depth(3);

/// `count` positions with 20 to 50 empty squares.
///
/// # Panics
///
/// If a game that is not over had no legal move.
pub fn random_positions(count: usize) -> Vec<Position> {
    (0..).filter_map(random_position).take(count).collect()
}

/// `count` positions with this number of empty squares, one per game. The games begin at random, by
/// `seed`, and continue with the moves of a plain player, the same ones with every version of the
/// search: minimax over square weights, and of equal moves the first.
///
/// # Panics
///
/// If a game that is not over had no legal move.
pub fn game_positions(count: usize, empties: u8, seed: u64) -> Vec<Position> {
    let (evaluation, mpc) = (square_weights(), MpcTable::empty());
    let mut player = Searcher::new(&evaluation, &mpc, 12);
    let position = |id| {
        let mut rng = stream(seed, Stream::Game(0, id));
        let random_plies = RANDOM_PLIES_MIN + rng.below(RANDOM_PLIES_COUNT);
        position_with(empties, |position, ply| {
            if ply < random_plies {
                rng.pick(Squares(position.legal_moves()))
            } else {
                plain_move(&mut player, position)
            }
        })
    };
    (0..).filter_map(position).take(count).collect()
}

fn plain_move(player: &mut Searcher<'_>, position: Position) -> Option<Square> {
    let mut value = |next| {
        player
            .score_at_depth(next, PLAIN_DEPTH - 1, MpcLevel::FullWidth)
            .expect("nothing stops it")
            .0
    };
    // Of equal moves `min_by_key` takes the first.
    let (square, _) = position.children().min_by_key(|&(_, next)| value(next))?;
    Some(square)
}

/// The position of one game; none if the game ends first.
fn random_position(id: u64) -> Option<Position> {
    let mut rng = stream(0, Stream::Game(0, id));
    let empties = 20 + rng.below(31) as u8;
    position_with(empties, |position, _| {
        rng.pick(Squares(position.legal_moves()))
    })
}

/// The position with this many empty squares in the game of these moves; none if the game ends
/// first.
fn position_with(
    empties: u8,
    mut choose: impl FnMut(Position, u32) -> Option<Square>,
) -> Option<Position> {
    let mut game = Game::default();
    for ply in 0.. {
        let position = game.to_move().position;
        if game.is_over() || position.empties() <= empties {
            break;
        }
        game.play(choose(position, ply).expect("the side to move has a move"))
            .expect("the move is legal");
    }
    (!game.is_over()).then(|| game.to_move().position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_games_have_their_empties_and_follow_from_the_seed() {
        for empties in [9, 14, 25] {
            let positions = game_positions(6, empties, 1);
            assert_eq!(positions.len(), 6);
            assert!(
                positions
                    .iter()
                    .all(|position| position.empties() == empties && !position.is_over())
            );
            assert_eq!(positions[..3], game_positions(3, empties, 1));
            assert!(
                game_positions(6, empties, 2)
                    .iter()
                    .all(|position| !positions.contains(position))
            );
        }
    }

    #[test]
    fn the_plain_player_is_minimax_over_square_weights() {
        let (evaluation, mpc) = (square_weights(), MpcTable::empty());
        let mut player = Searcher::new(&evaluation, &mpc, 12);
        for position in random_positions(20)
            .into_iter()
            .filter(|position| position.legal_moves() != 0)
        {
            let best = player
                .score_at_depth(position, PLAIN_DEPTH, MpcLevel::FullWidth)
                .unwrap()
                .0;
            player.clear();
            let next = position
                .play(plain_move(&mut player, position).unwrap())
                .unwrap();
            assert_eq!(
                -player
                    .score_at_depth(next, PLAIN_DEPTH - 1, MpcLevel::FullWidth)
                    .unwrap()
                    .0,
                best
            );
        }
    }
}
