//! The help of the program: its commands under headings.

use super::Arguments;
use crate::artifact::publish::exists;
use crate::config::builtin::name_of;
use crate::config::nearest::nearest_config;
use crate::exit_code::MEANINGS;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};
use std::path::Path;

/// The headings with their commands, in the order of the help.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "Loop",
        &[
            "init", "run", "generate", "train", "fit-mpc", "gate", "promote", "status", "report",
            "gc", "config",
        ],
    ),
    ("Data", &["dataset"]),
    ("Models", &["model", "eval", "solve"]),
    ("Engine", &["play", "serve", "nboard", "gtp"]),
    ("Machines", &["shard"]),
    ("More", &["bench", "completions", "help"]),
];

/// An error about the arguments; a config that stands without `--config` gets a tip.
pub fn with_config_tip(mut error: Error) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let path = Path::new(word);
    let is_config = name_of(path).is_some()
        || exists(path).is_ok_and(|is_there| is_there)
            && path
                .extension()
                .is_some_and(|extension| extension == "toml");
    let config = if word.starts_with('-') {
        None
    } else if is_config {
        Some(path.to_owned())
    } else {
        nearest_config(path)
    };
    if let Some(config) = config.filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        let tip = format!("a config follows its option: --config {}", config.display());
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

/// The options that every command takes, after its specific ones.
pub const GLOBAL_OPTIONS: &str = "Global options";

/// Where the rest of the help is.
const MORE: &str = "`renma help COMMAND` explains a command, with an example.\n`renma help --all` lists the commands that are rarely needed too.";

/// How much a help text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// `-h`: what most people need, on one screen.
    Short,
    /// `--help`: every option.
    Long,
    /// `help --all`: the commands that are rarely needed too.
    All,
}

/// The command line, with help texts of this detail.
pub fn command(detail: Detail) -> Command {
    let command = Arguments::command();
    // The only options of the program alone are the global ones.
    let options = format!(
        "{head}{GLOBAL_OPTIONS}:{head:#}\n{{options}}",
        head = command.get_styles().get_header()
    );
    let listing = listing(&command, detail);
    let command = command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listing}\n{options}{{after-help}}"
    ));
    match detail {
        Detail::Short => command.after_help(MORE).mut_args(|argument| {
            let is_hidden = argument.get_id() != "help";
            argument.hide_short_help(is_hidden)
        }),
        Detail::Long | Detail::All => {
            let codes = MEANINGS
                .iter()
                .map(|(code, meaning)| format!("{code:>5}  {meaning}\n"));
            let codes: String = codes.collect();
            with_all_options(command).after_help(format!("Exit codes:\n{codes}\n{MORE}"))
        }
    }
}

/// The command with the options that its short help hides; it keeps the short layout, a line per
/// option.
fn with_all_options(command: Command) -> Command {
    command
        .mut_args(|argument| argument.hide_short_help(false))
        .mut_subcommands(with_all_options)
}

/// The help of the command that these words name, or the error if none has that name.
pub fn page(all: bool, command_words: &[String]) -> Error {
    let words = ["renma"]
        .into_iter()
        .chain(command_words.iter().map(String::as_str))
        .chain(["--help"]);
    let parsed = command(if all { Detail::All } else { Detail::Long }).try_get_matches_from(words);
    parsed.expect_err("--help ends the parsing")
}

/// The commands with what they do, under their headings.
fn listing(command: &Command, detail: Detail) -> String {
    let (head, name_style) = (
        command.get_styles().get_header(),
        command.get_styles().get_literal(),
    );
    let width = COMMANDS
        .iter()
        .flat_map(|(_, names)| *names)
        .map(|name| name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in COMMANDS {
        let named = names
            .iter()
            .filter_map(|name| command.find_subcommand(name));
        let listed: Vec<&Command> = named
            .filter(|inner| detail == Detail::All || !inner.is_hide_set())
            .collect();
        if listed.is_empty() {
            continue;
        }
        text += &format!("\n{head}{heading}:{head:#}\n");
        for inner in listed {
            let about = inner
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            text += &format!(
                "  {name_style}{:<width$}{name_style:#}  {about}\n",
                inner.get_name()
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_under_one_heading() {
        let listed: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let command = Arguments::command();
        let there: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(listed.len(), there.len(), "a command is listed twice");
    }
}
