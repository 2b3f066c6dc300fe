//! Progress on stderr: a bar on a terminal, a plain line every few seconds elsewhere.

use super::arguments::ProgressMode;
use super::output::{say, thousands};
use crate::pipeline::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SECONDS_BETWEEN_LINES: u64 = 5;

/// The task being watched.
struct Task {
    name: String,
    unit: String,
    total: u64,
    /// Items that were there when the task began: they do not count for its rate.
    before: u64,
    done: u64,
    rows: u64,
    note: String,
    began: Instant,
    told: Instant,
    bar: Option<ProgressBar>,
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

    fn with_task(&self, act: impl FnOnce(&mut Option<Task>)) {
        act(&mut self.task.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Task {
    fn rates(&self) -> String {
        let seconds = self.began.elapsed().as_secs_f64().max(1e-3);
        let rate = self.done as f64 / seconds;
        let mut text = format!("{rate:.1} {}/s", self.unit);
        if 0 < self.rows {
            text += &format!(", {:.0} positions/s", self.rows as f64 / seconds);
        }
        let rest = self.total.saturating_sub(self.before + self.done);
        if 0 < self.done && 0 < rest {
            let left = rest as f64 / rate;
            text += &format!(", {} left", clock(Duration::from_secs_f64(left)));
        }
        if !self.note.is_empty() {
            text += &format!(", {}", self.note);
        }
        text
    }

    fn line(&self) -> String {
        let (done, total) = (thousands(self.before + self.done), thousands(self.total));
        format!("{}: {done} of {total} {}, {}", self.name, self.unit, self.rates())
    }
}

fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

impl Progress for Watcher {
    fn begin(&self, name: &str, total: u64, unit: &str) {
        let bar = (self.mode == ProgressMode::Bar).then(|| {
            let style = ProgressStyle::with_template("{prefix:>8} [{bar:30}] {pos}/{len} {msg}")
                .expect("the template is sound")
                .progress_chars("=> ");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.set_style(style);
            bar.set_prefix(name.to_owned());
            bar
        });
        let now = Instant::now();
        let (name, unit, note) = (name.into(), unit.into(), String::new());
        let task = Task { name, unit, total, before: 0, done: 0, rows: 0, note, began: now, told: now, bar };
        self.with_task(|current| *current = Some(task));
    }

    fn resume(&self, items: u64) {
        self.with_task(|current| {
            let Some(task) = current else { return };
            task.before += items;
            if let Some(bar) = &task.bar {
                bar.set_position(task.before);
            }
        });
    }

    fn advance(&self, items: u64, rows: u64) {
        self.with_task(|current| {
            let Some(task) = current else { return };
            task.done += items;
            task.rows += rows;
            if let Some(bar) = &task.bar {
                bar.set_message(task.rates());
                bar.set_position(task.before + task.done);
            } else if self.mode == ProgressMode::Plain && SECONDS_BETWEEN_LINES <= task.told.elapsed().as_secs() {
                task.told = Instant::now();
                say(&task.line());
            }
        });
    }

    fn note(&self, text: &str) {
        self.with_task(|current| {
            if let Some(task) = current {
                text.clone_into(&mut task.note);
            }
        });
    }

    fn end(&self) {
        self.with_task(|current| {
            if let Some(Task { bar: Some(bar), .. }) = current.take() {
                bar.finish_and_clear();
            }
        });
    }
}
