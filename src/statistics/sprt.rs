//! The sequential test: a generalized likelihood ratio of two strengths, from the five counts of
//! pairs.
//!
//! Strengths are in normalized Elo (Van den Bergh, "Normalized Elo in practice", 2021): the
//! expected score of a game minus ½, in standard deviations of a game, times 800 / ln 10. It
//! determines how many games show a difference, whatever the share of draws and however unbalanced
//! the openings.

use super::likelihood::{Shares, likeliest, mean, strength};
use super::pairs::PairCounts;
use crate::exit_code;
use serde::{Deserialize, Serialize};

/// Normalized Elo of one standard deviation per game.
const NELO: f64 = 800.0 / std::f64::consts::LN_10;

/// The count used for an outcome that never happened, so that no likelihood is 0.
const UNSEEN: f64 = 1e-3;

/// What a match decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The candidate is stronger.
    Accepted,
    /// The candidate is weaker.
    Rejected,
    /// The games do not tell.
    Inconclusive,
}

impl Verdict {
    /// Its word in files, reports and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The exit code that says so.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Accepted => exit_code::DONE,
            Self::Rejected => exit_code::REJECTED,
            Self::Inconclusive => exit_code::INCONCLUSIVE,
        }
    }
}

/// A sequential test where it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequentialTest {
    /// Normalized Elo of a candidate to reject.
    pub nelo0: f64,
    /// Normalized Elo of a candidate to accept.
    pub nelo1: f64,
    /// The risk of accepting at `nelo0`.
    pub alpha: f64,
    /// The risk of rejecting at `nelo1`.
    pub beta: f64,
    /// The log-likelihood ratio of `nelo1` to `nelo0`.
    pub llr: f64,
    /// Where the candidate is rejected.
    pub llr_low: f64,
    /// Where it is accepted.
    pub llr_high: f64,
    /// Without a decision, the mean number of further pairs needed if the true strength is the
    /// observed one.
    pub pairs_forecast: Option<u64>,
}

/// A test of the strength `nelo1` against the strength `nelo0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hypotheses {
    /// Normalized Elo of a candidate that should be rejected.
    pub nelo0: f64,
    /// Normalized Elo of a candidate that should be accepted; above `nelo0`.
    pub nelo1: f64,
    /// The risk of accepting at `nelo0`.
    pub alpha: f64,
    /// The risk of rejecting at `nelo1`.
    pub beta: f64,
}

impl Hypotheses {
    /// The log-likelihood ratios at which the test ends: rejected at the first, accepted at the
    /// second (Wald, 1945).
    ///
    /// The overshoot at a look is not corrected for; it makes the risks smaller than stated.
    pub fn bounds(&self) -> [f64; 2] {
        [
            libm::log(self.beta / (1.0 - self.alpha)),
            libm::log((1.0 - self.beta) / self.alpha),
        ]
    }

    /// The log-likelihood ratio of `nelo1` to `nelo0`; pairs by half points from none to four.
    pub fn llr(&self, pairs: PairCounts) -> f64 {
        mean(regular(pairs), self.log_ratios(pairs))
    }

    /// The decision on these counts, if there is one.
    pub fn decide(&self, pairs: PairCounts) -> Option<Verdict> {
        let [low, high] = self.bounds();
        match self.llr(pairs) {
            llr if high <= llr => Some(Verdict::Accepted),
            llr if llr <= low => Some(Verdict::Rejected),
            _ => None,
        }
    }

    /// The mean number of further pairs needed if the true strength is the observed one; `None`
    /// after a decision.
    pub fn forecast(&self, pairs: PairCounts) -> Option<u64> {
        let count: u64 = pairs.iter().sum();
        if count == 0 || self.decide(pairs).is_some() {
            return None;
        }
        let ratios = self.log_ratios(pairs);
        let llr = mean(regular(pairs), ratios);
        let drift = llr / count as f64;
        // Pairs with one outcome have none, and rounding or what is added for unseen outcomes must
        // not make it negative.
        let variance =
            (mean(shares(pairs), ratios.map(|ratio| ratio * ratio)) - drift * drift).max(0.0);
        let [low, high] = self.bounds();
        Some(exit_time(drift, variance, llr - low, high - llr).ceil() as u64)
    }

    /// The state of the test as the verdict records it.
    pub fn state(&self, pairs: PairCounts) -> SequentialTest {
        let [llr_low, llr_high] = self.bounds();
        let &Self {
            nelo0,
            nelo1,
            alpha,
            beta,
        } = self;
        let (llr, pairs_forecast) = (self.llr(pairs), self.forecast(pairs));
        SequentialTest {
            nelo0,
            nelo1,
            alpha,
            beta,
            llr,
            llr_low,
            llr_high,
            pairs_forecast,
        }
    }

