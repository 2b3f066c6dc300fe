//! Fitting MPC statistics from beginning to end.

use super::choice::{Fits, choose, source_shallow};
use super::compare::{Searches, some_positions};
use super::held_out::held_out;
use super::line::{fit_pair, table_of};
use super::metrics::{Deep, DepthFit, FitMpcMetrics, HeldOut, Pair};
use super::parts::sample_parts;
use super::recipe::step;
use super::sample::Sample;
use super::source;
use super::task::{FACTS, FitMpcReport, FitMpcTask, Method};
use crate::artifact::model::document::VersionOrigin;
use crate::artifact::publish::temporary::sweep;
use crate::artifact::{FolderLock, Model, ModelKind, Part, PartRange};
use crate::pipeline::parts::{PartKind, Parts};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;

/// Fits a table to a model's searches, unless the registry holds it already.
///
/// # Errors
///
/// A bad setting, a damaged registry, a folder that holds something else, or a system error;
/// finished parts of the samples stay.
pub fn fit_mpc(task: &FitMpcTask, context: Context<'_>) -> Result<FitMpcReport, StageError> {
    let step = step(task).id;
    let parts = task
        .output
        .as_deref()
        .map(|output| sample_parts(task, output));
    let _registry_lock = FolderLock::take_named(task.registry.folder(), FACTS.lock())?;
    let _lock = task.output.as_deref().map(FolderLock::take).transpose()?;
    sweep(task.registry.folder())?;
    parts.as_ref().map_or(Ok(()), Parts::sweep)?;
    let samples = parts.as_ref().map(Parts::finished).transpose()?;
    let samples_missing = samples.is_some_and(|manifest| manifest.is_none());
    if let Some(made) = task.registry.made_by(step)?.filter(|_| !samples_missing) {
        return FitMpcReport::skipped(made);
    }
    context.check_budget()?;
    let (depths, held_out, samples) = match task.config.method {
        Method::Source { .. } => context
            .pool()?
            .install(|| fit_source(task, parts.as_ref(), context)),
        Method::Line { .. } => {
            let samples = samples_of(task, parts.as_ref(), context)?;
            context.pool()?.install(|| fit_line(task, samples, context))
        }
    }?;
    let table = table_of(&depths)?;
    let positions = some_positions(task, &samples);
    let searches = Searches {
        task,
        table: &table,
        positions: &positions,
        context,
    };
    let nodes = context.pool()?.install(|| searches.compare())?;
    let metrics = FitMpcMetrics {
        level: task.config.level(),
        t: task.config.margin(),
        depths,
        held_out,
        nodes,
    };
    let model = Model {
        mpc_samples: metrics
            .depths
            .iter()
            .flat_map(|fit| fit.entries().map(|_| fit.samples))
            .collect(),
        mpc: table,
        mpc_weights: Some(task.model.weights),
        ..(*task.model.model).clone()
    };
    let document = task.model.document.as_ref();
    let origin = VersionOrigin {
        kind: ModelKind::Model,
        stage: FACTS.name.into(),
        step,
        algorithm: FACTS.algorithm,
        parent: Some(task.model.as_reference()),
        datasets: document
            .map(|document| document.origin.datasets.clone())
            .unwrap_or_default(),
        config: serde_json::to_value(&task.config).expect("a config is plain data"),
        metrics: serde_json::to_value(&metrics).expect("figures are plain data"),
    };
    let content = model.content_hash();
    let id = match task.registry.made_by(step)? {
        Some(made) => made.id.to_string(),
        None => task.registry.publish(&model, &origin)?.to_string(),
    };
    Ok(FitMpcReport {
        skipped: false,
        id,
        content,
        metrics,
    })
}

type Fitted = Result<(Vec<DepthFit>, Vec<HeldOut>, Vec<Sample>), StageError>;

