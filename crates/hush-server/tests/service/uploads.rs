// SPDX-License-Identifier: Apache-2.0
//! Parts: resumption, digests, limits.

use std::io::Write;

use crate::harness::{Service, eventually, start};

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

fn route(content: &[u8]) -> String {
    format!("/v1/tables/t/parts/{}.enc", blake3::hash(content).to_hex())
}

fn put_range(service: &Service, route: &str, range: &str, body: &[u8]) -> crate::harness::Answer {
    service.call("PUT", route, &[("content-range", range)], body)
}

#[test]
fn a_truncated_upload_continues_where_it_ended() {
    let service = start(&[]);
    let content = content(300_000);
    let route = route(&content);
    assert_eq!(service.offset(&route), 0);
    let mut socket = service.begin_upload(&route, content.len(), &content[..100_000]);
    eventually("the first bytes arrive", || (service.offset(&route) > 0).then_some(()));
    // The same part over another connection meanwhile.
    let second = service.put(&route, &content);
    assert_eq!((second.status, second.code().as_str()), (409, "HUSH-V012"));
    socket.write_all(&content[100_000..150_000]).unwrap();
    socket.flush().unwrap();
    drop(socket);
    let resumed = eventually("the broken upload is resumed", || {
        let offset = service.offset(&route) as usize;
        assert!(offset <= 150_000);
        let range = format!("bytes {offset}-{}/{}", content.len() - 1, content.len());
        let put = put_range(&service, &route, &range, &content[offset..]);
        // 409 while the server has not yet noticed the broken connection or has just taken more bytes from it.
        (put.status != 409).then_some(put)
    });
    assert_eq!((resumed.status, resumed.header("upload-complete")), (201, Some("?1")));
    let head = service.call("HEAD", &route, &[], &[]);
    assert_eq!((head.status, head.header("content-length")), (200, Some("300000")));
    assert_eq!(service.get(&route).body, content);
    assert_eq!(service.put(&route, &content).status, 200);
}

#[test]
fn pieces_assemble_and_gaps_are_refused() {
    let service = start(&[]);
    let content = content(1000);
    let route = route(&content);
    let first = put_range(&service, &route, "bytes 0-399/1000", &content[..400]);
    assert_eq!((first.status, first.header("upload-offset")), (202, Some("400")));
    let gap = put_range(&service, &route, "bytes 500-999/1000", &content[500..]);
    assert_eq!((gap.status, gap.code().as_str()), (409, "HUSH-V011"));
    assert_eq!(gap.header("upload-offset"), Some("400"));
    assert_eq!(service.get(&route).code(), "HUSH-V015");
    let last = put_range(&service, &route, "bytes 400-999/1000", &content[400..]);
    assert_eq!(last.status, 201);

    let ranged = service.call("GET", &route, &[("range", "bytes=990-")], &[]);
    assert_eq!((ranged.status, ranged.header("content-range")), (206, Some("bytes 990-999/1000")));
    assert_eq!(ranged.body, content[990..]);
    let outside = service.call("GET", &route, &[("range", "bytes=1000-")], &[]);
    assert_eq!((outside.status, outside.code().as_str()), (416, "HUSH-V026"));
    assert_eq!(outside.header("content-range"), Some("bytes */1000"));
}

#[test]
fn a_wrong_digest_is_discarded_and_the_right_bytes_still_come_through() {
    let service = start(&[]);
    let content = content(5000);
    let route = route(&content);
    let mut altered = content.clone();
    altered[4321] ^= 1;
    let refused = service.put(&route, &altered);
    assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V013"));
    assert_eq!(service.offset(&route), 0);
    // Altered in an earlier piece: found when the last one comes.
    put_range(&service, &route, "bytes 0-4499/5000", &altered[..4500]);
    let refused = put_range(&service, &route, "bytes 4500-4999/5000", &content[4500..]);
    assert_eq!(refused.code(), "HUSH-V013");
    assert_eq!(service.offset(&route), 0);
    assert_eq!(service.get(&route).code(), "HUSH-V015");
    assert_eq!(service.put(&route, &content).status, 201);
}

#[test]
fn sizes_are_refused_before_they_are_read() {
    let service = start(&["--max-part-bytes", "1000", "--max-table-bytes", "1500"]);
    let large = content(1001);
    assert_eq!(service.put(&route(&large), &large).code(), "HUSH-V008");
    let ranged = put_range(&service, &route(&large), "bytes 0-9/1001", &large[..10]);
    assert_eq!(ranged.code(), "HUSH-V008");
    // Announced only: the answer comes without a byte of the body.
    let announced = service.raw(
        format!(
            "PUT {} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-length: 9000000000000000000\r\n\
             connection: close\r\n\r\n",
            route(&large),
            service.token
        )
        .as_bytes(),
    );
    assert!(announced.starts_with("HTTP/1.1 413") && announced.contains("HUSH-V008"), "{announced}");
    let chunked = service.raw(
        format!(
            "PUT {} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\n\
             connection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            route(&large),
            service.token
        )
        .as_bytes(),
    );
    assert!(chunked.starts_with("HTTP/1.1 411") && chunked.contains("HUSH-V007"), "{chunked}");
    let (one, two) = (content(1000), content(999));
    assert_eq!(service.put(&route(&one), &one).status, 201);
    let full = service.put(&route(&two), &two);
    assert_eq!((full.status, full.code().as_str()), (507, "HUSH-V027"));
    for bad in ["bytes 0-9/*", "bytes 9-0/10", "bytes 0-10/10", "0-9/10"] {
        assert_eq!(put_range(&service, &route(&two), bad, &two[..10]).code(), "HUSH-V006", "{bad}");
    }
    assert_eq!(service.offset(&route(&two)), 0);
}
