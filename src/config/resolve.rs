//! A config's text laid over the default: every key that it does not name keeps the default's
//! value.

use super::nearest::nearest;
use super::{Config, TABLES, ValueOrigin, keys_of, toml_text};
use crate::artifact::line::visible;
use crate::pipeline::keys::{Key, KeyFault, any_of};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A longer value is cut in messages.
const SHOWN_MAX: usize = 60;

/// A fault in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is to blame, if it is not the default.
    pub origin: Option<ValueOrigin>,
    /// The key with its value, what is wrong and what is expected; the remedy on a second line.
    pub reason: String,
}

/// A sound config, and where each key that is not the default's comes from, as `table.key`.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub config: Config,
    pub origins: BTreeMap<String, ValueOrigin>,
}

/// Lays a text over a default, which is a sound config with every key. A key that `settings` name
/// too has their value.
///
/// Tables merge key by key. A key that determines which other keys exist (`method`, `mode`,
/// `target`, `openings`) removes the default keys that belong to another of its values.
///
/// # Errors
///
/// The first fault in the order of the text, then keys that are missing, then keys that do not go
/// together.
pub fn resolve(text: &str, settings: &str, default: &str) -> Result<Resolved, Fault> {
    let mut overlay = Overlay {
        texts: [text, settings],
        tables: toml::from_str(default).expect("the default config is TOML"),
        named: BTreeMap::new(),
        faults: BTreeMap::new(),
    };
    overlay.read(0)?;
    overlay.read(1)?;
    overlay.take_away();
    if let Some((place, reason)) = overlay.faults.pop_first() {
        return Err(Fault {
            origin: Some(overlay.origin(place)),
            reason,
        });
    }
    overlay.check_missing()?;
    let origins: BTreeMap<String, ValueOrigin> = overlay
        .named
        .iter()
        .map(|(name, place)| (name.clone(), overlay.origin(*place)))
        .collect();
    let config = Config::from_tables(overlay.tables).map_err(|KeyFault { key, mut reason }| {
        let origin = origins.get(&key).copied();
        if origin.is_none() && key.contains('.') {
            reason += "\nthe value is that of the default: name the key too";
        }
        Fault { origin, reason }
    })?;
    Ok(Resolved { config, origins })
}

/// A layer, and a byte of its text.
type Place = (usize, usize);

struct Overlay<'a> {
    /// The layers: the file, and the settings over it.
    texts: [&'a str; 2],
    /// The default with the sound values of the texts.
    tables: Map<String, Value>,
    /// Where each key stands that a text names, as `table.key`; the settings come last.
    named: BTreeMap<String, Place>,
    faults: BTreeMap<Place, String>,
}

