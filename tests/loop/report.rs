//! The report: one page without scripts and foreign files, the same for the same run, whatever the
//! run's files say.

use crate::support::drawings::{Drawing, drawings, number};

use crate::support::workspace::{Workspace, pipeline};
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::artifact::{Dataset, MPC_SAMPLES, MpcSampleRow, NEVER};
use renma::engine::LEVELS;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A run of two generations with sequential tests, made by `pipeline.sh`.
fn run(name: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.config(name, "smoke", &[("gate.mode", "\"sprt\"")]);
    let outcome = pipeline(&workspace, &format!("--config configs/{name}.toml"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    workspace
}

fn page(workspace: &Workspace, name: &str) -> String {
    workspace.done(&format!("report --config configs/{name}.toml"));
    fs::read_to_string(workspace.path(&format!("models/{name}/report.html"))).unwrap()
}

/// The texts between two markers.
fn between<'t>(text: &'t str, from: &'t str, to: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(from)
        .skip(1)
        .map(move |rest| rest.split(to).next().unwrap())
}

fn unescaped(text: &str) -> String {
    let codes = [
        ("<i>", ""),
        ("</i>", ""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    codes
        .into_iter()
        .fold(text.to_owned(), |text, (code, letter)| {
            text.replace(code, letter)
        })
}

/// Changes a sealed document.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = read_sealed(path).unwrap();
    change(&mut value);
    write_sealed(path, &value).unwrap();
}

#[test]
fn a_run_leaves_a_page_that_stands_alone_and_is_repeatable() {
    let workspace = run("smoke");
    let made = fs::read_to_string(workspace.path("models/smoke/report.html"))
        .expect("pipeline.sh makes it");
    assert!(
        made == page(&workspace, "smoke"),
        "another page from the same files"
    );
    for foreign in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "@import",
        "url(",
        "http:",
        "https:",
        " src=",
        "http-equiv",
    ] {
        assert!(!made.contains(foreign), "{foreign}");
    }
    for section in [
        "Ladder",
        "Gates",
        "Error by generation",
        "Held-out error by empties",
        "Exact error by empties",
    ] {
        assert!(made.contains(&format!("<h3>{section}</h3>")), "{section}");
    }
    for section in [
        "Training loss",
        "Coverage",
        "Calibration",
        "Throughput",
        "Efficiency",
        "Processor time",
    ] {
        assert!(made.contains(&format!("<h3>{section}</h3>")), "{section}");
    }
    let report: Value =
        serde_json::from_str(&workspace.done("report --config configs/smoke.toml --json")).unwrap();
    assert_eq!(
        report,
        json!({"path": "models/smoke/report.html", "bytes": made.len()})
    );
    // From elsewhere the config has a longer path, and the page is the same.
    let config = workspace.path("configs/smoke.toml");
    workspace.done(&format!("report --config {}", config.display()));
    assert!(made == fs::read_to_string(workspace.path("models/smoke/report.html")).unwrap());
}

/// The sentence of a figure.
fn sentence(page: &str, title: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("<h3>{title}</h3><p>"))
        .unwrap_or_else(|| panic!("{title} is left out"));
    unescaped(rest.split("</p>").next().unwrap())
}

/// The words of a text that are numbers, as numbers.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|letter| ".,;:[]%".contains(letter)))
        .filter_map(number)
        .collect()
}

/// Compares the numbers of a text with values, each rounded to so many decimals.
fn check_numbers(text: &str, expected: &[(f64, i32)]) {
    let found = numbers(text);
    assert_eq!(found.len(), expected.len(), "{text}");
    for (found, (value, decimals)) in found.into_iter().zip(expected) {
        assert!(
            (found - value).abs() <= 0.5 * 0.1_f64.powi(*decimals) + 1e-9,
            "{found} for {value}: {text}"
        );
    }
}

fn json_of(workspace: &Workspace, name: &str) -> Value {
    serde_json::from_slice(&fs::read(workspace.path(name)).unwrap()).unwrap()
}

