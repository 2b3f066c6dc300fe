//! What `pipeline.sh` does about changes: finished generations keep their config and their
//! champion, and only what a user asked for is removed.

use crate::support::workspace::{
    self, Workspace, check_pipeline as check, check_same, copy_folder, files, pipeline_from,
    start_pipeline,
};
use renma::artifact::dataset::verdict::read_verdict;
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::artifact::{ChampionFile, Registry, Versions};
use renma::config::{LoadedConfig, load_config};
use renma::generation::Generation;
use renma::run::folders::gates;
use renma::run::gc::collect;
use renma::run::lineage::{Change, Lineage};
use renma::run::next::Generations;
use renma::run::standings::standings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A run of tiny generations.
fn tiny(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    let tiny = [
        ("run.start", "\"builtin:disc-count\""),
        ("run.generations", "2"),
        ("run.window", "2"),
        ("generate.games", "12"),
        ("generate.part_games", "4"),
        ("generate.play_depth", "1"),
        ("generate.label_depth", "1"),
        ("generate.exact_empties", "4"),
        ("generate.exploration", "0.01"),
        ("train.epochs", "2"),
        ("fit_mpc.method", "\"source\""),
        ("fit_mpc.games", "4"),
        ("fit_mpc.part_games", "2"),
        ("fit_mpc.t", "1.4"),
        ("fit_mpc.depth_max", "3"),
        ("gate.mode", "\"games\""),
        ("gate.games", "8"),
        ("gate.depth", "1"),
        ("gate.exact_empties", "2"),
    ];
    workspace.config(name, "smoke", &[&tiny, changes].concat())
}

/// Two finished generations.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    let config = tiny(&run, "run", &[]);
    check(&run, &format!("--config {config}"), 0, &[]);
    run
});

fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// Every file of the run that is data.
fn data(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let mut all = files(&workspace.path("datasets"));
    all.extend(
        files(&workspace.path("models"))
            .into_iter()
            .map(|(name, bytes)| (format!("models/{name}"), bytes)),
    );
    all
}

/// Those of one generation's datasets.
fn generation(workspace: &Workspace, number: u32) -> BTreeMap<String, Vec<u8>> {
    let mut files = files(&workspace.path("datasets"));
    files.retain(|name, _| name.contains(&format!("generation={number:04}")));
    files
}

fn manifest(workspace: &Workspace, number: u32) -> Value {
    read_sealed(&workspace.path(&format!(
        "datasets/run/selfplay/generation={number:04}/manifest.json"
    )))
    .unwrap()
}

/// Bytes of all files below a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                bytes_in(&path)
            } else {
                path.metadata().unwrap().len()
            }
        })
        .sum()
}

fn champion(workspace: &Workspace) -> Option<String> {
    let file = ChampionFile::read(&workspace.path("models/run")).unwrap();
    file.champion().map(|promotion| promotion.id.to_string())
}

/// The config of the run, its models and its datasets.
fn opened(workspace: &Workspace, config: &str) -> (LoadedConfig, Registry, PathBuf) {
    let config = load_config(&workspace.path(config)).unwrap();
    (
        config,
        Registry::new(&workspace.path("models/run")),
        workspace.path("datasets/run"),
    )
}

#[test]
fn a_changed_key_stops_a_run_with_finished_generations_and_names_both_values() {
    let workspace = copy_of_run();
    let before = data(&workspace);
    for (key, value, words) in [
        (
            "generate.exploration",
            "0.02",
            "generate.exploration is 0.01 in the run and 0.02 in the config",
        ),
        (
            "generate.games",
            "8",
            "generate.games is 12 in the run and 8 in the config",
        ),
        (
            "train.epochs",
            "3",
            "train.epochs is 2 in the run and 3 in the config",
        ),
        (
            "gate.depth",
            "2",
            "gate.depth is 1 in the run and 2 in the config",
        ),
        (
            "run.seed",
            "7",
            "run.seed is 1 in the run and 7 in the config",
        ),
        (
            "run.window",
            "1",
            "run.window is 2 in the run and 1 in the config",
        ),
    ] {
        let config = tiny(&workspace, "run", &[(key, value), ("run.generations", "3")]);
        check(
            &workspace,
            &format!("--config {config}"),
            2,
            &[words, "--from-next", "--restart"],
        );
        assert!(data(&workspace) == before, "{key}: something changed");
        let status = workspace.done(&format!("status --config {config}"));
        assert!(status.contains(words), "{status}");
    }
    let elsewhere = tiny(&workspace, "elsewhere", &[("train.clip", "100")]);
    std::fs::create_dir(workspace.path("other")).unwrap();
    std::fs::rename(workspace.path(&elsewhere), workspace.path("other/run.toml")).unwrap();
    copy_folder(
        &workspace.path("configs/features"),
        &workspace.path("other/features"),
    );
    check(
        &workspace,
        "--config other/run.toml",
        2,
        &["train.clip is 20000 in the run and 100 in the config"],
    );
    assert!(
        data(&workspace) == before,
        "a config of the same name changed something"
    );
}

