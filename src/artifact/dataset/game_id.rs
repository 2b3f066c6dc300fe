//! The number of a game.

use crate::artifact::table::row::Cell;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::fmt;

/// The number of a game in its dataset, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameId(pub u64);

impl Cell for GameId {
    const DATA_TYPE: DataType = u64::DATA_TYPE;

    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        u64::to_column(values.map(|value| value.map(|id| id.0)))
    }

    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
        let value = u64::open(column)?;
        Ok(move |row| Self(value(row)))
    }
}

impl fmt::Display for GameId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
