//! `renma model`.

mod list;
mod show;

use super::arguments::OutputArguments;
use super::arguments::model::{ExportFormat, ImportFormat, ModelCommand, RegistryArguments};
use super::arguments::run::{DEFAULT_REGISTRY, check_own_registry, named_registry};
use super::command_errors::UsageError;
use super::output::{Output, counted, output_name, say, thousands};
use super::session::Session;
use crate::artifact::model::archive::{ARCHIVE_FILE, Archive};
use crate::artifact::{ArtifactError, LoadedModel, ModelKind, ModelRef, Registry, VersionId};
use crate::exchange::edax_eval::{EDAX_EVAL_FILE, edax_eval_bytes};
use crate::exchange::es_cube_eval::{ES_CUBE_EVAL_FILE, MirrorCounts, es_cube_eval_bytes};
use crate::exchange::models::{ModelSource, import_model};
use crate::exchange::mpc_dat::{MPC_DAT_FILE, mpc_dat_bytes};
use crate::run::folders::datasets_beside;
use crate::run::models::verify::verify_registry;
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(session: &Session, command: ModelCommand) -> anyhow::Result<()> {
    match command {
        ModelCommand::List(arguments) => {
            let (models, datasets) = folders_of(arguments)?;
            list::list(session, &models, &datasets)
        }
        ModelCommand::Show {
            model,
            models,
            datasets,
        } => {
            check_own_registry(models.as_deref())?;
            let models = models
                .or_else(|| registry_around(&model))
                .unwrap_or_else(|| DEFAULT_REGISTRY.into());
            let datasets = datasets.unwrap_or_else(|| datasets_beside(&models));
            show::show(session, &model, &models, &datasets)
        }
        ModelCommand::Verify(arguments) => {
            let (models, datasets) = folders_of(arguments)?;
            verify(session, &models, &datasets)
        }
        ModelCommand::Import {
            input,
            format,
            model,
            t,
            models,
        } => {
            check_own_registry(Some(&models))?;
            import(session, &input, format, model.as_ref(), t, &models)
        }
        ModelCommand::Export {
            model,
            format,
            output,
            t,
            models,
        } => {
            check_own_registry(Some(&models))?;
            export(session, &model.load(&models)?, format, t, &output)
        }
    }
}

/// The registry and the datasets that a command names, or else those of the default.
fn folders_of(
    RegistryArguments { models, datasets }: RegistryArguments,
) -> Result<(PathBuf, PathBuf), ArtifactError> {
    let models = named_registry(models.as_deref())?;
    let datasets = datasets.unwrap_or_else(|| datasets_beside(&models));
    Ok((models, datasets))
}

/// The registry of a model that is named by the path of a version.
fn registry_around(model: &ModelRef) -> Option<PathBuf> {
    let ModelRef::Path(folder) = model else {
        return None;
    };
    VersionId::of_folder(folder)?;
    folder.parent().map(Path::to_owned)
}

