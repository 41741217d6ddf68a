// SPDX-License-Identifier: Apache-2.0
//! Compactions beside other writers, in object stores and on a server.

use std::sync::mpsc::channel;

use clap::Parser;
use hush_remote::{ApiToken, RemoteServer};

use super::*;

/// A step between reading and commit, and what others do meanwhile.
fn meanwhile(case: &Case, bucket: &TableStore, others: impl FnOnce()) -> Option<SignedManifest> {
    let (place, options) = (TablePlace::Bucket(bucket), case.options(Which::All));
    let opened = place.open(case.owner.seed(), &case.pins).unwrap();
    let compaction = Compaction::new(place, &options, case.owner.seed(), &opened).unwrap();
    let destination = Destination::of(place).unwrap();
    let step = Step { present: place.look(&case.pins).unwrap(), run: 1..3 };
    let stored = compaction.store(&step, &destination, &Silent).unwrap();
    others();
    compaction.commit(&step, stored, &destination).unwrap()
}

#[test]
fn appends_and_deletes_go_on_while_parts_are_written_anew() {
    let case = Case::new();
    case.append(10..12);
    case.append(12..15);
    case.append(15..17);
    let bucket = case.bucket();
    let place = TablePlace::Bucket(&bucket);
    // Rows that come, and rows of other parts that go.
    let version = meanwhile(&case, &bucket, || {
        case.append_to(place, 17..20);
        case.delete_in(&bucket, 3, [0]);
        case.delete_in(&bucket, 0, [4]);
    });
    let version = version.unwrap();
    assert_eq!((version.manifest().parts.len(), version.manifest().living_rows()), (4, 18));
    let kept: Vec<usize> = (0..20).filter(|row| ![4, 15].contains(row)).collect();
    assert_eq!(numbers(&case.rows_at(place)), kept);
    // A row of a part that is being written goes: the step is done once more.
    let parts = || bucket.load().unwrap().manifest().parts.len();
    assert!(meanwhile(&case, &bucket, || case.delete_in(&bucket, 2, [1])).is_none());
    assert_eq!(parts(), 4);
    let (rows, answers) = (case.rows_at(place), case.answers_at(place));
    assert_eq!(numbers(&rows), kept.iter().copied().filter(|row| *row != 16).collect::<Vec<_>>());
    let report = case.compact_at(place, Which::Worth).unwrap();
    assert_eq!((report.table_parts, report.removed_rows, report.table_rows), (1, 3, 17));
    assert_eq!(case.rows_at(place), rows);
    assert_same(&answers, &case.answers_at(place), 17);
}

#[test]
fn two_compactions_at_once_do_each_part_once() {
    let case = Case::new();
    for first in (10..22).step_by(2) {
        case.append(first..first + 2);
    }
    let bucket = case.bucket();
    let place = TablePlace::Bucket(&bucket);
    let other = || assert_eq!(case.compact_at(place, Which::All).unwrap().table_parts, 1);
    assert!(meanwhile(&case, &bucket, other).is_none());
    assert_eq!(numbers(&case.rows_at(place)), (0..22).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        let each = |which| {
            let case = &case;
            scope.spawn(move || {
                let pins = Pins::forgetful();
                let options = CompactOptions { pins, ..case.options(which) };
                compact(place, &options, &case.owner, &Silent).unwrap();
            })
        };
        let appends = scope.spawn(|| (22..30).for_each(|row| case.append_to(place, row..row + 1)));
        for thread in [each(Which::All), each(Which::Worth), appends] {
            thread.join().unwrap();
        }
    });
    assert_eq!(numbers(&case.rows_at(place)), (0..30).collect::<Vec<_>>());
}

#[test]
fn in_a_directory_writers_wait_for_a_step() {
    let case = Case::of_parts(2);
    (4..12).for_each(|row| case.append(row..row + 1));
    std::thread::scope(|scope| {
        let appends = scope.spawn(|| (12..18).for_each(|row| case.append(row..row + 1)));
        let compactions = scope.spawn(|| (0..3).for_each(|_| assert!(case.compact(Which::All).steps > 0)));
        for thread in [appends, compactions] {
            thread.join().unwrap();
        }
    });
    assert_eq!(numbers(&case.rows()), (0..18).collect::<Vec<_>>());
}

