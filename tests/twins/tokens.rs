//! Games as tokens, read and replayed as models of Othello do it: letters first, on a board of their
//! own kind, whose rules skip a side that has no move.

use crate::support::plain::{Game, squares};
use crate::support::tables::Columns;
use crate::support::workspace::{ONE_PLY, Workspace};
use arrow::array::{Array, AsArray, ListArray, RecordBatch};
use arrow::datatypes::{Int32Type, UInt8Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// A board by letter and digit, with 1 for black, -1 for white and 0 for an empty square, as
/// `data/othello.py` of Li et al. has it.
struct LetterBoard {
    state: [[i32; 8]; 8],
    hand: i32,
}

impl LetterBoard {
    fn new() -> Self {
        let mut state = [[0; 8]; 8];
        (state[3][4], state[4][3]) = (1, 1);
        (state[3][3], state[4][4]) = (-1, -1);
        Self { state, hand: 1 }
    }

    /// The discs that a move turns over.
    fn turned(&self, index: usize, hand: i32) -> Vec<(usize, usize)> {
        let (letter, digit) = (index / 8, index % 8);
        let mut turned = Vec::new();
        if self.state[letter][digit] != 0 {
            return turned;
        }
        for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right))) {
            let mut line = Vec::new();
            let (mut letter, mut digit) = (letter as i32 + down, digit as i32 + right);
            while (0..8).contains(&letter) && (0..8).contains(&digit) && (down, right) != (0, 0) {
                let place = (letter as usize, digit as usize);
                match self.state[place.0][place.1] * hand {
                    -1 => line.push(place),
                    1 => {
                        turned.append(&mut line);
                        break;
                    }
                    _ => break,
                }
                (letter, digit) = (letter + down, digit + right);
            }
        }
        turned
    }

    fn legal(&self) -> Vec<usize> {
        (0..64)
            .filter(|&index| !self.turned(index, self.hand).is_empty())
            .collect()
    }

    /// Lets the side pass that has no move and the other has.
    fn skip(&mut self) {
        if self.legal().is_empty() {
            self.hand = -self.hand;
        }
    }

    fn play(&mut self, index: usize) {
        let turned = self.turned(index, self.hand);
        assert!(!turned.is_empty(), "{index} is illegal in {:?}", self.state);
        for (letter, digit) in turned {
            self.state[letter][digit] = self.hand;
        }
        self.state[index / 8][index % 8] = self.hand;
        self.hand = -self.hand;
        self.skip();
    }

    /// The squares of a color as bits of the other convention: digits first.
    fn bits(&self, color: i32) -> u64 {
        let of_color = (0..64).filter(|index| self.state[index / 8][index % 8] == color);
        of_color.map(bit).sum()
    }
}

/// The bit of a letter-major index on a bitboard of renma.
fn bit(index: usize) -> u64 {
    1 << (index % 8 * 8 + index / 8)
}

/// The letter-major index of each token, from 1.
fn vocabulary() -> Vec<usize> {
    (0..64)
        .filter(|index| ![27, 28, 35, 36].contains(index))
        .collect()
}

#[derive(Debug, Default, PartialEq)]
struct Label {
    black_to_move: bool,
    mine: u64,
    yours: u64,
    legal: u64,
    score: Option<i32>,
    loss: Option<i32>,
}

#[derive(Debug)]
struct Row {
    game_id: u64,
    /// With pads.
    tokens: Vec<u8>,
    split: String,
    /// One for each token, or none.
    labels: Vec<Label>,
}

impl Row {
    /// The letter-major indices of the moves.
    fn moves(&self) -> Vec<usize> {
        let words = vocabulary();
        let tokens = self.tokens.iter().take_while(|&&token| token != 0);
        tokens.map(|&token| words[usize::from(token) - 1]).collect()
    }
}

