// SPDX-License-Identifier: Apache-2.0
//! The server reports damaged files on request and replaces them, and an upload does not list the files that are there.

use crate::fixture::PLAIN;
use crate::harness::{Answer, Service, start, start_in};
use crate::jobs::{finished, plan, submit};

fn head(service: &Service, route: &str) -> Answer {
    service.call("HEAD", &format!("{route}?verify=true"), &[], b"")
}

/// The file of a part that was uploaded by this route.
fn file_of(service: &Service, route: &str) -> std::path::PathBuf {
    service.path(&format!("{}.parquet", route.strip_prefix("/v1/").unwrap()))
}

/// A change that a disk may make to a file.
type Damage = fn(&mut Vec<u8>);

const DAMAGES: [(&str, Damage); 4] = [
    ("a flipped bit", |bytes| bytes[100] ^= 1),
    ("a truncated file", |bytes| bytes.truncate(bytes.len() / 2)),
    ("an empty file", Vec::clear),
    ("a longer file", |bytes| bytes.push(0)),
];

#[test]
fn a_damaged_part_is_told_on_request_and_replaced() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let plan = plan(&table, Some("\"year\" >= 2022"));
    let outcome = || {
        let id = submit(&service, &plan);
        let state = finished(&service, &id)["state"].as_str().unwrap().to_owned();
        (state, service.get(&format!("/v1/jobs/{id}/result")).body)
    };
    let before = outcome();
    assert_eq!(before.0, "done");
    let [encrypted, clear] = table.parts().try_into().unwrap();
    for (route, content) in [&encrypted, &clear] {
        for (what, damage) in DAMAGES {
            let mut bytes = content.clone();
            damage(&mut bytes);
            std::fs::write(file_of(&service, route), &bytes).unwrap();
            assert_eq!(service.call("HEAD", route, &[], b"").status, 200, "not asked to read it");
            let told = head(&service, route);
            assert_eq!((told.status, told.header("part-damaged")), (404, Some("?1")), "{what}");
            assert_eq!(
                (told.header("upload-complete"), told.header("upload-offset")),
                (Some("?0"), Some("0"))
            );
            if route == &clear.0 {
                assert_eq!(outcome().0, "failed", "{what}");
            }
            // Half of it, then the rest; until then the damaged file stays.
            let (half, total) = (content.len() / 2, content.len());
            let put = |range: String, piece: &[u8]| {
                service.call("PUT", route, &[("content-range", &range)], piece).status
            };
            assert_eq!(put(format!("bytes 0-{}/{total}", half - 1), &content[..half]), 202, "{what}");
            assert_eq!(head(&service, route).header("upload-offset"), Some(half.to_string().as_str()));
            assert_eq!(std::fs::read(file_of(&service, route)).unwrap(), bytes);
            assert_eq!(put(format!("bytes {half}-{}/{total}", total - 1), &content[half..]), 201, "{what}");
            assert_eq!(std::fs::read(file_of(&service, route)).unwrap(), *content, "{what}");
            let told = head(&service, route);
            assert_eq!((told.status, told.header("part-damaged")), (200, None), "{what}");
            assert_eq!(outcome(), before, "{what}");
            assert_eq!(service.put(route, content).status, 200, "sound: left alone");
        }
        std::fs::remove_file(file_of(&service, route)).unwrap();
        let told = head(&service, route);
        assert_eq!((told.status, told.header("part-damaged")), (404, None));
        assert_eq!(service.put(route, content).status, 201);
    }
    // Wrong bytes do not replace a damaged part.
    std::fs::write(file_of(&service, &clear.0), b"damaged").unwrap();
    assert_eq!(service.put(&clear.0, b"other bytes").code(), "HUSH-V013");
    assert_eq!(std::fs::read(file_of(&service, &clear.0)).unwrap(), b"damaged");
    assert_eq!(service.put(&clear.0, &clear.1).status, 201);
    assert_eq!(outcome(), before);
    assert_eq!(service.call("HEAD", &format!("{}?verify=maybe", clear.0), &[], b"").status, 400);
    let (_, log) = service.terminate();
    assert!(log.contains("damaged part was replaced"), "{log}");
}

#[test]
fn a_damaged_manifest_is_replaced_by_the_same() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let mut stored = service.path("tables/visits/manifest.hush");
    for (what, damage) in DAMAGES {
        let mut bytes = table.manifest.as_bytes().to_vec();
        damage(&mut bytes);
        std::fs::write(&stored, &bytes).unwrap();
        assert_eq!(service.put(&table.manifest_path(), table.manifest.as_bytes()).status, 200, "{what}");
        assert_eq!(std::fs::read(&stored).unwrap(), table.manifest.as_bytes(), "{what}");
    }
    // Found at a start: the table is not served until its manifest comes again.
    std::fs::write(&stored, b"damaged").unwrap();
    let service = start_in(service.kill(), &[]);
    assert_eq!(service.get("/v1/tables/visits").code(), "HUSH-V014");
    assert_eq!(table.push(&service), 201);
    stored = service.path("tables/visits/manifest.hush");
    assert_eq!(std::fs::read(stored).unwrap(), table.manifest.as_bytes());
    let id = submit(&service, &plan(&table, None));
    assert_eq!(finished(&service, &id)["state"], "done");
}

/// A replaced part counts once against the table's limit.
#[test]
fn a_table_at_its_limit_is_mended() {
    let service = start(&["--max-table-bytes", "1000"]);
    let content = vec![7; 900];
    let route = format!("/v1/tables/t/parts/{}.enc", blake3::hash(&content).to_hex());
    for _ in 0..3 {
        assert_eq!(service.put(&route, &content).status, 201);
        assert_eq!(service.put(&route.replace(".enc", ".clear"), &content).code(), "HUSH-V027");
        std::fs::write(file_of(&service, &route), vec![8; 900]).unwrap();
    }
}

/// Each upload once listed and looked at all parts of its table.
#[cfg(target_os = "linux")]
#[test]
fn uploads_do_not_list_the_parts_that_are_there() {
    use rustix::fs::inotify;
    let service = start(&[]);
    let put = |number: u32| {
        let content = number.to_le_bytes();
        let route = format!("/v1/tables/t/parts/{}.enc", blake3::hash(&content).to_hex());
        assert_eq!(service.put(&route, &content).status, 201);
    };
    put(0);
    let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    // A directory is accessed when its entries are read.
    let parts = service.path("tables/t/parts");
    inotify::add_watch(&watch, &parts, inotify::WatchFlags::ACCESS).unwrap();
    let listed = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 1 << 14];
        let mut reader = inotify::Reader::new(&watch, &mut buffer);
        std::iter::from_fn(|| reader.next().ok().map(|event| event.events()))
            .filter(|events| events.contains(inotify::ReadFlags::ISDIR))
            .count()
            > 0
    };
    std::fs::read_dir(&parts).unwrap().for_each(drop);
    assert!(listed(), "a listing is seen");
    // Looked at after each, since the kernel tells of two alike in a row as of one.
    let listings = (1..=30).filter(|number| {
        put(*number);
        listed()
    });
    // The service's own housekeeping may list them.
    assert!(listings.count() < 5, "each of thirty uploads listed the parts");
}
