//! The bytes of one part per table, of one model and of its archive, from values that no algorithm
//! makes, and of the sample as tokens: they change with a library or with how we write, and with nothing else.
//! `tests/data/golden.txt` has their hashes.

use crate::support::context::context;
use arrow::array::{ArrayRef, Int64Array};
use arrow::compute::cast;
use renma::artifact::dataset::games::IMPORTED_GAMES;
use renma::artifact::dataset::positions::IMPORTED_POSITIONS;
use renma::artifact::model::document::VersionOrigin;
use renma::artifact::model::features_file::parse_features;
use renma::artifact::{
    ContentHash, Footer, GAMES, GATE_GAMES, LoadedModel, MPC_SAMPLES, Model, ModelKind, POSITIONS,
    Registry, Table,
};
use renma::curate::export::{ExportFormat, export};
use renma::engine::{Depth, Evaluation, MpcEntry, MpcTable, Score};
use renma::exchange::tokens::TokensConfig;
use renma::random::{Stream, stream};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The compressor of all files. Another version may give other bytes (zstd issue 2949), as long as
/// they unpack to the same.
const ZSTD: &str = "1.5.7";

const TABLES: [(&str, &Table); 6] = [
    ("positions", &POSITIONS),
    ("games", &GAMES),
    ("imported positions", &IMPORTED_POSITIONS),
    ("imported games", &IMPORTED_GAMES),
    ("samples", &MPC_SAMPLES),
    ("gate games", &GATE_GAMES),
];

const ROWS: usize = 3_000;

const OTHER_VALUES: &str = "a hash of values has changed: no finished work would be found again\n\
    keep the hashes of values, or raise the format and replace tests/data/golden.txt by";

const OTHER_BYTES: &str = "the same values have other bytes: we or a library (Cargo.lock) write them otherwise\n\
    if that is meant, say so in CHANGELOG.md, make datasets/million.sha256 again and replace tests/data/golden.txt by";

/// Any numbers below 100 and any missing values, in the types of the columns.
fn columns(table: &Table) -> Vec<ArrayRef> {
    let schema = table.schema();
    let fields = schema.fields().iter().enumerate();
    let column = |(column, field): (usize, &Arc<arrow::datatypes::Field>)| {
        let mut random = stream(1, Stream::Game(1, column as u64));
        let mut number = || {
            Some(i64::from(random.below(100))).filter(|number| !field.is_nullable() || 0 < *number)
        };
        let numbers: Int64Array = (0..ROWS).map(|_| number()).collect();
        cast(&numbers, field.data_type()).unwrap()
    };
    fields.map(column).collect()
}

/// A model with a weight, a vector and visits for each feature, and statistics of a pair of depths.
fn model() -> Model {
    let text = "name = \"golden\"\nphase_empties_max = [60, 30]\nvectors = 3\n\
        [[pattern]]\nname = \"edge\"\nsquares = \"a1 b1 c1 d1 e1\"\n[[pattern]]\nname = \"parity\"\nkind = \"parity\"\n";
    let set = Arc::new(parse_features(text).unwrap());
    let mut random = stream(1, Stream::Game(1, 0));
    // Mirrors share a weight.
    let features = set.phase_count() * set.feature_count();
    let canonical: Vec<usize> = (0..features).map(|place| canonical(&set, place)).collect();
    let weights: Vec<i16> = (0..features)
        .map(|_| random.below(2_000) as i16 - 1_000)
        .collect();
    let vectors: Vec<[i8; 3]> = (0..set.component_count() / 3)
        .map(|_| [0; 3].map(|_: i8| random.below(9) as i8 - 4))
        .collect();
    let weights = canonical.iter().map(|&place| weights[place]).collect();
    let vectors = (0..vectors.len())
        .flat_map(|place| vectors[canonical[place]])
        .collect();
    let visits = (0..features)
        .map(|place| {
            if canonical[place] == place {
                random.below(50)
            } else {
                0
            }
        })
        .collect();
    let model = Model::draft(
        Evaluation::with_vectors(set, weights, vectors).unwrap(),
        visits,
    );
    let entry = MpcEntry::source(Depth(5), Depth(3), Score(-120), Score(4_000));
    let (mpc, mpc_weights) = (
        MpcTable::new(vec![entry]).unwrap(),
        Some(model.weights_hash()),
    );
    Model {
        mpc,
        mpc_samples: vec![1_000],
        mpc_weights,
        ..model
    }
}

