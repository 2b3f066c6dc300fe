//! What follows from the moves of games and from their settings without playing them again: which
//! rows there are, their depths, which moves are random, and what exact scores say of each other.

use super::play::limits;
use super::recipe::origin_of;
use super::task::{ALGORITHM, EXPLORATION_EMPTIES, GenerateConfig};
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::dataset::verify::{GameCheck, verify_part};
use crate::artifact::{ArtifactError, Dataset, GameRow, PositionRow, Settings};
use crate::engine::{Depth, Discs, Game, Ply, Score};
use crate::pipeline::StageError;
use crate::pipeline::keys::Checked;
use crate::pipeline::proof::{PartProof, check_division, check_roles};
use std::sync::atomic::AtomicBool;

/// What the manifest of a dataset permits its games to be.
pub struct GameProof {
    /// What the footers say; nothing of an imported dataset.
    footer_settings: Settings,
    /// `None` where the settings are not known, or are those of another version of the algorithm.
    config: Option<Checked<GenerateConfig>>,
}

impl PartProof for GameProof {
    type Found = ();

    fn of(dataset: &Dataset) -> Result<Self, StageError> {
        let Some((algorithm, footer_settings)) = origin_of(dataset)? else {
            return Ok(Self {
                footer_settings: Settings::new(),
                config: None,
            });
        };
        let config = Checked::<GenerateConfig>::of_dataset(dataset)?;
        check_division(dataset, config.games, config.part_games)?;
        check_roles(dataset, &["player"])?;
        Ok(Self {
            footer_settings,
            config: (algorithm == ALGORITHM).then_some(config),
        })
    }

    fn prove(
        &self,
        dataset: &Dataset,
        index: usize,
        fast: bool,
        stop: &AtomicBool,
    ) -> Result<(), ArtifactError> {
        check_footers(dataset, index, &self.footer_settings)?;
        let check = |game: &Game, row: &GameRow, positions: &[PositionRow]| match &self.config {
            Some(config) => config.check_game(game, row, positions),
            None => Ok(()),
        };
        let check: Option<GameCheck<'_>> = if fast { None } else { Some(&check) };
        verify_part(dataset, index, check, stop)
    }
}

impl GenerateConfig {
    /// Checks a game that was replayed and the rows of its positions.
    fn check_game(
        &self,
        game: &Game,
        row: &GameRow,
        positions: &[PositionRow],
    ) -> Result<(), String> {
        let opening_plies = self.opening_plies(game, row)?;
        let labeled = game
            .turns()
            .filter(|turn| Ply(self.label_from_ply) <= turn.ply)
            .map(|turn| turn.ply.0);
        if !labeled.eq(positions.iter().map(|position| position.ply)) {
            let reason = "its rows are not those of the moves";
            return Err(format!(
                "{reason} from generate.label_from_ply = {} on",
                self.label_from_ply
            ));
        }
        for (place, position) in positions.iter().enumerate() {
            let checked = self
                .check_label(position)
                .and_then(|()| self.check_move(position, opening_plies));
            let checked = checked.and_then(|()| check_exact(position, positions.get(place + 1)));
            checked.map_err(|reason| format!("ply {}: {reason}", position.ply))?;
        }
        Ok(())
    }

    /// The plies of the opening, which the settings permit.
    fn opening_plies(&self, game: &Game, row: &GameRow) -> Result<u8, String> {
        // The lines of a book have any length.
        let max = if self.openings.book().is_some() {
            u8::MAX
        } else {
            self.random_plies_max
        };
        let min = self.random_plies_min;
        // A game may end in its opening.
        let Ply(end) = game.ply();
        let found = row
            .random_plies
            .ok_or("it does not say how many plies its opening has")?;
        if !(min.min(end)..=max.min(end)).contains(&found) {
            return Err(format!(
                "random_plies is {found}, {} to {} expected",
                min.min(end),
                max.min(end)
            ));
        }
        Ok(found)
    }

    /// Checks how deep the search was that gave the score.
    fn check_label(&self, position: &PositionRow) -> Result<(), String> {
        let (Depth(depth), exact) = limits(self, self.label_depth).outcome(position.empties);
        let is_exact = position.exact == Some(true);
        let expected = exact.unwrap_or(is_exact);
        if (position.depth, is_exact) == (Some(depth), expected) {
            return Ok(());
        }
        let found = format!(
            "depth is {} and exact {is_exact}",
            position.depth.unwrap_or_default()
        );
        Err(format!(
            "{found}, with {} empty squares {depth} and {expected} expected",
            position.empties
        ))
    }

    /// Checks whether the move was random, and that it is the best one where the search of the
    /// score chose it.
    fn check_move(&self, position: &PositionRow, opening_plies: u8) -> Result<(), String> {
        let (is_opening, random) = (
            position.ply < opening_plies,
            position.random_move == Some(true),
        );
        let is_explored = EXPLORATION_EMPTIES < position.empties;
        let can_be = is_opening || is_explored && 0.0 < self.exploration;
        let must_be = is_opening || is_explored && 1.0 <= self.exploration;
        if random && !can_be || !random && must_be {
            return Err(format!("random_move is {random}"));
        }
        let is_by_score = position.exact == Some(true) || self.play_depth == self.label_depth;
        if !random && is_by_score && position.played_move != position.best_move {
            return Err("played_move is not best_move, and its move is not random".to_owned());
        }
        Ok(())
    }
}

/// Checks an exact score: no move leads to more, and the best move to as much. `next` is the row of
/// the next move of the game.
fn check_exact(position: &PositionRow, next: Option<&PositionRow>) -> Result<(), String> {
    let Some(score) = position.score.filter(|_| position.exact == Some(true)) else {
        return Ok(());
    };
    if !score.is_final() {
        return Err(format!(
            "exact score {} is not an even number of discs",
            score.0
        ));
    }
    let after = match next {
        Some(next) if next.exact == Some(true) => next.score.map(|score| {
            if next.black_to_move == position.black_to_move {
                score
            } else {
                -score
            }
        }),
        Some(_) => None,
        None => position
            .result
            .map(|result| Score::from(Discs(result.into()))),
    };
    let Some(after) = after else { return Ok(()) };
    if score < after || position.played_move == position.best_move && score != after {
        return Err(format!(
            "exact score {}, and after its move {}",
            score.0, after.0
        ));
    }
    Ok(())
}
