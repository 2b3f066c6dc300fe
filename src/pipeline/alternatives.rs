//! The keys of the tables that come in several forms.

use super::fit_mpc::task::Method;
use super::gate::task::GateMode;
use super::generate::task::OpeningChoice;
use super::search_settings::LevelSetting;
use super::train::task::{Lambda, Target};
use serde::Serialize;
use toml::Table;

/// A key that decides which others its table has.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The table.
    pub table: &'static str,
    /// The key.
    pub key: &'static str,
    /// Each form once, with values that its keys may have.
    pub tables: Vec<Table>,
}

/// Every such key.
#[must_use]
pub fn alternatives() -> Vec<Alternatives> {
    let (random_plies_min, random_plies_max) = (0, 0);
    let openings = [
        OpeningChoice::Random { random_plies_min, random_plies_max },
        OpeningChoice::All { random_plies_min },
        OpeningChoice::Book { book: "book.txt".to_owned(), random_plies_min, random_plies_max },
    ];
    let targets = [Target::Result {}, Target::Score {}, Target::Td { lambda: Lambda::constant(0.0) }];
    let methods = [Method::Line { level: LevelSetting::Percent(100) }, Method::Source { t: 0.0 }];
    let modes = [GateMode::Sprt { nelo0: 0.0, nelo1: 1.0 }, GateMode::Games {}];
    vec![
        Alternatives { table: "generate", key: "openings", tables: tables(&openings) },
        Alternatives { table: "train", key: "target", tables: tables(&targets) },
        Alternatives { table: "fit_mpc", key: "method", tables: tables(&methods) },
        Alternatives { table: "gate", key: "mode", tables: tables(&modes) },
    ]
}

fn tables(forms: &[impl Serialize]) -> Vec<Table> {
    forms.iter().map(|form| Table::try_from(form).expect("a config is plain data")).collect()
}
