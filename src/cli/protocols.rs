//! `renma nboard` and `renma gtp`: plays for another program.

use super::arguments::positions::{EngineArguments, ModelArguments};
use super::command_errors::UsageError;
use super::output::print_with;
use super::session::{ChosenModel, Session, choose_model, warn_without_statistics};
use crate::engine::{Depth, Limits, Selective};
use crate::play::lines::Lines;
use crate::play::nboard::commands::Commands;
use crate::play::session::SearchSettings;
use crate::play::{gtp, nboard};
use std::io::{BufReader, stdin};

pub(super) fn run_nboard(session: &Session, arguments: &EngineArguments) -> anyhow::Result<()> {
    let (chosen, settings) = engine(session, "nboard", arguments)?;
    let context = session.context();
    let commands = Commands::read(BufReader::new(stdin()));
    print_with(|output| nboard::serve(&chosen.model.model, settings, &commands, context.stop, output))?;
    Ok(context.check()?)
}

pub(super) fn run_gtp(session: &Session, arguments: &EngineArguments) -> anyhow::Result<()> {
    let (chosen, settings) = engine(session, "gtp", arguments)?;
    let context = session.context();
    let lines = Lines::read(BufReader::new(stdin()));
    print_with(|output| gtp::serve(&chosen.model.model, settings, &lines, context.stop, output))?;
    Ok(context.check()?)
}

/// The limits of an engine that was given none, and has no clock.
const DEPTH: u8 = 8;
const EXACT_EMPTIES: u8 = 14;

/// The model and the settings of an engine.
fn engine(
    session: &Session,
    command: &str,
    arguments: &EngineArguments,
) -> anyhow::Result<(ChosenModel, SearchSettings)> {
    if session.json {
        return Err(UsageError("--json and the protocol both write to stdout: leave --json out".to_owned()).into());
    }
    let ModelArguments { model, models } = &arguments.model;
    let chosen = choose_model(command, model.as_deref(), models)?;
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
    let settings =
        SearchSettings { limits, timed_limits, move_time: arguments.seconds, threads: session.threads_per_position };
    Ok((chosen, settings))
}
