//! Checks the games of a gate, recomputes its verdict from them, and plays a sample of them again.

use super::players::player;
use super::{VerifiedCounts, VerifyReport, VerifyTask, over_parts, prove};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::{
    ArtifactError, Dataset, GATE_GAMES, GateGameRow, Manifest, OpeningCounts, Table, VerdictFile,
};
use crate::pipeline::gate::decider::Decider;
use crate::pipeline::gate::proof::{PairProof, ProvedBatch};
use crate::pipeline::gate::remake::Remake;
use crate::pipeline::gate::score::score;
use crate::pipeline::gate::task::GateConfig;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError};

/// Checks every game and every pair, and that they lead to the verdict, and plays the share of the
/// games again that the task asks for.
pub fn verify(
    task: VerifyTask<'_>,
    dataset: &Dataset,
    context: Context<'_>,
) -> Result<VerifyReport, StageError> {
    let games = 2 * dataset.manifest().done;
    // Hours of checking do not end with games that cannot be played.
    let load = |role| player(dataset, role, task.models);
    let players = task
        .remake
        .map(|_| Ok::<_, StageError>((load("candidate")?, load("baseline")?)))
        .transpose()?;
    let remake = task
        .remake
        .zip(players.as_ref())
        .map(|(share, (candidate, baseline))| {
            Remake::new(
                dataset,
                candidate,
                baseline,
                ItemSample::of_share(task.seed, games, share),
            )
        });
    let remake = remake.transpose()?;
    let verdict = read_verdict(dataset.folder())?;
    let (PairProof { config, .. }, batches) = prove(dataset, task.fast, context)?;
    let damaged = |reason| ArtifactError::damaged(&dataset.folder().join("verdict.json"), reason);
    check_manifest(dataset.manifest(), &verdict).map_err(damaged)?;
    check_openings(dataset, &verdict)?;
    check_verdict(&config, &batches, &verdict).map_err(damaged)?;
    let mut games_remade = 0;
    if let Some(remake) = remake {
        games_remade = over_parts(context, "remake", dataset, |index| {
            remake.part(index, context)
        })?
        .iter()
        .sum();
    }
    let checked = VerifiedCounts::Gate {
        games,
        replayed: if task.fast { 0 } else { games },
        verdict: verdict.verdict,
    };
    Ok(VerifyReport {
        checked,
        games_remade,
    })
}

/// Checks that a verdict belongs to the match that the manifest describes.
fn check_manifest(manifest: &Manifest, verdict: &VerdictFile) -> Result<(), String> {
    for (role, player) in [
        ("candidate", &verdict.candidate),
        ("baseline", &verdict.baseline),
    ] {
        if manifest.models.get(role) != Some(&player.content) {
            return Err(format!("its {role} is not that of the manifest"));
        }
    }
    if verdict.config != manifest.config {
        return Err("its config is not that of the manifest".into());
    }
    if !verdict.avoided.is_sorted() {
        return Err("the avoided datasets are not in ascending order".into());
    }
    Ok(())
}

/// Checks that the openings of a verdict add up, and are those of the last part.
fn check_openings(dataset: &Dataset, verdict: &VerdictFile) -> Result<(), ArtifactError> {
    let OpeningCounts {
        drawn,
        repeated,
        in_training,
        unbalanced,
    } = verdict.openings;
    let others = [repeated, in_training, unbalanced]
        .into_iter()
        .try_fold(verdict.pairs_done, u64::checked_add);
    if others != Some(drawn) {
        let reason = format!("its openings do not add up to the {drawn} that were drawn");
        return Err(ArtifactError::damaged(
            &dataset.folder().join("verdict.json"),
            reason,
        ));
    }
    let Some(last) = dataset.part_count().checked_sub(1) else {
        return Ok(());
    };
    let path = part_path(dataset.folder(), &GATE_GAMES, last);
    let footer = Table::read_footer(&path)?;
    let counts = footer
        .get("renma.openings")
        .and_then(|counts| serde_json::from_str(counts).ok());
    if counts != Some(verdict.openings) {
        return Err(ArtifactError::damaged(
            &path,
            "the openings in its footer are not those of the verdict",
        ));
    }
    Ok(())
}

/// Checks that the games lead to the verdict, and that none came after the game that decided.
fn check_verdict(
    config: &GateConfig,
    batches: &[ProvedBatch],
    verdict: &VerdictFile,
) -> Result<(), String> {
    let mut decider = Decider::new(config);
    for (count, batch) in batches.iter().enumerate() {
        if decider.is_decided() {
            return Err(format!(
                "it was decided after {count} of {} parts",
                batches.len()
            ));
        }
        decider.look(&batch.rows);
    }
    let rows: Vec<GateGameRow> = batches
        .iter()
        .flat_map(|batch| batch.rows.iter().cloned())
        .collect();
    let score = score(&rows);
    let (told, counted) = (verdict.score.pairs, score.pairs);
    if told != counted {
        return Err(format!(
            "it counts pairs {told:?}, its games make {counted:?}"
        ));
    }
    if (&score, decider.test().as_ref()) != (&verdict.score, verdict.test.as_ref()) {
        return Err("its score or test is not the one that its games lead to".into());
    }
    if decider.verdict() != verdict.verdict {
        return Err(format!(
            "its verdict is {:?}, its games lead to {:?}",
            verdict.verdict,
            decider.verdict()
        ));
    }
    Ok(())
}
