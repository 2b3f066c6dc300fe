//! Texts as the readers of all formats take them: in UTF-8, without byte order marks, and cut into
//! records, each a line, a game of GGF or a game under headers.

use super::ggf::{game_count, game_length};
use super::packed::check_unpacked;
use super::pgn::headed_length;
use crate::artifact::ArtifactError;
use crate::engine::board::notation::is_transcript;
use std::borrow::Cow;
use std::path::Path;

/// What some editors write before a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The byte order marks of UTF-16, little and big endian.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// What stands for a byte that is not UTF-8. Such bytes are in the names of older files, which are
/// not kept; no board and no move has this character.
const FOREIGN: u8 = b'?';

/// A text without the byte order mark with which it may begin.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The text without comments, each from a `#` to the end of its line; blanks take their place, so
/// that the other bytes keep theirs.
pub fn uncommented(text: &str) -> Cow<'_, str> {
    if !text.contains('#') {
        return Cow::Borrowed(text);
    }
    let blanked = text.split_inclusive('\n').map(|line| {
        let content = line.trim_end_matches('\n');
        let kept = content.split('#').next().unwrap_or_default();
        let blanks = " ".repeat(content.len() - kept.len());
        format!("{kept}{blanks}{}", &line[content.len()..])
    });
    Cow::Owned(blanked.collect())
}

/// A game or a position in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRecord {
    /// The line on which it begins, counted from 1.
    line: usize,
    /// Its first byte within that line.
    byte: usize,
    /// Without blanks around it.
    pub text: String,
}

impl TextRecord {
    /// What is wrong at a byte of the record, with the line and the byte within that.
    pub fn bad(&self, byte: usize, reason: &str) -> String {
        let before = &self.text.as_bytes()[..byte.min(self.text.len())];
        let lines = before.iter().filter(|&&byte| byte == b'\n').count();
        let line_end = before.iter().rposition(|&byte| byte == b'\n');
        let byte = line_end.map_or(self.byte + before.len(), |end| before.len() - end - 1);
        format!("line {}, byte {byte}: {reason}", self.line + lines)
    }
}

/// The records of a text in order; empty lines and comments (`%`, `#`) are skipped. An error is a
/// place where no record begins.
#[derive(Debug)]
pub struct TextRecords {
    text: String,
    /// The first byte that is not read.
    begin: usize,
    /// Its line, and the first byte of that.
    line: usize,
    line_begin: usize,
}

impl TextRecords {
    /// Reads the bytes of a file; errors call it `path`.
    ///
    /// # Errors
    ///
    /// Bytes that are not a text in UTF-8 or Latin-1.
    pub fn new(path: &Path, bytes: Vec<u8>) -> Result<Self, ArtifactError> {
        check_unpacked(path, &bytes)?;
        if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
            let reason = "it is not text in UTF-8 but in UTF-16\nsave it as UTF-8";
            return Err(ArtifactError::unfit(path, reason));
        }
        if let Some(place) = bytes.iter().position(|&byte| byte == 0) {
            let line = bytes[..place].iter().filter(|&&byte| byte == b'\n').count();
            let reason = format!("line {}: it is not text", line + 1);
            return Err(ArtifactError::damaged(path, reason));
        }
        Ok(Self {
            text: decoded(bytes),
            begin: 0,
            line: 1,
            line_begin: 0,
        })
    }

    fn advance(&mut self, length: usize) {
        let passed = &self.text[self.begin..self.begin + length];
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        if let Some(end) = passed.rfind('\n') {
            self.line_begin = self.begin + end + 1;
        }
        self.begin += length;
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = &self.text[self.begin..];
            let record = rest.trim_start_matches(|letter: char| {
                letter.is_whitespace() || letter == BYTE_ORDER_MARK
            });
            let comment = if record.starts_with(['#', '%']) {
                line_length(record)
            } else {
                0
            };
            let length = rest.len() - record.len() + comment;
            if length == 0 {
                return;
            }
            self.advance(length);
        }
    }

    /// The next record, which takes this number of bytes.
    fn take(&mut self, length: usize) -> TextRecord {
        let text = self.text[self.begin..self.begin + length].trim_end();
        let record = TextRecord {
            line: self.line,
            byte: self.begin - self.line_begin,
            text: text.to_owned(),
        };
        self.advance(length);
        record
    }
}

impl Iterator for TextRecords {
    type Item = Result<TextRecord, String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blanks_and_comments();
        let rest = &self.text[self.begin..];
        if let Some((count, length)) = game_count(rest) {
            let found = games_ahead(&rest[length..], count);
            let place = self.take(length);
            if found < count {
                let reason = format!("it says {count} games, and {found} follow");
                return Some(Err(place.bad(0, &reason)));
            }
            return self.next();
        }
        let length = match rest.chars().next()? {
            '(' => game_length(rest).unwrap_or_else(|| line_length(rest)),
            '[' => headed_length(rest),
            _ => wrapped_length(rest),
        };
        Some(Ok(self.take(length)))
    }
}

