//! `renma report`: a run as one HTML page.

use super::arguments::run::ReportArguments;
use super::output::{print, print_json};
use super::session::{Session, datasets_folder, registry_folder};
use crate::config::load_config_with;
use crate::report::invocation::Invocation;
use crate::report::write_report;
use serde_json::json;
use std::env::current_dir;
use std::path::{Path, PathBuf};

pub(super) fn run(session: &Session, arguments: &ReportArguments) -> anyhow::Result<()> {
    let config = load_config_with(&arguments.run.config, &arguments.run.set.settings)?;
    let invocation = Invocation {
        config: from_here(&arguments.run.config),
        settings: arguments.run.set.settings.iter().map(|setting| setting.line().to_owned()).collect(),
        models: registry_folder(arguments.run.models.as_deref(), &config.name),
        datasets: datasets_folder(arguments.run.datasets.as_deref(), &config.name),
    };
    let file = session.context().pool()?.install(|| write_report(&config, &invocation))?;
    if session.json {
        return print_json(&json!({"path": file.path.to_string_lossy(), "bytes": file.bytes}));
    }
    Ok(print(&file.path.to_string_lossy())?)
}

/// A path as someone in this folder would type it, so that a page does not depend on where the folder is.
pub(super) fn from_here(path: &Path) -> PathBuf {
    let here = current_dir().ok();
    let inside = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    inside.unwrap_or_else(|| path.to_owned())
}
