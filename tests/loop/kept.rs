//! What is finished is never lost: whatever is missing from a run, or was put into it by hand, the
//! same command changes nothing else, or ends and says what stands in its way.

use crate::support::workspace::{Workspace, check_pipeline as check, copy_folder, files, pipeline};
use renma::artifact::ChampionFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// A run of tiny generations with vectors, of which the first is closed.
fn tiny(workspace: &Workspace, changes: &[(&str, &str)]) -> String {
    workspace.write(
        "configs/features/vectors.toml",
        "name = \"vectors\"\nphase_empties_max = [60]\nvectors = 2\n\
         [[pattern]]\nname = \"line\"\nsquares = \"a1 b1 c1 d1\"\n\
         [[pattern]]\nname = \"parity\"\nkind = \"parity\"\n",
    );
    let tiny = [
        ("run.start", "\"builtin:disc-count\""),
        ("run.features", "\"features/vectors.toml\""),
        ("run.generations", "3"),
        ("run.window", "2"),
        ("run.seed", "11"),
        ("generate.games", "40"),
        ("generate.part_games", "10"),
        ("generate.play_depth", "1"),
        ("generate.label_depth", "1"),
        ("generate.exact_empties", "4"),
        ("train.epochs", "2"),
        ("fit_mpc.games", "4"),
        ("fit_mpc.part_games", "2"),
        ("fit_mpc.depth_max", "3"),
        ("gate.mode", "\"games\""),
        ("gate.games", "20"),
        ("gate.depth", "1"),
        ("gate.exact_empties", "2"),
    ];
    workspace.config("run", "smoke", &[&tiny, changes].concat())
}

static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    let config = tiny(&run, &[]);
    check(&run, &format!("--config {config}"), 0, &["is champion"]);
    run
});

/// A copy of the finished run.
fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// Every file of the run that is data.
fn data(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in ["datasets", "models"] {
        let found = files(&workspace.path(folder)).into_iter();
        all.extend(found.map(|(name, bytes)| (format!("{folder}/{name}"), bytes)));
    }
    all
}

fn remove(path: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else {
        std::fs::remove_file(path).unwrap();
    }
}

/// The files that differ from those of before, or are gone; new ones do not count.
fn lost(before: &BTreeMap<String, Vec<u8>>, now: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    before
        .iter()
        .filter(|(name, bytes)| now.get(*name) != Some(bytes))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Runs the changed run, which has to end with 2 and these words and to change nothing that there
/// is.
fn check_refused(workspace: &Workspace, options: &str, words: &[&str]) {
    let before = data(workspace);
    for dry in [" --dry-run", ""] {
        check(workspace, &format!("{options}{dry}"), 2, words);
        let now = data(workspace);
        let lost = lost(&before, &now);
        assert!(lost.is_empty(), "pipeline.sh {options}{dry} lost {lost:?}");
        let new: Vec<&String> = now
            .keys()
            .filter(|name| !before.contains_key(*name))
            .collect();
        assert!(new.is_empty(), "pipeline.sh {options}{dry} wrote {new:?}");
    }
}

#[test]
fn versions_without_a_record_stop_the_run() {
    let workspace = copy_of_run();
    remove(&workspace.path("models/run/lineage.json"));
    let config = tiny(&workspace, &[]);
    let words = [
        "v0001 to v0006",
        "champion.json",
        "no lineage.json",
        "--restart 1",
    ];
    check_refused(&workspace, &format!("--config {config}"), &words);
    check(
        &workspace,
        &format!("--config {config} --restart 1"),
        0,
        &["restart: removing generations 1 to 3: 120 games"],
    );
}

#[test]
fn a_verdict_that_is_gone_does_not_unbind_the_record() {
    for last in ["1", "3"] {
        let workspace = Workspace::new();
        let config = tiny(&workspace, &[("run.generations", last)]);
        check(&workspace, &format!("--config {config}"), 0, &[]);
        let verdict = workspace.path("datasets/run/gate/generation=0001/verdict.json");
        let verdict: Value = serde_json::from_slice(&std::fs::read(verdict).unwrap()).unwrap();
        remove(&workspace.path("datasets/run/gate/generation=0001"));
        let before = data(&workspace);
        let changed = tiny(
            &workspace,
            &[("run.generations", last), ("train.epochs", "3")],
        );
        assert_eq!(
            verdict["verdict"], "accepted",
            "a first verdict that promotes says that its generation was finished"
        );
        check_refused(
            &workspace,
            &format!("--config {changed}"),
            &["train.epochs is 2 in the run and 3"],
        );
        let config = tiny(&workspace, &[("run.generations", last)]);
        check(&workspace, &format!("--config {config}"), 0, &[]);
        assert!(
            lost(&before, &data(&workspace)).is_empty(),
            "the gate was not made again alone"
        );
    }
}

#[test]
fn datasets_of_lost_models_are_kept_and_adopted() {
    let workspace = copy_of_run();
    let before = data(&workspace);
    remove(&workspace.path("models"));
    let other = tiny(&workspace, &[("run.start", "\"builtin:square-weights\"")]);
    check_refused(
        &workspace,
        &format!("--config {other}"),
        &[
            "datasets/run/selfplay/generation=0001",
            "was not made as its record asks",
            "--restart 1",
        ],
    );
    let config = tiny(&workspace, &[]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert_eq!(
        lost(&before, &data(&workspace)),
        Vec::<String>::new(),
        "the same config makes the same bytes"
    );
}

#[test]
fn a_dataset_made_by_hand_is_not_replaced() {
    let workspace = Workspace::new();
    let config = tiny(&workspace, &[]);
    let output = "datasets/run/selfplay/generation=0001";
    for change in ["generate.exploration=0.5", "generate.games=80"] {
        workspace.done(&format!(
            "generate --config {config} --set {change} --model builtin:disc-count --output {output}"
        ));
        check_refused(
            &workspace,
            &format!("--config {config}"),
            &[output, "move it away"],
        );
        remove(&workspace.path(output));
    }
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output {output}"
    ));
    let before = data(&workspace);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(
        lost(&before, &data(&workspace)).is_empty(),
        "work of the same recipe is adopted"
    );
}

