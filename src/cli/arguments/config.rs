//! The arguments of `renma config`.

use super::SettingArguments;
use clap::Subcommand;
use std::path::PathBuf;

/// The `config` commands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Print every key with its value, and where the value comes from: a line of the file, --set, or the default
    #[command(after_help = "Example: renma config show --config configs/nightly.toml")]
    Show {
        /// The config: a file, or one of the program
        #[arg(long, value_name = "FILE", default_value = "builtin:default")]
        config: PathBuf,
        #[command(flatten)]
        set: SettingArguments,
    },
}
