//! What the stages of a run share: a budget of time, a place in the run's log, and making way for a new result.

use super::arguments::WorkArguments;
use super::failure::{code_of, exit_code};
use super::output::say;
use super::session::{Session, Stopwatch};
use crate::artifact::dataset::folder::{part_indices, part_path};
use crate::artifact::dataset::foreign::first_foreign;
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::FolderLock;
use crate::artifact::publish::{exists, is_folder, is_link, remove_file, remove_folder};
use crate::artifact::table::Table;
use crate::run::folders::recipe_of;
use crate::run::log::{CallOutcome, CallRecord, append_call};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What came of a stage that met no error.
pub(super) struct Worked {
    /// The version that it made or found.
    pub(super) id: Option<String>,
    /// Whether its work had been done before.
    pub(super) skipped: bool,
    /// Its exit code.
    pub(super) code: u8,
}

impl Worked {
    /// A stage that ends with 0.
    pub(super) fn done(id: Option<&str>, skipped: bool) -> Self {
        Self { id: id.map(str::to_owned), skipped, code: exit_code::DONE }
    }
}

/// Runs a stage under its budget and notes the call in the run's log.
pub(super) fn run_stage(
    session: &Session,
    stage: &str,
    generation: Option<u32>,
    arguments: &WorkArguments,
    act: impl FnOnce() -> anyhow::Result<Worked>,
) -> anyhow::Result<ExitCode> {
    let began = unix_seconds();
    if let Some(budget) = arguments.budget {
        let spent = Duration::from_secs(began.saturating_sub(arguments.since.unwrap_or(began)));
        session.limit(budget.saturating_sub(spent));
    }
    let stopwatch = Stopwatch::start();
    let result = act();
    if let Some(log) = &arguments.log {
        let (outcome, code) = match &result {
            Ok(worked) if worked.skipped => (CallOutcome::Skipped, worked.code),
            Ok(worked) => (CallOutcome::Done, worked.code),
            Err(error) => match code_of(error) {
                code @ (exit_code::BUDGET_SPENT | exit_code::INTERRUPTED) => (CallOutcome::Stopped, code),
                code => (CallOutcome::Failed, code),
            },
        };
        let record = CallRecord {
            stage: stage.to_owned(),
            generation,
            outcome,
            code,
            began,
            seconds: stopwatch.seconds(),
            cpu_seconds: stopwatch.processor_seconds(),
            id: result.as_ref().ok().and_then(|worked| worked.id.clone()),
            error: result.as_ref().err().map(|error| format!("{error:#}")),
        };
        if let Err(error) = append_call(log, &record) {
            say(&format!("{stage}: this call is missing in its log: {error}"));
        }
    }
    result.map(|worked| ExitCode::from(worked.code))
}

/// Checks the dataset folder of a stage before its work. With `replace` one of another recipe is removed; one that holds ours, nothing, or data of another kind stays, and the stage has its say.
pub(super) fn claim_folder(
    stage: &str,
    kind: DatasetKind,
    folder: &Path,
    replace: bool,
    recipe: ContentHash,
) -> Result<(), ArtifactError> {
    let begun = check_begun(folder)?;
    let is_kind = match Manifest::read_any(folder) {
        Ok(manifest) => manifest.kind == kind,
        // Only self-play leaves parts of positions behind before it has a manifest.
        Err(ArtifactError::Missing { .. } | ArtifactError::Unfit { .. } | ArtifactError::Damaged { .. }) => {
            kind == DatasetKind::Selfplay || !exists(&folder.join(POSITIONS.name))?
        }
        Err(error) => return Err(error),
    };
    if !(replace && is_kind && begun.is_some_and(|found| found != recipe)) {
        return Ok(());
    }
    if is_link(folder)? {
        return Err(ArtifactError::refused("replace", folder, "it is a symbolic link\nname the folder itself"));
    }
    let _lock = FolderLock::take(folder)?;
    check_no_foreign(folder)?;
    say(&format!("{stage}: {} was made from other inputs; rebuilding it", folder.display()));
    remove_folder(folder)
}

/// Removes the parts of a dataset folder of this recipe beyond those that are asked for now; the others stay.
pub(super) fn drop_surplus(
    stage: &str,
    folder: &Path,
    recipe: ContentHash,
    tables: &[&Table],
    (items, parts): (u64, u64),
) -> Result<(), ArtifactError> {
    if recipe_of(folder)? != Some(recipe) {
        return Ok(());
    }
    let _lock = FolderLock::take(folder)?;
    let manifest = folder.join("manifest.json");
    if exists(&manifest)? && items < Manifest::read_any(folder)?.done {
        say(&format!("{stage}: {} holds more than the config asks for; the rest is removed", folder.display()));
        remove_file(&folder.join("verdict.json"))?;
        remove_file(&manifest)?;
    }
    for table in tables {
        for index in part_indices(folder, table)?.into_iter().filter(|index| parts <= *index) {
            remove_file(&part_path(folder, table, index as usize))?;
        }
    }
    Ok(())
}

/// The recipe by which a dataset folder was begun; where it was not, an error if anything is in it.
pub(super) fn check_begun(folder: &Path) -> Result<Option<ContentHash>, ArtifactError> {
    if !is_folder(folder)? && (is_link(folder)? || exists(folder)?) {
        return Err(ArtifactError::refused("write", folder, "it exists and is not a folder\nname a new one"));
    }
    let recipe = recipe_of(folder)?;
    if recipe.is_none() {
        check_no_foreign(folder)?;
    }
    Ok(recipe)
}

/// An error if a folder holds what no stage wrote.
fn check_no_foreign(folder: &Path) -> Result<(), ArtifactError> {
    let Some(foreign) = first_foreign(folder)? else { return Ok(()) };
    let name = foreign.strip_prefix(folder).unwrap_or(&foreign).display();
    let reason = format!("it holds {name}, which renma did not write\nmove it away, or choose another --output");
    Err(ArtifactError::refused("write", folder, reason))
}

/// Seconds since 1970, UTC.
pub(super) fn unix_seconds() -> u64 {
    // A clock before 1970 is not set; no result depends on it.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A moment as `2026-11-21T17:00:00Z`.
pub(super) fn utc(unix_seconds: u64) -> String {
    let (days, seconds) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Years that begin in March have their leap day at the end; an era of 400 years has 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A duration as people write it: `90s`, `30m`, `2h`, `1h30m`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: expected 90s, 30m, 2h or 1h30m");
    let mut rest = text;
    let mut seconds: u64 = 0;
    for (unit, factor) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((digits, others)) = rest.split_once(unit) {
            let number: u64 = digits.parse().map_err(|_| wrong())?;
            seconds = number.checked_mul(factor).and_then(|part| seconds.checked_add(part)).ok_or_else(wrong)?;
            rest = others;
        }
    }
    if text.is_empty() || !rest.is_empty() { Err(wrong()) } else { Ok(Duration::from_secs(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1h2m3s", 3723), ("0s", 0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "2", "h", "2d", "30m1h", "1.5h", "-1s", "2h ", "99999999999999999999h", "18446744073709551615h"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_days_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_280_400, "2026-11-21T17:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
