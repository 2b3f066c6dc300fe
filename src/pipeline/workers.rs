//! The worker threads of a stage, and the one thread that takes what they make.

use super::parts::Sink;
use super::{Context, StageError};
use crate::artifact::PartRange;
use crate::engine::Stopped;
use crossbeam::channel::bounded;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Items that may wait for the collector; more would only cost memory.
const WAITING_ITEMS: usize = 256;

/// Raises a flag if its thread panics, so that the others end soon.
struct EndsIfPanicking<'a>(&'a AtomicBool);

impl Drop for EndsIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Makes items from the first on until `is_enough`, at least one, and discards them; returns their
/// number.
pub fn make_until<I>(
    items: u64,
    mut make: impl FnMut(u64) -> Result<I, Stopped>,
    is_enough: impl Fn() -> bool,
) -> Result<u64, StageError> {
    for item in 0..items {
        make(item)?;
        if is_enough() {
            return Ok(item + 1);
        }
    }
    Ok(items)
}

/// Makes the items of ranges on all threads, claimed in order, and hands over those of each range
/// when all are made, until the sink wants no more. A spent budget ends the work where a range
/// other than the first begins: every call makes some progress.
pub fn make_items<W, I: Send>(
    ranges: &[PartRange],
    worker: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, u64) -> Result<I, Stopped> + Sync,
    sink: &mut Sink<'_, Vec<I>>,
    context: Context<'_>,
) -> Result<(), StageError> {
    let pool = context.pool()?;
    // The number of the first item of each range, and of all items.
    let (mut begins, mut count) = (Vec::new(), 0);
    for range in ranges {
        begins.push(count);
        count += range.count;
    }
    let (next, end, over) = (
        AtomicU64::new(0),
        AtomicU64::new(count),
        AtomicBool::new(false),
    );
    let claim = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let range = begins
            .partition_point(|&begin| begin <= number)
            .checked_sub(1)?;
        let id = ranges[range].first + number - begins[range];
        if 0 < range && id == ranges[range].first && context.is_ending() {
            end.fetch_min(number, Ordering::Relaxed);
        }
        let is_open = !context.stopped() && !over.load(Ordering::Relaxed);
        (is_open && number < end.load(Ordering::Relaxed)).then_some((range, id))
    };
    let mut waiting: BTreeMap<usize, BTreeMap<u64, I>> = BTreeMap::new();
    let mut missing = ranges.len();
    let mut take = |(range, id, item): (usize, u64, I)| {
        context.progress.advance(1);
        let made = waiting.entry(range).or_default();
        made.insert(id, item);
        if (made.len() as u64) < ranges[range].count {
            return Ok(true);
        }
        missing -= 1;
        let made = waiting.remove(&range).unwrap_or_default();
        sink(&ranges[range], made.into_values().collect())
    };
    let (sender, receiver) = bounded(WAITING_ITEMS);
    let wants_more = std::thread::scope(|scope| {
        let collect = || {
            let _end = EndsIfPanicking(&over);
            // Publishing a part takes a moment: when this call is to stop, waiting items are left
            // to the next one.
            let mut results = receiver
                .into_iter()
                .take_while(|_| !context.stopped())
                .map(&mut take);
            let last = results.find(|result| !matches!(result, Ok(true)));
            over.store(true, Ordering::Relaxed);
            last.unwrap_or(Ok(true))
        };
        let thread = std::thread::Builder::new().name("collector".to_owned());
        let collector = thread
            .spawn_scoped(scope, collect)
            .map_err(StageError::Thread)?;
        pool.broadcast(|_| {
            let _end = EndsIfPanicking(&over);
            let mut worker = worker();
            while let Some((range, id)) = claim() {
                // A stopped worker has not made its item.
                let Ok(item) = make(&mut worker, id) else {
                    return;
                };
                // A collector that has ended says so by the flag, and reports the reason itself.
                sender.send((range, id, item)).unwrap_or_default();
            }
        });
        drop(sender);
        collector
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if wants_more && 0 < missing {
        context.check_budget()?;
        return Err(StageError::Interrupted);
    }
    Ok(())
}
