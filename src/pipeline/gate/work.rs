//! What a gate answers to everyone else.

use super::batches::Batches;
use super::recipe::{avoided_contents, identity};
use super::run::gate;
use super::task::{BATCH_PAIRS, FACTS, GateReport, GateTask};
use crate::artifact::dataset::folder::recipe_of;
use crate::artifact::{
    ContentHash, DatasetKind, GATE_GAMES, KnownModel, Manifest, Step, VerdictFile,
};
use crate::pipeline::parts::Shards;
use crate::pipeline::work::{
    Asked, AskedDataset, DatasetState, Product, Records, Report, ShardSize, Work,
};
use crate::pipeline::{Context, StageError};
use serde_json::{Value, json};

/// The batches of a match that are played beyond the deciding one are lost, so that its shards are
/// small.
const SHARDS: usize = 100;

impl<M: AsRef<KnownModel>> Asked for GateTask<M> {
    fn recipe(&self) -> Result<ContentHash, StageError> {
        Ok(identity(self, &avoided_contents(self)?).0.hash)
    }

    fn step(&self) -> Result<Step, StageError> {
        Ok(identity(self, &avoided_contents(self)?).1)
    }

    fn product(&self, step: &Step, records: Records<'_>) -> Result<Product, StageError> {
        let Some(verdict) = records.verdict else {
            let dataset = DatasetState::of(recipe_of(&self.output)?, self.recipe()?, false);
            let product = Product {
                dataset,
                ..Product::new(false, None)
            };
            return Ok(product.with_parts(self.dataset(), &GATE_GAMES)?);
        };
        if verdict.step == step.id {
            return Ok(Product {
                dataset: DatasetState::Asked,
                ..Product::new(true, None)
            });
        }
        let mut settings =
            Manifest::read(&self.output, DatasetKind::Gate)?.settings(FACTS.config_table);
        let avoided: Vec<String> = verdict.avoided.iter().map(ToString::to_string).collect();
        let avoided = if avoided.is_empty() {
            "nothing".to_owned()
        } else {
            avoided.join(" ")
        };
        settings.push(("avoid".to_owned(), avoided));
        let because = step.difference(&settings);
        Ok(Product {
            dataset: DatasetState::Other,
            ..Product::new(true, Some(because))
        })
    }

    fn dataset(&self) -> Option<AskedDataset<'_>> {
        Some(AskedDataset {
            folder: &self.output,
            items: self.config.games / 2,
            part_items: BATCH_PAIRS,
        })
    }
}

impl Work for GateTask {
    fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        Ok(Box::new(Batches::parts(self)?))
    }

    fn shard_size(&self, _: Context<'_>) -> Result<ShardSize, StageError> {
        Ok(ShardSize::Count(SHARDS))
    }

    fn make(&self, context: Context<'_>) -> Result<Box<dyn Report>, StageError> {
        Ok(Box::new(gate(self, context)?))
    }
}

impl Report for GateReport {
    fn is_skipped(&self) -> bool {
        self.skipped
    }

    fn verdict(&self) -> Option<&VerdictFile> {
        Some(&self.verdict)
    }

    fn json(&self) -> Value {
        json!(self)
    }
}
