// SPDX-License-Identifier: Apache-2.0
//! Against a server that misbehaves on purpose: canned responses over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use hush_table::error::ErrorKind;

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Answers one connection per response, in order; returns the requests' heads.
fn scripted(responses: Vec<String>) -> (RemoteServer, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heads) = channel();
    std::thread::spawn(move || {
        for response in responses {
            let Ok((stream, _)) = listener.accept() else { return };
            let _ = sender.send(exchange(stream, &response));
        }
    });
    (RemoteServer::new(&url, Some(ApiToken::new(TOKEN).unwrap())).unwrap(), heads)
}

fn exchange(stream: TcpStream, response: &str) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let _ = reader.read_exact(&mut vec![0; length]);
    let _ = reader.into_inner().write_all(response.as_bytes());
    head
}

fn response(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn refusal(status: &str, code: &str, message: &str) -> String {
    let body = serde_json::json!({ "code": code, "message": message, "request_id": "1" });
    response(status, &body.to_string())
}

const VERSION: &str = r#"{"name":"hush-server","version":"9","plan_format":1,"limits":{"more":1}}"#;

#[test]
fn the_token_goes_with_every_request_and_into_no_text() {
    let (server, heads) = scripted(vec![response("200 OK", VERSION)]);
    assert_eq!(server.version().unwrap().version, "9");
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.starts_with("get /v1/version http/1.1"));
    assert!(head.contains(&format!("authorization: bearer {TOKEN}")));
    assert!(!format!("{server:?}").contains(TOKEN));
}

#[test]
fn busy_servers_and_broken_connections_are_tried_again() {
    let responses = vec![
        refusal("503 Service Unavailable", "HUSH-V004", "busy"),
        response("502 Bad Gateway", "<html>"),
        String::new(),
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort".to_owned(),
        response("200 OK", VERSION),
    ];
    let count = responses.len();
    let (server, heads) = scripted(responses);
    assert_eq!(server.version().unwrap().plan_format, 1);
    assert_eq!(heads.iter().take(count).count(), count);
}

#[test]
fn refusals_keep_their_code_and_lose_what_a_terminal_would_obey() {
    let missing = |code| refusal("404 Not Found", code, "no \u{1b}[31mtable\u{7}");
    let (server, _heads) = scripted(vec![missing("HUSH-V015"), missing("HUSH-V014")]);
    let error = server.manifest("t").unwrap_err();
    assert_eq!((error.code(), error.kind()), ("HUSH-R005", ErrorKind::Remote));
    let RemoteError::Refused { status, code, message } = error else { panic!("{error}") };
    assert_eq!((status, code.as_str(), message.as_str()), (404, "HUSH-V015", "no ?[31mtable?"));
    // The client reports a missing table in its own words, with the name.
    let error = server.manifest("t").unwrap_err();
    assert_eq!((error.code(), error.server_code()), ("HUSH-R005", Some("HUSH-V014")));
    assert!(error.to_string().contains("no table \"t\""), "{error}");
}

/// A server whose files lie in an object store gives an address there. The token stays with the server.
#[test]
fn a_file_is_read_at_the_address_that_the_server_gives() {
    let (store, asked) = scripted(vec![response("206 Partial Content", "cdef")]);
    let redirect = |to: &str| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        )
    };
    let address = format!("{}/lake/jobs/1/result?X-Amz-Signature=00ff", store.url());
    let (server, heads) =
        scripted(vec!["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nab".to_owned(), redirect(&address)]);
    let mut received = Vec::new();
    let mut sink = |piece: &[u8]| received.extend_from_slice(piece);
    job::stream(&server.transport, "/v1/jobs/1/result", 6, &Silent, &mut sink).unwrap();
    assert_eq!(received, b"abcdef");
    let (at_server, at_store) =
        (heads.iter().nth(1).unwrap().to_lowercase(), asked.recv().unwrap().to_lowercase());
    assert!(at_server.contains(TOKEN) && at_server.contains("range: bytes=2-5"));
    assert!(at_store.starts_with("get /lake/jobs/1/result?x-amz-signature=00ff http/1.1"), "{at_store}");
    assert!(at_store.contains("range: bytes=2-5") && !at_store.contains("authorization"), "{at_store}");

    // What leads out of encryption, nowhere, to a refusal or further on is an error, and no text has the address.
    let (away, _) = scripted(vec![redirect("http://127.0.0.1:1/"), response("403 Forbidden", "<Error>")]);
    for bad in [
        "http://lake.example/x",
        "ftp://h/x",
        "/v1/version",
        "//h",
        "https://a@h/x",
        "",
        away.url(),
        away.url(),
    ] {
        let (server, _heads) = scripted(vec![redirect(bad)]);
        let error = server.manifest("t").unwrap_err();
        assert!(matches!(error, RemoteError::Protocol { .. }), "{bad}: {error}");
        assert!(bad.is_empty() || !error.to_string().contains(bad), "{error}");
    }
    // An upload is not led elsewhere.
    let (server, _heads) = scripted(vec![redirect(&address)]);
    assert!(matches!(server.submit(b"{}"), Err(RemoteError::Protocol { .. })));
}

