//! What the levels of `renma play` are worth, with the model that ships.
//!
//! `cargo bench --bench levels -- PAIRS [FIRST]`: each level against the one before it, from level
//! FIRST (1) on, over PAIRS openings of 8 random plies that a search scores within 2.5 discs, each
//! played with both colors; and level 1 against greedy play. Games are the same on every machine;
//! the times of moves, of one core, are not.
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use renma::artifact::{Builtin, LoadedModel, Model};
use renma::engine::{Depth, Game, Limits, Position, SearchResult, Squares};
use renma::play::levels::{LEVELS, Level};
use renma::play::session::GameSession;
use renma::random::{Stream, stream};
use renma::statistics::elo::{INTERVAL, elo_text, interval_of};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

const OPENING_PLIES: usize = 8;
const BALANCE_DEPTH: Depth = Depth(8);
const BALANCE_DISCS: f64 = 2.5;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A player of a match.
#[derive(Clone, Copy)]
enum Player<'a> {
    /// The most discs after two plies, the first such move in the search's order.
    Greedy(&'a Model),
    Level(&'a Model, Level),
}

impl<'a> Player<'a> {
    fn session(self) -> GameSession<'a> {
        match self {
            Self::Greedy(model) => GameSession::new(model, Limits::full_width(Depth(2)), &NEVER),
            Self::Level(model, level) => GameSession::new(model, level.limits(), &NEVER),
        }
    }

    fn choose(self, session: &mut GameSession<'_>) -> SearchResult {
        match self {
            Self::Greedy(_) => session.search(),
            Self::Level(_, level) => level.choose(session),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"));
    let Some(pairs) = arguments.next() else {
        println!("no pairs: cargo bench --bench levels -- PAIRS [FIRST]");
        return Ok(());
    };
    let first: usize = arguments.next().map_or(Ok(1), |number| number.parse())?;
    let champion = LoadedModel::builtin(Builtin::Champion).model;
    let disc_count = LoadedModel::builtin(Builtin::DiscCount).model;
    let openings = openings(&champion, pairs.parse()?);
    println!(
        "{} openings, {} games per match; ms of the stronger player",
        openings.len(),
        2 * openings.len()
    );
    let mut before = Player::Greedy(&disc_count);
    for level in LEVELS {
        let player = Player::Level(&champion, level);
        if first <= level.number() {
            println!(
                "{:>2} {:<12} {}",
                level.number(),
                level.name,
                play_match([player, before], &openings)
            );
        }
        before = player;
    }
    Ok(())
}

/// Different positions, in the order in which they are drawn.
fn openings(model: &Model, count: usize) -> Vec<Game> {
    let mut judge = GameSession::new(model, Limits::full_width(BALANCE_DEPTH), &NEVER);
    let mut seen: BTreeSet<Position> = BTreeSet::new();
    let drawn = (0..).map(|attempt| {
        let mut rng = stream(0, Stream::GateOpening(0, attempt));
        let mut game = Game::default();
        while !game.is_over() && game.moves().count() < OPENING_PLIES {
            game.pass_if_forced();
            let square = rng.pick(Squares(game.latest().position.legal_moves()));
            game.play(square.expect("the side to move has a move"))
                .expect("the move is legal");
        }
        game.pass_if_forced();
        game
    });
    let taken = drawn.filter(|game| {
        judge.set_game(game.clone());
        let is_balanced = !game.is_over() && judge.search().score.discs().abs() <= BALANCE_DISCS;
        is_balanced && seen.insert(game.latest().position.canonical())
    });
    taken.take(count).collect()
}

/// The Elo of the first player over the second with its interval, its share of the points, and the
/// processor time of its moves.
fn play_match(players: [Player<'_>; 2], openings: &[Game]) -> String {
    let sessions = || players.map(Player::session);
    let played: Vec<(usize, Vec<f64>)> = openings
        .par_iter()
        .map_init(sessions, |sessions, opening| {
            let mut times = Vec::new();
            let results = [true, false]
                .map(|black| play(players, sessions, opening.clone(), black, &mut times));
            (
                results
                    .into_iter()
                    .map(|discs| (discs.signum() + 1) as usize)
                    .sum(),
                times,
            )
        })
        .collect();
    let mut pairs = [0; 5];
    for (half_points, _) in &played {
        pairs[*half_points] += 1;
    }
    let points: usize = played.iter().map(|(half_points, _)| half_points).sum();
    let share = 25.0 * points as f64 / played.len() as f64;
    let mut times: Vec<f64> = played.into_iter().flat_map(|(_, times)| times).collect();
    times.sort_by(f64::total_cmp);
    let [middle, most] = [times.len() / 2, times.len() * 95 / 100].map(|index| times[index]);
    let elo = elo_text(interval_of(pairs, INTERVAL));
    format!("{elo:<20} {share:.1} %, p50 {middle:.2} ms, p95 {most:.2} ms")
}

/// The final discs of the first player.
fn play(
    players: [Player<'_>; 2],
    sessions: &mut [GameSession<'_>; 2],
    mut game: Game,
    first_is_black: bool,
    times: &mut Vec<f64>,
) -> i32 {
    while !game.is_over() {
        let side = usize::from(game.latest().black_to_move != first_is_black);
        sessions[side].set_game(game.clone());
        let began = thread_milliseconds();
        let result = players[side].choose(&mut sessions[side]);
        if side == 0 {
            times.push(thread_milliseconds() - began);
        }
        game.play(result.best_move.expect("the side to move has a move"))
            .expect("the search plays by the rules");
        game.pass_if_forced();
    }
    if first_is_black {
        game.black_discs().0
    } else {
        -game.black_discs().0
    }
}

fn thread_milliseconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    1e3 * time.tv_sec as f64 + 1e-6 * time.tv_nsec as f64
}
