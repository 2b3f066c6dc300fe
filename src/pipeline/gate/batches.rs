//! Batches: the pairs between two looks at the score, one Parquet part each.

use super::avoided::Avoided;
use super::contest::{BatchRows, play_batches};
use super::decider::Decider;
use super::proof::PairProof;
use super::recipe::identity;
use super::score::pair_counts;
use super::task::{BATCH_PAIRS, FACTS, GateTask};
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::publish::{exists, remove_file};
use crate::artifact::{
    ArtifactError, Footer, GATE_GAMES, GateGameRow, PartRange, Step, Table, TableRow, VerdictFile,
};
use crate::pipeline::parts::{CheckSampling, PartFiles, PartKind, Parts, PartsProgress, Sink};
use crate::pipeline::stage::Facts;
use crate::pipeline::{Context, StageError};
use arrow::array::RecordBatch;

/// The key of a footer with what became of all openings drawn up to the last pair of the file.
const OPENINGS_KEY: &str = "renma.openings";

/// The batches of a match, which any number of processes play.
pub(in crate::pipeline) struct Batches<'a> {
    pub(super) task: &'a GateTask,
    pub(super) avoided: Avoided,
    pub(super) step: Step,
}

impl<'a> Batches<'a> {
    /// The batches of a task, unless the MPC statistics of its candidate are not fitted to its
    /// weights.
    pub(in crate::pipeline) fn parts(task: &'a GateTask) -> Result<Parts<'a, Self>, StageError> {
        let GateTask { candidate, .. } = task;
        if candidate.document.is_some() && candidate.model.mpc_weights != Some(candidate.weights) {
            let reason =
                "its MPC statistics are not fitted to its weights\nrun renma fit-mpc first";
            return Err(ArtifactError::unfit(&candidate.place_name(), reason).into());
        }
        let avoided = Avoided::open(&task.avoid)?;
        let (recipe, step) = identity(task, &avoided.contents());
        let kind = Self {
            task,
            avoided,
            step,
        };
        Ok(Parts {
            kind,
            recipe,
            folder: &task.output,
            items: task.config.games / 2,
            part_items: BATCH_PAIRS,
        })
    }
}

impl Parts<'_, Batches<'_>> {
    /// The verdict in the folder, if it is that of this step. One on fewer games than may be played
    /// now is not.
    pub(super) fn verdict(&self) -> Result<Option<VerdictFile>, ArtifactError> {
        let found = read_verdict(self.folder);
        // Other models are refused by their names. A recipe has only their hashes, and names those
        // without a sound verdict.
        if let Ok(VerdictFile {
            candidate,
            baseline,
            ..
        }) = &found
        {
            let GateTask {
                candidate: our_candidate,
                baseline: our_baseline,
                ..
            } = self.kind.task;
            for (role, theirs, ours) in [
                ("candidate", candidate, our_candidate),
                ("baseline", baseline, our_baseline),
            ] {
                if theirs.content != ours.content {
                    let reason = format!("{role} is {} there and {} here", theirs.id, ours.id);
                    let reason = format!("{reason}\nchoose another --output, or remove the folder");
                    return Err(ArtifactError::conflict(self.folder, reason));
                }
            }
        }
        let manifest = self.recipe.manifest_in(self.folder, self.items)?;
        if manifest.is_none() || !exists(&self.folder.join("verdict.json"))? {
            return Ok(None);
        }
        Ok(Some(found?).filter(|verdict| verdict.step == self.kind.step.id))
    }
}

impl PartKind for Batches<'_> {
    const FACTS: &'static Facts = &FACTS;
    /// A tenth of the pairs, if they are false, is found with a probability of 99.8 %.
    const SAMPLING: CheckSampling = CheckSampling {
        unit: "pairs",
        per: 50,
        min: 60,
        max: u64::MAX,
    };

    type Rows = BatchRows;
    type Proof = PairProof;

