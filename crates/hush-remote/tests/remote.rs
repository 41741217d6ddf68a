// SPDX-License-Identifier: Apache-2.0
//! The client against the real service, with a proxy between them that cuts connections.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use ed25519_dalek::{Signer, SigningKey};

use hush_exec::Engine;
use hush_params::Params;
use hush_plan::packing::{Packing, Sum};
use hush_plan::plan::{AggregateTask, PLAN_FORMAT, Predicate, Task};
use hush_plan::{Encoding, EncodingId, ServerPlan};
use hush_remote::{ApiToken, RemoteError, RemoteServer, Silent};
use hush_server::{Config, Server};
use hush_table::{
    EncodedChunk, EncryptionId, KeyEntry, KeyKind, KeysToStore, SecretId, SignedManifest, TableId,
    TableIdentity, TableLayout, TableStore, TableWriter,
};
use tempfile::TempDir;

const CHUNKS: u32 = 12;
const CHUNK_ROWS: u32 = hush_table::CHUNK_ROWS;
const BLOB_BYTES: usize = 100_000;

/// The service in this process, in a data directory of its own.
struct Service {
    data: TempDir,
    address: SocketAddr,
    /// Dropping it ends the service.
    _runtime: tokio::runtime::Runtime,
    _stop: tokio::sync::watch::Sender<bool>,
}

fn service() -> Service {
    service_with(&[])
}