#[test]
fn a_wrong_token_is_its_own_error_and_not_tried_again() {
    let (server, heads) = scripted(vec![refusal("401 Unauthorized", "HUSH-V001", "token")]);
    let error = server.tables().unwrap_err();
    assert_eq!((error.code(), error.kind()), ("HUSH-R004", ErrorKind::Key));
    assert_eq!(heads.iter().count(), 1);
}

#[test]
fn other_servers_are_recognised_as_such() {
    for strange in [
        response("404 Not Found", "<html>not found</html>"),
        response("200 OK", "<html>welcome</html>"),
        refusal("400 Bad Request", "not a code", "x"),
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into(),
    ] {
        let (server, _heads) = scripted(vec![strange.clone()]);
        assert_eq!(server.version().unwrap_err().code(), "HUSH-R006", "{strange}");
    }
}

#[test]
fn responses_are_bounded_before_they_are_read() {
    let huge = "HTTP/1.1 200 OK\r\ncontent-length: 9000000000000000000\r\n\r\n".to_owned();
    let (server, _heads) = scripted(vec![huge.clone()]);
    assert_eq!(server.tables().unwrap_err().code(), "HUSH-R007");
    let (server, _heads) = scripted(vec![huge]);
    assert_eq!(server.manifest("t").unwrap_err().code(), "HUSH-R007");
    // Without a length: read up to the limit.
    let endless = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(100_000));
    let (server, _heads) = scripted(vec![endless]);
    assert_eq!(server.version().unwrap_err().code(), "HUSH-R007");
}

fn done(id: &JobId, answer: &[u8]) -> JobStatus {
    let result = Some((answer.len() as u64, hush_table::Digest::of(answer)));
    JobStatus { id: id.clone(), state: JobState::Done, ahead: 0, result, failure: None }
}

fn accepted(id: &str) -> String {
    response("202 Accepted", &serde_json::json!({ "id": id }).to_string())
}

const JOB: &str = "00112233445566778899aabbccddeeff";

#[test]
fn an_answer_is_continued_by_range_and_checked() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\n0123".to_owned();
    let rest = "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 4-9/10\r\ncontent-length: 6\r\n\
                connection: close\r\n\r\n456789";
    let (server, heads) = scripted(vec![accepted(JOB), cut.clone(), rest.to_owned()]);
    let job = server.submit(b"{}").unwrap();
    assert!(heads.recv().unwrap().to_lowercase().contains("idempotency-key: "));
    let status = done(&job, b"0123456789");
    assert_eq!(server.fetch(&status, 10).unwrap(), b"0123456789");
    assert_eq!(server.fetch(&status, 9).unwrap_err().code(), "HUSH-R007");
    heads.recv().unwrap();
    assert!(heads.recv().unwrap().to_lowercase().contains("range: bytes=4-9"));

    let (server, _heads) = scripted(vec![cut, rest.replace("456789", "45678x")]);
    let altered = server.fetch(&status, 10).unwrap_err();
    assert_eq!((altered.code(), altered.kind()), ("HUSH-R008", ErrorKind::Damaged));
}

#[test]
fn job_ids_that_would_change_an_address_are_refused() {
    for bad in ["../../v1/tables/t", "", "00112233445566778899aabbccddeef?", &JOB[1..]] {
        let (server, _heads) = scripted(vec![accepted(bad)]);
        assert_eq!(server.submit(b"{}").unwrap_err().code(), "HUSH-R006", "{bad:?}");
    }
}

#[test]
fn addresses_names_and_tokens_are_checked_before_anything_is_sent() {
    let code = |url: &str| RemoteServer::new(url, None).map(drop).unwrap_err().code();
    for bad in ["", "host", "ftp://host", "http://", "http://user@host", "http://host?x=1", "http://h h"] {
        assert_eq!(code(bad), "HUSH-R010", "{bad:?}");
    }
    for far in ["http://example.org", "http://10.0.0.1:7373", "http://127.0.0.1.example.org"] {
        assert_eq!(code(far), "HUSH-R011", "{far}");
        let options = RemoteOptions { plain_http: PlainHttp::Anywhere, ..RemoteOptions::default() };
        assert!(RemoteServer::with_options(far, None, &options).is_ok());
    }
    for good in ["https://example.org/hush/", "http://localhost:1", "http://127.9.9.9", "http://[::1]:7373"] {
        let server = RemoteServer::new(good, None).unwrap();
        assert_eq!(server.url(), good.trim_end_matches('/'));
        for name in ["", "a/b", "..", "a b", "-x", &"x".repeat(65)] {
            assert_eq!(server.manifest(name).unwrap_err().code(), "HUSH-R014", "{name:?}");
        }
    }
    let options = RemoteOptions { root_certificates: Some(b"no pem".to_vec()), ..RemoteOptions::default() };
    let error = RemoteServer::with_options("https://example.org", None, &options).map(drop).unwrap_err();
    assert_eq!(error.code(), "HUSH-R013");
    assert!(ApiToken::new("short").is_err());
    assert!(ApiToken::new(&format!("{TOKEN}\n{TOKEN}")).is_err());
}

