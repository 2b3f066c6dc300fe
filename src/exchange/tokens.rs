//! Games as tokens, in the vocabulary of language models of Othello (Li et al., "Emergent World
//! Representations", 2023): 1 to 60 are the squares without d4, d5, e4 and e5, letter by letter, and
//! 0 pads. Letters come first there and rows here, so a token is never a square's number.

use crate::artifact::table::writer_properties;
use crate::artifact::{ArtifactError, FileKind, Footer, FormatVersion, GameId, RULES, Table};
use crate::engine::board::symmetry::Symmetry;
use crate::engine::{Black, ColoredPosition, Game, Score, Square, White};
use crate::random::unit;
use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, ListArray, RecordBatch, StringArray, UInt8Array,
    UInt64Array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::io::{self, Write};
use std::mem::take;
use std::sync::{Arc, LazyLock};

/// The format version of a file of tokens.
type TokensFormat = FormatVersion<1>;

/// The moves of the longest game, and the number of tokens besides the pad.
pub const GAME_TOKENS_MAX: u8 = 60;

/// What stands after the last move of a game.
const PAD: u8 = 0;

/// The key of a footer with the format version.
const FORMAT_KEY: &str = "renma.tokens";

/// Rows of a row group, of which one is in memory. Labels take thirty times as much as tokens.
const ROW_GROUP_ROWS: usize = 1 << 17;
const ROW_GROUP_ROWS_LABELED: usize = 1 << 15;

/// The name that Parquet gives the values of a list.
const ELEMENT: &str = "element";

/// A file of tokens says so in its footer.
pub const TOKENS_FILE: FileKind = FileKind {
    name: "a Parquet file of tokens",
    matches: |path| match Table::read_footer(path) {
        Ok(footer) => Ok(footer.contains_key(FORMAT_KEY)),
        Err(ArtifactError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    },
};

/// What a file of tokens holds of each game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokensConfig {
    /// The number of tokens of each game, 1 to [`GAME_TOKENS_MAX`]: later moves are left out.
    pub length: u8,
    /// The share of the games that are for validation, 0 to 1.
    pub validation: f64,
    /// Whether each move has its position.
    pub labels: bool,
}

/// A game as tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGame {
    #[expect(missing_docs, reason = "the name says it")]
    pub game_id: GameId,
    /// Without pads.
    pub tokens: Vec<u8>,
    /// Whether the game is for validation.
    pub is_validation: bool,
    /// One for each token, if labels were asked for.
    pub labels: Vec<MoveLabels>,
}

/// The position before a move, and how good the move was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the file describe them")]
pub struct MoveLabels {
    pub black_to_move: bool,
    pub mine: u64,
    pub yours: u64,
    pub legal: u64,
    pub score: Option<Score>,
    pub loss: Option<Score>,
}

/// The token of each square; the four that are never played have none.
static TOKENS: LazyLock<[u8; 64]> = LazyLock::new(|| {
    let (black, white) = ColoredPosition::START.boards();
    let start = black.0 | white.0;
    let mut tokens = [PAD; 64];
    let by_letter = (0..8).flat_map(|column| (0..8).filter_map(move |row| Square::at(column, row)));
    let played = by_letter.filter(|square| square.bit() & start == 0);
    for (token, square) in (1..).zip(played) {
        tokens[square.index()] = token;
    }
    tokens
});

/// The image of each token under the symmetries that map the start to itself.
static IMAGES: LazyLock<Vec<[u8; GAME_TOKENS_MAX as usize + 1]>> = LazyLock::new(|| {
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let keeps_start =
        |symmetry: &Symmetry| symmetry.set(black) == black && symmetry.set(white) == white;
    let images = Symmetry::all().filter(keeps_start).map(|symmetry| {
        let mut image = [PAD; GAME_TOKENS_MAX as usize + 1];
        for square in Square::all() {
            let token = TOKENS[square.index()];
            image[usize::from(token)] = TOKENS[symmetry.square(square).index()];
        }
        image
    });
    images.collect()
});

/// The first moves of a game as tokens, at most `length`.
pub fn tokens_of(game: &Game, length: u8) -> Vec<u8> {
    let moves = game.moves().take(length.into());
    moves.map(|square| TOKENS[square.index()]).collect()
}

/// Whether the game of these tokens is for validation, as a share of all games is.
///
/// The tokens alone decide, and those of a symmetric game decide the same, so that no game is on
/// both sides of the split.
pub fn is_validation(tokens: &[u8], share: f64) -> bool {
    let hash = blake3::hash(&canonical(tokens));
    let word = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    unit(u64::from_le_bytes(*word)) < share
}

