//! What a gate is asked to do, and what it reports.

use crate::artifact::{DatasetKind, LoadedModel, PARTS_MAX, VerdictFile};
use crate::engine::MpcLevel;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::keys::{Checked, ConfigTable, Key, KeyFault, Takes};
use crate::pipeline::level::{self, LEVEL};
use crate::pipeline::request::{Models, Request, RequestDataset, Role};
use crate::pipeline::selective::SelectiveConfig;
use crate::pipeline::stage::Facts;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Rises when the same inputs would give other games or another verdict.
pub const ALGORITHM: u32 = 5;

/// What is known of the stage.
pub const FACTS: Facts = Facts {
    name: "gate",
    config_table: GateConfig::NAME,
    algorithm: ALGORITHM,
    unit: "games",
    dataset: Some((DatasetKind::Gate, "gate")),
    registry_lock: None,
};

/// The pairs of a batch, which is one part: what a stopped gate loses at most, and how often a
/// sequential test looks.
///
/// In 10,000 simulated gates between 0 and 50 normalized Elo that look after every 8 pairs, 3.8 %
/// of the equal candidates are accepted, after 149 pairs on average. A decided test plays 4 pairs
/// too many, and a gate of 4,000 games has at most 250 files.
pub const BATCH_PAIRS: u64 = 8;

/// The risk that a sequential test accepts a candidate of `nelo0`, and the risk that it rejects one
/// of `nelo1`.
///
/// The usual 5 %: one promotion in twenty of an equal candidate costs less than the games that a
/// smaller risk takes.
pub(in crate::pipeline) const RISK: f64 = 0.05;

/// A sequential test takes an opening if the baseline's search to this depth ...
pub(in crate::pipeline) const BALANCE_DEPTH: u8 = 4;

/// ... scores it within this many discs, for on a lopsided opening the same color wins both games.
/// `mode = "games"` takes every opening, as the matches did that measured the shipped model.
pub(in crate::pipeline) const BALANCE_DISCS: f64 = 5.0;

/// The table of each search has 2^16 entries, 1 MiB for each player and thread. With 2^18 a gate of
/// 400 games to depth 4, exact from 14 empty squares, was the same game for game.
pub(in crate::pipeline) const TABLE_BITS: u8 = 16;

/// The most games: a part holds [`BATCH_PAIRS`] pairs.
const GAMES_MAX: u64 = 2 * BATCH_PAIRS * PARTS_MAX;

/// The range of the cost of a node. Sets of patterns differ by a factor of ten at most.
const NODE_COST: Takes = Takes::Number(0.01, 100.0);

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
    /// The cost of a node to the candidate and to the baseline, which divides `nodes`; without it
    /// recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_cost: Option<[f64; 2]>,
    pub exact_empties: u8,
    #[serde(with = "level")]
    pub mpc_level: MpcLevel,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<Checked<SelectiveConfig>>,
}

impl ConfigTable for GateConfig {
    const NAME: &'static str = "gate";

    const KEYS: &'static [Key] = &[
        Key::new("mode", Takes::Words(&["sprt", "games"])),
        Key::new("nelo0", Takes::Number(-500.0, 500.0))
            .unit("normalized Elo")
            .only("mode", &["sprt"]),
        Key::new("nelo1", Takes::Number(-500.0, 500.0))
            .unit("normalized Elo")
            .only("mode", &["sprt"]),
        Key::new("games", Takes::Whole(2, GAMES_MAX as i64)).unit("games"),
        Key::new("opening_plies", Takes::Whole(4, 20)).unit("plies"),
        Key::new("depth", Takes::Whole(1, 30)).unit("plies"),
        Key::new("nodes", Takes::Whole(0, 1 << 40)).unit("positions"),
        Key::new(
            "node_cost",
            Takes::Form(
                "two numbers from 0.01 to 100, such as [1.25, 1.0]",
                |value| {
                    let costs = value.as_array().filter(|costs| costs.len() == 2);
                    costs.is_some_and(|costs| costs.iter().all(|cost| NODE_COST.holds(cost)))
                },
            ),
        )
        .optional(),
        Key::new("exact_empties", Takes::Whole(0, 30)).unit("empty squares"),
        Key::new("mpc_level", LEVEL),
    ];

    fn check(&self) -> Result<(), KeyFault> {
        if !self.games.is_multiple_of(2) {
            return Err(KeyFault::new(
                "gate.games",
                self.games,
                "expected an even number: games come in pairs",
            ));
        }
        if let GateMode::Sprt { nelo0, nelo1 } = self.mode
            && nelo1 - nelo0 < 0.1 - 1e-9
        {
            let expected = format!("at least 0.1 more than gate.nelo0 = {nelo0} expected");
            return Err(KeyFault::new("gate.nelo1", nelo1, expected));
        }
        if let Some(costs) = self.node_cost.filter(|_| self.nodes == 0) {
            let expected = "expected a gate.nodes above 0, which it divides";
            return Err(KeyFault::new(
                "gate.node_cost",
                format!("{costs:?}"),
                expected,
            ));
        }
        Ok(())
    }
}

