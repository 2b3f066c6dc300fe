//! Makes a dataset of another program's games or positions, and labels them if asked to.

use crate::artifact::dataset::writer::written_before;
use crate::artifact::publish::read_bounded;
use crate::artifact::{
    ArtifactError, DatasetWriter, FieldHasher, ImportedGame, LoadedModel, Manifest, Provenance,
};
use crate::engine::{Depth, Limits, Searcher, Square};
use crate::exchange::board_text::read_board_text;
use crate::exchange::parquet::read_parquet;
use crate::exchange::records::{Records, SIZE_MAX};
use crate::exchange::transcripts::{read_ggf, read_transcripts};
use crate::exchange::wthor::read_wthor;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

/// Goes up when the same file would give another dataset.
const ALGORITHM: u32 = 1;

/// Games are labeled together until they have this many rows.
const BATCH_ROWS: usize = 1 << 14;

/// Each thread that labels has a transposition table of 2^16 entries.
const TABLE_BITS: u8 = 16;

/// Bytes of the input that are hashed between two looks at the stop flag.
const BYTES_BETWEEN_CHECKS: usize = 1 << 26;

/// Other programs' formats of games and positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportFormat {
    /// Tournament games.
    Wthor,
    /// One game per line, or under headers.
    Transcripts,
    /// Games of Othello servers.
    Ggf,
    /// Some columns of positions.
    Parquet,
    /// One position per line.
    Text,
}

/// The search that gives a score to positions without one.
#[derive(Clone, Copy, Debug)]
pub struct Labeler<'a> {
    /// The model that searches.
    pub model: &'a LoadedModel,
    /// Plies.
    pub depth: Depth,
}

/// One import.
#[derive(Clone, Copy, Debug)]
pub struct ImportTask<'a> {
    /// The file to read.
    pub input: &'a Path,
    /// Its format.
    pub format: ImportFormat,
    /// The dataset folder to make.
    pub output: &'a Path,
    /// Whether bad records are left out instead of ending the import.
    pub keep_going: bool,
    /// How positions without a score get one; `None` leaves them without.
    pub labeler: Option<Labeler<'a>>,
}

/// What became of the records.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportCounts {
    /// Records read.
    pub records: u64,
    /// Bad records, which were left out.
    pub bad: u64,
    /// Records without a legal move, which were left out.
    pub without_move: u64,
    /// Positions that were searched.
    pub labeled: u64,
}

/// The dataset that an import made or found.
#[derive(Clone, Debug)]
pub struct ImportReport {
    /// Its manifest.
    pub manifest: Manifest,
    /// `None` if the dataset was there already.
    pub counts: Option<ImportCounts>,
}

/// Imports a file, unless the same import was done before. `tell` takes what is not used of the
/// file, and bad records that are left out.
///
/// # Errors
///
/// An input that cannot be read or has no position, a bad record unless they are to be left out, or
/// an output that holds anything else; no dataset is left behind.
pub fn import(
    task: ImportTask<'_>,
    context: Context<'_>,
    mut tell: impl FnMut(&str),
) -> Result<ImportReport, StageError> {
    let bytes = read_bounded(task.input, SIZE_MAX)?;
    let config = config_of(task, &bytes, context)?;
    let mut records = match task.format {
        ImportFormat::Wthor => read_wthor(task.input, bytes)?,
        ImportFormat::Transcripts => read_transcripts(task.input, bytes)?,
        ImportFormat::Ggf => read_ggf(task.input, bytes)?,
        ImportFormat::Parquet => read_parquet(task.input, bytes, task.labeler.is_none())?,
        ImportFormat::Text => read_board_text(task.input, bytes)?,
    };
    let mut hasher = FieldHasher::new("recipe");
    hasher
        .field("stage", b"import")
        .field("algorithm", &ALGORITHM.to_le_bytes());
    hasher.field("config", config.to_string().as_bytes());
    if let Some(labeler) = task.labeler {
        hasher.field("labeler", labeler.model.content.to_string().as_bytes());
    }
    let recipe = hasher.finish();
    if let Some(manifest) = written_before(task.output, recipe)? {
        return Ok(ImportReport {
            manifest,
            counts: None,
        });
    }
    records.notes.iter().for_each(|note| tell(note));
    let mut writer = DatasetWriter::new(task.output, recipe)?;
    let total = records.total;
    let counts = context.observe("import", total, "records", || {
        write(&mut records, &mut writer, task, context, tell)
    })?;
    if counts.records == counts.bad + counts.without_move {
        let reason = format!("it has no position to import in {} records", counts.records);
        return Err(ArtifactError::unfit(task.input, reason).into());
    }
    let models = task
        .labeler
        .iter()
        .map(|labeler| ("labeler".to_owned(), labeler.model.content))
        .collect();
    let manifest = writer.finish(Provenance {
        models,
        config,
        asked: counts.records,
    })?;
    Ok(ImportReport {
        manifest,
        counts: Some(counts),
    })
}

