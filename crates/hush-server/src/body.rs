// SPDX-License-Identifier: Apache-2.0
//! Reading request bodies: never more than was declared, never slower than a floor; and reading past what nobody wants.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::mem::take;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures_util::StreamExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, timeout};

use crate::error::{ApiError, Code};

/// Slowest upload after the first allowance of silence.
const MIN_BYTES_PER_SECOND: u64 = 64 << 10;
/// Largest rest of a body that is read before an answer which does not need it.
const DRAIN_MAX_BYTES: u64 = 8 << 20;
/// Time that reading this rest may take.
const DRAIN_PATIENCE: Duration = Duration::from_secs(3);

/// The declared size of a body.
///
/// # Errors
/// [`Code::LengthRequired`] without `Content-Length`, [`Code::TooLarge`] above `limit`.
pub fn declared_length(headers: &HeaderMap, limit: u64) -> Result<u64, ApiError> {
    let length = headers.get(CONTENT_LENGTH).ok_or(Code::LengthRequired)?;
    let length = length.to_str().ok().and_then(|text| text.parse::<u64>().ok()).ok_or(Code::BadHeader)?;
    if length > limit { Err(Code::TooLarge.into()) } else { Ok(length) }
}

/// A body of known size, read piece by piece under a time limit.
pub struct Pieces {
    stream: BodyDataStream,
    remaining: u64,
    received: u64,
    started: Instant,
    idle: Duration,
}

impl Pieces {
    /// Starts reading `length` bytes; `idle` bounds each silence, and the whole may not fall behind
    /// 64 KiB/s by more than `idle`.
    pub fn new(body: Body, length: u64, idle: Duration) -> Self {
        let stream = body.into_data_stream();
        Self { stream, remaining: length, received: 0, started: Instant::now(), idle }
    }

    /// The next piece; `None` after exactly the declared number of bytes.
    ///
    /// # Errors
    /// [`Code::TooSlow`], [`Code::BodyBroken`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        if self.remaining == 0 {
            return Ok(None);
        }
        let owed = self.idle.saturating_add(Duration::from_secs(self.received / MIN_BYTES_PER_SECOND));
        let patience = owed.saturating_sub(self.started.elapsed()).min(self.idle);
        let piece = timeout(patience, self.stream.next()).await.map_err(|_| Code::TooSlow)?;
        let piece = piece.and_then(Result::ok).ok_or(Code::BodyBroken)?;
        let length = piece.len() as u64;
        self.remaining = self.remaining.checked_sub(length).ok_or(Code::TooLarge)?;
        self.received = self.received.saturating_add(length);
        Ok(Some(piece))
    }

    /// All of it. The caller has reserved the bytes ([`crate::admission::Admission::reserve`]).
    ///
    /// # Errors
    /// As [`Pieces::next`].
    pub async fn collect(mut self) -> Result<Vec<u8>, ApiError> {
        let mut all = Vec::new();
        all.try_reserve_exact(usize::try_from(self.remaining).map_err(|_| Code::TooLarge)?)
            .map_err(|_| Code::Busy)?;
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }
}

/// The part of a request's body that a handler leaves unread.
///
/// A connection on which bytes lie unread is reset when it is closed, and the reset may overtake the answer. So small
/// rests are read, and forgotten, before the answer is sent; then the connection also stays open for more requests.
pub struct Leftover {
    rest: Arc<Mutex<Body>>,
}

/// A body that goes back to its [`Leftover`] when its reader drops it.
struct Lent {
    body: Body,
    /// The client sends nothing before somebody begins to read.
    leave_awaited: bool,
    rest: Arc<Mutex<Body>>,
}

impl Leftover {
    /// Lends a body to a handler; `leave_awaited` says that the client waits for leave to send it.
    pub fn lend(body: Body, leave_awaited: bool) -> (Body, Self) {
        let rest = Arc::new(Mutex::new(Body::empty()));
        let leftover = Self { rest: Arc::clone(&rest) };
        (Body::new(Lent { body, leave_awaited, rest }), leftover)
    }

    /// Reads what is left and forgets it: at most 8 MiB, for at most 3 s. Of a larger rest nothing is read.
    pub async fn drain(self) {
        self.drain_within(DRAIN_PATIENCE).await;
    }

