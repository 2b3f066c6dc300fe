//! What people type.

use super::level::{Level, LevelError};
use crate::engine::Square;
use crate::engine::board::notation::parse_move;
use std::path::PathBuf;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// A move; `None` is a pass.
    Move(Option<Square>),
    Hint,
    Values,
    Undo,
    Redo,
    Go,
    /// `None` shows it.
    Level(Option<Level>),
    You(You),
    New,
    Setup(String),
    Review,
    Save {
        path: PathBuf,
        overwrite: bool,
    },
    Load(PathBuf),
    Board,
    Help,
    Quit,
}

/// Which colors a person plays; the engine plays the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum You {
    Black,
    White,
    Both,
}

impl You {
    /// Whether a person plays this color.
    pub(super) fn play(self, black: bool) -> bool {
        match self {
            Self::Black => black,
            Self::White => !black,
            Self::Both => true,
        }
    }
}

/// Every command with its arguments and what it does.
const HELP: [(&str, &str); 18] = [
    ("f5", "a move; passes are automatic"),
    ("hint", "best move and what follows"),
    ("values", "what each legal move is worth"),
    ("undo", "take back your last move"),
    ("redo", "play it again"),
    ("go", "let the engine move for you"),
    ("level [N]", "1 to 20 moves ahead"),
    ("black", "you play black"),
    ("white", "you play white"),
    ("both", "you play both colors"),
    ("new", "begin a new game"),
    ("setup GAME", "moves, or a board as OBF"),
    ("review", "which moves lost discs"),
    ("save FILE", "write the game to a new file"),
    ("save! FILE", "to an older one too"),
    ("load FILE", "read a game and continue it"),
    ("board", "show the board again"),
    ("quit", "the end, as Ctrl-D"),
];

/// The list of all commands.
pub(super) fn help_text() -> String {
    let lines: String = HELP.iter().map(|(command, meaning)| format!("{command:<10} {meaning}\n")).collect();
    format!("{lines}Short forms: h, v, u, r, b, q\nValues are discs for the side to move")
}

impl Command {
    /// Reads a line that is not blank; the error is a sentence without a full stop.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        let (name, rest) = (word.to_ascii_lowercase(), rest.trim());
        let needed = |what: &str| {
            if rest.is_empty() { Err(format!("{name} needs {what}")) } else { Ok(rest.to_owned()) }
        };
        let command = match name.as_str() {
            "level" if rest.is_empty() => Self::Level(None),
            "level" => Self::Level(Some(rest.parse().map_err(|error: LevelError| error.to_string())?)),
            "setup" => Self::Setup(needed("moves or a board")?),
            "save" | "save!" => Self::Save { path: needed("a file")?.into(), overwrite: name.ends_with('!') },
            "load" => Self::Load(needed("a file")?.into()),
            _ => {
                let command = Self::of_one_word(&name)?;
                return if rest.is_empty() { Ok(command) } else { Err(format!("{name} stands alone")) };
            }
        };
        Ok(command)
    }

    fn of_one_word(name: &str) -> Result<Self, String> {
        Ok(match name {
            "hint" | "h" => Self::Hint,
            "values" | "v" => Self::Values,
            "undo" | "u" => Self::Undo,
            "redo" | "r" => Self::Redo,
            "go" => Self::Go,
            "black" => Self::You(You::Black),
            "white" => Self::You(You::White),
            "both" => Self::You(You::Both),
            "new" => Self::New,
            "review" => Self::Review,
            "board" | "b" => Self::Board,
            "help" => Self::Help,
            "quit" | "q" => Self::Quit,
            _ => {
                return parse_move(name)
                    .map(Self::Move)
                    .map_err(|_| format!("no such command: {} (try help)", start(name)));
            }
        })
    }
}

/// The beginning of a text, on one line.
fn start(text: &str) -> String {
    const LENGTH_MAX: usize = 8;
    let shown: String = text.chars().filter(|letter| !letter.is_control()).take(LENGTH_MAX).collect();
    if shown.len() < text.len() { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_help_is_one() {
        for (usage, _) in HELP {
            let line = usage.replace("[N]", "3").replace("FILE", "a file.txt").replace("GAME", "f5 d6");
            assert!(Command::parse(&line).is_ok(), "{usage}: {:?}", Command::parse(&line));
        }
        assert!(help_text().lines().all(|line| line.chars().count() <= 40), "{}", help_text());
        for (short, long) in
            [("h", "hint"), ("v", "values"), ("u", "undo"), ("r", "redo"), ("b", "board"), ("q", "quit")]
        {
            assert_eq!(Command::parse(short), Command::parse(long));
        }
        assert_eq!(Command::parse("LEVEL 7 "), Ok(Command::Level("7".parse().ok())));
        assert_eq!(Command::parse("F5"), Ok(Command::Move("f5".parse().ok())));
        assert_eq!(Command::parse("pass"), Ok(Command::Move(None)));
        let saved = Command::Save { path: "my games/1".into(), overwrite: true };
        assert_eq!(Command::parse("save! my games/1"), Ok(saved));
    }

    #[test]
    fn anything_else_is_an_error_of_one_line() {
        for (line, expected) in [
            ("i9", "no such command: i9 (try help)"),
            ("f5 d6", "f5 stands alone"),
            ("level 0", "a level is a number from 1 to 20"),
            ("save", "save needs a file"),
            ("setup", "setup needs moves or a board"),
            ("\u{1b}[31mmischief and more", "no such command: [31mmisc... (try help)"),
        ] {
            assert_eq!(Command::parse(line), Err(expected.to_owned()), "{line}");
        }
    }
}
