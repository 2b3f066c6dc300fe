//! Talks to people: arguments, progress and reports. A command loads, calls one function and
//! prints; nothing is computed here.

mod arguments;
mod bench;
mod command_errors;
mod completions;
mod config;
mod dataset;
mod eval;
mod fit_mpc;
mod gate;
mod gc;
mod generate;
mod init;
pub mod memory;
mod model;
mod model_errors;
mod output;
mod play;
mod progress;
mod promote;
mod protocols;
mod report;
mod run;
mod serve;
mod session;
mod shard;
mod stage;
mod status;
mod train;

use crate::artifact::panics;
use crate::artifact::publish::UNSYNCABLE;
use crate::exit_code;
use crate::play::{gtp, nboard};
use anyhow::anyhow;
use arguments::help::{self, Detail};
use arguments::{Arguments, Command};
use clap::FromArgMatches;
use command_errors::Failure;
use output::{complain, print_json, print_with, say};
use serde_json::json;
use session::Session;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The definition of every command.
pub fn command() -> clap::Command {
    help::command(Detail::All)
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    memory::return_large_blocks();
    let is_long = std::env::args_os().any(|word| word == "--help");
    let command = help::command(if is_long { Detail::Long } else { Detail::Short });
    let parsed = command
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return answer(&help::with_config_tip(error)),
    };
    panics::hide_expected();
    let session = match Session::start(&arguments.global) {
        Ok(session) => session,
        Err(error) => return report(&error, arguments.global.json),
    };
    let work = AssertUnwindSafe(|| start(&session, arguments.command));
    // The hook has said where.
    let result =
        catch_unwind(work).unwrap_or_else(|_| Err(anyhow!("this is an error in renma: report it")));
    if let Some(folder) = UNSYNCABLE.get() {
        let folder = folder.display();
        say(&format!(
            "note: the file system of {folder} cannot sync folders: a loss of power may undo what was finished last"
        ));
    }
    match result {
        Ok(code) => code,
        Err(error) => report(&error, session.json),
    }
}

fn start(session: &Session, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(arguments) => return run::run(session, arguments),
        Command::Stage(command) => return stage::run(session, &command),
        Command::Promote(arguments) => return promote::run(session, &arguments),
        Command::Init { folder } => init::run(session, &folder)?,
        Command::Status(arguments) => status::run(session, &arguments)?,
        Command::Report(arguments) => report::run(session, &arguments)?,
        Command::Gc(arguments) => gc::run(session, &arguments)?,
        Command::Config(command) => config::run(session, command)?,
        Command::Dataset(command) => dataset::run(session, command)?,
        Command::Model(command) => model::run(session, command)?,
        Command::Eval(arguments) => eval::run_eval(session, &arguments)?,
        Command::Solve(arguments) => eval::run_solve(session, &arguments)?,
        Command::Play(arguments) => return play::run(session, &arguments),
        Command::Serve(arguments) => return serve::run(session, &arguments),
        Command::Nboard(arguments) => protocols::run(session, "nboard", &arguments, nboard::serve)?,
        Command::Gtp(arguments) => protocols::run(session, "gtp", &arguments, gtp::serve)?,
        Command::Shard(command) => return shard::run(session, command),
        Command::Bench(command) => bench::run(session, command)?,
        Command::Completions { shell } => completions::run(session, shell)?,
        Command::Help { all, command } => return Ok(answer(&help::page(all, &command))),
    }
    Ok(exit_code::DONE.into())
}

/// Prints a help text, or what is wrong with the arguments.
fn answer(help: &clap::Error) -> ExitCode {
    if help.use_stderr() {
        // Without stderr there is nowhere to report to.
        help.print().ok();
        // Of wrong arguments clap does not say whether JSON is wanted.
        let json = std::env::args_os()
            .skip(1)
            .take_while(|word| word != "--")
            .any(|word| word == "--json");
        return end(&Failure::of_arguments(help), json);
    }
    let printed = print_with(|writer| help.print().and_then(|()| writer.flush()));
    printed.map_or_else(
        |error| report(&error.into(), false),
        |()| exit_code::DONE.into(),
    )
}

/// Prints an error with its causes, for a script too if it asked for JSON, and gives its exit code.
fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    let failure = Failure::new(error);
    complain(&format!("error: {}", failure.text()));
    end(&failure, json)
}

fn end(failure: &Failure, json: bool) -> ExitCode {
    if json {
        // A closed stdout has no reader; stderr has the same message.
        print_json(&json!({"error": failure})).ok();
    }
    failure.code.into()
}
