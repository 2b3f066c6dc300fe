//! One thread that searches for the page, at the lowest priority, with a short queue before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Requests that wait for the thread. A page sends one at a time.
const QUEUE_LEN: usize = 4;

/// From the request to the end of its search. It ends with what was found by then.
const DEADLINE: Duration = Duration::from_secs(10);

/// Added to the niceness of the thread; more than any system allows is the lowest priority.
const NICENESS: i32 = 19;

type Job = Box<dyn FnOnce() + Send>;

/// One thread that works through a queue.
pub struct Pool {
    queue: SyncSender<Job>,
}

/// Raises a flag at its end, so that nothing is searched for a request that has gone.
struct RaiseOnDrop(Arc<AtomicBool>);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pool {
    /// The thread ends with the pool.
    pub fn start() -> Self {
        let (queue, jobs) = sync_channel::<Job>(QUEUE_LEN);
        thread::spawn(move || {
            // Where the priority cannot be changed, the queue alone bounds what a page can ask for.
            rustix::process::nice(NICENESS).ok();
            for job in jobs {
                job();
            }
        });
        Self { queue }
    }

    /// Does some work, which ends soon after its flag is raised: at the deadline, or as soon as
    /// nobody waits for it. `None`: too much work is waiting, the time was over before it began, or
    /// it panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Option<T> {
        let stop = Arc::new(AtomicBool::new(false));
        let guard = RaiseOnDrop(Arc::clone(&stop));
        let (sender, mut receiver) = oneshot::channel();
        let job = move || {
            if !stop.load(Ordering::Relaxed) {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&stop)));
                if let Ok(result) = result {
                    // This fails if the request has gone.
                    sender.send(result).ok();
                }
            }
        };
        // Where the queue is full, there is no result.
        self.queue.try_send(Box::new(job)).ok()?;
        let in_time = timeout(DEADLINE, &mut receiver).await;
        drop(guard);
        let result = if let Ok(result) = in_time {
            result
        } else {
            receiver.await
        };
        // Nor if the job was dropped.
        result.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(work)
    }

    /// Ends when its flag is raised.
    fn wait_for(stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    /// A request that works until it is released.
    fn spawn_waiting(
        pool: &Arc<Pool>,
        release: &Arc<AtomicBool>,
        begin: impl FnOnce() + Send + 'static,
    ) -> tokio::task::JoinHandle<Option<()>> {
        let (pool, release) = (Arc::clone(pool), Arc::clone(release));
        let work = move |_: &AtomicBool| {
            begin();
            wait_for(&release);
        };
        tokio::spawn(async move { pool.run(work).await })
    }

    #[test]
    fn a_search_ends_as_soon_as_nobody_waits_for_it() {
        let (ended, end) = channel();
        let began = Instant::now();
        on_a_runtime(async {
            let (begin, begun) = oneshot::channel();
            let work = move |stop: &AtomicBool| {
                begin.send(()).unwrap();
                wait_for(stop);
                ended.send(()).unwrap();
            };
            let request = tokio::spawn(async { Pool::start().run(work).await });
            begun.await.unwrap();
            request.abort();
            assert!(request.await.unwrap_err().is_cancelled());
            end.recv_timeout(DEADLINE).unwrap();
        });
        assert!(began.elapsed() < DEADLINE);
    }

    #[test]
    fn a_full_queue_refuses_and_a_panic_harms_one_request_only() {
        on_a_runtime(async {
            let pool = Arc::new(Pool::start());
            assert_eq!(pool.run(|_| panic!("for the test")).await, None::<()>);
            assert_eq!(pool.run(|_| 1).await, Some(1));
            let release = Arc::new(AtomicBool::new(false));
            let (begin, begun) = oneshot::channel();
            let first = spawn_waiting(&pool, &release, move || begin.send(()).unwrap());
            begun.await.unwrap();
            let waiting: Vec<_> = (0..QUEUE_LEN)
                .map(|_| spawn_waiting(&pool, &release, || {}))
                .collect();
            tokio::task::yield_now().await;
            assert_eq!(pool.run(|_| ()).await, None);
            release.store(true, Ordering::Relaxed);
            for request in waiting.into_iter().chain([first]) {
                assert_eq!(request.await.unwrap(), Some(()));
            }
            assert_eq!(pool.run(|_| 2).await, Some(2));
        });
    }
}
