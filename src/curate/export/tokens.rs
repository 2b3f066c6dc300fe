//! All games of a dataset as tokens, a chunk of games at a time.

use super::{Exported, Failure};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::{
    ArtifactError, Dataset, DatasetKind, GAMES, GATE_GAMES, GameId, GateGameRow, POSITIONS,
    PositionRow,
};
use crate::engine::{Black, ColoredPosition, Game, Ply, Score, Turn, White};
use crate::exchange::tokens::{
    MoveLabels, TokenGame, TokensConfig, TokensWriter, is_validation, tokens_of,
};
use crate::pipeline::Context;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::io::Write;
use std::iter::empty;
use std::path::Path;

/// Games that are replayed and written together. Their number decides where pages end, so it does
/// not depend on the number of threads.
const CHUNK_GAMES: usize = 1 << 12;

/// A game as a dataset has it.
struct StoredGame {
    game_id: GameId,
    moves: String,
    /// The number of its rows among the positions.
    positions: u8,
    /// Those rows, if labels were asked for.
    rows: Vec<PositionRow>,
}

/// Opens a dataset that has games.
///
/// # Errors
///
/// A missing, unfinished or damaged dataset, or one without games.
pub fn open(folder: &Path) -> Result<Dataset, ArtifactError> {
    let dataset = Dataset::open_any(folder)?;
    let manifest = dataset.manifest();
    let has_games = manifest
        .parts
        .iter()
        .all(|part| part.files.contains_key(GAMES.name));
    if has_games {
        return Ok(dataset);
    }
    let found = match manifest.kind {
        DatasetKind::Imported => "imported positions without games",
        kind => kind.content_words(),
    };
    let reason = format!("it holds {found}, and tokens are those of games");
    Err(ArtifactError::unfit(&folder.join("manifest.json"), reason))
}

/// Writes all games of a dataset.
pub fn write(
    dataset: &Dataset,
    config: TokensConfig,
    context: Context<'_>,
    output: &mut dyn Write,
) -> Result<Exported, Failure> {
    let pool = context.pool()?;
    let content = dataset.manifest().content.to_string();
    let mut file = TokensWriter::new(config, content)?;
    let (mut games, mut validation) = (0, 0);
    for index in 0..dataset.part_count() {
        let path = part_path(dataset.folder(), &POSITIONS, index);
        let mut stored = stored_games(dataset, index, context)?.into_iter();
        let mut rows = if config.labels {
            rows_of(dataset, index, &path, context)?
        } else {
            Box::new(empty())
        };
        while 0 < stored.len() {
            context.check()?;
            let mut chunk: Vec<StoredGame> = stored.by_ref().take(CHUNK_GAMES).collect();
            if config.labels {
                for game in &mut chunk {
                    let count = usize::from(game.positions);
                    game.rows = rows.by_ref().take(count).collect::<Result<_, _>>()?;
                }
            }
            let of_game = |game: &StoredGame| {
                let tokens = game.to_tokens(&config);
                tokens.map_err(|reason| dataset.damaged(&GAMES, index, reason))
            };
            let made: Result<Vec<TokenGame>, ArtifactError> =
                pool.install(|| chunk.par_iter().map(of_game).collect());
            let made = made?;
            games += made.len() as u64;
            validation += made.iter().filter(|game| game.is_validation).count() as u64;
            file.write(&made, output)?;
        }
        if let Some(row) = rows.next().transpose()? {
            let reason = format!("game {} is not among the games", row.game_id);
            return Err(dataset.damaged(&POSITIONS, index, reason).into());
        }
        context.progress.advance(1);
    }
    file.finish(output)?;
    Ok(Exported::Games { games, validation })
}

/// The games of a part, without the rows of their positions.
fn stored_games(
    dataset: &Dataset,
    index: usize,
    context: Context<'_>,
) -> Result<Vec<StoredGame>, ArtifactError> {
    let stored = |game_id, moves, positions| StoredGame {
        game_id,
        moves,
        positions,
        rows: Vec::new(),
    };
    if dataset.manifest().kind == DatasetKind::Gate {
        let games: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, context.stop)?;
        let games = games.into_iter();
        return Ok(games
            .map(|game| stored(game.game_id, game.moves, 0))
            .collect());
    }
    let games = dataset.game_rows(index)?.unwrap_or_default().into_iter();
    Ok(games
        .map(|game| stored(game.game_id, game.moves, game.positions))
        .collect())
}

/// The rows of the positions of a part, if its dataset has such a table. Some are in memory at a
/// time.
fn rows_of<'p>(
    dataset: &Dataset,
    index: usize,
    path: &'p Path,
    context: Context<'p>,
) -> Result<Box<dyn Iterator<Item = Result<PositionRow, ArtifactError>> + 'p>, ArtifactError> {
    let kind = dataset.manifest().kind;
    if kind == DatasetKind::Gate {
        return Ok(Box::new(empty()));
    }
    let batches = dataset.row_batches(kind.table(&POSITIONS), index, path, context.stop)?;
    let each = |batch: Result<Vec<PositionRow>, ArtifactError>| match batch {
        Ok(rows) => rows.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    };
    Ok(Box::new(batches.flat_map(each)))
}

impl StoredGame {
    /// The game in the form of the file.
    ///
    /// # Errors
    ///
    /// Moves that are not a game, or rows that are not those of its positions.
    fn to_tokens(&self, config: &TokensConfig) -> Result<TokenGame, String> {
        let game_id = self.game_id;
        let bad = |reason: String| format!("game {game_id}: {reason}");
        let game =
            Game::from_transcript(&self.moves).map_err(|error| bad(format!("moves, {error}")))?;
        let tokens = tokens_of(&game, config.length);
        let mut labels = Vec::new();
        if config.labels {
            labels = self.labels(&game).map_err(bad)?;
            labels.truncate(tokens.len());
        }
        Ok(TokenGame {
            game_id,
            is_validation: is_validation(&tokens, config.validation),
            tokens,
            labels,
        })
    }

