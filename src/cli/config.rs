//! `renma config show`.

use super::arguments::config::ConfigCommand;
use super::output::{print, print_json};
use super::session::Session;
use crate::config::{Origin, load_config_with};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) fn run(session: &Session, ConfigCommand::Show { config, set }: ConfigCommand) -> anyhow::Result<()> {
    let loaded = load_config_with(&config, &set.settings)?;
    let origin = |key: &str| match loaded.origins.get(key) {
        Some(Origin::Line(line)) => format!("{}:{line}", config.display()),
        Some(Origin::Setting) => "--set".to_owned(),
        None => "default".to_owned(),
    };
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
