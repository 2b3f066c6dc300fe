//! The engine's side of the Go Text Protocol, version 2, for Othello: lines in, answers out.
//! docs/search.md#gtp lists the commands.

mod request;

use super::clock::Clock;
use super::lines::Lines;
use super::picture::{board_picture, counts_text};
use super::session::{GameSession, SearchSettings};
use crate::artifact::Model;
use crate::engine::board::notation::{move_text, parse_move};
use crate::engine::{Forbidden, Game, Square};
use anstream::adapter::strip_str;
use request::Request;
use std::io::{self, BufRead, Write};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The text of an answer, empty if there is nothing to say; else why there is none.
type GtpAnswer = Result<String, String>;

/// Answers a command, whose arguments are given.
type Act = fn(&mut Engine<'_>, &[String]) -> GtpAnswer;

/// Every command, in the order of `list_commands`, with what answers it.
const COMMANDS: [(&str, Act); 20] = [
    ("protocol_version", |_, _| Ok("2".to_owned())),
    ("name", |_, _| Ok("renma".to_owned())),
    ("version", |_, _| Ok(env!("CARGO_PKG_VERSION").to_owned())),
    ("known_command", |_, arguments| {
        Ok(arguments
            .first()
            .is_some_and(|name| find(name).is_some())
            .to_string())
    }),
    ("list_commands", |_, _| {
        Ok(COMMANDS.map(|(name, _)| name).join("\n"))
    }),
    ("quit", |_, _| Ok(String::new())),
    ("boardsize", |_, arguments| {
        match number::<u32>(arguments.first())? {
            8 => Ok(String::new()),
            _ => Err("unacceptable size".to_owned()),
        }
    }),
    ("clear_board", |engine, _| engine.clear_board()),
    // A compensation for the second player: Othello has none, and programs send it anyway.
    ("komi", |_, arguments| {
        number::<f64>(arguments.first()).map(|_| String::new())
    }),
    ("play", |engine, arguments| {
        engine.play(color(arguments)?, vertex(arguments.get(1))?)
    }),
    ("genmove", |engine, arguments| {
        engine.genmove(color(arguments)?)
    }),
    ("reg_genmove", |engine, arguments| {
        engine.reg_genmove(color(arguments)?)
    }),
    ("undo", |engine, _| engine.undo()),
    ("showboard", |engine, _| engine.show_board()),
    ("final_score", |engine, _| engine.final_score()),
    ("time_settings", |engine, arguments| {
        engine.set_time(seconds(arguments)?)
    }),
    ("time_left", |engine, arguments| {
        engine.set_time_left(color(arguments)?, seconds(&arguments[1..])?)
    }),
    ("list_games", |_, _| Ok(GAME.to_owned())),
    ("set_game", |_, arguments| match arguments.first() {
        Some(game) if game == GAME => Ok(String::new()),
        _ => Err("unsupported game".to_owned()),
    }),
    ("renma-hint", |engine, arguments| {
        engine.hint(
            arguments
                .first()
                .map_or(Ok(1), |count| number(Some(count)))?,
        )
    }),
];

/// What answers a command, if there is one of this name.
fn find(command: &str) -> Option<Act> {
    COMMANDS
        .iter()
        .find(|(name, _)| *name == command)
        .map(|(_, act)| *act)
}

/// A longer time is a year.
const SECONDS_MAX: f64 = 365.0 * 24.0 * 3600.0;

/// The only game, as `set_game` and `list_games` name it.
const GAME: &str = "Othello";

/// Answers commands until they end, one of them is `quit`, or `stop` is raised.
pub fn serve(
    model: &Model,
    settings: impl Into<SearchSettings>,
    input: impl BufRead + Send + 'static,
    stop: &AtomicBool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut engine = Engine::new(GameSession::new(model, settings, stop));
    let lines = Lines::read(input);
    while let Some(line) = lines.next(stop) {
        let Some(Request {
            id,
            command,
            arguments,
        }) = Request::parse(&line.text)
        else {
            continue;
        };
        let answer = match find(&command) {
            _ if line.is_cut => Err("line too long".to_owned()),
            Some(act) => act(&mut engine, &arguments),
            None => Err("unknown command".to_owned()),
        };
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
    session: GameSession<'a>,
    /// How many plies there were before each command that played, so that `undo` takes back a
    /// forced pass with its move.
    turns: Vec<usize>,
    /// Of both colors when a game begins; `None` is unlimited.
    full_clock: Option<Clock>,
    clocks: [Option<Clock>; 2], // [white, black]
}

impl<'a> Engine<'a> {
    fn new(session: GameSession<'a>) -> Self {
        Self {
            session,
            turns: Vec::new(),
            full_clock: None,
            clocks: [None; 2],
        }
    }

    fn clear_board(&mut self) -> GtpAnswer {
        self.session.set_game(Game::default());
        self.turns.clear();
        self.clocks = [self.full_clock; 2];
        Ok(String::new())
    }

    fn play(&mut self, black: bool, square: Option<Square>) -> GtpAnswer {
        let plies = self.session.game().plies().len();
        if square.is_some() || !self.session.game().is_full() {
            self.session
                .play_as(black, square)
                .map_err(|error| match error {
                    Forbidden::Turn => format!("illegal move: {error}"),
                    Forbidden::Move(_) | Forbidden::Pass => "illegal move".to_owned(),
                })?;
        }
        self.turns.push(plies);
        Ok(String::new())
    }

    fn genmove(&mut self, black: bool) -> GtpAnswer {
        let (begun, plies) = (Instant::now(), self.session.game().plies().len());
        let square = self.best_move(black)?;
        if !self.session.game().is_full() {
            self.session
                .play(square)
                .map_err(|error| error.to_string())?;
        }
        self.turns.push(plies);
        let clock = &mut self.clocks[usize::from(black)];
        *clock = clock.map(|clock| clock.after(begun.elapsed()));
        Ok(vertex_text(square))
    }

    /// [`Self::genmove`], but nothing is played, and nothing charged to the clock.
    fn reg_genmove(&mut self, black: bool) -> GtpAnswer {
        let plies = self.session.game().plies().len();
        let square = self.best_move(black)?;
        self.session.undo_to(plies);
        Ok(vertex_text(square))
    }

    /// The move of a color; `None` is a pass. A pass of the other color that the rules force is
    /// played first.
    fn best_move(&mut self, black: bool) -> Result<Option<Square>, String> {
        let game = self.session.game();
        if game.is_full() {
            // The game is over, and its last passes are not kept: either color has to pass.
            return Ok(None);
        }
        if black != game.latest().black_to_move {
            if !game.must_pass() {
                return Err(Forbidden::Turn.to_string());
            }
            self.session.play(None).map_err(|error| error.to_string())?;
        }
        Ok(self
            .session
            .search_on(self.clocks[usize::from(black)])
            .best_move)
    }

    /// Main time, then periods for a number of stones each; a period of some length without stones
    /// means unlimited time.
    fn set_time(&mut self, times: [f64; 3]) -> GtpAnswer {
        let [main, period, stones] = times;
        let is_limited = period == 0.0 || 0.0 < stones;
        let period = (0.0 < period).then(|| (duration(period), stones as u32));
        self.full_clock = is_limited.then(|| Clock {
            left: duration(main),
            moves: None,
            period,
        });
        self.clocks = [self.full_clock; 2];
        Ok(String::new())
    }

    fn set_time_left(&mut self, black: bool, times: [f64; 2]) -> GtpAnswer {
        let [left, stones] = times;
        let moves = (0.0 < stones).then_some(stones as u32);
        let period = self.full_clock.and_then(|clock| clock.period);
        self.clocks[usize::from(black)] = Some(Clock {
            left: duration(left),
            moves,
            period,
        });
        Ok(String::new())
    }

    fn undo(&mut self) -> GtpAnswer {
        let plies = self.turns.pop().ok_or("cannot undo")?;
        self.session.undo_to(plies);
        Ok(String::new())
    }

    fn show_board(&self) -> GtpAnswer {
        let game = self.session.game();
        Ok(format!(
            "\n{}\n{}",
            strip_str(&board_picture(game, false)),
            counts_text(game)
        ))
    }

    /// As Go writes it; empty squares count for the winner.
    fn final_score(&self) -> GtpAnswer {
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

    /// One line per move: the move, its value in discs, how far it was searched, and what follows
    /// it if it is the only one.
    fn hint(&mut self, count: usize) -> GtpAnswer {
        let hints = self
            .session
            .hints(count, self.session.limits())
            .map_err(|error| error.to_string())?;
        let depth = if hints.exact {
            "exact".to_owned()
        } else {
            format!("depth {}", hints.depth.0)
        };
        let mut text = String::new();
        for hint in &hints.hints {
            let line: String = hint
                .line
                .iter()
                .map(|&square| format!(" {}", vertex_text(Some(square))))
                .collect();
            let square = vertex_text(hint.square);
            text += &format!("\n{square} {:+.2} {depth}{line}", hint.score.discs());
        }
        Ok(text.trim_start().to_owned())
    }
}

fn syntax_error() -> String {
    "syntax error".to_owned()
}

fn number<T: std::str::FromStr>(text: Option<&String>) -> Result<T, String> {
    text.and_then(|text| text.parse().ok())
        .ok_or_else(syntax_error)
}

/// This many numbers, none of them negative.
fn seconds<const N: usize>(arguments: &[String]) -> Result<[f64; N], String> {
    let number = |text: &String| text.parse().ok().filter(|number| 0.0 <= *number);
    let numbers: Option<Vec<f64>> = arguments.iter().map(number).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(syntax_error)
}

/// A time that [`seconds`] has read.
fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.min(SECONDS_MAX))
}

/// Whether the color that the arguments begin with is black.
fn color(arguments: &[String]) -> Result<bool, String> {
    match arguments
        .first()
        .map(|text| text.to_ascii_lowercase())
        .as_deref()
    {
        Some("b" | "black") => Ok(true),
        Some("w" | "white") => Ok(false),
        _ => Err(syntax_error()),
    }
}

/// A square or a pass.
fn vertex(text: Option<&String>) -> Result<Option<Square>, String> {
    text.and_then(|text| parse_move(text).ok())
        .ok_or_else(syntax_error)
}

fn vertex_text(square: Option<Square>) -> String {
    move_text(square, "pass").to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::engine::{Depth, Limits};

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn moves_are_charged_to_clocks_that_begin_again_with_the_period_and_the_game() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let mut engine = Engine::new(GameSession::new(
            &model,
            Limits::full_width(Depth(1)),
            &NEVER,
        ));
        engine.set_time([0.0, 1000.0, 2.0]).unwrap();
        let full = engine.clocks;
        engine.reg_genmove(true).unwrap();
        assert_eq!(engine.clocks, full);
        let moves = |engine: &Engine<'_>| engine.clocks.map(|clock| clock.unwrap().moves);
        engine.genmove(true).unwrap();
        assert_eq!(moves(&engine), [None, Some(1)]);
        engine.genmove(false).unwrap();
        engine.genmove(true).unwrap();
        let period = Clock {
            left: Duration::from_secs(1000),
            moves: Some(2),
            period: full[1].unwrap().period,
        };
        assert_eq!(
            (moves(&engine)[0], engine.clocks[1]),
            (Some(1), Some(period))
        );
        // What the other program says about the time leaves the period as it is.
        engine.set_time_left(false, [5.0, 1.0]).unwrap();
        engine.genmove(false).unwrap();
        assert_eq!(engine.clocks[0], Some(period));
        engine.clear_board().unwrap();
        assert_eq!(engine.clocks, full);
    }
}
