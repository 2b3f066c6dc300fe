//! Named random streams: each is a function of the run's seed and its purpose, never of threads or
//! order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Items shuffled between two checks.
const ITEMS_BETWEEN_CHECKS: usize = 1 << 16;

/// The purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The moves of a self-play game: generation and game id.
    Game(u32, u64),
    /// The order of training rows: part, epoch, and group of blocks; group 0 is the order of the
    /// blocks.
    Shuffle(u32, u32, u32),
    /// Whether a game belongs to the validation split: the caller mixes in the game's name.
    Validation,
    /// The game from which a position for MPC statistics is taken: generation and sample.
    MpcSample(u32, u64),
    /// The opening of a pair of gate games: generation and try.
    GateOpening(u32, u64),
    /// The games and rows that a check makes again.
    Remake,
    /// The first vector of a slot: group of phases, pattern, and canonical configuration.
    Vector(u32, u32, u32),
    /// What a weak level adds to the values of the moves of a position: discs of the side to move,
    /// and of the other.
    Noise(u64, u64),
}

impl Stream {
    fn words(self) -> [u64; 3] {
        match self {
            Self::Game(generation, id) => [1, u64::from(generation), id],
            Self::Shuffle(part, epoch, group) => [
                2,
                u64::from(part) << 32 | u64::from(epoch),
                u64::from(group),
            ],
            Self::Validation => [3, 0, 0],
            Self::MpcSample(generation, id) => [4, u64::from(generation), id],
            Self::GateOpening(generation, id) => [5, u64::from(generation), id],
            Self::Remake => [6, 0, 0],
            Self::Vector(group, pattern, index) => [
                8,
                u64::from(group) << 32 | u64::from(pattern),
                u64::from(index),
            ],
            Self::Noise(player, opponent) => [9, player, opponent],
        }
    }
}

/// A stream of random numbers (ChaCha with 8 rounds, keyed by a BLAKE3 hash of seed and purpose).
#[derive(Clone, Debug)]
pub struct RandomStream(ChaCha8Rng);

/// The stream for a purpose within a run.
pub fn stream(seed: u64, purpose: Stream) -> RandomStream {
    RandomStream(ChaCha8Rng::from_seed(key(seed, purpose)))
}

fn key(seed: u64, purpose: Stream) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("renma 2026 random stream");
    hasher.update(&seed.to_le_bytes());
    for word in purpose.words() {
        hasher.update(&word.to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Whether an item belongs to a share of all items, determined by seed, purpose and the item's name
/// alone.
pub fn belongs(seed: u64, purpose: Stream, item: &[u8], share: f64) -> bool {
    unit(word(seed, purpose, item)) < share
}

/// A uniform number below `bound`, determined by seed, purpose and the item's name alone; 0 if
/// `bound` is 0.
pub fn number_below(seed: u64, purpose: Stream, item: &[u8], bound: u64) -> u64 {
    ((u128::from(word(seed, purpose, item)) * u128::from(bound)) >> 64) as u64
}

fn word(seed: u64, purpose: Stream, item: &[u8]) -> u64 {
    let hash = blake3::keyed_hash(&key(seed, purpose), item);
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

/// The top 53 bits as a number in [0, 1), the same on every machine.
pub fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

impl RandomStream {
    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.0.next_u64())
    }

    /// Whether an event of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A uniform number below `bound` (Lemire, "Fast random integer generation in an interval",
    /// 2019).
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(0 < bound, "there is no number below 0");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.0.next_u32()) * u64::from(bound);
            if threshold <= product as u32 {
                return (product >> 32) as u32;
            }
        }
    }

    /// One of the items, uniformly; `None` if there are none.
    pub fn pick<T>(&mut self, mut items: impl ExactSizeIterator<Item = T>) -> Option<T> {
        let count = u32::try_from(items.len()).expect("few items are picked from");
        if count == 0 {
            None
        } else {
            items.nth(self.below(count) as usize)
        }
    }

    /// Puts the items in random order (Fisher and Yates, 1938; Durstenfeld, 1964); `check` is
    /// called now and then and can end it.
    ///
    /// # Errors
    ///
    /// That of `check`; the order of the items is then undefined.
    pub fn shuffle<T, E>(
        &mut self,
        items: &mut [T],
        check: impl Fn() -> Result<(), E>,
    ) -> Result<(), E> {
        for index in (1..items.len()).rev() {
            if index.is_multiple_of(ITEMS_BETWEEN_CHECKS) {
                check()?;
            }
            let bound = u32::try_from(index + 1).expect("a training set has fewer than 2^32 rows");
            items.swap(index, self.below(bound) as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_purpose_alone() {
        let draw = |seed, purpose| stream(seed, purpose).below(u32::MAX);
        assert_eq!(draw(1, Stream::Game(1, 7)), draw(1, Stream::Game(1, 7)));
        assert_ne!(draw(1, Stream::Game(1, 7)), draw(1, Stream::Game(7, 1)));
        assert_ne!(draw(1, Stream::Game(1, 7)), draw(2, Stream::Game(1, 7)));
        assert_ne!(
            draw(1, Stream::MpcSample(1, 7)),
            draw(1, Stream::GateOpening(1, 7))
        );
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut rng = stream(1, Stream::Shuffle(0, 0, 0));
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&count| 9_500 < count && count < 10_500),
            "{counts:?}"
        );
        let mut counts = [0_u32; 6];
        for id in 0..60_000_u32 {
            counts[number_below(1, Stream::Remake, &id.to_le_bytes(), 6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&count| 9_500 < count && count < 10_500),
            "{counts:?}"
        );
        let hits = (0..20_000_u32)
            .filter(|id| belongs(1, Stream::Validation, &id.to_le_bytes(), 0.1))
            .count();
        assert!((1_800..2_200).contains(&hits), "{hits}");
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_can_be_ended() {
        let mut items: Vec<usize> = (0..200_000).collect();
        let shuffled = stream(1, Stream::Shuffle(1, 0, 0)).shuffle(&mut items, || Ok::<(), ()>(()));
        assert_eq!(shuffled, Ok(()));
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..200_000));
        assert_eq!(
            stream(1, Stream::Shuffle(1, 0, 0)).shuffle(&mut items, || Err("stop")),
            Err("stop")
        );
    }
}
