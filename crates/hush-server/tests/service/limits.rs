// SPDX-License-Identifier: Apache-2.0
//! Caps and patience.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use crate::fixture::PLAIN;
use crate::harness::{Service, eventually, start};
use crate::jobs::{finished, plan, submit};

fn route(fill: char) -> String {
    format!("/v1/tables/t/parts/{}.enc", fill.to_string().repeat(64))
}

#[test]
fn requests_above_the_cap_are_answered_busy_and_places_come_back() {
    let service = start(&["--max-requests", "2"]);
    let one = service.begin_upload(&route('a'), 100_000, b"begun");
    let two = service.begin_upload(&route('b'), 100_000, b"begun");
    // Both hold a place once their first bytes are on disk.
    eventually("both uploads are under way", || {
        let written = |fill: char| {
            let file = service.path(&format!("uploads/t/{}.enc.parquet", fill.to_string().repeat(64)));
            file.metadata().is_ok()
        };
        (written('a') && written('b')).then_some(())
    });
    for _ in 0..20 {
        let busy = service.get("/v1/version");
        assert_eq!((busy.status, busy.code().as_str()), (503, "HUSH-V004"));
        assert_eq!(busy.header("retry-after"), Some("1"));
    }
    assert_eq!(service.call_bare("GET", "/v1/health", &[], b"").status, 200);
    let stranger = service.call_bare("GET", "/v1/version", &[], b"");
    assert_eq!(stranger.status, 401);
    drop((one, two));
    eventually("the places come back", || (service.get("/v1/version").status == 200).then_some(()));
}

#[test]
fn a_download_keeps_its_place_until_its_last_byte() {
    let service = start(&["--max-requests", "1"]);
    // More than the socket buffers of both ends take.
    let content = vec![7_u8; 32 << 20];
    let route = format!("/v1/tables/t/parts/{}.clear", blake3::hash(&content).to_hex());
    assert_eq!(service.put(&route, &content).status, 201);
    let mut socket = service.socket();
    let head = format!(
        "GET {route} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        service.token
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 1000];
    socket.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200"));
    assert_eq!(service.get("/v1/version").code(), "HUSH-V004");
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > content.len() - 1000);
    eventually("the place comes back", || (service.get("/v1/version").status == 200).then_some(()));
}

#[test]
fn bodies_in_memory_are_counted() {
    let service = start(&["--max-buffered-bytes", "8192"]);
    let mut waiting = service.socket();
    let head = format!(
        "PUT /v1/tables/t/manifest HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n\
         content-length: 8000\r\nexpect: 100-continue\r\n\r\n",
        service.token
    );
    waiting.write_all(head.as_bytes()).unwrap();
    // The service asks for the body only once it has reserved its memory.
    let mut interim = [0; 21];
    waiting.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue");
    assert_eq!(service.put("/v1/tables/t/manifest", &[0; 8000]).code(), "HUSH-V004");
    // What fits beside it is read, and refused for what it is.
    assert_eq!(service.put("/v1/tables/t/manifest", b"").code(), "HUSH-V016");
    drop(waiting);
    eventually("the memory comes back", || {
        (service.put("/v1/tables/t/manifest", &[0; 8000]).code() == "HUSH-V016").then_some(())
    });
}

#[test]
fn a_silent_body_is_given_up_and_what_came_is_kept() {
    let service = start(&["--idle-s", "1"]);
    let mut socket = service.begin_upload(&route('c'), 100_000, b"begun");
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(service.offset(&route('c')), 5);
}

#[test]
fn heads_are_bounded_in_size_and_time() {
    let service = start(&["--idle-s", "2"]);
    let large = format!("GET /v1/health HTTP/1.1\r\nhost: h\r\nx-large: {}\r\n\r\n", "x".repeat(20_000));
    assert!(service.raw(large.as_bytes()).starts_with("HTTP/1.1 431"));
    let many: String = (0..100).map(|number| format!("x-{number}: y\r\n")).collect();
    let many = format!("GET /v1/health HTTP/1.1\r\nhost: h\r\n{many}\r\n");
    assert!(service.raw(many.as_bytes()).starts_with("HTTP/1.1 431"));
    // Never finished: the server closes, whether it says so first or not.
    let unfinished = service.raw(b"GET /v1/health HTTP/1.1\r\nhost: h\r\n");
    assert!(unfinished.is_empty() || unfinished.starts_with("HTTP/1.1 408"), "{unfinished}");
    assert_eq!(service.call_bare("GET", "/v1/health", &[], b"").status, 200);
}

#[test]
fn tables_and_unfinished_uploads_have_limits_that_a_refusal_states() {
    let service = start(&["--max-tables", "2", "--max-uploads-bytes", "1000"]);
    let part =
        |table: &str, fill: char| format!("/v1/tables/{table}/parts/{}.enc", fill.to_string().repeat(64));
    let put = |route: &str, bytes: usize| {
        let range = format!("bytes 0-{}/5000", bytes - 1);
        service.call("PUT", route, &[("content-range", &range)], &vec![1; bytes])
    };
    assert_eq!(put(&part("one", 'a'), 600).status, 202);
    let over = put(&part("two", 'b'), 401);
    assert_eq!((over.status, over.code().as_str()), (507, "HUSH-V032"));
    assert_eq!((over.json()["found"].as_u64(), over.json()["limit"].as_u64()), (Some(1001), Some(1000)));
    assert_eq!(put(&part("two", 'b'), 300).status, 202);
    let over = put(&part("three", 'c'), 1);
    assert_eq!((over.status, over.code().as_str()), (507, "HUSH-V031"));
    assert_eq!((over.json()["found"].as_u64(), over.json()["limit"].as_u64()), (Some(3), Some(2)));
    assert_eq!(service.put("/v1/tables/three/manifest", b"x").code(), "HUSH-V031");
    // Nothing of it is a table yet, but its bytes and its place are given back.
    assert_eq!(service.call("DELETE", "/v1/tables/one", &[], b"").code(), "HUSH-V014");
    assert_eq!(put(&part("three", 'c'), 600).status, 202);
    let limits = service.get("/v1/version").json()["limits"].clone();
    assert_eq!((limits["tables"].as_u64(), limits["uploads_bytes"].as_u64()), (Some(2), Some(1000)));
}

