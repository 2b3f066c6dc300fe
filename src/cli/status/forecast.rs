//! `renma status --forecast`: what the rest of a run is expected to take.

use crate::cli::arguments::run::PipelineArguments;
use crate::cli::output::{bytes_text, counted, duration_text, print, print_json, say};
use crate::cli::session::{Session, Stopwatch};
use crate::pipeline::Context;
use crate::run::forecast::Forecast;
use crate::run::lineage::Lineage;
use crate::run::log::{RUN_LOG_NAME, read_calls};
use crate::run::next::Generations;
use crate::run::state::run_steps;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// For how long games are timed at most, however long one takes.
const TRIAL_SECONDS_MAX: Duration = Duration::from_secs(3);

static TRIAL_OVER: AtomicBool = AtomicBool::new(false);

/// Prints the seconds on stdout, for `status --next --begin --expect`.
pub(super) fn run(session: &Session, arguments: &PipelineArguments, lineage: &Lineage<'_>) -> anyhow::Result<()> {
    let next = run_steps(lineage)?.next;
    let next = arguments.restart.map_or(next, |from| from.min(next));
    let configured = lineage.config.config.run.generations;
    let last = arguments.generations.unwrap_or(Generations::Configured).last(configured, next);
    let calls = read_calls(&lineage.registry.folder().join(RUN_LOG_NAME))?;
    let stopwatch = Stopwatch::start();
    std::thread::spawn(|| {
        std::thread::sleep(TRIAL_SECONDS_MAX);
        TRIAL_OVER.store(true, Ordering::Relaxed);
    });
    let trial = Context { stop: &TRIAL_OVER, ..session.context() };
    let forecast = Forecast::new(lineage, (next, last), &calls, &|| stopwatch.seconds(), trial)?;
    session.context().check()?;
    if 0 < forecast.generations {
        let time = Duration::try_from_secs_f64(forecast.seconds).unwrap_or(Duration::MAX);
        say(&format!(
            "{}, {} {}, {} of {}, {} memory",
            counted(forecast.generations.into(), "generation"),
            if forecast.is_minimum { "more than" } else { "about" },
            duration_text(time),
            bytes_text(forecast.bytes),
            bytes_text(forecast.bytes_free),
            bytes_text(forecast.memory)
        ));
    }
    forecast.check_disk(lineage.datasets)?;
    if session.json { print_json(&forecast) } else { Ok(print(&format!("{:.0}", forecast.seconds))?) }
}
