// SPDX-License-Identifier: Apache-2.0
//! One HTTP exchange: addresses, token, time limits, size limits, refusals.

use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hush_protocol::code::{NO_TABLE, TRANSIENT};
use hush_protocol::path::table_of;
use hush_protocol::refusal::ErrorBody;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, SendBody};

use super::backoff::{Backoff, FIRST_PAUSE, PATIENCE, retrying};
use super::{ApiToken, PlainHttp, RemoteError, RemoteOptions, SHORT_MAX_BYTES};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which an upload or download counts as stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time from the last byte sent to the first byte back; above the longest wait for a job.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
const HEADER_MAX_BYTES: usize = 16 << 10;
const MESSAGE_MAX_CHARS: usize = 300;
const CODE_MAX_BYTES: usize = 16;
/// The error for an address that cannot be one, or that leads out of encryption.
const BAD_ADDRESS: &str = "a redirect leads nowhere, or out of https";
/// The error for a reply that does not parse.
pub(super) const NOT_JSON: &str = "a response is not the JSON expected";

/// Request methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Delete,
    Get,
    Head,
    Post,
    Put,
}

/// A request with its body in memory.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: &'a [u8],
    /// Largest body of the response.
    pub(super) max_bytes: u64,
}

/// A response that was read whole.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Access to one server.
#[derive(Debug)]
pub(super) struct Transport {
    agent: Agent,
    url: String,
    token: Option<ApiToken>,
    /// Where unencrypted HTTP may lead from here: anywhere, nowhere, or from this machine to this machine.
    plain_http: PlainHttp,
    here: bool,
    /// Pause before the second try.
    pub(super) first_pause: Duration,
}

impl<'a> Call<'a> {
    pub(super) fn new(method: Method, path: &'a str) -> Self {
        Self { method, path, headers: Vec::new(), body: &[], max_bytes: SHORT_MAX_BYTES }
    }

    pub(super) fn get(path: &'a str, max_bytes: u64) -> Self {
        Self { max_bytes, ..Self::new(Method::Get, path) }
    }
}

