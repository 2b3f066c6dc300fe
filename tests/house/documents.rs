//! Links of the Markdown files: each leads to a file and a heading that are there; so do names of
//! pages in code and configs. The reference is that of this program.

mod reference;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What runs and builds leave in the project is not part of it.
fn is_foreign(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let in_data = path
        .parent()
        .is_some_and(|parent| parent.ends_with("datasets") || parent.ends_with("models"));
    let kept = [
        ".ci",
        ".github",
        "sample",
        "yardstick",
        "shipped",
        "README.md",
    ]
    .contains(&name);
    !kept && (name.starts_with('.') || name == "target" || in_data && parent_is_root(path))
}

fn parent_is_root(path: &Path) -> bool {
    path.parent().and_then(Path::parent) == Some(Path::new(ROOT))
}

/// The files of the project below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.retain(|path| !is_foreign(path));
    entries.sort();
    entries
        .into_iter()
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The lines of a page that are not in a fenced block, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let headings = prose(text)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| line.trim_start_matches('#'));
    let anchors = headings.map(|heading| {
        let kept = heading
            .trim()
            .chars()
            .filter(|&letter| letter.is_alphanumeric() || " -_".contains(letter));
        let anchor: String = kept
            .flat_map(char::to_lowercase)
            .collect::<String>()
            .replace(' ', "-");
        let count = counts.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 {
            anchor
        } else {
            format!("{anchor}-{}", *count - 1)
        }
    });
    anchors.collect()
}

/// The targets of the links and pictures of a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
}

/// Why a link from a page is broken.
fn broken(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target
        .split_once('#')
        .map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() {
        page.to_owned()
    } else {
        page.parent().unwrap().join(file)
    };
    if !path.exists() {
        return Some(format!("{file} does not exist"));
    }
    let anchor = anchor?;
    let known = anchors(&std::fs::read_to_string(&path).unwrap());
    (!known.iter().any(|name| name == anchor))
        .then(|| format!("{file} has no heading #{anchor}, but {known:?}"))
}

/// The names of pages in a line of code: `docs/NAME.md`, perhaps with an anchor.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("docs/").filter_map(|(begin, _)| {
        let rest = &line[begin..];
        let end =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"/.-_#".contains(letter));
        let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        name.contains(".md").then_some(name)
    })
}

#[test]
fn every_link_leads_somewhere() {
    let pages: Vec<PathBuf> = files(Path::new(ROOT))
        .into_iter()
        .filter(|path| is_page(path))
        .collect();
    assert!(10 < pages.len(), "{pages:?}");
    let mut faults = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, line) in prose(&text) {
            let reasons = targets(line).filter_map(|target| broken(&page, target));
            faults.extend(reasons.map(|reason| format!("{}:{number}: {reason}", page.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn code_and_configs_name_pages_that_are_there() {
    let mut faults = Vec::new();
    for path in files(Path::new(ROOT))
        .into_iter()
        .filter(|path| !is_page(path) && !path.ends_with("tests/house/documents.rs"))
    {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        for (number, line) in (1..).zip(text.lines()) {
            let reasons =
                mentions(line).filter_map(|name| broken(&Path::new(ROOT).join("README.md"), name));
            faults.extend(reasons.map(|reason| format!("{}:{number}: {reason}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_broken_link_is_found() {
    let page = Path::new(ROOT).join("docs/ARCHITECTURE.md");
    let check = |target, expected: Option<&str>| {
        let found = broken(&page, target);
        assert_eq!(found.is_some(), expected.is_some(), "{target}: {found:?}");
        assert!(
            found
                .unwrap_or_default()
                .contains(expected.unwrap_or_default()),
            "{target}"
        );
    };
    check("datasets.md#formats", None);
    check("../README.md", None);
    check("#glossary", None);
    check("https://example.org/nothing#there", None);
    check("dataset.md", Some("does not exist"));
    check("datasets.md#format", Some("no heading"));
    check("#glossaries", Some("no heading"));
    let line = "a [b](c.md#d \"title\") and ![e](f.svg) // docs/g.md, (docs/h.md#i), docs/j/k.rs, docs/l.md.";
    assert_eq!(targets(line).collect::<Vec<_>>(), ["c.md#d", "f.svg"]);
    assert_eq!(
        mentions(line).collect::<Vec<_>>(),
        ["docs/g.md", "docs/h.md#i", "docs/l.md"]
    );
    let text = "# A `b`, C!\n```\n# no\n```\n## A b c\n## é 1–2_x\n";
    assert_eq!(anchors(text), ["a-b-c", "a-b-c-1", "é-12_x"]);
}
