// SPDX-License-Identifier: Apache-2.0
//! `kill -9` at bad moments; the same data directory must carry on.

use crate::fixture::PLAIN;
use crate::harness::{eventually, start, start_in};

#[test]
fn an_upload_killed_half_way_is_invisible_and_continues() {
    let service = start(&[]);
    let table = PLAIN.make();
    let [(encrypted, content), (clear, clear_content)] = table.parts().try_into().unwrap();
    assert_eq!(service.put(&clear, &clear_content).status, 201);
    let half = content.len() / 2;
    let socket = service.begin_upload(&encrypted, content.len(), &content[..half]);
    eventually("half of the part is on disk", || (service.offset(&encrypted) == half as u64).then_some(()));

    let service = start_in(service.kill(), &[]);
    drop(socket);
    assert_eq!(service.get("/v1/tables").json(), serde_json::json!([]));
    assert_eq!(service.get(&encrypted).code(), "HUSH-V015");
    let early = service.put(&table.manifest_path(), table.manifest.as_bytes());
    assert_eq!(early.code(), "HUSH-V019");
    assert_eq!(service.offset(&encrypted), half as u64);
    let range = format!("bytes {half}-{}/{}", content.len() - 1, content.len());
    let resumed = service.call("PUT", &encrypted, &[("content-range", &range)], &content[half..]);
    assert_eq!(resumed.status, 201);
    assert_eq!(service.put(&table.manifest_path(), table.manifest.as_bytes()).status, 201);

    // Committed is committed.
    let service = start_in(service.kill(), &[]);
    assert_eq!(service.get(&table.manifest_path()).body, table.manifest.as_bytes());
    assert_eq!(service.get(&encrypted).body, content);
    assert_eq!(table.push(&service), 200);
}

#[test]
fn what_a_crash_leaves_is_removed_or_ignored() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let data = service.kill();
    let inside = |path: &str| data.path().join(path);
    // A commit and a deletion that never came to their end, a job without record, a damaged table.
    std::fs::write(inside("tables/visits/manifest.hush.tmp"), b"half").unwrap();
    std::fs::create_dir_all(inside("tables/.deleted-old/parts")).unwrap();
    std::fs::create_dir_all(inside(&format!("jobs/{}", "0".repeat(32)))).unwrap();
    std::fs::create_dir_all(inside("tables/damaged")).unwrap();
    let mut damaged = table.manifest.as_bytes().to_vec();
    damaged[40] ^= 1;
    std::fs::write(inside("tables/damaged/manifest.hush"), damaged).unwrap();

    let service = start_in(data, &[]);
    let list = service.get("/v1/tables").json();
    assert_eq!((list.as_array().unwrap().len(), list[0]["name"].as_str()), (1, Some("visits")));
    assert_eq!(service.get("/v1/tables/damaged").code(), "HUSH-V014");
    assert!(!service.path("tables/.deleted-old").exists());
    assert_eq!(std::fs::read_dir(service.path("jobs")).unwrap().count(), 0);
    assert_eq!(table.push(&service), 200);
}

#[test]
fn orphans_are_removed_and_committed_parts_are_not() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let orphan = format!("/v1/tables/visits/parts/{}.enc", blake3::hash(b"orphan").to_hex());
    assert_eq!(service.put(&orphan, b"orphan").status, 201);
    let growing = format!("/v1/tables/visits/parts/{}.enc", "0".repeat(64));
    service.call("PUT", &growing, &[("content-range", "bytes 0-2/9")], b"abc");
    let data = service.kill();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let parts = std::fs::read_dir(data.path().join("tables/visits/parts")).unwrap();
    for file in parts.chain(std::fs::read_dir(data.path().join("uploads/visits")).unwrap()) {
        let file = std::fs::File::options().append(true).open(file.unwrap().path()).unwrap();
        file.set_modified(past).unwrap();
    }

    let service = start_in(data, &["--orphan-ttl-s", "50"]);
    eventually("orphans are swept", || {
        (service.call("HEAD", &orphan, &[], b"").status == 404 && service.offset(&growing) == 0).then_some(())
    });
    for (route, content) in table.parts() {
        assert_eq!(service.get(&route).body, content);
    }
}
