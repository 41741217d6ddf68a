// SPDX-License-Identifier: Apache-2.0
//! Runs that end early: dropped writers, killed ones, stores that fail at every single write.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};

use super::*;

#[test]
fn a_dropped_writer_leaves_no_table_and_no_parts() {
    let mut random = Random::fresh();
    let (_guard, stores) = stores();
    for store in &stores {
        let mut writer = TableWriter::begin(store, identity(1), layout()).unwrap();
        push_all(&mut writer, &chunks(&mut random, 130 * 8192, 9)).unwrap();
        drop(writer);
        assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
        assert!(file_names(store).is_empty(), "{:?}", file_names(store));
        // The same command again.
        let written = chunks(&mut random, 70 * 8192, 9);
        write(store, 1, &written).unwrap();
        // Giving up a second version does not touch the first, though their clear parts are the same files.
        let mut writer = TableWriter::begin(store, identity(2), layout()).unwrap();
        push_all(&mut writer, &chunks(&mut random, 70 * 8192, 9)).unwrap();
        drop(writer);
        assert_holds(store, &written);
        assert_eq!(file_names(store).len(), 5);
    }
}

#[test]
fn what_a_killed_writer_leaves_is_no_table_and_is_swept() {
    let mut random = Random::fresh();
    let (guard, [store, _]) = stores();
    let parts = guard.path().join("t").join(PARTS_NAME);
    // All that a kill can leave: stored parts, a part half-written, a manifest half-written, the lock file.
    write(&store, 1, &chunks(&mut random, 70 * 8192, 9)).unwrap();
    let manifest = guard.path().join("t").join(MANIFEST_NAME);
    std::fs::rename(&manifest, guard.path().join("t").join("manifest.hush.1-2.partial")).unwrap();
    std::fs::write(parts.join(format!("{}.enc.parquet.77-1.partial", Digest::of(b"p"))), b"half").unwrap();
    std::fs::write(parts.join("notes.txt"), b"somebody else's").unwrap();
    assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
    assert_eq!(TableStore::local_existing(guard.path().join("t")).unwrap_err().code(), "HUSH-T020");

    let written = chunks(&mut random, 10, 9);
    write(&store, 1, &written).unwrap();
    assert_holds(&store, &written);
    let mut names = file_names(&store);
    names.retain(|name| PartName::of_file(name).is_none());
    names.sort();
    assert_eq!(names, ["manifest.hush", "notes.txt"]);
    assert_eq!(file_names(&store).len(), 4);
    // Deleting the table leaves what is not a table's.
    store.delete().unwrap();
    assert!(parts.join("notes.txt").exists());
}

#[test]
fn one_writer_at_a_time() {
    let (guard, [store, _]) = stores();
    let writer = TableWriter::begin(&store, identity(1), layout()).unwrap();
    let second = TableStore::local(guard.path().join("t")).unwrap();
    assert_eq!(TableWriter::begin(&second, identity(1), layout()).unwrap_err().code(), "HUSH-T023");
    assert_eq!(second.sweep().unwrap_err().code(), "HUSH-T023");
    assert_eq!(second.delete().unwrap_err().code(), "HUSH-T023");
    drop(writer);
    write(&second, 1, &chunks(&mut Random::fresh(), 10, 9)).unwrap();
}

/// Two writers of a store without locks: the second to commit is refused, whatever it wrote.
#[test]
fn memory_stores_replace_only_what_was_seen() {
    let mut random = Random::fresh();
    let store = TableStore::memory();
    let path = store.prefix().clone().join(MANIFEST_NAME);
    let first = write(&store, 1, &chunks(&mut random, 10, 9)).unwrap();
    let (_, seen) = store.load_present().unwrap().unwrap();
    let second = write(&store, 2, &chunks(&mut random, 10, 9)).unwrap();
    let bytes = || Bytes::copy_from_slice(first.as_bytes());
    for replace in [Replace::Nothing, Replace::This(seen)] {
        assert_eq!(
            objects::replace(store.objects(), &path, bytes(), replace).unwrap_err().code(),
            "HUSH-T023"
        );
    }
    assert_eq!(store.load().unwrap(), second);
}

/// Local failures have no manifest and no space lost: here the folder of parts cannot be made.
#[test]
fn a_directory_that_cannot_be_written() {
    let (guard, [store, _]) = stores();
    let parts = guard.path().join("t").join(PARTS_NAME);
    std::fs::write(&parts, b"in the way").unwrap();
    let error = write(&store, 1, &chunks(&mut Random::fresh(), 10, 9)).unwrap_err();
    assert_eq!(error.code(), "HUSH-T050");
    assert!(error.remedy().is_some());
    assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
    std::fs::remove_file(&parts).unwrap();
    let written = chunks(&mut Random::fresh(), 10, 9);
    write(&store, 1, &written).unwrap();
    assert_holds(&store, &written);
}

/// The disk is full at the n-th write, for every n: a typed error, no table, nothing left, and the next run completes.
#[test]
fn full_disk_at_every_write() {
    let mut random = Random::fresh();
    let written = chunks(&mut random, 65 * 8192, 9);
    for allowed in 0.. {
        let failing = Arc::new(FullAfter::new(allowed));
        let store = TableStore::new(failing.clone(), Path::from("x"));
        match write(&store, 1, &written) {
            Ok(_) => {
                assert_eq!(allowed, 5, "four part files and the manifest");
                assert_holds(&store, &written);
                break;
            }
            Err(error) => {
                assert_eq!(error.code(), "HUSH-T050");
                let full = matches!(&error, TableError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
                assert!(full, "{error}");
                assert_eq!(store.load().unwrap_err().code(), "HUSH-T020");
                assert!(file_names(&store).len() <= 1, "at most the clear half of the part that failed");
                failing.left.store(usize::MAX, Ordering::Relaxed);
                write(&store, 1, &written).unwrap();
                assert_holds(&store, &written);
            }
        }
    }
}

/// A store in memory with room for so many more objects, which fails after so many more deletions.
#[derive(Debug)]
pub(in crate::store) struct FullAfter {
    inner: InMemory,
    left: AtomicUsize,
    pub(in crate::store) deletions: Arc<AtomicUsize>,
}

impl FullAfter {
    pub(in crate::store) fn new(left: usize) -> Self {
        let deletions = Arc::new(AtomicUsize::new(usize::MAX));
        Self { inner: InMemory::new(), left: AtomicUsize::new(left), deletions }
    }
}

fn one_less(counter: &AtomicUsize) -> StoreResult<()> {
    let one_less = |left: usize| left.checked_sub(1);
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    let taken = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    taken.map(drop).map_err(|_| object_store::Error::Generic { store: "test", source: full().into() })
}

impl fmt::Display for FullAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FullAfter")
    }
}

type StoreResult<T> = object_store::Result<T>;

#[async_trait::async_trait]
impl ObjectStore for FullAfter {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        one_less(&self.left)?;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        let deletions = self.deletions.clone();
        self.inner.delete_stream(paths.map(move |path| one_less(&deletions).and(path)).boxed())
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
