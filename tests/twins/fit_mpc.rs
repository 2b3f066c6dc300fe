//! MPC statistics: samples drawn and searched again, lines fitted in two passes, probes chosen by
//! their definition. Only nodes are counted by renma's own search.

use crate::mpc_line::{END, LEVELS, Line, Tails, covariance, rounded};
use crate::support::plain::{
    Board, Evaluate, Evaluation, Game, Purpose, Stream, move_value, negamax, solve, unit_of,
};
use crate::support::tables::{Columns, read_json, real, whole};
use crate::support::workspace::Workspace;
use renma::artifact::LoadedModel;
use renma::engine::{
    Depth, Limits, MpcEntry, MpcLevel, MpcTable, Opponent, Player, Position, SearchResult,
    Searcher, Square,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const RANGES: [[i64; 2]; 6] = [[0, 17], [18, 23], [24, 29], [30, 35], [36, 41], [42, 60]];

const END_RANGES: [[i64; 2]; 4] = [[12, 14], [15, 17], [18, 20], [21, 24]];

/// The source's shallow depths for the deep ones from 3 on.
const SOURCE: [i64; 14] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6];

/// Games are held out in this many turns.
const FOLDS: i64 = 5;

/// Where samples come from: so many from a game, one in each of equal ranges of empty squares.
struct Sampling {
    game_samples: i64,
    /// A game's share of random moves after its 10 random plies is drawn from 0 to this.
    exploration: f64,
    empties: [i64; 2],
    /// The share of samples that a search met below a position of the game, and its remaining depth
    /// there.
    tree_share: f64,
    tree_depths: [usize; 2],
    /// Samples with at most so many empty squares are solved.
    end_empties: i64,
    table_bits: u8,
}

impl Sampling {
    fn of(config: &Value) -> Self {
        let depth_max = whole(config, "depth_max");
        if config["method"] == "source" {
            return Self {
                game_samples: 1,
                exploration: 0.0,
                empties: [depth_max.max(14), 50],
                tree_share: 0.0,
                tree_depths: [3, 6],
                end_empties: 0,
                table_bits: 16,
            };
        }
        Self {
            game_samples: 4,
            exploration: 0.5,
            empties: [depth_max.max(12), 54],
            tree_share: 0.75,
            tree_depths: [3, 6].map(|depth: i64| depth.min(depth_max - 1) as usize),
            end_empties: (2 * depth_max - 2).clamp(12, 18),
            table_bits: 18,
        }
    }
}

/// A score in millidiscs and the nodes that it took.
#[derive(Clone, Copy)]
struct Searched {
    score: i32,
    nodes: u64,
}

struct Sample {
    id: i64,
    game: u64,
    board: Board,
    /// Remaining depth and lower bound of the null window in which a search met it.
    met: Option<(i64, i32)>,
    depths: Vec<Searched>,
    end: Option<Searched>,
}

impl Sample {
    fn empties(&self) -> i64 {
        self.board.empties() as i64
    }

    fn deep(&self, deep: i64) -> Option<f64> {
        let searched = if deep == END {
            self.end
        } else {
            Some(self.depths[deep as usize])
        };
        searched.map(|searched| f64::from(searched.score))
    }

    fn shallow(&self, depth: i64) -> f64 {
        f64::from(self.depths[depth as usize].score)
    }

    fn position(&self) -> Position {
        let [own, opponent] = self.board.bits();
        Position::new(Player(own), Opponent(opponent)).unwrap()
    }
}

fn read_samples(folder: &Path, depth_max: i64) -> Vec<Sample> {
    let rows = Columns::read_parts(&folder.join("samples"));
    let mut samples: Vec<Sample> = Vec::new();
    for row in 0..rows.count {
        let [id, empties, depth] =
            ["sample_id", "empties", "depth"].map(|name| rows.number(name, row));
        let searched = Searched {
            score: rows.number("score", row) as i32,
            nodes: rows.bits("nodes", row),
        };
        if depth == 0 {
            let [own, opponent] = ["player", "opponent"].map(|name| rows.bits(name, row));
            let met = rows
                .optional("alpha", row)
                .map(|alpha| (rows.number("met_depth", row), alpha as i32));
            let (game, board) = (rows.bits("game_id", row), Board::new(own, opponent));
            samples.push(Sample {
                id,
                game,
                board,
                met,
                depths: Vec::new(),
                end: None,
            });
        }
        let sample = samples.last_mut().unwrap();
        assert_eq!((id, empties), (sample.id, sample.empties()));
        if depth == sample.depths.len() as i64 && depth <= depth_max {
            sample.depths.push(searched);
        } else {
            assert_eq!(depth, empties);
            sample.end = Some(searched);
        }
    }
    assert!(
        samples
            .iter()
            .all(|sample| sample.depths.len() as i64 == depth_max + 1)
    );
    samples
}

