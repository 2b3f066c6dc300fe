//! `renma config show`.

use super::arguments::config::ConfigCommand;
use super::output::{print, print_json};
use super::session::Session;
use crate::config::{default_config, load_config};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) fn run(session: &Session, ConfigCommand::Show { config }: ConfigCommand) -> anyhow::Result<()> {
    let loaded = config.as_deref().map_or_else(|| Ok(default_config()), load_config)?;
    let file = config.map_or_else(String::new, |path| path.display().to_string());
    let origin =
        |key: &str| loaded.lines.get(key).map_or_else(|| "default".to_owned(), |line| format!("{file}:{line}"));
    let keys = loaded.keys();
    if session.json {
        let origins: BTreeMap<&String, String> = keys.iter().map(|(key, _)| (key, origin(key))).collect();
        return print_json(&json!({ "name": loaded.name, "config": loaded.config.shared_once(), "origins": origins }));
    }
    let settings = keys.iter().map(|(key, value)| {
        let (table, key_of_table) = key.split_once('.').unwrap_or_default();
        (table, format!("{key_of_table} = {value}"), origin(key))
    });
    let settings: Vec<(&str, String, String)> = settings.collect();
    let width = settings.iter().map(|(_, text, _)| text.chars().count()).max().unwrap_or(0);
    let tables = settings.chunk_by(|left, right| left.0 == right.0).map(|keys| {
        let lines = keys.iter().map(|(_, text, origin)| format!("{text:<width$} # {origin}\n"));
        format!("[{}]\n{}", keys[0].0, lines.collect::<String>())
    });
    Ok(print(tables.collect::<Vec<_>>().join("\n").trim_end())?)
}
