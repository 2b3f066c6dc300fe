//! Files that a user names as output: a new file is created, a pipe is written to, and anything
//! else is refused.

use super::error::ArtifactError;
use super::publish::temporary::sweep_own;
use super::publish::{parent, publish_file, publish_new_file};
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A kind of file that renma writes, and how to recognize one.
#[derive(Clone, Copy, Debug)]
pub struct FileKind {
    /// With its article: `an OBF file`.
    pub name: &'static str,
    /// Whether a regular file has this form.
    pub matches: fn(&Path) -> Result<bool, ArtifactError>,
}

/// A destination that may be written to.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    kind: FileKind,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// The name is free.
    New,
    /// A file of the same kind, which the user wants to overwrite.
    Own,
    /// An open pipe.
    Pipe(File),
}

impl OutputFile {
    /// Checks the destination before any work is done for it.
    ///
    /// # Errors
    ///
    /// A name that is taken by a file of the same kind, unless `force` is set, or by anything else
    /// except a pipe.
    pub fn open(path: &Path, kind: FileKind, force: bool) -> Result<Self, ArtifactError> {
        let place = match look(path) {
            Ok(metadata) if metadata.file_type().is_fifo() => Place::Pipe(open_pipe(path)?),
            _ if Self::check(path, kind, force, "--force")? => Place::Own,
            _ => Place::New,
        };
        Ok(Self {
            path: path.to_owned(),
            kind,
            place,
        })
    }

    /// Whether the path is a file of this kind that may be overwritten; `false` if the name is
    /// free.
    ///
    /// # Errors
    ///
    /// A file of this kind without `overwrite`, which the message calls `option`, or anything else
    /// of that name.
    pub fn check(
        path: &Path,
        kind: FileKind,
        overwrite: bool,
        option: &str,
    ) -> Result<bool, ArtifactError> {
        let Some(metadata) = find(path)? else {
            return Ok(false);
        };
        check_own(path, kind, &metadata)?;
        if !overwrite {
            let reason = format!("it exists\nname another place, or overwrite it with {option}");
            return Err(ArtifactError::refused("write", path, reason));
        }
        Ok(true)
    }

    /// Writes the whole file, or to the pipe. `false`: the reader closed the pipe early, which is
    /// not an error.
    ///
    /// # Errors
    ///
    /// A name that was taken in the meantime, or a system error; then no file is new or changed,
    /// except after [`ArtifactError::Unsynced`].
    pub fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<bool, ArtifactError> {
        let Self { path, kind, place } = self;
        match place {
            Place::New => {
                sweep_own(parent(&path))?;
                let is_new = publish_new_file(&path, |writer| write(writer))?;
                let taken = || {
                    ArtifactError::refused(
                        "write",
                        &path,
                        "it was created in the meantime\nname another file",
                    )
                };
                is_new.then_some(true).ok_or_else(taken)
            }
            Place::Own => {
                sweep_own(parent(&path))?;
                // Another file may have taken its place.
                let check =
                    || find(&path)?.map_or(Ok(()), |metadata| check_own(&path, kind, &metadata));
                publish_file(&path, |writer| write(writer), check).map(|()| true)
            }
            Place::Pipe(file) => stream(BufWriter::with_capacity(1 << 16, file), &path, write),
        }
    }
}

/// Writes to a pipe. `false`: the reader closed it early, which is not an error.
///
/// # Errors
///
/// Any other error of the system; `name` stands for the pipe.
pub fn stream(
    mut writer: impl Write,
    name: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<bool, ArtifactError> {
    match write(&mut writer).and_then(|()| writer.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(source) => Err(ArtifactError::io("write", name, source)),
    }
}

/// The first bytes of a file, at most `count`.
pub fn first_bytes(path: &Path, count: u64) -> Result<Vec<u8>, ArtifactError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(count).read_to_end(&mut bytes));
    read.map_err(|source| ArtifactError::io("read", path, source))?;
    Ok(bytes)
}

