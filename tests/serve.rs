//! The page's server over real sockets: what it answers, and what it refuses.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use renma::artifact::{Builtin, LoadedModel};
use renma::engine::Game;
use renma::play::session::Session;
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
            .args(["serve", "--port", "0", "--json", "--quiet", "--model", "builtin:square-weights", "--models"])
            .arg(registry)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address: Value = serde_json::from_str(&line).unwrap();
        let port = address["address"].as_str().unwrap().trim_end_matches('/').rsplit_once(':').unwrap().1;
        Self { process, port: port.parse().unwrap() }
    }

    /// Sends bytes and returns the status of the answer, its head and its body; status 0 is none.
    fn send(&self, bytes: &[u8]) -> (u16, String, String) {
        Self::finish(self.begin(b""), bytes)
    }

    /// A connection on which the beginning of a request was sent.
    fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
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
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String, String) {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", self.port).as_bytes())
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
}

#[test]
fn the_page_and_its_files_come_with_a_policy() {
    let server = Server::start();
    for path in ["/", "/page.css", "/page.js", "/board.js", "/graph.js", "/run", "/run.js", "/api/about"] {
        let (status, head, body) = server.get(path);
        assert_eq!(status, 200, "{path}");
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self';"), "{head}");
        assert!(!body.is_empty() && !body.contains("http://127") && !body.contains("https://"), "{path}");
    }
    assert!(!server.get("/").2.contains("<script>") && !server.get("/run").2.contains("<script>"));
}

