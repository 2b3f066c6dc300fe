//! The games table: one row per game.

use super::game_id::GameId;
use crate::artifact::table::Table;
use crate::artifact::table::row::{TableRow, table_rows};

table_rows! {
    /// A row of a games table; `None` is a value that the source of an imported dataset did not
    /// state.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GameRow {
        /// the game, unique in the dataset
        game_id: GameId, Delta;
        /// the moves as f5d6c3..., passes left out
        moves: String, Plain;
        /// opening plies played at random
        random_plies: Option<u8>, Dictionary;
        /// final disc difference in discs, black, empties to the winner
        result: Option<i8>, Dictionary;
        /// rows of this game in the positions table
        positions: u8, Dictionary;
    }
}

/// The columns of `games/part-NNNNN.parquet`.
pub static GAMES: Table = Table {
    name: "games",
    columns: GameRow::COLUMNS,
    nullable: false,
};

/// The same of an imported dataset, where values may be missing.
pub static IMPORTED_GAMES: Table = Table {
    nullable: true,
    ..GAMES
};
