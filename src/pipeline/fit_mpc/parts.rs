//! The samples on disk: parts of fixed ranges of games, found again after a kill; the manifest comes last.

use super::sample::Sample;
use super::task::{FitMpcConfig, FitMpcTask, Method};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::manifest::{
    DatasetKind, MPC_FORMAT, Manifest, Part, RULES, content_of, recipe_footer, setting_key,
};
use crate::artifact::dataset::mpc_samples::{self, MPC_SAMPLES, MpcSampleRow};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, remove_file};
use crate::artifact::step::{Settings, first_difference, settings_hash};
use crate::artifact::table::Footer;
use crate::pipeline::StageError;
use std::collections::BTreeMap;
use std::path::Path;

/// Goes up when the same config would give other samples.
const ALGORITHM: u32 = 1;

/// Keys that decide nothing about a sample of `method = "line"`.
const FREE_KEYS: [&str; 6] = ["games", "level", "t", "folds", "probes_max", "compare"];

/// Everything that decides a sample but how many games there are.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) hash: ContentHash,
    /// Name and value of everything in the hash.
    pub(super) settings: Settings,
}

impl Recipe {
    pub(super) fn new(task: &FitMpcTask<'_>) -> Self {
        let mut settings = vec![
            ("format".to_owned(), MPC_FORMAT.to_string()),
            ("algorithm".to_owned(), ALGORITHM.to_string()),
            ("seed".to_owned(), task.seed.to_string()),
            ("generation".to_owned(), task.generation.to_string()),
            ("weights".to_owned(), task.model.model.weights_hash().to_string()),
        ];
        let config = serde_json::to_value(task.config).expect("a config is plain data");
        for (key, value) in config.as_object().expect("a config is a table") {
            // The searches of the source's form depend on the margin, and on all games: each uses the fits before it.
            let free = match task.config.method {
                Method::Line => FREE_KEYS.contains(&key.as_str()),
                Method::Seed => FREE_KEYS[3..].contains(&key.as_str()),
            };
            if !free {
                settings.push((format!("fit_mpc.{key}"), value.to_string()));
            }
        }
        Self { hash: settings_hash("mpc samples", &settings), settings }
    }

    /// Whether a folder holds all samples of this recipe already; one with fewer loses its manifest until the rest is there.
    pub(super) fn is_finished(&self, task: &FitMpcTask<'_>, folder: &Path) -> Result<bool, StageError> {
        let path = folder.join("manifest.json");
        if !exists(&path)? {
            return Ok(false);
        }
        let config = serde_json::to_value(task.config).expect("a config is plain data");
        Manifest::is_there(folder, DatasetKind::Mpc, self.hash, ("fit_mpc", &config))?;
        let done = Manifest::read(folder, DatasetKind::Mpc)?.done;
        if task.config.games < done {
            let reason = format!(
                "it holds the samples of {done} games already, and fit_mpc.games asks for {}\nchoose another --output or ask for more",
                task.config.games
            );
            return Err(ArtifactError::Conflict { path: folder.to_owned(), reason }.into());
        }
        if done < task.config.games {
            remove_file(&path)?;
        }
        Ok(done == task.config.games)
    }

    /// A part as a folder holds it; `None` if it is not there, damaged or shorter than asked.
    pub(super) fn find(
        &self,
        config: &FitMpcConfig,
        folder: &Path,
        range: PartRange,
    ) -> Result<Option<(Part, Vec<Sample>)>, ArtifactError> {
        let path = part_path(folder, &MPC_SAMPLES, range.index);
        let of_recipe = |footer: &Footer| match footer.get("renma.recipe") == Some(&self.hash.to_string()) {
            true => Ok(range.count * config.game_rows_max()),
            false => Err(self.conflict(folder, footer)),
        };
        let (entry, footer, batch) = match MPC_SAMPLES.read_unlisted(&path, of_recipe) {
            Ok(found) => found,
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let says = |key: &str, value: String| footer.get(key) == Some(&value);
        if !says("renma.first_game", range.first.to_string()) || !says("renma.games", range.count.to_string()) {
            return Ok(None);
        }
        let rows: Vec<MpcSampleRow> = mpc_samples::from_batch(&batch).collect();
        let Ok(samples) = Sample::from_rows(&rows, config.depth_max) else { return Ok(None) };
        if samples.iter().any(|sample| !range.ids().contains(&sample.game)) {
            return Ok(None);
        }
        let files = BTreeMap::from([(MPC_SAMPLES.name.to_owned(), entry)]);
        Ok(Some((range.part(files), samples)))
    }

    fn conflict(&self, folder: &Path, footer: &Footer) -> ArtifactError {
        let differing = first_difference(&self.settings, |name| footer.get(&setting_key(name)));
        let differing = differing.map_or_else(|| "its samples are of another recipe".to_owned(), |(_, values)| values);
        let reason = format!("{differing}\nchoose another --output, or remove the folder");
        ArtifactError::Conflict { path: folder.to_owned(), reason }
    }

    /// Publishes a part.
    pub(super) fn write(&self, folder: &Path, range: PartRange, samples: &[Sample]) -> Result<Part, ArtifactError> {
        let mut footer = recipe_footer(self.hash, &self.settings);
        footer.insert("renma.first_game".into(), range.first.to_string());
        footer.insert("renma.games".into(), range.count.to_string());
        let rows: Vec<MpcSampleRow> = samples.iter().flat_map(Sample::rows).collect();
        let path = part_path(folder, &MPC_SAMPLES, range.index);
        let entry = MPC_SAMPLES.write(&path, &mpc_samples::to_batch(&rows), &footer)?;
        let files = BTreeMap::from([(MPC_SAMPLES.name.to_owned(), entry)]);
        Ok(range.part(files))
    }

    /// Publishes the manifest, which makes the folder a dataset.
    pub(super) fn finish(&self, task: &FitMpcTask<'_>, folder: &Path, parts: Vec<Part>) -> Result<(), ArtifactError> {
        let manifest = Manifest {
            format: MPC_FORMAT,
            kind: DatasetKind::Mpc,
            rules: RULES.to_owned(),
            recipe: self.hash,
            seed: task.seed,
            generation: task.generation,
            models: BTreeMap::from([("searcher".to_owned(), task.model.content)]),
            config: serde_json::to_value(task.config).expect("a config is plain data"),
            asked: task.config.games,
            done: task.config.games,
            parents: Vec::new(),
            content: content_of(&parts),
            parts,
        };
        manifest.write(folder)
    }
}
