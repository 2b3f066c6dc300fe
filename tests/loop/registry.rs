//! The registry: versions with their lineage both ways, the ladder, and clearing away what nothing
//! needs.

use crate::support::workspace::{self, Workspace, check_same, copy_folder, files, pipeline};
use renma::artifact::dataset::verdict::read_verdict;
use renma::artifact::model::document::ModelFormat;
use renma::artifact::model::features_file::parse_features;
use renma::artifact::seal::{read_sealed, seal};
use renma::artifact::{ChampionFile, ClosedFile, FolderLock, Registry, VersionId, Versions};
use renma::generation::Generation;
use renma::pipeline::stage::Stage;
use renma::run::folders::gates;
use renma::run::standings::standings;
use serde_json::Value;
use std::sync::LazyLock;

const CONFIG: &str = "configs/run.toml";

/// The changes to the smoke config that a run of many generations is made with; `keep` of them stay
/// whole.
fn config(workspace: &Workspace, keep: &str, window: &str) {
    let changes = [
        ("run.start", "\"builtin:disc-count\""),
        ("run.keep_generations", keep),
        ("run.window", window),
        ("generate.games", "40"),
        ("gate.games", "200"),
    ];
    workspace.config("run", "smoke", &changes);
}

/// A finished run of four generations that kept everything, to be copied.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    config(&run, "0", "2");
    let outcome = pipeline(&run, &format!("--config {CONFIG} --generations 4"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    run
});

/// A copy of the run with its log.
fn copy_of_run() -> Workspace {
    let workspace = Workspace::copy_of(&RUN);
    workspace.write(
        "models/run/run.log",
        std::fs::read(RUN.path("models/run/run.log")).unwrap(),
    );
    workspace
}

fn json(workspace: &Workspace, arguments: &str) -> Value {
    serde_json::from_str(&workspace.done(&format!("{arguments} --json"))).unwrap()
}

#[test]
fn a_model_of_a_newer_format_is_refused_with_both_versions() {
    let workspace = copy_of_run();
    let newer = ModelFormat::CURRENT.number() + 1;
    reseal(&workspace, "models/run/v0002/model.json", |document| {
        document["format"] = newer.into();
    });
    let words = format!(
        "v0002/model.json: it has format {newer}, this renma reads format {}",
        newer - 1
    );
    check_refused(&workspace, "model verify --models models/run", &[&words]);
}

/// The first version of the run that became champion.
fn first_champion() -> String {
    ChampionFile::read(&RUN.path("models/run")).unwrap().history[0]
        .id
        .to_string()
}

#[test]
fn the_list_has_a_line_for_each_version_and_the_ladder_of_all_gates() {
    let workspace = copy_of_run();
    let text = workspace.done("model list --models models/run");
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for word in [
        "id", "kind", "parent", "games", "MAE", "Elo", "verdict", "date",
    ] {
        assert!(lines[0].contains(&word), "{word}: {text}");
    }
    assert_eq!(
        lines
            .iter()
            .filter(|line| line[0].starts_with("v0"))
            .count(),
        8,
        "{text}"
    );
    let of = |id: &str| lines.iter().find(|line| line[0] == id).unwrap();
    assert_eq!(
        of("v0001")[1..4],
        ["draft", "builtin:disc-count", "1"],
        "{text}"
    );
    assert!(of(&first_champion()).contains(&"accepted"), "{text}");
    assert!(of("builtin:disc-count").contains(&"+0"), "{text}");
    let value = json(&workspace, "model list --models models/run");
    let date = value["dates"]["v0002"].as_str().unwrap();
    assert!(
        date.starts_with("20") && date.len() == "2026-11-21 17:00".len(),
        "{date}"
    );
    let ladder = value["ladder"].as_array().unwrap();
    assert_eq!(ladder.len(), 5, "{ladder:?}");
    let elo = |id: &str| {
        ladder.iter().find(|standing| standing["id"] == id).unwrap()["elo"]
            .as_f64()
            .unwrap()
    };
    assert!(
        elo("builtin:disc-count") == 0.0 && 20.0 < elo(&first_champion()),
        "{ladder:?}"
    );
    for standing in ladder {
        let [low, elo, high] =
            ["elo_low", "elo", "elo_high"].map(|key| standing[key].as_f64().unwrap());
        assert!(
            low <= elo && elo <= high && (low < high || elo == 0.0),
            "{standing}"
        );
    }
    assert_eq!(
        json(&workspace, &format!("status --config {CONFIG}"))["ladder"],
        value["ladder"]
    );
    std::fs::remove_file(workspace.path("models/run/run.log")).unwrap();
    assert_eq!(
        json(&workspace, "model list --models models/run")["dates"],
        serde_json::json!({})
    );
}