/// The least image of the tokens under the symmetries that map the start to itself.
fn canonical(tokens: &[u8]) -> Vec<u8> {
    let image_of = |image: &[u8; 61]| -> Vec<u8> {
        tokens
            .iter()
            .map(|&token| image[usize::from(token)])
            .collect()
    };
    let least = IMAGES.iter().map(image_of).min();
    least.expect("the identity is a symmetry")
}

/// A Parquet file of tokens, written one row group at a time.
pub struct TokensWriter {
    config: TokensConfig,
    schema: SchemaRef,
    /// What it has written waits here for the output.
    parquet: ArrowWriter<Vec<u8>>,
}

impl TokensWriter {
    /// Begins a file of the games of a dataset, whose content is named in the footer.
    ///
    /// # Errors
    ///
    /// An error of the Parquet writer.
    pub fn new(config: TokensConfig, dataset: String) -> io::Result<Self> {
        let schema = schema(&config);
        let properties = properties(&config, dataset);
        let parquet = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))?;
        Ok(Self {
            config,
            schema,
            parquet,
        })
    }

    /// Adds games in their order.
    ///
    /// # Errors
    ///
    /// An error of the output.
    pub fn write(&mut self, games: &[TokenGame], output: &mut dyn Write) -> io::Result<()> {
        let columns = columns(games, &self.config);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .expect("the columns are those of the schema");
        self.parquet.write(&batch)?;
        self.parquet.sync()?;
        output.write_all(&take(self.parquet.inner_mut()))
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// An error of the output.
    pub fn finish(self, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(&self.parquet.into_inner()?)
    }
}

/// The columns, each with what it means; the footer's names of values of lists end in `.element`.
const GAME_COLUMNS: [(&str, &str); 3] = [
    ("game_id", "the game, unique in the dataset"),
    (
        "tokens",
        "the moves, passes left out: 1 to 60 are a1 a2 ... h8 without d4 d5 e4 e5, 0 pads",
    ),
    (
        "split",
        "train or validation; symmetric games are on the same side",
    ),
];

/// The columns of labels. All but the last two are 0 or false after the last move.
const LABEL_COLUMNS: [(&str, DataType, Encoding, &str); 6] = [
    (
        "black_to_move",
        DataType::Boolean,
        Encoding::PLAIN,
        "per move, whether black makes it",
    ),
    (
        "mine",
        DataType::UInt64,
        Encoding::PLAIN,
        "per move, the discs of the side that makes it, before it, bit i for square i, a1 = 0, b1 = 1, h8 = 63",
    ),
    (
        "yours",
        DataType::UInt64,
        Encoding::PLAIN,
        "per move, the discs of the other side before it",
    ),
    (
        "legal",
        DataType::UInt64,
        Encoding::PLAIN,
        "per move, the legal moves in its position",
    ),
    (
        "score",
        DataType::Int32,
        Encoding::DELTA_BINARY_PACKED,
        "per move, the score of the position before it in millidiscs, side to move; null if unknown",
    ),
    (
        "loss",
        DataType::Int32,
        Encoding::DELTA_BINARY_PACKED,
        "per move, by how many millidiscs the score fell, for the side that made it; null if either score is unknown",
    ),
];

/// The field of the values of a list.
fn element(data_type: DataType) -> FieldRef {
    // Scores and losses may be missing.
    let is_nullable = data_type == DataType::Int32;
    Arc::new(Field::new(ELEMENT, data_type, is_nullable))
}

fn schema(config: &TokensConfig) -> SchemaRef {
    let field = |name: &str, data_type: DataType, description: &str| {
        let metadata = HashMap::from([("description".to_owned(), description.to_owned())]);
        Field::new(name, data_type, false).with_metadata(metadata)
    };
    let types = [
        DataType::UInt64,
        DataType::List(element(DataType::UInt8)),
        DataType::Utf8,
    ];
    let games = GAME_COLUMNS
        .into_iter()
        .zip(types)
        .map(|((name, description), data_type)| field(name, data_type, description));
    let labels = LABEL_COLUMNS.into_iter().filter(|_| config.labels).map(
        |(name, data_type, _, description)| {
            field(name, DataType::List(element(data_type)), description)
        },
    );
    Arc::new(Schema::new(games.chain(labels).collect::<Vec<_>>()))
}

