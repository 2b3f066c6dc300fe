//! `renma promote`.

use super::arguments::run::{DEFAULT_REGISTRY, named_registry};
use super::arguments::stage::PromoteArguments;
use super::output::{detail, say};
use super::session::Session;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::{ChampionFile, KnownModel, ModelKind, Registry, VerdictFile, VersionId};
use crate::curate::verify::{VerifyTask, verify};
use crate::exit_code;
use crate::pipeline::StageError;
use crate::pipeline::promote::{PromoteReport, RollbackError, promote, rollback};
use crate::report::renew_report;
use crate::run::folders::is_made_here;
use crate::run::record;
use anyhow::anyhow;
use std::path::Path;
use std::process::ExitCode;

pub fn run(session: &Session, arguments: &PromoteArguments) -> anyhow::Result<ExitCode> {
    let named = &named_registry(arguments.models.as_deref())?;
    match &arguments.model {
        Some(name) => promote_model(session, &name.find(named)?, arguments),
        None => roll_back(session, &Registry::new(named)),
    }
}

/// Takes a promotion back. Each call takes back one more, so no error after that may invite a
/// retry.
fn roll_back(session: &Session, registry: &Registry) -> anyhow::Result<ExitCode> {
    match rollback(registry) {
        Ok(report) => end(session, registry, &report).map_err(|error| took_effect(&report, &error)),
        Err(RollbackError::Unchanged(error)) => Err(error.into()),
        Err(RollbackError::TookEffect(report, error)) => Err(took_effect(&report, &error.into())),
    }
}

/// Says what was done, also in the record and the report of the run.
fn end(session: &Session, registry: &Registry, report: &PromoteReport) -> anyhow::Result<ExitCode> {
    tell(session, report);
    say(&format!("promote: in {}", registry.folder().display()));
    renew(session, registry);
    session.print_json(report)?;
    Ok(exit_code::DONE.into())
}

/// Lets run.json and report.html name the champion. The promotion stands without them.
fn renew(session: &Session, registry: &Registry) {
    let record = record::refresh(registry.folder()).map_err(StageError::from);
    let report = session
        .context()
        .pool()
        .and_then(|pool| pool.install(|| renew_report(registry)));
    for (name, result) in [("run.json", record), ("report.html", report)] {
        if let Err(error) = result {
            say(&format!(
                "promote: note: {name} does not name the champion yet: {error}"
            ));
        }
    }
}

/// An error with exit code 1: the cause is part of its text and not chained, since the code of a
/// cause may invite a retry.
fn took_effect(report: &PromoteReport, error: &anyhow::Error) -> anyhow::Error {
    let [champion, before] = champions(report);
    anyhow!(
        "the rollback took effect: the champion is {champion}, before {before}; only a later step failed: \
         {error:#}\ndo not repeat it: that would take another promotion back"
    )
}

/// Says who is champion.
pub fn tell(session: &Session, report: &PromoteReport) {
    let [champion, before] = champions(report);
    match report.champion {
        None => session.summarize("promote", "no champion; the run's start plays", false),
        Some(_) => session.summarize(
            "promote",
            &format!("{champion} is champion"),
            report.skipped,
        ),
    }
    detail(&format!("promote: the champion before was {before}"));
}

/// The champion and the one before, for people.
fn champions(report: &PromoteReport) -> [String; 2] {
    [report.champion, report.before].map(|id| id.map_or("none".to_owned(), |id| id.to_string()))
}

fn promote_model(
    session: &Session,
    model: &KnownModel,
    arguments: &PromoteArguments,
) -> anyhow::Result<ExitCode> {
    let folder = model.place.folder().and_then(Path::parent);
    let registry = Registry::new(
        arguments
            .models
            .as_deref()
            .or(folder)
            .unwrap_or(Path::new(DEFAULT_REGISTRY)),
    );
    let verdict = arguments
        .verdict
        .as_deref()
        .map(|folder| proved_verdict(session, folder))
        .transpose()?;
    let champions = ChampionFile::read(registry.folder())?;
    let report = promote(model, &registry, verdict.as_ref())?;
    if report.is_spent {
        let reason =
            "this verdict has promoted it before, and that was taken back: a verdict acts once";
        let remedy = "without --verdict it is promoted by hand";
        return Err(StageError::Setting(format!(
            "cannot promote {}: {reason}\n{remedy}",
            model.id
        ))
        .into());
    }
    if !report.skipped {
        match &verdict {
            None => note_promotion_by_hand(model, &registry)?,
            Some(verdict) => note_other_baseline(verdict, &champions),
        }
    }
    end(session, &registry, &report)
}

/// Says what is unusual about a promotion that no gate asked for.
fn note_promotion_by_hand(model: &KnownModel, registry: &Registry) -> anyhow::Result<()> {
    say("promote: without --verdict this is recorded as a promotion by hand");
    let Some(document) = &model.document else {
        return Ok(());
    };
    if document.origin.kind == ModelKind::Draft {
        say(&format!(
            "promote: note: {} is a draft: without MPC statistics it searches full width",
            model.id
        ));
    }
    if !is_made_here(document, registry.folder())? {
        say(&format!(
            "promote: note: {} was not made by this run",
            model.id
        ));
    }
    Ok(())
}

/// Says if a gate was not against the champion that its candidate replaces.
fn note_other_baseline(verdict: &VerdictFile, champions: &ChampionFile) {
    let champion = champions
        .champion()
        .filter(|champion| champion.content != verdict.baseline.content);
    if let Some(champion) = champion {
        let id: VersionId = champion.id;
        say(&format!(
            "promote: note: the gate was against {}, and the champion was {id}",
            verdict.baseline.id
        ));
    }
}

/// The verdict in a gate's folder, after its games were replayed and led to it.
fn proved_verdict(session: &Session, folder: &Path) -> Result<VerdictFile, StageError> {
    let verdict = read_verdict(folder)?;
    let task = VerifyTask {
        dataset: folder,
        fast: false,
        remake: None,
        seed: 0,
        models: None,
    };
    verify(task, session.context())?;
    Ok(verdict)
}
