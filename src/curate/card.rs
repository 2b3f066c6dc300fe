//! The card of a dataset: a README.md with the header in YAML that Hugging Face reads.

use crate::artifact::output::first_bytes;
use crate::artifact::{Column, DatasetKind, FileKind, Manifest, Table};
use arrow::datatypes::DataType;
use std::fmt::Write;

const HEAD: &str = "---\n# A dataset card by renma; `renma dataset export --card` writes it again.\n";

/// A file that begins as a card does.
pub const CARD_FILE: FileKind = FileKind {
    name: "a dataset card by renma",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

/// The columns of each unit.
const UNITS: [(&str, &[&str]); 12] = [
    ("bitboard", &["black", "white", "player", "opponent"]),
    ("discs", &["result"]),
    ("flag", &["black_to_move", "exact", "random_move", "candidate_black"]),
    ("half-moves", &["ply", "random_plies", "opening_plies"]),
    ("millidiscs", &["score", "static_score", "alpha"]),
    ("number", &["game_id", "pair", "sample_id"]),
    ("plies", &["depth", "met_depth"]),
    ("positions", &["nodes"]),
    ("rows", &["positions"]),
    ("square", &["best_move", "played_move"]),
    ("squares", &["empties"]),
    ("text", &["moves"]),
];

/// Sizes as Hugging Face names them, by the number of digits of the rows beyond the third.
const SIZES: [&str; 8] = ["n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "n>1B"];

/// The card of a dataset.
///
/// # Panics
///
/// If a string did not take text, which cannot be.
pub fn card(manifest: &Manifest) -> String {
    let mut text = HEAD.to_owned();
    write_card(&mut text, manifest).expect("a string takes all text");
    text
}

fn write_card(text: &mut String, manifest: &Manifest) -> std::fmt::Result {
    let is_there = |table: &&Table| manifest.parts.iter().any(|part| part.files.contains_key(table.name));
    // The main one first.
    let tables: Vec<&Table> = manifest.kind.tables().iter().rev().copied().filter(is_there).collect();
    write_header(text, manifest, &tables)?;
    let Manifest { seed, generation, recipe, content, done, asked, .. } = manifest;
    let (title, license, origin) = words(manifest.kind);
    writeln!(text, "\n# {title}\n\n{origin} {license}\n")?;
    writeln!(text, "| table | files | rows | bytes |\n|---|---|---|---|")?;
    for Table { name, .. } in &tables {
        let (rows, bytes) = (manifest.rows(name), manifest.bytes(name));
        writeln!(text, "| `{name}` | `{name}/*.parquet` | {rows} | {bytes} |")?;
    }
    for Table { name, columns, .. } in &tables {
        writeln!(text, "\n## `{name}`\n\n| column | type | unit | meaning |\n|---|---|---|---|")?;
        for column @ Column { name, data_type, description, .. } in *columns {
            writeln!(text, "| `{name}` | {data_type} | {} | {description} |", unit(column))?;
        }
    }
    writeln!(text, "\nSquares and bits are numbered a1 = 0, b1 = 1, …, h8 = 63. 1 disc is 1000 millidiscs.")?;
    writeln!(text, "\n## Provenance\n\n| what | value |\n|---|---|")?;
    writeln!(text, "| rules | {} |\n| seed | {seed} |\n| generation | {generation} |", manifest.rules)?;
    writeln!(text, "| {} | {done} of {asked} asked for |\n| recipe | `{recipe}` |", counted(manifest.kind))?;
    for (role, model) in &manifest.models {
        writeln!(text, "| model, {} | `{model}` |", plain(role))?;
    }
    for parent in &manifest.parents {
        writeln!(text, "| merged from | `{parent}` |")?;
    }
    writeln!(text, "| content | `{content}` |")?;
    let config = serde_json::to_string_pretty(&manifest.config).map_err(|_| std::fmt::Error)?;
    writeln!(text, "\nThe settings with which it was made:\n\n```json\n{config}\n```\n")?;
    writeln!(text, "`manifest.json` has a hash of every file; `renma dataset verify FOLDER` checks all of them.")
}

fn write_header(text: &mut String, manifest: &Manifest, tables: &[&Table]) -> std::fmt::Result {
    let (title, ..) = words(manifest.kind);
    let rows = tables.first().map_or(0, |table| manifest.rows(table.name));
    let digits = rows.checked_ilog10().unwrap_or(0) as usize + 1;
    let size = SIZES[digits.saturating_sub(3).min(SIZES.len() - 1)];
    let license = if manifest.kind == DatasetKind::Imported { "unknown" } else { "cc0-1.0" };
    writeln!(text, "license: {license}\npretty_name: {}", quoted(title))?;
    writeln!(text, "tags:\n- othello\n- reversi\n- renma\nsize_categories:\n- {}\nconfigs:", quoted(size))?;
    for (index, Table { name, .. }) in tables.iter().enumerate() {
        writeln!(text, "- config_name: {name}\n  data_files: {}", quoted(&format!("{name}/*.parquet")))?;
        writeln!(text, "  default: {}", index == 0)?;
    }
    writeln!(text, "dataset_info:")?;
    for Table { name, columns, .. } in tables {
        writeln!(text, "- config_name: {name}\n  features:")?;
        for column in *columns {
            writeln!(text, "  - name: {}\n    dtype: {}", column.name, dtype(&column.data_type))?;
        }
        writeln!(text, "  splits:\n  - name: train\n    num_examples: {}", manifest.rows(name))?;
        writeln!(text, "  download_size: {}", manifest.bytes(name))?;
    }
    let Manifest { format, seed, generation, recipe, content, .. } = manifest;
    let kind = format!("{:?}", manifest.kind).to_lowercase();
    writeln!(text, "renma:\n  kind: {kind}\n  format: {}\n  rules: {}", format.number(), quoted(&manifest.rules))?;
    writeln!(text, "  seed: {seed}\n  generation: {generation}")?;
    writeln!(text, "  asked: {}\n  done: {}", manifest.asked, manifest.done)?;
    writeln!(text, "  recipe: \"{recipe}\"\n  content: \"{content}\"")?;
    let models = manifest.models.iter().map(|(role, model)| format!("{}: \"{model}\"", quoted(role)));
    writeln!(text, "  models: {{{}}}", models.collect::<Vec<_>>().join(", "))?;
    let parents = manifest.parents.iter().map(|parent| format!("\"{parent}\""));
    writeln!(text, "  parents: [{}]\n---", parents.collect::<Vec<_>>().join(", "))
}

/// The title of a kind, its license and its origin, in words.
const fn words(kind: DatasetKind) -> (&'static str, &'static str, &'static str) {
    const OWN: &str = "The dataset is dedicated to the public domain (CC0-1.0).";
    match kind {
        DatasetKind::Selfplay => ("Othello self-play", OWN, "Games of Othello that renma played against itself."),
        DatasetKind::Imported => (
            "Othello positions",
            "Its license is that of the source, which renma does not know: state it here and in the header.",
            "Games or positions of Othello from another program, with labels where they are known.",
        ),
        DatasetKind::Mpc => ("Othello searches", OWN, "Searches of the same positions of Othello to several depths."),
        DatasetKind::Gate => ("Othello match", OWN, "Games of Othello between two versions of a model of renma."),
    }
}

const fn counted(kind: DatasetKind) -> &'static str {
    match kind {
        DatasetKind::Selfplay | DatasetKind::Mpc => "games",
        DatasetKind::Imported => "games, of records",
        DatasetKind::Gate => "pairs of games",
    }
}

fn unit(column: &Column) -> &'static str {
    UNITS.iter().find(|(_, names)| names.contains(&column.name)).map_or("", |(unit, _)| unit)
}

