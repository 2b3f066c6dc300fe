//! A game on a terminal: a person types moves and commands, line by line, and the engine answers. Fits 40 columns.

mod command;
pub mod level;

use super::lines::{LINE_SIZE_MAX, Lines};
use super::picture::{Palette, board_picture, counts_text};
use super::session::Session;
use super::session::review::ReviewedMove;
use crate::artifact::output::first_bytes;
use crate::artifact::publish::read_bounded;
use crate::artifact::{ArtifactError, FileKind, Model, OutputFile};
use crate::engine::board::notation::{move_text, moves_text};
use crate::engine::{Game, Score, Square, Squares, Stopped};
use crate::exchange::game_text::{game_text, parse_game};
use command::{Command, You, help_text};
use level::Level;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A file that `save` writes: a collection of games is not one.
const GAME_FILE: FileKind = FileKind {
    name: "a file of one game",
    matches: |path| {
        let bytes = first_bytes(path, LINE_SIZE_MAX)?;
        let is_one_line = bytes.iter().position(|&byte| byte == b'\n') == bytes.len().checked_sub(1);
        Ok(is_one_line && first_game(&bytes).is_ok_and(|game| game.is_some()))
    },
};

/// Plays until the lines end, one of them is `quit`, or `stop` is raised. With `prompts`, the side to move is shown before each
/// line.
pub fn play(
    model: &Model,
    level: Level,
    lines: &Lines,
    stop: &AtomicBool,
    prompts: bool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let session = Session::new(model, level.limits(), stop);
    let mut terminal = Terminal { session, level, you: You::Black, output };
    terminal.say("You play black (X).\nType help for all commands.")?;
    terminal.turn()?;
    loop {
        if prompts {
            terminal.prompt()?;
        }
        let Some(line) = lines.next(stop) else { break };
        if line.text.trim().is_empty() {
            continue;
        }
        let command = if line.is_cut { Err("the line is too long".to_owned()) } else { Command::parse(&line.text) };
        let done = match command {
            Ok(Command::Quit) => return Ok(()),
            Ok(command) => terminal.obey(command),
            Err(reason) => Err(Problem::Said(reason)),
        };
        match done {
            Ok(()) => {}
            Err(Problem::Said(reason)) => terminal.say(&reason)?,
            Err(Problem::Output(error)) => return Err(error),
        }
    }
    if prompts { terminal.say("") } else { Ok(()) }
}

