//! `renma eval` and `renma solve`: values of positions, one thread a position.

use super::arguments::{EvalArguments, SolveArguments};
use super::input::read_input;
use super::output::{print, print_json, table, thousands};
use super::session::{ChosenModel, Session, Stopwatch, level, model_or_default, warn_without_statistics};
use crate::artifact::model::reference::LoadedModel;
use crate::config::load_config;
use crate::engine::board::notation::ColoredPosition;
use crate::engine::search::depth::Depth;
use crate::engine::search::limits::Limits;
use crate::engine::search::move_values::MoveValue;
use crate::engine::search::result::{SearchResult, Stopped};
use crate::engine::search::searcher::Searcher;
use crate::engine::search::selective::Selective;
use crate::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use crate::pipeline::StageError;
use crate::pipeline::search_settings::{LevelSetting, selective};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use std::path::Path;

/// A search table of 2^20 entries a thread: 16 MiB.
const TABLE_BITS: u8 = 20;

/// A position with its value.
#[derive(Debug, Serialize)]
struct PositionValue {
    board: String,
    side: &'static str,
    score: i32,
    discs: f64,
    #[serde(rename = "move")]
    best_move: Option<String>,
    line: Vec<String>,
    depth: u8,
    exact: bool,
    nodes: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<MoveLine>>,
}

/// A legal move with its value.
#[derive(Debug, Serialize)]
struct MoveLine {
    #[serde(rename = "move")]
    square: String,
    score: i32,
    order: i32,
}

