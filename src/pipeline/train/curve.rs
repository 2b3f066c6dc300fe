//! The learning curve: the same training on fewer games, judged by the same held-out games.

use super::blocks::Blocks;
use super::checkpoint::Checkpoint;
use super::learner::Learner;
use super::metrics::judge;
use super::parts::Plan;
use super::rows::{TrainingRow, TrainingSet};
use super::task::{CurvePoint, TrainTask};
use crate::artifact::Model;
use crate::engine::EMPTIES_MAX;
use crate::pipeline::{Context, StageError};

/// The trainings of a learning curve, apart from that of all games.
pub(super) struct Curve<'a> {
    pub(super) task: &'a TrainTask<'a>,
    pub(super) set: &'a TrainingSet,
    pub(super) checkpoint: Option<&'a Checkpoint>,
    pub(super) context: Context<'a>,
}

impl Curve<'_> {
    /// Row visits of all of them.
    pub(super) fn visits(&self) -> u64 {
        self.shares().iter().map(|(_, rows)| self.learner(rows, None).visits()).sum()
    }

    /// Trains on each share in turn, from the weights and visits of a model, on the threads of the current pool. The models are
    /// dropped.
    pub(super) fn run(&self, initial: &Model) -> Result<Vec<CurvePoint>, StageError> {
        let parts = Plan::new(&self.task.features, self.task.config).parts().len() as u32;
        let points = (1..).zip(self.shares()).map(|(number, (share, rows))| {
            let checkpoint = self.checkpoint.map(|whole| whole.after(number * parts));
            let (model, _) = self.learner(rows, checkpoint.as_ref()).run(initial)?;
            let judgment = judge(&model, self.set, self.context)?;
            let labels = judgment.labels;
            Ok(CurvePoint {
                share: *share,
                rows: rows.row_count(&(0..=EMPTIES_MAX)),
                target: judgment.target.all,
                score: labels.score.all,
                result: labels.result.all,
                exact: labels.exact.all,
            })
        });
        points.collect()
    }

    /// Without held-out rows there is nothing to compare the shares by.
    fn shares(&self) -> &[(f64, Blocks<TrainingRow>)] {
        if self.set.validation.is_empty() { &[] } else { &self.set.curve }
    }

    fn learner<'b>(&'b self, rows: &'b Blocks<TrainingRow>, checkpoint: Option<&'b Checkpoint>) -> Learner<'b> {
        Learner::new(self.task, rows, checkpoint, self.context)
    }
}
