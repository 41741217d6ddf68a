// SPDX-License-Identifier: Apache-2.0
//! The service with its tables in an object store. Its data directory holds tokens, uploads and jobs; whatever a table is can be
//! found in the store alone.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hush_server::Storage;
use hush_server::catalog::{Catalog, Committed};
use hush_server::error::Code;
use hush_server::names::TableName;
use hush_table::part::TREE_FROM_BYTES;
use hush_table::{FileKind, TableStore};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result as StoreResult,
};

use crate::deliveries::{deliver, listed};
use crate::fixture::{LocalTable, PLAIN, Recipe};
use crate::harness::{Service, eventually, start_on};
use crate::jobs::{finished, plan, submit};

/// A store in memory, with faults on demand.
#[derive(Debug)]
struct Store {
    below: InMemory,
    /// While set, every request fails as one to a server that is not reached.
    unreachable: AtomicBool,
    /// So many more writes and deletions succeed.
    writes: AtomicUsize,
}

impl Store {
    fn new() -> Arc<Self> {
        let (below, unreachable) = (InMemory::new(), AtomicBool::new(false));
        Arc::new(Self { below, unreachable, writes: AtomicUsize::new(usize::MAX) })
    }

    fn storage(self: &Arc<Self>) -> Storage {
        Storage::objects(self.clone(), &Path::from("one/server"))
    }

    fn start(self: &Arc<Self>, arguments: &[&str]) -> Service {
        start_on(self.storage(), Arc::new(tempfile::tempdir().unwrap()), arguments)
    }

    fn reached(&self) -> StoreResult<()> {
        let refused = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        match self.unreachable.load(Ordering::SeqCst) {
            true => Err(StoreError::Generic { store: "test", source: refused().into() }),
            false => Ok(()),
        }
    }

    fn writes(&self) -> StoreResult<()> {
        self.reached()?;
        let left = self.writes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        left.map(drop).map_err(|_| StoreError::Generic { store: "test", source: full().into() })
    }

    /// Names of all objects, sorted.
    fn names(&self) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let objects: Vec<_> = runtime.block_on(self.below.list(None).collect());
        let mut names: Vec<_> =
            objects.into_iter().map(|object| object.unwrap().location.to_string()).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> Bytes {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { self.below.get(&Path::from(name)).await.unwrap().bytes().await.unwrap() })
    }

    fn write(&self, name: &str, bytes: Bytes) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.below.put(&Path::from(name), bytes.into())).unwrap();
    }

    /// The object of a part that was uploaded by this route.
    fn part(&self, route: &str) -> String {
        format!("one/server/{}.parquet", route.strip_prefix("/v1/").unwrap())
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("store")
    }
}

