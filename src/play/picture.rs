//! The board as plain text.

use super::history::History;
use crate::engine::board::notation::{Black, White};
use crate::engine::board::square::Square;

/// The board with coordinates, the number of discs and the side to move: `X` is black, `O` is white.
#[must_use]
pub fn board_picture(history: &History) -> String {
    let current = history.current();
    let board = current.board_text();
    let rows = Square::all().zip(board.chars()).map(|(square, disc)| {
        let disc = if disc == '-' { '.' } else { disc };
        match square.index() % 8 {
            0 => format!("{} {disc}", square.index() / 8 + 1),
            7 => format!(" {disc}\n"),
            _ => format!(" {disc}"),
        }
    });
    let (Black(black), White(white)) = current.boards();
    let turn = match (history.is_over(), current.black_to_move) {
        (true, _) => "the game is over",
        (_, true) => "black to move",
        (_, false) => "white to move",
    };
    let counts = format!("X {}, O {}, {turn}", black.count_ones(), white.count_ones());
    format!("  A B C D E F G H\n{}{counts}", rows.collect::<String>())
}
