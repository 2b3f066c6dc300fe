//! Squares and sets of squares.

use std::fmt;
use std::str::FromStr;

/// One of the 64 squares: a1 = 0, b1 = 1, …, h8 = 63.
///
/// ```
/// use renma::engine::Square;
///
/// //   a b c d e f g h
/// // 1 0 1 2 3 4 5 6 7
/// // 2 8 9 …
/// let square: Square = "e6".parse()?;
/// assert_eq!(square.index(), 44);
/// assert_eq!(Square::at(4, 5), Some(square));
/// assert_eq!(square.to_string(), "e6");
/// assert!("i9".parse::<Square>().is_err());
/// # Ok::<(), renma::engine::SquareError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Square(u8);

impl Square {
    /// The square with this index, if it is below 64.
    pub const fn new(index: u8) -> Option<Self> {
        if index < 64 { Some(Self(index)) } else { None }
    }

    /// The square at `column` (a = 0) and `row` (1 = 0), if both are below 8.
    pub const fn at(column: u8, row: u8) -> Option<Self> {
        if column < 8 && row < 8 {
            Some(Self(row * 8 + column))
        } else {
            None
        }
    }

    /// The lowest square of a set, if it has one.
    #[inline]
    pub const fn lowest(set: u64) -> Option<Self> {
        if set == 0 {
            None
        } else {
            Some(Self(set.trailing_zeros() as u8))
        }
    }

    /// [`Square::lowest`], but a1 for the empty set, so that it costs no branch.
    #[inline(always)]
    pub(in crate::engine) const fn lowest_or_a1(set: u64) -> Self {
        Self(set.trailing_zeros() as u8 & 63)
    }

    /// 0 for a1 to 63 for h8.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The index as it is stored in files.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The set that holds this square alone.
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << (self.0 & 63)
    }

    /// All squares from a1 to h8.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..64).map(Self)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", char::from(b'a' + self.0 % 8), self.0 / 8 + 1)
    }
}

/// A text that names no square.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a square: expected a1 to h8")]
pub struct SquareError(pub String);

impl FromStr for Square {
    type Err = SquareError;

    fn from_str(text: &str) -> Result<Self, SquareError> {
        let error = || SquareError(text.chars().take(8).flat_map(char::escape_debug).collect());
        let &[column, row] = text.as_bytes() else {
            return Err(error());
        };
        let column = column.to_ascii_lowercase().wrapping_sub(b'a');
        let row = row.wrapping_sub(b'1');
        Self::at(column, row).ok_or_else(error)
    }
}

/// The squares of a set, ascending.
#[derive(Clone, Copy, Debug)]
pub struct Squares(pub u64);

impl Iterator for Squares {
    type Item = Square;

    #[inline]
    fn next(&mut self) -> Option<Square> {
        let square = Square::lowest(self.0)?;
        self.0 &= self.0 - 1;
        Some(square)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Squares {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_squares_are_inverse() {
        for square in Square::all() {
            assert_eq!(square.to_string().parse(), Ok(square));
        }
        assert_eq!("H8".parse(), Ok(Square(63)));
        for bad in ["", "a", "a0", "i1", "a9", "a11", "é1"] {
            assert!(bad.parse::<Square>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_set_knows_how_many_squares_are_left() {
        let mut squares = Squares(0x8000_0000_0000_1001);
        for left in (0..=3).rev() {
            assert_eq!(squares.len(), left);
            squares.next();
        }
    }
}
