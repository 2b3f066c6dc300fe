//! Runs shards by any command: one process per shard, some at once.

use super::drive::{DriveError, Event, Runner};
use super::runs::Ended;
use crate::artifact::error::ArtifactError;
use crate::pipeline::StageError;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PLAN: &str = "{plan}";
const SHARD: &str = "{shard}";

/// As much of an output is read.
const END_MAX: usize = 4000;

/// How long commands have to end after SIGTERM: this many times this long.
const WAITS: u32 = 100;
const WAIT: Duration = Duration::from_millis(50);

/// The words of a command, the plan filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// Splits a command into words as a shell does, without running one.
    ///
    /// # Errors
    ///
    /// An unclosed quotation mark, a missing `{plan}` or `{shard}`, or a plan with a name that is not UTF-8.
    pub fn new(text: &str, plan: &Path) -> Result<Self, StageError> {
        let wrong = |reason: &str| {
            let example = "name both in it, as in 'renma shard run {plan} {shard}'";
            StageError::Setting(format!("--on {text}: {reason}\n{example}"))
        };
        let words = shlex::split(text).ok_or_else(|| wrong("a quotation mark is not closed"))?;
        for place in [PLAN, SHARD] {
            if !words.iter().any(|word| word.contains(place)) {
                return Err(wrong(&format!("{place} is missing")));
            }
        }
        let plan = plan.to_str().ok_or_else(|| wrong("the name of the plan is not UTF-8"))?;
        Ok(Self { words: words.iter().map(|word| word.replace(PLAN, plan)).collect() })
    }

    /// The command that runs a shard, in its own process group.
    fn command(&self, shard: usize) -> Command {
        let mut words = self.words.iter().map(|word| word.replace(SHARD, &shard.to_string()));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).process_group(0).stdin(Stdio::null());
        command
    }
}

/// A shard at work.
struct Running {
    shard: usize,
    child: Child,
    stdout: File,
    stderr: File,
    began: f64,
}

/// Runs up to `room` commands at once.
pub struct CommandRunner<'a> {
    line: CommandLine,
    room: usize,
    /// Seconds since some moment.
    clock: &'a dyn Fn() -> f64,
    queue: VecDeque<usize>,
    running: Vec<Running>,
}

impl<'a> CommandRunner<'a> {
    /// A runner without work.
    #[must_use]
    pub fn new(line: CommandLine, room: usize, clock: &'a dyn Fn() -> f64) -> Self {
        Self { line, room, clock, queue: VecDeque::new(), running: Vec::new() }
    }

    fn start(&self, shard: usize) -> Result<Running, DriveError> {
        let failed = |source: std::io::Error| {
            StageError::Setting(format!("cannot start `{}` for shard {shard}: {source}", self.line.words[0]))
        };
        // A file takes all that a command and its own children write; a pipe would wait for the last of them.
        let (stdout, stderr) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
        let mut command = self.line.command(shard);
        command.stdout(stdout.try_clone().map_err(failed)?).stderr(stderr.try_clone().map_err(failed)?);
        Ok(Running { shard, child: command.spawn().map_err(failed)?, stdout, stderr, began: (self.clock)() })
    }
}

impl Runner for CommandRunner<'_> {
    fn submit(&mut self, shard: usize) -> Result<(), DriveError> {
        self.queue.push_back(shard);
        Ok(())
    }

    fn wait(&mut self, longest: Duration) -> Result<Vec<Event>, DriveError> {
        let mut events = Vec::new();
        for mut running in std::mem::take(&mut self.running) {
            let failed = |source| ArtifactError::io("wait for", Path::new(&self.line.words[0]), source);
            let Some(status) = running.child.try_wait().map_err(failed)? else {
                self.running.push(running);
                continue;
            };
            events.push(Event::Ended(Ended {
                shard: running.shard,
                worker: None,
                host: None,
                seconds: Some((self.clock)() - running.began),
                cpu_seconds: processor_seconds(&running.stdout),
                code: status.code(),
                stderr: end_of(&running.stderr),
            }));
        }
        while self.running.len() < self.room
            && let Some(shard) = self.queue.pop_front()
        {
            let running = self.start(shard)?;
            self.running.push(running);
        }
        if events.is_empty() {
            std::thread::sleep(longest);
        }
        events.push(Event::Workers { count: self.room, running: self.running.len() });
        Ok(events)
    }
}

impl Drop for CommandRunner<'_> {
    fn drop(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            self.running.iter().for_each(|running| signal_group(&running.child, signal));
            for _ in 0..WAITS {
                self.running.retain_mut(|running| matches!(running.child.try_wait(), Ok(None)));
                if self.running.is_empty() {
                    return;
                }
                std::thread::sleep(WAIT);
            }
        }
    }
}

/// Sends a signal to a child and everything that it started in its group.
pub(super) fn signal_group(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The group may have ended by itself.
        kill_process_group(group, signal).unwrap_or_default();
    }
}

/// The processor seconds in the report that `renma shard run --json` prints last, if it did.
fn processor_seconds(stdout: &File) -> Option<f64> {
    let text = end_of(stdout);
    let report: Value = serde_json::from_str(text.lines().last()?).ok()?;
    report.get("cpu_seconds")?.as_f64()
}

/// The last lines of an output; what cannot be read is left out.
pub(super) fn end_of(output: &File) -> String {
    let begin = output.metadata().map_or(0, |metadata| metadata.len()).saturating_sub(END_MAX as u64);
    let mut bytes = [0; END_MAX];
    // Whoever still writes to the file shares its place in it, so reading must not move that.
    let size = output.read_at(&mut bytes, begin).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..size]);
    // A line that was cut at its beginning says nothing.
    let whole = if 0 < begin { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    whole.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_by_a_shell_and_filled_in_word_by_word() {
        let line = CommandLine::new("ssh 'a host' --plan={plan} {shard}/{shard}", Path::new("a plan.json")).unwrap();
        let command = line.command(7);
        assert_eq!(command.get_program(), "ssh");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["a host", "--plan=a plan.json", "7/7"]);
        for wrong in ["run {plan}", "run {shard}", "run 'x {plan} {shard}", ""] {
            assert!(CommandLine::new(wrong, Path::new("plan")).is_err(), "{wrong}");
        }
    }
}
