//! Names of models: versions by number, built-ins by name.
//!
//! A name in a file is data. It becomes one of these types or an error, so that no file decides
//! which paths are read or which folders are removed.

use super::builtin::Builtin;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The number of a version, which is the name of its folder: `v0001`, `v0002` and so on, `v10000`
/// after `v9999`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VersionId(u32);

impl VersionId {
    /// The id of the first version.
    pub const FIRST: Self = Self(1);

    /// The highest id.
    pub const LAST: Self = Self(999_999_999);

    /// The highest id that a version may bring along from elsewhere, so that others can come after
    /// it.
    pub const LAST_IMPORTED: Self = Self(99_999_999);

    /// The id with this number, counted from 1.
    pub fn from_number(number: u64) -> Option<Self> {
        let id = Self(u32::try_from(number).ok()?);
        (Self::FIRST..=Self::LAST).contains(&id).then_some(id)
    }

    /// The number, counted from 1.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The id after this one; none after the last.
    pub fn next(self) -> Option<Self> {
        Self::from_number(self.number() + 1)
    }

    /// The version in the name of a folder, if it is a version id.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        folder.file_name()?.to_str()?.parse().ok()
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "v{:04}", self.0)
    }
}

impl FromStr for VersionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text
            .strip_prefix('v')
            .and_then(|digits| digits.parse().ok());
        // Each number has one name: no sign, no extra zeros.
        let id = number
            .and_then(Self::from_number)
            .filter(|id| id.to_string() == text);
        let expected = "with as many digits as the number needs, but at least four";
        id.ok_or_else(|| {
            format!(
                "`{text}` is not a version id: expected v0001 to {}, {expected}",
                Self::LAST
            )
        })
    }
}

impl TryFrom<String> for VersionId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<VersionId> for String {
    fn from(id: VersionId) -> Self {
        id.to_string()
    }
}

/// The name of a model in lineage, verdicts and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ModelName {
    /// A version of a registry.
    Version(VersionId),
    /// A model that is part of the program.
    Builtin(Builtin),
}

impl ModelName {
    /// The version, if it is one.
    pub const fn version(self) -> Option<VersionId> {
        match self {
            Self::Version(id) => Some(id),
            Self::Builtin(_) => None,
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(id) => id.fmt(formatter),
            Self::Builtin(builtin) => formatter.write_str(builtin.name()),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let version = text.parse().ok().map(Self::Version);
        let name = version.or_else(|| Builtin::named(&text).map(Self::Builtin));
        let expected = "a version id, such as v0001, nor a built-in model of this renma";
        name.ok_or_else(|| format!("`{text}` is neither {expected}: {}", Builtin::names()))
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_id_has_one_spelling() {
        for (text, number) in [
            ("v0001", 1),
            ("v0042", 42),
            ("v9999", 9999),
            ("v10000", 10_000),
            ("v999999999", 999_999_999),
        ] {
            let id: VersionId = text.parse().unwrap();
            assert_eq!((id.number(), id.to_string().as_str()), (number, text));
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
        }
        for text in [
            "",
            "v",
            "v1",
            "v001",
            "v0000",
            "v00010",
            "v010000",
            "V0001",
            "v+001",
            "v-001",
            "v 001",
            "v0001 ",
            "v0001/",
            "v0x01",
            "v1000000000",
            "v18446744073709551615",
            "v99999999999999999999999",
            "../../datasets",
            "/etc",
            "v0001/..",
            "builtin:champion",
            "\u{ff56}0001",
            "v\u{661}\u{661}\u{661}\u{661}",
        ] {
            assert!(text.parse::<VersionId>().is_err(), "{text}");
            assert!(
                serde_json::from_value::<VersionId>(text.into()).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn ids_follow_one_another_until_the_last() {
        let next = |text: &str| {
            text.parse::<VersionId>()
                .unwrap()
                .next()
                .map(|id| id.to_string())
        };
        assert_eq!(next("v0009").as_deref(), Some("v0010"));
        assert_eq!(next("v9999").as_deref(), Some("v10000"));
        assert_eq!(next("v999999999"), None);
        assert!("v9999".parse::<VersionId>().unwrap() < "v10000".parse().unwrap());
    }

    #[test]
    fn only_the_exact_name_of_a_folder_is_a_version_id() {
        for (folder, expected) in [
            ("models/run/v0007", Some("v0007")),
            ("v0007/", Some("v0007")),
            ("models/shipped", None),
            ("models/run/v0007/..", None),
            ("v00007", None),
            ("", None),
        ] {
            let id = VersionId::of_folder(Path::new(folder)).map(|id| id.to_string());
            assert_eq!(id.as_deref(), expected, "{folder}");
        }
    }

    #[test]
    fn lineage_names_versions_and_built_ins_and_nothing_else() {
        for text in [
            "v0003",
            "builtin:disc-count",
            "builtin:square-weights",
            "builtin:champion",
        ] {
            let name: ModelName = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(name).unwrap(), text);
        }
        for text in [
            "",
            "champion",
            "builtin:",
            "builtin:none",
            "models/default/v0003",
            "v3",
            "../v0003",
        ] {
            let error = serde_json::from_value::<ModelName>(text.into())
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
