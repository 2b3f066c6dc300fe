//! `renma play`: a game on the terminal.

use super::arguments::positions::PlayArguments;
use super::command_errors::UsageError;
use super::session::{Session, model_or_default};
use crate::artifact::output::stream;
use crate::exit_code;
use crate::play::lines::Lines;
use crate::play::terminal::play;
use anstream::AutoStream;
use std::io::{BufReader, IsTerminal, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

pub(super) fn run(session: &Session, arguments: &PlayArguments) -> anyhow::Result<ExitCode> {
    if session.json {
        return Err(UsageError("a game has no --json: programs play by gtp or nboard".to_owned()).into());
    }
    let chosen = model_or_default(arguments.model.model.as_deref(), &arguments.model.models)?;
    chosen.announce("play");
    let stop = session.context().stop;
    let lines = Lines::read(BufReader::new(stdin()));
    let prompts = stdin().is_terminal();
    stream(AutoStream::auto(stdout()), Path::new("stdout"), |output| {
        play(&chosen.model.model, arguments.level, &lines, stop, prompts, output)
    })?;
    let is_interrupted = stop.load(Ordering::Relaxed);
    Ok(if is_interrupted { exit_code::INTERRUPTED } else { exit_code::DONE }.into())
}
