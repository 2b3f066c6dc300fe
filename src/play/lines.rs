//! Lines as they arrive, read by a separate thread, so that a wait for one can be ended and a
//! search can be told of one.

use super::signals::is_ignored;
use crate::exchange::text::without_mark;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use std::io::{self, BufRead, Read, stdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Of a longer line only so much is kept: a game with all its comments is shorter.
pub(super) const LINE_SIZE_MAX: u64 = 1 << 16;

/// Lines that may wait; then their sender waits too.
const WAITING_LINES: usize = 256;

/// How often a wait for a line looks at the stop flag of the program.
pub(super) const BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// A line without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InputLine {
    /// Bytes that are not UTF-8 are replaced.
    pub(super) text: String,
    /// Whether the line was too long, and this is only its beginning.
    pub(super) is_cut: bool,
}

/// The lines of one session.
#[derive(Debug)]
pub struct Lines {
    lines: Receiver<InputLine>,
    typed: Option<Typed>,
}

/// A person at a terminal.
#[derive(Debug)]
struct Typed {
    /// A line is read for each.
    prompts: Sender<String>,
    /// The terminal as it was.
    state: Termios,
}

/// A session may end while a line is edited.
impl Drop for Typed {
    fn drop(&mut self) {
        // A terminal that is gone needs no state.
        tcsetattr(stdin(), OptionalActions::Now, &self.state).ok();
    }
}

impl Lines {
    /// Lines that a person edits on the terminal of stdin, with the history of the session. Ctrl-C
    /// interrupts the program.
    ///
    /// # Errors
    ///
    /// A terminal that cannot be used so.
    pub fn typed() -> io::Result<Self> {
        let state = tcgetattr(stdin())?;
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = DefaultEditor::with_config(config).map_err(io::Error::other)?;
        let (prompts, asked) = bounded::<String>(1);
        let (sender, lines) = bounded(1);
        std::thread::spawn(move || {
            for prompt in asked {
                let mut read = editor.readline(&prompt);
                while is_ignored(libc::SIGINT) && matches!(read, Err(ReadlineError::Interrupted)) {
                    read = editor.readline(&prompt);
                }
                let sent = match read {
                    Ok(text) => sender
                        .send(InputLine {
                            text,
                            is_cut: false,
                        })
                        .is_ok(),
                    // Where this fails, the end of the lines ends the session too.
                    Err(ReadlineError::Interrupted) => kill_process(getpid(), Signal::INT).is_ok(),
                    Err(_) => false,
                };
                if !sent {
                    return;
                }
            }
        });
        Ok(Self {
            lines,
            typed: Some(Typed { prompts, state }),
        })
    }

    /// Reads lines until the input ends or the session does. An input that cannot be read has
    /// ended.
    pub fn read(input: impl BufRead + Send + 'static) -> Self {
        Self::read_with(input, |_| ())
    }

    /// [`Lines::read`]; each line is shown to `arrive` before it waits for its turn.
    pub(super) fn read_with(
        input: impl BufRead + Send + 'static,
        arrive: impl Fn(&InputLine) + Send + 'static,
    ) -> Self {
        let (sender, lines) = bounded(WAITING_LINES);
        std::thread::spawn(move || forward(input, &sender, &arrive));
        Self { lines, typed: None }
    }

    /// [`Lines::next`], after a prompt if a person types.
    pub(super) fn ask(&self, prompt: &str, stop: &AtomicBool) -> Option<InputLine> {
        if let Some(typed) = &self.typed {
            typed.prompts.send(prompt.to_owned()).ok()?;
        }
        self.next(stop)
    }

    /// The next line; `None` after the last one, or when the program is to stop.
    pub(super) fn next(&self, stop: &AtomicBool) -> Option<InputLine> {
        while !stop.load(Ordering::Relaxed) {
            match self.lines.recv_timeout(BETWEEN_CHECKS) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }
}

fn forward(mut input: impl BufRead, sender: &Sender<InputLine>, arrive: &impl Fn(&InputLine)) {
    let mut is_rest = false;
    loop {
        let mut bytes = Vec::new();
        let read = input
            .by_ref()
            .take(LINE_SIZE_MAX)
            .read_until(b'\n', &mut bytes);
        if bytes.is_empty() || read.is_err() {
            return;
        }
        let is_cut = bytes.len() as u64 == LINE_SIZE_MAX && !bytes.ends_with(b"\n");
        if std::mem::replace(&mut is_rest, is_cut) {
            continue;
        }
        let text = String::from_utf8_lossy(bytes.strip_suffix(b"\n").unwrap_or(&bytes));
        let text = without_mark(&text).to_owned();
        let line = InputLine { text, is_cut };
        arrive(&line);
        // A session that is over takes no more lines.
        if sender.send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn lines_arrive_in_order_and_too_long_ones_are_cut() {
        let long = "x".repeat(3 * LINE_SIZE_MAX as usize);
        let exact = "y".repeat(LINE_SIZE_MAX as usize - 1);
        let text = format!("\u{feff}go\n{long}\n{exact}\nmove \u{e9}\nquit");
        let lines = Lines::read(Cursor::new(text.into_bytes()));
        let lines: Vec<InputLine> = std::iter::from_fn(|| lines.next(&NEVER)).collect();
        let line = |text: &str, is_cut| InputLine {
            text: text.to_owned(),
            is_cut,
        };
        let cut = line(&long[..LINE_SIZE_MAX as usize], true);
        let whole = ["move \u{e9}", "quit"].map(|text| line(text, false));
        assert!(lines[1] == cut && lines[2] == line(&exact, false));
        assert_eq!((&lines[0], &lines[3..]), (&line("go", false), &whole[..]));
    }

    #[test]
    fn a_program_that_is_to_stop_reads_no_more() {
        let lines = Lines::read(Cursor::new(b"go\n".to_vec()));
        assert_eq!(lines.next(&AtomicBool::new(true)), None);
    }
}
