//! Where the shards of plans run: on Dask workers, or by a command.

use super::command::{CommandLine, CommandRunner};
use super::dask::{DaskRunner, Scheduler};
use super::drive::{AHEAD_MIN, DriveReport, Runner, drive, lock_plan};
use super::error::ClusterError;
use super::plan::{LoadedPlan, Plan};
use crate::config::nearest::nearest;
use crate::exit_code;
use crate::pipeline::{Context, StageError};

/// What `--on` calls this machine.
pub const LOCAL: &str = "local";

/// What `--on` calls Dask.
pub const DASK: &str = "dask";

/// Where shards run, and how many at once.
#[derive(Clone, Debug)]
pub enum Elsewhere {
    /// A Dask cluster of the user's, or one on this machine.
    Dask(Option<Scheduler>, usize),
    /// A command.
    Command(CommandLine, usize),
}

impl Elsewhere {
    /// `on`: `dask`, or a command with {plan} and {shard} in it.
    ///
    /// # Errors
    ///
    /// A command that names no shard, or a scheduler that no Dask needs.
    pub fn new(on: &str, workers: usize, scheduler: Option<Scheduler>) -> Result<Self, StageError> {
        // A word that is not one of these is a command, and needs places for a plan and a shard.
        let near = nearest(on, [LOCAL, DASK].into_iter()).filter(|near| *near != on);
        match (on, scheduler) {
            (_, _) if near.is_some() => Err(ClusterError::Misspelled {
                on: on.to_owned(),
                near: near.unwrap_or_default(),
            }
            .into()),
            (DASK, scheduler) => Ok(Self::Dask(scheduler, workers)),
            (_, Some(_)) => Err(ClusterError::SchedulerWithoutDask.into()),
            (command, None) => Ok(Self::Command(CommandLine::new(command)?, workers)),
        }
    }

    /// Runs the shards that a plan lacks, on a runner that is started only if there are any.
    ///
    /// # Errors
    ///
    /// Those of [`drive`], and a plan that another process drives.
    pub fn drive(
        &self,
        plan: &LoadedPlan,
        context: Context<'_>,
    ) -> Result<DriveReport, StageError> {
        let _lock = lock_plan(&plan.path)?;
        if Plan::read(&plan.path)? != plan.plan {
            let text = format!(
                "{} was replaced before it was driven\nrepeat the command",
                plan.path.display()
            );
            return Err(StageError::Elsewhere {
                text,
                code: exit_code::TRY_AGAIN,
            });
        }
        let first = plan.progress(AHEAD_MIN, context)?;
        if first.complete {
            return Ok(DriveReport {
                shards: first.shards,
                ..DriveReport::default()
            });
        }
        let mut runner: Box<dyn Runner + '_> = match self {
            Self::Command(line, room) => Box::new(CommandRunner::new(
                line.of_plan(&plan.path)?,
                *room,
                context,
            )),
            Self::Dask(scheduler, workers) => Box::new(DaskRunner::start(
                &plan.path,
                scheduler.as_ref(),
                *workers,
                context,
            )?),
        };
        let mut first = Some(first);
        let look = |ahead| {
            first
                .take()
                .map_or_else(|| plan.progress(ahead, context), Ok)
        };
        drive(
            &plan.path,
            &plan.shard_weights(),
            &mut *runner,
            look,
            context,
        )
    }
}
