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
        match self {
            Self::Selfplay => const { &[&GAMES, &POSITIONS] },
            Self::Imported => const { &[&IMPORTED_GAMES, &IMPORTED_POSITIONS] },
            Self::Mpc => const { &[&MPC_SAMPLES] },
            Self::Gate => const { &[&GATE_GAMES] },
        }
    }

    /// Its variant of a table, which knows the columns that may have missing values.
    pub fn table(self, named: &'static Table) -> &'static Table {
        self.tables()
            .iter()
            .find(|table| table.name == named.name)
            .unwrap_or(&named)
    }
}
