//! What tests of several stages need.

use super::keys::{Checked, ConfigTable};
use super::{Context, Host};
use crate::engine::{Game, Position, Squares};
use crate::random::{Stream, stream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One thread, without progress; the flag stops it.
pub const fn context(flag: &AtomicBool) -> Context<'_> {
    Context {
        threads: 1,
        stop: flag,
        budget_spent: flag,
        progress: &(),
        host: &(),
    }
}

/// A table of the default config.
pub fn default_table<T: ConfigTable>() -> Checked<T> {
    let defaults: toml::Table = toml::from_str(include_str!("../../configs/default.toml")).unwrap();
    defaults[T::NAME].clone().try_into().unwrap()
}

/// A position of a random game with a move and this many empty squares.
pub fn position(seed: u64, empties: u8) -> Position {
    let mut random = stream(seed, Stream::Game(1, empties.into()));
    loop {
        let mut game = Game::default();
        while !game.is_over() {
            let position = game.to_move().position;
            if position.empties() == empties {
                return position;
            }
            game.play(random.pick(Squares(position.legal_moves())).unwrap())
                .unwrap();
        }
    }
}

/// A clock that shows a second more at each look.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Host for Clock {
    fn seconds(&self) -> f64 {
        self.0.fetch_add(1, Ordering::Relaxed) as f64
    }
}
