//! Othello, pattern evaluation, search and random streams a second time, by their definitions: an
//! array of squares, no bitboards, no tables, no cuts that need a proof. It shares no code with
//! renma.
#![allow(dead_code, reason = "no room needs every helper")]

use crate::support::tables::Columns;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::path::Path;

/// A board seen by the side to move: 0 empty, 1 its discs, 2 those of the opponent; a1 first, h8
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Board([u8; 64]);

const DIRECTIONS: [(i32, i32); 8] = [
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
];

impl Board {
    pub(crate) fn new(own: u64, opponent: u64) -> Self {
        Self(std::array::from_fn(|square| {
            (own >> square & 1) as u8 + 2 * (opponent >> square & 1) as u8
        }))
    }

    /// Black to move, with discs on d5 and e4.
    pub(crate) fn start() -> Self {
        Self::new(1 << 35 | 1 << 28, 1 << 27 | 1 << 36)
    }

    /// The discs of the side to move, and of the opponent.
    pub(crate) fn bits(&self) -> [u64; 2] {
        [1, 2].map(|disc| {
            (0..64)
                .filter(|&square| self.0[square] == disc)
                .map(|square| 1 << square)
                .sum()
        })
    }

    pub(crate) fn count(&self, disc: u8) -> usize {
        self.0.iter().filter(|&&other| other == disc).count()
    }

    pub(crate) fn empties(&self) -> usize {
        self.count(0)
    }

    /// How many discs a move turns over in one direction.
    fn turned(&self, square: usize, (right, up): (i32, i32)) -> i32 {
        let (mut column, mut row) = (square as i32 % 8, square as i32 / 8);
        for count in 0.. {
            (column, row) = (column + right, row + up);
            if !(0..8).contains(&column) || !(0..8).contains(&row) {
                return 0;
            }
            match self.0[(row * 8 + column) as usize] {
                0 => return 0,
                1 => return count,
                _ => {}
            }
        }
        unreachable!()
    }

    fn is_legal(&self, square: usize) -> bool {
        self.0[square] == 0
            && DIRECTIONS
                .iter()
                .any(|&direction| 0 < self.turned(square, direction))
    }

    /// The legal moves, a1 first.
    pub(crate) fn moves(&self) -> Vec<usize> {
        (0..64).filter(|&square| self.is_legal(square)).collect()
    }

    /// The number of empty squares next to a disc of the opponent.
    pub(crate) fn potential_moves(&self) -> usize {
        let at = |square: usize| [square as i32 % 8, square as i32 / 8];
        let is_next = |a: usize, b: usize| {
            at(a)
                .into_iter()
                .zip(at(b))
                .all(|(a, b)| (a - b).abs() <= 1)
        };
        let is_prospect =
            |a: usize| self.0[a] == 0 && (0..64).any(|b| self.0[b] == 2 && is_next(a, b));
        (0..64).filter(|&square| is_prospect(square)).count()
    }

    /// The board after a move, seen by the opponent.
    pub(crate) fn play(&self, square: usize) -> Self {
        assert!(self.is_legal(square), "square {square} of {self:?}");
        let mut next = *self;
        next.0[square] = 1;
        for (right, up) in DIRECTIONS {
            for step in 1..=self.turned(square, (right, up)) {
                next.0[(square as i32 + step * (right + 8 * up)) as usize] = 1;
            }
        }
        next.pass()
    }

    pub(crate) fn pass(&self) -> Self {
        Self(self.0.map(|disc| [0, 2, 1][usize::from(disc)]))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.moves().is_empty() && self.pass().moves().is_empty()
    }

    /// The final disc difference, empty squares counted for the winner.
    pub(crate) fn final_discs(&self) -> i32 {
        let [empty, own, opponent] = [0, 1, 2].map(|disc| self.count(disc) as i32);
        own - opponent + (own - opponent).signum() * empty
    }

    /// The board under the eight symmetries.
    pub(crate) fn images(&self) -> impl Iterator<Item = Self> {
        symmetries().map(|image| Self(std::array::from_fn(|square| self.0[image(square)])))
    }

    /// One board for all eight images.
    pub(crate) fn canonical(&self) -> Self {
        self.images().min().unwrap()
    }
}

/// The eight symmetries of the board.
fn symmetries() -> impl Iterator<Item = impl Fn(usize) -> usize> {
    (0..8).map(|number| {
        move |square: usize| {
            let (mut column, mut row) = (square % 8, square / 8);
            column = if number & 1 == 0 { column } else { 7 - column };
            row = if number & 2 == 0 { row } else { 7 - row };
            if number & 4 == 0 {
                row * 8 + column
            } else {
                column * 8 + row
            }
        }
    })
}

