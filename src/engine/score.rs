//! Scores in millidiscs and in discs, as separate types.

use std::ops::{Add, Neg, Sub};

/// A score in millidiscs from the side to move.
///
/// Search results lie between [`Score::MIN`] and [`Score::MAX`]; a static value may lie beyond
/// them.
///
/// Discs become millidiscs by an explicit conversion only:
///
/// ```
/// use renma::engine::score::{Discs, Score};
/// let score: Score = Discs(3).into();
/// assert_eq!(score, Score(3_000));
/// assert_eq!((-score).discs(), -3.0); // as the opponent sees it
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::score::{Discs, Score};
/// let score: Score = Discs(3);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Score(pub i32);

/// A difference in discs from the side to move, empty squares counted for the winner.
///
/// ```
/// use renma::engine::score::{Discs, Score};
/// let margin: Discs = Discs::rounded(Score(2_600));
/// assert_eq!(margin, Discs(3));
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::score::{Discs, Score};
/// let margin: Discs = Score(2_600);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Discs(pub i32);

impl Score {
    /// One disc.
    pub const DISC: Self = Self(1_000);
    /// Every disc won.
    pub const MAX: Self = Self(64 * Self::DISC.0);
    /// Every disc lost.
    pub const MIN: Self = Self(-Self::MAX.0);

    /// The size of the score, whoever it favors.
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }

    /// The score in discs, with its fraction.
    pub fn discs(self) -> f64 {
        Self::in_discs(self.0.into())
    }

    /// A mean of scores or of their sizes, from millidiscs to discs.
    pub fn in_discs(millidiscs: f64) -> f64 {
        millidiscs / f64::from(Self::DISC.0)
    }

    /// Discs with a fraction as millidiscs.
    pub fn in_millidiscs(discs: f64) -> f64 {
        discs * f64::from(Self::DISC.0)
    }

    /// Whether this is a whole number of discs.
    pub const fn is_whole(self) -> bool {
        self.0 % Self::DISC.0 == 0
    }

    /// Whether a finished game can have this score: an even number of discs, because empty squares
    /// count for the winner.
    pub const fn is_final(self) -> bool {
        self.0 % (2 * Self::DISC.0) == 0
    }

    /// Whether a position can have this score.
    pub fn is_possible(self) -> bool {
        (Self::MIN..=Self::MAX).contains(&self)
    }

    /// The size of the difference, in millidiscs.
    pub const fn abs_diff(self, other: Self) -> u32 {
        self.0.abs_diff(other.0)
    }
}

impl Discs {
    /// Every disc won.
    pub const MAX: Self = Self(64);
    /// Every disc lost.
    pub const MIN: Self = Self(-64);

    /// The nearest whole number of discs; halves are rounded away from zero.
    pub const fn rounded(score: Score) -> Self {
        Self((score.0 + score.0.signum() * Score::DISC.0 / 2) / Score::DISC.0)
    }

    /// The whole discs of a score; the fraction is dropped.
    #[inline]
    pub const fn truncated(score: Score) -> Self {
        Self(score.0 / Score::DISC.0)
    }
}

impl From<Discs> for Score {
    #[inline]
    fn from(discs: Discs) -> Self {
        Self(discs.0 * Self::DISC.0)
    }
}

macro_rules! arithmetic {
    ($type:ident) => {
        impl Neg for $type {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl Add for $type {
            type Output = Self;

            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $type {
            type Output = Self;

            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
    };
}

arithmetic!(Score);
arithmetic!(Discs);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discs_are_rounded_or_truncated_on_both_sides_of_zero() {
        for (score, rounded, truncated) in [
            (0, 0, 0),
            (499, 0, 0),
            (500, 1, 0),
            (1_499, 1, 1),
            (64_000, 64, 64),
        ] {
            assert_eq!(Discs::rounded(Score(score)), Discs(rounded), "{score}");
            assert_eq!(Discs::rounded(Score(-score)), Discs(-rounded), "-{score}");
            assert_eq!(Discs::truncated(Score(score)), Discs(truncated), "{score}");
            assert_eq!(
                Discs::truncated(Score(-score)),
                Discs(-truncated),
                "-{score}"
            );
        }
    }
}
