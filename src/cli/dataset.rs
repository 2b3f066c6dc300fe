//! `renma dataset`.

mod export;
mod import;
mod merge;

use super::arguments::DatasetCommand;
use super::output::{FOUND, bars, finding_text, print, print_json, say, table, thousands};
use super::session::{Session, fresh_seed};
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::inspect::{BIN_DISCS, Inspector, Summary};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::dataset::verify::{Verified, strangers, verify_part};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::builtin::Builtin;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::Model;
use crate::pipeline::generate::recheck::{GameSample, Remake, config_of, player_of, resolve_part, share_found};
use crate::pipeline::generate::recipe::origin_of;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) fn run(session: &Session, command: DatasetCommand) -> anyhow::Result<()> {
    match command {
        DatasetCommand::Verify { dataset, fast, remake, resolve, seed, models } => {
            let dataset = Dataset::open(&dataset)?;
            if remake.is_some() {
                // Hours of checking would be for nothing if the games cannot be played.
                player_of(&dataset)?;
                config_of(&dataset)?;
            }
            let mut found = Found { verified: verify(session, &dataset, fast)?, ..Found::default() };
            found.seed = (remake.is_some() || resolve.is_some()).then(|| seed.unwrap_or_else(fresh_seed));
            let seed = found.seed.unwrap_or_default();
            if let Some(share) = remake {
                let sample = GameSample::of_share(seed, dataset.manifest().done, share);
                found.games_remade = remake_games(session, &dataset, sample, models.as_deref())?;
            }
            if let Some(share) = resolve {
                found.rows_resolved = resolve_rows(session, &dataset, (seed, share))?;
            }
            report_verified(session, &dataset, &found)
        }
        DatasetCommand::Inspect { dataset } => inspect(session, &Dataset::open(&dataset)?),
        DatasetCommand::Import(arguments) => import::run(session, &arguments),
        DatasetCommand::Export { dataset, format, output } => export::run(session, &dataset, format, &output),
        DatasetCommand::Merge { datasets, output } => merge::run(session, &datasets, &output),
    }
}

/// What `verify` has checked.
#[derive(Default)]
struct Found {
    verified: Verified,
    games_remade: u64,
    rows_resolved: u64,
    /// What chose the games and rows, if any were.
    seed: Option<u64>,
}

/// Runs a check over all parts on all threads; gives what each found, in order.
fn over_parts<T: Send>(
    context: Context<'_>,
    task: &str,
    dataset: &Dataset,
    check: impl Fn(usize) -> Result<T, StageError> + Sync,
) -> Result<Vec<T>, StageError> {
    let parts = dataset.part_count();
    context.progress.begin(task, parts as u64, "parts");
    let results = context.pool()?.install(|| {
        (0..parts)
            .into_par_iter()
            .map(|index| {
                context.check()?;
                let result = check(index)?;
                context.check()?;
                context.progress.advance(1, 0);
                Ok(result)
            })
            .collect()
    });
    context.progress.end();
    results
}

fn verify(session: &Session, dataset: &Dataset, fast: bool) -> anyhow::Result<Verified> {
    if let Some(stranger) = strangers(dataset)?.first() {
        return Err(ArtifactError::unfit(stranger, "the manifest does not list it").into());
    }
    merge::check_recipe(dataset)?;
    let settings = origin_of(dataset)?.map(|(_, settings)| settings).unwrap_or_default();
    let context = session.context();
    let parts = over_parts(context, "verify", dataset, |index| {
        check_footers(dataset, index, &settings)?;
        Ok(verify_part(dataset, index, fast, context.stop)?)
    })?;
    let mut total = Verified::default();
    for part in parts {
        total.games += part.games;
        total.positions += part.positions;
        total.replayed += part.replayed;
    }
    Ok(total)
}

fn remake_games(
    session: &Session,
    dataset: &Dataset,
    sample: GameSample,
    models: Option<&Path>,
) -> anyhow::Result<u64> {
    let player = player_of(dataset)?;
    let registry = models.map_or_else(|| registry_of(dataset.folder()), Path::to_owned);
    let model = find_model(player, &registry)?;
    let remake = Remake::new(dataset, None, &model, sample)?;
    let context = session.context();
    let counts = over_parts(context, "remake", dataset, |index| remake.part(index, context))?;
    Ok(counts.iter().sum())
}

fn resolve_rows(session: &Session, dataset: &Dataset, sample: (u64, f64)) -> anyhow::Result<u64> {
    let model = Builtin::Champion.model();
    let context = session.context();
    let resolve = |index| resolve_part(dataset, index, sample, &model, context);
    let counts = over_parts(context, "resolve", dataset, resolve)?;
    Ok(counts.iter().sum())
}

/// `models/RUN` beside `datasets/RUN/selfplay/generation=G`.
fn registry_of(folder: &Path) -> PathBuf {
    let run = folder.ancestors().nth(2);
    let root = run.and_then(Path::parent).and_then(Path::parent);
    match (root, run.and_then(Path::file_name)) {
        (Some(root), Some(name)) => root.join("models").join(name),
        _ => Path::new("models/default").to_owned(),
    }
}