/// A game with its forced passes.
#[derive(Clone, Debug)]
pub(crate) struct Game {
    pub(crate) board: Board,
    pub(crate) black_to_move: bool,
    /// Half-moves so far, passes included.
    pub(crate) ply: i64,
    pub(crate) moves: Vec<usize>,
}

impl Game {
    pub(crate) fn new() -> Self {
        Self {
            board: Board::start(),
            black_to_move: true,
            ply: 0,
            moves: Vec::new(),
        }
    }

    pub(crate) fn play(&mut self, square: usize) {
        self.board = self.board.play(square);
        self.moves.push(square);
        self.turn();
        if self.board.moves().is_empty() && !self.board.is_over() {
            self.board = self.board.pass();
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.black_to_move = !self.black_to_move;
        self.ply += 1;
    }

    /// Black's and white's discs.
    pub(crate) fn colors(&self) -> [u64; 2] {
        let [own, opponent] = self.board.bits();
        if self.black_to_move {
            [own, opponent]
        } else {
            [opponent, own]
        }
    }

    /// The final disc difference, black's view.
    pub(crate) fn black_discs(&self) -> i64 {
        let discs = i64::from(self.board.final_discs());
        if self.black_to_move { discs } else { -discs }
    }
}

/// The squares of `f5d6c3…`.
pub(crate) fn squares(text: &str) -> Vec<usize> {
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    text.chunks_exact(2)
        .map(|name| usize::from(name[0] - b'a') + 8 * usize::from(name[1] - b'1'))
        .collect()
}

/// A pattern of a features file.
struct Pattern {
    name: String,
    /// For each instance, the ways to read it that its own symmetries allow; none for a number.
    instances: Vec<Vec<Vec<usize>>>,
    /// `kind` of a number; "squares" for other patterns.
    kind: String,
    opponent: bool,
    index_max: usize,
}

impl Pattern {
    fn read(entry: &toml::Value) -> Self {
        let text = |key: &str| entry.get(key).map(|text| text.as_str().unwrap().to_owned());
        let squares = text("squares").map(|text| squares(&text));
        // Older files say `parity = true`.
        let number = text("kind").unwrap_or_else(|| "parity".to_owned());
        Self {
            name: text("name").unwrap(),
            kind: if squares.is_some() {
                "squares".to_owned()
            } else {
                number
            },
            opponent: text("side").is_some_and(|side| side == "opponent"),
            index_max: match (&squares, entry.get("cap")) {
                (Some(squares), _) => 3_usize.pow(squares.len() as u32) - 1,
                (None, Some(cap)) => cap.as_integer().unwrap() as usize,
                (None, None) => 1,
            },
            instances: squares.map_or_else(Vec::new, |squares| instances(&squares)),
        }
    }

    fn number(&self, board: &Board) -> usize {
        let seen = if self.opponent { board.pass() } else { *board };
        let count = match self.kind.as_str() {
            "parity" => seen.empties() % 2,
            "mobility" => seen.moves().len(),
            "potential" => seen.potential_moves(),
            "discs" => seen.count(1),
            other => panic!("{other} is not a number"),
        };
        count.min(self.index_max)
    }
}

/// The patterns and phases of a features file.
pub(crate) struct Patterns {
    patterns: Vec<Pattern>,
    /// The largest number of empty squares of each phase.
    phase_empties_max: Vec<i64>,
}

impl Patterns {
    pub(crate) fn read(path: &Path) -> Self {
        let file: toml::Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let numbers = |name: &str| -> Option<Vec<i64>> {
            Some(
                file.get(name)?
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|number| number.as_integer().unwrap())
                    .collect(),
            )
        };
        Self {
            patterns: file["pattern"]
                .as_array()
                .unwrap()
                .iter()
                .map(Pattern::read)
                .collect(),
            phase_empties_max: numbers("phase_empties_max").unwrap(),
        }
    }

    pub(crate) fn phase_count(&self) -> usize {
        self.phase_empties_max.len()
    }

    pub(crate) fn phase(&self, board: &Board) -> usize {
        self.phase_of(board.empties())
    }

    pub(crate) fn phase_of(&self, empties: usize) -> usize {
        self.phase_empties_max
            .iter()
            .rposition(|&most| empties as i64 <= most)
            .unwrap()
    }

    /// The fewest and the most empty squares of a phase.
    pub(crate) fn range(&self, phase: usize) -> [usize; 2] {
        let fewest = self
            .phase_empties_max
            .get(phase + 1)
            .map_or(0, |most| most + 1);
        [fewest, self.phase_empties_max[phase]].map(|empties| empties as usize)
    }

