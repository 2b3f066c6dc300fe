//! Command lines as they arrive, read by a separate thread, so that `ping` reaches a search at work.

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io::{BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Longer lines are ignored: a game with all its comments is shorter.
const LINE_SIZE_MAX: u64 = 1 << 16;

/// Lines that may wait; then the sender of the commands waits too.
const WAITING_LINES: usize = 256;

/// How often a wait for a command looks at the stop flag of the program.
pub(super) const BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// The commands of one session.
#[derive(Debug)]
pub struct Commands {
    lines: Receiver<String>,
    pings: Arc<Pings>,
}

impl Commands {
    /// Reads lines until the input ends or the session does. An input that cannot be read has ended.
    pub fn read(input: impl BufRead + Send + 'static) -> Self {
        let (sender, lines) = bounded(WAITING_LINES);
        let pings = Arc::new(Pings::default());
        let arriving = Arc::clone(&pings);
        std::thread::spawn(move || forward(input, &sender, &arriving));
        Self { lines, pings }
    }

    /// The next line; `None` after the last one, or when the program is to stop.
    pub(super) fn next(&self, stop: &AtomicBool) -> Option<String> {
        while !stop.load(Ordering::Relaxed) {
            match self.lines.recv_timeout(BETWEEN_CHECKS) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }

    pub(super) fn pings(&self) -> &Pings {
        &self.pings
    }
}

/// The `ping` commands that are not answered, and the flag that ends searches as long as there are any.
#[derive(Debug, Default)]
pub(super) struct Pings {
    unanswered: AtomicUsize,
    stop: AtomicBool,
}

impl Pings {
    /// Raised as long as a search is to end at once.
    pub(super) const fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn arrive(&self) {
        self.unanswered.fetch_add(1, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Takes a `ping` off the list before it is answered.
    pub(super) fn answer(&self) {
        if self.unanswered.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.stop.store(false, Ordering::SeqCst);
            // One that arrived between the two lines has raised the flag too early.
            if 0 < self.unanswered.load(Ordering::SeqCst) {
                self.stop.store(true, Ordering::SeqCst);
            }
        }
    }
}

/// Whether a line is a `ping`.
pub(super) fn is_ping(line: &str) -> bool {
    line.split_whitespace().next() == Some("ping")
}

fn forward(mut input: impl BufRead, sender: &Sender<String>, pings: &Pings) {
    let mut inside_long_line = false;
    loop {
        let mut bytes = Vec::new();
        let read = input.by_ref().take(LINE_SIZE_MAX).read_until(b'\n', &mut bytes);
        if bytes.is_empty() || read.is_err() {
            return;
        }
        let is_cut = bytes.len() as u64 == LINE_SIZE_MAX && !bytes.ends_with(b"\n");
        if !std::mem::replace(&mut inside_long_line, is_cut) && !is_cut {
            let line = String::from_utf8_lossy(&bytes).into_owned();
            if is_ping(&line) {
                pings.arrive();
            }
            // A session that is over takes no more lines.
            if sender.send(line).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn lines_arrive_in_order_and_too_long_ones_do_not() {
        let long = "x".repeat(3 * LINE_SIZE_MAX as usize);
        let exact = "y".repeat(LINE_SIZE_MAX as usize - 1);
        let text = format!("go\n{long}\n{exact}\nmove \u{e9}\nquit");
        let commands = Commands::read(Cursor::new(text.into_bytes()));
        let lines: Vec<String> = std::iter::from_fn(|| commands.next(&NEVER)).collect();
        assert_eq!(lines, ["go\n".to_owned(), format!("{exact}\n"), "move \u{e9}\n".to_owned(), "quit".to_owned()]);
    }

    #[test]
    fn searches_end_until_the_last_ping_is_answered() {
        let pings = Pings::default();
        let raised = || pings.stop().load(Ordering::SeqCst);
        pings.arrive();
        pings.arrive();
        assert!(raised());
        pings.answer();
        assert!(raised());
        pings.answer();
        assert!(!raised());
    }

    #[test]
    fn a_program_that_is_to_stop_reads_no_more() {
        let commands = Commands::read(Cursor::new(b"go\n".to_vec()));
        assert_eq!(commands.next(&AtomicBool::new(true)), None);
    }
}
