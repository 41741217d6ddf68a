// SPDX-License-Identifier: Apache-2.0
//! The range of a part's bytes that a request carries.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use axum::http::HeaderMap;
use axum::http::header::CONTENT_RANGE;

use crate::body::declared_length;
use crate::error::{ApiError, Code};

/// Bytes `start..end` of `total`; `start < end ≤ total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Bytes of the whole part.
    pub total: u64,
}

impl ByteRange {
    /// Reads `Content-Range: bytes a-b/n`; without it the body is the whole part.
    ///
    /// # Errors
    /// [`Code::BadHeader`] unless the range is sound and `Content-Length` agrees with it;
    /// [`Code::LengthRequired`]; [`Code::TooLarge`] if the part would exceed `limit`.
    pub fn of_request(headers: &HeaderMap, limit: u64) -> Result<Self, ApiError> {
        let length = declared_length(headers, limit)?;
        let Some(text) = headers.get(CONTENT_RANGE) else {
            let whole = Self { start: 0, end: length, total: length };
            return if length == 0 { Err(Code::BadHeader.into()) } else { Ok(whole) };
        };
        let range = text.to_str().ok().and_then(Self::parse).ok_or(Code::BadHeader)?;
        if range.total > limit {
            return Err(Code::TooLarge.into());
        }
        if range.length() == length { Ok(range) } else { Err(Code::BadHeader.into()) }
    }

    /// Bytes of this range.
    pub fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn parse(text: &str) -> Option<Self> {
        let (bounds, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let (start, last) = bounds.split_once('-')?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse::<u64>().ok()).flatten()
        };
        let (start, end, total) = (number(start)?, number(last)?.checked_add(1)?, number(total)?);
        (start < end && end <= total).then_some(Self { start, end, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::CONTENT_LENGTH;

    fn request(length: &str, range: Option<&str>) -> Result<ByteRange, Code> {
        let mut headers = HeaderMap::from_iter([(CONTENT_LENGTH, length.parse().unwrap())]);
        if let Some(range) = range {
            headers.insert(CONTENT_RANGE, range.parse().unwrap());
        }
        ByteRange::of_request(&headers, 100).map_err(|error| error.code)
    }

    #[test]
    fn ranges_must_agree_with_length_and_limit() {
        assert_eq!(request("10", None), Ok(ByteRange { start: 0, end: 10, total: 10 }));
        assert_eq!(request("3", Some("bytes 2-4/9")), Ok(ByteRange { start: 2, end: 5, total: 9 }));
        assert_eq!(request("101", None), Err(Code::TooLarge));
        assert_eq!(request("3", Some("bytes 2-4/101")), Err(Code::TooLarge));
        assert_eq!(request("0", None), Err(Code::BadHeader));
        for bad in [
            "bytes 2-5/9",
            "bytes 4-2/9",
            "bytes 7-9/9",
            "bytes 2-4/*",
            "bytes */9",
            "bytes -2-0/9",
            "bytes +2-4/9",
            "bytes 0-18446744073709551615/9",
            "rows 2-4/9",
            "",
        ] {
            assert_eq!(request("3", Some(bad)), Err(Code::BadHeader), "{bad}");
        }
    }
}
