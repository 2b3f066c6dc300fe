//! Plays a sample of a dataset's games again from their streams.

use super::openings::Openings;
use super::play::{SelfplayGame, SelfplayPlayer};
use super::recipe::origin_of;
use super::task::{ALGORITHM, GenerateConfig, OpeningChoice};
use crate::artifact::GameId;
use crate::artifact::{ArtifactError, Dataset, GAMES, Model, POSITIONS, Table};
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::keys::Checked;
use crate::pipeline::{Context, StageError};

/// Plays games of a dataset again.
#[derive(Debug)]
pub struct Remake<'a> {
    dataset: &'a Dataset,
    config: Checked<GenerateConfig>,
    model: &'a Model,
    sample: ItemSample,
}

impl<'a> Remake<'a> {
    /// Games of a dataset, to be played again by the model that played them.
    ///
    /// # Errors
    ///
    /// A dataset that did not come from `generate`, or from another version of its algorithm.
    pub fn new(
        dataset: &'a Dataset,
        model: &'a Model,
        sample: ItemSample,
    ) -> Result<Self, ArtifactError> {
        let config = Checked::of_dataset(dataset)?;
        let unfit =
            |reason: String| ArtifactError::unfit(&dataset.folder().join("manifest.json"), reason);
        match origin_of(dataset)? {
            Some((ALGORITHM, _)) => Ok(Self {
                dataset,
                config,
                model,
                sample,
            }),
            Some((algorithm, _)) => {
                let reason = format!(
                    "algorithm {algorithm} made its games, this renma has algorithm {ALGORITHM}"
                );
                Err(unfit(format!(
                    "{reason}\nmake them again with the renma that made them"
                )))
            }
            None => Err(unfit(
                "it was imported: its games cannot be made again".into(),
            )),
        }
    }

    /// Plays the games of the sample that are in a part, and compares every row; returns the number
    /// of games.
    ///
    /// # Errors
    ///
    /// The first game that differs, or an interruption.
    pub fn part(&self, index: usize, context: Context<'_>) -> Result<u64, StageError> {
        let manifest = self.dataset.manifest();
        let part = &manifest.parts[index];
        let mut wanted = self
            .sample
            .among(part.first..part.first + part.count)
            .peekable();
        if wanted.peek().is_none() {
            return Ok(0);
        }
        let games = self.dataset.game_rows(index)?.unwrap_or_default();
        let games = SelfplayGame::of_rows(games, &self.dataset.rows(index, context.stop)?);
        let openings = match &self.config.openings {
            // A book is not kept with the games: each begins again with the moves that its row says
            // it took from there.
            OpeningChoice::Book { .. } => {
                Openings::Played(games.iter().map(|game| &game.game).collect())
            }
            _ => Openings::new(&self.config, None)?,
        };
        let mut player = SelfplayPlayer::new(
            &self.config,
            &openings,
            manifest.seed,
            manifest.generation,
            self.model,
            context.stop,
        );
        let mut count = 0;
        for id in wanted {
            if let Some((table, reason)) = difference(&games, &player.play(GameId(id))?) {
                return Err(self.dataset.damaged(table, index, reason).into());
            }
            count += 1;
        }
        Ok(count)
    }
}

/// How a game among those that are stored differs from the same game played again: the table and
/// the reason.
pub(super) fn difference(
    stored: &[SelfplayGame],
    again: &SelfplayGame,
) -> Option<(&'static Table, String)> {
    let id = again.game.game_id;
    let Some(SelfplayGame {
        game, positions, ..
    }) = stored.iter().find(|stored| stored.game.game_id == id)
    else {
        return Some((&GAMES, format!("game {id} is missing")));
    };
    if *game != again.game {
        let reason = format!(
            "game {id} plays out differently: {} and now {}",
            game.moves, again.game.moves
        );
        return Some((&GAMES, reason));
    }
    let reason = match positions
        .iter()
        .zip(&again.positions)
        .find(|(row, again)| row != again)
    {
        Some((row, again)) => format!("game {id}, ply {}: {row:?} and now {again:?}", row.ply),
        None if positions.len() != again.positions.len() => {
            format!(
                "game {id} has {} rows and now {}",
                positions.len(),
                again.positions.len()
            )
        }
        None => return None,
    };
    Some((&POSITIONS, reason))
}
