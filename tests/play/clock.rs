//! The time that moves and games take, measured from outside. Whoever overruns while other programs
//! use the machine may have waited for a processor: that is measured again, and in the end not
//! judged.
#![allow(clippy::print_stdout, reason = "the slow tests are measurements")]

use std::fs::read_to_string;
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
        command.current_dir(env!("CARGO_TARGET_TMPDIR")).args([
            "gtp",
            "--model",
            "builtin:champion",
        ]);
        command
            .args(arguments.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Self {
            child,
            input,
            output,
        }
    }

    /// The answer to a command, which must be one of success.
    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut answer = String::new();
        while !answer.ends_with("\n\n") {
            assert_ne!(
                self.output.read_line(&mut answer).unwrap(),
                0,
                "no answer to {command}"
            );
        }
        answer
            .trim()
            .strip_prefix('=')
            .unwrap_or_else(|| panic!("{command}: {answer}"))
            .trim()
            .to_owned()
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

/// How often something is measured on a busy machine.
const TRIES: usize = 4;

/// The share of the processors that other programs may use while something is measured.
const OTHERS_MAX: f64 = 0.05;

/// Hundredths of a second, in which Linux counts the time of processors.
const TICKS_PER_SECOND: f64 = 100.0;

/// The time that all processors have worked, and that this test and some players have, in ticks.
fn ticks(players: &[Player]) -> [f64; 2] {
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let all = numbers(
        read_to_string("/proc/stat")
            .unwrap()
            .lines()
            .next()
            .unwrap(),
    );
    // user, nice and system; then, after idle and waiting, interrupts and what the host took away.
    let worked = all[..3].iter().sum::<f64>() + all[5..8].iter().sum::<f64>();
    let own = |process: u32| {
        let text = read_to_string(format!("/proc/{process}/stat")).unwrap();
        // user and system, counted from behind the name.
        numbers(text.rsplit_once(')').unwrap().1)[10..12]
            .iter()
            .sum::<f64>()
    };
    let processes = players
        .iter()
        .map(|player| player.child.id())
        .chain([std::process::id()]);
    [worked, processes.map(own).sum()]
}

/// Measures until the time is kept or the machine was calm; `None` if other programs were in the
/// way each time.
fn judged(
    players: &mut [Player],
    time: Duration,
    mut measure: impl FnMut(&mut [Player]) -> Duration,
) -> Option<Duration> {
    let processors = std::thread::available_parallelism().unwrap().get() as f64;
    for _ in 0..TRIES {
        let (begun, [all, own]) = (Instant::now(), ticks(players));
        let used = measure(players);
        let [all_after, own_after] = ticks(players);
        let others = (all_after - all) - (own_after - own);
        let share = others / (begun.elapsed().as_secs_f64() * TICKS_PER_SECOND * processors);
        if used <= time + allowed(time) || share <= OTHERS_MAX {
            return Some(used);
        }
        println!(
            "{used:?} of {time:?} used beside programs that took {:.0} % of the machine",
            100.0 * share
        );
    }
    None
}

/// Plays a game on clocks of `time`; what each side used, black first.
fn play_game(players: &mut [Player], opening: &[&str], time: Duration) -> [Duration; 2] {
    let seconds = time.as_secs_f64();
    for player in players.iter_mut() {
        player.ask("clear_board");
        player.ask(&format!("time_settings {seconds} 0 0"));
    }
    let colors = ["b", "w"];
    for (ply, square) in opening.iter().enumerate() {
        players
            .iter_mut()
            .for_each(|player| drop(player.ask(&format!("play {} {square}", colors[ply % 2]))));
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

/// A few games, or all with RENMA_CLOCKS=all.
fn games(few: usize, all: usize) -> usize {
    if std::env::var("RENMA_CLOCKS").is_ok_and(|asked| asked == "all") {
        all
    } else {
        few
    }
}

/// Plays games and prints the longest time that a side used.
fn measure(games: usize, time: Duration, threads: usize) {
    let mut players =
        [(); 2].map(|()| Player::start(&format!("--threads {threads} --mpc-level 87")));
    let play = |game: usize| {
        judged(&mut players, time, |players| {
            let used = play_game(players, &OPENINGS[game % OPENINGS.len()], time);
            used[0].max(used[1])
        })
    };
    let used: Vec<Duration> = (0..games).filter_map(play).collect();
    let worst = used.iter().max().copied().unwrap_or_default();
    println!(
        "{} of {games} games, {time:?} a side, {threads} threads: most used {worst:?}",
        used.len()
    );
    assert!(worst <= time + allowed(time), "{worst:?}");
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
    measure(games(10, 40), Duration::from_secs(5), 4);
}

#[test]
#[ignore = "slow"]
fn clocks_of_30_seconds_are_kept() {
    measure(games(3, 8), Duration::from_secs(30), 4);
}

#[test]
#[ignore = "slow"]
fn seconds_per_move_are_kept() {
    for seconds in [0.05, 0.2, 1.0] {
        let time = Duration::from_secs_f64(seconds);
        for threads in [1, 4] {
            let mut players = [Player::start(&format!(
                "--threads {threads} --mpc-level 87 --seconds {seconds}"
            ))];
            // It answers once the model is loaded.
            players[0].ask("name");
            let mut worst = Duration::ZERO;
            for ply in 0..40 {
                let used = judged(&mut players, time, |players| {
                    let begun = Instant::now();
                    players[0].ask(["genmove b", "genmove w"][ply % 2]);
                    begun.elapsed()
                });
                worst = worst.max(used.unwrap_or_default());
            }
            println!("{seconds} s a move, {threads} threads: most used {worst:?}");
            assert!(worst <= time + allowed(time), "{worst:?}");
        }
    }
}

/// A whole game in no time at all: every move is legal, and none is waited for. Not a measurement:
/// the machine may be busy.
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
