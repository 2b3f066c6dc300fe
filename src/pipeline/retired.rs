//! Keys that configs had once, and that records of runs and datasets still hold: their values are fixed now, or another key
//! says the same.

use super::fit_mpc::task::{self as fit_mpc, FitMpcConfig, Method};
use super::gate::task as gate;
use super::generate::task as generate;
use crate::statistics::elo::INTERVAL;
use serde_json::{Map, Value, json};

/// The keys, by table.
const RETIRED: [(&str, &[&str]); 4] = [
    ("generate", &["exploration_empties", "table_bits"]),
    ("train", &["blend", "deduplicate", "multiplicity_max"]),
    (
        "fit_mpc",
        &[
            "compare",
            "empties_max",
            "empties_min",
            "end_empties",
            "exploration",
            "folds",
            "game_samples",
            "play_depth",
            "probes_max",
            "random_plies",
            "table_bits",
            "tree_depth_max",
            "tree_depth_min",
            "tree_share",
        ],
    ),
    ("gate", &["alpha", "balance_depth", "balance_discs", "batch_pairs", "beta", "interval", "table_bits"]),
];

/// Whether a config could once have this key.
#[must_use]
pub fn is_retired(table: &str, key: &str) -> bool {
    RETIRED.iter().any(|(name, keys)| *name == table && keys.contains(&key))
}

/// Brings a recorded table into today's form; gives the keys that say something else than what is fixed now.
pub fn modernize(table: &str, keys: &mut Map<String, Value>) -> Vec<(String, Value)> {
    if table == "fit_mpc" && keys.get("method") == Some(&json!("seed")) {
        keys.insert("method".to_owned(), json!("source"));
    }
    let had_blend = table == "train" && keys.get("target") == Some(&json!("blend"));
    if had_blend {
        keys.insert("target".to_owned(), json!("score"));
    }
    if keys.get("deduplicate") == Some(&json!(false)) {
        keys.insert("multiplicity_max".to_owned(), json!(0));
    }
    for choice in super::alternatives::alternatives().iter().filter(|choice| choice.table == table) {
        let word = keys.get(choice.key).and_then(Value::as_str);
        let chosen = choice.tables.iter().find(|form| form[choice.key].as_str() == word);
        let others = choice.tables.iter().flat_map(toml::Table::keys);
        if let Some(chosen) = chosen {
            others.filter(|key| !chosen.contains_key(*key)).for_each(|key| drop(keys.remove(key)));
        }
    }
    let was: Vec<(String, Value)> = RETIRED
        .iter()
        .filter(|(name, _)| *name == table)
        .flat_map(|(_, retired)| *retired)
        .filter_map(|key| keys.remove_entry(*key))
        .collect();
    let fixed = fixed(table, keys);
    let mut others: Vec<(String, Value)> = was
        .into_iter()
        .filter(|(key, value)| fixed.iter().any(|(name, fixed)| name == key && !equal(value, fixed)))
        .collect();
    others.extend(had_blend.then(|| ("target".to_owned(), json!("blend"))));
    others
}

/// 1 and 1.0 are the same.
fn equal(left: &Value, right: &Value) -> bool {
    if left.is_number() { left.as_f64() == right.as_f64() } else { left == right }
}

/// What is fixed now, as far as it decides anything beside these keys.
fn fixed(table: &str, keys: &Map<String, Value>) -> Vec<(&'static str, Value)> {
    match table {
        "generate" => vec![
            ("exploration_empties", json!(generate::EXPLORATION_EMPTIES)),
            ("table_bits", json!(generate::TABLE_BITS)),
        ],
        "train" => vec![("multiplicity_max", json!(0))],
        "fit_mpc" => serde_json::from_value(Value::Object(keys.clone())).map_or_else(|_| Vec::new(), fixed_samples),
        "gate" => {
            let mut fixed = vec![("batch_pairs", json!(gate::BATCH_PAIRS)), ("table_bits", json!(gate::TABLE_BITS))];
            if keys.get("mode") == Some(&json!("games")) {
                fixed.extend([("balance_discs", json!(64)), ("interval", json!(INTERVAL))]);
            } else {
                fixed.extend(["alpha", "beta"].map(|key| (key, json!(gate::RISK))));
                fixed.push(("balance_depth", json!(gate::BALANCE_DEPTH)));
                fixed.push(("balance_discs", json!(gate::BALANCE_DISCS)));
            }
            fixed
        }
        _ => Vec::new(),
    }
}

fn fixed_samples(config: FitMpcConfig) -> Vec<(&'static str, Value)> {
    let sampling = config.sampling();
    let mut fixed = vec![
        ("empties_max", json!(sampling.empties[1])),
        ("empties_min", json!(sampling.empties[0])),
        ("end_empties", json!(sampling.end_empties)),
        ("exploration", json!(sampling.exploration)),
        ("game_samples", json!(sampling.game_samples)),
        ("play_depth", json!(fit_mpc::PLAY_DEPTH)),
        ("random_plies", json!(fit_mpc::RANDOM_PLIES)),
        ("table_bits", json!(sampling.table_bits)),
        ("tree_share", json!(sampling.tree_share)),
    ];
    if let Method::Line { .. } = config.method {
        fixed.extend([
            ("compare", json!(config.compared())),
            ("folds", json!(fit_mpc::FOLDS)),
            ("probes_max", json!(fit_mpc::PROBES_MAX)),
            ("tree_depth_max", json!(sampling.tree_depths[1])),
            ("tree_depth_min", json!(sampling.tree_depths[0])),
        ]);
    }
    fixed
}