#[test]
fn a_changed_config_says_what_the_generation_that_has_begun_loses() {
    let workspace = Workspace::new();
    let config = tiny(&workspace, &[]);
    let output = "datasets/run/selfplay/generation=0001";
    check(
        &workspace,
        &format!("--config {config} --budget 0s"),
        12,
        &[],
    );
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output {output}"
    ));
    let played = data(&workspace);
    // Other training keeps the games.
    let trained = tiny(
        &workspace,
        &[("train.epochs", "3"), ("run.generations", "1")],
    );
    check(
        &workspace,
        &format!("--config {trained} --budget 0s"),
        12,
        &[],
    );
    assert!(
        played
            .iter()
            .filter(|(name, _)| name.contains("selfplay"))
            .all(|(name, bytes)| data(&workspace).get(name) == Some(bytes))
    );
    let explored = tiny(
        &workspace,
        &[("generate.exploration", "0.5"), ("run.generations", "1")],
    );
    let plan = workspace.done(&format!("run --config {explored} --dry-run --json"));
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["loss"]["games"], 40, "{plan}");
    check(
        &workspace,
        &format!("--config {explored}"),
        0,
        &["removing generation 1: 40 games of self-play"],
    );
}

/// Every file and folder of the run, by path.
fn entries(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            entries(&path, found);
        }
        found.push(path);
    }
}

#[test]
#[ignore = "slow"]
fn whatever_is_removed_from_a_finished_run_nothing_else_changes() {
    for keep in ["0", "1"] {
        let run = Workspace::new();
        let changes = [("run.keep_generations", keep), ("run.generations", "3")];
        let config = tiny(&run, &changes);
        check(&run, &format!("--config {config}"), 0, &[]);
        let mut all = Vec::new();
        for folder in ["datasets/run", "models/run"] {
            entries(&run.path(folder), &mut all);
        }
        let names: Vec<_> = all
            .iter()
            .map(|path| path.strip_prefix(run.root()).unwrap().to_owned())
            .collect();
        assert!(60 < names.len(), "{names:?}");
        for name in names {
            let workspace = Workspace::new();
            copy_folder(run.root(), workspace.root());
            if !workspace.path(name.to_str().unwrap()).exists() {
                // A side file, such as a lock.
                continue;
            }
            remove(&workspace.path(name.to_str().unwrap()));
            let before = data(&workspace);
            let outcome = pipeline(&workspace, &format!("--config {config}"));
            let code = outcome.code;
            assert!(
                matches!(code, Some(0 | 2 | 65)),
                "without {}: {code:?}\n{}",
                name.display(),
                outcome.stderr
            );
            // A version made again has another number, and closed.json has the last one.
            let mut lost = lost(&before, &data(&workspace));
            lost.retain(|name| !name.ends_with("closed.json"));
            assert!(
                lost.is_empty(),
                "keep {keep}, without {}: {lost:?}\n{}",
                name.display(),
                outcome.stderr
            );
        }
    }
}

