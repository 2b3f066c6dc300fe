//! The help of the program: its commands under headings.

use super::Arguments;
use clap::{Command, CommandFactory};

/// The headings with their commands, in the order of the help.
const COMMANDS: &[(&str, &[&str])] = &[
    ("Loop", &["init", "run", "generate", "train", "fit-mpc", "gate", "promote", "status", "report", "gc", "config"]),
    ("Data", &["dataset"]),
    ("Models", &["model", "eval", "solve"]),
    ("Engine", &["play", "serve", "nboard", "gtp", "bench"]),
    ("Machines", &["shard", "completions"]),
];

/// The options that every command takes, after its specific ones.
pub(in crate::cli) const GLOBAL_OPTIONS: &str = "Global options";

/// The command line.
pub(in crate::cli) fn command() -> Command {
    let command = Arguments::command();
    // The only options of the program alone are the global ones.
    let options = format!("{head}{GLOBAL_OPTIONS}:{head:#}\n{{options}}", head = command.get_styles().get_header());
    let listing = listing(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listing}\n{options}{{after-help}}"
    ))
}

/// The commands with what they do, under their headings.
fn listing(command: &Command) -> String {
    let (head, name_style) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let width = COMMANDS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in COMMANDS {
        text += &format!("\n{head}{heading}:{head:#}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            text += &format!("  {name_style}{name:<width$}{name_style:#}  {}\n", about.unwrap_or_default());
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
        let listed: Vec<&str> = COMMANDS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Arguments::command();
        let there: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(listed.len(), there.len(), "a command is listed twice");
        assert!(there.len() <= 22, "{there:?}");
    }

    #[test]
    fn the_lines_of_commands_fit_80_columns() {
        for line in listing(&Arguments::command().styles(clap::builder::Styles::plain())).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
