//! What a gate is asked to do, and what it reports.

use crate::artifact::dataset::bounds::PARTS_MAX;
use crate::artifact::dataset::verdict::VerdictFile;
use crate::artifact::error::ArtifactError;
use crate::artifact::model::reference::LoadedModel;
use crate::pipeline::search_settings::{LevelSetting, SelectiveConfig};
use crate::pipeline::{StageError, check_range};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Rises when the same inputs would give other games or another verdict.
pub const ALGORITHM: u32 = 3;

/// The pairs of a batch, which is one part: what a stopped gate loses at most, and how often a sequential test looks.
///
/// In 10,000 simulated gates between 0 and 50 normalized Elo that look after every 8 pairs, 3.8 % of the equal candidates are
/// accepted, after 149 pairs on average. A decided test plays 4 pairs too many, and a gate of 4,000 games has at most 250 files.
pub const BATCH_PAIRS: u64 = 8;

/// The risk that a sequential test accepts a candidate of `nelo0`, and the risk that it rejects one of `nelo1`.
///
/// The usual 5 %: one promotion in twenty of an equal candidate costs less than the games that a smaller risk takes.
pub(in crate::pipeline) const RISK: f64 = 0.05;

/// A sequential test takes an opening if the baseline's search to this depth ...
pub(in crate::pipeline) const BALANCE_DEPTH: u8 = 4;

/// ... scores it within this many discs, for on a lopsided opening the same color wins both games. `mode = "games"` takes every
/// opening, as the matches did that measured the shipped model.
pub(in crate::pipeline) const BALANCE_DISCS: f64 = 5.0;

/// The table of each search has 2^16 entries, 1 MiB for each player and thread. With 2^18 a gate of 400 games to depth 4,
/// exact from 14 empty squares, was the same game for game.
pub(in crate::pipeline) const TABLE_BITS: u8 = 16;

/// The most games: a part holds [`BATCH_PAIRS`] pairs.
const GAMES_MAX: u64 = 2 * BATCH_PAIRS * PARTS_MAX;

/// The range of the cost of a node. Sets of patterns differ by a factor of ten at most.
const NODE_COST_MIN: f64 = 0.01;
const NODE_COST_MAX: f64 = 100.0;

/// How a match becomes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum GateMode {
    /// By a sequential test, which stops when it knows enough.
    Sprt { nelo0: f64, nelo1: f64 },
    /// By the Elo interval after all games.
    Games {},
}

/// The `[gate]` table.
///
/// The keys of the mode stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GateConfig {
    #[serde(flatten)]
    pub mode: GateMode,
    pub games: u64,
    pub opening_plies: u8,
    pub depth: u8,
    pub nodes: u64,
    /// The cost of a node to the candidate and to the baseline, which divides `nodes`; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_cost: Option<[f64; 2]>,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
}

impl GateConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        if self.games == 0 {
            return Err(StageError::Setting("gate.games = 0: at least one pair of games is needed".into()));
        }
        if !self.games.is_multiple_of(2) {
            return Err(StageError::Setting(format!("gate.games = {}: games come in pairs", self.games)));
        }
        check_range("gate.games", self.games, 2, GAMES_MAX)?;
        if let GateMode::Sprt { nelo0, nelo1 } = self.mode {
            check_range("gate.nelo0", nelo0, -500.0, 500.0)?;
            check_range("gate.nelo1", nelo1, -500.0, 500.0)?;
            if nelo1 < nelo0 + 0.1 {
                let reason = format!("at least 0.1 more than gate.nelo0 = {nelo0} expected");
                return Err(StageError::Setting(format!("gate.nelo1 = {nelo1}: {reason}")));
            }
        }
        check_range("gate.opening_plies", self.opening_plies, 4, 20)?;
        check_range("gate.depth", self.depth, 1, 30)?;
        check_range("gate.nodes", self.nodes, 0, 1 << 40)?;
        self.check_node_cost()?;
        check_range("gate.exact_empties", self.exact_empties, 0, 30)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("gate.mpc_level").map(|_| ())
    }

    /// The same match over this number of pairs, without a sequential test.
    #[must_use]
    pub fn of_pairs(&self, pairs: u64) -> Self {
        Self { mode: GateMode::Games {}, games: pairs.saturating_mul(2), ..self.clone() }
    }

    fn check_node_cost(&self) -> Result<(), StageError> {
        let Some(costs) = self.node_cost else { return Ok(()) };
        costs.into_iter().try_for_each(|cost| check_range("gate.node_cost", cost, NODE_COST_MIN, NODE_COST_MAX))?;
        if self.nodes == 0 {
            let reason = format!("gate.node_cost = {costs:?}: expected a gate.nodes above 0, which it divides");
            return Err(StageError::Setting(reason));
        }
        Ok(())
    }

    /// The positions that candidate and baseline may visit per move; `None` is unlimited.
    ///
    /// A player whose node costs c may visit the whole part of `nodes` / c, and at least one. The division is one of integers,
    /// with c in thousandths, so that it is the same everywhere.
    #[must_use]
    pub fn node_limits(&self) -> [Option<u64>; 2] {
        self.node_cost.unwrap_or([1.0; 2]).map(|cost| {
            let thousandths = (1000.0 * cost).round() as u64;
            (0 < self.nodes).then(|| (1000 * self.nodes / thousandths).max(1))
        })
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GateTask<'a> {
    /// The `[gate]` table.
    pub config: &'a GateConfig,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// The model that would be champion.
    pub candidate: &'a LoadedModel,
    /// The model that it plays.
    pub baseline: &'a LoadedModel,
    /// Datasets whose positions must not be openings, in any order.
    pub avoid: &'a [PathBuf],
    /// The dataset folder of the games.
    pub output: &'a Path,
    /// Whether to play the games of a finished gate again and compare.
    pub remake: bool,
}

