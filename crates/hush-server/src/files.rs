// SPDX-License-Identifier: Apache-2.0
//! Sending a part, a manifest or an answer, whole or one range of it, in constant memory; or the address where it is.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use hush_table::TableError;
use hush_table::error::Operation;
use hush_table::part::PartSource;
use object_store::path::Path;
use object_store::signer::Signer;
use tokio::task::spawn_blocking;

use crate::admission::Place;
use crate::error::{ApiError, Code};

/// Bytes of a file that are in memory at once.
const PIECE_BYTES: u64 = 256 << 10;
/// The same where reading them is a request.
const REMOTE_PIECE_BYTES: u64 = 2 << 20;

/// Bytes on their way to a client.
pub enum Stored {
    /// Bytes that can be read here.
    Bytes {
        /// They.
        source: PartSource,
        /// The object that holds them and nothing else, where there is one.
        object: Option<Path>,
    },
    /// An object that is to be read where it is.
    Object(Path),
}

/// Gives long bodies by an address in the store, which opens one object for a while to whoever has it: for services whose own answers are
/// short.
pub struct Elsewhere {
    /// Makes the addresses.
    pub signer: Arc<dyn Signer>,
    /// Bodies of more bytes are given so.
    pub over_bytes: u64,
    /// How long an address is good.
    pub good_for: Duration,
}

impl Elsewhere {
    async fn address(&self, object: &Path) -> Result<Response, ApiError> {
        let signed = self.signer.signed_url(Method::GET, object, self.good_for).await;
        let url = signed.map_err(|cause| TableError::of_store(Operation::Read, object.as_ref(), cause))?;
        let location = HeaderValue::from_str(url.as_str()).map_err(|_| Code::Internal)?;
        let headers = [(LOCATION, location), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        Ok((StatusCode::TEMPORARY_REDIRECT, headers).into_response())
    }
}

/// Answers with some bytes as they are, or with their address `elsewhere` if they are too many.
///
/// One range `bytes=a-b`, `bytes=a-` or `bytes=-n` is honoured; a header with several ranges or another unit is
/// ignored, as RFC 9110 allows. `place` stays taken until the last byte is handed over; `handed_over` is told of the
/// bytes as they are.
///
/// # Errors
/// [`Code::BadRange`].
pub async fn send(
    elsewhere: Option<&Elsewhere>,
    stored: Stored,
    headers: &HeaderMap,
    place: Place,
    handed_over: impl Fn(Range<u64>) + Send + 'static,
) -> Result<Response, ApiError> {
    let (source, object) = match stored {
        Stored::Bytes { source, object } => (source, object),
        Stored::Object(object) => return elsewhere.ok_or(Code::Internal)?.address(&object).await,
    };
    let total = source.length();
    if let (Some(elsewhere), Some(object)) = (elsewhere, &object)
        && total > elsewhere.over_bytes
    {
        return elsewhere.address(object).await;
    }
    let range = match headers.get(RANGE).and_then(|value| value.to_str().ok()) {
        Some(text) => parse_range(text, total),
        None => Requested::Whole,
    };
    let (status, start, length) = match range {
        Requested::Whole => (StatusCode::OK, 0, total),
        Requested::Slice { start, length } => (StatusCode::PARTIAL_CONTENT, start, length),
        Requested::Outside => {
            return Err(ApiError::from(Code::BadRange).with_header(CONTENT_RANGE, format!("bytes */{total}")));
        }
    };
    let mut response =
        Response::new(stream_of(source, start..start.saturating_add(length), place, handed_over));
    *response.status_mut() = status;
    let answer = response.headers_mut();
    answer.insert(CONTENT_LENGTH, HeaderValue::from(length));
    answer.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == StatusCode::PARTIAL_CONTENT {
        let last = start.saturating_add(length).saturating_sub(1);
        if let Ok(value) = HeaderValue::from_str(&format!("bytes {start}-{last}/{total}")) {
            answer.insert(CONTENT_RANGE, value);
        }
    }
    Ok(response)
}

fn stream_of(
    source: PartSource,
    bytes: Range<u64>,
    place: Place,
    handed_over: impl Fn(Range<u64>) + Send + 'static,
) -> Body {
    let piece_bytes = if source.is_remote() { REMOTE_PIECE_BYTES } else { PIECE_BYTES };
    let begun = (source, piece_bytes, bytes, place, handed_over);
    let pieces = stream::try_unfold(begun, async |(source, piece_bytes, bytes, place, handed_over)| {
        let next = bytes.start.saturating_add(piece_bytes).min(bytes.end);
        if bytes.start >= next {
            return Ok::<_, std::io::Error>(None);
        }
        let (from, range) = (source.clone(), bytes.start..next);
        // What was shortened under us ends in an error: broken off, so that the client sees a short body.
        let piece = spawn_blocking(move || from.read(range)).await.map_err(std::io::Error::other)??;
        // The last piece is not asked for again: nothing is left then.
        handed_over(bytes.start..next);
        Ok(Some((piece, (source, piece_bytes, next..bytes.end, place, handed_over))))
    });
    Body::from_stream(pieces)
}

#[derive(Debug, PartialEq, Eq)]
enum Requested {
    Whole,
    Slice { start: u64, length: u64 },
    Outside,
}

fn parse_range(text: &str, total: u64) -> Requested {
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|spec| spec.split_once('-')) else {
        return Requested::Whole;
    };
    let number =
        |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok());
    let (start, end) = match (first, last) {
        ("", digits) => match number(digits).flatten() {
            Some(0) => return Requested::Outside,
            Some(suffix) => (total.saturating_sub(suffix), total),
            None => return Requested::Whole,
        },
        (first, "") => match number(first).flatten() {
            Some(start) => (start, total),
            None => return Requested::Whole,
        },
        (first, last) => match (number(first).flatten(), number(last).flatten()) {
            (Some(start), Some(last)) if start <= last => (start, last.saturating_add(1).min(total)),
            _ => return Requested::Whole,
        },
    };
    match end.checked_sub(start) {
        Some(length) if length > 0 => Requested::Slice { start, length },
        _ => Requested::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_rfc_9110() {
        let slice = |start, length| Requested::Slice { start, length };
        for (text, expected) in [
            ("bytes=0-0", slice(0, 1)),
            ("bytes=2-5", slice(2, 4)),
            ("bytes=2-", slice(2, 8)),
            ("bytes=2-99", slice(2, 8)),
            ("bytes=-3", slice(7, 3)),
            ("bytes=-30", slice(0, 10)),
            ("bytes=10-", Requested::Outside),
            ("bytes=-0", Requested::Outside),
            ("bytes=18446744073709551615-18446744073709551615", Requested::Outside),
            ("bytes=5-2", Requested::Whole),
            ("bytes=1-2,4-5", Requested::Whole),
            ("rows=1-2", Requested::Whole),
            ("bytes=", Requested::Whole),
            ("bytes=-", Requested::Whole),
            ("bytes=+1-2", Requested::Whole),
            ("bytes=99999999999999999999-", Requested::Whole),
        ] {
            assert_eq!(parse_range(text, 10), expected, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Requested::Outside);
    }
}