#[test]
fn the_number_of_generations_may_change_at_any_time() {
    let workspace = copy_of_run();
    let before = generation(&workspace, 1);
    let config = tiny(
        &workspace,
        "run",
        &[("run.generations", "3"), ("run.keep_generations", "5")],
    );
    let status: Value =
        serde_json::from_str(&workspace.done(&format!("status --config {config} --json"))).unwrap();
    let coming = status["stage_states"]
        .as_array()
        .unwrap()
        .iter()
        .find(|state| state["generation"] == 3)
        .unwrap();
    assert!(
        coming["state"] == "missing" && coming["parts"].is_null(),
        "nothing of it is made: {coming}"
    );
    let on_disk: u64 = ["models/run", "datasets/run"]
        .map(|folder| bytes_in(&workspace.path(folder)))
        .iter()
        .sum();
    assert_eq!(status["bytes_on_disk"], on_disk);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(generation(&workspace, 1) == before && !generation(&workspace, 3).is_empty());
    assert_eq!(manifest(&workspace, 3)["config"]["games"], 12);
}

#[test]
fn a_newer_algorithm_stops_a_run_until_it_is_taken_from_the_next_generation_on() {
    let workspace = copy_of_run();
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    lineage["configs"][0]["algorithms"]["train"] = 0.into();
    write_sealed(&path, &lineage).unwrap();
    let before = generation(&workspace, 1);
    let config = tiny(&workspace, "run", &[("run.generations", "3")]);
    let words = "the algorithm of train is 0 in the run and 3 in this renma";
    check(&workspace, &format!("--config {config}"), 2, &[words]);
    assert!(generation(&workspace, 3).is_empty());
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &[],
    );
    assert!(generation(&workspace, 1) == before && !generation(&workspace, 3).is_empty());
}

#[test]
fn from_next_keeps_what_is_finished_and_reruns_repeat_it() {
    let workspace = copy_of_run();
    let config = tiny(
        &workspace,
        "run",
        &[("generate.exploration", "0.5"), ("run.generations", "3")],
    );
    let finished = [generation(&workspace, 1), generation(&workspace, 2)];
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &[],
    );
    assert!(
        [generation(&workspace, 1), generation(&workspace, 2)] == finished,
        "finished generations changed"
    );
    let explorations = [1, 2, 3].map(|number| {
        manifest(&workspace, number)["config"]["exploration"]
            .as_f64()
            .unwrap()
    });
    assert_eq!(explorations, [0.01, 0.01, 0.5]);
    let all = data(&workspace);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &[],
    );
    assert!(data(&workspace) == all, "a rerun changed something");
}

#[test]
fn a_change_that_no_generation_has_begun_with_can_be_taken_back() {
    let workspace = copy_of_run();
    let before = data(&workspace);
    let changed = tiny(&workspace, "run", &[("train.epochs", "3")]);
    check(
        &workspace,
        &format!("--config {changed} --from-next"),
        0,
        &[],
    );
    assert!(
        workspace
            .path("models/run/config/generation=0003/run.toml")
            .exists()
    );
    let config = tiny(&workspace, "run", &[]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(data(&workspace) == before);
}

#[test]
fn a_built_in_start_of_another_release_leaves_finished_generations_alone() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, "run", &[("run.generations", "3")]);
    // What train, fit-mpc and gate of the first generation made.
    let made = || -> Vec<[Value; 4]> {
        let status: Value =
            serde_json::from_str(&workspace.done(&format!("status --config {config} --json")))
                .unwrap();
        let states = status["stage_states"].as_array().unwrap()[1..4].iter();
        states
            .map(|state| ["stage", "state", "step", "version"].map(|key| state[key].clone()))
            .collect()
    };
    let known = made();
    assert!(
        known
            .iter()
            .all(|[_, state, step, _]| state == "done" && step.is_string()),
        "{known:?}"
    );
    // As if disc-count had been another model when the run began.
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    let other = "0".repeat(64);
    let gate = workspace.path("datasets/run/gate/generation=0001/verdict.json");
    let mut verdict: Value = read_sealed(&gate).unwrap();
    assert_eq!(
        lineage["generations"][0]["player"]["name"],
        "builtin:disc-count"
    );
    lineage["generations"][0]["player"]["content"] = other.clone().into();
    verdict["baseline"]["content"] = other.into();
    write_sealed(&path, &lineage).unwrap();
    write_sealed(&gate, &verdict).unwrap();
    assert_eq!(
        made(),
        known,
        "steps that this release cannot compute are those that the files record"
    );
    let before = generation(&workspace, 1);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(generation(&workspace, 1) == before && !generation(&workspace, 3).is_empty());
}

#[test]
fn a_snapshot_keeps_every_form_of_a_key() {
    let workspace = Workspace::new();
    let level = [
        ("gate.mpc_level", "{ t = 1.4 }"),
        ("generate.mpc_level", "87"),
        ("run.generations", "1"),
    ];
    let config = tiny(&workspace, "run", &level);
    let text = std::fs::read_to_string(workspace.path(&config)).unwrap();
    workspace.write(&config, text + "\n[selective]\nthreshold = 4.0\nrank = 6\n");
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let all = data(&workspace);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    check(
        &workspace,
        "--config models/run/config/generation=0001/run.toml",
        0,
        &[],
    );
    assert!(data(&workspace) == all);
    let config = tiny(&workspace, "run", &level);
    check(
        &workspace,
        &format!("--config {config}"),
        2,
        &["selective.rank is 6 in the run and nothing in the config"],
    );
}

