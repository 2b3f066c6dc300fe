//! Every parser of what other people can write: files, protocols and requests. An input may be
//! refused with exit code 2 or 65; it never panics, takes ten seconds or a gigabyte.

use renma::artifact::model::archive::Archive;
use renma::artifact::model::features_file::{features_text, parse_features};
use renma::artifact::model::weights_file::WEIGHTS;
use renma::artifact::seal::{read_sealed, seal};
use renma::artifact::{
    ArtifactError, Builtin, ChampionFile, ClosedFile, ContentHash, Dataset, GATE_GAMES,
    LoadedModel, ModelRef, POSITIONS, VerdictFile,
};
use renma::cluster::plan::{LoadedPlan, build};
use renma::config::{ConfigError, load_config};
use renma::engine::{Depth, Limits};
use renma::exchange::board_text::read_board_text;
use renma::exchange::es_cube_eval::import_es_cube_eval;
use renma::exchange::game_text::{game_text, parse_game};
use renma::exchange::ggf::{parse_ggf, write_ggf};
use renma::exchange::mpc_dat::import_mpc_dat;
use renma::exchange::parquet::read_parquet;
use renma::exchange::positions::read_positions;
use renma::exchange::records::Records;
use renma::exchange::transcripts::{read_ggf, read_transcripts};
use renma::exchange::wthor::read_wthor;
use renma::pipeline::StageError;
use renma::play::{gtp, nboard};
use renma::run::lineage::LineageFile;
use renma::serve::answer::Site;
use renma::serve::server::converse;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Builder;

static MODEL: LazyLock<LoadedModel> =
    LazyLock::new(|| LoadedModel::builtin(Builtin::SquareWeights));

/// A version of few weights.
static TINY: LazyLock<Archive> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = written(
        folder.path(),
        "tiny.renma",
        include_bytes!("corpus/archive/tiny.renma"),
    );
    Archive::read(&path).expect("it is sound")
});

/// Reads an input, and returns whether it is accepted; the folder is for files, and empty.
pub(crate) type Parser = fn(&Path, &[u8]) -> bool;