/// A fit's folder of samples, its version and who was searched.
struct Fit {
    config: Value,
    sampling: Sampling,
    seed: u64,
    generation: u64,
    samples: Vec<Sample>,
    version: PathBuf,
    metrics: Value,
}

impl Fit {
    fn read(workspace: &Workspace, samples: &str, version: &str) -> Self {
        let version = workspace.path(version);
        let manifest = read_json(&workspace.path(samples).join("manifest.json"));
        let document = read_json(&version.join("model.json"));
        let config = document["config"].clone();
        Self {
            sampling: Sampling::of(&config),
            samples: read_samples(&workspace.path(samples), whole(&config, "depth_max")),
            seed: whole(&manifest, "seed") as u64,
            generation: whole(&manifest, "generation") as u64,
            config,
            version,
            metrics: document["metrics"].clone(),
        }
    }

    fn key(&self, name: &str) -> i64 {
        whole(&self.config, name)
    }

    /// The positions of a game, by its stream and a search of one ply; `None` where two moves are
    /// as good.
    fn game_positions(&self, rng: &mut Stream, player: Evaluate<'_>) -> Option<Vec<Board>> {
        let (count, [min, max]) = (self.sampling.game_samples, self.sampling.empties);
        let width = max - min + 1;
        let edge = |index: i64| index * width / count;
        loop {
            let draw = |index: i64| {
                min + edge(index) + rng.below((edge(index + 1) - edge(index)) as usize) as i64
            };
            let wanted: Vec<i64> = (0..count).rev().map(draw).collect();
            let exploration = self.sampling.exploration * rng.unit();
            let (mut game, mut boards) = (Game::new(), Vec::new());
            while !game.board.is_over() {
                if wanted.get(boards.len()) == Some(&(game.board.empties() as i64)) {
                    boards.push(game.board);
                    if boards.len() == wanted.len() {
                        return Some(boards);
                    }
                }
                let moves = game.board.moves();
                if game.ply < 10 || rng.unit() < exploration {
                    game.play(rng.pick(&moves));
                    continue;
                }
                let worth = |square: &usize| move_value(player, (&game.board, *square), (1, 0));
                let best = moves.iter().map(worth).max()?;
                let best: Vec<usize> = moves
                    .iter()
                    .copied()
                    .filter(|square| worth(square) == best)
                    .collect();
                let [square] = best[..] else { return None };
                game.play(square);
            }
        }
    }

    /// Compares the samples with those that the games' streams ask for; gives the number of games
    /// compared.
    fn check_drawn(&self, player: Evaluate<'_>) -> usize {
        let count = self.sampling.game_samples;
        let mut compared = 0;
        for samples in self.samples.chunks(count as usize) {
            let game = samples[0].game;
            let mut rng = Stream::new(self.seed, Purpose::MpcSample, [self.generation, game]);
            let Some(roots) = self.game_positions(&mut rng, player) else {
                continue;
            };
            compared += 1;
            for (number, (root, sample)) in (0..).zip(roots.iter().zip(samples)) {
                assert_eq!(
                    (sample.game, sample.id),
                    (game, game as i64 * count + number)
                );
                let in_tree = rng.unit() < self.sampling.tree_share;
                let [min, max] = self.sampling.tree_depths;
                let (depth, above) = (rng.between(min, max) as i64, rng.between(1, 2));
                let _choice = [(), ()].map(|()| rng.below(u32::MAX as usize));
                let Some((met_depth, _)) = sample.met else {
                    assert_eq!(sample.board, *root, "sample {}", sample.id);
                    continue;
                };
                assert!(in_tree && met_depth == depth, "sample {}", sample.id);
                assert!(
                    self.key("depth_max") as usize + above <= root.empties(),
                    "sample {}",
                    sample.id
                );
                let below: Vec<Board> = (0..above).fold(vec![*root], |boards, _| {
                    let next = |board: &Board| {
                        board
                            .moves()
                            .into_iter()
                            .map(|square| board.play(square))
                            .collect()
                    };
                    boards
                        .iter()
                        .flat_map(|board| [vec![*board], next(board)].concat())
                        .collect()
                });
                let met = |board: &Board| *board == sample.board || board.pass() == sample.board;
                assert!(
                    below.iter().any(met) && sample.board != *root,
                    "sample {}",
                    sample.id
                );
                assert!(
                    self.key("depth_max") <= sample.empties(),
                    "sample {}",
                    sample.id
                );
            }
        }
        compared
    }

