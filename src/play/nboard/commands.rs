//! Command lines as they arrive, watched for `ping`, which ends a search at work.

use crate::play::lines::{Line, Lines};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The commands of one session.
#[derive(Debug)]
pub struct Commands {
    lines: Lines,
    pub(super) pings: Arc<Pings>,
}

impl Commands {
    /// Reads lines until the input ends or the session does. An input that cannot be read has ended.
    pub fn read(input: impl BufRead + Send + 'static) -> Self {
        let pings = Arc::new(Pings::default());
        let arriving = Arc::clone(&pings);
        let arrive = move |line: &Line| {
            if !line.is_cut && is_ping(&line.text) {
                arriving.arrive();
            }
        };
        Self { lines: Lines::read_with(input, arrive), pings }
    }

    /// The next line; `None` after the last one, or when the program is to stop. Lines that are too long are ignored.
    pub(super) fn next(&self, stop: &AtomicBool) -> Option<String> {
        std::iter::from_fn(|| self.lines.next(stop)).find(|line| !line.is_cut).map(|line| line.text)
    }
}

/// The `ping` commands that are not answered, and the flag that ends searches as long as there are any.
#[derive(Debug, Default)]
pub(super) struct Pings {
    unanswered: AtomicUsize,
    /// Raised as long as a search is to end at once.
    pub(super) stop: AtomicBool,
}

impl Pings {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn too_long_lines_are_ignored_pings_too() {
        let long = format!("ping {}", "x".repeat(1 << 17));
        let commands = Commands::read(Cursor::new(format!("go\n{long}\nquit").into_bytes()));
        let lines: Vec<String> = std::iter::from_fn(|| commands.next(&NEVER)).collect();
        assert_eq!(lines, ["go", "quit"]);
        assert!(!commands.pings.stop.load(Ordering::SeqCst));
    }

    #[test]
    fn searches_end_until_the_last_ping_is_answered() {
        let pings = Pings::default();
        let raised = || pings.stop.load(Ordering::SeqCst);
        pings.arrive();
        pings.arrive();
        assert!(raised());
        pings.answer();
        assert!(raised());
        pings.answer();
        assert!(!raised());
    }
}
