//! How games begin: by random plies, or by every opening in turn.

use super::GenerateConfig;
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::game::Game;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How games begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpeningChoice {
    /// Random plies, as many as a number drawn for the game.
    Random,
    /// The positions that can be after so many plies, one up to symmetry, in turn.
    All,
}

/// The openings that games take in turn; none if they are random.
pub(super) struct Openings(Vec<Vec<Square>>);

impl Openings {
    pub(super) fn new(config: &GenerateConfig) -> Self {
        match config.openings {
            OpeningChoice::Random => Self(Vec::new()),
            OpeningChoice::All => Self(all_openings(config.random_plies_min)),
        }
    }

    /// The moves with which a game begins.
    pub(super) fn of(&self, game_id: u64) -> Option<&[Square]> {
        let place = game_id.checked_rem(self.0.len() as u64)?;
        Some(&self.0[place as usize])
    }
}

/// One way to each position after `plies`, up to symmetry; the order depends on nothing.
fn all_openings(plies: u8) -> Vec<Vec<Square>> {
    let mut games = vec![Game::new()];
    for _ in 0..plies {
        let mut seen: HashSet<Position> = HashSet::new();
        let mut next = Vec::new();
        for game in &games {
            for (square, _) in game.current().position.children() {
                let mut longer = game.clone();
                longer.play(square).expect("a child comes from a legal move");
                if seen.insert(longer.current().position.canonical()) {
                    next.push(longer);
                }
            }
        }
        games = next;
    }
    games.iter().map(|game| game.moves().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openings_are_all_positions_up_to_symmetry() {
        let counts: Vec<usize> = (0..=5).map(|plies| all_openings(plies).len()).collect();
        assert_eq!(counts, [1, 1, 3, 14, 60, 322]);
        let openings = Openings(all_openings(2));
        assert_eq!(openings.of(0), openings.of(3));
        assert_ne!(openings.of(0), openings.of(1));
        assert_eq!(Openings(Vec::new()).of(5), None);
    }
}
