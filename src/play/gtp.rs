//! The engine's side of the Go Text Protocol, version 2, for Othello: lines in, answers out. docs/search.md#gtp lists the commands.

mod request;

use super::clock::Clock;
use super::lines::Lines;
use super::picture::{Palette, board_picture, counts_text};
use super::session::{SearchSettings, Session};
use crate::artifact::Model;
use crate::engine::board::notation::{move_text, parse_move};
use crate::engine::{Forbidden, Game, Square};
use request::Request;
use std::fmt::Write as FormatWrite;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Every command, in the order of `list_commands`.
const COMMANDS: [&str; 20] = [
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "quit",
    "boardsize",
    "clear_board",
    "komi",
    "play",
    "genmove",
    "reg_genmove",
    "undo",
    "showboard",
    "final_score",
    "time_settings",
    "time_left",
    "list_games",
    "set_game",
    "renma-hint",
];

/// A longer time is a year.
const SECONDS_MAX: f64 = 365.0 * 24.0 * 3600.0;

/// The only game, as `set_game` and `list_games` name it.
const GAME: &str = "Othello";

/// Answers commands until they end, one of them is `quit`, or `stop` is raised.
pub fn serve(
    model: &Model,
    settings: impl Into<SearchSettings>,
    lines: &Lines,
    stop: &AtomicBool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut engine = Engine { session: Session::new(model, settings, stop), turns: Vec::new(), period: None };
    while let Some(line) = lines.next(stop) {
        let Some(Request { id, command, arguments }) = Request::parse(&line.text) else { continue };
        let answer = if line.is_cut { Err("line too long".to_owned()) } else { engine.answer(&command, &arguments) };
        let (mark, text) = match &answer {
            Ok(text) => ('=', text),
            Err(text) => ('?', text),
        };
        let id = id.map_or_else(String::new, |id| id.to_string());
        let blank = if text.is_empty() { "" } else { " " };
        write!(output, "{mark}{id}{blank}{text}\n\n")?;
        output.flush()?;
        if answer.is_ok() && command == "quit" {
            break;
        }
    }
    Ok(())
}

/// The engine between two commands.
struct Engine<'a> {
    session: Session<'a>,
    /// How many plies there were before each command that played, so that `undo` takes back a forced pass with its move.
    turns: Vec<usize>,
    /// What each color has once its main time is over.
    period: Option<Clock>,
}

