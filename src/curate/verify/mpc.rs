//! Checks the samples behind MPC statistics.

use super::{Checked, check_division, check_roles, over_parts};
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::{Dataset, MPC_SAMPLES};
use crate::pipeline::fit_mpc::proof::prove_samples;
use crate::pipeline::fit_mpc::task::FitMpcConfig;
use crate::pipeline::{Context, StageError, keys};

/// Checks every sample.
pub(super) fn verify(dataset: &Dataset, context: Context<'_>) -> Result<Checked, StageError> {
    let config = keys::Checked::<FitMpcConfig>::of_dataset(dataset)?;
    check_division(dataset, config.games, config.part_games)?;
    check_roles(dataset, &["searcher"])?;
    let settings = dataset.manifest().settings("fit_mpc");
    over_parts(context, "verify", dataset, |index| {
        check_footers(dataset, index, &settings)?;
        Ok(prove_samples(dataset, index, &config, context.stop)?)
    })?;
    let manifest = dataset.manifest();
    let samples = manifest.done * u64::from(config.sampling().game_samples);
    Ok(Checked::Mpc { games: manifest.done, samples, rows: manifest.rows(MPC_SAMPLES.name) })
}
