// SPDX-License-Identifier: Apache-2.0
//! The objects of jobs.
//!
//! ```text
//! <prefix>/jobs/<id>/plan                   create-only
//! <prefix>/jobs/<id>/record.json            changed by compare-and-swap; a job is there if this is
//! <prefix>/jobs/<id>/partial/<first>-<end>  partial answers, create-only
//! <prefix>/jobs/<id>/result                 the answer, create-only
//! ```

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use hush_server::names::JobId;
use hush_table::TableError;
use hush_table::error::Operation;
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion,
};

use crate::record::{self, Record};
use crate::tree::Present;

/// Name of the folder of jobs in a server's place.
pub const JOBS: &str = "jobs";
/// Bodies of more bytes are sent only if the object was not there just before.
const SMALL_BYTES: usize = 64 << 10;
/// Most objects deleted at once, where the store takes one at a time.
const PARALLEL: usize = 16;

/// The jobs below a prefix of a store.
#[derive(Clone, Debug)]
pub struct JobObjects {
    store: Arc<dyn ObjectStore>,
    root: Path,
}

/// What a record looked like when it was read, so that only that one is replaced.
#[derive(Clone, Debug)]
pub struct Revision(UpdateVersion);

/// A failure of the store, or what is no record.
#[derive(Debug, thiserror::Error)]
pub enum ObjectFault {
    /// The store.
    #[error(transparent)]
    Store(#[from] TableError),
    /// A record that is none.
    #[error(transparent)]
    Record(#[from] record::RecordFault),
}

impl JobObjects {
    /// The jobs in the folder `jobs` below `prefix`.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &Path) -> Self {
        Self { store, root: prefix.clone().join(JOBS) }
    }

    /// The path of a job's answer.
    pub fn result_path(&self, job: &JobId) -> Path {
        self.path(job, "result")
    }

    /// Writes a job's plan, unless it has one.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn create_plan(&self, job: &JobId, plan: Bytes) -> Result<bool, TableError> {
        self.create(&self.path(job, "plan"), plan).await
    }

