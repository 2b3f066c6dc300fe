//! Least-squares lines: deep ≈ slope · shallow + offset, for each range of empty squares.

use super::{DEEP_MIN, DepthFit, FitMpcTask, Method, SHALLOW_DEPTHS, Statistics, row};
use crate::engine::board::position::Position;
use crate::engine::search::mpc::{MpcLevel, MpcTable};
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// The ranges of empty squares; how well a depth foretells another changes slowly.
const RANGES: [[u8; 2]; 4] = [[0, 21], [22, 31], [32, 41], [42, 60]];

/// A range with fewer samples takes the line of all ranges.
const SAMPLES_MIN: u64 = 50;

/// Values beyond this are of games that are decided, and say little about the others.
const SHALLOW_MAX: i32 = 40_000;

/// The statistics, and a row for each position and pair of depths.
///
/// All searches are full width: that is what a cut foretells.
pub(super) fn fit(
    task: FitMpcTask<'_>,
    positions: &[Position],
    context: Context<'_>,
) -> Result<Statistics, StageError> {
    let scores = search_all(task, positions, context)?;
    let (mut depths, mut rows) = (Vec::new(), Vec::new());
    for pair @ [deep, shallow] in pairs(task.config.depth_max) {
        let pick = |scores: &Vec<i32>| [deep, shallow].map(|depth| scores[usize::from(depth)]);
        let within = |[min, max]: [u8; 2]| {
            let samples = positions.iter().zip(&scores);
            let sums = samples.filter(|(position, _)| (min..=max).contains(&position.empties()));
            sums.fold(Sums::default(), |sums, (_, scores)| sums.with(pick(scores)))
        };
        let all = within([0, 60]);
        for range in RANGES {
            let sums = within(range);
            depths.push(if sums.count < SAMPLES_MIN { &all } else { &sums }.line(pair, range));
        }
        let samples = (0..).zip(positions.iter().zip(&scores));
        rows.extend(samples.map(|(id, (&position, scores))| row(id, position, pair, pick(scores))));
    }
    Ok((depths, rows))
}

/// Deep depths with the shallow ones that foretell them, in the order in which a search tries them.
fn pairs(depth_max: u8) -> impl Iterator<Item = [u8; 2]> {
    (Method::Line.deep_min()..=depth_max).flat_map(|deep| {
        let searched = deep.checked_sub(DEEP_MIN).map(|index| SHALLOW_DEPTHS[usize::from(index)]);
        std::iter::once(0).chain(searched).map(move |shallow| [deep, shallow])
    })
}

/// The value of each position at every depth from 0.
fn search_all(task: FitMpcTask<'_>, positions: &[Position], context: Context<'_>) -> Result<Vec<Vec<i32>>, StageError> {
    let no_table = MpcTable::empty();
    let new_searcher = || Searcher::new(&task.model.model.evaluation, &no_table, task.config.table_bits);
    positions
        .par_iter()
        .map_init(new_searcher, |searcher, &position| {
            context.check()?;
            context.progress.advance(1, 0);
            searcher.clear();
            let depths = 0..=task.config.depth_max;
            Ok(depths.map(|depth| searcher.score_at_depth(position, depth, MpcLevel::FullWidth).0).collect())
        })
        .collect()
}

/// What a line needs to know of its samples; integers, so that their order does not matter.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    deep: i64,
    shallow: i64,
    deep_squared: i128,
    shallow_squared: i128,
    product: i128,
}

impl Sums {
    fn with(self, [deep, shallow]: [i32; 2]) -> Self {
        if SHALLOW_MAX < shallow.abs() {
            return self;
        }
        let (deep, shallow) = (i64::from(deep), i64::from(shallow));
        Self {
            count: self.count + 1,
            deep: self.deep + deep,
            shallow: self.shallow + shallow,
            deep_squared: self.deep_squared + i128::from(deep * deep),
            shallow_squared: self.shallow_squared + i128::from(shallow * shallow),
            product: self.product + i128::from(deep * shallow),
        }
    }

    /// The least-squares line; slope 1 if the samples have no spread.
    fn line(&self, [deep, shallow]: [u8; 2], [empties_min, empties_max]: [u8; 2]) -> DepthFit {
        let count = self.count.max(1) as f64;
        // Sums of squares about the means, times the count: exact until the last step.
        let about = |squares: i128, left: i64, right: i64| {
            (squares * i128::from(self.count) - i128::from(left) * i128::from(right)) as f64 / (count * count)
        };
        let spread = about(self.shallow_squared, self.shallow, self.shallow);
        let together = about(self.product, self.deep, self.shallow);
        let slope = if together <= 0.0 { 1.0 } else { (together / spread * 10_000.0).round() / 10_000.0 };
        let offset = (self.deep as f64 - slope * self.shallow as f64) / count;
        let deep_spread = about(self.deep_squared, self.deep, self.deep);
        let variance = (deep_spread - 2.0 * slope * together + slope * slope * spread).max(0.0);
        DepthFit {
            empties_min,
            empties_max,
            deep,
            shallow,
            slope: slope.clamp(0.1, 10.0),
            offset: offset.round() as i32,
            sigma: variance.sqrt().round() as i32,
            samples: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_noise_is_found() {
        let noise = [300, -300, 100, -100];
        let samples = (-500..500).map(|x| [1200 * x / 10 + 2000 + noise[(x & 3) as usize], 100 * x]);
        let sums = samples.fold(Sums::default(), Sums::with);
        let fit = sums.line([4, 2], [0, 21]);
        assert_eq!(sums.count, 801, "those beyond 40 discs are left out");
        assert!(
            (fit.slope - 1.2).abs() < 1e-3 && (fit.offset - 2000).abs() < 20 && (fit.sigma - 224).abs() < 3,
            "{fit:?}"
        );
    }

    #[test]
    fn samples_without_spread_make_a_line_of_slope_one() {
        let fit = Sums::default().with([500, 100]).with([700, 100]).line([3, 1], [0, 60]);
        assert_eq!((fit.slope, fit.offset, fit.sigma), (1.0, 500, 100));
        assert_eq!(Sums::default().line([3, 1], [0, 60]).sigma, 0);
    }

    #[test]
    fn the_static_value_is_tried_first() {
        let found: Vec<_> = pairs(4).collect();
        assert_eq!(found, [[1, 0], [2, 0], [3, 0], [3, 1], [4, 0], [4, 2]]);
    }
}
