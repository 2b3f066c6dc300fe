//! Other programs' games and positions become datasets: right to the last disc, or refused with
//! record and byte.

use crate::support::workspace::{Workspace, check_exact_scores, check_same, files};
use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, NullArray, RecordBatch, StringArray, StructArray, UInt64Array,
};
use arrow::datatypes::Field;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use renma::artifact::{Dataset, GameId, GameRow, NEVER, PositionRow};
use renma::engine::{Black, ColoredPosition, Game, Ply, Score, Squares, White};
use renma::exchange::ggf::write_ggf;
use std::path::Path;
use std::sync::Arc;

/// 15 games in the WTHOR format, written by tests/data/make_wthor.py.
const WTHOR: &[u8] = include_bytes!("../data/games.wtb");

/// Their moves, black's discs, results for black and passes, by the same hand.
const GAMES: &str = include_str!("../data/games.csv");

struct ExpectedGame {
    moves: &'static str,
    result: i8,
    passes: u8,
}

fn expected_games() -> Vec<ExpectedGame> {
    let game = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        ExpectedGame {
            moves: fields[1],
            result: fields[3].parse().unwrap(),
            passes: fields[4].parse().unwrap(),
        }
    };
    GAMES.lines().skip(1).map(game).collect()
}

fn games(folder: &Path) -> Vec<GameRow> {
    let dataset = Dataset::open(folder).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.game_rows(part).unwrap().unwrap())
        .collect()
}

fn rows(folder: &Path) -> Vec<PositionRow> {
    let dataset = Dataset::open(folder).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.rows(part, &NEVER).unwrap())
        .collect()
}

/// The exit code and words of a failure that leaves nothing behind.
fn check_refused(workspace: &Workspace, arguments: &str, code: i32, words: &[&str]) {
    let before = files(workspace.root());
    let outcome = workspace.run(arguments);
    outcome.check(arguments, code, words);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    assert!(
        files(workspace.root()) == before,
        "{arguments}: files were left behind"
    );
}

fn seed_config(workspace: &Workspace, name: &str, target: &str) -> String {
    workspace.config(name, "seed", &[("train.target", target)])
}

#[test]
fn every_wthor_game_has_its_result_and_its_positions() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    workspace.done("dataset import games.wtb --format wthor --output imported");
    let found = games(&workspace.path("imported"));
    let all_rows = rows(&workspace.path("imported"));
    let expected = expected_games();
    assert_eq!(found.len(), expected.len());
    let mut rest = &all_rows[..];
    for (id, (game, expected)) in (0..).map(GameId).zip(found.iter().zip(&expected)) {
        assert_eq!((game.game_id, game.moves.as_str()), (id, expected.moves));
        assert_eq!(
            (game.result, game.random_plies),
            (Some(expected.result), None),
            "game {id}"
        );
        let squares: Vec<_> = Game::from_transcript(expected.moves)
            .unwrap()
            .moves()
            .collect();
        let (rows, others) = rest.split_at(usize::from(game.positions));
        rest = others;
        let mut board = Game::default();
        for (row, square) in rows.iter().zip(&squares) {
            assert_eq!((row.game_id, row.ply), (id, board.ply().0));
            assert_eq!(
                (Black(row.black), White(row.white)),
                board.to_move().boards(),
                "game {id}, ply {}",
                row.ply
            );
            assert_eq!(row.played_move, Some(square.number()));
            let result = if row.black_to_move {
                expected.result
            } else {
                -expected.result
            };
            assert_eq!(row.result, Some(result), "game {id}, ply {}", row.ply);
            assert_eq!(
                (row.score, row.depth, row.exact, row.random_move),
                (None, None, None, None)
            );
            board.play(*square).unwrap();
        }
        let given_up = usize::from(!board.is_over());
        assert_eq!(rows.len(), squares.len() + given_up, "game {id}");
        assert_eq!(
            usize::from(board.ply().0),
            squares.len() + usize::from(expected.passes),
            "game {id}"
        );
    }
    assert!(rest.is_empty());
    workspace.done("dataset verify imported");
    let summary = workspace.done("dataset inspect imported");
    let missing = format!("score is missing in {} rows", all_rows.len());
    assert!(summary.contains(&missing), "{summary}");
    let again = workspace.done("dataset import games.wtb --format wthor --output imported --json");
    assert!(again.contains("\"skipped\":true"), "{again}");
    check_refused(
        &workspace,
        "dataset import games.wtb --format wthor --output imported --label-depth 1",
        2,
        &["imported"],
    );
}

