//! The engine with a game on its board: what people, protocols and pages play with. It does not
//! print.

pub mod hints;
pub mod review;

use super::clock::{Clock, affordable_empties, is_worth_a_team, time_for_search};
use super::teamwork::search_together;
use crate::artifact::Model;
use crate::engine::{
    Depth, Forbidden, Game, Limits, MoveValue, Position, SearchResult, Square, Stopped, Team,
};
use crate::watcher::watched;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A transposition table of 2^17 entries, 2 MiB, stays in the second cache: searches of 60,000
/// nodes take 5 to 8 % less time than with the 2^20 of deep ones.
const TABLE_BITS: u8 = 17;
const DEEP_TABLE_BITS: u8 = 20;

/// Searches and solves beyond these limits are deep ones.
const DEPTH_MAX: Depth = Depth(15);
const SOLVED_EMPTIES_MAX: u8 = 21;

/// However long a process was stopped, its next answer is not expected to be later than this.
const LATENESS_MAX: Duration = Duration::from_secs(1);

const fn table_bits(limits: &Limits) -> u8 {
    let is_deep = DEPTH_MAX.0 < limits.depth.0
        || SOLVED_EMPTIES_MAX < limits.exact_empties
        || SOLVED_EMPTIES_MAX < limits.wld_empties;
    if is_deep { DEEP_TABLE_BITS } else { TABLE_BITS }
}

/// How an engine searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// Of every search that has no time limit.
    pub limits: Limits,
    /// Of those that have one. Fewer positions than these are solved where the time does not
    /// suffice.
    pub timed_limits: Limits,
    /// The time of each move, beside any clock.
    pub move_time: Option<Duration>,
    /// Those that search one position.
    pub threads: usize,
}

impl SearchSettings {
    /// The limits of a move beside any clock.
    const fn move_limits(&self) -> &Limits {
        if self.move_time.is_some() {
            &self.timed_limits
        } else {
            &self.limits
        }
    }
}

impl From<Limits> for SearchSettings {
    /// One thread and no time limit.
    fn from(limits: Limits) -> Self {
        Self {
            limits,
            timed_limits: limits,
            move_time: None,
            threads: 1,
        }
    }
}

/// The engine with a game on its board.
///
/// What a search finds depends on the model, the limits and what was asked since the game began:
/// earlier searches of a game help later ones. A game that does not continue the one before begins
/// with an empty table, and a search that was stopped leaves an empty one, because how far it came
/// depends on the time. With several threads or a time limit moves are not repeatable.
pub struct GameSession<'m> {
    team: Team<'m>,
    settings: SearchSettings,
    game: Game,
    /// Raised at the deadline of a timed search, until it has ended.
    alarm: Arc<AtomicBool>,
    /// By how much a timed search was late; the latest ones count most.
    lateness: Duration,
}

impl<'m> GameSession<'m> {
    /// A game before its first move. Searches keep to the settings, and end soon after `stop` is
    /// raised.
    pub fn new(
        model: &'m Model,
        settings: impl Into<SearchSettings>,
        stop: &'m AtomicBool,
    ) -> Self {
        let settings = settings.into();
        let alarm = Arc::default();
        let bits = table_bits(settings.move_limits());
        let team = Team::new(&model.evaluation, &model.mpc, bits, settings.threads);
        Self {
            team: team.stopped_by(stop).alarmed_by(&alarm),
            settings,
            game: Game::default(),
            alarm,
            lateness: Duration::ZERO,
        }
    }

    #[expect(missing_docs, reason = "the name says it")]
    pub const fn limits(&self) -> Limits {
        self.settings.limits
    }

    /// Changes the limits of every search from now on, whether it has a time limit or not.
    pub fn change_limits(&mut self, change: impl Fn(&mut Limits)) {
        change(&mut self.settings.limits);
        change(&mut self.settings.timed_limits);
        self.team
            .set_table_bits(table_bits(self.settings.move_limits()));
    }

    /// The game so far.
    pub const fn game(&self) -> &Game {
        &self.game
    }