#[derive(Debug, Serialize)]
struct Total {
    positions: usize,
    nodes: u64,
    seconds: f64,
    cpu_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Values {
    model: String,
    /// Why it is this model, if none was named.
    model_note: Option<String>,
    positions: Vec<PositionValue>,
    total: Total,
}

pub(super) fn run_eval(session: &Session, arguments: &EvalArguments) -> anyhow::Result<()> {
    let (setting, selective) = search_settings(arguments)?;
    let mpc = level(setting)?;
    let chosen = model_or_default(arguments.model.as_deref(), &arguments.models)?;
    warn_without_statistics("--mpc-level", setting, &chosen.model);
    let (depth, exact_empties) = (Depth(arguments.depth), arguments.exact_empties);
    let limits = Limits { depth, exact_empties, wld_empties: 0, nodes: None, mpc, selective };
    run(session, "eval", &arguments.input, &chosen, |searcher, position| {
        let is_static = limits.depth == Depth(0) && limits.exact_empties < position.position.empties();
        let mut result = if is_static {
            static_result(&chosen.model, position)
        } else {
            searcher.search(position.position, limits).unless_stopped()?
        };
        if !arguments.moves {
            return Ok((result, None));
        }
        let (moves, nodes) = searcher.move_values(position.position, limits)?;
        result.nodes += nodes;
        Ok((result, Some(moves)))
    })
}

/// How selective the searches are, as the arguments or else their config say.
fn search_settings(arguments: &EvalArguments) -> anyhow::Result<(LevelSetting, Selective)> {
    let config = arguments.config.as_deref().map(load_config).transpose()?.map(|loaded| loaded.config);
    let setting = arguments.mpc_level.or(config.as_ref().map(|config| config.generate.mpc_level));
    let setting = setting.unwrap_or(LevelSetting::Percent(100));
    Ok((setting, selective(config.and_then(|config| config.selective).as_ref())))
}

pub(super) fn run_solve(session: &Session, arguments: &SolveArguments) -> anyhow::Result<()> {
    let chosen = model_or_default(arguments.model.as_deref(), &arguments.models)?;
    run(session, "solve", &arguments.input, &chosen, |searcher, position| {
        Ok((searcher.solve(position.position).unless_stopped()?, None))
    })
}

/// The sum of the weights as it is: only a search clamps.
fn static_result(model: &LoadedModel, position: &ColoredPosition) -> SearchResult {
    SearchResult {
        score: model.model.evaluation.static_value(position.position),
        best_move: None,
        depth: Depth(0),
        exact: false,
        nodes: 1,
        line: Vec::new(),
        complete: true,
        stopped: false,
    }
}

/// What a search of a position found, and the values of its moves if they are wanted.
type Valued = (SearchResult, Option<Vec<MoveValue>>);

fn run(
    session: &Session,
    command: &str,
    input: &Path,
    chosen: &ChosenModel,
    value: impl Fn(&mut Searcher<'_>, &ColoredPosition) -> Result<Valued, Stopped> + Sync,
) -> anyhow::Result<()> {
    let context = session.context();
    let (name, bytes) = read_input(context, input, POSITIONS_SIZE_MAX)?;
    let lines = read_positions(&name, &bytes)?;
    chosen.announce(command);
    let model = &chosen.model;
    let stopwatch = Stopwatch::start();
    let new_searcher = || Searcher::new(&model.model.evaluation, &model.model.mpc, TABLE_BITS).stopped_by(context.stop);
    context.progress.begin("search", lines.len() as u64, "positions");
    let values: Result<Vec<PositionValue>, StageError> = context.pool()?.install(|| {
        lines
            .par_iter()
            .map_init(new_searcher, |searcher, line| {
                context.check()?;
                let stopwatch = Stopwatch::start();
                searcher.clear();
                let valued = value(searcher, &line.colored)?;
                context.progress.advance(1, 0);
                Ok(position_value(&line.colored, &valued, stopwatch.seconds()))
            })
            .collect()
    });
    context.progress.end();
    let positions = values?;
    let total = Total {
        positions: positions.len(),
        nodes: positions.iter().map(|position| position.nodes).sum(),
        seconds: stopwatch.seconds(),
        cpu_seconds: stopwatch.processor_seconds(),
    };
    let values = Values { model: model.id.to_string(), model_note: chosen.note.clone(), positions, total };
    if session.json { print_json(&values) } else { Ok(print(&describe(&values))?) }
}

fn position_value(position: &ColoredPosition, (result, moves): &Valued, seconds: f64) -> PositionValue {
    let move_line = |found: &MoveValue| {
        let &MoveValue { square, score, order } = found;
        MoveLine { square: square.to_string(), score: score.0, order }
    };
    PositionValue {
        board: position.board_text(),
        side: position.side_text(),
        score: result.score.0,
        discs: result.score.discs(),
        best_move: result.best_move.map(|square| square.to_string()),
        line: result.line.iter().map(ToString::to_string).collect(),
        depth: result.depth.0,
        exact: result.exact,
        nodes: result.nodes,
        seconds,
        moves: moves.as_ref().map(|moves| moves.iter().map(move_line).collect()),
    }
}

fn describe(values: &Values) -> String {
    let mut rows = vec![["position", "discs", "move", "depth", "nodes", "seconds", "line"].map(str::to_owned).to_vec()];
    for (number, value) in (1..).zip(&values.positions) {
        rows.push(vec![
            number.to_string(),
            format!("{:+.2}", value.discs),
            value.best_move.clone().unwrap_or("-".into()),
            if value.exact { "exact".into() } else { value.depth.to_string() },
            thousands(value.nodes),
            format!("{:.3}", value.seconds),
            value.line.join(""),
        ]);
    }
    let total = &values.total;
    let moves =
        (1..).zip(&values.positions).filter_map(|(number, value)| Some(describe_moves(number, value.moves.as_ref()?)));
    format!(
        "{}\n{}{} positions with {}, {} nodes, {:.2} s, {:.2} CPU s",
        table(&rows),
        moves.collect::<String>(),
        total.positions,
        values.model,
        thousands(total.nodes),
        total.seconds,
        total.cpu_seconds
    )
}

/// The moves of a position, best first, with their values and, in brackets, their values in the order of the search.
fn describe_moves(number: usize, moves: &[MoveLine]) -> String {
    let discs = |millidiscs: i32| format!("{:+.2}", f64::from(millidiscs) / 1000.0);
    let moves = moves.iter().map(|line| format!("{} {} ({})", line.square, discs(line.score), discs(line.order)));
    format!("moves of {number}: {}\n", moves.collect::<Vec<_>>().join(", "))
}
