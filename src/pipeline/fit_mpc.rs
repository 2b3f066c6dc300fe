//! MPC statistics: full-width searches of sampled positions, fitted depth by depth, as a new model version.

mod choice;
pub mod compare;
pub mod held_out;
mod line;
mod parts;
pub mod picture;
pub mod sample;
mod seed;
mod sums;

use super::search_settings::LevelSetting;
use super::{Context, StageError, check_parts, check_range};
use crate::artifact::dataset::folder::sweep_dataset;
use crate::artifact::dataset::mpc_samples::MPC_SAMPLES;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::document::{ModelKind, Origin};
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::Model;
use crate::artifact::publish::temporary::{sweep, sweep_own};
use crate::artifact::step::Step;
use crate::engine::search::mpc::{LEVELS, MpcEntry, MpcTable};
use crate::engine::search::searcher::Stopped;
use choice::{Costs, Fits, choose, source_shallow};
use compare::{NodesSaved, compare, costs, some_positions};
use held_out::{HeldOut, folds_of, held_out};
use line::{Deep, END_RANGES, Folds, Pair, Pool, fit_pair};
use parts::Recipe;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use sample::{Sample, Sampler};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Goes up when the same inputs would give another table.
pub const ALGORITHM: u32 = 3;

/// The shallow depths of the source for deep depths 3 to 16.
const SHALLOW_DEPTHS: [u8; 14] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6];

/// The first depth of [`SHALLOW_DEPTHS`].
const SHALLOW_FIRST: u8 = 3;

/// The last depth with statistics: that of [`SHALLOW_DEPTHS`].
const DEEP_MAX: u8 = SHALLOW_FIRST + SHALLOW_DEPTHS.len() as u8 - 1;

/// The `[fit_mpc]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct FitMpcConfig {
    pub method: Method,
    pub level: LevelSetting,
    pub t: f64,
    pub depth_max: u8,
    pub end_empties: u8,
    pub games: u64,
    pub part_games: u64,
    pub game_samples: u8,
    pub random_plies: u8,
    pub exploration: f64,
    pub play_depth: u8,
    pub empties_min: u8,
    pub empties_max: u8,
    pub tree_share: f64,
    pub tree_depth_min: u8,
    pub tree_depth_max: u8,
    pub folds: u32,
    pub probes_max: u8,
    pub compare: u64,
    pub table_bits: u8,
}

/// The form of the fitted relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The source's: slope 1, offset the mean difference, one sigma for all phases; from depth 3.
    Seed,
    /// Least-squares lines with quantiles for each range of empty squares, from the static value and from shallow depths
    /// chosen by what they save; from depth 1.
    Line,
}

impl FitMpcConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        self.level.level("fit_mpc.level")?;
        check_range("fit_mpc.t", self.t, 0.0, 10.0)?;
        check_range("fit_mpc.depth_max", self.depth_max, SHALLOW_FIRST, DEEP_MAX)?;
        check_range("fit_mpc.end_empties", self.end_empties, 0, END_RANGES[END_RANGES.len() - 1][1])?;
        if self.games == 0 {
            return Err(StageError::NoRows("fit_mpc.games = 0: at least one game is needed for positions".into()));
        }
        check_range("fit_mpc.games", self.games, 1, 10_000_000)?;
        check_parts(("fit_mpc.games", self.games), ("fit_mpc.part_games", self.part_games))?;
        check_range("fit_mpc.random_plies", self.random_plies, 0, 40)?;
        check_range("fit_mpc.exploration", self.exploration, 0.0, 1.0)?;
        check_range("fit_mpc.play_depth", self.play_depth, 1, 10)?;
        check_range("fit_mpc.empties_max", self.empties_max, self.depth_max, 56)?;
        check_range("fit_mpc.empties_min", self.empties_min, self.depth_max, self.empties_max)?;
        check_range("fit_mpc.game_samples", self.game_samples, 1, self.empties_max - self.empties_min + 1)?;
        check_range("fit_mpc.tree_share", self.tree_share, 0.0, 1.0)?;
        check_range("fit_mpc.tree_depth_max", self.tree_depth_max, 2, 20)?;
        check_range("fit_mpc.tree_depth_min", self.tree_depth_min, 2, self.tree_depth_max)?;
        check_range("fit_mpc.folds", self.folds, 2, 100)?;
        check_range("fit_mpc.probes_max", self.probes_max, 0, DEEP_MAX)?;
        check_range("fit_mpc.compare", self.compare, 1, self.games * u64::from(self.game_samples))?;
        check_range("fit_mpc.table_bits", self.table_bits, 8, 28)
    }

    /// The rows that the samples of a game can have: one for each depth, and one for the end of the game.
    fn game_rows_max(&self) -> u64 {
        u64::from(self.game_samples) * (u64::from(self.depth_max) + 2)
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct FitMpcTask<'a> {
    /// The `[fit_mpc]` table.
    pub config: &'a FitMpcConfig,
    /// The run's seed.
    pub seed: u64,
    /// The generation the samples belong to, counted from 1.
    pub generation: u32,
    /// The model whose searches are measured.
    pub model: &'a LoadedModel,
    /// Where the new version goes.
    pub registry: &'a Registry,
    /// The dataset folder for the samples, if they are to be kept.
    pub output: Option<&'a Path>,
    /// The folder for pictures of the fit, if they are wanted.
    pub report: Option<&'a Path>,
}

