// SPDX-License-Identifier: Apache-2.0
//! Thousands of damaged copies of files: each is refused with a typed error, or is a value that keeps the rules of its
//! format; no copy ends in a panic. `tests/corpus/README.md` says what is in the files that this starts from.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod manifests;
mod parts;
mod readers;

use hush_table::SignedManifest;
use hush_testkit::{Corpus, damaged_json};

use readers::{container, manifest, read};

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    let made = [manifests::made(), parts::made()].concat();
    corpus().check(&made, |file| read(file, &file.bytes));
}

#[test]
fn manifests() {
    let accepted = corpus().damaged("manifest", 600, |file, bytes| {
        let is_read = manifest(bytes).is_ok();
        assert!(!is_read || bytes == file.bytes, "another text under a good signature");
        is_read
    });
    // Copies in which the changes undo each other, or put the same bytes there.
    assert!(accepted.copies < accepted.of / 10, "{accepted:?}");
}

/// Signs any body with the owner's own key, so that the parser behind the signature is reached.
#[test]
fn bodies_of_manifests_behind_a_good_signature() {
    let (mut accepted, head, tail) = (0, 20, 96);
    for file in corpus().files().iter().filter(|file| file.reader() == "manifest") {
        let Some(body) = file.bytes.len().checked_sub(tail).and_then(|end| file.bytes.get(head..end)) else {
            continue;
        };
        let copies = if file.reason.is_empty() { 800 } else { 80 };
        accepted += damaged_json(&file.path(), copies, body, |body| {
            let bytes = container(body);
            let is_good = manifest(&bytes).is_ok();
            if is_good {
                let signed = SignedManifest::decode(&bytes).unwrap();
                assert_eq!(signed.manifest().to_json().unwrap(), body);
            }
            is_good
        });
    }
    assert!(accepted > 0, "none of the copies reaches the end of the rules");
}

#[test]
fn encrypted_parts() {
    let accepted = corpus().damaged("encrypted", 1500, |file, bytes| read(file, bytes).is_ok());
    assert!(accepted.copies > 0, "{accepted:?}");
}

#[test]
fn clear_parts() {
    let accepted = corpus().damaged("clear", 1000, |file, bytes| read(file, bytes).is_ok());
    assert!(accepted.copies > 0, "{accepted:?}");
}

#[test]
fn csv_files() {
    let accepted = corpus().damaged("csv", 500, |file, bytes| read(file, bytes).is_ok());
    assert!(accepted.copies > accepted.of / 20, "{accepted:?}");
}

#[test]
fn parquet_files() {
    let accepted = corpus().damaged("parquet", 500, |file, bytes| read(file, bytes).is_ok());
    assert!(accepted.copies > 0, "{accepted:?}");
}
