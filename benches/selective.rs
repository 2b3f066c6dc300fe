//! What selective searches are worth: nodes, moves and Elo of every form, with the model that
//! ships.
//!
//! `cargo bench --bench selective -- POSITIONS.obf [PAIRS [FORM]]`: positions of the midgame in
//! OBF, pairs of games of a match (400), and part of the name of the only form of the ablation to
//! try. Node counts and games are the same on every machine; the nanoseconds, and the budgets made
//! from them, are not.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use renma::artifact::publish::read_bounded;
use renma::artifact::{Builtin, LoadedModel, ModelRef, Registry};
use renma::config::load_config;
use renma::engine::{
    Depth, Evaluation, Extension, Game, Limits, MpcLevel, MpcTable, Position, Score, SearchResult,
    Searcher, Selective, Square, Squares,
};
use renma::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use renma::generation::Generation;
use renma::pipeline::Context;
use renma::pipeline::fit_mpc::run::fit_mpc;
use renma::pipeline::fit_mpc::task::{FitMpcConfig, FitMpcTask, Method};
use renma::random::{Stream, stream};
use renma::statistics::elo::INTERVAL;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const TABLE_BITS: u8 = 18;
/// The depth of the comparison of both forms of statistics, and of that of all selective searches.
const DEEP: Depth = Depth(10);
const DEPTH: Depth = Depth(6);
/// Random plies of an opening, empty squares from which both players solve, nodes of a move.
const OPENING_PLIES: u8 = 8;
const EXACT_EMPTIES: u8 = 10;
const NODES: u64 = 2_000;
/// Nodes of a move without statistics in the match with and without them.
const NODES_LONG: u64 = 20_000;
/// More moves than any position has: nothing is pruned.
const MOVES_MAX: u8 = 36;

/// A way to search.
#[derive(Clone, Copy)]
struct Form<'a> {
    name: &'a str,
    mpc: &'a MpcTable,
    level: MpcLevel,
    selective: Selective,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"));
    let Some(path) = arguments.next() else {
        println!("no positions: cargo bench --bench selective -- POSITIONS.obf [PAIRS]");
        return Ok(());
    };
    let pairs: u64 = arguments.next().map_or(Ok(400), |count| count.parse())?;
    let only = arguments.next();
    let positions: Vec<Position> = read_positions(
        Path::new(&path),
        read_bounded(Path::new(&path), POSITIONS_SIZE_MAX)?,
    )?
    .iter()
    .map(|scored| scored.game.latest().position)
    .collect();
    let positions: Vec<Position> = positions
        .into_iter()
        .filter(|position| position.legal_moves() != 0)
        .collect();
    let model = LoadedModel::builtin(Builtin::Champion);
    let evaluation = &model.model.evaluation;
    let source_table = source_form()?;
    let none = Form {
        name: "none",
        mpc: &model.model.mpc,
        level: MpcLevel::FullWidth,
        selective: Selective::NONE,
    };
    let full = |level| Form {
        name: "MPC, full form",
        level,
        ..none
    };
    let source = |level| Form {
        name: "MPC, source form",
        mpc: &source_table,
        ..full(level)
    };

    if only.is_none() {
        let levels = [MpcLevel::P73, MpcLevel::P87, MpcLevel::P95];
        compare_deep(
            evaluation,
            none,
            &levels.map(|level| [source(level), full(level)]).concat(),
            &positions,
        );
    }
    let prune = |selective| Form {
        name: "",
        selective,
        ..none
    };
    let plain = Selective::NONE;
    let forms = [
        none,
        Form {
            name: "nothing, by the selective entry",
            ..prune(Selective {
                rank: Some(MOVES_MAX),
                ..plain
            })
        },
        Form {
            name: "threshold, 4 discs",
            ..prune(Selective {
                threshold: Some(Score(4_000)),
                ..plain
            })
        },
        Form {
            name: "rank, 6 moves",
            ..prune(Selective {
                rank: Some(6),
                ..plain
            })
        },
        Form {
            name: "extension, horizon",
            ..prune(Selective {
                extension: Some(Extension::Horizon),
                ..plain
            })
        },
        Form {
            name: "extension, every depth",
            ..prune(Selective {
                extension: Some(Extension::EveryDepth),
                ..plain
            })
        },
        source(MpcLevel::P87),
        full(MpcLevel::P87),
    ];
    println!(
        "depth {}; Elo over none at {NODES} nodes per move, {pairs} pairs",
        DEPTH.0
    );
    let wide = search_all(evaluation, &none, &positions, DEPTH);
    for form in forms.into_iter().filter(|form| {
        only.as_ref()
            .is_none_or(|only| form.name.contains(only.as_str()))
    }) {
        let found = search_all(evaluation, &form, &positions, DEPTH);
        let changed = wide
            .iter()
            .zip(&found)
            .filter(|(wide, found)| wide.best_move != found.best_move)
            .count();
        let elo = play_match(evaluation, [&form, &none], [NODES; 2], pairs);
        println!(
            "{}: {} nodes, {:.1} % of moves changed, {elo}",
            form.name,
            nodes(&found),
            100.0 * changed as f64 / wide.len() as f64
        );
    }

    let levels = [MpcLevel::P73, MpcLevel::P87]
        .into_iter()
        .filter(|_| only.is_none());
    for level in levels {
        let [wide_cost, full_cost] =
            [none, full(level)].map(|form| nanoseconds(evaluation, &form, &positions));
        let budget = (NODES_LONG as f64 * wide_cost / full_cost) as u64;
        let elo = play_match(
            evaluation,
            [&full(level), &none],
            [budget, NODES_LONG],
            pairs,
        );
        println!(
            "{level:?}: {full_cost:.1} ns a node, {wide_cost:.1} without; {budget} nodes against {NODES_LONG}: {elo}"
        );
    }
    Ok(())
}

