// SPDX-License-Identifier: Apache-2.0
//! Tables and their manifests.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hush_protocol::refusal::ErrorBody;
use hush_protocol::table::{ClearColumnFacts, EncodingFacts, TableFacts, TableSummary};
use hush_table::SignedManifest;
use hush_table::part::PartSource;
use hush_table::store::named_files;
use tokio::task::spawn_blocking;

use super::App;
use super::path::TablePath;
use crate::admission::Place;
use crate::body::{Pieces, declared_length};
use crate::catalog::Committed;
use crate::error::{ApiError, Code};
use crate::files::{self, Stored};
use crate::names::TableName;

/// Lists the committed tables.
#[utoipa::path(get, path = "/v1/tables", tag = "tables",
    responses((status = 200, body = Vec<TableSummary>),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<TableSummary>>, ApiError> {
    let listed = spawn_blocking(move || app.catalog.list()).await.map_err(|_| Code::Internal)??;
    Ok(Json(listed.iter().map(|(name, manifest)| summary(name, manifest)).collect()))
}

/// Describes a table.
#[utoipa::path(get, path = "/v1/tables/{table}", tag = "tables",
    params(("table" = String, Path, description = "1 to 64 of a-z 0-9 _ -, case ignored")),
    responses((status = 200, body = TableFacts), (status = "default", description = "refused", body = ErrorBody)))]
pub async fn show(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
) -> Result<Json<TableFacts>, ApiError> {
    let manifest = find(&app, &table).await?;
    Ok(Json(facts(&table, &manifest)))
}

/// Deletes a table and all its parts, committed or not.
#[utoipa::path(delete, path = "/v1/tables/{table}", tag = "tables",
    params(("table" = String, Path, description = "table name")),
    responses((status = 204, description = "gone"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn delete(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
) -> Result<StatusCode, ApiError> {
    let work = move || {
        let intake = app.intake()?;
        intake.uploads.discard_table(&table)?;
        app.catalog.delete(&table)?;
        intake.runner.forget(&table);
        Ok::<_, ApiError>(())
    };
    spawn_blocking(work).await.map_err(|_| Code::Internal)??;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the signed manifest.
#[utoipa::path(get, path = "/v1/tables/{table}/manifest", tag = "tables",
    params(("table" = String, Path, description = "table name")),
    responses((status = 200, description = "binary container", content_type = "application/octet-stream"),
              (status = 206, description = "a range of it", content_type = "application/octet-stream"),
              (status = 307, description = "it is at this address, which wants no token"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn manifest(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
    place: Place,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let manifest = find(&app, &table).await?;
    let source = PartSource::from_memory(manifest.as_bytes().to_vec());
    let stored = Stored::Bytes { source, object: Some(app.catalog.place(&table)?.manifest_path()) };
    files::send(app.elsewhere.as_ref(), stored, &headers, place, drop).await
}

/// A table's present version, which a store is asked for.
async fn find(app: &Arc<App>, table: &TableName) -> Result<Arc<SignedManifest>, ApiError> {
    let (app, table) = (Arc::clone(app), table.clone());
    spawn_blocking(move || app.catalog.find(&table)).await.map_err(|_| Code::Internal)?
}

/// Commits a manifest: the table then has this version, at once and as a whole.
///
/// All parts must have been uploaded. The first manifest pins the verifying key; later ones must be signed by the
/// same key and have a higher version. The same manifest again changes nothing.
#[utoipa::path(put, path = "/v1/tables/{table}/manifest", tag = "tables",
    params(("table" = String, Path, description = "table name, as in the manifest")),
    request_body(content_type = "application/octet-stream", description = "signed manifest; Content-Length required"),
    responses((status = 200, description = "was committed already"), (status = 201, description = "committed"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn commit(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    app.intake()?;
    let length = declared_length(&headers, app.limits.max_manifest_bytes)?;
    let reserved = app.admission.reserve(length)?;
    let container = Pieces::new(body, length, app.limits.idle()).collect().await?;
    let work = move || {
        let intake = app.intake()?;
        intake.places.check(&table)?;
        let committed = app.catalog.commit(&table, &container)?;
        if committed != Committed::Unchanged {
            intake.runner.forget(&table);
        }
        drop(reserved);
        tracing::info!(manifest_bytes = container.len(), ?committed, "manifest committed");
        Ok::<_, ApiError>(committed)
    };
    let committed = spawn_blocking(work).await.map_err(|_| Code::Internal)??;
    Ok(if committed == Committed::Unchanged { StatusCode::OK } else { StatusCode::CREATED })
}

fn summary(name: &TableName, manifest: &SignedManifest) -> TableSummary {
    let body = manifest.manifest();
    let files = named_files(body).map(|(_, file)| file);
    TableSummary {
        name: name.as_str().to_owned(),
        version: body.version,
        rows: body.living_rows(),
        bytes: files.fold(0, |sum: u64, file| sum.saturating_add(file.bytes)),
        key_id: body.key_id.clone(),
    }
}

fn facts(name: &TableName, manifest: &SignedManifest) -> TableFacts {
    let body = manifest.manifest();
    let clear = body.clear_columns.iter();
    let encodings = body.encodings.iter();
    TableFacts {
        summary: summary(name, manifest),
        table_id: body.table_id.to_string(),
        manifest: manifest.digest().to_string(),
        manifest_bytes: manifest.as_bytes().len() as u64,
        verifying_key: hush_table::to_hex(manifest.key()),
        chunk_rows: body.chunk_rows,
        chunks: body.chunk_count(),
        parts: body.parts.len() as u64,
        clear_columns: clear
            .map(|column| ClearColumnFacts {
                name: column.name.clone(),
                arrow_type: column.arrow_type.clone(),
            })
            .collect(),
        encodings: encodings
            .map(|encoding| EncodingFacts {
                id: encoding.id.0,
                layout: encoding.packing.name().to_owned(),
                params: encoding.params.clone(),
            })
            .collect(),
        sealed_columns: body.sealed_numbers().len() as u32,
    }
}
