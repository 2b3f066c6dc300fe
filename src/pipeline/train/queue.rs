//! Work of which some can begin only when other work has ended, on the threads of the current pool.

use rayon::Scope;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Does the work in `first`, and the work that each piece of it makes ready. The largest piece that is ready begins first, so that
/// the threads end at about the same time.
///
/// # Errors
///
/// The first error of `act`; work that has not begun by then is dropped.
pub(super) fn run_when_ready<W: Send, E: Send>(
    first: Vec<W>,
    size: impl Fn(&W) -> u64 + Sync,
    act: impl Fn(W) -> Result<Vec<W>, E> + Sync,
) -> Result<(), E> {
    let queue = Queue { ready: Mutex::new(Ok(Vec::new())), size, act };
    rayon::scope(|scope| queue.add(first, scope));
    queue.ready.into_inner().unwrap_or_else(PoisonError::into_inner).map(drop)
}

struct Queue<W, E, S, A> {
    /// What has not begun, or the first error.
    ready: Mutex<Result<Vec<W>, E>>,
    size: S,
    act: A,
}

impl<W: Send, E: Send, S: Fn(&W) -> u64 + Sync, A: Fn(W) -> Result<Vec<W>, E> + Sync> Queue<W, E, S, A> {
    /// Adds work, and as many tasks: each does the largest work that is ready when a thread takes it.
    fn add<'s>(&'s self, work: Vec<W>, scope: &Scope<'s>) {
        let tasks = 0..work.len();
        if let Ok(ready) = &mut *self.lock() {
            ready.extend(work);
        }
        tasks.for_each(|_| scope.spawn(|scope| self.run_next(scope)));
    }

    fn run_next<'s>(&'s self, scope: &Scope<'s>) {
        let next = self.lock().as_mut().ok().and_then(|ready| {
            let largest = (0..ready.len()).max_by_key(|&place| (self.size)(&ready[place]))?;
            Some(ready.swap_remove(largest))
        });
        match next.map(&self.act) {
            Some(Ok(more)) => self.add(more, scope),
            Some(Err(error)) => {
                if let ready @ Ok(_) = &mut *self.lock() {
                    *ready = Err(error);
                }
            }
            None => (),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Result<Vec<W>, E>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;

    /// Of a tree in which a node n < 34 has the children 3n + 1 to 3n + 3, the nodes in the order in which they were visited.
    fn visit(threads: usize, fails_at: Option<u32>) -> (Vec<u32>, Result<(), u32>) {
        let visited = Mutex::new(Vec::new());
        let act = |node: u32| {
            visited.lock().unwrap().push(node);
            let children = (1..=3).map(|child| 3 * node + child).filter(|child| *child < 100);
            if fails_at == Some(node) { Err(node) } else { Ok(children.collect()) }
        };
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let result = pool.install(|| run_when_ready(vec![0], |node| u64::from(*node), act));
        (visited.into_inner().unwrap(), result)
    }

    #[test]
    fn the_largest_ready_work_begins_first() {
        let (visited, result) = visit(1, None);
        let mut ready = vec![0];
        for node in visited {
            assert_eq!(Some(&node), ready.iter().max());
            ready.retain(|other| *other != node);
            ready.extend((1..=3).map(|child| 3 * node + child).filter(|child| *child < 100));
        }
        assert_eq!((ready, result), (vec![], Ok(())));
        let (mut visited, result) = visit(4, None);
        visited.sort_unstable();
        assert_eq!((visited, result), ((0..100).collect(), Ok(())));
    }

    #[test]
    fn after_an_error_nothing_begins() {
        let (all, _) = visit(1, None);
        assert_eq!(visit(1, Some(all[7])), (all[..=7].to_vec(), Err(all[7])));
        assert_eq!(visit(4, Some(99)).1, Err(99));
        assert_eq!(visit(4, Some(100)).1, Ok(()));
    }
}
