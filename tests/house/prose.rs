//! Plain words: phrases that a native reader stumbles over stay out of the source, the documents
//! and the help.

use std::path::{Path, PathBuf};

/// The phrases, each with what to write in its place. docs/CONTRIBUTING.md explains the habits
/// behind them.
const PHRASES: [(&str, &str); 23] = [
    ("foretell", "predict"),
    ("foretold", "predicted"),
    ("vouch", "guarantee"),
    ("dearer", "costlier"),
    ("anew", "again"),
    ("whom", "which"),
    ("alike", "the same"),
    ("goes on", "resumes, continues"),
    ("go on", "continue"),
    ("so many", "this number of"),
    ("so long", "this time"),
    ("so deep", "to this depth"),
    ("of its own", "separate"),
    ("of their own", "separate"),
    ("it is no", "it is not a"),
    ("that is no", "that is not a"),
    ("which is no", "which is not a"),
    ("this is no", "this is not a"),
    ("one file a", "one file per"),
    ("one line a", "one line per"),
    ("a line a", "one line per"),
    ("bytes a", "bytes per"),
    ("whatever the system refuses", "a system error"),
];

/// Every file of prose under a place, but for the page that lists the phrases.
fn texts(place: &Path, found: &mut Vec<PathBuf>) {
    if place.is_dir() {
        for entry in std::fs::read_dir(place).unwrap() {
            texts(&entry.unwrap().path(), found);
        }
    } else if let Some("rs" | "md" | "toml" | "py" | "sql" | "js" | "html" | "yml") =
        place.extension().and_then(|extension| extension.to_str())
        && !place.ends_with("CONTRIBUTING.md")
    {
        found.push(place.to_owned());
    }
}

/// Whether a line has a phrase as whole words.
fn has(line: &str, phrase: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    line.match_indices(phrase).any(|(place, _)| {
        is_end(line[..place].chars().next_back())
            && is_end(line[place + phrase.len()..].chars().next())
    })
}

#[test]
fn phrases_are_found_as_whole_words() {
    assert!(has("made anew.", "anew") && has("it is no model", "it is no"));
    assert!(
        !has("it is not a model", "it is no")
            && !has("renewal", "anew")
            && !has("bytes are", "bytes a")
    );
}

#[test]
fn no_text_has_a_phrase_of_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for place in [
        "src",
        "docs",
        "configs",
        "examples",
        ".github",
        "README.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ] {
        texts(&root.join(place), &mut files);
    }
    assert!(200 < files.len(), "only {} files", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap().to_lowercase();
        for (number, line) in (1..).zip(text.lines()) {
            for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| has(line, phrase)) {
                found.push(format!(
                    "{}:{number}: `{phrase}`: write `{instead}`",
                    file.display()
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
