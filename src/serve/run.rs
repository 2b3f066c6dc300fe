//! The run beside the page: the record and the report that its pipeline leaves in the registry.

use crate::artifact::error::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::report::REPORT_NAME;
use crate::run::record::RUN_RECORD_NAME;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};

/// A record of a thousand generations has a tenth of it.
const SIZE_MAX: u64 = 64 << 20;

/// A file of a run that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableRun {
    /// No pipeline has written it yet.
    #[error("{0} is missing; renma run writes it")]
    Missing(PathBuf),
    /// It is not what a pipeline writes.
    #[error("{0} is damaged; renma run writes it again")]
    Damaged(PathBuf),
    /// Whatever the system refuses.
    #[error(transparent)]
    Refused(ArtifactError),
}

/// The record of the latest call of the pipeline, as JSON.
///
/// # Errors
///
/// A missing or damaged record.
pub fn record(registry: &Path) -> Result<Vec<u8>, UnreadableRun> {
    let path = registry.join(RUN_RECORD_NAME);
    let bytes = read(&path)?;
    if serde_json::from_slice::<IgnoredAny>(&bytes).is_err() {
        return Err(UnreadableRun::Damaged(path));
    }
    Ok(bytes)
}

/// The report after the latest stage, as a separate page.
///
/// # Errors
///
/// A missing report.
pub fn report(registry: &Path) -> Result<Vec<u8>, UnreadableRun> {
    read(&registry.join(REPORT_NAME))
}

fn read(path: &Path) -> Result<Vec<u8>, UnreadableRun> {
    read_bounded(path, SIZE_MAX).map_err(|error| match error {
        ArtifactError::Missing { path } => UnreadableRun::Missing(path),
        other => UnreadableRun::Refused(other),
    })
}
