//! A dataset folder: its manifest and its parts, read part by part.

use super::footer::listed_footer;
use super::games::{GAMES, GameRow};
use super::manifest::{DatasetKind, Manifest, Part, part_index, part_name};
use super::mpc_samples::MPC_SAMPLES;
use super::positions::{POSITIONS, PositionRow};
use super::reading::check_manifest;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::temporary::{sweep, sweep_own};
use crate::artifact::publish::{entries_in, parent};
use crate::artifact::table::row::TableRow;
use crate::artifact::table::{FileEntry, NEVER, Table};
use crate::engine::Position;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A finished dataset.
///
/// ```
/// use renma::artifact::{Dataset, NEVER};
/// use renma::engine::Game;
/// use std::path::Path;
///
/// let dataset = Dataset::open(Path::new("datasets/sample/selfplay/generation=0001"))?;
/// assert_eq!((dataset.manifest().done, dataset.part_count()), (1_000, 1));
///
/// // Every position has a score in millidiscs and the result in discs, both for the side to move.
/// let positions = dataset.positions(0, &NEVER)?;
/// let (position, row) = &positions[0];
/// println!("{} empty squares, score {:?}, result {:?}", position.empties(), row.score, row.result);
///
/// let games = dataset.game_rows(0)?.expect("self-play keeps its games");
/// let game = Game::from_transcript(&games[0].moves)?;
/// assert!(game.is_over());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dataset {
    folder: PathBuf,
    manifest: Manifest,
}

/// The file of a part of a table.
pub fn part_path(folder: &Path, table: &Table, index: usize) -> PathBuf {
    folder.join(table.name).join(part_name(index))
}

/// The numbers of the parts of a table that lie in a folder, in no order.
///
/// # Errors
///
/// A system error; a folder that is not there has none.
pub fn part_indices(folder: &Path, table: &Table) -> Result<Vec<usize>, ArtifactError> {
    Ok(entries_in(&folder.join(table.name))?
        .iter()
        .filter_map(|entry| part_index(&entry.name))
        .collect())
}

/// Removes what dead processes left in a dataset's folder, in those of its tables and beside it;
/// what living ones write stays.
pub fn sweep_dataset(folder: &Path, tables: &[&Table]) -> Result<(), ArtifactError> {
    sweep_own(parent(folder))?;
    sweep_own(folder)?;
    tables
        .iter()
        .try_for_each(|table| sweep(&folder.join(table.name)))
}

impl Dataset {
    /// Opens a finished dataset of positions.
    ///
    /// # Errors
    ///
    /// A missing, unfinished or damaged one, or one of another kind.
    pub fn open(folder: &Path) -> Result<Self, ArtifactError> {
        let dataset = Self::open_any(folder)?;
        if !matches!(
            dataset.manifest.kind,
            DatasetKind::Selfplay | DatasetKind::Imported
        ) {
            let reason = format!(
                "it holds {}, and a dataset of positions is expected",
                dataset.manifest.kind.content_words()
            );
            return Err(ArtifactError::unfit(&folder.join("manifest.json"), reason));
        }
        Ok(dataset)
    }

    /// Opens a finished dataset of any kind; only one of positions has [`Dataset::rows`].
    ///
    /// # Errors
    ///
    /// A missing, unfinished or damaged one.
    pub fn open_any(folder: &Path) -> Result<Self, ArtifactError> {
        Ok(Self {
            folder: folder.to_owned(),
            manifest: Manifest::read_any(folder)?,
        })
    }

