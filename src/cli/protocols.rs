//! `renma nboard` and `renma gtp`: plays for another program.

use super::arguments::positions::{EngineArguments, ModelArguments};
use super::arguments::run::named_registry;
use super::command_errors::UsageError;
use super::output::print_with;
use super::session::{Session, choose_model, warn_without_statistics};
use crate::artifact::Model;
use crate::engine::{Depth, Limits, Selective};
use crate::play::session::SearchSettings;
use std::io::{self, BufReader, Stdin, Write, stdin};
use std::sync::atomic::AtomicBool;

/// Answers commands of a protocol until they end.
type Serve = fn(&Model, SearchSettings, BufReader<Stdin>, &AtomicBool, &mut dyn Write) -> io::Result<()>;

/// The limits of an engine that was given none, and has no clock.
const DEPTH: u8 = 8;
const EXACT_EMPTIES: u8 = 14;

pub(super) fn run(session: &Session, command: &str, arguments: &EngineArguments, serve: Serve) -> anyhow::Result<()> {
    if session.json {
        return Err(UsageError("--json and the protocol both write to stdout: leave --json out".to_owned()).into());
    }
    let ModelArguments { model, models } = &arguments.model;
    let chosen = choose_model(command, model.as_deref(), &named_registry(models.as_deref())?)?;
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
    let (context, input) = (session.context(), BufReader::new(stdin()));
    print_with(|output| serve(&chosen.model.model, settings, input, context.stop, output))?;
    Ok(context.check()?)
}
