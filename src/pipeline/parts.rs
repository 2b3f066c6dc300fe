//! Datasets that are made part by part: which parts a folder holds, making those that it lacks, and
//! making a sample of them again. A stage fills in what its rows are and how they are made.

use super::item_sample::ItemSample;
use super::proof::PartProof;
use super::stage::Facts;
use super::{Amount, Context, StageError};
use crate::artifact::dataset::folder::{part_indices, part_path, sweep_dataset};
use crate::artifact::{
    ArtifactError, Dataset, FileEntry, Footer, Manifest, Part, PartRange, Recipe, Table, TableRow,
};
use arrow::array::RecordBatch;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a shard of a stage did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartsReport {
    /// Whether all of its parts were there already.
    pub skipped: bool,
    /// How much it made, by unit.
    #[serde(flatten)]
    pub made: BTreeMap<&'static str, u64>,
}

impl PartsReport {
    /// All parts were there.
    pub const fn skipped() -> Self {
        Self {
            skipped: true,
            made: BTreeMap::new(),
        }
    }
}

/// How far a stage that is cut into shards is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsProgress {
    /// Which parts are there.
    pub done: Vec<bool>,
    /// The parts that are wanted now.
    pub wanted: Range<usize>,
}

/// What was made again to check a stage that was made in shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeAgain {
    /// What is counted.
    pub unit: &'static str,
    /// How many; 0 if the result was published before.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The seed that chose them.
    pub seed: u64,
}

