//! `renma completions`.

use super::arguments::Arguments;
use super::output::{print_json, print_with};
use super::session::Session;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde_json::json;

pub fn run(session: &Session, shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "renma", &mut script);
    if session.json {
        return print_json(
            &json!({"shell": shell.to_string(), "script": String::from_utf8_lossy(&script)}),
        );
    }
    Ok(print_with(|writer| writer.write_all(&script))?)
}
