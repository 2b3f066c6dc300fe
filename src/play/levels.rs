//! How strong the engine plays against people: levels by name, each of which beats the one before
//! it by 100 to 250 Elo.

use super::session::GameSession;
use crate::engine::{Depth, Limits, MpcLevel, SearchResult};
use crate::random::{RandomStream, Stream, stream};
use std::fmt;
use std::str::FromStr;

/// All levels, weakest first.
///
/// Each is measured with `builtin:champion` against the one before it by `cargo bench --bench
/// levels`; docs/levels.md has the games and the intervals.
pub const LEVELS: [Level; 15] = [
    weak("beginner", 0, 1, 0, -1.0, 60.0),
    weak("novice", 227, 1, 0, 1.0, 46.0),
    weak("learner", 222, 1, 0, 1.0, 17.0),
    weak("casual", 219, 1, 0, 1.0, 9.6),
    weak("amateur", 190, 1, 0, 1.0, 6.1),
    weak("regular", 223, 1, 0, 1.0, 3.5),
    weak("club", 218, 1, 0, 1.0, 1.3),
    weak("skilled", 204, 2, 4, 1.0, 1.8),
    weak("advanced", 219, 4, 8, 1.0, 2.1),
    weak("strong", 223, 4, 8, 1.0, 0.8),
    level("expert", 242, 5, 10, MpcLevel::FullWidth),
    level("veteran", 169, 6, 14, MpcLevel::FullWidth),
    level("master", 174, 8, 16, MpcLevel::P95),
    level("elite", 244, 11, 20, MpcLevel::P95),
    level("champion", 186, 15, 22, MpcLevel::P95),
];

const fn level(
    name: &'static str,
    gain: u16,
    depth: u8,
    exact_empties: u8,
    mpc: MpcLevel,
) -> Level {
    Level {
        name,
        gain,
        depth: Depth(depth),
        exact_empties,
        mpc,
        aim: 1.0,
        noise: 0.0,
    }
}

const fn weak(
    name: &'static str,
    gain: u16,
    depth: u8,
    exact_empties: u8,
    aim: f64,
    noise: f64,
) -> Level {
    Level {
        aim,
        noise,
        ..level(name, gain, depth, exact_empties, MpcLevel::FullWidth)
    }
}

/// A strength of the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Level {
    pub name: &'static str,
    /// Elo over the level before it.
    pub gain: u16,
    pub depth: Depth,
    pub exact_empties: u8,
    pub mpc: MpcLevel,
    /// What the value of a move counts for when a weak level chooses: below 0 it is drawn to bad
    /// moves, for even random play loses only 7 of 10 games to greedy play.
    pub aim: f64,
    /// The standard deviation, in discs, of the random number that a weak level adds to each value;
    /// 0 for the others.
    pub noise: f64,
}

impl Level {
    /// The one that plays unless another is chosen. Its move takes less than 100 ms.
    pub const DEFAULT: Self = LEVELS[11];

    /// Its place in [`LEVELS`], from 1.
    pub fn number(&self) -> usize {
        LEVELS
            .iter()
            .take_while(|level| level.name != self.name)
            .count()
            + 1
    }

    /// The sum of the gains up to it.
    pub fn elo(&self) -> u16 {
        LEVELS
            .iter()
            .take(self.number())
            .map(|level| level.gain)
            .sum()
    }

    /// The limits of its searches.
    pub fn limits(&self) -> Limits {
        Limits {
            exact_empties: self.exact_empties,
            mpc: self.mpc,
            ..Limits::full_width(self.depth)
        }
    }

    /// The limits of hints and values: its own, or those of [`Level::DEFAULT`] if it is a weaker
    /// one.
    pub fn advice(&self) -> Limits {
        if self.number() < Self::DEFAULT.number() {
            Self::DEFAULT.limits()
        } else {
            self.limits()
        }
    }

    /// The move that it plays in a game, with the value of that move. It depends on the position
    /// and the level alone if it is a weak one, else as [`GameSession::search`].
    pub fn choose(&self, session: &mut GameSession<'_>) -> SearchResult {
        let limits = self.limits();
        let values = (0.0 < self.noise).then(|| {
            // What hints have found would change the values.
            session.forget();
            session.move_values(limits).ok()
        });
        let position = session.game().latest().position;
        let Some((mut values, nodes)) = values.flatten().filter(|(values, _)| !values.is_empty())
        else {
            return session.search_within(limits);
        };
        values.sort_by_key(|value| value.square);
        let mut rng = stream(
            self.number() as u64,
            Stream::Noise(position.player(), position.opponent()),
        );
        let noisy = values.iter().map(|value| {
            (
                self.aim * value.score.discs() + self.noise * normal(&mut rng),
                value,
            )
        });
        let (_, best) = noisy
            .max_by(|(one, _), (other, _)| one.total_cmp(other))
            .expect("there are moves");
        let exact = position.empties() <= limits.exact_empties;
        SearchResult::finished(best.score, Some(best.square), limits.depth, exact, nodes)
    }
}

