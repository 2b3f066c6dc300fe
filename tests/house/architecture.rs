//! The shape of the source: dependencies point one way and never in a circle, and only what talks
//! to people prints or reads the clock.

use proc_macro2::{Span, TokenStream, TokenTree};
use renma::pipeline::stage::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{
    Visit, visit_attribute, visit_item_mod, visit_macro, visit_path, visit_signature,
};
use syn::{
    Attribute, FnArg, Item, ItemMod, ItemUse, Macro, Meta, Pat, Signature, UseTree, VisRestricted,
    Visibility,
};

/// A module may name those of lower rank, and itself.
const RANKS: [(&str, u8); 18] = [
    ("engine", 0),
    ("random", 0),
    ("exit_code", 0),
    ("watcher", 0),
    ("generation", 0),
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
    ("learning_loop", 8),
    ("serve", 8),
    ("cli", 9),
];

/// What each part of the engine may name besides itself.
const ENGINE: [(&str, &[&str]); 6] = [
    ("score", &[]),
    ("board", &["score"]),
    ("pages", &[]),
    ("eval", &["score", "board", "pages"]),
    ("search", &["score", "board", "pages", "eval"]),
    ("game", &["score", "board"]),
];

/// What a stage is asked for and what it reports: data, which names no worker.
const STAGE_DATA: [(&str, &str); 2] = [("task", ""), ("metrics", "fit_mpc")];

/// The file with the one list of the stages, above all of them.
const STAGE_LIST: &str = "stages";

/// What knows a stage from above: it alone names the file that makes all of it.
const STAGE_DOOR: &str = "work";

/// Who prints and reads the clock.
const TALKERS: [&str; 3] = ["cli", "play", "serve"];

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

/// The folders whose nouns all others use; inside of them nothing is re-exported.
const RE_EXPORTERS: [&str; 3] = ["lib.rs", "engine.rs", "artifact.rs"];

const VAGUE_NAMES: [&str; 8] = [
    "util", "utils", "common", "misc", "helper", "helpers", "shared", "stuff",
];

/// What one source file says, as far as the rules care.
#[derive(Debug, Default)]
struct Facts {
    paths: Vec<Named>,
    macros: Vec<(usize, String)>,
    globs: Vec<usize>,
    public_uses: Vec<usize>,
    /// Parameters that take a tuple or an array apart.
    unpacked_parameters: Vec<usize>,
}

/// A path that a source file names.
#[derive(Clone, Debug)]
struct Named {
    line: usize,
    in_tests: bool,
    place: Place,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// From the crate's root.
    Crate(Vec<String>),
    /// To another crate, or to something that the file itself defines.
    Foreign(Vec<String>),
}

impl Place {
    fn join(&self, rest: &[String]) -> Self {
        match self {
            Self::Crate(path) => Self::Crate([path, rest].concat()),
            Self::Foreign(path) => Self::Foreign([path, rest].concat()),
        }
    }

    fn text(&self) -> String {
        let (Self::Crate(path) | Self::Foreign(path)) = self;
        path.join("::")
    }
}

/// One module of a file: the file's own, or one written inside it.
#[derive(Debug, Default)]
struct Scope {
    module: Vec<String>,
    imports: BTreeMap<String, Place>,
    macros: BTreeSet<String>,
    in_tests: bool,
}

/// Reads a file; its scopes are the file's module and those around the place that is being read.
struct Reader {
    scopes: Vec<Scope>,
    facts: Facts,
}

fn line(span: Span) -> usize {
    span.start().line
}

impl Reader {
    fn read(module: Vec<String>, file: &syn::File) -> Facts {
        let mut reader = Self {
            scopes: Vec::new(),
            facts: Facts::default(),
        };
        reader.scopes.push(scope(module, &file.items, false));
        reader.visit_file(file);
        reader.facts
    }

    fn scope(&self) -> &Scope {
        self.scopes.last().unwrap()
    }

