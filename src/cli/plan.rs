//! `renma shard plan`.

use super::arguments::shard::{PlanArguments, StageArguments};
use super::output::{Output, output_name, print_json, say, thousands};
use super::session::{Session, Stopwatch};
use super::{fit_mpc, gate, generate, train};
use crate::artifact::publish::remove_file;
use crate::cluster::estimate::shard_count;
use crate::cluster::plan::{LoadedPlan, PLAN_FILE, Plan};
use crate::cluster::runs::log_path;
use crate::cluster::stage::StagePlan;
use crate::cluster::stage::fit_mpc::FitMpcPlan;
use crate::cluster::stage::gate::GatePlan;
use crate::cluster::stage::generate::GeneratePlan;
use crate::cluster::stage::train::TrainPlan;
use serde_json::json;
use std::path::Path;

pub(super) fn run(session: &Session, arguments: PlanArguments) -> anyhow::Result<()> {
    let (path, force, shards) = (arguments.plan.clone(), arguments.force, arguments.shards);
    let stage = match arguments.into_stage()? {
        StageArguments::Generate(arguments, replace) => {
            generate::with_task(&arguments, replace, |task| Ok(StagePlan::Generate(GeneratePlan::new(task)?)))
        }
        StageArguments::Train(arguments) => {
            train::with_task(&arguments, |task| Ok(StagePlan::Train(TrainPlan::new(&task)?)))
        }
        StageArguments::FitMpc(arguments) => {
            fit_mpc::with_task(&arguments, |task| Ok(StagePlan::FitMpc(FitMpcPlan::new(&task)?)))
        }
        StageArguments::Gate(arguments) => {
            gate::with_task(&arguments, |task| Ok(StagePlan::Gate(GatePlan::new(&task)?)))
        }
    }?;
    let found = Plan::found(&stage, &path);
    let plan = match (found.clone(), shards) {
        // A run that resumes keeps its shards.
        (Some(found), None) => found,
        (_, Some(shards)) => Plan::new(stage, shards as usize),
        (None, None) => divide(session, &path, stage)?,
    };
    if found.as_ref() != Some(&plan) {
        let written = Output::open(session.json, &path, PLAN_FILE, force)?
            .write(|writer| writer.write_all(plan.text().as_bytes()))?;
        if !written {
            return Ok(());
        }
        // It tells of the shards of another plan.
        remove_file(&log_path(&path))?;
    }
    let (pieces, name) = (thousands(plan.stage.piece_count() as u64), plan.stage.stage());
    let (shards, output) = (plan.shards.len(), output_name(&path).display());
    say(&format!("shard plan: {name}, {pieces} parts in {shards} shards: {output}"));
    if !session.json {
        return Ok(());
    }
    print_json(&json!({"plan": path.to_string_lossy(), "stage": name, "shards": shards}))
}

/// A plan whose shards take minutes.
fn divide(session: &Session, path: &Path, stage: StagePlan) -> anyhow::Result<Plan> {
    let whole = LoadedPlan::load(path, Plan::new(stage.clone(), 1))?;
    let stopwatch = Stopwatch::start();
    let shards = shard_count(&whole, &|| stopwatch.seconds(), session.context())?;
    Ok(Plan::new(stage, shards))
}
