//! What lies on disk between stages: hashed, sealed, published whole, never changed.

pub mod dataset;
pub mod error;
pub mod format;
pub mod hash;
pub mod lock;
pub mod model;
pub mod output;
pub mod publish;
pub mod scratch;
pub mod seal;
pub mod step;
pub mod table;
