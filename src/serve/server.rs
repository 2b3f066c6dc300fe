//! Connections: loopback only, one request each, few at a time, and none for long. Slow ones are
//! dropped for new ones.

use super::answer::{Site, answer};
use crate::artifact::LoadedModel;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};

/// For one more the oldest is dropped that is not waiting for a search, of which there are fewer.
const CONNECTIONS_MAX: usize = 32;

/// For the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// From the connection to the last byte of the answer, a search included.
const CONNECTION_TIME: Duration = Duration::from_secs(30);

/// How often the stop flag is looked at.
const POLL: Duration = Duration::from_millis(100);

/// The largest head of a request, the least that the library allows.
const HEAD_SIZE_MAX: usize = 8 * 1024;

/// A server that cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is taken or not allowed.
    #[error("cannot listen on 127.0.0.1:{0}; `--port 0` takes a free one")]
    Listen(u16, #[source] io::Error),
    /// The system refuses what the server needs.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}

/// Serves the pages until `stop` is raised: a model to play with, and the run of a registry.
/// `ready` gets the address, and says whether to begin; port 0 takes a free port.
///
/// # Errors
///
/// A port that is not available.
pub fn serve(
    model: LoadedModel,
    registry: &Path,
    port: u16,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr) -> bool,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    runtime.block_on(async {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listening.map_err(|error| ServeError::Listen(port, error))?;
        let address = listener.local_addr().map_err(ServeError::Start)?;
        let site = Arc::new(Site::new(model, registry, address.port()));
        let mut connections = VecDeque::new();
        let is_wanted = ready(address);
        while is_wanted && !stop.load(Ordering::Relaxed) {
            match timeout(POLL, listener.accept()).await {
                Ok(Ok((stream, _))) => {
                    make_room(&mut connections);
                    let searches = Arc::new(AtomicBool::new(false));
                    let (site, raised) = (Arc::clone(&site), Arc::clone(&searches));
                    let task = tokio::spawn(async move { converse(stream, &site, &raised).await });
                    connections.push_back(Connection { task, searches });
                    // The task begins before the next connection comes, so that no connection is
                    // dropped unheard.
                    yield_now().await;
                }
                // A connection that is gone already, or no file left for it.
                Ok(Err(_)) => sleep(POLL).await,
                Err(_) => {}
            }
        }
        Ok(())
    })
}

struct Connection {
    task: JoinHandle<()>,
    searches: Arc<AtomicBool>,
}

/// Drops a connection if there are too many; they are in the order in which they came.
fn make_room(connections: &mut VecDeque<Connection>) {
    connections.retain(|connection| !connection.task.is_finished());
    if connections.len() == CONNECTIONS_MAX {
        let slowest = connections
            .iter()
            .position(|connection| !connection.searches.load(Ordering::Relaxed));
        if let Some(dropped) = connections.remove(slowest.unwrap_or(0)) {
            dropped.task.abort();
        }
    }
}

/// Answers the one request of a connection; `searches` is raised if that takes a search.
pub async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    site: &Site,
    searches: &AtomicBool,
) {
    let service = service_fn(|request| answer(site, request, searches));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_SIZE_MAX)
        .keep_alive(false);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or is too slow gets no answer, and that is not an error of the
    // server.
    let _ended = timeout(CONNECTION_TIME, connection).await;
}
