//! What fitting MPC statistics answers to everyone else.

use super::parts::{sample_parts, sample_until};
use super::recipe::{recipe, step};
use super::run::fit_mpc;
use super::task::{FACTS, FitMpcTask, Method};
use crate::artifact::{ContentHash, DatasetKind, KnownModel, MPC_SAMPLES, Manifest, Step};
use crate::pipeline::parts::Shards;
use crate::pipeline::work::{
    Asked, AskedDataset, DatasetState, Product, Records, Report, ShardSize, TaskState, Work,
    found_recipe,
};
use crate::pipeline::{Context, StageError};

impl<M: AsRef<KnownModel>> Asked for FitMpcTask<M> {
    fn recipe(&self) -> Result<ContentHash, StageError> {
        Ok(recipe(self).hash)
    }

    fn step(&self) -> Result<Step, StageError> {
        Ok(step(self))
    }

    fn product(&self, step: &Step, records: Records<'_>) -> Result<Product, StageError> {
        let product = Product::of_version(FACTS.name, self.generation, step, records.versions);
        let Some(folder) = self.output.as_deref() else {
            return Ok(product);
        };
        let (asked, games) = (recipe(self).hash, self.config.games);
        let manifest = Manifest::find(folder, DatasetKind::Mpc)?;
        let recipe = found_recipe(folder, manifest.as_ref())?;
        let done = manifest
            .filter(|manifest| manifest.recipe == asked)
            .map(|manifest| manifest.done);
        let is_more = done.is_some_and(|done| games < done);
        let product = Product {
            dataset: DatasetState::of(recipe, asked, is_more),
            ..product
        };
        if product.state != TaskState::Done {
            return Ok(product.with_parts(self.dataset(), &MPC_SAMPLES)?);
        }
        if done != Some(games) {
            let because = Some(format!("its samples are not in {}", folder.display()));
            return Ok(Product {
                state: TaskState::Missing,
                because,
                ..product
            });
        }
        Ok(product)
    }

    fn dataset(&self) -> Option<AskedDataset<'_>> {
        let (items, part_items) = (self.config.games, self.config.part_games);
        Some(AskedDataset {
            folder: self.output.as_deref()?,
            items,
            part_items,
        })
    }

    fn undivided(&self) -> Option<String> {
        match (self.config.method, &self.output) {
            (Method::Source { .. }, _) => Some(
                "fit_mpc.method = \"source\" cannot be cut into shards: each of its searches uses the fits before it\n\
                 run renma fit-mpc on one machine, or set method = \"line\""
                    .to_owned(),
            ),
            (Method::Line { .. }, None) => {
                Some("shards of fit-mpc share a folder of samples: add --output DIR".to_owned())
            }
            (Method::Line { .. }, Some(_)) => None,
        }
    }
}

impl Work for FitMpcTask {
    fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        match (self.undivided(), self.output.as_deref()) {
            (None, Some(output)) => Ok(Box::new(sample_parts(self, output))),
            (reason, _) => Err(StageError::Setting(reason.unwrap_or_default())),
        }
    }

    fn shard_size(&self, context: Context<'_>) -> Result<ShardSize, StageError> {
        ShardSize::timed(|is_enough| sample_until(self, is_enough, context), context)
    }

    fn make(&self, context: Context<'_>) -> Result<Box<dyn Report>, StageError> {
        Ok(Box::new(fit_mpc(self, context)?))
    }
}
