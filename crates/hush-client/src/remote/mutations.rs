// SPDX-License-Identifier: Apache-2.0
//! Damaged replies of a server, over real sockets: each ends in a typed error whose text is safe to show, or in a value that
//! keeps its rules; bodies are read up to their limits.
//!
//! `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hush_table::{Digest, TableStore};

use super::job::{JobId, JobState, JobStatus};
use super::transport::is_code;
use super::*;
use crate::progress::Silent;
use hush_testkit::damaged;
use hush_testkit::damaged_json;

const JOB: &str = "00112233445566778899aabbccddeeff";

/// A server that gives the next of its replies on each connection, and the last one for ever.
struct Canned {
    client: RemoteServer,
    replies: Arc<Mutex<Vec<Vec<u8>>>>,
    /// First lines of the requests since the replies were set.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client =
            RemoteServer::new(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
        client.transport.first_pause = Duration::ZERO;
        let (replies, asked) = (Arc::new(Mutex::new(Vec::<Vec<u8>>::new())), Arc::default());
        let canned = Self { client, replies: Arc::clone(&replies), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                exchange(stream, &asked, || {
                    let mut replies = replies.lock().unwrap();
                    if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() }
                });
            }
        });
        canned
    }

    fn set(&self, replies: &[&[u8]]) -> &RemoteServer {
        *self.replies.lock().unwrap() = replies.iter().map(|reply| reply.to_vec()).collect();
        self.asked.lock().unwrap().clear();
        &self.client
    }

    /// Bytes of a body, under a sound head.
    fn body(&self, body: &[u8]) -> &RemoteServer {
        self.set(&[&response("200 OK", body)])
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads one request, but not a body that waits for leave, and answers it.
fn exchange(stream: TcpStream, asked: &Mutex<Vec<String>>, reply: impl FnOnce() -> Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length, mut waits) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        let lower = line.to_lowercase();
        match lower.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("expect", _)) => waits = true,
            _ => {}
        }
        head.push_str(&line);
    }
    asked.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
    let _ = reader.read_exact(&mut vec![0; if waits { 0 } else { length }]);
    let _ = reader.into_inner().write_all(&reply());
}

