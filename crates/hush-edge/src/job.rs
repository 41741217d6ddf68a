// SPDX-License-Identifier: Apache-2.0
//! Many tasks encrypt the rows of one job with one device's key, without spools: a cluster repeats tasks by itself.
//!
//! ```text
//!   driver                  tasks, each attempt a stream of its own                       driver
//!   Device::begin ─▶ run ─┬─▶ Task::push .. finish ─▶ parts in the table's place, ─┐
//!                         └─▶ Task::push .. finish ─▶ signed deliveries            ┴─▶ Device::announce ─▶ owner
//! ```
//!
//! A task stores parts and hands its deliveries to the driver. Attempts that nobody waits for leave parts that nothing names. The
//! driver announces the deliveries of one attempt at each task in one object: before that the table's owner sees nothing of the job, and
//! afterwards all of it ([`hush_table::delivery`]).

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use hush_plan::{Protection, Schema};
use hush_ring::os_random;
use hush_table::source::Source;
use hush_table::store::Delivered;
use hush_table::{
    CHUNK_ROWS, DeliveryFault, DeliveryId, JobId, RunId, SignedAnnouncement, SignedDelivery, StreamId,
    TableError, TableStore, TableUri, TableUriError,
};

use crate::encrypt::{DeviceEncryptor, OpenPart};
use crate::forward::bucket;
use crate::{DeviceKey, EdgeError};

/// Rows of a chunk.
const ROWS: usize = CHUNK_ROWS as usize;

/// A device's key at the place of its table. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Device {
    key: Arc<DeviceKey>,
    store: TableStore,
}

/// One run of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRun {
    /// The job.
    pub job: JobId,
    /// The run.
    pub run: RunId,
}

/// One attempt at a task.
pub struct Task {
    device: Device,
    schema: Schema,
    stream: StreamId,
    encryptor: DeviceEncryptor,
    /// Rows that no chunk has taken, fewer than a chunk.
    waiting: Vec<RecordBatch>,
    part: Option<OpenPart>,
    deliveries: Vec<SignedDelivery>,
}

impl Device {
    /// The device of a key, for the table at `place`: a directory, or a prefix in an object store.
    ///
    /// # Errors
    /// [`EdgeError::Usage`] for a text that names no place; [`EdgeError::Table`] for a server, for a directory without a table, and if the
    /// environment does not say how to reach the object store.
    pub fn at(place: &str, key: DeviceKey) -> Result<Self, EdgeError> {
        let usage = |error: TableUriError| EdgeError::Usage { what: error.to_string() };
        let store = match place.parse().map_err(usage)? {
            TableUri::Directory(directory) => TableStore::local_existing(directory)?,
            uri @ TableUri::Server { .. } => return Err(TableError::Server { place: uri.to_string() }.into()),
            uri @ TableUri::Object { .. } => bucket(&uri)?,
        };
        Ok(Self { key: Arc::new(key), store })
    }

