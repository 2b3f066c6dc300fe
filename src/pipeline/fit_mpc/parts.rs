//! The samples on disk: parts of fixed ranges of games, found again after a kill.

use super::sample::{Sample, Sampler};
use super::task::{FitMpcConfig, FitMpcTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::mpc_samples::{MPC_SAMPLES, MpcSampleRow};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::recipe::Recipe;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::row::TableRow;
use crate::engine::search::mpc::MpcTable;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A part as a folder holds it; `None` if it is not there, damaged or shorter than asked.
pub(super) fn find_part(
    recipe: &Recipe,
    config: &FitMpcConfig,
    folder: &Path,
    range: &PartRange,
    stop: &AtomicBool,
) -> Result<Option<(Part, Vec<Sample>)>, ArtifactError> {
    let tables = [(&MPC_SAMPLES, range.count * config.game_rows_max())];
    let Some(found) = recipe.find(folder, range, &tables, stop)? else { return Ok(None) };
    let rows = found.files.iter().map(|(_, rows)| MpcSampleRow::from_batch(rows));
    // A value that no row can have: the part is made again.
    let Ok(rows) = rows.collect::<Result<Vec<_>, _>>() else { return Ok(None) };
    let samples = Sample::from_rows(&rows.concat(), config.depth_max).ok();
    let samples = samples.filter(|samples| samples.iter().all(|sample| range.ids().contains(&sample.game)));
    Ok(samples.map(|samples| (found.part, samples)))
}

/// Searches the samples of a part, on the threads of the current pool.
pub(super) fn make_part(
    task: FitMpcTask<'_>,
    range: PartRange,
    context: Context<'_>,
) -> Result<Vec<Sample>, StageError> {
    let no_table = MpcTable::empty();
    let games: Result<Vec<Vec<Sample>>, StageError> = range
        .ids()
        .into_par_iter()
        .map_init(
            || Sampler::new(task, &no_table, context.stop),
            |sampler, game| {
                context.check()?;
                let samples = sampler.samples(game)?;
                context.progress.advance(1);
                Ok(samples)
            },
        )
        .collect();
    Ok(games?.into_iter().flatten().collect())
}

/// Publishes a part.
pub(super) fn write_part(
    recipe: &Recipe,
    folder: &Path,
    range: &PartRange,
    samples: &[Sample],
) -> Result<Part, ArtifactError> {
    let rows: Vec<MpcSampleRow> = samples.iter().flat_map(Sample::rows).collect();
    let path = part_path(folder, &MPC_SAMPLES, range.index);
    let entry = MPC_SAMPLES.write_rows(&path, &rows, &recipe.footer(range))?;
    Ok(range.part(BTreeMap::from([(MPC_SAMPLES.name.to_owned(), entry)])))
}
