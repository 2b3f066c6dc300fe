//! A gate from beginning to end.

use super::batches::Batches;
use super::contest::{BatchRows, Outcome, contest};
use super::decider::Decider;
use super::score::score;
use super::task::{FACTS, GateReport, GateTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::manifest::content_of;
use crate::artifact::dataset::verdict::VerdictFormat;
use crate::artifact::publish::remove_file;
use crate::artifact::seal::write_sealed;
use crate::artifact::{FolderLock, GATE_GAMES, Part, PartRange, VerdictFile};
use crate::pipeline::parts::{PartKind, Parts};
use crate::pipeline::{Amount, Context, StageError};
use std::collections::BTreeMap;

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate whose MPC statistics were not fitted to its weights, too few
/// openings, or a system error; finished batches stay.
pub fn gate(task: &GateTask, context: Context<'_>) -> Result<GateReport, StageError> {
    // Reading the positions that are no openings may take longer than a budget: what is left
    // before it decides.
    let may_begin = context.check_budget();
    let parts = Batches::parts(task)?;
    let _lock = FolderLock::take(&task.output)?;
    parts.sweep()?;
    if let Some(verdict) = parts.verdict()? {
        return Ok(GateReport {
            skipped: true,
            games_played: 0,
            verdict,
        });
    }
    may_begin?;
    let ranges = parts.ranges();
    let (found, _) = parts.sort(&ranges, |part, rows| (part, rows), context)?;
    parts.check_no_more()?;
    parts.kind.reopen(&parts)?;
    let found = found
        .into_iter()
        .map(|(index, (part, rows))| ((index, part), (index, rows)));
    let (mut entries, played): (BTreeMap<usize, Part>, BTreeMap<usize, BatchRows>) = found.unzip();
    let mut publish = |range: &PartRange, batch: BatchRows| {
        entries.insert(range.index, parts.publish(range, &batch)?);
        Ok(true)
    };
    let done = played.values().map(|batch| batch.rows.len() as u64).sum();
    let games = Amount {
        total: task.config.games,
        done,
    };
    let play = || {
        contest(
            task,
            &parts.kind.avoided,
            &ranges,
            played,
            &mut publish,
            context,
        )
    };
    let outcome = context.observe(FACTS.name, games, FACTS.unit, play)?;
    // Machines that share a match play ahead of the look that decides it.
    for range in &ranges[outcome.batches..] {
        remove_file(&part_path(&task.output, &GATE_GAMES, range.index))?;
    }
    let entries: Vec<Part> = entries.into_values().take(outcome.batches).collect();
    let verdict = verdict_of(&parts, &outcome, &entries);
    parts.finish(entries)?;
    write_sealed(&task.output.join("verdict.json"), &verdict)?;
    Ok(GateReport {
        skipped: false,
        games_played: outcome.games_played,
        verdict,
    })
}

/// The verdict that an outcome leads to, in a dataset of these parts.
fn verdict_of(parts: &Parts<'_, Batches<'_>>, outcome: &Outcome, entries: &[Part]) -> VerdictFile {
    let Batches {
        task,
        step,
        avoided,
    } = &parts.kind;
    let mut decider = Decider::new(&task.config);
    decider.look(&outcome.all.rows);
    VerdictFile {
        format: VerdictFormat::CURRENT,
        verdict: decider.verdict(),
        step: step.id,
        games_content: content_of(entries),
        candidate: task.candidate.as_reference(),
        baseline: task.baseline.as_reference(),
        pairs_asked: parts.items,
        pairs_done: outcome.all.rows.len() as u64 / 2,
        score: score(&outcome.all.rows),
        test: decider.test(),
        openings: outcome.all.openings,
        avoided: avoided.contents(),
        config: parts.recipe.origin.config.clone(),
    }
}
