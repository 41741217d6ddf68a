// SPDX-License-Identifier: Apache-2.0
//! What is remembered of a job, in memory and in `jobs/{id}/record.json`.

use std::path::{Path, PathBuf};

use hush_protocol::job::{JobState, ResultFacts};
use hush_table::store::files::{make_directory, read_at_most, write_unsynced};
use hush_table::{Digest, TableError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::unix_seconds;
use crate::names::{JobId, TableName};
use crate::runner::Failure;

const RECORD_FILE: &str = "record.json";
const PLAN_FILE: &str = "plan.json";
const RESULT_FILE: &str = "result.bin";
/// Largest record that is read back. One has about 600 bytes and the sentence of a failure.
pub(super) const RECORD_MAX_BYTES: u64 = 16 << 10;
/// Longest sentence of a failure that is kept, in characters: at six bytes each (JSON's longest escape) it fits a record.
const MESSAGE_MAX_CHARS: usize = 2000;

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobFailure {
    /// Stable code.
    #[schema(example = "HUSH-E031")]
    pub code: String,
    /// Fixed sentence.
    pub message: String,
}

impl From<Failure> for JobFailure {
    fn from(failure: Failure) -> Self {
        Self { code: failure.code, message: failure.message.chars().take(MESSAGE_MAX_CHARS).collect() }
    }
}

/// A job as it is stored. The plan lies beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) id: JobId,
    pub(super) table: TableName,
    /// Digest of the manifest of the version that it asks; not known of jobs from before this was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<Digest>,
    pub(super) state: JobState,
    /// BLAKE3 of the submitted body, hex.
    pub(super) body: String,
    /// BLAKE3 of the `Idempotency-Key`, hex.
    pub(super) key: Option<String>,
    /// How often it was begun.
    pub(super) attempts: u32,
    pub(super) created_s: u64,
    pub(super) started_s: Option<u64>,
    pub(super) finished_s: Option<u64>,
    pub(super) failure: Option<JobFailure>,
    pub(super) result: Option<ResultFacts>,
}

impl Record {
    pub(super) fn new(
        id: JobId,
        table: TableName,
        version: Digest,
        body: String,
        key: Option<String>,
    ) -> Self {
        Self {
            id,
            table,
            version: Some(version),
            state: JobState::Queued,
            body,
            key,
            attempts: 0,
            created_s: unix_seconds(),
            started_s: None,
            finished_s: None,
            failure: None,
            result: None,
        }
    }

    /// Checks that this is a record of `id` as [`JobFiles::save`] writes it.
    fn check(&self, id: &JobId) -> Result<(), RecordFault> {
        if self.id != *id {
            return Err(RecordFault::OtherJob);
        }
        let mut digests =
            [Some(&self.body), self.key.as_ref(), self.result.as_ref().map(|facts| &facts.blake3)]
                .into_iter()
                .flatten();
        let ends = (self.result.is_some(), self.failure.is_some(), self.finished_s.is_some());
        let expected = match self.state {
            JobState::Done => (true, false, true),
            JobState::Failed => (false, true, true),
            JobState::Queued | JobState::Running => (false, false, false),
        };
        let sound = ends == expected && digests.all(|digest| digest.parse::<Digest>().is_ok());
        if sound { Ok(()) } else { Err(RecordFault::State) }
    }

    pub(super) fn begin(&mut self) {
        self.state = JobState::Running;
        self.attempts += 1;
        self.started_s = Some(unix_seconds());
    }

    /// As if it had not been begun this time.
    pub(super) fn suspend(&mut self) {
        self.state = JobState::Queued;
        self.attempts = self.attempts.saturating_sub(1);
        self.started_s = None;
    }

    pub(super) fn finish(&mut self, outcome: Result<ResultFacts, JobFailure>) {
        self.finished_s = Some(unix_seconds());
        match outcome {
            Ok(facts) => (self.state, self.result) = (JobState::Done, Some(facts)),
            Err(failure) => (self.state, self.failure) = (JobState::Failed, Some(failure)),
        }
    }

    pub(super) fn expired(&self, ttl_s: u64, now_s: u64) -> bool {
        self.finished_s.is_some_and(|finished| now_s.saturating_sub(finished) >= ttl_s)
    }
}

/// Why what is on the disk is not a job.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordFault {
    /// Too long, or not the JSON of a record.
    #[error("not a record")]
    Form,
    /// The file system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Of another job than its directory.
    #[error("the record of another job")]
    OtherJob,
    /// The plan is not the one that was submitted.
    #[error("without its plan")]
    Plan,
    /// The result is not there or has another length.
    #[error("without its result")]
    Result,
    /// No job has these fields together.
    #[error("in no state that a job can have")]
    State,
}

impl RecordFault {
    /// Whether the job is lost. What only could not be read now may be there at the next start.
    pub(super) fn is_final(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, NotADirectory, NotFound};
        match self {
            Self::Io(error) => matches!(error.kind(), InvalidData | NotADirectory | NotFound),
            _ => true,
        }
    }
}

/// The files of one job.
#[derive(Clone, Debug)]
pub(super) struct JobFiles(PathBuf);

impl JobFiles {
    pub(super) fn of(root: &Path, id: &JobId) -> Self {
        Self(root.join(id.as_str()))
    }

    pub(super) fn create(&self, record: &Record, plan: &[u8]) -> std::io::Result<()> {
        make_directory(&self.0).map_err(TableError::into_io)?;
        write_unsynced(&self.0, PLAN_FILE, plan).map_err(TableError::into_io)?;
        self.save(record)
    }

    pub(super) fn save(&self, record: &Record) -> std::io::Result<()> {
        write_unsynced(&self.0, RECORD_FILE, &serde_json::to_vec(record)?).map_err(TableError::into_io)
    }

    /// Reads the record of job `id` back, and sees whether what it speaks of is there.
    ///
    /// # Errors
    /// [`RecordFault`].
    pub(super) fn load(&self, id: &JobId, max_plan_bytes: u64) -> Result<Record, RecordFault> {
        let bytes = read_at_most(&self.0.join(RECORD_FILE), RECORD_MAX_BYTES)?;
        let record: Record = serde_json::from_slice(&bytes).map_err(|_| RecordFault::Form)?;
        record.check(id)?;
        match &record.result {
            // Neither was waited for when it was written: the machine may have lost it.
            Some(facts) if std::fs::metadata(self.result())?.len() != facts.bytes => Err(RecordFault::Result),
            None if !record.state.is_final() => {
                let plan = self.plan(max_plan_bytes)?;
                let same = blake3::hash(&plan).to_hex().as_str() == record.body;
                if same { Ok(record) } else { Err(RecordFault::Plan) }
            }
            _ => Ok(record),
        }
    }

    pub(super) fn plan(&self, max_bytes: u64) -> std::io::Result<Vec<u8>> {
        read_at_most(&self.0.join(PLAN_FILE), max_bytes)
    }

    pub(super) fn save_result(&self, answer: &[u8]) -> std::io::Result<ResultFacts> {
        write_unsynced(&self.0, RESULT_FILE, answer).map_err(TableError::into_io)?;
        Ok(ResultFacts { bytes: answer.len() as u64, blake3: blake3::hash(answer).to_hex().to_string() })
    }

    pub(super) fn result(&self) -> PathBuf {
        self.0.join(RESULT_FILE)
    }

    /// Removes everything; what is already gone is fine.
    pub(super) fn remove(&self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(kind = ?error.kind(), "a job's files could not be removed");
        }
    }
}
