//! `renma report`: a run as one HTML page.

use super::arguments::run::RunArguments;
use super::session::Session;
use crate::report::write_report;
use serde_json::json;

pub fn run(session: &Session, arguments: &RunArguments) -> anyhow::Result<()> {
    let (config, invocation) = arguments.load()?;
    let file = session
        .context()
        .pool()?
        .install(|| write_report(&config, &invocation))?;
    let path = file.path.to_string_lossy();
    session.answer(&json!({"path": path, "bytes": file.bytes}), &path)
}
