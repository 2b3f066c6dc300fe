//! Panics of libraries that are not our mistakes: they become errors, and need no separate message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// From now on, the hook of this process hears only of panics that become no errors.
pub fn hide_expected() {
    let hook = take_hook();
    set_hook(Box::new(move |panic| {
        if !EXPECTED.get() {
            hook(panic);
        }
    }));
}

/// The result of some work of a library; `None` if it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(false);
    result.ok()
}
