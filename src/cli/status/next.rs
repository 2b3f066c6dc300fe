//! `renma status --next`: what the next generation's lines of pipeline.sh need.

use super::{moved_text, verdict_word};
use crate::artifact::error::ArtifactError;
use crate::cli::arguments::PipelineArguments;
use crate::cli::output::{print, print_json, say, thousands};
use crate::cli::session::Session;
use crate::run::lineage::{Change, Lineage};
use crate::run::next::{Generations, Next};
use crate::run::restart::Loss;
use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::io::{Errno, pread, pwrite};
use std::io::stdin;
use std::path::Path;

pub(super) fn run(session: &Session, arguments: &PipelineArguments, mut lineage: Lineage<'_>) -> anyhow::Result<()> {
    let next = if arguments.begin {
        lock(lineage.registry.folder())?;
        let change = match (arguments.from_next, arguments.restart) {
            (_, Some(generation)) => Change::Restart(generation),
            (true, None) => Change::FromNext,
            (false, None) => Change::Refuse,
        };
        // What was read before the lock may be of a run that was still at work.
        lineage = Lineage::read(lineage.given, lineage.registry, lineage.datasets)?;
        if !lineage.moved_defaults.is_empty() {
            say(&moved_text(&lineage.moved_defaults));
        }
        lineage.begin_next(change, arguments.generations.unwrap_or(Generations::Configured), announce)?
    } else {
        lineage.look_ahead()?
    };
    if session.json { print_json(&next) } else { Ok(print(&lines(&next))?) }
}

/// Locks the open file that the script has as its stdin: the lock lives as long as the script, and the stages it starts.
pub(super) fn lock(registry: &Path) -> Result<(), ArtifactError> {
    let (file, failed) = (stdin(), |error: Errno| ArtifactError::io("lock", registry, error.into()));
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // The script's process id stands in the file, for the message to others.
        Ok(()) => {
            ftruncate(&file, 0).map_err(failed)?;
            pwrite(&file, std::os::unix::process::parent_id().to_string().as_bytes(), 0).map_err(failed)?;
            Ok(())
        }
        Err(Errno::WOULDBLOCK) => {
            let mut owner = [0; 20];
            // An empty name does no harm.
            let length = pread(&file, &mut owner, 0).unwrap_or_default();
            let owner = String::from_utf8_lossy(&owner[..length]).into_owned();
            Err(ArtifactError::Busy { path: registry.to_owned(), owner })
        }
        Err(error) => Err(failed(error)),
    }
}

fn announce(loss: &Loss) {
    let generations = match loss.to {
        to if to <= loss.from => format!("generation {}", loss.from),
        to => format!("generations {} to {to}", loss.from),
    };
    say(&format!(
        "restart: removes {generations}: {} games of self-play, {} games of gates, {} versions, {:.2} CPU-hours",
        thousands(loss.games),
        thousands(loss.gate_games),
        thousands(loss.versions),
        loss.cpu_hours
    ));
}

/// One name=value per line; a list has a line for each of its values.
fn lines(next: &Next) -> String {
    let mut lines = vec![
        format!("generation={}", next.generation),
        format!("last={}", next.last),
        format!("config={}", next.config.display()),
        format!("given={}", next.given.display()),
        format!("champion={}", next.champion),
        format!("replace={}", if next.replace { "--replace" } else { "" }),
        format!("verdict={}", next.verdict.map_or("", verdict_word)),
        format!("keep={}", next.keep),
    ];
    lines.extend(next.datasets.iter().map(|folder| format!("dataset={}", folder.display())));
    lines.join("\n")
}
