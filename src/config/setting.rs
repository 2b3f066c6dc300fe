//! `--set train.epochs=3`: a key with its value on the command line.

use std::str::FromStr;
use toml::{Table, Value};

/// A key whose value overrides the config file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As a line of TOML.
    line: String,
}

impl Setting {
    /// The key with its value, as a line of TOML.
    pub fn line(&self) -> &str {
        &self.line
    }
}

impl FromStr for Setting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let expected = "expected a key and its value, such as train.epochs=3";
        let (key, value) = text.split_once('=').ok_or(expected)?;
        let (key, value) = (key.trim(), value.trim());
        let is_word = |word: &str| {
            let is_part =
                |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
            !word.is_empty() && word.chars().all(is_part)
        };
        if value.is_empty() || !key.split('.').all(is_word) {
            return Err(expected);
        }
        // A shell removes quotes, so anything that is not a TOML value is a string.
        let is_value = !value.contains('\n')
            && toml::from_str::<Table>(&format!("value = {value}"))
                .is_ok_and(|table| table.len() == 1);
        let value = if is_value {
            value.to_owned()
        } else {
            Value::from(value).to_string()
        };
        Ok(Self {
            line: format!("{key} = {value}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_one_line_of_toml_whatever_its_value() {
        for (text, line) in [
            ("train.epochs=3", "train.epochs = 3"),
            ("train.epochs = 3", "train.epochs = 3"),
            ("gate.mpc_level.t=1.4", "gate.mpc_level.t = 1.4"),
            ("train.lambda=[[60, 0.5]]", "train.lambda = [[60, 0.5]]"),
            ("train.target=\"score\"", "train.target = \"score\""),
            ("train.target=score", "train.target = \"score\""),
            (
                "run.start=builtin:champion",
                "run.start = \"builtin:champion\"",
            ),
            ("run.start=a=b", "run.start = \"a=b\""),
            ("train.shuffle=false", "train.shuffle = false"),
            ("epochs=3 # three", "epochs = 3 # three"),
            ("run.start=\"", "run.start = '\"'"),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Setting {
                    line: line.to_owned()
                }),
                "{text}"
            );
        }
        for text in ["run.start=x\n[gate]\ngames=2", "run.seed=1\ngate.games=2"] {
            let setting: Setting = text.parse().unwrap();
            let table: Table = toml::from_str(&setting.line).unwrap();
            assert_eq!(table["run"].as_table().unwrap().len(), 1, "{text}");
            assert_eq!(table.len(), 1, "{text}");
        }
        for text in [
            "",
            "train.epochs",
            "=3",
            "train.epochs=",
            ".epochs=3",
            "train.=3",
            "a b=3",
            "[train]\nepochs=3",
        ] {
            assert_eq!(
                text.parse::<Setting>(),
                Err("expected a key and its value, such as train.epochs=3"),
                "{text}"
            );
        }
    }
}
