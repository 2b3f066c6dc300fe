//! Writes an imported dataset: the folder appears whole, with its manifest, or not at all.

use super::folder::part_path;
use super::footer::{base_footer, part_footer};
use super::game_id::GameId;
use super::games::{GameRow, IMPORTED_GAMES};
use super::manifest::{DatasetFormat, DatasetKind, Manifest, Part, check_part_count};
use super::positions::{IMPORTED_POSITIONS, PositionRow};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::temporary::sweep_own;
use crate::artifact::publish::{PendingFolder, exists, is_folder, is_link, parent};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem::take;
use std::path::{Path, PathBuf};

/// A part is written once it has this many rows and its last game is complete.
const PART_ROWS: usize = 1 << 18;

/// A game, or positions of one whose moves are unknown; the writer numbers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedGame {
    /// The moves as `f5d6c3…`; `None` for positions alone. A dataset has games with moves only, or
    /// none with.
    pub moves: Option<String>,
    /// The final disc difference for black.
    pub result: Option<i8>,
    /// Its positions with a legal move, in order; at most 255 if it has moves.
    pub rows: Vec<PositionRow>,
}

/// What a manifest says of where the content came from.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Models at work, by role.
    pub models: BTreeMap<String, ContentHash>,
    /// What was asked for.
    pub config: serde_json::Value,
    /// Games found; at least as many as were written.
    pub asked: u64,
}

/// A dataset being written.
#[derive(Debug)]
pub struct DatasetWriter {
    draft: PendingFolder,
    output: PathBuf,
    /// The last part of `output`.
    name: OsString,
    recipe: ContentHash,
    parts: Vec<Part>,
    /// Games that wait for the next part.
    waiting: u64,
    /// Those with moves.
    games: Vec<GameRow>,
    /// Their positions.
    rows: Vec<PositionRow>,
}

/// The manifest of a dataset that was made by the same recipe before; `None` if there is nothing
/// under this name.
///
/// # Errors
///
/// A folder that holds anything else.
pub fn written_before(
    output: &Path,
    recipe: ContentHash,
) -> Result<Option<Manifest>, ArtifactError> {
    if !exists(output)? {
        return Ok(None);
    }
    if !is_folder(output)? {
        return Err(taken(output, "it exists and is not a folder"));
    }
    match Manifest::read_any(output) {
        Ok(manifest) if manifest.recipe == recipe => Ok(Some(manifest)),
        Ok(_) => Err(taken(output, "it holds a dataset of other origin")),
        Err(
            ArtifactError::Missing { .. }
            | ArtifactError::Unfit { .. }
            | ArtifactError::Damaged { .. },
        ) => Err(taken(output, "it exists and holds no sound dataset")),
        Err(error) => Err(error),
    }
}

fn taken(output: &Path, reason: &str) -> ArtifactError {
    ArtifactError::conflict(
        output,
        format!("{reason}\nchoose another --output, or remove the folder"),
    )
}

impl DatasetWriter {
    /// Begins a dataset that is to appear as `output`.
    ///
    /// # Errors
    ///
    /// A name that is taken, or a system error.
    pub fn new(output: &Path, recipe: ContentHash) -> Result<Self, ArtifactError> {
        if is_link(output)? || exists(output)? {
            return Err(taken(output, "it exists already"));
        }
        let name = output
            .file_name()
            .ok_or_else(|| taken(output, "it is not a name for a folder"))?;
        sweep_own(parent(output))?;
        Ok(Self {
            draft: PendingFolder::new(parent(output))?,
            output: output.to_owned(),
            name: name.to_owned(),
            recipe,
            parts: Vec::new(),
            waiting: 0,
            games: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Adds a game, numbered after those before it.
    pub fn push(&mut self, game: ImportedGame) -> Result<(), ArtifactError> {
        let game_id = GameId(self.first_waiting() + self.waiting);
        if let Some(moves) = game.moves {
            let positions = u8::try_from(game.rows.len()).expect("a game has at most 60 moves");
            self.games.push(GameRow {
                game_id,
                moves,
                random_plies: None,
                result: game.result,
                positions,
            });
        }
        self.rows.extend(
            game.rows
                .into_iter()
                .map(|row| PositionRow { game_id, ..row }),
        );
        self.waiting += 1;
        if self.rows.len() < PART_ROWS {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// The number of the first game that waits.
    fn first_waiting(&self) -> u64 {
        self.parts.last().map_or(0, |last| last.first + last.count)
    }

    fn flush(&mut self) -> Result<(), ArtifactError> {
        let (index, first) = (self.parts.len(), self.first_waiting());
        check_part_count(&self.output, index + 1)?;
        let (count, games, rows) = (
            take(&mut self.waiting),
            take(&mut self.games),
            take(&mut self.rows),
        );
        assert!(
            games.is_empty() || games.len() as u64 == count,
            "games with and without moves do not mix"
        );
        let base = base_footer(DatasetFormat::CURRENT, self.recipe);
        let footer = part_footer(DatasetKind::Imported, base, &[], [first, count]);
        let mut files = BTreeMap::new();
        if !games.is_empty() {
            let path = part_path(self.draft.path(), &IMPORTED_GAMES, index);
            files.insert(
                IMPORTED_GAMES.name.to_owned(),
                IMPORTED_GAMES.write_rows(&path, &games, &footer)?,
            );
        }
        let path = part_path(self.draft.path(), &IMPORTED_POSITIONS, index);
        files.insert(
            IMPORTED_POSITIONS.name.to_owned(),
            IMPORTED_POSITIONS.write_rows(&path, &rows, &footer)?,
        );
        self.parts.push(Part {
            first,
            count,
            files,
        });
        Ok(())
    }

    /// Writes the pending rows and the manifest, and gives the folder its final name.
    ///
    /// # Errors
    ///
    /// A name that was taken in the meantime, or a system error; no dataset is left behind.
    pub fn finish(mut self, provenance: Provenance) -> Result<Manifest, ArtifactError> {
        if 0 < self.waiting {
            self.flush()?;
        }
        let Provenance {
            models,
            config,
            asked,
        } = provenance;
        let manifest = Manifest::new(DatasetKind::Imported, self.recipe, asked, self.parts);
        let manifest = Manifest {
            models,
            config,
            asked: asked.max(manifest.done),
            ..manifest
        };
        manifest.write(self.draft.path())?;
        if self.draft.publish(&self.name)? {
            Ok(manifest)
        } else {
            Err(taken(&self.output, "it appeared meanwhile"))
        }
    }
}
