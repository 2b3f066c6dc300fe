//! `renma eval` and `renma solve`: values of positions, one thread a position.

use super::arguments::{EvalArguments, SolveArguments};
use super::input::read_input;
use super::output::{print, print_json, table, thousands};
use super::session::{ChosenModel, Session, Stopwatch, level, model_or_default};
use crate::artifact::model::reference::LoadedModel;
use crate::engine::board::notation::ColoredPosition;
use crate::engine::search::limits::Limits;
use crate::engine::search::searcher::{SearchResult, Searcher};
use crate::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use crate::pipeline::StageError;
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
    let mpc = level(arguments.mpc_level)?;
    let chosen = model_or_default(arguments.model.as_deref(), &arguments.models)?;
    let limits =
        Limits { depth: arguments.depth, exact_empties: arguments.exact_empties, wld_empties: 0, nodes: None, mpc };
    run(session, "eval", &arguments.input, &chosen, |searcher, position| {
        if limits.depth == 0 && limits.exact_empties < position.position.empties() {
            return static_result(&chosen.model, position);
        }
        searcher.search(position.position, limits)
    })
}

pub(super) fn run_solve(session: &Session, arguments: &SolveArguments) -> anyhow::Result<()> {
    let chosen = model_or_default(arguments.model.as_deref(), &arguments.models)?;
    run(session, "solve", &arguments.input, &chosen, |searcher, position| searcher.solve(position.position))
}

/// The sum of the weights as it is: only a search clamps.
fn static_result(model: &LoadedModel, position: &ColoredPosition) -> SearchResult {
    SearchResult {
        score: model.model.evaluation.static_value(position.position),
        best_move: None,
        depth: 0,
        exact: false,
        nodes: 1,
        line: Vec::new(),
        complete: true,
    }
}

fn run(
    session: &Session,
    command: &str,
    input: &Path,
    chosen: &ChosenModel,
    value: impl Fn(&mut Searcher<'_>, &ColoredPosition) -> SearchResult + Sync,
) -> anyhow::Result<()> {
    let context = session.context();
    let (name, bytes) = read_input(context, input, POSITIONS_SIZE_MAX)?;
    let lines = read_positions(&name, &bytes)?;
    chosen.announce(command);
    let model = &chosen.model;
    let stopwatch = Stopwatch::start();
    let new_searcher = || Searcher::new(&model.model.evaluation, &model.model.mpc, TABLE_BITS);
    context.progress.begin("search", lines.len() as u64, "positions");
    let values: Result<Vec<PositionValue>, StageError> = context.pool()?.install(|| {
        lines
            .par_iter()
            .map_init(new_searcher, |searcher, line| {
                context.check()?;
                let stopwatch = Stopwatch::start();
                searcher.clear();
                let result = value(searcher, &line.colored);
                context.progress.advance(1, 0);
                Ok(position_value(&line.colored, &result, stopwatch.seconds()))
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
    let values = Values { model: model.id.clone(), model_note: chosen.note.clone(), positions, total };
    if session.json { print_json(&values) } else { Ok(print(&describe(&values))?) }
}

fn position_value(position: &ColoredPosition, result: &SearchResult, seconds: f64) -> PositionValue {
    PositionValue {
        board: position.board_text(),
        side: position.side_text(),
        score: result.score,
        discs: f64::from(result.score) / 1000.0,
        best_move: result.best_move.map(|square| square.to_string()),
        line: result.line.iter().map(ToString::to_string).collect(),
        depth: result.depth,
        exact: result.exact,
        nodes: result.nodes,
        seconds,
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
    format!(
        "{}\n{} positions with {}, {} nodes, {:.2} s, {:.2} CPU s",
        table(&rows),
        total.positions,
        values.model,
        thousands(total.nodes),
        total.seconds,
        total.cpu_seconds
    )
}
