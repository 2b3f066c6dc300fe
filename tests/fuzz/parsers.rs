//! Every parser of what other people can write: files, protocols and requests. An input may be refused with exit code 2 or 65; it
//! never panics, takes ten seconds or a gigabyte.

use renma::artifact::model::archive::Archive;
use renma::artifact::model::features_file::parse_features;
use renma::artifact::model::reference::load_model;
use renma::artifact::seal::{read_sealed, seal};
use renma::artifact::{ChampionFile, ClosedFile, Dataset, GATE_GAMES, LoadedModel, POSITIONS, VerdictFile};
use renma::cluster::plan::with_plan;
use renma::config::load_config;
use renma::engine::{Depth, Limits};
use renma::exchange::board_text::read_board_text;
use renma::exchange::csv::read_csv;
use renma::exchange::es_cube_eval::import_es_cube_eval;
use renma::exchange::ggf::parse_ggf;
use renma::exchange::mpc_dat::import_mpc_dat;
use renma::exchange::parquet::read_parquet;
use renma::exchange::positions::read_positions;
use renma::exchange::records::Records;
use renma::exchange::transcripts::read_transcripts;
use renma::exchange::wthor::read_wthor;
use renma::pipeline::StageError;
use renma::play::{gtp, nboard};
use renma::run::lineage::LineageFile;
use renma::serve::game::CheckedRequest;
use serde_json::Value;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

static MODEL: LazyLock<LoadedModel> =
    LazyLock::new(|| load_model("builtin:square-weights", Path::new("")).expect("it is part of the program"));

/// A version of few weights.
static TINY: LazyLock<Archive> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = written(folder.path(), "tiny.renma", include_bytes!("corpus/archive/tiny.renma"));
    Archive::read(&path).expect("it is sound")
});

/// Reads an input; an empty folder is there for files.
pub(crate) type Parser = fn(&Path, &[u8]);

/// By name, as the folders of the corpus are called.
pub(crate) const PARSERS: [(&str, Parser); 20] = [
    ("manifest", |folder, input| {
        sealed(folder, "manifest.json", input);
        check(Dataset::open_any(folder));
    }),
    ("model", |folder, input| {
        for (name, bytes) in TINY.files() {
            written(folder, name, bytes);
        }
        sealed(folder, "model.json", input);
        check(load_model(&text_of(folder), folder));
    }),
    ("archive", |folder, input| {
        let path = written(folder, "model.renma", input);
        check(Archive::read(&path).and_then(|archive| archive.model(&path)));
    }),
    ("plan", |folder, input| {
        let path = sealed(folder, "plan.json", input);
        check(with_plan::<_, StageError>(&path, |plan| Ok(plan.plan.shard_weights())));
    }),
    ("verdict", |folder, input| {
        check(read_sealed::<VerdictFile>(&sealed(folder, "verdict.json", input)));
    }),
    ("lineage", |folder, input| {
        let path = sealed(folder, "lineage.json", input);
        check(read_sealed::<LineageFile>(&path));
    }),
    ("champion", |folder, input| {
        sealed(folder, "champion.json", input);
        check(ChampionFile::read(folder));
    }),
    ("closed", |folder, input| {
        sealed(folder, "closed.json", input);
        check(ClosedFile::read(folder));
    }),
    ("config", |folder, input| {
        let code = load_config(&written(folder, "config.toml", input)).map_or_else(|error| error.exit_code(), |_| 0);
        assert!(matches!(code, 0 | 2), "it would end with {code}");
    }),
    ("features", |_, input| {
        let _ = std::str::from_utf8(input).map(parse_features);
    }),
    ("positions", |folder, input| {
        check(read_positions(folder, input));
    }),
    ("ggf", |_, input| {
        let game = std::str::from_utf8(input).ok().and_then(|text| parse_ggf(text).ok());
        if let Some(game) = game {
            assert!(game.plies().len() <= 128, "a game of {} plies", game.plies().len());
        }
    }),
    ("transcripts", |_, input| read_all(GAME_MAX, read_transcripts(input.to_vec()))),
    ("board-text", |_, input| read_all(GAME_MAX, read_board_text(input.to_vec()))),
    ("csv", |folder, input| {
        check(read_csv(folder, input.to_vec(), true).map(|records| read_all(TABLE_GAME_MAX, records)));
    }),
    ("wthor", |folder, input| {
        check(read_wthor(folder, input.to_vec()).map(|records| read_all(GAME_MAX, records)));
    }),
    ("parquet", |folder, input| {
        check(read_parquet(folder, input.to_vec(), true).map(|records| read_all(TABLE_GAME_MAX, records)));
        check(POSITIONS.decode(folder, input.to_vec().into(), 1 << 20));
        check(GATE_GAMES.decode(folder, input.to_vec().into(), 1 << 20));
    }),
    ("weights", |folder, input| {
        let path = written(folder, "eval.dat", input);
        check(import_es_cube_eval(&path));
        check(import_mpc_dat(&path, 1.4));
    }),
    ("protocols", |_, input| {
        let limits = Limits { nodes: Some(2000), ..Limits::full_width(Depth(2)) };
        let stop = AtomicBool::new(false);
        let commands = || Cursor::new(input.to_vec());
        let _ = nboard::serve(&MODEL.model, limits, commands(), &stop, &mut Vec::new());
        let _ = gtp::serve(&MODEL.model, limits, commands(), &stop, &mut Vec::new());
    }),
    ("requests", |_, input| {
        let _ = serde_json::from_slice::<CheckedRequest>(input).map(|request| request.positions());
    }),
];

/// A command that cannot go on with this input would end with 2 or 65.
fn check<T>(read: Result<T, impl Into<StageError>>) {
    if let Err(error) = read.map_err(Into::into) {
        let code = error.exit_code();
        assert!(matches!(code, 2 | 65), "it would end with {code}: {error}");
    }
}

/// No game that is played by its moves has more positions.
const GAME_MAX: usize = 129;

/// Nor has one of a table, where a game may come with its mirror images.
const TABLE_GAME_MAX: usize = 4096;

fn read_all(game_max: usize, records: Records) {
    for record in records.iter {
        let _ = record.map(|game| assert!(game.rows.len() <= game_max, "a game of {} positions", game.rows.len()));
    }
}

fn written(folder: &Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, input).unwrap();
    path
}

/// The input as a file with a valid seal if it is a JSON object, so that what is behind the seal is read too.
fn sealed(folder: &Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    match serde_json::from_slice::<Value>(input) {
        Ok(Value::Object(mut fields)) => {
            fields.remove("hash");
            let text = if fields.is_empty() { "{}".to_owned() } else { seal(&fields) };
            written(folder, name, text.as_bytes())
        }
        _ => written(folder, name, input),
    }
}

fn text_of(folder: &Path) -> String {
    folder.to_str().unwrap().to_owned()
}
