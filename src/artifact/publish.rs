//! The only way to disk: files and folders appear whole or not at all.
//!
//! A temporary file is written in the same folder, synced, renamed over its name, and the folder is
//! synced. If that last step fails, the file is there, and the error says so
//! ([`ArtifactError::Unsynced`]). Where a file system cannot sync folders at all, that step is left
//! out ([`UNSYNCABLE`]).

pub mod temporary;

use super::error::{ArtifactError, is_absence};
use super::panics::caught;
use rustix::fs::{OFlags, fcntl_setfl};
use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::NamedTempFile;
use temporary::{TemporaryFolder, temporary_file};

/// The first folder whose file system cannot sync folders, as some network shares cannot. The
/// command says so.
pub static UNSYNCABLE: OnceLock<PathBuf> = OnceLock::new();

/// The name of a removed folder inside a temporary one.
const REMOVED_NAME: &str = "removed";

/// Writes a file and gives it its name when it is complete, after a final check of what it
/// replaces.
///
/// # Errors
///
/// That of the check, or a system error; no new file is left behind, and an old one stays, except
/// after [`ArtifactError::Unsynced`].
pub fn publish_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    check: impl FnOnce() -> Result<(), ArtifactError>,
) -> Result<(), ArtifactError> {
    let (file, folder) = write_beside(path, write)?;
    check()?;
    file.persist(path)
        .map_err(|error| ArtifactError::io("write", path, error.error))?;
    sync_name(&folder, path)
}

/// Writes a file as [`publish_file`] does, unless its name is taken: then nothing changes, and the
/// result is `false`.
pub fn publish_new_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<bool, ArtifactError> {
    // The system checks that the name is free and assigns it in one step, so no other file is lost
    // in between.
    let (file, folder) = write_beside(path, write)?;
    match file.persist_noclobber(path) {
        Ok(_) => sync_name(&folder, path).map(|()| true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(ArtifactError::io("write", path, error.error)),
    }
}

/// Writes and syncs a temporary file in the folder of `path`, which is open to be synced.
fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(NamedTempFile, File), ArtifactError> {
    let failed = |source| ArtifactError::io("write", path, source);
    create_synced(parent(path)).map_err(failed)?;
    let folder = File::open(parent(path)).map_err(failed)?;
    let file = temporary_file(parent(path)).map_err(failed)?;
    set_mode(file.path(), 0o644).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(1 << 16, file.as_file());
    write(&mut writer)
        .and_then(|()| writer.flush())
        .map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    Ok((file, folder))
}

/// Writes bytes as a whole file.
pub fn publish_bytes(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    publish_repeatable(path, |writer| writer.write_all(bytes))
}

/// [`publish_file`], for content that can be written twice.
fn publish_repeatable(
    path: &Path,
    mut write: impl FnMut(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), ArtifactError> {
    match publish_file(path, &mut write, || Ok(())) {
        // A machine that cannot see our locks may have swept the temporary file.
        Err(ArtifactError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            publish_file(path, write, || Ok(()))
        }
        other => other,
    }
}

/// Lets everybody run a file.
pub fn make_executable(path: &Path) -> Result<(), ArtifactError> {
    set_mode(path, 0o755).map_err(|source| ArtifactError::io("write", path, source))
}

/// A folder being filled: [`PendingFolder::publish`] gives it its name, otherwise it is removed.
#[derive(Debug)]
pub struct PendingFolder {
    temporary: TemporaryFolder,
    parent: PathBuf,
}

impl PendingFolder {
    /// An empty folder in `parent`.
    pub fn new(parent: &Path) -> Result<Self, ArtifactError> {
        create_folder(parent)?;
        let temporary = TemporaryFolder::new(parent)
            .map_err(|source| ArtifactError::io("create", parent, source))?;
        Ok(Self {
            temporary,
            parent: parent.to_owned(),
        })
    }

    /// The folder to write to.
    pub fn path(&self) -> &Path {
        &self.temporary.path
    }

    /// Gives the folder its name. `false`: the name was taken, and the folder stays pending.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that renames"
    )]
    pub fn publish(&mut self, name: impl AsRef<Path>) -> Result<bool, ArtifactError> {
        let path = self.parent.join(name);
        let failed = |source| ArtifactError::io("write", &path, source);
        if !self.temporary.is_whole().map_err(failed)? {
            let reason = "its temporary folder was removed while it was written";
            return Err(failed(io::Error::new(io::ErrorKind::Interrupted, reason)));
        }
        sync_folder(self.path())?;
        set_mode(self.path(), 0o755).map_err(failed)?;
        let parent = File::open(&self.parent).map_err(failed)?;
        match fs::rename(self.path(), &path) {
            Ok(()) => {
                self.temporary.is_gone = true;
                sync_name(&parent, &path).map(|()| true)
            }
            Err(error) if error.kind() != io::ErrorKind::StorageFull && exists(&path)? => Ok(false),
            Err(source) => Err(failed(source)),
        }
    }
}

