//! What the readers of games and positions share: records, where they are bad, and games replayed to positions.

use crate::artifact::dataset::positions::PositionRow;
use crate::artifact::dataset::writer::ImportedGame;
use crate::artifact::error::ArtifactError;
use crate::engine::board::square::Square;
use crate::engine::game::Game;
use std::path::Path;

/// A larger file is not read.
pub const SIZE_MAX: u64 = 16 << 30;

/// The records of a file, read one by one.
pub struct Records {
    /// About how many there are; comments and empty lines may count too.
    pub total: u64,
    /// What is not used, for people.
    pub notes: Vec<String>,
    /// The records in order.
    pub iter: Box<dyn Iterator<Item = Result<ImportedGame, BadRecord>>>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("total", &self.total).field("notes", &self.notes).finish_non_exhaustive()
    }
}

/// A record that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record}, {place}: {reason}")]
pub struct BadRecord {
    /// The record, counted from 1; in a text file, its line.
    pub record: u64,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub reason: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bytes before it in the file.
    Byte(u64),
    /// A column of a table.
    Column(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Column(name) => write!(f, "column {name}"),
        }
    }
}

/// The game in which these moves were played, with all positions; `result` is what the source says of it, for black.
///
/// # Errors
///
/// The first move that the rules forbid, as its place in `moves`, or `None` if the moves lead to another result.
pub fn replay(moves: &[Square], result: Option<i8>) -> Result<ImportedGame, (Option<usize>, String)> {
    let mut game = Game::new();
    let mut rows = Vec::with_capacity(moves.len() + 1);
    for (place, &square) in moves.iter().enumerate() {
        let row = PositionRow::unlabeled(game.current(), game.ply());
        rows.push(PositionRow { played_move: Some(square.number()), ..row });
        game.play(square).map_err(|error| (Some(place), error.to_string()))?;
    }
    let mut result = result;
    if game.is_over() {
        let black_discs = game.black_discs() as i8;
        if let Some(result) = result.filter(|result| *result != black_discs) {
            return Err((None, format!("it says {result:+} discs for black, its moves lead to {black_discs:+}")));
        }
        result = Some(black_discs);
    } else {
        rows.push(PositionRow::unlabeled(game.current(), game.ply()));
    }
    for row in &mut rows {
        row.result = result.map(|result| if row.black_to_move { result } else { -result });
    }
    Ok(ImportedGame { moves: Some(game.transcript()), result, rows })
}

/// The records of a text file, a line each; `read` is given a line without its end and gives `None` for no record, or
/// the byte within the line and the reason.
pub(super) fn lines(
    path: &Path,
    read: impl Fn(&str) -> Result<Option<ImportedGame>, (usize, String)> + 'static,
) -> Result<Records, ArtifactError> {
    let bytes = crate::artifact::publish::read_bounded(path, SIZE_MAX)?;
    let total = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let (mut begin, mut record) = (0, 0);
    let next = move || {
        while begin < bytes.len() {
            let end =
                bytes[begin..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| begin + length);
            let first = std::mem::replace(&mut begin, end + 1);
            record += 1;
            let bad =
                |byte: usize, reason: String| BadRecord { record, place: Place::Byte((first + byte) as u64), reason };
            let game = match std::str::from_utf8(&bytes[first..end]) {
                Ok(line) => read(line).map_err(|(byte, reason)| bad(byte, reason)),
                Err(error) => Err(bad(error.valid_up_to(), "it is no text".into())),
            };
            if let Some(game) = game.transpose() {
                return Some(game);
            }
        }
        None
    };
    Ok(Records { total, notes: Vec::new(), iter: Box::new(std::iter::from_fn(next)) })
}

/// A line without its comment and the blanks before it.
pub(super) fn without_comment(line: &str) -> &str {
    line.split_once('#').map_or(line, |(text, _)| text).trim_end()
}
