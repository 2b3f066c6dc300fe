//! MPC statistics through the program and the library: the same table for any threads, parts and
//! order of samples.

use crate::support::workspace::{Workspace, check_same, copy_folder, files};
use renma::artifact::dataset::folder::{file_entry, part_path};
use renma::artifact::{
    DatasetKind, Footer, LoadedModel, MPC_SAMPLES, Manifest, Model, MpcSampleRow, NEVER, TableRow,
};
use renma::engine::{Depth, LEVELS, MpcLevel, MpcTable, Score, Searcher};
use renma::pipeline::fit_mpc::run::fit_samples;
use renma::pipeline::fit_mpc::sample::Sample;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

const DEPTH_MAX: u8 = 5;

/// Fits the square weights with enough samples for lines of their own.
fn fit(workspace: &Workspace, changes: &[(&str, &str)], options: &str) -> String {
    let small = [("fit_mpc.games", "300"), ("fit_mpc.part_games", "70")];
    let config = workspace.config("fit", "smoke", &[&small, changes].concat());
    workspace.done(&format!(
        "fit-mpc --config {config} --model builtin:square-weights --models registry --output mpc {options}"
    ))
}

static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    assert_eq!(fit(&run, &[], "--threads 1"), "v0001");
    run
});

fn rows(folder: &Path) -> Vec<MpcSampleRow> {
    let manifest = Manifest::read(folder, DatasetKind::Mpc).unwrap();
    let mut rows = Vec::new();
    for (index, part) in manifest.parts.iter().enumerate() {
        let entry = file_entry(folder, part, &MPC_SAMPLES).unwrap();
        let batch = MPC_SAMPLES
            .read(
                &part_path(folder, &MPC_SAMPLES, index),
                entry,
                &Footer::new(),
                &NEVER,
            )
            .unwrap();
        rows.extend(MpcSampleRow::from_batch(&batch).unwrap());
    }
    rows
}

fn samples() -> Vec<Sample> {
    Sample::from_rows(&rows(&RUN.path("mpc")), DEPTH_MAX).unwrap()
}

#[test]
fn one_thread_and_four_give_the_same_bytes() {
    let other = Workspace::new();
    fit(&other, &[], "--threads 4");
    for folder in ["mpc", "registry"] {
        check_same(&RUN.path(folder), &other.path(folder), folder);
    }
}

#[test]
fn one_part_and_nine_in_any_order_give_the_same_fit() {
    let samples = samples();
    let whole = fit_samples(&samples, DEPTH_MAX);
    assert!(
        whole.iter().any(|fit| fit.deep.is_none()),
        "no line to the end"
    );
    for count in [9, 2, samples.len()] {
        let mut parts: Vec<Vec<Sample>> = vec![Vec::new(); count];
        samples
            .iter()
            .enumerate()
            .for_each(|(index, sample)| parts[(index * 7 + 3) % count].push(sample.clone()));
        assert_eq!(
            fit_samples(&parts.concat(), DEPTH_MAX),
            whole,
            "{count} parts"
        );
        parts.reverse();
        parts.iter_mut().for_each(|part| part.reverse());
        assert_eq!(
            fit_samples(&parts.concat(), DEPTH_MAX),
            whole,
            "{count} parts, reversed"
        );
    }
}

#[test]
fn a_killed_fit_goes_on_and_more_games_keep_the_samples_that_are_there() {
    let workspace = Workspace::new();
    copy_folder(&RUN.path("mpc"), &workspace.path("mpc"));
    std::fs::remove_file(workspace.path("mpc/manifest.json")).unwrap();
    // A part in the place of another is as good as missing.
    let part = |number: u8| workspace.path(&format!("mpc/samples/part-0000{number}.parquet"));
    std::fs::copy(part(1), part(2)).unwrap();
    workspace.write("mpc/samples/part-00003.parquet", b"half");
    workspace.write("mpc/samples/.tmp-half", b"half");
    let first = || std::fs::metadata(part(0)).unwrap().ino();
    let before = first();
    fit(&workspace, &[], "");
    assert_eq!(first(), before, "a part that was there was made again");
    for folder in ["mpc", "registry"] {
        check_same(&RUN.path(folder), &workspace.path(folder), folder);
    }
    let before = files(&workspace.path("mpc/samples"));
    assert_eq!(
        fit(&workspace, &[("fit_mpc.games", "360")], "--replace"),
        "v0002"
    );
    let after = files(&workspace.path("mpc/samples"));
    for part in [
        "part-00000.parquet",
        "part-00001.parquet",
        "part-00002.parquet",
        "part-00003.parquet",
    ] {
        assert!(before[part] == after[part], "{part} was made again");
    }
    assert!(before["part-00004.parquet"] != after["part-00004.parquet"] && after.len() == 6);
    let fewer = [
        ("fit_mpc.games", "300"),
        ("fit_mpc.part_games", "70"),
        ("fit_mpc.depth_max", "4"),
    ];
    let config = workspace.config("fewer", "smoke", &fewer);
    let fewer = format!(
        "fit-mpc --config {config} --model builtin:square-weights --models registry --output mpc"
    );
    let outcome = workspace.run(&fewer);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("fit_mpc.depth_max"),
        "{}",
        outcome.stderr
    );
    // The other method does not replace them either, even if the fit was stopped before their
    // manifest.
    std::fs::remove_file(workspace.path("mpc/manifest.json")).unwrap();
    let before = files(&workspace.path("mpc/samples"));
    let source = [
        ("fit_mpc.games", "300"),
        ("fit_mpc.part_games", "70"),
        ("fit_mpc.method", "\"source\""),
        ("fit_mpc.t", "1.4"),
    ];
    let config = workspace.config("source", "smoke", &source);
    let source = format!(
        "fit-mpc --config {config} --model builtin:square-weights --models registry --output mpc"
    );
    let outcome = workspace.run(&source);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("fit_mpc.method"),
        "{}",
        outcome.stderr
    );
    assert!(
        before == files(&workspace.path("mpc/samples")),
        "samples were replaced"
    );
}

