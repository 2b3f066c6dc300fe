//! What each address answers. No address is ever a path of a file.

use super::game::CheckedRequest;
use super::guard;
use super::pool::Pool;
use crate::artifact::publish::{is_link, read_bounded};
use crate::artifact::{ArtifactError, LoadedModel, Model};
use crate::play::levels::{LEVELS, Level};
use crate::report::REPORT_NAME;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A long game as GGF takes a tenth of it.
const BODY_SIZE_MAX: usize = 16 * 1024;

/// The page runs its own scripts, has its own style and asks its own server: nothing else, wherever
/// a text comes from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The report has its style in itself, and no scripts.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

/// The files of the pages: their address, type and content.
const ASSETS: [(&str, &str, &str); 9] = [
    ("/", HTML, include_str!("assets/page.html")),
    ("/page.css", CSS, include_str!("assets/page.css")),
    ("/page.js", SCRIPT, include_str!("assets/page.js")),
    ("/game.js", SCRIPT, include_str!("assets/game.js")),
    ("/analysis.js", SCRIPT, include_str!("assets/analysis.js")),
    ("/text.js", SCRIPT, include_str!("assets/text.js")),
    ("/board.js", SCRIPT, include_str!("assets/board.js")),
    ("/moves.js", SCRIPT, include_str!("assets/moves.js")),
    ("/graph.js", SCRIPT, include_str!("assets/graph.js")),
];

/// The report of a thousand generations has a tenth of it.
const REPORT_SIZE_MAX: u64 = 64 << 20;

/// What all requests share.
pub struct Site {
    model: Arc<LoadedModel>,
    /// The registry of the run whose report is shown.
    registry: PathBuf,
    port: u16,
    pool: Pool,
}

impl Site {
    /// A model to play with, the registry of a run, and the port that is listened on.
    pub fn new(model: LoadedModel, registry: &Path, port: u16) -> Self {
        Self {
            model: Arc::new(model),
            registry: registry.to_owned(),
            port,
            pool: Pool::start(),
        }
    }

    /// Searches for a game in the pool.
    async fn search(
        &self,
        game: CheckedRequest,
        searches: &AtomicBool,
        work: impl FnOnce(&CheckedRequest, &Model, &AtomicBool) -> Value + Send + 'static,
    ) -> Answer {
        searches.store(true, Ordering::Relaxed);
        let model = Arc::clone(&self.model);
        let result = self
            .pool
            .run(move |stop| work(&game, &model.model, stop))
            .await;
        let busy = || {
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many searches are waiting".to_owned(),
            )
        };
        result.as_ref().map(to_json).ok_or_else(busy)
    }
}

/// What a browser gets.
struct Content {
    kind: &'static str,
    policy: &'static str,
    bytes: Bytes,
}

/// A content; else the status of a refusal, and why.
type Answer = Result<Content, (StatusCode, String)>;

/// Answers every request with something; `searches` is raised if that takes a search.
pub(super) async fn answer(
    site: &Site,
    request: Request<Incoming>,
    searches: &AtomicBool,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, content) = match find(site, request, searches).await {
        Ok(content) => (StatusCode::OK, content),
        Err((status, reason)) => (status, to_json(&json!({"error": reason}))),
    };
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content.kind)
        .header(CONTENT_SECURITY_POLICY, content.policy)
        .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-store")
        .body(Full::new(content.bytes));
    Ok(response.expect("the headers are constants"))
}

async fn find(site: &Site, request: Request<Incoming>, searches: &AtomicBool) -> Answer {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    guard::check(&method, request.headers(), site.port)
        .map_err(|(status, reason)| (status, reason.to_owned()))?;
    let not_found = || (StatusCode::NOT_FOUND, "there is nothing here".to_owned());
    if method == Method::POST {
        let game = read_game(request).await?;
        return match path.as_str() {
            "/api/game" => Ok(to_json(&game.positions())),
            "/api/analysis" => site.search(game, searches, CheckedRequest::analyze).await,
            "/api/reply" => {
                site.search(game, searches, |game, model, stop| {
                    game.reply(model, stop).positions()
                })
                .await
            }
            "/api/review" => site.search(game, searches, CheckedRequest::review).await,
            _ => Err(not_found()),
        };
    }
    if method != Method::GET {
        return Err((
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and POST are allowed".to_owned(),
        ));
    }
    match path.as_str() {
        "/api/about" => Ok(to_json(&about(site))),
        "/report" => read_report(&site.registry),
        _ => {
            let asset = ASSETS.iter().find(|(address, ..)| *address == path);
            let (_, kind, content) = asset.ok_or_else(not_found)?;
            Ok(Content {
                kind,
                policy: POLICY,
                bytes: Bytes::from_static(content.as_bytes()),
            })
        }
    }
}

/// The model, the levels, and the number of the one that plays unless another is chosen.
fn about(site: &Site) -> Value {
    let level = |level: &Level| json!({"level": level.number(), "name": level.name});
    let levels: Value = LEVELS.iter().map(level).collect();
    json!({"model": site.model.id.to_string(), "levels": levels, "level": Level::DEFAULT.number()})
}

async fn read_game(request: Request<Incoming>) -> Result<CheckedRequest, (StatusCode, String)> {
    let body = Limited::new(request.into_body(), BODY_SIZE_MAX)
        .collect()
        .await
        .map_err(|error| {
            let is_long = error.is::<LengthLimitError>();
            let status = if is_long {
                StatusCode::PAYLOAD_TOO_LARGE
            } else {
                StatusCode::BAD_REQUEST
            };
            (status, error.to_string())
        })?;
    let bad = |error: serde_json::Error| (StatusCode::BAD_REQUEST, error.to_string());
    // A struct could also be read from a list of its values.
    let fields: Map<String, Value> = serde_json::from_slice(&body.to_bytes()).map_err(bad)?;
    CheckedRequest::deserialize(Value::Object(fields)).map_err(bad)
}

/// The report in the run's own folder: a link could lead to any file of this machine.
fn read_report(registry: &Path) -> Answer {
    let path = registry.join(REPORT_NAME);
    let read = is_link(&path).and_then(|is_link| match is_link {
        true => Err(ArtifactError::unfit(
            &path,
            "it is a symbolic link; only files of the run's own folder are shown",
        )),
        false => read_bounded(&path, REPORT_SIZE_MAX),
    });
    match read {
        Ok(bytes) => Ok(Content {
            kind: HTML,
            policy: REPORT_POLICY,
            bytes: bytes.into(),
        }),
        Err(ArtifactError::Missing { path }) => Err((
            StatusCode::NOT_FOUND,
            format!("{} is missing; renma run writes it", path.display()),
        )),
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

fn to_json(value: &Value) -> Content {
    Content {
        kind: JSON,
        policy: POLICY,
        bytes: value.to_string().into(),
    }
}