    fn name(&mut self, line: usize, place: Place) {
        let in_tests = self.scope().in_tests;
        self.facts.paths.push(Named {
            line,
            in_tests,
            place,
        });
    }

    /// A path of two or more words; one word alone names an import, which was seen.
    fn name_path(&mut self, line: usize, path: &[String]) {
        if 1 < path.len() {
            let place = self.resolve(path);
            self.name(line, place);
        }
    }

    fn resolve(&self, path: &[String]) -> Place {
        let found = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.imports.get(&path[0]));
        match found {
            Some(import) => import.join(&path[1..]),
            None => from_root(&self.scope().module, path),
        }
    }

    fn read_use_tree(&mut self, mut path: Vec<String>, tree: &UseTree) {
        let (name, known_as) = match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                return self.read_use_tree(path, &tree.tree);
            }
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.read_use_tree(path.clone(), tree));
            }
            UseTree::Glob(glob) => {
                if !(self.scope().in_tests && path == ["super"]) {
                    self.facts.globs.push(line(glob.star_token.spans[0]));
                }
                let place = self.resolve(&path);
                return self.name(line(glob.star_token.spans[0]), place);
            }
            UseTree::Name(tree) => (&tree.ident, &tree.ident),
            UseTree::Rename(tree) => (&tree.ident, &tree.rename),
        };
        if name != "self" {
            path.push(name.to_string());
        }
        let place = self.resolve(&path);
        self.name(line(name.span()), place.clone());
        let known_as = if known_as == "self" {
            path.pop().unwrap()
        } else {
            known_as.to_string()
        };
        self.scopes
            .last_mut()
            .unwrap()
            .imports
            .insert(known_as, place);
    }

    /// The paths among tokens that no rule of the grammar has read, as in the arguments of a macro.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons, mut begin) = (Vec::new(), 0, 0);
        for token in tokens {
            match &token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.name_path(begin, &std::mem::take(&mut path));
                        begin = line(word.span());
                    }
                    path.push(word.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == '!' && !path.is_empty() => {
                    self.facts
                        .macros
                        .push((line(mark.span()), path.pop().unwrap()));
                }
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.name_path(begin, &std::mem::take(&mut path));
            colons = 0;
        }
        self.name_path(begin, &path);
    }
}

/// The module of some items: what it imports is known wherever in it a path stands.
fn scope(module: Vec<String>, items: &[Item], in_tests: bool) -> Scope {
    let mut scope = Scope {
        in_tests,
        ..Scope::default()
    };
    for item in items {
        match item {
            Item::Mod(item) => {
                let child = [&module[..], &[item.ident.to_string()]].concat();
                scope
                    .imports
                    .insert(item.ident.to_string(), Place::Crate(child));
            }
            Item::Macro(item) => scope
                .macros
                .extend(item.ident.as_ref().map(ToString::to_string)),
            _ => {}
        }
    }
    scope.module = module;
    let mut reader = Reader {
        scopes: vec![scope],
        facts: Facts::default(),
    };
    for item in items {
        if let Item::Use(item) = item {
            reader.read_use_tree(Vec::new(), &item.tree);
        }
    }
    reader.scopes.pop().unwrap()
}