/// By name, as the folders of the corpus are called.
pub(crate) const PARSERS: [(&str, Parser); 19] = [
    ("manifest", |folder, input| {
        sealed(folder, "manifest.json", input);
        check(Dataset::open_any(folder))
    }),
    ("model", |folder, input| {
        for (name, bytes) in TINY.files() {
            written(folder, name, bytes);
        }
        sealed(folder, "model.json", input);
        check(ModelRef::Path(folder.to_owned()).load(folder))
    }),
    ("archive", |folder, input| {
        let path = written(folder, "model.renma", input);
        let is_accepted = check(Archive::read(&path).and_then(|archive| {
            let mut written = Vec::new();
            archive.write(&mut written).unwrap();
            assert!(written == input, "a version has one archive");
            archive.model(&path)
        }));
        let files = hashed(input);
        let file = |name: &str| {
            files
                .get(name)
                .cloned()
                .ok_or_else(|| ArtifactError::damaged(&path, "it is missing"))
        };
        check(Archive::collect(&path, file).and_then(|archive| archive.model(&path))) || is_accepted
    }),
    // The plans of the corpus have datasets of this checkout, below the working folder.
    ("plan", |folder, input| {
        // One of another build is refused.
        let of_this_build = serde_json::from_slice(input).map(|mut plan: Map<String, Value>| {
            plan.insert("build".to_owned(), build().into());
            Value::Object(plan).to_string().into_bytes()
        });
        let path = sealed(
            folder,
            "plan.json",
            &of_this_build.unwrap_or_else(|_| input.to_vec()),
        );
        check(LoadedPlan::read(&path).map(|plan| plan.shard_weights()))
    }),
    ("verdict", |folder, input| {
        check(read_sealed::<VerdictFile>(&sealed(
            folder,
            "verdict.json",
            input,
        )))
    }),
    ("lineage", |folder, input| {
        check(read_sealed::<LineageFile>(&sealed(
            folder,
            "lineage.json",
            input,
        )))
    }),
    ("champion", |folder, input| {
        sealed(folder, "champion.json", input);
        check(ChampionFile::read(folder))
    }),
    ("closed", |folder, input| {
        sealed(folder, "closed.json", input);
        check(ClosedFile::read(folder))
    }),
    ("config", |folder, input| {
        written(
            folder,
            "features.toml",
            include_bytes!("corpus/features/tiny.toml"),
        );
        written(folder, "book.txt", b"f5d6c3\nf5f6e6f4\n");
        match load_config(&written(folder, "config.toml", input)) {
            Ok(_) => true,
            // It names a path that the system does not open, such as a folder.
            Err(ConfigError::Named {
                source: ArtifactError::Io { .. },
                ..
            }) => false,
            Err(error) => {
                assert!(
                    error.exit_code() == 2,
                    "it would end with {}: {error}",
                    error.exit_code()
                );
                false
            }
        }
    }),
    ("features", |_, input| {
        let Some(set) = str::from_utf8(input)
            .ok()
            .and_then(|text| parse_features(text).ok())
        else {
            return false;
        };
        let written = features_text(&set);
        assert_eq!(
            parse_features(&written).map(|again| features_text(&again)),
            Ok(written)
        );
        true
    }),
    ("positions", |folder, input| {
        check(read_positions(folder, input.to_vec()))
    }),
    ("ggf", |folder, input| {
        if let Some(games) = accepted(read_ggf(folder, input.to_vec())) {
            read_all(GAME_MAX, games);
        }
        let Some(game) = str::from_utf8(input)
            .ok()
            .and_then(|text| parse_ggf(text).ok())
        else {
            return false;
        };
        assert!(
            game.plies().len() <= 128,
            "a game of {} plies",
            game.plies().len()
        );
        assert_eq!(parse_ggf(&write_ggf(&game)), Ok(game));
        true
    }),
    ("transcripts", |folder, input| {
        let games = accepted(read_transcripts(folder, input.to_vec()));
        0 < games.map_or(0, |games| read_all(GAME_MAX, games))
    }),
    ("board-text", |folder, input| {
        let positions = accepted(read_board_text(folder, input.to_vec()));
        0 < positions.map_or(0, |positions| read_all(GAME_MAX, positions))
    }),
    ("wthor", |folder, input| {
        check(read_wthor(folder, input.to_vec()).map(|games| read_all(GAME_MAX, games)))
    }),
    ("parquet", |folder, input| {
        if counts_booleans(input) {
            return false;
        }
        let records = accepted(read_parquet(folder, input.to_vec(), true));
        let rows = records.map_or(0, |records| read_all(TABLE_GAME_MAX, records));
        let tables = [&POSITIONS, &GATE_GAMES, &WEIGHTS];
        let is_accepted =
            tables.map(|table| check(table.decode(folder, input.to_vec().into(), 1 << 20)));
        0 < rows || is_accepted.contains(&true)
    }),
    ("weights", |folder, input| {
        let is_mpc = check(import_mpc_dat(&written(folder, "mpc.dat", input), 1.4));
        let mut weights = input.to_vec();
        weights.resize(ES_CUBE_EVAL_SIZE, 0);
        check(import_es_cube_eval(&written(folder, "eval.dat", &weights))) || is_mpc
    }),
    ("protocols", |_, input| {
        let limits = Limits {
            nodes: Some(2000),
            ..Limits::full_width(Depth(2))
        };
        let stop = AtomicBool::new(false);
        let commands = || Cursor::new(input.to_vec());
        let _ = nboard::serve(&MODEL.model, limits, commands(), &stop, &mut Vec::new());
        gtp::serve(&MODEL.model, limits, commands(), &stop, &mut Vec::new()).is_ok()
    }),
    ("requests", |_, input| {
        let answer = answer(input);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.starts_with("HTTP/1."), "{text}");
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let game = serde_json::from_str::<Value>(body)
            .ok()
            .filter(|answer| answer["positions"].is_array());
        if let Some(written) = game.as_ref().and_then(|game| game["text"].as_str()) {
            let again = parse_game(written)
                .unwrap()
                .map_or_else(String::new, |game| game_text(&game));
            assert_eq!(again, written);
        }
        text.lines()
            .next()
            .is_some_and(|status| status.ends_with(" 200 OK"))
    }),
];

/// A browser that sends a request, and goes away after a few looks for an answer.
struct Browser<'a> {
    request: &'a [u8],
    looks: u32,
    answer: Vec<u8>,
}

