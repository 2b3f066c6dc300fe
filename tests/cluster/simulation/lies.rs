//! Parts that are not what they say, put before the real `renma shard finish`.
//!
//! Here each game is made again, so that any lie must be found. A larger dataset is checked by a
//! sample: a column that follows from the moves is proved in every row, and the others (scores,
//! depths, best moves, which moves were random) in the games that the seed draws, 1 % of them and
//! at least 16.

use crate::support::workspace::{Outcome, check_same};
use renma::artifact::{
    Footer, GAMES, GATE_GAMES, GameRow, GateGameRow, NEVER, POSITIONS, PositionRow, Table, TableRow,
};
use renma::engine::{Discs, Score};
use renma::random::{RandomStream, Stream, stream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Change<R> = fn(&mut R);

/// A different value for each column of a position.
const OF_POSITIONS: [(&str, Change<PositionRow>); 14] = [
    ("game_id", |row| row.game_id.0 += 1),
    ("ply", |row| row.ply += 1),
    ("empties", |row| {
        row.empties = row.empties.saturating_sub(1) + 2 * u8::from(row.empties == 0);
    }),
    ("black", |row| {
        row.black ^= 1 << (row.black.trailing_zeros() % 64);
    }),
    ("white", |row| {
        row.white ^= 1 << (row.white.trailing_zeros() % 64);
    }),
    ("black_to_move", |row| {
        row.black_to_move = !row.black_to_move;
    }),
    ("score", |row| row.score = row.score.map(other_score)),
    ("static_score", |row| {
        row.static_score = row.static_score.map(other_score);
    }),
    ("depth", |row| row.depth = row.depth.map(|depth| depth + 1)),
    ("exact", |row| row.exact = row.exact.map(|exact| !exact)),
    ("best_move", |row| {
        row.best_move = row.best_move.map(|square| (square + 1) % 64);
    }),
    ("played_move", |row| {
        row.played_move = row.played_move.map(|square| (square + 1) % 64);
    }),
    ("random_move", |row| {
        row.random_move = row.random_move.map(|random| !random);
    }),
    ("result", |row| row.result = row.result.map(other_result)),
];

const OF_GAMES: [(&str, Change<GameRow>); 5] = [
    ("game_id", |row| row.game_id.0 += 1),
    ("moves", |row| row.moves.truncate(row.moves.len() - 2)),
    ("random_plies", |row| {
        row.random_plies = row.random_plies.map(|plies| plies + 1);
    }),
    ("result", |row| row.result = row.result.map(other_result)),
    ("positions", |row| row.positions -= 1),
];

const OF_MATCHES: [(&str, Change<GateGameRow>); 6] = [
    ("game_id", |row| row.game_id.0 += 1),
    ("pair", |row| row.pair += 1),
    ("candidate_black", |row| {
        row.candidate_black = !row.candidate_black;
    }),
    ("opening_plies", |row| row.opening_plies += 1),
    ("moves", |row| row.moves.truncate(row.moves.len() - 2)),
    ("result", |row| row.result = other_result(row.result)),
];

/// How many parts a shard of a plan has.
pub(crate) const SHARD_PIECES: usize = 2;

/// What is wrong with a part that is not a lie of one column.
const OTHERS: [&str; 5] = [
    "cut short",
    "empty",
    "of another seed",
    "of another program",
    "one table only",
];

fn other_score(score: Score) -> Score {
    if score < Discs(60).into() {
        score + Score(1)
    } else {
        score - Score(1)
    }
}

fn other_result(result: i8) -> i8 {
    if result < 60 { result + 2 } else { result - 2 }
}

/// Changes rows and footer of a part, and writes it as sound as before.
pub(crate) fn falsify<R: TableRow>(
    table: &Table,
    path: &Path,
    change: impl FnOnce(&mut Vec<R>),
    footer: impl FnOnce(&mut Footer),
) {
    let (_, keys, batch) = table.read_unlisted(path, |_| Ok(1 << 20), &NEVER).unwrap();
    let mut rows = R::from_batch(&batch).unwrap();
    change(&mut rows);
    let mut keys = keys
        .into_iter()
        .filter(|(key, _)| *key != "renma.content" && key.starts_with("renma."))
        .collect();
    footer(&mut keys);
    table.write_rows(path, &rows, &keys).unwrap();
}

/// Makes the rows of a true part false, in a way that reading does not show.
pub(crate) fn falsify_part(folder: &Path, piece: usize, is_match: bool) {
    let part = |table: &str| folder.join(format!("{table}/part-{piece:05}.parquet"));
    if is_match {
        let lie = |rows: &mut Vec<GateGameRow>| {
            rows.iter_mut()
                .for_each(|row| row.result = other_result(row.result));
        };
        falsify(&GATE_GAMES, &part("games"), lie, |_| ());
    } else {
        let lie = |rows: &mut Vec<PositionRow>| {
            rows[20].static_score = rows[20].static_score.map(other_score);
        };
        falsify(&POSITIONS, &part("positions"), lie, |_| ());
    }
}

/// The folder in which `renma shard finish` is to find a lie, and those from which its parts are
/// taken.
pub(crate) struct Scene {
    pub(crate) plan: PathBuf,
    pub(crate) parts: PathBuf,
    pub(crate) foreign: PathBuf,
    /// What one machine makes.
    pub(crate) whole: PathBuf,
    pub(crate) pieces: usize,
    pub(crate) is_match: bool,
    /// The exit code of an honest finish.
    pub(crate) done: i32,
}

impl Scene {
    fn tables(&self) -> &'static [&'static str] {
        if self.is_match {
            &["games"]
        } else {
            &["games", "positions"]
        }
    }

    fn lies(&self) -> usize {
        OTHERS.len()
            + if self.is_match {
                OF_MATCHES.len()
            } else {
                OF_POSITIONS.len() + OF_GAMES.len()
            }
    }

    /// Spoils a part; what was done, and whether the part can still be read as one of this plan.
    fn spoil(
        &self,
        output: &Path,
        piece: usize,
        lie: usize,
        rng: &mut RandomStream,
    ) -> (String, bool) {
        let part = |table: &str| output.join(format!("{table}/part-{piece:05}.parquet"));
        let last = self.tables().last().unwrap();
        let Some(lie) = lie.checked_sub(OTHERS.len()) else {
            let path = part(rng.pick(self.tables().iter()).unwrap());
            let what = OTHERS[lie];
            match what {
                "cut short" => {
                    let bytes = std::fs::read(&path).unwrap();
                    replace(&path, &bytes[..rng.below(bytes.len() as u32) as usize]);
                }
                "empty" => replace(&path, b""),
                "of another seed" => {
                    for table in self.tables() {
                        let source = self
                            .foreign
                            .join(format!("{table}/part-{piece:05}.parquet"));
                        replace(&part(table), &std::fs::read(source).unwrap());
                    }
                }
                "of another program" => self.change_algorithm(&part(last)),
                _ => std::fs::remove_file(&path).unwrap(),
            }
            return (format!("{what}: {}", path.display()), false);
        };
        if self.is_match {
            let (column, change) = OF_MATCHES[lie];
            one_row(&GATE_GAMES, &part("games"), change, rng);
            // A part with other numbers is not one of this range: it counts as missing.
            (format!("column {column} of the match"), column != "game_id")
        } else if lie < OF_POSITIONS.len() {
            let (column, change) = OF_POSITIONS[lie];
            one_row(&POSITIONS, &part("positions"), change, rng);
            (format!("column {column} of the positions"), true)
        } else {
            let (column, change) = OF_GAMES[lie - OF_POSITIONS.len()];
            one_row(&GAMES, &part("games"), change, rng);
            (format!("column {column} of the games"), true)
        }
    }

    /// The same rows, and the footer of a program with another algorithm.
    fn change_algorithm(&self, path: &Path) {
        let other = |footer: &mut Footer| {
            footer.insert("renma.algorithm".to_owned(), "99".to_owned());
            footer.insert("renma.recipe".to_owned(), "9".repeat(64));
        };
        if self.is_match {
            falsify::<GateGameRow>(&GATE_GAMES, path, |_| (), other);
        } else {
            falsify::<PositionRow>(&POSITIONS, path, |_| (), other);
        }
    }

    fn renma(&self, folder: &Path, arguments: &str) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
        command
            .args(["--progress", "none", "--threads", "1"])
            .args(arguments.split_whitespace());
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap()
            .into()
    }

    /// One part is false: `shard finish` names it and publishes nothing; when it is made again, the
    /// result is the true one.
    pub(crate) fn try_lie(&self, seed: u64, id: u64, scratch: &Path) {
        let rng = &mut stream(seed, Stream::Game(9, id));
        let folder = scratch.join(format!("{}-{seed}-{id}", self.tables().len()));
        let output = folder.join("out");
        for table in self.tables() {
            std::fs::create_dir_all(output.join(table)).unwrap();
            for piece in 0..self.pieces {
                let name = format!("{table}/part-{piece:05}.parquet");
                std::fs::hard_link(self.parts.join(&name), output.join(&name)).unwrap();
            }
        }
        std::fs::copy(&self.plan, folder.join("plan.json")).unwrap();
        // A match looks at its first batches only.
        let piece = rng.below(if self.is_match { 2 } else { self.pieces as u32 }) as usize;
        let (what, is_sound) = self.spoil(&output, piece, id as usize % self.lies(), rng);
        let outcome = self.renma(&folder, &format!("shard finish plan.json --seed {id}"));
        let shown = format!(
            "{what} in part {piece}: {:?}\n{}",
            outcome.code, outcome.stderr
        );
        let is_named = [
            format!("part-{piece:05}.parquet"),
            format!("part {piece} is missing"),
        ]
        .iter()
        .any(|name| outcome.stderr.contains(name));
        let is_foreign = what.starts_with("of another");
        assert!(is_named || is_foreign, "{shown}");
        assert!(
            if is_sound {
                outcome.code == Some(65)
            } else {
                matches!(outcome.code, Some(2 | 65 | 75))
            },
            "{shown}"
        );
        for name in ["manifest.json", "verdict.json"] {
            assert!(!output.join(name).exists(), "{name} is published: {shown}");
        }
        if is_sound || is_foreign {
            for table in self.tables() {
                std::fs::remove_file(output.join(format!("{table}/part-{piece:05}.parquet")))
                    .unwrap();
            }
        }
        let outcome = self.renma(
            &folder,
            &format!("shard run plan.json {}", piece / SHARD_PIECES),
        );
        assert_eq!(
            outcome.code,
            Some(0),
            "made again after {shown}\n{}",
            outcome.stderr
        );
        let outcome = self.renma(&folder, "shard finish plan.json");
        assert_eq!(
            outcome.code,
            Some(self.done),
            "finished after {shown}\n{}",
            outcome.stderr
        );
        check_same(&output, &self.whole, &what);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// Changes one row of a part.
fn one_row<R: TableRow>(table: &Table, path: &Path, change: Change<R>, rng: &mut RandomStream) {
    let change = |rows: &mut Vec<R>| {
        let row = rng.below(rows.len() as u32) as usize;
        change(&mut rows[row]);
    };
    falsify(table, path, change, |_| ());
}

/// Writes a file without touching the one that had its name, which is linked elsewhere.
fn replace(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}
