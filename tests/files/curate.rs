//! Gates and MPC samples are verified against themselves, and summarized.

use crate::support::context::context;
use crate::support::workspace::{Workspace, copy_folder};
use renma::artifact::dataset::folder::part_path;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::dataset::verdict::{self, read_verdict};
use renma::artifact::seal::write_sealed;
use renma::artifact::{
    Dataset, Footer, GAMES, GATE_GAMES, GameId, GameRow, GateGameRow, MPC_SAMPLES, Manifest,
    MpcSampleRow, NEVER, POSITIONS, PositionRow, Table, Verdict, VerdictFile,
};
use renma::curate::inspect::{Inspection, Summary, inspect};
use renma::engine::{ColoredPosition, Ply, Position, Score};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// Self-play, positions without some labels, a gate by a sequential test, one by its interval, and
/// the samples of both methods of fit-mpc.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    for (mode, games) in [("sprt", "400"), ("games", "40")] {
        let quick = [
            ("gate.mode", &*format!("\"{mode}\"")),
            ("gate.games", games),
            ("gate.depth", "1"),
            ("gate.exact_empties", "4"),
        ];
        let config = run.config(mode, "smoke", &quick);
        let gate = format!(
            "gate --config {config} --candidate builtin:square-weights --baseline builtin:disc-count"
        );
        assert!(matches!(
            run.run(&format!("{gate} --output {mode}")).code,
            Some(0 | 10 | 11)
        ));
    }
    for (method, key) in [
        ("line", ("fit_mpc.level", "87")),
        ("source", ("fit_mpc.t", "1.4")),
    ] {
        let method_text = format!("\"{method}\"");
        let quick = [
            ("fit_mpc.method", method_text.as_str()),
            key,
            ("fit_mpc.games", "30"),
            ("fit_mpc.part_games", "12"),
        ];
        let config = run.config(method, "smoke", &quick);
        let fit = format!(
            "fit-mpc --config {config} --model builtin:square-weights --models registry-{method}"
        );
        run.done(&format!("{fit} --output {method}"));
    }
    let quick = [
        ("generate.part_games", "25"),
        ("generate.exploration", "0.1"),
    ];
    run.done(&format!(
        "generate --config {} --output selfplay",
        run.config("selfplay", "smoke", &quick)
    ));
    let config = run.config(
        "played",
        "smoke",
        &[("generate.games", "4"), ("generate.part_games", "4")],
    );
    run.done(&format!(
        "generate --config {config} --model registry-source/v0001 --output played"
    ));
    run.write_positions("some.parquet", &some_labels());
    run.done("dataset import some.parquet --format parquet --output some");
    run
});

/// The first position with either side to move, once twice, and some labels.
fn some_labels() -> [PositionRow; 4] {
    let labels = [
        (true, 3900, Some(-100), Some(-6)),
        (true, -4100, None, Some(4)),
        (false, 64_000, Some(1000), None),
        (false, -64_000, None, Some(-64)),
    ];
    let mut game_id = GameId(0);
    labels.map(|(black_to_move, score, static_score, result)| {
        game_id.0 += 1;
        PositionRow {
            game_id,
            black_to_move,
            score: Some(Score(score)),
            static_score: static_score.map(Score),
            result,
            ..PositionRow::unlabeled(ColoredPosition::START, Ply(0))
        }
    })
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&RUN.done(&format!("{arguments} --json"))).unwrap()
}

#[test]
fn a_sound_gate_is_verified_and_summarized() {
    for mode in ["sprt", "games"] {
        let verdict = read_verdict(&RUN.path(mode)).unwrap();
        let games = 2 * verdict.pairs_done;
        let text = RUN.run(&format!("dataset verify {mode}")).stderr;
        let words = format!(
            "{games} games, {games} games replayed, verdict {}",
            verdict.verdict.name()
        );
        assert!(text.contains(&words), "{text}");
        assert_eq!(
            json(&format!("dataset verify {mode}"))["verified"]["verdict"],
            verdict.verdict.name()
        );
        assert_eq!(
            json(&format!("dataset verify {mode} --fast"))["verified"]["replayed"],
            0
        );
        let summary = json(&format!("dataset inspect {mode}"));
        assert_eq!(
            (&summary["kind"], &summary["games"]),
            (&Value::from("gate"), &games.into())
        );
        assert_eq!(
            summary["score"],
            serde_json::to_value(&verdict.score).unwrap()
        );
        let text = RUN.done(&format!("dataset inspect {mode}"));
        assert!(
            text.contains(&format!(
                "{}: builtin:square-weights over builtin:disc-count",
                verdict.verdict.name()
            )),
            "{text}"
        );
        assert_eq!(
            json(&format!("dataset verify {mode} --remake 1"))["games_remade"],
            games
        );
    }
}