    /// A job's plan.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn plan(&self, job: &JobId) -> Result<Option<Bytes>, TableError> {
        Ok(self.get(&self.path(job, "plan")).await?.map(|(bytes, _)| bytes))
    }

    /// Writes a job's record, unless it has one. Now the job is there.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn create_record(&self, record: &Record) -> Result<bool, TableError> {
        self.create(&self.record_path(&record.id), record.to_json().into()).await
    }

    /// A job's record; `None` if there is no such job.
    ///
    /// # Errors
    /// [`ObjectFault`].
    pub async fn record(&self, job: &JobId) -> Result<Option<(Record, Revision)>, ObjectFault> {
        let Some((bytes, meta)) = self.get(&self.record_path(job)).await? else { return Ok(None) };
        let bytes = if meta.size > record::MAX_BYTES { Bytes::new() } else { bytes };
        let record = Record::read(&bytes, job)?;
        Ok(Some((record, Revision(UpdateVersion { e_tag: meta.e_tag, version: meta.version }))))
    }

    /// Changes a job's record by `change`, which gives whether there is anything to change; over again from the start if somebody else
    /// changes it meanwhile. Gives the record if it was changed here; `None` if there is nothing to change, or no such job.
    ///
    /// # Errors
    /// [`ObjectFault`].
    pub async fn change(
        &self,
        job: &JobId,
        change: impl Fn(&mut Record) -> bool,
    ) -> Result<Option<Record>, ObjectFault> {
        while let Some((mut record, revision)) = self.record(job).await? {
            if !change(&mut record) {
                return Ok(None);
            }
            record.revision = record.revision.saturating_add(1);
            let options = PutOptions { mode: PutMode::Update(revision.0), ..PutOptions::default() };
            let path = self.record_path(job);
            match self.store.put_opts(&path, record.to_json().into(), options).await {
                Ok(_) => return Ok(Some(record)),
                Err(
                    StoreError::Precondition { .. }
                    | StoreError::NotFound { .. }
                    | StoreError::AlreadyExists { .. },
                ) => {}
                Err(cause) => return Err(TableError::of_store(Operation::Write, path.as_ref(), cause).into()),
            }
        }
        Ok(None)
    }

    /// The parts of the partial answers of a job.
    ///
    /// # Errors
    /// [`TableError`].
    ///
    /// # Cost
    /// A request for each thousand.
    pub async fn partials(&self, job: &JobId) -> Result<Present, TableError> {
        let folder = self.path(job, "partial");
        let listed: Result<Vec<ObjectMeta>, _> = self.store.list(Some(&folder)).try_collect().await;
        let listed = listed.map_err(|cause| TableError::of_store(Operation::List, folder.as_ref(), cause))?;
        let parts = |meta: &ObjectMeta| {
            let (first, end) = meta.location.filename()?.split_once('-')?;
            Some((first.parse().ok()?, end.parse().ok()?))
        };
        Ok(listed.iter().filter_map(parts).collect())
    }

    /// A partial answer.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn partial(&self, job: &JobId, parts: (u32, u32)) -> Result<Option<Bytes>, TableError> {
        Ok(self.get(&self.partial_path(job, parts)).await?.map(|(bytes, _)| bytes))
    }

    /// Writes a partial answer, unless it is there: whoever writes it writes the same bytes.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn put_partial(&self, job: &JobId, parts: (u32, u32), bytes: Bytes) -> Result<(), TableError> {
        self.create(&self.partial_path(job, parts), bytes).await.map(drop)
    }

    /// Takes a partial answer away.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn remove_partial(&self, job: &JobId, parts: (u32, u32)) -> Result<(), TableError> {
        self.delete(vec![self.partial_path(job, parts)]).await
    }

    /// Writes a job's answer, unless it is there.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn put_result(&self, job: &JobId, bytes: Bytes) -> Result<(), TableError> {
        self.create(&self.result_path(job), bytes).await.map(drop)
    }

    /// A job's answer.
    ///
    /// # Errors
    /// [`TableError`].
    pub async fn result(&self, job: &JobId) -> Result<Option<Bytes>, TableError> {
        Ok(self.get(&self.result_path(job)).await?.map(|(bytes, _)| bytes))
    }

    /// Removes a job: its record first, so that it is gone at once; gives whether there was one.
    ///
    /// # Errors
    /// [`TableError`]. Repeat to finish.
    pub async fn remove(&self, job: &JobId) -> Result<bool, TableError> {
        let record = self.record_path(job);
        let there = match self.store.head(&record).await {
            Ok(_) => true,
            Err(StoreError::NotFound { .. }) => false,
            Err(cause) => return Err(TableError::of_store(Operation::Read, record.as_ref(), cause)),
        };
        self.delete(vec![record]).await?;
        self.remove_rest(job).await?;
        Ok(there)
    }

    /// Removes what is left of a job without record: what a worker wrote that had not heard of the end.
    ///
    /// # Errors
    /// [`TableError`]. Repeat to finish.
    pub async fn remove_rest(&self, job: &JobId) -> Result<(), TableError> {
        let folder = self.root.clone().join(job.as_str());
        let listed: Result<Vec<Path>, _> =
            self.store.list(Some(&folder)).map_ok(|meta| meta.location).try_collect().await;
        let listed = listed.map_err(|cause| TableError::of_store(Operation::List, folder.as_ref(), cause))?;
        self.delete(listed).await
    }

    async fn delete(&self, paths: Vec<Path>) -> Result<(), TableError> {
        let deletions = stream::iter(paths).map(|path| async move {
            match self.store.delete(&path).await {
                Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
                Err(cause) => Err(TableError::of_store(Operation::Delete, path.as_ref(), cause)),
            }
        });
        deletions.buffer_unordered(PARALLEL).try_collect().await
    }

    /// Writes an object, unless there is one; gives whether it was written.
    async fn create(&self, path: &Path, bytes: Bytes) -> Result<bool, TableError> {
        // A store may break off a long body that it does not want, which reads as any broken connection, and is tried again.
        if bytes.len() > SMALL_BYTES && self.store.head(path).await.is_ok() {
            return Ok(false);
        }
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(path, bytes.into(), options).await {
            Ok(_) => Ok(true),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(false),
            // Another writer was faster than the body, or the answer to our own write was lost.
            Err(_) if self.store.head(path).await.is_ok() => Ok(false),
            Err(cause) => Err(TableError::of_store(Operation::Write, path.as_ref(), cause)),
        }
    }

    async fn get(&self, path: &Path) -> Result<Option<(Bytes, ObjectMeta)>, TableError> {
        let failed = |cause| TableError::of_store(Operation::Read, path.as_ref(), cause);
        let found = match self.store.get(path).await {
            Err(StoreError::NotFound { .. }) => return Ok(None),
            found => found.map_err(failed)?,
        };
        let meta = found.meta.clone();
        Ok(Some((found.bytes().await.map_err(failed)?, meta)))
    }

    fn record_path(&self, job: &JobId) -> Path {
        self.path(job, "record.json")
    }

    fn partial_path(&self, job: &JobId, (first, end): (u32, u32)) -> Path {
        self.path(job, "partial").join(format!("{first}-{end}"))
    }

    fn path(&self, job: &JobId, name: &str) -> Path {
        self.root.clone().join(job.as_str()).join(name)
    }
}
