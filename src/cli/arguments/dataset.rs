//! The arguments of the `dataset` commands.

use super::{Choice, OutputArguments, choice, folder};
use crate::artifact::ModelRef;
use crate::curate::import::ImportFormat;
use crate::exchange::tokens::GAME_TOKENS_MAX;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// A format of `dataset export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportChoice {
    Obf,
    Tokens,
}

const EXPORT_FORMATS: [Choice<ExportChoice>; 2] = [
    (
        ExportChoice::Obf,
        "obf",
        "One position per line, with the best move and its score in whole discs",
    ),
    (
        ExportChoice::Tokens,
        "tokens",
        "One game per row of a Parquet file, as tokens of a language model",
    ),
];

const IMPORT_FORMATS: [Choice<ImportFormat>; 5] = [
    (ImportFormat::Wthor, "wthor", "Tournament games: .wtb"),
    (
        ImportFormat::Transcripts,
        "transcripts",
        "One game per line: f5d6c3...; or moves under headers as in PGN",
    ),
    (
        ImportFormat::Ggf,
        "ggf",
        "Games of Othello servers: (;GM[Othello]...B[F5]W[D6]...;)",
    ),
    (
        ImportFormat::Parquet,
        "parquet",
        "Columns black, white, black_to_move, and score (millidiscs) or result (discs); other columns of positions are optional",
    ),
    (
        ImportFormat::Text,
        "text",
        "One position per line: 64 characters, optionally the side to move, and its score in discs",
    ),
];

/// The `dataset` commands.
#[derive(Debug, Subcommand)]
pub enum DatasetCommand {
    /// Check hashes, schema and rows, replay every game, and recompute the verdict of a gate
    Verify(VerifyArguments),
    /// Summarize: counts, histograms, duplicates, variety, errors
    #[command(
        after_help = "Example: renma dataset inspect datasets/default/selfplay/generation=0001"
    )]
    Inspect {
        /// The dataset folder
        #[arg(value_name = "DIR")]
        dataset: PathBuf,
    },
    /// Make a dataset from another program's games or positions
    Import(ImportArguments),
    /// Write all positions or games in another program's format
    Export(ExportArguments),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma dataset export datasets/default/selfplay/generation=0001 --format tokens --labels --output tokens.parquet"
)]
pub struct ExportArguments {
    /// The dataset folder
    #[arg(value_name = "DIR")]
    pub dataset: PathBuf,
    /// The format
    #[arg(long, value_parser = choice(&EXPORT_FORMATS))]
    pub format: ExportChoice,
    #[command(flatten)]
    pub output: OutputArguments,
    /// With tokens: the number of tokens of each game; later moves are left out, and shorter games
    /// are padded with 0 [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(GAME_TOKENS_MAX)))]
    pub length: Option<u8>,
    /// With tokens: the share of games whose split is `validation`; symmetric games have the same
    /// split [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = share_or_none)]
    pub validation: Option<f64>,
    /// With tokens: also write the position of each move, its score and the loss of the move
    #[arg(long)]
    pub labels: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma dataset verify datasets/default/selfplay/generation=0001 --remake 1%"
)]
pub struct VerifyArguments {
    /// The dataset folder
    #[arg(value_name = "DIR")]
    pub dataset: PathBuf,
    /// Skip the replay of games
    #[arg(long)]
    pub fast: bool,
    /// Of self-play and gates: also play this share of the games again, and compare
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub remake: Option<f64>,
    /// With --remake: the seed that chooses games [default: a new one each time, printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// With --remake: the registry of the models that played [default: models/RUN for
    /// datasets/RUN/..., else models/default]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example: renma dataset import WTH_2023.wtb --format wthor --output datasets/ffo/imported/2023"
)]
pub struct ImportArguments {
    /// The file
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Its format
    #[arg(long, value_parser = choice(&IMPORT_FORMATS))]
    pub format: ImportFormat,
    /// The dataset folder, which must not exist
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub output: PathBuf,
    /// Skip bad records instead of stopping at the first; each is printed
    #[arg(long)]
    pub keep_going: bool,
    /// Search the positions without a score to this depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=30))]
    pub label_depth: Option<u8>,
    /// With --label-depth: the model that searches [default: champion, else builtin:champion]
    #[arg(long, value_name = "MODEL", requires = "label_depth")]
    pub model: Option<ModelRef>,
    /// The registry for version ids and `champion` [default: models/default]
    #[arg(long, value_name = "REG")]
    pub models: Option<PathBuf>,
}

/// A share as people write it: `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let share = number(text)?;
    if 0.0 < share && share <= 1.0 {
        Ok(share)
    } else {
        Err("expected more than 0 and at most 100%".into())
    }
}

/// A share that may be 0.
fn share_or_none(text: &str) -> Result<f64, String> {
    let share = number(text)?;
    if (0.0..=1.0).contains(&share) {
        // There is one zero.
        Ok(share.abs())
    } else {
        Err("expected 0 to 100%".into())
    }
}

fn number(text: &str) -> Result<f64, String> {
    let (digits, unit) = text
        .strip_suffix('%')
        .map_or((text, 1.0), |digits| (digits, 100.0));
    let number = digits.trim().parse::<f64>();
    Ok(number.map_err(|error| error.to_string())? / unit)
}
