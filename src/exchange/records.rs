//! What all readers of games and positions share: records, the place of a bad one, and the rows of
//! a game.

use super::text::{TextRecord, TextRecords};
use crate::artifact::{ArtifactError, ImportedGame, PositionRow};
use crate::engine::{Game, Turn};
use std::path::Path;

/// A larger file is refused.
pub const SIZE_MAX: u64 = 16 << 30;

/// The records of a file, read one by one.
pub struct Records {
    /// About how many there are; comments and empty lines may count too.
    pub total: u64,
    /// What is not used of the file, for people.
    pub notes: Vec<String>,
    /// The records in order, or for one that cannot be used, its place in the file and what is
    /// wrong.
    pub iter: Box<dyn Iterator<Item = Result<ImportedGame, String>>>,
}

/// A game with all its positions; `result` is what the source says, in discs for black.
///
/// # Errors
///
/// Moves that lead to another result.
pub fn imported(game: &Game, mut result: Option<i8>) -> Result<ImportedGame, String> {
    let mut rows: Vec<PositionRow> = Vec::with_capacity(game.plies().len() + 1);
    rows.extend(game.turns().map(
        |Turn {
             ply,
             colored,
             square,
         }| PositionRow {
            played_move: Some(square.number()),
            ..PositionRow::unlabeled(colored, ply)
        },
    ));
    if game.is_over() {
        let black_discs = game.black_discs().0 as i8;
        if let Some(result) = result.filter(|result| *result != black_discs) {
            return Err(format!(
                "it says {result:+} discs for black, its moves lead to {black_discs:+}"
            ));
        }
        result = Some(black_discs);
    } else {
        rows.push(PositionRow::unlabeled(game.to_move(), game.ply()));
    }
    for row in &mut rows {
        row.result = result.map(|result| if row.black_to_move { result } else { -result });
    }
    Ok(ImportedGame {
        moves: Some(game.transcript()),
        result,
        rows,
    })
}

/// The records of a text file; errors of the file as a whole call it `path`.
///
/// `read` returns the byte within the record and the reason, for one that cannot be used.
pub(super) fn text_records(
    path: &Path,
    bytes: Vec<u8>,
    read: impl Fn(&str) -> Result<ImportedGame, (usize, String)> + 'static,
) -> Result<Records, ArtifactError> {
    let total = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let game = move |record: Result<TextRecord, String>| {
        let record = record?;
        read(&record.text).map_err(|(byte, reason)| record.bad(byte, &reason))
    };
    Ok(Records {
        total,
        notes: Vec::new(),
        iter: Box::new(TextRecords::new(path, bytes)?.map(game)),
    })
}
