//! The eight symmetries of the board.

use super::square::Square;

/// A symmetry of the square: mirrored left to right (bit 0), top to bottom (bit 1), then transposed
/// about a1–h8 (bit 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symmetry(u8);

impl Symmetry {
    /// All eight, the identity first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..8).map(Self)
    }

    /// The image of a square.
    pub fn square(self, square: Square) -> Square {
        let image = self.set(square.bit());
        Square::lowest(image).expect("a symmetry maps one square to one square")
    }

    /// The image of a set of squares.
    pub fn set(self, mut set: u64) -> u64 {
        if self.0 & 1 != 0 {
            set = set.reverse_bits().swap_bytes();
        }
        if self.0 & 2 != 0 {
            set = set.swap_bytes();
        }
        if self.0 & 4 != 0 {
            set = transpose(set);
        }
        set
    }
}

/// Swaps rows and columns by three rounds of block exchanges (Warren, "Hacker's Delight", 2002,
/// section 7-3).
fn transpose(mut set: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0x0000_0000_F0F0_F0F0),
    ] {
        let swapped = (set ^ (set >> shift)) & mask;
        set ^= swapped ^ (swapped << shift);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_eight_images_of_a_square_are_those_of_geometry() {
        let square: Square = "b1".parse().unwrap();
        let images: BTreeSet<String> = Symmetry::all()
            .map(|symmetry| symmetry.square(square).to_string())
            .collect();
        let expected = ["a2", "a7", "b1", "b8", "g1", "g8", "h2", "h7"];
        assert_eq!(images, expected.map(String::from).into());
    }

    #[test]
    fn transposing_swaps_rows_and_columns() {
        for square in Square::all() {
            let (column, row) = (square.number() % 8, square.number() / 8);
            assert_eq!(
                transpose(square.bit()),
                Square::at(row, column).unwrap().bit()
            );
        }
    }
}
