//! `renma nboard` and `renma gtp`: plays for another program.

use super::arguments::positions::{EngineArguments, ModelArguments};
use super::arguments::run::named_registry;
use super::command_errors::UsageError;
use super::output::print_with;
use super::session::{STOP, Session, choose_model, warn_without_statistics};
use crate::artifact::Model;
use crate::engine::{Depth, Limits, Selective};
use crate::pipeline::StageError;
use crate::play::session::SearchSettings;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::stdio;
use std::io::{self, BufReader, Stdin, Write, stdin};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Answers commands of a protocol until they end.
type Serve =
    fn(&Model, SearchSettings, BufReader<Stdin>, &AtomicBool, &mut dyn Write) -> io::Result<()>;

/// Whether the other program is gone.
static IS_ALONE: AtomicBool = AtomicBool::new(false);

/// The limits of an engine that was given none, and has no clock.
const DEPTH: u8 = 8;
const EXACT_EMPTIES: u8 = 14;

pub fn run(
    session: &Session,
    command: &str,
    arguments: &EngineArguments,
    serve: Serve,
) -> anyhow::Result<()> {
    if session.json {
        return Err(UsageError(
            "--json and the protocol both write to stdout: leave --json out".to_owned(),
        )
        .into());
    }
    let ModelArguments { model, models } = &arguments.model;
    let chosen = choose_model(command, model.as_ref(), &named_registry(models.as_deref())?)?;
    warn_without_statistics("--mpc-level", arguments.mpc_level, &chosen.model);
    let limits = Limits {
        depth: Depth(arguments.depth.unwrap_or(DEPTH)),
        exact_empties: arguments.exact_empties.unwrap_or(EXACT_EMPTIES),
        wld_empties: arguments.wld_empties,
        nodes: arguments.nodes,
        mpc: arguments.mpc_level,
        selective: Selective::NONE,
    };
    let timed_limits = Limits {
        depth: arguments.depth.map_or(Depth::MAX, Depth),
        exact_empties: arguments.exact_empties.unwrap_or(Depth::MAX.0),
        ..limits
    };
    let settings = SearchSettings {
        limits,
        timed_limits,
        move_time: arguments.seconds,
        threads: session.threads_per_position,
    };
    chosen.model.model.evaluation.prepare();
    std::thread::Builder::new()
        .spawn(stop_when_alone)
        .map_err(StageError::Thread)?;
    let (context, input) = (session.context(), BufReader::new(stdin()));
    print_with(|output| serve(&chosen.model.model, settings, input, context.stop, output))?;
    if IS_ALONE.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Ok(context.check()?)
    }
}

/// Waits until nobody writes commands and nobody can read an answer any more, and stops the search.
/// A script that has written all of its commands still reads.
fn stop_when_alone() {
    let (input, output) = (stdio::stdin(), stdio::stdout());
    // A file of commands has no other end.
    let is_file = fstat(input)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
    if (is_file || wait_for_hangup(input)) && wait_for_hangup(output) {
        IS_ALONE.store(true, Ordering::Relaxed);
        STOP.store(true, Ordering::Relaxed);
    }
}

/// Waits until the other end of a pipe, a socket or a terminal is gone, for ever if it has none;
/// `false` if that cannot be known.
fn wait_for_hangup(stream: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(stream, PollFlags::empty())];
    while let Err(error) = poll(&mut polled, None) {
        if error != Errno::INTR {
            return false;
        }
    }
    polled[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR)
}
