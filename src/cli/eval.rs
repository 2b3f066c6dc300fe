//! `renma eval` and `renma solve`: values of positions.

mod review;

use super::arguments::positions::{EvalArguments, ModelArguments, PositionsArguments};
use super::output::{counted, print, print_json, table, thousands};
use super::session::{ChosenModel, Session, Stopwatch, model_or_default, wait_for, warn_without_statistics};
use crate::artifact::ArtifactError;
use crate::artifact::publish::{read_bounded, read_stream};
use crate::config::load_config_with;
use crate::engine::board::notation::is_transcript;
use crate::engine::{ColoredPosition, Depth, Game, Limits, MoveValue, MpcLevel, Position, Score, Selective};
use crate::exchange::game_text::ScoredGame;
use crate::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use crate::pipeline::selective::selective;
use crate::pipeline::{Context, StageError};
use crate::play::analysis::{Analysis, Analyzed, analyze};
use crate::play::exact_scores::{ExactComparison, compare};
use crate::play::session::review::REVIEW_LIMITS;
use review::{PlayedMove, check_games, describe_review, review_games};
use serde::Serialize;
use std::fs::{File, metadata};
use std::io;
use std::path::{Path, PathBuf};

/// How errors name the standard input.
const STDIN: &str = "stdin";

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
    #[serde(skip_serializing_if = "Option::is_none")]
    played: Option<Vec<PlayedMove>>,
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
    /// If the file lists scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<ExactComparison>,
}

#[derive(Debug, Serialize)]
struct ReviewDepth {
    depth: u8,
    exact_empties: u8,
}

#[derive(Debug, Serialize)]
struct Values {
    model: String,
    /// Why it is this model, if the user named none.
    model_note: Option<String>,
    positions: Vec<PositionValue>,
    /// How the moves of the games were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewDepth>,
    total: Total,
}

pub(super) fn run_eval(session: &Session, arguments: &EvalArguments) -> anyhow::Result<()> {
    let (mpc, selective) = search_settings(arguments)?;
    let ModelArguments { model, models } = &arguments.positions.model;
    let chosen = model_or_default(model.as_deref(), models)?;
    warn_without_statistics("--mpc-level", mpc, &chosen.model);
    let default = if arguments.review { REVIEW_LIMITS } else { Limits::full_width(Depth(0)) };
    let depth = arguments.depth.map_or(default.depth, Depth);
    let exact_empties = arguments.exact_empties.unwrap_or(default.exact_empties);
    let limits = Limits { depth, exact_empties, wld_empties: 0, nodes: None, mpc, selective };
    let analysis = Analysis::Search { limits, moves: arguments.moves };
    let review_limits = arguments.review.then_some(limits);
    run(session, "eval", analysis, review_limits, &arguments.positions, &chosen)
}

/// How selective the searches are, by the arguments or else by their config.
fn search_settings(arguments: &EvalArguments) -> anyhow::Result<(MpcLevel, Selective)> {
    let config = arguments.config.as_deref().map(|path| load_config_with(path, &arguments.settings)).transpose()?;
    let generate = config.as_ref().map(|loaded| &loaded.config.generate);
    let level = arguments.mpc_level.or(generate.map(|table| table.mpc_level)).unwrap_or(MpcLevel::FullWidth);
    Ok((level, selective(generate.and_then(|table| table.selective.as_ref()))))
}

pub(super) fn run_solve(session: &Session, arguments: &PositionsArguments) -> anyhow::Result<()> {
    let ModelArguments { model, models } = &arguments.model;
    let chosen = model_or_default(model.as_deref(), models)?;
    run(session, "solve", Analysis::Solve, None, arguments, &chosen)
}

fn run(
    session: &Session,
    command: &str,
    analysis: Analysis,
    review_limits: Option<Limits>,
    arguments: &PositionsArguments,
    chosen: &ChosenModel,
) -> anyhow::Result<()> {
    let context = session.context();
    let (name, bytes) = read_input(context, &arguments.input, POSITIONS_SIZE_MAX)?;
    let scored = read_positions(&name, &bytes)?.into_iter().map(|ScoredGame { game, scores }| (game, scores));
    let (games, scores): (Vec<Game>, Vec<_>) = scored.unzip();
    if review_limits.is_some() {
        check_games(&name, &games)?;
    }
    let positions: Vec<Position> = games.iter().map(|game| game.latest().position).collect();
    chosen.announce(command);
    let stopwatch = Stopwatch::start();
    let analyzed = analyze(analysis, &chosen.model.model, &positions, context)?;
    let played = review_limits.map(|limits| review_games(limits, &chosen.model.model, &games, context)).transpose()?;
    let exact = compare(&chosen.model.model, &positions, &scores, &analyzed, context)?;
    let total = Total {
        positions: positions.len(),
        nodes: analyzed.iter().map(|analyzed| analyzed.result.nodes).sum(),
        seconds: stopwatch.seconds(),
        cpu_seconds: stopwatch.processor_seconds(),
        exact,
    };
    let positions = games.iter().zip(&analyzed).map(|(game, analyzed)| position_value(&game.latest(), analyzed));
    let mut positions: Vec<PositionValue> = positions.collect();
    for (position, played) in positions.iter_mut().zip(played.into_iter().flatten()) {
        position.played = Some(played);
    }
    let (model, model_note) = (chosen.model.id.to_string(), chosen.note.clone());
    let review = review_limits.map(|Limits { depth, exact_empties, .. }| ReviewDepth { depth: depth.0, exact_empties });
    let values = Values { model, model_note, positions, review, total };
    if session.json { print_json(&values) } else { Ok(print(&describe(&values))?) }
}

