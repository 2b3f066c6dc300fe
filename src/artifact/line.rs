//! Texts of people that become a part of names, messages and files: one short line each.

use serde::{Deserialize, Deserializer, de};

/// The most bytes of such a text: any path that a system takes.
const BYTES_MAX: usize = 4096;

/// Whether a text is one line of printable characters, and neither empty nor too long.
pub fn is_line(text: &str) -> bool {
    (1..=BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control)
}

/// A text of a file as a message shows it, and JSON too: its control characters are escaped, so
/// that it stays on its line and no terminal obeys it.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown += "\\n",
            '\r' => shown += "\\r",
            character if character.is_control() && character != '\t' => {
                shown += &format!("\\u{:04x}", u32::from(character));
            }
            character => shown.push(character),
        }
    }
    shown
}

/// Reads a text that must be a line.
pub(crate) fn line<'de, T: From<String>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_line(&text) {
        return Ok(text.into());
    }
    let shown: String = text.chars().take(40).collect();
    Err(de::Error::custom(format!(
        "{shown:?} is not one line of 1 to {BYTES_MAX} bytes"
    )))
}

#[cfg(test)]
mod tests {
    use super::{is_line, visible};

    #[test]
    fn a_visible_text_is_a_line_and_says_the_same_in_json() {
        for text in ["錬磨\t\"x\"", "\u{1b}[31m\r\n::error::", "\u{7f}\u{9b}0m\0"] {
            let shown = visible(text);
            assert!(
                !shown.contains(|character: char| character.is_control() && character != '\t'),
                "{shown}"
            );
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(
                serde_json::from_str::<String>(&visible(&json)).unwrap(),
                text
            );
        }
        assert_eq!(visible("\u{1b}[31m\n::error::"), "\\u001b[31m\\n::error::");
    }

    #[test]
    fn a_line_has_no_line_end_and_an_end() {
        for text in [
            "v0001",
            "models/my run/v0001",
            "錬磨",
            "..",
            &"x".repeat(4096),
        ] {
            assert!(is_line(text), "{text}");
        }
        for text in ["", "\n", "a\nb", "a\0", "\u{1b}[2J", &"x".repeat(4097)] {
            assert!(!is_line(text), "{text:?}");
        }
    }
}
