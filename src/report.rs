//! The report of a run: one HTML file that needs no network, no script and no other file. It plays
//! and learns nothing, and knows no clock and no machine: its bytes are a function of the run's
//! files.

mod chart;
mod facts;
mod figure;
mod markup;
mod page;
mod pictures;
mod samples;
mod scale;
mod tables;

use crate::artifact::output::first_bytes;
use crate::artifact::publish::{check_folder, exists, remove_file};
use crate::artifact::{ArtifactError, FileKind, OutputFile, Registry};
use crate::config::LoadedConfig;
use crate::pipeline::StageError;
use crate::run::folders::datasets_beside;
use crate::run::invocation::Invocation;
use crate::run::record::LastCall;
use crate::run::snapshot;
use facts::ReportFacts;
use std::path::{Path, PathBuf};

/// The report's name in the folder of the registry.
pub const REPORT_NAME: &str = "report.html";

/// How every report begins.
const HEAD: &str = "<!doctype html>\n<!-- renma report -->\n";

const REPORT_FILE: FileKind = FileKind {
    name: "a report of renma",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

/// What makes the report of a run at work renew itself every ten seconds.
const RENEWAL: &str = "<meta http-equiv=\"refresh\" content=\"10\"/>";

/// A page has it among its first bytes.
const RENEWAL_WITHIN: u64 = 1 << 10;

/// A report that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: usize,
}

/// Writes the report of a run beside its models, over an older one.
///
/// # Errors
///
/// A run that does not exist, a damaged document, another file in the report's place, or a system
/// error; then an old report stays.
pub fn write_report(
    config: &LoadedConfig,
    invocation: &Invocation,
) -> Result<ReportFile, StageError> {
    let registry = Registry::new(&invocation.models);
    check_folder(registry.folder()).map_err(|error| match error {
        ArtifactError::Missing { path } => ArtifactError::refused(
            "read",
            &path,
            "the run does not exist\nbegin it with renma run --config FILE",
        ),
        error => error,
    })?;
    let path = registry.folder().join(REPORT_NAME);
    let output = OutputFile::open(&path, REPORT_FILE, true)?;
    let facts = ReportFacts::read(config, &registry, &invocation.datasets)?;
    let text = page::page(&facts, invocation);
    output.write(|writer| writer.write_all(text.as_bytes()))?;
    Ok(ReportFile {
        path,
        bytes: text.len(),
    })
}

/// Writes the report of a registry again if there is one, as the last call of the pipeline named
/// the run.
///
/// # Errors
///
/// Those of [`write_report`], or a snapshot of the config that is missing or was edited.
pub fn renew_report(registry: &Registry) -> Result<(), StageError> {
    let folder = registry.folder();
    if !exists(&folder.join(REPORT_NAME))? {
        return Ok(());
    }
    let Some((path, config)) = snapshot::latest(folder)? else {
        return Ok(());
    };
    let call = LastCall::read(folder)?;
    let invocation = Invocation {
        config: call
            .as_ref()
            .and_then(|call| call.config.clone())
            .map_or(path, PathBuf::from),
        settings: call.map(|call| call.settings).unwrap_or_default(),
        models: folder.to_owned(),
        datasets: datasets_beside(folder),
    };
    write_report(&config, &invocation).map(drop)
}

/// Removes the report of a registry if it renews itself, as that of a run at work; whether there
/// was one.
pub fn remove_live_report(registry: &Path) -> Result<bool, ArtifactError> {
    let path = registry.join(REPORT_NAME);
    if !exists(&path)? {
        return Ok(false);
    }
    let first = first_bytes(&path, RENEWAL_WITHIN)?;
    let is_live =
        first.starts_with(HEAD.as_bytes()) && String::from_utf8_lossy(&first).contains(RENEWAL);
    if is_live {
        remove_file(&path)?;
    }
    Ok(is_live)
}
