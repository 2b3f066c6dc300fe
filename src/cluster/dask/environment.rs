//! The Python that runs the bridge: the user's own for a cluster of theirs, otherwise one with the
//! packages that are pinned here.

use crate::artifact::publish::temporary::sweep;
use crate::artifact::publish::{exists, publish_bytes, remove_folder};
use crate::artifact::{ArtifactError, ContentHash, PendingFolder};
use crate::cluster::command::end_of;
use crate::cluster::drive::tell;
use crate::cluster::error::ClusterError;
use crate::pipeline::{Context, StageError};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// The oldest Python that the bridge runs on.
const CHECK: &str = "import sys; assert sys.version_info >= (3, 10), 'Python 3.10 or newer is needed'; print(sys.version)";

/// What a sound environment can do.
const IMPORTS: &str = "import cryptography.x509, distributed";

const REMEDY: &str = "install Python 3.10 or newer with venv and connect to PyPI once, or name a scheduler of yours with --scheduler";

/// `$RENMA_PYTHON`, else python3.
fn named_python() -> OsString {
    std::env::var_os("RENMA_PYTHON")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "python3".into())
}

/// The user's Python, which has the same distributed as their cluster.
pub fn users_python(context: Context<'_>) -> Result<PathBuf, StageError> {
    let python = named_python();
    let check = format!("{CHECK}; import distributed");
    let remedy =
        "name a Python in RENMA_PYTHON that has distributed, in the version of your cluster";
    output(Command::new(&python).args(["-c", &check]), context)?
        .map_err(|reason| unusable(&python, &reason, remedy))?;
    Ok(python.into())
}

/// A Python with the pinned packages, in the user's cache; it is made once.
pub fn python(context: Context<'_>) -> Result<PathBuf, StageError> {
    let base = named_python();
    let version = output(Command::new(&base).args(["-c", CHECK]), context)?;
    let version = version.map_err(|reason| unusable(&base, &reason, REMEDY))?;
    let hash = ContentHash::of(format!("{REQUIREMENTS}{version}\n").as_bytes());
    let named = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let cache = cache.ok_or(ClusterError::NoCache)?.join("renma");
    let name = format!("dask-{}", hash.short());
    let python = |folder: &Path| folder.join("bin/python");
    let folder = cache.join(&name);
    if exists(&folder)? {
        let Err(reason) = output(Command::new(python(&folder)).args(["-c", IMPORTS]), context)?
        else {
            return Ok(python(&folder));
        };
        tell(
            &format!("{} is damaged: {reason}", folder.display()),
            context,
        );
        remove_folder(&folder)?;
    }
    tell(
        &format!("installing Dask in {}, once", folder.display()),
        context,
    );
    sweep(&cache)?;
    let mut pending = PendingFolder::new(&cache)?;
    let requirements = pending.path().join("requirements.txt");
    let make = |command: &mut Command| {
        output(command, context)?
            .map_err(|reason| unusable(&base, &format!("cannot install Dask: {reason}"), REMEDY))
    };
    make(Command::new(&base).args(["-m", "venv"]).arg(pending.path()))?;
    publish_bytes(&requirements, REQUIREMENTS.as_bytes())?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "--only-binary=:all:",
    ];
    make(
        Command::new(python(pending.path()))
            .args(pip)
            .args(["--require-hashes", "-r"])
            .arg(&requirements),
    )?;
    // Another process may have been first; what it made is the same.
    pending.publish(&name)?;
    Ok(python(&folder))
}

/// The last lines that a command prints, or why it failed; an interruption ends it.
fn output(
    command: &mut Command,
    context: Context<'_>,
) -> Result<Result<String, String>, StageError> {
    let failed = |source| ArtifactError::io("run", Path::new("python3"), source);
    // A command that says much would wait for the reader of a pipe.
    let (stdout, stderr) = (
        tempfile::tempfile().map_err(failed)?,
        tempfile::tempfile().map_err(failed)?,
    );
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().map_err(failed)?);
    let mut child = match command.stderr(stderr.try_clone().map_err(failed)?).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if let Err(error) = context.check() {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if status.success() {
        return Ok(Ok(end_of(&stdout)));
    }
    Ok(Err(end_of(&stderr)
        .lines()
        .last()
        .unwrap_or("it ended without a word")
        .to_owned()))
}

fn unusable(python: &OsStr, reason: &str, remedy: &'static str) -> StageError {
    ClusterError::Python {
        python: python.into(),
        reason: reason.to_owned(),
        remedy,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixtures::context;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_command_that_says_much_is_heard_to_its_end() {
        let stop = AtomicBool::new(false);
        let context = context(&stop);
        for (code, expected) in [(0, Ok("done")), (3, Err("said"))] {
            let script =
                format!("head -c 200000 /dev/zero; echo; echo done; echo said >&2; exit {code}");
            let found = output(Command::new("sh").args(["-c", &script]), context).unwrap();
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
        }
    }
}