    /// For each outcome of a pair, the log ratio of its maximum-likelihood shares at `nelo1` and
    /// `nelo0`.
    fn log_ratios(&self, pairs: PairCounts) -> [f64; 5] {
        let observed = shares(pairs);
        let [shares0, shares1] =
            [self.nelo0, self.nelo1].map(|nelo| likeliest(observed, pair_strength(nelo)));
        std::array::from_fn(|outcome| libm::log(shares1[outcome] / shares0[outcome]))
    }
}

/// The observed normalized Elo; if all pairs had the same outcome it is large and means little.
pub fn nelo(pairs: PairCounts) -> f64 {
    strength(shares(pairs)) / std::f64::consts::SQRT_2 * NELO
}

/// A strength in standard deviations of a pair: compared with one game, a pair has twice the lead
/// and √2 times the deviation.
fn pair_strength(nelo: f64) -> f64 {
    std::f64::consts::SQRT_2 * nelo / NELO
}

fn regular(pairs: PairCounts) -> [f64; 5] {
    pairs.map(|count| if count == 0 { UNSEEN } else { count as f64 })
}

fn shares(pairs: PairCounts) -> Shares {
    let counts = regular(pairs);
    let sum: f64 = counts.iter().sum();
    counts.map(|count| count / sum)
}

/// The mean number of steps in which a random walk with this drift and variance per step leaves an
/// interval, starting `below` above its low end and `above` below its high end (Brownian motion).
fn exit_time(drift: f64, variance: f64, below: f64, above: f64) -> f64 {
    if drift < 0.0 {
        return exit_time(-drift, variance, above, below);
    }
    let width = below + above;
    let pull = 2.0 * drift / variance;
    if pull * width < 1e-5 {
        return below * above / variance;
    }
    let upward = libm::expm1(-pull * below) / libm::expm1(-pull * width);
    (upward * width - below) / drift
}

#[cfg(test)]
mod tests {
    use super::super::likelihood::DEVIATIONS;
    use super::*;
    use crate::random::{RandomStream, Stream, stream};
    use proptest::prelude::{prop_assert, proptest};
    use rayon::prelude::{IntoParallelIterator, ParallelIterator};

    const fn between(nelo0: f64, nelo1: f64) -> Hypotheses {
        Hypotheses {
            nelo0,
            nelo1,
            alpha: 0.05,
            beta: 0.05,
        }
    }

    #[test]
    fn the_ratios_are_those_of_the_exact_method() {
        for (pairs, nelo0, nelo1, expected) in [
            ([39, 8843, 26675, 9240, 44], 0.5, 2.5, 2.941_675_21),
            ([10, 30, 50, 40, 20], 0.0, 5.0, 0.512_504_63),
            ([0, 0, 0, 0, 100], 0.0, 5.0, 2.014_379_72),
            ([0, 0, 100, 0, 0], 0.0, 5.0, -0.037_539_88),
            ([5, 20, 60, 30, 10], -3.0, 1.0, 0.354_447_69),
        ] {
            let llr = between(nelo0, nelo1).llr(pairs);
            assert!((llr - expected).abs() < 1e-8, "{pairs:?}: {llr}");
        }
    }

    #[test]
    fn the_bounds_are_those_of_wald() {
        let [low, high] = between(0.0, 5.0).bounds();
        assert!(
            (high - 2.944_438_979).abs() < 1e-9 && (low + high).abs() < 1e-12,
            "{low} {high}"
        );
        let [low, high] = Hypotheses {
            alpha: 0.01,
            beta: 0.1,
            ..between(0.0, 5.0)
        }
        .bounds();
        assert!(
            (high - libm::log(90.0)).abs() < 1e-12 && (low - libm::log(0.1 / 0.99)).abs() < 1e-12
        );
    }

    /// Equal pairs, one after another, until the test ends.
    fn pairs_to_end(test: Hypotheses, outcome: usize) -> (u64, Verdict) {
        let mut pairs = [0; 5];
        loop {
            pairs[outcome] += 1;
            if let Some(decision) = test.decide(pairs) {
                return (pairs[outcome], decision);
            }
            assert!(
                pairs[outcome] < 100_000,
                "{pairs:?}: LLR {}",
                test.llr(pairs)
            );
        }
    }

