//! The call that makes a report, and the commands about the same run that the report names.

use super::folders::{datasets_beside, generation_folder};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A run as a command line names it.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The config file.
    pub config: PathBuf,
    /// The keys that are set over it, as lines of TOML.
    pub settings: Vec<String>,
    /// The registry.
    pub models: PathBuf,
    /// The datasets.
    pub datasets: PathBuf,
}

impl Invocation {
    /// The options that name the config.
    pub fn config_options(&self) -> String {
        let settings = self
            .settings
            .iter()
            .map(|line| format!(" --set {}", quoted(Path::new(line))));
        format!(
            "--config {}{}",
            quoted(&self.config),
            settings.collect::<String>()
        )
    }

    /// `renma COMMAND` about the run.
    pub fn run_command(&self, run: &str, command: &str) -> String {
        let mut text = format!("renma {command} {}", self.config_options());
        if self.models != Path::new("models").join(run) {
            text += &format!(" --models {}", quoted(&self.models));
        }
        if self.datasets != Path::new("datasets").join(run) {
            text += &format!(" --datasets {}", quoted(&self.datasets));
        }
        text
    }

    /// `renma model COMMAND` about its registry.
    pub fn model_command(&self, command: &str) -> String {
        let mut text = format!("renma model {command} --models {}", quoted(&self.models));
        if self.datasets != datasets_beside(&self.models) {
            text += &format!(" --datasets {}", quoted(&self.datasets));
        }
        text
    }

    /// `renma dataset inspect` of one of its datasets.
    pub fn inspect_command(&self, stage: Stage, generation: Generation) -> String {
        format!(
            "renma dataset inspect {}",
            quoted(&generation_folder(&self.datasets, stage, generation))
        )
    }

    /// A file of its registry.
    pub fn model_file(&self, name: &str) -> String {
        self.models.join(name).to_string_lossy().into_owned()
    }

    /// A file of its datasets.
    pub fn data_file(&self, name: &str) -> String {
        self.datasets.join(name).to_string_lossy().into_owned()
    }
}

/// A path as a shell reads it.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    // Only a NUL cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_what_the_defaults_do_not() {
        let at = |config: &str, models: &str, datasets: &str| Invocation {
            config: config.into(),
            settings: Vec::new(),
            models: models.into(),
            datasets: datasets.into(),
        };
        let usual = at("configs/a.toml", "models/a", "datasets/a");
        assert_eq!(
            usual.run_command("a", "status"),
            "renma status --config configs/a.toml"
        );
        assert_eq!(
            usual.model_command("show v0001 --json"),
            "renma model show v0001 --json --models models/a"
        );
        let set = Invocation {
            settings: vec!["train.epochs = 3".into()],
            ..usual
        };
        assert_eq!(
            set.run_command("a", "status --json"),
            "renma status --json --config configs/a.toml --set 'train.epochs = 3'"
        );
        let other = at("my configs/a'b.toml", "models/b", "elsewhere");
        let options = "--config \"my configs/a'b.toml\" --models models/b --datasets elsewhere";
        assert_eq!(
            other.run_command("a'b", "status"),
            format!("renma status {options}")
        );
        assert_eq!(
            other.model_command("list"),
            "renma model list --models models/b --datasets elsewhere"
        );
        assert_eq!(
            other.inspect_command(Stage::Gate, Generation(3)),
            "renma dataset inspect elsewhere/gate/generation=0003"
        );
    }
}
