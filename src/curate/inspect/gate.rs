//! A summary of a gate: its verdict, the match by color, and how varied the games are.

use super::positions::{BINS, bin};
use crate::artifact::dataset::verdict::{Score as MatchScore, read_verdict};
use crate::artifact::{Dataset, GATE_GAMES, GateGameRow, ModelReference, OpeningCounts, Verdict};
use crate::engine::Discs;
use crate::pipeline::gate::decider::{Decider, Look};
use crate::pipeline::{Context, StageError};
use crate::statistics::sprt::SequentialTest;
use serde::Serialize;
use std::collections::HashSet;

/// The summary of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateSummary {
    /// Games.
    pub games: u64,
    /// The verdict on them.
    pub verdict: Verdict,
    /// The candidate to be champion.
    pub candidate: ModelReference,
    /// Its opponent.
    pub baseline: ModelReference,
    /// The match, from the candidate's side.
    pub score: MatchScore,
    /// The sequential test, if there was one.
    pub test: Option<SequentialTest>,
    /// The looks that the test took at the score.
    pub looks: Vec<Look>,
    /// How the openings were found.
    pub openings: OpeningCounts,
    /// The candidate's games as black.
    pub black: ColorSummary,
    /// The candidate's games as white.
    pub white: ColorSummary,
    /// Different sequences of moves.
    pub distinct_games: u64,
    /// Moves per game, passes left out.
    pub moves_mean: f64,
    /// Games by the candidate's result, in bins of 8 discs around multiples of 8.
    pub results: [u64; BINS],
}

/// The candidate's games with one color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ColorSummary {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl ColorSummary {
    fn add(&mut self, result: i32) {
        self.wins += u64::from(0 < result);
        self.draws += u64::from(result == 0);
        self.losses += u64::from(result < 0);
    }
}

/// Summarizes all games of a gate.
pub(super) fn inspect(dataset: &Dataset, context: Context<'_>) -> Result<GateSummary, StageError> {
    let verdict = read_verdict(dataset.folder())?;
    let [mut black, mut white] = [ColorSummary::default(); 2];
    let (mut moves, mut results) = (0, [0; BINS]);
    let mut distinct = HashSet::new();
    let mut decider = verdict.test.as_ref().map(Decider::of_test);
    for index in 0..dataset.part_count() {
        context.check()?;
        let batch: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, context.stop)?;
        decider.iter_mut().for_each(|decider| decider.look(&batch));
        for GateGameRow { candidate_black, moves: text, result, .. } in batch {
            let result = i32::from(result);
            (if candidate_black { &mut black } else { &mut white }).add(result);
            results[bin(Discs(result).into())] += 1;
            moves += text.len() as u64 / 2;
            distinct.insert(*blake3::hash(text.as_bytes()).as_bytes());
        }
        context.progress.advance(1);
    }
    let games = dataset.manifest().rows(GATE_GAMES.name);
    Ok(GateSummary {
        games,
        verdict: verdict.verdict,
        candidate: verdict.candidate,
        baseline: verdict.baseline,
        score: verdict.score,
        test: verdict.test,
        looks: decider.map_or_else(Vec::new, |decider| decider.looks),
        openings: verdict.openings,
        black,
        white,
        distinct_games: distinct.len() as u64,
        moves_mean: moves as f64 / games.max(1) as f64,
        results,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_is_a_win_a_draw_or_a_loss() {
        let mut summary = ColorSummary::default();
        [64, 1, 2, 0, 0, -1, -64, -2, -2].into_iter().for_each(|result| summary.add(result));
        assert_eq!(summary, ColorSummary { wins: 3, draws: 2, losses: 4 });
    }
}