fn service_with(limits: &[&str]) -> Service {
    use clap::Parser;
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("data");
    let arguments = ["hush-server", "--listen", "127.0.0.1:0", "--threads", "1", "--data"];
    let config = Config::parse_from(
        arguments.into_iter().chain([path.to_str().unwrap()]).chain(limits.iter().copied()),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(Server::bind(&config)).unwrap();
    let address = server.address().unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    runtime.spawn(server.run(stopped));
    Service { data, address, _runtime: runtime, _stop: stop }
}

impl Service {
    fn token(&self) -> ApiToken {
        ApiToken::from_file(&self.data.path().join("data/token")).unwrap()
    }

    fn client(&self) -> RemoteServer {
        RemoteServer::new(&format!("http://{}", self.address), Some(self.token())).unwrap()
    }

    /// A client behind a proxy. The proxy's connections end after these numbers of bytes, in order; later ones do not end.
    fn flaky_client(&self, budgets: &[usize]) -> RemoteServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (behind, mut budgets) = (self.address, VecDeque::from(budgets.to_vec()));
        std::thread::spawn(move || {
            while let Ok((front, _)) = listener.accept() {
                let back = TcpStream::connect(behind).unwrap();
                let left = Arc::new(Mutex::new(budgets.pop_front().unwrap_or(usize::MAX)));
                for (from, to) in [(&front, &back), (&back, &front)] {
                    let (from, to, left) =
                        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&left));
                    std::thread::spawn(move || forward(from, to, &left));
                }
            }
        });
        RemoteServer::new(&url, Some(self.token())).unwrap()
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, left: &Mutex<usize>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let allowed = {
            let mut left = left.lock().unwrap();
            let allowed = read.min(*left);
            *left -= allowed;
            allowed
        };
        if to.write_all(&buffer[..allowed]).is_err() || allowed < read {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// A table of more than a megabyte, with bytes in place of ciphertexts: nothing here looks into them.
fn table(directory: &Path, version: u64, signer: u8) -> SignedManifest {
    table_with_keys(directory, version, signer, &[])
}

/// [`table`], with bytes in place of evaluation keys for these Galois elements, a file for each.
fn table_with_keys(directory: &Path, version: u64, signer: u8, elements: &[u32]) -> SignedManifest {
    let store = TableStore::local(directory).unwrap();
    let clear = Arc::new(Schema::new(vec![Field::new("year", DataType::Int64, true)]));
    let encoding = Encoding {
        id: EncodingId(1),
        params: "n12_q2x46_sec128_v1".to_owned(),
        packing: Packing::Sum(Sum { t_log2: 64 }),
    };
    let layout = TableLayout { clear: Arc::clone(&clear), encodings: vec![encoding], sealed_columns: 0 };
    let key = SigningKey::from_bytes(&[signer; 32]);
    let identity = TableIdentity {
        table: "visits".to_owned(),
        table_id: TableId::from_bytes([7; 16]),
        encryption: EncryptionId::from_bytes([2; 16]),
        version,
        verifying_key: key.verifying_key().to_bytes(),
    };
    let mut writer = TableWriter::begin(&store, identity, layout).unwrap();
    let params = Params::named("n12_q2p1x34_d1_sec128_v1").unwrap();
    for &element in elements {
        let kind = KeyKind::Galois { elements: vec![element] };
        let bytes = KeyEntry::expected_bytes(&kind, &params).unwrap() as usize;
        let secret = SecretId::from_bytes([5; 16]);
        let keys = KeysToStore { kind, params: params.clone(), unit: 65537, secret };
        writer.put_keys(keys, vec![element as u8; bytes]).unwrap();
    }
    for index in 0..CHUNKS {
        let years = Int64Array::from_iter_values((0..i64::from(CHUNK_ROWS)).map(|row| 2020 + row % 4));
        let batch = RecordBatch::try_new(Arc::clone(&clear), vec![Arc::new(years)]).unwrap();
        let label = [version.to_le_bytes().as_slice(), &index.to_le_bytes()].concat();
        let mut blob = vec![0; BLOB_BYTES];
        blake3::Hasher::new().update(&label).finalize_xof().fill(&mut blob);
        let seed = *blake3::hash(&label).as_bytes();
        let chunk =
            EncodedChunk { index, rows: CHUNK_ROWS, seed, encoded: vec![blob.into()], sealed: Vec::new() };
        writer.push(&batch, chunk).unwrap();
    }
    writer.finish(vec![1], |bytes| key.sign(bytes).to_bytes()).unwrap()
}

fn plan(manifest: &SignedManifest) -> Vec<u8> {
    let task = AggregateTask {
        keys: vec!["\"year\"".to_owned()],
        clear: vec!["COUNT(*)".to_owned()],
        masks: Vec::new(),
        sums: Vec::new(),
        max_groups: 10,
    };
    let plan = ServerPlan {
        format: PLAN_FORMAT,
        table: "visits".to_owned(),
        manifest: manifest.digest().to_string(),
        predicate: Some(Predicate::clear("\"year\" < 2022")),
        task: Task::Aggregate(task),
        max_answer_bytes: 1 << 20,
    };
    serde_json::to_vec(&plan).unwrap()
}

#[test]
fn push_query_and_pull_survive_broken_connections() {
    let service = service();
    let local = tempfile::tempdir().unwrap();
    let manifest = table(local.path(), 1, 1);
    // Cut in the first head, in bodies, right after a head, at once.
    let flaky = service.flaky_client(&[20, 2_000, 100_000, 500_000, 0, 700, 300_000, 0]);
    let report = flaky.push(local.path(), &Silent).unwrap();
    assert_eq!((report.parts_sent, report.version), (2, 1));
    let again = service.client().push(local.path(), &Silent).unwrap();
    assert_eq!((again.parts_sent, again.parts_present, again.bytes_sent), (0, 2, 0));

    let listed = service.client().tables().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].name.as_str(), listed[0].rows), ("visits", u64::from(CHUNKS * CHUNK_ROWS)));

    // The same bytes as from an engine in this process, and nothing left behind.
    let plan = plan(&manifest);
    let store = TableStore::local_existing(local.path()).unwrap();
    let embedded = Engine::for_table(store, 1, hush_exec::Limits::default()).unwrap().run(&plan).unwrap();
    let flaky = service.flaky_client(&[100, 900, 0, 1_500]);
    assert_eq!(flaky.run(&plan, &Silent).unwrap(), embedded);
    let jobs = std::fs::read_dir(service.data.path().join("data/jobs")).unwrap().count();
    assert_eq!(jobs, 0);

    let copy = tempfile::tempdir().unwrap();
    let flaky = service.flaky_client(&[50, 3_000, 400_000, 700_000, 0]);
    flaky.pull(&manifest, copy.path(), &Silent).unwrap();
    let copied = TableStore::local_existing(copy.path()).unwrap();
    assert_eq!(copied.load().unwrap(), manifest);
    copied.verify(manifest.manifest()).unwrap();
    // A part that was damaged here since, at its full length, is fetched again.
    let digest = manifest.manifest().parts[0].encrypted.unwrap().digest;
    let part = copy.path().join(format!("parts/{digest}.enc.parquet"));
    let whole = std::fs::read(&part).unwrap();
    std::fs::write(&part, vec![7; whole.len()]).unwrap();
    service.client().pull(&manifest, copy.path(), &Silent).unwrap();
    assert_eq!(std::fs::read(&part).unwrap(), whole);
}

