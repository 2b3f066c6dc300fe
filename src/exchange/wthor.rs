//! WTHOR: tournament games since 1977, published by the French Othello Federation (FFO).
//!
//! A header of 16 bytes: date (century, year, month, day), games N1 (i32, little endian), N2 (i16),
//! year (i16), board size P1 (0 or 8; 10 is another game), type P2 (1 is not
//! games but problems), depth P3 of the theoretical
//! scores, a reserved byte. Then N1 records of 68 bytes: numbers of tournament, black and white
//! (i16 each), black's discs at the end, their number after best play from depth P3, and 60 moves,
//! each 10 × row + column from 11 to 88, passes left out; 0 ends a game that was given up.

use super::packed::check_unpacked;
use super::records::{Records, imported};
use crate::artifact::{ArtifactError, ImportedGame};
use crate::engine::{Game, Square};
use std::path::Path;

const HEADER_SIZE: usize = 16;

const RECORD_SIZE: usize = 68;

/// The type P2 of a file of problems.
const SOLITAIRES: u8 = 1;

/// The byte of a record that holds black's discs.
const SCORE: usize = 6;

/// The first byte of the moves in a record.
const MOVES: usize = 8;

/// Reads the games in the bytes of a `.wtb` file; their results are those of the moves, or of the
/// record where a game was given up.
///
/// # Errors
///
/// A file whose header is not that of games on 8 × 8 squares.
pub fn read_wthor(path: &Path, bytes: Vec<u8>) -> Result<Records, ArtifactError> {
    check_unpacked(path, &bytes)?;
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let header = bytes.first_chunk::<HEADER_SIZE>();
    let header =
        header.ok_or_else(|| damaged(format!("byte {}: the header ends early", bytes.len())))?;
    let count = i32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let count =
        usize::try_from(count).map_err(|_| damaged(format!("byte 4: it claims {count} games")))?;
    if !matches!(header[12], 0 | 8) {
        let reason = format!("byte 12: its board size is {}, 0 or 8 expected", header[12]);
        return Err(ArtifactError::unfit(path, reason));
    }
    if header[13] == SOLITAIRES {
        let reason = "byte 13: its type is 1: problems for one player, not games";
        return Err(ArtifactError::unfit(path, reason));
    }
    let mut index = 0;
    let next = move || {
        let begin = HEADER_SIZE + index * RECORD_SIZE;
        let rest = bytes.get(begin..).unwrap_or_default();
        index += 1;
        let bad = |byte: usize, reason: String| {
            format!("record {index}, byte {}: {reason}", begin + byte)
        };
        if count < index {
            let extra = index == count + 1 && !rest.is_empty();
            return extra
                .then(|| Err(bad(0, format!("{} bytes follow the last game", rest.len()))));
        }
        let Some(record) = rest.first_chunk::<RECORD_SIZE>() else {
            // All games that the header claims and the file lacks are one bad record.
            let reason = format!("the file ends, and its header claims {count} games");
            let end = bad(rest.len(), reason);
            index = count;
            return Some(Err(end));
        };
        Some(read_game(record).map_err(|(byte, reason)| bad(byte, reason)))
    };
    Ok(Records {
        total: count as u64,
        notes: Vec::new(),
        iter: Box::new(std::iter::from_fn(next)),
    })
}

/// One game, or the byte within the record and what is wrong.
fn read_game(record: &[u8; RECORD_SIZE]) -> Result<ImportedGame, (usize, String)> {
    let black = record[SCORE];
    if 64 < black {
        return Err((SCORE, format!("black has {black} discs")));
    }
    let numbers = &record[MOVES..];
    let count = numbers
        .iter()
        .position(|&number| number == 0)
        .unwrap_or(numbers.len());
    if let Some(place) = numbers[count..].iter().position(|&number| number != 0) {
        return Err((
            MOVES + count + place,
            "a move follows the end of the game".into(),
        ));
    }
    if count == 0 {
        return Err((MOVES, "it has no moves".into()));
    }
    let mut moves = Vec::with_capacity(count);
    for (place, &number) in numbers[..count].iter().enumerate() {
        let (row, column) = ((number / 10).wrapping_sub(1), (number % 10).wrapping_sub(1));
        let square = Square::at(column, row);
        moves.push(square.ok_or_else(|| {
            (
                MOVES + place,
                format!("{number} is not a square: 11 to 88 expected"),
            )
        })?);
    }
    let result = (2 * i16::from(black) - 64) as i8;
    let game =
        Game::from_moves(moves).map_err(|error| (MOVES + error.number - 1, error.to_string()))?;
    imported(&game, Some(result)).map_err(|reason| (SCORE, reason))
}