impl Overlay<'_> {
    /// Takes every value of a layer that is sound; the others become faults.
    fn read(&mut self, layer: usize) -> Result<(), Fault> {
        let document =
            DeTable::parse(self.texts[layer]).map_err(|error| self.syntax_fault(layer, &error))?;
        for (table, value) in document.into_inner() {
            let (place, span) = ((layer, table.span().start), value.span());
            let table = visible(&table.into_inner());
            let reason = match (keys_of(&table), value.into_inner()) {
                (Some(known), DeValue::Table(keys)) => {
                    self.tables.entry(&table).or_insert_with(|| json!({}));
                    for (key, value) in keys {
                        let place = (layer, key.span().start);
                        self.lay(&table, known, key.get_ref(), place, value);
                    }
                    continue;
                }
                (Some(_), value) => {
                    let (value, span) = value_of(Spanned::new(span, value));
                    let value = self.shown(layer, &value, span);
                    format!("{table} = {value}: expected a table [{table}]")
                }
                (None, value) if value.is_table() => unknown_table(&table),
                (None, _) => {
                    let nearest = nearest_key("", &table);
                    let form = "\nthe form is TABLE.KEY=VALUE, such as train.epochs=3";
                    let remedy = if nearest.is_empty() && layer == 1 {
                        form
                    } else {
                        &nearest
                    };
                    format!("{table}: unknown key outside a table{remedy}")
                }
            };
            self.faults.insert(place, reason);
        }
        Ok(())
    }

    fn lay(
        &mut self,
        table: &str,
        known: &[Key],
        key: &str,
        place: Place,
        value: Spanned<DeValue<'_>>,
    ) {
        let name = format!("{table}.{}", visible(key));
        if let Some(earlier) = self.named.insert(name.clone(), place) {
            self.faults.remove(&earlier);
        }
        let (value, span) = value_of(value);
        let reason = match known.iter().find(|known| known.name == key) {
            Some(known) if known.takes.holds(&value) => {
                self.tables[table][key] = value;
                return;
            }
            Some(known) => format!(
                "{name} = {}: expected {}",
                self.shown(place.0, &value, span),
                known.expected()
            ),
            None if keys_of(key).is_some() => {
                format!("{name}: it is a separate table\nwrite [{key}]")
            }
            None => format!("{name}: unknown key{}", nearest_key(table, key)),
        };
        self.faults.insert(place, reason);
    }

    /// Removes the keys that have no meaning beside the others; one that a text names is a fault.
    fn take_away(&mut self) {
        for (table, keys) in TABLES {
            for key in keys {
                let Some(found) = self
                    .tables
                    .get_mut(table)
                    .filter(|found| !key.belongs_in(found))
                else {
                    continue;
                };
                found
                    .as_object_mut()
                    .expect("a table was read as one")
                    .remove(key.name);
                let Some(place) = self.named.get(&format!("{table}.{}", key.name)) else {
                    continue;
                };
                let (decider, words) = key
                    .only
                    .expect("without a decider a key belongs everywhere");
                let (words, chosen) = (any_of(words), &self.tables[table][decider]);
                let reason = format!(
                    "only {table}.{decider} = {words} has this key, and here it is {chosen}"
                );
                let remedy = format!("remove it, or set {decider} = {words}");
                self.faults
                    .insert(*place, format!("{table}.{}: {reason}\n{remedy}", key.name));
            }
        }
    }

    fn check_missing(&self) -> Result<(), Fault> {
        let keys = TABLES
            .iter()
            .flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)));
        for (table, key) in keys.filter(|(_, key)| !key.is_optional) {
            let (found, (decider, _)) = (&self.tables[*table], key.only.unwrap_or_default());
            if found.get(key.name).is_none() && key.belongs_in(found) {
                let needs = format!("{decider} = {} needs it", found[decider]);
                let reason = format!(
                    "{table}.{} is missing: {needs}; expected {}",
                    key.name,
                    key.expected()
                );
                let decider = self.named.get(&format!("{table}.{decider}"));
                return Err(Fault {
                    origin: decider.map(|place| self.origin(*place)),
                    reason,
                });
            }
        }
        Ok(())
    }

    fn origin(&self, place: Place) -> ValueOrigin {
        let (layer, start) = place;
        let text = self.texts[layer].as_bytes();
        let line = 1 + text[..start.min(text.len())]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        if layer == 0 {
            ValueOrigin::Line(line)
        } else {
            ValueOrigin::Setting
        }
    }

    /// A value as messages show it: as the text has it, unless it may stand in several lines.
    fn shown(&self, layer: usize, value: &Value, span: Range<usize>) -> String {
        let text = match value {
            Value::Object(_) => toml_text(value),
            _ => self.texts[layer].get(span).unwrap_or_default().to_owned(),
        };
        let cut: String = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(SHOWN_MAX)
            .collect();
        if cut.len() == text.len() {
            cut
        } else {
            format!("{cut}…")
        }
    }

    fn syntax_fault(&self, layer: usize, error: &toml::de::Error) -> Fault {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let Some(span) = error.span() else {
            return Fault {
                origin: None,
                reason: format!("it is not TOML: {message}"),
            };
        };
        let text = self.texts[layer];
        let begin = text[..span.start.min(text.len())]
            .rfind('\n')
            .map_or(0, |end| end + 1);
        let line = text[begin..].lines().next().unwrap_or_default().trim();
        let mut heads = text[..begin]
            .lines()
            .filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
        let table = heads.next_back().unwrap_or_default();
        let (key, value) = line
            .split_once('=')
            .map_or((line, ""), |(key, value)| (key.trim(), value));
        let name = if table.is_empty() {
            key.to_owned()
        } else {
            format!("{table}.{key}")
        };
        let known = keys_of(table).and_then(|keys| keys.iter().find(|known| known.name == key));
        let reason = match known {
            _ if message == "duplicate key" && key.starts_with('[') => {
                format!("the table {key} begins twice: expected once")
            }
            _ if message == "duplicate key" => format!("{name} is set twice: expected once"),
            Some(known) => {
                let value = value.split(" #").next().unwrap_or_default().trim();
                format!("{name} = {value}: expected {}", known.expected())
            }
            None => format!("it is not TOML: {message}"),
        };
        Fault {
            origin: Some(self.origin((layer, span.start))),
            reason,
        }
    }
}

