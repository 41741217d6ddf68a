// SPDX-License-Identifier: Apache-2.0
//! Parts: immutable files, named by their digest, uploaded piece by piece.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};

use super::App;
use super::path::PartPath;
use crate::admission::Place;
use crate::body::Pieces;
use crate::error::{ApiError, Code, ErrorBody};
use crate::files;
use crate::uploads::{ByteRange, Outcome, UPLOAD_OFFSET};

/// Response header: whether a part is complete, as a structured-field boolean.
pub const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static("upload-complete");

/// Tells how much of a part the server has.
///
/// 200 with its length if it is complete, else 404. Both carry `Upload-Offset`: where to continue.
#[utoipa::path(head, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear or .enc")),
    responses((status = 200, description = "complete"), (status = 404, description = "absent or incomplete"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn head(
    State(app): State<Arc<App>>,
    PartPath(table, part): PartPath,
) -> Result<Response, ApiError> {
    match tokio::fs::metadata(app.catalog.part_path(&table, &part)).await {
        Ok(facts) => {
            let length = facts.len().to_string();
            let headers =
                [(CONTENT_LENGTH, length.as_str()), (UPLOAD_OFFSET, &length), (UPLOAD_COMPLETE, "?1")];
            Ok((headers, Body::empty()).into_response())
        }
        Err(_) => {
            let offset = app.uploads.offset(&table, &part).await;
            Err(ApiError::from(Code::NoPart)
                .with_header(UPLOAD_OFFSET, offset)
                .with_header(UPLOAD_COMPLETE, "?0"))
        }
    }
}

/// Returns a complete part, or one range of it.
#[utoipa::path(get, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear or .enc"),
           ("Range" = Option<String>, Header, description = "one range of bytes")),
    responses((status = 200, description = "the file", content_type = "application/octet-stream"),
              (status = 206, description = "the range", content_type = "application/octet-stream"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn fetch(
    State(app): State<Arc<App>>,
    PartPath(table, part): PartPath,
    place: Place,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    files::send(&app.catalog.part_path(&table, &part), &headers, place, Code::NoPart).await
}

/// Uploads a part, whole or continuing where an earlier upload ended.
///
/// `Content-Range: bytes a-b/n` says which bytes the body holds; `a` must be the current offset, or 0 to begin
/// anew. When the last byte has come, the file's BLAKE3 must be its name; then the part is complete.
#[utoipa::path(put, path = "/v1/tables/{table}/parts/{part}", tag = "parts",
    params(("table" = String, Path, description = "table name"),
           ("part" = String, Path, description = "BLAKE3 of the file, 64 hex digits, then .clear or .enc"),
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
    let range = ByteRange::of_request(&headers, app.limits.max_part_bytes)?;
    let target = app.catalog.part_path(&table, &part);
    if tokio::fs::try_exists(&target).await? {
        return Ok((StatusCode::OK, [(UPLOAD_COMPLETE, "?1")]).into_response());
    }
    if app.catalog.stored_bytes(&table).saturating_add(range.total) > app.limits.max_table_bytes {
        return Err(Code::StorageFull.into());
    }
    let claim = app.uploads.claim(&table, &part, range.end)?;
    app.places.take(&table)?;
    let pieces = Pieces::new(body, range.length(), app.limits.idle());
    let (status, offset, complete) = match claim.append(&part, range, pieces, &target).await? {
        Outcome::Complete => (StatusCode::CREATED, range.total, "?1"),
        Outcome::Partial { offset } => (StatusCode::ACCEPTED, offset, "?0"),
    };
    tracing::info!(bytes = range.length(), complete, "part bytes received");
    let headers = [(UPLOAD_OFFSET, offset.to_string()), (UPLOAD_COMPLETE, complete.to_owned())];
    Ok((status, headers).into_response())
}