/// Bytes as text; each of those that are not UTF-8 becomes [`FOREIGN`].
fn decoded(bytes: Vec<u8>) -> String {
    let mut rest = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let mut sound = 0;
    while let Err(error) = str::from_utf8(&rest[sound..]) {
        let begin = sound + error.valid_up_to();
        let length = error.error_len().unwrap_or(rest.len() - begin);
        rest[begin..begin + length].fill(FOREIGN);
        sound = begin + length;
    }
    String::from_utf8(rest).expect("all other bytes were replaced")
}

/// How many games of GGF the text begins with, up to a number of them.
fn games_ahead(text: &str, count: usize) -> usize {
    let mut rest = text.trim_start();
    let next_game = || {
        let length = game_length(rest)?;
        rest = rest[length..].trim_start();
        Some(())
    };
    std::iter::from_fn(next_game).take(count).count()
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The length of a line, and of those after it if they continue its numbered moves.
fn wrapped_length(text: &str) -> usize {
    let mut length = line_length(text);
    if !text.starts_with(|letter: char| letter.is_ascii_digit()) || !is_transcript(text) {
        return length;
    }
    while let Some(next) = text[length..].strip_prefix('\n') {
        let number_end = next.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let number = &next[..next.len() - number_end.len()];
        if !number_end.starts_with('.') || matches!(number, "" | "1") {
            break;
        }
        length += 1 + line_length(next);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(bytes: &[u8]) -> Vec<String> {
        let shown = |record: Result<TextRecord, String>| match record {
            Ok(record) => record.bad(0, &record.text),
            Err(bad) => format!("bad {bad}"),
        };
        TextRecords::new(Path::new("a"), bytes.to_vec())
            .unwrap()
            .map(shown)
            .collect()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(records(text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn a_record_is_a_line_without_marks_and_comments() {
        check("", &[]);
        check("\u{feff}", &[]);
        check(
            "\u{feff}% one\r\n  f5d6 # a\r\n\n# two\n\u{feff}f5",
            &["line 2, byte 2: f5d6 # a", "line 5, byte 3: f5"],
        );
    }

    #[test]
    fn games_of_ggf_may_share_a_line_or_have_several() {
        check(
            "2 (;B[f5];)(;B[d3];)\n1 (;B[e6]\nW[f4];) # the last\nf5",
            &[
                "line 1, byte 2: (;B[f5];)",
                "line 1, byte 11: (;B[d3];)",
                "line 2, byte 2: (;B[e6]\nW[f4];)",
                "line 4, byte 0: f5",
            ],
        );
        check(
            "2 (;B[f5];)\nf5",
            &[
                "bad line 1, byte 0: it says 2 games, and 1 follow",
                "line 1, byte 2: (;B[f5];)",
                "line 2, byte 0: f5",
            ],
        );
        // A game without an end is a line, so that the next one is found.
        check(
            "(;B[f5]\n(;B[d3];) f5",
            &[
                "line 1, byte 0: (;B[f5]",
                "line 2, byte 0: (;B[d3];)",
                "line 2, byte 10: f5",
            ],
        );
    }

    #[test]
    fn numbered_moves_and_headers_may_have_several_lines() {
        check(
            "1. f5 d6\n2. c3 d3\n1. f5 f6\nf5\n2. d6",
            &[
                "line 1, byte 0: 1. f5 d6\n2. c3 d3",
                "line 3, byte 0: 1. f5 f6",
                "line 4, byte 0: f5",
                "line 5, byte 0: 2. d6",
            ],
        );
        check(
            "[Site \"PlayOK\"]\n\n1. f5\nd6 1-0\n[Site \"?\"]\n1. f5 *\n\nf5",
            &[
                "line 1, byte 0: [Site \"PlayOK\"]\n\n1. f5\nd6 1-0",
                "line 5, byte 0: [Site \"?\"]\n1. f5 *",
                "line 8, byte 0: f5",
            ],
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_told_apart() {
        let names = b"(;PB[Andr\xe9]PW[\xff\xe2\x82]B[f5];)\n";
        assert_eq!(
            records(names),
            ["line 1, byte 0: (;PB[Andr?]PW[???]B[f5];)"]
        );
        for (bytes, words) in [
            (&b"\xff\xfef\x005\x00"[..], "UTF-16\nsave it as UTF-8"),
            (b"\xfe\xff\x00f\x005", "UTF-16\nsave it as UTF-8"),
            (b"f5\nd\x006", "line 2: it is not text"),
            (b"\x1f\x8b\x08", "gzip\nunpack it first"),
        ] {
            let error = TextRecords::new(Path::new("a"), bytes.to_vec()).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_place_counts_the_lines_of_its_record() {
        let mut records = TextRecords::new(Path::new("a"), b"\n 1. f5 d6\n2. c3".to_vec()).unwrap();
        let record = records.next().unwrap().unwrap();
        assert_eq!(record.bad(3, "?"), "line 2, byte 4: ?");
        assert_eq!(record.bad(12, "?"), "line 3, byte 3: ?");
        assert_eq!(record.bad(99, "?"), "line 3, byte 5: ?");
    }

    #[test]
    fn a_comment_ends_with_its_line_and_moves_nothing() {
        assert_eq!(uncommented("f5 # \u{e9}\nd6"), "f5     \nd6");
        assert_eq!(uncommented("f5"), "f5");
    }
}
