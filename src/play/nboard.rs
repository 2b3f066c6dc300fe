//! The engine's side of the NBoard protocol, versions 1 and 2: lines in, lines out.
//! docs/search.md#nboard lists the commands.

mod commands;

use super::lines::BETWEEN_CHECKS;
use super::session::hints::Hint;
use super::session::{GameSession, SearchSettings};
use crate::artifact::Model;
use crate::engine::board::notation::{move_text, parse_move};
use crate::engine::{ColoredPosition, Depth, Limits, Score, Square};
use crate::exchange::ggf::parse_ggf;
use crate::watcher::watched;
use commands::{Pings, is_ping, read_commands};
use crossbeam::channel::{Receiver, RecvTimeoutError};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The name under which the engine plays; its depth follows.
const NAME: &str = "renma";

/// Plays until the commands end or `stop` is raised; lines that are too long are ignored. `set
/// depth` changes the depth of the settings.
pub fn serve(
    model: &Model,
    settings: impl Into<SearchSettings>,
    input: impl BufRead + Send + 'static,
    stop: &AtomicBool,
    output: &mut dyn Write,
) -> io::Result<()> {
    let (lines, pings) = read_commands(input);
    let pings = &*pings;
    let mut engine = Engine {
        session: GameSession::new(model, settings, &pings.stop),
        version: 2,
        pings,
        output,
    };
    let pass_on = |ended: Receiver<()>| {
        while ended.recv_timeout(BETWEEN_CHECKS) == Err(RecvTimeoutError::Timeout) {
            if stop.load(Ordering::Relaxed) {
                pings.stop.store(true, Ordering::SeqCst);
            }
        }
    };
    watched(pass_on, || {
        while let Some(line) = lines.next(stop) {
            if !line.is_cut && !engine.obey(line.text.trim())? {
                break;
            }
        }
        Ok(())
    })
}

/// The engine between two commands.
struct Engine<'a> {
    session: GameSession<'a>,
    /// Of the protocol.
    version: u32,
    pings: &'a Pings,
    output: &'a mut dyn Write,
}

impl Engine<'_> {
    /// Executes a command; `false` ends the session. Unknown commands are ignored.
    fn obey(&mut self, line: &str) -> io::Result<bool> {
        let (command, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let arguments = arguments.trim();
        match command {
            "nboard" => {
                self.version = arguments.parse().unwrap_or(self.version);
                self.say_name()?;
            }
            "set" => self.set(arguments)?,
            "move" => self.play(arguments)?,
            "hint" => self.hint(arguments.parse().unwrap_or(1))?,
            "go" => self.go()?,
            "analyze" => self.analyze()?,
            "learn" => self.say(if self.version < 2 { "learn" } else { "learned" })?,
            "quit" => return Ok(false),
            _ if is_ping(line) => {
                self.pings.answer();
                self.say(&format!("pong {arguments}"))?;
            }
            // Version 1 sends a move as it is.
            _ if parse_move(line).is_ok() => self.play(line)?,
            _ => {}
        }
        Ok(true)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.output, "{line}")?;
        self.output.flush()
    }

    fn say_name(&mut self) -> io::Result<()> {
        self.say(&format!(
            "set myname {NAME}{}",
            self.session.limits().depth.0
        ))
    }

    fn set(&mut self, arguments: &str) -> io::Result<()> {
        let (name, value) = arguments
            .split_once(char::is_whitespace)
            .unwrap_or((arguments, ""));
        match (name, value.trim().parse()) {
            ("depth", Ok(depth)) => {
                let depth = Depth(u64::clamp(depth, 1, Depth::MAX.0.into()) as u8);
                self.session.change_limits(|limits| limits.depth = depth);
                self.say_name()
            }
            ("game", _) => {
                let set = parse_ggf(value).map(|game| self.session.set_game(game));
                set.or_else(|error| self.say(&format!("status cannot read the game: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn play(&mut self, text: &str) -> io::Result<()> {
        let square = parse_move(text).map_err(|error| error.to_string());
        let played =
            square.and_then(|square| self.session.play(square).map_err(|error| error.to_string()));
        played.or_else(|reason| self.say(&format!("status cannot play {text}: {reason}")))
    }

    fn go(&mut self) -> io::Result<()> {
        self.say(&format!("status {NAME} is thinking"))?;
        let begun = Instant::now();
        let result = self.session.search();
        let seconds = begun.elapsed().as_secs_f64();
        self.say(&format!("nodestats {} {seconds:.3}", result.nodes))?;
        self.say(&format!(
            "=== {}/{}/{seconds:.3}",
            move_name(result.best_move),
            eval_text(result.score)
        ))
    }

    /// Values of the best moves, one ply deeper each time.
    fn hint(&mut self, count: usize) -> io::Result<()> {
        self.say(&format!("status {NAME} is analyzing"))?;
        let begun = Instant::now();
        let mut nodes = 0;
        for limits in deepening(self.session.game().latest(), self.session.limits()) {
            let Ok(hints) = self.session.hints(count, limits) else {
                break;
            };
            let depth = if hints.exact {
                "100%".to_owned()
            } else {
                hints.depth.0.to_string()
            };
            for Hint {
                square,
                line,
                score,
            } in hints.hints
            {
                let line: String = std::iter::once(square)
                    .chain(line.into_iter().map(Some))
                    .map(move_name)
                    .collect();
                self.say(&format!("search {line} {} 0 {depth}", eval_text(score)))?;
            }
            nodes += hints.nodes;
            self.say(&format!(
                "nodestats {nodes} {:.3}",
                begun.elapsed().as_secs_f64()
            ))?;
            if limits.nodes.is_some_and(|nodes_max| nodes_max <= nodes) {
                break;
            }
        }
        self.say("status")
    }

    /// Values of all positions of the game, the last one first, as black sees them.
    fn analyze(&mut self) -> io::Result<()> {
        self.say(&format!("status {NAME} is analyzing"))?;
        for ply in (0..self.session.game().positions().len()).rev() {
            let ColoredPosition {
                position,
                black_to_move,
            } = self.session.game().positions()[ply];
            let found = self
                .session
                .search_position(position, self.session.limits());
            let Ok(result) = found.unless_stopped() else {
                break;
            };
            let score = if black_to_move {
                result.score
            } else {
                -result.score
            };
            self.say(&format!("analysis {ply} {}", eval_text(score)))?;
        }
        self.say("status")
    }
}

/// Searches of growing depth, up to the limits; the last one is exact if the position has few
/// enough empty squares.
fn deepening(current: ColoredPosition, limits: Limits) -> impl Iterator<Item = Limits> {
    let empties = current.position.empties();
    let is_exact = empties <= limits.exact_empties;
    let depth_max = limits.depth.0.min(if is_exact {
        empties.saturating_sub(1)
    } else {
        empties.max(1)
    });
    let by_depth = (1..=depth_max).map(move |depth| Limits {
        depth: Depth(depth),
        exact_empties: 0,
        ..limits
    });
    by_depth.chain(is_exact.then_some(limits))
}

fn move_name(square: Option<Square>) -> String {
    move_text(square, "pa").to_uppercase()
}

/// A score in discs.
fn eval_text(score: Score) -> String {
    format!("{:.2}", score.discs())
}
