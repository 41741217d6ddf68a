// SPDX-License-Identifier: Apache-2.0
//! A job that is deleted in the very moment between a worker's look whether it is there and the worker's write.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use hush_lambda::objects::JobObjects;
use hush_lambda::worker::Ended;
use hush_server::names::JobId;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as StoreResult,
};

use crate::fixture::Random;
use crate::world::{TIME, World};

/// The name of an object in its job's folder.
type Chosen = fn(&str) -> bool;

/// A store in which a job is deleted, by somebody else and to the end, just before one of its objects is written.
struct Deleting {
    below: Arc<dyn ObjectStore>,
    jobs: JobObjects,
    chosen: Chosen,
}

impl fmt::Debug for Deleting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deleting")
    }
}

impl fmt::Display for Deleting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deleting")
    }
}

#[async_trait]
impl ObjectStore for Deleting {
    async fn put_opts(&self, path: &Path, bytes: PutPayload, how: PutOptions) -> StoreResult<PutResult> {
        let (job, name) = path.as_ref().split_once("/jobs/").unwrap().1.split_once('/').unwrap();
        if (self.chosen)(name) {
            assert!(self.jobs.remove(&JobId::parse(job).unwrap()).await.unwrap(), "deleted once");
        }
        self.below.put_opts(path, bytes, how).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        how: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.below.put_multipart_opts(path, how).await
    }

    async fn get_opts(&self, path: &Path, how: GetOptions) -> StoreResult<GetResult> {
        self.below.get_opts(path, how).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.below.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.below.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.below.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, how: CopyOptions) -> StoreResult<()> {
        self.below.copy_opts(from, to, how).await
    }
}

/// Whoever deletes sees nothing of an object that is still to be written, so the worker takes it away again: the partial answer of a
/// leaf, that of a node above leaves, and the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_after_a_deletion_is_taken_away_by_its_writer() {
    let mut random = Random::announced("deleted meanwhile");
    let parts: Vec<usize> = (0..70).map(|_| 1 + random.below(3) as usize).collect();
    let world = World::new(&mut random, &parts, 1);
    let leaf: Chosen = |name| name == "partial/41-42";
    let above: Chosen = |name| {
        let parts = name.strip_prefix("partial/").and_then(|parts| parts.split_once('-'));
        parts.is_some_and(|(first, end)| end.parse::<u32>().unwrap() - first.parse::<u32>().unwrap() > 1)
    };
    let answer: Chosen = |name| name == "result";
    for chosen in [leaf, above, answer] {
        let jobs = world.jobs.clone();
        let worker = world.worker_on(Arc::new(Deleting { below: world.store.clone(), jobs, chosen }));
        let job = world.submit(&world.plans()[0]).await;
        // The event in which the job is deleted is the first that comes late.
        loop {
            let event = world.take(&mut random).expect("the object is written by some event");
            if worker.work(&event, TIME).await.unwrap() == Ended::Late {
                break;
            }
        }
        assert_eq!(world.record(&job).await, None);
        assert_eq!(world.objects().await, Vec::<String>::new());
        while let Some(event) = world.take(&mut random) {
            assert_eq!(worker.work(&event, TIME).await.unwrap(), Ended::Late);
        }
        assert_eq!(world.objects().await, Vec::<String>::new());
    }
}
