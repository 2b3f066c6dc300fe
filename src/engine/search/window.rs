//! Windows: the values that a search must distinguish.

use crate::engine::score::{Discs, Score};
use std::ops::Neg;

/// What the values of a window are counted in.
pub trait Unit: Copy + Ord + Neg<Output = Self> {
    /// The greatest value.
    const MAX: Self;
    /// Below every value: where a search for the best move starts.
    const NOTHING: Self;

    /// The least value above this one.
    fn successor(self) -> Self;
}

impl Unit for Score {
    const MAX: Self = Self::MAX;
    const NOTHING: Self = Self(Self::MIN.0 - 1);

    #[inline(always)]
    fn successor(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Unit for Discs {
    const MAX: Self = Self::MAX;
    const NOTHING: Self = Self(Self::MIN.0 - 1);

    #[inline(always)]
    fn successor(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The lower bound of a window: values up to this one need not be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha<U = Score>(pub U);

/// The upper bound of a window: values from this one on need not be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beta<U = Score>(pub U);

/// What a search is asked: which value between two bounds a node has, or on which side of them it
/// lies.
///
/// The type of a window is also the kind of its node, so that a branch on the kind costs nothing.
pub trait Window: Copy {
    /// Millidiscs or discs.
    type Unit: Unit;

    /// Whether there may be values between the bounds.
    const OPEN: bool;

    /// The lower bound.
    fn alpha(self) -> Self::Unit;

    /// The upper bound, which is greater than the lower one.
    fn beta(self) -> Self::Unit;

    /// The same question about a move to this node, asked of the opponent.
    fn for_opponent(self) -> Self;

    /// What is left to ask when the value is known to lie from `lower` to `upper`, which decides
    /// nothing.
    fn narrowed_to(self, lower: Self::Unit, upper: Self::Unit) -> Self;

    /// What is left to ask when a move worth `value`, which is less than beta, has been found.
    fn raised_to(self, value: Self::Unit) -> Self;

    /// Whether a value lies between the bounds.
    #[inline(always)]
    fn contains(self, value: Self::Unit) -> bool {
        self.alpha() < value && value < self.beta()
    }

    /// The window without values between its bounds that has the same lower bound.
    #[inline(always)]
    fn null(self) -> NullWindow<Self::Unit> {
        NullWindow::above(self.alpha())
    }

    /// The same bounds as an open window.
    #[inline(always)]
    fn open(self) -> OpenWindow<Self::Unit> {
        OpenWindow {
            alpha: self.alpha(),
            beta: self.beta(),
        }
    }
}

/// Whether a value is greater than `alpha`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct NullWindow<U = Score> {
    alpha: U,
}

impl<U: Unit> NullWindow<U> {
    /// Asks whether a value is greater than `alpha`.
    #[inline(always)]
    pub const fn above(alpha: U) -> Self {
        Self { alpha }
    }
}

impl<U: Unit> Window for NullWindow<U> {
    type Unit = U;
    const OPEN: bool = false;

    #[inline(always)]
    fn alpha(self) -> U {
        self.alpha
    }

    #[inline(always)]
    fn beta(self) -> U {
        self.alpha.successor()
    }

    #[inline(always)]
    fn for_opponent(self) -> Self {
        Self {
            alpha: -self.beta(),
        }
    }

    #[inline(always)]
    fn narrowed_to(self, _: U, _: U) -> Self {
        self
    }

    #[inline(always)]
    fn raised_to(self, _: U) -> Self {
        self
    }
}

/// Which value a node has, if it is greater than alpha and less than beta; alpha is less than beta.
///
/// ```
/// use renma::engine::score::Score;
/// use renma::engine::search::window::{Alpha, Beta, OpenWindow, Window};
/// let window = OpenWindow::new(Alpha(Score(-500)), Beta(Score(2_000)));
/// assert_eq!(window.for_opponent().alpha(), Score(-2_000));
/// ```
///
/// Swapped bounds do not compile:
///
/// ```compile_fail,E0308
/// use renma::engine::score::Score;
/// use renma::engine::search::window::{Alpha, Beta, OpenWindow, Window};
/// let window = OpenWindow::new(Beta(Score(2_000)), Alpha(Score(-500)));
/// assert_eq!(window.for_opponent().alpha(), Score(-2_000));
/// ```
///
/// Nor do bounds of different units:
///
/// ```compile_fail,E0308
/// use renma::engine::score::{Discs, Score};
/// use renma::engine::search::window::{Alpha, Beta, OpenWindow, Window};
/// let window = OpenWindow::new(Alpha(Score(-500)), Beta(Discs(2)));
/// assert_eq!(window.for_opponent().alpha(), Score(-2_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct OpenWindow<U = Score> {
    alpha: U,
    beta: U,
}

impl<U: Unit> OpenWindow<U> {
    /// A window between two bounds.
    #[inline(always)]
    pub fn new(Alpha(alpha): Alpha<U>, Beta(beta): Beta<U>) -> Self {
        debug_assert!(alpha < beta, "alpha is less than beta");
        Self { alpha, beta }
    }

    /// The window that every value lies in.
    #[inline(always)]
    pub fn full() -> Self {
        Self {
            alpha: -U::MAX,
            beta: U::MAX,
        }
    }
}

impl<U: Unit> Window for OpenWindow<U> {
    type Unit = U;
    const OPEN: bool = true;

    #[inline(always)]
    fn alpha(self) -> U {
        self.alpha
    }

    #[inline(always)]
    fn beta(self) -> U {
        self.beta
    }

    #[inline(always)]
    fn for_opponent(self) -> Self {
        Self {
            alpha: -self.beta,
            beta: -self.alpha,
        }
    }

    #[inline(always)]
    fn narrowed_to(self, lower: U, upper: U) -> Self {
        Self::new(Alpha(self.alpha.max(lower)), Beta(self.beta.min(upper)))
    }

    #[inline(always)]
    fn raised_to(self, value: U) -> Self {
        Self::new(Alpha(self.alpha.max(value)), Beta(self.beta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_for_the_opponent_asks_the_same_question() {
        for alpha in [-3, -1, 0, 2].map(Discs) {
            let (null, open) = (
                NullWindow::above(alpha),
                OpenWindow::new(Alpha(alpha), Beta(Discs(4))),
            );
            assert_eq!(null.for_opponent().open(), null.open().for_opponent());
            for value in (-5..=5).map(Discs) {
                assert_eq!(
                    open.contains(value),
                    open.for_opponent().contains(-value),
                    "{open:?} {value:?}"
                );
                assert_eq!(
                    null.beta() <= value,
                    -value <= null.for_opponent().alpha(),
                    "{null:?} {value:?}"
                );
            }
        }
    }
}
