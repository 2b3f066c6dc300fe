//! Every parser with changed inputs, by seed: it never panics, takes more than ten seconds or a
//! gigabyte, or is refused with another exit code than 2 and 65.
//!
//! `RENMA_FUZZ_SECONDS=3600 cargo test --release --test twins fuzz:: -- --ignored --nocapture`
//! gives each parser an hour; RENMA_FUZZ_PARSER, RENMA_FUZZ_SEED and RENMA_FUZZ_FIRST choose the
//! parser, the seed and the first input. `tests/fuzz` has the same parsers for cargo-fuzz.
#![allow(clippy::print_stdout, reason = "a long test says what it tries")]

#[path = "../fuzz/mutate.rs"]
mod mutate;
#[path = "../fuzz/parsers.rs"]
mod parsers;

use mutate::{Random, mutated};
use parsers::{PARSERS, Parser};
use std::alloc::{GlobalAlloc, Layout, System};
use std::env::var;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TIME_MAX: Duration = Duration::from_secs(10);
const MEMORY_MAX: usize = 1 << 30;

/// The system's memory, counted. What the other tests of this room take is counted too: 40 MB at
/// most.
struct Counted;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static MEMORY: Counted = Counted;

/// The inputs of a parser in git with their names, in order of these.
fn corpus(parser: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(parser);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths
        .iter()
        .map(|path| (name(path), fs::read(path).unwrap()))
        .collect()
}

/// What is wrong with how a parser takes an input.
fn fault(parser: Parser, input: &[u8]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let is_calm = catch_unwind(AssertUnwindSafe(|| parser(folder.path(), input))).is_ok();
    let memory = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let checks = [
        (!is_calm, "it panics".to_owned()),
        (
            TIME_MAX < began.elapsed(),
            format!("it takes {:?}", began.elapsed()),
        ),
        (MEMORY_MAX < memory, format!("it takes {} MB", memory >> 20)),
    ];
    checks
        .into_iter()
        .find(|(is_wrong, _)| *is_wrong)
        .map(|(_, what)| what)
}

/// Tries a parser with inputs as long as `goes_on` says so for their number.
fn try_parser((name, parser): (&str, Parser), goes_on: impl Fn(u64) -> bool) -> u64 {
    let number = |variable: &str| var(variable).ok().and_then(|text| text.parse().ok());
    let (seed, first) = (
        number("RENMA_FUZZ_SEED").unwrap_or(1),
        number("RENMA_FUZZ_FIRST").unwrap_or(0),
    );
    let inputs: Vec<_> = corpus(name).into_iter().map(|(_, input)| input).collect();
    for input in &inputs {
        assert_eq!(fault(parser, input), None, "{name}: an input of the corpus");
    }
    // An input that ends the process is here. The file stays open: some file systems wait for the
    // disk when one that was emptied is closed.
    let current = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    let mut file = File::create(&current).unwrap();
    let mut tried = 0;
    while goes_on(tried) {
        let index = first + tried;
        let input = mutated(&inputs, &mut Random::new(seed, index));
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(&input).unwrap();
        if let Some(what) = fault(parser, &input) {
            panic!(
                "{name}: {what} with the {} bytes of {}\nRENMA_FUZZ_PARSER={name} RENMA_FUZZ_SEED={seed} RENMA_FUZZ_FIRST={index} \
                 cargo test --release --locked --test twins fuzz::",
                input.len(),
                current.display()
            );
        }
        tried += 1;
    }
    tried
}

fn chosen() -> impl Iterator<Item = (&'static str, Parser)> {
    let chosen = var("RENMA_FUZZ_PARSER").ok();
    let is_known = |chosen: &String| PARSERS.iter().any(|(name, _)| name == chosen);
    assert!(
        chosen.as_ref().is_none_or(is_known),
        "RENMA_FUZZ_PARSER names no parser"
    );
    PARSERS
        .into_iter()
        .filter(move |(name, _)| chosen.as_ref().is_none_or(|chosen| chosen == name))
}

/// Changes of an input that is refused early test nothing of what comes after.
#[test]
fn every_input_of_the_corpus_is_accepted_except_two() {
    let folder = tempfile::tempdir().unwrap();
    let refused = PARSERS.into_iter().flat_map(|(parser, read)| {
        let inputs = corpus(parser);
        assert!(!inputs.is_empty(), "{parser} has no input");
        let refused = inputs
            .into_iter()
            .filter(|(_, input)| !read(folder.path(), input));
        refused
            .map(|(name, _)| format!("{parser}/{name}"))
            .collect::<Vec<_>>()
    });
    let expected = [
        "parquet/column-of-negative-length.parquet",
        "parquet/no-dictionary.parquet",
    ];
    assert_eq!(refused.collect::<Vec<_>>(), expected);
}

#[test]
fn no_parser_falls_over_some_changed_inputs() {
    for parser in chosen() {
        try_parser(parser, |tried| tried < 300);
    }
}

#[test]
#[ignore = "slow"]
fn no_parser_falls_over_many_changed_inputs() {
    let seconds = var("RENMA_FUZZ_SECONDS").map_or(3, |text| text.parse().unwrap());
    for parser in chosen() {
        let began = Instant::now();
        let tried = try_parser(parser, |_| began.elapsed() < Duration::from_secs(seconds));
        println!("{}: {tried} inputs", parser.0);
    }
}
