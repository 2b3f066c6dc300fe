//! Text: boards of 64 characters, OBF lines and move transcripts.

use super::position::{Opponent, Player, Position};
use super::square::{Square, SquareError};
use crate::engine::score::Discs;

/// What Edax writes for a score that it does not know.
const EDAX_UNKNOWN: Discs = Discs(-127);

/// A move that is not named; where the rules force a pass, the pass.
pub const NO_MOVE: &str = "--";

/// The black discs, as a set of squares: bit 0 is a1, bit 63 is h8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Black(pub u64);

/// The white discs, as a set of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct White(pub u64);

/// A position with the color of the side to move, as files and people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ColoredPosition {
    /// The discs, seen by the side to move.
    pub position: Position,
    /// Whether that side is black (`X`).
    pub black_to_move: bool,
}

impl ColoredPosition {
    /// The start of a game.
    pub const START: Self = Self {
        position: Position::START,
        black_to_move: true,
    };

    /// A position from the discs of each color, unless a square holds both.
    ///
    /// ```
    /// use renma::engine::board::notation::{Black, ColoredPosition, White};
    /// let (black, white) = ColoredPosition::START.boards();
    /// assert_eq!(ColoredPosition::from_boards(black, white, true), Some(ColoredPosition::START));
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use renma::engine::board::notation::{Black, ColoredPosition, White};
    /// let (black, white) = ColoredPosition::START.boards();
    /// assert_eq!(ColoredPosition::from_boards(white, black, true), Some(ColoredPosition::START));
    /// ```
    pub fn from_boards(
        Black(black): Black,
        White(white): White,
        black_to_move: bool,
    ) -> Option<Self> {
        let (player, opponent) = if black_to_move {
            (black, white)
        } else {
            (white, black)
        };
        Some(Self {
            position: Position::new(Player(player), Opponent(opponent))?,
            black_to_move,
        })
    }

    /// The discs of each color.
    pub fn boards(self) -> (Black, White) {
        let (player, opponent) = (self.position.player(), self.position.opponent());
        if self.black_to_move {
            (Black(player), White(opponent))
        } else {
            (Black(opponent), White(player))
        }
    }

    /// The board as 64 characters from a1: `X` black, `O` white, `-` empty.
    pub fn board_text(self) -> String {
        let (Black(black), White(white)) = self.boards();
        let character =
            |square: Square| match (black & square.bit() != 0, white & square.bit() != 0) {
                (true, _) => 'X',
                (_, true) => 'O',
                _ => '-',
            };
        Square::all().map(character).collect()
    }

    /// The side to move, `X` or `O`.
    pub const fn side_text(self) -> &'static str {
        if self.black_to_move { "X" } else { "O" }
    }
}

/// A line of an OBF file: a position, and what it says of its moves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ObfLine {
    #[expect(missing_docs, reason = "the name says it")]
    pub colored: ColoredPosition,
    /// In the order of the line; moves without a known score are left out.
    pub scores: Vec<MoveScore>,
}

/// A score that a file lists, with its legal move; `None` is the pass that the rules force, or a
/// best move that the file does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MoveScore {
    pub square: Option<Square>,
    pub discs: Discs,
}

/// Why a line is not a position; `byte` counts from 0 within the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {byte}: {reason}")]
#[expect(missing_docs, reason = "the names say it")]
pub struct NotationError {
    pub byte: usize,
    pub reason: String,
}

fn error(byte: usize, reason: impl Into<String>) -> NotationError {
    NotationError {
        byte,
        reason: reason.into(),
    }
}

/// Whether a line begins with a move, perhaps a numbered one: no board begins with a letter and a
/// digit from 1 to 8.
pub fn is_transcript(line: &str) -> bool {
    let mut letters = after_number(line).bytes();
    letters
        .next()
        .is_some_and(|column| matches!(column, b'a'..=b'h' | b'A'..=b'H'))
        && letters.next().is_some_and(|row| matches!(row, b'1'..=b'8'))
}

