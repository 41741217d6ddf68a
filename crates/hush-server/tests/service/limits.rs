// SPDX-License-Identifier: Apache-2.0
//! Caps and patience.

use std::io::{Read, Write};

use crate::harness::{eventually, start};

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
    let service = start(&[]);
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
