// SPDX-License-Identifier: Apache-2.0
//! The client's end of the network: pushes tables to a server, sends plans, fetches answers, delivers rows of a device.
//!
//! ```text
//! RemoteServer ─ push ─▶ HEAD/PUT parts (resumed) ─▶ PUT manifest
//!              ─ run ──▶ POST job (─▶ poll, unless it is done by then) ─▶ GET result (resumed) ─▶ DELETE job ─▶ answer bytes
//!              ─ pull ─▶ GET manifest, parts ─▶ a local table
//!              ─ purge ▶ POST purge ─▶ names of files, which are then asked for in vain
//! ```
//!
//! *Invariants.*
//! - Every request can be repeated without a second effect, and is repeated with growing random pauses: a bounded number of
//!   times if the connection fails, and until a deadline if a server at its limit asks for it. Decrypted data cannot cause a
//!   request: an answer is acknowledged (its job deleted) before anybody looks into it.
//! - No response is read beyond a limit that is known before it arrives; texts of a server are cleaned before
//!   they are shown.
//! - The token goes to the server's own address only, and plain HTTP is refused unless the server is on this machine. Where a server gives
//!   the address of a file in an object store (307), that is read once, without the token; no other redirect is followed.
//!
//! *Non-goals.* Judging a manifest or an answer: signatures, pins and digests are checked by those who use them.

mod backoff;
#[cfg(test)]
mod canned;
mod check;
mod deliver;
mod error;
mod job;
#[cfg(test)]
mod mutations;
mod progress;
mod pull;
mod purge;
mod push;
#[cfg(test)]
mod tests;
mod token;
mod transport;
mod upload;

use std::path::Path;

use hush_protocol::path;
use hush_table::part::FileKind;
use hush_table::{
    DeliveryId, DeliveryPage, Digest, PartFile, PartName, SignedDelivery, SignedManifest, TableStore,
};

pub use error::{RemoteError, TokenFault};
pub use hush_protocol::job::JobState;
pub use hush_protocol::service::ServerVersion;
pub use hush_protocol::table::{Purged, StoredFile, TableSummary};
pub use job::{JobId, JobStatus};
pub use progress::{Progress, Silent};
pub use push::PushReport;
pub use token::ApiToken;

use transport::{Call, Method, Transport};

/// Largest list of tables that is read.
const LIST_MAX_BYTES: u64 = 16 << 20;
/// Largest container of a manifest: the largest body and its frame.
const MANIFEST_MAX_BYTES: u64 = hush_table::manifest::MAX_BODY_BYTES + 1024;
/// Largest short answer (a status, a refusal).
const SHORT_MAX_BYTES: u64 = 64 << 10;

/// A server, reached over HTTP. Holds no connection open between long pauses; cheap to keep.
#[derive(Debug)]
pub struct RemoteServer {
    transport: Transport,
}

/// Options of the connection to a server.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// Certificates (PEM) to trust instead of the public authorities, for a server with a private one.
    pub root_certificates: Option<Vec<u8>>,
    /// Whether plain `http://` may leave this machine. Then anybody on the way can read the token and change
    /// clear columns of answers; encrypted columns stay secret.
    pub plain_http: PlainHttp,
}

/// The hosts to which unencrypted HTTP is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// Any host.
    Anywhere,
    /// Loopback addresses and `localhost`.
    #[default]
    ThisMachine,
}

impl RemoteServer {
    /// A server at `http(s)://host[:port][/prefix]`. Connects only when asked something.
    ///
    /// # Errors
    /// [`RemoteError::Url`], [`RemoteError::PlainHttp`].
    pub fn new(url: &str, token: Option<ApiToken>) -> Result<Self, RemoteError> {
        Self::with_options(url, token, &RemoteOptions::default())
    }

    /// As [`RemoteServer::new`], with choices about the connection.
    ///
    /// # Errors
    /// Also [`RemoteError::Certificate`].
    pub fn with_options(
        url: &str,
        token: Option<ApiToken>,
        options: &RemoteOptions,
    ) -> Result<Self, RemoteError> {
        Ok(Self { transport: Transport::new(url, token, options)? })
    }

    /// The text by which a table on this server is remembered: the server's address and the name, without regard to case.
    pub fn place(&self, table: &str) -> String {
        format!("{}/tables/{}", self.url(), table.to_ascii_lowercase())
    }

    /// The server's address, without trailing slash.
    pub fn url(&self) -> &str {
        self.transport.url()
    }

