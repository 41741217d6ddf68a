// SPDX-License-Identifier: Apache-2.0
//! Parts: immutable files, named by their digest, uploaded piece by piece.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use hush_protocol::header::{self, NO, YES};
use hush_protocol::refusal::ErrorBody;
use hush_table::{PartName, StoredPart};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use utoipa::IntoParams;

use super::App;
use super::path::PartPath;
use crate::admission::Place;
use crate::body::Pieces;
use crate::error::{ApiError, Code};
use crate::files::{self, Stored};
use crate::names::TableName;
use crate::uploads::{ByteRange, Claim, Outcome, UPLOAD_OFFSET};

/// Response header: whether a part is complete, as a structured-field boolean.
pub const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static(header::UPLOAD_COMPLETE);

/// Response header: that a file lies under the part's name which is not the part, as a structured-field boolean.
pub const PART_DAMAGED: HeaderName = HeaderName::from_static(header::PART_DAMAGED);

/// Query string of a question for a part.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Read the part, and take it for absent unless it has the digest of its name.
    #[serde(default)]
    verify: bool,
}

/// Tells how much of a part the server has.
///
/// 200 with its length if it is complete, else 404. Both carry `Upload-Offset`: where to continue. With `verify=true` the
/// part is read first; one that does not have the digest of its name is answered as an absent one, with `Part-Damaged: ?1`.
#[utoipa::path(head, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear, .enc or .key"), Check),
    responses((status = 200, description = "complete"), (status = 404, description = "absent, incomplete or damaged"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn head(
    State(app): State<Arc<App>>,
    PartPath(table, part): PartPath,
    check: Result<Query<Check>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(check) = check.map_err(|_| Code::BadQuery)?;
    let stored = match check.verify {
        true => stored(&app, &table, &part).await?,
        false => {
            let place = app.catalog.place(&table)?;
            let bytes =
                spawn_blocking(move || place.part_bytes(&part)).await.map_err(|_| Code::Internal)??;
            bytes.map_or(StoredPart::Absent, |bytes| StoredPart::Sound { bytes })
        }
    };
    if let StoredPart::Sound { bytes } = stored {
        let length = bytes.to_string();
        let headers = [(CONTENT_LENGTH, length.as_str()), (UPLOAD_OFFSET, &length), (UPLOAD_COMPLETE, YES)];
        return Ok((headers, Body::empty()).into_response());
    }
    let offset = match &app.intake {
        Some(intake) => intake.uploads.offset(&table, &part).await,
        None => 0,
    };
    let absent =
        ApiError::from(Code::NoPart).with_header(UPLOAD_OFFSET, offset).with_header(UPLOAD_COMPLETE, NO);
    Err(if stored == StoredPart::Absent { absent } else { absent.with_header(PART_DAMAGED, YES) })
}

/// Reads what lies under a part's name.
async fn stored(app: &Arc<App>, table: &TableName, part: &PartName) -> Result<StoredPart, ApiError> {
    let (app, table, part) = (Arc::clone(app), table.clone(), *part);
    spawn_blocking(move || app.catalog.stored(&table, &part)).await.map_err(|_| Code::Internal)?
}

/// Returns a complete part, or one range of it.
#[utoipa::path(get, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear, .enc or .key"),
           ("Range" = Option<String>, Header, description = "one range of bytes")),
    responses((status = 200, description = "the file", content_type = "application/octet-stream"),
              (status = 206, description = "the range", content_type = "application/octet-stream"),
              (status = 307, description = "it is at this address, which wants no token"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn fetch(
    State(app): State<Arc<App>>,
    PartPath(table, part): PartPath,
    place: Place,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let table = app.catalog.place(&table)?;
    let object = Some(table.part_path(part.kind, &part.digest));
    let found = spawn_blocking(move || table.part_as_it_is(&part)).await.map_err(|_| Code::Internal)??;
    let stored = Stored::Bytes { source: found.ok_or(Code::NoPart)?, object };
    files::send(app.elsewhere.as_ref(), stored, &headers, place, drop).await
}

/// Uploads a part, whole or continuing where an earlier upload ended.
///
/// `Content-Range: bytes a-b/n` says which bytes the body holds; `a` must be the current offset, or 0 to begin
/// anew. When the last byte has come, the file's BLAKE3 must be its name; then the part is complete. A part that is there
/// is read first, and replaced if it is damaged; the reply then carries `Part-Damaged: ?1`.
#[utoipa::path(put, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear, .enc or .key"),
           ("Content-Range" = Option<String>, Header, description = "bytes a-b/n; absent: the whole part")),
    request_body(content_type = "application/octet-stream", description = "Content-Length required"),
    responses((status = 200, description = "was complete already; the body was not read"),
              (status = 201, description = "complete"),
              (status = 202, description = "more is missing; see Upload-Offset"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn upload(
    State(app): State<Arc<App>>,
    PartPath(table, part): PartPath,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let intake = app.intake()?;
    let range = ByteRange::of_request(&headers, app.limits.max_part_bytes)?;
    let replaced = match stored(&app, &table, &part).await? {
        StoredPart::Absent => None,
        StoredPart::Damaged { bytes } => Some(bytes),
        StoredPart::Sound { .. } => return Ok((StatusCode::OK, [(UPLOAD_COMPLETE, YES)]).into_response()),
    };
    let claim = make_room(&app, &table, &part, range, replaced).await?;
    let pieces = Pieces::new(body, range.length(), app.limits.idle());
    let (status, offset, complete) =
        match claim.append(&part, range, pieces, &app.catalog.place(&table)?).await? {
            Outcome::Complete => (StatusCode::CREATED, range.total, YES),
            Outcome::Partial { offset } => (StatusCode::ACCEPTED, offset, NO),
        };
    if status == StatusCode::CREATED {
        app.catalog.published(&table, range.total, replaced.unwrap_or(0));
        if replaced.is_some() {
            tracing::warn!("a damaged part was replaced");
            intake.runner.forget(&table);
        }
    }
    tracing::info!(bytes = range.length(), complete, "part bytes received");
    let headers = [(UPLOAD_OFFSET, offset.to_string()), (UPLOAD_COMPLETE, complete.to_owned())];
    let damaged = replaced.map(|_| [(PART_DAMAGED, YES)]);
    Ok((status, headers, damaged, ()).into_response())
}

/// Takes what an upload needs, if it is to be had: bytes of its table, of unfinished uploads, a place for its table.
async fn make_room(
    app: &Arc<App>,
    table: &TableName,
    part: &PartName,
    range: ByteRange,
    replaced: Option<u64>,
) -> Result<Claim, ApiError> {
    let (app, table, part) = (Arc::clone(app), table.clone(), *part);
    let work = move || {
        let intake = app.intake()?;
        let stored = app.catalog.stored_bytes(&table)?.saturating_sub(replaced.unwrap_or(0));
        if stored.saturating_add(range.total) > app.limits.max_table_bytes {
            return Err(Code::StorageFull.into());
        }
        let claim = intake.uploads.claim(&table, &part, range.end)?;
        intake.places.take(&table)?;
        Ok(claim)
    };
    spawn_blocking(work).await.map_err(|_| Code::Internal)?
}
