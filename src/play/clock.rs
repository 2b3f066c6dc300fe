//! How long a move may take.

use std::time::Duration;

/// What each move costs besides its search, such as the time its answer takes to the other program.
/// It is reserved for every remaining move.
const MOVE_OVERHEAD: Duration = Duration::from_millis(3);
/// This much of a clock is never used.
const RESERVE: Duration = Duration::from_millis(15);
/// A search with a time limit ends early by this time, or by this share of the limit if that is
/// less.
const EARLY: Duration = Duration::from_millis(10);
const EARLY_SHARE: u32 = 10;

/// On a busy machine threads stop up to tens of milliseconds apart. A search alone where that is
/// much.
const TEAM_TIME_MIN: Duration = Duration::from_millis(250);
const TEAM_LATENESS_SHARE: u32 = 20;

/// How much of a clock the moves before exact search share, and how much of it an exact search may
/// take.
const MOVES_SHARE: f64 = 0.65;
const EXACT_SHARE: f64 = 0.6;
/// A position whose exact search is expected to take this share of the time is solved: estimates
/// are often wrong by half.
const AFFORDABLE_SHARE: f64 = 0.5;

/// Nodes of an exact search with 20 empty squares, and how many times as many one more takes: with
/// the shipped model, on positions of random play with 14 to 20 empty squares.
const NODES_AT_20: f64 = 8.2e6;
const NODES_RATIO: f64 = 2.6;
/// A slow core's nodes per second, and the gain of each further thread.
const NODES_PER_SECOND: f64 = 15e6;
const THREAD_GAIN: f64 = 0.7;

/// A time that a user gives in seconds, at most a day.
///
/// # Errors
///
/// A text that is not such a number.
pub fn parse_seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (0.001..=86_400.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or("expected a number of seconds from 0.001 to 86400")
}

/// The time that a player has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    #[expect(missing_docs, reason = "the name says it")]
    pub left: Duration,
    /// The number of moves that `left` is for; `None` is the rest of the game, or the moves before
    /// the first period.
    pub moves: Option<u32>,
    /// The time of each period that follows, and the number of its moves.
    pub period: Option<(Duration, u32)>,
}

impl Clock {
    /// The time for a move with this many empty squares, when answers arrive up to `lateness` after
    /// the end of theirs.
    pub fn budget(self, empties: u8, threads: usize, lateness: Duration) -> Duration {
        let moves = self
            .moves
            .unwrap_or_else(|| u32::from(empties).div_ceil(2))
            .max(1);
        // Late answers do not add up in full: few are as late as the latest.
        let overhead = MOVE_OVERHEAD + lateness / 4;
        let usable = self
            .left
            .saturating_sub(RESERVE + lateness)
            .saturating_sub(overhead * moves);
        if self.moves.is_some() {
            return usable / moves;
        }
        let exact_from = affordable_empties(usable.mul_f64(EXACT_SHARE), threads);
        let before = u32::from(empties.saturating_sub(exact_from)).div_ceil(2);
        let budget = if before == 0 {
            usable.mul_f64(EXACT_SHARE)
        } else {
            usable.mul_f64(MOVES_SHARE) / before
        };
        // A move that uses the main time up ends in the first period.
        self.renewed().map_or(budget, |period| {
            period.budget(empties, threads, lateness).max(budget)
        })
    }

    /// The clock at the beginning of a period.
    fn renewed(self) -> Option<Self> {
        self.period.map(|(left, moves)| Self {
            left,
            moves: Some(moves),
            ..self
        })
    }

    /// The clock after a move. A period begins when the main time is over, and the next one when
    /// its moves are played.
    pub fn after(self, elapsed: Duration) -> Self {
        match (self.moves, self.renewed()) {
            (None, Some(period)) if self.left < elapsed => period.after(elapsed - self.left),
            (Some(0 | 1), Some(period)) => period,
            (moves, _) => {
                let moves = moves.map(|moves| moves.saturating_sub(1).max(1));
                Self {
                    left: self.left.saturating_sub(elapsed),
                    moves,
                    ..self
                }
            }
        }
    }
}

/// When to end a search that may take `time`.
pub fn time_for_search(time: Duration, lateness: Duration) -> Duration {
    time.saturating_sub(EARLY.min(time / EARLY_SHARE) + lateness.min(time / 4))
}

/// Whether several threads are to share a search that may take `time`: the slowest of them decides
/// when it ends.
pub fn is_worth_a_team(time: Duration, lateness: Duration) -> bool {
    TEAM_TIME_MIN <= time && lateness <= time / TEAM_LATENESS_SHARE
}