impl Checked<GateConfig> {
    /// The same match over this number of pairs, without a sequential test.
    ///
    /// # Errors
    ///
    /// More pairs than a match may have.
    pub fn of_pairs(&self, pairs: u64) -> Result<Self, KeyFault> {
        self.with(|gate| (gate.mode, gate.games) = (GateMode::Games {}, pairs.saturating_mul(2)))
    }
}

impl GateConfig {
    /// The positions that candidate and baseline may visit per move; `None` is unlimited.
    ///
    /// A player whose node costs c may visit the whole part of `nodes` / c, and at least one. The
    /// division is one of integers, with c in thousandths, so that it is the same everywhere.
    pub fn node_limits(&self) -> [Option<u64>; 2] {
        self.node_cost.unwrap_or([1.0; 2]).map(|cost| {
            let thousandths = (1000.0 * cost).round() as u64;
            (0 < self.nodes).then(|| (1000 * self.nodes / thousandths).max(1))
        })
    }
}

/// One call of the stage.
#[derive(Clone, Debug)]
pub struct GateTask<M = LoadedModel> {
    /// The `[gate]` table.
    pub config: Checked<GateConfig>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: Generation,
    /// The model that would be champion.
    pub candidate: M,
    /// The model that it plays.
    pub baseline: M,
    /// Datasets whose positions must not be openings, in any order.
    pub avoid: Vec<RequestDataset>,
    /// The dataset folder of the games.
    pub output: PathBuf,
}

impl<M: Clone> GateTask<M> {
    /// The task of a request.
    ///
    /// # Errors
    ///
    /// A bad setting, or no candidate, baseline or output.
    pub fn new(request: &Request, models: &Models<M>) -> Result<Self, StageError> {
        Ok(Self {
            config: request.table()?,
            seed: request.seed,
            generation: request.generation,
            candidate: models.get(Role::Candidate)?,
            baseline: models.get(Role::Baseline)?,
            avoid: request.datasets.clone(),
            output: request.needed_output()?,
        })
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
            mpc_level: MpcLevel::FullWidth,
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
            (
                1 << 40,
                Some([0.01, 100.0]),
                [Some(100 << 40), Some((1 << 40) / 100)],
            ),
        ] {
            assert_eq!(
                config(nodes, costs).node_limits(),
                expected,
                "{nodes} {costs:?}"
            );
        }
    }

    #[test]
    fn a_cost_out_of_range_or_without_a_limit_is_an_error() {
        let expected = "expected two numbers from 0.01 to 100, such as [1.25, 1.0]";
        for (nodes, costs, reason) in [
            (
                9,
                [0.0, 1.0],
                format!("gate.node_cost = [0.0,1.0]: {expected}"),
            ),
            (
                9,
                [1.0, 101.0],
                format!("gate.node_cost = [1.0,101.0]: {expected}"),
            ),
            (
                9,
                [1.0, f64::NAN],
                format!("gate.node_cost = [1.0,null]: {expected}"),
            ),
            (
                0,
                [1.0, 1.2],
                "gate.node_cost = [1.0, 1.2]: expected a gate.nodes above 0, which it divides"
                    .to_owned(),
            ),
        ] {
            assert_eq!(
                Checked::new(config(nodes, Some(costs))).unwrap_err().reason,
                reason
            );
        }
        Checked::new(config(9, Some([1.0, 1.2]))).unwrap();
    }

    #[test]
    fn a_table_without_costs_is_written_as_before() {
        let text = serde_json::to_string(&config(9, None)).unwrap();
        assert!(!text.contains("node_cost"), "{text}");
        let text = serde_json::to_string(&config(9, Some([1.0, 1.25]))).unwrap();
        assert!(text.contains("\"node_cost\":[1.0,1.25]"), "{text}");
    }
}
