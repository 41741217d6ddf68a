// SPDX-License-Identifier: Apache-2.0
//! Old versions of tables, and everything that only they need.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use hush_protocol::refusal::ErrorBody;
use hush_protocol::table::{Purged, StoredFile};
use hush_table::{Digest, PartName, PlacedFile, PurgeRun};
use serde::Deserialize;
use tokio::task::spawn_blocking;
use utoipa::IntoParams;

use super::App;
use super::path::TablePath;
use crate::error::{ApiError, Code};

/// Folder of what has been received of parts, as a purge names it.
const UPLOADS: &str = "uploads";

/// Query string of a purge.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// BLAKE3 of the manifest of the version that is to stay: the present one.
    manifest: String,
    /// Whether to say only what would be deleted.
    dry_run: Option<bool>,
}

/// Deletes old versions and all files that only they need, with what was computed from them and answers to questions about them.
///
/// Files that the present version names stay, and so do those of waiting deliveries and of uploads. Refused while parts arrive, and if
/// another version is present than the one that is named. Once more, it finishes what was left.
#[utoipa::path(post, path = "/v1/tables/{table}/purge", tag = "tables",
    params(("table" = String, Path, description = "table name"), Kept),
    responses((status = 200, body = Purged),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn purge(
    State(app): State<Arc<App>>,
    TablePath(table): TablePath,
    kept: Result<Query<Kept>, QueryRejection>,
) -> Result<Json<Purged>, ApiError> {
    app.intake()?;
    let Query(Kept { manifest, dry_run }) = kept.map_err(|_| Code::BadQuery)?;
    let version: Digest = manifest.parse().map_err(|_| Code::BadQuery)?;
    let run = if dry_run == Some(true) { PurgeRun::Look } else { PurgeRun::Delete };
    let (jobs, name) = (Arc::clone(&app.jobs), table.clone());
    let work = move || {
        let intake = app.intake()?;
        if intake.uploads.is_receiving(&table) {
            return Err(Code::UploadsRun.into());
        }
        let (purge, present) = app.catalog.purge(&table, &version, run)?;
        let mut purged = Purged {
            deleted: purge.deleted.into_iter().map(stored).collect(),
            waiting: purge.waiting.into_iter().map(stored).collect(),
            unnamed: purge.unnamed.into_iter().map(stored).collect(),
        };
        let received = intake.uploads.received(&table).into_iter();
        let received = received.map(|(name, bytes)| StoredFile { path: format!("{UPLOADS}/{name}"), bytes });
        purged.unnamed.extend(received);
        if run == PurgeRun::Delete {
            intake.runner.forget_old(&table, present.manifest(), &digests(&purged.deleted));
            let (files, bytes) = (purged.deleted.len(), total(&purged.deleted));
            tracing::info!(files, bytes, left = purged.unnamed.len(), "old versions purged");
        }
        Ok::<_, ApiError>(purged)
    };
    let purged = spawn_blocking(work).await.map_err(|_| Code::Internal)??;
    if run == PurgeRun::Delete {
        jobs.forget_old(&name, version).await?;
    }
    Ok(Json(purged))
}

fn stored(file: PlacedFile) -> StoredFile {
    StoredFile { path: file.path, bytes: file.bytes }
}

fn digests(files: &[StoredFile]) -> HashSet<Digest> {
    let name = |file: &StoredFile| PartName::of_file(file.path.rsplit('/').next()?);
    files.iter().filter_map(name).map(|part| part.digest).collect()
}

fn total(files: &[StoredFile]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
}
