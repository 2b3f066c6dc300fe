//! How games begin: by random plies, or from a book.

use super::task::{GenerateConfig, OpeningChoice};
use crate::artifact::GameId;
use crate::artifact::GameRow;
use crate::engine::{Game, Ply};
use crate::pipeline::StageError;
use crate::pipeline::book::Book;

/// The openings that games take.
pub(super) enum Openings<'a> {
    /// One after another; none if all plies are random.
    InTurn(Vec<Game>),
    /// Those with which these games, consecutive ones, began when they were played.
    Played(Vec<&'a GameRow>),
}

impl<'a> Openings<'a> {
    pub(super) fn new(config: &GenerateConfig, book: Option<&Book>) -> Result<Self, StageError> {
        let openings = match config.openings {
            OpeningChoice::Random {} => Vec::new(),
            OpeningChoice::Book { .. } => {
                let book = book
                    .ok_or_else(|| StageError::Setting("generate.book has not been read".into()))?;
                book.openings.to_vec()
            }
        };
        Ok(Self::InTurn(openings))
    }

    /// How a game begins; `random_plies` more are drawn for it.
    pub(super) fn of(&self, game_id: GameId, random_plies: u8) -> Game {
        let opening = match self {
            Self::InTurn(openings) => game_id
                .0
                .checked_rem(openings.len() as u64)
                .map(|place| openings[place as usize].clone()),
            Self::Played(games) => played(games, game_id, random_plies),
        };
        opening.unwrap_or_default()
    }
}

/// The moves before the random plies of a game's opening. A game that ended in its opening does not
/// tell where these began: all of its moves are taken.
fn played(games: &[&GameRow], game_id: GameId, random_plies: u8) -> Option<Game> {
    let row = games.iter().find(|row| row.game_id == game_id)?;
    let game = Game::from_transcript(&row.moves).ok()?;
    let opening_plies = row.random_plies?;
    if Ply(opening_plies) == game.ply() {
        return Some(game);
    }
    let plies = opening_plies.checked_sub(random_plies)?;
    let turns = game.turns().take_while(|turn| turn.ply < Ply(plies));
    Game::from_moves(turns.map(|turn| turn.square)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_come_in_turn() {
        let lines = ["f5d6", "f5f6", "f5f4"].map(|line| Game::from_transcript(line).unwrap());
        let openings = Openings::InTurn(lines.to_vec());
        assert_eq!(
            [0, 1, 5].map(|id| openings.of(GameId(id), 0)),
            [0, 1, 2].map(|place| lines[place].clone())
        );
        assert_eq!(
            Openings::InTurn(Vec::new()).of(GameId(5), 8),
            Game::default()
        );
    }
}