/// A value of a text with its place; null, which no key takes, if it is a number that nothing can
/// hold.
fn value_of(value: Spanned<DeValue<'_>>) -> (Value, Range<usize>) {
    let span = value.span();
    (
        Value::deserialize(ValueDeserializer::from(value)).unwrap_or_default(),
        span,
    )
}

fn unknown_table(name: &str) -> String {
    let nearest = nearest(name, TABLES.iter().map(|(table, _)| *table));
    let remedy = nearest
        .map(|table| format!("\ndid you mean [{table}]?"))
        .unwrap_or_default();
    format!("[{name}]: unknown table{remedy}")
}

/// The remedy for a key that is unknown: the same key of another table, else the nearest of this
/// one, else of any.
fn nearest_key(table: &str, key: &str) -> String {
    let all = || {
        TABLES
            .iter()
            .flat_map(|(table, keys)| keys.iter().map(|key| (*table, key.name)))
    };
    if let Some((other, _)) = all().find(|(_, name)| *name == key) {
        return format!("\ndid you mean {other}.{key}? it belongs in [{other}]");
    }
    let own = all().filter(|(of, _)| *of == table).map(|(_, name)| name);
    if let Some(own) = nearest(key, own) {
        return format!("\ndid you mean {own}?");
    }
    let any = nearest(key, all().map(|(_, name)| name));
    let found = any.and_then(|any| all().find(|(_, name)| *name == any));
    found
        .map(|(table, key)| format!("\ndid you mean {table}.{key}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT;

    fn check(text: &str, line: Option<usize>, reason: &str) {
        let fault = resolve(text, "", DEFAULT).expect_err(text);
        assert_eq!(
            fault,
            Fault {
                origin: line.map(ValueOrigin::Line),
                reason: reason.to_owned()
            },
            "{text}"
        );
    }

    #[test]
    fn every_fault_is_told_with_its_line_its_key_and_what_is_expected() {
        for (text, line, reason) in [
            (
                "[train]\nclip = \"much\"",
                2,
                "train.clip = \"much\": expected a whole number from 1 to 32767 (millidiscs)",
            ),
            (
                "[train]\nepochs = 1.5",
                2,
                "train.epochs = 1.5: expected a whole number from 1 to 100000",
            ),
            (
                "[run]\n\nseed = true",
                3,
                "run.seed = true: expected a whole number from 0",
            ),
            (
                "[generate]\ngames = -9",
                2,
                "generate.games = -9: expected a whole number from 1 to 1099511627776 (games)",
            ),
            (
                "[gate]\ngames = \"a\"",
                2,
                "gate.games = \"a\": expected a whole number from 2 to 1600000 (games)",
            ),
            (
                "[train]\nvalidation = \"x\"",
                2,
                "train.validation = \"x\": expected a number from 0 to 0.9",
            ),
            (
                "[train]\nshuffle = 1",
                2,
                "train.shuffle = 1: expected true or false",
            ),
            (
                "[train]\ntarget = \"resut\"",
                2,
                "train.target = \"resut\": expected \"result\", \"score\" or \"td\"",
            ),
            (
                "[train]\nlambda = 1",
                2,
                "train.lambda = 1: expected a list such as [[60, 0.8, 1.0]]: the most empty squares, from 60 down, each with one number \
                 from 0 to 1, or with two, for even and odd numbers of empty squares",
            ),
            (
                "[run]\nstart = 1",
                2,
                "run.start = 1: expected a text in quotes, on one line",
            ),
            (
                "[generate]\nmpc_level = 1000",
                2,
                "generate.mpc_level = 1000: expected a whole number from 50 to 99 (percent), 100 (full width), \
                 or { t = SIGMAS } with 0 to 10",
            ),
            (
                "[train]\nepochs = 0",
                2,
                "train.epochs = 0: expected a whole number from 1 to 100000",
            ),
            (
                "[gate.mpc_level]\nt = 99",
                1,
                "gate.mpc_level = { t = 99 }: expected a whole number from 50 to 99 (percent), 100 (full width), \
                 or { t = SIGMAS } with 0 to 10",
            ),
            (
                "[generate]\nplay_dept = 4",
                2,
                "generate.play_dept: unknown key\ndid you mean play_depth?",
            ),
            (
                "[gate]\nnode = 4",
                2,
                "gate.node: unknown key\ndid you mean nodes?",
            ),
            (
                "[run]\nepochs = 4",
                2,
                "run.epochs: unknown key\ndid you mean train.epochs? it belongs in [train]",
            ),
            ("[run]\nzzz = 4", 2, "run.zzz: unknown key"),
            (
                "[train]\nratoi = 4",
                2,
                "train.ratoi: unknown key\ndid you mean ratio?",
            ),
            (
                "[generate.selective]\nrank = 3",
                1,
                "generate.selective: it is a separate table\nwrite [selective]",
            ),
            (
                "[generation]",
                1,
                "[generation]: unknown table\ndid you mean [generate]?",
            ),
            ("gate = 1", 1, "gate = 1: expected a table [gate]"),
            (
                "epochs = 1",
                1,
                "epochs: unknown key outside a table\ndid you mean train.epochs? it belongs in [train]",
            ),
            (
                "[gate]\nnodes = 9\nnode_cost = 1.5",
                3,
                "gate.node_cost = 1.5: expected two numbers from 0.01 to 100, such as [1.25, 1.0]",
            ),
            (
                "[gate]\nnode_cost = [1, 1.5]",
                2,
                "gate.node_cost = [1.0, 1.5]: expected a gate.nodes above 0, which it divides",
            ),
            (
                "[gate]\nnodes = 9\nnode_cost = [1, 0]",
                3,
                "gate.node_cost = [1, 0]: expected two numbers from 0.01 to 100, such as [1.25, 1.0]",
            ),
            (
                "[selective]\nrank = \"a\"",
                2,
                "selective.rank = \"a\": expected a whole number from 1 to 36 (moves)",
            ),
        ] {
            check(text, Some(line), reason);
        }
    }

    #[test]
    fn a_key_of_another_alternative_and_a_missing_one_are_told_with_the_remedy() {
        for (text, line, reason) in [
            (
                "[train]\nlambda = [[60, 0.5]]\ntarget = \"result\"",
                2,
                "train.lambda: only train.target = \"td\" has this key, and here it is \"result\"\n\
                 remove it, or set target = \"td\"",
            ),
            (
                "[fit_mpc]\nt = 1.4",
                2,
                "fit_mpc.t: only fit_mpc.method = \"source\" has this key, and here it is \"line\"\n\
                 remove it, or set method = \"source\"",
            ),
            (
                "[fit_mpc]\nmethod = \"source\"",
                2,
                "fit_mpc.t is missing: method = \"source\" needs it; expected a number from 0 to 10 (standard deviations)",
            ),
            (
                "[generate]\nopenings = \"book\"",
                2,
                "generate.book is missing: openings = \"book\" needs it; expected a text in quotes, on one line",
            ),
        ] {
            check(text, Some(line), reason);
        }
    }

    #[test]
    fn a_value_that_only_the_default_makes_impossible_names_the_key_of_the_default() {
        let text = "[train]\nempties_max = 20\nempties_min = 30";
        check(text, Some(3), "train.empties_min = 30: expected 0 to 20");
        let text = "[generate]\nrandom_plies_max = 4";
        check(
            text,
            None,
            "generate.random_plies_min = 8: expected 0 to 4\nthe value is that of the default: name the key too",
        );
        let text = "[train]\nempties_max = 20\nempties_min = \"a\"";
        check(
            text,
            Some(3),
            "train.empties_min = \"a\": expected a whole number from 0 to 60 (empty squares)",
        );
    }

    #[test]
    fn what_is_not_toml_is_told_in_plain_words() {
        check(
            "[gate]\ngames = 2\n[gate]",
            Some(3),
            "the table [gate] begins twice: expected once",
        );
        check(
            "[run]\nseed = 1\nseed = 2",
            Some(3),
            "run.seed is set twice: expected once",
        );
        check(
            "[train]\nstart = parent",
            Some(2),
            "train.start = parent: expected \"zero\" or \"parent\"",
        );
        check(
            "[run]\n[gate",
            Some(2),
            "it is not TOML: unclosed table, expected `]`",
        );
    }
}