#[test]
fn a_generation_that_has_begun_is_finished_with_its_old_keys() {
    let workspace = copy_of_run();
    let gate = workspace.path("datasets/run/gate/generation=0002");
    let whole = generation(&workspace, 2);
    std::fs::remove_dir_all(gate).unwrap();
    let config = tiny(
        &workspace,
        "run",
        &[
            ("generate.exploration", "0.5"),
            ("gate.depth", "2"),
            ("run.generations", "3"),
        ],
    );
    check(
        &workspace,
        &format!("--config {config}"),
        2,
        &["generation 1 is finished", "gate.depth"],
    );
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &[],
    );
    assert!(
        generation(&workspace, 2) == whole,
        "the begun generation was finished with the new keys"
    );
    assert_eq!(manifest(&workspace, 3)["config"]["exploration"], 0.5);
}

#[test]
fn a_stage_of_a_later_generation_that_others_made_is_not_replaced() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, "run", &[("run.generations", "3")]);
    let output = "datasets/run/selfplay/generation=0003";
    workspace.done(&format!(
        "generate --config {config} --set generate.exploration=0.5 --model builtin:disc-count --generation 3 --output {output}"
    ));
    let made = generation(&workspace, 3);
    check(&workspace, &format!("--config {config}"), 2, &[output]);
    assert!(
        generation(&workspace, 3) == made,
        "what the run did not make is replaced"
    );
}

#[test]
fn a_first_generation_that_has_begun_keeps_its_player_whatever_was_promoted_since() {
    let workspace = copy_of_run();
    let played = generation(&workspace, 1);
    for generation in ["generation=0001", "generation=0002"] {
        std::fs::remove_dir_all(workspace.path(&format!("datasets/run/gate/{generation}")))
            .unwrap();
    }
    workspace.done("promote models/run/v0002");
    let config = tiny(&workspace, "run", &[("run.generations", "1")]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(
        generation(&workspace, 1) == played,
        "the first generation was made again with another player"
    );
}

#[test]
fn before_a_generation_is_finished_a_changed_key_needs_no_option() {
    let workspace = Workspace::new();
    let config = tiny(
        &workspace,
        "run",
        &[("run.generations", "1"), ("gate.mode", "\"sprt\"")],
    );
    check(&workspace, &format!("--config {config}"), 0, &[]);
    std::fs::remove_dir_all(workspace.path("datasets/run/gate/generation=0001")).unwrap();
    let changes = [
        ("generate.games", "6"),
        ("fit_mpc.games", "2"),
        ("gate.games", "4"),
        ("train.epochs", "3"),
        ("run.generations", "1"),
    ];
    let config = tiny(&workspace, "run", &changes);
    check(
        &workspace,
        &format!("--config {config}"),
        0,
        &["removing generation 1: 12 games of self-play"],
    );
    assert_eq!(manifest(&workspace, 1)["done"], 6);
    workspace.done("dataset verify datasets/run/selfplay/generation=0001");
    let whole = Workspace::new();
    let config = tiny(&whole, "run", &changes);
    check(&whole, &format!("--config {config}"), 0, &[]);
    for stage in ["selfplay", "mpc"] {
        let folder = format!("datasets/run/{stage}/generation=0001");
        check_same(
            &workspace.path(&folder),
            &whole.path(&folder),
            "cut back and made so",
        );
    }
}

#[test]
fn after_every_fifth_generation_the_champion_plays_a_former_one() {
    let workspace = Workspace::new();
    let more = [
        ("run.generations", "5"),
        ("generate.games", "60"),
        ("gate.games", "40"),
    ];
    let config = tiny(&workspace, "run", &more);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let folders = |stage: &str| workspace.path(&format!("datasets/run/{stage}/generation=0005"));
    let verdict = read_verdict(&folders("drift")).unwrap();
    assert_eq!(verdict.pairs_done, 100);
    assert_eq!(Some(verdict.candidate.id.to_string()), champion(&workspace));
    assert_ne!(verdict.baseline.content, verdict.candidate.content);
    // The oldest player within 300 Elo of the champion by the gates alone.
    let drift = folders("drift");
    std::fs::rename(&drift, workspace.path("aside")).unwrap();
    let (_, registry, datasets) = opened(&workspace, &config);
    let ladder = standings(
        &gates(&datasets).unwrap(),
        &datasets,
        &Versions::read(&registry).unwrap(),
    )
    .unwrap();
    // As if its promotion had been taken back and gc had removed it.
    let (loaded, registry, datasets) = opened(&workspace, &config);
    let mut lineage = Lineage::read(&loaded, &registry, &datasets).unwrap();
    lineage.closed.generation = Generation(5);
    let players = lineage
        .file
        .generations
        .iter_mut()
        .map(|entry| &mut entry.player);
    players
        .filter(|player| player.content == verdict.baseline.content)
        .for_each(|gone| gone.name = "v0999".parse().unwrap());
    let (next, _) = lineage
        .preview_next(Change::Refuse, Generations::Last(5))
        .unwrap();
    assert_ne!(
        next.veteran.map(|veteran| veteran.to_string()).as_deref(),
        Some("v0999"),
        "a version that is gone was to play"
    );
    std::fs::rename(workspace.path("aside"), &drift).unwrap();
    let elo = |content: &str| {
        ladder
            .iter()
            .find(|standing| standing.content.to_string() == content)
            .unwrap()
            .rating
            .elo
    };
    let best = elo(&verdict.candidate.content.to_string());
    let lineage: Value = read_sealed(&workspace.path("models/run/lineage.json")).unwrap();
    let players = lineage["generations"].as_array().unwrap().iter();
    let mut players = players.map(|entry| entry["player"]["content"].as_str().unwrap());
    let oldest = players.find(|content| best - elo(content) <= 300.0);
    assert_eq!(oldest, Some(verdict.baseline.content.to_string().as_str()));
    let before = data(&workspace);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(
        data(&workspace) == before,
        "a finished match is not played again"
    );
    // Cut short, it is resumed before the next generation; a restart removes it.
    std::fs::remove_file(folders("drift").join("verdict.json")).unwrap();
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(
        data(&workspace) == before,
        "the match resumes to the same bytes"
    );
    check(
        &workspace,
        &format!("--config {config} --restart 5 --generations 4"),
        0,
        &[],
    );
    assert!(!folders("drift").exists() && !folders("gate").exists());
}

#[test]
fn a_restart_says_what_is_lost_and_removes_it_alone() {
    let workspace = copy_of_run();
    let first = generation(&workspace, 1);
    let config = tiny(&workspace, "run", &[("train.epochs", "3")]);
    let words = [
        "restart: removing generation 2: 12 games of self-play, 8 games of gates, 2 versions",
        "CPU-hours",
    ];
    check(
        &workspace,
        &format!("--config {config} --restart 2"),
        0,
        &words,
    );
    assert!(
        generation(&workspace, 1) == first,
        "the first generation changed"
    );
    let versions: Vec<bool> = (1..=6)
        .map(|number| workspace.path(&format!("models/run/v{number:04}")).exists())
        .collect();
    assert_eq!(
        versions,
        [true, true, false, false, true, true],
        "numbers are not given twice"
    );
    let all = data(&workspace);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(data(&workspace) == all);
    workspace.done("model verify --models models/run");
}

#[test]
fn a_restart_makes_again_what_it_removes_and_refuses_what_is_not_there() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, "run", &[("run.generations", "1")]);
    let before = data(&workspace);
    for options in ["--restart 9", "--restart 9 --dry-run"] {
        check(
            &workspace,
            &format!("--config {config} {options}"),
            2,
            &["--restart 9: run run has begun 2 generations"],
        );
    }
    assert!(data(&workspace) == before);
    check(
        &workspace,
        &format!("--config {config} --restart 2 --dry-run"),
        0,
        &["keep    generation 1\n", "make    generation 2\n"],
    );
    assert!(data(&workspace) == before);
    check(
        &workspace,
        &format!("--config {config} --restart 2"),
        0,
        &["restart: removing generation 2: "],
    );
    let played = |data: &BTreeMap<String, Vec<u8>>| -> Vec<Vec<u8>> {
        data.iter()
            .filter(|(name, _)| name.contains("selfplay"))
            .map(|(_, bytes)| bytes.clone())
            .collect()
    };
    assert!(
        played(&data(&workspace)) == played(&before),
        "the second generation was not made again"
    );
}

