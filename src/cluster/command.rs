//! Runs shards by any command: one process per shard, some at once.

use super::drive::{Runner, RunnerEvent};
use super::error::ClusterError;
use super::plan::text_of;
use super::runs::Ended;
use crate::artifact::ArtifactError;
use crate::exit_code;
use crate::pipeline::{Context, StageError};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PLAN: &str = "{plan}";
const SHARD: &str = "{shard}";

/// As much of an output is read.
const END_MAX: usize = 4000;

/// How long commands have to end after SIGTERM: this many times this long.
const WAITS: u32 = 100;
const WAIT: Duration = Duration::from_millis(50);

/// Errors of a system that lacks resources for another process or file.
const LACKS_RESOURCES: [Errno; 6] = [
    Errno::AGAIN,
    Errno::DQUOT,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::NOSPC,
];

/// The words of a command that runs a shard of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
}

impl CommandLine {
    /// Splits a command into words as a shell does, without running one.
    ///
    /// # Errors
    ///
    /// An unclosed quotation mark, or a missing `{plan}` or `{shard}`.
    pub fn new(text: &str) -> Result<Self, StageError> {
        let wrong = |reason: &str| ClusterError::Command {
            command: text.to_owned(),
            reason: reason.to_owned(),
        };
        let words = shlex::split(text).ok_or_else(|| wrong("a quotation mark is not closed"))?;
        for place in [PLAN, SHARD] {
            if !words.iter().any(|word| word.contains(place)) {
                return Err(wrong(&format!("{place} is missing")).into());
            }
        }
        Ok(Self { words })
    }

    /// The command for a plan. If it is this very program, it stays so when its file is replaced.
    ///
    /// # Errors
    ///
    /// A plan with a name that is not UTF-8.
    pub fn of_plan(&self, plan: &Path) -> Result<PlanCommand, StageError> {
        let absolute =
            std::path::absolute(plan).map_err(|source| ArtifactError::io("find", plan, source))?;
        let plan = text_of(&absolute)?;
        let mut words = self.words.clone();
        if let Some(program) = words.first_mut().filter(|word| is_this_program(word)) {
            *program = this_program();
        }
        Ok(PlanCommand { words, plan })
    }
}

/// A command that runs the shards of one plan.
pub struct PlanCommand {
    words: Vec<String>,
    plan: String,
}

impl PlanCommand {
    /// The command that runs a shard, in its own process group. A plan whose name holds `{shard}`
    /// keeps its name.
    fn command(&self, shard: usize) -> Command {
        let shard = shard.to_string();
        let mut words = self.words.iter().map(|word| {
            let around_plan: Vec<String> = word
                .split(PLAN)
                .map(|text| text.replace(SHARD, &shard))
                .collect();
            around_plan.join(&self.plan)
        });
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).process_group(0).stdin(Stdio::null());
        command
    }
}

/// This very program; on Linux even when the file that it was started from has been replaced since.
pub(super) fn this_program() -> String {
    if cfg!(target_os = "linux") {
        return format!("/proc/{}/exe", std::process::id());
    }
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned));
    program.unwrap_or_else(|| "renma".to_owned())
}

/// Whether a command, as a shell would look for it, is the file of this program.
fn is_this_program(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = if command.contains('/') {
        vec![PathBuf::new()]
    } else {
        std::env::split_paths(&path).collect()
    };
    // A command that cannot be found is started by its name, so that the error names it.
    let named = folders
        .iter()
        .find_map(|folder| folder.join(command).canonicalize().ok());
    let this = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    this.is_some() && named == this
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
    line: PlanCommand,
    room: usize,
    context: Context<'a>,
    queue: VecDeque<usize>,
    running: Vec<Running>,
}

impl<'a> CommandRunner<'a> {
    /// A runner without work.
    pub fn new(line: PlanCommand, room: usize, context: Context<'a>) -> Self {
        // Each shard at work has two open files, and 1,024 are usual until a process asks for more.
        let files = getrlimit(Resource::Nofile);
        let wanted = 4 * room as u64 + 64;
        if files.current.is_some_and(|current| current < wanted) {
            let current = Some(files.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
            setrlimit(Resource::Nofile, Rlimit { current, ..files }).ok();
        }
        Self {
            line,
            room,
            context,
            queue: VecDeque::new(),
            running: Vec::new(),
        }
    }

    fn start(&self, shard: usize) -> Result<Running, StageError> {
        let failed = |source: io::Error| cannot_start(&self.line.words[0], shard, source);
        // A file takes all that a command and its own children write; a pipe would wait for the
        // last of them.
        let (stdout, stderr) = (
            tempfile::tempfile().map_err(failed)?,
            tempfile::tempfile().map_err(failed)?,
        );
        let mut command = self.line.command(shard);
        command
            .stdout(stdout.try_clone().map_err(failed)?)
            .stderr(stderr.try_clone().map_err(failed)?);
        Ok(Running {
            shard,
            child: command.spawn().map_err(failed)?,
            stdout,
            stderr,
            began: self.context.host.seconds(),
        })
    }
}

impl Runner for CommandRunner<'_> {
    fn submit(&mut self, shard: usize) -> Result<(), StageError> {
        self.queue.push_back(shard);
        Ok(())
    }