/// The place of the feature with which one shares its weight.
fn canonical(set: &renma::engine::PatternSet, place: usize) -> usize {
    let first = place / set.feature_count() * set.feature_count();
    first + set.canonical()[place - first] as usize
}

/// The hashes of the values of the sample and of its games as tokens with labels.
fn tokens_of_sample() -> String {
    let folder = "datasets/sample/selfplay/generation=0001";
    let config = TokensConfig {
        length: 59,
        validation: 0.05,
        labels: true,
    };
    let format = ExportFormat::Tokens(config);
    let dataset = format
        .open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .unwrap();
    let context = context();
    let mut bytes = Vec::new();
    export(&dataset, format, context, |write| {
        write(&mut bytes).unwrap();
        Ok(true)
    })
    .unwrap();
    let content = dataset.manifest().content;
    format!("{content} {}", ContentHash::of(&bytes))
}

#[test]
fn files_have_the_bytes_on_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = "# What, the hash of its values, the hash of its bytes.\n".to_owned();
    for (name, table) in TABLES {
        let footer = Footer::from([("renma.format".to_owned(), "1".to_owned())]);
        let entry = table
            .write(
                &folder.path().join(name),
                &table.batch(columns(table)),
                &footer,
            )
            .unwrap();
        found += &format!("{name}: {} {}\n", entry.content, entry.hash);
    }
    let origin = VersionOrigin {
        kind: ModelKind::Model,
        stage: "fit-mpc".into(),
        step: ContentHash::of(b"step"),
        algorithm: 1,
        parent: None,
        datasets: Vec::new(),
        config: Value::Null,
        metrics: Value::Null,
    };
    let registry = Registry::new(&folder.path().join("models"));
    let id = registry.publish(&model(), &origin).unwrap();
    let loaded = LoadedModel::read(&registry.folder_of(id)).unwrap();
    let content = loaded.model.content_hash();
    for name in [
        "features.toml",
        "weights.parquet",
        "vectors.parquet",
        "mpc.parquet",
        "model.json",
    ] {
        let bytes = std::fs::read(registry.folder_of(id).join(name)).unwrap();
        found += &format!("{name}: {content} {}\n", ContentHash::of(&bytes));
    }
    let mut archive = Vec::new();
    loaded.archive().unwrap().write(&mut archive).unwrap();
    found += &format!("model.renma: {content} {}\n", ContentHash::of(&archive));
    found += &format!("tokens: {}\n", tokens_of_sample());

    let expected = include_str!("../data/golden.txt");
    let values = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(values, _)| values.to_owned())
            .collect()
    };
    let remedy = if values(&found) == values(expected) {
        OTHER_BYTES
    } else {
        OTHER_VALUES
    };
    assert!(found == expected, "{remedy}\n{found}");
}

#[test]
fn the_compressor_is_the_one_of_the_bytes_on_record() {
    let lock =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
    let (_, package) = lock
        .split_once("name = \"zstd-sys\"\nversion = \"")
        .unwrap();
    let (version, _) = package.split_once('"').unwrap();
    assert!(
        version.ends_with(&format!("+zstd.{ZSTD}")),
        "Cargo.lock has zstd-sys {version}, the files on record are of zstd {ZSTD}\n\
         its bytes may differ where tests/data/golden.txt does not show it: play and train again what is published"
    );
}
