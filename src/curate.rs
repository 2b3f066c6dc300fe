//! Datasets of other origin, and the care of every dataset. Nothing here trains, prints or reads
//! the clock.

pub mod export;
pub mod import;
pub mod inspect;
pub mod verify;