    /// Asks for the server's version: the cheapest check that it can be reached and takes the token.
    ///
    /// # Errors
    /// Any [`RemoteError`] of the connection.
    pub fn version(&self) -> Result<ServerVersion, RemoteError> {
        self.transport.json(&Call::get(path::VERSION, SHORT_MAX_BYTES))
    }

    /// Lists the server's tables. All of it is the server's claim until a table's manifest has been checked.
    ///
    /// # Errors
    /// Any [`RemoteError`] of the connection.
    pub fn tables(&self) -> Result<Vec<TableSummary>, RemoteError> {
        self.transport.json(&Call::get(path::TABLES, LIST_MAX_BYTES))
    }

    /// Fetches a table's manifest and checks its signature and rules. The caller checks the signer and the
    /// version.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if there is no such table, [`RemoteError::Table`] for a bad manifest.
    pub fn manifest(&self, table: &str) -> Result<SignedManifest, RemoteError> {
        let path = path::manifest(&table_path(table)?);
        let container = self.transport.send(&Call::get(&path, MANIFEST_MAX_BYTES))?.body;
        Ok(SignedManifest::decode(&container)?)
    }

    /// Uploads a local table: parts that the server lacks or has damaged, encrypted ones first, then the manifest, which makes
    /// them the table. The server verifies the parts that it has. A second call after an interruption continues; after a
    /// complete push it sends no part.
    ///
    /// # Errors
    /// [`RemoteError::Table`] if the local table is damaged; [`RemoteError::OtherOwner`], [`RemoteError::OtherTable`] or
    /// [`RemoteError::Newer`] if the server's table is not an earlier version of this one;
    /// [`RemoteError::Refused`].
    pub fn push(&self, directory: &Path, progress: &dyn Progress) -> Result<PushReport, RemoteError> {
        self.push_files(&TableStore::local_existing(directory)?, progress)
    }

    /// As [`RemoteServer::push`], for a table in any store.
    ///
    /// # Errors
    /// As [`RemoteServer::push`].
    pub fn push_files(&self, table: &TableStore, progress: &dyn Progress) -> Result<PushReport, RemoteError> {
        push::push(&self.transport, table, progress)
    }

    /// Downloads all that the server has of this version of a table, compares it with the manifest and keeps nothing: for owners
    /// who do not take the server's word. Returns the bytes of the parts.
    ///
    /// # Errors
    /// [`RemoteError::Altered`] for a part or a manifest that is another one; [`RemoteError::Refused`] for one that is missing.
    ///
    /// # Cost
    /// The table, over the network; constant memory.
    pub fn check(&self, manifest: &SignedManifest, progress: &dyn Progress) -> Result<u64, RemoteError> {
        check::check(self, manifest, progress)
    }

    /// Downloads the parts of a table into a directory, continuing an earlier download, and makes `manifest` its present
    /// version. The manifest is this server's, and the caller has judged it. Every part must have the digest that it names.
    /// The directory's table, if there is one, must be an earlier version of the same table.
    ///
    /// # Errors
    /// [`RemoteError::Altered`] for a part with another digest than the manifest names; [`RemoteError::Table`],
    /// [`RemoteError::Refused`].
    pub fn pull(
        &self,
        manifest: &SignedManifest,
        directory: &Path,
        progress: &dyn Progress,
    ) -> Result<(), RemoteError> {
        self.pull_files(manifest, &TableStore::local(directory)?, progress)
    }

    /// As [`RemoteServer::pull`], into any store.
    ///
    /// # Errors
    /// As [`RemoteServer::pull`].
    pub fn pull_files(
        &self,
        manifest: &SignedManifest,
        to: &TableStore,
        progress: &dyn Progress,
    ) -> Result<(), RemoteError> {
        pull::pull(self, manifest, to, progress)
    }

    /// Delivers rows that a device encrypted: first their parts, which lie below `directory` as a table's do, then the delivery
    /// itself. A second call continues an interrupted delivery, and does nothing after a complete one.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] for a device that the table's owner has not certified; [`RemoteError::Table`] for damaged parts.
    pub fn deliver(&self, table: &str, directory: &Path, signed: &SignedDelivery) -> Result<(), RemoteError> {
        deliver::deliver(&self.transport, table, directory, signed)
    }

