// SPDX-License-Identifier: Apache-2.0
//! Headers beside those of HTTP.

/// Request: names a submission, so that a repeated one gives the first one's job.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Most visible characters of an [`IDEMPOTENCY_KEY`].
pub const IDEMPOTENCY_KEY_MAX_BYTES: usize = 128;
/// Response: where an upload stands, in bytes.
pub const UPLOAD_OFFSET: &str = "upload-offset";
/// Response: whether a part is complete, [`YES`] or [`NO`].
pub const UPLOAD_COMPLETE: &str = "upload-complete";
/// Response: [`YES`] if a file lies under the part's name which is not the part.
pub const PART_DAMAGED: &str = "part-damaged";

/// True, as a structured field.
pub const YES: &str = "?1";
/// False, as a structured field.
pub const NO: &str = "?0";