#[test]
fn an_imported_dataset_trains_at_once_on_the_labels_it_has() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    workspace.done("dataset import games.wtb --format wthor --output imported");
    let result = seed_config(&workspace, "result", "\"result\"");
    let score = seed_config(&workspace, "score", "\"score\"");
    let train = |config: &str, datasets: &str| {
        format!("train --config {config} --dataset {datasets} --models registry")
    };
    let report = workspace.done(&format!("{} --json", train(&result, "imported")));
    let row_count = rows(&workspace.path("imported")).len();
    assert!(
        report.contains(&format!("\"rows\":{row_count},")),
        "{report}"
    );
    let words = [
        "imported",
        "`score`",
        "train.target = \"score\"",
        "--label-depth",
    ];
    check_refused(&workspace, &train(&score, "imported"), 65, &words);
    workspace.done("dataset import games.wtb --format wthor --output labeled --label-depth 1");
    check_refused(
        &workspace,
        &train(&score, "labeled imported"),
        65,
        &["labeled", "imported", "a game counts once"],
    );
    workspace.write("lines.txt", "f5d6c3d3c4\n");
    workspace.done("dataset import lines.txt --format transcripts --output lines");
    let report = workspace.done(&format!("{} --json", train(&score, "labeled lines")));
    assert!(
        report.contains(&format!("\"rows\":{row_count},")),
        "{report}"
    );
    assert!(report.contains("\"unlabeled\":6,"), "{report}");
}

#[test]
fn labels_are_the_same_with_any_number_of_threads() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    for threads in [1, 2, 5] {
        workspace.done(&format!(
            "dataset import games.wtb --format wthor --output t{threads} --label-depth 3 --threads {threads}"
        ));
    }
    check_same(
        &workspace.path("t1"),
        &workspace.path("t2"),
        "1 and 2 threads",
    );
    check_same(
        &workspace.path("t1"),
        &workspace.path("t5"),
        "1 and 5 threads",
    );
    let rows = rows(&workspace.path("t1"));
    check_exact_scores(&rows);
    for row in rows {
        let depth = row.empties.min(3);
        assert_eq!(
            (row.depth, row.exact),
            (Some(depth), Some(row.empties <= 3)),
            "{row:?}"
        );
        assert!(
            row.score.is_some() && row.static_score.is_some() && row.best_move.is_some(),
            "{row:?}"
        );
    }
}

#[test]
fn a_bad_wthor_record_is_named_with_its_byte() {
    let workspace = Workspace::new();
    let changed = |changes: &[(usize, u8)]| {
        let mut bytes = WTHOR.to_vec();
        for &(place, byte) in changes {
            bytes[place] = byte;
        }
        bytes
    };
    let at = |record: usize, byte: usize| 16 + 68 * (record - 1) + byte;
    for (bytes, record, byte, word) in [
        (changed(&[(at(2, 6), 65)]), 2, at(2, 6), "65 discs"),
        (
            changed(&[(at(3, 6), WTHOR[at(3, 6)] + 1)]),
            3,
            at(3, 6),
            "moves lead to",
        ),
        (changed(&[(at(4, 8), 11)]), 4, at(4, 8), "illegal"),
        (changed(&[(at(5, 10), 89)]), 5, at(5, 10), "not a square"),
        (changed(&[(at(6, 20), 0)]), 6, at(6, 21), "follows the end"),
        (
            changed(&(0..68).map(|byte| (at(7, byte), 0)).collect::<Vec<_>>()),
            7,
            at(7, 8),
            "no moves",
        ),
        (changed(&[(4, 16)]), 16, WTHOR.len(), "claims 16 games"),
        (
            WTHOR[..WTHOR.len() - 1].to_vec(),
            15,
            WTHOR.len() - 1,
            "claims 15 games",
        ),
        ([WTHOR, b"x"].concat(), 16, WTHOR.len(), "1 bytes follow"),
    ] {
        workspace.write("bad.wtb", bytes);
        let place = format!("record {record}, byte {byte}: ");
        let import = "dataset import bad.wtb --format wthor --output out";
        check_refused(
            &workspace,
            import,
            65,
            &["bad.wtb", &place, word, "--keep-going"],
        );
        let outcome = workspace.run(&format!("{import}{record} --keep-going --json"));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&place), "{}", outcome.stderr);
        assert!(
            outcome.stdout.contains("\"bad_records\":1"),
            "{}",
            outcome.stdout
        );
        let kept = games(&workspace.path(&format!("out{record}"))).len();
        assert_eq!(kept, if record < 16 { 14 } else { 15 }, "{place}");
        workspace.done(&format!("dataset verify out{record}"));
        std::fs::remove_dir_all(workspace.path(&format!("out{record}"))).unwrap();
    }
    let import = "dataset import bad.wtb --format wthor --output out";
    for (bytes, word) in [
        (changed(&[(12, 10)]), "byte 12"),
        (changed(&[(7, 0x80)]), "byte 4"),
        (b"short".to_vec(), "byte 5"),
        (Vec::new(), "byte 0"),
        (changed(&[(4, 0)])[..16].to_vec(), "no position to import"),
    ] {
        workspace.write("bad.wtb", bytes);
        check_refused(&workspace, import, 65, &["bad.wtb", word]);
    }
    check_refused(
        &workspace,
        "dataset import nowhere.wtb --format wthor --output out",
        2,
        &["nowhere.wtb"],
    );
}

