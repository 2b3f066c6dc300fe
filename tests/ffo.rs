//! The FFO endgame positions: exact scores and best moves.

#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use renma::engine::board::notation::parse_board;
use renma::engine::eval::builtin;
use renma::engine::{Depth, Discs, KernelChoice, MpcTable, Position, Score, Searcher, Square};
use std::ops::RangeInclusive;

const TABLE_BITS: u8 = 20;

/// Solves the positions with these numbers and compares score, best move and the length of the line.
fn check(numbers: RangeInclusive<u32>, kernel: KernelChoice) {
    let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
    let mut searcher = Searcher::with_kernel(&evaluation, &mpc, TABLE_BITS, kernel);
    for line in include_str!("data/ffo.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let &[number, board, side, empties, score, best_moves] = fields.as_slice() else { panic!("{line}") };
        if !numbers.contains(&number.parse().unwrap()) {
            continue;
        }
        let position = parse_board(&format!("{board} {side}")).unwrap().position;
        assert_eq!(position.empties().to_string(), empties, "{line}");
        searcher.clear();
        let result = searcher.solve(position);
        assert_eq!(result.score, Score::from(Discs(score.parse().unwrap())), "{line}");
        assert!(result.exact && result.complete && result.depth == Depth(position.empties()), "{line}");
        let best = result.best_move.map(|square| square.to_string()).unwrap_or_default();
        assert!(best_moves.split(' ').any(|square| square == best), "{best} in {line}");
        assert_eq!(result.line.first(), result.best_move.as_ref());
        assert_eq!(Score::from(final_discs(position, &result.line)), result.score, "{line}: {:?}", result.line);
    }
}

/// The result of the game that `line` plays out, from the first side to move.
fn final_discs(mut position: Position, line: &[Square]) -> Discs {
    let mut sign = 1;
    for &square in line {
        if position.legal_moves() == 0 {
            (position, sign) = (position.pass(), -sign);
        }
        (position, sign) = (position.play(square).unwrap(), -sign);
    }
    assert!(position.is_over());
    Discs(position.final_discs().0 * sign)
}

#[test]
fn positions_1_to_19_are_solved() {
    check(1..=19, KernelChoice::detect());
}

#[test]
fn positions_1_to_14_are_solved_by_portable_code() {
    check(1..=14, KernelChoice::PORTABLE);
}

#[test]
#[ignore = "slow"]
fn positions_20_to_39_are_solved() {
    check(20..=39, KernelChoice::detect());
}
