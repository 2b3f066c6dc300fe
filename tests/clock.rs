//! The time that moves and games take, measured from outside.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "the slow tests are measurements")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A player that speaks GTP.
struct Player {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Player {
    fn start(arguments: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
        command.current_dir(env!("CARGO_TARGET_TMPDIR")).args(["gtp", "--model", "builtin:champion"]);
        command.args(arguments.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// The answer to a command, which must be one of success.
    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut answer = String::new();
        while !answer.ends_with("\n\n") {
            assert_ne!(self.output.read_line(&mut answer).unwrap(), 0, "no answer to {command}");
        }
        answer.trim().strip_prefix('=').unwrap_or_else(|| panic!("{command}: {answer}")).trim().to_owned()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// What the contract allows: 5 % or 20 ms, whichever is more.
fn allowed(time: Duration) -> Duration {
    (time / 20).max(Duration::from_millis(20))
}

/// Plays a game on clocks of `time`; what each side used, black first.
fn play_game(players: &mut [Player; 2], opening: &[&str], time: Duration) -> [Duration; 2] {
    let seconds = time.as_secs_f64();
    for player in players.iter_mut() {
        player.ask("clear_board");
        player.ask(&format!("time_settings {seconds} 0 0"));
    }
    let colors = ["b", "w"];
    for (ply, square) in opening.iter().enumerate() {
        players.iter_mut().for_each(|player| drop(player.ask(&format!("play {} {square}", colors[ply % 2]))));
    }
    let (mut used, mut passes, mut side) = ([Duration::ZERO; 2], 0, opening.len() % 2);
    while passes < 2 {
        let color = colors[side];
        let left = time.saturating_sub(used[side]).as_secs_f64();
        players[side].ask(&format!("time_left {color} {left:.4} 0"));
        let begun = Instant::now();
        let answer = players[side].ask(&format!("genmove {color}"));
        used[side] += begun.elapsed();
        players[1 - side].ask(&format!("play {color} {answer}"));
        passes = if answer == "PASS" { passes + 1 } else { 0 };
        side = 1 - side;
    }
    players[0].ask("final_score");
    used
}

const OPENINGS: [[&str; 4]; 5] = [
    ["f5", "d6", "c3", "d3"],
    ["f5", "d6", "c5", "f4"],
    ["f5", "f6", "e6", "f4"],
    ["f5", "d6", "c3", "g5"],
    ["f5", "f6", "e6", "d6"],
];

/// Plays games and prints the largest overrun.
fn measure(games: usize, time: Duration, threads: usize) {
    let mut players = [(); 2].map(|()| Player::start(&format!("--threads {threads} --mpc-level 87")));
    let mut worst = [0.0_f64; 2];
    for game in 0..games {
        for used in play_game(&mut players, &OPENINGS[game % OPENINGS.len()], time) {
            let over = used.as_secs_f64() - time.as_secs_f64();
            worst = [worst[0].max(used.as_secs_f64()), worst[1].max(over)];
        }
    }
    let verdict = if Duration::from_secs_f64(worst[1]) <= allowed(time) { "kept" } else { "overrun" };
    println!("{games} games, {time:?} a side, {threads} threads: most used {:.3} s, {verdict}", worst[0]);
    assert_eq!(verdict, "kept", "{:.3} s over", worst[1]);
}

#[test]
#[ignore = "slow"]
fn clocks_of_1_second_are_kept() {
    measure(40, Duration::from_secs(1), 1);
    measure(40, Duration::from_secs(1), 4);
}

#[test]
#[ignore = "slow"]
fn clocks_of_5_seconds_are_kept() {
    measure(40, Duration::from_secs(5), 4);
}

#[test]
#[ignore = "slow"]
fn clocks_of_30_seconds_are_kept() {
    measure(40, Duration::from_secs(30), 4);
}

#[test]
#[ignore = "slow"]
fn seconds_per_move_are_kept() {
    for seconds in [0.05, 0.2, 1.0] {
        let time = Duration::from_secs_f64(seconds);
        for threads in [1, 4] {
            let mut player = Player::start(&format!("--threads {threads} --mpc-level 87 --seconds {seconds}"));
            // It answers once the model is loaded.
            player.ask("name");
            let mut worst = Duration::ZERO;
            for ply in 0..40 {
                let begun = Instant::now();
                player.ask(["genmove b", "genmove w"][ply % 2]);
                worst = worst.max(begun.elapsed());
            }
            println!("{seconds} s a move, {threads} threads: most used {:.3} s", worst.as_secs_f64());
            assert!(worst <= time + allowed(time), "{worst:?}");
        }
    }
}

/// A whole game in no time at all: every move is legal, and none is waited for. Not a measurement: the machine may be busy.
#[test]
fn a_game_without_any_time_is_played_to_its_end() {
    let mut players = [(); 2].map(|()| Player::start("--threads 2 --mpc-level 87"));
    for used in play_game(&mut players, &OPENINGS[0], Duration::ZERO) {
        assert!(used < Duration::from_secs(30), "{used:?}");
    }
}

#[test]
fn a_time_limit_is_a_limit_and_depth_another() {
    let begun = Instant::now();
    let mut player = Player::start("--seconds 0.05 --mpc-level 87");
    player.ask("genmove b");
    assert!(begun.elapsed() < Duration::from_secs(30));
    // One ply takes no second, whatever the clock allows.
    let mut player = Player::start("--seconds 3600 --depth 1 --exact-empties 0");
    player.ask("time_settings 36000 0 0");
    let begun = Instant::now();
    player.ask("genmove b");
    assert!(begun.elapsed() < Duration::from_secs(30));
}
