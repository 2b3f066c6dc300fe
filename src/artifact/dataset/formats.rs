//! The format versions of datasets, one per kind.

use super::manifest::{DatasetKind, Manifest};
use crate::artifact::format::{FormatVersion, Versioned};

/// The format version of datasets of positions, from self-play or imported.
pub type PositionsFormat = FormatVersion<2, 2>;

/// The format version of the games of a gate.
pub type GateFormat = FormatVersion<2, 2>;

/// The format version of MPC samples.
pub type MpcFormat = FormatVersion<3, 3>;

impl Versioned for Manifest {
    /// The formats of any kind; [`Manifest::read_any`] then checks that of the kind.
    type Format = FormatVersion<2, 3>;
}

impl DatasetKind {
    /// The format version that is written.
    #[must_use]
    pub const fn format(self) -> u32 {
        match self {
            Self::Selfplay | Self::Imported => PositionsFormat::CURRENT.number(),
            Self::Gate => GateFormat::CURRENT.number(),
            Self::Mpc => MpcFormat::CURRENT.number(),
        }
    }

    /// Checks a format version that was read.
    pub(super) fn check_format(self, format: u32) -> Result<(), String> {
        let format = Some(format);
        let checked = match self {
            Self::Selfplay | Self::Imported => PositionsFormat::try_from(format).map(|_| ()),
            Self::Gate => GateFormat::try_from(format).map(|_| ()),
            Self::Mpc => MpcFormat::try_from(format).map(|_| ()),
        };
        checked.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::dataset::games::GameRow;
    use crate::artifact::dataset::gate_games::GateGameRow;
    use crate::artifact::dataset::mpc_samples::MpcSampleRow;
    use crate::artifact::dataset::positions::PositionRow;
    use crate::artifact::table::Column;
    use crate::artifact::table::row::TableRow;

    const PAGE: &str = include_str!("../../../docs/datasets.md");

    /// The cells of the rows of the table on the page that comes after this text, without its head.
    fn table_after(text: &str) -> Vec<Vec<&'static str>> {
        let (_, rest) = PAGE.split_once(text).unwrap();
        let rows = rest.lines().skip_while(|line| !line.starts_with("|--")).skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        rows.map(|row| row.split('|').map(str::trim).skip(1).collect()).collect()
    }

    fn check_columns(text: &str, columns: &[Column]) {
        let found = table_after(text).into_iter().flat_map(|cells| {
            // What is said of missing values is not checked.
            let data_type = cells[1].split(", null").next().unwrap_or_default();
            cells[0].split(", ").map(|name| (name.to_owned(), data_type.to_owned())).collect::<Vec<_>>()
        });
        let expected = columns.iter().map(|column| (format!("`{}`", column.name), column.data_type.to_string()));
        let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
        assert_eq!(found, expected, "{text}: docs/datasets.md on the left, the declaration on the right");
    }

    #[test]
    fn the_page_lists_every_column_in_order() {
        check_columns("\n## positions\n", PositionRow::COLUMNS);
        check_columns("\n## games\n", GameRow::COLUMNS);
        check_columns("\n## samples (mpc) and games (gate)\n", MpcSampleRow::COLUMNS);
        check_columns("| column of a gate's `games` ", GateGameRow::COLUMNS);
        let labels = PositionRow::COLUMNS.iter().skip_while(|column| column.name != "score");
        let optional = PositionRow::COLUMNS.iter().filter(|column| column.is_optional);
        let names = |column: &Column| column.name;
        assert!(optional.map(names).eq(labels.map(names)), "the page says that labels begin with `score`");
    }

    #[test]
    fn the_page_lists_the_format_of_every_kind() {
        for kind in [DatasetKind::Selfplay, DatasetKind::Imported, DatasetKind::Gate, DatasetKind::Mpc] {
            let name = format!("{kind:?}").to_lowercase();
            let rows = table_after("\n## Formats\n");
            let row = rows.iter().find(|cells| cells[0].contains(&name)).unwrap();
            assert_eq!(row[1], kind.format().to_string(), "docs/datasets.md, format of {name}");
        }
    }
}