/// The metadata of the path itself. Links are not followed, except those of open files, such as a
/// shell's `>(…)`.
fn look(path: &Path) -> io::Result<Metadata> {
    const OPEN_FILES: [&str; 4] = ["/dev/fd", "/proc/self/fd", "/dev/stdout", "/dev/stderr"];
    if OPEN_FILES.iter().any(|place| path.starts_with(place)) {
        let metadata = fs::metadata(path)?;
        return if metadata.file_type().is_fifo() {
            Ok(metadata)
        } else {
            fs::symlink_metadata(path)
        };
    }
    fs::symlink_metadata(path)
}

/// Opening a pipe waits for its reader.
fn open_pipe(path: &Path) -> Result<File, ArtifactError> {
    let failed = |source| ArtifactError::io("write", path, source);
    let file = File::options().write(true).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.file_type().is_fifo() {
        return Err(ArtifactError::refused(
            "write",
            path,
            "another file took the place of the pipe",
        ));
    }
    Ok(file)
}

fn check_own(path: &Path, kind: FileKind, metadata: &Metadata) -> Result<(), ArtifactError> {
    if !metadata.is_file() {
        let reason = format!("it is {}\nname a new file", type_name(metadata.file_type()));
        return Err(ArtifactError::refused("write", path, reason));
    }
    // An empty file, as `mktemp` makes it, may be overwritten.
    if metadata.len() != 0 && !(kind.matches)(path)? {
        let reason = format!(
            "it exists and is not {}: it is never overwritten\nname another file",
            kind.name
        );
        return Err(ArtifactError::refused("write", path, reason));
    }
    Ok(())
}

/// The metadata of the path itself; `None` if the name is free.
fn find(path: &Path) -> Result<Option<Metadata>, ArtifactError> {
    match look(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other
            .map(Some)
            .map_err(|source| ArtifactError::io("write", path, source)),
    }
}

fn type_name(file_type: FileType) -> &'static str {
    match file_type {
        file_type if file_type.is_dir() => "a folder",
        file_type if file_type.is_symlink() => "a symbolic link",
        file_type if file_type.is_fifo() => "a pipe",
        _ => "a device or a socket",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;

    const KIND: FileKind = FileKind {
        name: "a list",
        matches: |path| Ok(first_bytes(path, 4)? == b"list"),
    };

    fn write(path: &Path, force: bool, bytes: &[u8]) -> Result<bool, ArtifactError> {
        OutputFile::open(path, KIND, force)?.write(|writer| writer.write_all(bytes))
    }

    #[test]
    fn only_a_new_file_is_created_and_only_its_own_kind_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        assert!(write(&path, false, b"list 1").unwrap());
        let error = write(&path, false, b"list 2").unwrap_err().to_string();
        assert!(
            error.contains("out: it exists") && error.contains("--force"),
            "{error}"
        );
        assert!(write(&path, true, b"list 3").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"list 3");
        for (content, overwritten) in [(&b""[..], true), (b"a diary", false)] {
            publish_bytes(&path, content).unwrap();
            assert_eq!(write(&path, true, b"list 4").is_ok(), overwritten);
            assert_eq!(
                fs::read(&path).unwrap(),
                if overwritten { b"list 4" } else { content }
            );
        }
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        for (name, word) in [
            ("link", "a symbolic link"),
            ("", "a folder"),
            ("/dev/null", "a device"),
        ] {
            let error = write(&folder.path().join(name), true, b"list")
                .unwrap_err()
                .to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_file_that_appears_while_another_is_written_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let appear = |writer: &mut dyn Write| {
            publish_bytes(&path, b"theirs").unwrap();
            writer.write_all(b"list")
        };
        let new = OutputFile::open(&path, KIND, true).unwrap();
        assert!(
            new.write(appear)
                .unwrap_err()
                .to_string()
                .contains("in the meantime")
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        publish_bytes(&path, b"list").unwrap();
        let own = OutputFile::open(&path, KIND, true).unwrap();
        assert!(
            own.write(appear)
                .unwrap_err()
                .to_string()
                .contains("is not a list")
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