    /// A dataset whose manifest is not written yet: what is in the folder can be checked as if it
    /// were.
    ///
    /// # Errors
    ///
    /// A manifest that no dataset can have.
    pub fn unpublished(folder: &Path, manifest: Manifest) -> Result<Self, ArtifactError> {
        check_manifest(&folder.join("manifest.json"), &manifest)?;
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
        })
    }

    /// The folder of the dataset.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it was made from, and its parts.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The number of parts.
    pub fn part_count(&self) -> usize {
        self.manifest.parts.len()
    }

    /// The positions of a part, checked against the manifest, unless `stop` is raised.
    ///
    /// # Errors
    ///
    /// Damage of any kind, or [`ArtifactError::Interrupted`].
    pub fn rows(&self, index: usize, stop: &AtomicBool) -> Result<Vec<PositionRow>, ArtifactError> {
        self.read(self.manifest.kind.table(&POSITIONS), index, stop)
    }

    /// [`Dataset::rows`], each row with its position, which is valid.
    pub fn positions(
        &self,
        index: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<(Position, PositionRow)>, ArtifactError> {
        let path = part_path(&self.folder, &POSITIONS, index);
        let with_position = |(number, row): (usize, PositionRow)| {
            let damaged = |reason| ArtifactError::damaged(&path, format!("row {number}: {reason}"));
            row.position()
                .map_err(damaged)
                .map(|position| (position, row))
        };
        self.rows(index, stop)?
            .into_iter()
            .enumerate()
            .map(with_position)
            .collect()
    }

    /// The games of a part, checked against the manifest; `None` if the source had positions only.
    ///
    /// # Errors
    ///
    /// Damage of any kind.
    pub fn game_rows(&self, index: usize) -> Result<Option<Vec<GameRow>>, ArtifactError> {
        let kind = self.manifest.kind;
        if kind == DatasetKind::Imported
            && !self.manifest.parts[index].files.contains_key(GAMES.name)
        {
            return Ok(None);
        }
        self.read(kind.table(&GAMES), index, &NEVER).map(Some)
    }

    /// Checks that the file of a part's games, if there is one, and its footer are those that the
    /// manifest lists, without decoding rows.
    ///
    /// # Errors
    ///
    /// Damage of any kind.
    pub fn check_games(&self, index: usize) -> Result<(), ArtifactError> {
        let part = &self.manifest.parts[index];
        let Some(entry) = part.files.get(GAMES.name) else {
            return Ok(());
        };
        let footer = listed_footer(&self.manifest, part, &[]);
        Table::check(&part_path(&self.folder, &GAMES, index), entry, &footer)
    }

    /// The error of a part whose file in a table is not what it should be.
    pub fn damaged(&self, table: &Table, index: usize, reason: String) -> ArtifactError {
        ArtifactError::damaged(&part_path(&self.folder, table, index), reason)
    }

    /// The rows of a part of a table, checked against the manifest, unless `stop` is raised.
    ///
    /// # Errors
    ///
    /// Damage of any kind, or [`ArtifactError::Interrupted`].
    pub fn read<R: TableRow>(
        &self,
        table: &Table,
        index: usize,
        stop: &AtomicBool,
    ) -> Result<Vec<R>, ArtifactError> {
        let (path, part) = (
            part_path(&self.folder, table, index),
            &self.manifest.parts[index],
        );
        let footer = listed_footer(&self.manifest, part, &[]);
        table.read_rows(&path, file_entry(&self.folder, part, table)?, &footer, stop)
    }

    /// The rows of a part of a table, some at a time; `path` is that of its file.
    ///
    /// # Errors
    ///
    /// Damage of any kind; each batch may be an error too, such as [`ArtifactError::Interrupted`].
    pub fn row_batches<'p, R: TableRow>(
        &self,
        table: &Table,
        index: usize,
        path: &'p Path,
        stop: &'p AtomicBool,
    ) -> Result<impl Iterator<Item = Result<Vec<R>, ArtifactError>> + use<'p, R>, ArtifactError>
    {
        let part = &self.manifest.parts[index];
        let footer = listed_footer(&self.manifest, part, &[]);
        table.read_row_batches(path, file_entry(&self.folder, part, table)?, &footer, stop)
    }
}

/// What a manifest says of a part's file in a table.
///
/// # Errors
///
/// A manifest that lists no such file.
pub fn file_entry<'a>(
    folder: &Path,
    part: &'a Part,
    table: &Table,
) -> Result<&'a FileEntry, ArtifactError> {
    part.files.get(table.name).ok_or_else(|| {
        let path = folder.join("manifest.json");
        ArtifactError::damaged(
            &path,
            format!(
                "the part from {} has no file in `{}`",
                part.first, table.name
            ),
        )
    })
}

/// The recipe of a dataset folder: that of its manifest, or as long as there is none, of its first
/// part.
///
/// # Errors
///
/// A damaged manifest.
pub fn recipe_of(folder: &Path) -> Result<Option<ContentHash>, ArtifactError> {
    if let Some(manifest) = Manifest::find_any(folder)? {
        return Ok(Some(manifest.recipe));
    }
    recipe_of_parts(folder)
}

/// The recipe in the first part of a dataset folder.
pub fn recipe_of_parts(folder: &Path) -> Result<Option<ContentHash>, ArtifactError> {
    for table in [&POSITIONS, &GAMES, &MPC_SAMPLES] {
        let footer = match Table::read_footer(&part_path(folder, table, 0)) {
            // The stage itself finds or remakes parts, so a damaged one does not matter here.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => continue,
            other => other?,
        };
        return Ok(footer
            .get("renma.recipe")
            .and_then(|recipe| recipe.parse().ok()));
    }
    Ok(None)
}
