//! `renma dataset import`.

use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::positions::PositionRow;
use crate::artifact::dataset::writer::{DatasetWriter, ImportedGame, Provenance, written_before};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::cli::arguments::{DatasetFormat, ImportArguments};
use crate::cli::output::{print_json, say, thousands};
use crate::cli::session::{ChosenModel, Session, Stopwatch, model_or_default};
use crate::engine::board::square::Square;
use crate::engine::search::limits::Limits;
use crate::engine::search::searcher::{Searcher, Stopped};
use crate::exchange::board_text::read_board_text;
use crate::exchange::parquet::read_parquet;
use crate::exchange::records::Records;
use crate::exchange::transcripts::read_transcripts;
use crate::exchange::wthor::read_wthor;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Goes up when the same file would give another dataset.
const ALGORITHM: u32 = 1;

/// A table of 2^16 entries a thread.
const TABLE_BITS: u8 = 16;

/// Rows of the games that are labeled together.
const LOT_ROWS: usize = 1 << 14;

/// Bytes of the input that are hashed between two looks at the stop flag.
const BYTES_BETWEEN_CHECKS: u64 = 1 << 26;

/// Who labels, and how deep.
struct Labeler {
    chosen: ChosenModel,
    depth: u8,
}

/// What became of the records.
#[derive(Default)]
struct Counts {
    records: u64,
    bad: u64,
    without_move: u64,
    labeled: u64,
}

pub(super) fn run(session: &Session, arguments: &ImportArguments) -> anyhow::Result<()> {
    let labeler = match arguments.label_depth {
        Some(depth) => {
            let chosen = model_or_default(arguments.model.as_deref(), &arguments.models)?;
            Some(Labeler { chosen, depth })
        }
        None => None,
    };
    let stopwatch = Stopwatch::start();
    let mut records = read(arguments.format, &arguments.input)?;
    let config = config(arguments, labeler.as_ref(), session.context())?;
    let recipe = recipe(&config, labeler.as_ref());
    if let Some(manifest) = written_before(&arguments.output, recipe)? {
        say(&format!("dataset import: {} holds this already", arguments.output.display()));
        return report(session, arguments, &manifest, None);
    }
    if let Some(labeler) = &labeler {
        labeler.chosen.announce("dataset import");
    }
    for note in &records.notes {
        say(&format!("dataset import: {}: {note}", arguments.input.display()));
    }
    let mut writer = DatasetWriter::new(&arguments.output, DatasetKind::Imported, recipe)?;
    let context = session.context();
    context.progress.begin("import", records.total, "records");
    let counts = write(&mut records, &mut writer, arguments, labeler.as_ref(), context);
    context.progress.end();
    let counts = counts?;
    if counts.records == counts.bad + counts.without_move {
        let reason = format!("it has no position to import in {} records", counts.records);
        return Err(ArtifactError::unfit(&arguments.input, reason).into());
    }
    let models = labeler.iter().map(|labeler| ("labeler".to_owned(), labeler.chosen.model.content)).collect();
    let manifest = writer.finish(Provenance { models, config, parents: Vec::new(), asked: counts.records })?;
    let (games, positions) = (thousands(manifest.done), thousands(manifest.rows(POSITIONS.name)));
    let what = if manifest.bytes(GAMES.name) == 0 { "groups of positions" } else { "games" };
    say(&format!(
        "dataset import: {games} {what}, {positions} positions in {}, {} labeled, {:.1} s",
        arguments.output.display(),
        thousands(counts.labeled),
        stopwatch.seconds()
    ));
    if 0 < counts.bad {
        say(&format!("dataset import: {} bad records left out", thousands(counts.bad)));
    }
    if 0 < counts.without_move {
        say(&format!("dataset import: {} records without a legal move left out", thousands(counts.without_move)));
    }
    report(session, arguments, &manifest, Some(&counts))
}

fn read(format: DatasetFormat, input: &Path) -> Result<Records, ArtifactError> {
    match format {
        DatasetFormat::Wthor => read_wthor(input),
        DatasetFormat::Transcripts => read_transcripts(input),
        DatasetFormat::Parquet => read_parquet(input),
        DatasetFormat::Text => read_board_text(input),
    }
}

