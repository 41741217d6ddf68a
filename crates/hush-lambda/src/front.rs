// SPDX-License-Identifier: Apache-2.0
//! The front's jobs: they lie in the store, and workers run them. Every front sees the same ones.
//!
//! *Watchdog.* Each poll of a job that has not ended looks how long ago it advanced: that is, a partial answer more was there. After twice
//! the time that a task should take, what is missing is invoked again; of several fronts by one, whose change of the record holds. A task
//! that was invoked again three times and is still missing ends its job with HUSH-V028. A job that nobody polls stands still then, and costs
//! nothing.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::join_all;
use hush_protocol::job::JobState;
use hush_server::error::{ApiError, Code};
use hush_server::files::Stored;
use hush_server::jobs::{JobFailure, JobService, JobView, Submission};
use hush_server::names::JobId;
use hush_table::part::PartSource;

use crate::event::Event;
use crate::invoke::Invoke;
use crate::objects::{JobObjects, ObjectFault};
use crate::record::{MAX_REPEATS, Record, digest, now_ms};
use crate::tree::FAN_OUT;
use crate::worker::BASE_MS;

/// Longest wait within one request: gateways end theirs after 29 s, and a function that waits is paid for.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Pause between two looks at a record, at first; it grows by a quarter each time. So the end of a job is seen after a quarter of its time
/// more at most, in about thirty looks within [`MAX_WAIT`].
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// And at most.
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// Jobs in a store.
pub struct StoreJobs {
    objects: JobObjects,
    invoke: Arc<dyn Invoke>,
    /// Answers of more bytes are given by an address in the store.
    over_bytes: u64,
    /// Time without advance after which tasks count as lost, in place of twice the predicted one.
    patience: Option<Duration>,
}

impl StoreJobs {
    /// The jobs in `objects`, run by whom `invoke` reaches.
    pub fn new(
        objects: JobObjects,
        invoke: Arc<dyn Invoke>,
        over_bytes: u64,
        patience: Option<Duration>,
    ) -> Arc<Self> {
        Arc::new(Self { objects, invoke, over_bytes, patience })
    }

    async fn record(&self, id: &JobId) -> Result<Record, ApiError> {
        let found = self.objects.record(id).await.map_err(refusal)?;
        Ok(found.ok_or(Code::NoJob)?.0)
    }

    /// Looks after a job that has not ended. Gives it as it is then.
    async fn watch(&self, record: Record) -> Result<Record, ApiError> {
        let patience = self.patience.map_or(record.predicted_ms.saturating_mul(2), |patience| {
            u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)
        });
        if now_ms().saturating_sub(record.advanced_ms) < patience {
            return Ok(record);
        }
        let present = self.objects.partials(&record.id).await?;
        let (seen, found) = (record.revision, present.len());
        let cut = record.cut();
        let lost = cut.as_ref().map(|cut| {
            let mut lost = cut.missing(&cut.root(), &present);
            lost.truncate(FAN_OUT);
            lost
        });
        let changed = self.objects.change(&record.id, |now| {
            if now.revision != seen || now.state.is_final() {
                return false;
            }
            now.advanced_ms = now_ms();
            if now.partials != found {
                now.partials = found;
                return true;
            }
            // Each is counted, whichever was invoked too often.
            let tired = match &lost {
                Some(nodes) => nodes.iter().filter(|node| !now.repeat(cut.as_ref(), Some(node))).count(),
                None => usize::from(!now.repeat(None, None)),
            };
            if tired > 0 {
                now.finish(Err(lost_for_good()));
            }
            true
        });
        let Some(now) = changed.await.map_err(refusal)? else { return self.record(&record.id).await };
        if now.state.is_final() {
            tracing::warn!(
                job = now.id.as_str(),
                code = Code::Quarantined.as_str(),
                "tasks were lost too often"
            );
        } else if now.repeats != record.repeats {
            let tasks: Vec<(u32, u32)> = match (&lost, &cut) {
                (Some(nodes), Some(cut)) => nodes.iter().map(|node| cut.parts(node)).collect(),
                _ => vec![(0, record.parts)],
            };
            tracing::warn!(job = now.id.as_str(), tasks = tasks.len(), "tasks are invoked again");
            self.invoke_all(&record.id, tasks).await;
        }
        Ok(now)
    }

    /// Invokes workers. Those that are not reached are lost, as any that dies: they are invoked again.
    async fn invoke_all(&self, job: &JobId, tasks: Vec<(u32, u32)>) {
        let invoked = tasks.into_iter().map(|(first, end)| async move {
            let event = Event { job: job.clone(), first, end };
            if let Err(error) = self.invoke.invoke(&event).await {
                tracing::error!(job = job.as_str(), %error, "a worker was not invoked");
            }
        });
        join_all(invoked).await;
    }
}

