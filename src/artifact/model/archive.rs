//! A version as one file, `FILE.renma`: a tar archive of `model.json` and the files that it lists.
//!
//! A version has one archive. Everything but the contents of its files follows from their names and
//! sizes, so a reader knows each header before it comes and accepts no other.

use super::document::{ModelDocument, ModelFormat, VECTORS_FILE};
use super::features_file::parse_features;
use super::version::{Model, SIZE_MAX};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::output::{FileKind, first_bytes};
use crate::artifact::publish::{check_size, open_bounded, read_bounded};
use crate::artifact::seal::parse_versioned;
use crate::engine::PatternSet;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use tar::{Builder, EntryType, Header};

/// The beginning of an archive is the header of `model.json`.
pub const ARCHIVE_FILE: FileKind = FileKind {
    name: "a model archive",
    matches: |path| {
        let first = first_bytes(path, BLOCK as u64)?;
        Ok(document_size(&first).is_some())
    },
};

/// Everything in a tar archive fills whole blocks.
const BLOCK: usize = 512;

/// What follows the last file.
const END: usize = 2 * BLOCK;

/// A larger `model.json` is neither packed nor unpacked. That of the model that ships has 63 kB.
const DOCUMENT_SIZE_MAX: u64 = 16 << 20;

const FEATURES_SIZE_MAX: u64 = 1 << 20;

const MPC_SIZE_MAX: u64 = 16 << 20;

/// What a table of no rows may need.
const TABLE_SIZE_MIN: u64 = 1 << 20;

/// A row of weights needs about 5 bytes, and 20 if nothing in it can be compressed; so do the keys
/// of a row of vectors.
const ROW_SIZE_MAX: u64 = 32;

/// A component of a vector needs about 1 byte, and 4 if it cannot be compressed.
const COMPONENT_SIZE_MAX: u64 = 4;

/// The files of a version, byte by byte, each with the hash that `model.json` lists.
#[derive(Clone, Debug)]
pub struct Archive {
    /// What `model.json` says.
    pub document: ModelDocument,
    /// By name, `model.json` first.
    files: Vec<(&'static str, Bytes)>,
    /// The patterns, once `features.toml` is there: they say how large tables can be.
    set: Option<Arc<PatternSet>>,
}

impl Archive {
    /// Collects the files of a version; `place` names them in errors.
    ///
    /// # Errors
    ///
    /// A missing or damaged file, or one that is too large for an archive.
    pub fn collect(
        place: &Path,
        bytes_of: impl Fn(&str) -> Result<Vec<u8>, ArtifactError>,
    ) -> Result<Self, ArtifactError> {
        let bytes = bytes_of("model.json")?;
        check_size(
            &place.join("model.json"),
            bytes.len() as u64,
            DOCUMENT_SIZE_MAX,
        )?;
        let mut archive = Self::begin(place, bytes)?;
        for name in archive.document.file_names() {
            let bytes = bytes_of(name)?;
            archive.push(place, name, bytes)?;
        }
        Ok(archive)
    }

    /// Reads the files in the folder of a version.
    pub fn of_folder(folder: &Path) -> Result<Self, ArtifactError> {
        Self::collect(folder, |name| {
            let path = folder.join(name);
            match read_bounded(&path, SIZE_MAX) {
                Err(ArtifactError::Missing { .. }) => Err(ArtifactError::damaged(
                    &path,
                    "it is missing, and model.json lists it",
                )),
                other => other,
            }
        })
    }

    /// Reads an archive. Sizes are checked before there is memory for them.
    ///
    /// # Errors
    ///
    /// A file in which any byte is not that of the archive of a version.
    pub fn read(path: &Path) -> Result<Self, ArtifactError> {
        let mut reader = ArchiveReader {
            path,
            reader: open_bounded(path, u64::MAX)?.0,
            place: 0,
        };
        let first = reader.up_to(BLOCK as u64)?;
        let other = || ArtifactError::damaged(path, "it does not begin as a model archive does");
        let size = document_size(&first).ok_or_else(other)?;
        let document = reader.file("model.json", size)?;
        let mut archive = Self::begin(path, document)?;
        for name in archive.document.file_names() {
            let size = archive.size_of(path, name)?;
            reader.expect(
                header(name, size).as_bytes(),
                &format!("the header of {name}"),
            )?;
            let bytes = reader.file(name, size)?;
            archive.push(path, name, bytes)?;
        }
        reader.expect(&[0; END], "its end")?;
        let end = reader.place;
        if !reader.up_to(1)?.is_empty() {
            return Err(reader.damaged(format!("something follows its end at byte {end}")));
        }
        Ok(archive)
    }

    /// Writes the archive.
    pub fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut builder = Builder::new(writer);
        for (name, bytes) in &self.files {
            builder.append(&header(name, bytes.len() as u64), &bytes[..])?;
        }
        builder.finish()
    }

