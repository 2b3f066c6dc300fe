//! The long proofs, run by `.ci/full`: thousands of damaged files, dozens of kills, thousands of
//! games.
#![allow(clippy::print_stdout, reason = "a long test says how far it is")]

use crate::support::workspace::{
    self, Outcome, Workspace, all_paths, check_same, copy_folder, files,
};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use renma::artifact::publish::publish_bytes;
use renma::pipeline::request::Request;
use renma::pipeline::stage::Stage;
use renma::random::{RandomStream, Stream, stream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Address space that a command on damaged input may have, in KiB.
const MEMORY_KIB: u32 = 1 << 20;

fn random(id: u64) -> RandomStream {
    stream(11, Stream::Game(1, id))
}

/// Runs the program with bounded memory.
fn run_bounded(workspace: &Workspace, arguments: &str) -> Outcome {
    let line = format!(
        "ulimit -v {MEMORY_KIB}; exec {} {arguments} --threads 1",
        env!("CARGO_BIN_EXE_renma")
    );
    Command::new("sh")
        .args(["-c", &line])
        .current_dir(workspace.root())
        .output()
        .unwrap()
        .into()
}

fn spoil(path: &Path, rng: &mut RandomStream, truncate: bool) -> String {
    let mut bytes = std::fs::read(path).unwrap();
    if truncate {
        let length = rng.below(bytes.len() as u32) as usize;
        bytes.truncate(length);
        publish_bytes(path, &bytes).unwrap();
        return format!("{} cut to {length} bytes", path.display());
    }
    let bit = rng.below(bytes.len() as u32 * 8) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
    publish_bytes(path, &bytes).unwrap();
    format!("bit {bit} of {} flipped", path.display())
}

#[test]
#[ignore = "a minute: 2,500 damaged datasets, each read by two commands"]
fn verify_and_train_notice_every_flipped_bit_and_every_truncation() {
    let source = Workspace::new();
    let config = source.config(
        "damage",
        "smoke",
        &[
            ("generate.games", "60"),
            ("generate.part_games", "20"),
            ("generate.play_depth", "1"),
            ("train.epochs", "1"),
        ],
    );
    source.done(&format!("generate --config {config} --output data"));
    let names: Vec<String> = files(&source.path("data")).into_keys().collect();
    assert_eq!(names.len(), 7, "three parts in two tables, and a manifest");
    for arguments in [
        "dataset verify data",
        &format!("train --config {config} --dataset data --models sound"),
    ] {
        let outcome = run_bounded(&source, arguments);
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
    }
    (0..10_u64).into_par_iter().for_each(|worker| {
        let workspace = Workspace::new();
        copy_folder(source.root(), workspace.root());
        let mut rng = random(worker);
        for turn in 0..250 {
            let name = rng.pick(names.iter()).unwrap();
            let path = workspace.path("data").join(name);
            let sound = std::fs::read(&path).unwrap();
            let what = spoil(&path, &mut rng, turn % 5 == 0);
            for arguments in [
                "dataset verify data",
                &format!("train --config {config} --dataset data --models registry"),
            ] {
                let outcome = run_bounded(&workspace, arguments);
                assert_eq!(
                    outcome.code,
                    Some(65),
                    "{arguments}: {what}: {}",
                    outcome.stderr
                );
                let file = name.rsplit('/').next().unwrap();
                assert!(
                    outcome.stderr.contains(file),
                    "{arguments}: {what}: {}",
                    outcome.stderr
                );
                assert!(
                    !outcome.stderr.contains("panicked"),
                    "{arguments}: {what}: {}",
                    outcome.stderr
                );
            }
            publish_bytes(&path, &sound).unwrap();
        }
        assert!(
            !workspace.path("registry/v0001").exists(),
            "a damaged dataset was learnt from"
        );
    });
}

#[test]
#[ignore = "half a minute: a run killed at 30 random instants"]
fn thirty_kills_leave_the_bytes_of_an_undisturbed_run() {
    let workspace = Workspace::new();
    let slow = [
        ("generate.games", "1500"),
        ("generate.part_games", "5"),
        ("generate.play_depth", "4"),
        ("generate.label_depth", "4"),
        ("generate.exact_empties", "12"),
    ];
    let config = workspace.config("slow", "smoke", &slow);
    let mut rng = random(0);
    for kill in 0..30_usize {
        let parts = || {
            let paths = all_paths(&workspace.path("killed"));
            paths
                .iter()
                .filter(|path| {
                    path.extension()
                        .is_some_and(|extension| extension == "parquet")
                })
                .count()
        };
        let before = parts();
        let mut child = workspace.start(&format!(
            "generate --config {config} --output killed --threads 2"
        ));
        // Two of three kills come after some work, however slow the machine is, and all at any
        // moment of a write.
        while parts() < before + kill % 3 {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it ended before kill {kill}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(u64::from(rng.below(40_000))));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            !workspace.path("killed/manifest.json").exists(),
            "it ended before kill {kill}"
        );
    }
    println!(
        "{} files after 30 kills",
        files(&workspace.path("killed")).len()
    );
    assert!(
        20 < files(&workspace.path("killed")).len(),
        "the kills came before any work was done"
    );
    workspace.done(&format!("generate --config {config} --output killed"));
    workspace.done(&format!(
        "generate --config {config} --output whole --threads 1"
    ));
    check_same(
        &workspace.path("killed"),
        &workspace.path("whole"),
        "killed and undisturbed",
    );
}

