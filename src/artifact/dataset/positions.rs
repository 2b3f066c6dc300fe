//! The positions table: one row for each position with a legal move.

use super::game_id::GameId;
use crate::artifact::table::Table;
use crate::artifact::table::row::{TableRow, table_rows};
use crate::engine::{Black, ColoredPosition, Ply, Position, Score, White};

table_rows! {
    /// A row of a positions table; a label is `None` where the source of an imported dataset did
    /// not know it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PositionRow {
        /// the game, unique in the dataset
        game_id: GameId, Delta;
        /// half-moves before this position, passes included
        ply: u8, Dictionary;
        /// empty squares
        empties: u8, Dictionary;
        /// black's discs, bit i for square i, a1 = 0, h8 = 63
        black: u64, Plain;
        /// white's discs, bit i for square i, a1 = 0, h8 = 63
        white: u64, Plain;
        /// whether black is to move
        black_to_move: bool, Plain;
        /// deep-search score in millidiscs, side to move, within 64000
        score: Option<Score>, Delta;
        /// evaluation without search in millidiscs, side to move
        static_score: Option<Score>, Delta;
        /// nominal depth of score; equals empties when exact
        depth: Option<u8>, Dictionary;
        /// whether score was solved to the end
        exact: Option<bool>, Plain;
        /// the square the search prefers
        best_move: Option<u8>, Dictionary;
        /// the square that was played
        played_move: Option<u8>, Dictionary;
        /// whether the played move was a random opening ply or exploration
        random_move: Option<bool>, Plain;
        /// final disc difference in discs, side to move, empties to the winner
        result: Option<i8>, Dictionary;
    }
}

/// The columns of `positions/part-NNNNN.parquet`.
pub static POSITIONS: Table = Table {
    name: "positions",
    columns: PositionRow::COLUMNS,
    nullable: false,
};

/// The same of an imported dataset, whose labels may be missing.
pub static IMPORTED_POSITIONS: Table = Table {
    nullable: true,
    ..POSITIONS
};

impl PositionRow {
    /// A position without any label; its game is numbered when it is written.
    pub fn unlabeled(colored: ColoredPosition, Ply(ply): Ply) -> Self {
        let (Black(black), White(white)) = colored.boards();
        let (empties, black_to_move) = (colored.position.empties(), colored.black_to_move);
        Self {
            ply,
            empties,
            black,
            white,
            black_to_move,
            ..Self::default()
        }
    }

    /// The board as the side to move sees it, if the row is valid.
    ///
    /// # Errors
    ///
    /// An invalid row: overlapping discs, a wrong number of empty squares, values beyond ±64 discs.
    pub fn position(&self) -> Result<Position, String> {
        let colored =
            ColoredPosition::from_boards(Black(self.black), White(self.white), self.black_to_move);
        let position = colored.ok_or("black and white share a square")?.position;
        if self.empties != position.empties() {
            return Err(format!(
                "empties is {}, the board has {}",
                self.empties,
                position.empties()
            ));
        }
        if let Some(Score(score)) = self.score.filter(|score| !score.is_possible()) {
            return Err(format!("score {score} is beyond ±{}", Score::MAX.0));
        }
        if let Some(result) = self.result.filter(|result| !(-64..=64).contains(result)) {
            return Err(format!("result {result} is beyond ±64"));
        }
        Ok(position)
    }

    /// Facts that a row must state whatever its game was.
    ///
    /// # Errors
    ///
    /// The first that it gets wrong.
    pub fn check(&self) -> Result<(), String> {
        let position = self.position()?;
        let empties = position.empties();
        // Discs are 4 + ply − passes, and passes are never negative.
        if self.ply < 60 - empties.min(60) {
            return Err(format!(
                "ply {} is too low for {empties} empty squares",
                self.ply
            ));
        }
        if self.exact == Some(true) {
            let score = self.score.ok_or("it is exact and has no score")?;
            if self.depth != Some(empties) {
                let depth = self
                    .depth
                    .map_or("none".to_owned(), |depth| depth.to_string());
                return Err(format!(
                    "it is exact with depth {depth} and {empties} empty squares"
                ));
            }
            if !score.is_whole() {
                return Err(format!(
                    "exact score {} is not a whole number of discs",
                    score.0
                ));
            }
        }
        let legal = position.legal_moves();
        if legal == 0 {
            return Err("the side to move has no move".into());
        }
        for (name, square) in [
            ("best_move", self.best_move),
            ("played_move", self.played_move),
        ] {
            if let Some(square) = square.filter(|square| 63 < *square || legal >> square & 1 == 0) {
                return Err(format!("{name} {square} is not legal"));
            }
        }
        Ok(())
    }
}

