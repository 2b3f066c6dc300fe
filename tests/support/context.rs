//! The surroundings of a stage that nothing stops and nobody watches.

use renma::artifact::NEVER;
use renma::pipeline::Context;

/// On one thread.
pub(crate) const fn context() -> Context<'static> {
    Context {
        threads: 1,
        stop: &NEVER,
        budget_spent: &NEVER,
        progress: &(),
        host: &(),
    }
}
