//! Self-play games, played again move by move.

use crate::support::plain::{
    Board, Evaluate, Evaluation, Game, Purpose, Stream, disc_count, move_value, squares, value,
};
use crate::support::tables::{Columns, read_json, real, whole};
use crate::support::workspace::{Workspace, check_same};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Moves are explored while more squares than this are empty.
const EXPLORATION_EMPTIES: i64 = 14;

/// The games and rows that the twin has seen, by what they are to show.
#[derive(Debug, Default)]
struct Seen {
    random_plies: BTreeSet<i64>,
    explored: usize,
    exact: usize,
    passes: usize,
}

struct Twin<'a> {
    config: &'a Value,
    evaluate: Evaluate<'a>,
    rows: &'a Columns,
    seen: Seen,
}

impl Twin<'_> {
    fn key(&self, name: &str) -> i64 {
        whole(self.config, name)
    }

    fn limits(&self, depth: &str) -> (i64, i64) {
        (self.key(depth).max(1), self.key("exact_empties"))
    }

    /// How many random plies follow the opening; nothing is drawn where there is nothing to choose.
    fn random_plies(&self, rng: &mut Stream) -> i64 {
        let [min, max] = ["random_plies_min", "random_plies_max"].map(|name| self.key(name));
        if min == max {
            min
        } else {
            rng.between(min as usize, max as usize) as i64
        }
    }

    /// Plays a game by its opening, its stream and, where they leave the choice to a search, by
    /// `moves`; `row` is the first row of the game, and the next game's after it.
    fn game(
        &mut self,
        id: i64,
        moves: &[usize],
        opening: &Game,
        rng: &mut Stream,
        row: &mut usize,
    ) -> (Game, i64) {
        let drawn = self.random_plies(rng);
        let opening_plies = opening.ply + drawn;
        let mut game = Game::new();
        let first_row = *row;
        for (number, &square) in moves.iter().enumerate() {
            let random = match opening.moves.get(number) {
                Some(&square) => Some(square),
                None if game.ply < opening_plies => Some(rng.pick(&game.board.moves())),
                None => self.explored(&game.board, rng),
            };
            assert!(
                random.is_none_or(|random| random == square),
                "game {id}, ply {}: {random:?}",
                game.ply
            );
            let labeled = self.key("label_from_ply") <= game.ply;
            if labeled {
                self.check_row(id, &game, *row, (square, random.is_some()));
                *row += 1;
            }
            if random.is_none() {
                self.check_choice(&game.board, square);
            }
            let ply = game.ply;
            game.play(square);
            self.seen.passes += usize::from(ply + 1 < game.ply);
        }
        assert!(game.board.is_over(), "game {id}");
        let result = game.black_discs();
        for row in first_row..*row {
            let sign = if self.rows.number("black_to_move", row) == 1 {
                1
            } else {
                -1
            };
            assert_eq!(
                self.rows.number("result", row),
                sign * result,
                "game {id}, row {row}"
            );
        }
        self.seen.random_plies.insert(drawn);
        let random_plies = opening_plies.min(game.ply);
        (game, random_plies)
    }

    /// The move of an exploration, if this is one.
    fn explored(&mut self, board: &Board, rng: &mut Stream) -> Option<usize> {
        let exploring = EXPLORATION_EMPTIES < board.empties() as i64;
        if !exploring || real(self.config, "exploration") <= rng.unit() {
            return None;
        }
        self.seen.explored += 1;
        Some(rng.pick(&board.moves()))
    }

    fn check_choice(&self, board: &Board, square: usize) {
        let limits = self.limits("play_depth");
        let best = value(self.evaluate, board, limits);
        assert_eq!(
            move_value(self.evaluate, (board, square), limits),
            best,
            "square {square} of {board:?}"
        );
    }

    fn check_row(&mut self, id: i64, game: &Game, row: usize, (square, random): (usize, bool)) {
        let board = &game.board;
        let (depth, exact_empties) = self.limits("label_depth");
        let empties = board.empties() as i64;
        let exact = empties <= exact_empties.max(depth);
        let [black, white] = game.colors();
        for (name, expected) in [
            ("game_id", id),
            ("ply", game.ply),
            ("empties", empties),
            ("black", black as i64),
            ("white", white as i64),
            ("black_to_move", i64::from(game.black_to_move)),
            (
                "score",
                i64::from(value(self.evaluate, board, (depth, exact_empties))),
            ),
            ("static_score", i64::from((self.evaluate)(board))),
            ("depth", if exact { empties } else { depth }),
            ("exact", i64::from(exact)),
            ("played_move", square as i64),
            ("random_move", i64::from(random)),
        ] {
            assert_eq!(
                self.rows.number(name, row),
                expected,
                "{name} of game {id}, ply {}",
                game.ply
            );
        }
        let best = self.rows.number("best_move", row) as usize;
        let best_value = move_value(self.evaluate, (board, best), (depth, exact_empties));
        assert_eq!(
            self.rows.number("score", row),
            i64::from(best_value),
            "best move of game {id}, ply {}",
            game.ply
        );
        let one_search = exact || self.config["play_depth"] == self.config["label_depth"];
        assert!(
            random || !one_search || best == square,
            "game {id}, ply {}: {best} {square}",
            game.ply
        );
        self.seen.exact += usize::from(exact);
    }
}

