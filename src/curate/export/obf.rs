//! All positions of a dataset as lines.

use super::{Exported, Failure};
use crate::artifact::{Dataset, POSITIONS};
use crate::exchange::obf::write_obf_row;
use crate::pipeline::Context;
use std::io::Write;

pub fn write(
    dataset: &Dataset,
    context: Context<'_>,
    writer: &mut dyn Write,
) -> Result<Exported, Failure> {
    for index in 0..dataset.part_count() {
        context.check()?;
        let rows = dataset.positions(index, context.stop)?;
        for (_, row) in &rows {
            write_obf_row(writer, row)?;
        }
        context.progress.advance(1);
    }
    Ok(Exported::Positions(dataset.manifest().rows(POSITIONS.name)))
}
