//! `renma report`: a run as one HTML page.

use super::arguments::run::RunArguments;
use super::output::{print, print_json};
use super::session::Session;
use crate::report::write_report;
use serde_json::json;

pub(super) fn run(session: &Session, arguments: &RunArguments) -> anyhow::Result<()> {
    let (config, invocation) = arguments.load()?;
    let file = session.context().pool()?.install(|| write_report(&config, &invocation))?;
    if session.json {
        return print_json(&json!({"path": file.path.to_string_lossy(), "bytes": file.bytes}));
    }
    Ok(print(&file.path.to_string_lossy())?)
}
