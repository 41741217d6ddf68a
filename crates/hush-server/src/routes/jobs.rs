// SPDX-License-Identifier: Apache-2.0
//! Jobs: submit a plan, poll, fetch the answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use hush_plan::ServerPlan;
use hush_protocol::job::{JobAccepted, JobProgress, JobStatus, SUBMIT_WAIT_MAX_MS, WAIT_MAX_MS};
use hush_protocol::refusal::ErrorBody;
use hush_protocol::{header, path};
use hush_table::Digest;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use utoipa::IntoParams;

use super::App;
use super::path::JobPath;
use crate::admission::{MayWait, Place};
use crate::body::{Pieces, declared_length};
use crate::error::{ApiError, Code};
use crate::files;
use crate::jobs::{JobView, Submission};
use crate::names::{JobId, TableName};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static(header::IDEMPOTENCY_KEY);

/// Query string of a poll.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Wait up to this long for the job to finish, at most 20000 milliseconds.
    wait_ms: Option<u64>,
}

/// Query string of a submission.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Wait up to this long for the job to finish if no other is before it, at most 100 milliseconds.
    wait_ms: Option<u64>,
}

/// Submits a plan.
///
/// With an `Idempotency-Key` that was used before, the same body gives the job of that time and another body is
/// refused. With `wait_ms`, the reply says how the job ended if it ended in time: a short job needs no poll.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs",
    params(Patience, ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible characters, random")),
    request_body(content_type = "application/json", description = "a server plan; Content-Length required"),
    responses((status = 202, body = JobAccepted), (status = "default", description = "refused", body = ErrorBody)))]
pub async fn submit(
    State(app): State<Arc<App>>,
    patience: Result<Query<Patience>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let Query(Patience { wait_ms }) = patience.map_err(|_| Code::BadQuery)?;
    let key = idempotency_key(&headers)?;
    let length = declared_length(&headers, app.limits.max_plan_bytes)?;
    let reserved = app.admission.reserve(length)?;
    let plan = Pieces::new(body, length, app.limits.idle()).collect().await?;
    let (table, parts, version) = check_plan(&app, &plan).await?;
    let id = app.jobs.submit(Submission { table, parts, version, plan, key }).await?;
    drop(reserved);
    let patience = Duration::from_millis(wait_ms.unwrap_or(0).min(SUBMIT_WAIT_MAX_MS));
    let ended = if patience.is_zero() { None } else { ended_within(&app, &id, patience).await? };
    let location = path::job(id.as_str());
    let accepted = JobAccepted { id: id.as_str().to_owned(), ended };
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(accepted)).into_response())
}

/// How a job ended, if it ends soon. Behind another job nothing is waited for.
async fn ended_within(app: &App, id: &JobId, patience: Duration) -> Result<Option<JobStatus>, ApiError> {
    let now = app.jobs.wait(id, Duration::ZERO).await?;
    let worth_it = now.ahead == 0 && !now.state.is_final();
    let view = if worth_it { app.jobs.wait(id, patience).await? } else { now };
    Ok(view.state.is_final().then(|| told(app, view)))
}

/// Tells how a job stands, at once or when it has finished.
///
/// A server at which too many wait already tells it at once.
#[utoipa::path(get, path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = String, Path, description = "job id"), Poll),
    responses((status = 200, body = JobStatus), (status = "default", description = "refused", body = ErrorBody)))]
pub async fn show(
    State(app): State<Arc<App>>,
    JobPath(id): JobPath,
    MayWait(may_wait): MayWait,
    poll: Result<Query<Poll>, QueryRejection>,
) -> Result<Json<JobStatus>, ApiError> {
    let Query(poll) = poll.map_err(|_| Code::BadQuery)?;
    let asked = if may_wait { poll.wait_ms.unwrap_or(0) } else { 0 };
    let view = app.jobs.wait(&id, Duration::from_millis(asked.min(WAIT_MAX_MS))).await?;
    Ok(Json(told(&app, view)))
}

/// Returns the answer of a job that is done, or one range of it.
///
/// It stays until it is deleted or expires; once all of it was returned, it may also make room for others.
#[utoipa::path(get, path = "/v1/jobs/{job}/result", tag = "jobs",
    params(("job" = String, Path, description = "job id"),
           ("Range" = Option<String>, Header, description = "one range of bytes")),
    responses((status = 200, description = "the answer", content_type = "application/octet-stream"),
              (status = 206, description = "the range", content_type = "application/octet-stream"),
              (status = 307, description = "it is at this address, which wants no token"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn result(
    State(app): State<Arc<App>>,
    JobPath(id): JobPath,
    place: Place,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let stored = app.jobs.answer(&id).await?;
    let jobs = Arc::clone(&app.jobs);
    let handed_over = move |bytes| jobs.handed_over(&id, bytes);
    files::send(app.elsewhere.as_ref(), stored, &headers, place, handed_over).await
}

/// Forgets a job and its result. A job that runs is ended at its next chunk.
#[utoipa::path(delete, path = "/v1/jobs/{job}", tag = "jobs",
    params(("job" = String, Path, description = "job id")),
    responses((status = 204, description = "gone"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn delete(State(app): State<Arc<App>>, JobPath(id): JobPath) -> Result<StatusCode, ApiError> {
    app.jobs.delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks what the service needs to know of a plan; the engine checks the rest. Gives the table, the parts of its version, and the digest of
/// that version's manifest.
async fn check_plan(app: &Arc<App>, plan: &[u8]) -> Result<(TableName, u32, Digest), ApiError> {
    let plan = ServerPlan::from_json(plan).map_err(|_| Code::BadPlan)?;
    let table = TableName::parse(&plan.table)?;
    let (app, name) = (Arc::clone(app), table.clone());
    let found = spawn_blocking(move || app.catalog.find_version(&name, &plan.manifest));
    let version = found.await.map_err(|_| Code::Internal)??;
    let parts = u32::try_from(version.manifest().parts.len()).map_err(|_| Code::Internal)?;
    Ok((table, parts, version.digest()))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<Vec<u8>>, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let bytes = key.as_bytes();
    let sound = (1..=header::IDEMPOTENCY_KEY_MAX_BYTES).contains(&bytes.len())
        && bytes.iter().all(u8::is_ascii_graphic);
    if sound { Ok(Some(bytes.to_vec())) } else { Err(Code::BadHeader.into()) }
}

/// The status that the submitter is told. Of a job that failed nothing else is left to collect.
fn told(app: &App, view: JobView) -> JobStatus {
    if view.failure.is_some() {
        app.jobs.failure_told(&view.id);
    }
    let (code, message) =
        view.failure.map_or((None, None), |failure| (Some(failure.code), Some(failure.message)));
    JobStatus {
        id: view.id.as_str().to_owned(),
        state: view.state,
        progress: JobProgress {
            ahead: view.ahead as u64,
            running_s: view.running_s,
            attempts: view.attempts,
        },
        code,
        message,
        result: view.result,
    }
}