#[test]
fn the_record_and_the_report_follow_a_promotion_by_hand() {
    let workspace = Workspace::new();
    let config = tiny(&workspace, &[]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let record = || -> Value {
        serde_json::from_slice(&std::fs::read(workspace.path("models/run/run.json")).unwrap())
            .unwrap()
    };
    let report = || std::fs::read_to_string(workspace.path("models/run/report.html")).unwrap();
    let file = ChampionFile::read(&workspace.path("models/run")).unwrap();
    let champion = file.champion().map(|promotion| promotion.id.to_string());
    assert_eq!(record()["champion"].as_str(), champion.as_deref());
    let other = if champion.as_deref() == Some("v0002") {
        "v0004"
    } else {
        "v0002"
    };
    let promoted = workspace.run(&format!("promote {other} --models models/run"));
    assert!(
        promoted.stderr.contains("promote: in models/run"),
        "{}",
        promoted.stderr
    );
    assert_eq!(record()["champion"], other);
    assert!(report().contains(&format!("<dd>{other}</dd>")));
    workspace.done("promote --rollback --models models/run");
    assert_eq!(record()["champion"].as_str(), champion.as_deref());
    // Edited by hand: the next call notices, even if it has nothing to do.
    workspace.done(&format!("promote {other} --models models/run"));
    let edited = std::fs::read(workspace.path("models/run/champion.json")).unwrap();
    workspace.done("promote --rollback --models models/run");
    std::fs::write(workspace.path("models/run/champion.json"), edited).unwrap();
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert_eq!(record()["champion"], other);
}

#[test]
fn a_promotion_says_what_is_unusual_about_it() {
    let workspace = copy_of_run();
    let draft = workspace.run("promote v0001 --models models/run");
    assert!(
        draft.stderr.contains("v0001 is a draft"),
        "{}",
        draft.stderr
    );
    let other = Workspace::new();
    let config = tiny(&other, &[("run.seed", "7"), ("run.generations", "4")]);
    check(&other, &format!("--config {config}"), 0, &[]);
    let file = workspace.path("other.renma");
    other.done(&format!(
        "model export --model v0008 --models models/run --format renma --output {}",
        file.display()
    ));
    workspace.done("model import other.renma --models models/run");
    let stranger = workspace.run("promote v0008 --models models/run");
    assert!(
        stranger.stderr.contains("v0008 was not made by this run"),
        "{}",
        stranger.stderr
    );
    let own = workspace.run("promote v0004 --models models/run");
    assert!(!own.stderr.contains("note:"), "{}", own.stderr);
}

#[test]
fn a_verdict_that_has_acted_promotes_nothing_again() {
    let workspace = copy_of_run();
    let file = ChampionFile::read(&workspace.path("models/run")).unwrap();
    let last = file
        .history
        .last()
        .expect("the run promoted a candidate")
        .clone();
    let gate = (1..=3)
        .map(|generation| format!("datasets/run/gate/generation=000{generation}"))
        .find(|gate| {
            let text = std::fs::read_to_string(workspace.path(gate).join("verdict.json")).unwrap();
            text.contains(&last.gate.unwrap().to_string())
        });
    let promote = format!(
        "promote {} --models models/run --verdict {}",
        last.id,
        gate.unwrap()
    );
    assert_eq!(workspace.run(&promote).code, Some(0), "it is champion");
    workspace.done("promote --rollback --models models/run");
    let again = workspace.run(&promote);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("acts once"), "{}", again.stderr);
    assert_ne!(
        ChampionFile::read(&workspace.path("models/run"))
            .unwrap()
            .champion()
            .map(|promotion| promotion.id),
        Some(last.id)
    );
}