    /// Compares scores with those of full-width searches, the costly ones now and then.
    fn check_scores(&self, player: Evaluate<'_>) {
        let end_empties = self.sampling.end_empties;
        let mut ends = 0;
        for (number, sample) in self.samples.iter().enumerate() {
            // Statistics begin with depth 3: up to there, every search is full width.
            let depth_max = if number % 20 == 0 && 0 < end_empties {
                3
            } else {
                2
            };
            for (depth, searched) in (0..=depth_max).zip(&sample.depths) {
                assert_eq!(
                    searched.score,
                    negamax(player, &sample.board, depth),
                    "depth {depth} of {}",
                    sample.id
                );
            }
            assert_eq!(
                sample.end.is_some(),
                sample.empties() <= end_empties,
                "sample {}",
                sample.id
            );
            if let Some(end) = sample.end {
                ends += 1;
                assert!(
                    ends % 10 != 1 || end.score == 1000 * solve(&sample.board, -64, 64),
                    "sample {}",
                    sample.id
                );
            }
        }
    }
}

fn ranges_of(deep: i64) -> &'static [[i64; 2]] {
    if deep == END { &END_RANGES } else { &RANGES }
}

/// The lines of a pair of depths in its ranges: a range with few samples takes those of all ranges,
/// and a level that leaves few samples outside takes the quantile of all ranges with enough.
fn fit_pair(samples: &[&Sample], deep: i64, shallow: i64) -> Vec<Line> {
    let ranges = ranges_of(deep);
    let whole = [ranges[0][0], ranges[ranges.len() - 1][1]];
    let pairs = |[min, max]: [i64; 2]| -> Vec<[f64; 2]> {
        let within = samples
            .iter()
            .filter(|sample| min <= sample.empties() && sample.empties() <= max);
        let pairs = within.filter_map(|sample| Some([sample.deep(deep)?, sample.shallow(shallow)]));
        pairs.filter(|pair| pair[1].abs() <= 40_000.0).collect()
    };
    let mut all_tails = Tails::default();
    let mut fits = Vec::new();
    for &range in ranges {
        let own = pairs(range);
        let enough = 100 <= own.len();
        let used = if enough { own } else { pairs(whole) };
        let mut line = Line {
            deep,
            shallow,
            empties: range,
            ..Line::through(&used, None)
        };
        line.spread(&used);
        let tails = line.tails(&used, Line::deviation);
        if enough {
            all_tails.0.extend(&tails.0);
        }
        fits.push((line, tails));
    }
    let with_quantiles = fits.into_iter().map(|(line, tails)| {
        let mut least = 0.0_f64;
        let quantiles = LEVELS.map(|level| {
            let outside = tails.0.len() * usize::from(100 - level) / 100;
            let own = 20 <= outside || all_tails.0.len() < tails.0.len();
            least = least.max(rounded(
                if own { &tails } else { &all_tails }.quantile(level),
                1e3,
            ));
            least
        });
        Line { quantiles, ..line }
    });
    with_quantiles.collect()
}