impl Transport {
    pub(super) fn new(
        url: &str,
        token: Option<ApiToken>,
        options: &RemoteOptions,
    ) -> Result<Self, RemoteError> {
        let (url, here) = check_url(url)?;
        if !here && url.starts_with("http:") && options.plain_http == PlainHttp::ThisMachine {
            return Err(RemoteError::PlainHttp { url });
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(HEADER_MAX_BYTES)
            .user_agent(concat!("hushtable/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls(options)?)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_per_read(Some(STALL_TIMEOUT))
            .timeout_per_write(Some(STALL_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT));
        if here {
            config = config.proxy(None);
        }
        Ok(Self {
            agent: config.build().new_agent(),
            url,
            token,
            plain_http: options.plain_http,
            here,
            first_pause: FIRST_PAUSE,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn backoff(&self) -> Backoff {
        self.patient(PATIENCE)
    }

    /// As [`Transport::backoff`], with so much time for a server that asks for patience.
    pub(super) fn patient(&self, patience: Duration) -> Backoff {
        Backoff::new(self.first_pause, patience)
    }

    /// Sends a call, and again if the connection fails or the server asks for it. Returns the response of a success.
    pub(super) fn send(&self, call: &Call) -> Result<Reply, RemoteError> {
        self.send_within(self.backoff(), call)
    }

    /// As [`Transport::send`], with a given patience.
    pub(super) fn send_within(&self, backoff: Backoff, call: &Call) -> Result<Reply, RemoteError> {
        retrying(backoff, || {
            let mut body = call.body;
            let response = self.begin(call, body.len() as u64, &mut body)?;
            self.reply(call, response)
        })
    }

    /// Sends a call and reads the response as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, call: &Call) -> Result<T, RemoteError> {
        self.parsed(&self.send(call)?)
    }

    /// A response as JSON.
    pub(super) fn parsed<T: DeserializeOwned>(&self, reply: &Reply) -> Result<T, RemoteError> {
        serde_json::from_slice(&reply.body).map_err(|_| self.protocol(NOT_JSON))
    }

    /// One try, with a body of `length` bytes from `body`. The response may be any. A server that has its files in an object store may
    /// give the address of one: that is read there.
    pub(super) fn begin(
        &self,
        call: &Call,
        length: u64,
        body: &mut dyn Read,
    ) -> Result<Response<Body>, RemoteError> {
        let mut request =
            Request::builder().uri(format!("{}{}", self.url, call.path)).method(match call.method {
                Method::Delete => ureq::http::Method::DELETE,
                Method::Get => ureq::http::Method::GET,
                Method::Head => ureq::http::Method::HEAD,
                Method::Post => ureq::http::Method::POST,
                Method::Put => ureq::http::Method::PUT,
            });
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token.bearer().as_str());
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let sent = if matches!(call.method, Method::Put | Method::Post) {
            let request = request.header(header::CONTENT_LENGTH, length).body(SendBody::from_reader(body));
            self.agent.run(request.map_err(|_| self.protocol("a request cannot be formed"))?)
        } else {
            self.agent.run(request.body(()).map_err(|_| self.protocol("a request cannot be formed"))?)
        };
        let response = sent.map_err(|error| self.failed(error))?;
        match response.headers().get(header::LOCATION) {
            Some(location)
                if response.status() == StatusCode::TEMPORARY_REDIRECT && call.method == Method::Get =>
            {
                let address = location.to_str().map_err(|_| self.protocol(BAD_ADDRESS))?;
                self.elsewhere(call, address)
            }
            _ => Ok(response),
        }
    }

    /// Reads at an address that the server gives. It goes without the token, and leads no further.
    fn elsewhere(&self, call: &Call, address: &str) -> Result<Response<Body>, RemoteError> {
        let uri: Uri = address.parse().map_err(|_| self.protocol(BAD_ADDRESS))?;
        let (scheme, authority) =
            uri.scheme_str().zip(uri.authority()).ok_or_else(|| self.protocol(BAD_ADDRESS))?;
        // A server on this machine may name a store on it; no server may lead out of encryption.
        let plain = self.plain_http == PlainHttp::Anywhere || self.here && is_this_machine(authority.host());
        if authority.as_str().contains('@') || !(scheme == "https" || scheme == "http" && plain) {
            return Err(self.protocol(BAD_ADDRESS));
        }
        // Without the rest of the address, which opens the file to whoever has it.
        let place = format!("{scheme}://{authority}");
        let mut request = Request::builder().uri(address).method(ureq::http::Method::GET);
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let request = request.body(()).map_err(|_| self.protocol(BAD_ADDRESS))?;
        let response = self.agent.run(request).map_err(|error| self.failed_at(place, error))?;
        match response.status().as_u16() {
            // A store that has too much to do is asked again, at an address that the server gives anew.
            200..300 | 429 | 500.. => Ok(response),
            _ => Err(self.protocol("the store does not give what the server has given the address of")),
        }
    }

    /// Reads a success whole, or turns a refusal into its error.
    pub(super) fn reply(&self, call: &Call, response: Response<Body>) -> Result<Reply, RemoteError> {
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        if !parts.status.is_success() {
            return Err(self.refused(status, retry_after(&parts.headers), body, call.path));
        }
        let declared = body.content_length().filter(|_| call.method != Method::Head);
        if declared.is_some_and(|length| length > call.max_bytes) {
            return Err(RemoteError::TooLarge { limit: call.max_bytes });
        }
        let body = self.read(body, call.max_bytes)?;
        if declared.is_some_and(|length| length != body.len() as u64) {
            return Err(self.broken("the response ended early"));
        }
        Ok(Reply { headers: parts.headers, body })
    }

    /// The error of a failed exchange, without anything of the request.
    pub(super) fn failed(&self, error: ureq::Error) -> RemoteError {
        self.failed_at(self.url.clone(), error)
    }

    /// The same at another place.
    fn failed_at(&self, url: String, error: ureq::Error) -> RemoteError {
        use ureq::Error as E;
        match error {
            E::Timeout(_) => RemoteError::Timeout { url },
            E::Io(cause) if cause.kind() == std::io::ErrorKind::TimedOut => RemoteError::Timeout { url },
            E::Io(cause) if cause.kind() == std::io::ErrorKind::InvalidData && url.starts_with("https:") => {
                // The TLS library's error for bytes that are not TLS.
                match cause.to_string().contains("corrupt message") {
                    true => RemoteError::NotTls { url },
                    false => RemoteError::Tls { url, cause: clean(&cause.to_string()) },
                }
            }
            E::Io(cause) => RemoteError::Unreachable { url, cause: cause.kind().to_string() },
            E::HostNotFound => RemoteError::Unreachable { url, cause: "unknown host".into() },
            E::ConnectionFailed | E::BodyStalled => {
                RemoteError::Unreachable { url, cause: "no connection".into() }
            }
            E::Tls(_) | E::Rustls(_) if error.to_string().contains("corrupt message") => {
                RemoteError::NotTls { url }
            }
            E::Tls(_) | E::Rustls(_) | E::Pem(_) => {
                RemoteError::Tls { url, cause: clean(&error.to_string()) }
            }
            E::BodyExceedsLimit(limit) => RemoteError::TooLarge { limit },
            E::LargeResponseHeader(..) => self.protocol("the response's headers are too large"),
            // A connection that closes in the middle of a head reads as one.
            E::Protocol(_) => self.broken("the connection closed"),
            _ => self.protocol("a response is not HTTP as expected"),
        }
    }

    pub(super) fn broken(&self, cause: &str) -> RemoteError {
        RemoteError::Unreachable { url: self.url.clone(), cause: cause.to_owned() }
    }

    pub(super) fn protocol(&self, what: &'static str) -> RemoteError {
        RemoteError::Protocol { url: self.url.clone(), what }
    }

    fn read(&self, mut body: Body, limit: u64) -> Result<Vec<u8>, RemoteError> {
        // The library refuses a body that reaches its limit, so its limit is ours plus one byte.
        let read = body.with_config().limit(limit.saturating_add(1)).read_to_vec();
        let too_large = || RemoteError::TooLarge { limit };
        match read {
            Ok(bytes) if bytes.len() as u64 > limit => Err(too_large()),
            Err(ureq::Error::BodyExceedsLimit(_)) => Err(too_large()),
            read => read.map_err(|error| self.failed(error)),
        }
    }

    fn refused(&self, status: u16, retry_after: Option<Duration>, body: Body, path: &str) -> RemoteError {
        let url = self.url.clone();
        if status == 401 {
            return RemoteError::Unauthorised { url, given: self.token.is_some() };
        }
        let refusal = self.read(body, SHORT_MAX_BYTES).ok();
        let refusal = refusal.and_then(|bytes| serde_json::from_slice::<ErrorBody>(&bytes).ok());
        let refusal = refusal.filter(|refusal| is_code(&refusal.code));
        match refusal {
            Some(ErrorBody { code, .. }) if TRANSIENT.contains(&code.as_str()) => {
                RemoteError::Busy { url, code, retry_after }
            }
            Some(ErrorBody { code, .. }) if code == NO_TABLE && table_of(path).is_some() => {
                let table = table_of(path).unwrap_or_default().to_owned();
                RemoteError::NoTable { url, table, code }
            }
            Some(ErrorBody { code, message, found, limit, .. }) => {
                let numbers = found.zip(limit);
                let numbers = numbers.map(|(found, limit)| format!(" (found {found}, limit {limit})"));
                let message = clean(&message) + &numbers.unwrap_or_default();
                RemoteError::Refused { status, code, message }
            }
            // Something between us and the server, a gateway mostly.
            None if matches!(status, 429 | 502 | 503 | 504) => {
                RemoteError::Busy { url, code: format!("HTTP {status}"), retry_after }
            }
            None => self.protocol("a refusal has no code of hush-server"),
        }
    }
}

/// The seconds of a `Retry-After`; a date, which proxies may send, is none.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Checks an address. Returns it in one spelling (small letters, no default port, no trailing slash), and whether it is this
/// machine.
fn check_url(url: &str) -> Result<(String, bool), RemoteError> {
    let wrong = || RemoteError::Url { found: clean(url) };
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    let scheme = uri.scheme_str().ok_or_else(wrong)?;
    let plain =
        uri.query().is_none() && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if !matches!(scheme, "http" | "https") || !plain {
        return Err(wrong());
    }
    let here = is_this_machine(host);
    // This text is the key of a pin: another spelling must not be another place.
    let default = if scheme == "https" { 443 } else { 80 };
    let port =
        uri.port_u16().filter(|port| *port != default).map_or(String::new(), |port| format!(":{port}"));
    let path = uri.path().trim_end_matches('/');
    Ok((format!("{scheme}://{}{port}{path}", host.to_ascii_lowercase()), here))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn tls(options: &RemoteOptions) -> Result<TlsConfig, RemoteError> {
    let Some(pem) = &options.root_certificates else { return Ok(TlsConfig::default()) };
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| RemoteError::Certificate)? {
            roots.push(certificate);
        }
    }
    if roots.is_empty() {
        return Err(RemoteError::Certificate);
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(roots))).build())
}

/// Whether a text has the form of a server's codes.
pub(super) fn is_code(text: &str) -> bool {
    text.starts_with("HUSH-")
        && text.len() <= CODE_MAX_BYTES
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Text from outside, made safe for a terminal: printable ASCII, cut.
pub(super) fn clean(text: &str) -> String {
    let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(MESSAGE_MAX_CHARS).map(printable).collect()
}
