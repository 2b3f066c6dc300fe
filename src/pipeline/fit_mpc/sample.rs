//! Positions to measure, from games that the model plays against itself and from the trees of its
//! searches, with their full-width scores.

use super::task::{FitMpcTask, PLAY_DEPTH, RANDOM_PLIES, Sampling};
use crate::artifact::GameId;
use crate::artifact::MpcSampleRow;
use crate::engine::{
    Depth, Game, Limits, MpcLevel, MpcTable, NodeRequest, Opponent, Player, Ply, Position, Score,
    Searcher, Squares, Stopped,
};
use crate::random::{RandomStream, Stream, stream};
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

/// A sampled tree node lies this many plies below the root of its search; deeper ones cost more
/// than they are worth.
const PLIES_BELOW_ROOT: [u8; 2] = [1, 2];

/// More nodes than a search of a sample takes in years; sums of them do not overflow.
const NODES_MAX: u64 = 1 << 40;

/// What searches full width use.
static NO_TABLE: LazyLock<MpcTable> = LazyLock::new(MpcTable::empty);

/// What a search found out about a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// From the side to move.
    pub score: Score,
    /// The nodes that it took.
    pub nodes: u64,
}

/// The null window in which a search met a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetIn {
    /// The remaining depth there.
    pub depth: u8,
    /// The window asked whether the value is above this.
    pub alpha: Score,
}

/// A position with its full-width scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Unique in the dataset.
    pub id: u64,
    /// The game it comes from.
    pub game: GameId,
    /// The position, whose side to move has a move.
    pub position: Position,
    /// Where a search met it; `None` for a position of the game.
    pub met: Option<MetIn>,
    /// By depth, from the static value on.
    pub depths: Vec<Searched>,
    /// To the end of the game, if it was near enough.
    pub end: Option<Searched>,
}

impl Sample {
    /// The rows of the sample.
    pub(super) fn rows(&self) -> impl Iterator<Item = MpcSampleRow> + '_ {
        let empties = self.position.empties();
        let by_depth = (0..).zip(&self.depths);
        by_depth
            .chain(self.end.iter().map(move |end| (empties, end)))
            .map(move |(depth, searched)| MpcSampleRow {
                sample_id: self.id,
                game_id: self.game,
                empties,
                player: self.position.player(),
                opponent: self.position.opponent(),
                met_depth: self.met.map_or(0, |met| met.depth),
                alpha: self.met.map(|met| met.alpha),
                depth,
                score: searched.score,
                nodes: searched.nodes,
            })
    }

    /// The samples of the rows of a part: the rows of each sample follow each other by depth, from
    /// 0 to `depth_max`, and a row for the end of the game may come last.
    ///
    /// # Errors
    ///
    /// The first sample whose rows no search can have found, and why.
    pub fn from_rows(rows: &[MpcSampleRow], depth_max: u8) -> Result<Vec<Self>, String> {
        let samples = rows.chunk_by(|left, right| left.sample_id == right.sample_id);
        let with_id = |rows: &[MpcSampleRow]| {
            Self::from_own_rows(rows, depth_max)
                .map_err(|reason| format!("sample {}: {reason}", rows[0].sample_id))
        };
        samples.map(with_id).collect()
    }

    fn from_own_rows(rows: &[MpcSampleRow], depth_max: u8) -> Result<Self, String> {
        let first = rows[0];
        let position = Position::new(Player(first.player), Opponent(first.opponent))
            .ok_or("player and opponent share a square")?;
        let empties = position.empties();
        let count_min = usize::from(depth_max) + 1;
        if !(count_min..=count_min + 1).contains(&rows.len()) {
            return Err(format!(
                "it has {} rows, {count_min} or {} expected",
                rows.len(),
                count_min + 1
            ));
        }
        if first.alpha.is_none() && first.met_depth != 0 {
            return Err(format!(
                "it has no window, and was met at depth {}",
                first.met_depth
            ));
        }
        let depths = (0..=depth_max).chain([empties]);
        for (row, depth) in rows.iter().zip(depths) {
            let bad = |reason: String| Err(format!("depth {}: {reason}", row.depth));
            if row.depth != depth {
                return bad(format!("depth {depth} is missing"));
            }
            if (row.game_id, row.player, row.opponent)
                != (first.game_id, first.player, first.opponent)
                || (row.met_depth, row.alpha) != (first.met_depth, first.alpha)
            {
                return bad("its game, position or window is not that of depth 0".into());
            }
            if row.empties != empties {
                return bad(format!(
                    "empties is {}, the board has {empties}",
                    row.empties
                ));
            }
            if !row.score.is_possible() {
                return bad(format!("score {} is beyond ±{}", row.score.0, Score::MAX.0));
            }
            if !(1..=NODES_MAX).contains(&row.nodes) {
                return bad(format!("{} nodes are not what a search takes", row.nodes));
            }
        }
        let searched = |row: &MpcSampleRow| Searched {
            score: row.score,
            nodes: row.nodes,
        };
        let (depths, end) = rows.split_at(count_min);
        Ok(Self {
            id: first.sample_id,
            game: first.game_id,
            position,
            met: first.alpha.map(|alpha| MetIn {
                depth: first.met_depth,
                alpha,
            }),
            depths: depths.iter().map(searched).collect(),
            end: end.first().map(searched),
        })
    }
}

