//! The shape of the source: dependencies point one way, and only the command line prints or reads the clock.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A module may name those of lower rank, and itself.
const RANKS: [(&str, u8); 13] = [
    ("engine", 0),
    ("random", 0),
    ("statistics", 1),
    ("artifact", 2),
    ("exchange", 3),
    ("pipeline", 3),
    ("curate", 4),
    ("config", 5),
    ("run", 6),
    ("cluster", 7),
    ("report", 7),
    ("play", 7),
    ("cli", 8),
];

/// What each part of the engine may name besides itself.
const ENGINE: [(&str, &[&str]); 5] = [
    ("score", &[]),
    ("board", &["score"]),
    ("eval", &["score", "board"]),
    ("search", &["score", "board", "eval"]),
    ("game", &["score", "board"]),
];

/// Stages meet on disk: none names another.
const STAGES: [&str; 5] = ["generate", "train", "fit_mpc", "gate", "promote"];

/// The engine plays Othello and knows nothing of these.
const ENGINE_STRANGERS: [&[&str]; 13] = [
    &["std", "fs"],
    &["std", "io"],
    &["std", "env"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time"],
    &["rand"],
    &["rand_chacha"],
    &["serde"],
    &["serde_json"],
    &["rayon"],
    &["crossbeam"],
];

/// What prints, or reads the clock.
const PRINTERS: [&[&str]; 6] = [
    &["std", "io", "stdout"],
    &["std", "io", "stderr"],
    &["std", "io", "stdin"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["rustix", "time"],
];

const PRINTING_MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];

const LINES_MAX: usize = 700;

const VAGUE_NAMES: [&str; 8] = ["util", "utils", "common", "misc", "helper", "helpers", "shared", "stuff"];

/// What one source file says, as far as the rules care.
#[derive(Debug, Default)]
struct Facts {
    /// Every path, from the crate's root or from a foreign crate, with the line it is on.
    paths: Vec<(usize, Origin, Vec<String>)>,
    macros: Vec<(usize, String)>,
    globs: Vec<usize>,
    public_uses: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Crate,
    Foreign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Colons,
    Mark(char),
}

impl Token {
    fn is(&self, text: &str) -> bool {
        matches!(self, Self::Word(word) if word == text)
    }
}

/// The words and marks of a Rust source with their lines; comments, texts and lifetimes are left out.
fn tokens(source: &str) -> Vec<(usize, Token)> {
    let characters: Vec<char> = source.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let (mut index, mut line) = (0, 1);
    while index < characters.len() {
        let begin = index;
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while index < characters.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            '/' if at(index + 1) == '*' => {
                let mut depth = 1;
                index += 2;
                while 0 < depth && index < characters.len() {
                    let step = match (at(index), at(index + 1)) {
                        ('/', '*') => (1, 2),
                        ('*', '/') => (-1, 2),
                        _ => (0, 1),
                    };
                    depth += step.0;
                    index += step.1;
                }
            }
            'r' if at(index + 1) == '"' || (at(index + 1) == '#' && matches!(at(index + 2), '"' | '#')) => {
                let hashes = characters[index + 1..].iter().take_while(|&&letter| letter == '#').count();
                index += hashes + 2;
                let closes = |index: usize| at(index) == '"' && (1..=hashes).all(|place| at(index + place) == '#');
                while index < characters.len() && !closes(index) {
                    index += 1;
                }
                index += hashes + 1;
            }
            '"' => {
                index += 1;
                while index < characters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
            }
            '\'' if at(index + 1) == '\\' => {
                index += 3;
                while index < characters.len() && at(index) != '\'' {
                    index += 1;
                }
                index += 1;
            }
            '\'' if at(index + 2) == '\'' => index += 3,
            '\'' => index += 1,
            ':' if at(index + 1) == ':' => {
                tokens.push((line, Token::Colons));
                index += 2;
            }
            letter if letter.is_alphabetic() || letter == '_' => {
                while at(index).is_alphanumeric() || at(index) == '_' {
                    index += 1;
                }
                tokens.push((line, Token::Word(characters[begin..index].iter().collect())));
            }
            letter if letter.is_ascii_digit() => {
                while at(index).is_alphanumeric() || at(index) == '_' {
                    index += 1;
                }
            }
            letter => {
                if !letter.is_whitespace() {
                    tokens.push((line, Token::Mark(letter)));
                }
                index += 1;
            }
        }
        line += characters[begin..index.min(characters.len())].iter().filter(|&&letter| letter == '\n').count();
    }
    tokens
}

