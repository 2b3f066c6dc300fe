//! Training as shards: parts learned by separate calls, in any order and by several at once, make
//! the model of one training.

use crate::support::workspace::{Workspace, all_paths, check_same, reached};
use renma::artifact::seal::read_sealed;
use renma::artifact::{
    ArtifactError, ContentHash, Dataset, FieldHasher, LoadedModel, ModelRef, Registry,
};
use renma::config::{LoadedConfig, load_config};
use renma::engine::Evaluation;
use renma::generation::Generation;
use renma::pipeline::parts::{PartsReport, Shards};
use renma::pipeline::request::RequestDataset;
use renma::pipeline::train::recipe::{contents, step};
use renma::pipeline::train::run::{epochs_done, train};
use renma::pipeline::train::shards::TrainShards;
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::work::Asked;
use renma::pipeline::{Context, Host, Progress, StageError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Thirteen phases, so three wide parts: their numbers are 0 to 2, those of the phases 3 to 15.
const FEATURES: &str = "name = \"thirteen\"\nphase_empties_max = [60, 56, 52, 48, 44, 40, 35, 30, 25, 20, 15, 10, 5]\n\
    [[pattern]]\nname = \"EDGE\"\nsquares = \"a1 b1 c1 d1 e1 f1 g1 h1\"\n\
    [[pattern]]\nname = \"CORNER\"\nsquares = \"a1 b1 a2 b2 c3\"\n\
    [[pattern]]\nname = \"PARITY\"\nkind = \"parity\"\n";

/// Beside the features: two parts of vectors, 16 and 17, and weights again, 18 to 30.
const VECTORS: &str = "vectors = 3\nvector_empties_max = [60, 30]\n";

const WIDE: Range<usize> = 0..3;
const PHASES: Range<usize> = 3..16;

const KEYS: [(&str, &str); 5] = [
    ("run.features", "\"features/thirteen.toml\""),
    ("train.epochs", "3"),
    ("train.overlap", "2"),
    ("train.wide_overlap", "5"),
    ("train.validation", "0.2"),
];

/// Two datasets, a parent that learned the first, and a task for both.
struct Lesson {
    workspace: Workspace,
    config: LoadedConfig,
    datasets: [PathBuf; 2],
    parent: LoadedModel,
}

impl Lesson {
    fn new(changes: &[(&str, &str)]) -> Self {
        Self::with_features(FEATURES, changes)
    }

    /// With vectors beside the weights.
    fn with_vectors(changes: &[(&str, &str)]) -> Self {
        Self::with_features(
            &FEATURES.replacen("[[", &format!("{VECTORS}[["), 1),
            changes,
        )
    }

    /// From now on trains these features, vectors with a step of zero.
    fn features(&mut self, name: &str, features: &str) {
        self.workspace
            .write(&format!("configs/features/{name}.toml"), features);
        let place = format!("\"features/{name}.toml\"");
        let changes = [
            ("run.features", place.as_str()),
            ("train.vector_ratio", "0.0"),
        ];
        let keys = [&KEYS[..], &changes].concat();
        let config = self.workspace.config(name, "smoke", &keys);
        self.config = load_config(&self.workspace.path(&config)).unwrap();
    }

    fn with_features(features: &str, changes: &[(&str, &str)]) -> Self {
        let workspace = Workspace::new();
        workspace.write("configs/features/thirteen.toml", features);
        let config = workspace.config("run", "smoke", &[&KEYS, changes].concat());
        for generation in [1, 2] {
            workspace.done(&format!(
                "generate --config {config} --generation {generation} --model builtin:square-weights --output g{generation}"
            ));
        }
        workspace.done(&format!(
            "train --config {config} --dataset g1 --models parents"
        ));
        let parent = ModelRef::Path(workspace.path("parents/v0001"))
            .load(Path::new(""))
            .unwrap();
        let config = load_config(&workspace.path(&config)).unwrap();
        let datasets = ["g1", "g2"].map(|name| workspace.path(name));
        Self {
            config,
            datasets,
            parent,
            workspace,
        }
    }

    /// Asks for something of the training in the registry with this name.
    fn with<T>(&self, registry: &str, memory: u64, ask: impl FnOnce(&TrainTask) -> T) -> T {
        ask(&TrainTask {
            config: self.config.config.train.clone(),
            seed: 1,
            generation: Generation(2),
            features: Arc::clone(&self.config.features),
            datasets: self
                .datasets
                .iter()
                .map(|folder| RequestDataset::read(folder).unwrap())
                .collect(),
            parent: Some(self.parent.clone()),
            registry: Registry::new(&self.workspace.path(registry)),
            memory,
        })
    }

    fn parts(&self, registry: &str, parts: Range<usize>) -> Result<PartsReport, StageError> {
        self.with(registry, 1 << 30, |task| {
            Watch::default().parts(task, parts)
        })
    }

    /// The training in one process; the rows that it learned.
    fn train(&self, registry: &str) -> u64 {
        let watch = Watch::default();
        self.with(registry, 1 << 30, |task| {
            train(task, watch.context(2)).unwrap()
        });
        watch.learned.into_inner()
    }

    /// The parts of each round.
    fn rounds(&self, registry: &str) -> Vec<Range<usize>> {
        let mut end = 0;
        let round = |weights: Vec<u64>| {
            let begin = end;
            end += weights.len();
            begin..end
        };
        self.with(registry, 0, Asked::rounds)
            .into_iter()
            .map(round)
            .collect()
    }

    fn finished(&self, registry: &str) -> Vec<usize> {
        let progress =
            |task: &TrainTask| TrainShards::new(task)?.progress(0, Watch::default().context(1));
        let finished = self.with(registry, 0, progress).unwrap().done;
        assert_eq!(finished.len(), self.rounds(registry).last().unwrap().end);
        (0..finished.len()).filter(|&part| finished[part]).collect()
    }

    fn step(&self, task: &TrainTask) -> ContentHash {
        let datasets: Vec<Dataset> = self
            .datasets
            .iter()
            .map(|folder| Dataset::open(folder).unwrap())
            .collect();
        step(task, &contents(&datasets)).id
    }

    /// Gives a finished part another last weight and the right hash; returns its honest bytes.
    fn falsify(&self, registry: &str, part: usize) -> Vec<u8> {
        let path = self.part(registry, part);
        let honest = std::fs::read(&path).unwrap();
        let mut bytes = honest.clone();
        // The lowest byte of the last weight.
        let place = bytes.len() - 4;
        bytes[place] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            !self.finished(registry).contains(&part),
            "its hash is wrong"
        );
        let step = self.with(registry, 0, |task| self.step(task)).to_string();
        let mut hasher = FieldHasher::new("train checkpoint");
        hasher
            .field("step", step.as_bytes())
            .field("part", &(part as u32).to_le_bytes())
            .field("bytes", &bytes[64..]);
        bytes.splice(..64, hasher.finish().to_string().into_bytes());
        std::fs::write(&path, &bytes).unwrap();
        assert!(self.finished(registry).contains(&part), "its hash is right");
        honest
    }

    /// The file of a finished part.
    fn part(&self, registry: &str, part: usize) -> PathBuf {
        let step = self.with(registry, 0, |task| self.step(task));
        self.workspace.path(&format!(
            "{registry}/.train.checkpoints/{}/part-{part:05}",
            step.short()
        ))
    }
}

