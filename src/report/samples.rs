//! The samples behind a fit of MPC statistics.

use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, Dataset, MPC_SAMPLES, MpcSampleRow, NEVER};
use crate::generation::Generation;
use crate::pipeline::fit_mpc::metrics::{DepthFit, FitMpcMetrics};
use crate::pipeline::stage::Stage;
use crate::run::folders::generation_folder;
use std::path::Path;

/// More points than this make the chart no clearer.
const POINTS_MAX: usize = 1_500;

/// The pair of depths that is shown is one for positions with this number of empty squares.
const EMPTIES: u8 = 33;

/// The samples of one pair of depths.
#[derive(Clone, Debug)]
pub struct Scatter {
    pub generation: Generation,
    pub fit: DepthFit,
    /// Shallow and deep scores, in discs.
    pub points: Vec<[f64; 2]>,
    /// Whether there are more samples than points.
    pub is_part: bool,
}

/// The samples of the deepest prediction of a fit; `None` if they are gone.
pub fn scatter(
    generation: Generation,
    metrics: &FitMpcMetrics,
    datasets: &Path,
) -> Result<Option<Scatter>, ArtifactError> {
    let folder = generation_folder(datasets, Stage::FitMpc, generation);
    let fits = metrics.depths.iter().filter(|fit| fit.deep.is_some());
    let is_shown = |fit: &&&DepthFit| (fit.empties_min..=fit.empties_max).contains(&EMPTIES);
    let fit = fits
        .clone()
        .filter(|fit| is_shown(&fit))
        .max_by_key(|fit| (fit.deep, fit.shallow));
    let Some(fit) = fit.or(fits.clone().next_back()) else {
        return Ok(None);
    };
    if !exists(&folder.join("manifest.json"))? {
        return Ok(None);
    }
    let dataset = Dataset::open_any(&folder)?;
    let mut points = Vec::new();
    for index in 0..dataset.part_count() {
        if POINTS_MAX < points.len() {
            break;
        }
        points.extend(points_of(fit, &dataset.read(&MPC_SAMPLES, index, &NEVER)?));
    }
    let is_part = POINTS_MAX < points.len();
    points.truncate(POINTS_MAX);
    let scatter = Scatter {
        generation,
        fit: fit.clone(),
        points,
        is_part,
    };
    Ok((!scatter.points.is_empty()).then_some(scatter))
}

/// Shallow and deep scores of the samples of a fit, in discs.
fn points_of(fit: &DepthFit, rows: &[MpcSampleRow]) -> Vec<[f64; 2]> {
    let samples = rows.chunk_by(|left, right| left.sample_id == right.sample_id);
    let in_range =
        samples.filter(|rows| (fit.empties_min..=fit.empties_max).contains(&rows[0].empties));
    let score = |rows: &[MpcSampleRow], depth: u8| {
        rows.iter()
            .find(|row| row.depth == depth)
            .map(|row| row.score.discs())
    };
    in_range
        .filter_map(|rows| Some([score(rows, fit.shallow)?, score(rows, fit.deep?)?]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::GameId;
    use crate::engine::Score;

    #[test]
    fn a_point_is_a_sample_of_the_range_that_was_searched_to_both_depths() {
        let row = |sample_id, empties, depth, score| MpcSampleRow {
            sample_id,
            empties,
            depth,
            score: Score(score),
            game_id: GameId(0),
            player: 1,
            opponent: 2,
            met_depth: 0,
            alpha: None,
            nodes: 1,
        };
        let fit = DepthFit {
            empties_min: 30,
            empties_max: 35,
            deep: Some(2),
            shallow: 1,
            slope: 1.0,
            offset: 0,
            sigma: 1,
            growth: 0.0,
            quantiles: [1.0; 5],
            rest: 1,
            r_squared: 1.0,
            beyond_3: 0.0,
            samples: 1,
        };
        let rows = [
            row(1, 30, 0, 9000),
            row(1, 30, 1, 1000),
            row(1, 30, 2, -2500),
            row(2, 36, 1, 3000),
            row(2, 36, 2, 4000),
            row(3, 35, 0, 7000),
            row(3, 35, 1, 5000),
        ];
        assert_eq!(points_of(&fit, &rows), [[1.0, -2.5]]);
    }
}
