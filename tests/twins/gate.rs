//! Gates: openings drawn again, every move judged by a plain search, the score, the test and the
//! verdict by definition.

use crate::support::plain::{
    Board, Evaluate, Evaluation, Game, Purpose, Stream, move_value, negamax, square_weights,
    squares, value,
};
use crate::support::tables::{Columns, read_json, real, whole};
use crate::support::workspace::Workspace;
use renma::artifact::LoadedModel;
use renma::engine::{Depth, Limits, MpcLevel, Opponent, Player, Position, Searcher};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Shares or counts of pairs that scored 0, ½, 1, 1½ and 2 points.
type Pairs = [f64; 5];

/// Points of a game of such a pair, less one half.
const LEADS: Pairs = [-0.5, -0.25, 0.0, 0.25, 0.5];

/// Normalized Elo of a lead of one standard deviation in each game of a pair, in those of a pair.
fn nelo_of(strength: f64) -> f64 {
    strength / 2_f64.sqrt() * 800.0 / 10_f64.ln()
}

fn mean_and_variance(shares: Pairs) -> [f64; 2] {
    let mean: f64 = (0..5).map(|at| shares[at] * LEADS[at]).sum();
    [
        mean,
        (0..5)
            .map(|at| shares[at] * (LEADS[at] - mean).powi(2))
            .sum(),
    ]
}

/// Shares of counts, where something stands for what never happened.
fn shares(counts: Pairs) -> Pairs {
    let counts = counts.map(|count| if count == 0.0 { 1e-3 } else { count });
    counts.map(|count| count / counts.iter().sum::<f64>())
}

fn nelo(counts: Pairs) -> f64 {
    let [mean, variance] = mean_and_variance(shares(counts));
    nelo_of(mean / variance.sqrt())
}

/// The likeliest shares whose mean is `wanted` standard deviations: the condition is made linear
/// about the last guess, again and again (Van den Bergh, "Comments on Normalized Elo", 2021).
fn likeliest(observed: Pairs, wanted: f64) -> Pairs {
    let mut guess = [0.2; 5];
    for _ in 0..2000 {
        let [mean, variance] = mean_and_variance(guess);
        let deviation = variance.sqrt();
        let linear = LEADS.map(|lead| {
            lead - wanted * deviation * (1.0 + ((mean - lead) / deviation).powi(2)) / 2.0
        });
        let next = with_mean_zero(observed, linear);
        let moved = (0..5)
            .map(|at| (next[at] - guess[at]).abs())
            .fold(0.0, f64::max);
        guess = std::array::from_fn(|at| (next[at] + guess[at]) / 2.0);
        if moved < 1e-14 {
            break;
        }
    }
    guess
}

/// The likeliest shares under which `values` have the mean 0: p / (1 + λ · value), by halving.
fn with_mean_zero(observed: Pairs, values: Pairs) -> Pairs {
    let weighted = |lambda: f64| -> Pairs {
        std::array::from_fn(|at| observed[at] / (1.0 + lambda * values[at]))
    };
    let [least, most] =
        [f64::min, f64::max].map(|choose| values.into_iter().reduce(choose).unwrap());
    let (mut low, mut high) = (-1.0 / most, -1.0 / least);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        let sum: f64 = weighted(middle)
            .iter()
            .zip(values)
            .map(|(share, value)| share * value)
            .sum();
        (low, high) = if 0.0 < sum {
            (middle, high)
        } else {
            (low, middle)
        };
    }
    weighted((low + high) / 2.0)
}

/// The log-likelihood ratio of `nelo1` to `nelo0`.
fn llr(counts: Pairs, nelo0: f64, nelo1: f64) -> f64 {
    let observed = shares(counts);
    let [at0, at1] = [nelo0, nelo1].map(|nelo| likeliest(observed, nelo / nelo_of(1.0)));
    let counts = counts.map(|count| if count == 0.0 { 1e-3 } else { count });
    (0..5).map(|at| counts[at] * (at1[at] / at0[at]).ln()).sum()
}

/// Elo and both ends of its interval: pairs vary as if there were half a pair more at each end of
/// the scale.
fn elo(counts: Pairs, errors: f64) -> [f64; 3] {
    let count: f64 = counts.iter().sum();
    let points = 0.5 + (0..5).map(|at| counts[at] * LEADS[at]).sum::<f64>() / count;
    let padded: Pairs = std::array::from_fn(|at| {
        (counts[at] + if at % 4 == 0 { 0.5 } else { 0.0 }) / (count + 1.0)
    });
    let error = (mean_and_variance(padded)[1] / count).sqrt();
    [0.0, -errors, errors].map(|errors| {
        let points = (points + errors * error).clamp(1e-6, 1.0 - 1e-6);
        400.0 * (points / (1.0 - points)).log10()
    })
}