#[test]
fn transcripts_hold_the_same_games_as_wthor() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    let lines: Vec<String> = expected_games()
        .iter()
        .map(|game| format!("{}  # a game", game.moves))
        .collect();
    workspace.write(
        "games.txt",
        format!("# all games\n\n{}\r\n", lines.join("\r\n").to_uppercase()),
    );
    workspace.done("dataset import games.wtb --format wthor --output wthor");
    workspace.done("dataset import games.txt --format transcripts --output transcripts");
    let [wthor, transcripts] = ["wthor", "transcripts"].map(|name| games(&workspace.path(name)));
    assert_eq!(wthor.len(), transcripts.len());
    for (game, (wthor, transcript)) in expected_games().iter().zip(wthor.iter().zip(&transcripts)) {
        let over = Game::from_transcript(game.moves).unwrap().is_over();
        assert_eq!(transcript.moves, wthor.moves);
        assert_eq!(
            transcript.result,
            over.then_some(game.result),
            "{}",
            game.moves
        );
    }
    workspace.done("dataset verify transcripts");
    let good = lines[0].clone();
    workspace.write("bad.txt", format!("{good}\nf5d6zz\n"));
    let words = ["bad.txt", "line 2, byte 4: "];
    check_refused(
        &workspace,
        "dataset import bad.txt --format transcripts --output out",
        65,
        &words,
    );
    workspace.write("bad.txt", [good.as_bytes(), b"\n\xff\n"].concat());
    check_refused(
        &workspace,
        "dataset import bad.txt --format transcripts --output out",
        65,
        &["line 2"],
    );
}

#[test]
fn games_of_servers_and_below_headers_hold_the_same_moves() {
    let workspace = Workspace::new();
    let (mut ggf, mut headed) = (Vec::new(), Vec::new());
    for (number, game) in (0..).zip(expected_games()) {
        let game = Game::from_transcript(game.moves).unwrap();
        // Two games on a line, with their count before them, and names in Latin-1.
        if number % 2 == 0 {
            ggf.extend(if number == 14 { b"\n1 " } else { b"\n2 " });
        }
        ggf.extend(b"(;PB[Andr\xe9]RE[?]");
        ggf.extend(&write_ggf(&game).as_bytes()[2..]);
        headed.extend(b"[Black \"Andr\xe9\"]\r\n\r\n");
        for (number, square) in (0..).zip(game.moves()) {
            let before = match (number % 2, number % 7) {
                (0, 0..=2) => format!("\r\n{}. ", number / 2 + 1),
                (0, _) => format!("{}. ", number / 2 + 1),
                _ => " ".to_owned(),
            };
            headed.extend(format!("{before}{square} ").bytes());
        }
        headed.extend(b"1-0\r\n\r\n");
    }
    workspace.write("games.wtb", WTHOR);
    workspace.write("games.ggf", ggf);
    workspace.write("games.pgn", headed);
    let found = [("wthor", "wtb"), ("ggf", "ggf"), ("transcripts", "pgn")].map(|(format, end)| {
        workspace.done(&format!(
            "dataset import games.{end} --format {format} --output {end}"
        ));
        games(&workspace.path(end))
            .into_iter()
            .map(|game| game.moves)
            .collect::<Vec<_>>()
    });
    assert_eq!(found[1], found[0]);
    assert_eq!(found[2], found[0]);
    workspace.write("lost.ggf", "2 (;B[f5]W[d6];)\n(;B[f5]");
    check_refused(
        &workspace,
        "dataset import lost.ggf --format ggf --output out",
        65,
        &["lost.ggf: line 1, byte 0: it says 2 games", "--keep-going"],
    );
    let kept = "dataset import lost.ggf --format ggf --output kept --keep-going";
    let outcome = workspace.run(kept);
    outcome.check(
        kept,
        0,
        &["line 1, byte 0: ", "line 2, byte 7: the game is cut"],
    );
    assert_eq!(games(&workspace.path("kept")).len(), 1);
}

