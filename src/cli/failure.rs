//! Errors as people read them, and as exit codes.

use crate::artifact::error::ArtifactError;
use crate::cluster::drive::DriveError;
use crate::cluster::runs::maker_of;
use crate::config::ConfigError;
use crate::exit_code;
use crate::pipeline::StageError;
use serde::Serialize;
use std::error::Error;
use std::path::Path;

/// A wrong argument that clap cannot find.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);

/// An error as `--json` prints it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Failure {
    /// What failed.
    message: String,
    /// Why, each cause of the one before it.
    causes: Vec<String>,
    /// What to do about it.
    remedy: Option<String>,
    pub(super) code: u8,
}

impl Failure {
    /// The first line of an error says what failed, the others are the remedy, unless a colon ends the first.
    pub(super) fn new(error: &anyhow::Error) -> Self {
        let mut failure = Self { code: code_of(error), ..Self::default() };
        for cause in error.chain() {
            let text = cause.to_string();
            let (what, remedy) = match text.split_once('\n') {
                Some((what, remedy)) if !what.ends_with(':') => (what, Some(remedy)),
                _ => (&text[..], None),
            };
            if failure.message.is_empty() {
                failure.message = what.to_owned();
            } else if !failure.told(what) {
                failure.causes.push(what.to_owned());
            }
            // What an outer error advises comes last.
            let remedies: Vec<&str> = remedy.into_iter().chain(failure.remedy.as_deref()).collect();
            failure.remedy = (!remedies.is_empty()).then(|| remedies.join("\n"));
        }
        failure
    }

    /// Some errors have their cause in their own text.
    fn told(&self, what: &str) -> bool {
        self.message.contains(what) || self.causes.iter().any(|cause| cause.contains(what))
    }

    /// What clap says, paragraph by paragraph: the error, then a tip and the usage.
    pub(super) fn of_arguments(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let (what, remedy) = text.split_once("\n\n").unwrap_or((&text, ""));
        let words: Vec<&str> = what.trim_start_matches("error: ").split_whitespace().collect();
        let remedy = Some(remedy.trim()).filter(|remedy| !remedy.is_empty()).map(str::to_owned);
        Self { message: words.join(" "), causes: Vec::new(), remedy, code: exit_code::USAGE }
    }

    /// As people read it: causes follow what failed, on its line; the remedy comes last.
    pub(super) fn text(&self) -> String {
        let what = [std::slice::from_ref(&self.message), &self.causes].concat().join(": ");
        self.remedy.as_ref().map_or_else(|| what.clone(), |remedy| format!("{what}\n{remedy}"))
    }
}

/// The same error; where it names files that shards of a plan made, it also says who made them.
pub(super) fn naming_makers(error: anyhow::Error, plan: &Path) -> anyhow::Error {
    let name = |path: &Path, reason: &mut String| {
        if let Some(maker) = maker_of(plan, path) {
            // The remedy, on the second line, stays last.
            reason.insert_str(reason.find('\n').unwrap_or(reason.len()), &format!("; {maker}"));
        }
    };
    error.downcast::<StageError>().map_or_else(
        |other| other,
        |mut error| {
            match &mut error {
                StageError::Artifact(ArtifactError::Damaged { path, reason }) => name(path, reason),
                StageError::FalseParts { parts, .. } => parts.iter_mut().for_each(|(path, reason)| name(path, reason)),
                _ => (),
            }
            error.into()
        },
    )
}

/// The exit code of an error.
pub(super) fn code_of(error: &anyhow::Error) -> u8 {
    error.chain().find_map(code_of_cause).unwrap_or(exit_code::OTHER)
}

fn code_of_cause(cause: &(dyn Error + 'static)) -> Option<u8> {
    if let Some(error) = cause.downcast_ref::<ArtifactError>() {
        return Some(code_of_artifact(error));
    }
    if let Some(error) = cause.downcast_ref::<ConfigError>() {
        return Some(match error {
            ConfigError::Unreadable(source) | ConfigError::Named { source, .. } => match code_of_artifact(source) {
                // A config and the files it names are arguments rather than input.
                exit_code::BAD_INPUT => exit_code::USAGE,
                code => code,
            },
            ConfigError::Invalid { .. } | ConfigError::Missing { .. } => exit_code::USAGE,
        });
    }
    if let Some(error) = cause.downcast_ref::<StageError>() {
        return match error {
            StageError::Artifact(error) => code_of_cause(error),
            StageError::Setting(_) => Some(exit_code::USAGE),
            StageError::NoRows(_) | StageError::FalseParts { .. } => Some(exit_code::BAD_INPUT),
            StageError::Interrupted => Some(exit_code::INTERRUPTED),
            StageError::Unfinished { .. }
            | StageError::TooEarly { .. }
            | StageError::Thread(_)
            | StageError::Threads(_) => Some(exit_code::TRY_AGAIN),
            StageError::BudgetSpent => Some(exit_code::BUDGET_SPENT),
        };
    }
    if let Some(error) = cause.downcast_ref::<DriveError>() {
        return match error {
            DriveError::Stage(error) => code_of_cause(error),
            DriveError::Shard { code, .. } | DriveError::Runner { code, .. } => Some(*code),
        };
    }
    cause.is::<UsageError>().then_some(exit_code::USAGE)
}

fn code_of_artifact(error: &ArtifactError) -> u8 {
    match error {
        ArtifactError::Missing { .. } | ArtifactError::Conflict { .. } | ArtifactError::Refused { .. } => {
            exit_code::USAGE
        }
        ArtifactError::Damaged { .. } | ArtifactError::Unfit { .. } => exit_code::BAD_INPUT,
        ArtifactError::Interrupted => exit_code::INTERRUPTED,
        error if error.may_pass() => exit_code::TRY_AGAIN,
        _ => exit_code::OTHER,
    }
}
