// SPDX-License-Identifier: Apache-2.0
//! The one door for requests: an id for each, a cap on how many run, the token, and the body of refusals.
//!
//! The cap is one semaphore over all routes but `/v1/health`; a streamed answer keeps its place until its last
//! byte is handed over ([`Place`]). Bodies that are held in memory reserve their declared size first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Json;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;
use crate::error::{ApiError, Code, ErrorBody};
use crate::token::TokenHash;

/// The header that carries a request's id back.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The only route without a token and outside the cap, so that a busy server can be told from a dead one.
pub const OPEN_ROUTE: &str = "/v1/health";

const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");
/// What the devices' token opens: methods and routes.
const DEVICE_ROUTES: [(Method, &str); 4] = [
    (Method::GET, "/v1/version"),
    (Method::HEAD, "/v1/tables/{table}/parts/{part}"),
    (Method::PUT, "/v1/tables/{table}/parts/{part}"),
    (Method::PUT, "/v1/tables/{table}/deliveries"),
];
/// Grain of the memory semaphore.
const GRAIN: u64 = 4096;

/// A place under the request cap; given back when the last clone drops.
#[derive(Clone)]
pub struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl<S: Sync> FromRequestParts<S> for Place {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Code::Internal.into())
    }
}

/// Who may pass the door.
pub struct Tokens {
    /// The owner's token.
    pub owner: TokenHash,
    /// The token of devices, which lets parts and deliveries in and nothing out.
    pub devices: TokenHash,
}

/// State of the door.
pub struct Admission {
    tokens: Option<Tokens>,
    requests: Arc<Semaphore>,
    buffered: Arc<Semaphore>,
    id_prefix: u32,
    next_id: AtomicU64,
}

impl Admission {
    /// A door with the given tokens (`None`: open to all) and limits.
    ///
    /// # Errors
    /// [`Code::Internal`] if the operating system gives no randomness for the id prefix.
    pub fn new(tokens: Option<Tokens>, limits: &Limits) -> Result<Self, ApiError> {
        let grains = usize::try_from(limits.max_buffered_bytes.div_ceil(GRAIN)).unwrap_or(usize::MAX);
        Ok(Self {
            tokens,
            requests: Arc::new(Semaphore::new(limits.max_requests)),
            buffered: Arc::new(Semaphore::new(grains.min(Semaphore::MAX_PERMITS))),
            id_prefix: getrandom::u32().map_err(|_| Code::Internal)?,
            next_id: AtomicU64::new(0),
        })
    }

    /// Reserves memory for a body before it is read.
    ///
    /// # Errors
    /// [`Code::Busy`] if the bytes of all buffered bodies would exceed the limit.
    pub fn reserve(&self, bytes: u64) -> Result<OwnedSemaphorePermit, ApiError> {
        let grains = u32::try_from(bytes.div_ceil(GRAIN)).map_err(|_| Code::TooLarge)?;
        Arc::clone(&self.buffered).try_acquire_many_owned(grains).map_err(|_| Code::Busy.into())
    }