#[test]
fn files_that_are_packed_or_no_games_are_named() {
    let workspace = Workspace::new();
    workspace.write(
        "games.gz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03 and more",
    );
    let mut problems = WTHOR.to_vec();
    problems[13] = 1;
    workspace.write("problems.wtb", problems);
    for format in ["wthor", "transcripts", "ggf", "text", "parquet"] {
        check_refused(
            &workspace,
            &format!("dataset import games.gz --format {format} --output out"),
            65,
            &["games.gz: it is packed by gzip", "unpack it first"],
        );
    }
    check_refused(
        &workspace,
        "dataset import problems.wtb --format wthor --output out",
        65,
        &["problems.wtb: byte 13: its type is 1"],
    );
}

#[test]
fn text_lines_become_scored_positions() {
    let workspace = Workspace::new();
    let board = "---------------------------XO------OX---------------------------";
    let full = format!("{}O", "X".repeat(63));
    workspace.write(
        "good.txt",
        format!("{board} 4\n{board} O -1.5\n# no more\n{full} 62\n"),
    );
    let report = workspace.done("dataset import good.txt --format text --output text --json");
    assert!(report.contains("\"records_without_move\":1"), "{report}");
    let found = rows(&workspace.path("text"));
    assert_eq!(
        found.iter().map(|row| row.score).collect::<Vec<_>>(),
        [Some(Score(4000)), Some(Score(-1500))]
    );
    assert_eq!(
        found.iter().map(|row| row.game_id.0).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(
        found
            .iter()
            .map(|row| row.black_to_move)
            .collect::<Vec<_>>(),
        [true, false]
    );
    assert!(
        found
            .iter()
            .all(|row| row.result.is_none() && row.depth.is_none())
    );
    workspace.done("dataset verify text");
    workspace.done("dataset inspect text");
    let score = seed_config(&workspace, "score", "\"score\"");
    workspace.done(&format!(
        "train --config {score} --dataset text --models registry"
    ));
    let result = seed_config(&workspace, "result", "\"result\"");
    check_refused(
        &workspace,
        &format!("train --config {result} --dataset text --models registry"),
        65,
        &["`result`"],
    );
    workspace.write("none.txt", format!("{full} 62\n{board} 99\n"));
    let none = "dataset import none.txt --format text --output out --keep-going";
    check_refused(
        &workspace,
        none,
        65,
        &["it has no position to import in 2 records"],
    );
    workspace.write("bad.txt", format!("{board} 4\n{board} 99\n"));
    check_refused(
        &workspace,
        "dataset import bad.txt --format text --output out",
        65,
        &["line 2, byte 65: "],
    );
}

fn write_parquet(workspace: &Workspace, name: &str, columns: Vec<(&str, ArrayRef)>) {
    write_compressed(workspace, name, columns, Compression::SNAPPY);
}

fn write_compressed(
    workspace: &Workspace,
    name: &str,
    columns: Vec<(&str, ArrayRef)>,
    compression: Compression,
) {
    let nullable = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    workspace.write(name, bytes);
}

#[test]
fn parquet_may_be_compressed_in_any_way() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("black", Arc::new(UInt64Array::from(vec![black; 100]))),
            ("white", Arc::new(UInt64Array::from(vec![white; 100]))),
            (
                "black_to_move",
                Arc::new(BooleanArray::from(vec![true; 100])),
            ),
            ("score", Arc::new(Int32Array::from_iter_values(0..100))),
        ]
    };
    for (name, compression) in [
        ("plain", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("brotli", Compression::BROTLI(BrotliLevel::default())),
        ("lz4", Compression::LZ4_RAW),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
    ] {
        write_compressed(
            &workspace,
            &format!("{name}.parquet"),
            columns(),
            compression,
        );
        workspace.done(&format!(
            "dataset import {name}.parquet --format parquet --output {name}"
        ));
        let scores = Dataset::open(&workspace.path(name))
            .unwrap()
            .rows(0, &NEVER)
            .unwrap();
        assert!(
            scores
                .iter()
                .map(|row| row.score)
                .eq((0..100).map(|score| Some(Score(score)))),
            "{name}"
        );
    }
}

#[test]
fn a_column_that_comes_twice_is_refused() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("black", Arc::new(UInt64Array::from(vec![black]))),
        ("white", Arc::new(UInt64Array::from(vec![white]))),
        ("black_to_move", Arc::new(BooleanArray::from(vec![true]))),
        ("score", Arc::new(Int32Array::from(vec![1_000]))),
        ("score", Arc::new(Int32Array::from(vec![2_000]))),
    ];
    write_compressed(
        &workspace,
        "twice.parquet",
        columns,
        Compression::UNCOMPRESSED,
    );
    let import = "dataset import twice.parquet --format parquet --output out";
    check_refused(
        &workspace,
        import,
        65,
        &["twice.parquet", "two of its columns are `score`"],
    );
}