/// Reads all of an input and returns it with its name for errors.
fn read_input(context: Context<'_>, path: &Path, size_max: u64) -> Result<(PathBuf, Vec<u8>), StageError> {
    let name = if path == Path::new("-") { Path::new(STDIN) } else { path };
    let input = path.to_owned();
    let bytes = wait_for(context, move || read(&input, size_max))??;
    Ok((name.to_owned(), bytes))
}

fn read(path: &Path, size_max: u64) -> Result<Vec<u8>, ArtifactError> {
    if path == Path::new("-") {
        return read_stream(io::stdin().lock(), Path::new(STDIN), size_max);
    }
    let failed = |source| ArtifactError::io("read", path, source);
    let moves = path.to_str().filter(|text| is_transcript(text) && Game::from_transcript(text).is_ok());
    let file_type = match (metadata(path), moves) {
        // The name of no file, and a game by itself.
        (Err(_), Some(moves)) => return Ok(moves.as_bytes().to_vec()),
        (metadata, _) => metadata.map_err(failed)?.file_type(),
    };
    if file_type.is_file() || file_type.is_dir() {
        return read_bounded(path, size_max);
    }
    read_stream(File::open(path).map_err(failed)?, path, size_max)
}

fn position_value(position: &ColoredPosition, Analyzed { result, moves, seconds }: &Analyzed) -> PositionValue {
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
        seconds: *seconds,
        moves: moves.as_ref().map(|moves| moves.iter().map(move_line).collect()),
        played: None,
    }
}

fn describe(values: &Values) -> String {
    let row = |(number, value): (usize, &PositionValue)| {
        [
            number.to_string(),
            format!("{:+.2}", value.discs),
            value.best_move.clone().unwrap_or("-".into()),
            if value.exact { "exact".into() } else { value.depth.to_string() },
            thousands(value.nodes),
            format!("{:.3}", value.seconds),
            value.line.join(""),
        ]
    };
    let names = ["position", "discs", "move", "depth", "nodes", "seconds", "line"];
    let total = &values.total;
    let moves =
        (1..).zip(&values.positions).filter_map(|(number, value)| Some(describe_moves(number, value.moves.as_ref()?)));
    let played = (1..).zip(&values.positions).filter_map(|(number, value)| Some((number, value.played.as_ref()?)));
    let depth = values.review.as_ref().map(|ReviewDepth { depth, exact_empties }| {
        format!("reviewed to depth {depth}, exactly from {exact_empties} empty squares on\n")
    });
    let reviews = played.map(|(number, played)| describe_review(number, played));
    let reviews: String = depth.into_iter().chain(reviews).collect();
    format!(
        "{}\n{}{reviews}{} with {}, {}, {:.2} s, {:.2} CPU s{}",
        table(names, (1..).zip(&values.positions).map(row)),
        moves.collect::<String>(),
        counted(total.positions as u64, "position"),
        values.model,
        counted(total.nodes, "node"),
        total.seconds,
        total.cpu_seconds,
        total.exact.as_ref().map(describe_exact).unwrap_or_default()
    )
}

/// The line about the exact scores that the file lists.
fn describe_exact(exact: &ExactComparison) -> String {
    let &ExactComparison { positions, mae, bias, best_moves, best_move_positions } = exact;
    let counted = counted(positions as u64, "position");
    let with_moves = match best_move_positions {
        count if count == positions => String::new(),
        count => format!(" of {}", thousands(count as u64)),
    };
    let best_moves = best_moves.map(|share| format!(", best move in {:.1} %{with_moves}", 100.0 * share));
    let best_moves = best_moves.unwrap_or_default();
    format!("\nexact scores for {counted}: mean absolute error {mae:.2} discs, bias {bias:+.2}{best_moves}")
}

/// The moves of a position, best first, with their values and, in brackets, their values in the order of the search.
fn describe_moves(number: usize, moves: &[MoveLine]) -> String {
    let discs = |millidiscs: i32| format!("{:+.2}", Score(millidiscs).discs());
    let moves = moves.iter().map(|line| format!("{} {} ({})", line.square, discs(line.score), discs(line.order)));
    format!("moves of {number}: {}\n", moves.collect::<Vec<_>>().join(", "))
}