    /// Replaces the game with another one, or with a continuation of it.
    pub fn set_game(&mut self, game: Game) {
        if !game.continues(&self.game) {
            self.team.clear();
        }
        self.game = game;
    }

    /// See [`Game::play_ply`].
    ///
    /// # Errors
    ///
    /// An illegal move; the game is unchanged.
    pub fn play(&mut self, square: Option<Square>) -> Result<(), Forbidden> {
        self.game.play_ply(square)
    }

    /// See [`Game::play_as`].
    ///
    /// # Errors
    ///
    /// An illegal move; the game is unchanged.
    pub fn play_as(&mut self, black: bool, square: Option<Square>) -> Result<(), Forbidden> {
        self.game.play_as(black, square)
    }

    /// Takes back the latest ply, if there is one.
    pub fn undo(&mut self) {
        self.game.undo();
        self.team.clear();
    }

    /// Takes back all plies after the first `plies`.
    pub fn undo_to(&mut self, plies: usize) {
        while plies < self.game.plies().len() {
            self.undo();
        }
    }

    /// See [`Game::redo`].
    pub fn redo(&mut self) -> Option<Option<Square>> {
        self.game.redo()
    }

    /// The best move with its value and the principal variation. There is no move where the side to
    /// move must pass. It takes no more than the time of a move.
    pub fn search(&mut self) -> SearchResult {
        self.search_on(None)
    }

    /// [`GameSession::search`], in no more time than the clock of the side to move allows, if it
    /// has one.
    pub fn search_on(&mut self, clock: Option<Clock>) -> SearchResult {
        let begun = Instant::now();
        let empties = self.game.latest().position.empties();
        let SearchSettings {
            limits,
            timed_limits,
            move_time,
            threads,
        } = self.settings;
        let by_clock = clock.map(|clock| clock.budget(empties, threads, self.lateness));
        let by_move = move_time.map(|time| time_for_search(time, self.lateness));
        let Some(time) = by_clock.into_iter().chain(by_move).min() else {
            return self.search_within(limits);
        };
        if self.game.must_pass() {
            // There is nothing to choose, so the time is left for the moves.
            return self.search_within(Limits::full_width(Depth(1)));
        }
        self.team.set_table_bits(table_bits(&timed_limits));
        let exact_empties = timed_limits
            .exact_empties
            .min(affordable_empties(time, threads));
        self.search_until(
            begun + time,
            Limits {
                exact_empties,
                ..timed_limits
            },
        )
    }

    /// A search that another thread ends at the deadline.
    fn search_until(&mut self, deadline: Instant, limits: Limits) -> SearchResult {
        let position = self.game.latest().position;
        let time = deadline.saturating_duration_since(Instant::now());
        let (team, alarm, lateness) = (&mut self.team, &self.alarm, self.lateness);
        let raise_alarm = |ended: Receiver<()>| {
            if ended.recv_deadline(deadline) == Err(RecvTimeoutError::Timeout) {
                alarm.store(true, Ordering::SeqCst);
            }
        };
        let result = watched(raise_alarm, || match is_worth_a_team(time, lateness) {
            true => search_together(team, |member| member.search(position, limits)),
            false => team.members().0.search(position, limits),
        });
        let is_late = self.alarm.swap(false, Ordering::SeqCst);
        let lateness = if is_late {
            deadline.elapsed().min(LATENESS_MAX)
        } else {
            Duration::ZERO
        };
        self.lateness = lateness.max(self.lateness * 7 / 8);
        result
    }

    /// [`GameSession::search`], within other limits.
    pub fn search_within(&mut self, limits: Limits) -> SearchResult {
        self.search_position(self.game.latest().position, limits)
    }

    /// Forgets what was searched: the next search is that of a new game.
    pub fn forget(&mut self) {
        self.team.clear();
    }

    /// The values of all legal moves within limits, best first, with the nodes that they took; see
    /// [`move_values`](crate::engine::search::searcher::Searcher::move_values).
    pub fn move_values(&mut self, limits: Limits) -> Result<(Vec<MoveValue>, u64), Stopped> {
        let (searcher, _) = self.team.members();
        let values = searcher.move_values(self.game.latest().position, limits);
        if values.is_err() {
            self.team.clear();
        }
        values
    }