/// Nodes of a search until something cuts a sample's window, by a static value or by probes of two
/// sides each.
fn cost(sample: &Sample, lines: &[&Line], level: usize, by_depth: &[u64], deep_cost: u64) -> u64 {
    let Some((_, alpha)) = sample.met else {
        return 0;
    };
    let (alpha, beta) = (f64::from(alpha), f64::from(alpha + 1));
    let (mut try_low, mut try_high) = (true, true);
    let mut cost = 0;
    for line in lines {
        let value = sample.shallow(line.shallow);
        let t = line.quantiles[level] * if line.shallow == 0 { 2.0 } else { 1.0 };
        let flat = (line.slope - t * line.growth).max(0.1 * line.slope);
        let steep = line.slope + t * line.growth;
        let least = |value: f64| {
            value * if value < 0.0 { steep } else { flat } + line.offset - t * line.sigma
        };
        let most = |value: f64| {
            value * if value < 0.0 { flat } else { steep } + line.offset + t * line.sigma
        };
        if line.shallow == 0 {
            if beta < least(value) || most(value) < alpha {
                return cost;
            }
            let margin = 2.0 * line.deviation(value);
            try_low = line.predicted(value) <= alpha + margin;
            try_high = beta - margin <= line.predicted(value);
            continue;
        }
        // No probe asks for what no score can tell.
        for (tried, cuts) in [
            (try_high && beta < least(64_000.0), beta < least(value)),
            (try_low && most(-64_000.0) < alpha, most(value) < alpha),
        ] {
            if tried {
                cost += by_depth[line.shallow as usize];
                if cuts {
                    return cost;
                }
            }
        }
    }
    cost + deep_cost
}

/// Searches each position with an empty table.
fn searched(
    (model, table_bits): (&LoadedModel, u8),
    lines: &[&Line],
    boards: &[&Sample],
    depth: i64,
    level: MpcLevel,
) -> Vec<SearchResult> {
    let table = MpcTable::new(lines.iter().flat_map(|line| line.entries()).collect()).unwrap();
    let mut searcher = Searcher::new(&model.model.evaluation, &table, table_bits);
    let limits = Limits {
        mpc: level,
        ..Limits::full_width(Depth(depth as u8))
    };
    let search = |sample: &&Sample| {
        searcher.clear();
        searcher.search(sample.position(), limits)
    };
    boards.iter().map(search).collect()
}

fn nodes(results: &[SearchResult]) -> u64 {
    results.iter().map(|result| result.nodes).sum()
}

/// Lines by deep and shallow depth.
type Fits = BTreeMap<(i64, i64), Vec<Line>>;

impl Fit {
    fn fits(&self) -> Fits {
        let samples: Vec<&Sample> = self.samples.iter().collect();
        let depth_max = self.key("depth_max");
        let mut pairs: Vec<(i64, i64)> = (1..=depth_max)
            .flat_map(|deep| (0..deep).map(move |s| (deep, s)))
            .collect();
        if samples.iter().any(|sample| sample.end.is_some()) {
            pairs.extend((0..depth_max).map(|shallow| (END, shallow)));
        }
        pairs
            .into_iter()
            .map(|pair| (pair, fit_pair(&samples, pair.0, pair.1)))
            .collect()
    }

    /// The samples on which searches are measured, evenly spread: as many from each range of empty
    /// squares.
    fn measured(&self) -> Vec<&Sample> {
        let in_game = self.sampling.game_samples;
        let wanted = (whole(&self.config, "games") * in_game / 4).clamp(1, 100) as usize;
        let step = self.samples.len() / wanted;
        let step = if step.is_multiple_of(2) {
            step - 1
        } else {
            step
        };
        let measured: Vec<&Sample> = self.samples.iter().step_by(step).take(wanted).collect();
        let of_range = |range| {
            measured
                .iter()
                .filter(|sample| sample.id % in_game == range)
                .count()
        };
        let counts: BTreeSet<usize> = (0..in_game).map(of_range).collect();
        assert!(
            counts.last().unwrap() - counts.first().unwrap() <= 1,
            "{counts:?}"
        );
        measured
    }

    /// The level of the config among [`LEVELS`].
    fn level(&self) -> usize {
        LEVELS
            .iter()
            .position(|&level| i64::from(level) == self.key("level"))
            .unwrap()
    }