#[test]
fn columns_deep_within_groups_are_refused() {
    let workspace = Workspace::new();
    let mut column: (&str, ArrayRef) = ("leaf", Arc::new(Int32Array::from(vec![1])));
    for _ in 0..20 {
        let field = Field::new(column.0, column.1.data_type().clone(), false);
        column = (
            "group",
            Arc::new(StructArray::from(vec![(Arc::new(field), column.1)])),
        );
    }
    write_compressed(
        &workspace,
        "deep.parquet",
        vec![column],
        Compression::UNCOMPRESSED,
    );
    let import = "dataset import deep.parquet --format parquet --output out";
    check_refused(
        &workspace,
        import,
        65,
        &["deep.parquet", "more than 16 levels deep"],
    );
}

#[test]
fn copies_of_a_position_that_take_no_room_are_refused() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    for (rows, code) in [(1 << 10, 0), (1 << 18, 65)] {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("black", Arc::new(UInt64Array::from(vec![black; rows]))),
            ("white", Arc::new(UInt64Array::from(vec![white; rows]))),
            (
                "black_to_move",
                Arc::new(BooleanArray::from(vec![true; rows])),
            ),
            ("score", Arc::new(Int32Array::from(vec![0; rows]))),
        ];
        write_compressed(
            &workspace,
            "copies.parquet",
            columns,
            Compression::ZSTD(ZstdLevel::default()),
        );
        let bytes = std::fs::metadata(workspace.path("copies.parquet"))
            .unwrap()
            .len();
        let outcome = workspace.run("dataset import copies.parquet --format parquet --output out");
        assert_eq!(
            outcome.code,
            Some(code),
            "{rows} rows in {bytes} bytes: {}",
            outcome.stderr
        );
        let words = format!("copies.parquet: it has {rows} rows in {bytes} bytes");
        assert_eq!(
            outcome.stderr.contains(&words),
            code == 65,
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn anybodys_parquet_becomes_a_dataset() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let late = (!(1 << 62), 0);
    let early = (black, white);
    // A board with h8 set is negative as a signed number.
    let boards = [early, early, (1 << 63 | 1 << 61, 1 << 60 | 1 << 62)];
    let signed = |side: fn(&(u64, u64)) -> u64| {
        Arc::new(
            boards
                .iter()
                .map(|board| Some(side(board).cast_signed()))
                .collect::<Int64Array>(),
        ) as ArrayRef
    };
    write_parquet(
        &workspace,
        "foreign.parquet",
        vec![
            ("run", Arc::new(StringArray::from(vec!["a", "a", "b"]))),
            ("white", signed(|board| board.1)),
            ("black", signed(|board| board.0)),
            ("black_to_move", Arc::new(Int16Array::from(vec![1, 0, 1]))),
            (
                "result",
                Arc::new(Int64Array::from(vec![Some(2), None, Some(-64)])),
            ),
            ("empties", Arc::new(Int16Array::from(vec![60, 60, 60]))),
            ("game_id", Arc::new(Int16Array::from(vec![7, 8, 9]))),
        ],
    );
    let outcome = workspace.run("dataset import foreign.parquet --format parquet --output foreign");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("columns not used: run"),
        "{}",
        outcome.stderr
    );
    let found = rows(&workspace.path("foreign"));
    assert_eq!(
        found.iter().map(|row| row.result).collect::<Vec<_>>(),
        [Some(2), None, Some(-64)]
    );
    assert_eq!(
        found.iter().map(|row| row.game_id.0).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(
        found
            .iter()
            .map(|row| (row.black, row.white))
            .collect::<Vec<_>>(),
        boards
    );
    workspace.done("dataset verify foreign");
    let both = |black: u64, white: u64, score: i64| {
        vec![
            (
                "black",
                Arc::new(UInt64Array::from(vec![early.0, black])) as ArrayRef,
            ),
            ("white", Arc::new(UInt64Array::from(vec![early.1, white]))),
            (
                "black_to_move",
                Arc::new(BooleanArray::from(vec![true, true])),
            ),
            ("score", Arc::new(Int64Array::from(vec![0, score]))),
        ]
    };
    let with = |name: &'static str, numbers: [Option<i16>; 2]| {
        let mut columns = both(early.0, early.1, 0);
        columns.retain(|column| column.0 != name);
        columns.push((name, Arc::new(Int16Array::from(numbers.to_vec()))));
        columns
    };
    for (columns, words) in [
        (
            with("empties", [Some(60), Some(5)]),
            ["record 2", "empties", "60"],
        ),
        (
            with("best_move", [Some(19), Some(0)]),
            ["record 2: ", "best_move 0", "not legal"],
        ),
        (
            with("best_move", [Some(19), Some(256)]),
            ["record 2, column best_move: ", "256", "range"],
        ),
        (
            with("exact", [Some(0), Some(2)]),
            ["record 2, column exact: ", "2 is neither", "0 nor 1"],
        ),
        (
            with("black_to_move", [Some(1), None]),
            ["record 2, column black_to_move: ", "missing", "bad.parquet"],
        ),
        (
            with("white", [Some(1), None]),
            ["record 2, column white: ", "missing", "bad.parquet"],
        ),
        (
            both(1, 1, 0),
            ["record 2: ", "share a square", "bad.parquet"],
        ),
        (
            both(early.0, early.1, 70_000),
            ["record 2: ", "score 70000", "beyond"],
        ),
        (
            both(early.0, early.1, i64::MAX),
            ["record 2", "column score", "out of range"],
        ),
        (
            both(early.0, early.1, 0)[..3].to_vec(),
            ["bad.parquet", "`score`", "`result`"],
        ),
        (
            both(early.0, early.1, 0)[1..].to_vec(),
            ["bad.parquet", "no column", "`black`"],
        ),
    ] {
        write_parquet(&workspace, "bad.parquet", columns);
        check_refused(
            &workspace,
            "dataset import bad.parquet --format parquet --output out",
            65,
            &words,
        );
    }
    write_parquet(&workspace, "late.parquet", both(late.0, late.1, 0));
    let report =
        workspace.done("dataset import late.parquet --format parquet --output late --json");
    assert!(report.contains("\"records_without_move\":1"), "{report}");
    workspace.write("bad.parquet", b"PAR1 and no more");
    check_refused(
        &workspace,
        "dataset import bad.parquet --format parquet --output out",
        65,
        &["bad.parquet"],
    );
}

