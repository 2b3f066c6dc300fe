//! Rules and full-width search, on positions of random games.

use crate::support::plain::{Board, negamax, square_weights};
use renma::artifact::ModelRef;
use renma::engine::{
    Depth, KernelChoice, MpcLevel, MpcTable, Opponent, Player, Position, Searcher, Square,
};
use renma::random::{Stream, stream};
use std::path::Path;

/// Plays random games, compares the moves of `count` positions, and gives each position to `also`.
fn check_rules(count: usize, mut also: impl FnMut(&Board, Position)) {
    let (mut seen, mut game) = (0, 0);
    while seen < count {
        let mut random = stream(1, Stream::Game(0, game));
        let mut board = Board::start();
        while !board.is_over() {
            let [player, opponent] = board.bits();
            let position = Position::new(Player(player), Opponent(opponent)).unwrap();
            let moves = board.moves();
            assert_eq!(
                position.legal_moves(),
                moves.iter().map(|&square| 1 << square).sum::<u64>(),
                "{board:?}"
            );
            for square in 0..64 {
                let next = position.play(Square::new(square).unwrap());
                let next = next.map(|next| [next.player(), next.opponent()]);
                let is_legal = moves.contains(&usize::from(square));
                assert_eq!(
                    next,
                    is_legal.then(|| board.play(square.into()).bits()),
                    "{square} of {board:?}"
                );
            }
            also(&board, position);
            seen += 1;
            let chosen = random.pick(moves.into_iter());
            board = chosen.map_or_else(|| board.pass(), |square| board.play(square));
        }
        game += 1;
    }
}

/// The values of depth 0 to 2 of every kernel, on each position of the games.
fn check_search(count: usize) {
    let model = "builtin:square-weights"
        .parse::<ModelRef>()
        .unwrap()
        .load(Path::new(""))
        .unwrap()
        .model;
    let table = MpcTable::new(Vec::new()).unwrap();
    let kernels = KernelChoice::all().into_iter();
    let mut searchers: Vec<_> = kernels
        .map(|kernel| Searcher::with_kernel(&model.evaluation, &table, 10, kernel))
        .collect();
    check_rules(count, |board, position| {
        for depth in 0..=2 {
            let expected = negamax(&square_weights, board, depth);
            for searcher in &mut searchers {
                let found = searcher
                    .score_at_depth(position, Depth(depth as u8), MpcLevel::FullWidth)
                    .unwrap()
                    .0;
                assert_eq!(found.0, expected, "depth {depth} of {board:?}");
            }
        }
    });
}

#[test]
fn rules_and_search_are_those_of_a_plain_board() {
    check_search(2_000);
}

#[test]
#[ignore = "slow"]
fn a_million_positions_have_the_moves_of_a_plain_board() {
    check_rules(1_000_000, |_, _| ());
    check_search(100_000);
}
