//! A line of the protocol as its parts.

/// A command with its arguments, and the number that its answer repeats.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub id: Option<u32>,
    /// Empty if the line has a number alone.
    pub command: String,
    pub arguments: Vec<String>,
}

impl Request {
    /// Reads a line; `None` if it is blank. Comments and control characters are left out, and tabs
    /// are blanks.
    pub fn parse(line: &str) -> Option<Self> {
        let text = line
            .split('#')
            .next()
            .unwrap_or_default()
            .replace('\t', " ");
        let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
        let mut words = text.split_whitespace().map(str::to_owned).peekable();
        let first = words.peek()?;
        let id = first
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| first.parse().ok())
            .flatten();
        if id.is_some() {
            words.next();
        }
        Some(Self {
            id,
            command: words.next().unwrap_or_default(),
            arguments: words.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, id: Option<u32>, words: &[&str]) {
        let request = Request::parse(line).unwrap();
        let found: Vec<&str> = std::iter::once(request.command.as_str())
            .chain(request.arguments.iter().map(String::as_str))
            .collect();
        assert_eq!((request.id, &found[..]), (id, words), "{line:?}");
    }

    #[test]
    fn a_line_is_a_number_a_command_and_arguments() {
        check("name", None, &["name"]);
        check(
            "  12 play\tb  F5 # not \u{7}this\r",
            Some(12),
            &["play", "b", "F5"],
        );
        check("0\tquit", Some(0), &["quit"]);
        check("pl\u{0}a\u{1b}y b f5", None, &["play", "b", "f5"]);
        check("7", Some(7), &[""]);
        // Too large for a number, so it is an unknown command.
        check("99999999999 name", None, &["99999999999", "name"]);
        check("-1 name", None, &["-1", "name"]);
        for blank in ["", "  \t", "# comment", " \u{1}\r"] {
            assert_eq!(Request::parse(blank), None, "{blank:?}");
        }
    }
}