/// What pandas writes of a dataset in which some values are missing.
#[test]
fn whole_floats_and_dictionaries_are_integers_and_nan_is_missing() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let boards = |bits: u64| Arc::new(UInt64Array::from(vec![bits; 3])) as ArrayRef;
    let floats = |values: [f64; 3]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let columns = |changed: &str, column: ArrayRef| {
        let keys = Int8Array::from(vec![Some(0), None, Some(1)]);
        let moves = Arc::new(Int16Array::from(vec![19, 26]));
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("black", boards(black)),
            ("white", boards(white)),
            ("black_to_move", Arc::new(BooleanArray::from(vec![true; 3]))),
            ("score", floats([12.0, f64::NAN, -0.0])),
            (
                "result",
                Arc::new(Float32Array::from(vec![2.0, f32::NAN, -64.0])),
            ),
            ("best_move", Arc::new(DictionaryArray::new(keys, moves))),
            ("exact", Arc::new(NullArray::new(3))),
        ];
        for (name, values) in &mut columns {
            if *name == changed {
                *values = Arc::clone(&column);
            }
        }
        columns
    };
    write_parquet(&workspace, "pandas.parquet", columns("", boards(0)));
    workspace.done("dataset import pandas.parquet --format parquet --output pandas");
    let found: Vec<_> = rows(&workspace.path("pandas"))
        .iter()
        .map(|row| (row.score, row.result, row.best_move, row.exact))
        .collect();
    assert_eq!(
        found,
        [
            (Some(Score(12)), Some(2), Some(19), None),
            (None, None, None, None),
            (Some(Score(0)), Some(-64), Some(26), None)
        ]
    );
    for (changed, values, words) in [
        (
            "score",
            floats([1.0, 2.5, 0.0]),
            ["record 2, column score: ", "2.5 is not a whole number"],
        ),
        (
            "score",
            floats([1.0, 2.0, f64::INFINITY]),
            ["record 3, column score: ", "not a whole number"],
        ),
        (
            "black",
            floats([1.0, 2.0, 4.0]),
            [
                "column `black` is Float64, integers expected",
                "64-bit integers",
            ],
        ),
        (
            "exact",
            Arc::new(StringArray::from(vec!["yes"; 3])) as ArrayRef,
            ["column `exact` is Utf8", "integers expected"],
        ),
    ] {
        write_parquet(&workspace, "bad.parquet", columns(changed, values));
        check_refused(
            &workspace,
            "dataset import bad.parquet --format parquet --output out",
            65,
            &words,
        );
    }
}

/// The positions of a game that is played by the first legal move.
fn played() -> Vec<ColoredPosition> {
    let mut game = Game::default();
    while let Some(square) = Squares(game.to_move().position.legal_moves()).next() {
        game.play(square).unwrap();
    }
    game.turns().map(|turn| turn.colored).collect()
}