/// A path from the crate's root, or as it is written if it begins elsewhere.
fn from_root(module: &[String], path: &[String]) -> Place {
    let supers = path.iter().take_while(|word| *word == "super").count();
    match path[0].as_str() {
        "crate" | "$crate" => Place::Crate(path[1..].to_vec()),
        "super" => Place::Crate(
            [
                &module[..module.len().saturating_sub(supers)],
                &path[supers..],
            ]
            .concat(),
        ),
        "self" => Place::Crate([module, &path[1..]].concat()),
        _ => Place::Foreign(path.to_vec()),
    }
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    matches!(&attribute.meta, Meta::List(list) if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let known = self.facts.paths.len();
        self.read_use_tree(Vec::new(), &item.tree);
        let is_public = !matches!(item.vis, Visibility::Inherited);
        let own_macro = |named: &Named| self.scope().macros.contains(&named.place.text());
        // A macro has no other way to be named by its path.
        if is_public && !self.facts.paths[known..].iter().all(own_macro) {
            self.facts.public_uses.push(line(item.use_token.span));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((_, items)) = &item.content else {
            return;
        };
        let outer = self.scope();
        let module = [&outer.module[..], &[item.ident.to_string()]].concat();
        let in_tests =
            outer.in_tests || item.ident == "tests" || item.attrs.iter().any(is_cfg_test);
        self.scopes.push(scope(module, items, in_tests));
        visit_item_mod(self, item);
        self.scopes.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.name_path(line(path.segments[0].ident.span()), &words);
        visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        let name = &item.path.segments.last().unwrap().ident;
        self.facts
            .macros
            .push((line(name.span()), name.to_string()));
        self.read_tokens(item.tokens.clone());
        visit_macro(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.read_tokens(list.tokens.clone());
        }
        visit_attribute(self, attribute);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        for parameter in &signature.inputs {
            let FnArg::Typed(typed) = parameter else {
                continue;
            };
            let pattern = if let Pat::Reference(reference) = &*typed.pat {
                &*reference.pat
            } else {
                &*typed.pat
            };
            if matches!(pattern, Pat::Tuple(_) | Pat::Slice(_)) {
                self.facts
                    .unpacked_parameters
                    .push(line(signature.ident.span()));
            }
        }
        visit_signature(self, signature);
    }

    /// Who may see an item is not a use of it.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

/// A source file, named from `src/`.
struct Source {
    name: String,
    module: Vec<String>,
    lines: usize,
    facts: Facts,
}

impl Source {
    fn new(name: &str, text: &str) -> Self {
        let module = module_of(name);
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let facts = Reader::read(module.clone(), &file);
        Self {
            name: name.to_owned(),
            module,
            lines: text
                .lines()
                .take_while(|line| *line != "#[cfg(test)]")
                .count(),
            facts,
        }
    }

    /// Everything in which the file alone breaks a rule.
    fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut tell =
            |line: usize, what: String| found.push(format!("src/{}:{line}: {what}", self.name));
        if self
            .module
            .iter()
            .any(|part| part == "mod" || VAGUE_NAMES.contains(&part.as_str()))
        {
            tell(1, "a file and its folder say what they hold".into());
        }
        if LINES_MAX < self.lines {
            tell(
                self.lines,
                format!("the file is longer than {LINES_MAX} lines"),
            );
        }
        if !RE_EXPORTERS.contains(&self.name.as_str()) {
            let told = format!("only {} re-export", RE_EXPORTERS.join(", "));
            self.facts
                .public_uses
                .iter()
                .for_each(|&line| tell(line, told.clone()));
        }
        self.facts
            .globs
            .iter()
            .for_each(|&line| tell(line, "names are imported one by one".into()));
        let unpacked = "a parameter that takes a tuple or an array apart has no name at the call";
        self.facts
            .unpacked_parameters
            .iter()
            .for_each(|&line| tell(line, unpacked.into()));
        let Some(own) = self.module.first() else {
            return found;
        };
        if rank(own).is_none() {
            tell(1, format!("`{own}` has no place in the order of modules"));
            return found;
        }
        let talks = TALKERS.contains(&own.as_str());
        for (line, name) in &self.facts.macros {
            if !talks && PRINTING_MACROS.contains(&name.as_str()) {
                tell(
                    *line,
                    format!("only cli, play and serve print, not {name}!"),
                );
            }
        }
        for named in &self.facts.paths {
            let what = match &named.place {
                Place::Foreign(path) => foreign_violation(own, talks, path),
                Place::Crate(path) => order_violation(&self.module, path),
            };
            what.into_iter().for_each(|what| tell(named.line, what));
        }
        found
    }
}

/// The module of a file, from the crate's root.
fn module_of(name: &str) -> Vec<String> {
    match name.strip_suffix(".rs").unwrap() {
        "lib" | "main" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

fn rank(name: &str) -> Option<u8> {
    RANKS
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, rank)| *rank)
}

fn foreign_violation(own: &str, talks: bool, path: &[String]) -> Option<String> {
    let text = path.join("::");
    let begins = |with: &&[&str]| {
        path.iter()
            .map(String::as_str)
            .take(with.len())
            .eq(with.iter().copied())
    };
    if own == "engine" && ENGINE_STRANGERS.iter().any(&begins) {
        return Some(format!("the engine knows no {text}"));
    }
    let prints = !talks && PRINTERS.iter().any(begins);
    prints.then(|| format!("only cli, play and serve print or read the clock, not {text}"))
}

/// Whether a part of the pipeline is a stage: those of the one list, and promotion, which has a
/// file of its own.
fn is_stage(part: &str) -> bool {
    part == "promote"
        || Stage::ALL
            .iter()
            .any(|stage| stage.facts().config_table == part)
}

/// How the module `own` may not name the path `other`.
fn order_violation(own: &[String], other: &[String]) -> Option<String> {
    let text = other.join("::");
    let root = other.first()?;
    if *root != own[0] {
        let is_lower =
            rank(root).is_some_and(|rank_of_other| rank_of_other < rank(&own[0]).unwrap());
        return (!is_lower).then(|| format!("{} may not name {text}", own[0]));
    }
    let (own_part, part) = (own.get(1)?.as_str(), other.get(1)?.as_str());
    if own[0] == "engine" && own_part != part {
        let allowed = ENGINE
            .iter()
            .find(|(name, _)| *name == own_part)
            .map_or(&[][..], |(_, allowed)| allowed);
        return (!allowed.contains(&part))
            .then(|| format!("engine::{own_part} may not name {text}"));
    }
    if own[0] != "pipeline" {
        return None;
    }
    if own_part != part {
        return match (is_stage(own_part), is_stage(part)) {
            (true, true) => Some(format!(
                "stage {own_part} may not name stage {part}: they meet on disk"
            )),
            (true, false) => (part == STAGE_LIST)
                .then(|| format!("stage {own_part} may not name the list of stages")),
            (false, true) => (own_part != STAGE_LIST)
                .then(|| format!("{own_part} may not name stage {part}: it is above")),
            (false, false) => None,
        };
    }
    if !is_stage(own_part) {
        return None;
    }
    let (own_file, file) = (own.get(2)?.as_str(), other.get(2)?.as_str());
    let is_data = |file: &str| {
        STAGE_DATA
            .iter()
            .any(|(data, of)| *data == file && (of.is_empty() || *of == part))
    };
    match file {
        _ if own_file == file => None,
        "run" if own_file != STAGE_DOOR => Some(format!(
            "nothing inside stage {part} may name its run: {text}"
        )),
        _ => (is_data(own_file) && !is_data(file))
            .then(|| format!("{own_file} of stage {part} is data and may not name {text}")),
    }
}

/// The circles among files, each as the files on the way. Tests are left out, and so is what a file
/// in a folder takes from the folder's own file: the two are one subject, and only the way down can
/// close a circle.
fn circles(sources: &[Source]) -> Vec<String> {
    let files: BTreeMap<&[String], &str> = sources
        .iter()
        .map(|source| (&source.module[..], source.name.as_str()))
        .filter(|(module, _)| !module.is_empty())
        .collect();
    // A path leads to the file of the longest module in it.
    let file_of = |path: &[String]| {
        (1..=path.len())
            .rev()
            .find_map(|length| files.get(&path[..length]).copied())
    };
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let named = source.facts.paths.iter().filter(|named| !named.in_tests);
        let used = named.filter_map(|named| match &named.place {
            Place::Crate(path) => file_of(path),
            Place::Foreign(_) => None,
        });
        let is_above = |used: &str| source.module.starts_with(&module_of(used));
        uses.insert(&source.name, used.filter(|used| !is_above(used)).collect());
    }
    let mut found = Vec::new();
    loop {
        // What uses nothing that is left is in no circle.
        while let Some(name) = uses
            .iter()
            .find(|(_, used)| used.iter().all(|used| !uses.contains_key(used)))
            .map(|(name, _)| *name)
        {
            uses.remove(name);
        }
        let Some(mut name) = uses.keys().next().copied() else {
            return found;
        };
        let mut way = Vec::new();
        while !way.contains(&name) {
            way.push(name);
            name = uses[name]
                .iter()
                .find(|used| uses.contains_key(*used))
                .unwrap();
        }
        let circle = &way[way.iter().position(|other| *other == name).unwrap()..];
        found.push(format!("a circle: {} -> {name}", circle.join(" -> ")));
        circle.iter().for_each(|name| drop(uses.remove(name)));
    }
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
    let sources: Vec<Source> = files
        .iter()
        .map(|path| {
            let name = path
                .strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            Source::new(&name, &std::fs::read_to_string(path).unwrap())
        })
        .collect();
    let found: Vec<String> = sources
        .iter()
        .flat_map(Source::violations)
        .chain(circles(&sources))
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn check(name: &str, source: &str, expected: Option<&str>) {
    let found = Source::new(name, source).violations();
    match expected {
        Some(expected) => {
            assert!(
                found.iter().any(|violation| violation.contains(expected)),
                "{name}: {source}: {found:?}"
            );
        }
        None => assert!(found.is_empty(), "{name}: {source}: {found:?}"),
    }
}

#[test]
fn a_dependency_against_the_order_is_noticed_however_it_is_written() {
    for (name, source, expected) in [
        (
            "engine/game.rs",
            "use crate::artifact::hash::ContentHash;",
            "engine may not name artifact",
        ),
        (
            "engine/game.rs",
            "fn f() { crate::random::stream(1); }",
            "engine may not name random",
        ),
        (
            "artifact/step.rs",
            "use crate::pipeline::StageError;",
            "artifact may not name pipeline",
        ),
        (
            "artifact/model/version.rs",
            "use super::super::super::config::Config;",
            "artifact may not name config",
        ),
        (
            "artifact/step.rs",
            "use crate::{engine, exchange::obf};",
            "artifact may not name exchange::obf",
        ),
        (
            "exchange/obf.rs",
            "use crate::pipeline::Context;",
            "exchange may not name pipeline",
        ),
        (
            "pipeline/train.rs",
            "use crate::cli;",
            "pipeline may not name cli",
        ),
        (
            "pipeline/train.rs",
            "use crate::curate::verify;",
            "pipeline may not name curate",
        ),
        (
            "curate/import.rs",
            "use crate::config::Config;",
            "curate may not name config",
        ),
        (
            "config.rs",
            "type A = crate::cli::arguments::Common;",
            "config may not name cli",
        ),
        (
            "report.rs",
            "use crate::play::gtp::Gtp;",
            "report may not name play",
        ),
        (
            "random.rs",
            "use super::engine::board::Square;",
            "random may not name engine",
        ),
        ("elsewhere.rs", "fn f() {}", "no place in the order"),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn a_wrong_turn_inside_the_engine_is_noticed() {
    for (name, source, expected) in [
        (
            "engine/board/position.rs",
            "use crate::engine::eval::evaluation::Evaluation;",
            "engine::board may not name",
        ),
        (
            "engine/eval/features.rs",
            "use super::super::search::limits::Limits;",
            "engine::eval may not name",
        ),
        (
            "engine/game.rs",
            "use super::eval::evaluation::Evaluation;",
            "engine::game may not name",
        ),
        (
            "engine/search/searcher.rs",
            "use crate::engine::game::Game;",
            "engine::search may not name",
        ),
        (
            "engine/board.rs",
            "use std::{fmt, fs::File};",
            "the engine knows no std::fs",
        ),
        (
            "engine/search.rs",
            "fn f() { std::thread::yield_now(); }",
            "the engine knows no std::thread",
        ),
        (
            "engine/search.rs",
            "use std::time::Duration;",
            "the engine knows no std::time",
        ),
        (
            "engine/eval.rs",
            "use rayon::prelude::ParallelIterator;",
            "the engine knows no rayon",
        ),
        (
            "engine/eval.rs",
            "#[derive(serde::Serialize)] struct A;",
            "the engine knows no serde",
        ),
        (
            "engine/eval.rs",
            "use rand_chacha::ChaCha8Rng;",
            "the engine knows no rand_chacha",
        ),
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
        (
            "pipeline/gate.rs",
            "use crate::pipeline; fn f() { pipeline::train::fit(); }",
        ),
        (
            "pipeline/gate.rs",
            "use crate::pipeline as p; fn f() { p::train::fit(); }",
        ),
        (
            "pipeline/gate.rs",
            "mod tests { use super::super::generate::generate; }",
        ),
    ] {
        check(name, source, Some("they meet on disk"));
    }
    check(
        "pipeline/parts.rs",
        "use super::gate::task::GateTask;",
        Some("it is above"),
    );
    check(
        "pipeline/gate/play.rs",
        "fn f() { crate::pipeline::stages::all(); }",
        Some("may not name the list"),
    );
    check(
        "pipeline/stages.rs",
        "use super::gate::task::GateTask;",
        None,
    );
}

#[test]
fn a_wrong_turn_inside_a_stage_is_noticed() {
    for (name, source, expected) in [
        (
            "pipeline/gate/play.rs",
            "use super::run::gate;",
            "may name its run",
        ),
        (
            "pipeline/gate/task.rs",
            "fn f() { crate::pipeline::gate::run::gate(); }",
            "may name its run",
        ),
        (
            "pipeline/train/rows/labels.rs",
            "use super::super::run::fit;",
            "may name its run",
        ),
        (
            "pipeline/gate/task.rs",
            "use super::play::play;",
            "task of stage gate is data",
        ),
        (
            "pipeline/fit_mpc/metrics.rs",
            "use super::sample::Sample;",
            "metrics of stage fit_mpc is data",
        ),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn a_circle_among_files_is_noticed() {
    let check = |files: &[(&str, &str)], expected: Option<&str>| {
        let sources: Vec<Source> = files
            .iter()
            .map(|(name, text)| Source::new(name, text))
            .collect();
        let found = circles(&sources);
        assert_eq!(
            found.first().map(String::as_str),
            expected,
            "{files:?}: {found:?}"
        );
    };
    let two = Some("a circle: run/gc.rs -> run/log.rs -> run/gc.rs");
    check(
        &[
            ("run/gc.rs", "use super::log::Call;"),
            ("run/log.rs", "fn f() { crate::run::gc::plan(); }"),
        ],
        two,
    );
    check(
        &[
            ("run/gc.rs", "use super::log::Call;"),
            ("run/log.rs", "fn f() { vec![super::gc::plan()]; }"),
        ],
        two,
    );
    let three = Some("a circle: run/a.rs -> run/b.rs -> run/b/c.rs -> run/a.rs");
    check(
        &[
            ("run/a.rs", "use super::b::B;"),
            ("run/b.rs", "mod c; use c::C;"),
            ("run/b/c.rs", "use super::super::a::A;"),
        ],
        three,
    );
    // Tests and what lies above close no circle.
    check(
        &[
            ("run/a.rs", "use super::b::B;"),
            ("run/b.rs", "#[cfg(test)] mod t { use super::super::a::A; }"),
        ],
        None,
    );
    check(
        &[
            ("run.rs", "mod a; fn f() { a::f(); }"),
            ("run/a.rs", "use super::Run;"),
        ],
        None,
    );
}

#[test]
fn printing_clocks_globs_and_vague_names_are_noticed() {
    let long = "\n".repeat(LINES_MAX + 1);
    for (name, source, expected) in [
        (
            "pipeline/train.rs",
            "fn f() { println!(\"x\"); }",
            "not println!",
        ),
        (
            "pipeline/train.rs",
            "fn f() { assert!({ eprintln!(\"x\"); true }); }",
            "not eprintln!",
        ),
        (
            "pipeline/train.rs",
            "fn f() { vec![std::time::Instant::now()]; }",
            "not std::time::Instant",
        ),
        (
            "artifact/publish.rs",
            "use std::io::{self, Write}; fn f() { io::stderr(); }",
            "not std::io::stderr",
        ),
        (
            "pipeline.rs",
            "use std::time::{Duration, Instant};",
            "not std::time::Instant",
        ),
        ("pipeline.rs", "use super::engine::*;", "one by one"),
        (
            "pipeline.rs",
            "mod tests { use crate::engine::*; }",
            "one by one",
        ),
        (
            "pipeline/train.rs",
            "pub use rows::Row;",
            "artifact.rs re-export",
        ),
        (
            "pipeline/train.rs",
            "pub(crate) use rows::Row;",
            "artifact.rs re-export",
        ),
        ("pipeline/mod.rs", "", "say what they hold"),
        ("cli/util.rs", "", "say what they hold"),
        ("cli/common/table.rs", "", "say what they hold"),
        ("cli/table.rs", long.as_str(), "longer than"),
    ] {
        check(name, source, Some(expected));
    }
}

#[test]
fn parameters_that_take_a_value_apart_are_noticed() {
    for source in [
        "fn f((a, b): (u8, u8)) {}",
        "impl A { fn f(&self, [a, b]: [u8; 2]) {} }",
        "fn f(&(a, b): &(u8, u8)) {}",
    ] {
        check("run/gc.rs", source, Some("has no name at the call"));
    }
    check(
        "run/gc.rs",
        "fn f(pair: (u8, u8)) { let (a, b) = pair; x(|(a, b)| a + b); }",
        None,
    );
}

#[test]
fn what_the_rules_allow_passes() {
    for (name, source) in [
        ("lib.rs", "pub mod cli; pub use engine::game::Game;"),
        (
            "engine/search.rs",
            "use crate::engine::eval::evaluation::Evaluation; use super::board::square::Square;",
        ),
        (
            "engine/game.rs",
            "mod tests { use super::*; use crate::engine::board::notation::parse_moves; }",
        ),
        (
            "engine/game.rs",
            "// use std::fs;\n/* crate::cli /* std::time */ */ const A: &str = \"std::fs::read\";",
        ),
        (
            "engine/game.rs",
            "const A: &str = r#\"use \"crate::cli\" \"#; fn f<'a>(a: &'a str, b: char) { b == '\"'; }",
        ),
        (
            "pipeline/gate.rs",
            "use super::{Context, StageError}; use crate::artifact::lock::FolderLock;",
        ),
        (
            "pipeline/train/rows.rs",
            "use super::TrainConfig; use crate::pipeline::Context;",
        ),
        (
            "engine/board.rs",
            "macro_rules! kernel { () => {}; } pub(in crate::engine) use {kernel};",
        ),
        (
            "pipeline.rs",
            "pub mod gate; fn f() { gate::gate(); } use std::time::Duration;",
        ),
        (
            "cli/progress.rs",
            "use std::time::Instant; fn f() { eprintln!(\"x\"); }",
        ),
        (
            "pipeline/gate/play.rs",
            "use super::task::GateTask; use super::decider::Decider;",
        ),
        (
            "pipeline/gate/task.rs",
            "use super::task::GateConfig; use crate::pipeline::StageError;",
        ),
        (
            "play/analysis.rs",
            "use std::time::Instant; use crate::pipeline::Context;",
        ),
        (
            "config.rs",
            "use crate::pipeline::gate::GateConfig; mod tests { use super::*; } fn g() { self::f(); }",
        ),
    ] {
        check(name, source, None);
    }
}
