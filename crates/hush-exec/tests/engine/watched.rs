// SPDX-License-Identifier: Apache-2.0
//! A store that watches a running plan and meddles with it: files change under the query engine, and plans are ended.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use hush_exec::{Engine, ErrorKind, Limits, Stop};
use hush_plan::plan::{RowsTask, SlotExpr, Task};
use hush_table::FileKind;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use crate::fixture::{Fixture, Random, VALUE, X};
use crate::reference::{everything, task};

type StoreResult<T> = object_store::Result<T>;
/// Takes the path that is about to be read, and the kind of read. May return other bytes to put there first.
pub(crate) type Hook = Box<dyn Fn(&Path, Access) -> Option<Bytes> + Send + Sync>;

/// The part of an object that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its metadata, no byte.
    Look,
    /// A range.
    Range,
    /// All of it.
    Whole,
}

/// A store that tells of every read before it happens.
struct Watched {
    inner: Arc<dyn ObjectStore>,
    before_read: Hook,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Watched {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        self.inner.put_opts(path, bytes, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        let access = match (options.head, &options.range) {
            (true, _) => Access::Look,
            (false, Some(_)) => Access::Range,
            (false, None) => Access::Whole,
        };
        if let Some(bytes) = (self.before_read)(path, access) {
            self.inner.put(path, PutPayload::from(bytes)).await?;
        }
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(paths)
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

pub(crate) fn watched(fixture: &Fixture, threads: usize, before_read: Hook) -> Engine {
    let store = Watched { inner: fixture.store.objects().clone(), before_read };
    Engine::new(Arc::new(store), "", threads, Limits::default()).unwrap()
}

fn clear_path(fixture: &Fixture) -> Path {
    let clear = fixture.signed.manifest().parts[0].clear.unwrap();
    fixture.store.part_path(FileKind::Clear, &clear.digest)
}

/// The file is exchanged, before any of the reads, for a sound one with as many rows. Then the answer is right, because
/// nothing of the other file was used, or there is none.
#[test]
fn a_clear_file_that_changes_under_the_query_engine_is_found() {
    let fixture = Fixture::random(&mut Random::announced("watched"), &[500]);
    let other = Fixture::random(&mut Random::announced("watched, other"), &[500]);
    let plan = fixture.plan(None, Task::Aggregate(task(&["\"ward\""], vec![], &[])));
    let expected = fixture.engine(1).run(&plan).unwrap();
    let unchanged = watched(&fixture, 1, Box::new(|_, _| None));
    assert_eq!(unchanged.run(&plan).unwrap(), expected);

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = |fixture: &Fixture| {
        let objects = fixture.store.objects();
        let path = clear_path(fixture);
        runtime.block_on(async { objects.get(&path).await.unwrap().bytes().await.unwrap() })
    };
    let (mut right, mut refused) = (0, 0);
    for turn in 0..8 {
        let original = read(&fixture);
        let altered = Mutex::new(Some(read(&other)));
        let (place, reads) = (clear_path(&fixture), AtomicUsize::new(0));
        let hook = move |path: &Path, access: Access| {
            let is_it = access != Access::Look && *path == place;
            let now = is_it && reads.fetch_add(1, Ordering::Relaxed) == turn;
            if now { altered.lock().unwrap().take() } else { None }
        };
        match watched(&fixture, 1, Box::new(hook)).run(&plan) {
            Ok(answer) => {
                assert_eq!(answer, expected);
                right += 1;
            }
            Err(error) => {
                assert_eq!((error.code(), error.kind()), ("HUSH-E060", ErrorKind::Corrupt));
                refused += 1;
            }
        }
        let path = clear_path(&fixture);
        runtime.block_on(async { fixture.store.objects().put(&path, original.into()).await.unwrap() });
    }
    assert!(right > 0 && refused > 0, "{right} right, {refused} refused");
}

#[test]
fn a_plan_that_is_cancelled_reads_no_further_chunk() {
    let fixture = Fixture::random(&mut Random::announced("cancelled"), &[300, 300, 300, 300]);
    let programs = vec![SlotExpr::Column(X)];
    let rows = RowsTask {
        clear: vec![],
        operands: vec![],
        programs,
        fetch: vec![],
        program_bits: Vec::new(),
        fetch_bits: Vec::new(),
        sealed: vec![],
        operand_limit_log2: 20,
        cube: None,
        run: None,
        limit: None,
    };
    for task in [Task::Aggregate(task(&[], vec![everything()], &[(0, VALUE)])), Task::Rows(rows)] {
        let plan = fixture.plan(None, task);
        let stop = Arc::new(Stop::never());
        let parts: Arc<Mutex<HashSet<Path>>> = Arc::default();
        let (seen, cancel) = (parts.clone(), stop.clone());
        let hook = move |path: &Path, access: Access| {
            let read = access != Access::Look && path.as_ref().ends_with(".enc.parquet");
            let mut seen = seen.lock().unwrap();
            if read && seen.insert(path.clone()) && seen.len() == 2 {
                cancel.cancel();
            }
            None
        };
        let error = watched(&fixture, 1, Box::new(hook)).run_until(&plan, &stop).unwrap_err();
        assert_eq!((error.code(), error.kind()), ("HUSH-E044", ErrorKind::Limit));
        assert_eq!(parts.lock().unwrap().len(), 2, "of four");
    }
}

#[test]
fn a_plan_ends_at_its_deadline_also_within_the_query_engine() {
    let fixture = Fixture::random(&mut Random::announced("deadline"), &[300]);
    let plan = fixture.plan(None, Task::Aggregate(task(&["\"ward\""], vec![], &[])));
    let over = Arc::new(Stop::after(Duration::ZERO));
    assert_eq!(fixture.engine(1).run_until(&plan, &over).unwrap_err().code(), "HUSH-E043");
    let stop = Arc::new(Stop::never());
    let (cancel, place) = (stop.clone(), clear_path(&fixture));
    let hook = move |path: &Path, access: Access| {
        if access == Access::Range && *path == place {
            cancel.cancel();
        }
        None
    };
    let error = watched(&fixture, 1, Box::new(hook)).run_until(&plan, &stop).unwrap_err();
    assert_eq!(error.code(), "HUSH-E044");
}