fn read(path: &Path) -> Vec<Row> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let batches = reader.build().unwrap();
    batches.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let lists = |name: &str| batch.column_by_name(name).map(AsArray::as_list::<i32>);
    let value = |name: &str, row: usize| lists(name).map(|list: &ListArray| list.value(row));
    let row = |row: usize| {
        let tokens = value("tokens", row).unwrap();
        let bits = |name| value(name, row).map(|bits| bits.as_primitive::<UInt64Type>().clone());
        let numbers = |name| {
            value(name, row)
                .unwrap()
                .as_primitive::<Int32Type>()
                .clone()
        };
        let mut labels = Vec::new();
        if let (Some(mine), Some(yours), Some(legal)) = (bits("mine"), bits("yours"), bits("legal"))
        {
            let (scores, losses) = (numbers("score"), numbers("loss"));
            let black_to_move = value("black_to_move", row).unwrap().as_boolean().clone();
            let optional = |values: &arrow::array::Int32Array, place: usize| {
                values.is_valid(place).then(|| values.value(place))
            };
            labels.extend((0..mine.len()).map(|place| Label {
                black_to_move: black_to_move.value(place),
                mine: mine.value(place),
                yours: yours.value(place),
                legal: legal.value(place),
                score: optional(&scores, place),
                loss: optional(&losses, place),
            }));
        }
        Row {
            game_id: batch["game_id"].as_primitive::<UInt64Type>().value(row),
            tokens: tokens.as_primitive::<UInt8Type>().values().to_vec(),
            split: batch["split"].as_string::<i32>().value(row).to_owned(),
            labels,
        }
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Plays random games and exports them with labels.
fn random_games(workspace: &Workspace, games: &str) -> Vec<Row> {
    let changes = [("generate.games", games), ("generate.part_games", "3000")];
    let config = workspace.config("random", "random-games", &changes);
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output random"
    ));
    workspace.done("dataset export random --format tokens --labels --output tokens.parquet");
    read(&workspace.path("tokens.parquet"))
}

#[test]
fn tokens_replay_to_the_boards_of_renma_in_the_letter_major_convention() {
    let workspace = Workspace::new();
    let rows = random_games(&workspace, "10000");
    let stored = Columns::read_parts(&workspace.path("random/games"));
    assert_eq!((rows.len(), stored.count), (10_000, 10_000));
    let (mut moves, mut by_parity, mut with_pass, mut whole) = (0, 0, 0, 0);
    for (number, row) in rows.iter().enumerate() {
        let place = format!("game {}", row.game_id);
        assert_eq!(row.game_id, number as u64);
        assert_eq!((row.tokens.len(), row.labels.len()), (60, 60), "{place}");
        let names: String = row
            .moves()
            .iter()
            .map(|index| format!("{}{}", (b'a' + (index / 8) as u8) as char, index % 8 + 1))
            .collect();
        assert_eq!(names, stored.text("moves", number), "{place}");
        let (mut board, mut game, mut wrong) = (LetterBoard::new(), Game::new(), 0);
        for (index, label) in row.moves().into_iter().zip(&row.labels) {
            let expected = Label {
                black_to_move: board.hand == 1,
                mine: board.bits(board.hand),
                yours: board.bits(-board.hand),
                legal: board.legal().into_iter().map(bit).sum(),
                score: None,
                loss: None,
            };
            assert_eq!(*label, expected, "{place}, move {}", game.moves.len());
            // The board of renma's own convention, from its moves.
            let [black, white] = game.colors();
            assert_eq!([board.bits(1), board.bits(-1)], [black, white], "{place}");
            assert_eq!(label.black_to_move, game.black_to_move, "{place}");
            wrong += usize::from(label.black_to_move != (game.moves.len() % 2 == 0));
            board.play(index);
            game.play(bit(index).trailing_zeros() as usize);
        }
        let length = row.moves().len();
        assert!(game.board.is_over(), "{place}");
        assert_eq!(game.moves.len(), length, "{place}");
        assert!(
            row.tokens[length..].iter().all(|&token| token == 0),
            "{place}"
        );
        let pads = &row.labels[length..];
        assert!(
            pads.iter().all(|label| *label == Label::default()),
            "{place}"
        );
        moves += length;
        by_parity += wrong;
        with_pass += usize::from(0 < wrong);
        whole += usize::from(length == 60);
    }
    // The parity of the move colors about one move in a hundred wrongly, in a third of the games.
    let [wrong, passed, full] = [
        by_parity as f64 / moves as f64,
        with_pass as f64 / 1e4,
        whole as f64 / 1e4,
    ];
    assert!(0.010 < wrong && wrong < 0.014, "{wrong}");
    assert!(0.2 < passed && passed < 0.36, "{passed}");
    assert!(0.985 < full && full < 0.995, "{full}");
}

