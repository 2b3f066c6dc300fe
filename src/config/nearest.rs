//! What a misspelled word or the path of a config may mean.

use crate::artifact::publish::entries_in;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The folder in which configs lie.
const CONFIGS: &str = "configs";

/// The word that is nearest to another, unless more than a third of its letters would have to
/// change; two that are swapped count as one. Of those equally near it is one that begins the same.
pub fn nearest<'b>(word: &str, words: impl Iterator<Item = &'b str>) -> Option<&'b str> {
    let common = |other: &str| {
        let pairs = word.chars().zip(other.chars());
        pairs.take_while(|(letter, other)| letter == other).count()
    };
    let (distance, _, near) = words
        .map(|other| {
            let distance = strsim::damerau_levenshtein(word, other);
            (distance, Reverse(common(other)), other)
        })
        .min()?;
    (distance <= word.chars().count() / 3).then_some(near)
}

/// The config that a path without a file may mean: one of the same name, else of the nearest, in its
/// folder or in the folder `configs` there.
pub fn nearest_config(path: &Path) -> Option<PathBuf> {
    let (stem, folder) = (path.file_stem()?.to_str()?, path.parent()?);
    let mut configs: Vec<PathBuf> = Vec::new();
    for folder in [folder.to_owned(), folder.join(CONFIGS)] {
        // A folder that cannot be read has nothing to suggest.
        let entries = entries_in(&Path::new(".").join(&folder)).unwrap_or_default();
        configs.extend(entries.into_iter().map(|entry| folder.join(entry.name)));
    }
    configs.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    let stem_of = |config: &PathBuf| config.file_stem()?.to_str().map(str::to_owned);
    let stems: Vec<String> = configs.iter().filter_map(stem_of).collect();
    let near = nearest(stem, stems.iter().map(String::as_str))?;
    configs
        .into_iter()
        .find(|config| stem_of(config).as_deref() == Some(near))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;

    #[test]
    fn only_a_near_word_is_suggested() {
        assert_eq!(
            nearest("play_dept", ["label_depth", "play_depth"].into_iter()),
            Some("play_depth")
        );
        assert_eq!(
            nearest("ratoi", ["start", "ratio"].into_iter()),
            Some("ratio")
        );
        assert_eq!(nearest("colour", ["clip", "ratio"].into_iter()), None);
        assert_eq!(nearest("a", ["t", "clip"].into_iter()), None);
        assert_eq!(
            nearest("node", ["mode", "nodes", "note"].into_iter()),
            Some("nodes")
        );
    }

    #[test]
    fn a_config_is_found_by_its_name_and_by_a_near_one() {
        let folder = tempfile::tempdir().unwrap();
        let (root, configs) = (folder.path(), folder.path().join("configs"));
        for name in ["mine.toml", "nightly.toml", "mine.txt"] {
            publish_bytes(&configs.join(name), b"").unwrap();
        }
        for (path, expected) in [
            (root.join("mine"), Some("mine.toml")),
            (root.join("mine.toml"), Some("mine.toml")),
            (configs.join("mine"), Some("mine.toml")),
            (configs.join("nihgtly.toml"), Some("nightly.toml")),
            (configs.join("other.toml"), None),
            (root.join("nowhere/mine.toml"), None),
        ] {
            let expected = expected.map(|name| configs.join(name));
            assert_eq!(nearest_config(&path), expected, "{}", path.display());
        }
    }
}