/// The first row of a game that contradicts those before it, by its place, and why. The positions
/// of a game come once each, in the order of play, and have one result.
pub fn contradiction(rows: &[PositionRow]) -> Option<(usize, String)> {
    let mut known: Option<i8> = None;
    for (place, row) in rows.iter().enumerate() {
        if let Some(before) = place.checked_sub(1).map(|before| &rows[before]) {
            let moves = i32::from(before.empties) - i32::from(row.empties);
            let plies = i32::from(row.ply) - i32::from(before.ply);
            let [now, then] = [row, before]
                .map(|row| format!("{} empty squares at ply {}", row.empties, row.ply));
            if moves < 1 {
                return Some((place, format!("{now} cannot follow {then} in a game")));
            }
            // At most one pass follows each move.
            if !(moves..=2 * moves).contains(&plies) {
                return Some((
                    place,
                    format!("{now} cannot follow {then}: {moves} moves are between them"),
                ));
            }
        }
        let result = row
            .result
            .map(|result| if row.black_to_move { result } else { -result });
        match (known, result) {
            (Some(known), Some(result)) if known != result => {
                return Some((
                    place,
                    format!(
                        "its game ended with {result:+} for black, and by an earlier row with {known:+}"
                    ),
                ));
            }
            _ => known = known.or(result),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::dataset::games::GAMES;
    use crate::artifact::dataset::gate_games::GATE_GAMES;
    use crate::artifact::dataset::mpc_samples::MPC_SAMPLES;
    use crate::artifact::model::mpc_file::MPC;
    use crate::artifact::model::vectors_file::vectors_table;
    use crate::artifact::model::weights_file::WEIGHTS;
    use crate::artifact::table::{Column, Footer, NEVER};
    use arrow::array::{ArrayRef, Int16Array, RecordBatch};
    use arrow::datatypes::DataType;
    use std::sync::{Arc, OnceLock};

    #[test]
    fn rows_of_a_game_contradict_each_other_in_their_order_or_their_results() {
        let row = |ply, empties, black_to_move, result| PositionRow {
            ply,
            empties,
            black_to_move,
            result,
            ..PositionRow::default()
        };
        for (rows, expected) in [
            (vec![], None),
            (
                vec![
                    row(0, 60, true, Some(4)),
                    row(1, 59, false, Some(-4)),
                    row(4, 57, true, None),
                ],
                None,
            ),
            (
                vec![
                    row(0, 60, true, None),
                    row(3, 58, false, Some(3)),
                    row(4, 57, true, Some(-3)),
                ],
                None,
            ),
            (
                vec![row(7, 53, true, None), row(7, 53, true, None)],
                Some(1),
            ),
            (
                vec![row(7, 53, true, None), row(8, 53, true, None)],
                Some(1),
            ),
            (
                vec![row(7, 53, true, None), row(6, 54, true, None)],
                Some(1),
            ),
            (
                vec![
                    row(7, 53, true, None),
                    row(8, 52, true, None),
                    row(9, 50, true, None),
                ],
                Some(2),
            ),
            (
                vec![row(7, 53, true, None), row(10, 52, true, None)],
                Some(1),
            ),
            (
                vec![row(0, 60, true, Some(4)), row(1, 59, false, Some(4))],
                Some(1),
            ),
            (
                vec![
                    row(0, 60, true, Some(0)),
                    row(1, 59, false, None),
                    row(2, 58, true, Some(2)),
                ],
                Some(2),
            ),
        ] {
            assert_eq!(
                contradiction(&rows).map(|(place, _)| place),
                expected,
                "{rows:?}"
            );
        }
    }

    #[test]
    fn missing_labels_survive_the_file_and_count_in_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let bare = PositionRow::unlabeled(ColoredPosition::START, Ply(0));
        let zero = PositionRow {
            score: Some(Score(0)),
            exact: Some(false),
            result: Some(0),
            ..bare
        };
        let content = |rows: &[PositionRow]| {
            let entry = IMPORTED_POSITIONS
                .write_rows(&path, rows, &Footer::new())
                .unwrap();
            assert_eq!(
                IMPORTED_POSITIONS
                    .read_rows::<PositionRow>(&path, &entry, &Footer::new(), &NEVER)
                    .unwrap(),
                rows
            );
            assert!(
                POSITIONS
                    .read(&path, &entry, &Footer::new(), &NEVER)
                    .is_err(),
                "self-play has no missing labels"
            );
            entry.content
        };
        assert_ne!(content(&[bare, zero]), content(&[zero, bare]));
        assert_ne!(content(&[bare]), content(&[zero]));
    }

    #[test]
    fn columns_in_another_order_are_found_by_name() {
        // The columns of a table live as long as the program.
        static SWAPPED: OnceLock<Vec<Vec<Column>>> = OnceLock::new();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let row = PositionRow {
            score: Some(Score(1)),
            static_score: Some(Score(2)),
            depth: Some(3),
            exact: Some(true),
            best_move: Some(4),
            played_move: Some(5),
            random_move: Some(false),
            result: Some(6),
            ..PositionRow::unlabeled(ColoredPosition::START, Ply(0))
        };
        let bytes_of = |table: &Table, columns| {
            let entry = table
                .write(&path, &table.batch(columns), &Footer::new())
                .unwrap();
            (entry, std::fs::read(&path).unwrap())
        };
        let ours = PositionRow::to_columns(&[row]);
        let (entry, _) = bytes_of(&POSITIONS, ours.clone());
        assert_eq!(
            POSITIONS
                .read_rows::<PositionRow>(&path, &entry, &Footer::new(), &NEVER)
                .unwrap(),
            [row]
        );
        let pairs =
            || (0..ours.len()).flat_map(|first| (0..first).map(move |second| (first, second)));
        let swapped = |(first, second)| {
            let mut columns = PositionRow::COLUMNS.to_vec();
            columns.swap(first, second);
            columns
        };
        let tables = SWAPPED.get_or_init(|| pairs().map(swapped).collect());
        for ((first, second), columns) in pairs().zip(tables) {
            let mut values = ours.clone();
            values.swap(first, second);
            let swapped = Table {
                columns,
                ..POSITIONS
            };
            let (entry, bytes) = bytes_of(&swapped, values);
            let batch = POSITIONS.decode(&path, bytes.into(), 1).unwrap();
            assert_eq!(
                PositionRow::from_batch(&batch).unwrap(),
                [row],
                "{first} and {second}"
            );
            // The hash that another writer made in its own order is not the one of the table.
            assert!(
                POSITIONS
                    .read(&path, &entry, &Footer::new(), &NEVER)
                    .is_err(),
                "{first} and {second}"
            );
            assert_eq!(
                PositionRow::from_batch(&swapped.batch(batch_in(&swapped, &batch))).unwrap(),
                [row]
            );
        }
    }

    #[test]
    fn a_number_that_no_row_can_have_is_an_error_with_its_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let row = PositionRow::unlabeled(ColoredPosition::START, Ply(0));
        for (index, name) in [
            (1, "ply"),
            (2, "empties"),
            (8, "depth"),
            (10, "best_move"),
            (11, "played_move"),
        ] {
            for value in [-5, 300] {
                let mut columns = PositionRow::to_columns(&[row]);
                columns[index] = Arc::new(Int16Array::from(vec![value]));
                let batch = IMPORTED_POSITIONS.batch(columns);
                let entry = IMPORTED_POSITIONS
                    .write(&path, &batch, &Footer::new())
                    .unwrap();
                let error = IMPORTED_POSITIONS
                    .read_rows::<PositionRow>(&path, &entry, &Footer::new(), &NEVER)
                    .unwrap_err()
                    .to_string();
                let expected =
                    format!("part.parquet: column {name} holds {value}, which is out of range");
                assert!(error.ends_with(&expected), "{error}");
            }
        }
    }

    #[test]
    fn no_column_of_any_table_wraps_in_8_bits() {
        let tables = [
            &POSITIONS,
            &GAMES,
            &GATE_GAMES,
            &MPC_SAMPLES,
            &WEIGHTS,
            &vectors_table(32),
            &MPC,
        ];
        for (table, column) in tables
            .iter()
            .flat_map(|table| table.columns.iter().map(move |column| (table, column)))
        {
            let narrow = [DataType::Int8, DataType::UInt8];
            assert!(
                !narrow.contains(&column.data_type),
                "{}: {}",
                table.name,
                column.name
            );
        }
    }

    fn batch_in(table: &Table, batch: &RecordBatch) -> Vec<ArrayRef> {
        table
            .columns
            .iter()
            .map(|column| Arc::clone(batch.column_by_name(column.name).unwrap()))
            .collect()
    }
}