/// Reads a line of an OBF file, without its line end; `None` for an empty line or a comment (`%`,
/// `#`).
///
/// # Errors
///
/// The byte and the reason, where the line is something else.
pub fn parse_obf(line: &str) -> Result<Option<ObfLine>, NotationError> {
    let text = line.trim_end();
    if text.is_empty() || text.starts_with(['%', '#']) {
        return Ok(None);
    }
    let mut fields = text.split(';');
    let head = fields.next().unwrap_or_default();
    let colored = parse_board(head)?;
    let mut scores = Vec::new();
    let mut byte = head.len() + 1;
    for field in fields {
        if !field.trim().is_empty() {
            let score = parse_scored_move(field.trim(), colored.position)
                .map_err(|reason| error(byte, reason))?;
            scores.extend(score);
        }
        byte += field.len() + 1;
    }
    Ok(Some(ObfLine { colored, scores }))
}

/// Reads `64 characters`, blanks and the side to move.
///
/// # Errors
///
/// The byte and the reason, where the text is something else.
pub fn parse_board(text: &str) -> Result<ColoredPosition, NotationError> {
    let (mut black, mut white) = (0_u64, 0_u64);
    let bytes = text.as_bytes();
    let length = bytes
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(bytes.len());
    // The side to move may follow the board without a blank.
    let side_length = length.saturating_sub(64);
    if length < 64 || 1 < side_length || side_length == 1 && !text[length..].trim().is_empty() {
        return Err(error(
            length.min(64),
            format!("the board has {length} characters, 64 expected: `X`, `O` and `-`"),
        ));
    }
    for (square, &character) in Square::all().zip(bytes) {
        match character {
            b'X' | b'x' | b'*' | b'B' | b'b' => black |= square.bit(),
            b'O' | b'o' | b'0' | b'W' | b'w' => white |= square.bit(),
            b'-' | b'.' | b'_' => {}
            _ => return Err(error(square.index(), "a board holds `X`, `O` and `-` only")),
        }
    }
    let side = String::from_utf8_lossy(&bytes[64..]);
    let black_to_move = match side.trim() {
        "X" | "x" | "*" | "B" | "b" => true,
        "O" | "o" | "W" | "w" => false,
        _ => {
            return Err(error(
                64,
                "the side to move is missing: expected ` X;` or ` O;`",
            ));
        }
    };
    ColoredPosition::from_boards(Black(black), White(white), black_to_move)
        .ok_or_else(|| error(0, "a square holds two discs"))
}

/// Reads a move or a pass of a position with its score in discs: `g8:+18`, or the score of a best
/// move that is not named: `--:+18`. Without a known score it is `None`: Edax names a line of
/// moves, whose score is that of the first, and has a score for those that it does not know:
/// `a1:--:-127`.
fn parse_scored_move(text: &str, position: Position) -> Result<Option<MoveScore>, String> {
    let (names, discs) = text
        .rsplit_once(':')
        .map_or((text, None), |(names, discs)| (names, Some(discs)));
    let moves: Result<Vec<_>, _> = names.split(':').map(parse_move).collect();
    let moves = moves.map_err(|error| error.to_string())?;
    let (Some(discs), Some(&square)) = (discs, moves.first()) else {
        return Ok(None);
    };
    let discs = discs.trim().trim_start_matches('+');
    let discs = Discs(
        discs
            .parse()
            .map_err(|_| format!("`{}` is not a score in discs", discs.escape_debug()))?,
    );
    let legal = position.legal_moves();
    match square {
        _ if discs == EDAX_UNKNOWN => Ok(None),
        _ if discs < Discs::MIN || Discs::MAX < discs => {
            Err(format!("{} discs is beyond ±64", discs.0))
        }
        Some(square) if legal & square.bit() == 0 => Err(format!("{square} is illegal")),
        None if legal != 0 && !names.trim_start().starts_with(NO_MOVE) => {
            Err("a pass is illegal: there is a legal move".to_owned())
        }
        square => Ok(Some(MoveScore { square, discs })),
    }
}

/// Reads a move or a pass (`PA`), which may be followed by its evaluation and its time: `F5`,
/// `f5/1.20/0.50`, `F5//6`.
///
/// # Errors
///
/// A text that names neither.
pub fn parse_move(text: &str) -> Result<Option<Square>, SquareError> {
    let name = text.split('/').next().unwrap_or_default().trim();
    if ["pa", "pass", "ps", NO_MOVE]
        .iter()
        .any(|pass| name.eq_ignore_ascii_case(pass))
    {
        return Ok(None);
    }
    name.parse().map(Some)
}

