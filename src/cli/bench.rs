//! `renma bench`: figures with node counts.

use super::arguments::ConfigArguments;
use super::arguments::bench::{BenchCommand, BenchEndgameArguments, BenchSearchArguments};
use super::arguments::run::DEFAULT_REGISTRY;
use super::output::{say, thousands};
use super::session::{Session, Stopwatch, warn_without_statistics};
use crate::artifact::{Dataset, ModelRef, Registry};
use crate::engine::board::perft::perft;
use crate::engine::{Depth, KernelChoice, Limits, Position, Searcher};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::train::rows::read_rows;
use crate::pipeline::train::run::{fit, learn};
use crate::pipeline::train::task::TrainTask;
use crate::play::random_positions::{game_positions, random_positions};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const TABLE_BITS: u8 = 18;

/// What a benchmark measured, by name.
type Figures = anyhow::Result<Value>;

pub fn run(session: &Session, command: BenchCommand) -> anyhow::Result<()> {
    let figures = match command {
        BenchCommand::Perft { depth } => bench_perft(session, depth),
        BenchCommand::Search(arguments) => bench_search(session, &arguments),
        BenchCommand::Endgame(arguments) => bench_endgame(session, &arguments),
        BenchCommand::Train { config, dataset } => bench_train(session, &config, &dataset),
        BenchCommand::Generate {
            config,
            games,
            model,
        } => bench_generate(session, &config, games, model.as_ref()),
    };
    session.print_json(&figures?)
}

