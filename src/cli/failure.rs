//! Errors as people read them, and as exit codes.

use crate::artifact::error::ArtifactError;
use crate::cluster::drive::DriveError;
use crate::cluster::runs::maker_of;
use crate::config::ConfigError;
use crate::exit_code;
use crate::pipeline::StageError;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// A wrong argument that clap cannot find.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);

/// The exit code of a command that only prints; its error is reported.
pub(super) fn finish(printed: Result<(), ArtifactError>) -> ExitCode {
    printed.map_or_else(|error| report(&error.into()), |()| exit_code::DONE.into())
}

/// Prints an error with its causes and gives its exit code.
pub(super) fn report(error: &anyhow::Error) -> ExitCode {
    let code = code_of(error);
    let mut stderr = std::io::stderr().lock();
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = if text.is_empty() { cause } else { insert_before_remedy(&text, &cause) };
        }
    }
    // Without stderr there is nowhere to report to.
    writeln!(stderr, "error: {text}").ok();
    ExitCode::from(code)
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

/// Causes follow what failed, on its line; the remedy, on the second line, stays last.
fn insert_before_remedy(text: &str, cause: &str) -> String {
    match text.split_once('\n') {
        Some((what, remedy)) => format!("{what}: {cause}\n{remedy}"),
        None => format!("{text}: {cause}"),
    }
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
            ConfigError::Invalid { .. } => exit_code::USAGE,
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