/// The name, as `--level` takes it.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Level {
    type Err = String;

    /// A number or a name.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_named = |level: &&Self| {
            level.name.eq_ignore_ascii_case(text) || text.parse() == Ok(level.number())
        };
        let expected = || {
            format!(
                "a level is a number from 1 to {}, or {}",
                LEVELS.len(),
                LEVELS.map(|level| level.name).join(", ")
            )
        };
        LEVELS.iter().find(is_named).copied().ok_or_else(expected)
    }
}

/// All levels as a table of 38 columns.
pub fn levels_text() -> String {
    let row = |level: &Level| {
        let (number, name, elo) = (level.number(), level.name, level.elo());
        format!(
            "\n{number:>5} {name:<9} {:>5} {:>5} {:>5} {elo:>4}",
            level.depth.0, level.exact_empties, level.noise
        )
    };
    format!(
        "level name      depth exact noise  Elo{}",
        LEVELS.iter().map(row).collect::<String>()
    )
}

/// A number of nearly normal distribution, the sum of twelve uniform ones: the same on every
/// machine.
fn normal(rng: &mut RandomStream) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use std::sync::atomic::AtomicBool;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_level_is_a_number_or_a_name() {
        for (number, level) in (1..).zip(LEVELS) {
            assert_eq!(level.number(), number);
            for text in [
                number.to_string(),
                level.to_string(),
                level.name.to_uppercase(),
            ] {
                assert_eq!(text.parse(), Ok(level), "{text}");
            }
        }
        for text in ["0", "16", "-1", "256", "", "high"] {
            let error = text.parse::<Level>().unwrap_err();
            assert!(
                error.starts_with("a level is a number from 1 to 15, or beginner, novice, "),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn each_level_is_stronger_than_the_one_before() {
        for (before, level) in LEVELS.iter().zip(&LEVELS[1..]) {
            assert!((100..=250).contains(&level.gain), "{level:?}");
            assert_eq!(level.elo(), before.elo() + level.gain);
            assert!(
                before.depth < level.depth || level.noise < before.noise,
                "{level:?}"
            );
        }
        assert!(
            levels_text().lines().all(|line| line.len() <= 38),
            "{}",
            levels_text()
        );
        assert_eq!(levels_text().lines().count(), 1 + LEVELS.len());
    }

    #[test]
    fn advice_is_never_weaker_than_the_default_level() {
        assert_eq!(LEVELS[0].advice(), Level::DEFAULT.limits());
        assert_eq!(LEVELS[14].advice(), LEVELS[14].limits());
    }

    #[test]
    fn noise_is_normal_with_the_deviation_of_the_level() {
        let mut rng = stream(1, Stream::Noise(1, 2));
        let drawn: Vec<f64> = (0..10_000).map(|_| normal(&mut rng)).collect();
        let mean = drawn.iter().sum::<f64>() / 1e4;
        let variance = drawn.iter().map(|noise| noise * noise).sum::<f64>() / 1e4;
        let within = drawn.iter().filter(|noise| noise.abs() < 1.0).count();
        assert!(
            mean.abs() < 0.05 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
        assert!((6_600..7_050).contains(&within), "{within}");
    }

    #[test]
    fn a_weak_level_plays_the_same_whatever_was_asked_before() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let level = LEVELS.iter().rfind(|level| 0.0 < level.noise).unwrap();
        let mut asked = GameSession::new(&model, level.limits(), &NEVER);
        for _ in 0..12 {
            let mut fresh = GameSession::new(&model, level.limits(), &NEVER);
            asked.search_within(Limits::full_width(level.depth + 2));
            for square in asked.game().moves() {
                fresh.play(Some(square)).unwrap();
            }
            let (best, other) = (level.choose(&mut fresh), level.choose(&mut asked));
            assert_eq!((other.best_move, other.score), (best.best_move, best.score));
            asked.play(best.best_move).unwrap();
        }
    }

    #[test]
    fn a_level_without_noise_plays_the_best_move_and_one_that_aims_low_the_worst() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let exact = Level {
            noise: 0.0,
            depth: Depth(2),
            ..LEVELS[10]
        };
        let low = Level {
            noise: 1e-6,
            aim: -1.0,
            ..exact
        };
        let mut session = GameSession::new(&model, exact.limits(), &NEVER);
        for _ in 0..20 {
            let (values, _) = session.move_values(exact.limits()).unwrap();
            let (best, worst) = (exact.choose(&mut session), low.choose(&mut session));
            assert_eq!(best.score, values[0].score);
            assert_eq!(worst.score, values[values.len() - 1].score);
            assert_eq!(
                (worst.depth, worst.exact, worst.stopped),
                (Depth(2), false, false)
            );
            session.play(best.best_move).unwrap();
        }
    }

    #[test]
    fn a_weak_level_that_is_stopped_says_so() {
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let stop = AtomicBool::new(true);
        let deep = Level {
            depth: Depth(12),
            ..LEVELS[3]
        };
        assert!(
            deep.choose(&mut GameSession::new(&model, deep.limits(), &stop))
                .stopped
        );
    }
}