#[test]
fn the_plan_of_a_restart_makes_its_generation_with_the_changed_config() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, "run", &[("train.epochs", "3")]);
    let plan = workspace.done(&format!(
        "run --config {config} --restart 2 --dry-run --json"
    ));
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["requests"][1]["config"]["epochs"], 3, "{plan}");
}

#[test]
fn a_promotion_while_a_run_is_cleared_away_stands() {
    let workspace = copy_of_run();
    let other = tiny(&workspace, "other", &[("train.epochs", "3")]);
    let data = "datasets/run/selfplay/generation=0001";
    assert_eq!(
        workspace.done(&format!(
            "train --config {other} --dataset {data} --models models/run"
        )),
        "v0005"
    );
    let config = tiny(&workspace, "run", &[("run.keep_generations", "1")]);
    let (loaded, registry, datasets) = opened(&workspace, &config);
    let lineage = Lineage::read(&loaded, &registry, &datasets).unwrap();
    workspace.done("promote v0005 --models models/run");
    assert_eq!(collect(lineage).unwrap().closed.generation, Generation(1));
    assert!(
        workspace.path("models/run/v0005").exists(),
        "the champion was removed"
    );
}

#[test]
fn a_promotion_while_a_run_is_restarted_stands() {
    let workspace = copy_of_run();
    workspace.done("promote v0004 --models models/run");
    let config = tiny(&workspace, "run", &[]);
    let (loaded, registry, datasets) = opened(&workspace, &config);
    let mut lineage = Lineage::read(&loaded, &registry, &datasets).unwrap();
    let promote = "promote v0001 --models models/run";
    lineage
        .begin_next(Change::Restart(Generation(2)), Generations::Last(1), |_| {
            drop(workspace.done(promote));
        })
        .unwrap();
    assert_eq!(champion(&workspace).as_deref(), Some("v0001"));
}

