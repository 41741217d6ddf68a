// SPDX-License-Identifier: Apache-2.0
//! The few operations that tables need of an object store, blocking, with this crate's errors.
//!
//! Futures run on one background runtime of the process, made at the first use and never dropped: a store's
//! connections stay alive between calls, and a call never depends on what runtime its caller is in.

use std::future::Future;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock, mpsc};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutOptions, UpdateVersion,
};
use tokio::runtime::Runtime;

use crate::error::{Operation, TableError};
use crate::part::{GROUP_BYTES, PartSource, ReadRanges, groups_around};

/// What an object looked like when it was read or written. A store that changes an object changes this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    e_tag: Option<String>,
    version: Option<String>,
}

/// What is at a path.
pub(super) enum Lookup {
    /// No object.
    Nothing,
    /// An object, and what it looked like.
    Object(PartSource, Stamp),
    /// An object of so many bytes, which is not the size that was allowed.
    TooLarge(u64),
}

/// What a conditional write expects to replace.
pub(super) enum Replace {
    /// No object.
    Nothing,
    /// This object.
    This(Stamp),
}

impl Stamp {
    /// A file's stamp: its number and the times of the last change of content and of anything else about it.
    pub(super) fn of_file(metadata: &std::fs::Metadata) -> Self {
        let tag = format!(
            "{:x}-{:x}-{:x}.{:x}-{:x}.{:x}",
            metadata.dev(),
            metadata.ino(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime(),
            metadata.ctime_nsec()
        );
        Self { bytes: metadata.len(), modified: None, e_tag: Some(tag), version: None }
    }

    fn of(meta: &ObjectMeta) -> Self {
        // Where the store has tags they identify the content; elsewhere the time of change must do.
        let modified = meta.e_tag.is_none().then(|| meta.last_modified.into());
        Self { bytes: meta.size, modified, e_tag: meta.e_tag.clone(), version: meta.version.clone() }
    }
}

/// Opens a file.
pub(super) fn open_file(file: &std::path::Path) -> Result<Lookup, TableError> {
    let cause =
        |source| TableError::Io { operation: Operation::Read, place: file.display().to_string(), source };
    let opened = match std::fs::File::open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Lookup::Nothing),
        opened => opened.map_err(cause)?,
    };
    let stamp = Stamp::of_file(&opened.metadata().map_err(cause)?);
    Ok(Lookup::Object(PartSource::from_file(opened).map_err(cause)?, stamp))
}

/// Opens an object. One above `limit` bytes is refused before its body is read.
pub(super) fn fetch(store: &Arc<dyn ObjectStore>, path: &Path, limit: u64) -> Result<Lookup, TableError> {
    let (store, place) = (store.clone(), path.clone());
    let found = block(async move {
        let found = match store.get(&place).await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(cause) => return Err(cause),
        };
        let stamp = Stamp::of(&found.meta);
        let body = match found.payload {
            _ if stamp.bytes > limit => Body::TooLarge,
            GetResultPayload::File(file, _) => Body::File(file),
            GetResultPayload::Stream(_) => Body::Memory(found.bytes().await?),
        };
        Ok(Some((body, stamp)))
    });
    let (source, stamp) = match found.map_err(|cause| io(Operation::Read, path.as_ref(), cause))? {
        None => return Ok(Lookup::Nothing),
        Some((Body::TooLarge, stamp)) => return Ok(Lookup::TooLarge(stamp.bytes)),
        Some((Body::Memory(bytes), stamp)) => (PartSource::from_memory(bytes), stamp),
        Some((Body::File(file), stamp)) => {
            let cause =
                |source| TableError::Io { operation: Operation::Read, place: path.to_string(), source };
            (PartSource::from_file(file).map_err(cause)?, stamp)
        }
    };
    Ok(Lookup::Object(source, stamp))
}

/// Opens a part of `expected` bytes, so that ranges of it can be read.
///
/// # Cost
/// One request, which brings the last 64 KiB: a footer as a rule.
pub(super) fn open(store: &Arc<dyn ObjectStore>, path: &Path, expected: u64) -> Result<Lookup, TableError> {
    let tail = groups_around(&(expected.saturating_sub(GROUP_BYTES)..expected), expected);
    let (from, place, start) = (store.clone(), path.clone(), tail.start);
    let found = block(async move {
        let options = GetOptions { range: Some(GetRange::Bounded(tail)), ..GetOptions::default() };
        let found = match from.get_opts(&place, options).await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            // A range that lies outside the object, perhaps.
            Err(cause) => match from.head(&place).await {
                Ok(meta) if meta.size != expected => return Ok(Some((Body::TooLarge, Stamp::of(&meta)))),
                _ => return Err(cause),
            },
        };
        let stamp = Stamp::of(&found.meta);
        let body = match found.payload {
            GetResultPayload::File(file, _) => Body::File(file),
            GetResultPayload::Stream(_) => Body::Memory(found.bytes().await?),
        };
        Ok(Some((body, stamp)))
    });
    let failed = |cause| io(Operation::Read, path.as_ref(), cause);
    let Some((body, stamp)) = found.map_err(failed)? else { return Ok(Lookup::Nothing) };
    let source = match body {
        Body::TooLarge => return Ok(Lookup::TooLarge(stamp.bytes)),
        Body::File(file) => PartSource::from_file(file).map_err(|source| TableError::Io {
            operation: Operation::Read,
            place: path.to_string(),
            source,
        })?,
        Body::Memory(bytes) => {
            let object = Object { store: store.clone(), path: path.clone() };
            PartSource::from_object(Arc::new(object), stamp.bytes, start, bytes)
        }
    };
    Ok(Lookup::Object(source, stamp))
}

