//! Panics of libraries that are not our mistakes: they become errors, and need no separate message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is to become an error.
pub fn is_expected() -> bool {
    EXPECTED.get()
}

/// The result of some work of a library; `None` if it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(false);
    result.ok()
}
