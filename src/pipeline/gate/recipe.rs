//! What decides a gate's games: its recipe, and how a folder that has another one is told apart.

use super::batches::{Batch, find_file, games_of, part_of};
use super::task::{ALGORITHM, GateTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::gate_games::GATE_GAMES;
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, recipe_footer, setting_key};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::{OpeningCounts, VerdictFile, read_verdict};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::exists;
use crate::artifact::step::{Settings, Step, first_difference, settings_hash};
use crate::artifact::table::{Footer, Table};
use serde_json::Value;
use std::path::Path;

/// Everything that decides a game but how many there may be.
pub(super) struct Recipe {
    pub(super) hash: ContentHash,
    /// The step id: the recipe, and how many games there may be.
    pub(super) step: ContentHash,
    /// The `[gate]` table, `games` included.
    pub(super) config: Value,
    /// Pairs that may be played.
    pub(super) pairs: u64,
    /// Contents of the avoided datasets, ascending.
    pub(super) avoided: Vec<ContentHash>,
    /// Name and value of everything in the hash.
    pub(super) settings: Settings,
}

impl Recipe {
    pub(super) fn new(task: &GateTask<'_>, avoided: Vec<ContentHash>) -> Self {
        let config = serde_json::to_value(task.config).expect("a config is plain data");
        let hashes: Vec<String> = avoided.iter().map(ToString::to_string).collect();
        let inputs = [
            ("seed", task.seed.to_string()),
            ("generation", task.generation.to_string()),
            ("candidate", task.candidate.content.to_string()),
            ("baseline", task.baseline.content.to_string()),
            ("avoid", if hashes.is_empty() { "nothing".to_owned() } else { hashes.join(" ") }),
        ];
        let step = Step::new("gate", ALGORITHM, task.config, &inputs).id;
        let mut settings = vec![
            ("format".to_owned(), FORMAT.to_string()),
            ("algorithm".to_owned(), ALGORITHM.to_string()),
            ("rules".to_owned(), RULES.to_owned()),
        ];
        let table = config.as_object().expect("a config is a table");
        let keys = table.iter().filter(|(key, _)| *key != "games");
        settings.extend(keys.map(|(key, value)| (format!("gate.{key}"), value.to_string())));
        settings.extend(inputs.map(|(name, value)| (name.to_owned(), value)));
        Self { hash: settings_hash("recipe", &settings), step, config, pairs: task.config.games / 2, avoided, settings }
    }

    /// The verdict of the folder if it is that of this step. One on fewer games than may be played now is no longer the
    /// last word: then there is none.
    pub(super) fn finished(&self, task: &GateTask<'_>) -> Result<Option<VerdictFile>, ArtifactError> {
        let folder = task.output;
        if !exists(&folder.join("manifest.json"))? {
            return Ok(None);
        }
        let manifest = Manifest::read(folder, DatasetKind::Gate)?;
        if manifest.recipe != self.hash {
            return Err(self.conflict(task, None));
        }
        self.check_pairs(folder, manifest.done)?;
        if !exists(&folder.join("verdict.json"))? {
            return Ok(None);
        }
        Ok(Some(read_verdict(folder)?).filter(|verdict| verdict.step == self.step))
    }

    /// An error if a folder holds more pairs than are asked for.
    pub(super) fn check_pairs(&self, folder: &Path, found: u64) -> Result<(), ArtifactError> {
        if found <= self.pairs {
            return Ok(());
        }
        let (found, asked) = (2 * found, 2 * self.pairs);
        let reason = format!(
            "it holds {found} games already, and gate.games asks for {asked}\nchoose another --output or ask for more"
        );
        Err(ArtifactError::Conflict { path: folder.to_owned(), reason })
    }

    /// What the file of a batch says of itself.
    pub(super) fn footer(&self, range: &PartRange, openings: &OpeningCounts) -> Footer {
        let mut footer = recipe_footer(self.hash, &self.settings);
        let counts = serde_json::to_string(openings).expect("counts are plain data");
        footer.insert("renma.openings".into(), counts);
        footer.insert("renma.first_pair".into(), range.first.to_string());
        footer.insert("renma.pairs".into(), range.count.to_string());
        footer
    }

    /// A batch that is there already; none that is damaged or has another number of pairs.
    pub(super) fn find(&self, task: &GateTask<'_>, range: &PartRange) -> Result<Option<Batch>, ArtifactError> {
        let Some((entry, footer, rows)) = find_file(task, self, range.index)? else { return Ok(None) };
        let says = |key: &str, value: u64| footer.get(key) == Some(&value.to_string());
        let games = games_of(range).ids();
        let is_whole = rows.iter().map(|row| row.game_id).eq(games);
        if !says("renma.first_pair", range.first) || !says("renma.pairs", range.count) || !is_whole {
            return Ok(None);
        }
        let counts = footer.get("renma.openings").and_then(|counts| serde_json::from_str(counts).ok());
        Ok(counts.map(|openings| Batch { part: part_of(range, entry), rows, openings }))
    }

    /// The first setting in which a folder differs from this recipe, by the footer of one of its files.
    pub(super) fn conflict(&self, task: &GateTask<'_>, footer: Option<&Footer>) -> ArtifactError {
        let first = Table::read_footer(&part_path(task.output, &GATE_GAMES, 0)).ok();
        let setting = footer.or(first.as_ref()).and_then(|footer| self.differing_setting(footer));
        let reason = match setting {
            Some(("candidate" | "baseline", hashes)) => differing_model(task).unwrap_or(hashes),
            Some((_, values)) => values,
            None => "it was made by another recipe".to_owned(),
        };
        let reason = format!("it holds another gate: {reason}\nchoose another --output");
        ArtifactError::Conflict { path: task.output.to_owned(), reason }
    }

    /// The name of the first setting that differs, and both values.
    fn differing_setting(&self, footer: &Footer) -> Option<(&str, String)> {
        first_difference(&self.settings, |name| footer.get(&setting_key(name)))
    }
}

/// Models have names in a verdict, and hashes elsewhere.
fn differing_model(task: &GateTask<'_>) -> Option<String> {
    // Without a sound verdict the hashes have to do.
    let verdict = read_verdict(task.output).ok()?;
    let pairs = [("candidate", &verdict.candidate, task.candidate), ("baseline", &verdict.baseline, task.baseline)];
    let (role, theirs, ours) = pairs.into_iter().find(|(_, theirs, ours)| theirs.content != ours.content)?;
    Some(format!("its {role} is {}, not {}", theirs.id, ours.id))
}
