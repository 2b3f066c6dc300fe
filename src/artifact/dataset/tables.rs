//! Which tables each kind of dataset has.

use super::games::{GAMES, IMPORTED_GAMES};
use super::gate_games::GATE_GAMES;
use super::manifest::DatasetKind;
use super::mpc_samples::MPC_SAMPLES;
use super::positions::{IMPORTED_POSITIONS, POSITIONS};
use crate::artifact::table::Table;

/// The names of all tables.
pub(super) const TABLE_NAMES: [&str; 3] = [GAMES.name, POSITIONS.name, MPC_SAMPLES.name];

impl DatasetKind {
    /// Its tables in the order in which they are published, the main one last.
    pub const fn tables(self) -> &'static [&'static Table] {
        const SELFPLAY: &[&Table] = &[&GAMES, &POSITIONS];
        const IMPORTED: &[&Table] = &[&IMPORTED_GAMES, &IMPORTED_POSITIONS];
        const MPC: &[&Table] = &[&MPC_SAMPLES];
        const GATE: &[&Table] = &[&GATE_GAMES];
        match self {
            Self::Selfplay => SELFPLAY,
            Self::Imported => IMPORTED,
            Self::Mpc => MPC,
            Self::Gate => GATE,
        }
    }

    /// Its variant of a table, which knows the columns that may have missing values.
    pub fn table(self, named: &'static Table) -> &'static Table {
        self.tables().iter().find(|table| table.name == named.name).unwrap_or(&named)
    }
}
