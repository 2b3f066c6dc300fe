//! The parts of self-play: games with their positions.

use super::openings::Openings;
use super::play::{SelfplayGame, SelfplayPlayer};
use super::proof::GameProof;
use super::recipe::recipe;
use super::remake::difference;
use super::task::{FACTS, GenerateTask};
use crate::artifact::GameId;
use crate::artifact::dataset::bounds::GAME_ROWS_MAX;
use crate::artifact::{
    ArtifactError, Footer, GAMES, GameRow, POSITIONS, PartRange, PositionRow, Table, TableRow,
};
use crate::pipeline::parts::{CheckSampling, PartFiles, PartKind, Parts, Sink};
use crate::pipeline::stage::Facts;
use crate::pipeline::workers::make_items;
use crate::pipeline::{Context, StageError};
use arrow::array::RecordBatch;

/// The parts of a task.
pub fn selfplay_parts(task: &GenerateTask) -> Parts<'_, &GenerateTask> {
    let (items, part_items) = (task.config.games, task.config.part_games);
    Parts {
        kind: task,
        recipe: recipe(task),
        folder: &task.output,
        items,
        part_items,
    }
}

impl PartKind for &GenerateTask {
    const FACTS: &'static Facts = &FACTS;
    /// Little work beside that of the shards.
    const SAMPLING: CheckSampling = CheckSampling {
        unit: "games",
        per: 100,
        min: 16,
        max: 256,
    };

    type Rows = Vec<SelfplayGame>;
    type Proof = GameProof;

    fn rows_max(&self, table: &Table, range: &PartRange) -> u64 {
        if table.name == GAMES.name {
            range.count
        } else {
            range.count * GAME_ROWS_MAX
        }
    }

    fn read(
        &self,
        range: &PartRange,
        files: &[(Footer, RecordBatch)],
    ) -> Option<Vec<SelfplayGame>> {
        let [(_, games), (_, positions)] = files else {
            return None;
        };
        let (games, positions) = (
            GameRow::from_batch(games).ok()?,
            PositionRow::from_batch(positions).ok()?,
        );
        (games.len() as u64 == range.count).then(|| SelfplayGame::of_rows(games, &positions))
    }

    /// Games first: the positions say that the part is done.
    fn write(
        &self,
        games: &Vec<SelfplayGame>,
        files: &mut PartFiles<'_>,
    ) -> Result<(), ArtifactError> {
        files.write(
            &GAMES,
            &games
                .iter()
                .map(|game| game.game.clone())
                .collect::<Vec<GameRow>>(),
        )?;
        files.write(
            &POSITIONS,
            &games
                .iter()
                .flat_map(|game| &game.positions)
                .copied()
                .collect::<Vec<PositionRow>>(),
        )
    }

    fn make(
        &self,
        ranges: &[PartRange],
        sink: &mut Sink<'_, Vec<SelfplayGame>>,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        let openings = Openings::new(&self.config, self.book.as_ref())?;
        let GenerateTask {
            config,
            seed,
            generation,
            model,
            ..
        } = self;
        let player = || {
            SelfplayPlayer::new(
                config,
                &openings,
                *seed,
                *generation,
                &model.model,
                context.stop,
            )
        };
        let play = |player: &mut SelfplayPlayer<'_>, game| player.play(GameId(game));
        make_items(ranges, player, play, sink, context)
    }

    fn count(games: &Vec<SelfplayGame>) -> Vec<(&'static str, u64)> {
        let positions = games.iter().map(|game| game.positions.len() as u64).sum();
        let nodes = games.iter().map(|game| game.nodes).sum();
        vec![
            ("games_played", games.len() as u64),
            ("positions_written", positions),
            ("nodes", nodes),
        ]
    }

    fn difference(
        _: &PartRange,
        stored: &Vec<SelfplayGame>,
        again: &Vec<SelfplayGame>,
    ) -> Option<(&'static Table, String)> {
        again.iter().find_map(|again| difference(stored, again))
    }
}
