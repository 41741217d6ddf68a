// SPDX-License-Identifier: Apache-2.0
//! Invoking workers. The rest of this crate sees a trait; the service gives it AWS's Invoke, tests give it a queue.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, StatusCode};
use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsAuthorizer, AwsCredentialProvider};
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};

use crate::event::Event;

/// Time for one Invoke, which only queues the event.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Tries of one Invoke.
const TRIES: u32 = 4;
/// Pause before the second try; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why a worker was not invoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The environment does not say how.
    #[error("workers cannot be invoked: {what}")]
    Settings {
        /// What is wrong.
        what: &'static str,
    },
    /// Lambda said no.
    #[error(
        "a worker was not invoked: Lambda answers with status {status}; look at the name of the worker and the rights of this function"
    )]
    Refused {
        /// Its status.
        status: u16,
    },
    /// Lambda was not reached, or has too much to do.
    #[error("a worker was not invoked: Lambda cannot be reached or has too much to do; again later")]
    Unreachable,
}

/// Hands events to workers, which run later and anywhere: none, one or several times.
#[async_trait]
pub trait Invoke: Send + Sync + 'static {
    /// Queues an event.
    ///
    /// # Errors
    /// [`InvokeError`]. It may have been queued nevertheless.
    async fn invoke(&self, event: &Event) -> Result<(), InvokeError>;
}

/// AWS Lambda's asynchronous Invoke, signed with the credentials of the store.
pub struct Lambda {
    client: HttpClient,
    credentials: AwsCredentialProvider,
    region: String,
    url: String,
}

impl Lambda {
    /// The function `worker`, at `endpoint` or at AWS's own; credentials and region are those of the environment.
    ///
    /// # Errors
    /// [`InvokeError::Settings`].
    pub fn new(worker: &str, endpoint: Option<&str>, allow_http: bool) -> Result<Self, InvokeError> {
        let settings = |what| InvokeError::Settings { what };
        // A bucket is part of such a client; none is asked.
        let builder = AmazonS3Builder::from_env().with_bucket_name("none");
        let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
        let region = region.ok_or_else(|| settings("AWS_REGION is not set"))?;
        let store =
            builder.build().map_err(|_| settings("the credentials of the environment cannot be read"))?;
        let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let own = format!("https://lambda.{region}.{domain}");
        let endpoint = endpoint.unwrap_or(&own).trim_end_matches('/');
        if !(endpoint.starts_with("https://") || allow_http && endpoint.starts_with("http://")) {
            return Err(settings(
                "AWS_ENDPOINT_URL_LAMBDA does not begin with https:// and AWS_ALLOW_HTTP is not true",
            ));
        }
        let options = ClientOptions::new().with_allow_http(allow_http).with_timeout(TIMEOUT);
        let client = ReqwestConnector::default()
            .connect(&options)
            .map_err(|_| settings("no HTTPS client can be made"))?;
        // The characters of names and ARNs; a colon must be escaped in a path that is signed.
        let name = worker.replace(':', "%3A");
        let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '%' | '$');
        if name.is_empty() || !name.chars().all(sound) {
            return Err(settings("HUSH_WORKER is not the name of a function"));
        }
        let url = format!("{endpoint}/2015-03-31/functions/{name}/invocations");
        Ok(Self { client, credentials: store.credentials().clone(), region, url })
    }

    async fn once(&self, event: &Event) -> Result<(), InvokeError> {
        let credential = self.credentials.get_credential().await.map_err(|_| InvokeError::Unreachable)?;
        let settings = |_| InvokeError::Settings { what: "the address of the worker cannot be one" };
        let request = Request::builder().method(Method::POST).uri(&self.url);
        let request =
            request.header(CONTENT_TYPE, "application/json").header("x-amz-invocation-type", "Event");
        let mut request = request.body(event.to_json().into()).map_err(settings)?;
        AwsAuthorizer::new(&credential, "lambda", &self.region).authorize(&mut request, None);
        let response = self.client.execute(request).await.map_err(|_| InvokeError::Unreachable)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::TOO_MANY_REQUESTS => Err(InvokeError::Unreachable),
            status if status.is_server_error() => Err(InvokeError::Unreachable),
            status => Err(InvokeError::Refused { status: status.as_u16() }),
        }
    }
}

#[async_trait]
impl Invoke for Lambda {
    async fn invoke(&self, event: &Event) -> Result<(), InvokeError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            match self.once(event).await {
                Err(InvokeError::Unreachable) => tokio::time::sleep(pause).await,
                done => return done,
            }
            pause *= 2;
        }
        self.once(event).await
    }
}