/// The images of a game under the symmetries that keep the start, by letters and digits.
fn images(moves: &[usize]) -> [Vec<usize>; 4] {
    let image = |of: fn(usize, usize) -> (usize, usize)| {
        let at = |&index: &usize| {
            let (letter, digit) = of(index / 8, index % 8);
            8 * letter + digit
        };
        moves.iter().map(at).collect()
    };
    [
        image(|letter, digit| (letter, digit)),
        image(|letter, digit| (digit, letter)),
        image(|letter, digit| (7 - digit, 7 - letter)),
        image(|letter, digit| (7 - letter, 7 - digit)),
    ]
}

/// The side of a game by the definition in docs/datasets.md.
fn split(moves: &[usize], share: f64) -> &'static str {
    let words = vocabulary();
    let tokens = |moves: &Vec<usize>| -> Vec<u8> {
        let token = |index| 1 + words.iter().position(|word| word == index).unwrap() as u8;
        moves.iter().map(token).collect()
    };
    let canonical = images(moves).iter().map(tokens).min().unwrap();
    let hash = blake3::hash(&canonical);
    let number = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap());
    if ((number >> 11) as f64) < share * 2_f64.powi(53) {
        "validation"
    } else {
        "train"
    }
}

#[test]
fn no_game_is_on_both_sides_of_the_split_up_to_symmetry() {
    let workspace = Workspace::new();
    let rows = random_games(&workspace, "2000");
    // Each of some games comes again as its images, and short ones come often.
    let mut lines = String::new();
    let name = |index: &usize| format!("{}{}", (b'a' + (index / 8) as u8) as char, index % 8 + 1);
    for row in &rows {
        for image in images(&row.moves()) {
            lines += &image.iter().map(name).collect::<String>();
            lines += "\n";
        }
    }
    workspace.write("lines.txt", &lines);
    workspace.done("dataset import lines.txt --format transcripts --output lines");
    for (options, share, length) in [
        ("", 0.05, 60),
        ("--validation 0.3 --length 59", 0.3, 59),
        ("--validation 50% --length 5", 0.5, 5),
        ("--validation 0", 0.0, 60),
        ("--validation 1", 1.0, 60),
    ] {
        workspace.done(&format!(
            "dataset export lines --format tokens {options} --force --output lines.parquet"
        ));
        let rows = read(&workspace.path("lines.parquet"));
        assert_eq!(rows.len(), 8_000);
        let mut sides: BTreeMap<Vec<usize>, BTreeSet<&str>> = BTreeMap::new();
        for row in &rows {
            assert_eq!(row.tokens.len(), length, "{options}");
            let moves = row.moves();
            assert_eq!(row.split, split(&moves, share), "{options}: {row:?}");
            let canonical = images(&moves).into_iter().min().unwrap();
            sides.entry(canonical).or_default().insert(&row.split);
        }
        let on_both = sides.values().filter(|sides| sides.len() != 1).count();
        assert_eq!(on_both, 0, "{options}");
        let apart = sides.values().filter(|sides| sides.contains("validation"));
        let found = apart.count() as f64 / sides.len() as f64;
        // Five standard errors.
        let bound = 5.0 * (share * (1.0 - share) / sides.len() as f64).sqrt();
        assert!((found - share).abs() <= bound, "{options}: {found}");
    }
}