fn response(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A reply that ends with its connection.
fn endless(body: &[u8]) -> Vec<u8> {
    [&b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"[..], body].concat()
}

/// Every error has a code and a text that a terminal can be given; false, for the counts.
fn sound(error: &RemoteError) -> bool {
    let text = error.to_string();
    assert!(error.code().starts_with("HUSH-"), "{text}");
    assert!(text.len() < 1000 && text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    if let RemoteError::Refused { code, .. } = error {
        assert!(is_code(code), "{code:?}");
    }
    false
}

fn job() -> JobId {
    let canned = Canned::new();
    canned.body(format!("{{\"id\":\"{JOB}\"}}").as_bytes()).submit(b"{}").unwrap()
}

/// Damages a body as JSON, and the whole reply by bytes, with status line and headers.
fn attack(name: &str, canned: &Canned, body: &str, mut ask: impl FnMut(&RemoteServer) -> bool) -> usize {
    assert!(ask(canned.body(body.as_bytes())), "{name}: the original");
    let by_words = damaged_json(name, 250, body.as_bytes(), |bytes| ask(canned.body(bytes)));
    let whole = response("200 OK", body.as_bytes());
    by_words + damaged(name, 120, &whole, |bytes| ask(canned.set(&[bytes])))
}

const STATUSES: [&str; 3] = [
    r#"{"id":"00112233445566778899aabbccddeeff","state":"queued","progress":{"ahead":3,"running_s":0,"attempts":0},"code":null,"message":null,"result":null}"#,
    r#"{"id":"x","state":"failed","progress":{"ahead":0,"running_s":7,"attempts":1},"code":"HUSH-E031","message":"a sentence","result":null}"#,
    r#"{"id":"x","state":"done","progress":{"ahead":0,"running_s":7,"attempts":1},"code":null,"message":null,
        "result":{"bytes":9,"blake3":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}"#,
];

#[test]
fn damaged_states_and_lists_are_refused_or_keep_their_rules() {
    let (canned, job) = (Canned::new(), job());
    let version =
        r#"{"name":"hush-server","version":"0.1.0","plan_format":1,"limits":{"max_plan_bytes":1048576}}"#;
    attack("version", &canned, version, |server| {
        server.version().map_or_else(|error| sound(&error), |version| version.name.len() < 1 << 16)
    });
    let table = r#"{"name":"patients","version":3,"rows":6000,"bytes":123456,"key_id":"0123456789abcdef0123456789abcdef"}"#;
    attack("tables", &canned, &format!("[{table},{table}]"), |server| {
        server.tables().map_or_else(|error| sound(&error), |tables| tables.len() < 1000)
    });
    attack("accepted job", &canned, &format!("{{\"id\":\"{JOB}\"}}"), |server| {
        let id = |id: JobId| server.poll(&id, 0).map_or_else(|error| sound(&error), |_| true);
        // What an id is has been checked: it is 32 digits, so that the path of the poll is no other.
        let accepted = server.submit(b"{}").map(id).map_err(|error| sound(&error)).is_ok();
        if accepted {
            let asked = canned.asked();
            let path = asked.iter().find(|line| line.starts_with("GET")).unwrap();
            let path =
                path.strip_prefix("GET /v1/jobs/").unwrap().strip_suffix("?wait_ms=0 HTTP/1.1").unwrap();
            assert!(path.len() == 32 && path.bytes().all(|byte| byte.is_ascii_hexdigit()), "{asked:?}");
        }
        accepted
    });
    for status in STATUSES {
        attack("job status", &canned, status, |server| match server.poll(&job, 0) {
            Err(error) => sound(&error),
            Ok(status) => {
                assert!(status.state != JobState::Done || status.result.is_some());
                assert!(status.state != JobState::Failed || status.failure.is_some());
                let texts = status.failure.iter().flat_map(|(code, message)| [code, message]);
                texts.for_each(|text| {
                    assert!(text.len() <= 300 && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
                });
                true
            }
        });
    }
}

#[test]
fn damaged_refusals_are_told_without_what_a_terminal_would_obey() {
    let canned = Canned::new();
    let body = r#"{"code":"HUSH-V033","message":"answers take all the space","request_id":"1","found":13,"limit":10}"#;
    for status in ["507 Insufficient Storage", "404 Not Found", "401 Unauthorized", "503 Service Unavailable"]
    {
        let ask = |bytes: &[u8]| sound(&canned.set(&[bytes]).version().unwrap_err());
        damaged_json("refusal", 100, body.as_bytes(), |body| ask(&response(status, body)));
        damaged("refusal", 50, &response(status, body.as_bytes()), |reply| {
            // A damaged status line may turn the refusal into a success of another form.
            canned.set(&[reply]).version().map_or_else(|error| sound(&error), |_| true)
        });
    }
}

#[test]
fn damaged_manifests_and_answers_are_refused_or_are_whole() {
    let (canned, id) = (Canned::new(), job());
    let golden = include_bytes!("../../../hush-table/tests/golden/table_v1/manifest.hush");
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v1")
}

#[test]
fn damaged_replies_to_uploads_end_the_push_or_are_taken_at_their_word() {
    let canned = Canned::new();
    let manifest = TableStore::local_existing(golden_table()).unwrap().load().unwrap();
    let facts = serde_json::json!({
        "version": 1, "manifest": "0".repeat(64), "verifying_key": hush_table::to_hex(manifest.key()),
    });
    let present = response("200 OK", facts.to_string().as_bytes());
    let absent = response("404 Not Found", br#"{"code":"HUSH-V014","message":"no such table"}"#);
    let stands =
        b"HTTP/1.1 404 Not Found\r\nupload-offset: 7\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let complete =
        b"HTTP/1.1 201 Created\r\nupload-complete: ?1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let push = |replies: &[&[u8]]| match canned.set(replies).push(&golden_table(), &Silent) {
        Err(error) => sound(&error),
        Ok(report) => {
            assert!(report.parts_sent + report.parts_present == 2, "{report:?}");
            true
        }
    };
    // Each half of the part is asked for and sent, then the manifest.
    let sound: [&[u8]; 6] = [&present, stands, complete, stands, complete, complete];
    assert!(push(&sound));
    assert!(push(&[&absent, stands, complete, stands, complete, complete]));
    assert_eq!(canned.asked().len(), 6);
    for (place, count) in [(0, 300), (1, 60), (3, 60)] {
        damaged("upload", count, sound[place], |reply| {
            let mut replies = sound;
            replies[place] = reply;
            push(&replies)
        });
    }
    // Heads that end: where a connection closes before that, the library looks for leave to send for a second, each time.
    for place in [2, 4, 5] {
        damaged("upload", 60, b"201 Created\r\nupload-complete: ?1", |head| {
            let end = b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let reply = [b"HTTP/1.1 ", head, end].concat();
            let mut replies = sound;
            replies[place] = &reply;
            push(&replies)
        });
    }
    damaged_json("table", 200, facts.to_string().as_bytes(), |bytes| {
        push(&[&response("200 OK", bytes), stands, complete, stands, complete, complete])
    });
}

/// A server that takes every byte and never has all.
#[test]
fn an_upload_that_never_ends_is_given_up() {
    let canned = Canned::new();
    let absent = response("404 Not Found", br#"{"code":"HUSH-V014","message":"no such table"}"#);
    // To the question where the upload stands, and to what is sent from there.
    let stands =
        b"HTTP/1.1 404 Not Found\r\nupload-offset: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let taken = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let mut replies: Vec<&[u8]> = vec![&absent];
    (0..50).for_each(|_| replies.extend([&stands[..], &taken[..]]));
    let error = canned.set(&replies).push(&golden_table(), &Silent).unwrap_err();
    assert_eq!(error.code(), "HUSH-R001", "{error}");
    assert!(canned.asked().len() < 20, "{}", canned.asked().len());
}

#[test]
fn a_failed_job_has_a_code_and_a_done_one_a_result() {
    let (canned, job) = (Canned::new(), job());
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
    let plan = include_bytes!("../../../hush-plan/tests/corpus/0.1/plan-rows.json");
    let accepted = response("202 Accepted", format!("{{\"id\":\"{JOB}\"}}").as_bytes());
    let [queued, failed, _] = STATUSES.map(|status| response("200 OK", status.as_bytes()));
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
    // Ten gigabytes that are only said, or an upload's answer with a body.
    let vast = b"HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\nconnection: close\r\n\r\n{}";
    assert_eq!(canned.set(&[vast]).version().unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).tables().unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).manifest("t").unwrap_err().code(), "HUSH-R007");
    assert_eq!(canned.set(&[vast]).delete("t").unwrap_err().code(), "HUSH-R007");
}

#[test]
fn answers_are_fetched_up_to_the_length_that_is_allowed() {
    let (canned, id) = (Canned::new(), job());
    let status = |bytes: u64, answer: &[u8]| {
        let result = Some((bytes, Digest::of(answer)));
        JobStatus { id: id.clone(), state: JobState::Done, ahead: 0, result, failure: None }
    };
    let server = canned.body(b"0123456789");
    assert_eq!(server.fetch(&status(10, b"0123456789"), 10).unwrap(), b"0123456789");
    assert_eq!(server.fetch(&status(10, b"0123456789"), 9).unwrap_err().code(), "HUSH-R007");
    // Said to be shorter or longer than what comes.
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
    let accepted = damaged("token file", 400, &token(64, "\n"), check);
    assert!(accepted > 20, "{accepted}");
    std::fs::write(&path, token(32, "\n")).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10 << 30).unwrap();
    assert_eq!(ApiToken::from_file(&path).unwrap_err().code(), "HUSH-R015");
}
