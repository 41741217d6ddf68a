// SPDX-License-Identifier: Apache-2.0
//! Codes of refusals that clients act on. The server's table of codes has their statuses and sentences, and the codes that are only
//! shown.

/// The server is at its limit.
pub const BUSY: &str = "HUSH-V004";
/// A body came too slowly.
pub const TOO_SLOW: &str = "HUSH-V009";
/// A body ended early.
pub const BODY_BROKEN: &str = "HUSH-V010";
/// An upload stands at another offset.
pub const WRONG_OFFSET: &str = "HUSH-V011";
/// Another connection uploads the part.
pub const UPLOAD_ACTIVE: &str = "HUSH-V012";
/// The bytes of a part do not have the digest of its name.
pub const WRONG_DIGEST: &str = "HUSH-V013";
/// No such table.
pub const NO_TABLE: &str = "HUSH-V014";
/// No such part.
pub const NO_PART: &str = "HUSH-V015";
/// The table has this version already, or a newer one.
pub const OLD_VERSION: &str = "HUSH-V018";
/// A plan was made for another version of the table.
pub const OTHER_VERSION: &str = "HUSH-V029";

/// With these a server asks for another try of the same request.
pub const TRANSIENT: [&str; 4] = [BUSY, TOO_SLOW, BODY_BROKEN, UPLOAD_ACTIVE];
