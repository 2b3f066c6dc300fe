//! Errors of commands: as people read them, as `--json` prints them, and as exit codes.

use crate::artifact::ArtifactError;
use crate::config::ConfigError;
use crate::exit_code;
use crate::pipeline::StageError;
use serde::Serialize;
use std::error::Error;

/// The most characters of a line: a path and a sentence.
const LINE_MAX: usize = 4500;

/// A wrong argument that clap cannot find.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// An error as `--json` prints it.
#[derive(Debug, Default, Serialize)]
pub struct Failure {
    /// What failed.
    message: String,
    /// Why, each cause of the one before it.
    causes: Vec<String>,
    /// What to do about it.
    remedy: Option<String>,
    pub code: u8,
}

impl Failure {
    /// The first line of an error says what failed, the others are the remedy, unless a colon ends
    /// the first.
    pub fn new(error: &anyhow::Error) -> Self {
        let code = error
            .chain()
            .find_map(code_of_cause)
            .unwrap_or(exit_code::OTHER);
        let mut failure = Self {
            code,
            ..Self::default()
        };
        for cause in error.chain() {
            let text = shortened(&cause.to_string());
            let (what, remedy) = match text.split_once('\n') {
                Some((what, remedy)) if !what.ends_with(':') => (what, Some(remedy)),
                _ => (&text[..], None),
            };
            if failure.message.is_empty() {
                failure.message = what.to_owned();
            } else if !failure.message.contains(what)
                && !failure.causes.iter().any(|cause| cause.contains(what))
            {
                // Some errors have their cause in their own text.
                failure.causes.push(what.to_owned());
            }
            // The remedy of an outer error comes last.
            let remedies: Vec<&str> = remedy
                .into_iter()
                .chain(failure.remedy.as_deref())
                .collect();
            failure.remedy = (!remedies.is_empty()).then(|| remedies.join("\n"));
        }
        failure
    }

    /// What clap says, paragraph by paragraph: the error, then a tip and the usage.
    pub fn of_arguments(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let (what, remedy) = text.split_once("\n\n").unwrap_or((&text, ""));
        let words: Vec<&str> = what
            .trim_start_matches("error: ")
            .split_whitespace()
            .collect();
        let remedy = Some(remedy.trim())
            .filter(|remedy| !remedy.is_empty())
            .map(str::to_owned);
        Self {
            message: words.join(" "),
            causes: Vec::new(),
            remedy,
            code: exit_code::USAGE,
        }
    }

    /// As people read it: causes follow what failed, on its line; the remedy comes last.
    pub fn text(&self) -> String {
        let what = [std::slice::from_ref(&self.message), &self.causes]
            .concat()
            .join(": ");
        self.remedy
            .as_ref()
            .map_or_else(|| what.clone(), |remedy| format!("{what}\n{remedy}"))
    }
}

/// A text that may repeat what a file says, with its lines as long as people can read.
fn shortened(text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| match line.char_indices().nth(LINE_MAX) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// The exit code of a cause, if it has one.
fn code_of_cause(cause: &(dyn Error + 'static)) -> Option<u8> {
    let of_artifact = || cause.downcast_ref().map(ArtifactError::exit_code);
    let of_config = || cause.downcast_ref().map(ConfigError::exit_code);
    let of_stage = || cause.downcast_ref().map(StageError::exit_code);
    let of_arguments = || cause.is::<UsageError>().then_some(exit_code::USAGE);
    of_artifact()
        .or_else(of_config)
        .or_else(of_stage)
        .or_else(of_arguments)
}