#[test]
fn a_run_is_what_its_pipeline_left_in_the_registry() {
    let registry = tempfile::tempdir().unwrap();
    let server = Server::beside(registry.path());
    for (address, name, content) in
        [("/api/run", "run.json", r#"{"run":"<script>"}"#), ("/report", "report.html", "<svg></svg>")]
    {
        let path = registry.path().join(name);
        let (status, _, body) = server.get(address);
        assert_eq!(status, 404, "{body}");
        assert!(body.contains(&format!("{} is missing; renma run writes it", path.display())), "{body}");
        std::fs::write(&path, content).unwrap();
        let (status, head, body) = server.get(address);
        assert_eq!((status, body.as_str()), (200, content));
        assert!(head.contains("content-security-policy: default-src 'none';") && head.contains("nosniff"), "{head}");
    }
    // A report has pictures and a style of its own, and no scripts.
    let head = server.get("/report").1;
    assert!(head.contains("style-src 'unsafe-inline'") && !head.contains("script-src"), "{head}");
    assert!(server.get("/api/run").1.contains("content-type: application/json"));
    for damage in ["{", "{\"run\":\"\u{fffd}", ""] {
        std::fs::write(registry.path().join("run.json"), damage).unwrap();
        let (status, _, body) = server.get("/api/run");
        assert_eq!(status, 500, "{damage:?}");
        assert!(body.contains("run.json is damaged; renma run writes it again"), "{body}");
    }
    // More than a record ever has, in a file that takes no room.
    std::fs::File::create(registry.path().join("run.json")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(server.get("/api/run").0, 500);
    let report = registry.path().join("report.html");
    for target in ["run.json", "/etc/passwd", "report.html"] {
        std::fs::remove_file(&report).unwrap();
        std::os::unix::fs::symlink(target, &report).unwrap();
        let (status, _, body) = server.get("/report");
        assert!(status == 500 && body.contains("report.html: it is a symbolic link"), "{target}: {status} {body}");
    }
    std::fs::remove_file(&report).unwrap();
    std::fs::create_dir(registry.path().join("report.html")).unwrap();
    assert_eq!(server.get("/report").0, 500);
    assert_eq!(server.get("/run").0, 200);
}

#[test]
fn what_is_no_request_of_the_page_is_refused_and_the_server_stays_up() {
    let server = Server::start();
    for path in ["/x", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/assets/page.html", "/page.js/"] {
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
        assert_eq!(server.post("/api/position", body).0, expected, "{body:.80}");
    }
    assert_eq!(server.post("/api/x", "{}").0, 404);
    let (port, own) = (server.port, format!("localhost:{}", server.port));
    let json = "Content-Type: application/json\r\nContent-Length: 2";
    for (request, expected) in [
        (format!("GET / HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"), 403),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 403),
        (format!("GET / HTTP/1.1\r\nHost: {own}\r\nOrigin: http://evil.example\r\n\r\n"), 403),
        (format!("POST /api/position HTTP/1.1\r\nHost: {own}\r\n{json}\r\n\r\n{{}}"), 403),
        (format!("POST /api/position HTTP/1.1\r\nHost: {own}\r\nOrigin: null\r\n{json}\r\n\r\n{{}}"), 403),
        (format!("DELETE / HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n\r\n"), 405),
        ("hello\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nHost: {own}\r\nX: {}\r\n\r\n", "x".repeat(100_000)), 431),
    ] {
        assert_eq!(server.send(request.as_bytes()).0, expected, "{request:.80}");
    }
    assert_eq!(server.get("/").0, 200);
}

#[test]
fn who_sends_a_request_slowly_makes_way_for_others() {
    let server = Server::start();
    let request = server.request("/api/position", "{}");
    let (begin, end) = request.split_at(request.len() - 1);
    let mut slow: Vec<Option<TcpStream>> = (0..40).map(|_| Some(server.begin(begin.as_bytes()))).collect();
    let mut finish = |place: usize| Server::finish(slow[place].take().unwrap(), end.as_bytes()).0;
    assert_eq!(server.get("/").0, 200);
    // The page did not wait until the others had used up their time: only the oldest of them were dropped.
    assert_eq!([31, 39, 0, 8].map(&mut finish), [200, 200, 0, 0]);
    // Who waits for a search is not slow.
    let game = json!({"moves": "f5d6c3d3c4", "level": 12}).to_string();
    let searching = server.begin(server.request("/api/analysis", &game).as_bytes());
    let begun: Vec<TcpStream> = (0..80).map(|_| server.begin(begin.as_bytes())).collect();
    assert_eq!(Server::finish(searching, b"").0, 200);
    drop(begun);
}

#[test]
fn a_game_is_played_to_its_end_by_the_rules() {
    let server = Server::start();
    let (mut game, mut moves) = (Game::default(), String::new());
    for ply in 0.. {
        let position = server.ask("/api/position", &json!({"moves": moves}));
        let to_move = game.to_move();
        let legal: Vec<String> = to_move.position.children().map(|(square, _)| square.to_string()).collect();
        assert_eq!(position["legal"], json!(legal), "{moves}");
        assert_eq!(position["board"], json!(to_move.board_text()), "{moves}");
        assert_eq!(position["over"], json!(game.is_over()), "{moves}");
        if game.is_over() {
            let difference = position["black"].as_i64().unwrap() - position["white"].as_i64().unwrap();
            assert_eq!((difference, position["legal"].as_array().unwrap().len()), (i64::from(to_move.discs()), 0));
            break;
        }
        assert_eq!(position["to_move"], json!(to_move.side_text()), "{moves}");
        let request = json!({"moves": moves, "level": 2});
        let values = server.ask("/api/analysis", &request);
        // Level 2 solves from 4 empty squares on.
        assert_eq!(values["exact"], json!(to_move.position.empties() <= 4), "{moves}");
        let mut valued: Vec<&str> =
            values["values"].as_array().unwrap().iter().map(|value| value["square"].as_str().unwrap()).collect();
        let best = valued[0].to_owned();
        valued.sort_unstable();
        let mut expected: Vec<&str> = legal.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(valued, expected, "{moves}");
        // The engine replies at every second ply.
        let chosen = if ply % 2 == 0 {
            best
        } else {
            server.ask("/api/reply", &request)["moves"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned()
        };
        game.play(chosen.parse().unwrap()).unwrap();
        moves += &chosen;
    }
    let review = server.ask("/api/review", &json!({"moves": moves, "level": 2}));
    let reviewed = review["moves"].as_array().unwrap();
    assert_eq!((reviewed.len(), &review["complete"]), (moves.len() / 2, &json!(true)));
    // It is the review of every other command, whatever the level.
    let (model, stop) = (LoadedModel::builtin(Builtin::SquareWeights).model, AtomicBool::new(false));
    let mut session = Session::new(&model, REVIEW_LIMITS, &stop);
    session.set_game(game);
    assert_eq!((&review["depth"], &review["exact_empties"]), (&json!(8), &json!(14)));
    for (found, expected) in reviewed.iter().zip(session.review().unwrap()) {
        let black_value = if expected.black { expected.best_score } else { -expected.best_score };
        assert_eq!(found["black_value"], json!(black_value.discs()), "{found}");
        assert_eq!(found["loss"], json!(expected.loss().discs()), "{found}");
        assert_eq!(found["best"], json!(expected.best.to_string()), "{found}");
    }
}

#[test]
fn a_review_has_the_values_of_eval() {
    // Every third move is the first legal one, the others the last: passes, and mistakes of both sides.
    let mut game = Game::default();
    while !game.is_over() {
        let moves: Vec<_> = game.to_move().position.children().collect();
        game.play(moves[if game.plies().len() % 3 == 0 { 0 } else { moves.len() - 1 }].0).unwrap();
    }
    let moves: String = game.moves().map(|square| square.to_string()).collect();
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.txt");
    std::fs::write(&games, format!("{moves}\n")).unwrap();
    let mut eval = Command::new(env!("CARGO_BIN_EXE_renma"));
    eval.args(["eval", "--review", "--json", "--model", "builtin:square-weights", "--progress", "none"]);
    let output = eval.arg(&games).output().unwrap();
    let values: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = values["positions"][0]["played"].as_array().unwrap().iter().enumerate().map(|(index, played)| {
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
    let review = Server::start().ask("/api/review", &json!({"moves": moves, "level": 3}));
    assert_eq!(review["moves"], expected.collect::<Value>());
    assert_eq!((review["moves"].as_array().unwrap().len(), &review["complete"]), (game.moves().count(), &json!(true)));
}

#[test]
fn a_position_that_was_set_up_is_told_and_a_forced_pass_is_played() {
    let server = Server::start();
    let usual = server.ask("/api/position", &json!({"moves": "f5"}));
    assert_eq!((&usual["start"], &usual["passed"]), (&json!(""), &json!(false)));
    // Black cannot move, so white does: c1 takes b1.
    let start = format!("OX{} X;", "-".repeat(62));
    let position = server.ask("/api/position", &json!({"start": start}));
    assert_eq!((&position["start"], &position["passed"]), (&json!(start), &json!(true)));
    assert_eq!((&position["to_move"], &position["legal"]), (&json!("O"), &json!(["c1"])));
    let position = server.ask("/api/position", &json!({"start": start, "moves": "c1"}));
    assert_eq!((&position["over"], &position["white"], &position["black"]), (&json!(true), &json!(3), &json!(0)));
}

/// What a position's discs differ by, black's less white's.
trait BlackDiscs {
    fn discs(self) -> i32;
}

impl BlackDiscs for renma::engine::board::notation::ColoredPosition {
    fn discs(self) -> i32 {
        let (black, white) = self.boards();
        black.0.count_ones().cast_signed() - white.0.count_ones().cast_signed()
    }
}