/// The statistics of one pair of depths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthFit {
    /// The fewest empty squares that they are for.
    pub empties_min: u8,
    /// The most empty squares that they are for.
    pub empties_max: u8,
    /// The depth predicted; `null`: the end of the game.
    pub deep: Option<u8>,
    /// The depth predicted from.
    pub shallow: u8,
    /// The slope of deep over shallow.
    pub slope: f64,
    /// The mean of deep − slope · shallow, in millidiscs.
    pub offset: i32,
    /// The deviation of the rest where shallow is 0, in millidiscs.
    pub sigma: i32,
    /// Millidiscs that the deviation grows by for each millidisc of |shallow|.
    pub growth: f64,
    /// The deviations within which 73, 87, 95, 98 and 99 % of the samples lie.
    pub quantiles: [f64; LEVELS.len()],
    /// The standard deviation of the rest, whatever shallow is, in millidiscs.
    pub rest: i32,
    /// The share of the variance of deep scores that the line explains.
    pub r_squared: f64,
    /// The share of samples more than 3 deviations from the line; 0.0027 if they were normal.
    pub beyond_3: f64,
    /// Positions in the range; where there are few, the statistics are those of all ranges.
    pub samples: u64,
}

impl DepthFit {
    fn pair(&self) -> Pair {
        Pair { deep: self.deep.map_or(Deep::End, Deep::Depth), shallow: self.shallow }
    }

    /// What searches use: one entry, or one for each number of empty squares if the end is predicted.
    fn entries(&self) -> impl Iterator<Item = MpcEntry> + '_ {
        let ends = if self.deep.is_none() { self.empties_min..=self.empties_max } else { 0..=0 };
        ends.map(|empties| {
            let [empties_min, empties_max] =
                if self.deep.is_none() { [empties; 2] } else { [self.empties_min, self.empties_max] };
            MpcEntry {
                empties_min,
                empties_max,
                deep: self.deep.unwrap_or(empties),
                shallow: self.shallow,
                slope: self.slope,
                offset: self.offset,
                sigma: self.sigma,
                growth: self.growth,
                quantiles: self.quantiles,
            }
        })
    }
}

/// The figures of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitMpcMetrics {
    /// The level for which probes were chosen.
    pub level: LevelSetting,
    /// The margin in sigmas that searches of the source's form used while fitting.
    pub t: f64,
    /// The statistics, by depth.
    pub depths: Vec<DepthFit>,
    /// Misses on games held out; none for the source's form, which knows no levels.
    pub held_out: Vec<HeldOut>,
    /// What the table saves.
    pub nodes: NodesSaved,
}

