//! What follows from samples without searching them again: their numbers, their positions, the
//! ranges of their searches.

use super::sample::{MetIn, Sample};
use super::task::{FitMpcConfig, Sampling};
use crate::artifact::GameId;
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::{ArtifactError, Dataset, MPC_SAMPLES, MpcSampleRow, Part, Settings};
use crate::engine::Score;
use crate::pipeline::StageError;
use crate::pipeline::keys::Checked;
use crate::pipeline::proof::{PartProof, check_division, check_roles};
use std::sync::atomic::AtomicBool;

/// What the manifest of a dataset permits its samples to be.
pub struct SampleProof {
    /// The `[fit_mpc]` table.
    pub config: Checked<FitMpcConfig>,
    settings: Settings,
}

impl PartProof for SampleProof {
    type Found = ();

    fn of(dataset: &Dataset) -> Result<Self, StageError> {
        let config = Checked::<FitMpcConfig>::of_dataset(dataset)?;
        check_division(dataset, config.games, config.part_games)?;
        check_roles(dataset, &["searcher"])?;
        Ok(Self {
            config,
            settings: dataset.manifest().settings("fit_mpc"),
        })
    }

    fn prove(
        &self,
        dataset: &Dataset,
        index: usize,
        _fast: bool,
        stop: &AtomicBool,
    ) -> Result<(), ArtifactError> {
        check_footers(dataset, index, &self.settings)?;
        let (depth_max, sampling) = (self.config.depth_max, self.config.sampling());
        let part = &dataset.manifest().parts[index];
        let rows: Vec<MpcSampleRow> = dataset.read(&MPC_SAMPLES, index, stop)?;
        let damaged = |reason: String| dataset.damaged(&MPC_SAMPLES, index, reason);
        let samples = Sample::from_rows(&rows, depth_max).map_err(&damaged)?;
        check_ids(part, &samples, sampling.game_samples.into()).map_err(&damaged)?;
        for sample in &samples {
            check_sample(sample, depth_max, &sampling)
                .map_err(|reason| damaged(format!("sample {}: {reason}", sample.id)))?;
        }
        Ok(())
    }
}

/// Every game has the same number of samples, and all are numbered in order.
fn check_ids(part: &Part, samples: &[Sample], game_samples: u64) -> Result<(), String> {
    let games = part.first..part.first + part.count;
    let expected = games.flat_map(|game| {
        (game * game_samples..(game + 1) * game_samples).map(move |id| (id, GameId(game)))
    });
    let found = samples.iter().map(|sample| (sample.id, sample.game));
    let differing = expected
        .clone()
        .zip(found)
        .find(|(expected, found)| expected != found);
    if let Some(((id, game), (found, found_game))) = differing {
        return Err(format!(
            "sample {found} of game {found_game} is in the place of sample {id} of game {game}"
        ));
    }
    let expected = part.count * game_samples;
    if samples.len() as u64 != expected {
        return Err(format!(
            "it has {} samples, {expected} expected",
            samples.len()
        ));
    }
    Ok(())
}

fn check_sample(sample: &Sample, depth_max: u8, sampling: &Sampling) -> Result<(), String> {
    let empties = sample.position.empties();
    if sample.position.legal_moves() == 0 {
        return Err("the side to move has no move".into());
    }
    let place = (sample.id % u64::from(sampling.game_samples)) as u8;
    let [min, max] = sampling.empties_of(place);
    // A node of a search tree lies below a position of its game.
    let [min, max] = if sample.met.is_some() {
        [depth_max, max.saturating_sub(1)]
    } else {
        [min, max]
    };
    if !(min..=max).contains(&empties) {
        return Err(format!(
            "it has {empties} empty squares, {min} to {max} expected"
        ));
    }
    if let Some(MetIn { depth, alpha }) = sample.met {
        let [min, max] = sampling.tree_depths;
        if sampling.tree_share == 0.0 || !(min..=max).contains(&depth) {
            return Err(format!("met_depth is {depth}, and it has a window"));
        }
        if !(Score::MIN..Score::MAX).contains(&alpha) {
            return Err(format!("alpha {} is beyond ±{}", alpha.0, Score::MAX.0));
        }
    }
    match sample.end {
        Some(_) if sampling.end_empties < empties => Err(format!(
            "it was solved, and has more than {} empty squares",
            sampling.end_empties
        )),
        Some(end) if !end.score.is_final() => Err(format!(
            "exact score {} is not an even number of discs",
            end.score.0
        )),
        None if empties <= sampling.end_empties => {
            Err(format!("it was not solved, with {empties} empty squares"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{MpcLevel, Position};
    use crate::pipeline::fit_mpc::sample::Searched;
    use crate::pipeline::fit_mpc::task::Method;

    #[test]
    fn only_samples_near_the_end_are_solved() {
        let method = Method::Line {
            level: MpcLevel::Sigmas(1.0),
        };
        let sampling = FitMpcConfig {
            method,
            depth_max: 3,
            games: 1,
            part_games: 1,
        }
        .sampling();
        let mut position = Position::START;
        while sampling.empties[1] < position.empties() {
            position = position.children().next().unwrap().1;
        }
        let end = Some(Searched {
            score: Score(2000),
            nodes: 1,
        });
        let sample = Sample {
            id: 0,
            game: GameId(0),
            position,
            met: None,
            depths: Vec::new(),
            end,
        };
        assert!(
            check_sample(&sample, 3, &sampling)
                .unwrap_err()
                .contains("it was solved")
        );
        let near = Sampling {
            end_empties: position.empties(),
            ..sampling
        };
        assert_eq!(check_sample(&sample, 3, &near), Ok(()));
        assert_eq!(
            check_sample(
                &Sample {
                    end: None,
                    ..sample
                },
                3,
                &sampling
            ),
            Ok(())
        );
    }
}
