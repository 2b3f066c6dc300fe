//! The maximum-likelihood distribution of pair scores under a given strength.
//!
//! A pair scores 0, ¼, ½, ¾ or 1 point per game; d is that score minus ½. With X = E\[d\] and Y =
//! E\[d²\] the strength is t = X / √(Y − X²), so t is reached where X = τ√Y with τ = t / √(1 + t²).
//! For every r, (Y/r + r) / 2 is at least √Y, and equal to it where r = √Y. Then the condition is
//! linear in the shares, E\[x\] = 0 with x = d − τ/2 · (d²/r + r), and the likeliest shares are p =
//! p̂ / (1 + λx). So there are two nested searches in brackets: for λ, in which E\[x\] decreases,
//! and for r.

/// Shares of the five outcomes of a pair, from two losses to two wins.
pub type Shares = [f64; 5];

/// The scores of a pair, in points per game above ½.
pub const DEVIATIONS: [f64; 5] = [-0.5, -0.25, 0.0, 0.25, 0.5];

/// Intervals of r searched for a maximum when there may be several: the missing strength may come
/// from wins by half a point or by a whole one.
const INTERVALS: i32 = 16;

/// Bisections of such an interval. The likelihood is flat at its maximum, so half the digits of r
/// give all of its digits.
const HALVINGS: u32 = 32;

/// Limit on the rounds of a search for λ, so that it ends on every input.
const ROUNDS_MAX: u32 = 200;

/// The mean of `values`.
pub fn mean(shares: Shares, values: [f64; 5]) -> f64 {
    shares
        .iter()
        .zip(values)
        .map(|(share, value)| share * value)
        .sum()
}

/// The mean deviation in standard deviations of a pair; at least two shares must be above 0.
pub fn strength(shares: Shares) -> f64 {
    let first = mean(shares, DEVIATIONS);
    let spread = mean(
        shares,
        DEVIATIONS.map(|deviation| (deviation - first) * (deviation - first)),
    );
    first / spread.sqrt()
}

/// The shares of this strength that maximize the likelihood of the observed ones, which are all
/// above 0.
pub fn likeliest(observed: Shares, strength: f64) -> Shares {
    if strength < 0.0 {
        return reversed(likeliest(reversed(observed), -strength));
    }
    if strength == 0.0 {
        return with_mean_zero(observed, DEVIATIONS);
    }
    let tau = strength / (1.0 + strength * strength).sqrt();
    let at = |r: f64| {
        with_mean_zero(
            observed,
            DEVIATIONS.map(|d| d - tau / 2.0 * (d * d / r + r)),
        )
    };
    let first = mean(observed, DEVIATIONS);
    let second = mean(observed, DEVIATIONS.map(|d| d * d));
    let room = first * first - tau * tau * second;
    if 0.0 < first && 0.0 < room {
        // Too strong: the shares of at most this strength are a convex set, so there is one
        // maximum. It lies between the two r for which the observed shares satisfy the linear
        // condition.
        let high = (first + room.sqrt()) / tau;
        return at(meeting(second / high, high, at));
    }
    // Too weak: a point won by chance alone gives r = τ/4, and no r exceeds ½.
    let (low, high) = (tau / 4.0, 0.5);
    let edge = |number: i32| low * libm::pow(high / low, f64::from(number) / f64::from(INTERVALS));
    let mut best: Option<(f64, Shares)> = None;
    let mut above = true;
    for number in 1..=INTERVALS {
        let above_next = number < INTERVALS && is_above(edge(number), at);
        if above && !above_next {
            let shares = at(meeting(edge(number - 1), edge(number), at));
            let likelihood = mean(observed, shares.map(libm::log));
            if best.is_none_or(|(best, _)| best < likelihood) {
                best = Some((likelihood, shares));
            }
        }
        above = above_next;
    }
    best.expect("√Y is above the first edge and not above the last")
        .1
}

/// Whether √Y of the likeliest shares is above `r`.
fn is_above(r: f64, at: impl Fn(f64) -> Shares) -> bool {
    r * r < mean(at(r), DEVIATIONS.map(|d| d * d))
}

