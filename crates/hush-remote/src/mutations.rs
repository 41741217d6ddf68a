// SPDX-License-Identifier: Apache-2.0
//! Damaged replies of a server, over real sockets: each ends in a typed error with a text that is safe to show, or in a value that
//! keeps its rules; bodies are read up to their limits.
//!
//! `tests/corpus/README.md` describes the files from which this starts. `HUSH_MUTATIONS` multiplies the number of copies, and
//! `HUSH_MUTATION_SEED` gives other ones.

use std::path::PathBuf;
use std::time::Duration;

use hush_table::{Digest, TableStore};

use super::JobState;
use super::canned::{Canned, JOB, endless, response, sound};
use super::job::{JobId, JobStatus};
use super::*;
use hush_testkit::{Corpus, CorpusFile, damaged, damaged_json};

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let canned = Canned::new();
    corpus().check(&made(), |file| read(&canned, file));
}

fn with_job() -> (Canned, JobId) {
    let canned = Canned::new();
    let job = canned.job();
    (canned, job)
}

/// The code of a refusal, once [`sound`] has looked at it.
fn code(error: RemoteError) -> String {
    sound(&error);
    error.code().to_owned()
}

/// Reads a body of the corpus under a sound head, or a whole reply; the code of a refusal.
fn read(canned: &Canned, file: &CorpusFile) -> Result<(), String> {
    let reply = match file.reader() {
        "http" => file.bytes.clone(),
        "refusal" => response("404 Not Found", &file.bytes),
        _ => response("200 OK", &file.bytes),
    };
    replied(canned, file.reader(), &reply)
}

/// Sends the request of a reader, which gets this reply.
fn replied(canned: &Canned, reader: &str, reply: &[u8]) -> Result<(), String> {
    let job = canned.job();
    let server = canned.set(&[reply]);
    match reader {
        "accepted" => accepted(canned),
        "http" | "version" => {
            server.version().map(|version| assert!(version.name.len() < 1 << 16)).map_err(code)
        }
        "present" => push(canned, &[reply, STANDS, COMPLETE, STANDS, COMPLETE, COMPLETE]),
        "refusal" => match server.version().map_err(code) {
            Err(code) if code == "HUSH-R005" => Ok(()),
            refused => refused.map(drop),
        },
        "status" => status(server, &job),
        "tables" => server.tables().map(|tables| assert!(tables.len() < 1000)).map_err(code),
        other => panic!("no reader {other}"),
    }
}

/// The id was checked: it is 32 digits, so the path of the poll is no other.
fn accepted(canned: &Canned) -> Result<(), String> {
    let id = canned.client.submit(b"{}").map_err(code)?;
    let _ = canned.client.poll(&id, 0).map_err(code);
    let asked = canned.asked();
    let path = asked.iter().find(|line| line.starts_with("GET")).unwrap();
    let path = path.strip_prefix("GET /v1/jobs/").unwrap().strip_suffix("?wait_ms=0 HTTP/1.1").unwrap();
    assert!(path.len() == 32 && path.bytes().all(|byte| byte.is_ascii_hexdigit()), "{asked:?}");
    Ok(())
}