/// Positions with these `game_id`s, each with a later board and another score; a negative id marks
/// a row with overlapping discs.
fn write_rows(workspace: &Workspace, name: &str, ids: &[i64]) {
    let played = played();
    let boards = || ids.iter().zip(played.iter().cycle());
    let black = boards().map(|(_, colored)| colored.boards().0.0);
    let white = boards().map(|(id, colored)| {
        if *id < 0 {
            colored.boards().0.0
        } else {
            colored.boards().1.0
        }
    });
    let black_to_move: Vec<bool> = boards().map(|(_, colored)| colored.black_to_move).collect();
    write_parquet(
        workspace,
        name,
        vec![
            (
                "game_id",
                Arc::new(Int64Array::from_iter_values(ids.iter().map(|id| id.abs()))) as ArrayRef,
            ),
            ("black", Arc::new(UInt64Array::from_iter_values(black))),
            ("white", Arc::new(UInt64Array::from_iter_values(white))),
            ("black_to_move", Arc::new(BooleanArray::from(black_to_move))),
            (
                "score",
                Arc::new(Int32Array::from_iter_values(0..ids.len() as i32)),
            ),
        ],
    );
}

#[test]
fn rows_that_share_a_game_id_are_one_game_or_are_left_out() {
    let workspace = Workspace::new();
    // After its end a game begins again.
    let endless = [vec![3; 130], vec![9]].concat();
    let kept = |game_ids: &[(u64, usize)]| {
        game_ids
            .iter()
            .flat_map(|&(id, count)| vec![id; count])
            .collect::<Vec<_>>()
    };
    for (ids, words, bad, expected) in [
        (
            &[1, 1, -1, 1, 2, 2][..],
            ["record 3", "share a square"],
            1,
            kept(&[(0, 3), (1, 2)]),
        ),
        (
            &[-1, 1, -1, -2, -2, 1],
            ["record 1", "share a square"],
            5,
            kept(&[(0, 1)]),
        ),
        (
            &[1, 2, 2, 1, 1, 3],
            ["record 4, column game_id", "sort the rows"],
            2,
            kept(&[(0, 1), (1, 2), (2, 1)]),
        ),
        (
            &endless,
            ["60 empty squares at ply 0 cannot follow", "in a game"],
            3,
            kept(&[(0, 1)]),
        ),
    ] {
        write_rows(&workspace, "rows.parquet", ids);
        let import = "dataset import rows.parquet --format parquet --output out";
        check_refused(&workspace, import, 65, &words);
        let report = workspace.done(&format!("{import} --keep-going --json"));
        assert!(
            report.contains(&format!("\"bad_records\":{bad},")),
            "{words:?}: {report}"
        );
        assert!(
            report.contains("\"records_without_move\":0"),
            "{words:?}: {report}"
        );
        let found: Vec<u64> = rows(&workspace.path("out"))
            .iter()
            .map(|row| row.game_id.0)
            .collect();
        assert_eq!(found, expected, "{words:?}");
        workspace.done("dataset verify out");
        std::fs::remove_dir_all(workspace.path("out")).unwrap();
    }
}

#[test]
fn a_game_whose_rows_contradict_each_other_is_left_out() {
    let workspace = Workspace::new();
    let played = played();
    let row = |game_id: u64, place: u8, result: i8| {
        let unlabeled = PositionRow::unlabeled(played[usize::from(place)], Ply(place));
        PositionRow {
            game_id: GameId(game_id),
            result: Some(result),
            ..unlabeled
        }
    };
    assert!(
        played[..4]
            .iter()
            .enumerate()
            .all(|(place, colored)| colored.black_to_move == (place % 2 == 0))
    );
    for (rows, words) in [
        // Results are from the side to move.
        (
            [(0, 4), (1, 4)],
            [
                "record 2",
                "its game ended with -4 for black, and by an earlier row with +4",
            ],
        ),
        (
            [(0, 4), (2, 2)],
            [
                "record 2",
                "its game ended with +2 for black, and by an earlier row with +4",
            ],
        ),
        (
            [(1, -4), (0, 4)],
            [
                "record 2",
                "60 empty squares at ply 0 cannot follow 59 empty squares at ply 1",
            ],
        ),
        (
            [(1, -4), (1, -4)],
            [
                "record 2",
                "59 empty squares at ply 1 cannot follow 59 empty squares at ply 1",
            ],
        ),
    ] {
        let contradicting = rows.map(|(place, result)| row(1, place, result));
        let sound = [row(2, 0, 4), row(2, 1, -4), row(2, 3, -4)];
        workspace.write_positions("rows.parquet", &[&contradicting[..], &sound].concat());
        let import = "dataset import rows.parquet --format parquet --output out";
        check_refused(&workspace, import, 65, &words);
        workspace.done(&format!("{import} --keep-going"));
        assert_eq!(self::rows(&workspace.path("out")).len(), 3, "{words:?}");
        workspace.done("dataset verify out");
        std::fs::remove_dir_all(workspace.path("out")).unwrap();
    }
}

