// SPDX-License-Identifier: Apache-2.0
//! Deliveries of devices: they wait beside a table until its owner takes them into the next version.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use hush_table::delivery::MAX_DELIVERY_BYTES;
use hush_table::{Delivered, SignedDelivery, to_hex};
use serde::Serialize;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::App;
use super::path::TablePath;
use crate::body::{Pieces, declared_length};
use crate::error::{ApiError, Code, ErrorBody};

/// Most deliveries of one list.
pub const MAX_LISTED: usize = 4096;

/// Deliveries that wait.
#[derive(Serialize, ToSchema)]
pub struct Deliveries {
    /// How many there are in all.
    waiting: u64,
    /// The first of them, of each device as many, as signed: hex of the containers.
    deliveries: Vec<String>,
}

/// Lists the deliveries that wait beside a table.
#[utoipa::path(get, path = "/v1/tables/{table}/deliveries", tag = "deliveries",
    params(("table" = String, Path, description = "table name")),
    responses((status = 200, body = Deliveries),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn list(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
) -> Result<Json<Deliveries>, ApiError> {
    let found =
        spawn_blocking(move || app.catalog.deliveries(&table)).await.map_err(|_| Code::Internal)??;
    let listed = in_turns(&found, MAX_LISTED).into_iter().map(|delivery| to_hex(delivery.as_bytes()));
    Ok(Json(Deliveries { waiting: found.len() as u64, deliveries: listed.collect() }))
}

/// At most so many of some deliveries, which are sorted by id: the first of every device, then the second of every device, and so on, so
/// that no device keeps the others' out of the list.
fn in_turns(found: &[SignedDelivery], most: usize) -> Vec<&SignedDelivery> {
    let mut turns: Vec<(usize, usize)> = Vec::with_capacity(found.len());
    let mut begin = 0;
    for (index, delivery) in found.iter().enumerate() {
        if found.get(begin).is_none_or(|first| first.delivery().id.device != delivery.delivery().id.device) {
            begin = index;
        }
        turns.push((index - begin, index));
    }
    turns.sort_unstable();
    turns.truncate(most);
    turns.sort_unstable_by_key(|(_, index)| *index);
    turns.iter().filter_map(|(_, index)| found.get(*index)).collect()
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
    let length = declared_length(&headers, MAX_DELIVERY_BYTES)?;
    let container = Pieces::new(body, length, app.limits.idle()).collect().await?;
    let work = move || app.catalog.deliver(&table, &container);
    let delivered = spawn_blocking(work).await.map_err(|_| Code::Internal)??;
    Ok(if delivered == Delivered::Known { StatusCode::OK } else { StatusCode::CREATED })
}