/// An object of which ranges are asked for.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
}

impl ReadRanges for Object {
    fn read_ranges(&self, ranges: &[Range<u64>]) -> std::io::Result<Vec<Bytes>> {
        let (store, path, ranges) = (self.store.clone(), self.path.clone(), ranges.to_vec());
        block(async move { store.get_ranges(&path, &ranges).await }).map_err(as_io)
    }
}

enum Body {
    File(std::fs::File),
    Memory(Bytes),
    TooLarge,
}

/// What an object looks like now.
pub(super) fn look(store: &Arc<dyn ObjectStore>, path: &Path) -> Result<Stamp, TableError> {
    let (store, place) = (store.clone(), path.clone());
    let found = block(async move { store.head(&place).await });
    Ok(Stamp::of(&found.map_err(|cause| io(Operation::Read, path.as_ref(), cause))?))
}

/// Writes an object, replacing any. The stamp is `None` where the store gives writes no identity.
pub(super) fn put(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    bytes: Bytes,
) -> Result<Option<Stamp>, TableError> {
    let (store, place, length) = (store.clone(), path.clone(), bytes.len() as u64);
    let done = block(async move { store.put(&place, bytes.into()).await });
    let done = done.map_err(|cause| io(Operation::Write, path.as_ref(), cause))?;
    let stamp = |e_tag| Stamp { bytes: length, modified: None, e_tag: Some(e_tag), version: done.version };
    Ok(done.e_tag.map(stamp))
}

/// Writes an object only if what is there is what the caller has seen.
pub(super) fn replace(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    bytes: Bytes,
    replace: Replace,
) -> Result<(), TableError> {
    let (store, place) = (store.clone(), path.clone());
    let mode = match replace {
        Replace::Nothing => PutMode::Create,
        Replace::This(stamp) => PutMode::Update(UpdateVersion { e_tag: stamp.e_tag, version: stamp.version }),
    };
    let options = PutOptions { mode, ..PutOptions::default() };
    match block(async move { store.put_opts(&place, bytes.into(), options).await }) {
        Ok(_) => Ok(()),
        Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {
            Err(TableError::Busy { place: path.to_string() })
        }
        Err(cause) => Err(io(Operation::Write, path.as_ref(), cause)),
    }
}

/// Deletes an object; one that is not there is no error.
pub(super) fn delete(store: &Arc<dyn ObjectStore>, path: &Path) -> Result<(), TableError> {
    let (store, place) = (store.clone(), path.clone());
    match block(async move { store.delete(&place).await }) {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(cause) => Err(io(Operation::Delete, path.as_ref(), cause)),
    }
}

/// Names and sizes of the objects directly below a prefix.
pub(super) fn list(store: &Arc<dyn ObjectStore>, prefix: &Path) -> Result<Vec<(String, u64)>, TableError> {
    let (store, below) = (store.clone(), prefix.clone());
    let found = block(async move { store.list_with_delimiter(Some(&below)).await });
    let objects = found.map_err(|cause| io(Operation::List, prefix.as_ref(), cause))?.objects;
    Ok(objects
        .into_iter()
        .filter_map(|meta| Some((meta.location.filename()?.to_owned(), meta.size)))
        .collect())
}

/// The prefixes one level below a prefix.
pub(super) fn list_prefixes(store: &Arc<dyn ObjectStore>, prefix: &Path) -> Result<Vec<Path>, TableError> {
    let (store, below) = (store.clone(), prefix.clone());
    let found = block(async move { store.list_with_delimiter(Some(&below)).await });
    Ok(found.map_err(|cause| io(Operation::List, prefix.as_ref(), cause))?.common_prefixes)
}

/// The error of a failed operation, with the operating system's own error where there is one beneath.
pub(super) fn io(operation: Operation, place: &str, cause: StoreError) -> TableError {
    TableError::Io { operation, place: place.to_owned(), source: as_io(cause) }
}

fn as_io(cause: StoreError) -> std::io::Error {
    let mut kind = match &cause {
        StoreError::NotFound { .. } => std::io::ErrorKind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            std::io::ErrorKind::PermissionDenied
        }
        StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => {
            std::io::ErrorKind::Unsupported
        }
        _ => std::io::ErrorKind::Other,
    };
    let mut below = std::error::Error::source(&cause);
    while let Some(error) = below {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            kind = error.kind();
        }
        below = error.source();
    }
    std::io::Error::new(kind, cause)
}

/// Runs a future on the background runtime and waits for it.
fn block<T: Send + 'static>(
    future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hush-store")
            .enable_all()
            .build()
    });
    let failed = |cause: &dyn std::fmt::Display| StoreError::Generic {
        store: "hush-store",
        source: format!("the background runtime failed: {cause}").into(),
    };
    let runtime = runtime.as_ref().map_err(|cause| failed(cause))?;
    let (done, wait) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // The receiver waits below; it is gone only if its thread was killed.
        let _ = done.send(future.await);
    });
    wait.recv().map_err(|cause| failed(&cause))?
}
