//! `renma shard plan`.

use super::arguments::shard::{PlanArguments, StageArguments};
use super::output::{Output, output_name, print_json, say, thousands};
use super::session::Session;
use super::{fit_mpc, gate, generate, train};
use crate::artifact::publish::remove_file;
use crate::cluster::divide::plan_of;
use crate::cluster::plan::{PLAN_FILE, Plan};
use crate::cluster::runs::log_path;
use crate::cluster::stage::{Outline, StageTask};
use serde_json::json;

pub(super) fn run(session: &Session, arguments: PlanArguments) -> anyhow::Result<()> {
    let (path, force, shards) = (arguments.plan.clone(), arguments.force, arguments.shards);
    let stage = match arguments.into_stage()? {
        StageArguments::Generate(arguments, replace) => {
            generate::with_task(session, &arguments, replace, |task| Ok(StageTask::Generate(task).plan()?))
        }
        StageArguments::Train(arguments) => train::with_task(&arguments, |task| Ok(StageTask::Train(task).plan()?)),
        StageArguments::FitMpc(arguments) => {
            fit_mpc::with_task(session, &arguments, |task| Ok(StageTask::FitMpc(task).plan()?))
        }
        StageArguments::Gate(arguments) => {
            gate::with_task(session, &arguments, |task| Ok(StageTask::Gate(task).plan()?))
        }
    }?;
    let found = Plan::found(&stage, &path);
    let plan = plan_of(stage, &path, shards.map(|shards| shards as usize), session.context())?;
    if found.as_ref() != Some(&plan) {
        let written = Output::open(session.json, &path, PLAN_FILE, force)?
            .write(|writer| writer.write_all(plan.text().as_bytes()))?;
        if !written {
            return Ok(());
        }
        // It tells of the shards of another plan.
        remove_file(&log_path(&path))?;
    }
    let Outline { stage: name, weights, .. } = plan.stage.outline();
    let pieces = thousands(weights.len() as u64);
    let (shards, output) = (plan.shards.len(), output_name(&path).display());
    say(&format!("shard plan: {name}, {pieces} parts in {shards} shards: {output}"));
    if !session.json {
        return Ok(());
    }
    print_json(&json!({"plan": path.to_string_lossy(), "stage": name, "shards": shards}))
}
