//! Step ids: what one run of a stage does, as one hash, by which the stage recognizes its own
//! result.

use super::hash::{ContentHash, FieldHasher};
use super::line::visible;
use serde::Serialize;
use serde_json::Value;

/// Names with values, in the order in which they are compared.
pub type Settings = Vec<(String, String)>;

/// One run of a stage: its inputs' contents, its config table and the version of its algorithm,
/// which determine its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The hash of all of it.
    pub id: ContentHash,
    /// Name and value of everything in the hash.
    pub settings: Settings,
}

impl Step {
    /// The run of a stage on the contents of its inputs, with its config table and the version of
    /// its algorithm.
    pub fn new(
        stage: &str,
        algorithm: u32,
        config: &impl Serialize,
        inputs: &[(&str, String)],
    ) -> Self {
        let config = serde_json::to_value(config).expect("a config is plain data");
        let mut hasher = FieldHasher::new("step");
        hasher.field("stage", stage.as_bytes());
        hasher.field("algorithm", &algorithm.to_le_bytes());
        hasher.field("config", config.to_string().as_bytes());
        for (name, value) in inputs {
            hasher.field(name, value.as_bytes());
        }
        let mut settings = table_settings(&stage.replace('-', "_"), &config);
        settings.extend(
            inputs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        settings.push(("algorithm".to_owned(), algorithm.to_string()));
        Self {
            id: hasher.finish(),
            settings,
        }
    }

    /// How something made earlier differs, by its own settings.
    pub fn difference(&self, found: &[(String, String)]) -> String {
        let theirs = |name: &str| {
            found
                .iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| value.as_str())
        };
        difference(&self.settings, theirs).unwrap_or_else(|| "another input".to_owned())
    }
}

/// The hash of settings, with what they are the settings of.
pub fn settings_hash(kind: &str, settings: &[(String, String)]) -> ContentHash {
    let mut hasher = FieldHasher::new(kind);
    for (name, value) in settings {
        hasher.field(name, value.as_bytes());
    }
    hasher.finish()
}

/// How settings recorded elsewhere differ: the first one with another value, and both values; else
/// the names of those that were not recorded. `None` if all are the same.
pub fn difference<'t>(
    ours: &[(String, String)],
    theirs: impl Fn(&str) -> Option<&'t str>,
) -> Option<String> {
    let differing = ours.iter().find_map(|(name, ours)| {
        let theirs = theirs(name).filter(|theirs| theirs != ours)?;
        Some(format!(
            "{name} is {} there and {} here",
            short(theirs),
            short(ours)
        ))
    });
    differing.or_else(|| {
        let unknown: Vec<&str> = ours
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| theirs(name).is_none())
            .collect();
        (!unknown.is_empty()).then(|| format!("another {}", unknown.join(", ")))
    })
}

/// The keys of a config table as settings, `table.key`.
pub fn table_settings(table: &str, config: &Value) -> Settings {
    let keys = config.as_object().into_iter().flatten();
    keys.map(|(key, value)| (format!("{table}.{key}"), value.to_string()))
        .collect()
}

/// A hash by its first digits, any other value as it is.
fn short(value: &str) -> String {
    value
        .parse()
        .map_or_else(|_| visible(value), ContentHash::short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_setting_that_differs_is_named_with_both_values() {
        let step = |epochs: u32, parent: &str| {
            let inputs = [
                ("seed", "1".to_owned()),
                ("parent", ContentHash::of(parent.as_bytes()).to_string()),
            ];
            Step::new(
                "fit-mpc",
                1,
                &json!({"epochs": epochs, "ratio": 0.5}),
                &inputs,
            )
        };
        let base = step(4, "a");
        assert_eq!(step(4, "a").id, base.id);
        assert_ne!(step(5, "a").id, base.id);
        assert_ne!(step(4, "b").id, base.id);
        assert_eq!(
            step(5, "b").difference(&base.settings),
            "fit_mpc.epochs is 4 there and 5 here"
        );
        assert!(
            step(4, "b")
                .difference(&base.settings)
                .starts_with("parent is ")
        );
        assert_eq!(
            base.difference(&base.settings[..2]),
            "another seed, parent, algorithm"
        );
    }
}
