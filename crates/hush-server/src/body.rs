// SPDX-License-Identifier: Apache-2.0
//! Reading request bodies: never more than was declared, never slower than a floor.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use crate::error::{ApiError, Code};

/// Slowest upload after the first allowance of silence.
const MIN_BYTES_PER_SECOND: u64 = 64 << 10;

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

#[cfg(test)]
mod tests {
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
}
