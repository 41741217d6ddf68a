// SPDX-License-Identifier: Apache-2.0
//! Events of an HTTP API or a function URL (payload 2.0), as requests of a router; and its responses as theirs.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Request, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use crate::runtime::Fault;

/// Most bytes of a body that an answer may carry: in base64 they are 6 MB less room for the headers, the limit of Lambda.
pub const MAX_BODY_BYTES: usize = 4_500_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HttpEvent {
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    request_context: Context,
}

#[derive(Deserialize)]
struct Context {
    http: Http,
}

#[derive(Deserialize)]
struct Http {
    method: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status_code: u16,
    headers: BTreeMap<String, String>,
    body: String,
    is_base64_encoded: bool,
}

/// Answers an event by a router.
///
/// # Errors
/// [`Fault`] for what is no such event, and for an answer that is too large.
pub async fn answer(router: Router, event: &[u8]) -> Result<Bytes, Fault> {
    let request = request(event).ok_or_else(|| Fault {
        code: "HUSH-L005".to_owned(),
        message: "not an event of an HTTP API or a function URL (payload 2.0)".to_owned(),
    })?;
    let Ok(response) = router.oneshot(request).await;
    told(response).await
}

fn request(event: &[u8]) -> Option<Request<Body>> {
    let event: HttpEvent = serde_json::from_slice(event).ok()?;
    let body = event.body.unwrap_or_default();
    let body = if event.is_base64_encoded { BASE64_STANDARD.decode(body).ok()? } else { body.into_bytes() };
    let query = if event.raw_query_string.is_empty() { "" } else { "?" };
    let uri = format!("{}{query}{}", event.raw_path, event.raw_query_string);
    let mut request = Request::builder().method(event.request_context.http.method.as_str()).uri(uri);
    let headers = request.headers_mut()?;
    for (name, value) in event.headers {
        headers.insert(HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
    }
    // The gateway has the whole body, whatever was said of its length or in which pieces it came.
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    headers.remove("expect");
    request.body(Body::from(body)).ok()
}

async fn told(response: Response<Body>) -> Result<Bytes, Fault> {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| Fault {
        code: "HUSH-L006".to_owned(),
        message: "the answer is larger than a function can give".to_owned(),
    })?;
    let is_json = parts
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    let text = if is_json || bytes.is_empty() { String::from_utf8(bytes.to_vec()).ok() } else { None };
    let is_base64_encoded = text.is_none();
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let answer = Answer {
        status_code: parts.status.as_u16(),
        headers: parts
            .headers
            .iter()
            .filter(|(name, _)| *name != CONTENT_LENGTH)
            .filter_map(header)
            .collect(),
        body: text.unwrap_or_else(|| BASE64_STANDARD.encode(&bytes)),
        is_base64_encoded,
    };
    serde_json::to_vec(&answer)
        .map(Bytes::from)
        .map_err(|_| Fault { code: "HUSH-L099".to_owned(), message: "internal error".to_owned() })
}