/// Makes samples, one game after another.
pub(super) struct Sampler<'t> {
    task: &'t FitMpcTask,
    sampling: Sampling,
    /// Plays as the model is.
    player: Searcher<'t>,
    /// Searches full width.
    scorer: Searcher<'t>,
}

impl<'t> Sampler<'t> {
    pub(super) fn new(task: &'t FitMpcTask, stop: &'t AtomicBool) -> Self {
        let model = &task.model.model;
        let sampling = task.config.sampling();
        let new = |mpc| Searcher::new(&model.evaluation, mpc, sampling.table_bits).stopped_by(stop);
        Self {
            task,
            sampling,
            player: new(&model.mpc),
            scorer: new(&NO_TABLE),
        }
    }

    /// The samples of a game with their scores.
    pub(super) fn samples(&mut self, game: GameId) -> Result<Vec<Sample>, Stopped> {
        let mut samples = self.positions(game)?;
        for sample in &mut samples {
            self.score(sample)?;
        }
        Ok(samples)
    }

    /// The samples of a game without scores.
    pub(super) fn positions(&mut self, game: GameId) -> Result<Vec<Sample>, Stopped> {
        let mut rng = stream(
            self.task.seed,
            Stream::MpcSample(self.task.generation.0, game.0),
        );
        let positions = self.game_positions(&mut rng)?;
        let first = game.0 * positions.len() as u64;
        let samples = (first..).zip(positions).map(|(id, position)| {
            let (position, met) = self.met(&mut rng, position)?.unwrap_or((position, None));
            Ok(Sample {
                id,
                game,
                position,
                met,
                depths: Vec::new(),
                end: None,
            })
        });
        samples.collect()
    }

    /// One position in each of equal ranges of empty squares; a game that ends before the last is
    /// played again.
    fn game_positions(&mut self, rng: &mut RandomStream) -> Result<Vec<Position>, Stopped> {
        loop {
            let wanted = wanted_empties(&self.sampling, rng);
            let exploration = self.sampling.exploration * rng.unit();
            let mut positions = Vec::new();
            let mut game = Game::default();
            self.player.clear();
            while !game.is_over() {
                let position = game.to_move().position;
                if wanted.get(positions.len()) == Some(&position.empties()) {
                    positions.push(position);
                    if positions.len() == wanted.len() {
                        return Ok(positions);
                    }
                }
                let random = game.ply() < Ply(RANDOM_PLIES) || rng.chance(exploration);
                let square = if random {
                    rng.pick(Squares(position.legal_moves()))
                } else {
                    let limits = Limits::full_width(Depth(PLAY_DEPTH));
                    self.player
                        .search(position, limits)
                        .unless_stopped()?
                        .best_move
                };
                game.play(square.expect("the side to move has a move"))
                    .expect("both choices are legal");
            }
        }
    }

    /// A node of the tree below a position, if the sample is to be one, and there is one deep
    /// enough.
    fn met(
        &mut self,
        rng: &mut RandomStream,
        root: Position,
    ) -> Result<Option<(Position, Option<MetIn>)>, Stopped> {
        let depth_max = self.task.config.depth_max;
        let between = |rng: &mut RandomStream, [min, max]: [u8; 2]| {
            min + rng.below(u32::from(max - min) + 1) as u8
        };
        let chosen = rng.chance(self.sampling.tree_share);
        let depth = between(rng, self.sampling.tree_depths);
        let above = between(rng, PLIES_BELOW_ROOT);
        let choice = u64::from(rng.below(u32::MAX)) << 32 | u64::from(rng.below(u32::MAX));
        if !chosen || root.empties() < depth_max + above {
            return Ok(None);
        }
        self.scorer.clear();
        let request = NodeRequest {
            depth: Depth(depth),
            choice,
        };
        let met = self
            .scorer
            .sample_node(root, Depth(depth + above), request)?;
        // Passes and earlier iterations may lead nearer to the end.
        let met = met.filter(|met| depth_max <= met.position.empties());
        Ok(met.map(|met| {
            (
                met.position,
                Some(MetIn {
                    depth,
                    alpha: met.alpha,
                }),
            )
        }))
    }

    /// Searches a sample full width to every depth, and to the end if that is near.
    fn score(&mut self, sample: &mut Sample) -> Result<(), Stopped> {
        self.scorer.clear();
        let position = sample.position;
        sample.depths = (0..=self.task.config.depth_max)
            .map(|depth| {
                let (score, nodes) =
                    self.scorer
                        .score_at_depth(position, Depth(depth), MpcLevel::FullWidth)?;
                Ok(Searched { score, nodes })
            })
            .collect::<Result<_, Stopped>>()?;
        if position.empties() <= self.sampling.end_empties {
            let limits = Limits {
                exact_empties: Depth::MAX.0,
                ..Limits::full_width(Depth(1))
            };
            let result = self.scorer.search(position, limits).unless_stopped()?;
            sample.end = Some(Searched {
                score: result.score,
                nodes: result.nodes,
            });
        }
        Ok(())
    }
}

