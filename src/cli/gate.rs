//! `renma gate`.

use super::arguments::stage::{GateArguments, WorkArguments};
use super::output::{counted, detail, elo_text, print_json, say, thousands};
use super::session::{Session, load_run_model, registry_folder, warn_without_statistics};
use super::stage::{StageEnd, claim_folder, run_stage, summarize};
use crate::artifact::dataset::verdict::Verdict;
use crate::config::load_config_with;
use crate::exit_code;
use crate::pipeline::gate::recipe::recipe;
use crate::pipeline::gate::run::gate;
use crate::pipeline::gate::task::{BATCH_PAIRS, GateConfig, GateMode, GateReport, GateTask};
use crate::pipeline::stage::Stage;
use crate::run::claim::Claim;
use crate::statistics::sprt::SequentialTest;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &GateArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, Stage::Gate.name(), Some(arguments.generation), &arguments.work, || {
        with_task(arguments, |task| decide(session, task, &arguments.work, arguments.pairs.is_some()))
    })
}

/// Does something with the task of a call, whose folder is claimed.
pub(super) fn with_task<T>(
    arguments: &GateArguments,
    act: impl FnOnce(GateTask<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = load_config_with(&arguments.run.config, &arguments.run.set.settings)?;
    let folder = registry_folder(arguments.run.models.as_deref(), &config.name);
    let candidate = load_run_model(&arguments.candidate, &folder, &config)?;
    let baseline = load_run_model(&arguments.baseline, &folder, &config)?;
    let mut gate = config.config.gate.clone();
    if let Some(pairs) = arguments.pairs {
        gate = GateConfig { mode: GateMode::Games {}, games: pairs.saturating_mul(2), ..gate };
        gate.check()?;
    }
    let task = GateTask {
        config: &gate,
        seed: config.config.run.seed,
        generation: arguments.generation,
        candidate: &candidate,
        baseline: &baseline,
        avoid: &arguments.avoid,
        output: &arguments.output,
        remake: arguments.remake,
    };
    let pairs = task.config.games / 2;
    let claim = Claim {
        folder: task.output,
        stage: Stage::Gate,
        recipe: recipe(&task)?.hash,
        items: pairs,
        parts: pairs.div_ceil(BATCH_PAIRS),
    };
    claim_folder(&claim, arguments.replace)?;
    for player in [&candidate, &baseline] {
        warn_without_statistics("gate.mpc_level", config.config.gate.mpc_level, player);
    }
    act(task)
}

/// Plays the match and says its verdict, or where it decides nothing, only its score.
pub(super) fn decide(
    session: &Session,
    task: GateTask<'_>,
    work: &WorkArguments,
    only_score: bool,
) -> anyhow::Result<StageEnd> {
    let report = gate(task, session.context())?;
    let again = match (task.remake, report.skipped) {
        (true, _) => "; every game was played again, with the same moves",
        (false, true) => ", made before",
        (false, false) => "",
    };
    let (verdict, score) = (&report.verdict, score_text(&report));
    if only_score {
        let players = format!("{} against {}", verdict.candidate.id, verdict.baseline.id);
        summarize("match", work, &format!("{players}, {score}{again}"));
    } else {
        summarize(Stage::Gate.name(), work, &format!("{} after {score}{again}", verdict.verdict.name()));
    }
    if let Some(pairs) = report.verdict.test.as_ref().and_then(|test| test.pairs_forecast) {
        say(&format!("gate: about {} more pairs would decide at this strength; raise gate.games", thousands(pairs)));
    }
    detail(&score_line(&report));
    if session.json {
        print_json(&report)?;
    }
    let code = match report.verdict.verdict {
        Verdict::Accepted => exit_code::DONE,
        Verdict::Rejected => exit_code::REJECTED,
        Verdict::Inconclusive => exit_code::INCONCLUSIVE,
    };
    Ok(StageEnd { id: None, skipped: report.skipped, code })
}

/// The games and their score.
fn score_text(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let score = &verdict.score;
    let games = counted(2 * verdict.pairs_done, "game");
    let elo = match elo_text([score.elo, score.elo_low, score.elo_high]) {
        text if text.contains('[') => text.replacen(' ', " Elo ", 1),
        text => format!("{text} Elo"),
    };
    format!("{games}: {:.1} %, {elo}", 100.0 * score.points)
}

fn score_line(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let score = &verdict.score;
    let mut text = format!(
        "gate: {} over {}: +{} ={} -{} in {} of {} pairs, {:+.2} discs per game",
        verdict.candidate.id,
        verdict.baseline.id,
        score.wins,
        score.draws,
        score.losses,
        verdict.pairs_done,
        verdict.pairs_asked,
        score.discs_mean,
    );
    if let Some(test) = &verdict.test {
        let SequentialTest { nelo0, nelo1, llr, llr_low, llr_high, .. } = test;
        text += &format!(", LLR {llr:+.2} between {llr_low:+.2} and {llr_high:+.2} for {nelo1} nElo against {nelo0}");
    }
    text + &format!(", interval of {} standard errors", score.interval)
}
