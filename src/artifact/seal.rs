//! Sealed JSON: an object in canonical form whose last field, `hash`, covers the others.

use super::error::ArtifactError;
use super::format::format_of;
use super::hash::ContentHash;
use super::line::visible;
use super::publish::{publish_bytes, read_bounded};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// A larger file is neither written nor read. The largest are manifests: one of 100,000 parts has
/// 70 MB.
const SIZE_MAX: u64 = 128 << 20;

/// The text of a sealed file: fields sorted by name, two spaces of indent, `hash` last, a line end.
pub fn seal(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).expect("our artifacts are plain data");
    assert!(value.is_object(), "a sealed file is an object");
    let text = serde_json::to_string_pretty(&value).expect("a JSON value has a text");
    let hash = ContentHash::of(text.as_bytes());
    let body = text
        .strip_suffix("\n}")
        .expect("an object with fields ends with a brace on a separate line");
    format!("{body},\n  \"hash\": \"{hash}\"\n}}\n")
}

/// Writes a sealed file.
///
/// # Errors
///
/// A file too large to be read again, or a system error; then an old file stays.
pub fn write_sealed(path: &Path, value: &impl Serialize) -> Result<(), ArtifactError> {
    let text = seal(value);
    if SIZE_MAX < text.len() as u64 {
        let reason = format!(
            "it would have {} bytes, at most {SIZE_MAX} can be read",
            text.len()
        );
        return Err(ArtifactError::unfit(path, reason));
    }
    publish_bytes(path, text.as_bytes())
}

/// Reads a sealed file and checks that no byte of it has changed.
///
/// # Errors
///
/// A missing file, a changed byte, or fields other than those of `T`.
pub fn read_sealed<T: DeserializeOwned>(path: &Path) -> Result<T, ArtifactError> {
    parse_sealed(path, &read_bounded(path, SIZE_MAX)?)
}

/// Reads a sealed file, of which the format version is checked first: `F` is its
/// [`FormatVersion`](super::format::FormatVersion).
///
/// # Errors
///
/// Those of [`read_sealed`], or a format version that this renma does not read.
pub fn read_versioned<F: DeserializeOwned, T: DeserializeOwned>(
    path: &Path,
) -> Result<T, ArtifactError> {
    parse_versioned::<F, T>(path, &read_bounded(path, SIZE_MAX)?)
}

/// Reads a sealed file, or gives the default value if there is none.
pub fn read_versioned_or_default<F: DeserializeOwned, T: DeserializeOwned + Default>(
    path: &Path,
) -> Result<T, ArtifactError> {
    match read_versioned::<F, T>(path) {
        Err(ArtifactError::Missing { .. }) => Ok(T::default()),
        other => other,
    }
}

/// Reads the bytes of a sealed file; `path` names them in errors.
pub fn parse_versioned<F: DeserializeOwned, T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
) -> Result<T, ArtifactError> {
    /// What every version of a sealed file has.
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        format: Value,
    }
    let text = unsealed(path, bytes)?;
    let damaged =
        |error: serde_json::Error| ArtifactError::damaged(path, visible(&error.to_string()));
    let head: Head = serde_json::from_str(&text).map_err(damaged)?;
    format_of::<F>(&head.format).map_err(|reason| ArtifactError::unfit(path, reason))?;
    serde_json::from_str(&text).map_err(damaged)
}

fn parse_sealed<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, ArtifactError> {
    let text = unsealed(path, bytes)?;
    serde_json::from_str(&text)
        .map_err(|error| ArtifactError::damaged(path, visible(&error.to_string())))
}

/// The object that a sealed file holds, without the hash, which is compared.
fn unsealed(path: &Path, bytes: &[u8]) -> Result<String, ArtifactError> {
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let text = std::str::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
    let sealed = text
        .strip_suffix("\"\n}\n")
        .and_then(|text| text.rsplit_once(",\n  \"hash\": \""));
    let hash = sealed.and_then(|(_, hash)| hash.parse::<ContentHash>().ok());
    if let (Some((body, _)), Some(hash)) = (sealed, hash) {
        let object = format!("{body}\n}}");
        if ContentHash::of(object.as_bytes()) == hash {
            return Ok(object);
        }
    }
    let value: Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let fields = value
        .as_object()
        .ok_or_else(|| damaged("it is not an object".into()))?;
    let has_hash = fields.contains_key("hash");
    Err(damaged(
        if has_hash {
            "its hash does not match its content"
        } else {
            "its hash is missing"
        }
        .into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_file_too_large_to_be_read_is_not_written_and_the_old_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sealed.json");
        let value = |text: &str| BTreeMap::from([("text", text.to_owned())]);
        write_sealed(&path, &value("old")).unwrap();
        let error = write_sealed(&path, &value(&"long".repeat(SIZE_MAX as usize / 4)))
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("at most {SIZE_MAX}")), "{error}");
        assert_eq!(
            read_sealed::<BTreeMap<String, String>>(&path).unwrap()["text"],
            "old"
        );
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sealed.json");
        let value = BTreeMap::from([("b", Value::from("text \u{e9}")), ("a", Value::from(0.1))]);
        write_sealed(&path, &value).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(read_sealed::<Value>(&path).is_ok());
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            publish_bytes(&path, &changed).unwrap();
            assert!(read_sealed::<Value>(&path).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            publish_bytes(&path, &bytes[..length]).unwrap();
            assert!(read_sealed::<Value>(&path).is_err(), "length {length}");
        }
    }
}
