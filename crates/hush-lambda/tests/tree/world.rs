// SPDX-License-Identifier: Apache-2.0
//! A store with a table, workers, and the events between them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use hush_exec::{Engine, Limits};
use hush_lambda::event::Event;
use hush_lambda::front::StoreJobs;
use hush_lambda::invoke::{Invoke, InvokeError};
use hush_lambda::objects::JobObjects;
use hush_lambda::record::Record;
use hush_lambda::worker::{Ended, Settings, WorkError, Worker};
use hush_plan::EncodingId;
use hush_plan::plan::{AggregateTask, EncryptedSum, Mask, RowsTask, Task};
use hush_server::jobs::{JobService, Submission};
use hush_server::names::{JobId, TableName};
use hush_table::{Catalog, TableStore};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::fixture::{Fixture, Random, VALID, VALUE};

/// Longer than any test takes.
pub(crate) const TIME: Duration = Duration::from_secs(600);
/// Answers of more bytes are given by their address.
pub(crate) const OVER_BYTES: u64 = 4 << 20;

const PREFIX: &str = "lake/hush";

/// Events that were sent and not yet delivered.
#[derive(Default)]
pub(crate) struct Queue(Mutex<Vec<Event>>);

#[async_trait]
impl Invoke for Queue {
    async fn invoke(&self, event: &Event) -> Result<(), InvokeError> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

/// What the platform does to events.
#[derive(Clone, Copy)]
pub(crate) struct Platform {
    /// Of a hundred, so many come twice.
    pub(crate) twice: u64,
    /// Of a hundred, so many never come.
    pub(crate) lost: u64,
}

pub(crate) struct World {
    pub(crate) store: Arc<InMemory>,
    pub(crate) fixture: Fixture,
    pub(crate) jobs: JobObjects,
    pub(crate) queue: Arc<Queue>,
    pub(crate) worker: Worker,
    pub(crate) front: Arc<StoreJobs>,
    leaf_bytes: u64,
}

/// A worker on a store.
fn worker(store: Arc<dyn ObjectStore>, queue: &Arc<Queue>, leaf_bytes: u64) -> Worker {
    let prefix = Path::from(PREFIX);
    let catalog = Catalog::new(store.clone(), prefix.clone().join("tables"));
    let settings = Settings { threads: 1, limits: Limits::default(), leaf_bytes };
    Worker::new(JobObjects::new(store, &prefix), catalog, queue.clone(), settings)
}

impl World {
    /// A random table with parts of these sizes; a leaf reads at most so many bytes.
    pub(crate) fn new(random: &mut Random, part_rows: &[usize], leaf_bytes: u64) -> Self {
        let fixture = Fixture::random(random, part_rows);
        let store = Arc::new(InMemory::new());
        let prefix = Path::from(PREFIX);
        let catalog = Catalog::new(store.clone(), prefix.clone().join("tables"));
        fixture.store.copy_version(&fixture.signed, &catalog.table("t").unwrap(), &|_| ()).unwrap();
        let jobs = JobObjects::new(store.clone(), &prefix);
        let queue = Arc::new(Queue::default());
        let worker = worker(store.clone(), &queue, leaf_bytes);
        // Without patience: each poll that sees no progress takes what is missing for lost.
        let front = StoreJobs::new(jobs.clone(), queue.clone(), OVER_BYTES, Some(Duration::ZERO));
        Self { store, fixture, jobs, queue, worker, front, leaf_bytes }
    }

    /// Another worker, which reaches this world by a store of its own.
    pub(crate) fn worker_on(&self, store: Arc<dyn ObjectStore>) -> Worker {
        worker(store, &self.queue, self.leaf_bytes)
    }

    pub(crate) fn parts(&self) -> u32 {
        self.fixture.signed.manifest().parts.len() as u32
    }

    pub(crate) fn expected(&self, plan: &[u8]) -> Vec<u8> {
        Engine::for_table(self.table(), 2, Limits::default()).unwrap().run(plan).unwrap()
    }

    /// The number of parts that a plan reads.
    pub(crate) fn parts_read(&self, plan: &[u8]) -> usize {
        let engine = Engine::for_table(self.table(), 2, Limits::default()).unwrap();
        engine.part_sizes(plan).unwrap().iter().filter(|size| size.bytes > 0).count()
    }

