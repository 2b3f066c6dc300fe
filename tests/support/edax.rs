//! Edax's `eval.dat`, read back by the rules of its reader: digits 0 for the side to move, 1 for
//! the opponent, 2 for an empty square; of two mirrors the smaller has a place in the file; sums of
//! 1/128 disc.

use crate::support::es_cube::square_index;
use std::collections::BTreeSet;

/// The squares of the first instance of each pattern, the most significant digit first.
const PATTERNS: [&str; 12] = [
    "a1 b1 a2 b2 c1 a3 c2 b3 c3",
    "a5 a4 a3 a2 a1 b2 b1 c1 d1 e1",
    "b2 a1 b1 c1 d1 e1 f1 g1 h1 g2",
    "a1 c1 d1 c2 d2 e2 f2 e1 f1 h1",
    "a2 b2 c2 d2 e2 f2 g2 h2",
    "a3 b3 c3 d3 e3 f3 g3 h3",
    "a4 b4 c4 d4 e4 f4 g4 h4",
    "a1 b2 c3 d4 e5 f6 g7 h8",
    "b1 c2 d3 e4 f5 g6 h7",
    "c1 d2 e3 f4 g5 h6",
    "d1 e2 f3 g4 h5",
    "d1 c2 b3 a4",
];

/// Which digit a mirror takes at each place, the least significant first. The other patterns are
/// reversed.
const CORNER9_MIRROR: [usize; 9] = [0, 2, 1, 4, 3, 5, 7, 6, 8];
const CORNER10_MIRROR: [usize; 10] = [9, 8, 7, 6, 4, 5, 3, 2, 1, 0];

/// The number of weights of a ply in the file.
const PACKED_COUNT: usize = 114_364;

/// The weights `[ply][pattern][configuration]`; the constant of a ply follows its patterns.
#[derive(Debug)]
pub(crate) struct EdaxEval(Vec<Vec<Vec<i16>>>);

impl EdaxEval {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let (header, weights) = bytes.split_at(28);
        assert_eq!(
            header[..8],
            [0x4544_4158_u32.to_le_bytes(), 0x4556_414c_u32.to_le_bytes()].concat()
        );
        assert_eq!(weights.len(), 61 * PACKED_COUNT * 2);
        let places: Vec<Vec<usize>> = PATTERNS.iter().map(|squares| places(squares)).collect();
        let words: Vec<i16> = weights
            .chunks_exact(2)
            .map(|word| i16::from_le_bytes([word[0], word[1]]))
            .collect();
        let ply = |mut words: &[i16]| {
            let mut tables = Vec::new();
            for places in &places {
                tables.push(places.iter().map(|&place| words[place]).collect());
                words = &words[places.iter().max().unwrap() + 1..];
            }
            assert_eq!(words.len(), 1);
            tables.push(words.to_vec());
            tables
        };
        Self(words.chunks_exact(PACKED_COUNT).map(ply).collect())
    }

    /// The sum for the side to move.
    pub(crate) fn value(&self, player: u64, opponent: u64) -> i32 {
        let ply = 60 - (player | opponent).count_zeros() as usize;
        let digit = |square: &usize| {
            if player >> square & 1 == 1 {
                0
            } else {
                2 - (opponent >> square & 1) as usize
            }
        };
        let index = |squares: &Vec<usize>| {
            squares
                .iter()
                .fold(0, |index, square| index * 3 + digit(square))
        };
        let (constant, tables) = self.0[ply].split_last().unwrap();
        let mut sum = i32::from(constant[0]);
        for (squares, table) in PATTERNS.iter().zip(tables) {
            sum += instances(squares)
                .iter()
                .map(|instance| i32::from(table[index(instance)]))
                .sum::<i32>();
        }
        sum
    }
}

/// Where the weight of each configuration stands among those of its pattern.
fn places(squares: &str) -> Vec<usize> {
    let count = squares.split(' ').count();
    let mirror: Vec<usize> = match count {
        9 => CORNER9_MIRROR.into(),
        _ if squares == PATTERNS[1] => CORNER10_MIRROR.into(),
        _ => (0..count).rev().collect(),
    };
    let power = |place: usize| 3_usize.pow(place as u32);
    let (mut places, mut next) = (Vec::new(), 0);
    for index in 0..power(count) {
        let mirrored = (0..count)
            .map(|place| index / power(mirror[place]) % 3 * power(place))
            .sum::<usize>();
        if mirrored < index {
            places.push(places[mirrored]);
        } else {
            places.push(next);
            next += 1;
        }
    }
    places
}

/// The images of the squares under the eight symmetries; those with the same squares count once.
fn instances(squares: &str) -> Vec<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let image = |symmetry: usize, square: usize| {
        let (column, row) = (square % 8, square / 8);
        let column = if symmetry & 1 == 0 {
            column
        } else {
            7 - column
        };
        let row = if symmetry & 2 == 0 { row } else { 7 - row };
        if symmetry & 4 == 0 {
            row * 8 + column
        } else {
            column * 8 + row
        }
    };
    (0..8)
        .map(|symmetry| {
            squares
                .split(' ')
                .map(|name| image(symmetry, square_index(name)))
                .collect::<Vec<_>>()
        })
        .filter(|image| seen.insert(image.iter().copied().collect::<BTreeSet<_>>()))
        .collect()
}
