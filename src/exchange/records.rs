//! What all readers of games and positions share: records, the place of a bad one, and the rows of
//! a game.

use crate::artifact::{ImportedGame, PositionRow};
use crate::engine::{Game, Turn};
use std::io::{BufRead, Cursor};

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

/// The records of a text file, one per line.
///
/// `read` takes a line without its end and returns `None` for a line without a record, or the byte
/// within the line and the reason.
pub(super) fn lines(
    bytes: Vec<u8>,
    read: impl Fn(&str) -> Result<Option<ImportedGame>, (usize, String)> + 'static,
) -> Records {
    let total = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let game = move |(number, line): (u64, Vec<u8>)| {
        let text = String::from_utf8(line);
        let text = text.map_err(|error| {
            (
                error.utf8_error().valid_up_to(),
                "it is not text".to_owned(),
            )
        });
        let bad = |(byte, reason): (usize, String)| format!("line {number}, byte {byte}: {reason}");
        text.and_then(|text| read(&text)).map_err(bad).transpose()
    };
    let lines = Cursor::new(bytes).split(b'\n').map_while(Result::ok);
    Records {
        total,
        notes: Vec::new(),
        iter: Box::new((1..).zip(lines).filter_map(game)),
    }
}

/// A line without its comment and the blanks before the comment.
pub(super) fn without_comment(line: &str) -> &str {
    line.split_once('#')
        .map_or(line, |(text, _)| text)
        .trim_end()
}