#[async_trait]
impl JobService for StoreJobs {
    async fn submit(&self, submission: Submission) -> Result<JobId, ApiError> {
        let Submission { table, parts, plan, key, .. } = submission;
        // One key, one id: that the objects of a job are made once makes the key hold over all fronts.
        let id = key.map_or_else(JobId::fresh, |key| Ok(JobId::of_key(&key)))?;
        let record = Record::new(id.clone(), table, parts, &plan, BASE_MS);
        let bytes = plan.len();
        if !self.objects.create_plan(&id, plan.into()).await? {
            let known = self.objects.plan(&id).await?;
            if known.is_some_and(|known| digest(&known) != record.plan) {
                return Err(Code::KeyReused.into());
            }
        }
        // Told to its submitter only now that it is there; a try that ended before this one's end is completed by it.
        if self.objects.create_record(&record).await? {
            tracing::info!(job = id.as_str(), plan_bytes = bytes, parts, "job accepted");
            self.invoke_all(&id, vec![(0, parts)]).await;
        }
        Ok(id)
    }

    async fn wait(&self, id: &JobId, patience: Duration) -> Result<JobView, ApiError> {
        let (begun, patience, mut pause) = (Instant::now(), patience.min(MAX_WAIT), FIRST_PAUSE);
        loop {
            let record = self.record(id).await?;
            let record = if record.state.is_final() { record } else { self.watch(record).await? };
            let left = patience.saturating_sub(begun.elapsed());
            if record.state.is_final() || left.is_zero() {
                return Ok(record.view());
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 5 / 4).min(LAST_PAUSE);
        }
    }

    async fn answer(&self, id: &JobId) -> Result<Stored, ApiError> {
        let record = self.record(id).await?;
        let facts = record.result.filter(|_| record.state == JobState::Done).ok_or(Code::NotDone)?;
        if facts.bytes > self.over_bytes {
            return Ok(Stored::Object(self.objects.result_path(id)));
        }
        let answer = self.objects.result(id).await?.ok_or(Code::NoJob)?;
        Ok(Stored::Bytes { source: PartSource::from_memory(answer), object: None })
    }

    // Nothing has to make room for others here: the bucket's own rules forget what nobody deletes.
    fn handed_over(&self, _: &JobId, _: Range<u64>) {}

    fn failure_told(&self, _: &JobId) {}

    async fn delete(&self, id: &JobId) -> Result<(), ApiError> {
        if self.objects.remove(id).await? { Ok(()) } else { Err(Code::NoJob.into()) }
    }
}

fn lost_for_good() -> JobFailure {
    JobFailure {
        code: Code::Quarantined.as_str().to_owned(),
        message: format!(
            "a worker was lost {} times at the same task, so it is not tried again; submit the job again, or give workers more time and memory",
            MAX_REPEATS + 1
        ),
    }
}

fn refusal(fault: ObjectFault) -> ApiError {
    match fault {
        ObjectFault::Store(error) => error.into(),
        ObjectFault::Record(_) => {
            tracing::error!("the record of a job is damaged");
            Code::Internal.into()
        }
    }
}
