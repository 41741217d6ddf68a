// SPDX-License-Identifier: Apache-2.0
//! Deliveries of devices: they wait beside a table until its owner takes them into the next version.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use hush_protocol::refusal::ErrorBody;
use hush_protocol::table::Deliveries;
use hush_table::delivery::MAX_DELIVERY_BYTES;
use hush_table::{Delivered, DeliveryId, DeliveryPage, to_hex};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use utoipa::IntoParams;

use super::App;
use super::path::TablePath;
use crate::body::{Pieces, declared_length};
use crate::error::{ApiError, Code};

/// Query string of a list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Lists what comes behind this delivery in the order of ids (`device-stream-number`), whether it still waits or not.
    after: Option<String>,
}

/// Lists the deliveries that wait beside a table, a page at a time.
///
/// Their order is that of their ids: device, stream, number. Ids do not change, so that following `next` to the end shows
/// everything that waits all the while exactly once, whatever comes and goes meanwhile.
#[utoipa::path(get, path = "/v1/tables/{table}/deliveries", tag = "deliveries",
    params(("table" = String, Path, description = "table name"), Page),
    responses((status = 200, body = Deliveries),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn list(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Deliveries>, ApiError> {
    let Query(page) = page.map_err(|_| Code::BadQuery)?;
    let id = |text: String| DeliveryId::of_text(&text).ok_or(Code::BadQuery);
    let after = page.after.map(id).transpose()?;
    let most = usize::from(app.limits.max_listed);
    let listed = spawn_blocking(move || app.catalog.deliveries(&table, after, most));
    let DeliveryPage { deliveries, next } = listed.await.map_err(|_| Code::Internal)??;
    let deliveries = deliveries.iter().map(|delivery| to_hex(delivery.as_bytes())).collect();
    Ok(Json(Deliveries { deliveries, next: next.map(|id| id.to_string()) }))
}

/// Lets a delivery wait, once its parts have been uploaded.
///
/// The device must have been certified by the table's owner. The same delivery again changes nothing.
#[utoipa::path(put, path = "/v1/tables/{table}/deliveries", tag = "deliveries",
    params(("table" = String, Path, description = "table name")),
    request_body(content_type = "application/octet-stream", description = "signed delivery; Content-Length required"),
    responses((status = 200, description = "was there already, or is in the table"),
              (status = 201, description = "waits"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn deliver(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    app.intake()?;
    let length = declared_length(&headers, MAX_DELIVERY_BYTES)?;
    let container = Pieces::new(body, length, app.limits.idle()).collect().await?;
    let work = move || app.catalog.deliver(&table, &container);
    let delivered = spawn_blocking(work).await.map_err(|_| Code::Internal)??;
    Ok(if delivered == Delivered::Known { StatusCode::OK } else { StatusCode::CREATED })
}