fn check_near(found: &Value, expected: f64, what: &str) {
    let found = found.as_f64().unwrap();
    assert!(
        (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
        "{what}: {found}, {expected} expected"
    );
}

/// A gate's folder, with who played.
struct Gate<'a> {
    folder: &'a Path,
    candidate: Evaluate<'a>,
    baseline: Evaluate<'a>,
    /// The baseline's search to depth 4, which judges openings.
    balance: Evaluate<'a>,
    avoided: &'a [&'a Path],
}

impl Gate<'_> {
    /// Compares all that the folder says; gives the verdict.
    fn check(&self) -> Value {
        let [manifest, verdict] =
            ["manifest.json", "verdict.json"].map(|name| read_json(&self.folder.join(name)));
        let games = Columns::read_parts(&self.folder.join("games"));
        let (openings, counts) = self.openings(&manifest, games.count / 2);
        assert_eq!(verdict["openings"], counts);
        for game in 0..games.count {
            self.check_game(&games, game, &openings[game / 2], &manifest["config"]);
        }
        let batches: Vec<usize> = manifest["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| whole(part, "count") as usize)
            .collect();
        assert_eq!(batches.iter().sum::<usize>(), games.count / 2);
        check_score(&verdict["score"], &games);
        check_verdict(&verdict, &games, &batches);
        verdict
    }

    /// The openings of the pairs, and what became of all that were drawn.
    fn openings(&self, manifest: &Value, pairs: usize) -> (Vec<Vec<usize>>, Value) {
        let config = &manifest["config"];
        let [seed, generation] = ["seed", "generation"].map(|name| whole(manifest, name) as u64);
        let plies = whole(config, "opening_plies") as usize;
        let avoided = self.avoided(60 - plies);
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let (mut drawn, mut repeated, mut in_training, mut unbalanced) = (0, 0, 0, 0);
        while found.len() < pairs {
            let mut rng = Stream::new(seed, Purpose::GateOpening, [generation, drawn]);
            drawn += 1;
            let mut game = Game::new();
            while game.moves.len() < plies {
                game.play(rng.pick(&game.board.moves()));
            }
            let canonical = game.board.canonical();
            // A match of all games takes every opening.
            let is_balanced =
                config["mode"] == "games" || (self.balance)(&game.board).abs() <= 5000;
            if !seen.insert(canonical) {
                repeated += 1;
            } else if avoided.contains(&canonical) {
                in_training += 1;
            } else if !is_balanced {
                unbalanced += 1;
            } else {
                found.push(game.moves);
            }
        }
        let counts = json!({ "drawn": drawn, "repeated": repeated, "in_training": in_training, "unbalanced": unbalanced });
        (found, counts)
    }

    /// The positions with this many empty squares that must not be openings.
    fn avoided(&self, empties: usize) -> BTreeSet<Board> {
        let mut boards = BTreeSet::new();
        for folder in self.avoided {
            let rows = Columns::read_parts(&folder.join("positions"));
            for row in 0..rows.count {
                let [black, white] = ["black", "white"].map(|name| rows.bits(name, row));
                let black_to_move = rows.number("black_to_move", row) == 1;
                let board = if black_to_move {
                    Board::new(black, white)
                } else {
                    Board::new(white, black)
                };
                if board.empties() == empties {
                    boards.insert(board.canonical());
                }
            }
        }
        boards
    }

    fn check_game(&self, games: &Columns, number: usize, opening: &[usize], config: &Value) {
        let candidate_black = number.is_multiple_of(2);
        let moves = squares(games.text("moves", number));
        assert_eq!(&moves[..opening.len()], opening, "opening of game {number}");
        let limits = (whole(config, "depth"), whole(config, "exact_empties"));
        let mut game = Game::new();
        for (place, square) in moves.into_iter().enumerate() {
            let player = if game.black_to_move == candidate_black {
                self.candidate
            } else {
                self.baseline
            };
            if opening.len() <= place {
                let best = value(player, &game.board, limits);
                assert_eq!(
                    move_value(player, (&game.board, square), limits),
                    best,
                    "game {number}, ply {}",
                    game.ply
                );
            }
            game.play(square);
        }
        assert!(game.board.is_over(), "game {number}");
        let result = if candidate_black {
            game.black_discs()
        } else {
            -game.black_discs()
        };
        for (name, expected) in [
            ("game_id", number as i64),
            ("pair", number as i64 / 2),
            ("candidate_black", i64::from(candidate_black)),
            ("opening_plies", opening.len() as i64),
            ("result", result),
        ] {
            assert_eq!(
                games.number(name, number),
                expected,
                "{name} of game {number}"
            );
        }
    }
}