fn properties(config: &TokensConfig, dataset: String) -> WriterProperties {
    let footer = Footer::from([
        (
            FORMAT_KEY.to_owned(),
            TokensFormat::CURRENT.number().to_string(),
        ),
        ("renma.rules".to_owned(), RULES.to_owned()),
        ("renma.dataset".to_owned(), dataset),
        ("renma.length".to_owned(), config.length.to_string()),
        ("renma.validation".to_owned(), config.validation.to_string()),
    ]);
    let rows = if config.labels {
        ROW_GROUP_ROWS_LABELED
    } else {
        ROW_GROUP_ROWS
    };
    let mut properties = writer_properties(&footer)
        .set_max_row_group_row_count(Some(rows))
        .set_column_dictionary_enabled("game_id".into(), false)
        .set_column_encoding("game_id".into(), Encoding::DELTA_BINARY_PACKED);
    for (name, _, encoding, _) in LABEL_COLUMNS {
        let path = ColumnPath::new([name, "list", ELEMENT].map(str::to_owned).into());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, encoding);
    }
    properties.build()
}

fn columns(games: &[TokenGame], config: &TokensConfig) -> Vec<ArrayRef> {
    let length = usize::from(config.length);
    let padded = |game: &TokenGame| {
        let mut tokens = game.tokens.clone();
        tokens.resize(length, PAD);
        tokens
    };
    let tokens: Vec<u8> = games.iter().flat_map(padded).collect();
    let split = games.iter().map(|game| split_name(game.is_validation));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(
            games.iter().map(|game| game.game_id.0),
        )),
        list(length, Arc::new(UInt8Array::from(tokens))),
        Arc::new(StringArray::from_iter_values(split)),
    ];
    if config.labels {
        let labels: Vec<MoveLabels> = games
            .iter()
            .flat_map(|game| {
                let pads = length - game.labels.len();
                let labels = game.labels.iter().copied();
                labels.chain(std::iter::repeat_n(MoveLabels::default(), pads))
            })
            .collect();
        columns.extend(label_columns(&labels).map(|values| list(length, values)));
    }
    columns
}

/// The columns in the order of [`LABEL_COLUMNS`].
fn label_columns(labels: &[MoveLabels]) -> [ArrayRef; 6] {
    let bits = |of: fn(&MoveLabels) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(labels.iter().map(of)))
    };
    let scores = |of: fn(&MoveLabels) -> Option<Score>| -> ArrayRef {
        let values = labels.iter().map(|labels| of(labels).map(|score| score.0));
        Arc::new(values.collect::<Int32Array>())
    };
    let black_to_move = labels.iter().map(|labels| Some(labels.black_to_move));
    [
        Arc::new(black_to_move.collect::<BooleanArray>()),
        bits(|labels| labels.mine),
        bits(|labels| labels.yours),
        bits(|labels| labels.legal),
        scores(|labels| labels.score),
        scores(|labels| labels.loss),
    ]
}

/// Values as lists of the same length.
fn list(length: usize, values: ArrayRef) -> ArrayRef {
    let offsets: ScalarBuffer<i32> = (0..=values.len())
        .step_by(length)
        .map(|offset| i32::try_from(offset).expect("a batch has few games"))
        .collect();
    let element = element(values.data_type().clone());
    Arc::new(ListArray::new(
        element,
        OffsetBuffer::new(offsets),
        values,
        None,
    ))
}

const fn split_name(is_validation: bool) -> &'static str {
    if is_validation { "validation" } else { "train" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_numbered_by_letters_without_the_four_squares_of_the_start() {
        for (name, token) in [
            ("a1", 1),
            ("a2", 2),
            ("b1", 9),
            ("c4", 20),
            ("d3", 27),
            ("d6", 28),
            ("e3", 33),
            ("e6", 34),
            ("h1", 53),
            ("h8", 60),
            ("d4", PAD),
            ("d5", PAD),
            ("e4", PAD),
            ("e5", PAD),
        ] {
            let square: Square = name.parse().unwrap();
            assert_eq!(TOKENS[square.index()], token, "{name}");
        }
        let game = Game::from_transcript("f5d6c3").unwrap();
        assert_eq!(tokens_of(&game, 60), [41, 28, 19]);
        assert_eq!(tokens_of(&game, 2), [41, 28]);
    }

    #[test]
    fn the_four_first_moves_are_one_game_up_to_symmetry() {
        assert_eq!(IMAGES.len(), 4);
        let first = ["d3", "c4", "f5", "e6"].map(|name| {
            let game = Game::from_transcript(name).unwrap();
            canonical(&tokens_of(&game, 60))
        });
        assert!(
            first.iter().all(|canonical| *canonical == [20]),
            "{first:?}"
        );
        // Mirrored left to right the start has the other colors, so that these are two games.
        let [one, other] = ["f5d6", "f5f4"]
            .map(|moves| canonical(&tokens_of(&Game::from_transcript(moves).unwrap(), 60)));
        assert_ne!(one, other);
    }

    #[test]
    fn a_share_of_none_or_all_has_no_exception() {
        for number in 0..200_u8 {
            let tokens = [number % 61, number / 61];
            assert!(!is_validation(&tokens, 0.0) && is_validation(&tokens, 1.0));
        }
    }
}
