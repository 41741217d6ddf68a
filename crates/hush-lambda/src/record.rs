// SPDX-License-Identifier: Apache-2.0
//! What is remembered of a job: one object, which all fronts and workers change by compare-and-swap.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hush_protocol::job::{JobState, ResultFacts};
use hush_server::jobs::{JobFailure, JobView};
use hush_server::names::{JobId, TableName};
use hush_table::Digest;
use serde::{Deserialize, Serialize};

use crate::tree::{Cut, Node};

/// Longest record that is read: with the borders of as many leaves as a job has, and as many tasks that were lost.
pub const MAX_BYTES: u64 = 2 << 20;
/// How often a task is invoked again.
pub const MAX_REPEATS: u32 = 3;

/// A job as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Grows with each change: a store names equal bytes alike, and two writers of equal bytes would both believe that they won.
    pub revision: u64,
    /// The job.
    pub id: JobId,
    /// The table that the plan names.
    pub table: TableName,
    /// Parts of the table's version.
    pub parts: u32,
    /// BLAKE3 of the plan, hex.
    pub plan: String,
    /// The state.
    pub state: JobState,
    /// When it was submitted, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its parts were cut into leaves.
    pub started_ms: Option<u64>,
    /// When it ended.
    pub finished_ms: Option<u64>,
    /// Borders of the leaves, once a worker has looked at the plan.
    pub cut: Option<Vec<u32>>,
    /// Time that the largest leaf should take.
    pub predicted_ms: u64,
    /// When a front last saw it advance.
    pub advanced_ms: u64,
    /// Partial answers that were there then.
    pub partials: usize,
    /// How often tasks were invoked again, by their parts.
    pub repeats: BTreeMap<String, u32>,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// Its answer.
    pub result: Option<ResultFacts>,
}

/// Why an object is no record of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of a job is damaged")]
pub struct RecordFault;

impl Record {
    /// The record of a job that was just submitted. `predicted_ms` is how long a worker should take to begin.
    pub fn new(id: JobId, table: TableName, parts: u32, plan: &[u8], predicted_ms: u64) -> Self {
        let now = now_ms();
        Self {
            revision: 0,
            id,
            table,
            parts,
            plan: digest(plan),
            state: JobState::Queued,
            created_ms: now,
            started_ms: None,
            finished_ms: None,
            cut: None,
            predicted_ms,
            advanced_ms: now,
            partials: 0,
            repeats: BTreeMap::new(),
            failure: None,
            result: None,
        }
    }

    /// Reads the record of a job.
    ///
    /// # Errors
    /// [`RecordFault`] for anything that is not one in a state that a job can have.
    pub fn read(bytes: &[u8], id: &JobId) -> Result<Self, RecordFault> {
        let record: Self = serde_json::from_slice(bytes).map_err(|_| RecordFault)?;
        let ends = (record.result.is_some(), record.failure.is_some(), record.finished_ms.is_some());
        let expected = match record.state {
            JobState::Done => (true, false, true),
            JobState::Failed => (false, true, true),
            JobState::Queued | JobState::Running => (false, false, false),
        };
        let begun = match record.state {
            JobState::Queued => record.cut.is_none(),
            JobState::Running => record.cut.is_some(),
            JobState::Done | JobState::Failed => true,
        };
        let digests = [Some(&record.plan), record.result.as_ref().map(|facts| &facts.blake3)];
        let digests_are = digests.iter().flatten().all(|digest| digest.parse::<Digest>().is_ok());
        let is_sound = record.id == *id
            && ends == expected
            && begun
            && (record.cut.is_none() || record.cut().is_some())
            && digests_are;
        if is_sound { Ok(record) } else { Err(RecordFault) }
    }

    /// The record as it is stored.
    pub fn to_json(&self) -> Vec<u8> {
        // Numbers, digests and names: there is nothing that JSON could not say.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The cut of its parts, once there is one.
    pub fn cut(&self) -> Option<Cut> {
        Cut::of(self.cut.clone()?, self.parts)
    }

    /// Notes that it was begun.
    pub fn begin(&mut self, cut: &Cut, predicted_ms: u64) {
        let now = now_ms();
        (self.state, self.started_ms, self.advanced_ms) = (JobState::Running, Some(now), now);
        (self.cut, self.predicted_ms) = (Some(cut.borders().to_vec()), predicted_ms);
    }

    /// Notes its end.
    pub fn finish(&mut self, outcome: Result<ResultFacts, JobFailure>) {
        self.finished_ms = Some(now_ms());
        match outcome {
            Ok(facts) => (self.state, self.result) = (JobState::Done, Some(facts)),
            Err(failure) => (self.state, self.failure) = (JobState::Failed, Some(failure)),
        }
    }

    /// Counts that a task is invoked again; false if it was often enough.
    pub fn repeat(&mut self, cut: Option<&Cut>, node: Option<&Node>) -> bool {
        let (first, end) = cut.zip(node).map_or((0, self.parts), |(cut, node)| cut.parts(node));
        let count = self.repeats.entry(format!("{first}-{end}")).or_insert(0);
        *count += 1;
        *count <= MAX_REPEATS
    }

    /// The job as its submitter sees it.
    pub fn view(&self) -> JobView {
        let end = self.finished_ms.unwrap_or_else(now_ms);
        JobView {
            id: self.id.clone(),
            state: self.state,
            ahead: 0,
            attempts: 1 + self.repeats.values().max().copied().unwrap_or(0),
            running_s: end.saturating_sub(self.started_ms.unwrap_or(end)) / 1000,
            failure: self.failure.clone(),
            result: self.result.clone(),
        }
    }
}

/// BLAKE3 of a plan or an answer, as records hold it.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Milliseconds since 1970; 0 where the clock stands before that.
pub fn now_ms() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
