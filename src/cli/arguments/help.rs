//! The help of the program: its commands under headings.

use super::Arguments;
use clap::{Command, CommandFactory};
use std::fmt::Write;

/// Every command under its heading, in the order of the help.
const COMMANDS: &[(&str, &str)] = &[
    ("Loop", "init"),
    ("Loop", "run"),
    ("Loop", "generate"),
    ("Loop", "train"),
    ("Loop", "fit-mpc"),
    ("Loop", "gate"),
    ("Loop", "promote"),
    ("Loop", "status"),
    ("Loop", "report"),
    ("Loop", "gc"),
    ("Loop", "config"),
    ("Data", "dataset"),
    ("Models", "model"),
    ("Models", "eval"),
    ("Models", "solve"),
    ("Engine", "play"),
    ("Engine", "serve"),
    ("Engine", "nboard"),
    ("Engine", "gtp"),
    ("Engine", "bench"),
    ("Machines", "shard"),
    ("Machines", "completions"),
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
    let width = COMMANDS.iter().map(|(_, name)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut last = "";
    for (heading, name) in COMMANDS {
        if *heading != last {
            write!(text, "\n{head}{heading}:{head:#}\n").expect("a string takes everything");
            last = heading;
        }
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        writeln!(text, "  {name_style}{name:<width$}{name_style:#}  {}", about.unwrap_or_default())
            .expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_under_one_heading() {
        let listed: Vec<&str> = COMMANDS.iter().map(|(_, name)| *name).collect();
        let command = Arguments::command();
        let there: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), there);
        assert_eq!(listed.len(), there.len(), "a command is listed twice");
        assert!(there.len() <= 22, "{there:?}");
        let headings: Vec<&str> = COMMANDS.chunk_by(|left, right| left.0 == right.0).map(|group| group[0].0).collect();
        assert_eq!(headings, ["Loop", "Data", "Models", "Engine", "Machines"]);
    }

    #[test]
    fn the_lines_of_commands_fit_80_columns() {
        for line in listing(&Arguments::command().styles(clap::builder::Styles::plain())).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