impl FitMpcMetrics {
    /// The margin in sigmas of the searches that have no percentage.
    #[must_use]
    pub const fn margin(&self) -> f64 {
        if let LevelSetting::Sigmas { t } = self.level { t } else { self.t }
    }
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitMpcReport {
    /// Whether the version was there already.
    pub skipped: bool,
    /// The version's id.
    pub id: String,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its figures.
    pub metrics: FitMpcMetrics,
}

/// Fits a table to a model's searches, unless the registry holds it already.
///
/// # Errors
///
/// A bad setting, a damaged registry, a folder that holds something else, or whatever the system refuses; finished parts
/// of the samples stay.
pub fn fit_mpc(task: FitMpcTask<'_>, context: Context<'_>) -> Result<FitMpcReport, StageError> {
    task.config.check()?;
    let step = step(&task).id;
    let recipe = Recipe::new(&task);
    let _lock = task.output.map(FolderLock::take).transpose()?;
    sweep_dead(&task)?;
    let is_finished = |output| recipe.is_finished(&task, output);
    let samples_missing = task.output.map(is_finished).transpose()? == Some(false);
    let pictures_missing = task.report.map(picture::are_there).transpose()? == Some(false);
    if let Some(made) = task.registry.made_by(step)?.filter(|_| !samples_missing && !pictures_missing) {
        let document = made.document.expect("a version has a document");
        let metrics = serde_json::from_value(document.origin.metrics)
            .map_err(|error| StageError::Setting(format!("{} has figures of another form: {error}", made.id)))?;
        return Ok(FitMpcReport { skipped: true, id: made.id.to_string(), content: made.content, metrics });
    }
    context.check_border()?;
    let fitted = context.pool()?.install(|| match task.config.method {
        Method::Seed => fit_seed(task, &recipe, context),
        Method::Line => fit_line(task, &recipe, context),
    });
    let (depths, held_out, parts) = fitted?;
    let table = table_of(&depths)?;
    let positions = some_positions(task, &parts);
    let nodes = context.pool()?.install(|| compare(task, &table, &positions, context))?;
    let metrics = FitMpcMetrics { level: task.config.level, t: task.config.t, depths, held_out, nodes };
    let model = Model {
        mpc_samples: metrics.depths.iter().flat_map(|fit| fit.entries().map(|_| fit.samples)).collect(),
        mpc: table,
        mpc_weights: Some(task.model.model.weights_hash()),
        ..task.model.model.clone()
    };
    let document = task.model.document.as_ref();
    let origin = Origin {
        kind: ModelKind::Model,
        stage: "fit-mpc".into(),
        step,
        algorithm: ALGORITHM,
        parent: Some(task.model.as_parent()),
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
fn sweep_dead(task: &FitMpcTask<'_>) -> Result<(), ArtifactError> {
    sweep(task.registry.folder())?;
    task.output.map_or(Ok(()), |output| sweep_dataset(output, &[&MPC_SAMPLES]))?;
    task.report.map_or(Ok(()), sweep_own)
}

/// What decides the statistics: the same settings make the same version.
#[must_use]
pub fn step(task: &FitMpcTask<'_>) -> Step {
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("weights", task.model.model.weights_hash().to_string()),
    ];
    Step::new("fit-mpc", ALGORITHM, task.config, &inputs)
}

/// What decides the samples but how many there are: a folder that has the same settings holds some of them.
#[must_use]
pub fn samples_step(task: &FitMpcTask<'_>) -> Step {
    let recipe = Recipe::new(task);
    Step { id: recipe.hash, settings: recipe.settings }
}

type Fitted = (Vec<DepthFit>, Vec<HeldOut>, Vec<Vec<Sample>>);

fn fit_seed(task: FitMpcTask<'_>, recipe: &Recipe, context: Context<'_>) -> Result<Fitted, StageError> {
    context.progress.begin("fit-mpc", task.config.games, "games");
    let fitted = seed::fit(task, context);
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
            ranges.iter().map(|range| recipe.write(output, *range, &of_range(range))).collect();
        recipe.finish(&task, output, parts?)?;
    }
    Ok((fits, Vec::new(), vec![samples]))
}

fn fit_line(task: FitMpcTask<'_>, recipe: &Recipe, context: Context<'_>) -> Result<Fitted, StageError> {
    context.progress.begin("fit-mpc", task.config.games, "games");
    let parts = make_parts(task, recipe, context);
    context.progress.end();
    let parts = parts?;
    let folds = Folds { seed: task.seed, count: task.config.folds };
    let folds_of_samples = folds_of(&parts, folds, context.stop)?;
    let pool = Pool { parts: &parts, folds: &folds_of_samples, without: None, stop: context.stop };
    let fits = fit_pairs(pool, task.config.depth_max)?;
    let first = table_of(&first_choice(&fits))?;
    let by_depth = costs(task, &first, &some_positions(task, &parts), context)?;
    let costs = Costs { by_depth, to_end: end_costs(&parts) };
    let level = task.config.level.checked();
    let chosen = choose(&parts, &fits, &costs, level, task.config.probes_max, context.stop)?;
    let held_out = held_out(pool, task.config.folds, &chosen)?;
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
fn fit_pairs(pool: Pool<'_>, depth_max: u8) -> Result<Fits, Stopped> {
    let mut pairs: Vec<Pair> = (1..=depth_max)
        .flat_map(|deep| (0..deep).map(move |shallow| Pair { deep: Deep::Depth(deep), shallow }))
        .collect();
    if pool.parts.iter().flatten().any(|sample| sample.end.is_some()) {
        pairs.extend((0..depth_max).map(|shallow| Pair { deep: Deep::End, shallow }));
    }
    pairs.into_par_iter().map(|pair| Ok((pair, fit_pair(pool, pair)?))).collect()
}

/// Static values and the source's shallow depths: with these the costs of searches are measured.
fn first_choice(fits: &Fits) -> Vec<DepthFit> {
    let is_first = |pair: &Pair| match pair.deep {
        Deep::Depth(deep) => pair.shallow == 0 || source_shallow(deep) == Some(pair.shallow),
        Deep::End => false,
    };
    fits.iter().filter(|(pair, _)| is_first(pair)).flat_map(|(_, fits)| fits.iter().cloned()).collect()
}

/// Mean nodes of exact searches in each range.
fn end_costs(parts: &[Vec<Sample>]) -> Vec<u64> {
    let mean = |[min, max]: [u8; 2]| {
        let samples = parts.iter().flatten().filter(|sample| (min..=max).contains(&sample.position.empties()));
        let nodes: Vec<u64> = samples.filter_map(|sample| sample.end.map(|end| end.nodes)).collect();
        nodes.iter().sum::<u64>() / nodes.len().max(1) as u64
    };
    END_RANGES.into_iter().map(mean).collect()
}

/// The table that searches use; scores that no search gave may lead to one that none can use.
fn table_of(depths: &[DepthFit]) -> Result<MpcTable, StageError> {
    let table = MpcTable::new(depths.iter().flat_map(DepthFit::entries).collect());
    table.map_err(|error| StageError::NoRows(format!("the samples make no MPC table: {error}")))
}

/// The samples of every part, those that the output folder holds already and the others searched now.
fn make_parts(task: FitMpcTask<'_>, recipe: &Recipe, context: Context<'_>) -> Result<Vec<Vec<Sample>>, StageError> {
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    for range in PartRange::all(task.config.games, task.config.part_games) {
        context.check()?;
        let found = task.output.map(|output| recipe.find(task.config, output, range)).transpose()?;
        if let Some((entry, samples)) = found.flatten() {
            context.progress.resume(range.count);
            entries.push(entry);
            parts.push(samples);
            continue;
        }
        context.check_border()?;
        let samples = make_part(task, range, context)?;
        if let Some(output) = task.output {
            entries.push(recipe.write(output, range, &samples)?);
        }
        parts.push(samples);
    }
    if let Some(output) = task.output {
        recipe.finish(&task, output, entries)?;
    }
    Ok(parts)
}

fn make_part(task: FitMpcTask<'_>, range: PartRange, context: Context<'_>) -> Result<Vec<Sample>, StageError> {
    let no_table = MpcTable::empty();
    let games: Result<Vec<Vec<Sample>>, StageError> = range
        .ids()
        .into_par_iter()
        .map_init(
            || Sampler::new(task, &no_table, context.stop),
            |sampler, game| {
                context.check()?;
                let samples = sampler.samples(game)?;
                context.progress.advance(1, samples.len() as u64);
                Ok(samples)
            },
        )
        .collect();
    Ok(games?.into_iter().flatten().collect())
}
