//! `renma status --next`: what the next generation's lines of pipeline.sh need.

use super::moved_text;
use crate::artifact::dataset::verdict::Verdict;
use crate::cli::arguments::run::PipelineArguments;
use crate::cli::output::{duration_text, print, print_json, say, thousands};
use crate::cli::session::Session;
use crate::cli::stage::unix_seconds;
use crate::run::forecast::recent_seconds;
use crate::run::lineage::{Change, Lineage};
use crate::run::log::{RUN_LOG_NAME, read_calls};
use crate::run::next::{Generations, Next};
use crate::run::restart::Loss;
use crate::run::script_lock::lock_for_script;
use std::io::stdin;
use std::time::Duration;

pub(super) fn run(session: &Session, arguments: &PipelineArguments, mut lineage: Lineage<'_>) -> anyhow::Result<()> {
    let next = if arguments.begin {
        lock_for_script(stdin(), lineage.registry.folder())?;
        let change = match (arguments.from_next, arguments.restart) {
            (_, Some(generation)) => Change::Restart(generation),
            (true, None) => Change::FromNext,
            (false, None) => Change::Refuse,
        };
        // Before the lock another call may have been at work.
        lineage = Lineage::read(lineage.given, lineage.registry, lineage.datasets)?;
        if !lineage.moved_defaults.is_empty() {
            say(&moved_text(&lineage.moved_defaults));
        }
        let next = lineage.begin_next(change, arguments.generations.unwrap_or(Generations::Configured), announce)?;
        if next.generation <= next.last {
            return begin(session, &next, arguments.expect, &lineage);
        }
        next
    } else {
        lineage.look_ahead()?
    };
    print_next(session, &next, None)
}

/// Says which generation begins, and when the run is expected to end.
fn begin(session: &Session, next: &Next, expected: Option<f64>, lineage: &Lineage<'_>) -> anyhow::Result<()> {
    let calls = read_calls(&lineage.registry.folder().join(RUN_LOG_NAME))?;
    let each = recent_seconds(&calls, next.generation);
    let left = f64::from(next.last + 1 - next.generation);
    let seconds = each.map_or(expected, |seconds| Some(seconds * left)).map(|seconds| seconds.max(0.0));
    let mut heading = format!("generation {} of {} · champion {}", next.generation, next.last, next.champion);
    if let Some(seconds) = seconds {
        heading += &format!(" · {} left", duration_text(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)));
    }
    say(&heading);
    print_next(session, next, seconds.map(|seconds| unix_seconds() + seconds as u64))
}

fn print_next(session: &Session, next: &Next, until: Option<u64>) -> anyhow::Result<()> {
    if session.json { print_json(next) } else { Ok(print(&lines(next, until))?) }
}

fn announce(loss: &Loss) {
    let generations = match loss.to {
        to if to <= loss.from => format!("generation {}", loss.from),
        to => format!("generations {} to {to}", loss.from),
    };
    say(&format!(
        "restart: removing {generations}: {} games of self-play, {} games of gates, {} versions, {:.2} CPU-hours",
        thousands(loss.games),
        thousands(loss.gate_games),
        thousands(loss.versions),
        loss.cpu_hours
    ));
}

/// One name=value per line; a list has one line per value.
fn lines(next: &Next, until: Option<u64>) -> String {
    let mut lines = vec![
        format!("generation={}", next.generation),
        format!("last={}", next.last),
        format!("config={}", next.config.display()),
        format!("given={}", next.given.display()),
        format!("champion={}", next.champion),
        format!("replace={}", if next.replace { "--replace" } else { "" }),
        format!("verdict={}", next.verdict.map_or("", Verdict::name)),
        format!("keep={}", next.keep),
        format!("veteran={}", next.veteran.as_deref().unwrap_or_default()),
        format!("until={}", until.map(|until| until.to_string()).unwrap_or_default()),
    ];
    lines.extend(next.datasets.iter().map(|folder| format!("dataset={}", folder.display())));
    lines.join("\n")
}