#[test]
fn evaluation_keys_go_the_way_of_parts() {
    let service = service();
    let client = service.client();
    let local = tempfile::tempdir().unwrap();
    let manifest = table_with_keys(local.path(), 1, 1, &[5, 25]);
    assert_eq!(client.push(local.path(), &Silent).unwrap().parts_sent, 4);
    let summary = &client.tables().unwrap()[0];
    let keys = &manifest.manifest().keys;
    let part = &manifest.manifest().parts[0];
    let halves = part.clear.unwrap().bytes + part.encrypted.unwrap().bytes;
    assert_eq!(summary.bytes, halves + keys[0].file.bytes + keys[1].file.bytes);
    // A key that is lost or damaged on the server is sent again, alone.
    let key = |at: usize| format!("keys/{}.key", keys[at].file.digest);
    let there = service.data.path().join("data/tables/visits");
    std::fs::remove_file(there.join(key(0))).unwrap();
    std::fs::write(there.join(key(1)), vec![9; keys[1].file.bytes as usize]).unwrap();
    let mended = client.push(local.path(), &Silent).unwrap();
    assert_eq!((mended.parts_sent, mended.parts_replaced, mended.parts_present), (2, 1, 2));
    let copy = tempfile::tempdir().unwrap();
    client.pull(&manifest, copy.path(), &Silent).unwrap();
    for at in [0, 1] {
        let read = |place: &Path| std::fs::read(place.join(key(at))).unwrap();
        assert_eq!(read(copy.path()), read(local.path()));
    }
    TableStore::local_existing(copy.path()).unwrap().verify(manifest.manifest()).unwrap();
}

#[test]
fn only_newer_versions_of_ones_own_table_are_pushed() {
    let service = service();
    let client = service.client();
    let directories: [TempDir; 4] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let [first, second, fork, foreign] = &directories;
    table(first.path(), 1, 1);
    table(second.path(), 2, 1);
    table(foreign.path(), 3, 9);
    assert_eq!(client.push(second.path(), &Silent).unwrap().version, 2);
    let rollback = client.push(first.path(), &Silent).unwrap_err();
    assert!(matches!(rollback, RemoteError::Newer { found: 2, pushed: 1, .. }), "{rollback}");
    let other = client.push(foreign.path(), &Silent).unwrap_err();
    assert!(matches!(other, RemoteError::OtherOwner { .. }), "{other}");
    let third = table(fork.path(), 3, 1);
    assert_eq!(client.push(fork.path(), &Silent).unwrap().parts_sent, 1);
    assert_eq!(client.manifest("visits").unwrap(), third);
    client.delete("visits").unwrap();
    let gone = client.manifest("visits").unwrap_err();
    assert!(matches!(&gone, RemoteError::NoTable { table, .. } if table == "visits"), "{gone}");
    assert_eq!(gone.server_code(), Some("HUSH-V014"));
}