    fn rows_max(&self, _: &Table, range: &PartRange) -> u64 {
        2 * range.count
    }

    fn read(&self, range: &PartRange, files: &[(Footer, RecordBatch)]) -> Option<BatchRows> {
        let [(footer, rows)] = files else { return None };
        let rows = GateGameRow::from_batch(rows).ok()?;
        let openings = serde_json::from_str(footer.get(OPENINGS_KEY)?).ok()?;
        rows.iter()
            .map(|row| row.game_id.0)
            .eq(2 * range.first..2 * range.ids().end)
            .then_some(BatchRows { rows, openings })
    }

    fn write(&self, batch: &BatchRows, files: &mut PartFiles<'_>) -> Result<(), ArtifactError> {
        let openings = serde_json::to_string(&batch.openings).expect("counts are plain data");
        files.footer.insert(OPENINGS_KEY.into(), openings);
        files.write(&GATE_GAMES, &batch.rows)
    }

    fn make(
        &self,
        ranges: &[PartRange],
        sink: &mut Sink<'_, BatchRows>,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        play_batches(self.task, &self.avoided, ranges, true, sink, context).map(drop)
    }

    fn count(batch: &BatchRows) -> Vec<(&'static str, u64)> {
        vec![("games_played", batch.rows.len() as u64)]
    }

    /// The openings are those drawn up to the last pair of a part, so that only this pair tells
    /// them.
    fn difference(
        range: &PartRange,
        stored: &BatchRows,
        again: &BatchRows,
    ) -> Option<(&'static Table, String)> {
        let of_range = |row: &&GateGameRow| range.ids().contains(&row.pair);
        let rows: Vec<&GateGameRow> = stored.rows.iter().filter(of_range).collect();
        if let Some((stored, _)) = rows
            .iter()
            .zip(&again.rows)
            .find(|(stored, again)| **stored != *again)
        {
            return Some((
                &GATE_GAMES,
                format!("game {} does not play out the same again", stored.game_id),
            ));
        }
        let is_last = stored
            .rows
            .last()
            .is_some_and(|row| row.pair + 1 == range.ids().end);
        let is_false =
            rows.len() != again.rows.len() || (is_last && stored.openings != again.openings);
        is_false.then(|| {
            (
                &GATE_GAMES,
                format!(
                    "its openings up to pair {} are not those drawn again",
                    range.first
                ),
            )
        })
    }

    fn is_finished(&self, parts: &Parts<'_, Self>) -> Result<bool, StageError> {
        Ok(parts.verdict()?.is_some())
    }

    /// More games may change a verdict.
    fn reopen(&self, parts: &Parts<'_, Self>) -> Result<(), StageError> {
        // Another process may have finished it.
        let is_finished = parts.verdict()?.is_some();
        let files: &[&str] = if is_finished {
            &[]
        } else {
            &["verdict.json", "manifest.json"]
        };
        Ok(files
            .iter()
            .try_for_each(|name| remove_file(&parts.folder.join(name)))?)
    }

    /// Looks come in order: the first batch that is missing ends them.
    fn progress(
        &self,
        parts: &Parts<'_, Self>,
        ahead: usize,
        context: Context<'_>,
    ) -> Result<PartsProgress, StageError> {
        let mut decider = Decider::new(&self.task.config);
        let ranges = parts.ranges();
        let (played, _) = parts.sort(&ranges, |_, batch| pair_counts(&batch.rows), context)?;
        let mut looked_at = 0;
        while let Some(&pairs) = played.get(&looked_at).filter(|_| !decider.is_decided()) {
            decider.look_at(pairs);
            looked_at += 1;
        }
        let wanted = if decider.is_decided() {
            looked_at
        } else {
            (looked_at + ahead.max(1)).min(ranges.len())
        };
        let done = ranges
            .iter()
            .map(|range| played.contains_key(&range.index))
            .collect();
        Ok(PartsProgress {
            done,
            wanted: 0..wanted,
        })
    }
}
