//! Runs shards on Dask: a Python process, the bridge, carries their numbers to the workers. It
//! decides nothing.

mod environment;

use super::command::{end_of, signal_group, this_program};
use super::drive::{Runner, RunnerEvent};
use super::error::ClusterError;
use crate::artifact::ArtifactError;
use crate::artifact::publish::temporary::temporary_file;
use crate::artifact::publish::{parent, publish_bytes};
use crate::exit_code;
use crate::pipeline::{Context, StageError};
use rustix::process::Signal;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

const BRIDGE: &str = include_str!("dask/bridge.py");

/// A bridge that is silent for this time is given up: it sends a sign of life every five seconds.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The address of a Dask scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler(String);

impl Scheduler {
    /// An address that is this machine's or encrypted, unless `insecure` permits others.
    ///
    /// # Errors
    ///
    /// Any other address.
    pub fn new(address: &str, insecure: bool) -> Result<Self, StageError> {
        if insecure || address.starts_with("tls://") || is_loopback(address) {
            return Ok(Self(address.to_owned()));
        }
        Err(ClusterError::OpenScheduler {
            address: address.to_owned(),
        }
        .into())
    }
}

/// Whether an address is this machine's: `HOST:PORT`, with or without a protocol.
fn is_loopback(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// What the bridge says: an event, or its end.
#[derive(Deserialize)]
#[serde(untagged)]
enum Message {
    Event(RunnerEvent),
    Failed { code: u8, text: String },
}

/// The bridge at work.
pub struct DaskRunner {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// For how long it has said nothing.
    silent: Duration,
    stderr: File,
    /// Dropped after the processes that use them have ended.
    _mark: NamedTempFile,
    _folder: TempDir,
}

impl DaskRunner {
    /// Starts a scheduler with this many workers on this machine, or uses the one that is named.
    ///
    /// # Errors
    ///
    /// No suitable Python, or a system error.
    pub fn start(
        plan: &Path,
        scheduler: Option<&Scheduler>,
        workers: usize,
        context: Context<'_>,
    ) -> Result<Self, StageError> {
        let python = match scheduler {
            None => environment::python(context)?,
            Some(_) => environment::users_python(context)?,
        };
        let failed = |action: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| ArtifactError::io(action, &path, source)
        };
        let folder = tempfile::tempdir().map_err(failed("create", &std::env::temp_dir()))?;
        let script = folder.path().join("bridge.py");
        publish_bytes(&script, BRIDGE.as_bytes())?;
        let mark = mark(plan)?;
        let absolute = |path: &Path| std::path::absolute(path).map_err(failed("read", path));
        let here = std::env::current_dir().map_err(failed("read", Path::new(".")))?;
        let program = match scheduler {
            None => this_program().into(),
            Some(_) => std::env::current_exe().map_err(failed("read", Path::new("renma")))?,
        };
        let stderr = tempfile::tempfile().map_err(failed("create", &std::env::temp_dir()))?;
        let mut command = Command::new(&python);
        command
            .arg(&script)
            .arg("--renma")
            .arg(program)
            .arg("--folder")
            .arg(here);
        command
            .arg("--plan")
            .arg(absolute(plan)?)
            .arg("--nonce")
            .arg(absolute(mark.path())?);
        command
            .arg("--scratch")
            .arg(folder.path())
            .arg("--workers")
            .arg(workers.to_string());
        if let Some(Scheduler(address)) = scheduler {
            command.arg("--scheduler").arg(address);
        }
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.stderr(stderr.try_clone().map_err(failed("open", folder.path()))?);
        let mut child = command.spawn().map_err(failed("start", &python))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).expect("both are pipes");
        let (sender, lines) = channel();
        // When the receiver is gone, the thread ends.
        std::thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Ok(Self {
            child,
            stdin,
            lines,
            silent: Duration::ZERO,
            stderr,
            _mark: mark,
            _folder: folder,
        })
    }

    /// Why the bridge ended without a word.
    fn ended(&self) -> StageError {
        let text = format!("the connection to Dask ended:\n{}", end_of(&self.stderr));
        StageError::Elsewhere {
            text,
            code: exit_code::TRY_AGAIN,
        }
    }
}

impl Runner for DaskRunner {
    fn submit(&mut self, shard: usize) -> Result<(), StageError> {
        // If the bridge has ended, the next wait says why.
        writeln!(self.stdin, "{shard}").unwrap_or_default();
        Ok(())
    }

    fn wait(&mut self, longest: Duration) -> Result<Vec<RunnerEvent>, StageError> {
        let mut events = Vec::new();
        let mut line = self.lines.recv_timeout(longest);
        self.silent = if line == Err(RecvTimeoutError::Timeout) {
            self.silent + longest
        } else {
            Duration::ZERO
        };
        if SILENCE_MAX <= self.silent {
            let seconds = SILENCE_MAX.as_secs();
            let text = format!(
                "the process that talks to Dask has hung for {seconds} s\nrepeat the command to resume"
            );
            return Err(StageError::Elsewhere {
                text,
                code: exit_code::TRY_AGAIN,
            });
        }
        while let Ok(text) = line {
            match serde_json::from_str(&text) {
                Ok(Message::Event(event)) => events.push(event),
                Ok(Message::Failed { code, text }) => {
                    return Err(StageError::Elsewhere { text, code });
                }
                // A library may print, too.
                Err(_) => {}
            }
            line = self.lines.recv_timeout(Duration::ZERO);
        }
        match line {
            Err(RecvTimeoutError::Disconnected) if events.is_empty() => Err(self.ended()),
            _ => Ok(events),
        }
    }
}

impl Drop for DaskRunner {
    fn drop(&mut self) {
        // Shards stop where they are: what they have published stays, and the rest is made again.
        signal_group(&self.child, Signal::KILL);
        // A child that cannot be waited for is not ours any more.
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// A file beside the plan with a random name, which is its content too: a worker that can read it
/// sees the same folder.
fn mark(plan: &Path) -> Result<NamedTempFile, ArtifactError> {
    let folder = parent(plan);
    let failed = |source| ArtifactError::io("write", folder, source);
    let mut file = temporary_file(folder).map_err(failed)?;
    let name = file.path().to_owned();
    file.write_all(name.as_os_str().as_encoded_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(failed)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_elsewhere_needs_tls_or_consent() {
        for address in [
            "tcp://127.0.0.1:8786",
            "localhost:8786",
            "tcp://[::1]:8786",
            "127.8.0.1:1",
            "tls://far:8786",
        ] {
            assert!(Scheduler::new(address, false).is_ok(), "{address}");
        }
        for address in [
            "tcp://10.0.0.1:8786",
            "far:8786",
            "tcp://127.0.0.1.far.org:8786",
            "tcp://[2001::1]:8786",
            "far",
        ] {
            assert!(Scheduler::new(address, false).is_err(), "{address}");
            assert!(Scheduler::new(address, true).is_ok(), "{address}");
        }
    }
}