#[test]
fn a_gate_by_hand_counts_for_the_ladder_wherever_it_lies() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, &[]);
    let ladder = || -> Value {
        serde_json::from_str::<Value>(&workspace.done(&format!("status --config {config} --json")))
            .unwrap()["ladder"]
            .clone()
    };
    let elo = |ladder: &Value, id: &str| {
        let mut rungs = ladder.as_array().unwrap().iter();
        rungs
            .find(|rung| rung["id"] == id)
            .map(|rung| rung["elo"].as_f64().unwrap())
    };
    let before = ladder();
    assert_eq!(elo(&before, "v0003"), None, "a draft plays no gate");
    // Mode games takes a draft: it searches full width as the config asks.
    for (output, players) in [
        ("datasets/run/mine", ("v0006", "v0002")),
        ("datasets/run/try/out", ("v0006", "builtin:square-weights")),
    ] {
        let (candidate, baseline) = players;
        workspace.run(&format!(
            "gate --config {config} --candidate {candidate} --baseline {baseline} --models models/run --output {output}"
        ));
        assert!(workspace.path(output).join("verdict.json").exists());
    }
    let after = ladder();
    assert!(elo(&after, "builtin:square-weights").is_some(), "{after}");
    assert_ne!(elo(&after, "v0006"), elo(&before, "v0006"), "{after}");
}

#[test]
fn a_model_is_named_by_its_registry_too() {
    let workspace = copy_of_run();
    let file = ChampionFile::read(&workspace.path("models/run")).unwrap();
    let champion = file.champion().unwrap().id.to_string();
    for (name, id) in [
        ("models/run", champion.as_str()),
        ("models/run/champion", &champion),
        ("run:champion", &champion),
        ("run:v0002", "v0002"),
        ("models/run/v0002", "v0002"),
    ] {
        let shown = workspace.done(&format!("model show {name} --json"));
        assert_eq!(
            serde_json::from_str::<Value>(&shown).unwrap()["id"],
            *id,
            "{name}"
        );
    }
    for name in [
        "models/other",
        "other:champion",
        "models/other/champion",
        "../run:v0001",
        "run:v0099",
    ] {
        assert_eq!(
            workspace.run(&format!("model show {name}")).code,
            Some(2),
            "{name}"
        );
    }
}

/// Bytes that a command of the program reads, those of its threads and children included.
fn bytes_read(workspace: &Workspace, arguments: &str) -> u64 {
    let script = format!(
        "{} {arguments} >out 2>&1 || exit 1; cat /proc/$$/io",
        env!("CARGO_BIN_EXE_renma")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.unwrap_or_else(|| panic!("{arguments}: {text}"))
        .parse()
        .unwrap()
}

#[test]
#[ignore = "slow"]
fn looks_at_a_run_read_in_proportion_to_its_generations() {
    let workspace = Workspace::new();
    let config = tiny(
        &workspace,
        &[
            ("generate.games", "4"),
            ("generate.part_games", "4"),
            ("fit_mpc.games", "2"),
            ("gate.games", "2"),
        ],
    );
    let at = |generations: u32| {
        let options = format!("--config {config} --generations {generations} --progress none");
        check(&workspace, &options, 0, &[]);
        [
            bytes_read(&workspace, &format!("status --config {config}")),
            bytes_read(&workspace, &format!("report --config {config}")),
            bytes_read(&workspace, &format!("run {options}")),
            bytes_read(
                &workspace,
                &format!("run --config {config} --generations +1 --progress none"),
            ),
        ]
    };
    let (few, many) = (at(20), at(100));
    for (look, (few, many)) in ["status", "report", "run", "run +1"]
        .iter()
        .zip(few.iter().zip(many))
    {
        let ratio = many as f64 / *few as f64;
        assert!(
            ratio < 5.5,
            "{look} reads {few} bytes after 20 generations and {many} after 100: {ratio:.2} times"
        );
    }
}
