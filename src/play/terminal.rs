//! A game on a terminal: a person types moves and commands, line by line, and the engine answers.
//! Fits 40 columns.

use super::levels::{Level, levels_text};
use super::lines::{LINE_SIZE_MAX, Lines};
use super::picture::{board_picture, counts_text};
use super::session::GameSession;
use super::session::review::{REVIEW_LIMITS, ReviewedMove};
use crate::artifact::line::visible;
use crate::artifact::output::first_bytes;
use crate::artifact::publish::read_bounded;
use crate::artifact::{ArtifactError, FileKind, Model, OutputFile};
use crate::engine::board::notation::{move_text, moves_text, parse_move};
use crate::engine::{Game, Limits, Score, Square, Squares};
use crate::exchange::game_text::{game_text, parse_game};
use crate::exchange::text::TextRecords;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A file that `save` writes: a collection of games is not one.
const GAME_FILE: FileKind = FileKind {
    name: "a file of one game",
    matches: |path| {
        let bytes = first_bytes(path, LINE_SIZE_MAX)?;
        let is_one_line =
            bytes.iter().position(|&byte| byte == b'\n') == bytes.len().checked_sub(1);
        Ok(is_one_line && first_game(path, bytes).is_ok())
    },
};

/// The reply to a command, or why it failed.
type TerminalAnswer = Result<String, String>;

/// Executes a command, given the text after its name.
type Act = fn(&mut Terminal<'_>, &str) -> TerminalAnswer;

/// Every command: its name, the text that it takes, its line in the help, and its function.
const COMMANDS: [(&str, &str, &str, Act); 18] = [
    ("hint", "", "best move and what follows", |terminal, _| {
        terminal.hint()
    }),
    (
        "values",
        "",
        "what each legal move is worth",
        |terminal, _| terminal.values(),
    ),
    ("undo", "", "take back your last move", |terminal, _| {
        terminal.undo()
    }),
    ("redo", "", "play it again", |terminal, _| terminal.redo()),
    ("go", "", "let the engine move for you", |terminal, _| {
        terminal.go()
    }),
    (
        "level",
        "[N]",
        "choose by number or name",
        |terminal, text| terminal.set_level(text),
    ),
    ("black", "", "you play black", |terminal, _| {
        terminal.set_persons([false, true])
    }),
    ("white", "", "you play white", |terminal, _| {
        terminal.set_persons([true, false])
    }),
    ("both", "", "you play both colors", |terminal, _| {
        terminal.set_persons([true, true])
    }),
    ("new", "", "begin a new game", |terminal, _| {
        Ok(terminal.set_game(Game::default()))
    }),
    (
        "setup",
        "GAME",
        "moves, or a board as OBF",
        |terminal, text| terminal.setup(text),
    ),
    ("review", "", "which moves lost discs", |terminal, _| {
        terminal.review()
    }),
    (
        "save",
        "FILE",
        "write the game to a new file",
        |terminal, path| terminal.save(path.as_ref(), false),
    ),
    ("save!", "FILE", "to an older one too", |terminal, path| {
        terminal.save(path.as_ref(), true)
    }),
    (
        "load",
        "FILE",
        "read a game and continue it",
        |terminal, path| terminal.load(path.as_ref()),
    ),
    ("board", "", "show the board again", |terminal, _| {
        Ok(terminal.board())
    }),
    ("help", "", "this list", |_, _| Ok(help_text())),
    ("quit", "", "the end, as Ctrl-D", |terminal, _| {
        terminal.quit()
    }),
];

const SHORT_FORMS: [(&str, &str); 8] = [
    ("h", "hint"),
    ("v", "values"),
    ("u", "undo"),
    ("r", "redo"),
    ("b", "board"),
    ("q", "quit"),
    ("exit", "quit"),
    ("?", "help"),
];

/// The list of all commands.
fn help_text() -> String {
    let usages = COMMANDS
        .iter()
        .map(|(name, text, meaning, _)| (format!("{name} {text}"), *meaning));
    let lines = [("f5".to_owned(), "a move; passes are automatic")]
        .into_iter()
        .chain(usages);
    let lines: String = lines
        .map(|(usage, meaning)| format!("{usage:<10} {meaning}\n"))
        .collect();
    let short_forms = SHORT_FORMS.map(|(short, _)| short).join(", ");
    format!("{lines}Short forms: {short_forms}\nValues are discs for the side to move")
}

/// Plays until the lines end, one of them is `quit`, or `stop` is raised. A person who types is
/// shown the side to move before each line.
pub fn play(
    model: &Model,
    level: Level,
    lines: &Lines,
    stop: &AtomicBool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let session = GameSession::new(model, level.advice(), stop);
    let mut terminal = Terminal {
        model,
        stop,
        session,
        level,
        persons: [false, true],
        has_quit: false,
        output,
        written: Ok(()),
    };
    terminal.say("You play black (X).\nType help for all commands.");
    let board = terminal.turn();
    terminal.say(&board);
    while !terminal.has_quit {
        let game = terminal.session.game();
        let side = if game.is_over() {
            "over"
        } else {
            color_name(game.latest().black_to_move)
        };
        let prompt = format!("{side}> ");
        let Some(line) = terminal
            .written
            .is_ok()
            .then(|| lines.ask(&prompt, stop))
            .flatten()
        else {
            break;
        };
        if line.text.trim().is_empty() {
            continue;
        }
        let answer = if line.is_cut {
            Err("the line is too long".to_owned())
        } else {
            terminal.obey(&line.text)
        };
        let (Ok(text) | Err(text)) = answer;
        if !terminal.has_quit {
            terminal.say(&text);
        }
    }
    terminal.written
}

struct Terminal<'a> {
    model: &'a Model,
    stop: &'a AtomicBool,
    session: GameSession<'a>,
    level: Level,
    /// Which colors a person plays; the engine plays the others.
    persons: [bool; 2], // [white, black]
    has_quit: bool,
    output: &'a mut dyn Write,
    /// After an error nothing more is written.
    written: io::Result<()>,
}