impl AsyncRead for Browser<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.request.is_empty() && 0 < self.looks {
            self.looks -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let (now, later) = self
            .request
            .split_at(bytes.remaining().min(self.request.len()));
        bytes.put_slice(now);
        self.request = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Browser<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.answer.extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn answer(request: &[u8]) -> Vec<u8> {
    static SITE: LazyLock<Site> =
        LazyLock::new(|| Site::new(MODEL.clone(), Path::new("nowhere"), 8064));
    let mut browser = Browser {
        request,
        looks: 8,
        answer: Vec::new(),
    };
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(converse(&mut browser, &SITE, &AtomicBool::new(false)));
    browser.answer
}

/// What was read, if it is accepted. A command would exit with 2 or 65 if not, or with 1 if the
/// input names a path that the system does not open.
fn accepted<T>(read: Result<T, impl Into<StageError>>) -> Option<T> {
    let refusal = |error: StageError| match error {
        StageError::Artifact(ArtifactError::Io { .. }) => {}
        error => assert!(matches!(error.exit_code(), 2 | 65), "{error}"),
    };
    read.map_err(Into::into).map_err(refusal).ok()
}

fn check<T>(read: Result<T, impl Into<StageError>>) -> bool {
    accepted(read).is_some()
}

/// No game that is played by its moves has more positions.
const GAME_MAX: usize = 129;

/// Nor has one of a table, where a game may come with its mirror images.
const TABLE_GAME_MAX: usize = 4096;

/// 42,608 weights.
const ES_CUBE_EVAL_SIZE: usize = 170_432;

/// Whether a footer may have a list or map of 2^28 booleans or more. The Parquet reader counts them
/// for seconds, in a thread that `guarded` leaves behind: it would slow down the next inputs.
fn counts_booleans(file: &[u8]) -> bool {
    let Some((rest, size)) = file
        .strip_suffix(b"PAR1")
        .and_then(<[u8]>::split_last_chunk)
    else {
        return false;
    };
    let footer = &rest[rest
        .len()
        .saturating_sub(u32::from_le_bytes(*size) as usize)..];
    // A 31-bit number that needs five bytes.
    let is_large = |count: &[u8]| count[..4].iter().all(|byte| 0x80 <= *byte) && count[4] < 8;
    footer.windows(6).any(|bytes| {
        let is_list = matches!(bytes[0], 0xf1 | 0xf2) && is_large(&bytes[1..]);
        is_list || is_large(bytes) && matches!(bytes[5], 0x11 | 0x12 | 0x21 | 0x22)
    })
}

/// Reads all records, and returns the number of rows of the sound games.
fn read_all(game_max: usize, records: Records) -> usize {
    let mut count = 0;
    for game in records.iter.flatten() {
        assert!(
            game.rows.len() <= game_max,
            "a game of {} positions",
            game.rows.len()
        );
        count += game.rows.len();
    }
    count
}

fn written(folder: &Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, input).unwrap();
    path
}

/// The files of an archive by name, with a model.json that lists the hashes they have, so that what
/// is behind them is read too.
fn hashed(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive)
        .entries()
        .into_iter()
        .flatten()
        .flatten()
    {
        let (name, mut bytes) = (
            String::from_utf8_lossy(&entry.path_bytes()).into_owned(),
            Vec::new(),
        );
        let _ = entry.take(1 << 20).read_to_end(&mut bytes);
        files.insert(name, bytes);
    }
    if let Some(Ok(Value::Object(mut fields))) = files
        .get("model.json")
        .map(|bytes| serde_json::from_slice(bytes))
    {
        for (name, bytes) in &files {
            if let Some(listed) = fields
                .get_mut("files")
                .and_then(|listed| listed.get_mut(name))
            {
                *listed = json!({"bytes": bytes.len(), "hash": ContentHash::of(bytes)});
            }
        }
        files.insert("model.json".to_owned(), with_seal(fields));
    }
    files
}

/// The input as a file with a valid seal if it is a JSON object, so that what is behind the seal is
/// read too.
fn sealed(folder: &Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    match serde_json::from_slice::<Value>(input) {
        Ok(Value::Object(fields)) => written(folder, name, &with_seal(fields)),
        _ => written(folder, name, input),
    }
}

fn with_seal(mut fields: Map<String, Value>) -> Vec<u8> {
    fields.remove("hash");
    if fields.is_empty() {
        b"{}".to_vec()
    } else {
        seal(&fields).into_bytes()
    }
}
