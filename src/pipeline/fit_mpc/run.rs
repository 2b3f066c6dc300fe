//! Fitting MPC statistics from beginning to end.

use super::choice::{Costs, Fits, choose, source_shallow};
use super::compare::{compare, costs, some_positions};
use super::held_out::{folds_of, held_out};
use super::line::{Folds, Pool, fit_pair, table_of};
use super::metrics::{Deep, DepthFit, END_RANGES, FitMpcMetrics, HeldOut, Pair};
use super::parts::{find_part, make_part, write_part};
use super::recipe::{recipe, step};
use super::sample::Sample;
use super::task::{FOLDS, FitMpcReport, FitMpcTask, Method, PROBES_MAX};
use super::{picture, source};
use crate::artifact::dataset::folder::sweep_dataset;
use crate::artifact::dataset::mpc_samples::MPC_SAMPLES;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::recipe::Recipe;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::document::{ModelKind, Origin};
use crate::artifact::model::version::Model;
use crate::artifact::publish::temporary::{sweep, sweep_own};
use crate::engine::search::result::Stopped;
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::sync::atomic::AtomicBool;

/// Fits a table to a model's searches, unless the registry holds it already.
///
/// # Errors
///
/// A bad setting, a damaged registry, a folder that holds something else, or whatever the system refuses; finished parts
/// of the samples stay.
pub fn fit_mpc(task: FitMpcTask<'_>, context: Context<'_>) -> Result<FitMpcReport, StageError> {
    task.config.check()?;
    let step = step(&task).id;
    let recipe = recipe(&task);
    let _registry_lock = FolderLock::take_named(task.registry.folder(), Stage::FitMpc.lock())?;
    let _lock = task.output.map(FolderLock::take).transpose()?;
    sweep_dead(&task)?;
    let samples = task.output.map(|output| recipe.finished(output, task.config.games)).transpose()?;
    let samples_missing = samples.is_some_and(|manifest| manifest.is_none());
    let pictures_missing = task.report.map(picture::are_there).transpose()? == Some(false);
    if let Some(made) = task.registry.made_by(step)?.filter(|_| !samples_missing && !pictures_missing) {
        let document = made.document.expect("a version has a document");
        let metrics = serde_json::from_value(document.origin.metrics)
            .map_err(|error| StageError::Setting(format!("{} has figures of another form: {error}", made.id)))?;
        return Ok(FitMpcReport { skipped: true, id: made.id.to_string(), content: made.content, metrics });
    }
    context.check_budget()?;
    let fitted = context.pool()?.install(|| match task.config.method {
        Method::Source { .. } => fit_source(task, &recipe, context),
        Method::Line { .. } => fit_line(task, &recipe, context),
    });
    let (depths, held_out, parts) = fitted?;
    let table = table_of(&depths)?;
    let positions = some_positions(task, &parts);
    let nodes = context.pool()?.install(|| compare(task, &table, &positions, context))?;
    let metrics = FitMpcMetrics { level: task.config.level(), t: task.config.margin(), depths, held_out, nodes };
    let model = Model {
        mpc_samples: metrics.depths.iter().flat_map(|fit| fit.entries().map(|_| fit.samples)).collect(),
        mpc: table,
        mpc_weights: Some(task.model.model.weights_hash()),
        ..task.model.model.clone()
    };
    let document = task.model.document.as_ref();
    let origin = Origin {
        kind: ModelKind::Model,
        stage: Stage::FitMpc.name().into(),
        step,
        algorithm: Stage::FitMpc.algorithm(),
        parent: Some(task.model.as_reference()),
        datasets: document.map(|document| document.origin.datasets.clone()).unwrap_or_default(),
        config: serde_json::to_value(task.config).expect("a config is plain data"),
        metrics: serde_json::to_value(&metrics).expect("figures are plain data"),
    };
    let content = model.content_hash();
    let id = match task.registry.made_by(step)? {
        Some(made) => made.id.to_string(),
        None => task.registry.publish(&model, &origin)?.to_string(),
    };
    // Drawn after the version is there, so that a call after a kill knows its own pictures.
    if let Some(folder) = task.report {
        picture::draw(folder, &metrics, &parts)?;
    }
    Ok(FitMpcReport { skipped: false, id, content, metrics })
}

/// Removes what dead processes left where this stage writes.
pub(super) fn sweep_dead(task: &FitMpcTask<'_>) -> Result<(), ArtifactError> {
    sweep(task.registry.folder())?;
    task.output.map_or(Ok(()), |output| sweep_dataset(output, &[&MPC_SAMPLES]))?;
    task.report.map_or(Ok(()), sweep_own)
}

pub(super) type Fitted = (Vec<DepthFit>, Vec<HeldOut>, Vec<Vec<Sample>>);