fn status(server: &RemoteServer, job: &JobId) -> Result<(), String> {
    let status = server.poll(job, 0).map_err(code)?;
    assert!(status.state != JobState::Done || status.result.is_some());
    assert!(status.state != JobState::Failed || status.failure.is_some());
    let texts = status.failure.iter().flat_map(|(code, message)| [code, message]);
    texts.for_each(|text| {
        assert!(text.len() <= 300 && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    });
    Ok(())
}

/// Pushes the golden table to a server with these replies.
fn push(canned: &Canned, replies: &[&[u8]]) -> Result<(), String> {
    let report = canned.set(replies).push(&golden_table(), &Silent).map_err(code)?;
    assert!(report.parts_sent + report.parts_present == 2, "{report:?}");
    Ok(())
}

/// Whole replies that take a program to write, or claim more bytes than they have.
fn made() -> Vec<CorpusFile> {
    let version = r#"{"name":"hush-server","version":"0.1.0","plan_format":1}"#;
    let good = response("200 OK", version.as_bytes());
    let pieces = |size: &str| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        format!("{head}{size}\r\n{version}\r\n0\r\n\r\n").into_bytes()
    };
    let long = padded(version, SHORT_MAX_BYTES + 1);
    let many = |count: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(count)).into_bytes();
    let read = |name: &str, bytes: Vec<u8>| CorpusFile::read(&format!("http-{name}"), "http", bytes);
    let refused = |name: &str, code: &str, bytes: Vec<u8>| {
        CorpusFile::refused(&format!("http-{name}"), code, "http", bytes)
    };
    let huge = b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\nconnection: close\r\n\r\n{}";
    let manifest = TableStore::local_existing(golden_table()).unwrap().load().unwrap();
    let table_id = manifest.manifest().table_id.to_string();
    let of_table = |table_id: &str, version: u64, digest: &str, key: &str| {
        let facts = serde_json::json!({
            "table_id": table_id, "version": version, "manifest": digest, "verifying_key": key,
        });
        facts.to_string()
    };
    let present = |version: u64, digest: &str, key: &str| of_table(&table_id, version, digest, key);
    let (none, key) = ("0".repeat(64), hush_table::to_hex(manifest.key()));
    let other_table = of_table(&none[..32], 1, &none, &key);
    vec![
        CorpusFile::read("present-earlier", "json", present(1, &none, &key)),
        CorpusFile::read("present-this", "json", present(2, &manifest.digest().to_string(), &key)),
        CorpusFile::refused("present-later", "HUSH-R021", "json", present(3, &none, &key)),
        CorpusFile::refused("present-fork", "HUSH-R021", "json", present(2, &none, &key)),
        CorpusFile::refused("present-of-another", "HUSH-R020", "json", present(1, &none, &none)),
        CorpusFile::refused("present-other-table", "HUSH-R025", "json", other_table),
        CorpusFile::refused(
            "present-without-table",
            "HUSH-R006",
            "json",
            present(1, &none, &key).replace("table_id", "id"),
        ),
        read("with-length", good.clone()),
        read("in-pieces", pieces(&format!("{:x}", version.len()))),
        read("to-the-end-of-the-connection", endless(version.as_bytes())),
        refused("huge-length", "HUSH-R007", huge.to_vec()),
        refused("huge-piece", "HUSH-R001", pieces("ffffffffffffffff")),
        refused("negative-piece", "HUSH-R001", pieces("-1")),
        refused("too-long", "HUSH-R007", response("200 OK", &long)),
        refused("cut-body", "HUSH-R001", good[..good.len() - 9].to_vec()),
        refused("cut-head", "HUSH-R001", good[..20].to_vec()),
        refused("many-headers", "HUSH-R001", many(20_000)),
        refused("not-http", "HUSH-R001", b"SSH-2.0-x\r\n".to_vec()),
        refused("nothing", "HUSH-R001", Vec::new()),
        refused("unauthorised", "HUSH-R004", response("401 Unauthorized", b"{}")),
        refused("gateway", "HUSH-R003", response("502 Bad Gateway", b"<html>")),
        refused("moved", "HUSH-R006", response("302 Found\r\nlocation: http://127.0.0.1:1/", b"")),
        CorpusFile::refused("tables-deep", "HUSH-R006", "json", "[".repeat(10_000)),
    ]
}

/// The state of an upload of one half of the golden table's part.
const STANDS: &[u8] =
    b"HTTP/1.1 404 Not Found\r\nupload-offset: 7\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const COMPLETE: &[u8] =
    b"HTTP/1.1 201 Created\r\nupload-complete: ?1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Bodies damaged as JSON, and with their heads by bytes.
#[test]
fn damaged_bodies_are_refused_or_keep_their_rules() {
    let canned = Canned::new();
    for (reader, count) in
        [("version", 250), ("tables", 250), ("accepted", 250), ("status", 200), ("present", 200)]
    {
        let accepted = corpus().damaged(reader, count, |file, bytes| {
            let file = CorpusFile { bytes: bytes.to_vec(), ..file.clone() };
            read(&canned, &file).is_ok()
        });
        assert!(accepted.copies > 0, "{reader}: {accepted:?}");
        for file in corpus().files().iter().filter(|file| file.reader() == reader && file.reason.is_empty()) {
            let whole = response("200 OK", &file.bytes);
            damaged(&file.path(), 80, &whole, |reply| replied(&canned, reader, reply).is_ok());
        }
    }
    corpus().damaged("http", 60, |_, bytes| replied(&canned, "http", bytes).is_ok());
}

