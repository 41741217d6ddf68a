// SPDX-License-Identifier: Apache-2.0
//! The Lambda Runtime API from the function's side: asks for the next invocation, answers it, over and over.
//!
//! Spoken directly, because it is four requests of plain HTTP on the machine itself: the crates for it would change features below the query
//! engine, and bring events of fifty services with them.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::HOST;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use crate::record::now_ms;

/// Largest event or answer: the limit of Lambda itself, and a little.
const MAX_BYTES: usize = 8 << 20;
const VERSION: &str = "2018-06-01";

/// One invocation.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The event.
    pub payload: Bytes,
    /// Time until the process is ended.
    pub left: Duration,
}

/// Why an invocation has no answer: a stable code and a sentence, both safe to show.
#[derive(Clone, Debug)]
pub struct Fault {
    /// `HUSH-…`.
    pub code: String,
    /// The sentence.
    pub message: String,
}

/// Why the runtime was left. The platform starts the process again.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// `AWS_LAMBDA_RUNTIME_API` cannot be an address.
    #[error("AWS_LAMBDA_RUNTIME_API is not HOST:PORT; this program runs as an AWS Lambda function")]
    Address,
    /// No answer, or not one of the Runtime API.
    #[error("the Lambda Runtime API does not answer as expected")]
    Api,
}

/// The Runtime API of this process.
#[derive(Clone, Debug)]
pub struct Runtime {
    authority: String,
    path: String,
}

impl Runtime {
    /// The API at `HOST:PORT`, or at `http://HOST:PORT/PATH` as emulators have it.
    ///
    /// # Errors
    /// [`RuntimeError::Address`].
    pub fn at(address: &str) -> Result<Self, RuntimeError> {
        let address = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
        let (authority, path) =
            address.split_once('/').map_or((address, String::new()), |(at, path)| (at, format!("/{path}")));
        if authority.is_empty() || !authority.contains(':') {
            return Err(RuntimeError::Address);
        }
        Ok(Self { authority: authority.to_owned(), path })
    }

    /// Answers invocations, one at a time, for as long as the platform has any. A panic of `answer` is the fault of its invocation.
    ///
    /// # Errors
    /// [`RuntimeError`], when the API is not there any more.
    pub async fn serve<A, F>(&self, answer: A) -> Result<(), RuntimeError>
    where
        A: Fn(Invocation) -> F,
        F: Future<Output = Result<Bytes, Fault>> + Send + 'static,
    {
        loop {
            let (head, payload) = self.call(Method::GET, "runtime/invocation/next", Bytes::new()).await?;
            let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
            let id = text("lambda-runtime-aws-request-id").filter(|id| is_id(id)).ok_or(RuntimeError::Api)?;
            let deadline_ms =
                text("lambda-runtime-deadline-ms").and_then(|text| text.parse().ok()).unwrap_or(0_u64);
            let left = Duration::from_millis(deadline_ms.saturating_sub(now_ms()));
            let done = tokio::spawn(answer(Invocation { payload, left })).await;
            let done = done.unwrap_or_else(|_| {
                Err(Fault { code: "HUSH-L099".to_owned(), message: "internal error".to_owned() })
            });
            let (verb, body) = match done {
                Ok(body) => ("response", body),
                Err(fault) => ("error", fault.to_json()),
            };
            let (told, _) = self.call(Method::POST, &format!("runtime/invocation/{id}/{verb}"), body).await?;
            if told.status == StatusCode::PAYLOAD_TOO_LARGE {
                tracing::error!("an answer was too large for Lambda");
            }
        }
    }

    /// Says why nothing can be answered at all.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub async fn refuse(&self, fault: &Fault) -> Result<(), RuntimeError> {
        self.call(Method::POST, "runtime/init/error", fault.to_json()).await.map(drop)
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<(Head, Bytes), RuntimeError> {
        let failed = |_| RuntimeError::Api;
        let stream = TcpStream::connect(&self.authority).await.map_err(|_| RuntimeError::Api)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|_| RuntimeError::Api)?;
        let driven = tokio::spawn(connection);
        let uri = format!("{}/{VERSION}/{path}", self.path);
        let request = Request::builder().method(method).uri(uri).header(HOST, &self.authority);
        let request = request.body(Body::from(body)).map_err(|_| RuntimeError::Address)?;
        let response: Response<_> = sender.send_request(request).await.map_err(|_| RuntimeError::Api)?;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(Body::new(body), MAX_BYTES).await.map_err(failed)?;
        driven.abort();
        Ok((Head { status: parts.status, headers: parts.headers }, bytes))
    }
}

/// The head of a response of the API.
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

impl Fault {
    fn to_json(&self) -> Bytes {
        json!({ "errorType": self.code, "errorMessage": self.message, "stackTrace": [] }).to_string().into()
    }
}

/// The id becomes part of an address.
fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
