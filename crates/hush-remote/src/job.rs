// SPDX-License-Identifier: Apache-2.0
//! Jobs from the client's side: submit, poll, fetch with resumption, acknowledge.

use std::io::Read;
use std::time::{Duration, Instant};

use hush_plan::ServerPlan;
use hush_protocol::job::{ID_HEX_DIGITS, JobAccepted, JobState, SUBMIT_WAIT_MAX_MS};
use hush_protocol::{header, job as wire, path};
use hush_table::{Digest, to_hex};

use super::transport::{Call, Method, NOT_JSON, Transport, clean, is_code};
use super::{RemoteError, SHORT_MAX_BYTES};
use crate::progress::Progress;

/// How long one poll lets the server wait.
const POLL_WAIT_MS: u64 = 10_000;
/// How long a job may take, from the first try to submit it to its end.
const JOB_DEADLINE: Duration = Duration::from_secs(3600);
/// How long the server is asked to take the acknowledgement of an answer that has arrived.
const ACKNOWLEDGE_PATIENCE: Duration = Duration::from_secs(10);
const PIECE_BYTES: usize = 256 << 10;

/// Identifies a job on its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobId(String);

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStatus {
    /// Its id.
    pub id: JobId,
    /// Its state.
    pub state: JobState,
    /// Jobs that run or wait before it.
    pub ahead: u64,
    /// Length and BLAKE3 of the answer of a job that is done.
    pub result: Option<(u64, Digest)>,
    /// Code and sentence of a job that failed.
    pub failure: Option<(String, String)>,
}

/// Submits a plan, and waits for its end for up to `wait_ms`. A server at its limit gets `patience`. Returns the job, with its
/// last status if it has ended.
pub(super) fn submit(
    transport: &Transport,
    plan: &[u8],
    wait_ms: u64,
    patience: Duration,
) -> Result<(JobId, Option<JobStatus>), RemoteError> {
    let mut key = [0_u8; 16];
    hush_ring::os_random(&mut key)?;
    let path = format!("{}?wait_ms={wait_ms}", path::JOBS);
    let path = if wait_ms == 0 { path::JOBS } else { &path };
    let call = Call {
        headers: vec![("content-type", "application/json".into()), (header::IDEMPOTENCY_KEY, to_hex(&key))],
        body: plan,
        ..Call::new(Method::Post, path)
    };
    let accepted: JobAccepted =
        transport.parsed(&transport.send_within(transport.patient(patience), &call)?)?;
    // The id becomes part of addresses.
    let sound =
        accepted.id.len() == ID_HEX_DIGITS && accepted.id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !sound {
        return Err(transport.protocol("a job id is malformed"));
    }
    let job = JobId(accepted.id);
    let ended = accepted.ended.map(|status| status_of(transport, &job, status)).transpose()?;
    Ok((job, ended.filter(|status| status.state.is_final())))
}

pub(super) fn poll(transport: &Transport, job: &JobId, wait_ms: u64) -> Result<JobStatus, RemoteError> {
    let path = format!("{}?wait_ms={wait_ms}", path::job(&job.0));
    status_of(transport, job, transport.json(&Call::get(&path, SHORT_MAX_BYTES))?)
}

/// A status as the server tells it, checked.
fn status_of(transport: &Transport, job: &JobId, status: wire::JobStatus) -> Result<JobStatus, RemoteError> {
    let result = match status.result {
        Some(facts) => {
            let digest = facts.blake3.parse().map_err(|_| transport.protocol(NOT_JSON))?;
            Some((facts.bytes, digest))
        }
        None => None,
    };
    let whole = match status.state {
        JobState::Done => result.is_some(),
        JobState::Failed => status.code.as_deref().is_some_and(is_code),
        JobState::Queued | JobState::Running => true,
    };
    if !whole {
        return Err(transport.protocol("a finished job has no result or no code"));
    }
    Ok(JobStatus {
        id: job.clone(),
        state: status.state,
        ahead: status.progress.ahead,
        result,
        failure: status.code.map(|code| (clean(&code), clean(&status.message.unwrap_or_default()))),
    })
}

pub(super) fn fetch(
    transport: &Transport,
    status: &JobStatus,
    max_bytes: u64,
    progress: &dyn Progress,
) -> Result<Vec<u8>, RemoteError> {
    let (bytes, expected) =
        status.result.ok_or_else(|| transport.protocol("a finished job has no result"))?;
    let path = path::job_result(&status.id.0);
    download(transport, &path, bytes, max_bytes, progress, &expected)
}