/// One number of empty squares in each of equal ranges, descending.
fn wanted_empties(sampling: &Sampling, rng: &mut RandomStream) -> Vec<u8> {
    let wanted = (0..sampling.game_samples).map(|place| {
        let [min, max] = sampling.empties_of(place);
        min + rng.below(u32::from(max - min) + 1) as u8
    });
    wanted.collect()
}

#[cfg(test)]
mod tests {
    use super::super::task::{FitMpcConfig, Method};
    use super::*;
    use crate::artifact::{Builtin, LoadedModel, Registry};
    use crate::generation::Generation;
    use crate::pipeline::fixtures::position;
    use crate::pipeline::keys::Checked;
    use std::path::Path;

    /// Two samples of depths 0 to 2, the second one solved.
    fn samples() -> Vec<Sample> {
        let (_, second) = Position::START.children().next().unwrap();
        let searched = |score| Searched {
            score: Score(score),
            nodes: 5,
        };
        let depths: Vec<Searched> = [100, -64_000, 64_000].map(searched).into();
        let met = Some(MetIn {
            depth: 3,
            alpha: Score(-7),
        });
        let first = Sample {
            id: 4,
            game: GameId(2),
            position: Position::START,
            met,
            depths,
            end: None,
        };
        vec![
            first.clone(),
            Sample {
                id: 5,
                position: second,
                met: None,
                end: Some(searched(2000)),
                ..first
            },
        ]
    }

    fn rows() -> Vec<MpcSampleRow> {
        samples().iter().flat_map(Sample::rows).collect()
    }

    #[test]
    fn samples_are_what_their_rows_say() {
        assert_eq!(rows().len(), 7);
        assert_eq!(Sample::from_rows(&rows(), 2), Ok(samples()));
    }

    #[test]
    fn rows_that_no_search_makes_are_no_samples() {
        let faults: [fn(&mut MpcSampleRow); 9] = [
            |row| row.game_id.0 += 1,
            |row| row.player = 0,
            |row| row.opponent = 0,
            |row| row.player = u64::MAX,
            |row| row.empties -= 1,
            |row| row.depth += 1,
            |row| row.score = Score(64_001),
            |row| row.score = Score(-64_001),
            |row| row.nodes = NODES_MAX + 1,
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            for place in 0..rows().len() {
                let mut rows = rows();
                fault(&mut rows[place]);
                assert!(
                    Sample::from_rows(&rows, 2).is_err(),
                    "fault {number} in row {place}"
                );
            }
        }
        let mut rows = rows();
        rows.push(rows[6]);
        assert!(Sample::from_rows(&rows, 2).is_err(), "two ends");
        assert!(
            Sample::from_rows(&rows[..2], 2).is_err(),
            "a depth is missing"
        );
    }

    #[test]
    fn a_root_too_near_the_end_has_no_node_to_sample() {
        const DEPTH_MAX: u8 = 6;
        let method = Method::Line {
            level: MpcLevel::Sigmas(1.0),
        };
        let config = Checked::new(FitMpcConfig {
            method,
            depth_max: DEPTH_MAX,
            games: 1,
            part_games: 1,
        })
        .unwrap();
        let (model, registry) = (
            LoadedModel::builtin(Builtin::DiscCount),
            Registry::new(Path::new("none")),
        );
        let task = FitMpcTask {
            config,
            seed: 1,
            generation: Generation::FIRST,
            model,
            registry,
            output: None,
        };
        let stop = AtomicBool::new(false);
        let mut sampler = Sampler::new(&task, &stop);
        let [depth_min, depth_last] = sampler.sampling.tree_depths;
        // Roots with just enough empty squares in which a node was found, by plies below the root.
        let mut found = [0; 3];
        for seed in 0..60 {
            for empties in DEPTH_MAX..=DEPTH_MAX + 2 {
                let mut rng = stream(seed, Stream::MpcSample(1, 0));
                let mut drawn = rng.clone();
                let chosen = drawn.chance(sampler.sampling.tree_share);
                drawn.below(u32::from(depth_last - depth_min) + 1);
                let above = 1 + drawn.below(2) as u8;
                let met = sampler.met(&mut rng, position(seed, empties)).unwrap();
                if !chosen || empties < DEPTH_MAX + above {
                    assert_eq!(
                        met, None,
                        "seed {seed}: {empties} empty squares, {above} plies below the root"
                    );
                } else if empties == DEPTH_MAX + above {
                    found[usize::from(above)] += usize::from(met.is_some());
                }
            }
        }
        assert!(0 < found[1] && 0 < found[2], "{found:?}");
    }
}
