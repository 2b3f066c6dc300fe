//! Suggestions for misspelled words.

/// The word that is nearest to another, unless more than a third of its letters would have to change; two that are swapped count
/// as one.
pub(super) fn nearest<'b>(word: &str, words: impl Iterator<Item = &'b str>) -> Option<&'b str> {
    let near = words.map(|other| (strsim::damerau_levenshtein(word, other), other)).min()?;
    (near.0 <= word.chars().count() / 3).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_suggested() {
        assert_eq!(nearest("play_dept", ["label_depth", "play_depth"].into_iter()), Some("play_depth"));
        assert_eq!(nearest("ratoi", ["start", "ratio"].into_iter()), Some("ratio"));
        assert_eq!(nearest("colour", ["clip", "ratio"].into_iter()), None);
        assert_eq!(nearest("a", ["t", "clip"].into_iter()), None);
    }
}