    /// A page of the deliveries that wait beside a table: those after `after`, by rising id. Their signatures are consistent; the
    /// caller checks the signers, and limits the number of pages.
    ///
    /// # Errors
    /// [`RemoteError::Protocol`] for a list that does not advance; any [`RemoteError`] of the connection.
    pub fn deliveries(&self, table: &str, after: Option<DeliveryId>) -> Result<DeliveryPage, RemoteError> {
        deliver::waiting(&self.transport, table, after)
    }

    /// Fetches one part file of a table or of a delivery that waits beside it, into memory.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if it is not there, [`RemoteError::Altered`] if it is not the file named.
    pub fn part(&self, table: &str, kind: FileKind, file: PartFile) -> Result<Vec<u8>, RemoteError> {
        deliver::part(&self.transport, table, kind, file)
    }

    /// Sends files of parts that a version to come will name, from a store that has them. What the server has already is not sent again.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] for files that are too large, or a full server; [`RemoteError::Table`] for files that the store lacks.
    pub fn send_parts(
        &self,
        table: &str,
        store: &TableStore,
        files: impl IntoIterator<Item = (FileKind, PartFile)>,
    ) -> Result<(), RemoteError> {
        deliver::send_parts(&self.transport, &table_path(table)?, store, files)
    }

    /// Makes a manifest the table's present version; the server must have all of its parts.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if it is not newer, or parts are missing.
    pub fn commit(&self, manifest: &SignedManifest) -> Result<(), RemoteError> {
        deliver::commit(&self.transport, manifest)
    }

    /// Has the server delete old versions of a table, and all files that only they need, if `version` is the digest of the present
    /// manifest; `dry_run` deletes nothing. All of it is the server's word, and a repetition after a broken connection tells only what the
    /// first try has left: ask with `dry_run` before.
    ///
    /// # Errors
    /// [`RemoteError::Refused`]: another version is present, or parts are being uploaded; [`RemoteError::Protocol`] for names that files of
    /// tables do not have.
    pub fn purge(&self, table: &str, version: &Digest, dry_run: bool) -> Result<Purged, RemoteError> {
        purge::purge(&self.transport, table, version, dry_run)
    }

    /// Whether the server gives a part file, whatever is in it, to whoever asks for it by name.
    ///
    /// # Errors
    /// Any [`RemoteError`] of the connection.
    ///
    /// # Cost
    /// One request, and one byte.
    pub fn serves(&self, table: &str, part: &PartName) -> Result<bool, RemoteError> {
        purge::serves(&self.transport, table, part)
    }

    /// Deletes a table on the server.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if there is no such table.
    pub fn delete(&self, table: &str) -> Result<(), RemoteError> {
        let path = table_path(table)?;
        self.transport.send(&Call::new(Method::Delete, &path)).map(drop)
    }

    /// Submits a plan. This call repeats that if the connection fails, and for some minutes if the server is at its limit. The
    /// plan never runs twice.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] for a plan that the server does not take.
    pub fn submit(&self, plan: &[u8]) -> Result<JobId, RemoteError> {
        job::submit(&self.transport, plan, 0, backoff::PATIENCE).map(|(job, _)| job)
    }

    /// The status of a job. Waits on the server for up to `wait_ms` milliseconds (20 000 at most) for its end.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if there is no such job.
    pub fn poll(&self, job: &JobId, wait_ms: u64) -> Result<JobStatus, RemoteError> {
        job::poll(&self.transport, job, wait_ms)
    }

    /// Fetches the answer of a job that is done, `status` being its last status; refuses above `max_bytes`.
    ///
    /// # Errors
    /// [`RemoteError::TooLarge`], [`RemoteError::Altered`].
    pub fn fetch(&self, status: &JobStatus, max_bytes: u64) -> Result<Vec<u8>, RemoteError> {
        job::fetch(&self.transport, status, max_bytes, &Silent)
    }

    /// Runs a plan: submits, waits, fetches, acknowledges. The answer is at most as long as the plan allows.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] if the plan or the job is refused, [`RemoteError::Timeout`] if it takes over an
    /// hour.
    pub fn run(&self, plan: &[u8], progress: &dyn Progress) -> Result<Vec<u8>, RemoteError> {
        job::run(&self.transport, plan, progress)
    }
}

/// A table's path. Names that the service cannot have are refused here, before they become part of an address.
fn table_path(table: &str) -> Result<String, RemoteError> {
    if hush_plan::schema::is_table_name(table) {
        return Ok(path::table(table));
    }
    Err(RemoteError::TableName { found: table.chars().take(64).collect() })
}