/// Creates a folder and those above it.
pub fn create_folder(path: &Path) -> Result<(), ArtifactError> {
    create_synced(path).map_err(|source| ArtifactError::io("create", path, source))
}

/// Creates a folder and those above it, and syncs the folder in which each of them is new.
fn create_synced(path: &Path) -> io::Result<()> {
    let above = parent(path);
    let mut created = fs::create_dir(path);
    if above != path
        && created
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        create_synced(above)?;
        created = fs::create_dir(path);
    }
    match created {
        Ok(()) => sync(&File::open(above)?, above),
        // Most are there already, and another process may be creating it too.
        Err(_) if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) => Ok(()),
        other => other,
    }
}

/// Removes a folder. It disappears whole; a killed run may leave it behind as a temporary one.
///
/// # Errors
///
/// A symbolic link, which is never followed, or a system error.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that renames"
)]
pub fn remove_folder(folder: &Path) -> Result<(), ArtifactError> {
    check_removable(folder)?;
    let failed = |source| ArtifactError::io("remove", folder, source);
    let parent = parent(folder);
    let mut aside = TemporaryFolder::new(parent).map_err(failed)?;
    fs::rename(folder, aside.path.join(REMOVED_NAME)).map_err(failed)?;
    sync_folder(parent)?;
    aside.remove().map_err(failed)
}

/// Refuses what [`remove_folder`] does not remove.
pub fn check_removable(folder: &Path) -> Result<(), ArtifactError> {
    let found = fs::symlink_metadata(folder)
        .map_err(|source| ArtifactError::io("remove", folder, source))?;
    let reason = "it is a link or a file: only a folder itself is removed";
    if found.is_dir() {
        Ok(())
    } else {
        Err(ArtifactError::unfit(folder, reason))
    }
}

/// The result of some work on folders: the standard library panics if the system fails to close
/// one.
fn closed<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    caught(work).unwrap_or_else(|| Err(io::Error::other("a folder could not be closed")))
}

/// Removes a file, if it is there.
pub fn remove_file(path: &Path) -> Result<(), ArtifactError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ArtifactError::io("remove", path, source))
        }
        _ => Ok(()),
    }
}

/// Appends a line to a side file, which is not an artifact. Lines of concurrent calls stay whole,
/// and a line that was cut off when the machine stopped does not spoil the next one.
pub fn append_line(path: &Path, line: &str) -> Result<(), ArtifactError> {
    let failed = |source| ArtifactError::io("write", path, source);
    create_folder(parent(path))?;
    let mut file = File::options()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(failed)?;
    let begin = if ends_in_a_line(&mut file).map_err(failed)? {
        ""
    } else {
        "\n"
    };
    file.write_all(format!("{begin}{line}\n").as_bytes())
        .map_err(failed)
}

/// Whether the file ends with a line end, or is empty.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(metadata.len() - 1))?;
    // A file that was truncated in the meantime has no last byte: it counts as ended.
    Ok(file.read(&mut last)? == 0 || last == *b"\n")
}

/// Whether a path exists; a link counts as its target.
///
/// # Errors
///
/// A system error: a path that cannot be examined is not the same as one that does not exist.
pub fn exists(path: &Path) -> Result<bool, ArtifactError> {
    Ok(known(fs::metadata(path), path)?.is_some())
}

