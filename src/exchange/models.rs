//! Versions made from other programs' files.

use super::es_cube_eval::{MirrorCounts, import_es_cube_eval};
use super::mpc_dat::import_mpc_dat;
use crate::artifact::model::document::VersionOrigin;
use crate::artifact::publish::read_bounded;
use crate::artifact::{
    ArtifactError, ContentHash, LoadedModel, Model, ModelKind, ModelName, Registry,
};
use serde_json::Value;
use std::path::Path;

/// A larger file is not read.
const SIZE_MAX: u64 = 1 << 30;

/// The version of the importers.
const ALGORITHM: u32 = 1;

/// What a file holds, and what else the model needs.
#[derive(Clone, Copy, Debug)]
pub enum ModelSource<'a> {
    /// All weights of an `eval.dat`.
    EsCubeEval,
    /// The MPC statistics of an `mpc.dat`.
    MpcDat {
        /// The model whose weights they belong to.
        base: &'a LoadedModel,
        /// The number of sigmas in a deviation.
        t: f64,
    },
}

/// A version made from a file, now or before.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ImportedModel {
    pub id: ModelName,
    pub content: ContentHash,
    /// Only for weights.
    pub mirrors: Option<MirrorCounts>,
}

/// Makes a version from a file, unless the registry already has it.
///
/// # Errors
///
/// A missing or damaged file, or a system error.
pub fn import_model(
    input: &Path,
    source: ModelSource<'_>,
    registry: &Registry,
) -> Result<ImportedModel, ArtifactError> {
    let (model, base, mirrors) = match source {
        ModelSource::EsCubeEval => {
            let (evaluation, mirrors) = import_es_cube_eval(input)?;
            let visits = vec![0; evaluation.set().weight_count()];
            (Model::draft(evaluation, visits), None, Some(mirrors))
        }
        ModelSource::MpcDat { base, t } => {
            let mpc = import_mpc_dat(input, t)?;
            let mpc_samples = vec![0; mpc.entries().len()];
            let mpc_weights = Some(base.weights);
            (
                Model {
                    mpc,
                    mpc_samples,
                    mpc_weights,
                    ..(*base.model).clone()
                },
                Some(base),
                None,
            )
        }
    };
    let content = model.content_hash();
    let step = ContentHash::of(
        &[
            &read_bounded(input, SIZE_MAX)?[..],
            content.to_string().as_bytes(),
        ]
        .concat(),
    );
    let id = match registry.made_by(step)? {
        Some(made) => made.id,
        None => {
            let document = base.and_then(|base| base.document.as_ref());
            let origin = VersionOrigin {
                kind: if base.is_some() {
                    ModelKind::Model
                } else {
                    ModelKind::Draft
                },
                stage: "import".into(),
                step,
                algorithm: ALGORITHM,
                parent: base.map(|base| base.as_reference()),
                datasets: document
                    .map(|document| document.origin.datasets.clone())
                    .unwrap_or_default(),
                config: Value::Null,
                metrics: Value::Null,
            };
            ModelName::Version(registry.publish(&model, &origin)?)
        }
    };
    Ok(ImportedModel {
        id,
        content,
        mirrors,
    })
}