/// The model with this content, among the built-ins and the versions of a registry.
fn find_model(content: ContentHash, registry: &Path) -> Result<Model, ArtifactError> {
    let mut builtins = Builtin::ALL.into_iter().map(LoadedModel::builtin);
    if let Some(builtin) = builtins.find(|builtin| builtin.content == content) {
        return Ok(builtin.model);
    }
    let versions = Registry::new(registry);
    match versions.documents()?.into_iter().find(|document| document.content == content) {
        Some(document) => Ok(LoadedModel::read(&versions.folder_of(document.id))?.model),
        None => Err(ArtifactError::Conflict {
            path: registry.to_owned(),
            reason: format!(
                "it has no model {}, which played the dataset\nname its registry with --models",
                content.short()
            ),
        }),
    }
}

fn report_verified(session: &Session, dataset: &Dataset, found: &Found) -> anyhow::Result<()> {
    let Found { verified, games_remade, rows_resolved, seed } = found;
    let mut text = format!(
        "dataset verify: {} is sound: {} games, {} positions, {} games replayed",
        dataset.folder().display(),
        thousands(verified.games),
        thousands(verified.positions),
        thousands(verified.replayed)
    );
    let samples =
        [("games", "made", *games_remade, verified.games), ("exact rows", "solved", *rows_resolved, u64::MAX)];
    let samples: Vec<_> = samples.into_iter().filter(|(_, _, count, _)| 0 < *count).collect();
    for (items, done, count, _) in &samples {
        text += &format!(", {} {items} {done} again", thousands(*count));
    }
    if let Some(seed) = seed {
        text += &format!(" (--seed {seed})");
    }
    for (items, _, count, _) in samples.iter().filter(|(_, _, count, all)| count < all) {
        text += &format!("\n{}", finding_text(items, *count));
    }
    say(&text);
    if session.json {
        let share = |count: u64| (0 < count).then(|| share_found(count, FOUND));
        let games = share(*games_remade).map(|share| if *games_remade < verified.games { share } else { 0.0 });
        print_json(&json!({
            "verified": verified,
            "games_remade": games_remade,
            "rows_resolved": rows_resolved,
            "seed": seed,
            "share_found": {"probability": FOUND, "games": games, "rows": share(*rows_resolved)},
        }))?;
    }
    Ok(())
}

fn inspect(session: &Session, dataset: &Dataset) -> anyhow::Result<()> {
    let context = session.context();
    let mut inspector = Inspector::default();
    let mut column_bytes = BTreeMap::new();
    context.progress.begin("inspect", dataset.part_count() as u64, "parts");
    for index in 0..dataset.part_count() {
        context.check()?;
        inspector.add_part(dataset, index, context.stop)?;
        context.check()?;
        let files = &dataset.manifest().parts[index].files;
        for table in [&GAMES, &POSITIONS].into_iter().filter(|table| files.contains_key(table.name)) {
            for (column, bytes) in table.column_bytes(&part_path(dataset.folder(), table, index))? {
                *column_bytes.entry(format!("{}.{column}", table.name)).or_insert(0) += bytes;
            }
        }
        context.progress.advance(1, 0);
    }
    context.progress.end();
    let manifest = dataset.manifest();
    let bytes = manifest.bytes(GAMES.name) + manifest.bytes(POSITIONS.name);
    let summary = inspector.finish(bytes, column_bytes);
    if session.json { print_json(&summary) } else { Ok(print(&describe(dataset, &summary))?) }
}

fn describe(dataset: &Dataset, summary: &Summary) -> String {
    let rows = summary.positions.max(1) as f64;
    let share = |count: u64| format!("{:.2} %", 100.0 * count as f64 / rows);
    let mut text = format!(
        "{}: {} games, {} positions, {:.2} bytes a position\nduplicates: {} ({} up to symmetry)\n",
        dataset.folder().display(),
        thousands(summary.games),
        thousands(summary.positions),
        summary.bytes as f64 / rows,
        share(summary.duplicates),
        share(summary.duplicates_up_to_symmetry)
    );
    for (column, count) in &summary.missing {
        text += &format!("{column} is missing in {} rows ({})\n", thousands(*count), share(*count));
    }
    for opening in &summary.openings {
        let (distinct, games) = (thousands(opening.distinct), thousands(opening.games));
        text += &format!("openings at ply {}: {distinct} different in {games} games\n", opening.ply);
    }
    let head = ["empties", "rows", "exact", "random", "score", "|score-static|", "|score-result|"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines[0].extend(["scores".to_owned(), "results".to_owned()]);
    for line in &summary.by_empties {
        let discs = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let part = |count: u64| format!("{:.1} %", 100.0 * count as f64 / line.rows as f64);
        lines.push(vec![
            format!("{}-{}", line.empties_min, (line.empties_min + 4).min(60)),
            thousands(line.rows),
            part(line.exact),
            part(line.random),
            line.score_mean().map_or("-".to_owned(), |value| format!("{value:+.2}")),
            discs(line.static_error_mean()),
            discs(line.result_error_mean()),
            format!("|{}|", bars(&line.scores)),
            format!("|{}|", bars(&line.results)),
        ]);
    }
    text += &format!("\nerrors in discs; histograms from -64 to 64 in bins of {BIN_DISCS}\n{}\n", table(&lines));
    let mut columns: Vec<_> = summary.column_bytes.iter().collect();
    columns.sort_by_key(|(name, bytes)| (std::cmp::Reverse(**bytes), (*name).clone()));
    let mut lines = vec![["column", "bytes", "a position"].map(str::to_owned).to_vec()];
    lines.extend(
        columns
            .iter()
            .map(|(name, bytes)| vec![(*name).clone(), thousands(**bytes), format!("{:.3}", **bytes as f64 / rows)]),
    );
    text + "\n" + &table(&lines)
}