/// A move, or the word for a pass.
pub fn move_text(square: Option<Square>, pass: &str) -> String {
    square.map_or_else(|| pass.to_owned(), |square| square.to_string())
}

/// The moves and passes (`None`) of a transcript `f5d6c3…`, each with its first byte, up to the
/// first text that is neither; blanks, commas and the numbers of moves (`1. f5 d6 2. c3`) are ignored, and
/// the rules are not checked.
pub fn parse_moves(
    text: &str,
) -> impl Iterator<Item = Result<(usize, Option<Square>), NotationError>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = after_number(rest);
        let byte = text.len() - rest.len();
        let is_long = rest
            .get(..4)
            .is_some_and(|word| word.eq_ignore_ascii_case("pass"));
        let mut letters = rest
            .char_indices()
            .filter(|(_, letter)| !letter.is_whitespace());
        let name: String = letters
            .by_ref()
            .take(if is_long { 4 } else { 2 })
            .map(|(_, letter)| letter)
            .collect();
        rest = letters.next().map_or("", |(next, _)| &rest[next..]);
        let square = || parse_move(&name).map_err(|reason| error(byte, reason.to_string()));
        (!name.is_empty()).then(|| square().map(|square| (byte, square)))
    })
}

/// A text after the blanks and commas and the number of a move, such as `12.`, with which it
/// begins.
fn after_number(text: &str) -> &str {
    let is_blank = |letter: char| letter.is_whitespace() || letter == ',';
    let text = text.trim_start_matches(is_blank);
    let end = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_number = end.starts_with(['.', ',', ')', ':']) && end.len() < text.len();
    if is_number {
        end.trim_start_matches(['.', ',', ')', ':'])
            .trim_start_matches(is_blank)
    } else {
        text
    }
}