#[test]
fn damaged_refusals_are_told_without_what_a_terminal_would_obey() {
    let canned = Canned::new();
    for file in corpus().files().iter().filter(|file| file.reader() == "refusal") {
        for status in
            ["507 Insufficient Storage", "404 Not Found", "401 Unauthorized", "503 Service Unavailable"]
        {
            let ask = |bytes: &[u8]| sound(&canned.set(&[bytes]).version().unwrap_err());
            let count = if file.reason.is_empty() { 40 } else { 4 };
            damaged_json(&file.path(), count, &file.bytes, |body| ask(&response(status, body)));
            damaged(&file.path(), count, &response(status, &file.bytes), |reply| {
                // A damaged status line may turn the refusal into a success of another form.
                canned.set(&[reply]).version().map_or_else(|error| sound(&error), |_| true)
            });
        }
    }
}

#[test]
fn damaged_manifests_and_answers_are_refused_or_are_whole() {
    let (canned, id) = with_job();
    let golden = include_bytes!("../../hush-table/tests/golden/table_v2/manifest.hush");
    let manifest = |reply: &[u8]| match canned.set(&[reply]).manifest("golden") {
        Err(error) => sound(&error),
        Ok(manifest) => {
            assert_eq!(manifest.as_bytes(), golden);
            true
        }
    };
    assert!(manifest(&response("200 OK", golden)));
    damaged("manifest", 200, golden, |bytes| manifest(&response("200 OK", bytes)));
    damaged("manifest", 100, &response("200 OK", golden), manifest);

    let answer: Vec<u8> = (0..2000_u32).map(|byte| byte as u8).collect();
    let result = Some((answer.len() as u64, Digest::of(&answer)));
    let status = JobStatus { id, state: JobState::Done, ahead: 0, result, failure: None };
    let fetch = |replies: &[&[u8]]| match canned.set(replies).fetch(&status, 1 << 20) {
        Err(error) => sound(&error),
        Ok(found) => {
            assert_eq!(found, answer);
            true
        }
    };
    let whole = response("200 OK", &answer);
    assert!(fetch(&[&whole]));
    damaged("answer", 300, &whole, |reply| fetch(&[reply]));
    // The second half by range, after a connection that broke.
    let first = &whole[..whole.len() - 1000];
    let rest = response("206 Partial Content\r\ncontent-range: bytes 1000-1999/2000", &answer[1000..]);
    assert!(fetch(&[first, &rest]));
    damaged("range", 300, &rest, |reply| fetch(&[first, reply]));
}

/// The table that is pushed.
fn golden_table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2")
}

