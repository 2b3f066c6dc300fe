//! OBF: a position a line.

use crate::artifact::error::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::engine::board::notation::{ObfLine, parse_obf};
use std::path::Path;

/// Reads the positions of a file, in order.
///
/// # Errors
///
/// A missing file, the first line that is no position, or a file without positions.
pub fn read_obf(path: &Path) -> Result<Vec<ObfLine>, ArtifactError> {
    let bytes = read_bounded(path, 1 << 30)?;
    let mut positions = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let bad = |reason: String| ArtifactError::damaged(path, format!("line {}, {reason}", number + 1));
        let line = std::str::from_utf8(line).map_err(|error| bad(format!("byte {}: not text", error.valid_up_to())))?;
        positions.extend(parse_obf(line).map_err(|error| bad(error.to_string()))?);
    }
    if positions.is_empty() {
        return Err(ArtifactError::unfit(path, "it holds no position"));
    }
    Ok(positions)
}