impl Engine<'_> {
    /// Does what a command says.
    fn answer(&mut self, command: &str, arguments: &[String]) -> Result<String, String> {
        let first = arguments.first().map(String::as_str);
        let nothing = String::new();
        match command {
            "protocol_version" => Ok("2".to_owned()),
            "name" => Ok("renma".to_owned()),
            "version" => Ok(env!("CARGO_PKG_VERSION").to_owned()),
            "known_command" => Ok(first.is_some_and(|name| COMMANDS.contains(&name)).to_string()),
            "list_commands" => Ok(COMMANDS.join("\n")),
            "list_games" => Ok(GAME.to_owned()),
            "set_game" if first == Some(GAME) => Ok(nothing),
            "set_game" => Err("unsupported game".to_owned()),
            "quit" => Ok(nothing),
            "boardsize" => match number::<u32>(first)? {
                8 => Ok(nothing),
                _ => Err("unacceptable size".to_owned()),
            },
            // A compensation for the second player: Othello has none, and programs send it anyway.
            "komi" => number::<f64>(first).map(|_| nothing),
            "clear_board" => {
                self.session.set_game(Game::default());
                self.turns.clear();
                Ok(nothing)
            }
            "play" => self.play(color(first)?, vertex(arguments.get(1))?).map(|()| nothing),
            "genmove" => {
                let plies = self.session.game().plies().len();
                let square = self.best_move(color(first)?)?;
                self.session.play(square).map_err(|error| error.to_string())?;
                self.turns.push(plies);
                Ok(vertex_text(square))
            }
            "reg_genmove" => {
                let plies = self.session.game().plies().len();
                let square = self.best_move(color(first)?)?;
                while plies < self.session.game().plies().len() {
                    self.session.undo();
                }
                Ok(vertex_text(square))
            }
            "undo" => self.undo().map(|()| nothing),
            "showboard" => {
                let game = self.session.game();
                Ok(format!("\n{}\n{}", board_picture(game, false, &Palette::PLAIN), counts_text(game)))
            }
            "final_score" => self.final_score(),
            "time_settings" => self.set_time(&seconds(arguments, 3)?).map(|()| nothing),
            "time_left" => {
                let black = color(first)?;
                self.session.set_clock(black, Some(clock(&seconds(&arguments[1..], 2)?)?));
                Ok(nothing)
            }
            "renma-hint" => self.hint(first.map_or(Ok(1), |count| number(Some(count)))?),
            _ => Err("unknown command".to_owned()),
        }
    }

    fn play(&mut self, black: bool, square: Option<Square>) -> Result<(), String> {
        let plies = self.session.game().plies().len();
        self.session.play_as(black, square).map_err(|error| match error {
            Forbidden::Turn => format!("illegal move: {error}"),
            Forbidden::Move(_) | Forbidden::Pass => "illegal move".to_owned(),
        })?;
        self.turns.push(plies);
        Ok(())
    }

    /// The move of a color; `None` is a pass. A pass of the other color that the rules force is played first.
    fn best_move(&mut self, black: bool) -> Result<Option<Square>, String> {
        let game = self.session.game();
        if black != game.latest().black_to_move {
            if !game.must_pass() {
                return Err(Forbidden::Turn.to_string());
            }
            self.session.play(None).map_err(|error| error.to_string())?;
        }
        Ok(self.session.search().best_move)
    }

    /// Main time, then periods for a number of stones each; no stones in a period of some length are no limit.
    fn set_time(&mut self, settings: &[f64]) -> Result<(), String> {
        let &[main, period, stones] = settings else { return Err(syntax_error()) };
        let is_limited = period == 0.0 || 0.0 < stones;
        self.period = (is_limited && 0.0 < period).then(|| clock(&[period, stones])).transpose()?;
        let main = clock(&[main, 0.0])?;
        let start = if main.left.is_zero() { self.period.unwrap_or(main) } else { main };
        for black in [false, true] {
            self.session.set_clock(black, is_limited.then_some(start));
        }
        Ok(())
    }

    fn undo(&mut self) -> Result<(), String> {
        let plies = self.turns.pop().ok_or("cannot undo")?;
        while plies < self.session.game().plies().len() {
            self.session.undo();
        }
        Ok(())
    }

    /// As Go writes it; empty squares count for the winner.
    fn final_score(&self) -> Result<String, String> {
        let game = self.session.game();
        if !game.is_over() {
            return Err("cannot score: the game is not over".to_owned());
        }
        Ok(match game.black_discs().0 {
            0 => "0".to_owned(),
            discs if 0 < discs => format!("B+{discs}"),
            discs => format!("W+{}", -discs),
        })
    }

    /// One line per move: the move, its value in discs, how far it was searched, and what follows it if it is the only one.
    fn hint(&mut self, count: usize) -> Result<String, String> {
        let hints = self.session.hints(count, self.session.limits()).map_err(|error| error.to_string())?;
        let depth = if hints.exact { "exact".to_owned() } else { format!("depth {}", hints.depth.0) };
        let mut text = String::new();
        for hint in &hints.hints {
            let line: String = hint.line.iter().map(|&square| format!(" {}", vertex_text(Some(square)))).collect();
            let square = vertex_text(hint.square);
            write!(text, "\n{square} {:+.2} {depth}{line}", hint.score.discs()).map_err(|error| error.to_string())?;
        }
        Ok(text.trim_start().to_owned())
    }
}

fn syntax_error() -> String {
    "syntax error".to_owned()
}

fn number<T: std::str::FromStr>(text: Option<&str>) -> Result<T, String> {
    text.and_then(|text| text.parse().ok()).ok_or_else(syntax_error)
}

/// This many numbers, none of them negative.
fn seconds(arguments: &[String], count: usize) -> Result<Vec<f64>, String> {
    let number = |text: &String| text.parse().ok().filter(|number| 0.0 <= *number);
    let numbers: Option<Vec<f64>> = arguments.iter().map(number).collect();
    numbers.filter(|numbers| numbers.len() == count).ok_or_else(syntax_error)
}

/// Seconds for a number of stones, or for the rest of the game if that is 0.
fn clock(left: &[f64]) -> Result<Clock, String> {
    let &[seconds, stones] = left else { return Err(syntax_error()) };
    let left = Duration::try_from_secs_f64(seconds.min(SECONDS_MAX)).map_err(|_| syntax_error())?;
    Ok(Clock { left, moves: (0.0 < stones).then_some(stones as u32) })
}

/// Whether a color is black.
fn color(text: Option<&str>) -> Result<bool, String> {
    match text.unwrap_or_default().to_ascii_lowercase().as_str() {
        "b" | "black" => Ok(true),
        "w" | "white" => Ok(false),
        _ => Err(syntax_error()),
    }
}

/// A square or a pass.
fn vertex(text: Option<&String>) -> Result<Option<Square>, String> {
    text.and_then(|text| parse_move(text).ok()).ok_or_else(syntax_error)
}

fn vertex_text(square: Option<Square>) -> String {
    move_text(square, "pass").to_uppercase()
}