/// Why a command was not obeyed.
enum Problem {
    /// What to tell the person.
    Said(String),
    Output(io::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Stopped> for Problem {
    fn from(stopped: Stopped) -> Self {
        Self::Said(stopped.to_string())
    }
}

impl From<ArtifactError> for Problem {
    fn from(error: ArtifactError) -> Self {
        let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        let causes: String = causes.map(|cause| format!(": {cause}")).collect();
        Self::Said(format!("{error}{causes}").replace('\n', "; "))
    }
}

struct Terminal<'a> {
    session: Session<'a>,
    level: Level,
    you: You,
    output: &'a mut dyn Write,
}

impl Terminal<'_> {
    fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.output, "{text}")?;
        self.output.flush()
    }

    fn prompt(&mut self) -> io::Result<()> {
        let color = color_name(self.session.game().latest().black_to_move);
        write!(self.output, "{}> ", if self.session.game().is_over() { "over" } else { color })?;
        self.output.flush()
    }

    fn obey(&mut self, command: Command) -> Result<(), Problem> {
        match command {
            Command::Move(square) => self.play(square)?,
            Command::Hint => self.hint()?,
            Command::Values => self.values()?,
            Command::Undo => self.undo()?,
            Command::Redo => self.redo()?,
            Command::Go => {
                self.check_not_over()?;
                self.engine_move()?;
                self.turn()?;
            }
            Command::Level(level) => self.set_level(level)?,
            Command::You(you) => {
                self.you = you;
                self.turn()?;
            }
            Command::New => self.set_game(Game::default())?,
            Command::Setup(text) => {
                let game = parse_game(&text).map_err(|error| Problem::Said(error.to_string()))?;
                self.set_game(game.ok_or_else(|| Problem::Said("it holds no moves and no position".to_owned()))?)?;
            }
            Command::Review => self.review()?,
            Command::Save { path, overwrite } => self.save(&path, overwrite)?,
            Command::Load(path) => self.load(&path)?,
            Command::Board => self.show()?,
            Command::Help => self.say(&help_text())?,
            Command::Quit => {}
        }
        Ok(())
    }

    /// Plays what the rules or the engine play, until it is a person's turn or the end, and shows the board.
    fn turn(&mut self) -> io::Result<()> {
        loop {
            let game = self.session.game();
            let black = game.latest().black_to_move;
            if game.is_over() {
                break;
            }
            if game.must_pass() {
                self.say(&format!("{} has no move and passes", color_name(black)))?;
                self.session.play(None).map_err(io::Error::other)?;
            } else if self.you.play(black) || !self.engine_move()? {
                break;
            }
        }
        self.show()
    }

    /// Lets the engine move for the side to move; `false` if it was stopped before.
    fn engine_move(&mut self) -> io::Result<bool> {
        let color = color_name(self.session.game().latest().black_to_move);
        let result = self.session.search();
        if result.stopped {
            return Ok(false);
        }
        self.session.play(result.best_move).map_err(io::Error::other)?;
        let how = if result.exact { "exact".to_owned() } else { format!("depth {}", result.depth.0) };
        let square = move_text(result.best_move, "pass");
        self.say(&format!("{color} plays {square}: {} ({how})", discs_text(result.score)))?;
        Ok(true)
    }

    fn show(&mut self) -> io::Result<()> {
        let game = self.session.game();
        let mut text = format!("\n{}\n{}", board_picture(game, true, &Palette::COLORED), counts_text(game));
        if game.is_over() {
            text = format!("{text}\n{}", result_text(game));
        }
        self.say(&text)
    }

    fn check_not_over(&self) -> Result<(), Problem> {
        if self.session.game().is_over() {
            return Err(Problem::Said("the game is over: try undo, review, save or new".to_owned()));
        }
        Ok(())
    }

    fn play(&mut self, square: Option<Square>) -> Result<(), Problem> {
        self.check_not_over()?;
        if let Err(forbidden) = self.session.play(square) {
            let legal = Squares(self.session.game().latest().position.legal_moves());
            let legal: String = legal.map(|square| format!(" {square}")).collect();
            return Err(Problem::Said(format!("{forbidden}; legal:{legal}")));
        }
        Ok(self.turn()?)
    }

    /// The best move, its value and the principal variation.
    fn hint(&mut self) -> Result<(), Problem> {
        self.check_not_over()?;
        let limits = self.session.limits();
        let hints = self.session.hints(1, limits)?;
        let how = if hints.exact { "exact".to_owned() } else { format!("depth {}", hints.depth.0) };
        for hint in &hints.hints {
            let (square, line) = (move_text(hint.square, "pass"), moves_text(hint.line.iter().copied()));
            self.say(&format!("{square} {} ({how}) {line}", discs_text(hint.score)))?;
        }
        Ok(())
    }

    fn values(&mut self) -> Result<(), Problem> {
        self.check_not_over()?;
        let (values, _) = self.session.move_values(self.session.limits())?;
        let cells: Vec<String> =
            values.iter().map(|value| format!("{} {:>6}", value.square, discs_text(value.score))).collect();
        let rows: Vec<String> = cells.chunks(3).map(|row| row.join("   ")).collect();
        Ok(self.say(&rows.join("\n"))?)
    }

    /// Takes back plies up to and with the last one that a person chose.
    fn undo(&mut self) -> Result<(), Problem> {
        let game = self.session.game();
        let by_person =
            |ply: &usize| game.plies()[*ply].is_some() && self.you.play(game.positions()[*ply].black_to_move);
        let Some(ply) = (0..game.plies().len()).rev().find(by_person) else {
            return Err(Problem::Said("there is no move of yours to take back".to_owned()));
        };
        while ply < self.session.game().plies().len() {
            self.session.undo();
        }
        Ok(self.show()?)
    }

    /// Plays again up to the next turn of a person.
    fn redo(&mut self) -> Result<(), Problem> {
        if self.session.redo().is_none() {
            return Err(Problem::Said("there is no move to play again".to_owned()));
        }
        let is_person = |game: &Game| !game.must_pass() && self.you.play(game.latest().black_to_move);
        while !is_person(self.session.game()) && self.session.redo().is_some() {}
        Ok(self.turn()?)
    }

    fn set_level(&mut self, level: Option<Level>) -> io::Result<()> {
        self.level = level.unwrap_or(self.level);
        let limits = self.level.limits();
        self.session.set_limits(limits);
        let (level, depth, exact) = (self.level, limits.depth.0, limits.exact_empties);
        self.say(&format!("level {level}: {depth} moves ahead, exact from {exact}"))
    }

    fn set_game(&mut self, game: Game) -> io::Result<()> {
        self.session.set_game(game);
        self.turn()
    }

    fn review(&mut self) -> Result<(), Problem> {
        let reviewed = self.session.review()?;
        let mut text = "move          lost  better".to_owned();
        let mut losses = (1..).zip(&reviewed).filter(|(_, reviewed)| reviewed.is_turning_point()).peekable();
        if losses.peek().is_none() {
            return Ok(self.say("no move lost two discs or more")?);
        }
        for (number, reviewed) in losses {
            let ReviewedMove { black, square, best, .. } = *reviewed;
            let lost = reviewed.loss().discs();
            text = format!("{text}\n{number:>2} {} {square} {lost:>7.2}  {best}", color_name(black));
        }
        Ok(self.say(&text)?)
    }

    fn save(&mut self, path: &Path, overwrite: bool) -> Result<(), Problem> {
        OutputFile::check(path, GAME_FILE, overwrite, "save!")?;
        let text = game_text(self.session.game());
        OutputFile::open(path, GAME_FILE, overwrite)?.write(|writer| writeln!(writer, "{text}"))?;
        Ok(self.say(&format!("saved to {}", path.display()))?)
    }

    fn load(&mut self, path: &Path) -> Result<(), Problem> {
        let bytes = read_bounded(path, LINE_SIZE_MAX)?;
        let bad = |reason: &str| Problem::Said(format!("cannot read {}: {reason}", path.display()));
        let game = first_game(&bytes).map_err(|reason| bad(&reason))?;
        Ok(self.set_game(game.ok_or_else(|| bad("it holds no game"))?)?)
    }
}

/// The game on the first line that holds one.
fn first_game(bytes: &[u8]) -> Result<Option<Game>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let mut games = (1..).zip(text.lines()).filter_map(|(number, line): (usize, _)| {
        parse_game(line).map_err(|error| format!("line {number}: {error}")).transpose()
    });
    games.next().transpose()
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
        _ => format!("{} wins {} to {}", color_name(0 < discs), (64 + discs.abs()) / 2, (64 - discs.abs()) / 2),
    }
}
