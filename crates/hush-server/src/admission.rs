// SPDX-License-Identifier: Apache-2.0
//! The one door for requests: an id for each, caps on how many run, the token, and the body of refusals.
//!
//! Requests of each kind have places of their own, so that none can take those of another:
//! - *work* (a submission, an upload, a list, …) that finds no place is refused with 503 at once;
//! - *collecting* what was accepted (an answer, the end of a job) waits for its turn, and never for work;
//! - a *poll* is never refused: one that finds no place is answered with the job as it stands instead of waiting.
//!
//! So the answer of an accepted job can be collected however much new work arrives. A streamed answer keeps its
//! place until its last byte is handed over ([`Place`]). Bodies that are held in memory reserve their declared size
//! first. What a handler leaves of a small body is read before it is answered ([`Leftover`]): a client that is still
//! sending would otherwise find its connection broken in place of the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, EXPECT, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hush_protocol::path;
use hush_protocol::refusal::ErrorBody;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::body::Leftover;
use crate::config::Limits;
use crate::error::{ApiError, Code};
use crate::token::TokenHash;

/// The header that carries a request's id back.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The only route without a token and without a place, so that a busy server can be told from a dead one.
pub const OPEN_ROUTE: &str = path::HEALTH;

const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");
/// Methods and routes that the devices' token opens.
const DEVICE_ROUTES: [(Method, &str); 4] = [
    (Method::GET, path::VERSION),
    (Method::HEAD, "/v1/tables/{table}/parts/{part}"),
    (Method::PUT, "/v1/tables/{table}/parts/{part}"),
    (Method::PUT, "/v1/tables/{table}/deliveries"),
];
/// Time that a collecting request waits for its turn.
const COLLECT_PATIENCE: Duration = Duration::from_secs(10);
/// Grain of the memory semaphore.
const GRAIN: u64 = 4096;

/// The purpose of a request; it decides which places the request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Fetches the answer of an accepted job, or ends the job.
    Collect,
    /// Asks how an accepted job stands, and mostly waits for its end.
    Poll,
    /// Everything else.
    Work,
}

impl Kind {
    fn of(method: &Method, route: &str) -> Self {
        match (method, route) {
            (&Method::GET | &Method::HEAD, "/v1/jobs/{job}") => Self::Poll,
            (&Method::DELETE, "/v1/jobs/{job}") => Self::Collect,
            (&Method::GET | &Method::HEAD, "/v1/jobs/{job}/result") => Self::Collect,
            _ => Self::Work,
        }
    }
}

/// A place among the requests of a kind; given back when the last clone drops.
#[derive(Clone)]
pub struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Place {
    fn of(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: Arc::new(permit) }
    }
}

/// Whether a poll found a place to wait in.
pub struct MayWait(pub bool);

impl<S: Sync> FromRequestParts<S> for MayWait {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<Place>().is_some()))
    }
}

impl<S: Sync> FromRequestParts<S> for Place {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Code::Internal.into())
    }
}

/// The tokens that may pass.
pub struct Tokens {
    /// The owner's token.
    pub owner: TokenHash,
    /// The token of devices, which lets parts and deliveries in and nothing out.
    pub devices: Option<TokenHash>,
}

/// State of the door.
pub struct Admission {
    tokens: Option<Tokens>,
    work: Arc<Semaphore>,
    collecting: Arc<Semaphore>,
    polls: Arc<Semaphore>,
    collect_patience: Duration,
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
            work: Arc::new(Semaphore::new(limits.max_requests)),
            collecting: Arc::new(Semaphore::new(limits.max_collecting.get())),
            polls: Arc::new(Semaphore::new(limits.polls())),
            collect_patience: COLLECT_PATIENCE,
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

    /// Asks for the token; before a place, so that strangers cannot take one. A hash and a comparison are cheap.
    fn authorise(&self, headers: &HeaderMap, method: &Method, route: &str) -> Result<(), ApiError> {
        if let Some(tokens) = &self.tokens {
            let presented = headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
            let presented = presented.strip_prefix(b"Bearer ").unwrap_or_default();
            // Both are compared in any case: which one it is takes no time to tell.
            let owner = tokens.owner.accepts(presented);
            let device = tokens.devices.as_ref().is_some_and(|devices| devices.accepts(presented));
            if !owner && !device {
                return Err(Code::Unauthorised.into());
            }
            let opens = |(allowed, pattern): &(Method, &str)| allowed == method && *pattern == route;
            if !owner && !DEVICE_ROUTES.iter().any(opens) {
                return Err(Code::NotForDevices.into());
            }
        }
        Ok(())
    }

    /// A place for a request that was authorised; `None` for a poll that may not wait.
    ///
    /// # Errors
    /// [`Code::Busy`] if all places for work are taken, or those for collecting for longer than [`COLLECT_PATIENCE`].
    async fn place(&self, kind: Kind) -> Result<Option<Place>, ApiError> {
        let permit = match kind {
            Kind::Poll => return Ok(Arc::clone(&self.polls).try_acquire_owned().ok().map(Place::of)),
            Kind::Work => Arc::clone(&self.work).try_acquire_owned().ok(),
            // In order of arrival, as the semaphore promises.
            Kind::Collect => {
                let turn = timeout(self.collect_patience, Arc::clone(&self.collecting).acquire_owned());
                turn.await.ok().and_then(Result::ok)
            }
        };
        Ok(Some(Place::of(permit.ok_or(Code::Busy)?)))
    }

