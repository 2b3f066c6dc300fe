//! The parts of self-play: games with their positions.

use super::openings::Openings;
use super::play::{Player, SelfplayGame};
use super::recipe::{origin_of, recipe};
use super::remake::difference;
use super::task::GenerateTask;
use crate::artifact::dataset::bounds::GAME_ROWS_MAX;
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::dataset::verify::verify_part;
use crate::artifact::{
    ArtifactError, Dataset, Footer, GAMES, GameRow, POSITIONS, PartRange, PositionRow, Table, TableRow,
};
use crate::pipeline::parts::{PartFiles, PartKind, Parts, Sampling, Sink};
use crate::pipeline::stage::Stage;
use crate::pipeline::workers::make_items;
use crate::pipeline::{Context, StageError};
use arrow::array::RecordBatch;

/// Games that a thread sends to the writer together: waking the writer costs as much as playing a move.
const GAMES_PER_MESSAGE: usize = 8;

pub(in crate::pipeline) struct Games<'a> {
    task: GenerateTask<'a>,
}

/// The rows of games that follow each other.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct GamesRows {
    games: Vec<GameRow>,
    positions: Vec<PositionRow>,
    /// What playing them took; unknown of a part that was found.
    nodes: u64,
}

impl<'a> Games<'a> {
    /// The parts of a task.
    pub(in crate::pipeline) fn parts(task: GenerateTask<'a>) -> Parts<'a, Self> {
        let (items, part_items) = (task.config.games, task.config.part_games);
        Parts { kind: Self { task }, recipe: recipe(&task), folder: task.output, items, part_items }
    }
}

impl PartKind for Games<'_> {
    const STAGE: Stage = Stage::Generate;
    /// Little work beside that of the shards.
    const SAMPLING: Sampling = Sampling { unit: "games", per: 100, min: 16, max: 256 };

    type Rows = GamesRows;
    type Proof = ();

    fn rows_max(&self, table: &Table, range: &PartRange) -> u64 {
        if table.name == GAMES.name { range.count } else { range.count * GAME_ROWS_MAX }
    }

    fn read(&self, range: &PartRange, files: &[(Footer, RecordBatch)]) -> Option<GamesRows> {
        let [(_, games), (_, positions)] = files else { return None };
        let (games, positions) = (GameRow::from_batch(games).ok()?, PositionRow::from_batch(positions).ok()?);
        (games.len() as u64 == range.count).then_some(GamesRows { games, positions, nodes: 0 })
    }

    /// Games first: the positions say that the part is done.
    fn write(&self, rows: &GamesRows, files: &mut PartFiles<'_>) -> Result<(), ArtifactError> {
        files.write(&GAMES, &rows.games)?;
        files.write(&POSITIONS, &rows.positions)
    }

    fn make(
        &self,
        ranges: &[PartRange],
        sink: &mut Sink<'_, GamesRows>,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        let openings = Openings::new(self.task.config, self.task.book)?;
        let GenerateTask { config, seed, generation, model, .. } = self.task;
        let player = || Player::new(config, &openings, seed, generation, &model.model, context.stop);
        let mut publish = |range: &PartRange, games: Vec<SelfplayGame>| {
            let mut rows = GamesRows::default();
            for game in games {
                rows.nodes += game.nodes;
                rows.positions.extend(game.positions);
                rows.games.push(game.game);
            }
            sink(range, rows)
        };
        make_items((ranges, GAMES_PER_MESSAGE), player, Player::play, &mut publish, context)
    }

    fn count(rows: &GamesRows) -> Vec<(&'static str, u64)> {
        let (games, positions) = (rows.games.len() as u64, rows.positions.len() as u64);
        vec![("games_played", games), ("positions_written", positions), ("nodes", rows.nodes)]
    }

    fn difference(range: &PartRange, stored: &GamesRows, again: &GamesRows) -> Option<(&'static Table, String)> {
        let of_range = |row: &&PositionRow| range.ids().contains(&row.game_id);
        let positions: Vec<PositionRow> = stored.positions.iter().filter(of_range).copied().collect();
        let stored = stored.games.iter().find(|game| game.game_id == range.first);
        match (stored, again.games.first()) {
            (Some(stored), Some(game)) => difference((stored, &positions), (game, &again.positions)),
            _ => Some((&GAMES, format!("game {} is missing", range.first))),
        }
    }

    fn prove(&self, dataset: &Dataset, index: usize, context: Context<'_>) -> Result<(), StageError> {
        let settings = origin_of(dataset)?.map(|(_, settings)| settings).unwrap_or_default();
        check_footers(dataset, index, &settings)?;
        Ok(verify_part(dataset, index, false, context.stop)?)
    }
}