    #[test]
    fn sweeps_and_draws_end_the_test() {
        // A sweep has strength t under the shares (1 ± τ) / 2 of its outcome and of the opposite
        // one, τ² = t² / (1 + t²); draws have it if τ² of the pairs are won. At strength 0 those
        // are ½ and 0.
        for (nelo0, nelo1) in [(0.0, 50.0), (0.0, 5.0), (-50.0, 0.0), (-3.0, 0.0)] {
            let strength = pair_strength(nelo0 + nelo1).abs();
            let tau = strength / (1.0 + strength * strength).sqrt();
            let (wins, losses, draws) = (
                libm::log1p(tau),
                -libm::log1p(-tau),
                -libm::log1p(-tau * tau),
            );
            let upward = [losses, draws, wins];
            let rates = if nelo0 < 0.0 {
                [wins, draws, losses]
            } else {
                upward
            };
            let half_way = if nelo0 < 0.0 {
                Verdict::Accepted
            } else {
                Verdict::Rejected
            };
            let decisions = [Verdict::Rejected, half_way, Verdict::Accepted];
            for ((outcome, rate), expected) in [0, 2, 4].into_iter().zip(rates).zip(decisions) {
                let (pairs, decision) = pairs_to_end(between(nelo0, nelo1), outcome);
                assert_eq!(decision, expected, "[{nelo0}, {nelo1}], outcome {outcome}");
                let wanted = between(nelo0, nelo1).bounds()[1] / rate;
                assert!(
                    (pairs as f64 - wanted).abs() < 2.0 + 0.02 * wanted,
                    "[{nelo0}, {nelo1}], outcome {outcome}: {pairs}, {wanted}"
                );
            }
        }
    }

    #[test]
    fn a_clean_sweep_forecasts_the_pairs_that_are_left() {
        for (pairs, test, expected) in [
            ([0, 0, 0, 0, 4], between(0.0, 50.0), 11..=15),
            ([0, 0, 0, 0, 20], between(0.0, 10.0), 50..=58),
            ([20, 0, 0, 0, 0], between(0.0, 10.0), 47..=55),
        ] {
            let forecast = test.forecast(pairs).unwrap();
            assert!(expected.contains(&forecast), "{pairs:?}: {forecast}");
        }
    }

    #[test]
    fn no_pairs_decide_nothing_and_forecast_nothing() {
        let test = between(0.0, 10.0);
        assert_eq!(test.decide([0; 5]), None);
        assert_eq!(test.forecast([0; 5]), None);
        assert!(nelo([0; 5]).abs() < 1e-9);
    }

    #[test]
    fn a_forecast_is_the_mean_exit_time_of_the_walk() {
        // From the start, at a hypothesis and half way between them; the variance of a step is (t1
        // - t0)^2.
        let [low, high] = between(0.0, 10.0).bounds();
        for (nelo1, at_hypothesis, at_middle) in [
            (10.0, 3_200.0, 5_231.0),
            (20.0, 800.0, 1_308.0),
            (50.0, 128.0, 209.0),
        ] {
            let variance = pair_strength(nelo1) * pair_strength(nelo1);
            for (drift, expected) in [
                (variance / 2.0, at_hypothesis),
                (-variance / 2.0, at_hypothesis),
                (0.0, at_middle),
            ] {
                let steps: f64 = exit_time(drift, variance, -low, high);
                assert!(
                    (steps / expected - 1.0).abs() < 0.01,
                    "{nelo1} {drift}: {steps}"
                );
            }
        }
        // Counts that show nearly half of nelo1: as far from the end as at the start.
        let (test, even, strong) = (
            between(0.0, 10.0),
            [200, 50, 500, 50, 213],
            [30, 10, 60, 10, 40],
        );
        assert!((nelo(even) - 5.0).abs() < 0.5 && test.llr(even).abs() < 0.1);
        let forecast = test.forecast(even).unwrap();
        assert!((5_000..=5_300).contains(&forecast), "{forecast}");
        // Stronger than nelo1 the walk goes straight to its end.
        let straight = (test.bounds()[1] / test.llr(strong) - 1.0) * 150.0;
        let forecast = test.forecast(strong).unwrap() as f64;
        assert!(
            0.9 * straight < forecast && forecast < straight + 1.0,
            "{forecast} {straight}"
        );
    }

    proptest! {
        #[test]
        fn every_count_has_a_finite_ratio_that_turns_with_the_board(pairs: [u16; 5], bounds in (-300.0..300.0_f64, 0.5..300.0_f64)) {
            let pairs = pairs.map(|count| if count % 3 == 0 { 0 } else { u64::from(count) });
            let (nelo0, nelo1) = (bounds.0, bounds.0 + bounds.1);
            let llr = between(nelo0, nelo1).llr(pairs);
            prop_assert!(llr.is_finite());
            let mut turned = pairs;
            turned.reverse();
            let back = between(-nelo1, -nelo0).llr(turned);
            prop_assert!((llr + back).abs() <= 1e-6 * (1.0 + llr.abs()), "{llr} {back}");
            let (forecast, decided) = (between(nelo0, nelo1).forecast(pairs), between(nelo0, nelo1).decide(pairs));
            prop_assert!(forecast.is_none() == (decided.is_some() || pairs == [0; 5]), "{forecast:?} {decided:?}");
        }
    }

