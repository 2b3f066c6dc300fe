//! The figures of a fit.

use crate::engine::{Depth, LEVELS, MpcEntry, MpcLevel, Score};
use crate::pipeline::level;
use serde::{Deserialize, Serialize};

/// The statistics of one pair of depths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthFit {
    /// The fewest empty squares that they are for.
    pub empties_min: u8,
    /// The most empty squares that they are for.
    pub empties_max: u8,
    /// The depth predicted; `null`: the end of the game.
    pub deep: Option<u8>,
    /// The depth predicted from.
    pub shallow: u8,
    /// The slope of deep over shallow.
    pub slope: f64,
    /// The mean of deep − slope · shallow, in millidiscs.
    pub offset: i32,
    /// The standard deviation of the residual where the shallow score is 0, in millidiscs.
    pub sigma: i32,
    /// Millidiscs that the deviation grows by for each millidisc of |shallow|.
    pub growth: f64,
    /// The deviations within which 73, 87, 95, 98 and 99 % of the samples lie.
    pub quantiles: [f64; LEVELS.len()],
    /// The standard deviation of the residual over all shallow scores, in millidiscs.
    pub rest: i32,
    /// The share of the variance of deep scores that the line explains.
    pub r_squared: f64,
    /// The share of samples more than 3 deviations from the line; 0.0027 if they were normal.
    pub beyond_3: f64,
    /// Positions in the range; where there are few, the statistics are those of all ranges.
    pub samples: u64,
}

impl DepthFit {
    pub(super) fn pair(&self) -> Pair {
        Pair {
            deep: self.deep.map_or(Deep::End, Deep::Depth),
            shallow: self.shallow,
        }
    }

    /// What searches use: one entry, or one for each number of empty squares if the end is
    /// predicted.
    pub(super) fn entries(&self) -> impl Iterator<Item = MpcEntry> + '_ {
        let ranges = match self.deep {
            Some(_) => vec![[self.empties_min, self.empties_max]],
            None => (self.empties_min..=self.empties_max)
                .map(|empties| [empties; 2])
                .collect(),
        };
        ranges
            .into_iter()
            .map(|[empties_min, empties_max]| MpcEntry {
                empties_min,
                empties_max,
                deep: Depth(self.deep.unwrap_or(empties_max)),
                shallow: Depth(self.shallow),
                slope: self.slope,
                offset: Score(self.offset),
                sigma: Score(self.sigma),
                growth: self.growth,
                quantiles: self.quantiles,
            })
    }
}

/// The figures of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitMpcMetrics {
    /// The level for which probes were chosen.
    #[serde(with = "level")]
    pub level: MpcLevel,
    /// The margin in sigmas that searches of the source's form used while fitting.
    pub t: f64,
    /// The statistics, by depth.
    pub depths: Vec<DepthFit>,
    /// Misses on games held out; none for the source's form, which knows no levels.
    pub held_out: Vec<HeldOut>,
    /// What the table saves.
    pub nodes: NodesSaved,
}

impl FitMpcMetrics {
    /// The margin in sigmas of the searches that have no percentage.
    pub const fn margin(&self) -> f64 {
        if let MpcLevel::Sigmas(t) = self.level {
            t
        } else {
            self.t
        }
    }
}

/// Misses of the predictions of some kind, each fitted to other games than the one it is tried on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Which predictions: all, or those in a range of empty squares or of shallow values (discs),
    /// or of the end of the game.
    pub group: String,
    /// Predictions tried: a sample counts once for each pair of depths that the table has for it.
    pub pairs: u64,
    /// For each level (73, 87, 95, 98, 99 %) the share of deep values outside the margin, either
    /// side.
    pub miss_rates: [f64; LEVELS.len()],
    /// The root of the mean squared error, in discs.
    pub rms: f64,
}

/// Searches of one level against full width, at equal depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelNodes {
    /// In percent; `null` is a margin in sigmas: that of the config's `level` if it is one, else
    /// its `t`.
    pub level: Option<u8>,
    /// Nodes.
    pub nodes: u64,
    /// The root of the mean squared difference of the scores, in discs.
    pub rms_difference: f64,
    /// The share of positions with the same move.
    pub same_move: f64,
}

/// What the table saves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesSaved {
    /// The depth of the searches.
    pub depth: u8,
    /// Positions searched.
    pub positions: u64,
    /// Nodes of the full-width searches.
    pub full_width: u64,
    /// Those of each level.
    pub levels: Vec<LevelNodes>,
    /// The plies that the level of the config looks further with no more nodes than full width.
    pub depth_gained: u8,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deep {
    Depth(u8),
    /// The end of the game.
    End,
}

impl Deep {
    /// The ranges of empty squares with separate predictions.
    pub(super) const fn ranges(self) -> &'static [[u8; 2]] {
        if let Self::End = self {
            &END_RANGES
        } else {
            &RANGES
        }
    }
}

/// The ranges of empty squares; how well one depth predicts another changes slowly.
pub(super) const RANGES: [[u8; 2]; 6] = [[0, 17], [18, 23], [24, 29], [30, 35], [36, 41], [42, 60]];

/// The ranges for predictions of the end of the game: exact searches are guided from 12 empty
/// squares on.
const END_RANGES: [[u8; 2]; 4] = [[12, 14], [15, 17], [18, 20], [21, 24]];

/// What is predicted from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) deep: Deep,
    pub(super) shallow: u8,
}
