//! How strong the engine plays against people.

use crate::engine::{Depth, Limits, MpcLevel};
use std::fmt;
use std::str::FromStr;

/// More empty squares take seconds to solve.
const EXACT_EMPTIES_MAX: u8 = 20;

/// From this level on the search is selective, where the model has statistics for it.
const SELECTIVE_MIN: u8 = 8;

/// Moves that the engine looks ahead, 1 to [`Level::MAX`]; it solves positions with up to twice as many empty squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// The strongest one.
    pub const MAX: u8 = 20;

    /// All levels from the first to this one.
    pub fn up_to(self) -> impl Iterator<Item = Self> {
        (1..=self.0).map(Self)
    }

    /// The limits of its searches.
    pub fn limits(self) -> Limits {
        let mpc = if self.0 < SELECTIVE_MIN { MpcLevel::FullWidth } else { MpcLevel::P95 };
        Limits { exact_empties: EXACT_EMPTIES_MAX.min(2 * self.0), mpc, ..Limits::full_width(Depth(self.0)) }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = text.parse().ok().filter(|level| (1..=Self::MAX).contains(level));
        level.map(Self).ok_or_else(|| format!("a level is a number from 1 to {}", Self::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_number_in_its_range() {
        for (text, depth, exact_empties) in [("1", 1, 2), ("9", 9, 18), ("20", 20, 20)] {
            let level: Level = text.parse().unwrap();
            assert_eq!((level.to_string().as_str(), level.limits().depth), (text, Depth(depth)));
            assert_eq!(level.limits().exact_empties, exact_empties);
        }
        for text in ["0", "21", "-1", "256", "", "high"] {
            assert_eq!(text.parse::<Level>(), Err("a level is a number from 1 to 20".to_owned()), "{text}");
        }
    }
}
