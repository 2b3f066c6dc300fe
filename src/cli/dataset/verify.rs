//! `renma dataset verify`.

use crate::cli::arguments::dataset::VerifyArguments;
use crate::cli::arguments::run::check_own_registry;
use crate::cli::output::{FOUND, counted, finding_text, say, thousands};
use crate::cli::session::Session;
use crate::cluster::runs::name_makers;
use crate::curate::verify::{VerifiedCounts, VerifyReport, VerifyTask, verify};
use crate::pipeline::StageError;
use crate::pipeline::item_sample::{fresh_seed, share_found};
use crate::run::folders::plan_of_selfplay;
use serde_json::json;

pub fn run(session: &Session, arguments: &VerifyArguments) -> anyhow::Result<()> {
    let &VerifyArguments {
        ref dataset,
        fast,
        remake,
        ..
    } = arguments;
    let seed = remake.map(|_| arguments.seed.unwrap_or_else(fresh_seed));
    let models = arguments.models.as_deref();
    check_own_registry(models)?;
    let task = VerifyTask {
        dataset,
        fast,
        remake,
        seed: seed.unwrap_or_default(),
        models,
    };
    let name_makers = |error: StageError| match plan_of_selfplay(dataset) {
        Some(plan) => name_makers(error, &plan, dataset),
        None => error,
    };
    let VerifyReport {
        checked,
        games_remade,
    } = verify(task, session.context()).map_err(name_makers)?;
    let (games, what) = describe(&checked);
    let mut text = format!("dataset verify: {} is sound: {what}", dataset.display());
    if let Some(seed) = seed {
        text += &format!(", {} games remade (--seed {seed})", thousands(games_remade));
        if games_remade < games {
            text += &format!("\n{}", finding_text("games", games_remade));
        }
    }
    say(&text);
    let share = if games_remade < games {
        share_found(games_remade, FOUND)
    } else {
        0.0
    };
    session.print_json(&json!({
        "verified": checked,
        "games_remade": games_remade,
        "seed": seed,
        "share_found": {"probability": FOUND, "games": seed.map(|_| share)},
    }))
}

/// The number of games, and all counts in words.
fn describe(checked: &VerifiedCounts) -> (u64, String) {
    let (games, others) = match *checked {
        VerifiedCounts::Positions {
            games,
            positions,
            replayed,
        } => (
            games,
            format!(
                "{}, {} replayed",
                counted(positions, "position"),
                counted(replayed, "game")
            ),
        ),
        VerifiedCounts::Gate {
            games,
            replayed,
            verdict,
        } => (
            games,
            format!(
                "{} replayed, verdict {}",
                counted(replayed, "game"),
                verdict.name()
            ),
        ),
        VerifiedCounts::Mpc {
            games,
            samples,
            rows,
        } => (
            games,
            format!(
                "{}, {} searches",
                counted(samples, "sample"),
                thousands(rows)
            ),
        ),
    };
    (games, format!("{}, {others}", counted(games, "game")))
}
