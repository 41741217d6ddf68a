// SPDX-License-Identifier: Apache-2.0
//! Path segments as checked names.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use hush_table::PartName;

use crate::error::{ApiError, Code};
use crate::names::{JobId, TableName, parse_part};

/// `/v1/tables/{table}…`
pub struct TablePath(pub TableName);

/// `/v1/tables/{table}/parts/{part}`
pub struct PartPath(pub TableName, pub PartName);

/// `/v1/jobs/{job}…`
pub struct JobPath(pub JobId);

impl<S: Send + Sync> FromRequestParts<S> for TablePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(TableName::parse(&segment(parts, state, "table").await?)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PartPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let TablePath(table) = TablePath::from_request_parts(parts, state).await?;
        Ok(Self(table, parse_part(&segment(parts, state, "part").await?)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(JobId::parse(&segment(parts, state, "job").await?)?))
    }
}

async fn segment<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, ApiError> {
    let all = RawPathParams::from_request_parts(parts, state).await.map_err(|_| Code::BadName)?;
    let found = all.iter().find(|(key, _)| *key == name);
    Ok(found.ok_or(Code::BadName)?.1.to_owned())
}
