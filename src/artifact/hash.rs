//! Content hashes (BLAKE3, 256 bits).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The hash of some content, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first 12 digits, for people.
    pub fn short(self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

impl FromStr for ContentHash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        // blake3 takes capitals too; a hash has one spelling.
        let hash = blake3::Hash::from_hex(text)
            .ok()
            .filter(|hash| hash.to_hex().as_str() == text);
        hash.map(|hash| Self(*hash.as_bytes()))
            .ok_or("a hash is 64 lower-case hexadecimal digits")
    }
}

impl TryFrom<String> for ContentHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

/// Hashes named fields, each with its length, so that different lists of fields never hash the same
/// bytes.
#[derive(Clone, Debug)]
pub struct FieldHasher(blake3::Hasher);

impl FieldHasher {
    /// A hasher for one kind of content.
    pub fn new(kind: &str) -> Self {
        let mut hasher = Self(blake3::Hasher::new());
        hasher.field("kind", kind.as_bytes());
        hasher
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.field_in_parts(name, value.len() as u64, std::iter::once(value))
    }

    /// Adds a field of `size` bytes, given in parts.
    pub fn field_in_parts(
        &mut self,
        name: &str,
        size: u64,
        parts: impl Iterator<Item: AsRef<[u8]>>,
    ) -> &mut Self {
        self.0.update(&(name.len() as u64).to_le_bytes());
        self.0.update(name.as_bytes());
        self.0.update(&size.to_le_bytes());
        let mut left = size;
        for part in parts {
            let part = part.as_ref();
            left = left
                .checked_sub(part.len() as u64)
                .expect("the parts are not larger than the field");
            self.0.update(part);
        }
        assert_eq!(left, 0, "the parts are as large as the field");
        self
    }

    /// The hash of all fields so far.
    pub fn finish(&self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_text() {
        let hash = ContentHash::of(b"renma");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for other in [
            "xyz".to_owned(),
            hash.to_string().to_uppercase(),
            format!("{hash}0"),
        ] {
            assert!(other.parse::<ContentHash>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_field_in_parts_is_that_field() {
        let whole = FieldHasher::new("t").field("a", b"renma").finish();
        let parts = [b"re".to_vec(), Vec::new(), b"nma".to_vec()];
        assert_eq!(
            FieldHasher::new("t")
                .field_in_parts("a", 5, parts.into_iter())
                .finish(),
            whole
        );
    }

    #[test]
    fn fields_do_not_run_together() {
        let hash = |first: &str, second: &str| {
            FieldHasher::new("t")
                .field("a", first.as_bytes())
                .field("b", second.as_bytes())
                .finish()
        };
        assert_ne!(hash("ab", "c"), hash("a", "bc"));
    }
}