/// Pairs by points.
fn counted(results: &[i64]) -> Pairs {
    let mut counts = [0.0; 5];
    for pair in results.chunks_exact(2) {
        counts[pair.iter().map(|result| 1 + result.signum()).sum::<i64>() as usize] += 1.0;
    }
    counts
}

fn results(games: &Columns) -> Vec<i64> {
    (0..games.count)
        .map(|game| games.number("result", game))
        .collect()
}

fn check_score(score: &Value, games: &Columns) {
    let results = results(games);
    let count = |sign: i64| {
        results
            .iter()
            .filter(|result| result.signum() == sign)
            .count()
    };
    let [wins, draws, losses] = [1, 0, -1].map(count);
    assert_eq!(
        ["wins", "draws", "losses"].map(|name| whole(score, name) as usize),
        [wins, draws, losses]
    );
    let pairs = counted(&results);
    assert_eq!(score["pairs"], json!(pairs.map(|count| count as u64)));
    let games = results.len() as f64;
    let [elo, elo_low, elo_high] = elo(pairs, real(score, "interval"));
    for (name, expected) in [
        ("points", (wins as f64 + draws as f64 / 2.0) / games),
        ("discs_mean", results.iter().sum::<i64>() as f64 / games),
        ("elo", elo),
        ("elo_low", elo_low),
        ("elo_high", elo_high),
        ("nelo", nelo(pairs)),
    ] {
        check_near(&score[name], expected, name);
    }
}

/// The verdict by where the interval lies, or by the first look at which the test is decided: the
/// last.
fn check_verdict(verdict: &Value, games: &Columns, batches: &[usize]) {
    let results = results(games);
    assert_eq!(whole(verdict, "pairs_done") as usize, results.len() / 2);
    let test = &verdict["test"];
    if test.is_null() {
        let [_, low, high] = elo(counted(&results), real(&verdict["score"], "interval"));
        let expected = ["inconclusive", "accepted", "rejected"][if 0.0 < low {
            1
        } else {
            2 * usize::from(high < 0.0)
        }];
        assert_eq!(verdict["verdict"], expected);
        assert_eq!(verdict["pairs_done"], verdict["pairs_asked"]);
        return;
    }
    let [nelo0, nelo1, alpha, beta] =
        ["nelo0", "nelo1", "alpha", "beta"].map(|name| real(test, name));
    let (low, high) = ((beta / (1.0 - alpha)).ln(), ((1.0 - beta) / alpha).ln());
    check_near(&test["llr_low"], low, "the lower bound");
    check_near(&test["llr_high"], high, "the upper bound");
    let mut pairs = 0;
    for (look, batch) in (1..).zip(batches) {
        pairs += batch;
        let llr = llr(counted(&results[..2 * pairs]), nelo0, nelo1);
        let decided = if high <= llr {
            Some("accepted")
        } else {
            (llr <= low).then_some("rejected")
        };
        if look < batches.len() {
            assert_eq!(decided, None, "after look {look}: {llr}");
            continue;
        }
        check_near(&test["llr"], llr, "the ratio");
        assert_eq!(
            verdict["verdict"],
            decided.unwrap_or("inconclusive"),
            "{llr}"
        );
        assert!(
            decided.is_some() || verdict["pairs_done"] == verdict["pairs_asked"],
            "{verdict}"
        );
    }
}

/// Runs a gate between a candidate and a baseline.
fn played(
    workspace: &Workspace,
    output: &str,
    changes: &[(&str, &str)],
    [first, second]: [&str; 2],
    options: &str,
) {
    let config = workspace.config(output, "smoke", changes);
    let players = format!("--candidate {first} --baseline {second}");
    let outcome = workspace.run(&format!(
        "gate --config {config} --generation 2 {players} --output {output}{options}"
    ));
    assert!(
        matches!(outcome.code, Some(0 | 10 | 11)),
        "{}",
        outcome.stderr
    );
}

