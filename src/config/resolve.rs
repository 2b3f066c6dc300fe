//! A config's text laid over the default: every key that it does not name keeps the default's value.
//!
//! What a key takes is listed nowhere: it is found by trying values on a config that is sound.

use super::nearest::nearest;
use super::{Config, Origin};
use crate::pipeline::alternatives::{Alternatives, alternatives};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// The keys that the default does not have, each with a value that it may have.
const OPTIONAL: &str = "[selective]\nthreshold = 4.0\nrank = 6\nextension = \"horizon\"\n[gate]\nnode_cost = [1.25, 1.0]\n\
    [train]\nquantum = 8\nlearning_curve = true\n";

/// A longer value is cut in messages.
const SHOWN_MAX: usize = 60;

/// A fault in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// What is to blame, if it is not the default.
    pub(super) origin: Option<Origin>,
    /// The key with its value, what is wrong and what is expected; the remedy on a second line.
    pub(super) reason: String,
}

/// A sound config, and where each key that is not the default's comes from, as `table.key`.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) config: Config,
    pub(super) origins: BTreeMap<String, Origin>,
}

/// Lays a text over a default, which is a sound config with every key. A key that `settings` name too has their value.
///
/// Tables merge key by key. A key that decides which others there are (`method`, `mode`, `target`, `openings`) takes those of
/// the default that belong to another alternative away.
///
/// # Errors
///
/// The first fault in the order of the text, then keys that are missing, then values out of range.
pub(super) fn resolve(text: &str, settings: &str, default: &Table) -> Result<Resolved, Fault> {
    let mut overlay = Overlay::new([text, settings], default);
    let mut documents = Vec::new();
    for (layer, text) in [text, settings].into_iter().enumerate() {
        overlay.layer = layer;
        documents.push(DeTable::parse(text).map_err(|error| overlay.syntax_fault(&error))?.into_inner());
    }
    overlay.lay(&documents);
    if let Some(((layer, start), reason)) = overlay.faults.pop_first() {
        return Err(Fault { origin: Some(overlay.origin_at(layer, start)), reason });
    }
    overlay.check_missing()?;
    let mut config: Config = overlay.base.try_into().expect("every value was tried");
    config.share_selective();
    config.check().map_err(|error| {
        let mut reason = error.to_string();
        // Each range names its key first.
        let key = reason.split_once(" = ").map_or("", |(key, _)| key).to_owned();
        let origin = overlay.origins.get(key.trim_end_matches(".t")).copied();
        if origin.is_none() && !key.is_empty() {
            reason += "\nthe value is that of the default: name the key too";
        }
        Fault { origin, reason }
    })?;
    Ok(Resolved { config, origins: overlay.origins })
}

/// The line of each key of a text that is TOML, as `table.key`.
pub(super) fn lines_of(text: &str) -> BTreeMap<String, usize> {
    let document = DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default();
    let keys = document.iter().flat_map(|(table, keys)| {
        let keys = keys.get_ref().as_table().into_iter().flatten();
        keys.map(move |(key, _)| (format!("{}.{}", table.get_ref(), key.get_ref()), line_at(text, key.span().start)))
    });
    keys.collect()
}