/// Reads one file; `module` is its path from the crate's root.
struct Reader<'a> {
    tokens: &'a [(usize, Token)],
    index: usize,
    module: Vec<String>,
    /// The brace depth at which each module written inside the file ends.
    inner: Vec<usize>,
    imports: BTreeMap<String, (Origin, Vec<String>)>,
    /// The macros that the file defines.
    macros: Vec<String>,
    facts: Facts,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.index + ahead).map(|(_, token)| token)
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        match self.peek(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn line(&self) -> usize {
        self.tokens.get(self.index).map_or(0, |(line, _)| *line)
    }

    fn read(mut self) -> Facts {
        let mut depth = 0;
        while let Some(token) = self.peek(0).cloned() {
            match token {
                Token::Word(word) if word == "use" => self.read_use(),
                Token::Word(word) if word == "mod" && self.peek(2) == Some(&Token::Mark('{')) => {
                    let name = self.word(1).unwrap_or_default().to_owned();
                    self.module.push(name);
                    self.inner.push(depth);
                    depth += 1;
                    self.index += 3;
                }
                Token::Word(_) if self.peek(1) == Some(&Token::Colons) => self.read_path(),
                Token::Word(word) if self.peek(1) == Some(&Token::Mark('!')) => {
                    if word == "macro_rules" {
                        self.macros.extend(self.word(2).map(str::to_owned));
                    }
                    self.facts.macros.push((self.line(), word));
                    self.index += 1;
                }
                Token::Mark('{') => {
                    depth += 1;
                    self.index += 1;
                }
                Token::Mark('}') => {
                    depth = depth.saturating_sub(1);
                    if self.inner.last() == Some(&depth) {
                        self.inner.pop();
                        self.module.pop();
                    }
                    self.index += 1;
                }
                _ => self.index += 1,
            }
        }
        self.facts
    }

    fn read_use(&mut self) {
        let before = self.index.checked_sub(1).map(|index| &self.tokens[index].1);
        let public = before.is_some_and(|token| token.is("pub") || *token == Token::Mark(')'));
        let (line, known) = (self.line(), self.facts.paths.len());
        self.index += 1;
        self.read_use_tree(&[]);
        // A macro has no other way to be named by its path.
        let own_macro = |path: &[String]| path.len() == 1 && self.macros.contains(&path[0]);
        if public && !self.facts.paths[known..].iter().all(|(_, _, path)| own_macro(path)) {
            self.facts.public_uses.push(line);
        }
    }

    fn read_use_tree(&mut self, prefix: &[String]) {
        let line = self.line();
        let mut path = prefix.to_vec();
        loop {
            match self.peek(0).cloned() {
                Some(Token::Word(word)) => {
                    self.index += 1;
                    if word != "self" || path.is_empty() {
                        path.push(word);
                    }
                }
                Some(Token::Colons) => self.index += 1,
                Some(Token::Mark('*')) => {
                    self.index += 1;
                    let of_tests = self.module.last().is_some_and(|name| name == "tests");
                    if !(of_tests && path == ["super"]) {
                        self.facts.globs.push(line);
                    }
                    return self.import(line, path, None);
                }
                Some(Token::Mark('{')) => {
                    self.index += 1;
                    while !matches!(self.peek(0), None | Some(Token::Mark('}'))) {
                        self.read_use_tree(&path);
                        if self.peek(0) == Some(&Token::Mark(',')) {
                            self.index += 1;
                        }
                    }
                    self.index += 1;
                    return;
                }
                _ => break,
            }
            if self.peek(0).is_some_and(|token| token.is("as")) {
                let name = self.word(1).map(str::to_owned);
                self.index += 2;
                return self.import(line, path, name);
            }
        }
        let name = path.last().cloned();
        self.import(line, path, name);
    }

    fn import(&mut self, line: usize, path: Vec<String>, name: Option<String>) {
        let resolved = self.resolve(&path);
        if let Some(name) = name {
            self.imports.insert(name, resolved.clone());
        }
        self.facts.paths.push((line, resolved.0, resolved.1));
    }

    fn read_path(&mut self) {
        let line = self.line();
        let mut path = Vec::new();
        while let Some(word) = self.word(0).map(str::to_owned) {
            path.push(word);
            self.index += 1;
            if self.peek(0) != Some(&Token::Colons) {
                break;
            }
            self.index += 1;
        }
        let (origin, path) = self.resolve(&path);
        self.facts.paths.push((line, origin, path));
    }

    /// A path from the crate's root, or as it is written if it begins elsewhere.
    fn resolve(&self, path: &[String]) -> (Origin, Vec<String>) {
        let supers = path.iter().take_while(|word| *word == "super").count();
        match path.first().map(String::as_str) {
            Some("crate") => (Origin::Crate, path[1..].to_vec()),
            Some("super") => {
                let kept = self.module.len().saturating_sub(supers);
                (Origin::Crate, [&self.module[..kept], &path[supers..]].concat())
            }
            Some("self") => (Origin::Crate, [&self.module, &path[1..]].concat()),
            Some(first) => match self.imports.get(first) {
                Some((origin, import)) => (*origin, [import, &path[1..]].concat()),
                None => (Origin::Foreign, path.to_vec()),
            },
            None => (Origin::Foreign, Vec::new()),
        }
    }
}