/// The type as Hugging Face names it.
fn dtype(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "string".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        number => number.to_string().to_lowercase(),
    }
}

/// A string of YAML, in quotes; all but the plain characters of ASCII are escaped.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|character| match character {
        '"' | '\\' => format!("\\{character}"),
        ' '..='~' => character.to_string(),
        _ => format!("\\U{:08x}", u32::from(character)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// A string of Markdown within a cell of a table.
fn plain(text: &str) -> String {
    let escaped = text.chars().map(|character| match character {
        ' ' | '0'..='9' | 'A'..='Z' | 'a'..='z' => character.to_string(),
        _ => format!("&#{};", u32::from(character)),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{GAMES, GATE_GAMES, MPC_SAMPLES, POSITIONS};

    #[test]
    fn every_column_has_a_unit() {
        for table in [&POSITIONS, &GAMES, &GATE_GAMES, &MPC_SAMPLES] {
            for column in table.columns {
                assert_ne!(unit(column), "", "{}", column.name);
            }
        }
        for (unit, name) in UNITS.iter().flat_map(|(unit, names)| names.iter().map(move |name| (unit, *name))) {
            let tables = [&POSITIONS, &GAMES, &GATE_GAMES, &MPC_SAMPLES];
            let columns = tables.iter().flat_map(|table| table.columns).filter(|column| column.name == name);
            // What is stored in millidiscs or discs says so itself.
            let mut descriptions = columns.map(|column| column.description).peekable();
            assert!(descriptions.peek().is_some(), "{name} is not a column");
            assert!(
                !unit.ends_with("discs") || descriptions.all(|text| text.contains(&format!("in {unit}"))),
                "{name}"
            );
        }
    }

    #[test]
    fn strings_cannot_leave_their_place() {
        assert_eq!(quoted("a \"b\" \\ #é\n\u{2028}"), r##""a \"b\" \\ #\U000000e9\U0000000a\U00002028""##);
        assert_eq!(plain("the|<b>\n`x`"), "the&#124;&#60;b&#62;&#10;&#96;x&#96;");
    }
}
