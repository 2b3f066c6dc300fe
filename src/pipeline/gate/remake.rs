//! Plays a sample of a gate's games again, from the openings that are stored with them.

use super::play::Players;
use super::task::{ALGORITHM, GateConfig};
use crate::artifact::GameId;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::footer::setting_in;
use crate::artifact::{ArtifactError, Dataset, GATE_GAMES, GateGameRow, Model, Table};
use crate::engine::Game;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::keys::Checked;
use crate::pipeline::{Context, StageError};

/// Plays games of a gate again.
#[derive(Debug)]
pub struct Remake<'a> {
    dataset: &'a Dataset,
    config: Checked<GateConfig>,
    candidate: &'a Model,
    baseline: &'a Model,
    sample: ItemSample,
}

impl<'a> Remake<'a> {
    /// Games of a gate, to be played again by the models that played them.
    ///
    /// # Errors
    ///
    /// Settings that cannot be, or games of another version of the algorithm.
    pub fn new(
        dataset: &'a Dataset,
        candidate: &'a Model,
        baseline: &'a Model,
        sample: ItemSample,
    ) -> Result<Self, ArtifactError> {
        let config = Checked::of_dataset(dataset)?;
        if let Some(first) = dataset.manifest().parts.first() {
            let path = part_path(dataset.folder(), &GATE_GAMES, 0);
            let footer = Table::read_listed_footer(&path, &first.files[GATE_GAMES.name])?;
            let algorithm = setting_in(&footer, "algorithm").map_or("none", String::as_str);
            if algorithm != ALGORITHM.to_string() {
                let reason = format!(
                    "algorithm {algorithm} made its games, this renma has algorithm {ALGORITHM}"
                );
                let remedy = "make them again with the renma that made them";
                return Err(ArtifactError::unfit(&path, format!("{reason}\n{remedy}")));
            }
        }
        Ok(Self {
            dataset,
            config,
            candidate,
            baseline,
            sample,
        })
    }

    /// Plays the games of the sample that are in a part, and compares them; returns the number of
    /// games.
    ///
    /// # Errors
    ///
    /// The first game that differs, or an interruption.
    pub fn part(&self, index: usize, context: Context<'_>) -> Result<u64, StageError> {
        let rows: Vec<GateGameRow> = self.dataset.read(&GATE_GAMES, index, context.stop)?;
        let damaged = |reason: String| self.dataset.damaged(&GATE_GAMES, index, reason);
        let part = &self.dataset.manifest().parts[index];
        let ids = 2 * part.first..2 * (part.first + part.count);
        let mut players = Players::new(&self.config, self.candidate, self.baseline, context.stop);
        let mut count = 0;
        for id in self.sample.among(ids.clone()) {
            let stored = &rows[(id - ids.start) as usize];
            let moves = Game::from_transcript(&stored.moves)
                .map_err(|error| damaged(format!("game {id}: {error}")))?;
            let opening: Vec<_> = moves.moves().take(stored.opening_plies.into()).collect();
            if players.play(GameId(id), &opening)? != *stored {
                return Err(damaged(format!("game {id} does not play out the same again")).into());
            }
            count += 1;
        }
        Ok(count)
    }
}
