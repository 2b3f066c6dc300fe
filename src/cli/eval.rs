//! `renma eval` and `renma solve`: values of positions.

mod review;

use super::arguments::positions::{
    EvalArguments, ModelArguments, PositionsArguments, SolveArguments,
};
use super::arguments::run::named_registry;
use super::command_errors::UsageError;
use super::memory::has_room;
use super::output::{counted, print, print_json, table, thousands};
use super::session::{ChosenModel, Session, Stopwatch, model_or_default, warn_without_statistics};
use crate::artifact::ArtifactError;
use crate::artifact::publish::{read_bounded, read_stream};
use crate::config::load_config_with;
use crate::engine::board::notation::{is_transcript, move_text, moves_text};
use crate::engine::{Depth, Game, Limits, MoveValue, MpcLevel, Position, Score, Selective};
use crate::exchange::game_text::ScoredGame;
use crate::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use crate::pipeline::selective::selective;
use crate::pipeline::{Context, StageError};
use crate::play::analysis::{Analysis, Analyzed, analyze, review};
use crate::play::exact_scores::{ExactComparison, compare};
use crate::play::session::review::{REVIEW_LIMITS, ReviewedMove};
use review::{check_games, describe_review, move_json};
use serde_json::{Value, json};
use std::fs::{File, metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// How errors name the standard input.
const STDIN: &str = "stdin";

/// What was found for the positions of a file.
struct Values<'a> {
    chosen: &'a ChosenModel,
    games: &'a [Game],
    analyzed: &'a [Analyzed],
    /// How the moves of the games were searched, and what was found for those of each.
    review: Option<(Limits, Vec<Vec<ReviewedMove>>)>,
    /// If the file lists scores.
    exact: Option<ExactComparison>,
    seconds: f64,
    cpu_seconds: f64,
}

pub fn run_eval(session: &Session, arguments: &EvalArguments) -> anyhow::Result<()> {
    let (mpc, selective) = search_settings(arguments)?;
    let default = if arguments.review {
        REVIEW_LIMITS
    } else {
        Limits::full_width(Depth(0))
    };
    let depth = arguments.depth.map_or(default.depth, Depth);
    let exact_empties = arguments.exact_empties.unwrap_or(default.exact_empties);
    let limits = Limits {
        depth,
        exact_empties,
        wld_empties: 0,
        nodes: None,
        mpc,
        selective,
    };
    let analysis = Analysis::Search {
        limits,
        moves: arguments.moves,
    };
    // A review compares moves, which takes a ply at least.
    let review_limits = arguments.review.then_some(Limits {
        depth: depth.max(Depth(1)),
        ..limits
    });
    run(
        session,
        "eval",
        analysis,
        review_limits,
        &arguments.positions,
    )
}

/// How selective the searches are, by the arguments or else by their config.
fn search_settings(arguments: &EvalArguments) -> anyhow::Result<(MpcLevel, Selective)> {
    let config = arguments
        .config
        .as_deref()
        .map(|path| load_config_with(path, &arguments.settings))
        .transpose()?;
    let generate = config.as_ref().map(|loaded| &loaded.config.generate);
    let level = arguments
        .mpc_level
        .or(generate.map(|table| table.mpc_level))
        .unwrap_or(MpcLevel::FullWidth);
    Ok((
        level,
        selective(generate.and_then(|table| table.selective.as_ref())),
    ))
}

pub fn run_solve(session: &Session, arguments: &SolveArguments) -> anyhow::Result<()> {
    let memory = arguments.memory.map(|size| size.as_u64());
    if let Some(size) = arguments.memory
        && !has_room(size.as_u64())
    {
        return Err(UsageError(format!(
            "--memory {size}: this machine does not have as much\nUse less"
        ))
        .into());
    }
    run(
        session,
        "solve",
        Analysis::Solve { memory },
        None,
        &arguments.positions,
    )
}