/// Whether a path is a folder, or a link to one.
pub fn is_folder(path: &Path) -> Result<bool, ArtifactError> {
    Ok(known(fs::metadata(path), path)?.is_some_and(|metadata| metadata.is_dir()))
}

/// An error unless the path is a folder, or a link to one.
///
/// # Errors
///
/// A missing path, one that is not a folder, or a system error.
pub fn check_folder(path: &Path) -> Result<(), ArtifactError> {
    let failed = |source| ArtifactError::io("read", path, source);
    let is_folder = fs::metadata(path).map_err(failed)?.is_dir();
    if is_folder {
        Ok(())
    } else {
        let reason = "it is a file, and a folder is expected";
        Err(ArtifactError::refused("read", path, reason))
    }
}

/// Whether a path is a symbolic link.
pub fn is_link(path: &Path) -> Result<bool, ArtifactError> {
    Ok(known(fs::symlink_metadata(path), path)?.is_some_and(|metadata| metadata.is_symlink()))
}

/// The metadata of a path; `None` if the path does not exist.
fn known(
    metadata: io::Result<fs::Metadata>,
    path: &Path,
) -> Result<Option<fs::Metadata>, ArtifactError> {
    match metadata {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(&error) || error.kind() == io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        Err(source) => Err(ArtifactError::io("read", path, source)),
    }
}

/// Reads a file of at most `size_max` bytes.
///
/// # Errors
///
/// A missing file, a larger one, a device or a pipe, or a system error.
pub fn read_bounded(path: &Path, size_max: u64) -> Result<Vec<u8>, ArtifactError> {
    let (file, size) = open_bounded(path, size_max)?;
    read_to_end(file, path, size_max, Vec::with_capacity(size as usize))
}

/// Opens a file of at most `size_max` bytes, without reading it; with its size.
pub fn open_bounded(path: &Path, size_max: u64) -> Result<(File, u64), ArtifactError> {
    let failed = |source| ArtifactError::io("read", path, source);
    // Opening a pipe would wait for its writer, so the type is checked first.
    let metadata = fs::metadata(path).map_err(failed)?;
    refuse_folder(path, &metadata)?;
    if !metadata.is_file() {
        return Err(ArtifactError::refused(
            "read",
            path,
            "it is a device or a pipe, a file is expected",
        ));
    }
    check_size(path, metadata.len(), size_max)?;
    Ok((File::open(path).map_err(failed)?, metadata.len()))
}

fn refuse_folder(path: &Path, metadata: &fs::Metadata) -> Result<(), ArtifactError> {
    if metadata.is_dir() {
        let reason = "it is a folder, and a file is expected";
        return Err(ArtifactError::refused("read", path, reason));
    }
    Ok(())
}

/// An error if a file is larger than it can be.
pub fn check_size(path: &Path, size: u64, size_max: u64) -> Result<(), ArtifactError> {
    if size <= size_max {
        return Ok(());
    }
    Err(ArtifactError::damaged(
        path,
        format!("it has {size} bytes, at most {size_max} expected"),
    ))
}

/// Reads a file or a pipe of at most `size_max` bytes to its end, without waiting for a writer of a
/// named pipe.
///
/// # Errors
///
/// Those of [`read_stream`], or a pipe that nothing was written to.
pub fn read_file_or_pipe(path: &Path, size_max: u64) -> Result<Vec<u8>, ArtifactError> {
    let failed = |source| ArtifactError::io("read", path, source);
    // Opening a named pipe would wait for its writer, possibly forever.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    refuse_folder(path, &file.metadata().map_err(failed)?)?;
    fcntl_setfl(&file, OFlags::empty()).map_err(|source| failed(source.into()))?;
    let bytes = read_stream(&file, path, size_max)?;
    if bytes.is_empty() && file.metadata().map_err(failed)?.file_type().is_fifo() {
        return Err(ArtifactError::refused(
            "read",
            path,
            "it is a pipe that nothing was written to\nname a file",
        ));
    }
    Ok(bytes)
}

