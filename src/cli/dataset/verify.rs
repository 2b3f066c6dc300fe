//! `renma dataset verify`.

use crate::cli::arguments::dataset::VerifyArguments;
use crate::cli::output::{FOUND, counted, finding_text, say, thousands};
use crate::cli::session::Session;
use crate::cluster::runs::name_makers;
use crate::curate::verify::{Checked, VerifyReport, VerifyTask, verify};
use crate::pipeline::StageError;
use crate::pipeline::item_sample::{fresh_seed, share_found};
use crate::run::folders::plan_of_selfplay;
use serde_json::json;

pub(super) fn run(session: &Session, arguments: &VerifyArguments) -> anyhow::Result<()> {
    let &VerifyArguments { ref dataset, fast, remake, resolve, .. } = arguments;
    let seed = (remake.is_some() || resolve.is_some()).then(|| arguments.seed.unwrap_or_else(fresh_seed));
    let models = arguments.models.as_deref();
    let task = VerifyTask { dataset, fast, remake, resolve, seed: seed.unwrap_or_default(), models };
    let name_makers = |error: StageError| match plan_of_selfplay(dataset) {
        Some(plan) => name_makers(error, &plan, dataset),
        None => error,
    };
    let VerifyReport { checked, games_remade, rows_resolved } = verify(task, session.context()).map_err(name_makers)?;
    let (games, what) = describe(&checked);
    let mut text = format!("dataset verify: {} is sound: {what}", dataset.display());
    let samples = [("games", "remade", games_remade, games), ("exact rows", "solved again", rows_resolved, u64::MAX)];
    let samples: Vec<_> = samples.into_iter().filter(|(_, _, count, _)| 0 < *count).collect();
    for (items, done, count, _) in &samples {
        text += &format!(", {} {items} {done}", thousands(*count));
    }
    if let Some(seed) = seed {
        text += &format!(" (--seed {seed})");
    }
    for (items, _, count, _) in samples.iter().filter(|(_, _, count, all)| count < all) {
        text += &format!("\n{}", finding_text(items, *count));
    }
    say(&text);
    let share = |count: u64| (0 < count).then(|| share_found(count, FOUND));
    let games = share(games_remade).map(|share| if games_remade < games { share } else { 0.0 });
    session.print_json(&json!({
        "verified": checked,
        "games_remade": games_remade,
        "rows_resolved": rows_resolved,
        "seed": seed,
        "share_found": {"probability": FOUND, "games": games, "rows": share(rows_resolved)},
    }))
}

/// The number of games, and all counts in words.
fn describe(checked: &Checked) -> (u64, String) {
    let (games, others) = match *checked {
        Checked::Positions { games, positions, replayed } => {
            (games, format!("{}, {} replayed", counted(positions, "position"), counted(replayed, "game")))
        }
        Checked::Gate { games, replayed, verdict } => {
            (games, format!("{} replayed, verdict {}", counted(replayed, "game"), verdict.name()))
        }
        Checked::Mpc { games, samples, rows } => {
            (games, format!("{}, {} searches", counted(samples, "sample"), thousands(rows)))
        }
    };
    (games, format!("{}, {others}", counted(games, "game")))
}