/// Everything in which a file, named from `src/`, breaks a rule.
fn violations(name: &str, source: &str) -> Vec<String> {
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let module: Vec<String> = match stem {
        "lib" | "main" => Vec::new(),
        _ => stem.split('/').map(str::to_owned).collect(),
    };
    let tokens = tokens(source);
    let reader = Reader {
        tokens: &tokens,
        index: 0,
        module: module.clone(),
        inner: Vec::new(),
        imports: BTreeMap::new(),
        macros: Vec::new(),
        facts: Facts::default(),
    };
    let facts = reader.read();
    let mut found = Vec::new();
    let mut tell = |line: usize, what: String| found.push(format!("src/{name}:{line}: {what}"));
    if stem.split('/').any(|part| part == "mod" || VAGUE_NAMES.contains(&part)) {
        tell(1, "a file and its folder say what they hold".into());
    }
    let lines = source.lines().count();
    if LINES_MAX < lines {
        tell(lines, format!("the file is longer than {LINES_MAX} lines"));
    }
    if stem != "lib" {
        facts.public_uses.iter().for_each(|&line| tell(line, "only lib.rs re-exports".into()));
    }
    facts.globs.iter().for_each(|&line| tell(line, "names are imported one by one".into()));
    let Some(own) = module.first() else { return found };
    let rank = |name: &str| RANKS.iter().find(|(other, _)| *other == name).map(|(_, rank)| *rank);
    let Some(own_rank) = rank(own) else {
        tell(1, format!("`{own}` has no place in the order of modules"));
        return found;
    };
    let talks = own == "cli" || own == "play";
    for (line, name) in &facts.macros {
        if !talks && PRINTING_MACROS.contains(&name.as_str()) {
            tell(*line, format!("only cli and play print, not {name}!"));
        }
    }
    for (line, origin, path) in &facts.paths {
        let text = path.join("::");
        let begins = |with: &&[&str]| path.iter().map(String::as_str).take(with.len()).eq(with.iter().copied());
        if *origin == Origin::Foreign {
            if own == "engine" && ENGINE_STRANGERS.iter().any(&begins) {
                tell(*line, format!("the engine knows no {text}"));
            }
            if !talks && PRINTERS.iter().any(begins) {
                tell(*line, format!("only cli and play print or read the clock, not {text}"));
            }
            continue;
        }
        let Some(other) = path.first() else { continue };
        let lower = rank(other).is_some_and(|rank| rank < own_rank);
        if other != own && !lower {
            tell(*line, format!("{own} may not name {text}"));
        }
        let (Some(own_part), Some(part)) = (module.get(1), path.get(1)) else { continue };
        if own == "engine" && other == "engine" && own_part != part {
            let allowed = ENGINE.iter().find(|(name, _)| name == own_part).map_or(&[][..], |(_, allowed)| allowed);
            if !allowed.contains(&part.as_str()) {
                tell(*line, format!("engine::{own_part} may not name {text}"));
            }
        }
        let stage = |name: &String| STAGES.contains(&name.as_str());
        if own == "pipeline" && other == "pipeline" && own_part != part && stage(own_part) && stage(part) {
            tell(*line, format!("stage {own_part} may not name stage {part}: they meet on disk"));
        }
    }
    found
}

