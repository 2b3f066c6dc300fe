//! Decoding files of other people with a library that panics on some inputs and never finishes
//! others.

use super::error::ArtifactError;
use super::panics::caught;
use crossbeam::channel::{RecvTimeoutError, bounded};
use std::fs::{read_link, read_to_string};
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Limit on the processor time of one step, such as a footer or a batch of rows, which takes
/// milliseconds.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The limit grows by a second per this number of bytes in the file, because a step may unpack all
/// of them.
const SECOND_BYTES: u64 = 16 << 20;

/// Where the system does not report processor time: elapsed time per processor time on a busy
/// machine.
const PATIENCE: u32 = 12;

/// A library may need as much as this for a step.
const ROOM: usize = 16 << 20;

/// How often the time is checked.
const POLL: Duration = Duration::from_millis(100);

/// Decodes a step of a foreign file of this path and size. The parser can panic, as damaged footers
/// make it (measured: 4 of 900). It can also count to 2^31 for nine bytes of a footer, a list of
/// booleans to skip (parquet 60.1.0): then its thread is left behind.
///
/// # Errors
///
/// Bytes that cannot be decoded, or a system error: no thread can be started, or there is no
/// memory.
pub fn guarded<T, E>(
    path: &Path,
    size: u64,
    decode: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ArtifactError>
where
    T: Send + 'static,
    E: ToString + Send + 'static,
{
    let damaged = |reason: &str| match lacks_memory() {
        true => ArtifactError::io("decode", path, io::ErrorKind::OutOfMemory.into()),
        false => ArtifactError::damaged(path, reason),
    };
    let limit = TIME_MAX + Duration::from_secs(size / SECOND_BYTES);
    let ((running, ended), (clock_sender, clock)) = (bounded::<()>(0), bounded(1));
    let work = move || {
        let _running = running;
        clock_sender.send(clock_of_thread()).ok();
        caught(decode)
    };
    let thread = thread::Builder::new()
        .spawn(work)
        .map_err(|source| ArtifactError::io("decode", path, source))?;
    let (clock, mut waited) = (clock.recv().ok().flatten(), Duration::ZERO);
    while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        waited += POLL;
        if limit
            < clock
                .as_deref()
                .and_then(processor_time)
                .unwrap_or(waited / PATIENCE)
        {
            return Err(damaged("the Parquet reader does not finish"));
        }
    }
    let decoded = thread
        .join()
        .ok()
        .flatten()
        .ok_or_else(|| damaged("the Parquet reader gave up on it"))?;
    decoded.map_err(|error| damaged(&error.to_string()))
}

/// Whether a library that has failed may have lacked memory, which some say by a panic and others
/// by a text.
pub(super) fn lacks_memory() -> bool {
    black_box(&mut Vec::<u8>::new())
        .try_reserve_exact(ROOM)
        .is_err()
}

/// The file in which Linux reports how long this thread has run.
fn clock_of_thread() -> Option<PathBuf> {
    Some(
        Path::new("/proc")
            .join(read_link("/proc/thread-self").ok()?)
            .join("schedstat"),
    )
}

/// The first number in that file, in nanoseconds.
fn processor_time(clock: &Path) -> Option<Duration> {
    let text = read_to_string(clock).ok()?;
    text.split_whitespace()
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        decode: impl FnOnce() -> Result<u8, String> + Send + 'static,
        expected: Result<u8, &str>,
    ) {
        let found = guarded(Path::new("a"), 0, decode).map_err(|error| error.to_string());
        assert_eq!(
            found,
            expected.map_err(|reason| format!("cannot trust a: {reason}"))
        );
    }

    #[test]
    fn a_step_succeeds_or_fails_or_panics_or_exceeds_its_processor_time() {
        check(|| Ok(7), Ok(7));
        check(|| Err("no".to_owned()), Err("no"));
        check(
            || panic!("in a test"),
            Err("the Parquet reader gave up on it"),
        );
        // Sleep takes no processor time.
        let sleeps = || {
            thread::sleep(2 * POLL);
            Ok(1)
        };
        check(sleeps, Ok(1));
        let endless = || -> Result<u8, String> {
            loop {
                std::hint::spin_loop();
            }
        };
        check(endless, Err("the Parquet reader does not finish"));
    }
}
