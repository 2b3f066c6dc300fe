//! `mpc.dat`: the source's MPC statistics, i32 little endian: a count, then depth, offset and
//! deviation (t·σ) from depth 3.

use crate::artifact::output::first_bytes;
use crate::artifact::publish::read_bounded;
use crate::artifact::{ArtifactError, FileKind};
use crate::engine::{Depth, MpcEntry, MpcTable, Score};
use std::path::Path;

/// The first depth of the file.
const DEEP_FIRST: u8 = 3;

/// The depths from [`DEEP_FIRST`] to the 60 plies of a game.
const DEPTHS_MAX: i32 = 58;

/// A larger file is not read.
const SIZE_MAX: u64 = 1 << 16;

/// A file of a count and that number of entries.
pub const MPC_DAT_FILE: FileKind = FileKind {
    name: "an mpc.dat",
    matches: |path| Ok(read_words(&first_bytes(path, SIZE_MAX)?).is_some()),
};

/// The bytes of `mpc.dat` for a table in the source's form: slope 1, one entry per depth, all
/// empties, depths without a gap from 3.
///
/// # Errors
///
/// Why the table cannot be written: it has another form, or deviations that are too large at this
/// `t`.
pub fn mpc_dat_bytes(table: &MpcTable, t: f64) -> Result<Vec<u8>, String> {
    let entries = table.entries();
    if entries.is_empty() {
        return Err("the model has no statistics".to_owned());
    }
    let mut words = vec![entries.len() as i32];
    for (deep, entry) in (DEEP_FIRST..).zip(entries) {
        if entry.deep != Depth(deep) || entry.slope != 1.0 || entry.growth != 0.0 {
            let reason = "the model's statistics are not in the source's form: one entry per depth from 3, slope 1";
            return Err(reason.to_owned());
        }
        // `round` goes half away from zero, as the file's readers expect.
        let deviation = (t * f64::from(entry.sigma.0)).round();
        if f64::from(i32::MAX) < deviation {
            return Err(format!(
                "depth {deep}: {t} sigmas of {} are more than mpc.dat can hold",
                entry.sigma.0
            ));
        }
        words.extend([i32::from(entry.shallow.0), entry.offset.0, deviation as i32]);
    }
    Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Reads a table; sigma is deviation / t, rounded.
///
/// # Errors
///
/// A missing file, or one without such a table.
pub fn import_mpc_dat(path: &Path, t: f64) -> Result<MpcTable, ArtifactError> {
    let bytes = read_bounded(path, SIZE_MAX)?;
    let words = read_words(&bytes).ok_or_else(|| {
        let reason = format!(
            "{} bytes are not a count and three numbers per depth",
            bytes.len()
        );
        ArtifactError::damaged(path, reason)
    })?;
    let mut entries = Vec::new();
    for (deep, triple) in (DEEP_FIRST..).zip(words[1..].chunks_exact(3)) {
        let damaged =
            |reason: &str| ArtifactError::damaged(path, format!("depth {deep}: {reason}"));
        let shallow =
            u8::try_from(triple[0]).map_err(|_| damaged("its shallow depth is not a depth"))?;
        let sigma = Score((f64::from(triple[2]) / t).round() as i32);
        entries.push(MpcEntry::source(
            Depth(deep),
            Depth(shallow),
            Score(triple[1]),
            sigma,
        ));
    }
    MpcTable::new(entries).map_err(|error| ArtifactError::damaged(path, error.to_string()))
}

/// The numbers of a file, unless it is not a count of depths and three numbers for each.
fn read_words(bytes: &[u8]) -> Option<Vec<i32>> {
    let words: Vec<i32> = bytes
        .chunks_exact(4)
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let count = words
        .first()
        .copied()
        .filter(|count| (1..=DEPTHS_MAX).contains(count))?;
    (bytes.len() == 4 + 12 * count as usize).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;

    #[test]
    fn a_table_survives_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mpc.dat");
        let entry = |deep, shallow, offset, sigma| {
            MpcEntry::source(Depth(deep), Depth(shallow), Score(offset), Score(sigma))
        };
        let table = MpcTable::new(vec![entry(3, 1, -20, 4000), entry(4, 2, 15, 3500)]).unwrap();
        publish_bytes(&path, &mpc_dat_bytes(&table, 1.4).unwrap()).unwrap();
        let expected: Vec<u8> = [2, 1, -20, 5600, 2, 15, 4900]
            .iter()
            .flat_map(|word: &i32| word.to_le_bytes())
            .collect();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(
            import_mpc_dat(&path, 1.4).unwrap().entries(),
            table.entries()
        );
        for length in 0..expected.len() {
            publish_bytes(&path, &expected[..length]).unwrap();
            assert!(import_mpc_dat(&path, 1.4).is_err(), "length {length}");
        }
        assert!(
            mpc_dat_bytes(&table, 1e6)
                .unwrap_err()
                .contains("1000000 sigmas")
        );
        let largest = f64::from(i32::MAX) / 4000.0;
        assert_eq!(
            mpc_dat_bytes(&table, largest).unwrap()[12..16],
            i32::MAX.to_le_bytes()
        );
    }
}
