// SPDX-License-Identifier: Apache-2.0
//! Accepting connections: HTTP/1.1 with limits on headers and silence, a cap on connections, and a shutdown that
//! lets requests finish.
//!
//! While somebody waits for a connection, every response closes its own: so those who hold one and those who wait take
//! turns, and nobody's connection is closed under a request.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::map_response;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::config::Limits;
use crate::stall::StallGuard;

/// Time for the first head on a connection: who has not said anything yet need not be known to us.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_HEADER_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
const READ_BUFFER_BYTES: usize = 128 << 10;
/// After a failed accept (no file descriptors left, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time that open requests get after the signal to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves until `stop` turns true, then lets open requests finish for a while.
pub async fn serve(listener: TcpListener, router: Router, limits: &Limits, mut stop: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let idle = limits.idle();
    let crowded = Arc::new(AtomicBool::new(false));
    let router = closing(router, Arc::clone(&crowded));
    let (open, mut all_closed) = watch::channel(());
    let open = Arc::new(open);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => break,
        };
        let Ok((stream, _)) = accepted else {
            tracing::warn!("a connection could not be accepted");
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        crowded.store(places.available_permits() == 0, Ordering::Relaxed);
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = stopped(&mut stop) => break,
        };
        crowded.store(false, Ordering::Relaxed);
        let (router, stop, open) = (router.clone(), stop.clone(), Arc::clone(&open));
        tokio::spawn(async move {
            connection(stream, router, idle, stop).await;
            drop((place, open));
        });
    }
    drop((listener, open));
    // Fails once the last connection has dropped its sender, which is what is waited for.
    let drained = timeout(DRAIN, async { while all_closed.changed().await.is_ok() {} }).await;
    if drained.is_err() {
        tracing::warn!("requests were still open at the end of the grace period");
    }
}

/// The router with responses that close their connection while it is `crowded`.
fn closing(router: Router, crowded: Arc<AtomicBool>) -> Router {
    router.layer(map_response(move |mut response: Response| {
        if crowded.load(Ordering::Relaxed) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        ready(response)
    }))
}

async fn connection(stream: TcpStream, router: Router, idle: Duration, mut stop: watch::Receiver<bool>) {
    // Latency of small answers; failure only costs that.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(StallGuard::new(stream, idle));
    let spoken = Arc::new(AtomicBool::new(false));
    let service = {
        let (spoken, router) = (Arc::clone(&spoken), TowerToHyperService::new(router));
        service_fn(move |request| {
            spoken.store(true, Ordering::Relaxed);
            router.call(request)
        })
    };
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        // For a head, from the end of the request before: a client that was told to try again in a moment finds its
        // connection still open.
        .header_read_timeout(idle)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEADER_BYTES)
        .max_buf_size(READ_BUFFER_BYTES)
        .serve_connection(io, service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = silence(&spoken) => return,
        () = stopped(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(timeout = error.is_timeout(), "a connection ended early");
    }
}

/// Until nothing was said for too long from the start on; for ever, if something was.
async fn silence(spoken: &AtomicBool) {
    sleep(FIRST_HEAD_TIMEOUT).await;
    if spoken.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
}

/// Until the signal to stop, or until nobody can give it any more.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}
