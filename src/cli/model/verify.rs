//! `renma model verify`.

use crate::cli::output::say;
use crate::cli::session::Session;
use crate::run::models::verify::verify_registry;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) fn verify(session: &Session, models: &Path, datasets: &Path) -> anyhow::Result<()> {
    let verified = verify_registry(models, datasets, &session.context())?;
    say(&format!(
        "model verify: {} versions of {} are sound, with {} datasets of {} positions and {} gates; {} datasets are gone",
        verified.versions.len(),
        models.display(),
        verified.datasets.len(),
        verified.positions,
        verified.gates.len(),
        verified.datasets_gone.len()
    ));
    let texts =
        |folders: &[PathBuf]| folders.iter().map(|folder| folder.to_string_lossy().into_owned()).collect::<Vec<_>>();
    session.print_json(&json!({
        "versions": verified.versions,
        "champion": verified.champion,
        "datasets": texts(&verified.datasets),
        "datasets_gone": verified.datasets_gone,
        "gates": texts(&verified.gates),
    }))
}
