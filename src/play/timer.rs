//! A flag that is raised at a deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Raises a flag at a deadline, from a separate thread that sleeps until then.
pub(super) struct Timer {
    state: Arc<State>,
    flag: Arc<AtomicBool>,
    has_thread: bool,
}

#[derive(Default)]
struct State {
    alarm: Mutex<Alarm>,
    changed: Condvar,
}

#[derive(Default)]
struct Alarm {
    deadline: Option<Instant>,
    is_over: bool,
}

impl Timer {
    /// A timer without a deadline. Its thread begins with the first one.
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), flag: Arc::default(), has_thread: false }
    }

    /// The flag: raised from the deadline until it is taken back.
    pub(super) const fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    /// Sets another deadline, or none, and lowers the flag.
    pub(super) fn set(&mut self, deadline: Option<Instant>) {
        if !self.has_thread && deadline.is_some() {
            let (state, flag) = (Arc::clone(&self.state), Arc::clone(&self.flag));
            thread::spawn(move || wait(&state, &flag));
            self.has_thread = true;
        }
        let mut alarm = self.state.lock();
        alarm.deadline = deadline;
        self.flag.store(false, Ordering::SeqCst);
        drop(alarm);
        self.state.changed.notify_one();
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.state.lock().is_over = true;
        self.state.changed.notify_one();
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Alarm> {
        self.alarm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait(state: &State, flag: &AtomicBool) {
    let mut alarm = state.lock();
    while !alarm.is_over {
        let left = alarm.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        alarm = match left {
            None => state.changed.wait(alarm).unwrap_or_else(PoisonError::into_inner),
            Some(left) if left.is_zero() => {
                flag.store(true, Ordering::SeqCst);
                alarm.deadline = None;
                alarm
            }
            Some(left) => state.changed.wait_timeout(alarm, left).unwrap_or_else(PoisonError::into_inner).0,
        };
    }
}