fn source_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn the_source_keeps_every_rule_of_its_shape() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&root, &mut files);
    files.sort();
    assert!(40 < files.len(), "only {} files found", files.len());
    let found: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            violations(&name, &std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn check(name: &str, source: &str, expected: Option<&str>) {
    let found = violations(name, source);
    match expected {
        Some(expected) => {
            assert!(found.iter().any(|violation| violation.contains(expected)), "{name}: {source}: {found:?}");
        }
        None => assert!(found.is_empty(), "{name}: {source}: {found:?}"),
    }
}

#[test]
fn a_dependency_against_the_order_is_noticed_however_it_is_written() {
    for (name, source, expected) in [
        ("engine/game.rs", "use crate::artifact::hash::ContentHash;", "engine may not name artifact"),
        ("engine/game.rs", "fn f() { crate::random::stream(1); }", "engine may not name random"),
        ("artifact/step.rs", "use crate::pipeline::StageError;", "artifact may not name pipeline"),
        ("artifact/model/version.rs", "use super::super::super::config::Config;", "artifact may not name config"),
        ("artifact/step.rs", "use crate::{engine, exchange::obf};", "artifact may not name exchange::obf"),
        ("exchange/obf.rs", "use crate::pipeline::Context;", "exchange may not name pipeline"),
        ("pipeline/train.rs", "use crate::cli;", "pipeline may not name cli"),
        ("pipeline/train.rs", "use crate::curate::merge;", "pipeline may not name curate"),
        ("curate/import.rs", "use crate::config::Config;", "curate may not name config"),
        ("config.rs", "type A = crate::cli::arguments::Common;", "config may not name cli"),
        ("report.rs", "use crate::play::gtp::Gtp;", "report may not name play"),
        ("random.rs", "use super::engine::board::Square;", "random may not name engine"),
        ("elsewhere.rs", "fn f() {}", "no place in the order"),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn a_wrong_turn_inside_the_engine_is_noticed() {
    for (name, source, expected) in [
        ("engine/board/position.rs", "use crate::engine::eval::evaluation::Evaluation;", "engine::board may not name"),
        ("engine/eval/features.rs", "use super::super::search::limits::Limits;", "engine::eval may not name"),
        ("engine/game.rs", "use super::eval::evaluation::Evaluation;", "engine::game may not name"),
        ("engine/search/searcher.rs", "use crate::engine::game::Game;", "engine::search may not name"),
        ("engine/board.rs", "use std::{fmt, fs::File};", "the engine knows no std::fs"),
        ("engine/search.rs", "fn f() { std::thread::yield_now(); }", "the engine knows no std::thread"),
        ("engine/search.rs", "use std::time::Duration;", "the engine knows no std::time"),
        ("engine/eval.rs", "use rayon::prelude::ParallelIterator;", "the engine knows no rayon"),
        ("engine/eval.rs", "#[derive(serde::Serialize)] struct A;", "the engine knows no serde"),
        ("engine/eval.rs", "use rand_chacha::ChaCha8Rng;", "the engine knows no rand_chacha"),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn a_stage_that_names_another_is_noticed() {
    for (name, source) in [
        ("pipeline/promote.rs", "use super::gate::Verdict;"),
        ("pipeline/gate/play.rs", "use crate::pipeline::train::fit;"),
        ("pipeline/gate/play.rs", "use super::super::train::fit;"),
        ("pipeline/gate.rs", "use crate::pipeline; fn f() { pipeline::train::fit(); }"),
        ("pipeline/gate.rs", "use crate::pipeline as p; fn f() { p::train::fit(); }"),
        ("pipeline/gate.rs", "mod tests { use super::super::generate::generate; }"),
    ] {
        check(name, source, Some("they meet on disk"));
    }
}

#[test]
fn printing_clocks_globs_and_vague_names_are_noticed() {
    let long = "\n".repeat(LINES_MAX + 1);
    for (name, source, expected) in [
        ("pipeline/train.rs", "fn f() { println!(\"x\"); }", "not println!"),
        ("artifact/publish.rs", "use std::io::{self, Write}; fn f() { io::stderr(); }", "not std::io::stderr"),
        ("pipeline.rs", "use std::time::{Duration, Instant};", "not std::time::Instant"),
        ("pipeline.rs", "use super::engine::*;", "one by one"),
        ("pipeline.rs", "mod tests { use crate::engine::*; }", "one by one"),
        ("pipeline/train.rs", "pub use rows::Row;", "only lib.rs re-exports"),
        ("pipeline/train.rs", "pub(crate) use rows::Row;", "only lib.rs re-exports"),
        ("pipeline/mod.rs", "", "say what they hold"),
        ("cli/util.rs", "", "say what they hold"),
        ("cli/common/table.rs", "", "say what they hold"),
        ("cli/table.rs", long.as_str(), "longer than"),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn what_the_rules_allow_passes() {
    for (name, source) in [
        ("lib.rs", "pub mod cli; pub use engine::game::Game;"),
        ("engine/search.rs", "use crate::engine::eval::evaluation::Evaluation; use super::board::square::Square;"),
        ("engine/game.rs", "mod tests { use super::*; use crate::engine::board::notation::parse_moves; }"),
        ("engine/game.rs", "// use std::fs;\n/* crate::cli /* std::time */ */ const A: &str = \"std::fs::read\";"),
        ("engine/game.rs", "const A: &str = r#\"use \"crate::cli\" \"#; fn f<'a>(a: &'a str, b: char) { b == '\"'; }"),
        ("pipeline/gate.rs", "use super::{Context, StageError}; use crate::artifact::lock::FolderLock;"),
        ("pipeline/train/rows.rs", "use super::TrainConfig; use crate::pipeline::Context;"),
        ("engine/board.rs", "macro_rules! kernel { () => {}; } pub(in crate::engine) use {kernel};"),
        ("pipeline.rs", "pub mod gate; fn f() { gate::gate(); } use std::time::Duration;"),
        ("cli/progress.rs", "use std::time::Instant; fn f() { eprintln!(\"x\"); }"),
        ("config.rs", "use crate::pipeline::gate::GateConfig; mod tests { use super::*; } fn g() { self::f(); }"),
    ] {
        check(name, source, None);
    }
}