    /// Pattern and index of each feature; of the indices that mirrors of an instance have, the
    /// smallest.
    pub(crate) fn features(&self, board: &Board) -> Vec<(usize, usize)> {
        let mut features = Vec::new();
        for (number, pattern) in self.patterns.iter().enumerate() {
            for readings in &pattern.instances {
                let index = |squares: &Vec<usize>| {
                    squares
                        .iter()
                        .fold(0, |i, &at| 3 * i + usize::from(board.0[at]))
                };
                features.push((number, readings.iter().map(index).min().unwrap()));
            }
            if pattern.instances.is_empty() {
                features.push((number, pattern.number(board)));
            }
        }
        features
    }
}

/// The images of a pattern: images of the same squares are one instance, and the ways to read it.
fn instances(squares: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let mut instances: Vec<Vec<Vec<usize>>> = Vec::new();
    let set = |squares: &[usize]| {
        squares
            .iter()
            .copied()
            .collect::<std::collections::BTreeSet<usize>>()
    };
    for image in symmetries() {
        let image: Vec<usize> = squares.iter().map(|&square| image(square)).collect();
        match instances
            .iter_mut()
            .find(|readings| set(&readings[0]) == set(&image))
        {
            Some(readings) => readings.push(image),
            None => instances.push(vec![image]),
        }
    }
    instances
}

/// A value for each phase, pattern and index.
pub(crate) type PerFeature<T> = Vec<Vec<Vec<T>>>;

/// Patterns with weights.
pub(crate) struct Evaluation {
    pub(crate) patterns: Patterns,
    pub(crate) weights: PerFeature<i32>,
}

impl Evaluation {
    /// The weights of a version, 0 where an index has a smaller mirror.
    pub(crate) fn read(version: &Path) -> Self {
        let patterns = Patterns::read(&version.join("features.toml"));
        let weights = per_feature(&patterns, version, "weight");
        Self { patterns, weights }
    }

    pub(crate) fn static_value(&self, board: &Board) -> i32 {
        let weights = &self.weights[self.patterns.phase(board)];
        self.patterns
            .features(board)
            .iter()
            .map(|&(pattern, index)| weights[pattern][index])
            .sum()
    }
}

impl Patterns {
    /// The place of the pattern that a row names.
    fn place(&self, rows: &Columns, row: usize) -> usize {
        self.patterns
            .iter()
            .position(|pattern| pattern.name == rows.text("pattern", row))
            .unwrap()
    }

    /// 0 for every feature.
    pub(crate) fn zero(&self) -> PerFeature<i32> {
        vec![
            self.patterns
                .iter()
                .map(|pattern| vec![0; pattern.index_max + 1])
                .collect();
            self.phase_count()
        ]
    }
}

/// The components of each vector of the first group in `vectors.parquet`, by pattern and index.
pub(crate) fn vectors<const SIZE: usize>(
    patterns: &Patterns,
    version: &Path,
) -> BTreeMap<(usize, usize), [i64; SIZE]> {
    let rows = Columns::read_file(&version.join("vectors.parquet"));
    let vector =
        |row: usize| std::array::from_fn(|place| rows.number(&format!("component_{place}"), row));
    let of_group = (0..rows.count).filter(|&row| rows.number("group", row) == 0);
    of_group
        .map(|row| {
            (
                (
                    patterns.place(&rows, row),
                    rows.number("index", row) as usize,
                ),
                vector(row),
            )
        })
        .collect()
}

/// A column of `weights.parquet`.
pub(crate) fn per_feature(patterns: &Patterns, version: &Path, column: &str) -> PerFeature<i32> {
    let rows = Columns::read_file(&version.join("weights.parquet"));
    let mut values = patterns.zero();
    for row in 0..rows.count {
        let pattern = patterns.place(&rows, row);
        let [phase, index] = ["phase", "index"].map(|name| rows.number(name, row) as usize);
        values[phase][pattern][index] = rows.number(column, row) as i32;
    }
    values
}

/// An evaluation without search, in millidiscs for the side to move.
pub(crate) type Evaluate<'a> = &'a dyn Fn(&Board) -> i32;

/// The built-in evaluation of discs.
pub(crate) fn disc_count(board: &Board) -> i32 {
    1000 * (board.count(1) as i32 - board.count(2) as i32)
}

/// The built-in evaluation of squares: the table of the upper left quarter, mirrored, times 50.
pub(crate) fn square_weights(board: &Board) -> i32 {
    const QUARTER: [[i32; 4]; 4] = [
        [120, -20, 20, 5],
        [-20, -40, -5, -5],
        [20, -5, 15, 3],
        [5, -5, 3, 3],
    ];
    let [own, opponent] = board.bits();
    let weight = |square: usize| {
        let [column, row] = [square % 8, square / 8].map(|line| line.min(7 - line));
        QUARTER[row][column] * ((own >> square & 1) as i32 - (opponent >> square & 1) as i32)
    };
    50 * (0..64).map(weight).sum::<i32>()
}

