// SPDX-License-Identifier: Apache-2.0
//! The routes below `/v1`. Each handler states its own description; [`crate::openapi`] collects them.

pub mod deliveries;
pub mod jobs;
pub mod meta;
pub mod parts;
pub mod path;
pub mod purge;
pub mod tables;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::{Admission, guard};
use crate::catalog::Catalog;
use crate::config::Limits;
use crate::error::{ApiError, Code};
use crate::files::Elsewhere;
use crate::jobs::JobService;
use crate::openapi::Description;
use crate::places::Places;
use crate::runner::RunPlan;
use crate::uploads::Uploads;

/// State that handlers share.
pub struct App {
    /// The limits.
    pub limits: Limits,
    /// The door.
    pub admission: Arc<Admission>,
    /// Committed tables.
    pub catalog: Catalog,
    /// What takes tables in; without it the service answers for tables that their owners put into its store themselves.
    pub intake: Option<Intake>,
    /// The jobs.
    pub jobs: Arc<dyn JobService>,
    /// Where long bodies are given instead of here.
    pub elsewhere: Option<Elsewhere>,
}

/// What a service needs to take tables in: a disk, and an engine that remembers them.
pub struct Intake {
    /// Room for tables.
    pub places: Places,
    /// Growing parts.
    pub uploads: Uploads,
    /// Runs plans.
    pub runner: Arc<dyn RunPlan>,
}

impl App {
    /// What takes tables in.
    ///
    /// # Errors
    /// [`Code::NotHere`] if nothing does.
    pub fn intake(&self) -> Result<&Intake, ApiError> {
        self.intake.as_ref().ok_or_else(|| Code::NotHere.into())
    }
}

/// All routes with the door in front, ready to serve.
pub fn router(app: Arc<App>) -> Router {
    let (router, description) = described();
    let description = meta::DescriptionText::of(&description);
    router
        .fallback(async || ApiError::from(Code::NoRoute))
        .method_not_allowed_fallback(async || ApiError::from(Code::NoMethod).into_response())
        .layer(axum::Extension(description))
        .layer(from_fn_with_state(Arc::clone(&app.admission), guard))
        .with_state(app)
}

/// The routes and their description, from one list.
pub fn described() -> (Router<Arc<App>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(meta::health))
        .routes(routes!(meta::version))
        .routes(routes!(meta::openapi))
        .routes(routes!(tables::list))
        .routes(routes!(tables::show, tables::delete))
        .routes(routes!(tables::manifest, tables::commit))
        .routes(routes!(parts::head, parts::fetch, parts::upload))
        .routes(routes!(deliveries::list, deliveries::deliver))
        .routes(routes!(purge::purge))
        .routes(routes!(jobs::submit))
        .routes(routes!(jobs::show, jobs::delete))
        .routes(routes!(jobs::result))
        .split_for_parts()
}
