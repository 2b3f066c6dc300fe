//! `renma completions`.

use super::arguments::Arguments;
use super::output::{print_json, print_with};
use super::session::Session;
use clap::builder::Resettable;
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Shell, generate};
use serde_json::json;
use std::sync::LazyLock;

/// Parts of a command need names that last.
static COMMAND: LazyLock<Command> = LazyLock::new(Arguments::command);

pub(super) fn run(session: &Session, shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut visible(&COMMAND), "renma", &mut script);
    if session.json {
        return print_json(&json!({"shell": shell.to_string(), "script": String::from_utf8_lossy(&script)}));
    }
    Ok(print_with(|writer| writer.write_all(&script))?)
}

/// A command without its hidden options, which the script for bash would list.
fn visible(command: &'static Command) -> Command {
    // What says how options go together may name a hidden one, and a script has no use for it.
    let alone = |arg: &Arg| {
        let arg = arg.clone().conflicts_with(Resettable::Reset).requires(Resettable::Reset);
        arg.required_unless_present(Resettable::Reset)
    };
    Command::new(command.get_name())
        .about(command.get_about().cloned().unwrap_or_default())
        .disable_help_flag(true)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).map(alone))
        .subcommands(command.get_subcommands().map(visible))
}
