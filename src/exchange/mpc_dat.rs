//! `mpc.dat`: the source's MPC statistics, i32 little endian: a count, then depth, offset and deviation (t·σ) from depth 3.

use crate::artifact::error::ArtifactError;
use crate::artifact::publish::{publish_bytes, read_bounded};
use crate::engine::search::mpc::{MpcEntry, MpcTable};
use std::path::Path;

/// The first depth of the file.
const DEEP_FIRST: u8 = 3;

/// Writes a table in the source's form: slope 1, one entry a depth, all empties, depths without a gap from 3.
///
/// # Errors
///
/// A table of another form, or whatever the system refuses.
pub fn export_mpc_dat(table: &MpcTable, t: f64, path: &Path) -> Result<(), ArtifactError> {
    let entries = table.entries();
    let mut words = vec![entries.len() as i32];
    for (deep, entry) in (DEEP_FIRST..).zip(entries) {
        if entry.deep != deep || entry.slope != 1.0 || entry.growth != 0.0 {
            let reason = "the model's statistics are not in the source's form: one entry a depth from 3, slope 1";
            return Err(ArtifactError::unfit(path, reason));
        }
        // `round` goes half away from zero, as the file's readers expect.
        words.extend([i32::from(entry.shallow), entry.offset, (t * f64::from(entry.sigma)).round() as i32]);
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    publish_bytes(path, &bytes)
}

/// Reads a table; sigma is deviation / t, rounded.
///
/// # Errors
///
/// A missing file, or one that holds no such table.
pub fn import_mpc_dat(path: &Path, t: f64) -> Result<MpcTable, ArtifactError> {
    let bytes = read_bounded(path, 1 << 16)?;
    let words: Vec<i32> =
        bytes.chunks_exact(4).map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let count = words.first().copied().unwrap_or(-1);
    if count < 0 || bytes.len() as u64 != 4 + 12 * count as u64 || 58 < count {
        let reason = format!("{} bytes are not a count and three numbers a depth", bytes.len());
        return Err(ArtifactError::damaged(path, reason));
    }
    let mut entries = Vec::new();
    for (deep, triple) in (DEEP_FIRST..).zip(words[1..].chunks_exact(3)) {
        let damaged = |reason: &str| ArtifactError::damaged(path, format!("depth {deep}: {reason}"));
        let shallow = u8::try_from(triple[0]).map_err(|_| damaged("its shallow depth is no depth"))?;
        let sigma = (f64::from(triple[2]) / t).round() as i32;
        entries.push(MpcEntry::source(deep, shallow, triple[1], sigma));
    }
    MpcTable::new(entries).map_err(|error| ArtifactError::damaged(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mpc.dat");
        let entry = MpcEntry::source;
        let table = MpcTable::new(vec![entry(3, 1, -20, 4000), entry(4, 2, 15, 3500)]).unwrap();
        export_mpc_dat(&table, 1.4, &path).unwrap();
        let expected: Vec<u8> =
            [2, 1, -20, 5600, 2, 15, 4900].iter().flat_map(|word: &i32| word.to_le_bytes()).collect();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(import_mpc_dat(&path, 1.4).unwrap().entries(), table.entries());
        for length in 0..expected.len() {
            publish_bytes(&path, &expected[..length]).unwrap();
            assert!(import_mpc_dat(&path, 1.4).is_err(), "length {length}");
        }
    }
}
