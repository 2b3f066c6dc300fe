//! Plays Othello: rules, evaluation and search.
//!
//! Nothing here touches files, threads, the clock or randomness, so every result depends on its
//! arguments alone.

pub mod score;

pub mod board;
pub mod eval;
pub mod search;

pub mod game;

mod pages;

pub use board::kernel::KernelChoice;
pub use board::notation::{Black, ColoredPosition, NotationError, White};
pub use board::position::{Opponent, Player, Position};
pub use board::square::{Square, SquareError, Squares};
pub use board::symmetry::Symmetry;
pub use eval::evaluation::Evaluation;
pub use eval::number::{Counted, Number, Side};
pub use eval::pattern_set::{EMPTIES_MAX, Pattern, PatternKind, PatternSet, VectorShape};
pub use game::{Forbidden, Game, IllegalMove, Ply, Turn};
pub use score::{Discs, Score};
pub use search::depth::Depth;
pub use search::limits::Limits;
pub use search::move_values::MoveValue;
pub use search::mpc::{Cuts, DEEP_MAX, MpcEntry, MpcTable, PROBE_MARGIN, STATIC_MARGIN};
pub use search::mpc_level::{LEVELS, MpcLevel, NORMAL_QUANTILES};
pub use search::result::{SearchResult, Stopped};
pub use search::sampling::NodeRequest;
pub use search::searcher::Searcher;
pub use search::selective::{Extension, Selective};
pub use search::team::Team;
pub use search::window::NullWindow;
