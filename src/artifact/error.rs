//! What can be wrong with an artifact.

use super::line::visible;
use crate::exit_code;
use std::io;
use std::path::{Path, PathBuf};

/// Why an artifact could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A path that does not exist.
    #[error("cannot read {}: it does not exist", shown(path))]
    Missing {
        /// What was to be read.
        path: PathBuf,
    },
    /// Bytes that are not what was written.
    #[error("cannot trust {}: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// Sound, but not what the task needs.
    #[error("cannot use {}: {reason}", shown(path))]
    Unfit {
        /// The file or folder.
        path: PathBuf,
        /// What is missing or different.
        reason: String,
    },
    /// A path of a kind that is not read or written, a name that is taken, or a setting that
    /// contradicts what is already there.
    #[error("cannot {action} {}: {reason}", shown(path))]
    Refused {
        /// `read`, `write`, `continue`, ….
        action: &'static str,
        /// What the user named.
        path: PathBuf,
        /// What is there instead, and the remedy.
        reason: String,
    },
    /// Another run is at work in the folder.
    #[error(
        "{} is in use by process {owner}\nwait for it to end, or choose another folder",
        shown(path)
    )]
    Busy {
        /// The locked folder.
        path: PathBuf,
        /// The process that holds the lock, as it named itself.
        owner: String,
    },
    /// The stop flag was raised.
    #[error("interrupted")]
    Interrupted,
    /// An operating-system error.
    #[error("cannot {action} {}", shown(path))]
    Io {
        /// `read`, `write`, `create`, …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// A file or folder that is whole and has its name, which the disk may not have yet.
    #[error(
        "{} is there and whole, but a loss of power may undo it: its folder cannot be synced\n\
         keep it if `sync` succeeds, or else check the disk",
        shown(path)
    )]
    Unsynced {
        /// What has its name.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
}

impl ArtifactError {
    /// An error of the operating system; a path that is not there becomes
    /// [`ArtifactError::Missing`].
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if action == "read" && is_absence(&source) {
            Self::Missing { path }
        } else {
            Self::Io {
                action,
                path,
                source,
            }
        }
    }

    /// Bytes that are not what was written.
    pub fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Sound, but not what the task needs.
    pub fn unfit(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unfit {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// A setting that contradicts what is already there.
    pub fn conflict(path: &Path, reason: impl Into<String>) -> Self {
        Self::refused("continue", path, reason)
    }

    /// A path of a kind that is not read or written, or a name that is taken.
    pub fn refused(action: &'static str, path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused {
            action,
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Whether trying again can help: a full disk, a limit of file sizes, too little memory, no
    /// more threads or a busy lock.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Busy { .. } => true,
            Self::Io { source, .. } | Self::Unsynced { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
                    | io::ErrorKind::OutOfMemory
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::Interrupted
            ),
            _ => false,
        }
    }

    /// The exit code that says so.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Missing { .. } | Self::Refused { .. } => exit_code::USAGE,
            Self::Damaged { .. } | Self::Unfit { .. } => exit_code::BAD_INPUT,
            Self::Interrupted => exit_code::INTERRUPTED,
            error if error.may_pass() => exit_code::TRY_AGAIN,
            _ => exit_code::OTHER,
        }
    }
}

/// A path as messages show it.
fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// Whether nothing can have this path: it does not exist, or has a component that is too long.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_synced_is_told_from_what_is_not_written() {
        for (kind, code) in [
            (io::ErrorKind::StorageFull, exit_code::TRY_AGAIN),
            (io::ErrorKind::Other, exit_code::OTHER),
        ] {
            let error = ArtifactError::Unsynced {
                path: "out.obf".into(),
                source: kind.into(),
            };
            assert_eq!(error.exit_code(), code);
            assert!(
                error
                    .to_string()
                    .starts_with("out.obf is there and whole, but a loss of power may undo it"),
                "{error}"
            );
            assert!(!error.to_string().contains("cannot write"), "{error}");
        }
    }
}