#[test]
fn damaged_replies_to_uploads_end_the_push_or_are_taken_at_their_word() {
    let canned = Canned::new();
    let manifest = TableStore::local_existing(golden_table()).unwrap().load().unwrap();
    let facts = serde_json::json!({
        "table_id": manifest.manifest().table_id.to_string(), "version": 1, "manifest": "0".repeat(64),
        "verifying_key": hush_table::to_hex(manifest.key()),
    });
    let present = response("200 OK", facts.to_string().as_bytes());
    let absent = response("404 Not Found", br#"{"code":"HUSH-V014","message":"no such table"}"#);
    // Each half of the part is asked for and sent, then the manifest.
    let sound: [&[u8]; 6] = [&present, STANDS, COMPLETE, STANDS, COMPLETE, COMPLETE];
    assert_eq!(push(&canned, &sound), Ok(()));
    // Two requests for each part, and two for the table.
    assert_eq!(canned.asked().len(), 2 * 2 + 2);
    // Small parts of a table that the server does not know are sent unasked.
    assert_eq!(push(&canned, &[&absent, COMPLETE, COMPLETE, COMPLETE]), Ok(()));
    let methods = |asked: &[String]| asked.iter().map(|line| line[..3].to_owned()).collect::<Vec<_>>();
    assert_eq!(methods(&canned.asked()), ["GET", "PUT", "PUT", "PUT"]);
    // A part that the server has all the same does not count as sent, and a damaged one counts as replaced.
    let had = b"HTTP/1.1 200 OK\r\nupload-complete: ?1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let mended = COMPLETE.to_vec();
    let mended = [&mended[..mended.len() - 2], b"part-damaged: ?1\r\n\r\n"].concat();
    let report = canned.set(&[&absent, had, &mended, COMPLETE]).push(&golden_table(), &Silent).unwrap();
    assert_eq!((report.parts_present, report.parts_sent, report.parts_replaced), (1, 1, 1));
    for (place, count) in [(0, 300), (1, 60), (3, 60)] {
        damaged("upload", count, sound[place], |reply| {
            let mut replies = sound;
            replies[place] = reply;
            push(&canned, &replies).is_ok()
        });
    }
    // Heads that end: without an end the library looks for leave to send for a second, each time.
    for place in [2, 4, 5] {
        damaged("upload", 60, b"201 Created\r\nupload-complete: ?1", |head| {
            let end = b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let reply = [b"HTTP/1.1 ", head, end].concat();
            let mut replies = sound;
            replies[place] = &reply;
            push(&canned, &replies).is_ok()
        });
    }
}

/// A server that takes every byte and never has all.
#[test]
fn an_upload_that_never_ends_is_given_up() {
    let canned = Canned::new();
    let absent = response("404 Not Found", br#"{"code":"HUSH-V014","message":"no such table"}"#);
    // The replies to the question for the upload's offset, and to the bytes sent from there.
    let stands =
        b"HTTP/1.1 404 Not Found\r\nupload-offset: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let taken = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let mut replies: Vec<&[u8]> = vec![&absent, &taken[..]];
    (0..50).for_each(|_| replies.extend([&stands[..], &taken[..]]));
    let error = canned.set(&replies).push(&golden_table(), &Silent).unwrap_err();
    assert_eq!(error.code(), "HUSH-R001", "{error}");
    assert!(canned.asked().len() < 20, "{}", canned.asked().len());
}

#[test]
fn a_failed_job_has_a_code_and_a_done_one_a_result() {
    let (canned, job) = with_job();
    for body in [
        r#"{"state":"failed","progress":{"ahead":0}}"#,
        r#"{"state":"failed","progress":{"ahead":0},"message":"no code"}"#,
        r#"{"state":"failed","progress":{"ahead":0},"code":"\u001b[31m"}"#,
        r#"{"state":"done","progress":{"ahead":0},"result":null}"#,
    ] {
        assert_eq!(canned.body(body.as_bytes()).poll(&job, 0).unwrap_err().code(), "HUSH-R006", "{body}");
    }
}

#[test]
fn a_server_that_does_not_wait_is_not_asked_without_a_pause() {
    let mut canned = Canned::new();
    canned.client.transport.first_pause = Duration::from_millis(40);
    let plan = include_bytes!("../../hush-plan/tests/corpus/0.2/plan-rows.json");
    let accepted = response("202 Accepted", format!("{{\"id\":\"{JOB}\"}}").as_bytes());
    let [queued, failed] = [
        r#"{"state":"queued","progress":{"ahead":3}}"#,
        r#"{"state":"failed","progress":{"ahead":0},"code":"HUSH-E031","message":"a sentence"}"#,
    ]
    .map(|status| response("200 OK", status.as_bytes()));
    let begun = std::time::Instant::now();
    let server = canned.set(&[&accepted, &queued, &queued, &queued, &failed]);
    assert_eq!(server.run(plan, &Silent).unwrap_err().server_code(), Some("HUSH-E031"));
    assert!(begun.elapsed() >= Duration::from_millis(3 * 40));
}

/// A text of JSON with blanks up to a length.
fn padded(text: &str, length: u64) -> Vec<u8> {
    [text.as_bytes(), &vec![b' '; length as usize - text.len()]].concat()
}

#[test]
fn bodies_are_read_up_to_their_limits() {
    let canned = Canned::new();
    for (length, whole) in
        [(SHORT_MAX_BYTES - 1, true), (SHORT_MAX_BYTES, true), (SHORT_MAX_BYTES + 1, false)]
    {
        let body = padded(r#"{"name":"n","version":"v","plan_format":1}"#, length);
        // With a stated length, in pieces, and up to the end of the connection.
        let pieces = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{length:x}\r\n"
        );
        let pieces = [pieces.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
        for reply in [response("200 OK", &body), pieces, endless(&body)] {
            let read = canned.set(&[&reply]).version();
            assert_eq!(read.map_err(|error| error.code()).err(), (!whole).then_some("HUSH-R007"), "{length}");
        }
        let body = padded(r#"{"code":"HUSH-V014","message":"m"}"#, length);
        let refused = canned.set(&[&response("404 Not Found", &body)]).version().unwrap_err();
        assert_eq!(refused.code(), if whole { "HUSH-R005" } else { "HUSH-R006" }, "{length}");
    }
    let list = [padded("[]", LIST_MAX_BYTES), padded("[]", LIST_MAX_BYTES + 1)];
    assert_eq!(canned.body(&list[0]).tables().unwrap(), []);
    assert_eq!(canned.set(&[&endless(&list[1])]).tables().unwrap_err().code(), "HUSH-R007");
    // Ten gigabytes that are only claimed, or an upload's answer with a body.
    let vast = b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\nconnection: close\r\n\r\n{}";
    assert_eq!(canned.set(&[vast]).version().unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).tables().unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).manifest("t").unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).delete("t").unwrap_err().code(), "HUSH-R007");
}

#[test]
fn answers_are_fetched_up_to_the_length_that_is_allowed() {
    let (canned, id) = with_job();
    let status = |bytes: u64, answer: &[u8]| {
        let result = Some((bytes, Digest::of(answer)));
        JobStatus { id: id.clone(), state: JobState::Done, ahead: 0, result, failure: None }
    };
    let server = canned.body(b"0123456789");
    assert_eq!(server.fetch(&status(10, b"0123456789"), 10).unwrap(), b"0123456789");
    assert_eq!(server.fetch(&status(10, b"0123456789"), 9).unwrap_err().code(), "HUSH-R007");
    // The stated length is shorter or longer than the body.
    assert_eq!(server.fetch(&status(9, b"012345678"), 10).unwrap_err().code(), "HUSH-R006");
    assert_eq!(server.fetch(&status(11, b"0123456789"), 20).unwrap_err().code(), "HUSH-R006");
    for vast in [10 << 30, u64::MAX] {
        assert_eq!(server.fetch(&status(vast, b""), 1 << 30).unwrap_err().code(), "HUSH-R007");
    }
    assert_eq!(server.fetch(&status(u64::MAX, b""), u64::MAX).unwrap_err().code(), "HUSH-R007");
}

/// The client's token file: a text that is longer than a token is not cut to one.
#[test]
fn token_files_are_read_whole_or_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, b"").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let check = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match ApiToken::from_file(&path) {
            Ok(token) => {
                assert_eq!(token.bearer().as_bytes(), [b"Bearer ", bytes.trim_ascii()].concat());
                assert!(bytes.len() <= 1026);
                true
            }
            Err(error) => {
                assert_eq!(error.code(), "HUSH-R015");
                false
            }
        }
    };
    let token = |length: usize, end: &str| format!("{}{end}", "x".repeat(length)).into_bytes();
    assert!(check(&token(32, "\n")) && check(&token(1024, "\r\n")) && check(&token(1024, "")));
    assert!(!check(&token(31, "\n")) && !check(&token(1025, "")) && !check(&token(1024, "\n\n\n")));
    assert!(!check(&[token(32, ""), vec![b' '; 995], token(32, "")].concat()));
    // This reader agrees with the server's.
    let servers = Corpus::of(concat!(env!("CARGO_MANIFEST_DIR"), "/../hush-server"));
    for file in servers.files().iter().filter(|file| file.reader() == "token") {
        assert_eq!(check(&file.bytes), file.reason.is_empty(), "{}", file.path());
    }
    let accepted = damaged("token file", 400, &token(64, "\n"), check);
    assert!(accepted > 20, "{accepted}");
    std::fs::write(&path, token(32, "\n")).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
    assert_eq!(ApiToken::from_file(&path).unwrap_err().code(), "HUSH-R015");
}
