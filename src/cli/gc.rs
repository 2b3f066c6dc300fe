//! `renma gc`: removes what a run no longer needs.

use super::arguments::run::GcArguments;
use super::output::{counted, say};
use super::session::Session;
use crate::artifact::Registry;
use crate::run::gc::{GcPlan, Removal, closed_text, collect, plan};
use crate::run::invocation::Invocation;
use crate::run::lineage::Lineage;
use serde_json::json;

pub fn run(session: &Session, arguments: &GcArguments) -> anyhow::Result<()> {
    let (
        config,
        Invocation {
            models, datasets, ..
        },
    ) = arguments.run.load()?;
    let registry = Registry::new(&models);
    let lineage = Lineage::read(&config, &registry, &datasets)?;
    let keeps_all = lineage.config.config.run.keep_generations == 0;
    let plan = if arguments.dry_run {
        plan(&lineage)?
    } else {
        collect(lineage)?
    };
    tell(&plan, arguments.dry_run);
    if keeps_all {
        say("gc: run.keep_generations = 0: everything stays");
    }
    let removed = plan
        .removals
        .iter()
        .map(|Removal { path, bytes }| json!({"path": path.to_string_lossy(), "bytes": bytes}));
    let linked = plan.linked.iter().map(|path| path.to_string_lossy());
    session.print_json(&json!({
        "dry_run": arguments.dry_run,
        "closed": plan.closed.generation,
        "champion": plan.closed.champion,
        "removed": removed.collect::<Vec<_>>(),
        "linked": linked.collect::<Vec<_>>(),
        "bytes": plan.bytes(),
    }))
}

/// Says what was removed, or would be.
pub fn tell(plan: &GcPlan, dry_run: bool) {
    let verb = if dry_run { "would remove" } else { "removed" };
    for removal in &plan.removals {
        say(&format!(
            "gc: {verb} {} ({})",
            removal.path.display(),
            counted(removal.bytes, "byte")
        ));
    }
    for path in &plan.linked {
        say(&format!(
            "gc: kept {}: it lies behind a symbolic link",
            path.display()
        ));
    }
    let (folders, bytes) = (
        counted(plan.removals.len() as u64, "folder"),
        counted(plan.bytes(), "byte"),
    );
    let closed =
        closed_text(plan.closed.generation).map_or_else(String::new, |text| format!("; {text}"));
    say(&format!("gc: {verb} {folders}, {bytes}{closed}"));
}
