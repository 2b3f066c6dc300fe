//! `renma run`: the requests that it stands for, and what it does with names that a shell would
//! obey.

use crate::support::workspace::{Outcome, Workspace, copy_folder, files, pipeline_command};
use renma::artifact::ModelRef;
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::pipeline::Context;
use renma::pipeline::request::{Request, Role};
use renma::pipeline::stage::Stage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// A tiny run of two generations against a start that is weak enough to be beaten.
fn config(workspace: &Workspace) -> String {
    let weak = [
        ("run.start", "\"builtin:disc-count\""),
        ("run.generations", "2"),
        ("gate.games", "200"),
    ];
    workspace.config("run", "smoke", &weak)
}

fn run(workspace: &Workspace, options: &[&str]) -> Outcome {
    workspace
        .command(&[&["run", "--config", "configs/run.toml"], options].concat())
        .output()
        .unwrap()
        .into()
}

/// What the next generation asks of its stages, as `--dry-run -v` prints it.
fn requests(workspace: &Workspace) -> Vec<Request> {
    let plan = run(workspace, &["--dry-run", "-v"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    let lines = plan.stderr.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Makes what is asked for in the folder of a workspace.
fn make(workspace: &Workspace, request: Request) {
    let mut request = Request {
        output: request.output.map(|folder| workspace.root().join(folder)),
        registry: workspace.root().join(&request.registry),
        ..request
    };
    request
        .datasets
        .iter_mut()
        .for_each(|dataset| dataset.folder = workspace.root().join(&dataset.folder));
    let models = request
        .find_models(&ModelRef::Champion)
        .unwrap()
        .load()
        .unwrap();
    let never = AtomicBool::new(false);
    let context = Context {
        threads: 2,
        stop: &never,
        budget_spent: &never,
        progress: &(),
        host: &(),
    };
    request.work(&models).unwrap().make(context).unwrap();
}

/// The datasets and models, without what only a run as a whole has: its lineage and its copies of
/// the config.
fn made(workspace: &Workspace) -> BTreeMap<String, Vec<u8>> {
    let mut all = files(&workspace.path("datasets"));
    all.extend(files(&workspace.path("models/run")));
    all.retain(|name, _| name != "lineage.json" && !name.starts_with("config/"));
    all
}

#[test]
fn the_requests_of_a_dry_run_make_the_bytes_of_the_run() {
    let [by_hand, by_loop] = [Workspace::new(), Workspace::new()];
    config(&by_hand);
    config(&by_loop);
    let first = requests(&by_hand);
    assert_eq!(
        first
            .iter()
            .map(|request| request.stage)
            .collect::<Vec<_>>(),
        Stage::ALL
    );
    assert!(
        !by_hand.path("models").exists(),
        "a dry run wrote something"
    );
    for request in first {
        make(&by_hand, request);
    }
    by_hand.done("promote v0002 --models models/run --verdict datasets/run/gate/generation=0001");
    let outcome = run(&by_loop, &["--generations", "1"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(
        made(&by_hand).keys().collect::<Vec<_>>(),
        made(&by_loop).keys().collect::<Vec<_>>()
    );
    assert!(
        made(&by_hand) == made(&by_loop),
        "the requests make other bytes than the run"
    );
    let second = requests(&by_loop);
    let version = |request: &Request, role| request.models[&role].name.to_string();
    assert_eq!(
        (
            version(&second[2], Role::Model),
            version(&second[3], Role::Candidate)
        ),
        ("v0003".into(), "v0004".into())
    );
    assert_eq!(run(&by_loop, &[]).code, Some(0));
    assert_eq!(requests(&by_loop), []);
}

#[test]
fn the_loop_the_command_line_and_a_plan_ask_for_the_same() {
    let workspace = Workspace::new();
    let config = config(&workspace);
    let [asked, ..] = &requests(&workspace)[..] else {
        panic!("a generation has stages")
    };
    let output = asked.output.as_ref().unwrap().display();
    let command =
        format!("generate --config {config} --model builtin:disc-count --output {output}");
    workspace.done(&format!("{command} --plan plan.json"));
    let renma = env!("CARGO_BIN_EXE_renma");
    let on = format!("{renma} shard run {{plan}} {{shard}}");
    assert_eq!(
        run(&workspace, &["--generations", "1", "--on", &on]).code,
        Some(0)
    );
    for plan in [
        "plan.json",
        "datasets/run/plans/generation=0001/generate.json",
    ] {
        let plan: Value = read_sealed(&workspace.path(plan)).unwrap();
        assert_eq!(plan["request"], serde_json::to_value(asked).unwrap());
    }
}

/// A name by which a shell that reads `name=value` lines would run a command.
const EXECUTES: &str = "v0002\nx[$(touch${IFS}canary)]=1";

/// Runs the loop and looks for what a command in a name would have left.
fn check_canary(workspace: &Workspace, options: &[&str]) {
    let mut command = pipeline_command(workspace, "", "");
    let outcome: Outcome = command.args(options).output().unwrap().into();
    for folder in [".", "models", "models/run", "datasets", "configs"] {
        assert!(
            !workspace.path(folder).join("canary").exists(),
            "{options:?} ran a command\n{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_player_with_a_line_end_in_its_name_runs_no_command() {
    let workspace = Workspace::new();
    config(&workspace);
    assert_eq!(run(&workspace, &["--generations", "1"]).code, Some(0));
    let path = workspace.path("models/run/lineage.json");
    let mut lineage: Value = read_sealed(&path).unwrap();
    let mut second = lineage["generations"][0].clone();
    second["generation"] = 2.into();
    second["player"]["name"] = EXECUTES.into();
    lineage["generations"].as_array_mut().unwrap().push(second);
    write_sealed(&path, &lineage).unwrap();
    check_canary(&workspace, &["--config", "configs/run.toml"]);
}

#[test]
fn a_start_with_a_line_end_in_its_name_runs_no_command() {
    let workspace = Workspace::new();
    let start = toml::Value::from(EXECUTES).to_string();
    workspace.config("run", "smoke", &[]);
    check_canary(
        &workspace,
        &[
            "--config",
            "configs/run.toml",
            "--set",
            &format!("run.start={start}"),
        ],
    );
}

#[test]
fn a_config_with_a_line_end_in_its_name_runs_no_command() {
    let workspace = Workspace::new();
    let config = config(&workspace);
    let name = format!("configs/{EXECUTES}.toml");
    std::fs::copy(workspace.path(&config), workspace.path(&name)).unwrap();
    check_canary(&workspace, &["--config", &name]);
}

#[test]
fn a_folder_is_entered_and_the_config_stays_relative_to_the_caller() {
    let workspace = Workspace::new();
    config(&workspace);
    copy_folder(
        &workspace.path("configs"),
        &workspace.path("elsewhere/configs"),
    );
    std::fs::rename(
        workspace.path("elsewhere/configs/run.toml"),
        workspace.path("elsewhere/mine.toml"),
    )
    .unwrap();
    copy_folder(
        &workspace.path("configs/features"),
        &workspace.path("elsewhere/features"),
    );
    std::fs::create_dir(workspace.path("there")).unwrap();
    let options = "run -C there --config elsewhere/mine.toml --generations 1";
    let outcome = workspace.run(options);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(workspace.path("there/models/mine/champion.json").exists());
    assert!(
        outcome.stdout.contains(" run -C there --config "),
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_a_run_says_to_do_next_works_where_it_was_called() {
    for call in [
        "run --set train.epochs=5",
        "run -C there --set train.epochs=5",
        "run -C there --config there/configs/default.toml",
    ] {
        let workspace = Workspace::new();
        let config = workspace.path(&config(&workspace));
        std::fs::rename(config, workspace.path("configs/default.toml")).unwrap();
        copy_folder(&workspace.path("configs"), &workspace.path("there/configs"));
        let printed = workspace.done(&format!("{call} --generations 1"));
        let pasted = |name: &str, option: Option<&str>| -> Outcome {
            let line = printed
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap_or_else(|| panic!("{printed}"));
            let words = shlex::split(line).unwrap();
            let words: Vec<&str> = words[2..]
                .iter()
                .map(String::as_str)
                .chain(option)
                .collect();
            workspace.command(&words).output().unwrap().into()
        };
        let next = pasted("continue ", Some("--dry-run"));
        assert_eq!(next.code, Some(0), "{call}: {}", next.stderr);
        assert!(
            next.stderr.contains("  make    generations 2 to 6\n"),
            "{call}: {}",
            next.stderr
        );
        let play = pasted("play ", None);
        assert_eq!(play.code, Some(0), "{call}: {}", play.stderr);
        assert!(
            play.stderr.contains("(the champion of "),
            "{call}: {}",
            play.stderr
        );
    }
}
