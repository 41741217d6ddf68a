// SPDX-License-Identifier: Apache-2.0
//! Refusals: one table of stable codes, each with its HTTP status and a fixed sentence.
//!
//! A sentence tells the way out and nothing of the inside: no paths, no parser messages, no values. What is over a
//! limit is told with two numbers beside it: what was found and what is allowed.

use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use hush_protocol::code;
use hush_table::{DeliveryFault, TableError};

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $code:expr, $status:ident, $sentence:literal;)+) => {
        /// Why a request was refused or a job failed. The text form never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$meta])* $name,)+ }

        impl Code {
            /// All codes, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The stable text form.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            /// The HTTP status that carries it.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status),+ }
            }

            /// The fixed sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence),+ }
            }
        }
    };
}

codes! {
    /// No token, or another one.
    Unauthorised = "HUSH-V001", UNAUTHORIZED,
        "the API token is missing or not this server's; send Authorization: Bearer with the content of its token file";
    /// Unknown path.
    NoRoute = "HUSH-V002", NOT_FOUND, "no such path; /v1/openapi.json lists them";
    /// Known path, other method.
    NoMethod = "HUSH-V003", METHOD_NOT_ALLOWED, "this path does not take this method; /v1/openapi.json lists them";
    /// Admission refused.
    Busy = code::BUSY, SERVICE_UNAVAILABLE, "the server is at its limit; try again later";
    /// A name that is not one.
    BadName = "HUSH-V005", BAD_REQUEST, "malformed table name, part name or job id";
    /// A header that does not parse.
    BadHeader = "HUSH-V006", BAD_REQUEST, "a request header is malformed";
    /// Chunked body.
    LengthRequired = "HUSH-V007", LENGTH_REQUIRED, "send Content-Length; a body of unknown size is not read";
    /// Above a limit.
    TooLarge = "HUSH-V008", PAYLOAD_TOO_LARGE, "larger than this server's limit; /v1/version states the limits";
    /// Too slow.
    TooSlow = code::TOO_SLOW, REQUEST_TIMEOUT, "the body came too slowly; resume the upload";
    /// The connection broke off.
    BodyBroken = code::BODY_BROKEN, BAD_REQUEST, "the body ended early; resume the upload";
    /// Wrong offset.
    WrongOffset = code::WRONG_OFFSET, CONFLICT, "the upload stands at another offset; see Upload-Offset and continue there";
    /// Second writer.
    UploadActive = code::UPLOAD_ACTIVE, CONFLICT, "another connection is uploading this part; try again later";
    /// Digest does not match.
    WrongDigest = code::WRONG_DIGEST, UNPROCESSABLE_ENTITY,
        "the bytes do not have the digest of their name; what was received is discarded, upload the part again";
    /// Unknown table.
    NoTable = code::NO_TABLE, NOT_FOUND, "no such table";
    /// Unknown part.
    NoPart = code::NO_PART, NOT_FOUND, "no such part";
    /// Not a sound manifest.
    BadManifest = "HUSH-V016", UNPROCESSABLE_ENTITY, "the manifest is malformed, wrongly signed or names another table";
    /// Another signer.
    OtherOwner = "HUSH-V017", CONFLICT,
        "the table belongs to another signing key; use that key, another table name, or delete the table first";
    /// Not newer.
    OldVersion = code::OLD_VERSION, CONFLICT, "the table already has this version or a newer one; a manifest must be newer";
    /// Parts absent.
    PartsMissing = "HUSH-V019", CONFLICT, "parts of the manifest are missing or of another size; upload them first";
    /// A chunk seed occurs twice.
    SeedReused = "HUSH-V020", UNPROCESSABLE_ENTITY,
        "a chunk seed of this key occurs twice; encrypt the data again, a seed must never be used twice";
    /// Stored parts do not parse.
    BadPart = "HUSH-V021", UNPROCESSABLE_ENTITY, "a part does not have the form that the manifest states";
    /// Not a plan.
    BadPlan = "HUSH-V022", BAD_REQUEST,
        "the plan is malformed or of another format than this server reads; /v1/version states which (plan_format)";
    /// Idempotency key reused.
    KeyReused = "HUSH-V023", UNPROCESSABLE_ENTITY, "this Idempotency-Key was used with another body";
    /// Unknown job.
    NoJob = "HUSH-V024", NOT_FOUND, "no such job, or its result has expired";
    /// Not finished.
    NotDone = "HUSH-V025", CONFLICT, "the job has no result; see its state";
    /// Range outside the file.
    BadRange = "HUSH-V026", RANGE_NOT_SATISFIABLE, "the range lies outside the file";
    /// Disk or quota full.
    StorageFull = "HUSH-V027", INSUFFICIENT_STORAGE, "no space is left on this server, or the table reaches its limit";
    /// Running at two crashes.
    Quarantined = "HUSH-V028", INTERNAL_SERVER_ERROR,
        "the server stopped twice while this job ran, so it is not tried again; submit it again, or ask for less";
    /// The plan is for another version.
    OtherVersion = code::OTHER_VERSION, CONFLICT, "the plan was made for another version of the table; plan again";
    /// Query string.
    BadQuery = "HUSH-V030", BAD_REQUEST, "the query string is malformed; /v1/openapi.json describes it";
    /// No place for another table.
    TablesFull = "HUSH-V031", INSUFFICIENT_STORAGE,
        "the server has as many tables as it takes; delete one, or have its operator raise max-tables";
    /// Unfinished uploads take all that they may.
    UploadsFull = "HUSH-V032", INSUFFICIENT_STORAGE,
        "unfinished uploads take all the space that they may; finish or delete them, or have its operator raise max-uploads-bytes";
    /// Answers take all that they may.
    ResultsFull = "HUSH-V033", INSUFFICIENT_STORAGE,
        "answers take all the space that they may; delete finished jobs, wait, or have its operator raise max-results-bytes";
    /// Not a sound delivery.
    BadDelivery = "HUSH-V034", UNPROCESSABLE_ENTITY,
        "the delivery is malformed, wrongly signed, or its device is not certified by the table's owner";
    /// Another delivery has the number.
    DeliveryConflict = "HUSH-V035", CONFLICT,
        "another delivery of this stream has this number; a spool was copied: give the device a new one";
    /// The owner has shut the device out.
    DeviceRevoked = "HUSH-V037", FORBIDDEN, "the table's owner has revoked this device; its deliveries are not taken";
    /// The devices' token.
    NotForDevices = "HUSH-V036", FORBIDDEN, "the devices' token lets parts and deliveries in, and nothing else";
    /// A front that evaluates and takes nothing in.
    NotHere = "HUSH-V038", FORBIDDEN,
        "this service takes no tables in: push into its bucket yourself (hush push TABLE s3://BUCKET/PREFIX/tables/NAME)";
    /// Parts arrive while old versions should go.
    UploadsRun = "HUSH-V039", CONFLICT, "parts of this table are being uploaded; purge it once they are there";
    /// Ours.
    Internal = "HUSH-V099", INTERNAL_SERVER_ERROR, "internal error; the server's log has the request id";
}