    /// The columns of the table's schema, and of each whether rows must have it. The others are dropped.
    pub fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let columns = self.key.schema.columns.iter();
        columns.map(|column| (column.name.as_str(), column.protect != Protection::Drop))
    }

    /// Begins a run of the job of this name; `None` if the job was announced before.
    ///
    /// # Errors
    /// No table; another owner's; a revoked device; no entropy.
    pub fn begin(&self, job: &str) -> Result<Option<JobRun>, EdgeError> {
        let table = self.store.load()?;
        let bad = |fault| EdgeError::Table(TableError::BadDelivery { fault });
        if table.manifest().table_id != self.key.table_id {
            return Err(bad(DeliveryFault::Table));
        }
        if *table.key() != self.key.owner {
            return Err(bad(DeliveryFault::Certificate));
        }
        if table.manifest().devices.is_revoked(self.key.id()) {
            return Err(bad(DeliveryFault::Revoked));
        }
        let job = JobId::of_name(job);
        if self.store.announced_run(self.key.id(), job)?.is_some() {
            return Ok(None);
        }
        let mut run = [0; 4];
        os_random(&mut run).map_err(|_| hush_schemes::PublicKeyError::Randomness)?;
        Ok(Some(JobRun { job, run: RunId::from_bytes(run) }))
    }

    /// An attempt at a task. `number` is one that no other attempt in the run has, at the same task or another.
    pub fn task(&self, run: JobRun, number: u32) -> Task {
        Task {
            device: self.clone(),
            // Only the owner knows the table's limit on rows.
            schema: Schema { max_rows: u64::MAX, ..self.key.schema.clone() },
            stream: StreamId::of_task(run.job, run.run, number),
            encryptor: DeviceEncryptor::new(&self.key),
            waiting: Vec::new(),
            part: None,
            deliveries: Vec::new(),
        }
    }

    /// Announces the deliveries of one attempt at each task of a run: they wait for the owner now, all of them. Without deliveries nothing
    /// happens. Once more with the same ones changes nothing.
    ///
    /// # Errors
    /// As [`TableStore::announce`]; deliveries that are damaged, or not of one run of one job.
    pub fn announce(&self, deliveries: Vec<SignedDelivery>) -> Result<Delivered, EdgeError> {
        if deliveries.is_empty() {
            return Ok(Delivered::Known);
        }
        let sign = |bytes: &[u8]| self.key.sign(bytes);
        let announcement = SignedAnnouncement::sign(deliveries, &self.key.verifying_key(), sign)?;
        Ok(self.store.announce(&announcement)?)
    }
}

impl Task {
    /// Takes rows, with the columns of the table's schema in any order. Encrypts every chunk that is full, and stores every part that is.
    ///
    /// # Errors
    /// As [`DeviceEncryptor::encrypt`]; [`EdgeError::Source`] for rows that the schema does not allow; [`EdgeError::Table`]. The task is of
    /// no use then.
    pub fn push(&mut self, batch: RecordBatch) -> Result<(), EdgeError> {
        self.waiting.push(batch);
        let rows: usize = self.waiting.iter().map(RecordBatch::num_rows).sum();
        self.encrypt(rows - rows % ROWS)
    }

    /// Encrypts and stores what waits. Gives the deliveries that would take the rows in: none for no rows.
    ///
    /// # Errors
    /// As [`Task::push`].
    pub fn finish(mut self) -> Result<Vec<SignedDelivery>, EdgeError> {
        self.encrypt(self.waiting.iter().map(RecordBatch::num_rows).sum())?;
        if let Some(part) = self.part.take() {
            self.store(part)?;
        }
        Ok(self.deliveries)
    }

    /// Encrypts the first `rows` of the rows that wait.
    fn encrypt(&mut self, mut rows: usize) -> Result<(), EdgeError> {
        let mut taken = Vec::new();
        for batch in std::mem::take(&mut self.waiting) {
            let here = rows.min(batch.num_rows());
            rows -= here;
            taken.extend((here > 0).then(|| batch.slice(0, here)));
            self.waiting
                .extend((here < batch.num_rows()).then(|| batch.slice(here, batch.num_rows() - here)));
        }
        let Some(first) = taken.first() else { return Ok(()) };
        let source = Source::from_batches(&self.schema.table, first.schema(), &taken)?;
        for chunk in source.typed(&self.schema)? {
            let chunk = chunk?;
            let mut part = match self.part.take() {
                Some(part) => part,
                None => OpenPart::new(&self.encryptor, &self.device.key, self.next_delivery())?,
            };
            part.push(&mut self.encryptor, &self.device.key, &chunk)?;
            match part.is_full() {
                true => self.store(part)?,
                false => self.part = Some(part),
            }
        }
        Ok(())
    }

    fn next_delivery(&self) -> DeliveryId {
        DeliveryId { device: self.device.key.id(), stream: self.stream, number: self.deliveries.len() as u64 }
    }

    fn store(&mut self, part: OpenPart) -> Result<(), EdgeError> {
        let (id, rows) = (part.id(), part.finish()?);
        for part in [&rows.encrypted, &rows.clear].into_iter().flatten() {
            self.device.store.put_new_part(part)?;
        }
        self.deliveries.push(rows.sign(&self.device.key, id)?);
        Ok(())
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Task({})", self.stream)
    }
}