fn bench_perft(session: &Session, depth: u8) -> Figures {
    let stopwatch = Stopwatch::start();
    let nodes = perft(
        KernelChoice::detect(),
        Position::START,
        depth,
        session.context().stop,
    )
    .ok_or(StageError::Interrupted)?;
    let (seconds, cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
    Ok(said(
        "perft",
        json!({"depth": depth, "nodes": nodes, "seconds": seconds, "cpu_seconds": cpu_seconds}),
    ))
}

fn bench_search(session: &Session, arguments: &BenchSearchArguments) -> Figures {
    let model = arguments.model.load(Path::new(DEFAULT_REGISTRY))?;
    warn_without_statistics("--mpc-level", arguments.mpc_level, &model);
    let positions = random_positions(arguments.positions as usize);
    model.model.evaluation.prepare();
    let context = session.context();
    let mut searcher = Searcher::new(&model.model.evaluation, &model.model.mpc, TABLE_BITS)
        .stopped_by(context.stop);
    let stopwatch = Stopwatch::start();
    let limits = Limits {
        mpc: arguments.mpc_level,
        ..Limits::full_width(Depth(arguments.depth))
    };
    let mut nodes = 0;
    for &position in &positions {
        searcher.clear();
        nodes += searcher
            .search(position, limits)
            .unless_stopped()
            .map_err(StageError::from)?
            .nodes;
    }
    let (seconds, cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
    let figures = json!({
        "depth": arguments.depth, "model": model.id, "positions": positions.len(), "nodes": nodes,
        "seconds": seconds, "cpu_seconds": cpu_seconds, "positions_per_second": positions.len() as f64 / cpu_seconds,
        "ns_per_node": 1e9 * cpu_seconds / nodes.max(1) as f64,
    });
    Ok(said("search", figures))
}

fn bench_endgame(session: &Session, arguments: &BenchEndgameArguments) -> Figures {
    let model = arguments.model.load(Path::new(DEFAULT_REGISTRY))?;
    model.model.evaluation.prepare();
    let context = session.context();
    let mut searcher = Searcher::new(&model.model.evaluation, &model.model.mpc, TABLE_BITS)
        .stopped_by(context.stop);
    let (mut nodes, mut seconds, mut cpu_seconds, mut sets) = (0, 0.0, 0.0, Vec::new());
    for &depth in &arguments.depth {
        let mut solved = Vec::new();
        for position in game_positions(arguments.positions as usize, depth, arguments.seed) {
            searcher.clear();
            let stopwatch = Stopwatch::start();
            let result = searcher
                .solve(position)
                .unless_stopped()
                .map_err(StageError::from)?;
            solved.push((result.nodes, stopwatch.processor_seconds()));
            seconds += stopwatch.seconds();
        }
        let set_nodes: u64 = solved.iter().map(|(nodes, _)| nodes).sum();
        let set_seconds: f64 = solved.iter().map(|(_, seconds)| seconds).sum();
        (nodes, cpu_seconds) = (nodes + set_nodes, cpu_seconds + set_seconds);
        let set = json!({
            "depth": depth, "positions": solved.len(), "nodes": set_nodes, "cpu_seconds": set_seconds,
            "ns_per_node": 1e9 * set_seconds / set_nodes as f64,
            "geometric_mean_nodes": geometric_mean(solved.iter().map(|&(nodes, _)| nodes as f64)),
            "geometric_mean_cpu_seconds": geometric_mean(solved.iter().map(|&(_, seconds)| seconds)),
        });
        sets.push(said("endgame", set));
    }
    let positions = arguments.positions as usize * sets.len();
    Ok(json!({
        "depth": arguments.depth, "seed": arguments.seed, "model": model.id, "positions": positions, "nodes": nodes,
        "seconds": seconds, "cpu_seconds": cpu_seconds, "positions_per_second": positions as f64 / cpu_seconds, "sets": sets,
    }))
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    libm::exp(values.map(libm::log).sum::<f64>() / count)
}

fn bench_train(session: &Session, config: &ConfigArguments, dataset: &Path) -> Figures {
    let config = config.load()?;
    let task = TrainTask {
        config: config.config.train.clone(),
        seed: config.config.run.seed,
        generation: Generation::FIRST,
        features: Arc::clone(&config.features),
        datasets: Vec::new(),
        parent: None,
        registry: Registry::new(Path::new(DEFAULT_REGISTRY)),
        memory: u64::MAX,
    };
    let context = session.context();
    let figures = context.pool()?.install(|| -> Result<_, StageError> {
        let stopwatch = Stopwatch::start();
        let rows = read_rows(&task, &[Dataset::open(dataset)?], context)?;
        let (_, metrics) = fit(&task, &rows, context)?;
        let (stage_seconds, stage_cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
        let stage_rows = metrics.rows + metrics.validation_rows;
        let stopwatch = Stopwatch::start();
        let updates = learn(&task, &rows, context)?;
        let (seconds, cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
        Ok(json!({
            "updates": updates, "seconds": seconds, "cpu_seconds": cpu_seconds,
            "updates_per_second": updates as f64 / seconds,
            "stage_rows": stage_rows, "stage_seconds": stage_seconds, "stage_cpu_seconds": stage_cpu_seconds,
            "stage_rows_per_second": stage_rows as f64 / stage_seconds,
        }))
    })?;
    Ok(said("train", figures))
}

fn bench_generate(
    session: &Session,
    config: &ConfigArguments,
    games: u64,
    model: Option<&ModelRef>,
) -> Figures {
    let config = config.load()?;
    let registry = Path::new("models").join(&config.name);
    let model = model
        .unwrap_or(&config.config.run.start)
        .find_of_run(&registry, &config.config.run.start)?
        .load()?;
    let table = config
        .config
        .generate
        .with(|table| table.games = games)
        .map_err(StageError::from)?;
    let folder = tempfile::tempdir()?;
    model.model.evaluation.prepare();
    let stopwatch = Stopwatch::start();
    let task = GenerateTask {
        config: table,
        book: config.book,
        seed: config.config.run.seed,
        generation: Generation::FIRST,
        model,
        output: folder.path().to_owned(),
    };
    let report = generate(&task, session.context())?;
    let (seconds, cpu_seconds) = (stopwatch.seconds(), stopwatch.processor_seconds());
    let figures = json!({
        "games": games, "positions": report.positions, "nodes": report.nodes, "threads": session.threads,
        "seconds": seconds, "cpu_seconds": cpu_seconds,
        "games_per_second": games as f64 / seconds, "positions_per_second": report.positions as f64 / seconds,
        "bytes_per_position": report.bytes as f64 / report.positions.max(1) as f64,
    });
    Ok(said("generate", figures))
}

/// The figures of a benchmark, after saying them.
fn said(name: &str, figures: Value) -> Value {
    let text = |(key, value): (&String, &Value)| match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => format!("{key} {}", thousands(count)),
        (None, Some(number)) => format!("{key} {number:.3}"),
        (None, None) => format!("{key} {}", value.as_str().unwrap_or_default()),
    };
    let texts: Vec<String> = figures
        .as_object()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    say(&format!("{name}: {}", texts.join(", ")));
    figures
}