    async fn admit(
        &self,
        headers: &HeaderMap,
        method: &Method,
        route: &str,
    ) -> Result<Option<Place>, ApiError> {
        self.authorise(headers, method, route)?;
        self.place(Kind::of(method, route)).await
    }
}

/// The outermost layer of the router.
pub async fn guard(State(door): State<Arc<Admission>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = door.request_id();
    // The pattern, not the path: paths hold table names.
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let (mut response, leftover) = answer(&door, request, route.as_deref().unwrap_or_default(), next).await;
    let refusal = response.extensions_mut().remove::<ApiError>();
    let code = refusal.as_ref().map(|refusal| refusal.code);
    if code != Some(Code::TooSlow) {
        leftover.drain().await;
    }
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
        code = code.map_or("-", Code::as_str),
        ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request"
    );
    response
}

/// What a handler or the door answers, and what it left of the request's body. The handler's place is free again, but
/// for a response that is still to be streamed.
async fn answer(door: &Admission, request: Request, route: &str, next: Next) -> (Response, Leftover) {
    let leave_awaited = request.headers().contains_key(EXPECT);
    let (parts, body) = request.into_parts();
    let (body, leftover) = Leftover::lend(body, leave_awaited);
    let mut request = Request::from_parts(parts, body);
    if route == OPEN_ROUTE {
        return (next.run(request).await, leftover);
    }
    let method = request.method().clone();
    let response = match door.admit(request.headers(), &method, route).await {
        Ok(place) => {
            // Kept here too: extensions go as soon as the handler has taken the request apart.
            if let Some(place) = place.clone() {
                request.extensions_mut().insert(place);
            }
            let response = next.run(request).await;
            drop(place);
            response
        }
        Err(refusal) => {
            drop(request);
            refusal.into_response()
        }
    };
    (response, leftover)
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
            // A stranger keeps no connection.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
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

    async fn admitted(door: &Admission, method: &Method, route: &str) -> Result<Option<Place>, Code> {
        door.admit(&HeaderMap::new(), method, route).await.map_err(|refusal| refusal.code)
    }

    #[tokio::test]
    async fn places_are_counted_and_come_back() {
        let door = door(&["--max-requests", "2"]);
        let first = admitted(&door, &Method::GET, "").await.unwrap();
        let second = admitted(&door, &Method::GET, "").await.unwrap();
        let streaming = second.clone();
        drop(second);
        assert_eq!(admitted(&door, &Method::GET, "").await.map(|_| ()), Err(Code::Busy));
        drop(streaming);
        let third = admitted(&door, &Method::GET, "").await;
        assert!(third.is_ok());
        drop((first, third));
    }

    /// No number of requests of one kind takes a place of another.
    #[tokio::test]
    async fn work_polls_and_collecting_have_places_of_their_own() {
        let limits = ["--max-requests", "1", "--max-polls", "1", "--max-collecting", "1"];
        let (job, result) = ("/v1/jobs/{job}", "/v1/jobs/{job}/result");
        let (post, get, delete) = (Method::POST, Method::GET, Method::DELETE);
        let patience = Duration::from_millis(20);
        let mut door = door(&limits);
        door.collect_patience = patience;
        let work = admitted(&door, &post, "/v1/jobs").await.unwrap();
        let poll = admitted(&door, &get, job).await.unwrap();
        assert!(work.is_some() && poll.is_some());
        assert_eq!(admitted(&door, &post, "/v1/jobs").await.map(|_| ()), Err(Code::Busy));
        // Answered, but at once.
        assert!(admitted(&door, &get, job).await.unwrap().is_none());
        let fetch = admitted(&door, &get, result).await.unwrap();
        assert!(fetch.is_some());
        // Waits for its turn; refused only when that does not come for long.
        let begun = Instant::now();
        assert_eq!(admitted(&door, &delete, job).await.map(|_| ()), Err(Code::Busy));
        assert!(begun.elapsed() >= patience);
        door.collect_patience = COLLECT_PATIENCE;
        let (turn, ()) = tokio::join!(admitted(&door, &delete, job), async {
            tokio::time::sleep(patience).await;
            drop(fetch);
        });
        assert!(turn.unwrap().is_some());
        drop((work, poll));
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
        let admit = |headers: &HeaderMap| door.authorise(headers, &Method::DELETE, "/v1/tables/{table}");
        let with = |value: &str| HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
        assert!(admit(&with("Bearer secret")).is_ok());
        for bad in ["Bearer secre", "Bearer secret2", "secret", "Basic secret", "Bearer "] {
            assert_eq!(admit(&with(bad)).unwrap_err().code, Code::Unauthorised, "{bad}");
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
                let opened = door.authorise(&headers, &method, route);
                if DEVICE_ROUTES.contains(&(method.clone(), route.as_str())) {
                    allowed += 1;
                    assert!(opened.is_ok(), "{method} {route}");
                } else {
                    assert_eq!(opened.unwrap_err().code, Code::NotForDevices, "{method} {route}");
                }
            }
        }
        // Each of them is a route that exists.
        assert_eq!(allowed, DEVICE_ROUTES.len());
    }

    fn tokens() -> Tokens {
        Tokens { owner: TokenHash::of(b"secret"), devices: Some(TokenHash::of(b"device")) }
    }
}