impl GateTask<'_> {
    /// An error unless the MPC statistics of the candidate are fitted to its weights.
    pub(super) fn check_candidate(&self) -> Result<(), StageError> {
        let candidate = self.candidate;
        if candidate.document.is_none() || candidate.model.mpc_weights == Some(candidate.model.weights_hash()) {
            return Ok(());
        }
        let reason = "its MPC statistics are not fitted to its weights\nrun renma fit-mpc first";
        Err(ArtifactError::unfit(&candidate.place_name(), reason).into())
    }
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateReport {
    /// Whether the verdict was there already.
    pub skipped: bool,
    /// Games played by this call.
    pub games_played: u64,
    /// The verdict with the match.
    #[serde(flatten)]
    pub verdict: VerdictFile,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(nodes: u64, node_cost: Option<[f64; 2]>) -> GateConfig {
        GateConfig {
            mode: GateMode::Games {},
            games: 2,
            opening_plies: 8,
            depth: 1,
            nodes,
            node_cost,
            exact_empties: 0,
            mpc_level: LevelSetting::Percent(100),
            selective: None,
        }
    }

    #[test]
    fn a_player_whose_nodes_cost_more_visits_fewer() {
        for (nodes, costs, expected) in [
            (0, None, [None, None]),
            (1000, None, [Some(1000), Some(1000)]),
            (1000, Some([1.0, 1.0]), [Some(1000), Some(1000)]),
            (1000, Some([1.5, 0.5]), [Some(666), Some(2000)]),
            (10, Some([1.26, 1.0]), [Some(7), Some(10)]),
            // 0.1 in thousandths is exact, whatever a float makes of it.
            (3, Some([0.1, 0.3]), [Some(30), Some(10)]),
            (1, Some([100.0, 0.01]), [Some(1), Some(100)]),
            (1 << 40, Some([0.01, 100.0]), [Some(100 << 40), Some((1 << 40) / 100)]),
        ] {
            assert_eq!(config(nodes, costs).node_limits(), expected, "{nodes} {costs:?}");
        }
    }

    #[test]
    fn a_cost_out_of_range_or_without_a_limit_is_an_error() {
        for (nodes, costs, expected) in [
            (9, [0.0, 1.0], "gate.node_cost = 0: expected 0.01 to 100"),
            (9, [1.0, 101.0], "gate.node_cost = 101: expected 0.01 to 100"),
            (9, [1.0, f64::NAN], "gate.node_cost = NaN: expected 0.01 to 100"),
            (0, [1.0, 1.2], "gate.node_cost = [1.0, 1.2]: expected a gate.nodes above 0, which it divides"),
        ] {
            assert_eq!(config(nodes, Some(costs)).check().unwrap_err().to_string(), expected);
        }
        config(9, Some([1.0, 1.2])).check().unwrap();
    }

    #[test]
    fn a_table_without_costs_is_written_as_before() {
        let text = serde_json::to_string(&config(9, None)).unwrap();
        assert!(!text.contains("node_cost"), "{text}");
        let text = serde_json::to_string(&config(9, Some([1.0, 1.25]))).unwrap();
        assert!(text.contains("\"node_cost\":[1.0,1.25]"), "{text}");
    }
}
