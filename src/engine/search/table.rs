//! The transposition table: bounds, depth and best move of positions searched before.

use super::depth::Depth;
use super::mpc_level::MpcLevel;
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::pages::{Pages, Zeroed, prefetch};
use crate::engine::score::Score;
use std::sync::atomic::{AtomicU64, Ordering};

/// How certain a bound is: 1 for the most selective cuts, [`Sureness::FULL`] for full width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sureness(u8);

/// Steps of sureness per sigma: the named levels differ, and 7 bits reach past 7 sigmas.
const STEPS_IN_SIGMA: f64 = 16.0;

impl Sureness {
    pub const FULL: Self = Self(127);
    /// What forward pruning leaves or an extension finds: it proves nothing to any other search.
    pub const PRUNED: Self = Self(0);

    pub fn new(level: MpcLevel) -> Self {
        match level {
            MpcLevel::FullWidth => Self::FULL,
            level => Self((level.t() * STEPS_IN_SIGMA).clamp(1.0, 126.0) as u8),
        }
    }
}

/// What the table knows about a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub lower: Score,
    pub upper: Score,
    pub depth: Depth,
    pub sureness: Sureness,
    pub best: Option<Square>,
}

/// Bounds, depth, sureness, best move and generation in 64 bits.
#[derive(Clone, Copy, Default)]
struct Packed(u64);

const SCORE_BITS: u32 = 18;
const UPPER_AT: u32 = SCORE_BITS;
const DEPTH_AT: u32 = 2 * SCORE_BITS;
const SURENESS_AT: u32 = DEPTH_AT + 6;
const BEST_AT: u32 = SURENESS_AT + 7;
const GENERATION_AT: u32 = BEST_AT + 7;
const NO_MOVE: u64 = 64;

/// The greatest generation of 8 bits; 0 marks an entry never written.
const GENERATION_MAX: u64 = 255;

impl Packed {
    #[inline(always)]
    fn new(known: &Known, generation: u64) -> Self {
        // A probe may search a window beyond the scores, and no bound but a score fits its bits.
        let score = |score: Score| (score.clamp(Score::MIN, Score::MAX) - Score::MIN).0 as u64;
        Self(
            score(known.lower)
                | score(known.upper) << UPPER_AT
                | u64::from(known.depth.0) << DEPTH_AT
                | u64::from(known.sureness.0) << SURENESS_AT
                | known
                    .best
                    .map_or(NO_MOVE, |square| u64::from(square.number()))
                    << BEST_AT
                | generation << GENERATION_AT,
        )
    }

    #[inline(always)]
    fn unpack(self) -> Known {
        let field = |at: u32, bits: u32| (self.0 >> at) & ((1 << bits) - 1);
        Known {
            lower: Score::MIN + Score(field(0, SCORE_BITS) as i32),
            upper: Score::MIN + Score(field(UPPER_AT, SCORE_BITS) as i32),
            depth: Depth(field(DEPTH_AT, 6) as u8),
            sureness: Sureness(field(SURENESS_AT, 7) as u8),
            best: Square::new(field(BEST_AT, 7) as u8),
        }
    }

    #[inline(always)]
    const fn generation(self) -> u64 {
        self.0 >> GENERATION_AT
    }

    /// A hash of 32 bits, in the upper half.
    #[inline(always)]
    const fn digest(self) -> u64 {
        self.0.wrapping_mul(MIX[0]) & !0xFFFF_FFFF
    }

    /// A measure of the search that found it: depth first, then sureness.
    #[inline(always)]
    const fn worth(self) -> u64 {
        (self.0 >> DEPTH_AT & 0x3F) << 7 | (self.0 >> SURENESS_AT & 0x7F)
    }
}

/// A result with its key. The upper half of the key is stored xor a digest of the result, so that
/// an entry whose halves come from two threads has a valid key only once in 2^32 (after Hyatt and
/// Mann, "A lock-less transposition table implementation for parallel search", 2002). The lower
/// half is the key's, so that most looks at other entries end after one load.
struct TableEntry {
    check: AtomicU64,
    packed: AtomicU64,
}

