//! The arguments of the `model` commands.

use super::OutputArguments;
use crate::artifact::ModelRef;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The `model` commands.
#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Print the versions of a registry as a table
    #[command(after_help = "Example: renma model list --models models/default")]
    List(RegistryArguments),
    /// Print one model with its lineage
    #[command(after_help = "Example: renma model show models/default/v0002")]
    Show {
        /// The model
        model: ModelRef,
        /// The registry for version ids and `champion` [default: the model's, else models/default]
        #[arg(long, value_name = "REG")]
        models: Option<PathBuf>,
        /// The datasets of the run [default: datasets/RUN beside models/RUN]
        #[arg(long, value_name = "DIR")]
        datasets: Option<PathBuf>,
    },
    /// Check every byte of every version of a registry, and of the datasets and gates that they
    /// name
    #[command(after_help = "Example: renma model verify --models models/default")]
    Verify(RegistryArguments),
    /// Put the version in an archive into a registry, or make one from another program's file
    #[command(
        after_help = "A version from an archive keeps its id and its hashes.\n\nExample: renma model import champion.renma --models models/try"
    )]
    Import {
        /// The file
        #[arg(value_name = "FILE")]
        input: PathBuf,
        /// Its format
        #[arg(long, value_enum, default_value = "renma")]
        format: ImportFormat,
        /// With mpc-dat: the model whose weights the statistics belong to
        #[arg(long, value_name = "MODEL")]
        model: Option<ModelRef>,
        /// With mpc-dat: its deviations are this many sigmas
        #[arg(long, default_value_t = 1.4, value_name = "T")]
        t: f64,
        /// The registry
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
    },
    /// Write a model as an archive, or in another program's format
    #[command(
        override_usage = "renma model export [OPTIONS] --model <MODEL> --format <FORMAT>\n                          --output <FILE>",
        after_help = "Every --model takes an archive.\n\nExample: renma model export --model champion --format renma --output champion.renma"
    )]
    Export {
        /// The model
        #[arg(long, value_name = "MODEL")]
        model: ModelRef,
        /// The format
        #[arg(long, value_enum)]
        format: ExportFormat,
        #[command(flatten)]
        output: OutputArguments,
        /// With mpc-dat: write deviations of this many sigmas
        #[arg(long, default_value_t = 1.4, value_name = "T")]
        t: f64,
        /// The registry for version ids and `champion`
        #[arg(long, value_name = "REG", default_value = "models/default")]
        models: PathBuf,
    },
}

/// The registry of a run, and its datasets.
#[derive(Args, Debug)]
pub struct RegistryArguments {
    /// The registry [default: models/default]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
    /// The datasets of the run [default: datasets/RUN beside models/RUN]
    #[arg(long, value_name = "DIR")]
    pub datasets: Option<PathBuf>,
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// FILE.renma: a version with all its files
    Renma,
    /// eval.dat: the 42,608 weights of es-cube
    EsCubeEval,
    /// mpc.dat: depth, offset and deviation from depth 3
    MpcDat,
}

/// The formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// FILE.renma: a version with all its files, the same bytes each time
    Renma,
    /// eval.dat: the 42,608 weights of es-cube
    EsCubeEval,
    /// eval.dat of Edax 4: the weights of its patterns for each ply
    EdaxEval,
    /// mpc.dat: depth, offset and deviation from depth 3
    MpcDat,
}
