//! `renma status --next`: what the next generation's lines of pipeline.sh need.

use super::moved_text;
use crate::artifact::dataset::verdict::Verdict;
use crate::cli::arguments::run::PipelineArguments;
use crate::cli::output::{print, print_json, say, thousands};
use crate::cli::session::Session;
use crate::run::lineage::{Change, Lineage};
use crate::run::next::{Generations, Next};
use crate::run::restart::Loss;
use crate::run::script_lock::lock_for_script;
use std::io::stdin;

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
        lineage.begin_next(change, arguments.generations.unwrap_or(Generations::Configured), announce)?
    } else {
        lineage.look_ahead()?
    };
    if session.json { print_json(&next) } else { Ok(print(&lines(&next))?) }
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
fn lines(next: &Next) -> String {
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
    ];
    lines.extend(next.datasets.iter().map(|folder| format!("dataset={}", folder.display())));
    lines.join("\n")
}
