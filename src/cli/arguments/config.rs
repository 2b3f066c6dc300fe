//! The arguments of `renma config`.

use clap::Subcommand;
use std::path::PathBuf;

/// The `config` commands.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Print every key with its value, and where the value comes from: a line of the file, or the default
    #[command(after_help = "Example: renma config show --config configs/nightly.toml")]
    Show {
        /// The config file [default: the default config, which is part of the program]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}
