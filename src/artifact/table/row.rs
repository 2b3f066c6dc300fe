//! Rows of a table as plain structs: each column is declared once, and found by its name.

use super::{Column, Layout};
use crate::engine::Score;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, UInt64Type};
use std::sync::Arc;

/// A row of a table, made by `table_rows!`.
pub trait TableRow: Sized {
    /// The columns, in the order of the file.
    const COLUMNS: &'static [Column];

    /// The rows as columns, in the order of [`TableRow::COLUMNS`].
    fn to_columns(rows: &[Self]) -> Vec<ArrayRef>;

    /// The rows of a batch, whose columns are found by name.
    ///
    /// # Errors
    ///
    /// A column that is missing, has another type, or holds a value that no row can have.
    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, String>;
}

/// A value of a row, which is stored in a column of one Arrow type.
pub trait Cell: Sized {
    /// The type of the column.
    const DATA_TYPE: DataType;

    /// Whether the value may be missing.
    const IS_OPTIONAL: bool = false;

    /// Values as a column.
    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef;

    /// Checks the values of a column; returns what gives the value in a row of it.
    ///
    /// # Errors
    ///
    /// A column of another type, or a value that a row cannot have.
    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String>;
}

macro_rules! number_cells {
    ($($number:ty as $arrow:ty),*) => {$(
        impl Cell for $number {
            const DATA_TYPE: DataType = <$arrow as ArrowPrimitiveType>::DATA_TYPE;

            fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
                Arc::new(values.map(|value| value.map(Into::into)).collect::<PrimitiveArray<$arrow>>())
            }

            fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
                let array = column.as_primitive_opt::<$arrow>().ok_or_else(|| wrong_type(column, &Self::DATA_TYPE))?;
                match array.iter().flatten().find(|&value| Self::try_from(value).is_err()) {
                    Some(value) => Err(format!("holds {value}, which is out of range")),
                    // A value under a null may be out of range; it is read as the default.
                    None => Ok(|row| Self::try_from(array.values()[row]).unwrap_or_default()),
                }
            }
        }
    )*};
}

// No column has 8 bits: they wrap in the arithmetic of readers. Results have room for millidiscs.
number_cells!(
    u64 as UInt64Type,
    i32 as Int32Type,
    u8 as Int16Type,
    i8 as Int32Type,
    f64 as Float64Type
);

impl Cell for Score {
    const DATA_TYPE: DataType = i32::DATA_TYPE;

    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        i32::to_column(values.map(|value| value.map(|score| score.0)))
    }

    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
        let value = i32::open(column)?;
        Ok(move |row| Self(value(row)))
    }
}

impl Cell for bool {
    const DATA_TYPE: DataType = DataType::Boolean;

    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        Arc::new(values.collect::<BooleanArray>())
    }

    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
        let array = column
            .as_boolean_opt()
            .ok_or_else(|| wrong_type(column, &Self::DATA_TYPE))?;
        Ok(|row| array.value(row))
    }
}

impl Cell for String {
    const DATA_TYPE: DataType = DataType::Utf8;

    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        Arc::new(values.collect::<StringArray>())
    }

    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
        let array = column
            .as_string_opt::<i32>()
            .ok_or_else(|| wrong_type(column, &Self::DATA_TYPE))?;
        Ok(|row| array.value(row).to_owned())
    }
}

impl<T: Cell> Cell for Option<T> {
    const DATA_TYPE: DataType = T::DATA_TYPE;
    const IS_OPTIONAL: bool = true;

    fn to_column(values: impl Iterator<Item = Option<Self>>) -> ArrayRef {
        T::to_column(values.map(Option::flatten))
    }

    fn open(column: &ArrayRef) -> Result<impl Fn(usize) -> Self, String> {
        let (value, nulls) = (T::open(column)?, column.nulls());
        Ok(move |row| {
            nulls
                .is_none_or(|nulls| nulls.is_valid(row))
                .then(|| value(row))
        })
    }
}

fn wrong_type(column: &ArrayRef, expected: &DataType) -> String {
    format!("has type {}, {expected} expected", column.data_type())
}

/// The column of the values of type `T`.
pub const fn column<T: Cell>(
    name: &'static str,
    layout: Layout,
    description: &'static str,
) -> Column {
    Column {
        name,
        data_type: T::DATA_TYPE,
        layout,
        description,
        is_optional: T::IS_OPTIONAL,
    }
}

/// Declares a row with its columns: `/// description`, then `name: type, Layout;`.
///
/// The description is kept in the file, with unit and point of view. An `Option` may be missing
/// where its table is nullable.
macro_rules! table_rows {
    (
        $(#[$attribute:meta])*
        pub struct $Row:ident {
            $(
                #[doc = $description:literal]
                $name:ident: $type:ty, $layout:ident;
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $Row {
            $(#[doc = $description] pub $name: $type,)*
        }

        impl crate::artifact::table::row::TableRow for $Row {
            const COLUMNS: &'static [crate::artifact::table::Column] = &[$(
                crate::artifact::table::row::column::<$type>(
                    stringify!($name),
                    crate::artifact::table::Layout::$layout,
                    $description.trim_ascii(),
                )
            ),*];

            fn to_columns(rows: &[Self]) -> Vec<arrow::array::ArrayRef> {
                vec![$(<$type as crate::artifact::table::row::Cell>::to_column(
                    rows.iter().map(|row| Some(row.$name.clone()))
                )),*]
            }

            fn from_batch(batch: &arrow::array::RecordBatch) -> Result<Vec<Self>, String> {
                $(let $name = crate::artifact::table::row::open_column::<$type>(
                    batch,
                    stringify!($name),
                )?;)*
                Ok((0..batch.num_rows()).map(|row| Self {
                    $($name: $name(row)),*
                }).collect())
            }
        }
    };
}
pub(crate) use table_rows;

/// Checks the values of a column, by name; returns what gives the value in a row of it.
///
/// # Errors
///
/// A column that is missing, or that no row can have.
pub fn open_column<T: Cell>(
    batch: &RecordBatch,
    name: &str,
) -> Result<impl Fn(usize) -> T, String> {
    let column = batch
        .column_by_name(name)
        .ok_or_else(|| format!("column {name} is missing"))?;
    T::open(column).map_err(|reason| format!("column {name} {reason}"))
}
