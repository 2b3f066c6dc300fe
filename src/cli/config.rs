//! `renma config show`.

use super::arguments::ConfigCommand;
use super::session::Session;
use crate::artifact::step::table_settings;
use crate::config::{load_config_with, place, tables_text};
use serde_json::json;
use std::collections::BTreeMap;

pub fn run(
    session: &Session,
    ConfigCommand::Show { config, set }: ConfigCommand,
) -> anyhow::Result<()> {
    let loaded = load_config_with(&config, &set.settings)?;
    let named = |key: &str| {
        loaded
            .origins
            .get(key)
            .map(|&origin| place(&config, Some(origin)))
    };
    let origin = |key: &str| named(key).unwrap_or_else(|| "default".to_owned());
    let tables = loaded.config.tables();
    let keys = tables
        .iter()
        .flat_map(|(table, keys)| table_settings(table, keys));
    let origins: BTreeMap<String, String> =
        keys.map(|(key, _)| (key.clone(), origin(&key))).collect();
    let text = tables_text(&tables);
    let width = text
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0);
    let mut table = "";
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some((key, _)) => format!("{line:<width$} # {}\n", origin(&format!("{table}.{key}"))),
        None => {
            table = line.trim_matches(['[', ']']);
            format!("{line}\n")
        }
    });
    let json = json!({ "name": loaded.name, "config": tables, "origins": origins });
    session.answer(&json, lines.collect::<String>().trim_end())
}
