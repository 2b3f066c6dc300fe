//! The board as text in colors.

use crate::engine::{Black, Game, Square, White};
use anstyle::{AnsiColor, Color, Style};

/// Coordinates.
const FRAME: Style = Style::new().dimmed();
/// Black discs, `X`.
const BLACK: Style = on_green(AnsiColor::Black);
/// White discs, `O`.
const WHITE: Style = on_green(AnsiColor::BrightWhite).bold();
/// Empty squares, `.`.
const EMPTY: Style = on_green(AnsiColor::Black);
/// Legal moves, `+`, and the brackets around the last move.
const MARK: Style = on_green(AnsiColor::BrightYellow).bold();

const fn on_green(color: AnsiColor) -> Style {
    Style::new()
        .fg_color(Some(Color::Ansi(color)))
        .bg_color(Some(Color::Ansi(AnsiColor::Green)))
}

/// The squares with coordinates. The last move is in brackets, and legal moves are marked if
/// `shows_moves` is set.
pub fn board_picture(game: &Game, shows_moves: bool) -> String {
    let colored = game.latest();
    let (Black(black), White(white)) = colored.boards();
    let moves = if shows_moves {
        colored.position.legal_moves()
    } else {
        0
    };
    let last = game.plies().last().copied().flatten();
    let cell = |square: Square| match square.bit() {
        bit if black & bit != 0 => ('X', BLACK),
        bit if white & bit != 0 => ('O', WHITE),
        bit if moves & bit != 0 => ('+', MARK),
        _ => ('.', EMPTY),
    };
    let rows = (0..8).map(|row| {
        let squares: Vec<Square> = (0..8)
            .filter_map(|column| Square::at(column, row))
            .collect();
        let cells = squares.iter().enumerate().map(|(column, &square)| {
            let follows_last = 0 < column && Some(squares[column - 1]) == last;
            let space = match follows_last {
                _ if Some(square) == last => '[',
                true => ']',
                false => ' ',
            };
            let (disc, style) = cell(square);
            format!("{MARK}{space}{MARK:#}{style}{disc}{style:#}")
        });
        let end = if last.is_some() && squares.last().copied() == last {
            ']'
        } else {
            ' '
        };
        format!(
            "{FRAME}{}{FRAME:#}{}{MARK}{end}{MARK:#}",
            row + 1,
            cells.collect::<String>()
        )
    });
    let rows: Vec<String> = rows.collect();
    format!("{FRAME}  a b c d e f g h{FRAME:#}\n{}", rows.join("\n"))
}

/// The number of discs of each color, and whose turn it is.
pub fn counts_text(game: &Game) -> String {
    let (Black(black), White(white)) = game.latest().boards();
    let turn = match (game.is_over(), game.latest().black_to_move) {
        (true, _) => "the game is over",
        (_, true) => "black to move",
        (_, false) => "white to move",
    };
    format!("X {}, O {}, {turn}", black.count_ones(), white.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    #[test]
    fn the_last_move_is_in_brackets_wherever_it_is() {
        let game = |moves: &str| Game::from_transcript(moves).unwrap();
        let picture = |moves: &str, shows_moves| {
            strip_str(&board_picture(&game(moves), shows_moves)).to_string()
        };
        let rows = |text: &str| {
            text.lines()
                .map(|row| row.trim_end().to_owned())
                .collect::<Vec<_>>()
        };
        let opening = rows(&picture("f5", true));
        assert_eq!(opening[0], "  a b c d e f g h");
        assert_eq!(
            opening[3..7],
            [
                "3 . . . . . . . .",
                "4 . . . O X + . .",
                "5 . . . X X[X]. .",
                "6 . . . + . + . ."
            ]
        );
        assert_eq!(rows(&picture("f5", false))[4], "4 . . . O X . . .");
        // In the last column the bracket closes after it, in the first one it opens before it.
        let corner = rows(&picture("f5f6c4g5h5", false));
        assert_eq!(corner[5], "5 . . . X X X X[X]");
        let edge = rows(&picture("c4c3c2b4a5", false));
        assert_eq!(edge[5], "5[X]. . X O . . .");
    }

    #[test]
    fn colors_change_no_letter() {
        let game = Game::from_transcript("f5d6c3").unwrap();
        let colored = board_picture(&game, true);
        assert!(colored.contains('\u{1b}'));
        let plain = strip_str(&colored).to_string();
        assert_eq!(plain.lines().nth(3), Some("3 . .[X]+ . + . . "));
        assert_eq!(counts_text(&game), "X 5, O 2, white to move");
    }
}