fn real(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn the_figures_of_models_are_those_of_the_champion_and_not_of_the_latest() {
    let workspace = run("smoke");
    workspace.done("promote models/smoke/v0002");
    let page = page(&workspace, "smoke");
    let [training, fit, latest] = ["v0001", "v0002", "v0003"].map(|version| {
        json_of(&workspace, &format!("models/smoke/{version}/model.json"))["metrics"].take()
    });
    let check = |title: &str, version: &str, expected: &[(f64, i32)]| {
        let sentence = sentence(&page, title);
        assert!(sentence.contains(version), "{sentence}");
        check_numbers(&sentence, expected);
    };
    let after = &training["after"];
    check(
        "Held-out error by empties",
        "v0001",
        &[(real(&after["mae"]), 2)],
    );
    let exact = &training["labels"]["exact"];
    check(
        "Exact error by empties",
        "v0001",
        &[(real(&exact["mae"]), 2)],
    );
    for range in [after, exact]
        .into_iter()
        .flat_map(|errors| errors["by_empties"].as_array().unwrap())
    {
        let tip = format!(
            "<title>{} empty: {:.2} discs</title>",
            range["min"],
            real(&range["mae"])
        );
        assert!(page.contains(&tip), "{tip}");
    }
    let losses: Vec<f64> = training["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|epoch| real(&epoch["mae"]))
        .collect();
    check(
        "Training loss",
        "v0001",
        &[
            (losses[0], 2),
            (losses[losses.len() - 1], 2),
            (losses.len() as f64, 0),
        ],
    );
    for (loss, epoch) in losses.iter().zip(1..) {
        assert!(
            page.contains(&format!("<title>epoch {epoch}: {loss:.3} discs</title>")),
            "epoch {epoch}"
        );
    }
    // Coverage is of all trainings.
    let [seen, unvisited, weights] =
        ["seen", "unvisited", "weights"].map(|name| real(&latest["coverage"][name]));
    check(
        "Coverage",
        "v0003",
        &[(100.0 * seen, 2), (unvisited, 0), (weights, 0)],
    );
    let missed = real(&fit["held_out"][0]["miss_rates"][1]);
    check("Calibration", "v0002", &[(100.0 * missed, 1), (13.0, 0)]);
    let scatter = sentence(&page, "A shallow search predicts a deep one");
    let [deep, shallow, min, max, samples, sigma] = numbers(&scatter)[..] else {
        panic!("{scatter}")
    };
    let of_pair = |line: &&Value| {
        ["deep", "shallow", "empties_min", "empties_max"].map(|name| line[name].as_f64())
    };
    let mut lines = fit["depths"].as_array().unwrap().iter();
    let line = lines
        .find(|line| of_pair(line) == [deep, shallow, min, max].map(Some))
        .unwrap();
    assert!(
        scatter.starts_with("v0002: ") && (33.0_f64).clamp(min, max) == 33.0,
        "{scatter}"
    );
    assert!(
        (sigma - real(&line["sigma"]) / 1000.0).abs() <= 0.05 + 1e-9,
        "{line}"
    );
    let dataset = Dataset::open_any(&workspace.path("datasets/smoke/mpc/generation=0001")).unwrap();
    let parts = (0..dataset.part_count()).map(|part| {
        dataset
            .read::<MpcSampleRow>(&MPC_SAMPLES, part, &NEVER)
            .unwrap()
    });
    let is_shown = |row: &MpcSampleRow| {
        f64::from(row.depth) == deep && (min..=max).contains(&f64::from(row.empties))
    };
    assert_eq!(
        samples,
        parts.flatten().filter(is_shown).count() as f64,
        "{scatter}"
    );
}

#[test]
fn the_figures_of_the_run_are_those_of_its_status() {
    let workspace = run("smoke");
    workspace.done("promote models/smoke/v0002");
    let page = page(&workspace, "smoke");
    let status: Value =
        serde_json::from_str(&workspace.done("status --config configs/smoke.toml --json")).unwrap();
    let ladder = status["ladder"].as_array().unwrap();
    for player in ladder {
        let [elo, low, high] = ["elo", "elo_low", "elo_high"].map(|name| real(&player[name]));
        let id = player["id"].as_str().unwrap();
        assert!(
            page.contains(&format!(
                "<title>{id}: {elo:+.0} [{low:+.0}, {high:+.0}] Elo</title>"
            )),
            "{player}"
        );
        if id == "v0002" {
            check_numbers(
                &sentence(&page, "Ladder"),
                &[(elo, 0), (low, 0), (high, 0), (95.0, 0)],
            );
        }
    }
    let generations = status["generations"].as_array().unwrap();
    for line in generations {
        for (name, key) in [
            ("before", "mae_before"),
            ("after", "mae_after"),
            ("exact", "exact_mae"),
        ] {
            let tip = format!(
                "generation {}: {name} {:.2} discs",
                line["generation"],
                real(&line[key])
            );
            assert!(page.contains(&tip), "{tip}");
        }
    }
    let exact = [0, 1].map(|place| real(&generations[place]["exact_mae"]));
    check_numbers(
        &sentence(&page, "Error by generation"),
        &exact.map(|error| (error, 2)),
    );
    let gate = json_of(
        &workspace,
        "datasets/smoke/gate/generation=0002/verdict.json",
    );
    check_numbers(&sentence(&page, "Gates"), &[(real(&gate["pairs_done"]), 0)]);
    assert!(
        sentence(&page, "Gates").contains(gate["verdict"].as_str().unwrap()),
        "{gate}"
    );
    let speed = real(&status["play_speed"][1]["games_per_second"]);
    check_numbers(&sentence(&page, "Throughput"), &[(2.0, 0), (speed, 0)]);
    let efficiency = &status["efficiency"];
    check_numbers(
        &sentence(&page, "Efficiency"),
        &[(100.0 * real(&efficiency["efficiency"]), 0)],
    );
    check_numbers(
        &sentence(&page, "Processor time"),
        &[(real(&efficiency["cpu_seconds"]), 1)],
    );
    let tiles: Vec<&str> = between(&page, "<dd>", "</dd>")
        .chain(between(&page, "<dd class=\"note\">", "</dd>"))
        .collect();
    let [champion, elo, error, games, made, ends, _, positions] = tiles[..] else {
        panic!("{tiles:?}")
    };
    assert_eq!((champion, made), ("v0002", "made by generation 1"));
    let rating = ladder
        .iter()
        .find(|player| player["id"] == "v0002")
        .unwrap();
    check_numbers(elo, &[(real(&rating["elo"]), 0)]);
    check_numbers(
        ends,
        &[
            (real(&rating["elo_low"]), 0),
            (real(&rating["elo_high"]), 0),
        ],
    );
    check_numbers(error, &[(exact[0], 2)]);
    let sum = |name: &str| {
        generations
            .iter()
            .map(|line| real(&line[name]))
            .sum::<f64>()
    };
    check_numbers(games, &[(sum("games"), 0)]);
    check_numbers(positions, &[(sum("positions"), 0)]);
}

/// The pair of values that a tooltip of a chart names, each with the number of its decimals; a
/// ladder's names no generation.
fn pair_of_tip(title: &str, tip: &str) -> [(f64, i32); 2] {
    let words = tip
        .split_whitespace()
        .map(|word| word.trim_matches(|letter| ".,;:[]%".contains(letter)));
    let decimals = |word: &str| {
        word.split_once('.')
            .map_or(0, |(_, decimals)| decimals.len() as i32)
    };
    let found: Vec<(f64, i32)> = words
        .filter_map(|word| Some((number(word)?, decimals(word))))
        .collect();
    match (title, &found[..]) {
        ("Calibration", [.., missed, expected]) => [*expected, *missed],
        (_, [x, y]) => [*x, *y],
        _ => panic!("{title}: {tip}"),
    }
}

/// That a mark stands where values, rounded to these decimals, are drawn.
fn check_place(drawing: &Drawing, found: [f64; 2], values: [(f64, i32); 2], about: &str) {
    let place = drawing.place(values.map(|(value, _)| value));
    for axis in [0, 1] {
        let rounding = 0.5 * 0.1_f64.powi(values[axis].1) * drawing.pixels()[axis];
        assert!(
            (found[axis] - place[axis]).abs() <= 0.4 + rounding,
            "{about}: {found:?} and not {place:?}"
        );
    }
}

#[test]
fn marks_stand_where_their_numbers_are_on_the_axes() {
    let workspace = run("smoke");
    let page = page(&workspace, "smoke");
    let series = [
        "Error by generation",
        "Held-out error by empties",
        "Exact error by empties",
        "Training loss",
    ];
    for title in series
        .into_iter()
        .chain(["Coverage", "Calibration", "Throughput"])
    {
        let [drawing] = &drawings(&page, title)[..] else {
            panic!("{title}")
        };
        assert!(2 <= drawing.dots.len(), "{title}");
        for (place, tip) in &drawing.dots {
            check_place(
                drawing,
                *place,
                pair_of_tip(title, tip),
                &format!("{title}: {tip}"),
            );
        }
    }
}

#[test]
fn the_ladder_shows_each_player_at_its_generation_and_the_line_of_champions() {
    let workspace = run("smoke");
    // As if the first candidate had been promoted and the second had played it.
    workspace.done("promote models/smoke/v0002");
    let verdict = |generation| {
        workspace.path(&format!(
            "datasets/smoke/gate/generation=000{generation}/verdict.json"
        ))
    };
    let first: Value = read_sealed(&verdict(1)).unwrap();
    edit(&verdict(2), |second| {
        second["baseline"] = first["candidate"].clone();
    });
    let status: Value =
        serde_json::from_str(&workspace.done("status --config configs/smoke.toml --json")).unwrap();
    let ladder = status["ladder"].as_array().unwrap();
    let wide_and_narrow = drawings(&page(&workspace, "smoke"), "Ladder");
    assert_eq!((wide_and_narrow.len(), ladder.len()), (2, 3));
    for drawing in &wide_and_narrow {
        for player in ladder {
            let [elo, low, high] = ["elo", "elo_low", "elo_high"].map(|name| real(&player[name]));
            let id = player["id"].as_str().unwrap();
            // v0002 is the candidate of generation 1, v0004 that of generation 2.
            let generation = id
                .strip_prefix('v')
                .map_or(0.0, |version| number(version).unwrap() / 2.0);
            let is_of = |tip: &String| tip.starts_with(&format!("{id}: "));
            let (dot, _) = drawing.dots.iter().find(|(_, tip)| is_of(tip)).unwrap();
            let (from, to, _) = drawing.bars.iter().find(|(.., tip)| is_of(tip)).unwrap();
            for (place, value) in [(dot, elo), (from, low), (to, high)] {
                check_place(drawing, *place, [(generation, 6), (value, 6)], id);
                // Labels above and below are not cut off.
                assert!(
                    drawing.labels.iter().all(|(_, label, _)| 8.0 <= label[1]),
                    "{:?}",
                    drawing.labels
                );
                let ticks = drawing
                    .labels
                    .iter()
                    .find(|(class, ..)| class == "tick middle")
                    .unwrap()
                    .1[1];
                assert!(
                    place[1] + 17.0 <= ticks - 8.0 && 26.0 + 8.0 <= place[1],
                    "{id}: {place:?}"
                );
            }
        }
        let (_, _, champions) = drawing
            .paths
            .iter()
            .find(|(class, ..)| class == "line accent")
            .unwrap();
        let is_champion = |tip: &String| !tip.starts_with("v0004: ");
        let expected = drawing
            .dots
            .iter()
            .filter(|(_, tip)| is_champion(tip))
            .map(|(place, _)| *place);
        let apart = |(from, to): (&[f64; 2], [f64; 2])| {
            (from[0] - to[0]).abs().max((from[1] - to[1]).abs())
        };
        assert_eq!(champions.len(), 2);
        assert!(
            champions
                .iter()
                .zip(expected)
                .map(apart)
                .all(|distance| distance <= 0.2),
            "{champions:?}"
        );
    }
    // Two players make a ladder.
    fs::remove_dir_all(workspace.path("datasets/smoke/gate/generation=0002")).unwrap();
    assert_eq!(
        drawings(&page(&workspace, "smoke"), "Ladder")[0].dots.len(),
        2
    );
}

#[test]
fn the_line_of_a_fit_predicts_the_deep_score() {
    let workspace = run("smoke");
    let document = workspace.path("models/smoke/v0004/model.json");
    workspace.done("promote models/smoke/v0004");
    edit(&document, |document| {
        for fit in document["metrics"]["depths"].as_array_mut().unwrap() {
            for (key, value) in [
                ("slope", json!(0.75)),
                ("offset", json!(3000)),
                ("growth", json!(0.125)),
            ] {
                fit[key] = value;
            }
        }
    });
    let page = page(&workspace, "smoke");
    let [drawing] = &drawings(&page, "A shallow search predicts a deep one")[..] else {
        panic!("one scatter")
    };
    assert!(
        !sentence(&page, "A shallow search predicts a deep one").contains("the first"),
        "all samples are drawn"
    );
    let [deep, shallow, min, max, samples, _] =
        numbers(&sentence(&page, "A shallow search predicts a deep one"))[..]
    else {
        panic!("six numbers")
    };
    let metrics = read_sealed::<Value>(&document).unwrap()["metrics"].take();
    let of_pair = |fit: &&Value| {
        ["deep", "shallow", "empties_min", "empties_max"].map(|name| fit[name].as_f64())
    };
    let mut fits = metrics["depths"].as_array().unwrap().iter();
    let fit = fits
        .find(|fit| of_pair(fit) == [deep, shallow, min, max].map(Some))
        .unwrap();
    let line = |class: &str, name: &str| {
        let mut lines = drawing
            .paths
            .iter()
            .filter(|(found, title, _)| (&found[..], &title[..]) == (class, name));
        &lines
            .next()
            .unwrap_or_else(|| panic!("{name} is not drawn"))
            .2
    };
    let margins = [
        ("line ink", "fit", 0.0),
        ("line muted", "87 %", 1.0),
        ("line muted", "", -1.0),
    ];
    for (class, name, margin) in margins {
        let points = line(class, name);
        assert!(16 <= points.len(), "{name}");
        let steps: Vec<f64> = points
            .windows(2)
            .map(|pair| pair[1][0] - pair[0][0])
            .collect();
        assert!(
            steps
                .iter()
                .all(|step| 0.0 < *step && (step - steps[0]).abs() <= 0.2),
            "{name}: {steps:?}"
        );
        for &point in points {
            let [shallow, deep] = drawing.values(point);
            let deviation = real(&fit["sigma"]) / 1000.0 + 0.125 * shallow.abs();
            let expected = 0.75 * shallow + 3.0 + margin * real(&fit["quantiles"][1]) * deviation;
            assert!(
                (deep - expected).abs() * drawing.pixels()[1] <= 1.0,
                "{name}: {deep} and not {expected}"
            );
        }
    }
    assert_eq!(line("cloud", "").len() as f64, samples);
    let groups = metrics["held_out"].as_array().unwrap();
    for group in groups {
        for (level, rate) in LEVELS.iter().zip(group["miss_rates"].as_array().unwrap()) {
            let (name, missed) = (
                escaped(group["group"].as_str().unwrap()),
                100.0 * real(rate),
            );
            let tip = format!(
                "<title>{name}: {missed:.1} % missed where {} % were expected</title>",
                100 - level
            );
            assert!(page.contains(&tip), "{tip}");
        }
    }
}

#[test]
fn the_tables_and_bars_of_the_page_are_those_of_the_run() {
    let workspace = run("smoke");
    // As if the run had taken 30 CPU-seconds and had promoted a candidate, which takes no share of
    // its time.
    let log = workspace.path("models/smoke/run.log");
    let events = fs::read_to_string(&log).unwrap();
    let mut events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let taken: f64 = events.iter().map(|event| real(&event["cpu_seconds"])).sum();
    for event in &mut events {
        for name in ["seconds", "cpu_seconds"] {
            event[name] = json!(30.0 / taken * real(&event[name]));
        }
    }
    let mut promotion = events[0].clone();
    (promotion["stage"], promotion["cpu_seconds"]) = (json!("promote"), json!(0.01));
    let lines: String = events
        .iter()
        .chain([&promotion])
        .map(|event| format!("{event}\n"))
        .collect();
    fs::write(&log, lines).unwrap();
    let page = page(&workspace, "smoke");
    let status: Value =
        serde_json::from_str(&workspace.done("status --config configs/smoke.toml --json")).unwrap();
    let generations = status["generations"].as_array().unwrap();
    let rows: Vec<&str> = between(&page, "<tr>", "</tr>").skip(1).collect();
    let items: Vec<&str> = between(&page, "<li ", "</li>").collect();
    assert_eq!([rows.len(), items.len()], [generations.len(); 2]);
    // The latest come first.
    for (line, (row, item)) in generations.iter().rev().zip(rows.iter().zip(items)) {
        let folder = format!(
            "datasets/smoke/selfplay/generation={:04}",
            line["generation"].as_u64().unwrap()
        );
        let files = ["positions", "games"]
            .map(|kind| fs::read_dir(workspace.path(&format!("{folder}/{kind}"))).unwrap());
        let bytes = files
            .into_iter()
            .flatten()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum::<u64>() as f64;
        let positions = real(&line["positions"]);
        let figures: String = row
            .split_once("<code>")
            .unwrap()
            .0
            .replace("<", " <")
            .replace('>', "> ");
        let [generation, games] = ["generation", "games"].map(|name| (real(&line[name]), 0));
        check_numbers(
            &figures,
            &[
                generation,
                games,
                (positions, 0),
                (bytes / 1e6, 2),
                (bytes / positions, 2),
            ],
        );
        let manifest =
            read_sealed::<Value>(&workspace.path(&format!("{folder}/manifest.json"))).unwrap();
        assert!(
            row.contains(&format!(
                "<code>{}",
                &manifest["content"].as_str().unwrap()[..8]
            )),
            "{row}"
        );
        let (verdict, candidate) = (
            line["verdict"].as_str().unwrap(),
            line["candidate"].as_str().unwrap(),
        );
        let class = if verdict == "accepted" {
            "accepted"
        } else {
            "other"
        };
        let draft = number(&candidate[1..]).unwrap() - 1.0;
        for part in [
            format!("class=\"{class}\""),
            format!("<strong>{candidate}</strong>"),
            format!("fitted to v{draft:04}"),
            format!(">{verdict}: "),
        ] {
            assert!(item.contains(&part), "{part}: {item}");
        }
    }
    let stages = status["efficiency"]["stages"].as_object().unwrap();
    let cpu = |stage: &Value| real(&stage["cpu_seconds"]);
    let most = stages.values().map(cpu).fold(0.0, f64::max);
    for (title, key, whole) in [
        ("Efficiency", "efficiency", 1.0),
        ("Processor time", "cpu_seconds", most),
    ] {
        let (_, rest) = page.split_once(&format!("<h3>{title}</h3>")).unwrap();
        let bars: Vec<&str> =
            between(rest.split("</figure>").next().unwrap(), "<b>", "</b>").collect();
        let widths: Vec<&str> =
            between(rest.split("</figure>").next().unwrap(), "width:", "%").collect();
        // The references below the bars have names too.
        let bars = &bars[..bars.len() - 2];
        let shown: Vec<(&String, &Value)> = stages
            .iter()
            .filter(|(_, stage)| 0.002 * cpu(&status["efficiency"]) < cpu(stage))
            .collect();
        assert!(
            shown.len() < stages.len(),
            "a promotion took 0.2 % of the time"
        );
        assert_eq!(
            [bars.len(), widths.len()],
            [2 * shown.len(), shown.len()],
            "{title}"
        );
        for ((bar, width), (name, stage)) in bars.chunks(2).zip(widths).zip(shown) {
            let value = real(&stage[key]);
            assert_eq!(bar[0], name);
            check_numbers(width, &[(100.0 * value / whole, 1)]);
            let (scale, decimals) = if key == "efficiency" {
                (100.0, 0)
            } else {
                (1.0, 1)
            };
            check_numbers(bar[1], &[(scale * value, decimals)]);
        }
    }
    let files: Vec<&str> = between(&page, "<b>from</b> <code>", "</code>").collect();
    assert!(10 <= files.len(), "{files:?}");
    for file in files {
        assert!(file.contains('/'), "`{file}` is in no folder");
        let listed = Command::new("sh")
            .args(["-c", &format!("ls {file}")])
            .current_dir(workspace.root())
            .output()
            .unwrap();
        assert!(listed.status.success(), "{file} is not there");
    }
}

#[test]
fn every_command_that_the_page_names_prints_numbers() {
    let workspace = run("smoke");
    let page = page(&workspace, "smoke");
    let mut commands: Vec<String> = between(&page, "<code>", "</code>")
        .filter(|code| code.starts_with("renma "))
        .map(unescaped)
        .collect();
    commands.sort();
    commands.dedup();
    assert!(8 <= commands.len(), "{commands:?}");
    let program = Path::new(env!("CARGO_BIN_EXE_renma")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let mut shell = Command::new("sh");
        let output = shell
            .args(["-c", &command])
            .current_dir(workspace.root())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{command}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!output.stdout.is_empty(), "{command}");
    }
    let status: Value =
        serde_json::from_str(&workspace.done("status --config configs/smoke.toml --json")).unwrap();
    assert!(
        0.0 < status["play_speed"][1]["games_per_second"]
            .as_f64()
            .unwrap(),
        "{status}"
    );
    assert!(
        0.0 < status["efficiency"]["stages"]["train"]["cpu_seconds"]
            .as_f64()
            .unwrap(),
        "{status}"
    );
    let gate = workspace.done("dataset inspect datasets/smoke/gate/generation=0001 --json");
    let gate: Value = serde_json::from_str(&gate).unwrap();
    let last = gate["looks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last["llr"], gate["test"]["llr"],
        "the path ends where the verdict says"
    );
    assert_eq!(
        last["pairs"].as_u64().unwrap() * 2,
        gate["games"].as_u64().unwrap()
    );
}

#[test]
fn a_page_is_read_again_only_while_the_run_is_at_work() {
    let workspace = run("smoke");
    let record = workspace.path("models/smoke/run.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert!(!page(&workspace, "smoke").contains("http-equiv"));
    value["outcome"] = "running".into();
    fs::write(&record, value.to_string()).unwrap();
    assert!(page(&workspace, "smoke").contains("<meta http-equiv=\"refresh\" content=\"10\"/>"));
    for text in ["{", ""] {
        fs::write(&record, text).unwrap();
        assert!(
            !page(&workspace, "smoke").contains("http-equiv"),
            "a damaged record says nothing"
        );
    }
}

#[test]
fn what_a_run_does_not_have_is_said_and_not_drawn() {
    let workspace = Workspace::new();
    workspace.config("smoke", "smoke", &[]);
    let outcome = workspace.run("report --config configs/smoke.toml");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("models/smoke") && outcome.stderr.contains("renma run"),
        "{}",
        outcome.stderr
    );
    fs::create_dir_all(workspace.path("models/smoke")).unwrap();
    let page = page(&workspace, "smoke");
    assert!(!page.contains("<figure"), "{page}");
    assert!(5 <= page.matches("class=\"absent\"").count(), "{page}");
    fs::write(workspace.path("models/smoke/report.html"), "mine").unwrap();
    let outcome = workspace.run("report --config configs/smoke.toml");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(
        fs::read_to_string(workspace.path("models/smoke/report.html")).unwrap(),
        "mine"
    );
}

#[test]
fn no_text_of_a_file_becomes_markup() {
    const HOSTILE: &str = "<script>alert(\"1\")&'";
    let workspace = run("smoke");
    let name = HOSTILE;
    fs::rename(
        workspace.path("configs/smoke.toml"),
        workspace.path(&format!("configs/{name}.toml")),
    )
    .unwrap();
    for folder in ["models", "datasets"] {
        fs::rename(
            workspace.path(&format!("{folder}/smoke")),
            workspace.path(&format!("{folder}/{name}")),
        )
        .unwrap();
    }
    let models = workspace.path(&format!("models/{name}"));
    let mut record: Value =
        serde_json::from_slice(&fs::read(models.join("run.json")).unwrap()).unwrap();
    for key in ["outcome", "began", "ended"] {
        record[key] = format!("{key}{HOSTILE}T{HOSTILE}").into();
    }
    fs::write(models.join("run.json"), record.to_string()).unwrap();
    let log = fs::read_to_string(models.join("run.log")).unwrap();
    let stage = serde_json::to_string(&format!("stage{HOSTILE}")).unwrap();
    fs::write(models.join("run.log"), log.replace("\"train\"", &stage)).unwrap();
    for version in ["v0002", "v0004"] {
        edit(&models.join(version).join("model.json"), |document| {
            document["metrics"]["held_out"][0]["group"] = format!("group{HOSTILE}").into();
        });
    }
    let page = page(&workspace, name);
    let places = [
        ("run", format!("<h1>{}", escaped(HOSTILE))),
        ("outcome", format!("outcome{}", escaped(HOSTILE))),
    ];
    for (place, text) in places
        .into_iter()
        .chain(["stage", "group"].map(|place| (place, format!("{place}{}", escaped(HOSTILE)))))
    {
        assert!(page.contains(&text), "{place} is shown");
    }
    assert!(
        !page.contains("<script") && !page.contains("alert(\""),
        "{page}"
    );
}

#[test]
fn the_exact_error_of_a_candidate_is_a_figure_of_its_training() {
    let workspace = run("smoke");
    let before = page(&workspace, "smoke");
    let models = workspace.path("models/smoke");
    // No model is measured again.
    fs::remove_file(models.join("v0002/weights.parquet")).unwrap();
    assert!(page(&workspace, "smoke") == before);
    // A draft as a former program made it.
    edit(&models.join("v0001/model.json"), |document| {
        assert!(
            document["metrics"]
                .as_object_mut()
                .unwrap()
                .remove("exact_mae")
                .is_some()
        );
    });
    assert!(page(&workspace, "smoke") != before);
    let status: Value =
        serde_json::from_str(&workspace.done("status --config configs/smoke.toml --json")).unwrap();
    let [first, second] = [0, 1].map(|place| &status["generations"][place]["exact_mae"]);
    assert!(first.is_null() && second.is_f64(), "{first} {second}");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Makes a run of this number of generations from its second, with documents that say the rest.
fn prolong(workspace: &Workspace, name: &str, generations: u64) {
    let (models, datasets) = (
        workspace.path(&format!("models/{name}")),
        workspace.path(&format!("datasets/{name}")),
    );
    let folder = |stage: &str, generation: u64| {
        datasets
            .join(stage)
            .join(format!("generation={generation:04}"))
    };
    for generation in 3..=generations {
        let [draft, candidate] =
            [2 * generation - 1, 2 * generation].map(|number| format!("v{number:04}"));
        for (from, to) in [("v0003", &draft), ("v0004", &candidate)] {
            copy(&models.join(from), &models.join(to));
            edit(&models.join(to).join("model.json"), |document| {
                document["id"] = to.as_str().into();
                if let Some(last) = document["datasets"]
                    .as_array_mut()
                    .and_then(|datasets| datasets.last_mut())
                {
                    last["generation"] = generation.into();
                }
            });
        }
        for stage in ["selfplay", "mpc", "gate"] {
            copy(&folder(stage, 2), &folder(stage, generation));
            edit(
                &folder(stage, generation).join("manifest.json"),
                |manifest| {
                    manifest["generation"] = generation.into();
                },
            );
        }
        let content = |generation: u64| format!("{generation:064x}");
        edit(
            &folder("gate", generation).join("verdict.json"),
            |verdict| {
                verdict["candidate"] = json!({"id": candidate, "content": content(generation)});
                if 3 < generation {
                    let before = format!("v{:04}", 2 * generation - 2);
                    verdict["baseline"] = json!({"id": before, "content": content(generation - 1)});
                }
            },
        );
    }
}

#[test]
fn a_hundred_generations_take_two_seconds_and_two_megabytes_at_most() {
    let workspace = run("smoke");
    prolong(&workspace, "smoke", 100);
    let first = page(&workspace, "smoke");
    assert!(first.len() < 2 << 20, "{} bytes", first.len());
    assert!(first.contains("v0200") && first.contains("90 earlier generations"));
    // Seconds of a processor, which other tests on the same cores do not use up.
    let script = format!(
        "TIMEFORMAT='%U %S'; time {} report --config configs/smoke.toml",
        env!("CARGO_BIN_EXE_renma")
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let seconds: f64 = text
        .lines()
        .last()
        .unwrap()
        .split(' ')
        .map(|time| time.parse::<f64>().unwrap())
        .sum();
    assert!(seconds < 2.0, "{text}");
    assert!(page(&workspace, "smoke") == first);
}
