//! `renma dataset export`.

use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::positions::{PositionRow, positions_table};
use crate::artifact::error::ArtifactError;
use crate::cli::arguments::{ExportFormat, OutputArguments};
use crate::cli::output::{Output, output_name, print_json, say, thousands};
use crate::cli::session::Session;
use crate::exchange::csv::{CSV_FILE, write_csv_head, write_csv_row};
use crate::exchange::obf::{OBF_FILE, write_obf_row};
use crate::pipeline::Context;
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;

pub(super) fn run(
    session: &Session,
    folder: &Path,
    format: ExportFormat,
    arguments: &OutputArguments,
) -> anyhow::Result<()> {
    let dataset = Dataset::open(folder)?;
    let kind = match format {
        ExportFormat::Csv => CSV_FILE,
        ExportFormat::Obf => OBF_FILE,
    };
    let output = Output::open(session, &arguments.output, kind, arguments.force)?;
    let context = session.context();
    context.progress.begin("export", dataset.part_count() as u64, "parts");
    let mut failure = None;
    let written = output.write(|writer| {
        if format == ExportFormat::Csv {
            write_csv_head(writer)?;
        }
        for index in 0..dataset.part_count() {
            let rows = sound_rows(&dataset, index, context).map_err(|error| {
                failure = Some(error);
                io::Error::other("its rows cannot be read")
            })?;
            rows.iter().try_for_each(|row| write_row(writer, format, row))?;
            context.progress.advance(1, rows.len() as u64);
        }
        Ok(())
    });
    context.progress.end();
    if let Some(error) = failure {
        return Err(error);
    }
    if !written? {
        return Ok(());
    }
    let positions = dataset.manifest().rows(POSITIONS.name);
    let output = output_name(&arguments.output);
    say(&format!("dataset export: {} positions in {}", thousands(positions), output.display()));
    if session.json { print_json(&json!({"output": output.to_string_lossy(), "positions": positions})) } else { Ok(()) }
}

/// The rows of a part, each a position: what is wrong with one is the dataset's fault, not that of the output.
fn sound_rows(dataset: &Dataset, index: usize, context: Context<'_>) -> anyhow::Result<Vec<PositionRow>> {
    context.check()?;
    let rows = dataset.rows(index)?;
    for (number, row) in rows.iter().enumerate() {
        row.position().map_err(|reason| {
            let path = part_path(dataset.folder(), positions_table(dataset.manifest().kind), index);
            ArtifactError::damaged(&path, format!("row {number}: {reason}"))
        })?;
    }
    Ok(rows)
}

fn write_row(writer: &mut dyn Write, format: ExportFormat, row: &PositionRow) -> io::Result<()> {
    match format {
        ExportFormat::Csv => write_csv_row(writer, row),
        ExportFormat::Obf => write_obf_row(writer, row),
    }
}