fn verify(session: &Session, models: &Path, datasets: &Path) -> anyhow::Result<()> {
    let verified = verify_registry(models, datasets, &session.context())?;
    let versions = counted(verified.versions.len() as u64, "version");
    let are = if verified.versions.len() == 1 {
        "is"
    } else {
        "are"
    };
    let datasets = counted(verified.datasets.len() as u64, "dataset");
    let (positions, gates) = (
        counted(verified.positions, "position"),
        counted(verified.gates.len() as u64, "gate"),
    );
    let gone = match verified.datasets_gone.len() as u64 {
        0 => String::new(),
        gone => format!("; {} gone", counted(gone, "dataset")),
    };
    let models = models.display();
    say(&format!(
        "model verify: {versions} of {models} {are} sound, with {datasets} of {positions} and {gates}{gone}"
    ));
    let texts = |folders: &[PathBuf]| {
        folders
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    session.print_json(&json!({
        "versions": verified.versions,
        "champion": verified.champion,
        "datasets": texts(&verified.datasets),
        "datasets_gone": verified.datasets_gone,
        "gates": texts(&verified.gates),
    }))
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
    format: ExportFormat,
    t: f64,
    arguments: &OutputArguments,
) -> anyhow::Result<()> {
    check_sigmas(t)?;
    let (kind, bytes) = match format {
        ExportFormat::Renma => {
            let mut bytes = Vec::new();
            loaded.archive()?.write(&mut bytes)?;
            (ARCHIVE_FILE, Ok(bytes))
        }
        ExportFormat::EsCubeEval => (
            ES_CUBE_EVAL_FILE,
            es_cube_eval_bytes(&loaded.model.evaluation),
        ),
        ExportFormat::EdaxEval => (EDAX_EVAL_FILE, edax_eval_bytes(&loaded.model.evaluation)),
        ExportFormat::MpcDat => (MPC_DAT_FILE, mpc_dat_bytes(&loaded.model.mpc, t)),
    };
    let bytes = bytes.map_err(|reason| ArtifactError::unfit(&loaded.place_name(), reason))?;
    let output = Output::open(session.json, &arguments.output, kind, arguments.force)?;
    if !output.write(|writer| writer.write_all(&bytes))? {
        return Ok(());
    }
    let output = output_name(&arguments.output);
    say(&format!(
        "model export: {} written to {}",
        loaded.id,
        output.display()
    ));
    session.print_json(&json!({"model": loaded.id, "output": output.to_string_lossy()}))
}

/// The margin of an `mpc.dat` in sigmas.
fn check_sigmas(t: f64) -> Result<(), UsageError> {
    if t.is_finite() && 0.0 < t {
        return Ok(());
    }
    Err(UsageError(format!(
        "--t {t}: expected a positive number of sigmas"
    )))
}

fn import(
    session: &Session,
    input: &Path,
    format: ImportFormat,
    base: Option<&ModelRef>,
    t: f64,
    models: &Path,
) -> anyhow::Result<()> {
    check_sigmas(t)?;
    let base = base.map(|name| name.load(models)).transpose()?;
    let source = match (format, &base) {
        (ImportFormat::Renma, None) => {
            return import_archive(session, input, &Registry::new(models));
        }
        (ImportFormat::EsCubeEval, None) => ModelSource::EsCubeEval,
        (ImportFormat::MpcDat, Some(base)) => ModelSource::MpcDat { base, t },
        (ImportFormat::EsCubeEval | ImportFormat::Renma, _) => {
            return Err(UsageError("--model is only for --format mpc-dat".into()).into());
        }
        (ImportFormat::MpcDat, None) => {
            let reason = "--format mpc-dat needs --model, whose weights the statistics belong to";
            return Err(UsageError(reason.into()).into());
        }
    };
    let imported = import_model(input, source, &Registry::new(models))?;
    if let Some(MirrorCounts {
        differing: differing @ 1..,
        all,
    }) = imported.mirrors
    {
        let (input, differing, all) = (input.display(), thousands(differing), thousands(all));
        let which = "differ from the weight at the smallest index, which is used";
        say(&format!(
            "model import: {differing} of {all} mirrors in {input} {which}"
        ));
    }
    say(&format!(
        "model import: {} is {} in {}",
        input.display(),
        imported.id,
        models.display()
    ));
    let mirrors_differing = imported.mirrors.map(|mirrors| mirrors.differing);
    let json = json!({"id": imported.id, "content": imported.content, "mirrors_differing": mirrors_differing});
    session.answer(&json, &imported.id.to_string())
}

fn import_archive(session: &Session, input: &Path, registry: &Registry) -> anyhow::Result<()> {
    let archive = Archive::read(input)?;
    let is_new = registry.import(&archive, input)?;
    let (id, content) = (archive.document.id, archive.document.content);
    let what = if is_new { "is now" } else { "was already" };
    say(&format!(
        "model import: {} {what} {id} in {}",
        input.display(),
        registry.folder().display()
    ));
    session.answer(&json!({"id": id, "content": content}), &id.to_string())
}
