//! Checks the samples behind MPC statistics.

use super::over_parts;
use crate::artifact::Dataset;
use crate::artifact::dataset::recipe::check_known_footers;
use crate::pipeline::fit_mpc::proof::prove_samples;
use crate::pipeline::fit_mpc::task::FitMpcConfig;
use crate::pipeline::keys::Checked;
use crate::pipeline::{Context, StageError};
use serde::Serialize;

/// What was checked of MPC samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MpcVerified {
    /// Games that positions were sampled from.
    pub games: u64,
    /// Positions.
    pub samples: u64,
    /// Searches of them.
    pub rows: u64,
}

/// Checks every sample.
pub(super) fn verify(dataset: &Dataset, context: Context<'_>) -> Result<MpcVerified, StageError> {
    let config = Checked::<FitMpcConfig>::of_dataset(dataset)?;
    let settings = dataset.manifest().settings("fit_mpc");
    let parts = over_parts(context, "verify", dataset, |index| {
        check_known_footers(dataset, index, &settings)?;
        Ok(prove_samples(dataset, index, &config, context.stop)?)
    })?;
    let sum = |count: fn(&(usize, usize)) -> usize| parts.iter().map(count).sum::<usize>() as u64;
    Ok(MpcVerified { games: dataset.manifest().done, samples: sum(|part| part.0), rows: sum(|part| part.1) })
}
