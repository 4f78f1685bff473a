//! One HTTP request over a unix socket: what an engine's API needs and no more.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Largest answer that is read. An inspected container is a few kilobytes; labels can make it large.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Opens the socket.
pub(super) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket).await
}

/// Sends one request without a body and reads the whole answer; `patience` is for all of it.
pub(super) async fn ask(
    socket: &Path,
    method: Method,
    path: &str,
    patience: Option<Duration>,
) -> Result<(StatusCode, Bytes)> {
    let exchange = exchange(socket, method, path);
    match patience {
        None => exchange.await,
        Some(limit) => match timeout(limit, exchange).await {
            Ok(answer) => answer,
            Err(_) => bail!(
                "no answer from {} within {limit:?}; is the engine overloaded?",
                socket.display()
            ),
        },
    }
    .with_context(|| format!("asking the container engine at {} for {path}", socket.display()))
}

async fn exchange(socket: &Path, method: Method, path: &str) -> Result<(StatusCode, Bytes)> {
    let stream = connect(socket).await.context("cannot connect")?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .context("no HTTP spoken there")?;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Host", "engine")
        .body(Empty::<Bytes>::new())
        .context("cannot make the request")?;
    let answer = async {
        let response = sender.send_request(request).await.context("the request failed")?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await;
        match body {
            Ok(body) => Ok((status, body.to_bytes())),
            Err(error) => bail!("the answer could not be read: {error}"),
        }
    };
    tokio::pin!(answer, connection);
    // The connection has to be driven while the answer is awaited; it may end first.
    let mut is_open = true;
    loop {
        tokio::select! {
            answered = &mut answer => return answered,
            _ended = &mut connection, if is_open => is_open = false,
        }
    }
}