/// Takes the only place for work; `drop` gives it back.
fn take_the_place(service: &Service) -> std::net::TcpStream {
    eventually("the place is taken", || {
        // It is refused itself if it arrives while the server still answers a question.
        let upload = service.begin_upload(&route('a'), 100_000, b"begun");
        (0..200).any(|_| service.get("/v1/version").status == 503).then_some(upload)
    })
}

/// Polls, fetches and deletions once waited behind whatever came in, and were refused.
#[test]
fn an_accepted_job_is_collected_while_work_takes_all_places() {
    for polls in ["0", "1"] {
        let service = start(&["--max-requests", "1", "--max-collecting", "1", "--max-polls", polls]);
        let table = PLAIN.make();
        table.push(&service);
        let id = submit(&service, &plan(&table, None));
        let work = take_the_place(&service);
        assert_eq!(service.call("POST", "/v1/jobs", &[], &plan(&table, None)).code(), "HUSH-V004");
        let job = format!("/v1/jobs/{id}");
        eventually("the job is done", || {
            let status = service.get(&format!("{job}?wait_ms=1000"));
            assert_eq!(status.status, 200);
            (status.json()["state"] == "done").then_some(())
        });
        assert_eq!(service.get(&format!("{job}/result")).status, 200);
        assert_eq!(service.call("DELETE", &job, &[], b"").status, 204);
        assert_eq!(service.get("/v1/version").code(), "HUSH-V004");
        drop(work);
    }
}

/// The response to a request on an open connection: its status line, and the connection for more.
fn response(socket: &mut BufReader<std::net::TcpStream>) -> String {
    let (mut first, mut length) = (String::new(), 0);
    socket.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).unwrap();
        let lower = line.to_lowercase();
        assert_ne!(lower.trim(), "connection: close");
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    socket.read_exact(&mut vec![0; length]).unwrap();
    first.trim().to_owned()
}

/// The connection once broke under a client that was still sending, and the refusal was lost.
#[test]
fn a_refusal_arrives_at_a_client_that_is_still_sending_and_its_connection_stays() {
    let service = start(&["--max-requests", "1"]);
    let work = take_the_place(&service);
    let mut socket = service.socket();
    let head = |method: &str, path: &str, length: usize| {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-length: {length}\r\n\r\n",
            service.token
        )
    };
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    for (method, path, length) in [("POST", "/v1/jobs".to_owned(), 300_000), ("PUT", route('b'), 4 << 20)] {
        socket.write_all(head(method, &path, length).as_bytes()).unwrap();
        // The refusal is decided by now.
        std::thread::sleep(Duration::from_millis(100));
        for piece in vec![b' '; length].chunks(100_000) {
            socket.write_all(piece).unwrap();
        }
        assert_eq!(response(&mut reader), "HTTP/1.1 503 Service Unavailable", "{method}");
    }
    drop(work);
    eventually("the place comes back", || {
        socket.write_all(head("GET", "/v1/version", 0).as_bytes()).unwrap();
        (response(&mut reader) == "HTTP/1.1 200 OK").then_some(())
    });
    // Refused by its route, not by the door: the same.
    socket.write_all(head("POST", "/v1/jobs", 200_000).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    socket.write_all(&vec![b' '; 200_000]).unwrap();
    assert_eq!(response(&mut reader), "HTTP/1.1 400 Bad Request");
    socket.write_all(head("POST", "/v1/nowhere", 200_000).as_bytes()).unwrap();
    socket.write_all(&vec![b' '; 200_000]).unwrap();
    assert_eq!(response(&mut reader), "HTTP/1.1 404 Not Found");
}

/// Lost deletions once filled the list, for an hour.
#[test]
fn jobs_whose_deletion_was_lost_make_room_and_unfetched_ones_do_not() {
    let service = start(&["--max-jobs", "2", "--idle-s", "1"]);
    let table = PLAIN.make();
    table.push(&service);
    let plan = plan(&table, None);
    let post = || service.call("POST", "/v1/jobs", &[], &plan);
    let result = |id: &str| service.get(&format!("/v1/jobs/{id}/result"));
    let ids = [submit(&service, &plan), submit(&service, &plan)];
    ids.iter().for_each(|id| assert_eq!(finished(&service, id)["state"], "done"));
    // Done, but nobody has the answers yet: they stay, for longer than a fetched one would.
    std::thread::sleep(Duration::from_millis(1500));
    let refused = post();
    assert_eq!((refused.status, refused.code().as_str()), (503, "HUSH-V004"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    let answer = result(&ids[0]).body;
    assert!(!answer.is_empty());
    assert_eq!(post().code(), "HUSH-V004");
    assert_eq!(result(&ids[0]).body, answer);
    let third = eventually("a fetched job makes room", || {
        let accepted = post();
        (accepted.status == 202).then(|| accepted.json()["id"].as_str().unwrap().to_owned())
    });
    assert_eq!(result(&ids[0]).code(), "HUSH-V024");
    assert_eq!(result(&ids[1]).body, answer);
    assert_eq!(finished(&service, &third)["state"], "done");
    assert_eq!(result(&third).body, answer);
}
