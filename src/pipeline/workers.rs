//! The worker threads of a stage, and the one thread that takes what they make.

use super::parts::Sink;
use super::{Context, StageError};
use crate::artifact::PartRange;
use crate::artifact::dataset::part_range::PartItems;
use crate::engine::Stopped;
use crossbeam::channel::{Sender, bounded};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Items that may wait for the collector; more would only cost memory.
const WAITING_ITEMS: usize = 256;

/// Takes what one worker thread makes to the collector.
pub(super) struct Outbox<'a, I> {
    sender: &'a Sender<I>,
    over: &'a AtomicBool,
    context: Context<'a>,
}

impl<I> Outbox<'_, I> {
    /// Whether the collector wants more.
    pub(super) fn is_open(&self) -> bool {
        !self.context.stopped() && !self.over.load(Ordering::Relaxed)
    }

    pub(super) fn send(&self, item: I) {
        // A collector that has ended says so by the flag, and reports the reason itself.
        self.sender.send(item).unwrap_or_default();
    }
}

/// Runs `work` on every thread, and `collect` on one more, which takes the items in the order in which they come until it
/// gives `false` or the run is to stop.
pub(super) fn on_all_threads<I: Send>(
    work: impl Fn(&Outbox<'_, I>) + Sync,
    mut collect: impl FnMut(I) -> Result<bool, StageError> + Send,
    context: Context<'_>,
) -> Result<(), StageError> {
    let pool = context.pool()?;
    let over = AtomicBool::new(false);
    let (sender, receiver) = bounded(WAITING_ITEMS);
    let over = &over;
    std::thread::scope(|scope| {
        let collector = std::thread::Builder::new().name("collector".to_owned()).spawn_scoped(scope, move || {
            let mut result = Ok(true);
            // Publishing a part takes a moment: when this call is to stop, waiting items are left to the next one.
            for item in receiver.into_iter().take_while(|_| !context.stopped()) {
                result = collect(item);
                if !matches!(result, Ok(true)) {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
            result.map(|_| ())
        });
        let collector = collector.map_err(StageError::Thread)?;
        pool.broadcast(|_| work(&Outbox { sender: &sender, over, context }));
        drop(sender);
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes items from the first on until `is_enough`, at least one, and discards them; returns their number.
pub(super) fn make_until<I>(
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

/// Makes the items of ranges on all threads, claimed in order, and hands over those of each range when all are made. A spent
/// budget ends the work where a range begins.
pub(super) fn make_items<W, I: Send>(
    ranges: &[PartRange],
    worker: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, u64) -> Result<I, Stopped> + Sync,
    sink: &mut Sink<'_, Vec<I>>,
    context: Context<'_>,
) -> Result<(), StageError> {
    let items = PartItems::new(ranges);
    let (next, end) = (AtomicU64::new(0), AtomicU64::new(items.count));
    let claim = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let (range, id) = items.get(number)?;
        if id == ranges[range].first && context.is_ending() {
            end.fetch_min(number, Ordering::Relaxed);
        }
        (number < end.load(Ordering::Relaxed)).then_some((range, id))
    };
    let work = |outbox: &Outbox<'_, (usize, u64, I)>| {
        let mut worker = worker();
        while outbox.is_open() {
            let Some((range, id)) = claim() else { return };
            // A stopped worker has not made its item.
            let Ok(item) = make(&mut worker, id) else { return };
            outbox.send((range, id, item));
        }
    };
    let mut waiting: BTreeMap<usize, BTreeMap<u64, I>> = BTreeMap::new();
    let mut missing = ranges.len();
    let collect = |(range, id, item): (usize, u64, I)| {
        context.progress.advance(1);
        let made = waiting.entry(range).or_default();
        made.insert(id, item);
        if made.len() as u64 == ranges[range].count {
            let made = waiting.remove(&range).unwrap_or_default();
            sink(&ranges[range], made.into_values().collect())?;
            missing -= 1;
        }
        Ok(true)
    };
    on_all_threads(work, collect, context)?;
    if 0 < missing {
        context.check_budget()?;
        return Err(StageError::Interrupted);
    }
    Ok(())
}
