// SPDX-License-Identifier: Apache-2.0
//! Health, version and API description of the service.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use hush_protocol::refusal::ErrorBody;
use hush_protocol::service::{Health, PublicLimits, Version};

use super::App;

/// The OpenAPI description as it is served.
#[derive(Clone)]
pub struct DescriptionText(Arc<str>);

impl DescriptionText {
    /// Serialises a description once.
    pub fn of(description: &utoipa::openapi::OpenApi) -> Self {
        Self(description.to_json().unwrap_or_default().into())
    }
}

/// Says that the service answers. Needs no token and is outside the cap on requests.
#[utoipa::path(get, path = "/v1/health", tag = "service", security(()),
    responses((status = 200, body = Health)))]
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok".to_owned() })
}

/// States versions and limits.
#[utoipa::path(get, path = "/v1/version", tag = "service",
    responses((status = 200, body = Version), (status = "default", description = "refused", body = ErrorBody)))]
pub async fn version(State(app): State<Arc<App>>) -> Json<Version> {
    let limits = &app.limits;
    Json(Version {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plan_format: hush_plan::plan::PLAN_FORMAT,
        limits: PublicLimits {
            tables: limits.max_tables,
            table_bytes: limits.max_table_bytes,
            part_bytes: limits.max_part_bytes,
            manifest_bytes: limits.max_manifest_bytes,
            plan_bytes: limits.max_plan_bytes,
            answer_bytes: limits.max_answer_bytes,
            requests: limits.max_requests,
            queued_jobs: limits.max_queued_jobs,
            uploads_bytes: limits.max_uploads_bytes,
            results_bytes: limits.max_results_bytes,
            job_s: limits.max_job_s,
            result_ttl_s: limits.result_ttl_s,
        },
    })
}

/// Describes all routes.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "service",
    responses((status = 200, description = "this document", content_type = "application/json"),
              (status = "default", description = "refused", body = ErrorBody)))]
pub async fn openapi(Extension(text): Extension<DescriptionText>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text.0.to_string())
}
