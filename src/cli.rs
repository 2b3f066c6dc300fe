//! Talks to people: arguments, progress and reports. A command loads, calls one function and prints; nothing is computed
//! here.

mod arguments;
mod bench;
mod config;
mod dataset;
mod drive;

mod errors;
mod eval;
mod failure;
mod fit_mpc;
mod gate;
mod gc;
mod generate;
mod input;
mod model;
mod output;
mod plan;
mod play;
mod progress;
mod promote;
mod protocols;
mod session;
mod shard;
mod stage;
mod status;
mod train;

use crate::artifact::table::is_decoding;
use crate::exit_code;
use arguments::{Arguments, Command};
use clap::Parser;
use session::Session;
use std::process::ExitCode;

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(help) if !help.use_stderr() => return failure::finish(output::print_help(&help)),
        Err(error) => error.exit(),
    };
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_decoding() {
            default_hook(panic);
        }
    }));
    let session = match Session::start(&arguments.global) {
        Ok(session) => session,
        Err(error) => return failure::report(&error),
    };
    match run(&session, arguments.command) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}

fn run(session: &Session, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Generate(arguments) => return generate::run(session, &arguments),
        Command::Train(arguments) => return train::run(session, &arguments),
        Command::FitMpc(arguments) => return fit_mpc::run(session, &arguments),
        Command::Gate(arguments) => return gate::run(session, &arguments),
        Command::Promote(arguments) => return promote::run(session, &arguments),
        Command::Status(arguments) => status::run(session, &arguments)?,
        Command::Gc(arguments) => gc::run(session, &arguments)?,
        Command::Config(command) => config::run(session, command)?,
        Command::Dataset(command) => dataset::run(session, command)?,
        Command::Model(command) => model::run(session, command)?,
        Command::Eval(arguments) => eval::run_eval(session, &arguments)?,
        Command::Solve(arguments) => eval::run_solve(session, &arguments)?,
        Command::Play(arguments) => return play::run(session, &arguments),
        Command::Nboard(arguments) => protocols::run_nboard(session, &arguments.engine)?,
        Command::Gtp(arguments) => protocols::run_gtp(session, &arguments.engine)?,
        Command::Shard(command) => return shard::run(session, command),
        Command::Bench(command) => bench::run(session, command)?,
    }
    Ok(exit_code::DONE.into())
}
