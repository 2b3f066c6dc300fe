//! OBF: one position per line.

use crate::artifact::output::first_bytes;
use crate::artifact::{FileKind, PositionRow};
use crate::engine::board::notation::{NO_MOVE, move_text, parse_obf};
use crate::engine::{Black, ColoredPosition, Discs, Square, White};
use std::io::{self, Write};

/// A longer line is not OBF: 64 squares, the side to move and about 30 scored moves at most.
const LINE_SIZE_MAX: u64 = 1 << 10;

/// A file that begins with a position.
pub const OBF_FILE: FileKind = FileKind {
    name: "an OBF file of positions",
    matches: |path| {
        let bytes = first_bytes(path, LINE_SIZE_MAX)?;
        let line = bytes
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        Ok(std::str::from_utf8(line)
            .is_ok_and(|line| parse_obf(line).is_ok_and(|position| position.is_some())))
    },
};

/// Writes a row of a dataset as a line: the position, and its score if it is known, with the best
/// move or `--`, rounded to whole discs, half away from zero.
///
/// # Errors
///
/// A system error, or a row that is not a position.
pub fn write_obf_row(writer: &mut (impl Write + ?Sized), row: &PositionRow) -> io::Result<()> {
    let colored =
        ColoredPosition::from_boards(Black(row.black), White(row.white), row.black_to_move);
    let colored = colored.ok_or_else(|| io::Error::other("black and white share a square"))?;
    write!(writer, "{} {};", colored.board_text(), colored.side_text())?;
    if let Some(score) = row.score {
        let Discs(discs) = Discs::rounded(score);
        let best_move = move_text(row.best_move.and_then(Square::new), NO_MOVE);
        write!(writer, " {best_move}:{discs:+};")?;
    }
    writeln!(writer)
}