    fn table(&self) -> TableStore {
        TableStore::new(self.store.clone(), Path::from("lake/hush/tables/t"))
    }

    pub(crate) fn submission(&self, plan: &[u8], key: Option<&[u8]>) -> Submission {
        let table = TableName::parse("t").unwrap();
        let version = self.table().load().unwrap().digest();
        let (plan, key) = (plan.to_vec(), key.map(<[u8]>::to_vec));
        Submission { table, parts: self.parts(), version, plan, key }
    }

    pub(crate) async fn submit(&self, plan: &[u8]) -> JobId {
        self.front.submit(self.submission(plan, None)).await.unwrap()
    }

    pub(crate) async fn record(&self, job: &JobId) -> Option<Record> {
        self.jobs.record(job).await.unwrap().map(|(record, _)| record)
    }

    pub(crate) async fn work(&self, event: &Event) -> Result<Ended, WorkError> {
        self.worker.work(event, TIME).await
    }

    /// Any of the events that wait.
    pub(crate) fn take(&self, random: &mut Random) -> Option<Event> {
        let mut events = self.queue.0.lock().unwrap();
        if events.is_empty() {
            return None;
        }
        let place = random.below(events.len() as u64) as usize;
        Some(events.swap_remove(place))
    }

    /// Delivers all events, and those that come of them, in a random order.
    pub(crate) async fn deliver(&self, random: &mut Random, platform: Platform) -> Vec<Ended> {
        let mut ends = Vec::new();
        while let Some(event) = self.take(random) {
            if random.chance(platform.lost) {
                continue;
            }
            if random.chance(platform.twice) {
                self.queue.0.lock().unwrap().push(event.clone());
            }
            // Two of them at the same time, now and then: neither sees what the other is about to write.
            let other = if random.chance(30) { self.take(random) } else { None };
            let (one, other) = tokio::join!(self.work(&event), async {
                match &other {
                    Some(other) => Some(self.work(other).await.unwrap()),
                    None => None,
                }
            });
            ends.push(one.unwrap());
            ends.extend(other);
        }
        ends
    }

    /// Names of all objects of jobs.
    pub(crate) async fn objects(&self) -> Vec<String> {
        let jobs = Path::from("lake/hush/jobs");
        let listed: Vec<_> = self
            .store
            .list(Some(&jobs))
            .map_ok(|meta| meta.location.to_string())
            .try_collect()
            .await
            .unwrap();
        listed
    }

    pub(crate) async fn result(&self, job: &JobId) -> Vec<u8> {
        self.store.get(&self.jobs.result_path(job)).await.unwrap().bytes().await.unwrap().to_vec()
    }

    /// Plans of all kinds: sums by groups, clear aggregates that do not merge, rows up to a limit.
    pub(crate) fn plans(&self) -> Vec<Vec<u8>> {
        let mask = Mask { condition: None, weight: None };
        let sums = |sums: &[EncodingId]| {
            sums.iter().map(|column| EncryptedSum { mask: 0, column: *column }).collect()
        };
        let aggregate = |keys: &[&str], clear: &[&str], columns: &[EncodingId]| {
            Task::Aggregate(AggregateTask {
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                masks: vec![mask.clone()],
                clear: ["COUNT(*)"].iter().chain(clear).map(|text| (*text).to_owned()).collect(),
                sums: sums(columns),
                max_groups: 1000,
            })
        };
        let rows = |limit| {
            Task::Rows(RowsTask {
                clear: vec!["\"ward\"".to_owned()],
                operands: vec![],
                sealed: vec![],
                operand_limit_log2: 0,
                programs: vec![],
                program_bits: vec![],
                fetch: vec![VALUE],
                fetch_bits: vec![None],
                cube: None,
                run: None,
                limit,
            })
        };
        vec![
            self.fixture.plan(None, aggregate(&["\"ward\""], &[], &[VALUE, VALID])),
            self.fixture.plan(Some("\"year\" = 2022"), aggregate(&[], &["MIN(\"day\")"], &[VALUE])),
            self.fixture
                .plan(None, aggregate(&["\"year\""], &["AVG(\"weight\")", "SUM(\"ratio\")"], &[VALID])),
            self.fixture.plan(None, rows(Some(17))),
            self.fixture.plan(Some("\"weight\" > 0"), rows(None)),
        ]
    }
}
