//! `renma promote`.

use super::arguments::run::DEFAULT_REGISTRY;
use super::arguments::stage::PromoteArguments;
use super::output::{detail, say};
use super::session::Session;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::model::reference::load_model;
use crate::artifact::{LoadedModel, Registry, VerdictFile};
use crate::curate::verify::{VerifyTask, verify};
use crate::exit_code;
use crate::pipeline::StageError;
use crate::pipeline::promote::{PromoteReport, RollbackError, promote, rollback};
use anyhow::anyhow;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &PromoteArguments) -> anyhow::Result<ExitCode> {
    let named = arguments.models.as_deref().unwrap_or(Path::new(DEFAULT_REGISTRY));
    match &arguments.model {
        Some(name) => print_told(session, &promote_model(session, load_model(name, named)?, arguments)?),
        None => roll_back(session, &Registry::new(named)),
    }
}

/// Takes a promotion back. Each call takes back one more, so no error after that may invite a retry.
fn roll_back(session: &Session, registry: &Registry) -> anyhow::Result<ExitCode> {
    match rollback(registry) {
        Ok(report) => print_told(session, &report).map_err(|error| took_effect(&report, &error)),
        Err(RollbackError::Unchanged(error)) => Err(error.into()),
        Err(RollbackError::TookEffect(report, error)) => Err(took_effect(&report, &error.into())),
    }
}

fn print_told(session: &Session, report: &PromoteReport) -> anyhow::Result<ExitCode> {
    tell(session, report);
    session.print_json(report)?;
    Ok(exit_code::DONE.into())
}

/// An error with exit code 1: the cause is part of its text and not chained, since the code of a cause may invite a retry.
fn took_effect(report: &PromoteReport, error: &anyhow::Error) -> anyhow::Error {
    let [champion, before] = champions(report);
    anyhow!(
        "the rollback took effect: the champion is {champion}, before {before}; only a later step failed: \
         {error:#}\ndo not repeat it: that would take another promotion back"
    )
}

/// Says who is champion.
pub(super) fn tell(session: &Session, report: &PromoteReport) {
    let [champion, before] = champions(report);
    match report.champion {
        None => session.summarize("promote", "no champion; the run's start plays", false),
        Some(_) => session.summarize("promote", &format!("{champion} is champion"), report.skipped),
    }
    detail(&format!("promote: the champion before was {before}"));
}

/// The champion and the one before, for people.
fn champions(report: &PromoteReport) -> [String; 2] {
    [report.champion, report.before].map(|id| id.map_or("none".to_owned(), |id| id.to_string()))
}

fn promote_model(session: &Session, model: LoadedModel, arguments: &PromoteArguments) -> anyhow::Result<PromoteReport> {
    let folder = model.place.folder().and_then(Path::parent);
    let registry = Registry::new(arguments.models.as_deref().or(folder).unwrap_or(Path::new(DEFAULT_REGISTRY)));
    let verdict = arguments.verdict.as_deref().map(|folder| proved_verdict(session, folder)).transpose()?;
    let report = promote(&model, &registry, verdict.as_ref())?;
    if verdict.is_none() && !report.skipped {
        say("promote: without --verdict this is recorded as a promotion by hand");
    }
    Ok(report)
}

/// The verdict in a gate's folder, after its games were replayed and led to it.
fn proved_verdict(session: &Session, folder: &Path) -> Result<VerdictFile, StageError> {
    let verdict = read_verdict(folder)?;
    let task = VerifyTask { dataset: folder, fast: false, remake: None, resolve: None, seed: 0, models: None };
    verify(task, session.context())?;
    Ok(verdict)
}