    /// Static values, and at each depth and range the shallow depth that saves most nodes, if it
    /// saves a fiftieth.
    fn chosen(&self, fits: &Fits, model: &LoadedModel) -> Vec<Line> {
        let level = self.level();
        let is_source =
            |(deep, shallow): (i64, i64)| SOURCE.get((deep - 3) as usize) == Some(&shallow);
        let first = fits
            .iter()
            .filter(|(pair, _)| pair.0 != END && (pair.1 == 0 || is_source(**pair)));
        let first: Vec<&Line> = first.flat_map(|(_, lines)| lines).collect();
        let mpc = MpcLevel::from_percent(LEVELS[level]).unwrap();
        let measured = self.measured();
        let mean_nodes = |depth| {
            (nodes(&searched(
                (model, self.sampling.table_bits),
                &first,
                &measured,
                depth,
                mpc,
            )) / measured.len() as u64)
                .max(1)
        };
        let by_depth: Vec<u64> = (0..=self.key("depth_max")).map(mean_nodes).collect();
        let mut chosen = Vec::new();
        for deep in fits.keys().map(|pair| pair.0).collect::<BTreeSet<i64>>() {
            for (place, &[min, max]) in ranges_of(deep).iter().enumerate() {
                let within = |sample: &&Sample| min <= sample.empties() && sample.empties() <= max;
                let within: Vec<&Sample> = self.samples.iter().filter(within).collect();
                let ends: Vec<u64> = within
                    .iter()
                    .filter_map(|sample| Some(sample.end?.nodes))
                    .collect();
                let end_cost = ends.iter().sum::<u64>() / ends.len().max(1) as u64;
                let deep_cost = if deep == END {
                    end_cost
                } else {
                    by_depth[deep as usize]
                };
                let is_met = |sample: &&Sample| {
                    sample.met.is_some() && (deep != END || sample.end.is_some())
                };
                let met: Vec<&Sample> = within.into_iter().filter(is_met).collect();
                let lines = |shallow: Option<i64>| -> Vec<&Line> {
                    let used = fits
                        .iter()
                        .filter(|((d, s), _)| *d == deep && (*s == 0 || shallow == Some(*s)));
                    used.map(|(_, lines)| &lines[place]).collect()
                };
                let total = |shallow: Option<i64>| -> u64 {
                    let lines = lines(shallow);
                    met.iter()
                        .map(|sample| cost(sample, &lines, level, &by_depth, deep_cost))
                        .sum()
                };
                let mut candidates = fits
                    .keys()
                    .filter(|pair| pair.0 == deep && 0 < pair.1)
                    .map(|pair| pair.1);
                let shallow = if 100 <= met.len() {
                    let (now, best) = (
                        total(None),
                        candidates.map(|depth| (total(Some(depth)), depth)).min(),
                    );
                    best.filter(|(nodes, _)| *nodes <= now - now / 50)
                        .map(|(_, depth)| depth)
                } else if deep == END {
                    continue;
                } else {
                    candidates.find(|&depth| is_source((deep, depth)))
                };
                chosen.extend(lines(shallow).into_iter().cloned());
            }
        }
        chosen
    }

    /// Compares the shares of predictions that miss, each fitted without the fold of its game.
    fn check_held_out(&self, chosen: &[Line]) {
        let folds = FOLDS;
        let fold_of = |sample: &Sample| {
            let unit = unit_of(self.seed, Purpose::Validation, &sample.game.to_le_bytes());
            (1..folds)
                .take_while(|&fold| fold as f64 / folds as f64 <= unit)
                .count() as i64
        };
        let mut groups: BTreeMap<String, Vec<(f64, [bool; 5])>> = BTreeMap::new();
        for (deep, shallow) in chosen
            .iter()
            .map(|line| (line.deep, line.shallow))
            .collect::<BTreeSet<_>>()
        {
            for fold in 0..folds {
                let (tried, fitted): (Vec<&Sample>, Vec<&Sample>) = self
                    .samples
                    .iter()
                    .partition(|sample| fold_of(sample) == fold);
                for line in fit_pair(&fitted, deep, shallow) {
                    let same = |used: &Line| {
                        (used.deep, used.shallow, used.empties) == (deep, shallow, line.empties)
                    };
                    if !chosen.iter().any(same) {
                        continue;
                    }
                    let [min, max] = line.empties;
                    for sample in tried
                        .iter()
                        .filter(|sample| min <= sample.empties() && sample.empties() <= max)
                    {
                        let (Some(value), prediction) =
                            (sample.deep(deep), sample.shallow(shallow))
                        else {
                            continue;
                        };
                        let rest = (value - line.predicted(prediction)).abs();
                        let deviations = rest / line.deviation(prediction).max(1.0);
                        let miss = (
                            rest.round(),
                            line.quantiles.map(|quantile| quantile < deviations),
                        );
                        let empties = match sample.empties() {
                            ..24 => "empties 0-23",
                            24..36 => "empties 24-35",
                            _ => "empties 36-60",
                        };
                        let size = match prediction.abs() {
                            ..8000.0 => "|v| < 8",
                            ..20_000.0 => "8 <= |v| < 20",
                            _ => "20 <= |v|",
                        };
                        let end = (deep == END).then_some("end");
                        for group in ["all", empties, size].into_iter().chain(end) {
                            groups.entry(group.to_owned()).or_default().push(miss);
                        }
                    }
                }
            }
        }
        let found = self.metrics["held_out"].as_array().unwrap();
        assert_eq!(
            found.len(),
            7 + usize::from(groups.contains_key("end")),
            "{found:?}"
        );
        for found in found {
            let misses = groups
                .remove(found["group"].as_str().unwrap())
                .unwrap_or_default();
            assert_eq!(whole(found, "pairs") as usize, misses.len(), "{found}");
            let count = misses.len().max(1) as f64;
            let squares = misses.iter().map(|(rest, _)| rest * rest).sum::<f64>();
            assert!(
                (real(found, "rms") - (squares / count).sqrt() / 1000.0).abs() < 1e-5,
                "{found}"
            );
            for (level, rate) in found["miss_rates"].as_array().unwrap().iter().enumerate() {
                let expected =
                    misses.iter().filter(|(_, missed)| missed[level]).count() as f64 / count;
                assert!(
                    (rate.as_f64().unwrap() - expected).abs() < 1e-5,
                    "{expected}: {found}"
                );
            }
        }
        assert!(groups.is_empty(), "{:?}", groups.keys());
    }

