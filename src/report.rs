//! The report of a run: one HTML file that needs no network, no script and no other file. It plays and learns nothing, and knows no
//! clock and no machine: its bytes are a function of the run's files.

mod chart;
mod facts;
mod figure;
pub mod invocation;
mod markup;
mod page;
mod pictures;
mod samples;
mod scale;
mod tables;

use crate::artifact::output::first_bytes;
use crate::artifact::publish::check_folder;
use crate::artifact::{ArtifactError, FileKind, OutputFile, Registry};
use crate::config::LoadedConfig;
use crate::pipeline::StageError;
use facts::Facts;
use invocation::Invocation;
use std::path::PathBuf;

/// The report's name in the folder of the registry.
pub const REPORT_NAME: &str = "report.html";

/// How every report begins.
const HEAD: &str = "<!doctype html>\n<!-- renma report -->\n";

const REPORT_FILE: FileKind = FileKind {
    name: "a report of renma",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

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
/// A run that does not exist, a damaged document, another file in the report's place, or a system error; then an old
/// report stays.
pub fn write_report(config: &LoadedConfig, invocation: &Invocation) -> Result<ReportFile, StageError> {
    let registry = Registry::new(&invocation.models);
    check_folder(registry.folder()).map_err(|error| match error {
        ArtifactError::Missing { path } => {
            ArtifactError::refused("read", &path, "the run does not exist\nbegin it with renma run --config FILE")
        }
        error => error,
    })?;
    let path = registry.folder().join(REPORT_NAME);
    let output = OutputFile::open(&path, REPORT_FILE, true)?;
    let facts = Facts::read(config, &registry, &invocation.datasets)?;
    let text = page::page(&facts, invocation);
    output.write(|writer| writer.write_all(text.as_bytes()))?;
    Ok(ReportFile { path, bytes: text.len() })
}