#[test]
fn a_restart_that_was_interrupted_is_finished_by_the_next_call() {
    let workspace = copy_of_run();
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    lineage["restart"] = 2.into();
    write_sealed(&path, &lineage).unwrap();
    let config = tiny(&workspace, "run", &[("run.generations", "1")]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(generation(&workspace, 2).is_empty());
    assert!(
        !workspace.path("models/run/v0003").exists() && workspace.path("models/run/v0002").exists()
    );
    let lineage: Value = read_sealed(&path).unwrap();
    let begun = lineage["generations"].as_array().unwrap();
    assert!(
        begun.len() == 1 && begun[0]["generation"] == 1,
        "the player of a removed generation stayed: {begun:?}"
    );
    // The command as it was would remove what it had made.
    check(
        &workspace,
        &format!("--config {config} --restart 1 --budget 0s"),
        12,
        &[
            "generation 1 has begun again: the budget is spent",
            "but without --restart 1",
        ],
    );
}

/// Adds v0006, which another run made in its second generation.
fn import_other(workspace: &Workspace) {
    let other = tiny(workspace, "other", &[("run.seed", "5")]);
    for options in ["", "--restart 2"] {
        check(workspace, &format!("--config {other} {options}"), 0, &[]);
    }
    workspace.done(
        "model export --model v0006 --models models/other --format renma --output other.renma",
    );
    workspace.done("model import other.renma --models models/run");
}

#[test]
fn a_restart_keeps_versions_from_elsewhere_and_what_was_promoted_of_them() {
    let workspace = copy_of_run();
    import_other(&workspace);
    let config = tiny(&workspace, "run", &[]);
    workspace.done("promote v0006 --models models/run");
    check(
        &workspace,
        &format!("--config {config} --restart 1"),
        0,
        &["restart: removing generations 1 to 2: ", " 4 versions"],
    );
    assert!(workspace.path("models/run/v0006/model.json").exists());
    let history = ChampionFile::read(&workspace.path("models/run"))
        .unwrap()
        .history;
    assert!(
        history
            .iter()
            .any(|promotion| promotion.id.to_string() == "v0006"),
        "{history:?}"
    );
}

#[test]
fn clearing_away_keeps_versions_from_elsewhere() {
    let workspace = copy_of_run();
    import_other(&workspace);
    let config = tiny(
        &workspace,
        "run",
        &[("run.generations", "3"), ("run.keep_generations", "1")],
    );
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let closed: Value = read_sealed(&workspace.path("models/run/closed.json")).unwrap();
    assert_eq!(closed["generation"], 2, "{closed}");
    assert!(workspace.path("models/run/v0006/model.json").exists());
}

#[test]
fn a_run_whose_start_became_another_model_says_how_to_go_on_and_can() {
    let workspace = Workspace::new();
    let other = tiny(&workspace, "other", &[]);
    check(&workspace, &format!("--config {other}"), 0, &[]);
    for model in ["v0002", "v0004"] {
        let from = format!("--model {model} --models models/other");
        workspace.done(&format!(
            "model export {from} --format renma --output {model}.renma"
        ));
    }
    // Too few games to decide, so that both generations are played by the start.
    let config = tiny(
        &workspace,
        "run",
        &[("run.start", "\"start.renma\""), ("gate.mode", "\"sprt\"")],
    );
    let start = |model: &str| {
        std::fs::copy(
            workspace.path(&format!("{model}.renma")),
            workspace.path("start.renma"),
        )
    };
    start("v0002").unwrap();
    check(&workspace, &format!("--config {config}"), 0, &[]);
    std::fs::remove_dir_all(workspace.path("datasets/run/gate/generation=0002")).unwrap();
    start("v0004").unwrap();
    for options in ["", "--dry-run"] {
        check(
            &workspace,
            &format!("--config {config} {options}"),
            65,
            &["start.renma is model", "--restart 2"],
        );
    }
    let record: Value =
        serde_json::from_slice(&std::fs::read(workspace.path("models/run/run.json")).unwrap())
            .unwrap();
    assert_eq!(
        (&record["code"], &record["outcome"]),
        (&65.into(), &"damaged".into()),
        "{record}"
    );
    for options in ["--restart 2 --dry-run", "--restart 2"] {
        check(&workspace, &format!("--config {config} {options}"), 0, &[]);
    }
}

#[test]
fn a_restart_that_would_meet_a_link_changes_nothing() {
    let workspace = copy_of_run();
    let folder = workspace.path("datasets/run/gate/generation=0002");
    std::fs::rename(&folder, workspace.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(workspace.path("elsewhere"), &folder).unwrap();
    let before = data(&workspace);
    let config = tiny(&workspace, "run", &[]);
    check(
        &workspace,
        &format!("--config {config} --restart 2"),
        65,
        &["generation=0002", "it is a link"],
    );
    let now = data(&workspace);
    let changed: Vec<&String> = before
        .keys()
        .filter(|name| now.get(*name) != before.get(*name))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn a_restart_withdraws_the_configs_of_what_it_removes_alone() {
    let workspace = copy_of_run();
    let config = tiny(
        &workspace,
        "run",
        &[("run.generations", "3"), ("train.epochs", "3")],
    );
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &[],
    );
    let third = generation(&workspace, 3);
    check(
        &workspace,
        &format!("--config {config} --restart 4"),
        0,
        &[],
    );
    assert!(
        generation(&workspace, 3) == third,
        "there was nothing to remove"
    );
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    lineage["restart"] = 3.into();
    write_sealed(&path, &lineage).unwrap();
    check(
        &workspace,
        &format!("--config {config}"),
        2,
        &["train.epochs is 2 in the run and 3 in the config"],
    );
    assert!(generation(&workspace, 3).is_empty() && !generation(&workspace, 2).is_empty());
}

#[test]
fn a_restart_withdraws_what_was_promoted_by_hand_with_its_version() {
    let workspace = copy_of_run();
    for version in ["v0002", "v0004"] {
        workspace.done(&format!("promote {version} --models models/run"));
    }
    let config = tiny(&workspace, "run", &[]);
    check(
        &workspace,
        &format!("--config {config} --restart 2"),
        0,
        &[],
    );
    let history = ChampionFile::read(&workspace.path("models/run"))
        .unwrap()
        .history;
    let promoted: Vec<String> = history
        .iter()
        .map(|promotion| promotion.id.to_string())
        .collect();
    assert!(
        promoted.contains(&"v0002".to_owned()) && !promoted.contains(&"v0004".to_owned()),
        "{promoted:?}"
    );
}

#[test]
fn a_refused_second_pipeline_changes_nothing_of_the_first() {
    let workspace = Workspace::new();
    let slow = [
        ("generate.games", "400"),
        ("generate.play_depth", "6"),
        ("generate.label_depth", "6"),
    ];
    let config = tiny(
        &workspace,
        "run",
        &[&slow[..], &[("run.generations", "1")]].concat(),
    );
    let mut first = start_pipeline(&workspace, &format!("--config {config}"));
    let begun = workspace::reached(&mut first, || {
        workspace.path("models/run/run.json").exists()
            && workspace.path("datasets/run/selfplay").exists()
    });
    assert!(begun);
    let before = files(&workspace.path("models/run"));
    let record = std::fs::read(workspace.path("models/run/run.json")).unwrap();
    let config = tiny(&workspace, "run", &[("train.epochs", "9")]);
    let refused = check(
        &workspace,
        &format!("--config {config}"),
        75,
        &["is in use by process"],
    );
    assert!(!refused.stderr.contains("generate:"), "{}", refused.stderr);
    assert!(
        files(&workspace.path("models/run")) == before,
        "the second pipeline changed the first"
    );
    let now = std::fs::read(workspace.path("models/run/run.json")).unwrap();
    let outcome = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["outcome"].clone();
    assert_eq!(
        (outcome(&record), outcome(&now)),
        ("running".into(), "running".into())
    );
    workspace::kill_group(&mut first);
}

#[test]
fn promotions_and_rollbacks_by_hand_reach_the_generation_after_them() {
    let workspace = copy_of_run();
    let before = champion(&workspace);
    let other = if before.as_deref() == Some("v0002") {
        "v0004"
    } else {
        "v0002"
    };
    workspace.done(&format!("promote {other} --models models/run"));
    let config = tiny(&workspace, "run", &[("run.generations", "3")]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let lineage: Value = read_sealed(&workspace.path("models/run/lineage.json")).unwrap();
    assert_eq!(lineage["generations"][2]["player"]["name"], other);
    let content = workspace.done(&format!("model show {other} --models models/run --json"));
    let content: Value = serde_json::from_str(&content).unwrap();
    assert_eq!(
        manifest(&workspace, 3)["models"]["player"],
        content["content"],
        "{other} did not play"
    );
    let played = generation(&workspace, 3);
    workspace.done("promote --rollback --models models/run");
    let all = generation(&workspace, 3);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    assert!(
        generation(&workspace, 3) == all && all == played,
        "a rollback changed a finished generation"
    );
    let rolled_back = champion(&workspace).unwrap_or_else(|| "builtin:disc-count".to_owned());
    let config = tiny(&workspace, "run", &[("run.generations", "4")]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let lineage: Value = read_sealed(&workspace.path("models/run/lineage.json")).unwrap();
    assert_eq!(
        lineage["generations"][3]["player"]["name"], rolled_back,
        "the loop went on with another model"
    );
}

#[test]
fn a_config_and_what_it_names_may_lie_anywhere() {
    let workspace = Workspace::new();
    let book = [
        ("generate.openings", "\"book\""),
        ("generate.book", "\"../lines/book.txt\""),
    ];
    let features = [
        ("run.features", "\"../sets/mine.toml\""),
        ("run.generations", "1"),
    ];
    let config = tiny(&workspace, "far", &[&book[..], &features].concat());
    let text = std::fs::read(workspace.path(&config)).unwrap();
    workspace.write("elsewhere/deep/far.toml", text);
    workspace.write("elsewhere/lines/book.txt", "f5d6c3\nf5f6e6\n");
    workspace.write(
        "elsewhere/sets/mine.toml",
        workspace::shipped("features/es-cube.toml"),
    );
    std::fs::remove_file(workspace.path(&config)).unwrap();
    let outcome = pipeline_from(&workspace, "elsewhere/deep", "--config ./far.toml");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        workspace.path("models/far/run.json").exists()
            && workspace.path("datasets/far/gate").exists()
    );
    std::fs::remove_dir_all(workspace.path("elsewhere")).unwrap();
    // The run's own copy holds all that it needs.
    let copy = "models/far/config/generation=0001/far.toml";
    check(
        &workspace,
        &format!("--config {copy} --generations 2"),
        0,
        &[],
    );
}

#[test]
fn a_bad_config_is_refused_before_anything_is_written() {
    let workspace = Workspace::new();
    let config = tiny(&workspace, "bad", &[("generate.play_depth", "99")]);
    check(
        &workspace,
        &format!("--config {config}"),
        2,
        &["generate.play_depth"],
    );
    assert!(!workspace.path("models").exists() && !workspace.path("datasets").exists());
    for (options, words) in [
        ("--config", "a value is required for '--config"),
        ("--config=", "a value is required for '--config"),
        (
            "--generations few",
            "invalid value 'few' for '--generations",
        ),
        (
            "--generations +4294967295",
            "a number of generations up to 100000",
        ),
        ("--restart 0", "invalid value '0' for '--restart"),
        ("--frobnicate", "unexpected argument '--frobnicate'"),
        ("again", "unexpected argument 'again'"),
    ] {
        check(&workspace, options, 2, &["error: ", words]);
    }
    let good = tiny(&workspace, "good", &[("run.generations", "1")]);
    check(&workspace, &format!("--config={good}"), 0, &[]);
}

#[test]
fn the_record_says_how_much_of_a_stage_is_done() {
    let workspace = Workspace::new();
    let slow = [
        ("generate.games", "40000"),
        ("generate.play_depth", "6"),
        ("generate.label_depth", "6"),
    ];
    let config = tiny(
        &workspace,
        "run",
        &[&slow[..], &[("run.generations", "1")]].concat(),
    );
    let run_for = |seconds: u32| -> Value {
        check(
            &workspace,
            &format!("--config {config} --budget {seconds}s"),
            12,
            &[],
        );
        serde_json::from_slice(&std::fs::read(workspace.path("models/run/run.json")).unwrap())
            .unwrap()
    };
    // On a busy machine a second may pass before the first part is done.
    let has_parts = |record: &Value| {
        record["stage_states"][0]["parts"]["done"]
            .as_u64()
            .is_some_and(|done| 0 < done)
    };
    let record = (1..).map(run_for).find(has_parts).unwrap();
    let parts = &record["stage_states"][0]["parts"];
    let (done, asked) = (
        parts["done"].as_u64().unwrap(),
        parts["asked"].as_u64().unwrap(),
    );
    assert!(0 < done && done < asked && asked == 10_000, "{parts}");
    assert!(0 < record["bytes_on_disk"].as_u64().unwrap());
    let status = workspace.done(&format!("status --config {config}"));
    assert!(status.contains("of 10,000 parts"), "{status}");
    // Some more parts, so that they cannot be told from those of the first seconds of the next
    // call.
    let output = "datasets/run/selfplay/generation=0001";
    let stage = format!("generate --config {config} --model builtin:disc-count --output {output}");
    assert_eq!(
        workspace.run(&format!("{stage} --budget 2s")).code,
        Some(12)
    );
    let before = std::fs::read_dir(workspace.path(&format!("{output}/positions")))
        .unwrap()
        .count() as u64;
    // A line is printed every few seconds.
    let line = (6..).step_by(6).find_map(|seconds| {
        let options = ["--progress", "plain", "--threads", "1"];
        let resumed = workspace.command_with(&options, &format!("{stage} --budget {seconds}s"));
        assert_eq!(resumed.code, Some(12), "{}", resumed.stderr);
        resumed
            .stderr
            .lines()
            .find(|line| line.contains(" of 40,000 games"))
            .map(str::to_owned)
    });
    let line = line.unwrap();
    let count = line
        .trim_start_matches("generate")
        .trim_start()
        .split(' ')
        .next()
        .unwrap_or_default()
        .replace(',', "");
    let count: u64 = count.parse().unwrap_or(0);
    assert!(
        before * 4 < count,
        "progress does not count from {before} parts: {line}"
    );
}

#[test]
fn gc_keeps_the_line_of_every_closed_generation() {
    let workspace = copy_of_run();
    let config = tiny(&workspace, "run", &[("run.generations", "3")]);
    check(&workspace, &format!("--config {config}"), 0, &[]);
    let table = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with(|letter: char| letter.is_ascii_digit()));
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let before = table(&workspace.done(&format!("status --config {config}")));
    let config = tiny(
        &workspace,
        "run",
        &[("run.generations", "3"), ("run.keep_generations", "1")],
    );
    let promoted = |number: u32| {
        let verdict = workspace.path(&format!(
            "datasets/run/gate/generation={number:04}/verdict.json"
        ));
        read_sealed::<Value>(&verdict).unwrap()["verdict"] == "accepted"
    };
    let gates: Vec<u32> = (1..=3)
        .filter(|&number| number == 3 || promoted(number))
        .collect();
    workspace.done(&format!("gc --config {config}"));
    let after = workspace.done(&format!("status --config {config}"));
    assert!(after.contains("generations 1 and 2 are closed"), "{after}");
    let left = |stage: &str| -> Vec<u32> {
        let folder =
            |number: &u32| workspace.path(&format!("datasets/run/{stage}/generation={number:04}"));
        (1..=3).filter(|number| folder(number).exists()).collect()
    };
    // The window of generation 3 begins at 2.
    assert_eq!(
        [left("selfplay"), left("mpc"), left("gate")],
        [vec![2, 3], vec![3], gates]
    );
    assert_eq!(table(&after), before);
    let record: Value =
        serde_json::from_str(&workspace.done(&format!("status --config {config} --json"))).unwrap();
    assert_eq!(record["generations"].as_array().unwrap().len(), 3);
    assert!(record["rejected_in_a_row"].is_u64());
    check(
        &workspace,
        &format!("--config {config} --restart 2"),
        2,
        &["generations 1 and 2 are closed"],
    );
}

#[test]
fn a_window_that_grows_does_not_reach_what_gc_removed() {
    let workspace = copy_of_run();
    let with = |window: &str, generations: &str| {
        let changes = [
            ("run.window", window),
            ("run.generations", generations),
            ("run.keep_generations", "1"),
        ];
        tiny(&workspace, "run", &changes)
    };
    check(
        &workspace,
        &format!("--config {} --from-next", with("1", "3")),
        0,
        &[],
    );
    assert!(
        !workspace
            .path("datasets/run/selfplay/generation=0002")
            .exists()
    );
    check(
        &workspace,
        &format!("--config {} --from-next", with("3", "4")),
        0,
        &[],
    );
    let trained = std::fs::read(workspace.path("models/run/v0007/model.json")).unwrap();
    let trained: Value = serde_json::from_slice(&trained).unwrap();
    let datasets = trained["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dataset| &dataset["generation"]);
    assert_eq!(datasets.collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_window_that_shrinks_leaves_what_older_generations_were_trained_on() {
    let workspace = copy_of_run();
    let changes = [
        ("run.window", "1"),
        ("run.generations", "3"),
        ("run.keep_generations", "2"),
    ];
    let config = tiny(&workspace, "run", &changes);
    check(
        &workspace,
        &format!("--config {config} --from-next"),
        0,
        &["generation 1 is closed"],
    );
    assert!(
        workspace
            .path("datasets/run/selfplay/generation=0001")
            .exists(),
        "generation 2 was trained on it"
    );
    check(&workspace, &format!("--config {config}"), 0, &[]);
}

#[test]
fn a_default_that_has_moved_is_reported_and_the_run_keeps_its_own() {
    let workspace = Workspace::new();
    let named = tiny(&workspace, "run", &[("run.generations", "1")]);
    let text = std::fs::read_to_string(workspace.path(&named)).unwrap();
    workspace.write(&named, text.replace("window = 2\n", ""));
    check(&workspace, &format!("--config {named}"), 0, &[]);
    // As if the default had been 4 when the run began.
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    lineage["configs"][0]["config"]["run"]["window"] = 4.into();
    write_sealed(&path, &lineage).unwrap();
    let words = "run.window is 4 in the run and 3 by default now";
    let status = workspace.done(&format!("status --config {named}"));
    assert!(
        status.contains(words) && !status.contains("--from-next"),
        "{status}"
    );
    check(
        &workspace,
        &format!("--config {named} --generations 2"),
        0,
        &[words],
    );
    let snapshot =
        std::fs::read_to_string(workspace.path("models/run/config/generation=0001/run.toml"))
            .unwrap();
    assert!(snapshot.contains("window = 4"), "{snapshot}");
    assert!(!workspace.path("models/run/config/generation=0002").exists());
    // To name the key is a change like any other.
    let named = tiny(&workspace, "run", &[("run.window", "3")]);
    check(
        &workspace,
        &format!("--config {named}"),
        2,
        &["run.window is 4 in the run and 3 in the config"],
    );
}

#[test]
fn a_training_that_would_repeat_games_is_refused_before_any_are_played_for_it() {
    let workspace = Workspace::new();
    // Without chance, an unchanged champion plays the same games again.
    let lines = "d3c3b3b2 d3c3b3d2 d3c3b3e3 d3c3b3f4 d3c3b3c5 d3c3b3d6 d3c3c4e3 d3c3f5d2 d3c3f5e3 d3c3f5f4 d3c3f5d6 d3c3f5f6";
    workspace.write("configs/book.txt", lines.replace(' ', "\n"));
    let changes = |window| {
        [
            ("generate.openings", "\"book\""),
            ("generate.book", "\"book.txt\""),
            ("generate.random_plies_min", "0"),
            ("generate.random_plies_max", "0"),
            ("generate.exploration", "0.0"),
            ("gate.games", "2"),
            ("run.window", window),
        ]
    };
    let config = tiny(&workspace, "run", &changes("1"));
    check(&workspace, &format!("--config {config}"), 0, &[]);
    tiny(&workspace, "run", &changes("3"));
    let before = data(&workspace);
    let options = format!("--config {config} --generations 3 --from-next");
    let words = [
        "selfplay/generation=0001",
        "selfplay/generation=0002",
        "a game counts once",
    ];
    let outcome = check(&workspace, &options, 65, &words);
    assert!(!outcome.stderr.contains("generate "), "{}", outcome.stderr);
    let played = |files: &BTreeMap<String, Vec<u8>>| {
        files
            .keys()
            .filter(|name| name.contains("selfplay"))
            .count()
    };
    assert_eq!(played(&data(&workspace)), played(&before));
}