/// Nodes, moves and scores of selective searches against full width, at equal depth.
fn compare_deep(
    evaluation: &Evaluation,
    none: Form<'_>,
    forms: &[Form<'_>],
    positions: &[Position],
) {
    println!("depth {} of {} positions", DEEP.0, positions.len());
    let wide = search_all(evaluation, &none, positions, DEEP);
    for form in forms {
        let found = search_all(evaluation, form, positions, DEEP);
        let (near, same) = near_moves(evaluation, positions, &wide, &found);
        println!(
            "{:?} {}: {} nodes, {:.1} % of {}; {near:.1} % of moves within a disc, {same:.1} % the same; rms {:.2} discs",
            form.level,
            form.name,
            nodes(&found),
            100.0 * nodes(&found) as f64 / nodes(&wide) as f64,
            nodes(&wide),
            rms(&wide, &found)
        );
    }
}

/// The source's statistics for the model that ships, to the same depth.
fn source_form() -> Result<MpcTable, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let config = load_config(Path::new("configs/seed.toml"))?.config.fit_mpc;
    let changed =
        |fit: &mut FitMpcConfig| (fit.method, fit.depth_max) = (Method::Source { t: 1.4 }, DEEP.0);
    let config = config.with(changed)?;
    let model = LoadedModel::builtin(Builtin::Champion);
    let registry = Registry::new(folder.path());
    let task = FitMpcTask {
        config,
        seed: 1,
        generation: Generation(1),
        model,
        registry,
        output: None,
    };
    let stop = AtomicBool::new(false);
    let report = fit_mpc(
        &task,
        Context {
            threads: 2,
            stop: &stop,
            budget_spent: &stop,
            progress: &(),
            host: &(),
        },
    )?;
    Ok(report
        .id
        .parse::<ModelRef>()?
        .load(folder.path())?
        .model
        .mpc
        .clone())
}

fn search(
    searcher: &mut Searcher<'_>,
    form: &Form<'_>,
    position: Position,
    limits: Limits,
) -> SearchResult {
    searcher.clear();
    searcher.search(
        position,
        Limits {
            mpc: form.level,
            selective: form.selective,
            ..limits
        },
    )
}

fn search_all(
    evaluation: &Evaluation,
    form: &Form<'_>,
    positions: &[Position],
    depth: Depth,
) -> Vec<SearchResult> {
    let new_searcher = || Searcher::new(evaluation, form.mpc, TABLE_BITS);
    let limits = Limits::full_width(depth);
    positions
        .par_iter()
        .map_init(new_searcher, |searcher, &position| {
            search(searcher, form, position, limits)
        })
        .collect()
}

fn nodes(results: &[SearchResult]) -> u64 {
    results.iter().map(|result| result.nodes).sum()
}

fn rms(wide: &[SearchResult], found: &[SearchResult]) -> f64 {
    let squares = wide
        .iter()
        .zip(found)
        .map(|(wide, found)| libm::pow((wide.score - found.score).discs(), 2.0));
    (squares.sum::<f64>() / wide.len() as f64).sqrt()
}

