//! Datasets: folders of Parquet parts with a sealed manifest.

pub mod bounds;
pub mod folder;
pub mod footer;
pub mod foreign;
pub mod game_id;
pub mod games;
pub mod gate_games;
pub mod manifest;
pub mod mpc_samples;
pub mod part_range;
pub mod positions;
pub mod reading;
pub mod recipe;
pub mod tables;
pub mod verdict;
pub mod verify;
pub mod writer;
pub mod yardstick;
