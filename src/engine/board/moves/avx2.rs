//! Move generation with AVX2 and BMI2: the four lines through a square in four lanes.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_or_si128, _mm_unpackhi_epi64, _mm256_add_epi64,
    _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi64,
    _mm256_extracti128_si256, _mm256_load_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_sub_epi64, _pext_u64,
};

/// Four lanes, one per line: rows, columns, falling and rising diagonals.
#[repr(C, align(32))]
pub struct Lanes([u64; 4]);

/// The distance between neighbors on each line.
const STEPS: Lanes = Lanes([1, 8, 7, 9]);
const STEPS_TWICE: Lanes = Lanes([2, 16, 14, 18]);
const STEPS_FOURFOLD: Lanes = Lanes([4, 32, 28, 36]);

/// Squares on which a disc can be flanked along each line.
const INNER: Lanes = {
    const COLUMNS: u64 = 0x7E7E_7E7E_7E7E_7E7E;
    Lanes([COLUMNS, u64::MAX, COLUMNS, COLUMNS])
};

/// The lines that leave a square, toward higher and lower squares.
pub struct Rays {
    pub up: Lanes,
    pub down: Lanes,
}

pub static RAYS: [Rays; 64] = rays();

const fn rays() -> [Rays; 64] {
    const DIRECTIONS: [(i8, i8); 4] = [(1, 0), (0, 1), (-1, 1), (1, 1)];
    let mut table = [const {
        Rays {
            up: Lanes([0; 4]),
            down: Lanes([0; 4]),
        }
    }; 64];
    let mut square = 0;
    while square < 64 {
        let mut line = 0;
        while line < 4 {
            let (columns, rows) = DIRECTIONS[line];
            table[square].up.0[line] = ray(square as i8, columns, rows);
            table[square].down.0[line] = ray(square as i8, -columns, -rows);
            line += 1;
        }
        square += 1;
    }
    table
}

