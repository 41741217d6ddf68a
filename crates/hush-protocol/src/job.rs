// SPDX-License-Identifier: Apache-2.0
//! Jobs.

use serde::{Deserialize, Serialize};

/// Hex digits of a job's id.
pub const ID_HEX_DIGITS: usize = 32;
/// Longest wait for a job to finish within one request, in milliseconds: below the limits of common gateways.
pub const WAIT_MAX_MS: u64 = 20_000;
/// Longest wait for a job within the request that submits it, in milliseconds: such a request takes the place of other work.
pub const SUBMIT_WAIT_MAX_MS: u64 = 100;

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Has a result.
    Done,
    /// Will have none; see its code.
    Failed,
    /// Waits.
    Queued,
    /// Is being run.
    Running,
}

impl JobState {
    /// Whether nothing will change any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// Size and digest of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct ResultFacts {
    /// Length in bytes.
    pub bytes: u64,
    /// BLAKE3, 64 hex digits.
    pub blake3: String,
}

/// A job that was accepted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct JobAccepted {
    /// Its id.
    pub id: String,
    /// How it ended, if it ended while the submitter waited.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schema(required = false))]
    pub ended: Option<JobStatus>,
}

/// A job as it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct JobStatus {
    /// Its id.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schema(required))]
    pub id: String,
    /// Its state.
    pub state: JobState,
    /// How it advances.
    pub progress: JobProgress,
    /// Why it failed: a stable code.
    pub code: Option<String>,
    /// Why it failed: a fixed sentence.
    pub message: Option<String>,
    /// Size and digest of its result.
    pub result: Option<ResultFacts>,
}

/// How a job advances.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(utoipa::ToSchema))]
pub struct JobProgress {
    /// Jobs that run or wait before it.
    pub ahead: u64,
    /// Seconds since it was begun, until now or its end.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schema(required))]
    pub running_s: u64,
    /// How often it was begun; above 1 after a restart of the service.
    #[serde(default)]
    #[cfg_attr(feature = "schemas", schema(required))]
    pub attempts: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_what_it_was_and_needs_only_what_clients_use() {
        let text = r#"{"id":"ab","state":"running","progress":{"ahead":2,"running_s":3,"attempts":1},"code":null,"message":null,"result":null}"#;
        let status: JobStatus = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&status).unwrap(), text);
        assert!(!status.state.is_final());
        let short = r#"{"state":"done","progress":{"ahead":0},"result":{"bytes":1,"blake3":"00"}}"#;
        assert_eq!(serde_json::from_str::<JobStatus>(short).unwrap().state, JobState::Done);
    }
}