/// Runs a command of the program to its end; gives the most memory that it held, in KiB.
fn peak_memory(workspace: &Workspace, words: &[&str]) -> u64 {
    let mut child = workspace
        .command(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // The file loses its last lines when the process ends.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(found.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success(), "{words:?}");
    peak
}

/// The command that asks for the same.
fn command_of(request: &Request) -> Vec<String> {
    let mut words = vec![request.stage.name().to_owned()];
    let mut option = |name: &str, values: &[String]| {
        words.push(format!("--{name}"));
        words.extend_from_slice(values);
    };
    option("config", &["configs/run.toml".to_owned()]);
    for (role, model) in &request.models {
        option(&role.to_string(), &[model.name.to_string()]);
    }
    if !request.datasets.is_empty() {
        let folders: Vec<String> = request
            .datasets
            .iter()
            .map(|dataset| dataset.folder.display().to_string())
            .collect();
        let name = match request.stage {
            Stage::Train => "dataset",
            _ => "avoid",
        };
        option(name, &folders);
    }
    if let Some(output) = &request.output {
        option("output", &[output.display().to_string()]);
        option("generation", &[request.generation.to_string()]);
    }
    words
}

#[test]
#[ignore = "a minute: five generations, and the last once more, stage by stage"]
fn a_run_takes_little_more_memory_than_its_largest_stage() {
    let workspace = Workspace::new();
    workspace.write("configs/run.toml", workspace::shipped("smoke.toml"));
    let run = ["run", "--config", "configs/run.toml", "--generations"];
    assert_eq!(
        workspace
            .command(&[&run[..], &["4"]].concat())
            .output()
            .unwrap()
            .status
            .code(),
        Some(0)
    );
    let plan = workspace
        .command(&[&run[..], &["5", "--dry-run", "-v"]].concat())
        .output()
        .unwrap();
    let plan = String::from_utf8(plan.stderr).unwrap();
    let whole = Workspace::new();
    whole.write("configs/run.toml", workspace::shipped("smoke.toml"));
    // The forecast plays games with the model that ships.
    let of_forecast = peak_memory(&whole, &[&run[..], &["5", "--dry-run"]].concat());
    let of_stages: Vec<u64> = plan
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| command_of(&serde_json::from_str(line).unwrap()))
        .map(|words| {
            peak_memory(
                &workspace,
                &words.iter().map(String::as_str).collect::<Vec<_>>(),
            )
        })
        .collect();
    let of_run = peak_memory(&whole, &[&run[..], &["5"]].concat());
    println!("{of_forecast} KiB by the forecast, {of_stages:?} by stages, {of_run} by the run");
    let largest = of_forecast.max(*of_stages.iter().max().unwrap());
    assert_eq!(of_stages.len(), 4, "{plan}");
    assert!(
        of_run as f64 <= 1.1 * largest as f64,
        "{of_run} KiB, {of_forecast} and {of_stages:?} alone"
    );
}
