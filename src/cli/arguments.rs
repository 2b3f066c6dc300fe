//! The command line.

pub mod bench;
pub mod dataset;
pub mod help;
pub mod model;
pub mod positions;
pub mod run;
pub mod shard;
pub mod stage;

use crate::config::setting::Setting;
use crate::config::{ConfigError, LoadedConfig, load_config_with};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use crate::run::order::GENERATION;
use bench::BenchCommand;
use clap::builder::{
    PathBufValueParser, PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser,
};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dataset::DatasetCommand;
use help::GLOBAL_OPTIONS;
use model::ModelCommand;
use positions::{EngineArguments, EvalArguments, PlayArguments, ServeArguments, SolveArguments};
use run::{GcArguments, LoopArguments, RunArguments, StatusArguments};
use shard::ShardCommand;
use stage::{PromoteArguments, StageCommand};
use std::path::{Path, PathBuf};

/// Trains Othello evaluation models by self-play.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 80)]
#[command(
    disable_help_flag = true,
    disable_help_subcommand = true,
    disable_version_flag = true
)]
pub struct Arguments {
    #[command(flatten)]
    pub global: GlobalArguments,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
pub struct GlobalArguments {
    /// Print one machine-readable result on stdout, errors too
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, display_order = 100)]
    pub json: bool,
    /// Progress on stderr: a bar, plain lines, none, or auto for a bar on a terminal and lines
    /// elsewhere
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, display_order = 101, value_name = "HOW", value_enum)]
    #[arg(default_value = "auto", hide_possible_values = true)]
    pub progress: ProgressMode,
    /// Print the details of what was done
    #[arg(long, short, global = true, help_heading = GLOBAL_OPTIONS, display_order = 103, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print errors only
    #[arg(long, short, global = true, help_heading = GLOBAL_OPTIONS, display_order = 104)]
    pub quiet: bool,
    /// Number of worker threads; does not affect what a stage writes [default: all cores]
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, display_order = 102, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print help; --help prints all options
    #[arg(short, long, global = true, help_heading = GLOBAL_OPTIONS, display_order = 105, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print version
    #[arg(short = 'V', long, global = true, help_heading = GLOBAL_OPTIONS, display_order = 106, action = ArgAction::Version)]
    version: Option<bool>,
}

/// How to show progress; `Auto` is a bar on a terminal, else lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    Auto,
    Bar,
    Plain,
    None,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a folder to work in, with pipeline.sh and all configs
    #[command(
        after_help = "Files that differ are never overwritten; the same ones stay.\n\nExample: renma init my-othello"
    )]
    Init {
        /// The folder, new or not
        #[arg(value_name = "DIR", value_parser = folder())]
        folder: PathBuf,
    },
    /// Make generations: generate, train, fit-mpc, gate, promote
    Run(LoopArguments),
    #[command(flatten)]
    Stage(StageCommand),
    /// Move the champion of a registry
    Promote(PromoteArguments),
    /// Show what is done, running, stale or missing in a run, and why
    Status(StatusArguments),
    /// Draw a run as one HTML page beside its models
    #[command(after_help = "Example: renma report --config configs/nightly.toml")]
    Report(RunArguments),
    /// Remove what a run no longer needs, and what killed processes left
    Gc(GcArguments),
    /// Show a config with everything that it leaves to the default
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check, summarize, import and export datasets
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// List, show, verify, import and export models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Divide a stage into shards for other machines, and merge them
    #[command(subcommand)]
    Shard(ShardCommand),
    /// Print static or searched values of positions
    Eval(EvalArguments),
    /// Print exact scores of positions
    Solve(SolveArguments),
    /// Play a game on the terminal
    Play(PlayArguments),
    /// Show a board to play on and the report of a run to browsers
    Serve(ServeArguments),
    /// Play as an engine of programs that speak the NBoard protocol
    #[command(
        after_help = "Example: renma nboard --model champion --depth 10 --mpc-level 93 --exact-empties 16"
    )]
    Nboard(EngineArguments),
    /// Play as an engine of programs that speak the Go Text Protocol
    #[command(
        after_help = "Example: renma gtp --model champion --depth 10 --mpc-level 93 --exact-empties 16"
    )]
    Gtp(EngineArguments),
    /// Measure speed, with node counts
    #[command(subcommand, hide = true)]
    Bench(BenchCommand),
    /// Print the script by which a shell completes commands and options
    #[command(
        hide = true,
        after_help = "Write it to where the shell looks, such as ~/.local/share/bash-completion/completions/renma for bash.\n\nExample: renma completions bash"
    )]
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: Shell,
    },
    /// Explain a command, with all its options
    #[command(hide = true, after_help = "Example: renma help shard run")]
    Help {
        /// List the commands that are rarely needed too
        #[arg(long)]
        all: bool,
        /// The command, such as `shard run`; without one, the commands are listed
        #[arg(value_name = "COMMAND", value_parser = command_word)]
        command: Vec<String>,
    },
}

/// The `config` commands.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every key with its value, and where the value comes from: a line of the file, --set,
    /// or the default
    #[command(after_help = "Example: renma config show --config configs/nightly.toml")]
    Show {
        /// The config: a file, or one of the program
        #[arg(long, value_name = "FILE", default_value = "builtin:default")]
        config: PathBuf,
        #[command(flatten)]
        set: SettingArguments,
    },
}

/// Keys of a config on the command line.
#[derive(Args, Debug)]
pub struct SettingArguments {
    /// Another value for a key of the config, such as train.epochs=3; repeat it for more keys
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<Setting>,
}

/// A config that must be named.
#[derive(Args, Debug)]
pub struct ConfigArguments {
    /// The config: a file, or one of the program, such as builtin:default
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    set: SettingArguments,
}

impl ConfigArguments {
    pub fn load(&self) -> Result<LoadedConfig, ConfigError> {
        load_config_with(&self.config, &self.set.settings)
    }
}

/// A file to write.
#[derive(Args, Debug)]
pub struct OutputArguments {
    /// A new file; `-` for stdout. A named pipe is written to
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite a file of the same format
    #[arg(long)]
    pub force: bool,
}

/// A generation, counted from 1.
fn generation() -> impl TypedValueParser<Value = Generation> {
    RangedU64ValueParser::<u32>::new()
        .range(1..)
        .map(Generation)
}

/// A stage of a run by its name.
fn stage_name() -> impl TypedValueParser<Value = Stage> {
    PossibleValuesParser::new(GENERATION.iter().map(|link| link.stage.name()))
        .map(|name| Stage::named(&name).expect("it is one of their names"))
}

/// A value, its name and what it means.
type Choice<T> = (T, &'static str, &'static str);

/// One of some values by its name.
fn choice<T: Copy + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let names = choices
        .iter()
        .map(|(_, name, meaning)| PossibleValue::new(name).help(meaning));
    PossibleValuesParser::new(names).map(|text| {
        let found = choices.iter().find(|(_, name, _)| *name == text);
        found.expect("it is one of their names").0
    })
}

/// A word of a command's name. After `--` an option could stand in its place.
fn command_word(text: &str) -> Result<String, &'static str> {
    if text.starts_with('-') {
        Err("expected the name of a command")
    } else {
        Ok(text.to_owned())
    }
}

/// A folder to write: unlike a file it cannot be stdout.
fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path == Path::new("-") {
            Err("`-` is stdout, and this is a folder")
        } else {
            Ok(path)
        }
    })
}