/// A transcript as [`parse_moves`] reads it.
pub fn moves_text(moves: impl IntoIterator<Item = Square>) -> String {
    moves.into_iter().map(|square| square.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_survives_text() {
        let line = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; g8:+18;";
        let ObfLine { colored, .. } = parse_obf(line).unwrap().unwrap();
        assert_eq!(
            (colored.board_text(), colored.side_text()),
            (line[..64].to_owned(), "X")
        );
        assert_eq!(parse_obf("  "), Ok(None));
    }

    #[test]
    fn a_line_keeps_the_scores_that_are_known() {
        let start = ColoredPosition::START.board_text();
        let passes = format!("OX{}", "-".repeat(62));
        let over = "-".repeat(64);
        for (board, listed, expected) in [
            (&start, " X;", vec![]),
            (
                &start,
                " X; d3:+2;C4:-4 ; e6:0",
                vec![("d3", 2), ("c4", -4), ("e6", 0)],
            ),
            (
                &start,
                " X; A1:--:-127;--:-127;; a1:-127; f5:64;",
                vec![("f5", 64)],
            ),
            (&start, " X; d3; pa; a1", vec![]),
            (
                &start,
                " X; d3:c3:+2; e6:--:-64;",
                vec![("d3", 2), ("e6", -64)],
            ),
            (&passes, " X; pa:-2;", vec![("--", -2)]),
            (&over, " O; --:+0;", vec![("--", 0)]),
            (
                &start,
                " X; --:+2; d3:-4; --:c4:-6",
                vec![("--", 2), ("d3", -4), ("--", -6)],
            ),
        ] {
            let read = parse_obf(&format!("{board}{listed}")).unwrap().unwrap();
            assert_eq!(read.colored.board_text(), **board, "{listed}");
            let scores: Vec<_> = read
                .scores
                .iter()
                .map(|&MoveScore { square, discs }| (square, discs.0))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|&(name, discs)| (parse_move(name).unwrap(), discs))
                .collect();
            assert_eq!(scores, expected, "{listed}");
        }
    }

    #[test]
    fn a_score_of_an_illegal_move_is_an_error() {
        let start = ColoredPosition::START.board_text();
        for (listed, words) in [
            (" X; d3:0; a1:+2;", "a1 is illegal"),
            (" X; d3:0; d4:+2;", "d4 is illegal"),
            (
                " X; d3:0; pa:+2;",
                "a pass is illegal: there is a legal move",
            ),
            (" X; d3:0; e6:65;", "65 discs is beyond ±64"),
            (" X; d3:0; e6:-65", "-65 discs is beyond ±64"),
        ] {
            let error = parse_obf(&format!("{start}{listed}")).unwrap_err();
            assert_eq!((error.byte, error.reason.as_str()), (73, words), "{listed}");
        }
    }

    #[test]
    fn a_bad_line_names_the_byte() {
        let board = "-".repeat(64);
        for (line, byte) in [
            ("XO".to_string(), 2),
            (format!("{} X;", &board[1..]), 63),
            (format!("-{board} X;"), 64),
            (format!("{board}--"), 64),
            (board.replacen('-', "?", 5).replacen('?', "-", 4), 4),
            (board.clone(), 64),
            (format!("{board} X; z9:3"), 67),
            (format!("{board} X; a1:99"), 67),
            (format!("{board} X; a1:--:-128"), 67),
            (format!("{board} X; a1:99:-127"), 67),
        ] {
            assert_eq!(parse_obf(&line).unwrap_err().byte, byte, "{line}");
        }
    }

    #[test]
    fn a_board_of_another_length_says_how_long_it_is() {
        for length in [0, 63, 65, 66] {
            let reason = parse_obf(&format!("{} X;", "-".repeat(length))).map(|_| ());
            let expected = format!("the board has {length} characters, 64 expected");
            // Without a board the line is blank up to the side to move.
            assert!(
                reason.clone().unwrap_err().reason.starts_with(&expected),
                "{reason:?}"
            );
        }
        for side in ["X;", " X;", "O", "   O ;"] {
            assert!(
                parse_obf(&format!("{}{side}", "-".repeat(64))).is_ok(),
                "{side}"
            );
        }
    }

    #[test]
    fn a_transcript_is_a_list_of_squares() {
        let read = |text: &str| parse_moves(text).collect::<Result<Vec<_>, _>>();
        let moves = read("f5 D6c3").unwrap();
        assert_eq!(
            moves.iter().map(|(byte, _)| *byte).collect::<Vec<_>>(),
            [0, 3, 5]
        );
        assert_eq!(
            moves_text(moves.into_iter().filter_map(|(_, square)| square)),
            "f5d6c3"
        );
        for numbered in [
            "1. f5 2. D6 3. c3",
            "1.f5d6 2.c3",
            "f5,d6, c3",
            "1,f5,2,d6,3,c3",
            "1. f5, d6, 2) c3,",
            "1: f5 ,2: d6 3: c3",
            " 1. f5 1... d6 2. c3 ",
            "F5D6C3",
        ] {
            let moves = read(numbered).unwrap();
            assert_eq!(
                moves_text(moves.into_iter().filter_map(|(_, square)| square)),
                "f5d6c3",
                "{numbered}"
            );
            assert!(is_transcript(numbered), "{numbered}");
        }
        assert!(!is_transcript("0.bb..") && !is_transcript("1 f5"));
        for passed in [
            "f5 pass d6",
            "f5--d6",
            "1. F5 PA 2. D6",
            "f5psd6",
            "F5PASSD6",
        ] {
            let moves: Vec<_> = read(passed)
                .unwrap()
                .into_iter()
                .map(|(_, square)| move_text(square, "pass"))
                .collect();
            assert_eq!(moves, ["f5", "pass", "d6"], "{passed}");
        }
        assert_eq!(read("f5 pas").unwrap_err().byte, 5);
        assert_eq!(read("1. f5 2 d6").unwrap_err().byte, 6);
        assert_eq!(read("f5d").unwrap_err().byte, 2);
        assert_eq!(read("f5d9").unwrap_err().byte, 2);
    }

    #[test]
    fn a_move_has_one_name_and_a_pass_several() {
        for text in ["F5", " f5/1.20/0.50", "f5//6"] {
            assert_eq!(move_text(parse_move(text).unwrap(), "pass"), "f5", "{text}");
        }
        for text in ["pa", "PASS", "ps", "--", "PA/1"] {
            assert_eq!(
                move_text(parse_move(text).unwrap(), "pass"),
                "pass",
                "{text}"
            );
        }
        assert!(parse_move("f9").is_err() && parse_move("").is_err());
    }
}