fn write(
    records: &mut Records,
    writer: &mut DatasetWriter,
    arguments: &ImportArguments,
    labeler: Option<&Labeler>,
    context: Context<'_>,
) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    let mut lot: Vec<ImportedGame> = Vec::new();
    let mut rows = 0;
    loop {
        context.check()?;
        let record = records.iter.next();
        let ended = record.is_none();
        match record {
            Some(Ok(game)) if game.rows.is_empty() => counts.without_move += 1,
            Some(Ok(game)) => {
                rows += game.rows.len();
                lot.push(game);
            }
            Some(Err(bad)) if arguments.keep_going => {
                counts.bad += 1;
                say(&format!("bad: {}: {bad}", arguments.input.display()));
            }
            Some(Err(bad)) => {
                let reason = format!("{bad}\n--keep-going leaves bad records out");
                return Err(ArtifactError::damaged(&arguments.input, reason).into());
            }
            None => {}
        }
        counts.records += u64::from(!ended);
        if LOT_ROWS <= rows || ended {
            if let Some(labeler) = labeler {
                counts.labeled += label(labeler, &mut lot, context)?;
            }
            context.progress.advance(lot.len() as u64, std::mem::take(&mut rows) as u64);
            lot.drain(..).try_for_each(|game| writer.push(game))?;
        }
        if ended {
            return Ok(counts);
        }
    }
}

/// Searches the positions without a score, game by game, each with an empty table; gives how many.
fn label(labeler: &Labeler, games: &mut [ImportedGame], context: Context<'_>) -> Result<u64, StageError> {
    let model = &labeler.chosen.model.model;
    let new_searcher = || Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(context.stop);
    let label_game = |searcher: &mut Searcher<'_>, game: &mut ImportedGame| {
        context.check()?;
        searcher.clear();
        let mut count = 0;
        for row in game.rows.iter_mut().filter(|row| row.score.is_none()) {
            label_row(searcher, labeler, row)?;
            count += 1;
        }
        Ok(count)
    };
    let counts: Result<Vec<u64>, StageError> =
        context.pool()?.install(|| games.par_iter_mut().map_init(new_searcher, label_game).collect());
    Ok(counts?.iter().sum())
}

fn label_row(searcher: &mut Searcher<'_>, labeler: &Labeler, row: &mut PositionRow) -> Result<(), Stopped> {
    let position = row.position().expect("a record was checked when it was read");
    let result = searcher.search(position, Limits::full_width(labeler.depth)).unless_stopped()?;
    row.score = Some(result.score);
    row.static_score = Some(labeler.chosen.model.model.evaluation.static_value(position));
    row.depth = Some(result.depth);
    row.exact = Some(result.exact);
    row.best_move = result.best_move.map(Square::number);
    Ok(())
}

/// What was asked for, as the manifest keeps it; the file is named by its content.
fn config(
    arguments: &ImportArguments,
    labeler: Option<&Labeler>,
    context: Context<'_>,
) -> Result<serde_json::Value, StageError> {
    let failed = |source| ArtifactError::io("read", &arguments.input, source);
    let mut hasher = blake3::Hasher::new();
    let mut file = std::fs::File::open(&arguments.input).map_err(failed)?;
    loop {
        context.check()?;
        let before = hasher.count();
        hasher.update_reader(file.by_ref().take(BYTES_BETWEEN_CHECKS)).map_err(failed)?;
        if hasher.count() == before {
            break;
        }
    }
    let format = match arguments.format {
        DatasetFormat::Wthor => "wthor",
        DatasetFormat::Transcripts => "transcripts",
        DatasetFormat::Parquet => "parquet",
        DatasetFormat::Text => "text",
    };
    let mut config = BTreeMap::from([
        ("format", json!(format)),
        ("input", json!(hasher.finalize().to_hex().to_string())),
        ("keep_going", json!(arguments.keep_going)),
    ]);
    config.extend(labeler.map(|labeler| ("label_depth", json!(labeler.depth))));
    Ok(json!(config))
}

fn recipe(config: &serde_json::Value, labeler: Option<&Labeler>) -> ContentHash {
    let mut hasher = FieldHasher::new("recipe");
    hasher.field("stage", b"import").field("algorithm", &ALGORITHM.to_le_bytes());
    hasher.field("config", config.to_string().as_bytes());
    if let Some(labeler) = labeler {
        hasher.field("labeler", labeler.chosen.model.content.to_string().as_bytes());
    }
    hasher.finish()
}

fn report(
    session: &Session,
    arguments: &ImportArguments,
    manifest: &Manifest,
    counts: Option<&Counts>,
) -> anyhow::Result<()> {
    if !session.json {
        return Ok(());
    }
    print_json(&json!({
        "skipped": counts.is_none(),
        "output": arguments.output.to_string_lossy(),
        "games": manifest.done,
        "positions": manifest.rows(POSITIONS.name),
        "records": manifest.asked,
        "bad_records": counts.map(|counts| counts.bad),
        "records_without_move": counts.map(|counts| counts.without_move),
        "positions_labeled": counts.map(|counts| counts.labeled),
        "bytes": manifest.bytes(GAMES.name) + manifest.bytes(POSITIONS.name),
        "content": manifest.content,
    }))
}