impl Terminal<'_> {
    fn say(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = writeln!(self.output, "{text}").and_then(|()| self.output.flush());
        }
    }

    /// Executes a line that is not blank.
    fn obey(&mut self, line: &str) -> TerminalAnswer {
        let (word, text) = line
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((line.trim(), ""));
        let (word, text) = (word.to_ascii_lowercase(), text.trim());
        let name = SHORT_FORMS
            .iter()
            .find(|(short, _)| *short == word)
            .map_or(word.as_str(), |(_, name)| name);
        let Some((_, taken, _, act)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
            let square = parse_move(&word)
                .map_err(|_| format!("unknown command: {} (try help)", start(&word)))?;
            return if text.is_empty() {
                self.play(square)
            } else {
                Err(format!("{word} stands alone"))
            };
        };
        match *taken {
            "" if !text.is_empty() => Err(format!("{word} stands alone")),
            "FILE" if text.is_empty() => Err(format!("{word} needs a file")),
            "GAME" if text.is_empty() => Err(format!("{word} needs moves or a board")),
            _ => act(self, text),
        }
    }

    fn quit(&mut self) -> TerminalAnswer {
        self.has_quit = true;
        Ok(String::new())
    }

    fn setup(&mut self, text: &str) -> TerminalAnswer {
        let game = parse_game(text).map_err(|error| error.to_string())?;
        Ok(self.set_game(game.ok_or("it holds no moves and no position")?))
    }

    fn go(&mut self) -> TerminalAnswer {
        self.check_not_over()?;
        self.engine_move();
        Ok(self.turn())
    }

    fn set_persons(&mut self, persons: [bool; 2]) -> TerminalAnswer {
        self.persons = persons;
        Ok(self.turn())
    }

    fn is_person(&self, black: bool) -> bool {
        self.persons[usize::from(black)]
    }

    /// Plays what the rules or the engine play, until it is a person's turn or the end, and shows
    /// the board.
    fn turn(&mut self) -> String {
        loop {
            let game = self.session.game();
            let black = game.latest().black_to_move;
            if game.is_over() {
                break;
            }
            if game.must_pass() {
                self.say(&format!("{} has no move and passes", color_name(black)));
                self.session
                    .play(None)
                    .expect("a pass that the rules force");
            } else if self.is_person(black) || !self.engine_move() {
                break;
            }
        }
        self.board()
    }

    /// Lets the engine move for the side to move; `false` if it was stopped before.
    fn engine_move(&mut self) -> bool {
        let color = color_name(self.session.game().latest().black_to_move);
        let result = self.level.choose(&mut self.session);
        if result.stopped {
            return false;
        }
        self.session
            .play(result.best_move)
            .expect("a search finds a legal move");
        let how = if result.exact {
            "exact".to_owned()
        } else {
            format!("depth {}", result.depth.0)
        };
        let square = move_text(result.best_move, "pass");
        self.say(&format!(
            "{color} plays {square}: {} ({how})",
            discs_text(result.score)
        ));
        true
    }

    fn board(&self) -> String {
        let game = self.session.game();
        let end = if game.is_over() {
            format!("\n{}", result_text(game))
        } else {
            String::new()
        };
        format!(
            "\n{}\n{}{end}",
            board_picture(game, true),
            counts_text(game)
        )
    }

    fn check_not_over(&self) -> Result<(), String> {
        let is_over = self.session.game().is_over();
        if is_over {
            Err("the game is over: try undo, review, save or new".to_owned())
        } else {
            Ok(())
        }
    }

    fn play(&mut self, square: Option<Square>) -> TerminalAnswer {
        self.check_not_over()?;
        if let Err(forbidden) = self.session.play(square) {
            let legal = Squares(self.session.game().latest().position.legal_moves());
            let legal: String = legal.map(|square| format!(" {square}")).collect();
            return Err(format!("{forbidden}; legal:{legal}"));
        }
        Ok(self.turn())
    }

    /// The best move, its value and the principal variation.
    fn hint(&mut self) -> TerminalAnswer {
        if self.session.game().is_over() {
            return Ok(format!(
                "no move is left: {}",
                result_text(self.session.game())
            ));
        }
        let hints = self
            .session
            .hints(1, self.session.limits())
            .map_err(|stopped| stopped.to_string())?;
        let how = if hints.exact {
            "exact".to_owned()
        } else {
            format!("depth {}", hints.depth.0)
        };
        let lines = hints.hints.iter().map(|hint| {
            let (square, line) = (
                move_text(hint.square, "pass"),
                moves_text(hint.line.iter().copied()),
            );
            format!("{square} {} ({how}) {line}", discs_text(hint.score))
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    fn values(&mut self) -> TerminalAnswer {
        self.check_not_over()?;
        let values = self.session.move_values(self.session.limits());
        let (values, _) = values.map_err(|stopped| stopped.to_string())?;
        let cells: Vec<String> = values
            .iter()
            .map(|value| format!("{} {:>6}", value.square, discs_text(value.score)))
            .collect();
        let rows: Vec<String> = cells.chunks(3).map(|row| row.join("   ")).collect();
        Ok(rows.join("\n"))
    }

    /// Takes back plies up to and including the last one that a person chose.
    fn undo(&mut self) -> TerminalAnswer {
        let game = self.session.game();
        let by_person = |ply: &usize| {
            game.plies()[*ply].is_some() && self.is_person(game.positions()[*ply].black_to_move)
        };
        let latest = (0..game.plies().len()).rev().find(by_person);
        let ply = latest.ok_or("there is no move of yours to take back")?;
        self.session.undo_to(ply);
        Ok(self.board())
    }

    /// Plays again up to the next turn of a person.
    fn redo(&mut self) -> TerminalAnswer {
        self.session
            .redo()
            .ok_or("there is no move to play again")?;
        let is_turn_of_person = |terminal: &Self| {
            let game = terminal.session.game();
            !game.must_pass() && terminal.is_person(game.latest().black_to_move)
        };
        while !is_turn_of_person(self) && self.session.redo().is_some() {}
        Ok(self.turn())
    }

    /// Changes the level, or shows all of them if the text is empty.
    fn set_level(&mut self, text: &str) -> TerminalAnswer {
        let all = if text.is_empty() {
            format!("{}\n", levels_text())
        } else {
            String::new()
        };
        if !text.is_empty() {
            self.level = text.parse()?;
            let advice = self.level.advice();
            self.session.change_limits(|limits| *limits = advice);
        }
        let Level {
            name,
            depth,
            exact_empties,
            ..
        } = self.level;
        Ok(format!(
            "{all}{name}: {} moves ahead, exact from {exact_empties}",
            depth.0
        ))
    }

    fn set_game(&mut self, game: Game) -> String {
        self.session.set_game(game);
        self.turn()
    }

    fn review(&mut self) -> TerminalAnswer {
        let mut session = GameSession::new(self.model, REVIEW_LIMITS, self.stop);
        session.set_game(self.session.game().clone());
        let reviewed = session.review().map_err(|stopped| stopped.to_string())?;
        let Limits {
            depth,
            exact_empties,
            ..
        } = REVIEW_LIMITS;
        let mut text = format!("{} moves ahead, exact from {exact_empties}:\n", depth.0);
        let mut losses = (1..)
            .zip(&reviewed)
            .filter(|(_, reviewed)| reviewed.is_turning_point())
            .peekable();
        text += if losses.peek().is_none() {
            "no move lost two discs or more"
        } else {
            "move          lost  better"
        };
        for (number, reviewed) in losses {
            let ReviewedMove {
                black,
                square,
                best,
                ..
            } = *reviewed;
            let lost = reviewed.loss().discs();
            text += &format!(
                "\n{number:>2} {} {square} {lost:>7.2}  {best}",
                color_name(black)
            );
        }
        Ok(text)
    }

    fn save(&mut self, path: &Path, overwrite: bool) -> TerminalAnswer {
        let text = game_text(self.session.game());
        if text.is_empty() {
            return Err("no move has been played yet".to_owned());
        }
        let file = OutputFile::check(path, GAME_FILE, overwrite, "save!")
            .and_then(|_| OutputFile::open(path, GAME_FILE, overwrite));
        file.and_then(|file| file.write(|writer| writeln!(writer, "{text}")))
            .map_err(|error| in_one_line(&error))?;
        Ok(format!("saved to {}", path.display()))
    }

    fn load(&mut self, path: &Path) -> TerminalAnswer {
        let bytes = read_bounded(path, LINE_SIZE_MAX).map_err(|error| in_one_line(&error))?;
        let game = first_game(path, bytes).map_err(|error| in_one_line(&error))?;
        Ok(self.set_game(game))
    }
}

/// An error with its causes.
fn in_one_line(error: &ArtifactError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    visible(&format!("{error}{causes}").replace('\n', "; "))
}

/// The first game of a file.
fn first_game(path: &Path, bytes: Vec<u8>) -> Result<Game, ArtifactError> {
    let mut games = TextRecords::new(path, bytes)?.filter_map(|record| {
        let record = match record {
            Ok(record) => record,
            Err(reason) => return Some(Err(reason)),
        };
        parse_game(&record.text)
            .map_err(|error| record.bad(error.byte, &error.reason))
            .transpose()
    });
    let game = games
        .next()
        .unwrap_or_else(|| Err("it holds no game".to_owned()));
    game.map_err(|reason| ArtifactError::damaged(path, reason))
}

const fn color_name(black: bool) -> &'static str {
    if black { "black" } else { "white" }
}

/// A score in discs.
fn discs_text(score: Score) -> String {
    format!("{:+.2}", score.discs())
}

/// Who has won; empty squares count for the winner.
fn result_text(game: &Game) -> String {
    let discs = game.black_discs().0;
    match discs {
        0 => "a draw, 32 to 32".to_owned(),
        _ => format!(
            "{} wins {} to {}",
            color_name(0 < discs),
            (64 + discs.abs()) / 2,
            (64 - discs.abs()) / 2
        ),
    }
}

/// The beginning of a text, on one line.
fn start(text: &str) -> String {
    const LENGTH_MAX: usize = 8;
    let shown: String = text
        .chars()
        .filter(|letter| !letter.is_control())
        .take(LENGTH_MAX)
        .collect();
    if shown.len() < text.len() {
        format!("{shown}...")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::play::levels::LEVELS;

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// What is said to a line after the start of a game with both colors for a person.
    fn said(line: &str) -> String {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let level = LEVELS[0];
        let (session, output) = (
            GameSession::new(&model, level.advice(), &NEVER),
            &mut Vec::new(),
        );
        let persons = [true, true];
        let mut terminal = Terminal {
            model: &model,
            stop: &NEVER,
            session,
            level,
            persons,
            has_quit: false,
            output,
            written: Ok(()),
        };
        let (Ok(text) | Err(text)) = terminal.obey(line);
        text
    }

    #[test]
    fn every_command_of_the_help_is_one() {
        assert!(
            help_text().lines().all(|line| line.chars().count() <= 40),
            "{}",
            help_text()
        );
        for (short, long) in SHORT_FORMS {
            assert_eq!(said(short), said(long));
            assert!(help_text().contains(&format!("\n{long} ")), "{long}");
        }
        for level in LEVELS {
            let expected = format!(
                "{}: {} moves ahead, exact from {}",
                level.name, level.depth.0, level.exact_empties
            );
            assert_eq!(said(&format!("LEVEL {} ", level.number())), expected);
        }
        let levels = said("level");
        assert!(
            levels.lines().all(|line| line.chars().count() <= 40),
            "{levels}"
        );
        assert!(
            levels.ends_with("\nbeginner: 1 moves ahead, exact from 0"),
            "{levels}"
        );
        assert!(
            said("F5").contains("X 4, O 1, white to move"),
            "{}",
            said("F5")
        );
        assert!(
            said("pass").contains("legal: d3 c4 f5 e6"),
            "{}",
            said("pass")
        );
        assert!(
            said("setup F5 d6").contains("X 3, O 3, black to move"),
            "{}",
            said("setup F5 d6")
        );
        assert!(
            said("load no file.txt").contains("no file.txt"),
            "{}",
            said("load no file.txt")
        );
        assert_eq!(said("help"), help_text());
    }

    #[test]
    fn anything_else_is_an_error_of_one_line() {
        for (line, expected) in [
            ("i9", "unknown command: i9 (try help)"),
            ("f5 d6", "f5 stands alone"),
            ("h d6", "h stands alone"),
            ("save", "save needs a file"),
            ("save /dev/null/game", "no move has been played yet"),
            ("setup", "setup needs moves or a board"),
            (
                "\u{1b}[31mmischief and more",
                "unknown command: [31mmisc... (try help)",
            ),
        ] {
            assert_eq!(said(line), expected, "{line}");
        }
    }
}