fn fit_source(
    task: &FitMpcTask,
    parts: Option<&Parts<'_, &FitMpcTask>>,
    context: Context<'_>,
) -> Fitted {
    if let Some(parts) = parts {
        // Parts of another recipe stay.
        parts.sort(&parts.ranges(), |_, _| (), context)?;
        parts.check_no_more()?;
    }
    let (name, unit, games) = (FACTS.name, FACTS.unit, task.config.games);
    let (fits, samples) = context.observe(name, games, unit, || source::fit(task, context))?;
    if let Some(parts) = parts {
        // Every score depends on the fits of all samples before it, so no part is published
        // until all are done.
        let publish = |range: &PartRange| {
            let of_range = samples
                .iter()
                .filter(|sample| range.games().contains(&sample.game));
            parts.publish(range, &of_range.cloned().collect())
        };
        parts.finish(
            parts
                .ranges()
                .iter()
                .map(publish)
                .collect::<Result<_, _>>()?,
        )?;
    }
    Ok((fits, Vec::new(), samples))
}

fn fit_line(task: &FitMpcTask, samples: Vec<Sample>, context: Context<'_>) -> Fitted {
    let fits = fit_pairs(&samples, task.config.depth_max, context)?;
    let first = table_of(&first_choice(&fits))?;
    let positions = &some_positions(task, &samples);
    let by_depth = Searches {
        task,
        table: &first,
        positions,
        context,
    }
    .costs()?;
    let chosen = choose(&samples, &fits, &by_depth, task.config.level(), context)?;
    let held_out = held_out(&samples, task.seed, &chosen, context)?;
    Ok((chosen, held_out, samples))
}

/// The fits of samples: the same bits for any order.
pub fn fit_samples(samples: &[Sample], depth_max: u8) -> Vec<DepthFit> {
    let all: Vec<&Sample> = samples.iter().collect();
    pairs_in(samples, depth_max)
        .into_iter()
        .flat_map(|pair| fit_pair(&all, pair))
        .collect()
}

/// The fits of every pair of depths, on the threads of the current pool.
fn fit_pairs(samples: &[Sample], depth_max: u8, context: Context<'_>) -> Result<Fits, StageError> {
    let all: Vec<&Sample> = samples.iter().collect();
    let fit = |pair| context.check().map(|()| (pair, fit_pair(&all, pair)));
    pairs_in(samples, depth_max)
        .into_par_iter()
        .map(fit)
        .collect()
}

/// The pairs of depths that samples have, in order.
fn pairs_in(samples: &[Sample], depth_max: u8) -> Vec<Pair> {
    let of_deep = |deep: u8| {
        (0..deep).map(move |shallow| Pair {
            deep: Deep::Depth(deep),
            shallow,
        })
    };
    let has_end = samples.iter().any(|sample| sample.end.is_some());
    let of_end = (0..depth_max).filter(|_| has_end).map(|shallow| Pair {
        deep: Deep::End,
        shallow,
    });
    (1..=depth_max).flat_map(of_deep).chain(of_end).collect()
}

/// Static values and the source's shallow depths: with these the costs of searches are measured.
fn first_choice(fits: &Fits) -> Vec<DepthFit> {
    let is_first = |pair: &Pair| match pair.deep {
        Deep::Depth(deep) => pair.shallow == 0 || source_shallow(deep) == Some(pair.shallow),
        Deep::End => false,
    };
    fits.iter()
        .filter(|(pair, _)| is_first(pair))
        .flat_map(|(_, fits)| fits.iter().cloned())
        .collect()
}

/// The samples of all parts, those that the output folder holds already and the others searched
/// now.
fn samples_of(
    task: &FitMpcTask,
    parts: Option<&Parts<'_, &FitMpcTask>>,
    context: Context<'_>,
) -> Result<Vec<Sample>, StageError> {
    let Some(parts) = parts else {
        let mut samples = BTreeMap::new();
        let mut keep = |range: &PartRange, rows| {
            samples.insert(range.index, rows);
            Ok(true)
        };
        let ranges = PartRange::all(task.config.games, task.config.part_games);
        let make = || task.make(&ranges, &mut keep, context);
        context.observe(FACTS.name, task.config.games, FACTS.unit, make)?;
        return Ok(samples.into_values().flatten().collect());
    };
    let (found, _) = parts.complete(&parts.ranges(), |part, rows| (part, rows), context)?;
    let (entries, samples): (Vec<Part>, Vec<Vec<Sample>>) = found.into_values().unzip();
    parts.finish(entries)?;
    Ok(samples.into_iter().flatten().collect())
}
