//! What is wrong with the text of a config, in words that name the line, the key, what is expected and the nearest key.
//!
//! What a key takes is not listed here: it is found by trying values on a config that is sound.

use super::Config;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// A config with every table and key.
const DEFAULT: &str = include_str!("../../configs/default.toml");

/// A longer value is cut in messages.
const SHOWN_MAX: usize = 60;

/// A fault in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, counted from 1, if there is one to blame.
    pub(super) line: Option<usize>,
    /// The key with its value, what is wrong and what is expected; the remedy on a second line.
    pub(super) reason: String,
}

/// The line on which a text sets `table.key`.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (table, key) = key.split_once('.')?;
    let table = document.get_ref().get(table)?.get_ref().as_table()?;
    table.iter().find(|(name, _)| name.get_ref() == key).map(|(name, _)| line_at(text, &name.span()))
}

/// The first fault of a text that is not a config; `error` is what the parser says.
pub(super) fn diagnose(text: &str, error: &toml::de::Error) -> Fault {
    let fault = match DeTable::parse(text) {
        Ok(document) => Diagnosis::new(text, document.get_ref()).fault(document.get_ref()),
        Err(error) => Some(syntax_fault(text, &error)),
    };
    // Should the parser refuse more than is looked for here, its own words have to do.
    fault.unwrap_or_else(|| syntax_fault(text, error))
}

fn syntax_fault(text: &str, error: &toml::de::Error) -> Fault {
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let Some(span) = error.span() else {
        return Fault { line: None, reason: format!("it is not TOML: {message}") };
    };
    let start = span.start.min(text.len());
    let begin = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let table = text[..begin].lines().filter_map(|line| line.trim().strip_prefix('[')?.split(']').next()).next_back();
    let table = table.unwrap_or_default();
    let reason = match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
        _ if message == "duplicate key" && line.trim().starts_with('[') => {
            format!("the table {} begins twice: expected once", line.trim())
        }
        Some((key, _)) if message == "duplicate key" => format!("{table}.{key} is set twice: expected once"),
        Some((key, value)) if Diagnosis::of_default(text).knows(table, key) => {
            let value = value.split(" #").next().unwrap_or_default().trim();
            format!("{table}.{key} = {value}: expected {}", Diagnosis::of_default(text).expected(table, key))
        }
        _ => format!("it is not TOML: {message}"),
    };
    Fault { line: Some(line_at(text, &span)), reason }
}

