//! `renma dataset export`.

use crate::artifact::dataset::folder::Dataset;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::rows::DatasetRow;
use crate::artifact::publish::publish_file;
use crate::cli::arguments::ExportFormat;
use crate::cli::output::{print_json, say, thousands};
use crate::cli::session::Session;
use crate::exchange::csv::{write_csv_head, write_csv_row};
use crate::exchange::obf::write_obf_row;
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;

pub(super) fn run(session: &Session, folder: &Path, format: ExportFormat, output: &Path) -> anyhow::Result<()> {
    let dataset = Dataset::open(folder)?;
    let context = session.context();
    context.progress.begin("export", dataset.part_count() as u64, "parts");
    let mut failure = None;
    let written = publish_file(output, |writer| {
        if format == ExportFormat::Csv {
            write_csv_head(writer)?;
        }
        for index in 0..dataset.part_count() {
            let rows = context.check().map_err(anyhow::Error::from).and_then(|()| Ok(dataset.rows(index)?));
            let rows = rows.map_err(|error| {
                failure = Some(error);
                io::Error::other("its rows cannot be read")
            })?;
            rows.iter().try_for_each(|row| write_row(writer, format, row))?;
            context.progress.advance(1, rows.len() as u64);
        }
        Ok(())
    });
    context.progress.end();
    match failure {
        Some(error) => return Err(error),
        None => written?,
    }
    let positions = dataset.manifest().rows(POSITIONS.name);
    say(&format!("dataset export: {} positions in {}", thousands(positions), output.display()));
    if session.json { print_json(&json!({"output": output.to_string_lossy(), "positions": positions})) } else { Ok(()) }
}

fn write_row(writer: &mut impl Write, format: ExportFormat, row: &DatasetRow) -> io::Result<()> {
    match format {
        ExportFormat::Csv => write_csv_row(writer, row),
        ExportFormat::Obf => write_obf_row(writer, row),
    }
}
