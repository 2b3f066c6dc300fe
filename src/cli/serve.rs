//! `renma serve`: pages to play and analyze with a model, and to watch a run.

use super::arguments::positions::ServeArguments;
use super::output::{print_json, say};
use super::session::{Session, model_or_default};
use crate::exit_code;
use crate::serve::server::serve;
use serde_json::json;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    let chosen = model_or_default(arguments.model.model.as_deref(), &arguments.model.models)?;
    chosen.announce("serve");
    let mut printed = Ok(());
    serve(chosen.model, &arguments.model.models, arguments.port, session.context().stop, |address| {
        if session.json {
            printed = print_json(&json!({"address": format!("http://{address}/")}));
        } else {
            say(&format!("serve: http://{address}/ until Ctrl-C"));
        }
    })?;
    printed?;
    // It has no end but the interruption.
    Ok(exit_code::INTERRUPTED.into())
}