/// Who plays is the model of tests/data against square weights, in this order or the other.
fn gate(
    workspace: &Workspace,
    (output, model_first): (&str, bool),
    changes: &[(&str, &str)],
    avoid: &[&str],
) -> Value {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model");
    let strong = Evaluation::read(&model);
    let strong = |board: &Board| strong.static_value(board);
    let model = model.display().to_string();
    let (candidate, baseline, names): (Evaluate<'_>, Evaluate<'_>, _) = if model_first {
        (&strong, &square_weights, [&model, "builtin:square-weights"])
    } else {
        (&square_weights, &strong, ["builtin:square-weights", &model])
    };
    let mut options = String::new();
    avoid
        .iter()
        .for_each(|dataset| options += &format!(" --avoid {dataset}"));
    played(workspace, output, changes, names, &options);
    let folders: Vec<PathBuf> = avoid.iter().map(|name| workspace.path(name)).collect();
    let avoided: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let balance = |board: &Board| negamax(baseline, board, 4);
    Gate {
        folder: &workspace.path(output),
        candidate,
        baseline,
        balance: &balance,
        avoided: &avoided,
    }
    .check()
}

#[test]
fn a_match_of_all_games_is_played_and_judged_by_the_rules() {
    let workspace = Workspace::new();
    let selfplay = workspace.config(
        "selfplay",
        "smoke",
        &[("generate.label_depth", "1"), ("generate.games", "40")],
    );
    for generation in [1, 2] {
        let player = "--model builtin:square-weights";
        workspace.done(&format!(
            "generate --config {selfplay} --generation {generation} {player} --output g{generation}"
        ));
    }
    let changes = [
        ("run.seed", "3"),
        ("gate.mode", "\"games\""),
        ("gate.games", "60"),
        ("gate.opening_plies", "5"),
        ("gate.depth", "2"),
        ("gate.exact_empties", "4"),
    ];
    let verdict = gate(&workspace, ("match", true), &changes, &["g1", "g2"]);
    let openings = &verdict["openings"];
    assert!(
        ["repeated", "in_training"]
            .iter()
            .all(|name| 3 < whole(openings, name)),
        "{openings}"
    );
}

#[test]
fn a_sequential_test_ends_at_the_look_that_decides_it() {
    let workspace = Workspace::new();
    let keys = [
        ("gate.mode", "\"sprt\""),
        ("gate.games", "120"),
        ("gate.depth", "1"),
        ("gate.exact_empties", "4"),
    ];
    let mut unbalanced = 0;
    for (name, model_first, nelo1, expected) in [
        ("accepted", true, "120.0", "accepted"),
        ("rejected", false, "120.0", "rejected"),
        ("unsure", true, "2.0", "inconclusive"),
    ] {
        let verdict = gate(
            &workspace,
            (name, model_first),
            &[&keys[..], &[("gate.nelo1", nelo1)]].concat(),
            &[],
        );
        assert_eq!(verdict["verdict"], expected, "{name}");
        unbalanced += whole(&verdict["openings"], "unbalanced");
    }
    assert!(0 < unbalanced);
}

#[test]
fn openings_are_judged_by_a_search_as_selective_as_those_of_the_games() {
    let workspace = Workspace::new();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model");
    let changes = [
        ("gate.mode", "\"sprt\""),
        ("gate.nelo1", "2.0"),
        ("gate.games", "80"),
        ("gate.opening_plies", "20"),
        ("gate.depth", "1"),
        ("gate.exact_empties", "0"),
        ("gate.mpc_level", "{ t = 0.1 }"),
    ];
    played(
        &workspace,
        "match",
        &changes,
        ["builtin:square-weights", &model.display().to_string()],
        "",
    );
    let folder = &workspace.path("match");
    let manifest = read_json(&folder.join("manifest.json"));
    let verdict = read_json(&folder.join("verdict.json"));
    let (found, pairs) = (&verdict["openings"], whole(&verdict, "pairs_done") as usize);
    let baseline = LoadedModel::read(&model).unwrap().model;
    for (mpc, same) in [(MpcLevel::Sigmas(0.1), true), (MpcLevel::FullWidth, false)] {
        let searcher = RefCell::new(Searcher::new(&baseline.evaluation, &baseline.mpc, 12));
        let balance = |board: &Board| {
            let [own, opponent] = board.bits();
            let limits = Limits {
                mpc,
                ..Limits::full_width(Depth(4))
            };
            searcher.borrow_mut().clear();
            searcher
                .borrow_mut()
                .search(
                    Position::new(Player(own), Opponent(opponent)).unwrap(),
                    limits,
                )
                .score
                .0
        };
        let players = &square_weights;
        let gate = Gate {
            folder,
            candidate: players,
            baseline: players,
            balance: &balance,
            avoided: &[],
        };
        assert_eq!(gate.openings(&manifest, pairs).1 == *found, same, "{mpc:?}");
    }
}
