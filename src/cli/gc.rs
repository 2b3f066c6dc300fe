//! `renma gc`: removes what a run no longer needs.

use super::arguments::GcArguments;
use super::output::{print_json, say, thousands};
use super::session::{Session, registry_folder};
use crate::artifact::model::registry::Registry;
use crate::config::load_config;
use crate::run::gc::{Removal, plan, remove};
use crate::run::lineage::Lineage;
use crate::run::summary::Finished;
use serde_json::json;
use std::path::Path;

pub(super) fn run(session: &Session, arguments: &GcArguments) -> anyhow::Result<()> {
    let config = load_config(&arguments.config)?;
    let registry = Registry::new(&registry_folder(arguments.models.as_deref(), &config.name));
    let datasets = arguments.datasets.clone().unwrap_or_else(|| Path::new("datasets").join(&config.name));
    let run = &config.config.run;
    let lineage = Lineage::read(&config, &registry, &datasets)?;
    let finished = Finished::new(&lineage)?;
    let task = finished.gc_task(&lineage);
    let plan = plan(&task)?;
    if !arguments.dry_run {
        remove(&task, &plan)?;
    }
    let verb = if arguments.dry_run { "would remove" } else { "removed" };
    for removal in &plan.removals {
        say(&format!("gc: {verb} {} ({} bytes)", removal.path.display(), thousands(removal.bytes)));
    }
    for path in &plan.linked {
        say(&format!("gc: kept {}: it lies behind a symbolic link", path.display()));
    }
    let bytes = plan.removals.iter().map(|removal| removal.bytes).sum();
    if run.keep_generations == 0 {
        say("gc: run.keep_generations = 0: everything stays");
    } else {
        let (count, closed) = (plan.removals.len(), plan.closed.generation);
        say(&format!("gc: {verb} {count} folders, {} bytes; generations to {closed} are closed", thousands(bytes)));
    }
    if !session.json {
        return Ok(());
    }
    let removed =
        plan.removals.iter().map(|Removal { path, bytes }| json!({"path": path.to_string_lossy(), "bytes": bytes}));
    let linked = plan.linked.iter().map(|path| path.to_string_lossy());
    print_json(&json!({
        "dry_run": arguments.dry_run,
        "closed": plan.closed.generation,
        "champion": plan.closed.champion,
        "removed": removed.collect::<Vec<_>>(),
        "linked": linked.collect::<Vec<_>>(),
        "bytes": bytes,
    }))
}
