//! `renma promote`.

use super::arguments::PromoteArguments;
use super::output::{print_json, say};
use super::session::Session;
use super::work::{Worked, run_stage};
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::model::name::VersionId;
use crate::artifact::model::reference::load_model;
use crate::artifact::model::registry::Registry;
use crate::pipeline::promote::{PromoteReport, promote, rollback};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &PromoteArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, "promote", None, &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &PromoteArguments) -> anyhow::Result<Worked> {
    let report = match &arguments.model {
        Some(name) => promote_model(name, arguments)?,
        None => rollback(&Registry::new(&named_registry(arguments)))?,
    };
    let name = |id: Option<VersionId>| id.map_or("none".to_owned(), |id| id.to_string());
    let (champion, before) = (name(report.champion), name(report.before));
    if report.skipped {
        say(&format!("promote: done before; the champion is {champion}"));
    } else {
        say(&format!("promote: the champion is {champion}, before {before}"));
    }
    if session.json {
        print_json(&report)?;
    }
    Ok(Worked::done(report.champion.map(|id| id.to_string()).as_deref(), report.skipped))
}

fn promote_model(name: &str, arguments: &PromoteArguments) -> anyhow::Result<PromoteReport> {
    let model = load_model(name, &named_registry(arguments))?;
    let folder = model.folder.as_deref().and_then(Path::parent);
    let registry = Registry::new(arguments.models.as_deref().or(folder).unwrap_or(Path::new("models/default")));
    let verdict = arguments.verdict.as_deref().map(read_verdict).transpose()?;
    let report = promote(&model, &registry, verdict.as_ref())?;
    if verdict.is_none() && !report.skipped {
        say("promote: no gate's verdict is named, so this is recorded as a promotion by hand");
    }
    Ok(report)
}

fn named_registry(arguments: &PromoteArguments) -> PathBuf {
    arguments.models.clone().unwrap_or_else(|| "models/default".into())
}
