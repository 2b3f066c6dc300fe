//! `renma model`.

mod list;
mod show;
mod verify;

use super::arguments::{ModelCommand, ModelFormat, OutputArguments};
use super::failure::UsageError;
use super::output::{Output, output_name, print, print_json, say, thousands};
use super::session::Session;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::document::{ModelDocument, ModelKind, Origin};
use crate::artifact::model::name::VersionId;
use crate::artifact::model::reference::{LoadedModel, load_model};
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::Model;
use crate::artifact::publish::read_bounded;
use crate::exchange::es_cube_eval::{ES_CUBE_EVAL_FILE, ImportedEval, es_cube_eval_bytes, import_es_cube_eval};
use crate::exchange::mpc_dat::{MPC_DAT_FILE, import_mpc_dat, mpc_dat_bytes};
use crate::run::folders::datasets_beside;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) fn run(session: &Session, command: ModelCommand) -> anyhow::Result<()> {
    match command {
        ModelCommand::List { models, datasets } => list::list(session, &models, &datasets_of(&models, datasets)),
        ModelCommand::Show { model, against, models, datasets } => {
            let models = models.or_else(|| registry_around(&model)).unwrap_or_else(|| "models/default".into());
            show::show(session, &model, against.as_deref(), &models, &datasets_of(&models, datasets))
        }
        ModelCommand::Verify { models, datasets } => verify::verify(session, &models, &datasets_of(&models, datasets)),
        ModelCommand::Import { input, format, model, t, models } => {
            import(session, &input, format, model.as_deref(), t, &models)
        }
        ModelCommand::Export { model, format, output, t, models } => {
            export(session, &load_model(&model, &models)?, format, t, &output)
        }
    }
}

/// The datasets that a command names, else those beside the registry.
fn datasets_of(models: &Path, named: Option<PathBuf>) -> PathBuf {
    named.unwrap_or_else(|| datasets_beside(models))
}

/// The registry in which a model lies that is named by the path of a version: the folder around it.
fn registry_around(model: &str) -> Option<PathBuf> {
    let is_path = model.parse::<VersionId>().is_err();
    let folder = Some(Path::new(model)).filter(|folder| is_path && VersionId::of_folder(folder).is_some());
    folder.and_then(Path::parent).map(Path::to_owned)
}

const fn kind_word(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Draft => "draft",
        ModelKind::Model => "model",
    }
}

fn export(
    session: &Session,
    loaded: &LoadedModel,
    format: ModelFormat,
    t: f64,
    arguments: &OutputArguments,
) -> anyhow::Result<()> {
    check_sigmas(t)?;
    let (kind, bytes) = match format {
        ModelFormat::EsCubeEval => (ES_CUBE_EVAL_FILE, es_cube_eval_bytes(&loaded.model.evaluation)),
        ModelFormat::MpcDat => (MPC_DAT_FILE, mpc_dat_bytes(&loaded.model.mpc, t)),
    };
    let model = loaded.folder.clone().unwrap_or_else(|| loaded.id.to_string().into());
    let bytes = bytes.map_err(|reason| ArtifactError::unfit(&model, reason))?;
    let output = Output::open(session.json, &arguments.output, kind, arguments.force)?;
    if !output.write(|writer| writer.write_all(&bytes))? {
        return Ok(());
    }
    let output = output_name(&arguments.output);
    say(&format!("model export: {} written to {}", loaded.id, output.display()));
    if session.json { print_json(&json!({"model": loaded.id, "output": output.to_string_lossy()})) } else { Ok(()) }
}

/// The margin of an `mpc.dat` in sigmas.
fn check_sigmas(t: f64) -> Result<(), UsageError> {
    if t.is_finite() && 0.0 < t {
        return Ok(());
    }
    Err(UsageError(format!("--t {t}: expected a positive number of sigmas")))
}

fn import(
    session: &Session,
    input: &Path,
    format: ModelFormat,
    base: Option<&str>,
    t: f64,
    models: &Path,
) -> anyhow::Result<()> {
    check_sigmas(t)?;
    let registry = Registry::new(models);
    let base = base.map(|name| load_model(name, models)).transpose()?;
    let (model, kind, mirrors_differing) = match (format, &base) {
        (ModelFormat::EsCubeEval, None) => {
            let imported = import_es_cube_eval(input)?;
            warn_of_mirrors(input, &imported);
            let visits = vec![0; imported.evaluation.weights().len()];
            (Model::draft(imported.evaluation, visits), ModelKind::Draft, Some(imported.mirrors_differing))
        }
        (ModelFormat::MpcDat, Some(base)) => {
            let mpc = import_mpc_dat(input, t)?;
            let mpc_samples = vec![0; mpc.entries().len()];
            let mpc_weights = Some(base.model.weights_hash());
            (Model { mpc, mpc_samples, mpc_weights, ..base.model.clone() }, ModelKind::Model, None)
        }
        (ModelFormat::EsCubeEval, Some(_)) => {
            return Err(UsageError("--model goes with --format mpc-dat only".into()).into());
        }
        (ModelFormat::MpcDat, None) => {
            return Err(
                UsageError("--format mpc-dat needs --model, whose weights the statistics belong to".into()).into()
            );
        }
    };
    let step =
        ContentHash::of(&[&read_bounded(input, 1 << 30)?[..], model.content_hash().to_string().as_bytes()].concat());
    let existing = registry.made_by(step)?;
    let id = match existing {
        Some(made) => made.id.to_string(),
        None => registry.publish(&model, &import_origin(kind, step, base.as_ref()))?.to_string(),
    };
    say(&format!("model import: {} is {id} in {}", input.display(), models.display()));
    if !session.json {
        return Ok(print(&id)?);
    }
    print_json(&json!({"id": id, "content": model.content_hash(), "mirrors_differing": mirrors_differing}))
}

fn warn_of_mirrors(input: &Path, imported: &ImportedEval) {
    let ImportedEval { mirrors_differing, mirrors, .. } = *imported;
    if 0 < mirrors_differing {
        let (differing, all) = (thousands(mirrors_differing), thousands(mirrors));
        let input = input.display();
        say(&format!(
            "model import: {differing} of {all} mirrors in {input} differ from the weight at the smallest index, which counts"
        ));
    }
}

fn import_origin(kind: ModelKind, step: ContentHash, base: Option<&LoadedModel>) -> Origin {
    let document = base.and_then(|base| base.document.as_ref());
    Origin {
        kind,
        stage: "import".into(),
        step,
        algorithm: 1,
        parent: base.map(LoadedModel::as_parent),
        datasets: document.map(|document: &ModelDocument| document.origin.datasets.clone()).unwrap_or_default(),
        config: Value::Null,
        metrics: Value::Null,
    }
}