impl TableEntry {
    /// The result, if it is one of this position.
    #[inline(always)]
    fn get(&self, key: PositionKey) -> Option<Packed> {
        let difference = self.check.load(Ordering::Relaxed) ^ key.0;
        if difference as u32 != 0 {
            return None;
        }
        let packed = self.packed();
        (difference == packed.digest()).then_some(packed)
    }

    #[inline(always)]
    fn put(&self, key: PositionKey, packed: Packed) {
        self.check.store(key.0 ^ packed.digest(), Ordering::Relaxed);
        self.packed.store(packed.0, Ordering::Relaxed);
    }

    /// The result, whatever position it is of.
    #[inline(always)]
    fn packed(&self) -> Packed {
        Packed(self.packed.load(Ordering::Relaxed))
    }
}

const WAYS: usize = 4;

/// The entries that one key may be stored in: a cache line.
#[repr(align(64))]
struct Bucket([TableEntry; WAYS]);

const _: () = assert!(size_of::<Bucket>() == 64);

// SAFETY: a bucket is atomic integers, for which zero is valid.
unsafe impl Zeroed for Bucket {}

/// The hash of a position; equal hashes of different positions are not expected to occur (64 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionKey(pub u64);

/// Odd constants without a pattern: the fractions of the square roots of 2, 3 and 5.
const MIX: [u64; 3] = [
    0x6A09_E667_F3BC_C909,
    0xBB67_AE85_84CA_A73B,
    0x3C6E_F372_FE94_F82B,
];

impl PositionKey {
    #[inline(always)]
    pub fn new(position: Position) -> Self {
        let first = fold(position.player() ^ MIX[0], position.opponent() ^ MIX[1]);
        Self(fold(first ^ position.player(), MIX[2]))
    }
}

/// Both halves of the product, folded.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// A table of a fixed size; replacement keeps the costlier results of the current generation.
///
/// Threads may share it: each access is a relaxed atomic one, which on common processors costs what
/// a plain one does.
pub struct TranspositionTable {
    buckets: Pages<Bucket>,
    mask: usize,
    generation: AtomicU64,
}

/// The smallest table, in bits of its number of entries.
const BITS_MIN: u8 = 4;
/// The largest: 2^32 entries, 64 GiB.
const BITS_MAX: u8 = 32;

impl TranspositionTable {
    /// Room for 2^`bits` entries of 16 bytes, with `bits` clamped to 4 to 32.
    pub fn new(bits: u8) -> Self {
        let count = (1_usize << bits.clamp(BITS_MIN, BITS_MAX)) / WAYS;
        Self {
            buckets: Pages::zeros(count),
            mask: count - 1,
            generation: AtomicU64::new(1),
        }
    }

    /// The size, in bits of the number of entries.
    pub fn bits(&self) -> u8 {
        (self.buckets.len() * WAYS).trailing_zeros() as u8
    }

    /// Forgets everything, as a new table would; not for use during a search.
    pub fn clear(&self) {
        let mut generation = self.generation() + 1;
        if GENERATION_MAX < generation {
            let entries = self.buckets.iter().flat_map(|bucket| &bucket.0);
            entries.for_each(|entry| entry.put(PositionKey(0), Packed(0)));
            generation = 1;
        }
        self.generation.store(generation, Ordering::Relaxed);
    }

    #[inline(always)]
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn index(&self, key: PositionKey) -> usize {
        (key.0 >> 32) as usize & self.mask
    }

    #[inline(always)]
    pub fn get(&self, key: PositionKey) -> Option<Known> {
        let generation = self.generation();
        let found = |entry: &TableEntry| {
            entry
                .get(key)
                .filter(|packed| packed.generation() == generation)
        };
        self.buckets[self.index(key)]
            .0
            .iter()
            .find_map(found)
            .map(Packed::unpack)
    }