    /// Two equal Othello players with few draws: pairs are split, or decided by the luck of the
    /// opening.
    const EVEN: Shares = [0.13, 0.04, 0.66, 0.04, 0.13];

    /// [`EVEN`] tilted by exp(κd) until it has exactly this strength.
    fn tilted(nelo: f64) -> Shares {
        let tilt = |kappa: f64| {
            let raised: Shares =
                std::array::from_fn(|at| EVEN[at] * libm::exp(kappa * DEVIATIONS[at]));
            let sum: f64 = raised.iter().sum();
            raised.map(|share| share / sum)
        };
        let (mut low, mut high) = (-10.0, 10.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if strength(tilt(middle)) < pair_strength(nelo) {
                low = middle;
            } else {
                high = middle;
            }
        }
        tilt(low)
    }

    /// One gate against a player with the given shares, with a look every `batch` pairs and no
    /// limit.
    fn simulate(
        test: Hypotheses,
        shares: Shares,
        batch: u64,
        rng: &mut RandomStream,
    ) -> (Verdict, u64) {
        let mut pairs = [0; 5];
        loop {
            for _ in 0..batch {
                let mut rest = rng.unit();
                let outcome = shares[..4].iter().position(|share| {
                    rest -= share;
                    rest < 0.0
                });
                pairs[outcome.unwrap_or(4)] += 1;
            }
            if let Some(decision) = test.decide(pairs) {
                return (decision, pairs.iter().sum());
            }
        }
    }

    /// The share of accepted gates at this true strength, and the mean of their pairs.
    fn simulated(test: Hypotheses, nelo: f64, batch: u64, gates: u64) -> (f64, f64) {
        let shares = tilted(nelo);
        assert!((strength(shares) - pair_strength(nelo)).abs() < 1e-12);
        let results: Vec<(Verdict, u64)> = (0..gates)
            .into_par_iter()
            .map(|gate| {
                simulate(
                    test,
                    shares,
                    batch,
                    &mut stream(nelo.to_bits(), Stream::GateOpening(0, gate)),
                )
            })
            .collect();
        let accepted = results
            .iter()
            .filter(|(decision, _)| *decision == Verdict::Accepted)
            .count() as f64
            / gates as f64;
        let pairs = results.iter().map(|(_, pairs)| pairs).sum::<u64>() as f64 / gates as f64;
        (accepted, pairs)
    }

    /// Simulates gates at both hypotheses and halfway between, and compares them with the risks and
    /// the theory.
    fn check_simulated(test: Hypotheses, batch: u64, gates: u64) {
        // Three standard errors of a share of 5 %, and of one of 50 %.
        let [risk, even] =
            [0.05_f64, 0.5].map(|share| 3.0 * (share * (1.0 - share) / gates as f64).sqrt());
        let [at0, middle, at1] = [0.0, 0.5, 1.0].map(|place| {
            simulated(
                test,
                test.nelo0 + place * (test.nelo1 - test.nelo0),
                batch,
                gates,
            )
        });
        assert!(at0.0 <= test.alpha + risk, "accepted at nelo0: {at0:?}");
        assert!(
            1.0 - test.beta - risk <= at1.0,
            "accepted at nelo1: {at1:?}"
        );
        assert!(
            (middle.0 - 0.5).abs() <= even,
            "accepted half way: {middle:?}"
        );
        // A look finds the walk beyond a bound by 0.583 standard deviations of what happened since
        // the last one (Siegmund, "Sequential Analysis", 1985, corollary 8.33).
        let step = pair_strength(test.nelo1 - test.nelo0);
        let beyond = 0.583 * step * (batch as f64).sqrt();
        let [below, above] = test.bounds().map(|bound| bound.abs() + beyond);
        for (pairs, drift) in [
            (at0.1, -step * step / 2.0),
            (middle.1, 0.0),
            (at1.1, step * step / 2.0),
        ] {
            let expected = exit_time(drift, step * step, below, above);
            let ratio = pairs / expected;
            assert!(
                (ratio - 1.0).abs() < 0.05 + 2.0 / (gates as f64).sqrt(),
                "{pairs} pairs, {expected} expected"
            );
        }
    }

    #[test]
    fn simulated_gates_err_as_rarely_as_they_say() {
        check_simulated(between(0.0, 40.0), 8, 400);
    }

    #[test]
    #[ignore = "slow: 10,000 gates at each of three strengths, twice, a minute on two cores"]
    fn ten_thousand_simulated_gates_err_as_rarely_as_they_say() {
        check_simulated(between(0.0, 10.0), 32, 10_000);
        check_simulated(between(0.0, 50.0), 8, 10_000);
    }
}
