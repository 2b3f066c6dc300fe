//! What a training answers to everyone else.

use super::recipe::step;
use super::run::{epochs_done, train};
use super::shards::{TrainShards, visits_of_rounds};
use super::task::{FACTS, TrainTask, VISITS_PER_SECOND};
use crate::artifact::{ContentHash, KnownModel, Step};
use crate::pipeline::parts::Shards;
use crate::pipeline::request::RequestDataset;
use crate::pipeline::work::{
    Asked, AskedDataset, PartCount, Product, Records, Report, ShardSize, TaskState, Work,
};
use crate::pipeline::{Context, StageError};

/// Every shard of a training reads the whole dataset, so that fewer are cheaper.
const SHARDS_MIN: usize = 16;

impl<M: AsRef<KnownModel>> Asked for TrainTask<M> {
    fn recipe(&self) -> Result<ContentHash, StageError> {
        Ok(self.step()?.id)
    }

    fn step(&self) -> Result<Step, StageError> {
        let contents: Result<Vec<_>, _> =
            self.datasets.iter().map(RequestDataset::content).collect();
        Ok(step(self, &contents?))
    }

    fn product(&self, step: &Step, records: Records<'_>) -> Result<Product, StageError> {
        let product = Product::of_version(FACTS.name, self.generation, step, records.versions);
        if product.state == TaskState::Done {
            return Ok(product);
        }
        let parts = epochs_done(self, step.id)?.map(|[done, asked]| PartCount { done, asked });
        Ok(Product { parts, ..product })
    }

    fn dataset(&self) -> Option<AskedDataset<'_>> {
        None
    }

    fn rounds(&self) -> Vec<Vec<u64>> {
        let positions = self
            .datasets
            .iter()
            .filter_map(|dataset| dataset.positions)
            .fold(0, u64::saturating_add);
        let mut rounds = visits_of_rounds(&self.features, &self.config, positions);
        rounds
            .iter_mut()
            .flatten()
            .for_each(|visits| *visits = (*visits).max(1));
        rounds
    }
}

impl Work for TrainTask {
    fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        Ok(Box::new(TrainShards::new(self)?))
    }

    fn shard_size(&self, _: Context<'_>) -> Result<ShardSize, StageError> {
        Ok(ShardSize::Seconds {
            unit: 1.0 / VISITS_PER_SECOND,
            least: SHARDS_MIN,
        })
    }

    fn make(&self, context: Context<'_>) -> Result<Box<dyn Report>, StageError> {
        Ok(Box::new(train(self, context)?))
    }
}
