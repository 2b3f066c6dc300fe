//! The configs that are part of the program, and the pattern sets that they name.

use std::path::Path;

/// What the name of such a config begins with.
const PREFIX: &str = "builtin:";

/// Their texts, by name.
pub const CONFIGS: [(&str, &str); 7] = [
    ("default", super::DEFAULT),
    ("smoke", include_str!("../../configs/smoke.toml")),
    ("seed", include_str!("../../configs/seed.toml")),
    ("nightly", include_str!("../../configs/nightly.toml")),
    ("champion", include_str!("../../configs/champion.toml")),
    ("million", include_str!("../../configs/million.toml")),
    (
        "random-games",
        include_str!("../../configs/random-games.toml"),
    ),
];

/// The texts of the pattern sets, by the names that the configs have for them.
pub const FEATURES: [(&str, &str); 7] = [
    (
        "features/edax.toml",
        include_str!("../../configs/features/edax.toml"),
    ),
    (
        "features/edge-corner.toml",
        include_str!("../../configs/features/edge-corner.toml"),
    ),
    (
        "features/edge-corner-30.toml",
        include_str!("../../configs/features/edge-corner-30.toml"),
    ),
    (
        "features/es-cube.toml",
        include_str!("../../configs/features/es-cube.toml"),
    ),
    (
        "features/large.toml",
        include_str!("../../configs/features/large.toml"),
    ),
    (
        "features/large-12.toml",
        include_str!("../../configs/features/large-12.toml"),
    ),
    (
        "features/large-12-pairs.toml",
        include_str!("../../configs/features/large-12-pairs.toml"),
    ),
];

/// The name of the config without the prefix, if a path is that of a built-in one.
pub fn name_of(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(PREFIX)
}

/// The text of a config or a pattern set.
pub(super) fn text_of(texts: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    texts
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, text)| *text)
}

/// All configs as users name them, separated by commas.
pub(super) fn names() -> String {
    CONFIGS
        .map(|(name, _)| format!("{PREFIX}{name}"))
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_file_of_configs_is_part_of_the_program() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        let texts = |folder: &str, prefix: &str| -> BTreeMap<String, String> {
            let entries = std::fs::read_dir(root.join(folder))
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let files = entries.filter(|path| path.is_file());
            files
                .map(|path| {
                    let name = path.file_name().unwrap().to_str().unwrap();
                    (
                        format!("{prefix}{name}"),
                        std::fs::read_to_string(&path).unwrap(),
                    )
                })
                .collect()
        };
        let owned = |name: String, text: &str| (name, text.to_owned());
        let configs = CONFIGS.map(|(name, text)| owned(format!("{name}.toml"), text));
        assert_eq!(BTreeMap::from(configs), texts("", ""));
        assert_eq!(
            BTreeMap::from(FEATURES.map(|(name, text)| owned(name.to_owned(), text))),
            texts("features", "features/")
        );
    }
}
