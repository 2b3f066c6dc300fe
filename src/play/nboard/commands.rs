//! Command lines as they arrive, watched for `ping`, which ends a search at work.

use crate::play::lines::{InputLine, Lines};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Reads the commands of a session, and counts its pings as they arrive; a line that is too long
/// has none.
pub fn read_commands(input: impl BufRead + Send + 'static) -> (Lines, Arc<Pings>) {
    let pings = Arc::new(Pings::default());
    let arriving = Arc::clone(&pings);
    let arrive = move |line: &InputLine| {
        if !line.is_cut && is_ping(&line.text) {
            arriving.arrive();
        }
    };
    (Lines::read_with(input, arrive), pings)
}

/// The `ping` commands that are not answered, and the flag that ends searches as long as there are
/// any.
#[derive(Debug, Default)]
pub struct Pings {
    unanswered: AtomicUsize,
    /// Raised as long as a search is to end at once.
    pub stop: AtomicBool,
}

impl Pings {
    fn arrive(&self) {
        self.unanswered.fetch_add(1, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Takes a `ping` off the list before it is answered.
    pub fn answer(&self) {
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
pub fn is_ping(line: &str) -> bool {
    line.split_whitespace().next() == Some("ping")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_line_that_is_too_long_is_no_ping() {
        let long = format!("ping {}", "x".repeat(1 << 17));
        let (lines, pings) = read_commands(Cursor::new(format!("go\n{long}\nquit").into_bytes()));
        let lines: Vec<InputLine> = std::iter::from_fn(|| lines.next(&NEVER)).collect();
        assert_eq!(
            lines.iter().map(|line| line.is_cut).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(!pings.stop.load(Ordering::SeqCst));
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