    /// Compares the version's file with the lines.
    fn check_file(&self, lines: &[Line]) {
        let rows = Columns::read_file(&self.version.join("mpc.parquet"));
        let expected: Vec<(MpcEntry, usize)> = lines
            .iter()
            .flat_map(|line| {
                line.entries()
                    .into_iter()
                    .map(|entry| (entry, line.samples))
            })
            .collect();
        assert_eq!(rows.count, expected.len());
        for (row, (entry, samples)) in expected.iter().enumerate() {
            for (name, expected) in [
                ("empties_min", i64::from(entry.empties_min)),
                ("empties_max", i64::from(entry.empties_max)),
                ("deep_depth", i64::from(entry.deep.0)),
                ("shallow_depth", i64::from(entry.shallow.0)),
                ("offset", i64::from(entry.offset.0)),
                ("sigma", i64::from(entry.sigma.0)),
                ("samples", *samples as i64),
            ] {
                assert_eq!(rows.number(name, row), expected, "{name} of {entry:?}");
            }
            let quantiles = LEVELS
                .iter()
                .zip(entry.quantiles)
                .map(|(level, value)| (format!("quantile_{level}"), value));
            let reals = [
                ("slope".to_owned(), entry.slope),
                ("growth".to_owned(), entry.growth),
            ];
            for (name, expected) in reals.into_iter().chain(quantiles) {
                assert!(
                    (rows.real(&name, row) - expected).abs() < 1e-9,
                    "{name} of {entry:?}"
                );
            }
        }
    }

    /// Compares what the table saves, and what it changes, at every level.
    fn check_nodes(&self, lines: &[Line], model: &LoadedModel) {
        let (found, depth, measured) = (
            &self.metrics["nodes"],
            self.key("depth_max"),
            self.measured(),
        );
        let lines: Vec<&Line> = lines.iter().collect();
        let search = |depth, level| {
            searched(
                (model, self.sampling.table_bits),
                &lines,
                &measured,
                depth,
                level,
            )
        };
        let full = search(depth, MpcLevel::FullWidth);
        assert_eq!(
            [whole(found, "depth"), whole(found, "positions")],
            [depth, measured.len() as i64]
        );
        assert_eq!(found["full_width"], nodes(&full));
        let margin = MpcLevel::Sigmas(real(&self.metrics, "t"));
        let levels =
            LEVELS.map(|level| (Value::from(level), MpcLevel::from_percent(level).unwrap()));
        let found_levels = found["levels"].as_array().unwrap();
        assert_eq!(found_levels.len(), 6);
        for (found, (name, level)) in found_levels
            .iter()
            .zip(levels.into_iter().chain([(Value::Null, margin)]))
        {
            let results = search(depth, level);
            let pairs = || full.iter().zip(&results);
            let squares = pairs()
                .map(|(full, result)| f64::from(full.score.0 - result.score.0).powi(2))
                .sum::<f64>();
            let same = pairs().filter(|(full, result)| {
                full.best_move.map(Square::number) == result.best_move.map(Square::number)
            });
            let count = measured.len() as f64;
            assert_eq!(
                (&found["level"], &found["nodes"]),
                (&name, &nodes(&results).into()),
                "{found}"
            );
            assert!(
                (real(found, "rms_difference") - (squares / count).sqrt() / 1000.0).abs() < 1e-5,
                "{found}"
            );
            assert!(
                (real(found, "same_move") - same.count() as f64 / count).abs() < 1e-5,
                "{found}"
            );
        }
        let level = MpcLevel::from_percent(LEVELS[self.level()]).unwrap();
        let gains = (1..=60 - depth)
            .take_while(|gained| nodes(&search(depth + gained, level)) <= nodes(&full));
        assert_eq!(found["depth_gained"], gains.count());
    }

