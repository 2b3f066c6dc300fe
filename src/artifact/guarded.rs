//! Decoding what strangers wrote, by a library that panics at some of it and does not end with some.

use super::panics::caught;
use crossbeam::channel::{RecvTimeoutError, bounded};
use std::fs::{read_link, read_to_string};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Processor time for one step, such as a footer or a batch of rows, which takes milliseconds.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Bytes of the file for which there is another second: a step may unpack them.
const SECOND_BYTES: u64 = 16 << 20;

/// Where the system does not tell processor time, time counts that a busy machine may need for it.
const PATIENCE: u32 = 12;

/// How often the time is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Decodes a step of a foreign file of this size. The parser can panic, as damaged footers make it (measured: 4 of 900), or
/// count to 2^31 for each nine bytes of a footer that skip as many booleans (parquet 60.1.0): then its thread is left behind.
///
/// # Errors
///
/// Why the bytes cannot be decoded.
pub fn guarded<T, E>(size: u64, decode: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, String>
where
    T: Send + 'static,
    E: ToString + Send + 'static,
{
    let limit = TIME_MAX + Duration::from_secs(size / SECOND_BYTES);
    let ((sender, receiver), (place_sender, place)) = (bounded(1), bounded(1));
    let work = move || {
        place_sender.send(place_of_thread()).ok();
        sender.send(caught(decode)).ok();
    };
    thread::Builder::new().spawn(work).map_err(|error| format!("no thread can be started: {error}"))?;
    let (place, mut waited) = (place.recv().ok().flatten(), Duration::ZERO);
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(decoded) => {
                return decoded.ok_or("the Parquet reader gave up on it")?.map_err(|error| error.to_string());
            }
            Err(RecvTimeoutError::Disconnected) => return Err("the Parquet reader gave up on it".to_owned()),
            Err(RecvTimeoutError::Timeout) => {
                waited += POLL;
                let used = place.as_deref().and_then(processor_time).unwrap_or(waited / PATIENCE);
                if limit < used {
                    return Err("the Parquet reader does not come to an end with it".to_owned());
                }
            }
        }
    }
}

/// Where Linux says how long this thread has run.
fn place_of_thread() -> Option<PathBuf> {
    Some(Path::new("/proc").join(read_link("/proc/thread-self").ok()?).join("schedstat"))
}

/// The first number there, in nanoseconds.
fn processor_time(place: &Path) -> Option<Duration> {
    let text = read_to_string(place).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_or_gives_up_or_is_left_behind() {
        assert_eq!(guarded(0, || Ok::<_, String>(7)), Ok(7));
        assert_eq!(guarded(0, || Err::<(), _>("no".to_owned())), Err("no".to_owned()));
        assert_eq!(
            guarded(0, || -> Result<(), String> { panic!("in a test") }).unwrap_err(),
            "the Parquet reader gave up on it"
        );
        // Waiting is no work.
        let wait = || {
            thread::sleep(2 * POLL);
            Ok::<_, String>(())
        };
        assert_eq!(guarded(0, wait), Ok(()));
        let endless = || -> Result<(), String> {
            loop {
                std::hint::spin_loop();
            }
        };
        assert_eq!(guarded(0, endless).unwrap_err(), "the Parquet reader does not come to an end with it");
    }
}
