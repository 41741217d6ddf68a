// SPDX-License-Identifier: Apache-2.0
//! The few operations that tables need of an object store, blocking, with this crate's errors.
//!
//! Futures run on one background runtime of the process, made at the first use and never dropped: a store's
//! connections stay alive between calls, and a call never depends on what runtime its caller is in.

use std::future::Future;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, GetResult, GetResultPayload, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutResult, UpdateVersion,
};
use tokio::runtime::Runtime;

use crate::digest::Digest;
use crate::error::{Operation, StoreTrouble, TableError};
use crate::part::{
    DigestTree, GROUP_BYTES, PIECE_BYTES, PartSource, ReadRanges, Run, TreeHasher, groups_around,
};

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
    /// An object of another size than was allowed.
    TooLarge(Stamp),
}

/// An object in a list.
pub(super) struct Listed {
    /// The last segment of its path.
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
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

    /// What was found looks like; files tell more than the store does of them.
    fn of_found(found: &GetResult) -> Result<Self, StoreError> {
        match &found.payload {
            GetResultPayload::File(file, _) => {
                file.metadata().map(|metadata| Self::of_file(&metadata)).map_err(unread)
            }
            GetResultPayload::Stream(_) => Ok(Self::of(&found.meta)),
        }
    }

    /// What an object of `bytes` bytes looks like after it was written; `None` where the store gives writes no identity.
    fn of_written(bytes: u64, written: PutResult) -> Option<Self> {
        let stamp = |e_tag| Self { bytes, modified: None, e_tag: Some(e_tag), version: written.version };
        written.e_tag.map(stamp)
    }

    /// Length of the object.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
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
    // Without a condition none is unchanged.
    Ok(fetch_with(store, path, limit, GetOptions::default())?.unwrap_or(Lookup::Nothing))
}

/// As [`fetch`], but of an object that still looks as it did nothing is read: `None` then.
pub(super) fn fetch_changed(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    limit: u64,
    seen: &Stamp,
) -> Result<Option<Lookup>, TableError> {
    fetch_with(store, path, limit, GetOptions { if_none_match: seen.e_tag.clone(), ..GetOptions::default() })
}