#[cfg(unix)]
#[test]
fn token_files_that_others_can_read_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = ApiToken::from_file(&path).unwrap_err();
    assert_eq!(exposed.code(), "HUSH-R015");
    assert!(exposed.to_string().contains("chmod 600"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(ApiToken::from_file(&path).unwrap().bearer().as_str(), format!("Bearer {TOKEN}"));
    assert!(ApiToken::from_file(&dir.path().join("missing")).is_err());
}

#[test]
fn a_plan_that_is_none_is_not_sent() {
    let (server, heads) = scripted(Vec::new());
    assert_eq!(server.run(b"{}", &Silent).unwrap_err().code(), "HUSH-R099");
    assert_eq!(heads.iter().count(), 0);
}

#[test]
fn a_job_that_ended_while_it_was_submitted_is_not_asked_for() {
    use crate::canned;
    let canned = canned::Canned::new();
    let plan = include_bytes!("../../hush-plan/tests/corpus/0.2/plan-rows.json");
    let accepted = |ended: serde_json::Value| {
        canned::response(
            "202 Accepted",
            serde_json::json!({ "id": JOB, "ended": ended }).to_string().as_bytes(),
        )
    };
    let status = |state: &str, rest: serde_json::Value| {
        let mut status = serde_json::json!({ "id": JOB, "state": state, "progress": { "ahead": 0 } });
        status.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        status
    };
    let answer = b"an answer";
    let facts = serde_json::json!({ "bytes": answer.len(), "blake3": hush_table::Digest::of(answer) });
    let done = status("done", serde_json::json!({ "result": facts }));
    let fetched = canned::response("200 OK", answer);
    let gone = canned::response("204 No Content", b"");
    let asked = |canned: &canned::Canned| {
        let lines = canned.asked();
        lines.iter().map(|line| line.split(" HTTP").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (submitted, job) = ("POST /v1/jobs?wait_ms=100", format!("/v1/jobs/{JOB}"));
    let replies: [&[u8]; 3] = [&accepted(done.clone()), &fetched, &gone];
    assert_eq!(canned.set(&replies).run(plan, &Silent).unwrap(), answer);
    assert_eq!(asked(&canned), [submitted, &format!("GET {job}/result"), &format!("DELETE {job}")]);

    let failed = status("failed", serde_json::json!({ "code": "HUSH-E043", "message": "too slow" }));
    let error = canned.set(&[&accepted(failed), &gone]).run(plan, &Silent).unwrap_err();
    assert_eq!(error.server_code(), Some("HUSH-E043"));
    assert_eq!(asked(&canned), [submitted, &format!("DELETE {job}")]);

    // A job that has not ended is polled; a job that is done must have a result.
    let running = status("running", serde_json::json!({}));
    let told = canned::response("200 OK", done.to_string().as_bytes());
    let replies: [&[u8]; 4] = [&accepted(running), &told, &fetched, &gone];
    assert_eq!(canned.set(&replies).run(plan, &Silent).unwrap(), answer);
    assert_eq!(canned.asked().len(), 4);
    let empty = status("done", serde_json::json!({}));
    assert_eq!(canned.set(&[&accepted(empty)]).run(plan, &Silent).unwrap_err().code(), "HUSH-R006");
}

/// At every step of a job, a server may ask for patience more often than it may fail.
#[test]
fn a_server_at_its_limit_is_asked_again_until_it_has_room() {
    use crate::canned;
    let canned = canned::Canned::new();
    let busy = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let plan = include_bytes!("../../hush-plan/tests/corpus/0.2/plan-rows.json");
    let answer = b"an answer";
    let accepted = canned::response("202 Accepted", format!("{{\"id\":\"{JOB}\"}}").as_bytes());
    let facts = serde_json::json!({ "bytes": answer.len(), "blake3": hush_table::Digest::of(answer) });
    let status = serde_json::json!({ "state": "done", "progress": { "ahead": 0 }, "result": facts });
    let done = canned::response("200 OK", status.to_string().as_bytes());
    let fetched = canned::response("200 OK", answer);
    let gone = canned::response("204 No Content", b"");
    let mut replies: Vec<&[u8]> = Vec::new();
    for step in [&accepted, &done, &fetched, &gone] {
        replies.extend([&busy[..]; 15]);
        replies.push(step);
    }
    assert_eq!(canned.set(&replies).run(plan, &Silent).unwrap(), answer);
    assert_eq!(canned.asked().len(), replies.len());
    // Without Retry-After it is a failure like another.
    let bare = canned::response("503 Service Unavailable", b"");
    let failed = canned.set(&[&bare]).run(plan, &Silent).unwrap_err();
    assert_eq!(failed.code(), "HUSH-R003");
    assert_eq!(canned.asked().len(), 7);
}