/// Reads a pipe of at most `size_max` bytes to its end; `name` stands for it in errors.
///
/// # Errors
///
/// More bytes than that, or a system error.
pub fn read_stream(
    reader: impl Read,
    name: &Path,
    size_max: u64,
) -> Result<Vec<u8>, ArtifactError> {
    read_to_end(reader, name, size_max, Vec::new())
}

fn read_to_end(
    reader: impl Read,
    name: &Path,
    size_max: u64,
    mut bytes: Vec<u8>,
) -> Result<Vec<u8>, ArtifactError> {
    let read = reader
        .take(size_max.saturating_add(1))
        .read_to_end(&mut bytes);
    read.map_err(|source| ArtifactError::io("read", name, source))?;
    if size_max < bytes.len() as u64 {
        return Err(ArtifactError::damaged(
            name,
            format!("it has more than {size_max} bytes"),
        ));
    }
    Ok(bytes)
}

/// An entry of a folder, which need not be open any more. Links are not followed.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FolderEntry {
    pub path: PathBuf,
    pub name: OsString,
    pub file_type: FileType,
}

/// The entries of a folder, by name; none if it does not exist.
pub fn entries_in(folder: &Path) -> Result<Vec<FolderEntry>, ArtifactError> {
    let read = || {
        let mut entries = Vec::new();
        for found in fs::read_dir(folder)? {
            let found = found?;
            match found.file_type() {
                Ok(file_type) => entries.push(FolderEntry {
                    path: found.path(),
                    name: found.file_name(),
                    file_type,
                }),
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        entries.sort_by(
            |FolderEntry { name: left, .. }, FolderEntry { name: right, .. }| left.cmp(right),
        );
        Ok(entries)
    };
    match closed(read) {
        Err(error) if is_absence(&error) || error.kind() == io::ErrorKind::NotADirectory => {
            Ok(Vec::new())
        }
        other => other.map_err(|source| ArtifactError::io("read", folder, source)),
    }
}

/// Bytes of all files below a folder; 0 if it does not exist.
pub fn bytes_in(folder: &Path) -> Result<u64, ArtifactError> {
    let mut bytes = 0;
    for entry in entries_in(folder)? {
        bytes += match fs::symlink_metadata(&entry.path) {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path)?,
            Ok(metadata) => metadata.len(),
            // A running stage may have removed its temporary file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(ArtifactError::io("read", folder, source)),
        };
    }
    Ok(bytes)
}

/// The folder of a path.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Syncs the open folder of a path that has just got its final name.
fn sync_name(folder: &File, path: &Path) -> Result<(), ArtifactError> {
    sync(folder, parent(path)).map_err(|source| ArtifactError::Unsynced {
        path: path.to_owned(),
        source,
    })
}

fn sync_folder(path: &Path) -> Result<(), ArtifactError> {
    File::open(path)
        .and_then(|folder| sync(&folder, path))
        .map_err(|source| ArtifactError::io("sync", path, source))
}

/// Syncs an open folder, where its file system can do that. Files are synced without this
/// exception: their bytes are at stake.
fn sync(folder: &File, path: &Path) -> io::Result<()> {
    match folder.sync_all() {
        // Linux has EINVAL for a file system without this call, others EOPNOTSUPP.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            UNSYNCABLE.get_or_init(|| path.to_owned());
            Ok(())
        }
        other => other,
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::line::visible;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        publish_bytes(&path, b"old").unwrap();
        let write = |writer: &mut BufWriter<&File>| {
            writer.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let result = publish_file(&path, write, || Ok(()));
        assert!(result.unwrap_err().may_pass());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_closed_is_an_error() {
        let error = closed(|| -> io::Result<()> { panic!("unexpected error during closedir") })
            .unwrap_err();
        assert_eq!(error.to_string(), "a folder could not be closed");
        assert_eq!(closed(|| Ok(1)).unwrap(), 1);
    }

    #[test]
    fn folders_are_created_as_deep_as_needed_and_only_where_a_folder_can_be() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a/b/c", "a/b/c", "a/b", "new/..", "."] {
            create_folder(&root.path().join(name)).unwrap();
        }
        assert!(fs::metadata(root.path().join("a/b/c")).unwrap().is_dir());
        publish_bytes(&root.path().join("file"), b"1").unwrap();
        std::os::unix::fs::symlink(root.path().join("a"), root.path().join("link")).unwrap();
        create_folder(&root.path().join("link/d")).unwrap();
        for name in ["file", "file/a", "a/\0"] {
            let path = root.path().join(name);
            let error = create_folder(&path).unwrap_err().to_string();
            let shown = visible(&path.display().to_string());
            assert_eq!(error, format!("cannot create {shown}"));
        }
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 2);
    }

    #[test]
    fn a_folder_that_cannot_be_synced_gets_no_new_file() {
        let root = tempfile::tempdir().unwrap();
        let [folder, file] = ["folder", "folder/file"].map(|name| root.path().join(name));
        create_folder(&folder).unwrap();
        // It can be written to but not opened, except by those who may do everything.
        set_mode(&folder, 0o300).unwrap();
        let results = [
            publish_bytes(&file, b"1"),
            PendingFolder::new(&folder).and_then(|mut new| new.publish("new").map(drop)),
        ];
        set_mode(&folder, 0o755).unwrap();
        let found = [exists(&file).unwrap(), exists(&folder.join("new")).unwrap()];
        assert_eq!(results.map(|result| result.is_ok()), found);
    }

    #[test]
    fn a_temporary_file_that_another_machine_sweeps_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let mut attempts = 0;
        publish_repeatable(&path, |writer| {
            attempts += 1;
            if attempts == 1 {
                fs::read_dir(folder.path())?
                    .try_for_each(|entry| fs::remove_file(entry?.path()))?;
            }
            writer.write_all(b"whole")
        })
        .unwrap();
        assert_eq!((attempts, fs::read(&path).unwrap()), (2, b"whole".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pending_folder_that_another_machine_sweeps_is_never_published_in_part() {
        let parent = tempfile::tempdir().unwrap();
        let mut pending = PendingFolder::new(parent.path()).unwrap();
        publish_bytes(&pending.path().join("first"), b"1").unwrap();
        fs::remove_dir_all(pending.path()).unwrap();
        publish_bytes(&pending.path().join("second"), b"2").unwrap();
        let error = pending.publish("v0001").unwrap_err();
        assert!(error.may_pass(), "{error}");
        drop(pending);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_is_removed_whole_and_never_through_a_link() {
        let parent = tempfile::tempdir().unwrap();
        let [kept, gone, link] = ["kept", "gone", "link"].map(|name| parent.path().join(name));
        publish_bytes(&kept.join("file"), b"1").unwrap();
        publish_bytes(&gone.join("file"), b"1").unwrap();
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        std::os::unix::fs::symlink(&kept, gone.join("inner")).unwrap();
        assert!(remove_folder(&link).is_err());
        remove_folder(&gone).unwrap();
        assert!(kept.join("file").exists() && link.exists() && !gone.exists());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_pending_folder_appears_whole_and_never_over_another() {
        let parent = tempfile::tempdir().unwrap();
        for expected in [true, false] {
            let mut pending = PendingFolder::new(parent.path()).unwrap();
            publish_bytes(&pending.path().join("file"), b"1").unwrap();
            assert_eq!(pending.publish("v0001").unwrap(), expected);
        }
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
        let mode = |name: &str| {
            parent
                .path()
                .join(name)
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!([mode("v0001"), mode("v0001/file")], [0o755, 0o644]);
    }

    #[test]
    fn a_new_file_never_replaces_another_and_a_name_that_cannot_be_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (content, expected) in [(b"1", true), (b"2", false)] {
            assert_eq!(
                publish_new_file(&path, |writer| writer.write_all(content)).unwrap(),
                expected
            );
        }
        assert_eq!(fs::read(&path).unwrap(), b"1");
        assert!(publish_new_file(&folder.path().join("a".repeat(1000)), |_| Ok(())).is_err());
    }
}
