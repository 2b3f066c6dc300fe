//! Texts of people that become a part of names, messages and files: one short line each.

use serde::{Deserialize, Deserializer, de};

/// The most bytes of such a text: any path that a system takes.
const BYTES_MAX: usize = 4096;

/// Whether a text is one line of printable characters, and neither empty nor too long.
pub fn is_line(text: &str) -> bool {
    (1..=BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control)
}

/// Reads a text that must be a line.
pub(crate) fn line<'de, T: From<String>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_line(&text) {
        return Ok(text.into());
    }
    let shown: String = text.chars().take(40).collect();
    Err(de::Error::custom(format!("{shown:?} is not one line of 1 to {BYTES_MAX} bytes")))
}

#[cfg(test)]
mod tests {
    use super::is_line;

    #[test]
    fn a_line_has_no_line_end_and_an_end() {
        for text in ["v0001", "models/my run/v0001", "錬磨", "..", &"x".repeat(4096)] {
            assert!(is_line(text), "{text}");
        }
        for text in ["", "\n", "a\nb", "a\0", "\u{1b}[2J", &"x".repeat(4097)] {
            assert!(!is_line(text), "{text:?}");
        }
    }
}