    /// The labels of every move of the game.
    fn labels(&self, game: &Game) -> Result<Vec<MoveLabels>, String> {
        let (count, expected) = (self.rows.len(), self.positions);
        if count != usize::from(expected) {
            return Err(format!("{count} rows follow, its game says {expected}"));
        }
        let mut rows = self.rows.iter().peekable();
        let mut scores: Vec<Option<Score>> = Vec::new();
        for Turn { ply, colored, .. } in game.turns() {
            let row = rows.next_if(|row| Ply(row.ply) == ply);
            let score = row.map(|row| self.score_of(row, colored)).transpose()?;
            scores.push(score.flatten());
        }
        // A game that was given up has a row for its last position.
        let row = rows.next_if(|row| Ply(row.ply) == game.ply());
        let last = row
            .map(|row| self.score_of(row, game.to_move()))
            .transpose()?;
        scores.push(last.flatten());
        if let Some(row) = rows.next() {
            return Err(format!(
                "no position of it is that of the row of ply {}",
                row.ply
            ));
        }
        let sides = game.turns().map(|turn| turn.colored.black_to_move);
        let sides: Vec<bool> = sides.chain([game.to_move().black_to_move]).collect();
        let labels = game.turns().enumerate().map(|(number, turn)| {
            let position = turn.colored.position;
            let is_same_side = sides[number] == sides[number + 1];
            let after = scores[number + 1].map(|score| if is_same_side { score } else { -score });
            let score = scores[number];
            MoveLabels {
                black_to_move: turn.colored.black_to_move,
                mine: position.player(),
                yours: position.opponent(),
                legal: position.legal_moves(),
                score,
                loss: score.zip(after).map(|(score, after)| score - after),
            }
        });
        Ok(labels.collect())
    }

    /// The score of a row, which is that of a position of the game.
    fn score_of(
        &self,
        row: &PositionRow,
        colored: ColoredPosition,
    ) -> Result<Option<Score>, String> {
        let (Black(black), White(white)) = colored.boards();
        let expected = (self.game_id, black, white, colored.black_to_move);
        if (row.game_id, row.black, row.white, row.black_to_move) != expected {
            return Err(format!(
                "the row of ply {} is not that of its position",
                row.ply
            ));
        }
        row.position()?;
        Ok(row.score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: TokensConfig = TokensConfig {
        length: 2,
        validation: 0.0,
        labels: true,
    };

    /// A game that was given up after three moves, with a row for each position.
    fn stored() -> StoredGame {
        let game = Game::from_transcript("f5d6c3").unwrap();
        let turns = game.turns().map(|turn| (turn.colored, turn.ply));
        let positions = turns.chain([(game.to_move(), game.ply())]);
        let row = |(number, (colored, ply))| PositionRow {
            game_id: GameId(7),
            score: Some(Score(1000 * number)),
            ..PositionRow::unlabeled(colored, ply)
        };
        StoredGame {
            game_id: GameId(7),
            moves: game.transcript(),
            positions: 4,
            rows: (1..).zip(positions).map(row).collect(),
        }
    }

    #[test]
    fn a_loss_needs_the_score_before_the_move_and_the_one_after_it() {
        let losses = |game: &StoredGame| -> Vec<Option<i32>> {
            let labels = game.labels(&Game::from_transcript(&game.moves).unwrap());
            let losses = labels.unwrap().into_iter().map(|labels| labels.loss);
            losses.map(|loss| loss.map(|loss| loss.0)).collect()
        };
        assert_eq!(losses(&stored()), [Some(3000), Some(5000), Some(7000)]);
        let mut game = stored();
        game.rows[1].score = None;
        assert_eq!(losses(&game), [None, None, Some(7000)]);
        let mut game = stored();
        game.rows.remove(0);
        game.positions = 3;
        assert_eq!(losses(&game), [None, Some(5000), Some(7000)]);
        let tokens = stored().to_tokens(&CONFIG).unwrap();
        assert_eq!((tokens.tokens.len(), tokens.labels.len()), (2, 2));
        // The score after the last move that is kept counts, though its move is left out.
        assert_eq!(tokens.labels[1].loss, Some(Score(5000)));
    }

    #[test]
    fn rows_that_are_not_those_of_the_game_are_errors_that_name_it() {
        let check = |change: fn(&mut StoredGame), words: &str| {
            let mut game = stored();
            change(&mut game);
            let error = game.to_tokens(&CONFIG).unwrap_err();
            assert!(
                error.starts_with("game 7: ") && error.contains(words),
                "{error}"
            );
        };
        check(|game| game.moves = "f5d6a1".into(), "a1 is illegal");
        check(
            |game| game.rows.truncate(3),
            "3 rows follow, its game says 4",
        );
        check(|game| game.rows[1].game_id = GameId(8), "ply 1");
        check(|game| game.rows[1].white ^= 1, "ply 1");
        check(|game| game.rows[2].black_to_move = false, "ply 2");
        check(|game| game.rows[3].ply = 9, "ply 9");
        check(|game| game.rows.swap(0, 1), "ply 0");
        check(|game| game.rows[0].empties = 3, "empties is 3");
        check(|game| game.rows[0].score = Some(Score(64_001)), "64001");
    }
}
