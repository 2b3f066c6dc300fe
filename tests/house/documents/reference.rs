//! docs/reference.md: every config key and every command, from configs/default.toml and the
//! definitions of the arguments.
//!
//! `RENMA_WRITE_REFERENCE=1 cargo test --release --test house reference` writes it.

use clap::builder::StyledStr;
use clap::{Arg, Command};
use renma::cli::command;
use renma::config::{DEFAULT, TABLES};
use renma::pipeline::keys::Takes;
use std::path::Path;

const HEAD: &str = "# Reference\n\n\
    Every key of a config and every command. This page is generated from `configs/default.toml` and from the program: change those, then\n\
    run `RENMA_WRITE_REFERENCE=1 cargo test --release --test house reference`.\n\n\
    ## Config keys\n\n\
    A config names only what differs from these defaults. `renma config show` prints the resolved config.\n";

/// Text as Markdown shows it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('*', "\\*")
        .replace('<', "&lt;")
        .replace('|', "\\|")
        .replace('\n', " ")
}

/// Keys of a table that share a comment, and the comment; without keys it is a paragraph.
struct Entry {
    table: &'static str,
    /// As `key = value`; one behind a # is optional.
    keys: Vec<&'static str>,
    comment: Vec<&'static str>,
}

/// What the comments and keys of the default config say, table by table; a table begins with an
/// entry of its head.
fn entries() -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let (mut table, mut comment, mut was_key) = ("", Vec::new(), false);
    for line in DEFAULT
        .lines()
        .skip_while(|line| !line.is_empty())
        .chain([""])
    {
        let text = line.strip_prefix("# ").or((line == "#").then_some(""));
        let setting = line.trim_start_matches('#');
        let is_key = text.is_none() && setting.contains(" = ");
        match text {
            Some(text) => comment.push(text),
            None if is_key && was_key => entries
                .last_mut()
                .expect("a key stands before it")
                .keys
                .push(line),
            None if is_key => entries.push(Entry {
                table,
                keys: vec![line],
                comment: std::mem::take(&mut comment),
            }),
            None => {
                table = if setting.is_empty() { table } else { setting };
                entries.push(Entry {
                    table,
                    keys: Vec::new(),
                    comment: std::mem::take(&mut comment),
                });
            }
        }
        was_key = is_key;
    }
    entries
}

/// The entries as Markdown.
fn config_keys() -> String {
    let (mut page, mut table) = (String::new(), "");
    for entry in entries() {
        if entry.table != table {
            table = entry.table;
            page.push_str(&format!("\n### {table}\n\n"));
        }
        if entry.keys.is_empty() {
            page.push_str(&format!("\n{}", paragraphs(&entry.comment)));
            continue;
        }
        let keys = entry.keys.iter().map(|key| match key.strip_prefix('#') {
            Some(key) => format!("`{key}`, not in this config"),
            None => format!("`{key}`"),
        });
        page.push_str(&format!(
            "- {}: {}\n",
            keys.collect::<Vec<_>>().join(", "),
            escaped(&entry.comment.join(" "))
        ));
    }
    page
}