    async fn drain_within(self, patience: Duration) {
        let rest = take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
        if rest.is_end_stream() || rest.size_hint().lower() > DRAIN_MAX_BYTES {
            return;
        }
        let mut stream = rest.into_data_stream();
        let reading = async {
            let mut left = Some(DRAIN_MAX_BYTES);
            while let Some(Ok(piece)) = stream.next().await {
                left = left.and_then(|left| left.checked_sub(piece.len() as u64));
                if left.is_none() {
                    break;
                }
            }
        };
        // A client that is slower finds its connection closed.
        let _ = timeout(patience, reading).await;
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.leave_awaited = false;
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.leave_awaited {
            *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = take(&mut self.body);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn headers(length: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_LENGTH, length.parse().unwrap())])
    }

    #[test]
    fn a_length_must_be_declared_and_within_the_limit() {
        assert_eq!(declared_length(&headers("7"), 7).unwrap(), 7);
        assert_eq!(declared_length(&headers("8"), 7).unwrap_err().code, Code::TooLarge);
        assert_eq!(declared_length(&headers("-1"), 7).unwrap_err().code, Code::BadHeader);
        assert_eq!(declared_length(&HeaderMap::new(), 7).unwrap_err().code, Code::LengthRequired);
    }

    #[tokio::test]
    async fn a_body_that_differs_from_its_length_is_refused() {
        let read = |length| Pieces::new(Body::from("hello"), length, Duration::from_secs(5)).collect();
        assert_eq!(read(5).await.unwrap(), b"hello");
        assert_eq!(read(6).await.unwrap_err().code, Code::BodyBroken);
        assert_eq!(read(4).await.unwrap_err().code, Code::TooLarge);
    }

    #[tokio::test]
    async fn a_silent_body_is_given_up() {
        let silent = Body::from_stream(futures_util::stream::pending::<std::io::Result<Bytes>>());
        let pieces = Pieces::new(silent, 5, Duration::from_millis(10));
        assert_eq!(pieces.collect().await.unwrap_err().code, Code::TooSlow);
    }

    /// A body of pieces, and how many of them were taken.
    fn counted(pieces: usize, bytes: usize) -> (Body, Arc<AtomicUsize>) {
        let taken = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&taken);
        let stream = futures_util::stream::iter((0..pieces).map(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(Bytes::from(vec![0; bytes]))
        }));
        (Body::from_stream(stream), taken)
    }

    #[tokio::test]
    async fn the_rest_of_a_small_body_is_read_and_that_of_a_large_one_is_not() {
        let megabyte = 1 << 20;
        for (pieces, read) in [(0, 0), (3, 3), (8, 8), (100, 9)] {
            let (body, taken) = counted(pieces, megabyte);
            let (lent, leftover) = Leftover::lend(body, false);
            drop(lent);
            leftover.drain().await;
            assert_eq!(taken.load(Ordering::SeqCst), read, "{pieces}");
        }
        // Begun by its handler, read to its end here.
        let (body, taken) = counted(4, 10);
        let (lent, leftover) = Leftover::lend(body, true);
        let refused = Pieces::new(lent, 5, Duration::from_secs(5)).collect().await;
        assert_eq!((refused.unwrap_err().code, taken.load(Ordering::SeqCst)), (Code::TooLarge, 1));
        leftover.drain().await;
        assert_eq!(taken.load(Ordering::SeqCst), 4);
        // A client that waits for leave is not given it.
        let (body, taken) = counted(4, 10);
        let (lent, leftover) = Leftover::lend(body, true);
        drop(lent);
        leftover.drain().await;
        assert_eq!(taken.load(Ordering::SeqCst), 0);
        let (lent, leftover) = Leftover::lend(Body::from(vec![0; 9 * megabyte]), false);
        drop(lent);
        leftover.drain().await;
    }

    #[tokio::test]
    async fn a_rest_that_does_not_come_is_not_waited_for() {
        let silent = Body::from_stream(futures_util::stream::pending::<std::io::Result<Bytes>>());
        let (lent, leftover) = Leftover::lend(silent, false);
        drop(lent);
        let begun = Instant::now();
        leftover.drain_within(Duration::from_millis(10)).await;
        assert!(begun.elapsed() < DRAIN_PATIENCE);
    }
}
