//! `renma gate`.

use super::arguments::GateArguments;
use super::failure::exit_code;
use super::output::{print_json, say, thousands};
use super::session::{Session, load_run_model, registry_folder, warn_without_statistics};
use super::work::{Worked, claim_folder, drop_surplus, run_stage};
use crate::artifact::dataset::gate_games::GATE_GAMES;
use crate::artifact::dataset::manifest::DatasetKind;
use crate::artifact::dataset::verdict::Verdict;
use crate::config::load_config;
use crate::pipeline::gate::recipe::recipe;
use crate::pipeline::gate::run::gate;
use crate::pipeline::gate::task::{BATCH_PAIRS, GateReport, GateTask};
use crate::statistics::sprt::SequentialTest;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &GateArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, "gate", Some(arguments.generation), &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &GateArguments) -> anyhow::Result<Worked> {
    let config = load_config(&arguments.config)?;
    let folder = registry_folder(arguments.models.as_deref(), &config.name);
    let candidate = load_run_model(&arguments.candidate, &folder, &config)?;
    let baseline = load_run_model(&arguments.baseline, &folder, &config)?;
    let task = GateTask {
        config: &config.config.gate,
        seed: config.config.run.seed,
        generation: arguments.generation,
        candidate: &candidate,
        baseline: &baseline,
        avoid: &arguments.avoid,
        output: &arguments.output,
        remake: arguments.remake,
    };
    let recipe = recipe(&task)?.hash;
    claim_folder("gate", DatasetKind::Gate, &arguments.output, arguments.replace, recipe)?;
    if arguments.replace {
        let pairs = task.config.games / 2;
        let asked = (pairs, pairs.div_ceil(BATCH_PAIRS));
        drop_surplus("gate", &arguments.output, recipe, &[&GATE_GAMES], asked)?;
    }
    for player in [&candidate, &baseline] {
        warn_without_statistics("gate.mpc_level", config.config.gate.mpc_level, player);
    }
    let report = gate(task, session.context())?;
    say(&describe(&report, arguments.remake));
    if session.json {
        print_json(&report)?;
    }
    let code = match report.verdict.verdict {
        Verdict::Accepted => exit_code::DONE,
        Verdict::Rejected => exit_code::REJECTED,
        Verdict::Inconclusive => exit_code::INCONCLUSIVE,
    };
    Ok(Worked { id: None, skipped: report.skipped, code })
}

fn describe(report: &GateReport, remade: bool) -> String {
    let verdict = &report.verdict;
    let score = &verdict.score;
    let word = match verdict.verdict {
        Verdict::Accepted => "accepted",
        Verdict::Rejected => "rejected",
        Verdict::Inconclusive => "inconclusive",
    };
    let told = match (remade, report.skipped) {
        (true, _) => " (every game played out the same again)",
        (false, true) => " (decided already)",
        (false, false) => "",
    };
    let mut text = format!(
        "gate: {word}{told}: {} over {}: +{} ={} -{} in {} of {} pairs, {:.1} % of points, {:+.2} discs a game",
        verdict.candidate.id,
        verdict.baseline.id,
        score.wins,
        score.draws,
        score.losses,
        verdict.pairs_done,
        verdict.pairs_asked,
        100.0 * score.points,
        score.discs_mean,
    );
    if let Some(test) = &verdict.test {
        let SequentialTest { nelo0, nelo1, llr, llr_low, llr_high, .. } = test;
        text += &format!(", LLR {llr:+.2} between {llr_low:+.2} and {llr_high:+.2} for {nelo1} nElo against {nelo0}");
    }
    text += &format!(
        ", Elo {:+.0} [{:+.0}, {:+.0}] ({} standard errors)",
        score.elo, score.elo_low, score.elo_high, score.interval
    );
    if let Some(pairs) = verdict.test.as_ref().and_then(|test| test.pairs_forecast) {
        text +=
            &format!("\ngate: about {} more pairs would decide at this strength; raise gate.games", thousands(pairs));
    }
    text
}