fn run(
    session: &Session,
    command: &str,
    analysis: Analysis,
    review_limits: Option<Limits>,
    arguments: &PositionsArguments,
) -> anyhow::Result<()> {
    let ModelArguments { model, models } = &arguments.model;
    let chosen = &model_or_default(model.as_ref(), &named_registry(models.as_deref())?)?;
    let context = session.context();
    let name = if arguments.input == Path::new("-") {
        Path::new(STDIN)
    } else {
        &arguments.input
    };
    let bytes = read_input(context, arguments.input.clone())?;
    let scored = read_positions(name, bytes)?
        .into_iter()
        .map(|ScoredGame { game, scores }| (game, scores));
    let (games, scores): (Vec<Game>, Vec<_>) = scored.unzip();
    if review_limits.is_some() {
        check_games(name, &games)?;
    }
    chosen.announce(command);
    if let Analysis::Search { limits, .. } = analysis {
        warn_without_statistics("--mpc-level", limits.mpc, &chosen.model);
    }
    let positions: Vec<Position> = games.iter().map(|game| game.latest().position).collect();
    let stopwatch = Stopwatch::start();
    let analyzed = analyze(analysis, &chosen.model.model, &positions, context)?;
    let reviewed = |limits| {
        Ok::<_, StageError>((
            limits,
            review(limits, &chosen.model.model, &games, context)?,
        ))
    };
    let review = review_limits.map(reviewed).transpose()?;
    let exact = compare(&chosen.model.model, &positions, &scores, &analyzed, context)?;
    let (seconds, cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
    let values = Values {
        chosen,
        games: &games,
        analyzed: &analyzed,
        review,
        exact,
        seconds,
        cpu_seconds,
    };
    if session.json {
        print_json(&values.json())
    } else {
        Ok(print(&values.describe())?)
    }
}

/// Reads all of an input. One that may never end, such as a pipe, is waited for until Ctrl-C.
fn read_input(context: Context<'_>, path: PathBuf) -> Result<Vec<u8>, StageError> {
    let (sender, receiver) = channel();
    // After an interruption nobody receives the bytes.
    let send = move || sender.send(read(&path)).unwrap_or_default();
    thread::Builder::new()
        .spawn(send)
        .map_err(StageError::Thread)?;
    loop {
        if let Ok(bytes) = receiver.recv_timeout(Duration::from_millis(20)) {
            return Ok(bytes?);
        }
        context.check()?;
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ArtifactError> {
    if path == Path::new("-") {
        return read_stream(io::stdin().lock(), Path::new(STDIN), POSITIONS_SIZE_MAX);
    }
    let failed = |source| ArtifactError::io("read", path, source);
    let moves = path
        .to_str()
        .filter(|text| is_transcript(text) && Game::from_transcript(text).is_ok());
    let file_type = match (metadata(path), moves) {
        // The name of no file, and a game by itself.
        (Err(_), Some(moves)) => return Ok(moves.as_bytes().to_vec()),
        (metadata, _) => metadata.map_err(failed)?.file_type(),
    };
    if file_type.is_file() || file_type.is_dir() {
        return read_bounded(path, POSITIONS_SIZE_MAX);
    }
    read_stream(File::open(path).map_err(failed)?, path, POSITIONS_SIZE_MAX)
}

impl Values<'_> {
    fn nodes(&self) -> u64 {
        self.analyzed
            .iter()
            .map(|analyzed| analyzed.result.nodes)
            .sum()
    }

    fn json(&self) -> Value {
        let games = self.games.iter().zip(self.analyzed);
        let positions = games.map(|(game, analyzed)| position_json(game, analyzed));
        let mut json = json!({
            "model": self.chosen.model.id,
            // Why it is this model, if the user named none.
            "model_note": self.chosen.note,
            "positions": positions.collect::<Value>(),
            "total": {
                "positions": self.games.len(),
                "nodes": self.nodes(),
                "seconds": self.seconds,
                "cpu_seconds": self.cpu_seconds,
            },
        });
        if let Some(exact) = &self.exact {
            json["total"]["exact"] = json!(exact);
        }
        if let Some((
            Limits {
                depth,
                exact_empties,
                ..
            },
            games,
        )) = &self.review
        {
            json["review"] = json!({"depth": depth.0, "exact_empties": exact_empties});
            for (number, played) in games.iter().enumerate() {
                json["positions"][number]["played"] = played.iter().map(move_json).collect();
            }
        }
        json
    }

    fn describe(&self) -> String {
        let row = |(
            number,
            Analyzed {
                result, seconds, ..
            },
        ): (usize, &Analyzed)| {
            [
                number.to_string(),
                format!("{:+.2}", result.score.discs()),
                move_text(result.best_move, "-"),
                if result.exact {
                    "exact".into()
                } else {
                    result.depth.0.to_string()
                },
                thousands(result.nodes),
                format!("{seconds:.3}"),
                moves_text(result.line.iter().copied()),
            ]
        };
        let names = [
            "position", "discs", "move", "depth", "nodes", "seconds", "line",
        ];
        let mut text = format!("{}\n", table(names, (1..).zip(self.analyzed).map(row)));
        for (number, analyzed) in (1..).zip(self.analyzed) {
            text += &analyzed
                .moves
                .as_ref()
                .map_or_else(String::new, |moves| describe_moves(number, moves));
        }
        if let Some((
            Limits {
                depth,
                exact_empties,
                ..
            },
            games,
        )) = &self.review
        {
            text += &format!(
                "reviewed to depth {}, exactly from {exact_empties} empty squares on\n",
                depth.0
            );
            text += &(1..)
                .zip(games)
                .map(|(number, played)| describe_review(number, played))
                .collect::<String>();
        }
        let (positions, nodes) = (
            counted(self.games.len() as u64, "position"),
            counted(self.nodes(), "node"),
        );
        let (model, seconds, cpu_seconds) = (&self.chosen.model.id, self.seconds, self.cpu_seconds);
        let exact = self.exact.as_ref().map(describe_exact).unwrap_or_default();
        text + &format!(
            "{positions} with {model}, {nodes}, {seconds:.2} s, {cpu_seconds:.2} CPU s{exact}"
        )
    }
}

fn position_json(game: &Game, analyzed: &Analyzed) -> Value {
    let Analyzed {
        result,
        moves,
        seconds,
    } = analyzed;
    let position = game.latest();
    let mut json = json!({
        "board": position.board_text(),
        "side": position.side_text(),
        "score": result.score.0,
        "discs": result.score.discs(),
        "move": result.best_move.map(|square| square.to_string()),
        "line": result.line.iter().map(ToString::to_string).collect::<Value>(),
        "depth": result.depth.0,
        "exact": result.exact,
        "nodes": result.nodes,
        "seconds": seconds,
    });
    if let Some(moves) = moves {
        let value = |&MoveValue {
                         square,
                         score,
                         order,
                     }: &MoveValue| json!({"move": square.to_string(), "score": score.0, "order": order});
        json["moves"] = moves.iter().map(value).collect();
    }
    json
}

/// The line about the exact scores that the file lists.
fn describe_exact(exact: &ExactComparison) -> String {
    let &ExactComparison {
        positions,
        mae,
        bias,
        best_moves,
        best_move_positions,
    } = exact;
    let counted = counted(positions as u64, "position");
    let with_moves = match best_move_positions {
        count if count == positions => String::new(),
        count => format!(" of {}", thousands(count as u64)),
    };
    let best_moves =
        best_moves.map(|share| format!(", best move in {:.1} %{with_moves}", 100.0 * share));
    let best_moves = best_moves.unwrap_or_default();
    format!(
        "\nexact scores for {counted}: mean absolute error {mae:.2} discs, bias {bias:+.2}{best_moves}"
    )
}

/// The moves of a position, best first, with their values and, in brackets, their values in the
/// order of the search.
fn describe_moves(number: usize, moves: &[MoveValue]) -> String {
    let discs = |score: Score| format!("{:+.2}", score.discs());
    let moves = moves.iter().map(|found| {
        format!(
            "{} {} ({})",
            found.square,
            discs(found.score),
            discs(Score(found.order))
        )
    });
    format!(
        "moves of {number}: {}\n",
        moves.collect::<Vec<_>>().join(", ")
    )
}