/// The most empty squares that are likely to be solved in this time.
pub fn affordable_empties(time: Duration, threads: usize) -> u8 {
    let rate = NODES_PER_SECOND * (1.0 + THREAD_GAIN * threads.saturating_sub(1) as f64);
    let nodes = time.as_secs_f64() * AFFORDABLE_SHARE * rate;
    let empties =
        |empties: &u8| NODES_AT_20 * libm::pow(NODES_RATIO, f64::from(*empties) - 20.0) <= nodes;
    (1..=60).take_while(empties).last().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn a_game_in_which_every_move_takes_its_time_ends_in_time() {
        for seconds in [0.0, 0.01, 0.1, 1.0, 5.0, 30.0, 3600.0] {
            for lateness in [0, 5, 20].map(Duration::from_millis) {
                let mut clock = Clock {
                    left: Duration::from_secs_f64(seconds),
                    moves: None,
                    period: None,
                };
                for empties in (2..=60).rev().step_by(2) {
                    let budget = clock.budget(empties, 4, lateness);
                    assert!(budget <= clock.left, "{clock:?}");
                    clock = clock.after(budget + MOVE_OVERHEAD.min(clock.left - budget));
                }
                assert!(
                    seconds < 0.2 || RESERVE <= clock.left,
                    "{seconds} s: {clock:?}"
                );
                // Little is left over.
                assert!(
                    clock.left.as_secs_f64() <= 0.1 * seconds + 0.4,
                    "{seconds} s: {clock:?}"
                );
            }
        }
    }

    #[test]
    fn seconds_are_a_number_in_their_range() {
        assert_eq!(parse_seconds("0.25"), Ok(250 * MILLISECOND));
        for text in ["0", "-1", "nan", "inf", "86401", "", "1s"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_period_is_shared_by_its_moves() {
        let clock = Clock {
            left: Duration::from_secs(10),
            moves: Some(5),
            period: None,
        };
        let budget = clock.budget(50, 1, Duration::ZERO);
        assert!(
            1_900 * MILLISECOND < budget && budget < 2_000 * MILLISECOND,
            "{budget:?}"
        );
        let after = Clock {
            left: Duration::from_secs(8),
            moves: Some(4),
            period: None,
        };
        assert_eq!(clock.after(2_000 * MILLISECOND), after);
    }

    #[test]
    fn periods_follow_the_main_time_and_each_other() {
        let period = Some((10_000 * MILLISECOND, 2));
        let main = Clock {
            left: 4_000 * MILLISECOND,
            moves: None,
            period,
        };
        let in_period = |seconds: u32, moves| Clock {
            left: seconds * 1_000 * MILLISECOND,
            moves: Some(moves),
            period,
        };
        let budget = |clock: Clock| clock.budget(50, 1, Duration::ZERO);
        assert_eq!(
            main.after(3_000 * MILLISECOND),
            Clock {
                left: 1_000 * MILLISECOND,
                ..main
            }
        );
        // Of seven seconds three are those of the period.
        assert_eq!(main.after(7_000 * MILLISECOND), in_period(7, 1));
        assert_eq!(in_period(7, 1).after(6_000 * MILLISECOND), in_period(10, 2));
        // However little of the main time is left, a move may take what it may in the period.
        assert_eq!(
            budget(Clock {
                left: 20 * MILLISECOND,
                ..main
            }),
            budget(in_period(10, 2))
        );
        let rich = Clock {
            left: 3_600_000 * MILLISECOND,
            ..main
        };
        assert_eq!(
            budget(rich),
            budget(Clock {
                period: None,
                ..rich
            })
        );
    }

    #[test]
    fn a_search_ends_a_little_early() {
        let time = |milliseconds, lateness| {
            time_for_search(milliseconds * MILLISECOND, lateness * MILLISECOND)
        };
        assert_eq!(time(1_000, 0), 990 * MILLISECOND);
        assert_eq!(time(1_000, 30), 960 * MILLISECOND);
        assert_eq!(time(20, 0), 18 * MILLISECOND);
        assert_eq!(time(20, 500), 13 * MILLISECOND);
    }

    #[test]
    fn a_busy_machine_and_a_short_time_are_for_one_thread() {
        let worth = |milliseconds, lateness| {
            is_worth_a_team(milliseconds * MILLISECOND, lateness * MILLISECOND)
        };
        assert!(worth(250, 0) && worth(1_000, 50));
        assert!(!worth(249, 0) && !worth(1_000, 51));
    }

    #[test]
    fn more_time_and_more_threads_solve_more() {
        let at = |milliseconds, threads| affordable_empties(milliseconds * MILLISECOND, threads);
        assert_eq!((at(0, 1), at(1_100, 1), at(1_100, 4)), (0, 20, 21));
        assert!(
            (0..100_000)
                .step_by(700)
                .map(|time| at(time, 2))
                .is_sorted()
        );
    }
}