fn line_at(text: &str, start: usize) -> usize {
    1 + text.as_bytes()[..start.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

struct Overlay<'a> {
    /// The file, and the settings over it.
    texts: [&'a str; 2],
    /// Which of them is being read.
    layer: usize,
    alternatives: Vec<Alternatives>,
    /// Every key that there is, of all alternatives, with a value that it may have.
    known: Table,
    /// The default with the sound values of the text.
    base: Table,
    /// Keys of an alternative that the default does not have: the text must name them.
    needed: Vec<String>,
    origins: BTreeMap<String, Origin>,
    /// By layer and place in its text.
    faults: BTreeMap<(usize, usize), String>,
}

impl<'a> Overlay<'a> {
    fn new(texts: [&'a str; 2], default: &Table) -> Self {
        let alternatives = alternatives();
        let mut known = default.clone();
        for (table, keys) in toml::from_str::<Table>(OPTIONAL).expect("the optional keys are TOML") {
            let known = known.entry(table).or_insert_with(|| Value::Table(Table::new())).as_table_mut();
            known.expect("only tables have keys of these names").extend(keys.as_table().cloned().unwrap_or_default());
        }
        for choice in &alternatives {
            let keys = known[choice.table].as_table_mut().expect("an alternative is of a table");
            for (key, value) in choice.tables.iter().flatten() {
                keys.entry(key).or_insert_with(|| value.clone());
            }
        }
        Self {
            texts,
            layer: 0,
            alternatives,
            known,
            base: default.clone(),
            needed: Vec::new(),
            origins: BTreeMap::new(),
            faults: BTreeMap::new(),
        }
    }

    /// Takes every value of the texts that is sound; the others become faults.
    fn lay(&mut self, documents: &[DeTable<'_>]) {
        let mut tables = Vec::new();
        for (layer, document) in documents.iter().enumerate() {
            self.layer = layer;
            for (name, value) in document {
                self.lay_table(name.get_ref(), &name.span(), value);
                tables.push((layer, name.get_ref().as_ref(), value));
            }
        }
        let names = |layer: usize, table: &str, key: &str| {
            documents.get(layer).and_then(|document| document.get(table)?.get_ref().as_table()?.get(key)).is_some()
        };
        // The keys that decide which others there are come first.
        for decides in [true, false] {
            for (layer, table, value) in &tables {
                self.layer = *layer;
                let keys = value.get_ref().as_table().filter(|_| self.known.contains_key(*table));
                for (key, value) in keys.into_iter().flatten() {
                    let is_last = !names(layer + 1, table, key.get_ref());
                    if is_last && self.choice(table, key.get_ref()).is_some() == decides {
                        self.lay_key(table, key, value);
                    }
                }
            }
        }
    }

    fn lay_table(&mut self, name: &str, span: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        match (self.known.contains_key(name), value.get_ref().as_table()) {
            (true, Some(_)) => {
                self.base.entry(name).or_insert_with(|| Value::Table(Table::new()));
            }
            (true, None) => {
                self.fault(span, format!("{name} = {}: expected a table [{name}]", self.shown(value)));
            }
            (false, table) => self.fault(span, self.unknown_table(name, table.is_some())),
        }
    }

    fn lay_key(&mut self, table: &str, key: &Spanned<impl AsRef<str>>, value: &Spanned<DeValue<'_>>) {
        let (span, key) = (key.span(), key.get_ref().as_ref());
        self.origins.insert(format!("{table}.{key}"), self.origin_at(self.layer, span.start));
        if !self.knows(table, key) {
            return self.fault(&span, format!("{table}.{key}: {}", self.no_such_key(table, key)));
        }
        if let Some(reason) = self.of_another(table, key) {
            return self.fault(&span, reason);
        }
        match self.value(value).and_then(|value| self.with(table, key, value)) {
            Some(base) => self.base = base,
            None => self
                .fault(&span, format!("{table}.{key} = {}: expected {}", self.shown(value), self.expected(table, key))),
        }
    }

    /// A value of the text; none if it is a number that nothing can hold.
    fn value(&self, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let Some(table) = value.get_ref().as_table() else {
            let text = self.text().get(value.span())?;
            return toml::from_str::<Table>(&format!("value = {text}")).ok()?.remove("value");
        };
        // A table may stand under a head of its own.
        let entries = table.iter().map(|(key, value)| Some((key.get_ref().to_string(), self.value(value)?)));
        entries.collect::<Option<Table>>().map(Value::Table)
    }

    /// The base with another value for a key, if it may have that one as far as types go.
    fn with(&mut self, table: &str, key: &str, value: Value) -> Option<Table> {
        let mut base = self.base.clone();
        let keys = base.entry(table).or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
        keys.insert(key.to_owned(), value.clone());
        if let Some(choice) = self.choice(table, key).cloned() {
            let chosen = choice.tables.iter().find(|table| table[key] == value)?;
            let others = choice.tables.iter().flat_map(Table::keys).filter(|key| !chosen.contains_key(*key));
            others.for_each(|key| drop(keys.remove(key)));
            let missing = chosen.iter().filter(|(key, _)| !keys.contains_key(*key));
            let missing: Vec<_> = missing.map(|(key, value)| (key.clone(), value.clone())).collect();
            self.needed.extend(missing.iter().map(|(key, _)| format!("{table}.{key}")));
            base[table].as_table_mut()?.extend(missing);
        }
        base.clone().try_into::<Config>().ok().map(|_| base)
    }

    fn fault(&mut self, span: &Range<usize>, reason: String) {
        self.faults.insert((self.layer, span.start), reason);
    }

    fn text(&self) -> &'a str {
        self.texts[self.layer]
    }

    fn origin_at(&self, layer: usize, start: usize) -> Origin {
        if layer == 0 { Origin::Line(line_at(self.texts[layer], start)) } else { Origin::Setting }
    }

    /// The alternatives of a table, if this key chooses one of them.
    fn choice(&self, table: &str, key: &str) -> Option<&Alternatives> {
        self.alternatives.iter().find(|choice| choice.table == table && choice.key == key)
    }

    fn knows(&self, table: &str, key: &str) -> bool {
        self.known.get(table).is_some_and(|keys| keys.get(key).is_some())
    }

    /// Why a key means nothing beside the alternative that is chosen.
    fn of_another(&self, table: &str, key: &str) -> Option<String> {
        let choice = self.alternatives.iter().find(|choice| choice.table == table)?;
        if self.base[table].get(key).is_some() {
            return None;
        }
        let decides = choice.key;
        let words =
            choice.tables.iter().filter(|table| table.contains_key(key)).map(|table| table[decides].to_string());
        let words = words.collect::<Vec<_>>().join(" or ");
        if words.is_empty() {
            return None;
        }
        let chosen = &self.base[table][decides];
        Some(format!(
            "{table}.{key}: only {table}.{decides} = {words} has this key, and here it is {chosen}\nremove it, or set {decides} = {words}"
        ))
    }

    fn check_missing(&self) -> Result<(), Fault> {
        let Some(name) = self.needed.iter().find(|name| !self.origins.contains_key(*name)) else { return Ok(()) };
        let (table, key) = name.split_once('.').expect("it was made of both");
        let choice = self.alternatives.iter().find(|choice| choice.table == table).expect("it is of an alternative");
        let (decides, chosen) = (choice.key, &self.base[table][choice.key]);
        let origin = self.origins.get(&format!("{table}.{decides}")).copied();
        let expected = self.expected(table, key);
        Err(Fault { origin, reason: format!("{name} is missing: {decides} = {chosen} needs it; expected {expected}") })
    }

    fn syntax_fault(&self, error: &toml::de::Error) -> Fault {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let Some(span) = error.span() else {
            return Fault { origin: None, reason: format!("it is not TOML: {message}") };
        };
        let text = self.text();
        let start = span.start.min(text.len());
        let begin = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line = text[begin..].lines().next().unwrap_or_default();
        let mut heads = text[..begin].lines().filter_map(|line| line.trim().strip_prefix('[')?.split(']').next());
        let table = heads.next_back().unwrap_or_default();
        let reason = match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            _ if message == "duplicate key" && line.trim().starts_with('[') => {
                format!("the table {} begins twice: expected once", line.trim())
            }
            Some((key, _)) if message == "duplicate key" => {
                let dot = if table.is_empty() { "" } else { "." };
                format!("{table}{dot}{key} is set twice: expected once")
            }
            Some((key, value)) if self.knows(table, key) => {
                let value = value.split(" #").next().unwrap_or_default().trim();
                format!("{table}.{key} = {value}: expected {}", self.expected(table, key))
            }
            _ => format!("it is not TOML: {message}"),
        };
        Fault { origin: Some(self.origin_at(self.layer, start)), reason }
    }

    fn unknown_table(&self, name: &str, is_table: bool) -> String {
        if !is_table {
            let remedy = match self.tables_with(name).next() {
                Some(table) => format!("\ndid you mean {table}.{name}? it belongs in [{table}]"),
                None => self.nearest_key("", name),
            };
            return format!("{name}: there is no such key outside a table{remedy}");
        }
        let nearest = nearest(name, self.known.keys().map(String::as_str));
        let remedy = nearest.map(|table| format!("\ndid you mean [{table}]?")).unwrap_or_default();
        format!("[{name}]: there is no such table{remedy}")
    }

    fn no_such_key(&self, table: &str, key: &str) -> String {
        if self.known.contains_key(key) {
            return format!("it is a separate table\nwrite [{key}]");
        }
        format!("there is no such key{}", self.nearest_key(table, key))
    }

    /// The remedy for a key that is unknown: the same key of another table, else the nearest of this one, else of any.
    fn nearest_key(&self, table: &str, key: &str) -> String {
        if let Some(other) = self.tables_with(key).next() {
            return format!("\ndid you mean {other}.{key}? it belongs in [{other}]");
        }
        let keys = |table: &str| self.known.get(table).and_then(Value::as_table).into_iter().flat_map(Table::keys);
        if let Some(key) = nearest(key, keys(table).map(String::as_str)) {
            return format!("\ndid you mean {key}?");
        }
        let Some(key) = nearest(key, self.known.keys().flat_map(|table| keys(table)).map(String::as_str)) else {
            return String::new();
        };
        self.tables_with(key).next().map(|table| format!("\ndid you mean {table}.{key}?")).unwrap_or_default()
    }

    fn tables_with<'b>(&'b self, key: &'b str) -> impl Iterator<Item = &'b String> {
        self.known.iter().filter(move |(_, keys)| keys.get(key).is_some()).map(|(table, _)| table)
    }

    fn shown(&self, value: &Spanned<DeValue<'_>>) -> String {
        let text = self.text().get(value.span()).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let cut: String = line.chars().take(SHOWN_MAX).collect();
        if cut.len() == text.len() { cut } else { format!("{cut}…") }
    }

    /// What a key takes, in words.
    fn expected(&self, table: &str, key: &str) -> String {
        match &self.known[table][key] {
            Value::Boolean(_) => "true or false".to_owned(),
            Value::Float(_) => format!("a number{}", self.range(table, key, &[Value::Float(1e300)])),
            Value::Integer(_) => {
                // The largest even numbers of each width: one of them fits the key's type and is out of its range.
                let largest = [i64::MAX, u32::MAX.into(), i32::MAX.into(), u16::MAX.into(), u8::MAX.into()];
                let range = self.range(table, key, &largest.map(|number| Value::Integer(number - 1)));
                format!("a whole number{}", if range.is_empty() { " from 0" } else { &range })
            }
            example @ Value::Array(_) => format!("a list, such as {example}"),
            _ => self.variants(table, key).unwrap_or_else(|| "a text in quotes".to_owned()),
        }
    }

    /// The range of a key, by what its table says of values that are too large.
    fn range(&self, table: &str, key: &str, large: &[Value]) -> String {
        for value in large {
            let Ok(mut config) = self.set(table, key, value.clone()).try_into::<Config>() else { continue };
            config.share_selective();
            let Err(error) = config.check() else { continue };
            let error = error.to_string();
            let range =
                error.strip_prefix(&format!("{table}.{key} = ")).and_then(|error| error.split_once(": expected "));
            if let Some((_, range)) = range {
                return format!(" from {range}");
            }
        }
        String::new()
    }

    /// The words that a key takes, if it does not take any text.
    fn variants(&self, table: &str, key: &str) -> Option<String> {
        let error = self.set(table, key, Value::String("?".into())).try_into::<Config>().err()?;
        let (_, expected) = error.message().split_once("expected ")?;
        let words: Vec<String> = expected.split('`').skip(1).step_by(2).map(|word| format!("\"{word}\"")).collect();
        let (last, others) = words.split_last()?;
        Some(if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) })
    }

    /// The base with any value for a key.
    fn set(&self, table: &str, key: &str, value: Value) -> Table {
        let mut base = self.base.clone();
        let keys = base.entry(table).or_insert_with(|| Value::Table(Table::new()));
        keys.as_table_mut().expect("a base holds tables").insert(key.to_owned(), value);
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT;

    fn check(text: &str, line: Option<usize>, reason: &str) {
        let fault = resolve(text, "", &toml::from_str(DEFAULT).unwrap()).expect_err(text);
        assert_eq!(fault, Fault { origin: line.map(Origin::Line), reason: reason.to_owned() }, "{text}");
    }

    #[test]
    fn every_fault_is_told_with_its_line_its_key_and_what_is_expected() {
        for (text, line, reason) in [
            ("[train]\nclip = \"much\"", 2, "train.clip = \"much\": expected a whole number from 1 to 32767"),
            ("[train]\nepochs = 1.5", 2, "train.epochs = 1.5: expected a whole number from 1 to 100000"),
            ("[run]\n\nseed = true", 3, "run.seed = true: expected a whole number from 0"),
            ("[generate]\ngames = -9", 2, "generate.games = -9: expected a whole number from 1 to 1099511627776"),
            ("[gate]\ngames = \"a\"", 2, "gate.games = \"a\": expected a whole number from 2 to 1600000"),
            ("[train]\nvalidation = \"x\"", 2, "train.validation = \"x\": expected a number from 0 to 0.9"),
            ("[train]\nshuffle = 1", 2, "train.shuffle = 1: expected true or false"),
            ("[train]\ntarget = \"resut\"", 2, "train.target = \"resut\": expected \"result\", \"score\" or \"td\""),
            ("[train]\nlambda = 1", 2, "train.lambda = 1: expected a list, such as [[60, 0.8, 1.0]]"),
            ("[train]\nrule = 1", 2, "train.rule = 1: expected \"delta\""),
            ("[run]\nstart = 1", 2, "run.start = 1: expected a text in quotes"),
            (
                "[generate]\nmpc_level = 1000",
                2,
                "generate.mpc_level = 1000: expected a whole number from 50 to 99, or 100 (full width)",
            ),
            ("[train]\nepochs = 0", 2, "train.epochs = 0: expected 1 to 100000"),
            ("[gate.mpc_level]\nt = 99", 1, "gate.mpc_level.t = 99: expected 0 to 10"),
            ("[generate]\nplay_dept = 4", 2, "generate.play_dept: there is no such key\ndid you mean play_depth?"),
            (
                "[run]\nepochs = 4",
                2,
                "run.epochs: there is no such key\ndid you mean train.epochs? it belongs in [train]",
            ),
            ("[run]\nzzz = 4", 2, "run.zzz: there is no such key"),
            ("[generation]", 1, "[generation]: there is no such table\ndid you mean [generate]?"),
            ("gate = 1", 1, "gate = 1: expected a table [gate]"),
            (
                "epochs = 1",
                1,
                "epochs: there is no such key outside a table\ndid you mean train.epochs? it belongs in [train]",
            ),
            ("[gate]\nnodes = 9\nnode_cost = 1.5", 3, "gate.node_cost = 1.5: expected a list, such as [1.25, 1.0]"),
            (
                "[gate]\nnode_cost = [1, 1.5]",
                2,
                "gate.node_cost = [1.0, 1.5]: expected a gate.nodes above 0, which it divides",
            ),
            ("[gate]\nnodes = 9\nnode_cost = [1, 0]", 3, "gate.node_cost = 0: expected 0.01 to 100"),
            ("[train]\nlearning_curve = 3", 2, "train.learning_curve = 3: expected true or false"),
            (
                "[train]\nlearning_curves = true",
                2,
                "train.learning_curves: there is no such key\ndid you mean learning_curve?",
            ),
            (
                "[train]\nvalidation = 0\nlearning_curve = true",
                3,
                "train.learning_curve = true: expected a train.validation above 0, whose games it measures",
            ),
            ("[selective]\nrank = \"a\"", 2, "selective.rank = \"a\": expected a whole number from 1 to 36"),
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
                "[generate]\nopenings = \"all\"\nrandom_plies_max = 5",
                3,
                "generate.random_plies_max: only generate.openings = \"random\" or \"book\" has this key, and here it is \"all\"\n\
                 remove it, or set openings = \"random\" or \"book\"",
            ),
            (
                "[fit_mpc]\nmethod = \"source\"",
                2,
                "fit_mpc.t is missing: method = \"source\" needs it; expected a number from 0 to 10",
            ),
            (
                "[generate]\nopenings = \"book\"",
                2,
                "generate.book is missing: openings = \"book\" needs it; expected a text in quotes",
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
        check(text, Some(3), "train.empties_min = \"a\": expected a whole number from 0 to 20");
    }

    #[test]
    fn what_is_not_toml_is_told_in_plain_words() {
        check("[gate]\ngames = 2\n[gate]", Some(3), "the table [gate] begins twice: expected once");
        check("[run]\nseed = 1\nseed = 2", Some(3), "run.seed is set twice: expected once");
        check("[train]\nstart = parent", Some(2), "train.start = parent: expected \"zero\" or \"parent\"");
        check("[run]\n[gate", Some(2), "it is not TOML: unclosed table, expected `]`");
    }
}
