// SPDX-License-Identifier: Apache-2.0
//! Tables on a server that purges, and behind one that only says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

use clap::Parser;
use hush_remote::ApiToken;

use super::*;
use crate::replace::push_table;

/// A server in this process.
pub(crate) struct Service {
    address: SocketAddr,
    token: PathBuf,
    pub(crate) client: RemoteServer,
    _stop: tokio::sync::watch::Sender<bool>,
    _runtime: tokio::runtime::Runtime,
}

impl Service {
    pub(crate) fn start(data: &Path) -> Self {
        let arguments = ["hush-server", "--listen", "127.0.0.1:0", "--threads", "1", "--data"];
        let config = hush_server::Config::parse_from(arguments.into_iter().chain([data.to_str().unwrap()]));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(hush_server::Server::bind(&config)).unwrap();
        let address = server.address().unwrap();
        let (stop, stopped) = tokio::sync::watch::channel(false);
        runtime.spawn(server.run(stopped));
        let token = data.join("token");
        let client = connect(address, &token);
        Self { address, token, client, _stop: stop, _runtime: runtime }
    }

    /// The same server behind one that answers purges itself, with this body each.
    fn behind_liar(&self, answer: impl Fn(bool) -> Purged + Send + 'static) -> RemoteServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (front, behind) = (listener.local_addr().unwrap(), self.address);
        std::thread::spawn(move || {
            let answer = Mutex::new(answer);
            while let Ok((stream, _)) = listener.accept() {
                pass_on(&stream, behind, &|dry_run| answer.lock().unwrap()(dry_run));
            }
        });
        connect(front, &self.token)
    }
}

fn connect(address: SocketAddr, token: &Path) -> RemoteServer {
    RemoteServer::new(&format!("http://{address}"), Some(ApiToken::from_file(token).unwrap())).unwrap()
}

/// One request and its answer, each on a connection of its own. Requests of this test have no bodies but empty ones.
fn pass_on(stream: &TcpStream, behind: SocketAddr, answer: &dyn Fn(bool) -> Purged) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    let reply = if head.starts_with("POST") && head.contains("/purge?") {
        let body = serde_json::to_vec(&answer(head.contains("dry_run=true"))).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    } else {
        let mut server = TcpStream::connect(behind).unwrap();
        let closing = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        server.write_all(closing.as_bytes()).unwrap();
        let mut reply = Vec::new();
        server.read_to_end(&mut reply).unwrap();
        reply
    };
    let _ = stream.try_clone().unwrap().write_all(&reply);
}

impl Case {
    fn push(&self, server: &RemoteServer) {
        let table = self.path("T");
        push_table(server, TablePlace::Directory(&table), true, &self.pins, &Silent).unwrap();
    }
}

/// The parts of a version, as a purge names them.
fn files_of(signed: &SignedManifest) -> Vec<StoredFile> {
    let path = |kind: hush_table::FileKind, file: hush_table::PartFile| StoredFile {
        path: format!("{}/{}", kind.folder(), kind.file_name(&file.digest)),
        bytes: file.bytes,
    };
    let mut files: Vec<_> = named_files(signed.manifest()).map(|(kind, file)| path(kind, file)).collect();
    files.sort();
    files
}

#[test]
fn a_server_is_purged_and_the_statement_holds() {
    let case = Case::new();
    let service = Service::start(&case.path("data"));
    let (server, old) = (&service.client, case.store().load().unwrap());
    let place = TablePlace::Server(server, "t");
    case.push(server);
    let reader =
        OwnedTable::open_remote(connect(service.address, &service.token), "t", &case.owner, &case.pins);
    let reader = reader.unwrap();
    case.encrypt(0..5);
    case.push(server);
    let looked = look_at_purge(place, &case.owner, &case.pins).unwrap();
    assert_eq!(looked.deleted, files_of(&old));
    assert!(case.path("data/tables/t").join(&looked.deleted[0].path).exists());
    let report = case.purge(place, "statement.json").unwrap();
    assert_eq!(report, looked);
    assert!(report.deleted.iter().all(|file| !case.path("data/tables/t").join(&file.path).exists()));
    let checked = case.check(place, "statement.json").unwrap();
    assert_eq!((checked.statement.place, checked.unasked), (server.place("t"), 0));
    // Whoever planned with the old version is told to plan again.
    assert!(ask(&reader).unwrap_err().is_stale_version());
    let reader =
        OwnedTable::open_remote(connect(service.address, &service.token), "t", &case.owner, &case.pins);
    assert_eq!(ask(&reader.unwrap()).unwrap(), (5, 10));
    // A second purge has nothing to do, and says so.
    assert!(case.purge(place, "again.json").unwrap().deleted.is_empty());
    // Somebody puts a part back: it is served, and so the statement does not hold any more.
    let parts = case.path("data/tables/t");
    std::fs::write(parts.join(&report.deleted[0].path), "whatever").unwrap();
    let refused = case.check(place, "statement.json").unwrap_err();
    assert!(refused.code() == "HUSH-C101" && refused.to_string().contains("1 of the files"), "{refused}");
}