/// Files of a version that was replaced stay for its readers; in a bucket with the version itself.
#[test]
fn readers_of_an_older_version_are_not_cut_off() {
    let case = Case::new();
    case.append(10..12);
    let old = case.files().load().unwrap();
    case.compact(Which::All);
    case.append(12..13);
    let files = case.files();
    for (kind, file) in hush_table::named_files(old.manifest()) {
        assert!(files.open_part(kind, &file).is_ok(), "{kind:?}");
    }
}

/// A server in this process, stopped when dropped.
struct Served {
    client: RemoteServer,
    stop: tokio::sync::watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    fn start(directory: &std::path::Path) -> Self {
        let data = directory.join("data");
        let arguments =
            ["hush-server", "--listen", "127.0.0.1:0", "--threads", "2", "--data", data.to_str().unwrap()];
        let config = hush_server::Config::parse_from(arguments);
        let ((tell, address), (stop, stopped)) = (channel(), tokio::sync::watch::channel(false));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = hush_server::Server::bind(&config).await.unwrap();
                tell.send(server.address().unwrap()).unwrap();
                server.run(stopped).await;
            });
        });
        let address = address.recv().unwrap();
        let token = || ApiToken::from_file(&directory.join("data/token")).unwrap();
        let client = RemoteServer::new(&format!("http://{address}"), Some(token())).unwrap();
        Self { client, stop, thread: Some(thread) }
    }

    fn another(&self, directory: &std::path::Path) -> RemoteServer {
        let token = ApiToken::from_file(&directory.join("data/token")).unwrap();
        RemoteServer::new(self.client.url(), Some(token)).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn parts_on_a_server_are_fetched_written_anew_and_sent() {
    let case = Case::of_parts(9);
    let path = case.path("T");
    // A zone file, so that bounds are written anew too.
    let files = case.files();
    let mut next = case.manifest();
    next.version += 1;
    files.put_zones(&mut next).unwrap();
    assert!(next.zones.is_some());
    let (owner, key) = (case.owner.seed(), case.owner.seed().verifying_key().to_bytes());
    files.commit(&SignedManifest::sign(next, &key, |bytes| owner.sign(bytes)).unwrap()).unwrap();
    case.delete(4, [0]);
    let served = Served::start(case.directory.path());
    served.client.push(&path, &Silent).unwrap();
    let place = TablePlace::Server(&served.client, "t");
    case.append_to(place, 18..20);
    let open = || {
        let server = served.another(case.directory.path());
        OwnedTable::open_remote(server, "t", &case.owner, &case.pins).unwrap()
    };
    let (rows, answers) = (case.rows_at(place), answers_of(&open()));
    let report = case.compact_at(place, Which::Worth).unwrap();
    assert_eq!((report.parts, report.table_parts, report.removed_rows, report.table_rows), (3, 9, 1, 19));
    let signed = served.client.manifest("t").unwrap();
    assert!(signed.manifest().zones.is_some());
    assert_eq!(case.rows_at(place), rows);
    assert_same(&answers, &answers_of(&open()), 19);
    // What the server has is whole, and its zones say what the footers say.
    served.client.check(&signed, &Silent).unwrap();
    let copy = TableStore::local(case.path("copy")).unwrap();
    served.client.pull_files(&signed, &copy, &Silent).unwrap();
    copy.verify(signed.manifest()).unwrap();
    let report = case.compact_at(place, Which::All).unwrap();
    assert_eq!((report.table_parts, report.table_rows), (1, 19));
    assert!(served.client.manifest("t").unwrap().manifest().zones.is_none());
    assert_eq!(case.rows_at(place), rows);
    assert_same(&answers, &answers_of(&open()), 19);
}
