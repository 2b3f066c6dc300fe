//! The run beside the page: the record and the report that its pipeline leaves in the registry.

use crate::artifact::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::report::REPORT_NAME;
use crate::run::run_json::RUN_RECORD_NAME;
use hyper::StatusCode;
use serde::de::IgnoredAny;
use std::path::Path;

/// A record of a thousand generations has a tenth of it.
const SIZE_MAX: u64 = 64 << 20;

/// The bytes of a file; else the status of a refusal, and why.
type Found = Result<Vec<u8>, (StatusCode, String)>;

/// The record of the latest call of the pipeline, as JSON.
///
/// # Errors
///
/// A missing or damaged record.
pub fn record(registry: &Path) -> Found {
    let path = registry.join(RUN_RECORD_NAME);
    let bytes = read(&path)?;
    if serde_json::from_slice::<IgnoredAny>(&bytes).is_err() {
        let reason = format!("{} is damaged; renma run writes it again", path.display());
        return Err((StatusCode::INTERNAL_SERVER_ERROR, reason));
    }
    Ok(bytes)
}

/// The report after the latest stage, as a separate page.
///
/// # Errors
///
/// A missing report.
pub fn report(registry: &Path) -> Found {
    read(&registry.join(REPORT_NAME))
}

fn read(path: &Path) -> Found {
    read_bounded(path, SIZE_MAX).map_err(|error| match error {
        ArtifactError::Missing { path } => {
            (StatusCode::NOT_FOUND, format!("{} is missing; renma run writes it", path.display()))
        }
        other => (StatusCode::INTERNAL_SERVER_ERROR, other.to_string()),
    })
}