/// A stage whose parts any number of processes make, on many machines: what they publish does not
/// depend on who does it.
pub trait Shards {
    /// Which parts are there, and which are wanted now; of a match at most `ahead` that are not
    /// decided yet.
    ///
    /// # Errors
    ///
    /// Parts of another recipe.
    fn progress(&self, ahead: usize, context: Context<'_>) -> Result<PartsProgress, StageError>;

    /// Makes the `wanted` parts, as far as they are missing, and publishes no result.
    ///
    /// # Errors
    ///
    /// As those of the stage.
    fn make(&self, wanted: Range<usize>, context: Context<'_>) -> Result<PartsReport, StageError>;

    /// Proves what can be proved of each part, and makes a sample that the seed draws again, before
    /// anything is published.
    ///
    /// # Errors
    ///
    /// A part that is missing, or false ones with their files.
    fn check(&self, seed: u64, context: Context<'_>) -> Result<MadeAgain, StageError>;
}

/// Takes the rows of a range of items when they are made; says whether it wants more.
pub(super) type Sink<'s, R> = dyn FnMut(&PartRange, R) -> Result<bool, StageError> + Send + 's;

/// What a check makes again: one of `per`, between `min` and `max`.
pub(super) struct CheckSampling {
    pub(super) unit: &'static str,
    pub(super) per: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

/// What a stage says of the parts of its dataset.
pub(super) trait PartKind: Sync + Sized {
    const FACTS: &'static Facts;
    const SAMPLING: CheckSampling;

    /// The rows of a part, or of a range of items in it.
    type Rows: Send;

    /// What follows from the parts without making them again.
    type Proof: PartProof;

    /// The most rows of a table that a part may have.
    fn rows_max(&self, table: &Table, range: &PartRange) -> u64;

    /// The rows of a part's files, in the order of the tables; `None` if they cannot be those of
    /// the range.
    fn read(&self, range: &PartRange, files: &[(Footer, RecordBatch)]) -> Option<Self::Rows>;

    /// Writes rows to the files of a part.
    fn write(&self, rows: &Self::Rows, files: &mut PartFiles<'_>) -> Result<(), ArtifactError>;

    /// Makes ranges of items, and hands over each when it is complete.
    fn make(
        &self,
        ranges: &[PartRange],
        sink: &mut Sink<'_, Self::Rows>,
        context: Context<'_>,
    ) -> Result<(), StageError>;

    /// What a report counts of rows.
    fn count(rows: &Self::Rows) -> Vec<(&'static str, u64)>;

    /// The first difference between the rows of a part and those of a range of its items that were
    /// made again: the table and the reason.
    fn difference(
        range: &PartRange,
        stored: &Self::Rows,
        again: &Self::Rows,
    ) -> Option<(&'static Table, String)>;

    /// Whether the stage has published its result.
    fn is_finished(&self, parts: &Parts<'_, Self>) -> Result<bool, StageError> {
        Ok(parts.finished()?.is_some())
    }

    /// Withdraws what says that fewer items were enough, before a part more is published.
    fn reopen(&self, _parts: &Parts<'_, Self>) -> Result<(), StageError> {
        Ok(())
    }

    /// See [`Shards::progress`].
    fn progress(
        &self,
        parts: &Parts<'_, Self>,
        _ahead: usize,
        _context: Context<'_>,
    ) -> Result<PartsProgress, StageError> {
        let done = parts.done()?;
        Ok(PartsProgress {
            wanted: 0..done.len(),
            done,
        })
    }
}

/// The files of a part that is being written.
pub(super) struct PartFiles<'a> {
    folder: &'a Path,
    index: usize,
    /// The metadata in every file.
    pub(super) footer: Footer,
    entries: BTreeMap<String, FileEntry>,
}

impl PartFiles<'_> {
    pub(super) fn write<R: TableRow>(
        &mut self,
        table: &Table,
        rows: &[R],
    ) -> Result<(), ArtifactError> {
        let entry = table.write_rows(
            &part_path(self.folder, table, self.index),
            rows,
            &self.footer,
        )?;
        self.entries.insert(table.name.to_owned(), entry);
        Ok(())
    }
}

/// The parts of a dataset.
pub(super) struct Parts<'a, K> {
    pub(super) kind: K,
    pub(super) recipe: Recipe,
    pub(super) folder: &'a Path,
    pub(super) items: u64,
    pub(super) part_items: u64,
}

/// Parts that are false, by number, with the file and the reason.
type FalseParts = BTreeMap<usize, (PathBuf, String)>;

impl<K: PartKind> Parts<'_, K> {
    /// The ranges of all parts.
    pub(super) fn ranges(&self) -> Vec<PartRange> {
        PartRange::all(self.items, self.part_items)
    }

    /// Removes what dead processes left.
    pub(super) fn sweep(&self) -> Result<(), ArtifactError> {
        sweep_dataset(self.folder, K::FACTS.tables())
    }

    /// The manifest of the whole dataset, if it is published.
    pub(super) fn finished(&self) -> Result<Option<Manifest>, ArtifactError> {
        self.recipe.finished(self.folder, self.items)
    }

    /// Refuses a folder with a part after the last one that is asked for, which a stage that was
    /// stopped may have left.
    pub(super) fn check_no_more(&self) -> Result<(), ArtifactError> {
        for table in K::FACTS.tables() {
            let parts = part_indices(self.folder, table)?
                .into_iter()
                .max()
                .map_or(0, |last| last as u64 + 1);
            if self.items.div_ceil(self.part_items) < parts {
                self.recipe.check_count(
                    self.folder,
                    parts.saturating_mul(self.part_items),
                    self.items,
                )?;
            }
        }
        Ok(())
    }

    /// Publishes the manifest.
    pub(super) fn finish(&self, parts: Vec<Part>) -> Result<Manifest, ArtifactError> {
        let manifest = self.recipe.manifest(self.items, parts);
        manifest.write(self.folder)?;
        Ok(manifest)
    }

    /// Which parts the folder has, by the footers of their files; their rows are not read.
    fn done(&self) -> Result<Vec<bool>, ArtifactError> {
        let has = |range: &PartRange| {
            // The table that is published last is most likely the one that is missing.
            for table in K::FACTS.tables().iter().rev() {
                if !self.recipe.has_part(self.folder, range, table)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        self.ranges().iter().map(has).collect()
    }

    /// A part as the folder holds it; `None` if it is not there, damaged, or cannot be that of the
    /// range.
    pub(super) fn find(
        &self,
        range: &PartRange,
        context: Context<'_>,
    ) -> Result<Option<(Part, K::Rows)>, StageError> {
        context.check()?;
        let tables: Vec<(&Table, u64)> = K::FACTS
            .tables()
            .iter()
            .map(|&table| (table, self.kind.rows_max(table, range)))
            .collect();
        let Some((part, files)) = self
            .recipe
            .find(self.folder, range, &tables, context.stop)?
        else {
            return Ok(None);
        };
        Ok(self.kind.read(range, &files).map(|rows| (part, rows)))
    }

    /// The parts that are there, by number, with what `keep` keeps of each, and those that are not.
    pub(super) fn sort<T: Send>(
        &self,
        ranges: &[PartRange],
        keep: impl Fn(Part, K::Rows) -> T + Sync,
        context: Context<'_>,
    ) -> Result<(BTreeMap<usize, T>, Vec<PartRange>), StageError> {
        let find = |&range: &PartRange| {
            Ok((
                range,
                self.find(&range, context)?
                    .map(|(part, rows)| keep(part, rows)),
            ))
        };
        let all: Result<Vec<(PartRange, Option<T>)>, StageError> = context
            .pool()?
            .install(|| ranges.into_par_iter().map(find).collect());
        let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
        for (range, kept) in all? {
            match kept {
                Some(kept) => drop(found.insert(range.index, kept)),
                None => missing.push(range),
            }
        }
        Ok((found, missing))
    }

    /// The files of these parts that look complete by their footers, so that no shard makes them
    /// again, and are not.
    fn unreadable(
        &self,
        lacking: &[PartRange],
        context: Context<'_>,
    ) -> Result<Vec<(PathBuf, String)>, StageError> {
        let (done, mut found) = (self.done()?, Vec::new());
        for range in lacking.iter().filter(|range| done[range.index]) {
            let mut damaged = K::FACTS.tables()[0];
            for &table in K::FACTS.tables().iter().rev() {
                let alone = [(table, self.kind.rows_max(table, range))];
                if self
                    .recipe
                    .find(self.folder, range, &alone, context.stop)?
                    .is_none()
                {
                    damaged = table;
                }
            }
            found.push((
                part_path(Path::new(""), damaged, range.index),
                "its rows cannot be read".to_owned(),
            ));
        }
        Ok(found)
    }

    /// Publishes a part.
    pub(super) fn publish(&self, range: &PartRange, rows: &K::Rows) -> Result<Part, ArtifactError> {
        let footer = self.recipe.footer(range);
        let mut files = PartFiles {
            folder: self.folder,
            index: range.index,
            footer,
            entries: BTreeMap::new(),
        };
        self.kind.write(rows, &mut files)?;
        Ok(range.part(files.entries))
    }

    /// The parts of these ranges, by number, with what `keep` keeps of each: those that are there,
    /// and the others made now with progress; and what was made.
    pub(super) fn complete<T: Send>(
        &self,
        all: &[PartRange],
        keep: impl Fn(Part, K::Rows) -> T + Sync + Send,
        context: Context<'_>,
    ) -> Result<(BTreeMap<usize, T>, PartsReport), StageError> {
        let (mut parts, missing) = self.sort(all, &keep, context)?;
        self.check_no_more()?;
        let mut report = PartsReport {
            skipped: missing.is_empty(),
            ..PartsReport::skipped()
        };
        if missing.is_empty() {
            return Ok((parts, report));
        }
        self.kind.reopen(self)?;
        let mut publish = |range: &PartRange, rows: K::Rows| {
            let part = self.publish(range, &rows)?;
            K::count(&rows)
                .into_iter()
                .for_each(|(name, count)| *report.made.entry(name).or_default() += count);
            parts.insert(range.index, keep(part, rows));
            Ok(true)
        };
        let games = |ranges: &[PartRange]| {
            self.recipe
                .games(ranges.iter().map(|range| range.count).sum())
        };
        let amount = Amount {
            total: games(all),
            done: games(all) - games(&missing),
        };
        let make = || self.kind.make(&missing, &mut publish, context);
        context.observe(K::FACTS.name, amount, K::FACTS.unit, make)?;
        Ok((parts, report))
    }

    /// The parts of a dataset that contradict themselves or each other, with their files and the
    /// reasons.
    fn prove(&self, dataset: &Dataset, context: Context<'_>) -> Result<FalseParts, StageError> {
        let proof = K::Proof::of(dataset)?;
        let prove = |index: usize| {
            context.check()?;
            for table in K::FACTS.tables() {
                let path = part_path(self.folder, table, index);
                table.check_bytes(
                    &path,
                    &dataset.manifest().parts[index].files[table.name],
                    context.stop,
                )?;
            }
            Ok(proof.prove(dataset, index, false, context.stop)?)
        };
        let prove = |index: usize| match prove(index) {
            Err(StageError::Artifact(ArtifactError::Damaged { path, reason })) => {
                Ok(Err((path, reason)))
            }
            proved => proved.map(Ok),
        };
        let parts = 0..dataset.part_count();
        let proved: Result<Vec<_>, StageError> = context
            .pool()?
            .install(|| parts.into_par_iter().map(prove).collect());
        let (mut false_parts, mut all) = (FalseParts::new(), Vec::new());
        for (index, proved) in proved?.into_iter().enumerate() {
            match proved {
                Ok(found) => all.push(found),
                Err(fault) => drop(false_parts.insert(index, fault)),
            }
        }
        if false_parts.is_empty()
            && let Some((index, table, reason)) = K::Proof::contradiction(dataset, &all)
        {
            false_parts.insert(index, (part_path(self.folder, table, index), reason));
        }
        Ok(false_parts)
    }

    /// What a check makes again.
    fn draw(&self, ranges: &[PartRange], seed: u64) -> Vec<PartRange> {
        let CheckSampling { per, min, max, .. } = K::SAMPLING;
        let all = ranges.iter().map(|range| range.count).sum();
        let sample = ItemSample::new(seed, all, all.div_ceil(per).clamp(min, max));
        let single = |&range: &PartRange| {
            sample.among(range.ids()).map(move |first| PartRange {
                first,
                count: 1,
                ..range
            })
        };
        ranges.iter().flat_map(single).collect()
    }
}

impl<K: PartKind> Shards for Parts<'_, K> {
    fn progress(&self, ahead: usize, context: Context<'_>) -> Result<PartsProgress, StageError> {
        self.kind.progress(self, ahead, context)
    }

    fn make(&self, wanted: Range<usize>, context: Context<'_>) -> Result<PartsReport, StageError> {
        if self.kind.is_finished(self)? {
            return Ok(PartsReport::skipped());
        }
        self.sweep()?;
        let ranges = PartRange::some(self.items, self.part_items, wanted);
        self.complete(&ranges, |_, _| (), context)
            .map(|(_, report)| report)
    }

    fn check(&self, seed: u64, context: Context<'_>) -> Result<MadeAgain, StageError> {
        let unit = K::SAMPLING.unit;
        if self.kind.is_finished(self)? {
            return Ok(MadeAgain {
                unit,
                count: 0,
                of: 0,
                seed,
            });
        }
        let wanted = self.kind.progress(self, 1, context)?.wanted;
        let ranges = PartRange::some(self.items, self.part_items, wanted);
        let missing = |range: &PartRange| StageError::Unfinished {
            part: range.index,
            folder: self.folder.to_owned(),
        };
        let (parts, lacking) = self.sort(&ranges, |part, _| part, context)?;
        if let Some(first) = lacking.first() {
            let parts = self.unreadable(&lacking, context)?;
            let folder = self.folder.to_owned();
            return Err(if parts.is_empty() {
                missing(first)
            } else {
                StageError::FalseParts { folder, parts }
            });
        }
        let dataset = Dataset::unpublished(
            self.folder,
            self.recipe
                .manifest(self.items, parts.into_values().collect()),
        )?;
        let mut false_parts = self.prove(&dataset, context)?;
        let drawn = self.draw(&ranges, seed);
        let mut compare = |range: &PartRange, again: K::Rows| {
            let whole = &ranges[range.index];
            let (_, stored) = self.find(whole, context)?.ok_or_else(|| missing(whole))?;
            if let Some((table, reason)) = K::difference(range, &stored, &again) {
                false_parts
                    .entry(range.index)
                    .or_insert_with(|| (part_path(self.folder, table, range.index), reason));
            }
            Ok(true)
        };
        let games = drawn.iter().map(|range| range.count).sum();
        let make_again = || self.kind.make(&drawn, &mut compare, context);
        context.observe("check", self.recipe.games(games), K::FACTS.unit, make_again)?;
        if false_parts.is_empty() {
            return Ok(MadeAgain {
                unit,
                count: games,
                of: ranges.iter().map(|range| range.count).sum(),
                seed,
            });
        }
        let within = |(path, reason): (PathBuf, String)| {
            (
                path.strip_prefix(self.folder)
                    .map(Path::to_owned)
                    .unwrap_or(path),
                reason,
            )
        };
        let parts = false_parts.into_values().map(within).collect();
        Err(StageError::FalseParts {
            folder: self.folder.to_owned(),
            parts,
        })
    }
}
