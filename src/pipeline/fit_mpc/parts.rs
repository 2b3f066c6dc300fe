//! The parts of the samples: positions of games with their searches.

use super::proof::SampleProof;
use super::recipe::recipe;
use super::sample::{Sample, Sampler};
use super::task::{FACTS, FitMpcTask};
use crate::artifact::GameId;
use crate::artifact::{
    ArtifactError, Footer, MPC_SAMPLES, MpcSampleRow, PartRange, Table, TableRow,
};
use crate::pipeline::parts::{CheckSampling, PartFiles, PartKind, Parts, Sink};
use crate::pipeline::stage::Facts;
use crate::pipeline::workers::{make_items, make_until};
use crate::pipeline::{Context, StageError};
use arrow::array::RecordBatch;
use std::path::Path;

/// The parts of a task whose samples are kept in a folder.
pub(super) fn sample_parts<'a>(
    task: &'a FitMpcTask,
    folder: &'a Path,
) -> Parts<'a, &'a FitMpcTask> {
    let (items, part_items) = (task.config.games, task.config.part_games);
    Parts {
        kind: task,
        recipe: recipe(task),
        folder,
        items,
        part_items,
    }
}

/// Searches the positions of games until `is_enough`, of at least one game, to see how long that
/// takes. Keeps nothing; returns the number of games.
///
/// # Errors
///
/// A bad setting or an interruption.
pub fn sample_until(
    task: &FitMpcTask,
    is_enough: impl Fn() -> bool,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let mut sampler = Sampler::new(task, context.stop);
    make_until(
        task.config.games,
        |game| sampler.samples(GameId(game)),
        is_enough,
    )
}

impl PartKind for &FitMpcTask {
    const FACTS: &'static Facts = &FACTS;
    /// An eighth of the games, if they are false, is found with a probability of 96 %.
    const SAMPLING: CheckSampling = CheckSampling {
        unit: "games",
        per: 25,
        min: 24,
        max: u64::MAX,
    };

    type Rows = Vec<Sample>;
    type Proof = SampleProof;

    fn rows_max(&self, _: &Table, range: &PartRange) -> u64 {
        // A sample has a row for each depth, and one for the end of the game.
        let config = &self.config;
        range.count * u64::from(config.sampling().game_samples) * (u64::from(config.depth_max) + 2)
    }

    fn read(&self, range: &PartRange, files: &[(Footer, RecordBatch)]) -> Option<Vec<Sample>> {
        let [(_, rows)] = files else { return None };
        let samples =
            Sample::from_rows(&MpcSampleRow::from_batch(rows).ok()?, self.config.depth_max).ok()?;
        samples
            .iter()
            .all(|sample| range.games().contains(&sample.game))
            .then_some(samples)
    }

    fn write(&self, samples: &Vec<Sample>, files: &mut PartFiles<'_>) -> Result<(), ArtifactError> {
        let rows: Vec<MpcSampleRow> = samples.iter().flat_map(Sample::rows).collect();
        files.write(&MPC_SAMPLES, &rows)
    }

    fn make(
        &self,
        ranges: &[PartRange],
        sink: &mut Sink<'_, Vec<Sample>>,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        let sampler = || Sampler::new(self, context.stop);
        let samples = |sampler: &mut Sampler<'_>, game| sampler.samples(GameId(game));
        let mut publish = |range: &PartRange, games: Vec<Vec<Sample>>| sink(range, games.concat());
        make_items(ranges, sampler, samples, &mut publish, context)
    }

    fn count(samples: &Vec<Sample>) -> Vec<(&'static str, u64)> {
        let games = samples
            .chunk_by(|left, right| left.game == right.game)
            .count();
        vec![("games", games as u64), ("samples", samples.len() as u64)]
    }

    fn difference(
        range: &PartRange,
        stored: &Vec<Sample>,
        again: &Vec<Sample>,
    ) -> Option<(&'static Table, String)> {
        let stored = stored
            .iter()
            .filter(|sample| range.games().contains(&sample.game));
        let reason = || {
            format!(
                "the samples of game {} are not those of its searches",
                range.first
            )
        };
        (!stored.eq(again)).then(|| (&MPC_SAMPLES, reason()))
    }
}
