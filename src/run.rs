//! A run as a whole: which config makes which generation, who plays it, and how far each stage is.
//! Nothing here plays or learns, but for the trial games of a [`forecast`], and nothing that is
//! finished is ever changed but by `renma run --restart`.

pub mod claim;
pub mod config_entry;
pub mod error;
pub mod folders;
pub mod forecast;
pub mod gc;
pub mod invocation;
pub mod lineage;
pub mod log;
pub mod loss;
pub mod metrics;
pub mod models;
pub mod next;
pub mod order;
pub mod record;
pub mod requests;
pub mod restart;
pub mod snapshot;
pub mod standings;
pub mod state;
pub mod status;
pub mod workspace;
