//! What the footers of a dataset's files say, so that each file can be understood without its
//! manifest.

use super::manifest::{DatasetFormat, DatasetKind, Manifest, Part, RULES};
use crate::artifact::hash::ContentHash;
use crate::artifact::table::{Footer, difference_at};
use std::collections::BTreeSet;

/// The units of all columns; each column's description says from whose point of view.
const UNITS: &str = "scores in millidiscs, results in discs";

/// How the rows of every file of a format are to be read.
pub fn format_footer(format: DatasetFormat) -> Footer {
    let texts = [
        ("format", format.number().to_string()),
        ("rules", RULES.into()),
        ("units", UNITS.into()),
    ];
    texts.map(|(name, text)| (setting_key(name), text)).into()
}

/// The metadata in the footer of every file of a dataset.
pub(super) fn base_footer(format: DatasetFormat, recipe: ContentHash) -> Footer {
    let mut footer = format_footer(format);
    footer.insert(setting_key("recipe"), recipe.to_string());
    footer
}

/// What the footers of a part say by its manifest, with some of its settings.
pub(super) fn listed_footer<'s>(
    manifest: &Manifest,
    part: &Part,
    settings: impl IntoIterator<Item = &'s (String, String)>,
) -> Footer {
    let base = base_footer(manifest.format, manifest.recipe);
    part_footer(manifest.kind, base, settings, [part.first, part.count])
}

/// Adds to a footer the settings, the first item and the number of items.
pub(super) fn part_footer<'s>(
    kind: DatasetKind,
    mut footer: Footer,
    settings: impl IntoIterator<Item = &'s (String, String)>,
    range: [u64; 2],
) -> Footer {
    footer.extend(
        settings
            .into_iter()
            .map(|(name, value)| (setting_key(name), value.clone())),
    );
    let names = if kind == DatasetKind::Gate {
        ["first_pair", "pairs"]
    } else {
        ["first_game", "games"]
    };
    footer.extend(
        names
            .into_iter()
            .zip(range)
            .map(|(name, number)| (setting_key(name), number.to_string())),
    );
    footer
}

/// The key of a setting in a footer.
pub(super) fn setting_key(name: &str) -> String {
    format!("renma.{name}")
}

/// The value of a setting in a footer.
pub fn setting_in<'f>(footer: &'f Footer, name: &str) -> Option<&'f String> {
    footer.get(&setting_key(name))
}

/// The first of our keys that differs or is in one of both only. Other programs' keys do not count.
pub(super) fn footer_difference(footer: &Footer, expected: &Footer) -> Option<String> {
    let keys: BTreeSet<&String> = footer
        .keys()
        .filter(|key| key.starts_with("renma."))
        .chain(expected.keys())
        .collect();
    keys.into_iter()
        .find_map(|key| difference_at(key, footer, expected))
}