pub(super) fn run(
    transport: &Transport,
    plan: &[u8],
    progress: &dyn Progress,
) -> Result<Vec<u8>, RemoteError> {
    let parsed: ServerPlan = ServerPlan::from_json(plan).map_err(|_| RemoteError::Plan)?;
    let begun = Instant::now();
    progress.begin("wait for the server", None, "jobs");
    let submitted = submit(transport, plan, SUBMIT_WAIT_MAX_MS, JOB_DEADLINE);
    let (job, ended) = submitted.inspect_err(|_| progress.end())?;
    let waited = ended.map_or_else(|| wait(transport, &job, begun), finished);
    progress.end();
    let answer = waited.and_then(|status| fetch(transport, &status, parsed.max_answer_bytes, progress));
    // The acknowledgement, the same for every outcome. If it is lost, the result expires by itself.
    let path = path::job(&job.0);
    drop(transport.send_within(transport.patient(ACKNOWLEDGE_PATIENCE), &Call::new(Method::Delete, &path)));
    answer
}

fn wait(transport: &Transport, job: &JobId, begun: Instant) -> Result<JobStatus, RemoteError> {
    let mut backoff = transport.backoff();
    loop {
        let asked = Instant::now();
        let status = poll(transport, job, POLL_WAIT_MS)?;
        match status.state {
            JobState::Done | JobState::Failed => return finished(status),
            JobState::Queued | JobState::Running if begun.elapsed() > JOB_DEADLINE => {
                return Err(RemoteError::Timeout { url: transport.url().to_owned() });
            }
            // A server that does not wait as asked, because too many wait there, is asked more and more seldom.
            JobState::Queued | JobState::Running if asked.elapsed() < transport.first_pause => backoff.idle(),
            JobState::Queued | JobState::Running => backoff.progressed(),
        }
    }
}

/// A job that is done, or the error of a failed one.
fn finished(status: JobStatus) -> Result<JobStatus, RemoteError> {
    match status.state {
        JobState::Failed => {
            let (code, message) = status.failure.unwrap_or_default();
            Err(RemoteError::Refused { status: 0, code, message })
        }
        _ => Ok(status),
    }
}

/// Downloads `bytes` bytes, continuing by range if the connection breaks, and checks their digest.
pub(super) fn download(
    transport: &Transport,
    path: &str,
    bytes: u64,
    max_bytes: u64,
    progress: &dyn Progress,
    expected: &Digest,
) -> Result<Vec<u8>, RemoteError> {
    let too_large = || RemoteError::TooLarge { limit: max_bytes };
    if bytes > max_bytes {
        return Err(too_large());
    }
    let mut received = Vec::new();
    received.try_reserve_exact(usize::try_from(bytes).map_err(|_| too_large())?).map_err(|_| too_large())?;
    stream(transport, path, bytes, progress, &mut |piece| received.extend_from_slice(piece))?;
    let found = Digest::of(&received);
    if found == *expected { Ok(received) } else { Err(RemoteError::Altered { found, expected: *expected }) }
}

/// Gives `bytes` bytes to `sink`, in order, continuing by range if the connection breaks.
pub(super) fn stream(
    transport: &Transport,
    path: &str,
    bytes: u64,
    progress: &dyn Progress,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), RemoteError> {
    let mut backoff = transport.backoff();
    let mut received = 0;
    progress.begin("receive", Some(bytes), "bytes");
    while received < bytes {
        let before = received;
        let taken = continue_stream(transport, path, bytes, before, &mut |piece| {
            sink(piece);
            received += piece.len() as u64;
            progress.advance(piece.len() as u64);
        });
        if let Err(error) = taken {
            if received > before {
                backoff.progressed();
            }
            backoff.after(error)?;
        }
    }
    progress.end();
    Ok(())
}

fn continue_stream(
    transport: &Transport,
    path: &str,
    bytes: u64,
    start: u64,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), RemoteError> {
    let mut left = bytes - start;
    let mut call = Call::get(path, left);
    if start > 0 {
        call.headers.push(("range", format!("bytes={start}-{}", bytes - 1)));
    }
    let response = transport.begin(&call, 0, &mut std::io::empty())?;
    if !response.status().is_success() {
        return transport.reply(&call, response).map(drop);
    }
    let partial = response.status().as_u16() == 206;
    if partial != (start > 0) || response.body().content_length() != Some(left) {
        return Err(transport.protocol("a range is not the one asked for"));
    }
    // The library refuses a body that reaches its limit.
    let mut body = response.into_body().into_with_config().limit(left.saturating_add(1)).reader();
    let mut piece = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES)];
    while left > 0 {
        match body.read(&mut piece) {
            Ok(0) => return Err(transport.broken("the response ended early")),
            Ok(read) => {
                let taken = piece.get(..read).unwrap_or_default();
                let taken = taken.get(..usize::try_from(left).unwrap_or(read)).unwrap_or(taken);
                left -= taken.len() as u64;
                sink(taken);
            }
            Err(error) => return Err(transport.failed(ureq::Error::from(error))),
        }
    }
    // A body that was read to its end gives its connection back for the next call. All that was promised is here, whatever comes of it.
    let _ = body.read(&mut piece);
    Ok(())
}