/// A refusal on its way out. [`crate::admission`] writes its body, with the request's id.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {}", code.as_str(), self.text())]
pub struct ApiError {
    /// The code.
    pub code: Code,
    /// Headers beside the body, for instance where an upload stands.
    pub headers: Vec<(HeaderName, String)>,
    /// For a limit: what was found, and the limit.
    pub over: Option<(u64, u64)>,
}

impl ApiError {
    /// The refusal of something above a limit.
    pub fn over(code: Code, found: u64, limit: u64) -> Self {
        Self { over: Some((found, limit)), ..code.into() }
    }

    /// The sentence, with the numbers of a limit.
    pub fn text(&self) -> String {
        match self.over {
            Some((found, limit)) => format!("{} (found {found}, limit {limit})", self.code.sentence()),
            None => self.code.sentence().to_owned(),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    /// The refusal for a failed file operation: storage full, or internal (logged by kind only).
    pub fn from_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge) {
            tracing::warn!("storage is full");
            return Code::StorageFull.into();
        }
        tracing::error!(kind = ?error.kind(), "a file operation failed");
        Code::Internal.into()
    }
}

impl From<Code> for ApiError {
    fn from(code: Code) -> Self {
        Self { code, headers: Vec::new(), over: None }
    }
}

impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        Self::from_io(&error)
    }
}

/// The refusal for what a table's store refuses. Its code is logged: it says more.
impl From<TableError> for ApiError {
    fn from(error: TableError) -> Self {
        tracing::info!(code = error.code(), "refused for a table's sake");
        match error {
            error @ (TableError::Io { .. } | TableError::Store { .. }) => {
                return Self::from_io(&error.into_io());
            }
            TableError::BadDelivery { fault: DeliveryFault::Conflict | DeliveryFault::Settled } => {
                Code::DeliveryConflict
            }
            TableError::BadDelivery { fault: DeliveryFault::Revoked } => Code::DeviceRevoked,
            TableError::BadDelivery { .. } => Code::BadDelivery,
            TableError::PartMissing { .. } | TableError::PartSize { .. } => Code::PartsMissing,
            TableError::NoTable { .. } => Code::NoTable,
            TableError::OtherTable { .. } => Code::OtherOwner,
            TableError::StaleVersion { .. } => Code::OldVersion,
            TableError::Busy { .. } => Code::Busy,
            _ => Code::BadPart,
        }
        .into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_statuses_are_errors() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{} twice", code.as_str());
            assert!(code.as_str().starts_with("HUSH-V"));
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert!(!code.sentence().is_empty());
        }
    }
}
