//! A thread that watches over some work, such as a time limit.

use crossbeam::channel::{Receiver, bounded};
use std::thread;

/// Does the work while another thread runs `watch`, whose channel is disconnected as soon as the
/// work has ended.
pub fn watched<T>(watch: impl FnOnce(Receiver<()>) + Send, work: impl FnOnce() -> T) -> T {
    let (working, ended) = bounded(0);
    thread::scope(|scope| {
        scope.spawn(move || watch(ended));
        let result = work();
        drop(working);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::watched;
    use std::time::Duration;

    #[test]
    fn the_watcher_learns_that_the_work_has_ended() {
        let mut told = Ok(());
        let result = watched(
            |ended| told = ended.recv_timeout(Duration::from_secs(60)),
            || 7,
        );
        assert_eq!((result, told.unwrap_err().is_disconnected()), (7, true));
    }
}