    /// Name and bytes of each file, `model.json` first.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (*name, &bytes[..]))
    }

    /// The model in it; `place` names it in errors.
    ///
    /// # Errors
    ///
    /// Files that do not make the model of the document.
    pub fn model(&self, place: &Path) -> Result<Model, ArtifactError> {
        let set = self.set.clone().expect("every version has patterns");
        let file = |name: &str| {
            self.files
                .iter()
                .find(|(other, _)| *other == name)
                .map(|(_, bytes)| bytes.clone())
        };
        Model::decode(place, &self.document, set, |name| {
            file(name).expect("all files of the version are here")
        })
    }

    fn begin(place: &Path, bytes: Vec<u8>) -> Result<Self, ArtifactError> {
        let path = place.join("model.json");
        let document: ModelDocument = parse_versioned::<ModelFormat, _>(&path, &bytes)?;
        if let Some(name) = document
            .files
            .keys()
            .find(|name| document.file_names().all(|known| known != name.as_str()))
        {
            return Err(ArtifactError::damaged(
                &path,
                format!("it lists {name:?}, which is not a file of a model"),
            ));
        }
        Ok(Self {
            document,
            files: vec![("model.json", bytes.into())],
            set: None,
        })
    }

    fn push(
        &mut self,
        place: &Path,
        name: &'static str,
        bytes: Vec<u8>,
    ) -> Result<(), ArtifactError> {
        self.size_of(place, name)?;
        let path = place.join(name);
        let entry = self.document.file(place, name)?;
        if bytes.len() as u64 != entry.bytes || ContentHash::of(&bytes) != entry.hash {
            return Err(ArtifactError::damaged(
                &path,
                "its hash is not the one in model.json",
            ));
        }
        if name == "features.toml" {
            let set = parse_features(&String::from_utf8_lossy(&bytes))
                .map_err(|reason| ArtifactError::unfit(&path, reason))?;
            self.document.check_vectors(place, &set)?;
            self.set = Some(Arc::new(set));
        }
        self.files.push((name, bytes.into()));
        Ok(())
    }

    /// The size of the next file, if it can be: the patterns, which come first, say how large
    /// tables are.
    fn size_of(&self, place: &Path, name: &str) -> Result<u64, ArtifactError> {
        let entry = self.document.file(place, name)?;
        let size_max = match (name, &self.set) {
            ("weights.parquet", Some(set)) => {
                TABLE_SIZE_MIN + ROW_SIZE_MAX * set.weight_count() as u64
            }
            (VECTORS_FILE, Some(set)) => {
                let row_size = ROW_SIZE_MAX + COMPONENT_SIZE_MAX * set.vector_size() as u64;
                TABLE_SIZE_MIN + row_size * (set.group_count() * set.feature_count()) as u64
            }
            ("mpc.parquet", _) => MPC_SIZE_MAX,
            _ => FEATURES_SIZE_MAX,
        };
        check_size(&place.join(name), entry.bytes, size_max)?;
        Ok(entry.bytes)
    }
}

fn header(name: &str, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_path(name).expect("the names are short");
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header.set_cksum();
    header
}

/// The size of `model.json` in the first block of an archive; `None` if no archive begins so.
fn document_size(first: &[u8]) -> Option<u64> {
    let size = (first.len() == BLOCK)
        .then(|| Header::from_byte_slice(first).size().ok())
        .flatten()?;
    let is_sound =
        0 < size && size <= DOCUMENT_SIZE_MAX && header("model.json", size).as_bytes() == first;
    is_sound.then_some(size)
}

struct ArchiveReader<'a> {
    path: &'a Path,
    reader: File,
    /// Bytes read so far.
    place: u64,
}

impl ArchiveReader<'_> {
    /// The next bytes, fewer at the end. Memory grows with what is there, not with what a header
    /// says.
    fn up_to(&mut self, count: u64) -> Result<Vec<u8>, ArtifactError> {
        let mut bytes = Vec::new();
        let read = (&self.reader).take(count).read_to_end(&mut bytes);
        self.place += read.map_err(|source| ArtifactError::io("read", self.path, source))? as u64;
        Ok(bytes)
    }

    fn take(&mut self, count: u64) -> Result<Vec<u8>, ArtifactError> {
        let bytes = self.up_to(count)?;
        if bytes.len() as u64 != count {
            return Err(self.damaged(format!("it is cut off after {} bytes", self.place)));
        }
        Ok(bytes)
    }

    /// The bytes of a file and the zeros that fill its last block.
    fn file(&mut self, name: &str, size: u64) -> Result<Vec<u8>, ArtifactError> {
        let bytes = self.take(size)?;
        let rest = (BLOCK - bytes.len() % BLOCK) % BLOCK;
        self.expect(&[0; BLOCK][..rest], &format!("the end of {name}"))?;
        Ok(bytes)
    }

    fn expect(&mut self, bytes: &[u8], what: &str) -> Result<(), ArtifactError> {
        let place = self.place;
        if self.take(bytes.len() as u64)? != bytes {
            return Err(self.damaged(format!(
                "{what}, from byte {place} on, is not that of a model archive"
            )));
        }
        Ok(())
    }

    fn damaged(&self, reason: String) -> ArtifactError {
        ArtifactError::damaged(self.path, reason)
    }
}
