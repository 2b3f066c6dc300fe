//! docs/reference.md: every config key and every command, from configs/default.toml and the definitions of the arguments.
//!
//! `RENMA_WRITE_REFERENCE=1 cargo test --release --lib reference` writes it.

use super::arguments::help::{GLOBAL_OPTIONS, command};
use crate::artifact::publish::{publish_bytes, read_bounded};
use clap::builder::StyledStr;
use clap::{Arg, Command};
use std::path::Path;

const DEFAULT: &str = include_str!("../../configs/default.toml");

const HEAD: &str = "# Reference\n\n\
    Every key of a config and every command. This page is generated from `configs/default.toml` and from the program: change those, then\n\
    run `RENMA_WRITE_REFERENCE=1 cargo test --release --lib reference`.\n\n\
    ## Config keys\n\n\
    A config names only what differs from these defaults. `renma config show` prints the resolved config.\n";

/// Text as Markdown shows it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*").replace('<', "&lt;").replace('|', "\\|").replace('\n', " ")
}

/// What the comments and keys of the default config say, table by table.
fn config_keys() -> String {
    let mut page = String::new();
    let (mut comment, mut keys): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let lines = DEFAULT.lines().skip_while(|line| !line.is_empty());
    for line in lines.chain([""]) {
        let is_key = !line.is_empty() && !line.starts_with(['#', '[']);
        if !is_key && !keys.is_empty() {
            page.push_str(&entry(&std::mem::take(&mut keys), &std::mem::take(&mut comment)));
        }
        if let Some(text) = line.strip_prefix('#') {
            comment.push(text.strip_prefix(' ').unwrap_or(text));
        } else if line.starts_with('[') {
            page.push_str(&format!("\n### {line}\n\n{}", paragraphs(&std::mem::take(&mut comment))));
        } else if is_key {
            keys.push(line);
        } else if !comment.is_empty() {
            page.push_str(&format!("\n{}", paragraphs(&std::mem::take(&mut comment))));
        }
    }
    page
}

/// An item of a list: keys that share a comment, and the comment.
fn entry(keys: &[&str], comment: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    format!("- {}: {}\n", keys.join(", "), escaped(&comment.join(" ")))
}

/// A comment as paragraphs; indented lines are formulas.
fn paragraphs(comment: &[&str]) -> String {
    let lines = comment.iter().map(|line| if line.starts_with("    ") { (*line).to_owned() } else { escaped(line) });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() { text } else { format!("{text}\n\n") }
}

fn is_global(argument: &Arg) -> bool {
    argument.get_help_heading() == Some(GLOBAL_OPTIONS)
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// The commands below one, depth first; a group is followed by its commands.
fn commands(command: &Command, name: &str, page: &mut String) {
    let usage = command.clone().render_usage().to_string();
    page.push_str(&format!("\n### {name}\n\n{}.\n\n", escaped(&text(command.get_about()))));
    if command.get_subcommands().next().is_none() {
        page.push_str(&format!("    {}\n\n", usage.trim_start_matches("Usage: ").replace('\n', "\n    ")));
        let own = command.get_arguments().filter(|argument| !is_global(argument));
        page.push_str(&arguments(own.filter(|argument| !argument.is_hide_set())));
    }
    for line in text(command.get_after_help()).lines().filter(|line| !line.is_empty()) {
        page.push_str(&format!(
            "\n{}\n",
            line.strip_prefix("Example: ").map_or(escaped(line), |line| format!("Example: `{line}`"))
        ));
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set()) {
        commands(inner, &format!("{name} {}", inner.get_name()), page);
    }
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: Vec<String> = arguments.map(row).collect();
    if rows.is_empty() { String::new() } else { format!("| argument | meaning |\n|---|---|\n{}\n", rows.concat()) }
}

fn row(argument: &Arg) -> String {
    let values = argument.get_value_names().filter(|_| argument.get_action().takes_values()).unwrap_or_default();
    let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
    let short = argument.get_short().map(|short| format!("-{short},"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let name = short.into_iter().chain(long).chain(values).collect::<Vec<_>>().join(" ");
    let mut meaning = vec![escaped(&text(argument.get_help()))];
    let possible: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if argument.get_action().takes_values() && !possible.is_empty() && !argument.is_hide_possible_values_set() {
        meaning.push(format!("(one of {})", possible.join(", ")));
    }
    let defaults = argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults: Vec<String> = defaults.filter(|_| argument.get_action().takes_values()).collect();
    if !defaults.is_empty() {
        meaning.push(format!("[default: {}]", defaults.join(" ")));
    }
    format!("| `{name}` | {} |\n", meaning.join(" "))
}

/// The page, with one empty line between paragraphs.
fn page() -> String {
    let mut command = command();
    command.build();
    let global = command.get_arguments().filter(|argument| is_global(argument));
    let global = arguments(global);
    let mut page = format!("{HEAD}{}\n\n## Commands\n\nEvery command also takes\n\n{global}", config_keys().trim_end());
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set()) {
        commands(inner, &format!("renma {}", inner.get_name()), &mut page);
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in crate::exit_code::MEANINGS {
        page.push_str(&format!("| {code} | {meaning} |\n"));
    }
    while page.contains("\n\n\n") {
        page = page.replace("\n\n\n", "\n\n");
    }
    page
}

#[test]
fn the_reference_is_that_of_this_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md");
    if std::env::var_os("RENMA_WRITE_REFERENCE").is_some() {
        publish_bytes(&path, page().as_bytes()).unwrap();
    }
    let found = String::from_utf8(read_bounded(&path, 1 << 20).unwrap()).unwrap();
    let (found, expected) = (found.replace("\r\n", "\n"), page());
    let differing = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/reference.md is stale, first at {differing:?}\nwrite it with RENMA_WRITE_REFERENCE=1 cargo test --release --lib reference"
    );
}

#[test]
fn the_reference_has_every_key_and_command() {
    let page = page();
    let keys = DEFAULT.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    for key in keys {
        assert_eq!(
            page.matches(&format!("`{key}`")).count(),
            DEFAULT.lines().filter(|line| *line == key).count(),
            "{key}"
        );
    }
    for text in [
        "### renma generate",
        "### renma dataset export",
        "`--card`",
        "(one of `csv`",
        "Example: `renma eval",
        "| 65 |",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("renma help"), "help explains itself");
}
