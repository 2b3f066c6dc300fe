//! Format versions: each kind of file that renma writes has a number, which rises when its fields,
//! columns or meanings change.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format version of a kind of file: `CURRENT` is written, and every version from 1 on is read.
///
/// Another number cannot be represented, so a file of an unknown version is an error where its
/// number is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Option<u32>")]
pub struct FormatVersion<const CURRENT: u32>(u32);

impl<const CURRENT: u32> FormatVersion<CURRENT> {
    /// The version that this renma writes.
    pub const CURRENT: Self = Self(CURRENT);

    /// The version's number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl<const CURRENT: u32> TryFrom<Option<u32>> for FormatVersion<CURRENT> {
    type Error = String;

    /// The error names the version found and those that can be read.
    fn try_from(number: Option<u32>) -> Result<Self, String> {
        let found = match number {
            Some(number) if (1..=CURRENT).contains(&number) => return Ok(Self(number)),
            Some(number) => format!("format {number}"),
            None => "no format version".to_owned(),
        };
        let readable = if CURRENT == 1 {
            "format 1".to_owned()
        } else {
            format!("formats 1 to {CURRENT}")
        };
        Err(format!("it has {found}, this renma reads {readable}"))
    }
}

impl<const CURRENT: u32> Default for FormatVersion<CURRENT> {
    fn default() -> Self {
        Self::CURRENT
    }
}

/// The version in the value of a field `format`, null if there is none, `F` being a
/// [`FormatVersion`].
///
/// # Errors
///
/// Why the version cannot be read: it names the version found and those that can be read.
pub fn format_of<F: DeserializeOwned>(format: &Value) -> Result<F, String> {
    F::deserialize(format).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_outside_the_range_are_refused_with_both_versions() {
        let check = |format: Value, expected: Result<u32, &str>| {
            let found = format_of::<FormatVersion<2>>(&format);
            assert_eq!(
                found
                    .as_ref()
                    .map(|version| version.number())
                    .map_err(String::as_str),
                expected
            );
        };
        check(1.into(), Ok(1));
        check(2.into(), Ok(2));
        check(
            0.into(),
            Err("it has format 0, this renma reads formats 1 to 2"),
        );
        check(
            3.into(),
            Err("it has format 3, this renma reads formats 1 to 2"),
        );
        check(
            Value::Null,
            Err("it has no format version, this renma reads formats 1 to 2"),
        );
        assert!(format_of::<FormatVersion<2>>(&"2".into()).is_err());
        let error = format_of::<FormatVersion<1>>(&Value::Null).unwrap_err();
        assert_eq!(error, "it has no format version, this renma reads format 1");
        assert_eq!(json!(FormatVersion::<2>::CURRENT), 2);
    }
}
