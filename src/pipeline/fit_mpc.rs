//! MPC statistics: shallow and deep searches of sampled positions, fitted depth by depth, as a new model version.

mod line;
mod sample;
mod seed;

use super::{Context, StageError, check_range};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, Part, RULES, base_footer, content_of};
use crate::artifact::dataset::mpc_samples::{self, MPC_SAMPLES, MpcSampleRow};
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::document::{ModelKind, Origin};
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::Model;
use crate::artifact::step::step_id;
use crate::engine::board::position::Position;
use crate::engine::search::mpc::{MpcEntry, MpcLevel, MpcTable};
use crate::engine::search::searcher::Searcher;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Goes up when the same inputs would give another table.
const ALGORITHM: u32 = 2;

/// The shallow depths of the source for deep depths 3 to 16.
const SHALLOW_DEPTHS: [u8; 14] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6];

/// The first depth with statistics.
const DEEP_MIN: u8 = 3;

/// The last depth with statistics: that of [`SHALLOW_DEPTHS`].
const DEEP_MAX: u8 = DEEP_MIN + SHALLOW_DEPTHS.len() as u8 - 1;

/// The `[fit_mpc]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct FitMpcConfig {
    pub method: Method,
    pub t: f64,
    pub depth_max: u8,
    pub samples: u64,
    pub random_plies: u8,
    pub exploration: f64,
    pub play_depth: u8,
    pub empties_min: u8,
    pub empties_max: u8,
    pub compare: u64,
    pub table_bits: u8,
}

/// The form of the fitted relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The source's: slope 1, offset the mean difference, one sigma for all phases; from depth 3.
    Seed,
    /// A least-squares line for each range of empty squares, from the static value and from the source's shallow depth;
    /// from depth 1.
    Line,
}

impl Method {
    const fn deep_min(self) -> u8 {
        match self {
            Self::Seed => DEEP_MIN,
            Self::Line => 1,
        }
    }
}

impl FitMpcConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        check_range("fit_mpc.t", self.t, 0.0, 10.0)?;
        check_range("fit_mpc.depth_max", self.depth_max, DEEP_MIN, DEEP_MAX)?;
        if self.samples == 0 {
            return Err(StageError::NoRows("fit_mpc.samples = 0: at least two positions are needed".into()));
        }
        check_range("fit_mpc.samples", self.samples, 2, 10_000_000)?;
        check_range("fit_mpc.random_plies", self.random_plies, 0, 40)?;
        check_range("fit_mpc.exploration", self.exploration, 0.0, 1.0)?;
        check_range("fit_mpc.play_depth", self.play_depth, 1, 10)?;
        check_range("fit_mpc.empties_max", self.empties_max, self.depth_max, 56)?;
        check_range("fit_mpc.empties_min", self.empties_min, self.depth_max, self.empties_max)?;
        check_range("fit_mpc.compare", self.compare, 1, self.samples)?;
        check_range("fit_mpc.table_bits", self.table_bits, 8, 28)
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
}

/// The statistics of one pair of depths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthFit {
    /// The fewest empty squares that they are for.
    pub empties_min: u8,
    /// The most empty squares that they are for.
    pub empties_max: u8,
    /// The depth predicted.
    pub deep: u8,
    /// The depth predicted from.
    pub shallow: u8,
    /// The slope of deep over shallow.
    pub slope: f64,
    /// The mean of deep − slope · shallow, in millidiscs.
    pub offset: i32,
    /// The standard deviation of the rest, in millidiscs.
    pub sigma: i32,
    /// Positions.
    pub samples: u64,
}

/// Nodes with and without the table at equal depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodesSaved {
    /// The depth of both searches.
    pub depth: u8,
    /// Positions searched.
    pub positions: u64,
    /// Nodes of the full-width searches.
    pub full_width: u64,
    /// Nodes of the searches with the table.
    pub selective: u64,
    /// The root of the mean squared difference of the scores, in discs.
    pub rms_difference: f64,
}

/// The figures of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitMpcMetrics {
    /// The margin in sigmas that searches used while fitting.
    pub t: f64,
    /// The statistics, by depth.
    pub depths: Vec<DepthFit>,
    /// What the table saves.
    pub nodes: NodesSaved,
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
/// A bad setting, a damaged registry, or whatever the system refuses.
pub fn fit_mpc(task: FitMpcTask<'_>, context: Context<'_>) -> Result<FitMpcReport, StageError> {
    task.config.check()?;
    let inputs = [
        ("seed", task.seed.to_string()),
        ("generation", task.generation.to_string()),
        ("weights", task.model.model.weights_hash().to_string()),
    ];
    let step = step_id("fit-mpc", ALGORITHM, task.config, &inputs);
    let config = serde_json::to_value(task.config).expect("a config is plain data");
    let is_there = |output| Manifest::is_there(output, DatasetKind::Mpc, step, ("fit_mpc", &config));
    let samples_missing = task.output.map(is_there).transpose()? == Some(false);
    if let Some(made) = task.registry.made_by(step)?.filter(|_| !samples_missing) {
        let document = made.document.expect("a version has a document");
        let metrics = serde_json::from_value(document.origin.metrics)
            .map_err(|error| StageError::Setting(format!("{} has figures of another form: {error}", made.id)))?;
        return Ok(FitMpcReport { skipped: true, id: made.id, content: made.content, metrics });
    }
    let turns = match task.config.method {
        Method::Seed => 2 + task.config.depth_max - DEEP_MIN,
        Method::Line => 2,
    };
    let steps = task.config.samples * u64::from(turns) + task.config.compare;
    context.progress.begin("fit-mpc", steps, "searches");
    let fitted = fit(task, context);
    context.progress.end();
    let (model, metrics, rows) = fitted?;
    if let Some(output) = task.output {
        write_samples(task, output, step, &rows)?;
    }
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
        Some(made) => made.id,
        None => task.registry.publish(&model, &origin)?,
    };
    Ok(FitMpcReport { skipped: false, id, content, metrics })
}