/// A dataset of self-play in three parts, one of games with labels, and one of games without.
fn datasets(workspace: &Workspace) -> [&'static str; 3] {
    let quick = [
        ("generate.games", "12"),
        ("generate.part_games", "5"),
        ("generate.label_depth", "1"),
    ];
    let config = workspace.config("quick", "smoke", &quick);
    workspace.done(&format!("generate --config {config} --output selfplay"));
    workspace.write("games.wtb", WTHOR);
    workspace.done("dataset import games.wtb --format wthor --output labeled --label-depth 1");
    workspace.done("dataset import games.wtb --format wthor --output bare");
    ["selfplay", "labeled", "bare"]
}

#[test]
fn the_positions_of_a_part_come_back() {
    let workspace = Workspace::new();
    for name in datasets(&workspace) {
        let copy = format!("{name}-copy");
        let import = format!(
            "dataset import {name}/positions/part-00000.parquet --format parquet --output {copy}"
        );
        workspace.done(&import);
        let expected = Dataset::open(&workspace.path(name))
            .unwrap()
            .rows(0, &NEVER)
            .unwrap();
        assert!(rows(&workspace.path(&copy)) == expected, "{copy}");
        workspace.done(&format!("dataset verify {copy}"));
    }
}

#[test]
fn obf_keeps_positions_and_their_best_moves() {
    let workspace = Workspace::new();
    datasets(&workspace);
    let expected = rows(&workspace.path("labeled"));
    workspace.done("dataset export labeled --format obf --output labeled.obf");
    let obf = std::fs::read_to_string(workspace.path("labeled.obf")).unwrap();
    assert_eq!(obf.lines().count(), expected.len());
    let values: serde_json::Value =
        serde_json::from_str(&workspace.done("eval labeled.obf --depth 1 --json")).unwrap();
    for (line, (value, row)) in obf.lines().zip(
        values["positions"]
            .as_array()
            .unwrap()
            .iter()
            .zip(&expected),
    ) {
        assert_eq!(value["score"], row.score.unwrap().0, "{line}");
        let discs = row.score.unwrap().discs().round() as i32;
        assert!(
            line.ends_with(&format!(" {}:{discs:+};", value["move"].as_str().unwrap())),
            "{line}"
        );
    }
    check_refused(
        &workspace,
        "dataset export nowhere --format obf --output out.obf",
        2,
        &["nowhere"],
    );
}

#[test]
fn obf_keeps_scores_without_a_best_move() {
    let workspace = Workspace::new();
    let start = ColoredPosition::START.board_text();
    workspace.write(
        "boards.txt",
        format!("{start} 2.6\n{start} -64\n{start} 0\n"),
    );
    workspace.done("dataset import boards.txt --format text --output boards");
    workspace.done("dataset export boards --format obf --output boards.obf");
    let obf = std::fs::read_to_string(workspace.path("boards.obf")).unwrap();
    let expected = ["+3", "-64", "+0"].map(|discs| format!("{start} X; --:{discs};"));
    assert_eq!(obf.lines().collect::<Vec<_>>(), expected);
    let values: serde_json::Value =
        serde_json::from_str(&workspace.done("eval boards.obf --json")).unwrap();
    assert_eq!(
        (
            &values["total"]["exact"]["positions"],
            &values["total"]["exact"]["best_moves"]
        ),
        (&3.into(), &serde_json::Value::Null)
    );
}

#[test]
fn positions_without_labels_can_be_labeled() {
    let workspace = Workspace::new();
    let (Black(black), White(white)) = ColoredPosition::START.boards();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("black", Arc::new(UInt64Array::from(vec![black]))),
        ("white", Arc::new(UInt64Array::from(vec![white]))),
        ("black_to_move", Arc::new(BooleanArray::from(vec![true]))),
    ];
    write_parquet(&workspace, "boards.parquet", columns);
    let import = "dataset import boards.parquet --format parquet --output labeled";
    check_refused(&workspace, import, 65, &["`score`", "--label-depth"]);
    let report = workspace.done(&format!(
        "{import} --label-depth 2 --model builtin:disc-count --json"
    ));
    assert!(report.contains("\"positions_labeled\":1,"), "{report}");
    let found = rows(&workspace.path("labeled"));
    assert_eq!((found[0].depth, found[0].exact), (Some(2), Some(false)));
}