const fn ray(square: i8, columns: i8, rows: i8) -> u64 {
    let (mut column, mut row) = (square % 8 + columns, square / 8 + rows);
    let mut ray = 0;
    while 0 <= column && column < 8 && 0 <= row && row < 8 {
        ray |= 1 << (row * 8 + column);
        column += columns;
        row += rows;
    }
    ray
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn load(lanes: &Lanes) -> __m256i {
    // SAFETY: `Lanes` is 32 bytes, aligned to 32.
    unsafe { _mm256_load_si256(lanes.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn join(lanes: __m256i) -> u64 {
    let pair = _mm_or_si128(
        _mm256_castsi256_si128(lanes),
        _mm256_extracti128_si256::<1>(lanes),
    );
    _mm_cvtsi128_si64(_mm_or_si128(pair, _mm_unpackhi_epi64(pair, pair))) as u64
}

/// Parallel prefix fill, both ways along the four lines at once.
#[inline]
#[target_feature(enable = "avx2")]
pub fn legal_moves(player: u64, opponent: u64) -> u64 {
    let (step, twice) = (load(&STEPS), load(&STEPS_TWICE));
    let from = _mm256_set1_epi64x(player as i64);
    let flanked = _mm256_and_si256(_mm256_set1_epi64x(opponent as i64), load(&INNER));
    let mut up = _mm256_and_si256(flanked, _mm256_sllv_epi64(from, step));
    let mut down = _mm256_and_si256(flanked, _mm256_srlv_epi64(from, step));
    let pairs_up = _mm256_and_si256(flanked, _mm256_sllv_epi64(flanked, step));
    let pairs_down = _mm256_srlv_epi64(pairs_up, step);
    up = _mm256_or_si256(up, _mm256_and_si256(flanked, _mm256_sllv_epi64(up, step)));
    down = _mm256_or_si256(
        down,
        _mm256_and_si256(flanked, _mm256_srlv_epi64(down, step)),
    );
    for _ in 0..2 {
        up = _mm256_or_si256(up, _mm256_and_si256(pairs_up, _mm256_sllv_epi64(up, twice)));
        down = _mm256_or_si256(
            down,
            _mm256_and_si256(pairs_down, _mm256_srlv_epi64(down, twice)),
        );
    }
    let reached = _mm256_or_si256(_mm256_sllv_epi64(up, step), _mm256_srlv_epi64(down, step));
    join(reached) & !(player | opponent)
}

/// On each ray upwards the nearest square that is not the opponent's, if it is the player's: the
/// lowest bit.
#[inline]
#[target_feature(enable = "avx2")]
pub fn end_above(ray: __m256i, own: __m256i, flanked: __m256i) -> __m256i {
    let ends = _mm256_andnot_si256(flanked, ray);
    _mm256_and_si256(
        _mm256_and_si256(ends, own),
        _mm256_sub_epi64(_mm256_setzero_si256(), ends),
    )
}

/// On each ray the nearest square that is not the opponent's ends the run; if it is the player's,
/// the run turns over.
///
/// Upwards the nearest is the lowest bit, which arithmetic finds; downwards it is the highest,
/// found by smearing.
#[inline]
#[target_feature(enable = "avx2")]
pub fn flips(player: u64, opponent: u64, square: usize) -> u64 {
    let rays = &RAYS[square & 63];
    let (ray_up, ray_down) = (load(&rays.up), load(&rays.down));
    let own = _mm256_set1_epi64x(player as i64);
    let flanked = _mm256_set1_epi64x(opponent as i64);
    let zero = _mm256_setzero_si256();

    let end = end_above(ray_up, own, flanked);
    let below = _mm256_add_epi64(end, _mm256_set1_epi64x(-1));
    let run_up = _mm256_andnot_si256(
        _mm256_cmpeq_epi64(end, zero),
        _mm256_and_si256(below, ray_up),
    );

    let step = load(&STEPS);
    let ends = _mm256_andnot_si256(flanked, ray_down);
    let mut behind = _mm256_or_si256(ends, _mm256_srlv_epi64(ends, step));
    behind = _mm256_or_si256(behind, _mm256_srlv_epi64(behind, load(&STEPS_TWICE)));
    behind = _mm256_or_si256(behind, _mm256_srlv_epi64(behind, load(&STEPS_FOURFOLD)));
    let end = _mm256_andnot_si256(_mm256_srlv_epi64(behind, step), _mm256_and_si256(ends, own));
    let run = _mm256_andnot_si256(behind, ray_down);
    let run_down = _mm256_andnot_si256(_mm256_cmpeq_epi64(end, zero), run);

    join(_mm256_or_si256(run_up, run_down))
}

/// A square's column and diagonals, itself included, and its place on each.
struct Lines {
    masks: [u64; 3],
    places: [u8; 3],
}

static LINES: [Lines; 64] = lines();

const fn lines() -> [Lines; 64] {
    const DIRECTIONS: [(i8, i8); 3] = [(0, 1), (-1, 1), (1, 1)];
    let mut table = [const {
        Lines {
            masks: [0; 3],
            places: [0; 3],
        }
    }; 64];
    let mut square = 0;
    while square < 64 {
        let mut line = 0;
        while line < 3 {
            let (columns, rows) = DIRECTIONS[line];
            let below = ray(square as i8, -columns, -rows);
            table[square].masks[line] = ray(square as i8, columns, rows) | 1 << square | below;
            table[square].places[line] = below.count_ones() as u8;
            line += 1;
        }
        square += 1;
    }
    table
}

/// `[place][own discs of a line]` -> the discs turned over by filling `place`, everything else
/// being the opponent's.
static LINE_FLIPS: [[u8; 256]; 8] = line_flips();

const fn line_flips() -> [[u8; 256]; 8] {
    let mut table = [[0; 256]; 8];
    let mut place = 0;
    while place < 8 {
        let mut own = 0_usize;
        while own < 256 {
            let above = own >> place >> 1;
            if above != 0 {
                table[place][own] += above.trailing_zeros() as u8;
            }
            let below = own & ((1 << place) - 1);
            if below != 0 {
                table[place][own] += (place as u32 - 1 - below.ilog2()) as u8;
            }
            own += 1;
        }
        place += 1;
    }
    table
}

/// Reads the four lines through the square out of the board and looks each up.
#[inline]
#[target_feature(enable = "bmi2")]
pub fn last_flip_count(player: u64, square: usize) -> u32 {
    let square = square & 63;
    let lines = &LINES[square];
    let row = (player >> (square & 56)) as usize & 255;
    let mut count = LINE_FLIPS[square & 7][row];
    for line in 0..3 {
        let own = _pext_u64(player, lines.masks[line]) as usize & 255;
        count += LINE_FLIPS[usize::from(lines.places[line] & 7)][own];
    }
    u32::from(count)
}
