//! Progress on stderr: a bar on a terminal, a plain line every few seconds elsewhere.

use super::arguments::ProgressMode;
use super::output::{say, thousands};
use crate::pipeline::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The task that is shown; the bar counts its items, and is hidden where lines are printed instead.
struct Task {
    unit: String,
    rows: u64,
    note: String,
    bar: ProgressBar,
    printed: Instant,
}

/// Shows progress in the way that was asked for.
pub(super) struct Watcher {
    mode: ProgressMode,
    task: Mutex<Option<Task>>,
}

impl Watcher {
    pub(super) fn new(mode: ProgressMode) -> Self {
        let mode = match mode {
            ProgressMode::Auto if std::io::stderr().is_terminal() => ProgressMode::Bar,
            ProgressMode::Auto => ProgressMode::Plain,
            mode => mode,
        };
        Self { mode, task: Mutex::new(None) }
    }

    fn task(&self) -> MutexGuard<'_, Option<Task>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_task(&self, act: impl FnOnce(&mut Task)) {
        if let Some(task) = self.task().as_mut() {
            act(task);
        }
    }
}

impl Task {
    /// What the bar does not say itself.
    fn message(&self) -> String {
        let mut text = String::new();
        if 0 < self.rows {
            let rate = self.rows as f64 / self.bar.elapsed().as_secs_f64().max(1e-3);
            text += &format!(", {rate:.0} positions/s");
        }
        if !self.note.is_empty() {
            text += &format!(", {}", self.note);
        }
        text
    }

    fn line(&self) -> String {
        let (bar, unit) = (&self.bar, &self.unit);
        let (done, total) = (thousands(bar.position()), thousands(bar.length().unwrap_or(0)));
        let (rate, left) = (bar.per_sec(), HumanDuration(bar.eta()));
        format!("{}: {done} of {total} {unit}, {rate:.1} {unit}/s, {left} left{}", bar.prefix(), self.message())
    }
}

impl Progress for Watcher {
    fn begin(&self, name: &str, total: u64, unit: &str) {
        let target =
            if self.mode == ProgressMode::Bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let template =
            format!("{{prefix:>8}} [{{bar:30}}] {{human_pos}}/{{human_len}} {unit}, {{per_sec}}, {{eta}} left{{msg}}");
        let style = ProgressStyle::with_template(&template).expect("the template is sound").progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style).with_prefix(name.to_owned());
        let task = Task { unit: unit.into(), rows: 0, note: String::new(), bar, printed: Instant::now() };
        *self.task() = Some(task);
    }

    fn resume(&self, items: u64) {
        self.with_task(|task| {
            task.bar.inc(items);
            task.bar.reset_eta();
        });
    }

    fn advance(&self, items: u64, rows: u64) {
        self.with_task(|task| {
            task.rows += rows;
            task.bar.inc(items);
            match self.mode {
                ProgressMode::Bar => task.bar.set_message(task.message()),
                ProgressMode::Plain if BETWEEN_LINES <= task.printed.elapsed() => {
                    task.printed = Instant::now();
                    say(&task.line());
                }
                _ => {}
            }
        });
    }

    fn note(&self, text: &str) {
        self.with_task(|task| text.clone_into(&mut task.note));
    }

    fn end(&self) {
        self.with_task(|task| task.bar.finish_and_clear());
        *self.task() = None;
    }
}