fn write(
    records: &mut Records,
    writer: &mut DatasetWriter,
    task: ImportTask<'_>,
    context: Context<'_>,
    mut tell: impl FnMut(&str),
) -> Result<ImportCounts, StageError> {
    let mut counts = ImportCounts::default();
    let mut games: Vec<ImportedGame> = Vec::new();
    let mut rows = 0;
    let mut write_batch = |games: &mut Vec<ImportedGame>| -> Result<u64, StageError> {
        let labeled = task
            .labeler
            .map_or(Ok(0), |labeler| label(labeler, games, context))?;
        context.progress.advance(games.len() as u64);
        games.drain(..).try_for_each(|game| writer.push(game))?;
        Ok(labeled)
    };
    for record in &mut records.iter {
        context.check()?;
        counts.records += 1;
        match record {
            Ok(game) if game.rows.is_empty() => counts.without_move += 1,
            Ok(game) => {
                rows += game.rows.len();
                games.push(game);
            }
            Err(bad) if task.keep_going => {
                counts.bad += 1;
                tell(&format!("left out {bad}"));
            }
            Err(bad) => {
                let reason = format!("{bad}\n--keep-going leaves bad records out");
                return Err(ArtifactError::damaged(task.input, reason).into());
            }
        }
        if BATCH_ROWS <= rows {
            rows = 0;
            counts.labeled += write_batch(&mut games)?;
        }
    }
    counts.labeled += write_batch(&mut games)?;
    Ok(counts)
}

/// Searches the positions without a score, each game with an empty table; returns their number.
fn label(
    labeler: Labeler<'_>,
    games: &mut [ImportedGame],
    context: Context<'_>,
) -> Result<u64, StageError> {
    let model = &labeler.model.model;
    let new_searcher =
        || Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(context.stop);
    let label_game = |searcher: &mut Searcher<'_>, game: &mut ImportedGame| {
        context.check()?;
        searcher.clear();
        let mut count = 0;
        for row in game.rows.iter_mut().filter(|row| row.score.is_none()) {
            let position = row
                .position()
                .expect("a record was checked when it was read");
            let result = searcher
                .search(position, Limits::full_width(labeler.depth))
                .unless_stopped()?;
            row.score = Some(result.score);
            row.static_score = Some(model.evaluation.static_value(position));
            row.depth = Some(result.depth.0);
            row.exact = Some(result.exact);
            row.best_move = result.best_move.map(Square::number);
            count += 1;
        }
        Ok(count)
    };
    let counts: Result<Vec<u64>, StageError> = context.pool()?.install(|| {
        games
            .par_iter_mut()
            .map_init(new_searcher, label_game)
            .collect()
    });
    Ok(counts?.iter().sum())
}

/// What was asked for, as the manifest keeps it; the file is named by its content.
fn config_of(
    task: ImportTask<'_>,
    bytes: &[u8],
    context: Context<'_>,
) -> Result<serde_json::Value, StageError> {
    let mut hasher = blake3::Hasher::new();
    for some in bytes.chunks(BYTES_BETWEEN_CHECKS) {
        context.check()?;
        hasher.update(some);
    }
    let input = hasher.finalize().to_hex().to_string();
    let mut config = json!({"format": task.format, "input": input, "keep_going": task.keep_going});
    if let Some(labeler) = task.labeler {
        config["label_depth"] = labeler.depth.0.into();
    }
    Ok(config)
}