fn line_at(text: &str, span: &Range<usize>) -> usize {
    1 + text.as_bytes()[..span.start.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// A text beside the default config.
struct Diagnosis<'a> {
    text: &'a str,
    default: Table,
    /// The default config with those values of the text that it can take.
    base: Table,
}

impl<'a> Diagnosis<'a> {
    fn of_default(text: &'a str) -> Self {
        let default: Table = toml::from_str(DEFAULT).expect("the default config is TOML");
        Self { text, base: default.clone(), default }
    }

    fn new(text: &'a str, document: &DeTable<'_>) -> Self {
        let mut diagnosis = Self::of_default(text);
        for (table, values) in document {
            for (key, value) in values.get_ref().as_table().into_iter().flatten() {
                let value =
                    diagnosis.value(value).filter(|value| diagnosis.takes(table.get_ref(), key.get_ref(), value));
                if let (Some(value), Some(Value::Table(values))) =
                    (value, diagnosis.base.get_mut(table.get_ref().as_ref()))
                {
                    values.insert(key.get_ref().to_string(), value);
                }
            }
        }
        diagnosis
    }

    /// The first fault in the order of the text; a key that is missing comes after all others.
    fn fault(&self, document: &DeTable<'_>) -> Option<Fault> {
        let mut faults = BTreeMap::new();
        for (name, value) in document {
            match (self.default.get(name.get_ref().as_ref()), value.get_ref().as_table()) {
                (Some(_), Some(keys)) => {
                    let found = keys.iter().filter_map(|(key, value)| {
                        Some((key.span().start, self.key_fault(name.get_ref(), key.get_ref(), value)?))
                    });
                    faults.extend(found);
                }
                (Some(_), None) => {
                    let reason =
                        format!("{name} = {}: expected a table [{name}]", self.shown(value), name = name.get_ref());
                    faults.insert(name.span().start, reason);
                }
                (None, is_table) => {
                    let reason = self.unknown_table(name.get_ref(), is_table.is_some());
                    faults.insert(name.span().start, reason);
                }
            }
        }
        let first = faults.into_iter().next();
        let first = first.map(|(start, reason)| Fault { line: Some(line_at(self.text, &(start..start))), reason });
        first.or_else(|| self.missing(document))
    }

    fn key_fault(&self, table: &str, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        if !self.knows(table, key) {
            return Some(format!("{table}.{key}: there is no such key{}", self.nearest_key(table, key)));
        }
        if self.value(value).is_some_and(|value| self.takes(table, key, &value)) {
            return None;
        }
        Some(format!("{table}.{key} = {}: expected {}", self.shown(value), self.expected(table, key)))
    }

    fn missing(&self, document: &DeTable<'_>) -> Option<Fault> {
        for (table, keys) in &self.default {
            let Some((name, values)) = document.iter().find(|(name, _)| name.get_ref() == table) else {
                return Some(Fault { line: None, reason: format!("the table [{table}] is missing") });
            };
            let there = values.get_ref().as_table()?;
            for (key, _) in keys.as_table().into_iter().flatten() {
                if !there.contains_key(key.as_str()) {
                    let reason = format!("{table}.{key} is missing: expected {}", self.expected(table, key));
                    return Some(Fault { line: Some(line_at(self.text, &name.span())), reason });
                }
            }
        }
        None
    }

    fn unknown_table(&self, name: &str, is_table: bool) -> String {
        if !is_table {
            let remedy = match self.tables_with(name).next() {
                Some(table) => format!("\ndid you mean {table}.{name}? it belongs in [{table}]"),
                None => self.nearest_key("", name),
            };
            return format!("{name}: there is no such key outside a table{remedy}");
        }
        let nearest = nearest(name, self.default.keys().map(String::as_str));
        let remedy = nearest.map(|table| format!("\ndid you mean [{table}]?")).unwrap_or_default();
        format!("[{name}]: there is no such table{remedy}")
    }

    /// The remedy for a key that is unknown: the same key of another table, else the nearest of this one, else of any.
    fn nearest_key(&self, table: &str, key: &str) -> String {
        if let Some(other) = self.tables_with(key).next() {
            return format!("\ndid you mean {other}.{key}? it belongs in [{other}]");
        }
        let keys = |table: &str| self.default.get(table).and_then(Value::as_table).into_iter().flat_map(Table::keys);
        if let Some(key) = nearest(key, keys(table).map(String::as_str)) {
            return format!("\ndid you mean {key}?");
        }
        let Some(key) = nearest(key, self.default.keys().flat_map(|table| keys(table)).map(String::as_str)) else {
            return String::new();
        };
        self.tables_with(key).next().map(|table| format!("\ndid you mean {table}.{key}?")).unwrap_or_default()
    }

    fn tables_with<'b>(&'b self, key: &'b str) -> impl Iterator<Item = &'b String> {
        self.default.iter().filter(move |(_, keys)| keys.get(key).is_some()).map(|(table, _)| table)
    }

    fn knows(&self, table: &str, key: &str) -> bool {
        self.default.get(table).is_some_and(|keys| keys.get(key).is_some())
    }

    /// Whether a key may have this value, as far as its type goes.
    fn takes(&self, table: &str, key: &str, value: &Value) -> bool {
        self.knows(table, key) && with(&self.default, table, key, value.clone()).try_into::<Config>().is_ok()
    }

    fn value(&self, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let text = self.text.get(value.span())?;
        toml::from_str::<Table>(&format!("value = {text}")).ok()?.remove("value")
    }

    fn shown(&self, value: &Spanned<DeValue<'_>>) -> String {
        let text = self.text.get(value.span()).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let cut: String = line.chars().take(SHOWN_MAX).collect();
        if cut.len() == text.len() { cut } else { format!("{cut}…") }
    }

    /// What a key takes, in words.
    fn expected(&self, table: &str, key: &str) -> String {
        match &self.default[table][key] {
            Value::Boolean(_) => "true or false".to_owned(),
            Value::Float(_) => format!("a number{}", self.range(table, key, &[Value::Float(1e300)])),
            Value::Integer(_) => {
                // The largest even numbers of each width: one of them fits the key's type and is out of its range.
                let largest = [i64::MAX, u32::MAX.into(), i32::MAX.into(), u16::MAX.into(), u8::MAX.into()];
                let range = self.range(table, key, &largest.map(|number| Value::Integer(number - 1)));
                format!("a whole number{}", if range.is_empty() { " from 0" } else { &range })
            }
            _ => self.variants(table, key).unwrap_or_else(|| "a text in quotes".to_owned()),
        }
    }

    /// The range of a key, by what its table says of values that are too large.
    fn range(&self, table: &str, key: &str, large: &[Value]) -> String {
        for base in [&self.base, &self.default] {
            for value in large {
                let Ok(config) = with(base, table, key, value.clone()).try_into::<Config>() else { continue };
                let Err(error) = config.check() else { continue };
                let error = error.to_string();
                let range =
                    error.strip_prefix(&format!("{table}.{key} = ")).and_then(|error| error.split_once(": expected "));
                if let Some((_, range)) = range {
                    return format!(" from {range}");
                }
            }
        }
        String::new()
    }

    /// The words that a key takes, if it does not take any text.
    fn variants(&self, table: &str, key: &str) -> Option<String> {
        let error = with(&self.default, table, key, Value::String("?".into())).try_into::<Config>().err()?;
        let (_, expected) = error.message().split_once("expected ")?;
        let words: Vec<String> = expected.split('`').skip(1).step_by(2).map(|word| format!("\"{word}\"")).collect();
        let (last, others) = words.split_last()?;
        Some(if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) })
    }
}