/// Plays every game of a dataset again; the openings are taken in turn.
fn check(folder: &Path, evaluate: Evaluate<'_>, openings: &[Game]) -> Seen {
    let manifest = read_json(&folder.join("manifest.json"));
    let (games, rows) = (
        Columns::read_parts(&folder.join("games")),
        Columns::read_parts(&folder.join("positions")),
    );
    let [seed, generation] = ["seed", "generation"].map(|name| whole(&manifest, name) as u64);
    let mut twin = Twin {
        config: &manifest["config"],
        evaluate,
        rows: &rows,
        seen: Seen::default(),
    };
    assert_eq!(games.count as i64, twin.key("games"));
    let mut row = 0;
    for number in 0..games.count {
        let id = games.number("game_id", number);
        assert_eq!(id, number as i64);
        let mut rng = Stream::new(seed, Purpose::Game, [generation, id as u64]);
        let first_row = row;
        let opening = &openings[number % openings.len()];
        let moves = squares(games.text("moves", number));
        let (game, random_plies) = twin.game(id, &moves, opening, &mut rng, &mut row);
        for (name, expected) in [
            ("random_plies", random_plies),
            ("result", game.black_discs()),
            ("positions", (row - first_row) as i64),
        ] {
            assert_eq!(games.number(name, number), expected, "{name} of game {id}");
        }
    }
    assert_eq!(row, rows.count);
    twin.seen
}

fn generated(workspace: &Workspace, changes: &[(&str, &str)], options: &str) {
    let config = workspace.config("twin", "smoke", changes);
    workspace.done(&format!(
        "generate --config {config} --output dataset {options}"
    ));
}

#[test]
fn games_of_random_openings_are_those_of_their_streams_and_of_a_plain_search() {
    let workspace = Workspace::new();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model");
    let changes = [
        ("run.seed", "7"),
        ("generate.random_plies_min", "4"),
        ("generate.random_plies_max", "7"),
        ("generate.exploration", "0.2"),
        ("generate.play_depth", "1"),
        ("generate.label_depth", "2"),
        ("generate.exact_empties", "5"),
        ("generate.label_from_ply", "3"),
    ];
    generated(
        &workspace,
        &changes,
        &format!("--generation 3 --model {}", model.display()),
    );
    let player = Evaluation::read(&model);
    let seen = check(
        &workspace.path("dataset"),
        &|board| player.static_value(board),
        &[Game::new()],
    );
    assert_eq!(seen.random_plies, BTreeSet::from([4, 5, 6, 7]));
    assert!(
        300 < seen.explored && 250 < seen.exact && 5 < seen.passes,
        "{seen:?}"
    );
}

#[test]
fn random_games_are_random_to_their_end_and_have_no_rows() {
    let workspace = Workspace::new();
    let config = workspace.config("random", "random-games", &[("generate.games", "250")]);
    for threads in ["1", "2"] {
        workspace.done(&format!(
            "generate --config {config} --model builtin:disc-count --threads {threads} --output dataset{threads}"
        ));
    }
    check_same(
        &workspace.path("dataset1"),
        &workspace.path("dataset2"),
        "one thread and two",
    );
    // The twin refuses a move that its stream does not draw, and searches where it draws none.
    let never = |_: &Board| panic!("a position was searched");
    let seen = check(&workspace.path("dataset1"), &never, &[Game::new()]);
    assert_eq!(seen.random_plies, BTreeSet::from([128]));
    assert!(60 < seen.passes && seen.exact == 0, "{seen:?}");
    let positions = Columns::read_parts(&workspace.path("dataset1/positions"));
    assert_eq!(positions.count, 0);
    workspace.done("dataset verify dataset1 --remake 100%");
    workspace.done("dataset inspect dataset1");
}

#[test]
fn lines_of_a_book_come_in_turn_and_random_plies_follow() {
    let workspace = Workspace::new();
    let lines = ["f5d6c3", "f5f6", "c4e3f5b4"];
    workspace.write("configs/book.txt", lines.join("\n") + "\n");
    let changes = [
        ("generate.games", "20"),
        ("generate.openings", "\"book\""),
        ("generate.book", "\"book.txt\""),
        ("generate.random_plies_min", "0"),
        ("generate.random_plies_max", "2"),
        ("generate.exploration", "0.0"),
        ("generate.play_depth", "1"),
        ("generate.label_depth", "1"),
        ("generate.exact_empties", "0"),
    ];
    generated(&workspace, &changes, "--model builtin:disc-count");
    let openings = lines.map(|line| {
        let mut game = Game::new();
        squares(line)
            .into_iter()
            .for_each(|square| game.play(square));
        game
    });
    let seen = check(&workspace.path("dataset"), &disc_count, &openings);
    assert_eq!(
        (seen.random_plies, seen.explored),
        (BTreeSet::from([0, 1, 2]), 0)
    );
}
