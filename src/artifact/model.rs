//! Models: immutable numbered versions in a registry, and the champion.

pub mod archive;
pub mod builtin;
pub mod champion;
pub mod closed;
pub mod document;
pub mod embedded;
pub mod features_file;
pub mod mpc_file;
pub mod name;
pub mod reference;
pub mod registry;
pub mod vectors_file;
pub mod version;
pub mod versions;
pub mod weights_file;
