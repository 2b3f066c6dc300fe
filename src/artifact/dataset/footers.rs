//! What every file of a dataset says of itself, compared with what the manifest says of it.

use super::folder::{Dataset, part_name_path};
use super::manifest::recipe_footer;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::{Footer, Table};
use std::collections::BTreeSet;

/// Checks that the footers of a part say what the manifest says: format, rules, units, recipe with its `settings`, the first
/// game, the number of games, and the hash of the values.
///
/// # Errors
///
/// The first key of a footer that differs, with both values, or a file that cannot be read.
pub fn check_footers(dataset: &Dataset, index: usize, settings: &[(String, String)]) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    let part = &manifest.parts[index];
    for (table, entry) in &part.files {
        let path = part_name_path(dataset.folder(), table, index);
        let mut expected = recipe_footer(manifest.recipe, settings);
        expected.insert("renma.first_game".into(), part.first.to_string());
        expected.insert("renma.games".into(), part.count.to_string());
        expected.insert("renma.content".into(), entry.content.to_string());
        if let Some(difference) = difference(&Table::read_footer(&path)?, &expected) {
            return Err(ArtifactError::damaged(&path, difference));
        }
    }
    Ok(())
}

/// The first of our keys that has another value, or is in one of both only. Other programs' keys do not count.
fn difference(footer: &Footer, expected: &Footer) -> Option<String> {
    let keys: BTreeSet<&String> =
        footer.keys().filter(|key| key.starts_with("renma.")).chain(expected.keys()).collect();
    let differing = keys.into_iter().find(|key| footer.get(*key) != expected.get(*key))?;
    let [found, listed] = [footer, expected].map(|side| side.get(differing).map_or("nothing", String::as_str));
    Some(format!("its footer says {differing} = {found}, and by the manifest it is {listed}"))
}