    fn check_lines(&self, lines: &[Line]) {
        let found = self.metrics["depths"].as_array().unwrap();
        let names = |value: &Value| {
            (
                value["deep"].as_i64().unwrap_or(END),
                whole(value, "shallow"),
                whole(value, "empties_min"),
            )
        };
        let expected: Vec<_> = lines
            .iter()
            .map(|line| (line.deep, line.shallow, line.empties[0]))
            .collect();
        assert_eq!(found.iter().map(names).collect::<Vec<_>>(), expected);
        lines
            .iter()
            .zip(found)
            .for_each(|(line, found)| line.check(found));
        self.check_file(lines);
    }
}

fn fitted(workspace: &Workspace, changes: &[(&str, &str)]) -> (Fit, LoadedModel, Evaluation) {
    let config = workspace.config("fit", "smoke", changes);
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model");
    let call = format!(
        "fit-mpc --config {config} --generation 2 --model {} --models registry",
        model.display()
    );
    let id = workspace.done(&format!("{call} --output samples"));
    let fit = Fit::read(workspace, "samples", &format!("registry/{id}"));
    (
        fit,
        LoadedModel::read(&model).unwrap(),
        Evaluation::read(&model),
    )
}

#[test]
fn lines_probes_and_misses_are_those_of_the_samples() {
    let workspace = Workspace::new();
    let changes = [
        ("run.seed", "11"),
        ("fit_mpc.depth_max", "4"),
        ("fit_mpc.games", "300"),
        ("fit_mpc.part_games", "80"),
    ];
    let (fit, model, evaluation) = fitted(&workspace, &changes);
    let player = |board: &Board| evaluation.static_value(board);
    let compared = fit.check_drawn(&player);
    assert!(200 < compared, "{compared} games");
    fit.check_scores(&player);
    let chosen = fit.chosen(&fit.fits(), &model);
    fit.check_lines(&chosen);
    fit.check_held_out(&chosen);
    fit.check_nodes(&chosen, &model);
    let probes = chosen.iter().filter(|line| 0 < line.shallow).count();
    assert!(
        0 < probes && probes < 24 && chosen.iter().any(|line| line.samples < 300),
        "{probes}"
    );
}

#[test]
fn the_source_s_form_is_the_mean_and_deviation_of_differences() {
    let workspace = Workspace::new();
    let changes = [
        ("fit_mpc.method", "\"source\""),
        ("fit_mpc.t", "1.4"),
        ("fit_mpc.games", "60"),
        ("fit_mpc.depth_max", "5"),
    ];
    let (fit, _, evaluation) = fitted(&workspace, &changes);
    let player = |board: &Board| evaluation.static_value(board);
    assert!(40 < fit.check_drawn(&player));
    fit.check_scores(&player);
    let line = |deep: i64| {
        let shallow = SOURCE[deep as usize - 3];
        let pairs: Vec<[f64; 2]> = fit
            .samples
            .iter()
            .map(|sample| [sample.deep(deep).unwrap(), sample.shallow(shallow)])
            .collect();
        let mut line = Line {
            deep,
            shallow,
            empties: [deep, 60],
            ..Line::through(&pairs, Some(1.0))
        };
        let rests: Vec<f64> = pairs.iter().map(|[deep, shallow]| deep - shallow).collect();
        let deviation = covariance(&rests, &rests).sqrt();
        let tails = line.tails(&pairs, |_, _| deviation);
        Line {
            quantiles: LEVELS.map(|level| rounded(tails.quantile(level), 1e3)),
            ..line
        }
    };
    fit.check_lines(&[3, 4, 5].map(line));
}