#[test]
fn damage_is_named_before_or_after_the_way() {
    let service = service();
    let client = service.client();
    let local = tempfile::tempdir().unwrap();
    let manifest = table(local.path(), 1, 1);
    let digest = manifest.manifest().parts[0].encrypted.unwrap().digest;
    let name = format!("parts/{digest}.enc.parquet");
    let alter = |path: &Path| {
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    alter(&local.path().join(&name));
    assert_eq!(client.push(local.path(), &Silent).unwrap_err().code(), "HUSH-T031");
    alter(&local.path().join(&name));
    client.push(local.path(), &Silent).unwrap();
    alter(&service.data.path().join("data/tables/visits").join(&name));
    let copy = tempfile::tempdir().unwrap();
    let error = client.pull(&manifest, copy.path(), &Silent).unwrap_err();
    assert!(matches!(error, RemoteError::Altered { expected, .. } if expected == digest), "{error}");
    assert!(TableStore::local_existing(copy.path()).is_err());
}

/// Far more clients than the server takes at once: each waits until it has its answer.
#[test]
fn clients_of_a_full_server_wait_and_are_answered() {
    let service = service_with(&["--max-queued-jobs", "1", "--max-requests", "2", "--max-polls", "2"]);
    let local = tempfile::tempdir().unwrap();
    let manifest = table(local.path(), 1, 1);
    service.client().push(local.path(), &Silent).unwrap();
    let plan = plan(&manifest);
    let expected = service.client().run(&plan, &Silent).unwrap();
    std::thread::scope(|threads| {
        let run = || (0..2).for_each(|_| assert_eq!(service.client().run(&plan, &Silent).unwrap(), expected));
        (0..24).for_each(|_| drop(threads.spawn(run)));
    });
    assert_eq!(std::fs::read_dir(service.data.path().join("data/jobs")).unwrap().count(), 0);
}

/// The same push mends files that a disk damaged on the server.
#[test]
fn a_push_mends_what_the_server_has_damaged() {
    let service = service();
    let client = service.client();
    let local = tempfile::tempdir().unwrap();
    let manifest = table(local.path(), 1, 1);
    let plan = plan(&manifest);
    client.push(local.path(), &Silent).unwrap();
    let answer = client.run(&plan, &Silent).unwrap();
    let stored = service.data.path().join("data/tables/visits");
    let entry = &manifest.manifest().parts[0];
    let clear = stored.join(format!("parts/{}.clear.parquet", entry.clear.unwrap().digest));
    let encrypted = stored.join(format!("parts/{}.enc.parquet", entry.encrypted.unwrap().digest));
    let flip = |path: &Path| {
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    let cut = |path: &Path| {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    };
    let remove = |path: &Path| std::fs::remove_file(path).unwrap();
    let damages: [&dyn Fn(&Path); 3] = [&flip, &cut, &remove];
    for (number, damage) in damages.into_iter().enumerate() {
        damage(&clear);
        damage(&encrypted);
        let failed = client.run(&plan, &Silent).unwrap_err();
        assert!(
            matches!(&failed, RemoteError::Refused { code, .. } if code.starts_with("HUSH-E")),
            "{failed}"
        );
        assert!(client.check(&manifest, &Silent).is_err());
        let mended = client.push(local.path(), &Silent).unwrap();
        let replaced = if number < 2 { 2 } else { 0 };
        assert_eq!((mended.parts_sent, mended.parts_replaced, mended.parts_present), (2, replaced, 0));
        assert_eq!(client.run(&plan, &Silent).unwrap(), answer);
        let bytes = client.check(&manifest, &Silent).unwrap();
        assert_eq!(bytes, entry.clear.unwrap().bytes + entry.encrypted.unwrap().bytes);
    }
    // One part of two, over connections that break; the upload that was begun there has other bytes.
    flip(&encrypted);
    let uploads = service.data.path().join("data/uploads/visits");
    std::fs::create_dir_all(&uploads).unwrap();
    std::fs::write(uploads.join(encrypted.file_name().unwrap()), vec![3; 50_000]).unwrap();
    let mended = service.flaky_client(&[20, 300_000, 0, 700]).push(local.path(), &Silent).unwrap();
    assert_eq!((mended.parts_sent, mended.parts_replaced, mended.parts_present), (1, 1, 1));
    client.check(&manifest, &Silent).unwrap();
    // The manifest.
    flip(&stored.join("manifest.hush"));
    let mended = client.push(local.path(), &Silent).unwrap();
    assert_eq!((mended.parts_sent, mended.parts_present), (0, 2));
    assert_eq!(std::fs::read(stored.join("manifest.hush")).unwrap(), manifest.as_bytes());
    assert_eq!(client.run(&plan, &Silent).unwrap(), answer);
}

#[test]
fn a_failed_plan_gives_the_engines_code_and_a_lost_server_is_unreachable() {
    let service = service();
    let client = service.client();
    let local = tempfile::tempdir().unwrap();
    let manifest = table(local.path(), 1, 1);
    client.push(local.path(), &Silent).unwrap();
    let text = String::from_utf8(plan(&manifest)).unwrap();
    let failed = client.run(text.replace("\\\"year\\\" < 2022", "\\\"age\\\" < 2").as_bytes(), &Silent);
    assert!(
        matches!(failed, Err(RemoteError::Refused { ref code, .. }) if code.starts_with("HUSH-E")),
        "{failed:?}"
    );
    let stale = client.run(text.replace(&manifest.digest().to_string(), &"0".repeat(64)).as_bytes(), &Silent);
    assert!(matches!(stale, Err(RemoteError::Refused { ref code, .. }) if code == "HUSH-V029"), "{stale:?}");
    let stranger = RemoteServer::new(&format!("http://{}", service.address), None).unwrap();
    assert!(matches!(stranger.tables(), Err(RemoteError::Unauthorised { .. })));
    drop(service);
    assert!(matches!(client.run(text.as_bytes(), &Silent), Err(RemoteError::Unreachable { .. })));
}