    /// Searches any position; one of the game is found by its ply in [`Game::positions`].
    pub fn search_position(&mut self, position: Position, limits: Limits) -> SearchResult {
        let result = search_together(&mut self.team, |member| member.search(position, limits));
        if result.stopped {
            self.team.clear();
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::exchange::game_text::parse_game;
    use std::sync::atomic::Ordering;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn model() -> Model {
        (*LoadedModel::builtin(Builtin::SquareWeights).model).clone()
    }

    const LIMITS: Limits = Limits {
        exact_empties: 8,
        ..Limits::full_width(Depth(3))
    };

    fn play(session: &mut GameSession<'_>, moves: &str) {
        let mut game = session.game().clone();
        game.play_transcript(moves).unwrap();
        session.set_game(game);
    }

    #[test]
    fn a_search_depends_on_its_own_game_alone() {
        let model = model();
        let mut fresh = GameSession::new(&model, LIMITS, &NEVER);
        play(&mut fresh, "f5d6c3");
        let expected = fresh.search();
        // Another game, or a move that was taken back, leaves nothing in the table.
        let mut used = GameSession::new(&model, LIMITS, &NEVER);
        play(&mut used, "d3c5");
        used.search();
        used.set_game(fresh.game().clone());
        assert_eq!(used.search(), expected);
        play(&mut used, "d3");
        used.search();
        used.undo();
        assert_eq!(used.search(), expected);
        // The same game further on keeps it: the search is over at once.
        used.set_game(fresh.game().clone());
        assert!(used.search().nodes < expected.nodes);
    }

    #[test]
    fn a_stopped_search_leaves_no_trace() {
        let (model, stop) = (model(), AtomicBool::new(true));
        let mut stopped = GameSession::new(&model, LIMITS, &stop);
        play(&mut stopped, "f5d6");
        assert_eq!(stopped.move_values(LIMITS), Err(Stopped));
        assert_eq!(stopped.review(), Err(Stopped));
        let result = stopped.search();
        assert!(result.stopped && result.best_move.is_some());
        stop.store(false, Ordering::Relaxed);
        let mut fresh = GameSession::new(&model, LIMITS, &NEVER);
        play(&mut fresh, "f5d6");
        assert_eq!(stopped.search(), fresh.search());
    }

    #[test]
    fn limits_can_be_changed() {
        let model = model();
        let mut session = GameSession::new(&model, LIMITS, &NEVER);
        session.change_limits(|limits| limits.depth = Depth(2));
        assert_eq!(
            (session.search().depth, session.limits().depth),
            (Depth(2), Depth(2))
        );
        let (values, _) = session.move_values(session.limits()).unwrap();
        assert_eq!(values.len(), 4);
        assert_eq!(values[0].score, session.search().score);
    }

    /// Far from the end of the game only the time ends a search.
    const TIMED: SearchSettings = SearchSettings {
        limits: Limits::full_width(Depth(1)),
        timed_limits: Limits {
            exact_empties: 60,
            ..Limits::full_width(Depth::MAX)
        },
        move_time: Some(Duration::from_secs(10)),
        threads: 1,
    };

    #[test]
    fn another_depth_leaves_exact_searches_to_the_time() {
        let model = model();
        let mut session = GameSession::new(&model, TIMED, &NEVER);
        let text =
            "*OOOOO---OO-*O--O*******O*O**O*-OOO*O*--OO*O*OO--*O*O*--*******- X;".replace('*', "X");
        session.set_game(parse_game(&text).unwrap().unwrap());
        session.change_limits(|limits| limits.depth = Depth(1));
        assert_eq!(
            (
                session.search_within(session.limits()).exact,
                session.search().exact
            ),
            (false, true)
        );
    }

    #[test]
    fn a_forced_pass_takes_no_time() {
        let model = model();
        let mut session = GameSession::new(&model, TIMED, &NEVER);
        play(&mut session, "d3c3e6d2d1e1b2c1");
        let result = session.search();
        assert_eq!(
            (result.best_move, result.depth, result.stopped),
            (None, Depth(1), false)
        );
    }
}
