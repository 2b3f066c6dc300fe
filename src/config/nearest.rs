//! Words that somebody may have meant.

/// The word that is nearest to another, unless a third of its letters or more would have to change.
pub(super) fn nearest<'b>(word: &str, words: impl Iterator<Item = &'b str>) -> Option<&'b str> {
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

    #[test]
    fn edits_are_counted() {
        for (left, right, count) in [("", "abc", 3), ("games", "gamez", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((edits(left, right), edits(right, left)), (count, count), "{left} {right}");
        }
        assert_eq!(nearest("play_dept", ["label_depth", "play_depth"].into_iter()), Some("play_depth"));
        assert_eq!(nearest("colour", ["clip", "ratio"].into_iter()), None);
    }
}
