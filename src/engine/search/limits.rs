//! How far a search goes.

use super::depth::Depth;
use super::mpc_level::MpcLevel;
use super::selective::Selective;

/// What a search may spend, in units that give the same result on every machine.
///
/// ```
/// use renma::engine::board::notation::parse_board;
/// use renma::engine::eval::builtin::square_weights;
/// use renma::engine::{Depth, Discs, Limits, MpcTable, Searcher};
///
/// //   a b c d e f g h
/// // 1 - - X X X X X -
/// // 2 - O O O X X - O
/// // 3 - O O O X X O X
/// // 4 - O X O X O X X
/// // 5 O X X X O X X X
/// // 6 - - X O X O X X
/// // 7 - X X X O O O -
/// // 8 - O O O O O - -      black (X) to move, 14 empty squares: FFO 1
/// let board = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X";
/// let position = parse_board(board)?.position;
/// let (evaluation, mpc) = (square_weights(), MpcTable::empty());
/// let mut searcher = Searcher::new(&evaluation, &mpc, 16);
///
/// // Four moves deep the value is an estimate, and with the endgame solver it is the result of best play.
/// let limits = Limits::full_width(Depth(4));
/// assert!(!searcher.search(position, limits).exact);
/// let solved = searcher.search(position, Limits { exact_empties: 14, ..limits });
/// assert!(solved.exact);
/// assert_eq!(solved.score, Discs(18).into());
/// assert_eq!(solved.best_move, Some("g8".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Limits {
    /// Depth 0 is the static value, as a search takes it.
    pub depth: Depth,
    /// Solve exactly with at most this many empty squares; 0 never does.
    pub exact_empties: u8,
    /// Prove who wins with at most this many empty squares; 0 never does.
    pub wld_empties: u8,
    /// Stop after this many nodes, at the last finished iteration.
    pub nodes: Option<u64>,
    /// How certain a selective cut must be.
    pub mpc: MpcLevel,
    /// Forward pruning and extensions of the search by depth; exact searches have none.
    pub selective: Selective,
}

impl Limits {
    /// A full-width search of this depth, without an endgame solver.
    pub const fn full_width(depth: Depth) -> Self {
        let (mpc, selective) = (MpcLevel::FullWidth, Selective::NONE);
        Self {
            depth,
            exact_empties: 0,
            wld_empties: 0,
            nodes: None,
            mpc,
            selective,
        }
    }

    /// The depth of the result of a position with this many empty squares and a legal move, and
    /// whether its score is exact, where neither nodes nor a proof of who wins ends the search.
    /// `None`: it is exact if the model has no MPC statistics.
    pub fn outcome(&self, empties: u8) -> (Depth, Option<bool>) {
        let end = Depth(empties);
        if empties <= self.exact_empties {
            return (end, Some(true));
        }
        let depth = self.depth.min(end);
        if depth < end || self.selective != Selective::NONE {
            return (depth, Some(false));
        }
        (depth, (self.mpc == MpcLevel::FullWidth).then_some(true))
    }
}