#[test]
fn samples_are_met_by_searches_and_by_games_in_the_mix_asked_for() {
    let samples = samples();
    let met: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.met.is_some())
        .collect();
    let share = met.len() as f64 / samples.len() as f64;
    assert!(0.65 < share && share < 0.8, "{share}");
    for depth in 3..=4 {
        let count = met
            .iter()
            .filter(|sample| sample.met.unwrap().depth == depth)
            .count();
        assert!(
            met.len() < 3 * count,
            "depth {depth}: {count} of {}",
            met.len()
        );
    }
    let windows: std::collections::BTreeSet<Score> =
        met.iter().map(|sample| sample.met.unwrap().alpha).collect();
    assert!(met.len() < 2 * windows.len(), "{} windows", windows.len());
    assert!(
        samples
            .iter()
            .all(|sample| sample.position.legal_moves() != 0)
    );
}

#[test]
fn scores_are_those_of_full_width_searches() {
    let model = LoadedModel::read(&RUN.path("registry/v0001")).unwrap();
    let no_table = MpcTable::empty();
    let mut searcher = Searcher::new(&model.model.evaluation, &no_table, 12);
    for sample in samples().iter().step_by(37) {
        for (depth, found) in (0..).zip(&sample.depths) {
            searcher.clear();
            let (score, _) = searcher
                .score_at_depth(sample.position, Depth(depth), MpcLevel::FullWidth)
                .unwrap();
            assert_eq!(score, found.score, "{:?} depth {depth}", sample.position);
        }
        let end = (sample.position.empties() <= 12).then(|| searcher.solve(sample.position).score);
        assert_eq!(
            end,
            sample.end.map(|end| end.score),
            "{:?}",
            sample.position
        );
    }
}

#[test]
fn quantiles_hold_their_share_of_the_samples_they_were_fitted_to() {
    let model = LoadedModel::read(&RUN.path("registry/v0001")).unwrap();
    let samples = samples();
    let mut misses = [0_u32; LEVELS.len()];
    let mut pairs = 0;
    for entry in model.model.mpc.entries() {
        for sample in &samples {
            let empties = sample.position.empties();
            if !(entry.empties_min..=entry.empties_max).contains(&empties)
                || empties == entry.deep.0
            {
                continue;
            }
            let [deep, shallow] =
                [entry.deep, entry.shallow].map(|depth| sample.depths[usize::from(depth.0)].score);
            let rest =
                (f64::from(deep.0) - entry.predicted(shallow)).abs() / entry.deviation(shallow);
            pairs += 1;
            misses
                .iter_mut()
                .zip(entry.quantiles)
                .for_each(|(misses, quantile)| *misses += u32::from(quantile < rest));
        }
    }
    for (level, misses) in LEVELS.into_iter().zip(misses) {
        let (found, expected) = (
            f64::from(misses) / f64::from(pairs),
            f64::from(100 - level) / 100.0,
        );
        assert!(
            0.8 * expected < found && found < 1.25 * expected,
            "{level} %: {found} of {pairs}"
        );
    }
}

#[test]
fn the_source_s_form_goes_out_and_in_as_mpc_dat() {
    let workspace = Workspace::new();
    let version = fit(
        &workspace,
        &[
            ("fit_mpc.method", "\"source\""),
            ("fit_mpc.t", "1.4"),
            ("fit_mpc.games", "30"),
        ],
        "",
    );
    let fitted = LoadedModel::read(&workspace.path("registry").join(&version)).unwrap();
    workspace.done(&format!(
        "model export --model registry/{version} --format mpc-dat --t 1.4 --output mpc.dat"
    ));
    let import = "model import mpc.dat --format mpc-dat --model builtin:square-weights --t 1.4 --models registry";
    let back = workspace.done(import);
    let back = LoadedModel::read(&workspace.path("registry").join(back)).unwrap();
    let lines = |model: &LoadedModel| {
        let entries = model.model.mpc.entries().iter();
        entries
            .map(|entry| (entry.deep.0, entry.shallow.0, entry.slope, entry.offset))
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&fitted), lines(&back));
    assert_eq!(
        lines(&fitted)
            .iter()
            .map(|line| (line.0, line.1, line.2))
            .collect::<Vec<_>>(),
        [(3, 1, 1.0), (4, 2, 1.0), (5, 1, 1.0)]
    );
    // A file of statistics does not say how many samples they are from.
    let Model {
        mpc_samples,
        mpc_weights,
        ..
    } = &*back.model;
    assert_eq!(
        (&mpc_samples[..], *mpc_weights),
        (&[0; 3][..], Some(fitted.model.weights_hash()))
    );
}