pub(super) fn fit_source(task: FitMpcTask<'_>, recipe: &Recipe, context: Context<'_>) -> Result<Fitted, StageError> {
    context.progress.begin(Stage::FitMpc.name(), task.config.games, "games");
    let fitted = source::fit(task, context);
    context.progress.end();
    let (fits, samples) = fitted?;
    if let Some(output) = task.output {
        // Every score depends on the fits of all samples before it, so there is no part until all are done.
        let ranges = PartRange::all(task.config.games, task.config.part_games);
        let of_range = |range: &PartRange| {
            let games = range.ids();
            samples.iter().filter(|sample| games.contains(&sample.game)).cloned().collect::<Vec<_>>()
        };
        let parts: Result<Vec<_>, _> =
            ranges.iter().map(|range| write_part(recipe, output, range, &of_range(range))).collect();
        recipe.manifest(task.config.games, parts?).write(output)?;
    }
    Ok((fits, Vec::new(), vec![samples]))
}

pub(super) fn fit_line(task: FitMpcTask<'_>, recipe: &Recipe, context: Context<'_>) -> Result<Fitted, StageError> {
    context.progress.begin(Stage::FitMpc.name(), task.config.games, "games");
    let parts = make_parts(task, recipe, context);
    context.progress.end();
    let parts = parts?;
    let folds = Folds { seed: task.seed, count: FOLDS };
    let folds_of_samples = folds_of(&parts, folds, context.stop)?;
    let pool = Pool { parts: &parts, folds: &folds_of_samples, without: None, stop: context.stop };
    let fits = fit_pairs(pool, task.config.depth_max)?;
    let first = table_of(&first_choice(&fits))?;
    let by_depth = costs(task, &first, &some_positions(task, &parts), context)?;
    let costs = Costs { by_depth, to_end: end_costs(&parts) };
    let level = task.config.level().checked();
    let chosen = choose(&parts, &fits, &costs, level, PROBES_MAX, context.stop)?;
    let held_out = held_out(pool, FOLDS, &chosen)?;
    Ok((chosen, held_out, parts))
}

/// The fits of samples that come in any number of parts: the same bits for any partition.
#[must_use]
pub fn fit_samples(parts: &[Vec<Sample>], depth_max: u8) -> Vec<DepthFit> {
    let folds: Vec<Vec<u32>> = parts.iter().map(|part| vec![0; part.len()]).collect();
    let never = AtomicBool::new(false);
    let fits = fit_pairs(Pool { parts, folds: &folds, without: None, stop: &never }, depth_max);
    fits.expect("nothing stops the fit").into_values().flatten().collect()
}

/// The fits of every pair of depths, on the threads of the current pool.
pub(super) fn fit_pairs(pool: Pool<'_>, depth_max: u8) -> Result<Fits, Stopped> {
    let mut pairs: Vec<Pair> = (1..=depth_max)
        .flat_map(|deep| (0..deep).map(move |shallow| Pair { deep: Deep::Depth(deep), shallow }))
        .collect();
    if pool.parts.iter().flatten().any(|sample| sample.end.is_some()) {
        pairs.extend((0..depth_max).map(|shallow| Pair { deep: Deep::End, shallow }));
    }
    pairs.into_par_iter().map(|pair| Ok((pair, fit_pair(pool, pair)?))).collect()
}

/// Static values and the source's shallow depths: with these the costs of searches are measured.
pub(super) fn first_choice(fits: &Fits) -> Vec<DepthFit> {
    let is_first = |pair: &Pair| match pair.deep {
        Deep::Depth(deep) => pair.shallow == 0 || source_shallow(deep) == Some(pair.shallow),
        Deep::End => false,
    };
    fits.iter().filter(|(pair, _)| is_first(pair)).flat_map(|(_, fits)| fits.iter().cloned()).collect()
}

/// Mean nodes of exact searches in each range.
pub(super) fn end_costs(parts: &[Vec<Sample>]) -> Vec<u64> {
    let mean = |[min, max]: [u8; 2]| {
        let samples = parts.iter().flatten().filter(|sample| (min..=max).contains(&sample.position.empties()));
        let nodes: Vec<u64> = samples.filter_map(|sample| sample.end.map(|end| end.nodes)).collect();
        nodes.iter().sum::<u64>() / nodes.len().max(1) as u64
    };
    END_RANGES.into_iter().map(mean).collect()
}

/// The samples of every part, those that the output folder holds already and the others searched now.
pub(super) fn make_parts(
    task: FitMpcTask<'_>,
    recipe: &Recipe,
    context: Context<'_>,
) -> Result<Vec<Vec<Sample>>, StageError> {
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    for range in PartRange::all(task.config.games, task.config.part_games) {
        context.check()?;
        let found =
            task.output.map(|output| find_part(recipe, task.config, output, &range, context.stop)).transpose()?;
        if let Some((entry, samples)) = found.flatten() {
            context.progress.resume(range.count);
            entries.push(entry);
            parts.push(samples);
            continue;
        }
        context.check_budget()?;
        let samples = make_part(task, range, context)?;
        if let Some(output) = task.output {
            entries.push(write_part(recipe, output, &range, &samples)?);
        }
        parts.push(samples);
    }
    if let Some(output) = task.output {
        recipe.manifest(task.config.games, entries).write(output)?;
    }
    Ok(parts)
}
