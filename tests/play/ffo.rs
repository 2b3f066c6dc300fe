//! The FFO endgame positions: exact scores and best moves.

use renma::artifact::{Builtin, LoadedModel};
use renma::engine::board::notation::parse_board;
use renma::engine::eval::builtin;
use renma::engine::{
    Depth, Discs, Extension, KernelChoice, Limits, MpcLevel, MpcTable, Position, Score, Searcher,
    Selective, Square,
};
use std::ops::RangeInclusive;

const TABLE_BITS: u8 = 20;

/// Solves the positions with these numbers and compares score, best move and the length of the
/// line; returns the nodes of all.
fn check(numbers: RangeInclusive<u32>, kernel: KernelChoice) -> u64 {
    let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
    let mut searcher = Searcher::with_kernel(&evaluation, &mpc, TABLE_BITS, kernel);
    let mut nodes = 0;
    for line in include_str!("../data/ffo.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let &[number, board, side, empties, score, best_moves] = fields.as_slice() else {
            panic!("{line}")
        };
        if !numbers.contains(&number.parse().unwrap()) {
            continue;
        }
        let position = parse_board(&format!("{board} {side}")).unwrap().position;
        assert_eq!(position.empties().to_string(), empties, "{line}");
        searcher.clear();
        let result = searcher.solve(position);
        nodes += result.nodes;
        assert_eq!(
            result.score,
            Score::from(Discs(score.parse().unwrap())),
            "{line}"
        );
        assert!(
            result.exact && result.complete && result.depth == Depth(position.empties()),
            "{line}"
        );
        let best = result
            .best_move
            .map(|square| square.to_string())
            .unwrap_or_default();
        assert!(
            best_moves.split(' ').any(|square| square == best),
            "{best} in {line}"
        );
        assert_eq!(result.line.first(), result.best_move.as_ref());
        assert_eq!(
            Score::from(final_discs(position, &result.line)),
            result.score,
            "{line}: {:?}",
            result.line
        );
    }
    nodes
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
fn a_board_with_more_than_sixty_empty_squares_is_solved() {
    let position = parse_board(&format!("-XO-O---{} X", "-".repeat(56)))
        .unwrap()
        .position;
    let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
    let result = Searcher::with_kernel(&evaluation, &mpc, TABLE_BITS, KernelChoice::detect())
        .solve(position);
    // Two forced moves take all discs of the other color.
    let end = Score::from(final_discs(position, &result.line));
    assert!(
        result.exact && result.complete && result.score == end,
        "{result:?}"
    );
}

// The numbers of nodes are those of this program and the same on every machine. They tell a change
// of the search that leaves the scores as they are, such as a worse order of the moves; whoever
// means to change it writes down the new ones.

#[test]
fn positions_1_to_19_are_solved() {
    assert_eq!(check(1..=19, KernelChoice::detect()), 1_408_742);
}

#[test]
fn positions_1_to_14_are_solved_by_portable_code() {
    assert_eq!(check(1..=14, KernelChoice::PORTABLE), 775_638);
}

#[test]
fn searches_by_depth_visit_the_same_nodes_as_ever() {
    let model = LoadedModel::builtin(Builtin::Champion).model;
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS);
    let full = Limits::full_width(Depth(6));
    let selective = Limits {
        mpc: MpcLevel::P87,
        ..Limits::full_width(Depth(10))
    };
    let pruned = Selective {
        threshold: Some(Score(-4_000)),
        rank: Some(8),
        extension: Some(Extension::Horizon),
    };
    let nodes = [
        full,
        selective,
        Limits {
            selective: pruned,
            ..full
        },
    ]
    .map(|limits| {
        let positions = include_str!("../data/ffo.csv").lines().skip(1).map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            parse_board(&format!("{} {}", fields[1], fields[2]))
                .unwrap()
                .position
        });
        let searched = positions.map(|position| {
            searcher.clear();
            searcher.search(position, limits).nodes
        });
        searched.sum::<u64>()
    });
    assert_eq!(nodes, [200_599, 527_279, 17_788]);
}

#[test]
#[ignore = "slow"]
fn positions_20_to_39_are_solved() {
    assert_eq!(check(20..=39, KernelChoice::detect()), 622_790_295);
}
