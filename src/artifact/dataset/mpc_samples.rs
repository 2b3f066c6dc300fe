//! The samples of a fit of MPC statistics: full-width searches of the same position to every depth
//! wanted.

use super::game_id::GameId;
use crate::artifact::table::Table;
use crate::artifact::table::row::{TableRow, table_rows};
use crate::engine::Score;

table_rows! {
    /// A row of the samples table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MpcSampleRow {
        /// the position
        sample_id: u64, Delta;
        /// the game that it, or the search that met it, is from
        game_id: GameId, Delta;
        /// empty squares
        empties: u8, Dictionary;
        /// discs of the side to move, bit i for square i
        player: u64, Plain;
        /// discs of the other side, bit i for square i
        opponent: u64, Plain;
        /// remaining depth at which a search met it in a null window; 0: a position of the game
        met_depth: u8, Dictionary;
        /// the lower bound of that window in millidiscs, side to move; null: a position of the game
        alpha: Option<Score>, Delta;
        /// depth of the search; equal to empties, the end of the game
        depth: u8, Dictionary;
        /// its score in millidiscs, side to move
        score: Score, Delta;
        /// nodes that it took
        nodes: u64, Delta;
    }
}

/// The columns of `samples/part-NNNNN.parquet`.
pub static MPC_SAMPLES: Table = Table {
    name: "samples",
    columns: MpcSampleRow::COLUMNS,
    nullable: true,
};