/// Counts the rows that are learned, and raises the stop flag after some.
#[derive(Default)]
struct Watch {
    rows_max: Option<u64>,
    /// A file that is looked for when the flag is raised.
    file: PathBuf,
    was_there: AtomicBool,
    learning: AtomicBool,
    learned: AtomicU64,
    announced: AtomicU64,
    resumed: AtomicU64,
    stop: AtomicBool,
    never: AtomicBool,
}

impl Host for Watch {}

impl Progress for Watch {
    fn begin(&self, task: &str, total: u64, _: &str) {
        self.learning.store(task == "train", Ordering::Relaxed);
        if task == "train" {
            self.announced.fetch_add(total, Ordering::Relaxed);
        }
    }

    fn resume(&self, items: u64) {
        self.resumed.fetch_add(items, Ordering::Relaxed);
    }

    fn advance(&self, items: u64) {
        if self.learning.load(Ordering::Relaxed) {
            let learned = self.learned.fetch_add(items, Ordering::Relaxed) + items;
            if self.rows_max.is_some_and(|max| max <= learned) && !self.stop.load(Ordering::Relaxed)
            {
                self.was_there.store(self.file.exists(), Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn end(&self) {
        self.learning.store(false, Ordering::Relaxed);
    }
}

impl Watch {
    fn context(&self, threads: usize) -> Context<'_> {
        Context {
            threads,
            stop: &self.stop,
            budget_spent: &self.never,
            progress: self,
            host: self,
        }
    }

    fn parts(&self, task: &TrainTask, parts: Range<usize>) -> Result<PartsReport, StageError> {
        TrainShards::new(task)?.make(parts, self.context(2))
    }
}

#[test]
fn parts_in_any_order_make_the_model_of_one_training() {
    let lesson = Lesson::new(&[]);
    assert!(0 < lesson.train("whole"));
    assert_eq!(lesson.rounds("whole"), [WIDE, PHASES]);
    for (name, memory, threads, calls) in [
        (
            "one by one",
            1,
            1,
            (WIDE.rev())
                .chain(PHASES.rev())
                .map(|part| part..part + 1)
                .collect::<Vec<_>>(),
        ),
        (
            "mixed",
            100 << 10,
            4,
            vec![0..1, 3..5, 5..6, 2..4, 1..2, 14..16, 6..14],
        ),
        ("both rounds", 1 << 30, 2, vec![0..15, 15..16]),
    ] {
        let (mut done, mut updates) = (BTreeSet::new(), 0);
        for parts in calls {
            let watch = Watch::default();
            let make = |task: &TrainTask| {
                TrainShards::new(task)?.make(parts.clone(), watch.context(threads))
            };
            let report = lesson.with(name, memory, make).unwrap();
            let missing = parts.clone().filter(|part| !done.contains(part)).count() as u64;
            assert_eq!(
                (report.skipped, report.made["parts"]),
                (false, missing),
                "{name} {parts:?}"
            );
            assert_eq!(
                [watch.learned, watch.announced].map(AtomicU64::into_inner),
                [report.made["updates"]; 2],
                "{name} {parts:?}"
            );
            updates += report.made["updates"];
            done.extend(parts.clone());
            assert_eq!(
                lesson.finished(name),
                done.iter().copied().collect::<Vec<_>>(),
                "{name}"
            );
            assert!(
                lesson.parts(name, parts.clone()).unwrap().skipped,
                "{name} {parts:?}"
            );
        }
        assert_eq!(
            lesson.train(name),
            0,
            "{name}: all parts were learned before"
        );
        check_same(
            &lesson.workspace.path("whole"),
            &lesson.workspace.path(name),
            name,
        );
        let document = Registry::new(&lesson.workspace.path(name))
            .documents()
            .unwrap()
            .remove(0);
        assert_eq!(document.origin.metrics["updates"], updates, "{name}");
        assert!(
            lesson.parts(name, WIDE).unwrap().skipped,
            "{name}: the model is published"
        );
        assert!(
            !lesson
                .workspace
                .path(name)
                .join(".train.checkpoints")
                .exists(),
            "{name}"
        );
    }
}

#[test]
fn vectors_in_any_order_of_their_rounds_make_the_model_of_one_training() {
    let lesson = Lesson::with_vectors(&[("train.start", "\"zero\"")]);
    assert!(0 < lesson.train("whole"));
    let whole = ModelRef::Path(lesson.workspace.path("whole/v0001"))
        .load(Path::new(""))
        .unwrap();
    assert!(
        100 < whole
            .model
            .evaluation
            .vectors()
            .iter()
            .filter(|&&component| component != 0)
            .count()
    );
    let (rounds, wanted) = (lesson.rounds("whole"), |registry: &str| {
        let progress =
            |task: &TrainTask| TrainShards::new(task)?.progress(0, Watch::default().context(1));
        lesson.with(registry, 0, progress).unwrap().wanted
    });
    assert_eq!(rounds, [0..3, 3..16, 16..18, 18..31]);
    for count in [1, 5, 9, 16, 24, 40] {
        let plan = format!(
            "train --plan {count}.json --config configs/run.toml --dataset g1 g2 --models whole"
        );
        lesson.workspace.done(&format!("{plan} --shards {count}"));
        let plan: Value = read_sealed(&lesson.workspace.path(&format!("{count}.json"))).unwrap();
        for shard in plan["shards"].as_array().unwrap() {
            let [start, end] = ["start", "end"].map(|edge| shard[edge].as_u64().unwrap() as usize);
            let is_in = |round: &Range<usize>| round.start <= start && end <= round.end;
            assert!(
                rounds.iter().any(is_in),
                "{count} shards: {shard} has parts of two rounds"
            );
        }
    }
    for (name, threads, memory) in [("one by one", 1, 0), ("four threads", 4, 1 << 30)] {
        for round in rounds.clone() {
            assert_eq!(wanted(name), 0..round.end, "{name}");
            for part in round.rev() {
                let make = |task: &TrainTask| {
                    TrainShards::new(task)?.make(part..part + 1, Watch::default().context(threads))
                };
                assert!(
                    !lesson.with(name, memory, make).unwrap().skipped,
                    "{name} {part}"
                );
            }
        }
        let check =
            |task: &TrainTask| TrainShards::new(task)?.check_phase(1, Watch::default().context(2));
        let phase = lesson.with(name, 1 << 30, check).unwrap().unwrap();
        // The vectors were learned beside the false weights.
        let honest = lesson.falsify(name, phase);
        let error = lesson.with(name, 1 << 30, check).unwrap_err().to_string();
        assert!(
            error.contains("\nother parts began from it: remove "),
            "{error}"
        );
        std::fs::write(lesson.part(name, phase), honest).unwrap();
        assert_eq!(
            lesson.train(name),
            0,
            "{name}: all parts were learned before"
        );
        check_same(
            &lesson.workspace.path("whole"),
            &lesson.workspace.path(name),
            name,
        );
    }
    for early in [16..17, 18..19] {
        let error = lesson.parts("early", early.clone()).unwrap_err();
        assert!(
            matches!(error, StageError::TooEarly { .. }),
            "{early:?}: {error}"
        );
    }
}

#[test]
fn vectors_that_are_stopped_resume_after_their_last_epoch() {
    let lesson = Lesson::with_vectors(&[("train.start", "\"zero\""), ("train.vector_epochs", "6")]);
    let rows = lesson.train("whole");
    // Between the first weights and the second.
    for share in [45, 50, 55, 60] {
        let registry = format!("stopped {share}");
        let watch = Watch {
            rows_max: Some(rows * share / 100),
            ..Watch::default()
        };
        let stopped = lesson.with(&registry, 1 << 30, |task| train(task, watch.context(2)));
        assert!(
            matches!(stopped, Err(StageError::Interrupted)),
            "{registry}"
        );
        assert!(
            lesson.train(&registry) < rows,
            "{registry}: what was learned is kept"
        );
        check_same(
            &lesson.workspace.path("whole"),
            &lesson.workspace.path(&registry),
            &registry,
        );
    }
}

#[test]
fn weights_with_a_fraction_are_kept_when_stopped_and_continued_from_a_parent() {
    let mut lesson = Lesson::new(&[("train.fraction_bits", "8")]);
    let rows = lesson.train("whole");
    let watch = Watch {
        rows_max: Some(rows / 2),
        ..Watch::default()
    };
    let stopped = lesson.with("stopped", 1 << 30, |task| train(task, watch.context(2)));
    assert!(matches!(stopped, Err(StageError::Interrupted)));
    assert!(lesson.train("stopped") < rows, "what was learned is kept");
    check_same(
        &lesson.workspace.path("whole"),
        &lesson.workspace.path("stopped"),
        "a fraction of 8 bits",
    );

    // Without wide parts each phase begins with the weights of the parent.
    let changes = [
        ("train.fraction_bits", "8"),
        ("train.ratio", "0.0"),
        ("train.wide_overlap", "0"),
    ];
    let config = lesson
        .workspace
        .config("still", "smoke", &[&KEYS[..], &changes].concat());
    lesson.config = load_config(&lesson.workspace.path(&config)).unwrap();
    lesson.train("still");
    let still = ModelRef::Path(lesson.workspace.path("still/v0001"))
        .load(Path::new(""))
        .unwrap();
    let [parent, still] = [&lesson.parent, &still].map(|model| model.model.evaluation.weights());
    assert!(
        parent == still && parent.iter().any(|weight| *weight != 0),
        "a step of zero keeps them"
    );
}

#[test]
fn a_long_part_is_saved_before_it_ends() {
    let features = FEATURES.replace(
        "[60, 56, 52, 48, 44, 40, 35, 30, 25, 20, 15, 10, 5]",
        "[60]",
    );
    let mut lesson = Lesson::with_features(&features, &[]);
    let changes = [
        ("train.epochs", "100000"),
        ("train.overlap", "0"),
        ("train.wide_overlap", "0"),
    ];
    let config = lesson
        .workspace
        .config("long", "smoke", &[&KEYS[..], &changes].concat());
    lesson.config = load_config(&lesson.workspace.path(&config)).unwrap();
    let file = lesson.part("registry", 0).with_extension("begun");
    let watch = Watch {
        rows_max: Some(4_100_000),
        file,
        ..Watch::default()
    };
    let stopped = lesson.with("registry", 1 << 30, |task| train(task, watch.context(2)));
    assert!(matches!(stopped, Err(StageError::Interrupted)));
    assert!(
        watch.was_there.into_inner(),
        "a kill would have lost four million rows"
    );
}

#[test]
fn vectors_of_a_parent_are_continued_and_other_ones_are_refused() {
    let mut lesson = Lesson::with_vectors(&[("train.vector_ratio", "0.0")]);
    lesson.train("continued");
    let load = |lesson: &Lesson, name: &str| {
        ModelRef::Path(lesson.workspace.path(name))
            .load(Path::new(""))
            .unwrap()
    };
    let continued = load(&lesson, "continued/v0001");
    let [first, second] = [&lesson.parent, &continued].map(|model| &model.model.evaluation);
    assert_eq!(
        first.vectors(),
        second.vectors(),
        "a step of zero keeps them"
    );
    assert_ne!(first.weights(), second.weights());
    let shared = second.vectors().to_vec();
    // A parent without vectors gives its weights, and its vectors begin at random.
    let fresh = Lesson::new(&[]);
    let weights = std::mem::replace(&mut lesson.parent, fresh.parent);
    lesson.train("fresh");
    assert_ne!(
        load(&lesson, "fresh/v0001").model.evaluation.vectors(),
        shared
    );
    // Weights that are too large beside vectors are cut.
    let set = Arc::clone(lesson.parent.model.evaluation.set());
    let large = vec![i16::MIN; lesson.parent.model.evaluation.weights().len()];
    Arc::make_mut(&mut lesson.parent.model).evaluation = Evaluation::new(set, large).unwrap();
    lesson.train("large");
    lesson.parent = weights;
    // More components of a sign than the parent has begin at random beside its own, and are zero
    // where no row comes.
    let keys = "vectors = 6\nnegative = 2\nvector_empties_max = [60, 30]\n[[";
    lesson.features("more", &FEATURES.replacen("[[", keys, 1));
    lesson.train("more");
    let more = load(&lesson, "more/v0001");
    let pairs = shared
        .chunks_exact(3)
        .zip(more.model.evaluation.vectors().chunks_exact(6));
    let (mut begun, mut zero) = (0, 0);
    for (theirs, ours) in pairs {
        assert_eq!(theirs, &ours[..3]);
        if ours[3..].iter().any(|&component| component != 0) {
            begun += 1;
        } else {
            zero += 1;
        }
    }
    assert!(100 < begun && 100 < zero, "{begun} and {zero}");
    for (shape, found) in [
        (
            "vectors = 4\n",
            "vectors of 4 components, 0 of them negative",
        ),
        (
            "vectors = 3\nnegative = 1\nvector_empties_max = [60, 30]\n",
            "vectors of 3 components, 1 of them negative",
        ),
        ("", "no vectors"),
    ] {
        lesson.features("other", &FEATURES.replacen("[[", &format!("{shape}[["), 1));
        let error = lesson
            .with("refused", 1 << 30, |task| {
                train(task, Watch::default().context(1))
            })
            .unwrap_err();
        let expected = format!(
            "the parent has vectors of 3 components, 0 of them negative, for phases from [60, 30] empty squares and the features have {found}"
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert!(
            error.to_string().contains("train.start = \"zero\""),
            "{error}"
        );
    }
}

#[test]
fn checkpoints_of_a_published_model_are_removed_by_the_next_training() {
    let lesson = Lesson::new(&[]);
    lesson.train("registry");
    let left = lesson.part("registry", 0);
    let unfinished = left
        .parent()
        .unwrap()
        .with_file_name("000000000000")
        .join("part-00000");
    for path in [&left, &unfinished] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "learned").unwrap();
    }
    assert_eq!(lesson.train("registry"), 0);
    assert!(!left.parent().unwrap().exists() && unfinished.exists());
}

#[test]
fn a_training_that_is_stopped_after_each_epoch_learns_nothing_twice() {
    let lesson = Lesson::new(&[]);
    let undisturbed = Watch::default();
    lesson.with("whole", 1 << 30, |task| {
        train(task, undisturbed.context(1)).unwrap()
    });
    let total = undisturbed.learned.into_inner();
    assert_eq!(
        undisturbed.announced.into_inner(),
        total,
        "all visits are announced"
    );
    let epochs = || {
        lesson
            .with("stopped", 0, |task| epochs_done(task, lesson.step(task)))
            .unwrap()
    };
    assert_eq!(epochs(), None);
    let (mut done, mut stops, mut counted) = (0, 0, 0);
    loop {
        let watch = Watch {
            rows_max: Some(1),
            ..Watch::default()
        };
        // The budget ends a training between two epochs.
        let context = Context {
            stop: &watch.never,
            budget_spent: &watch.stop,
            ..watch.context(4)
        };
        let outcome = lesson.with("stopped", 1 << 30, |task| train(task, context).map(|_| ()));
        let [resumed, learned] = [watch.resumed, watch.learned].map(AtomicU64::into_inner);
        done += learned;
        match outcome {
            Err(StageError::BudgetSpent) => stops += 1,
            other => {
                other.unwrap();
                assert_eq!(
                    [done, resumed + learned],
                    [total; 2],
                    "nothing is learned twice"
                );
                break;
            }
        }
        let [now, all] = epochs().unwrap();
        assert!(
            counted < now && all == 48,
            "{counted} {now} {all}: three epochs of sixteen parts"
        );
        counted = now;
    }
    // Three epochs of the wide parts, and three of the phases.
    assert!(6 <= stops, "{stops}");
    check_same(
        &lesson.workspace.path("whole"),
        &lesson.workspace.path("stopped"),
        "stopped and undisturbed",
    );
}

#[test]
fn several_at_work_on_the_same_parts_and_a_kill_make_the_same_model() {
    let lesson = Lesson::new(&[("train.epochs", "60")]);
    lesson.train("whole");
    let folder = lesson.part("shared", 0).parent().unwrap().to_owned();
    let mut local = lesson.workspace.start(
        "train --config configs/run.toml --dataset g1 --dataset g2 --parent parents/v0001 --models shared --threads 1",
    );
    let work = |memory: u64, rows_max: u64| {
        let mut stops = 0;
        for parts in [WIDE, PHASES] {
            loop {
                let watch = Watch {
                    rows_max: Some(rows_max),
                    ..Watch::default()
                };
                match lesson.with("shared", memory, |task| watch.parts(task, parts.clone())) {
                    Err(StageError::Interrupted) => stops += 1,
                    other => break other.map(|_| ()).unwrap(),
                }
            }
        }
        stops
    };
    std::thread::scope(|scope| {
        let steady = scope.spawn(|| work(1, u64::MAX));
        let stopped = scope.spawn(|| work(1 << 30, 20_000));
        let is_part = |path: &PathBuf| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("part-")
        };
        assert!(
            reached(&mut local, || all_paths(&folder).iter().any(is_part)),
            "the training ended before the kill"
        );
        local.kill().unwrap();
        local.wait().unwrap();
        assert_eq!(steady.join().unwrap(), 0);
        assert!(0 < stopped.join().unwrap());
    });
    assert_eq!(lesson.finished("shared").len(), PHASES.end);
    assert_eq!(lesson.train("shared"), 0, "all parts were learned before");
    check_same(
        &lesson.workspace.path("whole"),
        &lesson.workspace.path("shared"),
        "several at once",
    );
}

#[test]
fn a_phase_needs_its_wide_part_and_finished_parts_need_no_rows() {
    let lesson = Lesson::new(&[]);
    lesson.parts("registry", 1..2).unwrap();
    // Phases 3 to 7 begin from part 0, phases 8 to 12 from part 1.
    match lesson.parts("registry", 5..9) {
        Err(
            error @ StageError::TooEarly {
                part: 5, needed: 0, ..
            },
        ) => {
            let text = error.to_string();
            assert!(
                text.starts_with("cannot begin part 5: part 0 is missing in ")
                    && text.contains("registry"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    lesson.parts("registry", 8..9).unwrap();
    assert_eq!(lesson.finished("registry"), [1, 8]);
    match lesson.with("registry", 0, |task| {
        TrainShards::new(task)?.check_phase(1, Watch::default().context(1))
    }) {
        Err(StageError::Unfinished { part: 0, .. }) => {}
        other => panic!("{other:?}"),
    }
    for range in [15..17, 16..17] {
        let Err(StageError::Setting(text)) = lesson.parts("registry", range) else {
            panic!("there are 16 parts")
        };
        assert!(text.starts_with("the training has 16 parts"), "{text}");
    }
    let positions = lesson.datasets[0].join("positions");
    std::fs::rename(&positions, lesson.workspace.path("aside")).unwrap();
    assert!(lesson.parts("registry", 8..9).unwrap().skipped);
    let unread = lesson.parts("registry", 9..10);
    assert!(matches!(unread, Err(StageError::Artifact(_))), "{unread:?}");
}

#[test]
fn a_damaged_part_is_missing_and_a_false_one_is_found() {
    let lesson = Lesson::new(&[]);
    lesson.parts("registry", 0..PHASES.end).unwrap();
    let check = |seed| {
        let check = |task: &TrainTask| {
            TrainShards::new(task)?.check_phase(seed, Watch::default().context(2))
        };
        lesson.with("registry", 1 << 30, check)
    };
    let mut seeds = vec![None; PHASES.end];
    for seed in 0..20 {
        seeds[check(seed).unwrap().unwrap()] = Some(seed);
    }
    assert!(
        seeds[WIDE].iter().all(Option::is_none) && 8 < seeds.iter().flatten().count(),
        "any phase: {seeds:?}"
    );
    let phase = PHASES.rev().find(|&part| seeds[part].is_some()).unwrap();
    let seed = seeds[phase].unwrap();
    // The last phases begin from part 2.
    for (part, remedy) in [
        (2, "other parts began from it: remove "),
        (phase, "remove it and run its shard again"),
    ] {
        let path = lesson.part("registry", part);
        let honest = lesson.falsify("registry", part);
        match check(seed) {
            Err(StageError::Artifact(error @ ArtifactError::Damaged { .. })) => {
                let text = error.to_string();
                let start = format!(
                    "cannot trust {}: learning part {part} again gives other weights\n",
                    path.display()
                );
                assert!(
                    text.starts_with(&start) && text[start.len()..].starts_with(remedy),
                    "{text}"
                );
            }
            other => panic!("{other:?}"),
        }
        std::fs::write(&path, &honest).unwrap();
        assert_eq!(check(seed).unwrap(), Some(phase));
    }
    lesson.train("registry");
    assert_eq!(check(0).unwrap(), None, "the model is published");
}

#[test]
fn weights_of_parts_are_about_their_row_visits() {
    let lesson = Lesson::new(&[("train.validation", "0.0"), ("train.empties_min", "8")]);
    let weights = lesson.with("registry", 0, Asked::rounds).concat();
    for (part, &weight) in weights.iter().enumerate() {
        let updates = lesson.parts("registry", part..part + 1).unwrap().made["updates"];
        assert!(
            weight.abs_diff(updates) <= updates / 5 + 500,
            "part {part}: {weight} for {updates}"
        );
    }
}