#[test]
fn a_model_is_shown_with_its_lineage_both_ways() {
    let workspace = copy_of_run();
    let draft = json(&workspace, "model show v0001 --models models/run");
    assert_eq!(draft["children"], serde_json::json!(["v0002"]), "{draft}");
    assert_eq!(
        draft["trained_on"][0]["folder"], "datasets/run/selfplay/generation=0001",
        "{draft}"
    );
    assert_eq!(draft["trained_on"][0]["games"], 40, "{draft}");
    let model = json(&workspace, "model show v0002 --models models/run");
    assert_eq!(
        model["gates"][0]["folder"], "datasets/run/gate/generation=0001",
        "{model}"
    );
    assert_eq!(
        model["gates"][0]["verdict"]["candidate"]["id"], "v0002",
        "{model}"
    );
    assert_eq!(model["document"]["parent"]["id"], "v0001", "{model}");
    let champion = json(
        &workspace,
        &format!("model show {} --models models/run", first_champion()),
    );
    assert_eq!(champion["promoted"], true, "{champion}");
    let folder = champion["played"][0]["folder"].as_str().unwrap();
    assert!(
        folder.starts_with("datasets/run/selfplay/generation="),
        "{champion}"
    );
    let text = workspace.done("model show v0002 --models models/run");
    for words in [
        "parent      v0001",
        "played      generation 2",
        "gate        generation 1: v0002 over builtin:disc-count",
    ] {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
    let start = workspace.done("model show builtin:disc-count --models models/run");
    assert!(
        start.contains("child       v0001") && start.contains("played      generation 1"),
        "{start}"
    );
}

#[test]
fn a_version_named_by_its_path_is_shown_in_its_own_registry() {
    let workspace = copy_of_run();
    let by_id = json(&workspace, "model show v0001 --models models/run");
    for path in ["models/run/v0001", "models/run/v0001/"] {
        assert!(
            json(&workspace, &format!("model show {path}")) == by_id,
            "{path}"
        );
    }
    let absolute = workspace.path("models/run/v0004");
    let text = workspace.done(&format!("model show {}", absolute.display()));
    assert!(text.contains("parent      v0003"), "{text}");
    assert!(
        text.contains("gate        generation 2") && !text.contains("gone"),
        "{text}"
    );
    let elsewhere = json(
        &workspace,
        "model show models/run/v0001 --models models/none",
    );
    assert_eq!(
        elsewhere["trained_on"][0]["folder"],
        Value::Null,
        "{elsewhere}"
    );
}

#[test]
fn errors_are_called_held_out_only_where_games_were_held_out() {
    let workspace = copy_of_run();
    workspace.config("whole", "smoke", &[("train.validation", "0.0")]);
    let train = "train --config configs/whole.toml --dataset datasets/run/selfplay/generation=0001";
    let list = || workspace.done("model list --models models/run");
    let note = |text: &str| {
        text.lines()
            .last()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(note(&list()), "MAE in discs on held-out games");
    assert!(!list().contains('*'), "{}", list());
    assert_eq!(
        workspace.done(&format!("{train} --models models/run")),
        "v0009"
    );
    assert_eq!(
        note(&list()),
        "MAE in discs on held-out games, * on the training rows"
    );
    let starred: Vec<String> = list()
        .lines()
        .filter(|line| line.contains("* "))
        .map(str::to_owned)
        .collect();
    assert!(
        starred.len() == 2 && starred[0].starts_with("v0009"),
        "{starred:?}"
    );
    assert_eq!(
        workspace.done(&format!("{train} --models models/whole")),
        "v0001"
    );
    assert_eq!(
        note(&workspace.done("model list --models models/whole")),
        "MAE in discs, * on the training rows"
    );
    for (version, words, held_out) in [
        ("v0002", "on held-out games", true),
        ("v0009", "on the training rows", false),
    ] {
        let text = workspace.done(&format!("model show models/run/{version}"));
        let error = text.lines().find(|line| line.starts_with("error")).unwrap();
        assert!(
            error.contains(words) && error.contains("held-out") == held_out,
            "{text}"
        );
        assert_eq!(
            json(&workspace, &format!("model show models/run/{version}"))["held_out"],
            held_out
        );
    }
    let error = || {
        json(&workspace, &format!("status --config {CONFIG}"))["generations"][0]["mae_after"]
            .clone()
    };
    assert!(error().is_f64(), "{}", error());
    reseal(&workspace, "models/run/v0001/model.json", |document| {
        document["metrics"]["held_out"] = false.into();
    });
    assert_eq!(error(), Value::Null);
}

#[test]
fn a_level_that_has_no_effect_is_named() {
    let workspace = copy_of_run();
    workspace.write(
        "positions.obf",
        "---------------------------OX------XO--------------------------- X;\n",
    );
    let warnings = |arguments: &str| {
        let outcome = workspace.run(arguments);
        assert!(
            matches!(outcome.code, Some(0 | 10 | 11)),
            "{arguments}: {}",
            outcome.stderr
        );
        let lines = outcome
            .stderr
            .lines()
            .filter(|line| line.contains("has no MPC statistics"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let eval = "eval positions.obf --depth 4 --models models/run --model";
    let draft = warnings(&format!("{eval} v0001 --mpc-level 87"));
    let expected = "warning: --mpc-level 87 % has no effect: v0001 has no MPC statistics and searches full width";
    assert_eq!(draft, [expected]);
    for silent in ["v0001", "v0001 --mpc-level 100", "v0002 --mpc-level 87"] {
        assert_eq!(warnings(&format!("{eval} {silent}")), [""; 0], "{silent}");
    }
    workspace.config(
        "level",
        "smoke",
        &[
            ("generate.mpc_level", "73"),
            ("gate.mpc_level", "95"),
            ("gate.games", "20"),
        ],
    );
    let stage = |stage: &str, players: &str| {
        warnings(&format!(
            "{stage} --verbose --config configs/level.toml --models models/run --output {stage} {players}"
        ))
    };
    let generate = stage("generate", "--model builtin:disc-count");
    assert!(
        generate.len() == 1
            && generate[0].starts_with("note: generate.mpc_level 73 % has no effect"),
        "{generate:?}"
    );
    let gate = stage("gate", "--candidate v0004 --baseline builtin:disc-count");
    assert!(
        gate.len() == 1 && gate[0].contains("builtin:disc-count has no MPC statistics"),
        "{gate:?}"
    );
}

/// `eval.dat` as a program writes it that learns at the smallest index and leaves some mirrors
/// behind.
fn stale_mirrors(bytes: &[u8]) -> (Vec<u8>, u64) {
    let set = parse_features(&workspace::shipped("features/es-cube.toml")).unwrap();
    let (mut stale, mut count) = (bytes.to_vec(), 0);
    for (feature, &canonical) in set.canonical().iter().enumerate() {
        if canonical as usize != feature && feature % 3 == 0 {
            stale[4 * feature] ^= 1;
            count += 1;
        }
    }
    (stale, count)
}

#[test]
fn an_eval_dat_with_stale_mirrors_is_imported_by_its_smallest_indices() {
    let workspace = copy_of_run();
    workspace.done("model export --model models/run/v0001 --format es-cube-eval --output eval.dat");
    let sound = std::fs::read(workspace.path("eval.dat")).unwrap();
    let (stale, count) = stale_mirrors(&sound);
    assert!(1000 < count, "{count}");
    workspace.write("stale.dat", stale);
    let import = "--format es-cube-eval --models models/other";
    let whole = json(&workspace, &format!("model import eval.dat {import}"));
    let content = &json(&workspace, "model show models/run/v0001")["content"];
    assert_eq!(
        (&whole["mirrors_differing"], &whole["content"]),
        (&0.into(), content),
        "{whole}"
    );
    let outcome = workspace.run(&format!("model import stale.dat {import} --json"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let imported: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (&imported["mirrors_differing"], &imported["content"]),
        (&count.into(), content),
        "{imported}"
    );
    let thousands = format!("{},{:03} of ", count / 1000, count % 1000);
    assert!(
        outcome.stderr.contains(&thousands) && outcome.stderr.contains("mirrors in stale.dat"),
        "{}",
        outcome.stderr
    );
    let version = imported["id"].as_str().unwrap();
    workspace.done(&format!(
        "model export --model models/other/{version} --format es-cube-eval --output back.dat"
    ));
    assert!(
        std::fs::read(workspace.path("back.dat")).unwrap() == sound,
        "the export has other weights"
    );
}

#[test]
fn verifying_walks_everything_that_documents_name() {
    let workspace = copy_of_run();
    let verify = "model verify --models models/run";
    let value = json(&workspace, verify);
    assert_eq!(value["versions"].as_array().unwrap().len(), 8, "{value}");
    assert_eq!(value["datasets"].as_array().unwrap().len(), 4, "{value}");
    assert_eq!(value["gates"].as_array().unwrap().len(), 4, "{value}");
    for name in [
        "models/run/v0003/weights.parquet",
        "models/run/champion.json",
        "datasets/run/selfplay/generation=0002/positions/part-00001.parquet",
        "datasets/run/selfplay/generation=0002/games/part-00000.parquet",
        "datasets/run/selfplay/generation=0003/manifest.json",
        "datasets/run/gate/generation=0002/games/part-00000.parquet",
        "datasets/run/gate/generation=0004/verdict.json",
    ] {
        let sound = std::fs::read(workspace.path(name)).unwrap();
        let mut flipped = sound.clone();
        flipped[sound.len() / 2] ^= 4;
        workspace.write(name, &flipped);
        workspace.ends(verify, 65, &[name]);
        workspace.write(name, &sound);
    }
    // A champion that a rollback could not bring back.
    let first = first_champion();
    std::fs::remove_dir_all(workspace.path(&format!("models/run/{first}"))).unwrap();
    workspace.ends(verify, 65, &["models/run/champion.json", &first]);
    std::fs::remove_dir_all(workspace.path("datasets/run/selfplay/generation=0001")).unwrap();
    std::fs::remove_file(workspace.path("models/run/champion.json")).unwrap();
    let value = json(&workspace, verify);
    assert_eq!(
        value["datasets_gone"].as_array().unwrap().len(),
        1,
        "{value}"
    );
}

/// Generations that a stage of the run has folders of.
fn generations(workspace: &Workspace, stage: &str) -> Vec<u32> {
    let found = renma::run::folders::generations(
        &workspace.path("datasets/run"),
        Stage::named(stage).unwrap(),
    );
    found
        .unwrap()
        .into_iter()
        .map(|generation| generation.0)
        .collect()
}

#[test]
fn clearing_away_keeps_what_is_needed_and_a_dry_run_removes_nothing() {
    let workspace = copy_of_run();
    let gc = format!("gc --config {CONFIG}");
    let before = files(workspace.root());
    workspace.ends(&gc, 0, &["run.keep_generations = 0: everything stays"]);
    assert!(files(workspace.root()) == before);
    config(&workspace, "1", "2");
    let before = files(workspace.root());
    let planned = json(&workspace, &format!("{gc} --dry-run"));
    assert!(
        files(workspace.root()) == before,
        "a dry run changed something"
    );
    assert_eq!(planned["closed"], 3, "{planned}");
    let removed = json(&workspace, &gc);
    let [closed, lineage]: [Value; 2] = ["closed", "lineage"]
        .map(|name| read_sealed(&workspace.path(&format!("models/run/{name}.json"))).unwrap());
    let fourth = lineage["generations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["generation"] == 4)
        .unwrap();
    assert_eq!(
        closed["champion"]["content"], fourth["player"]["content"],
        "the champion after the closed generations"
    );
    assert_eq!(planned["removed"], removed["removed"]);
    assert!(0 < removed["bytes"].as_u64().unwrap(), "{removed}");
    // The window of the next training reaches one generation back.
    assert_eq!(generations(&workspace, "generate"), [3, 4]);
    assert_eq!(generations(&workspace, "fit-mpc"), [4]);
    let history = ChampionFile::read(&workspace.path("models/run"))
        .unwrap()
        .history;
    let promoted = |generation: u32| {
        let folder = RUN.path(&format!("datasets/run/gate/generation={generation:04}"));
        let step = read_verdict(&folder).unwrap().step;
        history.iter().any(|promotion| promotion.gate == Some(step))
    };
    assert_eq!(
        generations(&workspace, "gate"),
        (1..=4)
            .filter(|&g| g == 4 || promoted(g))
            .collect::<Vec<_>>()
    );
    for promotion in &history {
        assert!(
            workspace
                .path(&format!("models/run/{}/model.json", promotion.id))
                .exists(),
            "{}",
            promotion.id
        );
    }
    workspace.ends("model verify --models models/run", 0, &["are sound"]);
    workspace.ends(&gc, 0, &["removed 0 folders"]);
    let after = files(workspace.root());
    let outcome = pipeline(&workspace, &format!("--config {CONFIG} --generations 4"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for folder in ["datasets", "models"] {
        let of = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            let here = files.iter().filter(|(name, _)| {
                name.starts_with(folder)
                    && !name.contains("/config/")
                    && !name.ends_with("lineage.json")
            });
            here.map(|(name, bytes)| (name.clone(), bytes.clone()))
                .collect::<Vec<_>>()
        };
        assert!(
            of(&after) == of(&files(workspace.root())),
            "a closed run was done again\n{}",
            outcome.stderr
        );
    }
}

#[test]
fn nothing_is_closed_while_a_version_cannot_be_read() {
    let workspace = copy_of_run();
    config(&workspace, "1", "1");
    // The system refuses to follow a link to itself.
    let document = workspace.path("models/run/v0002/model.json");
    let bytes = std::fs::read(&document).unwrap();
    std::fs::remove_file(&document).unwrap();
    std::os::unix::fs::symlink("model.json", &document).unwrap();
    let before = || {
        (
            generations(&workspace, "generate"),
            Registry::new(&workspace.path("models/run")).ids().unwrap(),
        )
    };
    let whole = before();
    workspace.ends(
        &format!("gc --config {CONFIG}"),
        1,
        &["cannot read", "v0002/model.json"],
    );
    assert!(before() == whole && !workspace.path("models/run/closed.json").exists());
    std::fs::remove_file(&document).unwrap();
    std::fs::write(&document, bytes).unwrap();
    workspace.done(&format!("gc --config {CONFIG}"));
    let closed = ClosedFile::read(&workspace.path("models/run")).unwrap();
    assert!(
        closed.generations.len() == 3
            && closed
                .generations
                .iter()
                .all(|line| line.exact_mae.is_some())
    );
}

#[test]
fn a_run_that_clears_away_as_it_goes_makes_the_same_champions() {
    let workspace = Workspace::new();
    config(&workspace, "1", "2");
    let outcome = pipeline(&workspace, &format!("--config {CONFIG} --generations 4"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(generations(&workspace, "generate"), [3, 4]);
    assert_eq!(
        ClosedFile::read(&workspace.path("models/run"))
            .unwrap()
            .generation,
        Generation(3)
    );
    let names = ["champion.json", "v0007/model.json", "v0008/model.json"];
    for name in names.map(|name| format!("models/run/{name}")) {
        let read = |root: &Workspace| std::fs::read(root.path(&name)).unwrap();
        assert!(read(&workspace) == read(&RUN), "{name}");
    }
    let newest = "datasets/run/selfplay/generation=0004";
    check_same(
        &workspace.path(newest),
        &RUN.path(newest),
        "cleared and whole",
    );
    let status = workspace.done(&format!("status --config {CONFIG}"));
    assert!(status.contains("generations 1 to 3 are closed"), "{status}");
}

#[test]
fn games_behind_a_promotion_that_was_taken_back_are_cleared_away() {
    let workspace = copy_of_run();
    let step = |generation: u32| {
        let folder = RUN.path(&format!("datasets/run/gate/generation={generation:04}"));
        read_verdict(&folder).unwrap().step
    };
    let history = || {
        ChampionFile::read(&workspace.path("models/run"))
            .unwrap()
            .history
    };
    let promoted = || -> Vec<u32> {
        let gates: Vec<_> = history()
            .into_iter()
            .map(|promotion| promotion.gate)
            .collect();
        (1..=4)
            .filter(|&generation| gates.contains(&Some(step(generation))))
            .collect()
    };
    let before = promoted();
    while promoted().contains(&before[before.len() / 2]) {
        workspace.done("promote --rollback --models models/run");
    }
    assert!(
        !promoted().is_empty() && promoted().len() < 3,
        "{before:?} and {:?}",
        promoted()
    );
    config(&workspace, "1", "1");
    workspace.done(&format!("gc --config {CONFIG}"));
    let kept = (1..=4).filter(|generation| *generation == 4 || promoted().contains(generation));
    assert_eq!(generations(&workspace, "gate"), kept.collect::<Vec<_>>());
}

#[test]
fn a_drift_match_of_a_closed_generation_stays_on_the_ladder() {
    let workspace = copy_of_run();
    let (datasets, models) = (workspace.path("datasets/run"), workspace.path("models/run"));
    let drift = datasets.join("drift/generation=0002");
    copy_folder(&datasets.join("gate/generation=0002"), &drift);
    let (verdict, match_before) = (read_verdict(&drift).unwrap(), files(&drift));
    config(&workspace, "1", "1");
    workspace.done(&format!("gc --config {CONFIG}"));
    assert_eq!(ClosedFile::read(&models).unwrap().generation, Generation(3));
    assert!(files(&drift) == match_before);
    let versions = Versions::read(&Registry::new(&models)).unwrap();
    let ladder = standings(&gates(&datasets).unwrap(), &datasets, &versions).unwrap();
    for player in [verdict.candidate.content, verdict.baseline.content] {
        assert!(
            ladder.iter().any(|standing| standing.content == player),
            "{player} is gone"
        );
    }
}

#[test]
fn a_run_made_again_from_a_generation_on_has_the_same_champions() {
    let workspace = copy_of_run();
    let contents = |workspace: &Workspace| -> Vec<_> {
        let history = ChampionFile::read(&workspace.path("models/run"))
            .unwrap()
            .history;
        history
            .into_iter()
            .map(|promotion| promotion.content)
            .collect()
    };
    let outcome = pipeline(
        &workspace,
        &format!("--config {CONFIG} --generations 4 --restart 3"),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(contents(&workspace), contents(&RUN));
    assert!(2 < contents(&RUN).len());
}

#[test]
fn a_number_is_never_given_to_a_second_version() {
    let workspace = copy_of_run();
    let data = "datasets/run/selfplay/generation=0001";
    workspace.config("other", "smoke", &[("train.epochs", "2")]);
    let train = format!("train --config configs/other.toml --dataset {data} --models models/run");
    assert_eq!(workspace.done(&train), "v0009");
    config(&workspace, "1", "1");
    workspace.done(&format!("gc --config {CONFIG}"));
    let registry = Registry::new(&workspace.path("models/run"));
    let ninth = "v0009".parse().unwrap();
    assert!(
        !registry.ids().unwrap().contains(&ninth),
        "{:?}",
        registry.ids()
    );
    assert_eq!(
        ClosedFile::read(registry.folder()).unwrap().version_last,
        Some(ninth)
    );
    let newest = "datasets/run/selfplay/generation=0004";
    let train = format!("train --config configs/other.toml --dataset {newest} --models models/run");
    assert_eq!(workspace.done(&train), "v0010");
}

#[test]
fn nothing_behind_a_symbolic_link_is_removed() {
    let workspace = copy_of_run();
    config(&workspace, "1", "1");
    let elsewhere = workspace.path("elsewhere");
    for (name, stays) in [
        ("datasets/run/selfplay/generation=0001", "generation"),
        ("datasets/run/mpc", "stage"),
        ("models/run/v0001", "model"),
    ] {
        copy_folder(&workspace.path(name), &elsewhere.join(stays));
        std::fs::remove_dir_all(workspace.path(name)).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(stays), workspace.path(name)).unwrap();
    }
    let before = files(&elsewhere);
    let removed = json(&workspace, &format!("gc --config {CONFIG}"));
    assert!(files(&elsewhere) == before, "{removed}");
    assert!(
        workspace
            .path("datasets/run/selfplay/generation=0001")
            .is_symlink()
    );
    assert!(
        !workspace
            .path("datasets/run/selfplay/generation=0002")
            .exists()
    );
    assert!(
        4 <= removed["linked"].as_array().unwrap().len(),
        "{removed}"
    );
}

#[test]
fn a_stage_at_work_is_shown_and_nothing_is_cleared_away() {
    let workspace = copy_of_run();
    config(&workspace, "1", "1");
    let gc = format!("gc --config {CONFIG}");
    let state = |step: &str, place: usize| {
        json(&workspace, &format!("status {step} --config {CONFIG}"))["stage_states"][place]["state"].clone()
    };
    config(&workspace, "1", "2");
    for (name, step, folder, lock) in [
        (
            "datasets/run/gate/generation=0004/verdict.json",
            "gate",
            "datasets/run/gate/generation=0004",
            ".lock",
        ),
        (
            "models/run/v0007/model.json",
            "train",
            "models/run",
            Stage::Train.facts().lock(),
        ),
    ] {
        std::fs::remove_dir_all(workspace.path(name).parent().unwrap()).unwrap();
        assert_eq!(state(step, 3), "missing", "{step}");
        let text = workspace.done(&format!("status {step} --config {CONFIG}"));
        assert!(text.contains("generation 4: missing"), "{step}: {text}");
        let held = FolderLock::take_named(&workspace.path(folder), lock).unwrap();
        assert_eq!(state(step, 3), "running", "{step}");
        let before = files(workspace.root());
        workspace.ends(&gc, 75, &[folder, &std::process::id().to_string()]);
        workspace.ends(&format!("{gc} --dry-run"), 75, &[folder]);
        assert!(files(workspace.root()) == before);
        drop(held);
        assert_eq!(state(step, 3), "missing", "{step}");
    }
}

/// Changes a sealed file and seals it again, as anyone can.
fn reseal(workspace: &Workspace, name: &str, change: impl FnOnce(&mut Value)) {
    let mut value: Value =
        serde_json::from_slice(&std::fs::read(workspace.path(name)).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("hash");
    change(&mut value);
    workspace.write(name, seal(&value));
}

/// Fails unless a command ends with 65 and these words, and changes no file.
fn check_refused(workspace: &Workspace, arguments: &str, words: &[&str]) {
    let before = files(workspace.root());
    workspace.ends(arguments, 65, words);
    assert!(
        files(workspace.root()) == before,
        "renma {arguments}: it changed something"
    );
}

#[test]
fn a_version_that_says_it_is_something_else_is_damage_and_removes_nothing() {
    let workspace = copy_of_run();
    config(&workspace, "1", "1");
    let gc = format!("gc --config {CONFIG}");
    workspace.config("other", "smoke", &[("train.epochs", "2")]);
    let train = "train --config configs/other.toml --dataset datasets/run/selfplay/generation=0001";
    assert_eq!(
        workspace.done(&format!("{train} --models models/run")),
        "v0009"
    );
    let (own, version) = ("v0009", "models/run/v0009");
    let planned = json(&workspace, &format!("{gc} --dry-run"));
    let removed: Vec<&Value> = planned["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|removal| &removal["path"])
        .collect();
    assert!(removed.contains(&&version.into()), "{planned}");
    let document = format!("{version}/model.json");
    let sound = std::fs::read(workspace.path(&document)).unwrap();
    let absolute = workspace.path("datasets/run/selfplay");
    for id in [
        "../../datasets",
        absolute.to_str().unwrap(),
        ".",
        "",
        "v0002",
        "v0099",
        "v00010",
        "builtin:champion",
    ] {
        reseal(&workspace, &document, |document| document["id"] = id.into());
        let both = [
            document.as_str(),
            id,
            if id.starts_with("v00") && id.len() == 5 {
                own
            } else {
                ""
            },
        ];
        check_refused(&workspace, &gc, &both);
        check_refused(&workspace, &format!("{gc} --dry-run"), &both);
        check_refused(&workspace, "model verify --models models/run", &both);
        check_refused(&workspace, "model list --models models/run", &both);
        check_refused(
            &workspace,
            &format!("promote {own} --models models/run"),
            &both,
        );
        check_refused(
            &workspace,
            &format!("model show {version} --models models/run"),
            &both,
        );
    }
    workspace.write(&document, sound);
    assert_eq!(json(&workspace, &gc)["removed"], planned["removed"]);
}

#[test]
fn ids_in_champions_verdicts_and_lineage_are_version_ids_or_built_ins() {
    let workspace = copy_of_run();
    config(&workspace, "3", "2");
    workspace.done(&format!("gc --config {CONFIG}"));
    let verify = "model verify --models models/run".to_owned();
    // An id that is one, but not of the content beside it.
    let closed = std::fs::read(workspace.path("models/run/closed.json")).unwrap();
    for (id, words) in [("v0001", "another content"), ("v0042", "which is gone")] {
        reseal(&workspace, "models/run/closed.json", |file| {
            file["champion"]["id"] = id.into();
        });
        check_refused(&workspace, &verify, &["models/run/closed.json", id, words]);
    }
    workspace.write("models/run/closed.json", closed);
    let status = format!("status --config {CONFIG}");
    for (name, pointer, command) in [
        ("models/run/champion.json", "/history/0/id", &verify),
        ("models/run/closed.json", "/champion/id", &verify),
        ("models/run/closed.json", "/champion/id", &status),
        ("models/run/v0003/model.json", "/parent/id", &verify),
        (
            "datasets/run/gate/generation=0003/verdict.json",
            "/candidate/id",
            &verify,
        ),
        (
            "datasets/run/gate/generation=0003/verdict.json",
            "/baseline/id",
            &status,
        ),
    ] {
        let sound = std::fs::read(workspace.path(name)).unwrap();
        for id in ["../../elsewhere", "models/run/v0002", "builtin:none"] {
            reseal(&workspace, name, |file| {
                *file.pointer_mut(pointer).unwrap() = id.into();
            });
            check_refused(&workspace, command, &[name, &format!("`{id}`")]);
        }
        workspace.write(name, sound);
        workspace.done(command);
    }
}

#[test]
fn a_renamed_version_is_not_promoted_and_a_copy_under_a_name_of_its_own_plays() {
    let workspace = copy_of_run();
    let models = workspace.path("models/run");
    std::fs::rename(models.join("v0005"), models.join("v0010")).unwrap();
    let words = ["models/run/v0010/model.json", "v0005", "v0010"];
    check_refused(&workspace, "promote v0010 --models models/run", &words);
    check_refused(&workspace, "promote models/run/v0010", &words);
    check_refused(&workspace, "model verify --models models/run", &words);
    std::fs::rename(models.join("v0010"), models.join("v0005")).unwrap();
    workspace.done("model verify --models models/run");

    copy_folder(&models.join("v0005"), &models.join("best"));
    copy_folder(&models.join("v0005"), &workspace.path("elsewhere/v0005"));
    copy_folder(&models.join("v0005"), &workspace.path("misnamed/v0001"));
    let content = json(&workspace, "model show v0005 --models models/run")["content"].clone();
    for copy in ["models/run/best", "elsewhere/v0005"] {
        let shown = json(&workspace, &format!("model show {copy}"));
        assert_eq!(
            (&shown["id"], &shown["content"]),
            (&"v0005".into(), &content),
            "{copy}"
        );
    }
    check_refused(&workspace, "model show misnamed/v0001", &["v0005", "v0001"]);
    check_refused(
        &workspace,
        "promote models/run/best",
        &["models/run/best is not one of its versions"],
    );
    assert_eq!(
        json(&workspace, "model verify --models models/run")["versions"]
            .as_array()
            .unwrap()
            .len(),
        8
    );
}

#[test]
fn a_rollback_whose_report_cannot_be_written_says_that_it_took_effect() {
    let workspace = copy_of_run();
    let history = || {
        ChampionFile::read(&workspace.path("models/run"))
            .unwrap()
            .history
    };
    let before = history();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let arguments = ["promote", "--rollback", "--models", "models/run", "--json"];
    let output = workspace.command(&arguments).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(history(), before[..before.len() - 1]);
    let champion = format!(
        "the champion is {}, before {}",
        before[before.len() - 2].id,
        before[before.len() - 1].id
    );
    for words in [
        "the rollback took effect",
        champion.as_str(),
        "do not repeat it",
    ] {
        assert!(stderr.contains(words), "`{words}` is not in\n{stderr}");
    }
}

#[test]
fn help_offers_what_a_command_uses_and_names_the_default_it_takes() {
    let workspace = Workspace::new();
    let help = |command: &str| {
        let text = workspace.done(&format!("{command} --help"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let promote = help("promote");
    assert!(promote.contains("--verdict <DIR>"), "{promote}");
    for option in ["--budget", "--since"] {
        assert!(!promote.contains(option), "{promote}");
        workspace.ends(&format!("promote --rollback {option} 1"), 2, &[option]);
    }
    let import = help("dataset import");
    assert!(
        import.contains("the model that searches [default: champion, else builtin:champion]"),
        "{import}"
    );
    workspace.write("line.txt", "f5d6c3d3c4f4f6f3e6e7");
    workspace.done("dataset import line.txt --format transcripts --output imported --label-depth 1 --keep-going");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(workspace.path("imported/manifest.json")).unwrap())
            .unwrap();
    let shown = json(&workspace, "model show builtin:champion");
    assert_eq!(
        manifest["models"]["labeler"], shown["content"],
        "{manifest}"
    );
}

#[test]
fn a_number_that_cannot_grow_ends_in_an_error_and_not_in_a_loop() {
    let workspace = copy_of_run();
    let train = |epochs: &str| {
        workspace.config("other", "smoke", &[("train.epochs", epochs)]);
        "train --config configs/other.toml --dataset datasets/run/selfplay/generation=0001 --models models/run"
            .to_owned()
    };
    // More digits than a version can have: a folder like any other.
    let last = |digits: &str| format!("models/run/v{digits}");
    copy_folder(
        &workspace.path("models/run/v0005"),
        &workspace.path(&last("18446744073709551615")),
    );
    assert_eq!(workspace.done(&train("2")), "v0009");
    copy_folder(
        &workspace.path("models/run/v0005"),
        &workspace.path(&last("999999999")),
    );
    let document = last("999999999") + "/model.json";
    reseal(&workspace, &document, |document| {
        document["id"] = "v999999999".into();
    });
    check_refused(
        &workspace,
        &train("3"),
        &["models/run", "v999999999", "--models"],
    );
    std::fs::remove_dir_all(workspace.path(&last("999999999"))).unwrap();
    let mut closed = ClosedFile::default();
    closed.version_last = Some(VersionId::LAST);
    closed.write(&workspace.path("models/run")).unwrap();
    check_refused(&workspace, &train("3"), &["models/run", "v999999999"]);
    reseal(&workspace, "models/run/closed.json", |file| {
        file["version_last"] = u64::MAX.into();
    });
    check_refused(
        &workspace,
        &train("3"),
        &["models/run/closed.json", "18446744073709551615"],
    );
}