fn fetch_with(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    limit: u64,
    options: GetOptions,
) -> Result<Option<Lookup>, TableError> {
    let (store, place) = (store.clone(), path.clone());
    let found = block(async move {
        let found = match store.get_opts(&place, options).await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(cause) => return Err(cause),
        };
        let stamp = Stamp::of_found(&found)?;
        let body = match found.payload {
            _ if stamp.bytes > limit => Body::TooLarge,
            GetResultPayload::File(file, _) => Body::File(file),
            GetResultPayload::Stream(_) => Body::Memory(found.bytes().await?),
        };
        Ok(Some((body, stamp)))
    });
    if matches!(found, Err(StoreError::NotModified { .. })) {
        return Ok(None);
    }
    let (source, stamp) = match found.map_err(|cause| io(Operation::Read, path.as_ref(), cause))? {
        None => return Ok(Some(Lookup::Nothing)),
        Some((Body::TooLarge, stamp)) => return Ok(Some(Lookup::TooLarge(stamp))),
        Some((Body::Memory(bytes), stamp)) => (PartSource::from_memory(bytes), stamp),
        Some((Body::File(file), stamp)) => {
            let cause =
                |source| TableError::Io { operation: Operation::Read, place: path.to_string(), source };
            (PartSource::from_file(file).map_err(cause)?, stamp)
        }
    };
    Ok(Some(Lookup::Object(source, stamp)))
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
        let stamp = Stamp::of_found(&found)?;
        let body = match found.payload {
            GetResultPayload::File(file, _) => Body::File(file),
            GetResultPayload::Stream(_) => Body::Memory(found.bytes().await?),
        };
        Ok(Some((body, stamp)))
    });
    let failed = |cause| io(Operation::Read, path.as_ref(), cause);
    let Some((body, stamp)) = found.map_err(failed)? else { return Ok(Lookup::Nothing) };
    let source = match body {
        Body::TooLarge => return Ok(Lookup::TooLarge(stamp)),
        Body::File(file) => PartSource::from_file(file).map_err(|source| TableError::Io {
            operation: Operation::Read,
            place: path.to_string(),
            source,
        })?,
        Body::Memory(bytes) => {
            let object = Object { store: store.clone(), path: path.clone() };
            PartSource::from_object(Arc::new(object), stamp.bytes, [Run::new(start, bytes)])
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

/// An object of which the length and some bytes are known. Nothing is asked.
pub(super) fn known(store: &Arc<dyn ObjectStore>, path: &Path, bytes: u64, runs: Vec<Run>) -> PartSource {
    PartSource::from_object(Arc::new(Object { store: store.clone(), path: path.clone() }), bytes, runs)
}

/// Opens an object as it is, whatever its size. Nothing of it is read.
pub(super) fn open_whole(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
) -> Result<Option<PartSource>, TableError> {
    let Some(stamp) = look(store, path)? else { return Ok(None) };
    let object = Object { store: store.clone(), path: path.clone() };
    Ok(Some(PartSource::from_object(Arc::new(object), stamp.bytes, [])))
}

/// What an object looks like now; `None` if there is none.
pub(super) fn look(store: &Arc<dyn ObjectStore>, path: &Path) -> Result<Option<Stamp>, TableError> {
    let (store, place) = (store.clone(), path.clone());
    let found = block(async move {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match store.get_opts(&place, options).await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            found => Stamp::of_found(&found?).map(Some),
        }
    });
    found.map_err(|cause| io(Operation::Read, path.as_ref(), cause))
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
    Ok(Stamp::of_written(length, done))
}

/// Writes an object from a file that has the digest of `tree`, in pieces of 8 MiB; one that has it no longer becomes no object.
pub(super) fn put_file(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    file: &PartSource,
    tree: &DigestTree,
) -> Result<Option<Stamp>, TableError> {
    let failed = |cause| io(Operation::Write, path.as_ref(), cause);
    let altered = |found| TableError::PartAltered { name: path.to_string(), found };
    if file.length() <= PIECE_BYTES {
        let bytes = file.read_all().map_err(|cause| failed(unread(cause)))?;
        let found = DigestTree::of(&bytes).digest();
        return if found == tree.digest() { put(store, path, bytes) } else { Err(altered(found)) };
    }
    let (to, place) = (store.clone(), path.clone());
    let mut upload = block(async move { to.put_multipart(&place).await }).map_err(failed)?;
    let found = send_pieces(upload.as_mut(), file);
    match found {
        Ok(found) if found == tree.digest() => {
            let done = block(async move { upload.complete().await }).map_err(failed)?;
            Ok(Stamp::of_written(file.length(), done))
        }
        other => {
            // What was sent is of no use; a store that cannot forget it now does so by its own rules.
            let _ = block(async move { upload.abort().await });
            Err(other.map_or_else(failed, altered))
        }
    }
}

/// Sends a file piece by piece; gives the digest of what was sent.
fn send_pieces(upload: &mut dyn MultipartUpload, file: &PartSource) -> Result<Digest, StoreError> {
    let mut hasher = TreeHasher::new(file.length());
    file.for_each_piece(|piece| {
        hasher.update(&piece);
        block(upload.put_part(piece.into())).map_err(as_io)
    })
    .map_err(unread)?;
    Ok(hasher.finish().digest())
}

fn unread(cause: std::io::Error) -> StoreError {
    StoreError::Generic { store: "hush-store", source: Box::new(cause) }
}

/// What became of a write that replaces nothing.
pub(super) enum Created {
    /// The object is new. The stamp is `None` where the store gives writes no identity.
    New(Option<Stamp>),
    /// Something was there, and stays.
    Present,
}

/// Writes an object only if nothing is there, which needs no right to read or replace anything.
pub(super) fn create(store: &Arc<dyn ObjectStore>, path: &Path, bytes: Bytes) -> Result<Created, TableError> {
    let (to, place, length) = (store.clone(), path.clone(), bytes.len() as u64);
    let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    match block(async move { to.put_opts(&place, bytes.into(), options).await }) {
        Ok(done) => Ok(Created::New(Stamp::of_written(length, done))),
        Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(Created::Present),
        Err(cause) => Err(io(Operation::Write, path.as_ref(), cause)),
    }
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
    delete_all(store, vec![path.clone()])
}

/// Deletes objects, many in one request where the store can; those that are not there are no error.
pub(super) fn delete_all(store: &Arc<dyn ObjectStore>, paths: Vec<Path>) -> Result<(), TableError> {
    let Some(first) = paths.first().map(Path::to_string) else { return Ok(()) };
    let store = store.clone();
    let done = block(async move {
        let mut deleted = store.delete_stream(stream::iter(paths.clone()).map(Ok).boxed());
        while let Some(deleted) = deleted.next().await {
            match deleted {
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                // Some stores answer in no known way if one of the objects is not there.
                Err(_) if are_gone(&store, &paths).await => return Ok(()),
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    });
    done.map_err(|cause| io(Operation::Delete, &first, cause))
}

/// Whether none of these objects is there.
async fn are_gone(store: &Arc<dyn ObjectStore>, paths: &[Path]) -> bool {
    for path in paths {
        if !matches!(store.head(path).await, Err(StoreError::NotFound { .. })) {
            return false;
        }
    }
    true
}

/// The objects directly below a prefix.
pub(super) fn list(store: &Arc<dyn ObjectStore>, prefix: &Path) -> Result<Vec<Listed>, TableError> {
    let (store, below) = (store.clone(), prefix.clone());
    let found = block(async move { store.list_with_delimiter(Some(&below)).await });
    let objects = found.map_err(|cause| io(Operation::List, prefix.as_ref(), cause))?.objects;
    let listed = |meta: ObjectMeta| {
        let name = meta.location.filename()?.to_owned();
        Some(Listed { name, bytes: meta.size, modified: meta.last_modified.into() })
    };
    Ok(objects.into_iter().filter_map(listed).collect())
}

/// Whether there is any object below a prefix.
pub(super) fn any(store: &Arc<dyn ObjectStore>, prefix: &Path) -> Result<bool, TableError> {
    let (store, below) = (store.clone(), prefix.clone());
    let found = block(async move { store.list(Some(&below)).next().await.transpose() });
    Ok(found.map_err(|cause| io(Operation::List, prefix.as_ref(), cause))?.is_some())
}

/// The last segments of the prefixes one level below a prefix.
pub(super) fn list_prefixes(store: &Arc<dyn ObjectStore>, prefix: &Path) -> Result<Vec<String>, TableError> {
    let (store, below) = (store.clone(), prefix.clone());
    let found = block(async move { store.list_with_delimiter(Some(&below)).await });
    let below = found.map_err(|cause| io(Operation::List, prefix.as_ref(), cause))?.common_prefixes;
    Ok(below.iter().filter_map(|prefix| prefix.filename().map(str::to_owned)).collect())
}

/// The error of a failed operation, with the operating system's own error where there is one beneath.
pub(super) fn io(operation: Operation, place: &str, cause: StoreError) -> TableError {
    TableError::failed(operation, place.to_owned(), as_io(cause))
}

impl TableError {
    /// The error of a failed operation on an object, in words that name no key and no signed request.
    pub fn of_store(operation: Operation, place: &str, cause: StoreError) -> Self {
        io(operation, place, cause)
    }
}

/// An error of a store as one of the operating system.
pub(crate) fn as_io(cause: StoreError) -> std::io::Error {
    if let Some(trouble) = StoreTrouble::below(&cause) {
        return std::io::Error::new(trouble.fault.io_kind(), trouble.clone());
    }
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

/// What a future that runs will give.
pub(crate) struct Pending<T>(mpsc::Receiver<Result<T, StoreError>>);

impl<T> Pending<T> {
    /// Waits for it.
    pub(crate) fn wait(self) -> Result<T, StoreError> {
        self.0.recv().unwrap_or_else(|cause| Err(runtime_failed(&cause)))
    }
}

/// Starts a future on the background runtime.
pub(crate) fn start<T: Send + 'static>(
    future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Pending<T> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hush-store")
            .enable_all()
            .build()
    });
    let (done, wait) = mpsc::sync_channel(1);
    match runtime {
        // The receiver is gone if nobody wants the result any more.
        Ok(runtime) => drop(runtime.spawn(async move { done.send(future.await) })),
        Err(cause) => drop(done.send(Err(runtime_failed(cause)))),
    }
    Pending(wait)
}

/// Runs a future on the background runtime and waits for it.
pub(crate) fn block<T: Send + 'static>(
    future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    start(future).wait()
}

fn runtime_failed(cause: &dyn std::fmt::Display) -> StoreError {
    StoreError::Generic {
        store: "hush-store",
        source: format!("the background runtime failed: {cause}").into(),
    }
}