#[test]
fn scores_and_losses_are_those_of_the_rows() {
    let workspace = Workspace::new();
    let changes = [
        &ONE_PLY[..],
        &[
            ("generate.games", "60"),
            ("generate.part_games", "25"),
            ("generate.label_from_ply", "3"),
        ],
    ]
    .concat();
    let config = workspace.config("scored", "smoke", &changes);
    workspace.done(&format!("generate --config {config} --output scored"));
    workspace.done("dataset export scored --format tokens --labels --output scored.parquet");
    let positions = Columns::read_parts(&workspace.path("scored/positions"));
    let scored: BTreeMap<(i64, i64), i64> = (0..positions.count)
        .map(|row| {
            let at = |name| positions.number(name, row);
            let sign = if at("black_to_move") == 1 { 1 } else { -1 };
            ((at("game_id"), at("ply")), sign * at("score"))
        })
        .collect();
    let (mut known, mut after_pass) = (0, 0);
    for row in read(&workspace.path("scored.parquet")) {
        let mut game = Game::new();
        for (index, label) in row.moves().into_iter().zip(&row.labels) {
            let (ply, sign) = (game.ply, if game.black_to_move { 1 } else { -1 });
            game.play(bit(index).trailing_zeros() as usize);
            let of_black = |ply| scored.get(&(row.game_id as i64, ply)).copied();
            let (before, after) = (of_black(ply), of_black(game.ply));
            let place = format!("game {}, ply {ply}", row.game_id);
            assert_eq!(
                label.score.map(i64::from),
                before.map(|score| sign * score),
                "{place}"
            );
            let loss = before
                .zip(after)
                .map(|(before, after)| sign * (before - after));
            assert_eq!(label.loss.map(i64::from), loss, "{place}");
            known += usize::from(loss.is_some());
            after_pass += usize::from(loss.is_some() && ply + 1 < game.ply);
        }
    }
    assert_eq!(scored.len(), positions.count);
    assert!(3_000 < known && 2 < after_pass, "{known} and {after_pass}");
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_threads() {
    let workspace = Workspace::new();
    random_games(&workspace, "9001");
    for options in ["", "--labels --length 31"] {
        let bytes = ["1", "2", "5"].map(|threads| {
            workspace.done(&format!(
                "dataset export random --format tokens {options} --threads {threads} --force --output out.parquet"
            ));
            std::fs::read(workspace.path("out.parquet")).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2], "{options}");
    }
    // Labels are further columns, and change no other.
    workspace.done("dataset export random --format tokens --output bare.parquet");
    let [bare, labeled] =
        ["bare.parquet", "tokens.parquet"].map(|name| read(&workspace.path(name)));
    assert_eq!(bare.len(), labeled.len());
    for (bare, labeled) in bare.iter().zip(&labeled) {
        assert!(bare.labels.is_empty());
        assert_eq!(
            (bare.game_id, &bare.tokens, &bare.split),
            (labeled.game_id, &labeled.tokens, &labeled.split)
        );
    }
}

#[test]
fn games_of_every_origin_have_tokens() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &ONE_PLY);
    workspace.done(&format!("generate --config {config} --output selfplay"));
    workspace.run(&format!(
        "gate --config {config} --candidate builtin:square-weights --baseline builtin:disc-count --output gate"
    ));
    workspace.write("games.wtb", include_bytes!("../data/games.wtb"));
    workspace.done("dataset import games.wtb --format wthor --output wthor");
    // The second game was given up; its last position has a row.
    workspace.write("lines.txt", "e6f4e3f6g5d6e7f5c5\nf5d6c3\n");
    workspace.done("dataset import lines.txt --format transcripts --output lines --label-depth 2");
    for dataset in ["selfplay", "gate", "wthor", "lines"] {
        workspace.done(&format!(
            "dataset export {dataset} --format tokens --labels --output {dataset}.parquet"
        ));
        let rows = read(&workspace.path(&format!("{dataset}.parquet")));
        let games = Columns::read_parts(&workspace.path(&format!("{dataset}/games")));
        assert_eq!(rows.len(), games.count, "{dataset}");
        for (number, row) in rows.iter().enumerate() {
            let expected: Vec<u64> = squares(games.text("moves", number))
                .into_iter()
                .map(|square| 1 << square)
                .collect();
            let found: Vec<u64> = row.moves().into_iter().map(bit).collect();
            assert_eq!(found, expected, "{dataset}");
            assert_eq!(row.game_id as i64, games.number("game_id", number));
            let has_scores = row.labels.iter().any(|label| label.score.is_some());
            assert_eq!(
                has_scores,
                ["selfplay", "lines"].contains(&dataset),
                "{dataset}"
            );
            let moves = &row.labels[..expected.len()];
            for (label, square) in moves.iter().zip(expected) {
                assert_eq!(label.legal & square, square, "{dataset}");
            }
            if dataset == "lines" {
                let losses = moves.iter().filter(|label| label.loss.is_some()).count();
                assert_eq!(losses, [8, 3][number], "{moves:?}");
            }
        }
    }
}