    fn wait(&mut self, longest: Duration) -> Result<Vec<RunnerEvent>, StageError> {
        let mut events = Vec::new();
        for place in (0..self.running.len()).rev() {
            let failed =
                |source| ArtifactError::io("wait for", Path::new(&self.line.words[0]), source);
            let Some(status) = self.running[place].child.try_wait().map_err(failed)? else {
                continue;
            };
            let running = self.running.swap_remove(place);
            events.push(RunnerEvent::Ended(Ended {
                shard: running.shard,
                seconds: Some(self.context.host.seconds() - running.began),
                cpu_seconds: processor_seconds(&running.stdout),
                code: status.code(),
                stderr: end_of(&running.stderr),
                ..Ended::default()
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
        events.push(RunnerEvent::Workers {
            count: self.room,
            running: self.running.len(),
        });
        Ok(events)
    }
}

impl Drop for CommandRunner<'_> {
    fn drop(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            self.running
                .iter()
                .for_each(|running| signal_group(&running.child, signal));
            for _ in 0..WAITS {
                self.running
                    .retain_mut(|running| matches!(running.child.try_wait(), Ok(None)));
                if self.running.is_empty() {
                    return;
                }
                std::thread::sleep(WAIT);
            }
        }
    }
}

/// Why a command does not start: it is wrong, or the system lacks resources, which a retry may
/// find.
fn cannot_start(program: &str, shard: usize, source: io::Error) -> StageError {
    let lacks_resources =
        Errno::from_io_error(&source).is_some_and(|errno| LACKS_RESOURCES.contains(&errno));
    let error = ClusterError::Program {
        program: program.to_owned(),
        shard,
        source,
    };
    if lacks_resources {
        let text = format!("{error}\nrepeat the command to resume");
        return StageError::Elsewhere {
            text,
            code: exit_code::TRY_AGAIN,
        };
    }
    error.into()
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

/// The last lines of an output; empty if it cannot be read.
pub(super) fn end_of(output: &File) -> String {
    let begin = output
        .metadata()
        .map_or(0, |metadata| metadata.len())
        .saturating_sub(END_MAX as u64);
    let mut bytes = [0; END_MAX];
    // Whoever still writes to the file shares its place in it, so reading must not move that.
    let size = output.read_at(&mut bytes, begin).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[..size]);
    // The first line may lack its beginning, so it is skipped.
    let whole = if 0 < begin {
        text.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        &text
    };
    whole.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixtures::context;
    use rustix::process::{WaitOptions, kill_process, test_kill_process, waitpid};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_command_that_cannot_be_waited_for_leaves_no_other_behind() {
        let stop = AtomicBool::new(false);
        let context = context(&stop);
        let line = PlanCommand {
            words: ["sleep", "600"].map(str::to_owned).to_vec(),
            plan: String::new(),
        };
        let mut runner = CommandRunner::new(line, 2, context);
        (0..2).for_each(|shard| runner.submit(shard).unwrap());
        runner.wait(Duration::ZERO).unwrap();
        let [first, second] = [0, 1].map(|place| Pid::from_child(&runner.running[place].child));
        // As if another part of the process had waited for it.
        kill_process(first, Signal::KILL).unwrap();
        waitpid(Some(first), WaitOptions::empty()).unwrap();
        runner.wait(Duration::ZERO).unwrap_err();
        drop(runner);
        test_kill_process(second).unwrap_err();
    }

    #[test]
    fn a_command_without_resources_may_start_later_and_a_missing_one_never_does() {
        let code = |errno: Errno| cannot_start("renma", 3, io::Error::from(errno)).exit_code();
        assert_eq!(LACKS_RESOURCES.map(code), [75; 6]);
        assert_eq!(
            [Errno::NOENT, Errno::ACCESS, Errno::NOEXEC, Errno::TOOBIG].map(code),
            [2; 4]
        );
    }

    #[test]
    fn a_command_is_split_as_by_a_shell_and_filled_in_word_by_word() {
        let line = CommandLine::new("ssh 'a host' --plan={plan} {shard}/{shard}").unwrap();
        for plan in ["/a plan.json", "/{shard}/{plan}.json"] {
            let command = line.of_plan(Path::new(plan)).unwrap().command(7);
            assert_eq!(command.get_program(), "ssh");
            assert_eq!(
                command.get_args().collect::<Vec<_>>(),
                ["a host", &format!("--plan={plan}"), "7/7"]
            );
        }
        for wrong in ["run {plan}", "run {shard}", "run 'x {plan} {shard}", ""] {
            assert!(CommandLine::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn this_program_stays_the_one_that_is_running() {
        let program = std::env::current_exe().unwrap();
        let line = |program: &str| {
            let line = CommandLine::new(&format!("{program} {{plan}} {{shard}}")).unwrap();
            line.of_plan(Path::new("plan"))
                .unwrap()
                .command(0)
                .get_program()
                .to_owned()
        };
        assert_eq!(line(program.to_str().unwrap()), this_program().as_str());
        assert_eq!(line("/bin/sh"), "/bin/sh");
        assert_eq!(line("nothing-of-this-name"), "nothing-of-this-name");
        assert_eq!(
            std::fs::read(this_program()).unwrap(),
            std::fs::read(program).unwrap()
        );
    }
}