/// The share in percent of moves whose full-width score is within a disc of the best one's, and of
/// those that are the same.
fn near_moves(
    evaluation: &Evaluation,
    positions: &[Position],
    wide: &[SearchResult],
    found: &[SearchResult],
) -> (f64, f64) {
    let no_table = MpcTable::empty();
    let new_searcher = || Searcher::new(evaluation, &no_table, TABLE_BITS);
    let near = (0..positions.len())
        .into_par_iter()
        .map_init(new_searcher, |searcher, index| {
            let (wide, found) = (&wide[index], &found[index]);
            if wide.best_move == found.best_move {
                return true;
            }
            let Some(next) = found
                .best_move
                .and_then(|square| positions[index].play(square))
            else {
                return false;
            };
            searcher.clear();
            let (score, _) = searcher
                .score_at_depth(next, DEEP - 1, MpcLevel::FullWidth)
                .expect("nothing stops it");
            wide.score + score <= Score::DISC
        });
    let near = near.filter(|near| *near).count();
    let same = wide
        .iter()
        .zip(found)
        .filter(|(wide, found)| wide.best_move == found.best_move)
        .count();
    let percent = |count: usize| 100.0 * count as f64 / positions.len() as f64;
    (percent(near), percent(same))
}

/// Processor time of a node, in nanoseconds, at the nodes of the long match; the least of three.
fn nanoseconds(evaluation: &Evaluation, form: &Form<'_>, positions: &[Position]) -> f64 {
    let mut searcher = Searcher::new(evaluation, form.mpc, TABLE_BITS);
    let limits = Limits {
        nodes: Some(NODES_LONG),
        ..Limits::full_width(Depth(30))
    };
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let begin = thread_seconds();
        let nodes: u64 = positions
            .iter()
            .map(|&position| search(&mut searcher, form, position, limits).nodes)
            .sum();
        least = least.min(1e9 * (thread_seconds() - begin) / nodes as f64);
    }
    least
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The Elo of the first form over the second, each with its nodes a move, over openings played with
/// both colors.
fn play_match(
    evaluation: &Evaluation,
    forms: [&Form<'_>; 2],
    budgets: [u64; 2],
    pairs: u64,
) -> String {
    let new_searchers = || forms.map(|form| Searcher::new(evaluation, form.mpc, TABLE_BITS));
    let half_points: Vec<i32> = (0..pairs)
        .into_par_iter()
        .map_init(new_searchers, |searchers, pair| {
            let opening = opening(pair);
            [true, false]
                .map(|black| play(searchers, forms, budgets, &opening, black).signum() + 1)
                .iter()
                .sum()
        })
        .collect();
    let count = half_points.len() as f64;
    let mean = half_points
        .iter()
        .map(|&points| f64::from(points) / 4.0)
        .sum::<f64>()
        / count;
    let squares = half_points
        .iter()
        .map(|&points| libm::pow(f64::from(points) / 4.0 - mean, 2.0))
        .sum::<f64>();
    let error = (squares / count).sqrt() / count.sqrt();
    let elo = |points: f64| -400.0 * libm::log10(1.0 / points.clamp(1e-6, 1.0 - 1e-6) - 1.0);
    let [low, middle, high] = [-INTERVAL, 0.0, INTERVAL].map(|errors| elo(mean + errors * error));
    format!("{middle:+.0} Elo [{low:+.0}, {high:+.0}]")
}

fn opening(pair: u64) -> Vec<Square> {
    for attempt in 0_u64.. {
        let mut rng = stream(0, Stream::GateOpening(0, pair << 16 | attempt));
        let mut game = Game::default();
        while !game.is_over() && game.moves().count() < usize::from(OPENING_PLIES) {
            let square = rng.pick(Squares(game.to_move().position.legal_moves()));
            game.play(square.expect("the side to move has a move"))
                .expect("the move is legal");
        }
        if !game.is_over() {
            return game.moves().collect();
        }
    }
    unreachable!("few games end within {OPENING_PLIES} plies")
}

/// The final discs of the first form.
fn play(
    searchers: &mut [Searcher<'_>; 2],
    forms: [&Form<'_>; 2],
    budgets: [u64; 2],
    opening: &[Square],
    first_is_black: bool,
) -> i32 {
    let mut game =
        Game::from_moves(opening.iter().copied()).expect("the opening was played by the rules");
    while !game.is_over() {
        let current = game.to_move();
        let side = usize::from(current.black_to_move != first_is_black);
        let limits = Limits {
            exact_empties: EXACT_EMPTIES,
            nodes: Some(budgets[side]),
            ..Limits::full_width(Depth(30))
        };
        // The exact search is the same for both, and not cut short.
        let nodes = limits
            .nodes
            .filter(|_| EXACT_EMPTIES < current.position.empties());
        let result = search(
            &mut searchers[side],
            forms[side],
            current.position,
            Limits { nodes, ..limits },
        );
        game.play(result.best_move.expect("the side to move has a move"))
            .expect("the search plays by the rules");
    }
    if first_is_black {
        game.black_discs().0
    } else {
        -game.black_discs().0
    }
}