/// A comment as paragraphs; indented lines are formulas.
fn paragraphs(comment: &[&str]) -> String {
    let lines = comment.iter().map(|line| {
        if line.starts_with("    ") {
            (*line).to_owned()
        } else {
            escaped(line)
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        text
    } else {
        format!("{text}\n\n")
    }
}

fn is_global(argument: &Arg) -> bool {
    argument.is_global_set()
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// The commands below one, depth first; a group is followed by its commands.
fn commands(command: &Command, name: &str, page: &mut String) {
    let usage = command.clone().render_usage().to_string();
    page.push_str(&format!(
        "\n### {name}\n\n{}.\n\n",
        escaped(&text(command.get_about()))
    ));
    if command.get_subcommands().next().is_none() {
        page.push_str(&format!(
            "    {}\n\n",
            usage.trim_start_matches("Usage: ").replace('\n', "\n    ")
        ));
        let own = command
            .get_arguments()
            .filter(|argument| !is_global(argument));
        page.push_str(&arguments(own.filter(|argument| !argument.is_hide_set())));
    }
    let help = text(command.get_after_help());
    let (table, lines) = match help.split_once("\n\n") {
        Some((table, lines)) if table.starts_with("level ") => (table, lines),
        _ => ("", &*help),
    };
    if !table.is_empty() {
        page.push_str(&format!("\n    {}\n", table.replace('\n', "\n    ")));
    }
    for line in lines.lines().filter(|line| !line.is_empty()) {
        page.push_str(&format!(
            "\n{}\n",
            line.strip_prefix("Example: ")
                .map_or(escaped(line), |line| format!("Example: `{line}`"))
        ));
    }
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        commands(inner, &format!("{name} {}", inner.get_name()), page);
    }
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: Vec<String> = arguments.map(row).collect();
    if rows.is_empty() {
        String::new()
    } else {
        format!("| argument | meaning |\n|---|---|\n{}\n", rows.concat())
    }
}

fn row(argument: &Arg) -> String {
    let values = argument
        .get_value_names()
        .filter(|_| argument.get_action().takes_values())
        .unwrap_or_default();
    let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
    let long = argument.get_long().map(|long| format!("--{long}"));
    let comma = if long.is_some() { "," } else { "" };
    let short = argument.get_short().map(|short| format!("-{short}{comma}"));
    let name = short
        .into_iter()
        .chain(long)
        .chain(values)
        .collect::<Vec<_>>()
        .join(" ");
    let mut meaning = vec![escaped(&text(argument.get_help()))];
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values()
        && !possible.is_empty()
        && !argument.is_hide_possible_values_set()
    {
        meaning.push(format!("(one of {})", possible.join(", ")));
    }
    let defaults = argument
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults: Vec<String> = defaults
        .filter(|_| argument.get_action().takes_values())
        .collect();
    if !defaults.is_empty() {
        meaning.push(format!("[default: {}]", defaults.join(" ")));
    }
    format!("| `{name}` | {} |\n", meaning.join(" "))
}

/// The page, with one empty line between paragraphs.
fn page() -> String {
    let mut command = command();
    command.build();
    let global = command
        .get_arguments()
        .filter(|argument| is_global(argument));
    let global = arguments(global);
    let mut page = format!(
        "{HEAD}{}\n\n## Commands\n\nEvery command also takes\n\n{global}",
        config_keys().trim_end()
    );
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        commands(inner, &format!("renma {}", inner.get_name()), &mut page);
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in renma::exit_code::MEANINGS {
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
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    let (found, expected) = (found.replace("\r\n", "\n"), page());
    let differing = found
        .lines()
        .zip(expected.lines())
        .find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/reference.md is stale, first at {differing:?}\nwrite it with RENMA_WRITE_REFERENCE=1 cargo test --release --test house reference"
    );
}

#[test]
fn the_reference_has_every_command() {
    let page = page();
    for text in [
        "### renma generate",
        "### renma dataset export",
        "(one of `obf`",
        "Example: `renma eval",
        "| 65 |",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("renma help"), "help explains itself");
}

#[test]
fn the_default_config_explains_every_key_with_its_range_and_unit() {
    let entries = entries();
    for (table, key) in TABLES
        .iter()
        .flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)))
    {
        let name = format!("{table}.{}", key.name);
        let is_of =
            |line: &&str| line.trim_start_matches('#').split(" = ").next() == Some(key.name);
        let of_table = entries
            .iter()
            .filter(|entry| entry.table == format!("[{table}]"));
        let found: Vec<&Entry> = of_table
            .filter(|entry| entry.keys.iter().any(&is_of))
            .collect();
        assert_eq!(found.len(), 1, "{name}");
        let (lines, text) = (&found[0].keys, found[0].comment.join(" ").to_lowercase());
        let line = lines.iter().find(|line| is_of(line)).unwrap();
        assert!(line.starts_with('#') || !key.is_optional, "{name}");
        let example: toml::Table = toml::from_str(line.trim_start_matches('#')).unwrap();
        let example: serde_json::Value = serde_json::to_value(&example[key.name]).unwrap();
        assert!(key.takes.holds(&example), "{line}");
        let range = match key.takes {
            Takes::Whole(min, i64::MAX) => format!("from {min}"),
            Takes::Whole(min, max) if max == 1 << 40 => format!("{min} to 2^40"),
            Takes::Whole(min, max) => format!("{min} to {max}"),
            Takes::Number(min, max) => format!("{min} to {max}"),
            _ => String::new(),
        };
        assert!(
            text.replace(',', "").contains(&range),
            "{name}: {range} in {text}"
        );
        assert!(
            text.contains(&key.unit.to_lowercase()),
            "{name}: {} in {text}",
            key.unit
        );
        if let Takes::Words(words) = key.takes {
            assert!(
                words
                    .iter()
                    .all(|word| text.contains(&format!("\"{word}\""))),
                "{name}: {words:?} in {text}"
            );
        }
    }
}