/// A config with another value for one key.
fn with(config: &Table, table: &str, key: &str, value: Value) -> Table {
    let mut config = config.clone();
    if let Some(Value::Table(keys)) = config.get_mut(table) {
        keys.insert(key.to_owned(), value);
    }
    config
}

/// The word that is nearest to another, unless a third of its letters or more would have to change.
fn nearest<'b>(word: &str, words: impl Iterator<Item = &'b str>) -> Option<&'b str> {
    let near = words.map(|other| (edits(word, other), other)).min()?;
    (near.0 <= (word.chars().count() / 3).max(1)).then_some(near.1)
}

/// The letters to insert, remove or replace to make one word of another.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, left) in left.chars().enumerate() {
        let mut corner = std::mem::replace(&mut above[0], row + 1);
        for (column, &right) in right.iter().enumerate() {
            let replaced = corner + usize::from(left != right);
            corner = above[column + 1];
            above[column + 1] = replaced.min(corner + 1).min(above[column] + 1);
        }
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str, line: Option<usize>, reason: &str) {
        assert!(DEFAULT.contains(from), "{from}");
        let text = DEFAULT.replacen(from, to, 1);
        let error = toml::from_str::<Config>(&text).expect_err(to);
        assert_eq!(diagnose(&text, &error), Fault { line, reason: reason.to_owned() }, "{from} -> {to}");
    }

    fn line(of: &str) -> Option<usize> {
        Some(1 + DEFAULT[..DEFAULT.find(of).unwrap()].matches('\n').count())
    }

    #[test]
    fn every_fault_is_told_with_its_line_its_key_and_what_is_expected() {
        for (from, to, reason) in [
            ("clip = 20000 ", "clip = \"much\" ", "train.clip = \"much\": expected a whole number from 1 to 32767"),
            ("epochs = 12", "epochs = 1.5", "train.epochs = 1.5: expected a whole number from 1 to 100000"),
            ("seed = 1 ", "seed = true ", "run.seed = true: expected a whole number from 0"),
            ("games = 10000", "games = -9", "generate.games = -9: expected a whole number from 1 to 1099511627776"),
            ("games = 800", "games = \"a\"", "gate.games = \"a\": expected a whole number from 2 to 10000000"),
            ("blend = 0.2", "blend = \"x\"", "train.blend = \"x\": expected a number from 0 to 1"),
            ("shuffle = true", "shuffle = 1", "train.shuffle = 1: expected true or false"),
            (
                "target = \"blend\"",
                "target = \"resut\"",
                "train.target = \"resut\": expected \"result\", \"score\" or \"blend\"",
            ),
            ("rule = \"delta\"", "rule = 1", "train.rule = 1: expected \"delta\""),
            ("start = \"builtin", "start = 1 # \"builtin", "run.start = 1: expected a text in quotes"),
            (
                "mpc_level = 100        # 50-99",
                "mpc_level = 1000 # 50-99",
                "generate.mpc_level = 1000: expected a whole number from 50 to 99, or 100 (full width)",
            ),
            ("play_depth = 4", "play_dept = 4", "generate.play_dept: there is no such key\ndid you mean play_depth?"),
            (
                "window = 4",
                "epochs = 4\nwindow = 4",
                "run.epochs: there is no such key\ndid you mean train.epochs? it belongs in [train]",
            ),
            ("window = 4", "zzz = 4\nwindow = 4", "run.zzz: there is no such key"),
            ("[generate]", "[generation]", "[generation]: there is no such table\ndid you mean [generate]?"),
        ] {
            check(from, to, line(from), reason);
        }
    }

    #[test]
    fn what_is_missing_is_told_at_its_table_and_what_is_not_toml_in_plain_words() {
        check(
            "epochs =",
            "# epochs =",
            line("[train]"),
            "train.epochs is missing: expected a whole number from 1 to 100000",
        );
        let tables = &DEFAULT[DEFAULT.find("[gate]").unwrap()..];
        check(tables, "", None, "the table [gate] is missing");
        check("[gate]", "[train]", line("[gate]"), "the table [train] begins twice: expected once");
        check(
            "seed = 1 ",
            "seed = 1\nseed = 2 #",
            line("seed = 1").map(|line| line + 1),
            "run.seed is set twice: expected once",
        );
        let start = line("start = \"parent\"");
        check("start = \"parent\"", "start = parent", start, "train.start = parent: expected \"zero\" or \"parent\"");
        check("[gate]", "[gate", line("[gate]"), "it is not TOML: unclosed table, expected `]`");
    }

    #[test]
    fn the_range_of_a_key_follows_from_the_other_keys_of_the_text() {
        let text = DEFAULT.replace("empties_max = 60", "empties_max = 20").replacen(
            "empties_min = 0 ",
            "empties_min = \"a\"",
            1,
        );
        let error = toml::from_str::<Config>(&text).unwrap_err();
        let reason = "train.empties_min = \"a\": expected a whole number from 0 to 20";
        assert_eq!(diagnose(&text, &error).reason, reason);
    }

    #[test]
    fn edits_are_counted() {
        for (left, right, count) in [("", "abc", 3), ("games", "gamez", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((edits(left, right), edits(right, left)), (count, count), "{left} {right}");
        }
        assert_eq!(nearest("play_dept", ["label_depth", "play_depth"].into_iter()), Some("play_depth"));
        assert_eq!(nearest("colour", ["clip", "ratio"].into_iter()), None);
    }
}