type Fitted = (Model, FitMpcMetrics, Vec<MpcSampleRow>);

/// The statistics and the samples that they come from.
type Statistics = (Vec<DepthFit>, Vec<MpcSampleRow>);

fn fit(task: FitMpcTask<'_>, context: Context<'_>) -> Result<Fitted, StageError> {
    let pool = context.pool()?;
    pool.install(|| {
        let positions = sample::positions(task, context)?;
        let (depths, rows) = match task.config.method {
            Method::Seed => seed::fit(task, &positions, context)?,
            Method::Line => line::fit(task, &positions, context)?,
        };
        let table = table_of(&depths);
        let nodes = compare(task, &table, &positions, context)?;
        let model = Model {
            mpc_samples: depths.iter().map(|fit| fit.samples).collect(),
            mpc: table,
            mpc_weights: Some(task.model.model.weights_hash()),
            ..task.model.model.clone()
        };
        Ok((model, FitMpcMetrics { t: task.config.t, depths, nodes }, rows))
    })
}

/// The table that searches use.
fn table_of(depths: &[DepthFit]) -> MpcTable {
    let entries = depths.iter().map(|fit| MpcEntry {
        empties_min: fit.empties_min,
        empties_max: fit.empties_max,
        deep: fit.deep,
        shallow: fit.shallow,
        slope: fit.slope,
        offset: fit.offset,
        sigma: fit.sigma,
        growth: 0.0,
        quantiles: crate::engine::search::mpc::NORMAL_QUANTILES,
    });
    MpcTable::new(entries.collect()).expect("fitted entries are in range")
}

/// A sample's row.
fn row(
    sample_id: u64,
    position: Position,
    [deep, shallow]: [u8; 2],
    [deep_score, shallow_score]: [i32; 2],
) -> MpcSampleRow {
    MpcSampleRow {
        sample_id,
        empties: position.empties(),
        player: position.player(),
        opponent: position.opponent(),
        deep_depth: deep,
        shallow_depth: shallow,
        deep_score,
        shallow_score,
    }
}

/// Searches some positions to the last depth with and without the table.
fn compare(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    context: Context<'_>,
) -> Result<NodesSaved, StageError> {
    let depth = task.config.depth_max;
    let stride = (positions.len() / task.config.compare as usize).max(1);
    let chosen: Vec<Position> = positions.iter().copied().step_by(stride).take(task.config.compare as usize).collect();
    let new_searcher = || Searcher::new(&task.model.model.evaluation, table, task.config.table_bits);
    let results: Result<Vec<_>, StageError> = chosen
        .par_iter()
        .map_init(new_searcher, |searcher, &position| {
            context.check()?;
            searcher.clear();
            let full = searcher.score_at_depth(position, depth, MpcLevel::FullWidth);
            searcher.clear();
            let selective = searcher.score_at_depth(position, depth, MpcLevel::Sigmas(task.config.t));
            context.progress.advance(1, 0);
            Ok((full, selective))
        })
        .collect();
    let results = results?;
    let squared: u64 = results.iter().map(|(full, selective)| u64::from(full.0.abs_diff(selective.0)).pow(2)).sum();
    Ok(NodesSaved {
        depth,
        positions: results.len() as u64,
        full_width: results.iter().map(|(full, _)| full.1).sum(),
        selective: results.iter().map(|(_, selective)| selective.1).sum(),
        rms_difference: (squared as f64 / results.len() as f64).sqrt() / 1000.0,
    })
}

/// Publishes the samples as a dataset of one part.
fn write_samples(
    task: FitMpcTask<'_>,
    output: &Path,
    step: ContentHash,
    rows: &[MpcSampleRow],
) -> Result<(), StageError> {
    let _lock = FolderLock::take(output)?;
    let footer = base_footer(step);
    let batch = mpc_samples::to_batch(rows);
    let entry = MPC_SAMPLES.write(&part_path(output, &MPC_SAMPLES, 0), &batch, &footer)?;
    let files = BTreeMap::from([(MPC_SAMPLES.name.to_owned(), entry)]);
    let parts = vec![Part { first: 0, count: task.config.samples, files }];
    let manifest = Manifest {
        format: FORMAT,
        kind: DatasetKind::Mpc,
        rules: RULES.to_owned(),
        recipe: step,
        seed: task.seed,
        generation: task.generation,
        models: BTreeMap::from([("searcher".to_owned(), task.model.content)]),
        config: serde_json::to_value(task.config).expect("a config is plain data"),
        asked: task.config.samples,
        done: task.config.samples,
        parents: Vec::new(),
        content: content_of(&parts),
        parts,
    };
    Ok(manifest.write(output)?)
}