/// The r at which √Y falls below r; `low` < r ≤ `high` must hold.
fn meeting(mut low: f64, mut high: f64, at: impl Fn(f64) -> Shares) -> f64 {
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if is_above(middle, &at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// The maximum-likelihood shares under which `values` have mean 0; some values must be below 0 and
/// some above.
///
/// The least value is −1 after scaling, and λ = 1 − e with e in (0, 1]. Then the share at the least
/// value is p̂ / e, without a difference of near numbers where e is tiny.
fn with_mean_zero(observed: Shares, values: [f64; 5]) -> Shares {
    let values = if mean(observed, values) < 0.0 {
        values.map(|value| -value)
    } else {
        values
    };
    let scale = -values.into_iter().fold(f64::INFINITY, f64::min);
    let values = values.map(|value| value / scale);
    let (mut low, mut high, mut e) = (0.0, 1.0, 1.0);
    for _ in 0..ROUNDS_MAX {
        let (mut first, mut slope) = (0.0, 0.0);
        for (share, value) in observed.iter().zip(values) {
            let ratio = value / weight(value, e);
            first += share * ratio;
            slope += share * ratio * ratio;
        }
        if 0.0 < first {
            high = e;
        } else {
            low = e;
        }
        // Newton's step, or the middle where that would leave the bracket.
        let newton = e - first / slope;
        let next = if low < newton && newton < high {
            newton
        } else {
            low + (high - low) / 2.0
        };
        if (next - e).abs() <= 8.0 * f64::EPSILON * e {
            break;
        }
        e = next;
    }
    std::array::from_fn(|outcome| observed[outcome] / weight(values[outcome], e))
}

/// 1 + λ · `value` for λ = 1 − `e`.
fn weight(value: f64, e: f64) -> f64 {
    (1.0 + value) - e * value
}

fn reversed(mut shares: Shares) -> Shares {
    shares.reverse();
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    /// Five counts, some of them 0, as shares.
    fn shares(exponents: [u32; 5]) -> Shares {
        let counts = exponents.map(|exponent| libm::pow(10.0, f64::from(exponent) - 3.0));
        let sum: f64 = counts.iter().sum();
        counts.map(|count| count / sum)
    }

    proptest! {
        #[test]
        fn the_likeliest_shares_have_the_strength_asked_for(
            exponents: [u8; 5],
            wanted in -2.5..2.5_f64,
        ) {
            let found = likeliest(shares(exponents.map(|exponent| u32::from(exponent % 9))), wanted);
            prop_assert!(found.iter().all(|&share| 0.0 < share), "{found:?}");
            let sum: f64 = found.iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-12, "sum {sum}: {found:?}");
            let first = mean(found, DEVIATIONS);
            let second = mean(found, DEVIATIONS.map(|d| d * d));
            let error = first - wanted * (second - first * first).max(0.0).sqrt();
            prop_assert!(error.abs() < 1e-9, "error {error:e}: {found:?}");
        }

        #[test]
        fn no_other_shares_of_that_strength_are_likelier(exponents: [u8; 5], others: [u8; 5]) {
            let observed = shares(exponents.map(|exponent| u32::from(exponent % 9)));
            let other = shares(others.map(|exponent| u32::from(exponent % 9)));
            let wanted = strength(other);
            if wanted.abs() < 2.5 {
                let found = likeliest(observed, wanted);
                let likelihood = |shares: Shares| mean(observed, shares.map(libm::log));
                let lead = likelihood(found) - likelihood(other);
                prop_assert!(-1e-9 < lead, "{lead:e}: {found:?} for {other:?}");
            }
        }
    }

    #[test]
    fn shares_that_have_the_strength_already_are_left_alone() {
        for exponents in [
            [3, 4, 5, 4, 3],
            [1, 2, 3, 4, 5],
            [5, 4, 3, 2, 1],
            [0, 6, 0, 2, 4],
        ] {
            let observed = shares(exponents);
            let found = likeliest(observed, strength(observed));
            assert!(
                found
                    .iter()
                    .zip(observed)
                    .all(|(a, b)| (a - b).abs() < 1e-9),
                "{found:?} for {observed:?}"
            );
        }
    }
}
