//! The page's server over real sockets: what it answers, and what it refuses.

use renma::artifact::{Builtin, LoadedModel};
use renma::engine::Game;
use renma::play::levels::{LEVELS, Level};
use renma::play::session::GameSession;
use renma::play::session::review::REVIEW_LIMITS;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A running server, stopped at the end.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Server {
    fn start() -> Self {
        Self::beside(Path::new("no-run"))
    }

    /// A server that shows the run of a registry.
    fn beside(registry: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_renma"))
            .args([
                "serve",
                "--port",
                "0",
                "--json",
                "--quiet",
                "--model",
                "builtin:square-weights",
                "--models",
            ])
            .arg(registry)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address: Value = serde_json::from_str(&line).unwrap();
        let port = address["address"]
            .as_str()
            .unwrap()
            .trim_end_matches('/')
            .rsplit_once(':')
            .unwrap()
            .1;
        Self {
            process,
            port: port.parse().unwrap(),
        }
    }

    /// Sends bytes and returns the status of the answer, its head and its body; status 0 is none.
    fn send(&self, bytes: &[u8]) -> (u16, String, String) {
        Self::finish(self.begin(b""), bytes)
    }

    /// A connection on which the beginning of a request was sent.
    fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// Sends the rest, and returns as [`Server::send`].
    fn finish(mut stream: TcpStream, bytes: &[u8]) -> (u16, String, String) {
        // The server may refuse and close before it has read everything.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        (status, head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        self.send(
            format!(
                "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
                self.port
            )
            .as_bytes(),
        )
    }

    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let (status, _, body) = self.send(self.request(path, body).as_bytes());
        (status, body)
    }

    fn request(&self, path: &str, body: &str) -> String {
        let (port, len) = (self.port, body.len());
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n\
             Content-Type: application/json\r\nContent-Length: {len}\r\n\r\n{body}"
        )
    }

    fn ask(&self, path: &str, request: &Value) -> Value {
        let (status, body) = self.post(path, &request.to_string());
        assert_eq!(status, 200, "{path} {request}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// A complete review: on a busy machine the server's time may suffice for the first moves only,
    /// and it is asked again.
    fn review(&self, request: &Value) -> Value {
        let mut reviews = (0..20).map(|_| self.ask("/api/review", request));
        reviews
            .find(|review| review["complete"] == true)
            .expect("one of twenty reviews is complete")
    }
}

#[test]
fn the_page_and_its_files_come_with_a_policy() {
    let server = Server::start();
    for path in [
        "/",
        "/page.css",
        "/page.js",
        "/game.js",
        "/moves.js",
        "/text.js",
        "/api/about",
    ] {
        let (status, head, body) = server.get(path);
        assert_eq!(status, 200, "{path}");
        assert!(
            head.contains("content-security-policy: default-src 'none'; script-src 'self';"),
            "{head}"
        );
        assert!(
            !body.is_empty() && !body.contains("http://127") && !body.contains("https://"),
            "{path}"
        );
    }
    assert!(!server.get("/").2.contains("<script>"));
    // Every module that a page or another module names is there.
    for path in [
        "/",
        "/page.js",
        "/analysis.js",
        "/board.js",
        "/graph.js",
        "/moves.js",
    ] {
        let body = server.get(path).2;
        for name in body
            .split('"')
            .filter(|text| text.starts_with('/') && text.ends_with(".js"))
        {
            assert_eq!(server.get(name).0, 200, "{path} names {name}");
        }
    }
}

#[test]
fn the_page_gets_its_levels_from_the_server() {
    let server = Server::start();
    let about: Value = serde_json::from_str(&server.get("/api/about").2).unwrap();
    assert_eq!(about["model"], json!("builtin:square-weights"));
    let levels = about["levels"].as_array().unwrap();
    let numbers: Vec<u64> = levels
        .iter()
        .map(|level| level["level"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.is_sorted_by(|one, next| one < next)
            && numbers.contains(&about["level"].as_u64().unwrap())
    );
    for level in levels {
        assert!(!level["name"].as_str().unwrap().is_empty(), "{level}");
        let reply = server.ask(
            "/api/reply",
            &json!({"moves": "f5", "level": level["level"]}),
        );
        assert_eq!(reply["moves"].as_array().unwrap().len(), 2, "{level}");
    }
}

#[test]
fn the_report_is_what_the_run_left_in_the_registry() {
    let registry = tempfile::tempdir().unwrap();
    let server = Server::beside(registry.path());
    assert!(server.get("/").2.contains("href=\"/report\""));
    let report = registry.path().join("report.html");
    let (status, _, body) = server.get("/report");
    assert_eq!(status, 404, "{body}");
    assert!(
        body.contains(&format!(
            "{} is missing; renma run writes it",
            report.display()
        )),
        "{body}"
    );
    let content = "<svg></svg>";
    std::fs::write(&report, content).unwrap();
    let (status, head, body) = server.get("/report");
    assert_eq!((status, body.as_str()), (200, content));
    assert!(
        head.contains("content-security-policy: default-src 'none';") && head.contains("nosniff"),
        "{head}"
    );
    // It has pictures and a style of its own, and no scripts.
    assert!(
        head.contains("style-src 'unsafe-inline'") && !head.contains("script-src"),
        "{head}"
    );
    // More than a report ever has, in a file that takes no room.
    std::fs::File::create(&report)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert_eq!(server.get("/report").0, 500);
    for target in ["run.json", "/etc/passwd", "report.html"] {
        std::fs::remove_file(&report).unwrap();
        std::os::unix::fs::symlink(target, &report).unwrap();
        let (status, _, body) = server.get("/report");
        assert!(
            status == 500 && body.contains("report.html: it is a symbolic link"),
            "{target}: {status} {body}"
        );
    }
    std::fs::remove_file(&report).unwrap();
    std::fs::create_dir(registry.path().join("report.html")).unwrap();
    assert_eq!(server.get("/report").0, 500);
}

#[test]
fn what_is_no_request_of_the_page_is_refused_and_the_server_stays_up() {
    let server = Server::start();
    for path in [
        "/x",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/assets/page.html",
        "/page.js/",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
    }
    for (body, expected) in [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        (r#"{"moves":"f5f5"}"#, 400),
        (r#"{"moves":"<script>"}"#, 400),
        (r#"{"start":"XXO"}"#, 400),
        (r#"{"level":0}"#, 400),
        (r#"{"level":999}"#, 400),
        (r#"{"other":1}"#, 400),
        (&format!(r#"{{"moves":"{}"}}"#, "f5".repeat(10_000)), 413),
        (r#"{"moves":"f5"}"#, 200),
        (&format!(r#"{{"moves":"f5"{}}}"#, " ".repeat(16_000)), 200),
    ] {
        assert_eq!(server.post("/api/game", body).0, expected, "{body:.80}");
    }
    assert_eq!(server.post("/api/x", "{}").0, 404);
    let (port, own) = (server.port, format!("localhost:{}", server.port));
    let json = "Content-Type: application/json\r\nContent-Length: 2";
    for (request, expected) in [
        (
            format!("GET / HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"),
            403,
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 403),
        (
            format!("GET / HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\n\r\n"),
            403,
        ),
        (
            format!("POST /api/game HTTP/1.1\r\nHost: {own}\r\n{json}\r\n\r\n{{}}"),
            403,
        ),
        (
            format!("POST /api/game HTTP/1.1\r\nHost: {own}\r\nOrigin: null\r\n{json}\r\n\r\n{{}}"),
            403,
        ),
        (
            format!("DELETE / HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n\r\n"),
            405,
        ),
        ("hello\r\n\r\n".to_owned(), 400),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: {own}\r\nX: {}\r\n\r\n",
                "x".repeat(100_000)
            ),
            431,
        ),
    ] {
        assert_eq!(server.send(request.as_bytes()).0, expected, "{request:.80}");
    }
    assert_eq!(server.get("/").0, 200);
}

#[test]
fn who_sends_a_request_slowly_makes_way_for_others() {
    let server = Server::start();
    let request = server.request("/api/game", "{}");
    let (begin, end) = request.split_at(request.len() - 1);
    let mut slow: Vec<Option<TcpStream>> = (0..40)
        .map(|_| Some(server.begin(begin.as_bytes())))
        .collect();
    let mut finish = |place: usize| Server::finish(slow[place].take().unwrap(), end.as_bytes()).0;
    assert_eq!(server.get("/").0, 200);
    // The page did not wait until the others had used up their time: only the oldest of them were
    // dropped.
    assert_eq!([31, 39, 0, 8].map(&mut finish), [200, 200, 0, 0]);
    // Who waits for a search is not slow.
    let game = json!({"moves": "f5d6c3d3c4", "level": 12}).to_string();
    let searching = server.begin(server.request("/api/analysis", &game).as_bytes());
    let begun: Vec<TcpStream> = (0..80).map(|_| server.begin(begin.as_bytes())).collect();
    assert_eq!(Server::finish(searching, b"").0, 200);
    drop(begun);
}

#[test]
fn the_page_gets_the_levels_by_number_and_name() {
    let (status, _, body) = Server::start().get("/api/about");
    let about: Value = serde_json::from_str(&body).unwrap();
    let expected: Value = LEVELS
        .iter()
        .map(|level| json!({"level": level.number(), "name": level.name}))
        .collect();
    assert_eq!((status, &about["levels"]), (200, &expected));
    assert_eq!(about["level"], json!(Level::DEFAULT.number()));
}

#[test]
fn a_game_is_played_to_its_end_by_the_rules() {
    let server = Server::start();
    let (mut game, mut moves) = (Game::default(), String::new());
    for ply in 0.. {
        let found = server.ask("/api/game", &json!({"moves": moves}));
        let (position, text) = (
            found["positions"].as_array().unwrap().last().unwrap(),
            &found["text"],
        );
        assert_eq!(text, &json!(moves));
        let to_move = game.to_move();
        let legal: Vec<String> = to_move
            .position
            .children()
            .map(|(square, _)| square.to_string())
            .collect();
        assert_eq!(position["legal"], json!(legal), "{moves}");
        assert_eq!(position["board"], json!(to_move.board_text()), "{moves}");
        if game.is_over() {
            break;
        }
        assert_eq!(position["to_move"], json!(to_move.side_text()), "{moves}");
        let request = json!({"moves": moves, "level": 2});
        let values = server.ask("/api/analysis", &request);
        // Values are those of the default level, however weak the player.
        let exact_empties = Level::DEFAULT.exact_empties;
        assert_eq!(
            values["exact"],
            json!(to_move.position.empties() <= exact_empties),
            "{moves}"
        );
        let mut valued: Vec<&str> = values["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value["square"].as_str().unwrap())
            .collect();
        let best = valued[0].to_owned();
        check_line(&game, values["line"].as_array().unwrap());
        valued.sort_unstable();
        let mut expected: Vec<&str> = legal.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(valued, expected, "{moves}");
        // The engine replies at every second ply.
        let chosen = if ply % 2 == 0 {
            best
        } else {
            server.ask("/api/reply", &request)["moves"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        game.play(chosen.parse().unwrap()).unwrap();
        moves += &chosen;
    }
    let review = server.review(&json!({"moves": moves, "level": 2}));
    let reviewed = review["moves"].as_array().unwrap();
    assert_eq!(reviewed.len(), moves.len() / 2);
    // It is the review of every other command, whatever the level.
    let (model, stop) = (
        LoadedModel::builtin(Builtin::SquareWeights).model,
        AtomicBool::new(false),
    );
    let mut session = GameSession::new(&model, REVIEW_LIMITS, &stop);
    session.set_game(game);
    assert_eq!(
        (&review["depth"], &review["exact_empties"]),
        (&json!(8), &json!(14))
    );
    for (found, expected) in reviewed.iter().zip(session.review().unwrap()) {
        let black_value = if expected.black {
            expected.best_score
        } else {
            -expected.best_score
        };
        assert_eq!(found["black_value"], json!(black_value.discs()), "{found}");
        assert_eq!(found["loss"], json!(expected.loss().discs()), "{found}");
        assert_eq!(found["best"], json!(expected.best.to_string()), "{found}");
    }
}

/// A line begins with a move of the side to move, and each of its moves is legal for the side that
/// it names.
fn check_line(game: &Game, line: &[Value]) {
    let mut game = game.clone();
    assert!(!line.is_empty());
    for step in line {
        assert_eq!(step["side"], json!(game.to_move().side_text()), "{line:?}");
        game.play(step["square"].as_str().unwrap().parse().unwrap())
            .unwrap();
    }
}

#[test]
fn a_line_names_the_side_of_each_move_across_passes() {
    // Black takes one white disc, white has to pass, and black takes the other.
    let (row, empty) = ("XO------", "-".repeat(8));
    let start = format!("{row}{empty}{empty}{row}{} X;", empty.repeat(4));
    let server = Server::start();
    let answer = server.ask("/api/analysis", &json!({"start": start, "level": 4}));
    let line = answer["line"].as_array().unwrap();
    let mut squares: Vec<_> = line
        .iter()
        .map(|step| step["square"].as_str().unwrap())
        .collect();
    squares.sort_unstable();
    assert_eq!(squares, ["c1", "c4"]);
    assert!(line.iter().all(|step| step["side"] == "X"), "{line:?}");
}

#[test]
fn a_transcript_has_numbers_passes_and_capitals_or_not() {
    let server = Server::start();
    let moves = "c4c3d3c5d6e3d2c2b3b4d1a3c6b5a5d7f3f2f4e2b6a7f5c1b1g5g4h4g3f6e7c7e1d8h6e6g6a4a2h3f1h5h2g2f7f8g7h7h8g8b7a8e8a6c8b8g1a1h1b2";
    let plain = server.ask("/api/game", &json!({"start": moves}));
    let positions = plain["positions"].as_array().unwrap();
    let squares = plain["moves"].as_array().unwrap();
    assert_eq!((positions.len(), squares.len()), (61, 60));
    let (mut every, mut pairs, mut passes) = (String::new(), String::new(), 0);
    for (index, square) in squares.iter().enumerate() {
        let square = square.as_str().unwrap();
        let passed = positions[index]["passed"] == true;
        // The same side again: the other one passed.
        assert_eq!(
            passed,
            0 < index && positions[index]["to_move"] == positions[index - 1]["to_move"],
            "{index}"
        );
        passes += usize::from(passed);
        every += &format!(
            "{}{}. {square} ",
            if passed { "Pass " } else { "" },
            index + 1
        );
        let is_black = positions[index]["to_move"] == "X";
        pairs += &if is_black {
            format!(" {}. {square}", index / 2 + 1)
        } else {
            format!(" {square}")
        };
    }
    assert!(0 < passes);
    for text in [every, pairs, moves.to_uppercase()] {
        assert_eq!(
            server.ask("/api/game", &json!({"start": text})),
            plain,
            "{text}"
        );
    }
}

#[test]
fn a_review_has_the_values_of_eval() {
    // Every third move is the first legal one, the others the last: passes, and mistakes of both
    // sides.
    let mut game = Game::default();
    while !game.is_over() {
        let moves: Vec<_> = game.to_move().position.children().collect();
        game.play(
            moves[if game.plies().len() % 3 == 0 {
                0
            } else {
                moves.len() - 1
            }]
            .0,
        )
        .unwrap();
    }
    let moves: String = game.moves().map(|square| square.to_string()).collect();
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.txt");
    std::fs::write(&games, format!("{moves}\n")).unwrap();
    let mut eval = Command::new(env!("CARGO_BIN_EXE_renma"));
    eval.args([
        "eval",
        "--review",
        "--json",
        "--model",
        "builtin:square-weights",
        "--progress",
        "none",
    ]);
    let output = eval.arg(&games).output().unwrap();
    let values: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = values["positions"][0]["played"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(index, played)| {
            let discs = |key: &str| played[key].as_f64().unwrap() / 1000.0;
            let sign = if played["side"] == "X" { 1.0 } else { -1.0 };
            json!({
                "index": index,
                "square": played["move"],
                "best": played["best_move"],
                "black_value": sign * discs("best_score"),
                "loss": discs("loss"),
                "exact": played["exact"],
                "turning_point": played["turning_point"],
            })
        });
    let review = Server::start().review(&json!({"moves": moves, "level": 3}));
    assert_eq!(review["moves"], expected.collect::<Value>());
    assert_eq!(
        review["moves"].as_array().unwrap().len(),
        game.moves().count()
    );
}

#[test]
fn a_position_that_was_set_up_is_told_and_a_forced_pass_is_played() {
    let server = Server::start();
    let usual = server.ask("/api/game", &json!({"moves": "f5"}));
    assert_eq!(
        (&usual["start"], &usual["positions"][1]["passed"]),
        (&json!(""), &json!(false))
    );
    // Black cannot move, so white does: c1 takes b1.
    let start = format!("OX{} X;", "-".repeat(62));
    let game = server.ask("/api/game", &json!({"start": start}));
    let position = json!({"board": start[..64], "to_move": "O", "legal": ["c1"], "passed": true});
    assert_eq!(
        (&game["start"], &game["positions"]),
        (&json!(start), &json!([position]))
    );
    for moves in ["c1", "pass c1", "PAC1"] {
        let game = server.ask("/api/game", &json!({"start": start, "moves": moves}));
        let board = format!("OOO{}", "-".repeat(61));
        let last = json!({"board": board, "to_move": "X", "legal": [], "passed": false});
        assert_eq!(
            (&game["positions"][1], &game["moves"]),
            (&last, &json!(["c1"])),
            "{moves}"
        );
        // The text of the game brings it back.
        assert_eq!(
            server.ask("/api/game", &json!({"start": game["text"]})),
            game,
            "{moves}"
        );
    }
}