#[async_trait]
impl ObjectStore for Store {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        self.writes()?;
        self.below.put_opts(at, bytes, options).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.writes()?;
        self.below.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.reached()?;
        self.below.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        at: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        match self.writes() {
            Ok(()) => self.below.delete_stream(at),
            Err(error) => futures_util::stream::iter([Err(error)]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        match self.reached() {
            Ok(()) => self.below.list(prefix),
            Err(error) => futures_util::stream::iter([Err(error)]).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.reached()?;
        self.below.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.writes()?;
        self.below.copy_opts(from, to, options).await
    }
}

/// State and answer of a job.
fn outcome(service: &Service, table: &LocalTable) -> (String, Vec<u8>) {
    let id = submit(service, &plan(table, Some("\"year\" >= 2022")));
    let state = finished(service, &id)["state"].as_str().unwrap().to_owned();
    (state, service.get(&format!("/v1/jobs/{id}/result")).body)
}

#[test]
fn a_table_is_pushed_asked_replaced_and_deleted() {
    let store = Store::new();
    let service = store.start(&[]);
    let first = PLAIN.make();
    assert_eq!(service.put(&first.manifest_path(), first.manifest.as_bytes()).code(), "HUSH-V019");
    assert_eq!((first.push(&service), first.push(&service)), (201, 200));
    assert_eq!(service.get("/v1/tables").json().as_array().unwrap().len(), 1);
    assert_eq!(service.get(&first.manifest_path()).body, first.manifest.as_bytes());
    for (route, content) in first.parts() {
        assert_eq!(service.get(&route).body, content);
        assert_eq!(store.read(&store.part(&route)), content);
        let piece = service.call("GET", &route, &[("range", "bytes=10-19")], b"");
        assert_eq!((piece.status, piece.body.as_slice()), (206, &content[10..20]));
        assert_eq!(service.call("HEAD", &format!("{route}?verify=true"), &[], b"").status, 200);
    }
    let (state, answer) = outcome(&service, &first);
    assert_eq!(state, "done");

    let second = Recipe { version: 2, seed: 2, ..PLAIN }.make();
    assert_eq!(second.push(&service), 201);
    assert_eq!(service.put(&first.manifest_path(), first.manifest.as_bytes()).code(), "HUSH-V018");
    let stale = service.call("POST", "/v1/jobs", &[], &plan(&first, None));
    assert_eq!(stale.code(), "HUSH-V029");
    assert_eq!(outcome(&service, &second).0, "done");
    let foreign = Recipe { version: 3, seed: 3, signer: 9, ..PLAIN }.make();
    foreign.push_parts(&service);
    assert_eq!(service.put(&foreign.manifest_path(), foreign.manifest.as_bytes()).code(), "HUSH-V017");

    // Another process, with nothing but the store.
    drop(service);
    let service = store.start(&[]);
    assert_eq!(second.push(&service), 200);
    assert_eq!(outcome(&service, &second).0, "done");
    assert_eq!(service.call("DELETE", &second.base(), &[], b"").status, 204);
    assert_eq!(service.call("DELETE", &second.base(), &[], b"").code(), "HUSH-V014");
    assert_eq!(service.get(&second.base()).code(), "HUSH-V014");
    let left = store.names();
    assert!(!left.is_empty() && left.iter().all(|name| name.starts_with("one/server/seeds/")), "{left:?}");

    // Seeds are remembered after the table, by the next process too; the very same table may come again.
    drop(service);
    let service = store.start(&[]);
    let elsewhere = Recipe { name: "elsewhere", table: 2, version: 5, ..PLAIN }.make();
    elsewhere.push_parts(&service);
    assert_eq!(service.put(&elsewhere.manifest_path(), elsewhere.manifest.as_bytes()).code(), "HUSH-V020");
    assert_eq!(first.push(&service), 201);
    assert_eq!(outcome(&service, &first), ("done".to_owned(), answer));
    for folder in ["tables", "seeds"] {
        assert!(!service.path(folder).exists(), "{folder}");
    }
}

#[test]
fn what_is_damaged_in_the_store_is_told_and_replaced() {
    let store = Store::new();
    let service = store.start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let before = outcome(&service, &table);
    assert_eq!(before.0, "done");
    for (route, content) in table.parts() {
        for bytes in
            [[&content[..100], &[content[100] ^ 1], &content[101..]].concat(), content[1..].to_vec(), vec![]]
        {
            store.write(&store.part(&route), bytes.into());
            let told = service.call("HEAD", &format!("{route}?verify=true"), &[], b"");
            assert_eq!((told.status, told.header("part-damaged")), (404, Some("?1")));
            let half = content.len() / 2;
            let put = |start: usize, end: usize| {
                let range = format!("bytes {start}-{}/{}", end - 1, content.len());
                service.call("PUT", &route, &[("content-range", &range)], &content[start..end]).status
            };
            assert_eq!((put(0, half), put(half, content.len())), (202, 201));
            assert_eq!(store.read(&store.part(&route)), content);
            assert_eq!(outcome(&service, &table), before);
        }
    }
    let manifest = "one/server/tables/visits/manifest.hush";
    for bytes in [vec![], table.manifest.as_bytes()[1..].to_vec()] {
        store.write(manifest, bytes.into());
        assert_eq!(service.put(&table.manifest_path(), table.manifest.as_bytes()).status, 200);
        assert_eq!(store.read(manifest), table.manifest.as_bytes());
    }
    // Found at a start: the table is not served until its manifest comes again.
    store.write(manifest, "damaged".into());
    drop(service);
    let service = store.start(&[]);
    assert_eq!(service.get("/v1/tables/visits").code(), "HUSH-V014");
    assert_eq!(table.push(&service), 201);
    assert_eq!(outcome(&service, &table), before);
}

#[test]
fn orphans_go_and_what_is_named_or_awaited_stays() {
    let store = Store::new();
    let service = store.start(&["--max-listed", "3"]);
    let table = PLAIN.make();
    table.push(&service);
    let ids: Vec<_> = (0..5).map(|number| deliver(&service, &table, 1, number)).collect();
    assert_eq!(listed(&service, &table).concat(), ids);
    let orphan = |table: &str| format!("/v1/tables/{table}/parts/{}.enc", blake3::hash(b"orphan").to_hex());
    let routes = [orphan("visits"), orphan("begun")];
    routes.iter().for_each(|route| assert_eq!(service.put(route, b"orphan").status, 201));
    let count = store.names().len();
    drop(service);
    std::thread::sleep(Duration::from_millis(1100));
    let service = store.start(&["--orphan-ttl-s", "1"]);
    for route in &routes {
        eventually("orphans are swept", || {
            (service.call("HEAD", route, &[], b"").status == 404).then_some(())
        });
    }
    assert_eq!(store.names().len(), count - 2);
    assert_eq!(listed(&service, &table).concat(), ids);
    assert_eq!(outcome(&service, &table).0, "done");
    // Deliveries go with their table.
    assert_eq!(service.call("DELETE", &table.base(), &[], b"").status, 204);
    assert!(store.names().iter().all(|name| name.starts_with("one/server/seeds/")));
}

/// The owner writes to the bucket, past the server: what it has committed there is the table, at the next question.
#[test]
fn versions_that_others_commit_are_the_table_at_once() {
    let store = Store::new();
    let service = store.start(&[]);
    let bucket = TableStore::new(store.clone(), Path::from("one/server/tables/visits"));
    assert_eq!(service.get("/v1/tables/visits").code(), "HUSH-V014");
    assert_eq!(service.get("/v1/tables").json().as_array().unwrap().len(), 0);
    let first = PLAIN.make();
    first.copy_to(&bucket);
    assert_eq!(service.get("/v1/tables").json()[0]["version"], 1);
    assert_eq!(service.get(&first.manifest_path()).body, first.manifest.as_bytes());
    let before = outcome(&service, &first);
    assert_eq!(before.0, "done");

    let second = Recipe { version: 2, seed: 2, ..PLAIN }.make();
    second.copy_to(&bucket);
    // A plan for the version that was seen last is answered from it: the bucket keeps it for a day.
    assert_eq!(outcome(&service, &first), before);
    assert_eq!(service.get("/v1/tables/visits").json()["version"], 2);
    assert_eq!(service.call("POST", "/v1/jobs", &[], &plan(&first, None)).code(), "HUSH-V029");
    assert_eq!(outcome(&service, &second).0, "done");
    // A plan for a version that was never asked for.
    let third = Recipe { version: 3, seed: 3, ..PLAIN }.make();
    third.copy_to(&bucket);
    assert_eq!(outcome(&service, &third).0, "done");
    assert_eq!(service.get("/v1/tables").json()[0]["version"], 3);

    bucket.delete().unwrap();
    assert_eq!(service.get(&third.manifest_path()).code(), "HUSH-V014");
    assert_eq!(service.get("/v1/tables").json().as_array().unwrap().len(), 0);
    assert_eq!(service.call("POST", "/v1/jobs", &[], &plan(&third, None)).code(), "HUSH-V014");
}

/// Several pieces, a hash tree, and the tree again after it was lost.
#[test]
fn large_parts_pass_in_pieces_and_lost_trees_come_back() {
    let store = Store::new();
    let service = store.start(&[]);
    let content: Vec<u8> = (0..9_000_001_u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect();
    assert!(content.len() as u64 > TREE_FROM_BYTES);
    let route = format!("/v1/tables/t/parts/{}.enc", blake3::hash(&content).to_hex());
    assert_eq!(service.put(&route, &content).status, 201);
    assert_eq!(std::fs::read_dir(service.path("uploads/t")).unwrap().count(), 0, "the staged file is gone");
    assert_eq!(store.read(&store.part(&route)), content);
    assert_eq!(service.get(&route).body, content);
    let tree = store.part(&route).replace(".parquet", ".tree");
    let good = store.read(&tree);
    for bad in [&b""[..], b"damaged"] {
        store.write(&tree, Bytes::copy_from_slice(bad));
        assert_eq!(service.put(&route, &content).status, 200, "sound: left alone");
        assert_eq!(store.read(&tree), good);
    }
}

#[test]
fn a_store_that_is_not_reached_is_no_damage() {
    let store = Store::new();
    let service = store.start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let before = outcome(&service, &table);
    let [(route, content), _] = table.parts().try_into().unwrap();
    let next = Recipe { version: 2, seed: 2, ..PLAIN }.make();
    next.push_parts(&service);
    let id = {
        store.unreachable.store(true, Ordering::SeqCst);
        let head = service.call("HEAD", &format!("{route}?verify=true"), &[], b"");
        assert_eq!((head.status, head.header("part-damaged")), (500, None));
        for refused in [
            service.get(&route),
            service.put(&route, &content),
            service.put(&next.manifest_path(), next.manifest.as_bytes()),
            service.call("DELETE", &table.base(), &[], b""),
        ] {
            assert_eq!((refused.status, refused.code().as_str()), (500, "HUSH-V099"));
        }
        let id = submit(&service, &plan(&table, None));
        let status = finished(&service, &id);
        assert_eq!((status["state"].as_str(), status["code"].as_str()), (Some("failed"), Some("HUSH-E061")));
        store.unreachable.store(false, Ordering::SeqCst);
        id
    };
    assert_eq!(service.call("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 204);
    assert_eq!(outcome(&service, &table), before);
    assert_eq!(next.push(&service), 201);
    assert_eq!(outcome(&service, &next).0, "done");
}

/// The store takes no more at the n-th write, for every n: the table is the old one or the new one, never anything else, in
/// this process and in the next, and the same commit again completes.
#[test]
fn a_commit_that_fails_at_any_write_is_whole_or_nothing() {
    let name = TableName::parse("visits").unwrap();
    let (first, second) = (PLAIN.make(), Recipe { version: 2, seed: 2, ..PLAIN }.make());
    for allowed in 0.. {
        let store = Store::new();
        let catalog = Catalog::open(store.storage()).unwrap();
        let upload = |table: &LocalTable| {
            for (route, content) in table.parts() {
                let kind = if route.ends_with(".enc") { FileKind::Encrypted } else { FileKind::Clear };
                let entry = &table.manifest.manifest().parts[0];
                let file = if kind == FileKind::Clear { entry.clear } else { entry.encrypted };
                catalog.place(&name).unwrap().put_received(kind, file.unwrap(), content.into()).unwrap();
            }
        };
        upload(&first);
        assert_eq!(catalog.commit(&name, first.manifest.as_bytes()).unwrap(), Committed::Created);
        upload(&second);
        store.writes.store(allowed, Ordering::SeqCst);
        let done = catalog.commit(&name, second.manifest.as_bytes());
        store.writes.store(usize::MAX, Ordering::SeqCst);
        let next = Catalog::open(store.storage()).unwrap();
        for catalog in [&catalog, &next] {
            let expected = if done.is_ok() { &second } else { &first };
            assert_eq!(*catalog.find(&name).unwrap(), expected.manifest, "{allowed} writes");
        }
        match done {
            Ok(committed) => {
                assert_eq!(
                    (committed, allowed),
                    (Committed::Replaced, 3),
                    "seeds, replaced version, manifest"
                );
                break;
            }
            Err(error) => assert_eq!(error.code, Code::StorageFull, "{allowed} writes"),
        }
        assert_eq!(next.commit(&name, second.manifest.as_bytes()).unwrap(), Committed::Replaced);
    }
}

/// A table that another process has put into the store since this one began: its owner is the table's.
#[test]
fn two_servers_on_one_store_hold_one_owner() {
    let store = Store::new();
    let (one, other) = (store.start(&[]), store.start(&[]));
    let table = PLAIN.make();
    assert_eq!(table.push(&one), 201);
    let foreign = Recipe { version: 2, seed: 2, signer: 9, ..PLAIN }.make();
    foreign.push_parts(&other);
    assert_eq!(other.put(&foreign.manifest_path(), foreign.manifest.as_bytes()).code(), "HUSH-V017");
    let next = Recipe { version: 2, seed: 3, ..PLAIN }.make();
    assert_eq!(next.push(&other), 201);
    // The first has not heard of it, and does not go back.
    let late = Recipe { version: 2, seed: 4, ..PLAIN }.make();
    late.push_parts(&one);
    assert_eq!(one.put(&late.manifest_path(), late.manifest.as_bytes()).code(), "HUSH-V018");
}
