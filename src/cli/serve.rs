//! `renma serve`: a page to play and analyze with a model, and the report of a run.

use super::arguments::positions::{ModelArguments, ServeArguments};
use super::arguments::run::{DEFAULT_REGISTRY, check_own_registry};
use super::output::{print_json, say};
use super::session::{Session, choose_model};
use crate::exit_code;
use crate::serve::server::serve;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub fn run(session: &Session, arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    let ModelArguments { model, models } = &arguments.model;
    // The run may not have begun.
    check_own_registry(models.as_deref())?;
    let registry = models.as_deref().unwrap_or(Path::new(DEFAULT_REGISTRY));
    let chosen = choose_model("serve", model.as_ref(), registry)?;
    let mut printed = Ok(());
    serve(
        chosen.model,
        registry,
        arguments.port,
        session.context().stop,
        |address| {
            if session.json {
                printed = print_json(&json!({"address": format!("http://{address}/")}));
            } else {
                say(&format!("serve: http://{address}/ until Ctrl-C"));
            }
            printed.is_ok()
        },
    )?;
    printed?;
    // It has no end but the interruption.
    Ok(exit_code::INTERRUPTED.into())
}