    /// Stores a result: over the same position, else over an entry of another generation, else over
    /// the cheapest one.
    ///
    /// A cheaper result does not replace a costlier one of the same position; results of equal cost
    /// are joined.
    #[inline(always)]
    pub fn put(&self, key: PositionKey, known: &Known) {
        let generation = self.generation();
        let bucket = &self.buckets[self.index(key)];
        let mut packed = Packed::new(known, generation);
        let mut place = 0;
        let mut least = u64::MAX;
        for (index, entry) in bucket.0.iter().enumerate() {
            let current = |packed: Packed| packed.generation() == generation;
            if let Some(old) = entry.get(key)
                && current(old)
            {
                if packed.worth() < old.worth() {
                    return;
                }
                let old_known = old.unpack();
                if packed.worth() == old.worth() {
                    packed = Packed::new(&joined(known, &old_known), generation);
                } else if known.best.is_none() {
                    packed = Packed::new(
                        &Known {
                            best: old_known.best,
                            ..*known
                        },
                        generation,
                    );
                }
                place = index;
                break;
            }
            let other = entry.packed();
            let worth = if current(other) { 1 + other.worth() } else { 0 };
            if worth < least {
                (place, least) = (index, worth);
            }
        }
        bucket.0[place].put(key, packed);
    }

    /// Asks the processor to load what `get` and `put` will touch.
    #[inline(always)]
    pub fn prefetch(&self, key: PositionKey) {
        prefetch(&self.buckets, self.index(key));
    }
}

/// Two results of equal worth for one position: the narrower bounds and the newer move.
#[inline(always)]
fn joined(new: &Known, old: &Known) -> Known {
    let (lower, upper) = (new.lower.max(old.lower), new.upper.min(old.upper));
    // Selective results may contradict each other; the newer one stands.
    let (lower, upper) = if lower <= upper {
        (lower, upper)
    } else {
        (new.lower, new.upper)
    };
    let best = if new.best.is_some() {
        new.best
    } else {
        old.best
    };
    Known {
        lower,
        upper,
        best,
        ..*new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(depth: u8, lower: Score) -> Known {
        Known {
            lower,
            upper: Score::MAX,
            depth: Depth(depth),
            sureness: Sureness::FULL,
            best: Square::new(63),
        }
    }

    #[test]
    fn what_is_put_is_what_is_got() {
        let table = TranspositionTable::new(10);
        let key = PositionKey::new(Position::START);
        assert_eq!(table.get(key), None);
        for lower in [Score::MIN, Score(-1), Score(0), Score::MAX] {
            for best in [None, Square::new(0), Square::new(63)] {
                let expected = Known {
                    best,
                    sureness: Sureness::new(MpcLevel::P95),
                    ..known(60, lower)
                };
                table.clear();
                table.put(key, &expected);
                assert_eq!(table.get(key), Some(expected));
            }
        }
    }

    #[test]
    fn results_of_one_position_are_joined_and_the_costlier_stays() {
        let table = TranspositionTable::new(10);
        let key = PositionKey::new(Position::START);
        table.put(
            key,
            &Known {
                upper: Score(7_000),
                ..known(5, Score::MIN)
            },
        );
        table.put(
            key,
            &Known {
                upper: Score::MAX,
                best: None,
                ..known(5, Score(3_000))
            },
        );
        let joined = Known {
            upper: Score(7_000),
            ..known(5, Score(3_000))
        };
        assert_eq!(table.get(key), Some(joined));
        table.put(key, &known(4, Score(0)));
        assert_eq!(table.get(key), Some(joined));
        table.put(key, &known(6, Score(0)));
        assert_eq!(table.get(key), Some(known(6, Score(0))));
    }

    #[test]
    fn clearing_forgets_through_every_generation() {
        let table = TranspositionTable::new(4);
        for turn in 0..600 {
            let key = PositionKey(turn);
            table.put(key, &known(1, Score(0)));
            assert!(table.get(key).is_some());
            table.clear();
            assert!((0..=turn).all(|turn| table.get(PositionKey(turn)).is_none()));
        }
    }

    #[test]
    fn a_full_bucket_gives_up_its_cheapest_entry() {
        let table = TranspositionTable::new(4);
        for (low, depth) in [(1, 7), (2, 3), (3, 9), (4, 5), (5, 4)] {
            table.put(PositionKey(low), &known(depth, Score(0)));
        }
        let found: Vec<bool> = (1..=5)
            .map(|low| table.get(PositionKey(low)).is_some())
            .collect();
        assert_eq!(found, [true, false, true, true, true]);
    }
}
