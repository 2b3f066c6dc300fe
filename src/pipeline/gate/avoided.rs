//! Datasets whose positions must not be openings, so that no pair begins where the candidate was
//! trained.

use crate::artifact::{ArtifactError, ContentHash, Dataset};
use crate::engine::Position;
use crate::pipeline::request::RequestDataset;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator, ParallelSliceMut};

/// Squares that are empty before the first move.
const EMPTIES_AT_START: u8 = 60;

/// The datasets by content, each once; their order when named means nothing.
pub struct Avoided(Vec<Dataset>);

impl Avoided {
    /// Opens the datasets; their positions are read when they are needed.
    pub fn open(datasets: &[RequestDataset]) -> Result<Self, ArtifactError> {
        let mut datasets = datasets
            .iter()
            .map(|dataset| Dataset::open(&dataset.folder))
            .collect::<Result<Vec<_>, _>>()?;
        datasets.sort_by_key(|dataset| dataset.manifest().content);
        datasets.dedup_by_key(|dataset| dataset.manifest().content);
        Ok(Self(datasets))
    }

    /// Their contents, ascending.
    pub fn contents(&self) -> Vec<ContentHash> {
        self.0
            .iter()
            .map(|dataset| dataset.manifest().content)
            .collect()
    }

    /// Their positions after this many moves, canonical and ascending.
    pub fn positions(&self, moves: u8, context: Context<'_>) -> Result<Vec<Position>, StageError> {
        let parts: Vec<(&Dataset, usize)> = self
            .0
            .iter()
            .flat_map(|dataset| (0..dataset.part_count()).map(move |part| (dataset, part)))
            .collect();
        let read = |(dataset, part): (&Dataset, usize)| {
            context.check()?;
            let positions = dataset.positions(part, context.stop)?;
            // Borrowed: collected from owned rows, the few that are wanted would keep the memory of
            // all.
            let wanted = positions
                .iter()
                .filter(|(_, row)| row.empties == EMPTIES_AT_START - moves);
            Ok(wanted.map(|(position, _)| position.canonical()).collect())
        };
        context.pool()?.install(|| {
            let read: Result<Vec<Vec<Position>>, StageError> =
                parts.into_par_iter().map(read).collect();
            let mut positions = read?.concat();
            positions.par_sort_unstable();
            positions.dedup();
            Ok(positions)
        })
    }
}