#[test]
fn sound_samples_are_verified_and_summarized() {
    for method in ["line", "source"] {
        let dataset = Dataset::open_any(&RUN.path(method)).unwrap();
        let rows = dataset.manifest().rows(MPC_SAMPLES.name);
        let verified = json(&format!("dataset verify {method}"));
        assert_eq!(
            (
                &verified["verified"]["games"],
                &verified["verified"]["rows"]
            ),
            (&30.into(), &rows.into())
        );
        let samples = &verified["verified"]["samples"];
        let summary = json(&format!("dataset inspect {method}"));
        assert_eq!(
            (&summary["kind"], &summary["rows"]),
            (&Value::from("mpc"), &rows.into())
        );
        assert_eq!(&summary["samples"], samples);
        assert!(
            RUN.done(&format!("dataset inspect {method}"))
                .contains("30 games, ")
        );
        let outcome = RUN.run(&format!("dataset verify {method} --remake 1"));
        assert!(
            outcome.code == Some(2) && outcome.stderr.contains("holds no games"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn sound_positions_are_verified_and_played_again() {
    let dataset = Dataset::open(&RUN.path("selfplay")).unwrap();
    let (games, positions) = (
        dataset.manifest().done,
        dataset.manifest().rows("positions"),
    );
    let verified = json("dataset verify selfplay")["verified"].clone();
    for (name, expected) in [
        ("games", games),
        ("positions", positions),
        ("replayed", games),
    ] {
        assert_eq!(verified[name], expected, "{name}: {verified}");
    }
    let verify = "dataset verify played --remake 1 --models";
    assert!(
        RUN.done(&format!("{verify} registry-source --json"))
            .contains("\"games_remade\":4")
    );
    let outcome = RUN.run(&format!("{verify} registry-line"));
    assert!(
        outcome.code == Some(2) && outcome.stderr.contains("which played the dataset"),
        "{}",
        outcome.stderr
    );
}

fn inspection(name: &str) -> Inspection {
    let context = context();
    inspect(&RUN.path(name), context).unwrap()
}

fn summary(name: &str) -> Summary {
    inspection(name).summary
}

#[test]
fn columns_are_as_large_as_those_of_all_parts() {
    let found = inspection("selfplay").column_bytes;
    for (table, columns) in [("positions", 14), ("games", 5)] {
        assert_eq!(
            found.keys().filter(|name| name.starts_with(table)).count(),
            columns
        );
    }
    let part = |index: usize| {
        POSITIONS
            .column_bytes(&part_path(&RUN.path("selfplay"), &POSITIONS, index))
            .unwrap()
    };
    let parts = [0, 1, 2].map(|index| part(index).into_iter().collect::<BTreeMap<_, _>>()["score"]);
    assert_eq!(found["positions.score"], parts.iter().sum::<u64>());
}

/// Rows by value in discs, each counted at the nearest multiple of 8.
fn histogram(values: impl Iterator<Item = f64>) -> [u64; 17] {
    let mut counts = [0; 17];
    values.for_each(|discs| counts[((discs / 8.0 + 0.5).floor() + 8.0) as usize] += 1);
    counts
}

fn check_mean(found: Option<f64>, values: &[f64], what: &str) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    match found {
        Some(found) => assert!(
            (found - mean).abs() < 1e-9,
            "{what}: {found}, expected {mean}"
        ),
        None => assert!(values.is_empty(), "{what}: nothing, expected {mean}"),
    }
}

fn count<T>(items: &[T], property: impl Fn(&T) -> bool) -> u64 {
    items.iter().filter(|item| property(item)).count() as u64
}

#[test]
fn a_summary_of_positions_says_what_their_rows_say() {
    for (name, parts) in [("selfplay", 3), ("some", 1)] {
        let Summary::Positions(found) = summary(name) else {
            panic!("{name} has no positions")
        };
        let dataset = Dataset::open(&RUN.path(name)).unwrap();
        assert_eq!(dataset.part_count(), parts);
        let rows: Vec<PositionRow> = (0..parts)
            .flat_map(|index| dataset.rows(index, &NEVER).unwrap())
            .collect();
        assert_eq!(
            (found.games, found.positions),
            (dataset.manifest().done, rows.len() as u64)
        );
        let boards: BTreeSet<_> = rows
            .iter()
            .map(|row| (row.black, row.white, row.black_to_move))
            .collect();
        assert_eq!(
            found.duplicates,
            (rows.len() - boards.len()) as u64,
            "{name}"
        );
        let canonical = |row: &PositionRow| row.position().unwrap().canonical();
        let distinct: BTreeSet<Position> = rows.iter().map(canonical).collect();
        assert_eq!(
            found.duplicates_up_to_symmetry,
            (rows.len() - distinct.len()) as u64,
            "{name}"
        );
        let missing = [
            ("score", count(&rows, |row| row.score.is_none())),
            (
                "static_score",
                count(&rows, |row| row.static_score.is_none()),
            ),
            ("result", count(&rows, |row| row.result.is_none())),
        ];
        for (column, expected) in missing {
            assert_eq!(
                found.missing.get(column),
                (0 < expected).then_some(&expected),
                "{name}: {column}"
            );
        }
        for opening in &found.openings {
            let there: Vec<Position> = rows
                .iter()
                .filter(|row| row.ply == opening.ply)
                .map(canonical)
                .collect();
            let distinct = there.iter().collect::<BTreeSet<_>>().len() as u64;
            assert_eq!(
                (opening.games, opening.distinct),
                (there.len() as u64, distinct),
                "{name}: {opening:?}"
            );
        }
        assert!(
            found
                .openings
                .iter()
                .map(|opening| opening.ply)
                .eq([4, 8, 12, 16])
                || name == "some"
        );
        let ranges: BTreeSet<u8> = rows
            .iter()
            .map(|row| row.empties - row.empties % 5)
            .collect();
        assert!(
            found
                .by_empties
                .iter()
                .map(|line| line.empties_min)
                .eq(ranges),
            "{name}"
        );
        for line in &found.by_empties {
            let range = line.empties_min..line.empties_min + 5;
            let rows: Vec<PositionRow> = rows
                .iter()
                .filter(|row| range.contains(&row.empties))
                .cloned()
                .collect();
            let what = format!("{name} from {} empty squares", line.empties_min);
            assert_eq!(line.rows, rows.len() as u64, "{what}");
            assert_eq!(
                line.exact,
                count(&rows, |row| row.exact == Some(true)),
                "{what}"
            );
            assert_eq!(
                line.random,
                count(&rows, |row| row.random_move == Some(true)),
                "{what}"
            );
            let score = |row: &PositionRow| row.score.map(Score::discs);
            let scores: Vec<f64> = rows.iter().filter_map(score).collect();
            assert_eq!(line.scored, scores.len() as u64, "{what}");
            assert_eq!(line.scores, histogram(scores.iter().copied()), "{what}");
            let result = |row: &PositionRow| row.result.map(f64::from);
            assert_eq!(
                line.results,
                histogram(rows.iter().filter_map(result)),
                "{what}"
            );
            let static_error =
                |row: &PositionRow| Some((score(row)? - row.static_score?.discs()).abs());
            let result_error = |row: &PositionRow| Some((score(row)? - result(row)?).abs());
            check_mean(line.score.discs(), &scores, &what);
            check_mean(
                line.static_error.discs(),
                &rows.iter().filter_map(static_error).collect::<Vec<_>>(),
                &what,
            );
            check_mean(
                line.result_error.discs(),
                &rows.iter().filter_map(result_error).collect::<Vec<_>>(),
                &what,
            );
        }
    }
}

#[test]
fn a_summary_of_samples_says_what_their_searches_say() {
    for name in ["line", "source"] {
        let Summary::Mpc(found) = summary(name) else {
            panic!("{name} has no samples")
        };
        let dataset = Dataset::open_any(&RUN.path(name)).unwrap();
        let depth_max = dataset.manifest().config["depth_max"].as_u64().unwrap() as u8;
        let parts = 0..dataset.part_count();
        let rows: Vec<MpcSampleRow> = parts
            .flat_map(|index| dataset.read(&MPC_SAMPLES, index, &NEVER).unwrap())
            .collect();
        assert_eq!(
            (found.games, found.rows),
            (dataset.manifest().done, rows.len() as u64),
            "{name}"
        );
        assert_eq!(
            found.nodes,
            rows.iter().map(|row| row.nodes).sum::<u64>(),
            "{name}"
        );
        // A sample has one row of depth 0, and at most one of a depth beyond the deepest.
        let first = |row: &MpcSampleRow| row.depth == 0;
        assert_eq!(found.samples, count(&rows, first), "{name}");
        assert_eq!(
            found.from_trees,
            count(&rows, |row| first(row) && row.alpha.is_some()),
            "{name}"
        );
        assert_eq!(
            found.solved,
            count(&rows, |row| depth_max < row.depth),
            "{name}"
        );
    }
}

fn footer_of(path: &Path) -> Footer {
    Table::read_footer(path)
        .unwrap()
        .into_iter()
        .filter(|(key, _)| key.starts_with("renma."))
        .collect()
}

/// A copy of a dataset in which one part has other rows and another footer, and the hashes fit.
fn copy_with<R: renma::artifact::table::row::TableRow>(
    name: &str,
    (table, part): (&Table, usize),
    change: impl Fn(&mut Vec<R>, &mut Footer),
) -> Workspace {
    let workspace = Workspace::new();
    copy_folder(&RUN.path(name), &workspace.path("data"));
    change_part(&workspace.path("data"), (table, part), change);
    workspace
}

/// Gives a part other rows and another footer, with the hashes that fit.
fn change_part<R: renma::artifact::table::row::TableRow>(
    folder: &Path,
    (table, part): (&Table, usize),
    change: impl Fn(&mut Vec<R>, &mut Footer),
) {
    let path = part_path(folder, table, part);
    let mut rows: Vec<R> = Dataset::open_any(folder)
        .unwrap()
        .read(table, part, &NEVER)
        .unwrap();
    let mut footer = footer_of(&path);
    change(&mut rows, &mut footer);
    let entry = table.write_rows(&path, &rows, &footer).unwrap();
    let mut manifest = Manifest::read_any(folder).unwrap();
    manifest.parts[part]
        .files
        .insert(table.name.to_owned(), entry);
    manifest.content = content_of(&manifest.parts);
    manifest.write(folder).unwrap();
    if folder.join("verdict.json").exists() {
        let mut verdict: VerdictFile =
            renma::artifact::seal::read_sealed(&folder.join("verdict.json")).unwrap();
        verdict.games_content = manifest.content;
        write_sealed(&folder.join("verdict.json"), &verdict).unwrap();
    }
}

fn refused(workspace: &Workspace, what: &str, words: &[&str]) {
    let outcome = workspace.run("dataset verify data");
    assert_eq!(outcome.code, Some(65), "{what}: {}", outcome.stderr);
    for word in words {
        assert!(
            outcome.stderr.contains(word),
            "{what}: `{word}` is not in\n{}",
            outcome.stderr
        );
    }
}

type GameChange = fn(&mut Vec<GameRow>, &mut Footer);

#[test]
fn moves_in_another_form_than_a_transcript_are_refused() {
    let changes: [(&str, GameChange); 2] = [
        ("capitals", |rows, _| rows[0].moves.make_ascii_uppercase()),
        ("passes after the end", |rows, _| {
            rows[0].moves.push_str("----");
        }),
    ];
    for (what, change) in changes {
        let workspace = copy_with("selfplay", (&GAMES, 1), change);
        refused(
            &workspace,
            what,
            &[
                "data/games/part-00001.parquet",
                "game 25: its moves are not written as ",
            ],
        );
    }
}

#[test]
fn a_sum_of_nodes_does_not_overflow() {
    let change: SampleChange = |rows, _| rows[0].nodes = u64::MAX;
    let text = copy_with("line", (&MPC_SAMPLES, 1), change).done("dataset inspect data --json");
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap()["nodes"],
        u64::MAX
    );
}

type GateChange = fn(&mut Vec<GateGameRow>, &mut Footer);

/// Gives the second pair the games of the first.
fn repeat_pair(rows: &mut [GateGameRow]) {
    for game in 0..2 {
        rows[game + 2].moves = rows[game].moves.clone();
        rows[game + 2].result = rows[game].result;
    }
}

#[test]
fn games_of_a_gate_that_were_never_played_are_named() {
    let changes: [(&str, GateChange, &str); 11] = [
        (
            "a result",
            |rows, _| rows[3].result -= 2,
            "game 19: its result is",
        ),
        (
            "an end",
            |rows, _| rows[3].moves.truncate(100),
            "game 19: its moves end before",
        ),
        (
            "a move",
            |rows, _| rows[3].moves.replace_range(98..100, "d4"),
            "game 19: ",
        ),
        (
            "a color",
            |rows, _| rows[3].candidate_black = true,
            "in the place of game 19",
        ),
        (
            "a pair",
            |rows, _| rows[3].pair += 1,
            "in the place of game 19",
        ),
        (
            "an order",
            |rows, _| rows.swap(2, 3),
            "in the place of game 18",
        ),
        (
            "a number",
            |rows, _| rows[3].game_id = GameId(3),
            "in the place of game 19",
        ),
        (
            "an opening",
            |rows, _| rows[3].opening_plies += 1,
            "game 19 has 9 opening_plies, 8 expected",
        ),
        (
            "a shorter one",
            |rows, _| rows.iter_mut().for_each(|row| row.opening_plies -= 2),
            "game 16 has 6 opening_plies",
        ),
        (
            "a repeated opening",
            |rows, _| repeat_pair(rows),
            "pair 9 has the opening of a pair before it",
        ),
        (
            "a footer",
            |_, footer| *footer.get_mut("renma.gate.depth").unwrap() = "7".into(),
            "renma.gate.depth = 7",
        ),
    ];
    for (what, change, word) in changes {
        let workspace = copy_with("games", (&GATE_GAMES, 1), change);
        refused(&workspace, what, &["data/games/part-00001.parquet", word]);
    }
}

type VerdictChange = fn(&mut VerdictFile);

/// The match that the other side would have played.
fn turned(score: &verdict::MatchScore) -> verdict::MatchScore {
    let mut pairs = score.pairs;
    pairs.reverse();
    verdict::MatchScore::new(
        [score.losses, score.draws, score.wins],
        pairs,
        -score.discs_mean,
        score.interval,
    )
}

#[test]
fn a_verdict_that_its_games_do_not_lead_to_is_refused() {
    let changes: [(&str, VerdictChange, &str); 11] = [
        (
            "verdict",
            |file| file.verdict = Verdict::Inconclusive,
            "verdict.json: its verdict is Inconclusive",
        ),
        (
            "pairs",
            |file| file.score.pairs.swap(0, 4),
            "its score is not the one that its pairs lead to",
        ),
        (
            "another match",
            |file| file.score = turned(&file.score),
            "it counts pairs",
        ),
        ("wins", |file| file.score.wins += 1, "are not those of"),
        (
            "elo",
            |file| file.score.elo += 1e-9,
            "its score is not the one that its pairs lead to",
        ),
        (
            "test",
            |file| file.test.as_mut().unwrap().llr += 1e-9,
            "its score or test is not",
        ),
        (
            "openings",
            |file| file.openings.drawn += 1,
            "its openings do not add up",
        ),
        (
            "repeated",
            |file| (file.openings.drawn += 1, file.openings.repeated += 1).0,
            "in its footer are not those",
        ),
        (
            "baseline",
            |file| file.baseline = file.candidate.clone(),
            "its baseline is not that of the manifest",
        ),
        (
            "asked",
            |file| file.pairs_asked += 1,
            "of 201 pairs, the manifest",
        ),
        (
            "config",
            |file| file.config["depth"] = 2.into(),
            "its config is not that of the manifest",
        ),
    ];
    for (what, change, word) in changes {
        let workspace = Workspace::new();
        copy_folder(&RUN.path("sprt"), &workspace.path("data"));
        let mut verdict = read_verdict(&workspace.path("data")).unwrap();
        change(&mut verdict);
        write_sealed(&workspace.path("data/verdict.json"), &verdict).unwrap();
        refused(&workspace, what, &["cannot trust data/", word]);
    }
}

#[test]
fn a_batch_after_the_deciding_one_is_refused() {
    let workspace = Workspace::new();
    let folder = workspace.path("data");
    copy_folder(&RUN.path("sprt"), &folder);
    let verdict = read_verdict(&folder).unwrap();
    assert!(
        verdict.pairs_done < verdict.pairs_asked
            && 1 < Manifest::read_any(&folder).unwrap().parts.len()
    );
    // The same games, with a test that needs fewer of them.
    let mut manifest = Manifest::read_any(&folder).unwrap();
    let mut verdict = verdict;
    for config in [&mut manifest.config, &mut verdict.config] {
        config["nelo0"] = (-500.0).into();
        config["nelo1"] = 500.0.into();
    }
    manifest.write(&folder).unwrap();
    write_sealed(&folder.join("verdict.json"), &verdict).unwrap();
    for index in 0..manifest.parts.len() {
        let path = part_path(&folder, &GATE_GAMES, index);
        let rows: Vec<GateGameRow> = Dataset::open_any(&folder)
            .unwrap()
            .read(&GATE_GAMES, index, &NEVER)
            .unwrap();
        let mut footer = footer_of(&path);
        for (key, value) in [("nelo0", "-500.0"), ("nelo1", "500.0")] {
            footer.insert(format!("renma.gate.{key}"), value.to_owned());
        }
        let entry = GATE_GAMES.write_rows(&path, &rows, &footer).unwrap();
        manifest.parts[index]
            .files
            .insert(GATE_GAMES.name.to_owned(), entry);
        manifest.write(&folder).unwrap();
    }
    refused(
        &workspace,
        "a batch too many",
        &["verdict.json: it was decided after 1 of "],
    );
}

type SampleChange = fn(&mut Vec<MpcSampleRow>, &mut Footer);

#[test]
fn samples_that_no_search_can_have_found_are_named() {
    let changes: [(&str, SampleChange, &str); 16] = [
        (
            "a score",
            |rows, _| rows[0].score = Score(64_001),
            "depth 0: score 64001 is beyond",
        ),
        (
            "nodes",
            |rows, _| rows[1].nodes = u64::MAX,
            "depth 1: 18446744073709551615 nodes",
        ),
        (
            "empties",
            |rows, _| rows[1].empties += 1,
            "depth 1: empties is",
        ),
        (
            "a depth",
            |rows, _| rows[1].depth = 2,
            "depth 2: depth 1 is missing",
        ),
        (
            "a board",
            |rows, _| rows[0].player |= rows[0].opponent,
            "share a square",
        ),
        (
            "a window",
            |rows, _| rows[0].alpha = Some(Score(7)),
            "not that of depth 0",
        ),
        (
            "a sample",
            |rows, _| rows.retain(|row| row.sample_id != 13 * GAME_SAMPLES + 1),
            "in the place of sample",
        ),
        (
            "the last sample",
            |rows, _| rows.retain(|row| row.game_id < GameId(23)),
            " samples, ",
        ),
        (
            "an exact score",
            |rows, _| solved(rows).score.0 += 1000,
            "is not an even number of discs",
        ),
        ("no nodes", |rows, _| rows[1].nodes = 0, "depth 1: 0 nodes"),
        (
            "no end",
            |rows, _| unsolve(rows),
            "it was not solved, with ",
        ),
        (
            "another game",
            |rows, _| rows.iter_mut().for_each(|row| row.game_id.0 += 1),
            "in the place of sample 48 of game 12",
        ),
        (
            "a deep window",
            |rows, _| met(rows).for_each(|row| row.met_depth = 60),
            "met_depth is 60",
        ),
        (
            "a shallow window",
            |rows, _| met(rows).for_each(|row| row.met_depth = 1),
            "met_depth is 1",
        ),
        (
            "an alpha",
            |rows, _| met(rows).for_each(|row| row.alpha = Some(Score(64_000))),
            "alpha 64000 is beyond",
        ),
        (
            "a footer",
            |_, footer| drop(footer.insert("renma.seed".into(), "7".into())),
            "renma.seed = 7",
        ),
    ];
    for (what, change, word) in changes {
        let workspace = copy_with("line", (&MPC_SAMPLES, 1), change);
        refused(&workspace, what, &["data/samples/part-00001.parquet", word]);
    }
}

/// Samples per game of `method = "line"`.
const GAME_SAMPLES: u64 = 4;

/// The place of a search to the end of the game.
fn place_of_end(rows: &[MpcSampleRow]) -> usize {
    let depth_max = Manifest::read_any(&RUN.path("line")).unwrap().config["depth_max"]
        .as_u64()
        .unwrap();
    rows.iter()
        .position(|row| depth_max < row.depth.into())
        .unwrap()
}

fn unsolve(rows: &mut Vec<MpcSampleRow>) {
    rows.remove(place_of_end(rows));
}

fn solved(rows: &mut [MpcSampleRow]) -> &mut MpcSampleRow {
    let place = place_of_end(rows);
    &mut rows[place]
}

/// The rows of the first sample that a search met.
fn met(rows: &mut [MpcSampleRow]) -> impl Iterator<Item = &mut MpcSampleRow> {
    let id = rows
        .iter()
        .find(|row| row.alpha.is_some())
        .unwrap()
        .sample_id;
    rows.iter_mut().filter(move |row| row.sample_id == id)
}

#[test]
fn a_position_of_a_game_lies_in_the_range_of_its_sample() {
    // Without windows, the first two samples of a game change places, with their numbers.
    let change: SampleChange = |rows, _| {
        rows.iter_mut()
            .for_each(|row| (row.alpha, row.met_depth) = (None, 0));
        let ends: Vec<usize> = (1..rows.len())
            .filter(|&place| rows[place].depth == 0)
            .take(2)
            .collect();
        let first = rows[0].sample_id;
        rows[..ends[0]]
            .iter_mut()
            .for_each(|row| row.sample_id = first + 1);
        rows[ends[0]..ends[1]]
            .iter_mut()
            .for_each(|row| row.sample_id = first);
        rows[..ends[1]].rotate_left(ends[0]);
    };
    refused(
        &copy_with("line", (&MPC_SAMPLES, 1), change),
        "ranges",
        &["sample 48: it has ", " expected"],
    );
}

type PositionChange = fn(&mut Vec<PositionRow>, &mut Footer);

/// The first row whose search was, or was not, one to the end.
fn row(rows: &mut [PositionRow], exact: bool) -> &mut PositionRow {
    rows.iter_mut()
        .find(|row| row.exact == Some(exact))
        .unwrap()
}

/// Another legal move than this one.
fn other_move(row: &PositionRow, square: Option<u8>) -> Option<u8> {
    let legal = row.position().unwrap().legal_moves();
    (0..64).find(|&other| legal >> other & 1 == 1 && Some(other) != square)
}

/// The first exact row with two moves, of which the best one was played.
fn choice(rows: &mut [PositionRow]) -> &mut PositionRow {
    let is_choice = |row: &&mut PositionRow| {
        row.exact == Some(true)
            && row.played_move == row.best_move
            && other_move(row, row.best_move).is_some()
    };
    rows.iter_mut().find(is_choice).unwrap()
}

#[test]
fn each_column_of_positions_is_compared_with_the_moves_and_the_config() {
    let changes: [(&str, PositionChange, &str); 20] = [
        (
            "game_id",
            |rows, _| rows[0].game_id.0 += 1,
            "game 25 has 0 rows",
        ),
        ("ply", |rows, _| rows[9].ply += 2, "ply 9 has no row"),
        (
            "empties",
            |rows, _| rows[9].empties -= 1,
            "row 9: empties is 50, the board has 51",
        ),
        ("black", |rows, _| rows[0].black ^= 1 << 28 | 1 << 29, ": "),
        ("white", |rows, _| rows[0].white ^= 1 << 27 | 1 << 26, ": "),
        (
            "black_to_move",
            |rows, _| rows[0].black_to_move = false,
            ": ",
        ),
        (
            "score",
            |rows, _| rows[0].score = Some(Score(64_001)),
            "row 0: score 64001 is beyond",
        ),
        (
            "exact score",
            |rows, _| choice(rows).score = Some(Score(63_000)),
            "exact score ",
        ),
        (
            "higher score",
            |rows, _| raise(row(rows, true), 2000),
            "and after its move ",
        ),
        (
            "lower score",
            |rows, _| raise(row(rows, true), -2000),
            "and after its move ",
        ),
        (
            "depth",
            |rows, _| row(rows, false).depth = Some(3),
            "ply 0: depth is 3 and exact false",
        ),
        (
            "lower depth",
            |rows, _| row(rows, false).depth = Some(1),
            "60 empty squares 2 and false expected",
        ),
        (
            "exact",
            |rows, _| solve(row(rows, false)),
            "60 empty squares 2 and false expected",
        ),
        (
            "not exact",
            |rows, _| row(rows, true).exact = Some(false),
            "8 empty squares 8 and true expected",
        ),
        (
            "best_move",
            |rows, _| rows[0].best_move = Some(27),
            "row 0: best_move 27 is not legal",
        ),
        (
            "other best_move",
            |rows, _| change_best(choice(rows)),
            "played_move is not best_move",
        ),
        (
            "played_move",
            |rows, _| change_played(choice(rows)),
            ": played_move is ",
        ),
        (
            "random_move",
            |rows, _| rows[0].random_move = Some(false),
            "ply 0: random_move is false",
        ),
        (
            "other random_move",
            |rows, _| row(rows, true).random_move = Some(true),
            ": random_move is true",
        ),
        (
            "result",
            |rows, _| rows[0].result = rows[0].result.map(|result| result ^ 2),
            "ply 0: result is ",
        ),
    ];
    for (what, change, word) in changes {
        let workspace = copy_with("selfplay", (&POSITIONS, 1), change);
        refused(
            &workspace,
            what,
            &["data/positions/part-00001.parquet", word],
        );
    }
}

/// Adds to an exact score, or takes away where there is no room.
fn raise(row: &mut PositionRow, millidiscs: i32) {
    row.score = row
        .score
        .map(|score| Score((score.0 + millidiscs).clamp(-64_000, 64_000)));
}

fn solve(row: &mut PositionRow) {
    (row.exact, row.depth, row.score) = (Some(true), Some(row.empties), Some(Score(2000)));
}

fn change_best(row: &mut PositionRow) {
    row.best_move = other_move(row, row.best_move);
}

fn change_played(row: &mut PositionRow) {
    row.played_move = other_move(row, row.played_move);
}

#[test]
fn each_column_of_games_is_compared_with_the_moves_and_the_config() {
    let changes: [(&str, GameChange, &str); 6] = [
        (
            "game_id",
            |rows, _| rows[0].game_id = GameId(7),
            "game 25 is missing: 7 is in its place",
        ),
        (
            "moves",
            |rows, _| rows[0].moves.truncate(100),
            "its moves end before the game does",
        ),
        (
            "random_plies",
            |rows, _| rows[0].random_plies = Some(7),
            "game 25: random_plies is 7, 8 to ",
        ),
        (
            "more random_plies",
            |rows, _| rows[0].random_plies = Some(61),
            "game 25: random_plies is 61, 8 to ",
        ),
        (
            "result",
            |rows, _| rows[0].result = rows[0].result.map(|result| result ^ 2),
            "game 25: ",
        ),
        (
            "positions",
            |rows, _| rows[0].positions -= 1,
            "rows, its game says ",
        ),
    ];
    for (what, change, word) in changes {
        let workspace = copy_with("selfplay", (&GAMES, 1), change);
        refused(&workspace, what, &["/part-00001.parquet", word]);
    }
}

type ManifestChange = fn(&mut Manifest);

#[test]
fn rows_are_those_that_the_config_asks_for() {
    // All rows from ply 3 on, no exploration, and two random plies.
    let workspace = Workspace::new();
    let keys = [
        ("generate.games", "6"),
        ("generate.part_games", "4"),
        ("generate.exploration", "0"),
        ("generate.label_from_ply", "3"),
        ("generate.random_plies_min", "2"),
        ("generate.random_plies_max", "2"),
        ("generate.label_depth", "1"),
    ];
    let config = workspace.config("two-plies", "smoke", &keys);
    workspace.done(&format!("generate --config {config} --output sound"));
    workspace.done("dataset verify sound");
    let check = |what: &str, positions: PositionChange, games: GameChange, words: &[&str]| {
        let _ = std::fs::remove_dir_all(workspace.path("data"));
        copy_folder(&workspace.path("sound"), &workspace.path("data"));
        change_part(&workspace.path("data"), (&POSITIONS, 0), positions);
        change_part(&workspace.path("data"), (&GAMES, 0), games);
        refused(&workspace, what, words);
    };
    let later = |rows: &mut Vec<PositionRow>, _: &mut Footer| {
        rows.retain(|row| (row.game_id, row.ply) != (GameId(0), 3));
    };
    let fewer = |rows: &mut Vec<GameRow>, _: &mut Footer| rows[0].positions -= 1;
    check(
        "a row too few",
        later,
        fewer,
        &["game 0: its rows are not those of the moves from generate.label_from_ply = 3 on"],
    );
    let explored = |rows: &mut Vec<PositionRow>, _: &mut Footer| rows[2].random_move = Some(true);
    check(
        "a random move",
        explored,
        |_, _| (),
        &["game 0: ply 5: random_move is true"],
    );
    let longer = |rows: &mut Vec<GameRow>, _: &mut Footer| rows[1].random_plies = Some(3);
    check(
        "an opening",
        |_, _| (),
        longer,
        &["game 1: random_plies is 3, 2 to 2 expected"],
    );
    // What the manifest asks for.
    copy_folder(
        &workspace.path("sound/positions"),
        &workspace.path("data/positions"),
    );
    copy_folder(
        &workspace.path("sound/games"),
        &workspace.path("data/games"),
    );
    let changes: [(ManifestChange, &str); 3] = [
        (
            |manifest| manifest.asked = 7,
            "it says 7 asked, and its config asks for 6",
        ),
        (
            |manifest| manifest.config["games"] = 9.into(),
            "it says 6 asked, and its config asks for 9",
        ),
        (
            |manifest| manifest.models.extend([("rival".into(), manifest.recipe)]),
            "its models are not those of the roles player",
        ),
    ];
    for (change, words) in changes {
        let mut manifest = Manifest::read_any(&workspace.path("sound")).unwrap();
        change(&mut manifest);
        manifest.write(&workspace.path("data")).unwrap();
        refused(&workspace, words, &["data/manifest.json", words]);
    }
}

#[test]
fn imported_positions_of_a_game_do_not_contradict_each_other() {
    let change: PositionChange = |rows, _| rows.iter_mut().for_each(|row| row.game_id = GameId(0));
    let workspace = Workspace::new();
    copy_folder(&RUN.path("some"), &workspace.path("data"));
    let table = renma::artifact::DatasetKind::Imported.table(&POSITIONS);
    change_part(&workspace.path("data"), (table, 0), change);
    refused(
        &workspace,
        "one game",
        &["row 1: 60 empty squares at ply 0 cannot follow 60 empty squares at ply 0"],
    );
}

#[test]
fn a_part_that_was_cut_short_names_both_sizes() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &[]);
    copy_folder(&RUN.path("some"), &workspace.path("data"));
    let part = part_path(&workspace.path("data"), &POSITIONS, 0);
    let mut bytes = std::fs::read(&part).unwrap();
    let whole = bytes.len();
    bytes.truncate(whole - 100);
    std::fs::write(&part, &bytes).unwrap();
    let reason = format!("it has {} bytes, the manifest says {whole}", whole - 100);
    for command in [
        "dataset verify data",
        &format!("train --config {config} --dataset data --models models"),
    ] {
        let outcome = workspace.run(command);
        assert_eq!(outcome.code, Some(65), "{command}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(&reason),
            "{command}: {}",
            outcome.stderr
        );
    }
}
