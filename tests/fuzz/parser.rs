//! The parser that RENMA_FUZZ_PARSER names, for cargo-fuzz.
#![no_main]
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod parsers;

use libfuzzer_sys::fuzz_target;
use parsers::Parser;
use renma::artifact::panics;
use std::sync::LazyLock;

static PARSER: LazyLock<Parser> = LazyLock::new(|| {
    // The hook of libFuzzer ends the process, even where a panic of the Parquet reader is caught.
    panics::hide_expected();
    let name = std::env::var("RENMA_FUZZ_PARSER").expect("RENMA_FUZZ_PARSER names the parser");
    let found = parsers::PARSERS.iter().find(|(other, _)| *other == name);
    found.expect("it is the name of a parser").1
});

fuzz_target!(|input: &[u8]| {
    let folder = tempfile::tempdir().unwrap();
    let _ = PARSER(folder.path(), input);
});