    fn request_id(&self) -> String {
        format!("{:08x}{:08x}", self.id_prefix, self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    fn admit(&self, headers: &HeaderMap, method: &Method, route: &str) -> Result<Place, ApiError> {
        // Before the cap, so that strangers cannot fill it; a hash and a comparison are cheap.
        if let Some(tokens) = &self.tokens {
            let presented = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
            let presented = presented.strip_prefix(b"Bearer ").unwrap_or_default();
            // Both are compared in any case: which one it is takes no time to tell.
            let (owner, device) = (tokens.owner.accepts(presented), tokens.devices.accepts(presented));
            if !owner && !device {
                return Err(Code::Unauthorised.into());
            }
            let opens = |(allowed, pattern): &(Method, &str)| allowed == method && *pattern == route;
            if !owner && !DEVICE_ROUTES.iter().any(opens) {
                return Err(Code::NotForDevices.into());
            }
        }
        let permit = Arc::clone(&self.requests).try_acquire_owned().map_err(|_| Code::Busy)?;
        Ok(Place { _permit: Arc::new(permit) })
    }
}

/// The outermost layer of the router.
pub async fn guard(State(door): State<Arc<Admission>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = door.request_id();
    // The pattern, not the path: paths hold table names.
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let mut response = if route.as_deref() == Some(OPEN_ROUTE) {
        next.run(request).await
    } else {
        match door.admit(request.headers(), &method, route.as_deref().unwrap_or_default()) {
            Ok(place) => {
                // Kept here too: extensions go as soon as the handler has taken the request apart.
                request.extensions_mut().insert(place.clone());
                let answer = next.run(request).await;
                drop(place);
                answer
            }
            Err(refusal) => refusal.into_response(),
        }
    };
    let refusal = response.extensions_mut().remove::<ApiError>();
    let code = refusal.as_ref().map(|refusal| refusal.code.as_str());
    if let Some(refusal) = refusal {
        response = refusal_body(refusal, &id);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    tracing::info!(
        id,
        %method,
        route = route.as_deref().unwrap_or("-"),
        status = response.status().as_u16(),
        code = code.unwrap_or("-"),
        ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request"
    );
    response
}

fn refusal_body(refusal: ApiError, id: &str) -> Response {
    let code = refusal.code;
    let body = ErrorBody {
        code: code.as_str().to_owned(),
        message: code.sentence().to_owned(),
        request_id: id.to_owned(),
        found: refusal.over.map(|(found, _)| found),
        limit: refusal.over.map(|(_, limit)| limit),
    };
    let mut response = (code.status(), Json(body)).into_response();
    let headers = response.headers_mut();
    match code {
        Code::Unauthorised => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Code::Busy | Code::UploadActive => {
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        _ => {}
    }
    for (name, value) in refusal.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn door(arguments: &[&str]) -> Admission {
        let limits = Limits::parse_from(std::iter::once(&"limits").chain(arguments));
        Admission::new(None, &limits).unwrap()
    }

    #[test]
    fn places_are_counted_and_come_back() {
        let door = door(&["--max-requests", "2"]);
        let headers = HeaderMap::new();
        let first = door.admit(&headers, &Method::GET, "").unwrap();
        let second = door.admit(&headers, &Method::GET, "").unwrap();
        let streaming = second.clone();
        drop(second);
        assert_eq!(door.admit(&headers, &Method::GET, "").map(|_| ()).unwrap_err().code, Code::Busy);
        drop(streaming);
        let third = door.admit(&headers, &Method::GET, "");
        assert!(third.is_ok());
        drop((first, third));
    }

    #[test]
    fn buffered_bytes_are_counted_and_come_back() {
        let door = door(&["--max-buffered-bytes", "8192"]);
        let one = door.reserve(4097).unwrap();
        assert_eq!(door.reserve(1).map(|_| ()).unwrap_err().code, Code::Busy);
        drop(one);
        assert!(door.reserve(8192).is_ok());
        assert!(door.reserve(u64::MAX).is_err());
    }

    #[test]
    fn the_token_is_asked_for_before_a_place() {
        let limits = Limits::parse_from(["limits"]);
        let door = Admission::new(Some(tokens()), &limits).unwrap();
        let admit = |headers: &HeaderMap| door.admit(headers, &Method::DELETE, "/v1/tables/{table}");
        let with = |value: &str| HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
        assert!(admit(&with("Bearer secret")).is_ok());
        for bad in ["Bearer secre", "Bearer secret2", "secret", "Basic secret", "Bearer "] {
            assert_eq!(admit(&with(bad)).map(|_| ()).unwrap_err().code, Code::Unauthorised, "{bad}");
        }
        assert!(admit(&HeaderMap::new()).is_err());
    }

    #[test]
    fn the_token_of_devices_lets_deliveries_in_and_nothing_out() {
        let limits = Limits::parse_from(["limits"]);
        let door = Admission::new(Some(tokens()), &limits).unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, "Bearer device".parse().unwrap())]);
        let described = crate::routes::described().1;
        let mut allowed = 0;
        for (route, item) in &described.paths.paths {
            let methods = [
                (Method::GET, &item.get),
                (Method::HEAD, &item.head),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
            ];
            for (method, operation) in methods.into_iter().filter(|(_, operation)| operation.is_some()) {
                let _ = operation;
                let opened = door.admit(&headers, &method, route);
                if DEVICE_ROUTES.contains(&(method.clone(), route.as_str())) {
                    allowed += 1;
                    assert!(opened.is_ok(), "{method} {route}");
                } else {
                    assert_eq!(opened.map(|_| ()).unwrap_err().code, Code::NotForDevices, "{method} {route}");
                }
            }
        }
        // Each of them is a route that exists.
        assert_eq!(allowed, DEVICE_ROUTES.len());
    }

    fn tokens() -> Tokens {
        Tokens { owner: TokenHash::of(b"secret"), devices: TokenHash::of(b"device") }
    }
}
