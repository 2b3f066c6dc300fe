//! The games of a gate: everything needed to play them again.

use super::game_id::GameId;
use crate::artifact::table::Table;
use crate::artifact::table::row::{TableRow, table_rows};

table_rows! {
    /// A row of a gate's games table.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct GateGameRow {
        /// the game: twice the pair, plus one for the second of the pair
        game_id: GameId, Delta;
        /// the opening, played once with each color
        pair: u64, Delta;
        /// whether the candidate plays black
        candidate_black: bool, Plain;
        /// moves of the opening, which neither side chose
        opening_plies: u8, Dictionary;
        /// the moves as f5d6c3..., passes left out
        moves: String, Plain;
        /// final disc difference in discs, candidate, empties to the winner
        result: i8, Dictionary;
    }
}

/// The columns of a gate's `games/part-NNNNN.parquet`.
pub static GATE_GAMES: Table = Table {
    name: "games",
    columns: GateGameRow::COLUMNS,
    nullable: false,
};
