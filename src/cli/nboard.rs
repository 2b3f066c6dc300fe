//! `renma nboard`: plays for a program that speaks the NBoard protocol.

use super::arguments::positions::NboardArguments;
use super::failure::UsageError;
use super::output::print_with;
use super::session::{Session, level, model_or_default, warn_without_statistics};
use crate::engine::search::depth::Depth;
use crate::engine::search::limits::Limits;
use crate::engine::search::selective::Selective;
use crate::play::nboard::commands::Commands;
use crate::play::nboard::serve;
use std::io::{BufReader, stdin};

pub(super) fn run(session: &Session, arguments: &NboardArguments) -> anyhow::Result<()> {
    if session.json {
        return Err(UsageError("--json and the protocol both write to stdout: leave --json out".to_owned()).into());
    }
    let mpc = level(arguments.mpc_level)?;
    let chosen = model_or_default(arguments.model.model.as_deref(), &arguments.model.models)?;
    warn_without_statistics("--mpc-level", arguments.mpc_level, &chosen.model);
    chosen.announce("nboard");
    let limits = Limits {
        depth: Depth(arguments.depth),
        exact_empties: arguments.exact_empties,
        wld_empties: arguments.wld_empties,
        nodes: arguments.nodes,
        mpc,
        selective: Selective::NONE,
    };
    let context = session.context();
    let commands = Commands::read(BufReader::new(stdin()));
    print_with(|output| serve(&chosen.model.model, limits, &commands, context.stop, output))?;
    Ok(context.check()?)
}