/// The value of best play for `depth` moves, each end judged by `evaluate`; games that end sooner
/// by their result. A pass is no move.
pub(crate) fn negamax(evaluate: Evaluate<'_>, board: &Board, depth: i64) -> i32 {
    within(evaluate, board, depth, -64_000, 64_000)
}

/// That value if it is within the window: a move that the opponent would not allow need not be the
/// best.
fn within(evaluate: Evaluate<'_>, board: &Board, depth: i64, mut alpha: i32, beta: i32) -> i32 {
    let moves = board.moves();
    if moves.is_empty() {
        let passed = board.pass();
        let is_over = passed.moves().is_empty();
        return if is_over {
            1000 * board.final_discs()
        } else {
            -within(evaluate, &passed, depth, -beta, -alpha)
        };
    }
    if depth == 0 {
        return evaluate(board).clamp(-64_000, 64_000);
    }
    let mut best = -64_000;
    for square in moves {
        best = best.max(-within(
            evaluate,
            &board.play(square),
            depth - 1,
            -beta,
            -alpha,
        ));
        alpha = alpha.max(best);
        if beta <= alpha {
            break;
        }
    }
    best
}

/// The final disc difference after best play, if it is within the window; moves that leave few
/// replies come first.
pub(crate) fn solve(board: &Board, mut alpha: i32, beta: i32) -> i32 {
    let moves = board.moves();
    if moves.is_empty() {
        let passed = board.pass();
        return if passed.moves().is_empty() {
            board.final_discs()
        } else {
            -solve(&passed, -beta, -alpha)
        };
    }
    let mut children: Vec<Board> = moves.iter().map(|&square| board.play(square)).collect();
    children.sort_by_cached_key(|child| child.moves().len());
    let mut best = -64;
    for child in children {
        best = best.max(-solve(&child, -beta, -alpha));
        alpha = alpha.max(best);
        if beta <= alpha {
            break;
        }
    }
    best
}

/// The value of a position by a search of this depth that is exact from `exact_empties` on, in
/// millidiscs.
pub(crate) fn value(
    evaluate: Evaluate<'_>,
    board: &Board,
    (depth, exact_empties): (i64, i64),
) -> i32 {
    let empties = board.empties() as i64;
    if empties <= exact_empties.max(depth) {
        1000 * solve(board, -64, 64)
    } else {
        negamax(evaluate, board, depth)
    }
}

/// The value of a move by that search.
pub(crate) fn move_value(
    evaluate: Evaluate<'_>,
    (board, square): (&Board, usize),
    (depth, exact_empties): (i64, i64),
) -> i32 {
    -value(
        evaluate,
        &board.play(square),
        (depth - 1, exact_empties - 1),
    )
}

/// What random streams are for: the first of the words that name one.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Game = 1,
    Shuffle = 2,
    Validation = 3,
    MpcSample = 4,
    GateOpening = 5,
    Vector = 8,
}

fn key(seed: u64, words: [u64; 3]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("renma 2026 random stream");
    hasher.update(&seed.to_le_bytes());
    words.iter().for_each(|word| {
        hasher.update(&word.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}

/// A number in [0, 1) that belongs to an item.
pub(crate) fn unit_of(seed: u64, purpose: Purpose, item: &[u8]) -> f64 {
    let hash = blake3::keyed_hash(&key(seed, [purpose as u64, 0, 0]), item);
    let word = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
    (word >> 11) as f64 / 2_f64.powi(53)
}

/// A stream of random numbers.
pub(crate) struct Stream(ChaCha8Rng);

impl Stream {
    pub(crate) fn new(seed: u64, purpose: Purpose, [first, second]: [u64; 2]) -> Self {
        Self(ChaCha8Rng::from_seed(key(
            seed,
            [purpose as u64, first, second],
        )))
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / 2_f64.powi(53)
    }

    /// The high word of a random word times `bound`; drawn again where the low word is one that
    /// makes some likelier.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let uneven = (1_u64 << 32) % bound as u64;
        loop {
            let product = u64::from(self.0.next_u32()) * bound as u64;
            if uneven <= product % (1 << 32) {
                return (product >> 32) as usize;
            }
        }
    }

    pub(crate) fn between(&mut self, min: usize, max: usize) -> usize {
        min + self.below(max - min + 1)
    }

    pub(crate) fn pick(&mut self, squares: &[usize]) -> usize {
        squares[self.below(squares.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
