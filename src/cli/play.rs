//! `renma play`: a game on the terminal.

use super::arguments::positions::{ModelArguments, PlayArguments};
use super::arguments::run::named_registry;
use super::command_errors::UsageError;
use super::session::{Session, choose_model};
use crate::artifact::output::stream;
use crate::exit_code;
use crate::play::lines::Lines;
use crate::play::terminal::play;
use anstream::AutoStream;
use std::io::{BufReader, IsTerminal, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

pub fn run(session: &Session, arguments: &PlayArguments) -> anyhow::Result<ExitCode> {
    if session.json {
        return Err(
            UsageError("a game has no --json: programs play by gtp or nboard".to_owned()).into(),
        );
    }
    let ModelArguments { model, models } = &arguments.model;
    let chosen = choose_model("play", model.as_ref(), &named_registry(models.as_deref())?)?;
    let stop = session.context().stop;
    let is_typed = stdin().is_terminal() && stdout().is_terminal();
    let lines = if is_typed {
        Lines::typed()?
    } else {
        Lines::read(BufReader::new(stdin()))
    };
    stream(AutoStream::auto(stdout()), Path::new("stdout"), |output| {
        play(&chosen.model.model, arguments.level, &lines, stop, output)
    })?;
    let is_interrupted = stop.load(Ordering::Relaxed);
    Ok(if is_interrupted {
        exit_code::INTERRUPTED
    } else {
        exit_code::DONE
    }
    .into())
}
