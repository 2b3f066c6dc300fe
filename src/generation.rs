//! The number of a generation.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::ParseIntError;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// One turn of the loop, counted from 1; the one before the first is 0, as is that of a dataset
/// that no run has made.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// Before the first.
    pub const NONE: Self = Self(0);

    /// The first.
    pub const FIRST: Self = Self(1);

    /// Those from this one to the last, which is one of them.
    pub fn to(self, last: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0..=last.0).map(Self)
    }

    /// The one that is this number of generations before, or the one before the first.
    pub const fn back(self, generations: u32) -> Self {
        Self(self.0.saturating_sub(generations))
    }
}

impl Add<u32> for Generation {
    type Output = Self;

    fn add(self, generations: u32) -> Self {
        Self(self.0 + generations)
    }
}

impl Sub<u32> for Generation {
    type Output = Self;

    fn sub(self, generations: u32) -> Self {
        Self(self.0 - generations)
    }
}

impl AddAssign<u32> for Generation {
    fn add_assign(&mut self, generations: u32) {
        self.0 += generations;
    }
}

/// How many generations lie between two.
impl Sub for Generation {
    type Output = u32;

    fn sub(self, earlier: Self) -> u32 {
        self.0 - earlier.0
    }
}

impl From<Generation> for f64 {
    fn from(generation: Generation) -> Self {
        generation.0.into()
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Generation {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}
