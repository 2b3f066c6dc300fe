//! What self-play answers to everyone else.

use super::parts::selfplay_parts;
use super::recipe::{recipe, step};
use super::run::{generate, play_until};
use super::task::{FACTS, GenerateReport, GenerateTask};
use crate::artifact::{ContentHash, DatasetKind, KnownModel, Manifest, POSITIONS, Step};
use crate::pipeline::parts::Shards;
use crate::pipeline::work::{
    Asked, AskedDataset, DatasetState, Product, Records, Report, ShardSize, TaskState, Work,
    found_recipe,
};
use crate::pipeline::{Context, StageError};
use serde_json::{Value, json};

impl<M: AsRef<KnownModel>> Asked for GenerateTask<M> {
    fn recipe(&self) -> Result<ContentHash, StageError> {
        Ok(recipe(self).hash)
    }

    fn step(&self) -> Result<Step, StageError> {
        Ok(step(self))
    }

    fn product(&self, step: &Step, _: Records<'_>) -> Result<Product, StageError> {
        let asked = recipe(self).hash;
        let games = self.config.games;
        let manifest = Manifest::find(&self.output, DatasetKind::Selfplay)?;
        let recipe = found_recipe(&self.output, manifest.as_ref())?;
        let because = match (&manifest, recipe) {
            (Some(manifest), Some(recipe)) if recipe != asked => {
                let mut settings = manifest.settings(FACTS.config_table);
                settings
                    .iter_mut()
                    .filter(|(name, _)| name == "player")
                    .for_each(|(name, _)| *name = "model".into());
                Some(step.difference(&settings))
            }
            (None, Some(recipe)) if recipe != asked => {
                Some("its parts are of another recipe".into())
            }
            (Some(manifest), _) if manifest.done != games => Some(format!(
                "generate.games is {} there and {games} here",
                manifest.done
            )),
            _ => None,
        };
        let is_more = manifest
            .as_ref()
            .is_some_and(|manifest| games < manifest.done);
        let product = Product {
            dataset: DatasetState::of(recipe, asked, is_more),
            content: manifest.as_ref().map(|manifest| manifest.content),
            ..Product::new(manifest.is_some(), because)
        };
        match product.state {
            TaskState::Missing => Ok(product.with_parts(self.dataset(), &POSITIONS)?),
            _ => Ok(product),
        }
    }

    fn dataset(&self) -> Option<AskedDataset<'_>> {
        let (items, part_items) = (self.config.games, self.config.part_games);
        Some(AskedDataset {
            folder: &self.output,
            items,
            part_items,
        })
    }
}

impl Work for GenerateTask {
    fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        Ok(Box::new(selfplay_parts(self)))
    }

    fn shard_size(&self, context: Context<'_>) -> Result<ShardSize, StageError> {
        ShardSize::timed(|is_enough| play_until(self, is_enough, context), context)
    }

    fn make(&self, context: Context<'_>) -> Result<Box<dyn Report>, StageError> {
        Ok(Box::new(generate(self, context)?))
    }
}

impl Report for GenerateReport {
    fn is_skipped(&self) -> bool {
        self.skipped
    }

    fn json(&self) -> Value {
        json!(self)
    }
}