/// A server that says what was asked, and does nothing, or says more than it may.
#[test]
fn servers_that_only_say_so_are_found_out() {
    let case = Case::new();
    let service = Service::start(&case.path("data"));
    let old = case.store().load().unwrap();
    case.push(&service.client);
    case.encrypt(0..5);
    case.push(&service.client);
    let (gone, needed) = (files_of(&old), files_of(&case.store().load().unwrap()));
    let answer = |deleted: &[StoredFile]| Purged { deleted: deleted.to_vec(), ..Purged::default() };
    let say = |first: Purged, second: Purged| {
        let liar = service.behind_liar(move |dry_run| if dry_run { first.clone() } else { second.clone() });
        let pins = Pins::in_directory(&case.path("pins-of-liars"));
        purge(TablePlace::Server(&liar, "t"), &case.path("lie.json"), &case.owner, &pins)
    };
    let refused = say(answer(&gone), answer(&gone)).unwrap_err();
    assert!(refused.code() == "HUSH-C101" && refused.to_string().contains("2 of the files"), "{refused}");
    for told in [(answer(&needed), answer(&[])), (answer(&[]), answer(&needed[..1]))] {
        assert_eq!(say(told.0, told.1).unwrap_err().code(), "HUSH-C102");
    }
    let foreign = answer(&[StoredFile { path: "parts/../../token".into(), bytes: 1 }]);
    assert_eq!(say(foreign.clone(), foreign).unwrap_err().code(), "HUSH-R006");
    assert!(!case.path("lie.json").exists(), "nothing was stated");
    // One that speaks of them before and deletes nothing: they are served, and nothing is said of them.
    let report = say(answer(&gone), answer(&[])).unwrap();
    assert!(report.deleted.is_empty());
    std::fs::remove_file(case.path("lie.json")).unwrap();
    // An honest one whose answer was lost: the files that it spoke of before are gone.
    assert_eq!(case.purge(TablePlace::Server(&service.client, "t"), "honest.json").unwrap().deleted, gone);
    assert_eq!(say(answer(&gone), answer(&[])).unwrap().deleted, gone);
    // A statement of a purge that never was: the check finds the files.
    let said =
        check_statement(&case.path("honest.json"), TablePlace::Server(&service.client, "t"), &case.pins);
    let said = said.unwrap().statement;
    let false_one =
        statement::encode(Statement { deleted: gone.clone(), ..said }, case.owner.seed()).unwrap();
    std::fs::write(case.path("false.json"), false_one).unwrap();
    for file in &gone {
        std::fs::write(case.path("data/tables/t").join(&file.path), "kept by the operator").unwrap();
    }
    let refused = case.check(TablePlace::Server(&service.client, "t"), "false.json").unwrap_err();
    assert!(refused.code() == "HUSH-C101" && refused.to_string().contains("2 of the files"), "{refused}");
}

/// A version that another process commits between the look and the purge: nothing is deleted.
#[test]
fn a_version_that_came_meanwhile_is_not_purged() {
    let case = Case::new();
    let service = Service::start(&case.path("data"));
    case.push(&service.client);
    let stale = case.store().load().unwrap();
    case.encrypt(0..5);
    case.push(&service.client);
    let place = TablePlace::Server(&service.client, "t");
    let refused = on_server(place, &service.client, "t", &stale, PurgeRun::Delete).unwrap_err();
    assert_eq!(refused.code(), "HUSH-C100");
    assert!(files_of(&stale).iter().all(|file| case.path("data/tables/t").join(&file.path).exists()));
}
