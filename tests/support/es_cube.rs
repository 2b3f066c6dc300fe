//! The 42 pattern instances of the source evaluator, square by square; its 43rd feature is the
//! parity of the empties.
#![allow(dead_code, reason = "no room needs every helper")]

/// Pattern and squares, the most significant base-3 digit first.
pub(crate) const INSTANCES: [(&str, &str); 42] = [
    ("LINE4", "a4 b4 c4 d4 e4 f4 g4 h4"),
    ("LINE4", "a5 b5 c5 d5 e5 f5 g5 h5"),
    ("LINE4", "d1 d2 d3 d4 d5 d6 d7 d8"),
    ("LINE4", "e1 e2 e3 e4 e5 e6 e7 e8"),
    ("LINE3", "a3 b3 c3 d3 e3 f3 g3 h3"),
    ("LINE3", "a6 b6 c6 d6 e6 f6 g6 h6"),
    ("LINE3", "c1 c2 c3 c4 c5 c6 c7 c8"),
    ("LINE3", "f1 f2 f3 f4 f5 f6 f7 f8"),
    ("LINE2", "a2 b2 c2 d2 e2 f2 g2 h2"),
    ("LINE2", "a7 b7 c7 d7 e7 f7 g7 h7"),
    ("LINE2", "b1 b2 b3 b4 b5 b6 b7 b8"),
    ("LINE2", "g1 g2 g3 g4 g5 g6 g7 g8"),
    ("DIAG8", "a1 b2 c3 d4 e5 f6 g7 h8"),
    ("DIAG8", "h1 g2 f3 e4 d5 c6 b7 a8"),
    ("DIAG7", "a2 b3 c4 d5 e6 f7 g8"),
    ("DIAG7", "h2 g3 f4 e5 d6 c7 b8"),
    ("DIAG7", "a7 b6 c5 d4 e3 f2 g1"),
    ("DIAG7", "h7 g6 f5 e4 d3 c2 b1"),
    ("DIAG6", "a3 b4 c5 d6 e7 f8"),
    ("DIAG6", "h3 g4 f5 e6 d7 c8"),
    ("DIAG6", "a6 b5 c4 d3 e2 f1"),
    ("DIAG6", "h6 g5 f4 e3 d2 c1"),
    ("DIAG5", "a4 b5 c6 d7 e8"),
    ("DIAG5", "h4 g5 f6 e7 d8"),
    ("DIAG5", "a5 b4 c3 d2 e1"),
    ("DIAG5", "h5 g4 f3 e2 d1"),
    ("DIAG4", "a5 b6 c7 d8"),
    ("DIAG4", "h5 g6 f7 e8"),
    ("DIAG4", "a4 b3 c2 d1"),
    ("DIAG4", "h4 g3 f2 e1"),
    ("EDGE8", "a1 b1 c1 d1 e1 f1 g1 b2"),
    ("EDGE8", "h1 g1 f1 e1 d1 c1 b1 g2"),
    ("EDGE8", "a8 b8 c8 d8 e8 f8 g8 b7"),
    ("EDGE8", "h8 g8 f8 e8 d8 c8 b8 g7"),
    ("EDGE8", "a1 a2 a3 a4 a5 a6 a7 b2"),
    ("EDGE8", "h1 h2 h3 h4 h5 h6 h7 g2"),
    ("EDGE8", "a8 a7 a6 a5 a4 a3 a2 b7"),
    ("EDGE8", "h8 h7 h6 h5 h4 h3 h2 g7"),
    ("CORNER8", "a1 b1 c1 a2 b2 c2 a3 b3"),
    ("CORNER8", "h1 g1 f1 h2 g2 f2 h3 g3"),
    ("CORNER8", "a8 b8 c8 a7 b7 c7 a6 b6"),
    ("CORNER8", "h8 g8 f8 h7 g7 f7 h6 g6"),
];

/// Where the weights of each pattern begin in eval.dat, and how many squares it has.
pub(crate) const PATTERNS: [(&str, usize, usize); 10] = [
    ("LINE4", 0, 8),
    ("LINE3", 6_561, 8),
    ("LINE2", 13_122, 8),
    ("DIAG8", 19_683, 8),
    ("DIAG7", 26_244, 7),
    ("DIAG6", 28_431, 6),
    ("DIAG5", 29_160, 5),
    ("DIAG4", 29_403, 4),
    ("EDGE8", 29_484, 8),
    ("CORNER8", 36_045, 8),
];

/// The weights of even and odd numbers of empty squares.
pub(crate) const PARITY: usize = 42_606;

pub(crate) const WEIGHT_COUNT: usize = 42_608;

/// An instance as numbers.
#[derive(Debug)]
pub(crate) struct PlainInstance {
    pub(crate) offset: usize,
    /// 0 for a1 to 63 for h8.
    pub(crate) squares: Vec<usize>,
}

pub(crate) fn instances() -> Vec<PlainInstance> {
    let plain = |&(pattern, squares): &(&'static str, &str)| {
        let (_, offset, _) = PATTERNS
            .into_iter()
            .find(|(name, _, _)| *name == pattern)
            .unwrap();
        PlainInstance {
            offset,
            squares: squares.split(' ').map(square_index).collect(),
        }
    };
    INSTANCES.iter().map(plain).collect()
}

pub(crate) fn square_index(name: &str) -> usize {
    let name = name.as_bytes();
    usize::from(name[1] - b'1') * 8 + usize::from(name[0] - b'a')
}

/// 0 empty, 1 side to move, 2 opponent.
pub(crate) fn digit(player: u64, opponent: u64, square: usize) -> usize {
    (player >> square & 1) as usize + 2 * (opponent >> square & 1) as usize
}

/// The configuration of an instance: its digits in base 3, one after another.
pub(crate) fn configuration(player: u64, opponent: u64, squares: &[usize]) -> usize {
    squares.iter().fold(0, |index, &square| {
        index * 3 + digit(player, opponent, square)
    })
}
