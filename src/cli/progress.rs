//! Progress on stderr: a bar on a terminal, now and then a plain line elsewhere.

use super::arguments::ProgressMode;
use super::output::{duration_text, say, terminal_width, thousands};
use crate::pipeline::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time between plain lines of a single command, and of the stages of a run, whose log is read
/// the morning after.
const BETWEEN_LINES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// What is under way.
#[derive(Default)]
struct BarState {
    /// Whether stages belong to a run.
    is_run: bool,
    /// When all of the run is expected to end.
    until: Option<Instant>,
    /// When its budget is spent.
    budget: Option<Instant>,
    task: Option<Task>,
}

/// The task that is shown; the bar counts its items, and is hidden where lines are printed instead.
struct Task {
    unit: String,
    note: String,
    bar: ProgressBar,
    printed: Instant,
}

/// Shows progress in the way that was asked for.
pub struct Watcher {
    mode: ProgressMode,
    state: Mutex<BarState>,
}

impl Watcher {
    pub fn new(mode: ProgressMode) -> Self {
        let mode = match mode {
            ProgressMode::Auto if stderr().is_terminal() => ProgressMode::Bar,
            ProgressMode::Auto => ProgressMode::Plain,
            mode => mode,
        };
        Self {
            mode,
            state: Mutex::default(),
        }
    }

    /// The stages to come belong to a run.
    pub fn begin_run(&self) {
        self.state().is_run = true;
    }

    /// When all of the run is expected to end.
    pub fn expect_end(&self, after: Duration) {
        self.state().until = Instant::now().checked_add(after);
    }

    pub fn set_budget(&self, budget: Duration) {
        self.state().budget = Instant::now().checked_add(budget);
    }

    /// What the lines of the stages of a run begin with.
    pub fn indent(&self) -> &'static str {
        self.state().indent()
    }

    fn state(&self) -> MutexGuard<'_, BarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BarState {
    const fn indent(&self) -> &'static str {
        if self.is_run { "  " } else { "" }
    }

    /// The text after the bar: the note of the task, and the time left of the run and of its
    /// budget.
    fn message(&self, task: &Task) -> String {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        let mut text = String::new();
        if !task.note.is_empty() {
            text += &format!(", {}", task.note);
        }
        if let Some(until) = self.until {
            text += &format!(
                ", run {} left",
                duration_text(left(until).max(task.bar.eta()))
            );
        }
        if let Some(budget) = self.budget {
            text += &format!(", budget {} left", duration_text(left(budget)));
        }
        text
    }

    fn line(&self, task: &Task) -> String {
        let Task { bar, unit, .. } = task;
        let (done, total) = (
            thousands(bar.position()),
            thousands(bar.length().unwrap_or(0)),
        );
        let (rate, left) = (rate_text(bar.per_sec()), duration_text(bar.eta()));
        let (indent, message) = (self.indent(), self.message(task));
        format!(
            "{indent}{:<9} {done} of {total} {unit}, {rate}, {left} left{message}",
            bar.prefix()
        )
    }
}

/// What fits a terminal of this width; the message at the end is cut off where the line ends.
fn template(indent: &str, unit: &str, columns: usize) -> String {
    let (bar, rest) = match columns {
        ..60 => ("", String::new()),
        60..100 => ("{bar:16} ", format!(" {unit}")),
        100.. => ("{bar:16} ", format!(" {unit}, {{rate}}")),
    };
    format!(
        "{indent}{{prefix:<9}} {bar}{{human_pos}}/{{human_len}}{rest}, {{left}} left{{wide_msg}}"
    )
}

/// Three digits are enough for a rate.
fn rate_text(rate: f64) -> String {
    if rate < 10.0 {
        format!("{rate:.1}/s")
    } else {
        format!("{}/s", thousands(rate as u64))
    }
}

impl Progress for Watcher {
    fn begin(&self, name: &str, total: u64, unit: &str) {
        let target = if self.mode == ProgressMode::Bar {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let mut state = self.state();
        let columns = terminal_width(stderr()).unwrap_or(80);
        let style = ProgressStyle::with_template(&template(state.indent(), unit, columns))
            .expect("the template is sound")
            .with_key(
                "rate",
                |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                    // Writing to a string cannot fail.
                    write!(text, "{}", rate_text(state.per_sec())).ok();
                },
            )
            .with_key(
                "left",
                |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                    // Writing to a string cannot fail.
                    write!(text, "{}", duration_text(state.eta())).ok();
                },
            )
            .progress_chars("━━─");
        let bar = ProgressBar::with_draw_target(Some(total), target)
            .with_style(style)
            .with_prefix(name.to_owned());
        state.task = Some(Task {
            unit: unit.into(),
            note: String::new(),
            bar,
            printed: Instant::now(),
        });
    }

    fn resume(&self, items: u64) {
        if let Some(task) = &self.state().task {
            task.bar.inc(items);
            task.bar.reset_eta();
        }
    }

    fn advance(&self, items: u64) {
        let mut state = self.state();
        let Some(mut task) = state.task.take() else {
            return;
        };
        task.bar.inc(items);
        match self.mode {
            ProgressMode::Bar => task.bar.set_message(state.message(&task)),
            ProgressMode::Plain
                if BETWEEN_LINES[usize::from(state.is_run)] <= task.printed.elapsed() =>
            {
                say(&state.line(&task));
                task.printed = Instant::now();
            }
            _ => {}
        }
        state.task = Some(task);
    }

    fn note(&self, text: &str) {
        if let Some(task) = &mut self.state().task {
            text.clone_into(&mut task.note);
        }
    }

    fn end(&self) {
        if let Some(task) = self.state().task.take() {
            task.bar.finish_and_clear();
        }
    }
}
