// SPDX-License-Identifier: Apache-2.0
//! Thousands of damaged copies of files: each is refused with a typed error, or is a value that keeps the rules of its
//! format; no copy ends in a panic. `tests/corpus/README.md` says what is in the files that this starts from.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod made;
mod readers;

use hush_table::SignedManifest;
use hush_testkit::{Corpus, CorpusFile};

use hush_testkit::damaged;
use readers::{container, manifest, reader};

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_earlier_versions_wrote_is_read_and_what_was_dangerous_is_refused() {
    corpus().check(&made::made(), readers::read);
}

/// Damages all files of a reader: `whole` copies of what is read, a tenth of that of what is refused. Gives how many copies
/// of the former were accepted, and how many there were.
fn damage_all(
    reader: &str,
    whole: usize,
    read: impl Fn(&CorpusFile, &[u8]) -> Result<(), String>,
) -> (usize, usize) {
    let (mut accepted, mut count) = (0, 0);
    for file in corpus().files().iter().filter(|file| self::reader(file) == reader) {
        let is_good = file.reason.is_empty();
        let copies = if is_good { whole } else { whole / 10 };
        let took = damaged(&file.path(), copies, &file.bytes, |bytes| read(file, bytes).is_ok());
        if is_good {
            (accepted, count) = (accepted + took, count + copies);
        }
    }
    (accepted, count)
}

#[test]
fn manifests() {
    let (accepted, count) = damage_all("manifest", 600, |file, bytes| {
        manifest(bytes).inspect(|()| assert!(bytes == file.bytes, "another text under a good signature"))
    });
    // Copies in which the changes undo each other, or put the same bytes there.
    assert!(accepted < count / 10, "{accepted} of {count}");
}

/// The owner's own key signs anything: what is behind the signature is reached.
#[test]
fn bodies_of_manifests_behind_a_good_signature() {
    let (mut accepted, head, tail) = (0, 20, 96);
    for file in corpus().files().iter().filter(|file| reader(file) == "manifest") {
        let Some(body) = file.bytes.len().checked_sub(tail).and_then(|end| file.bytes.get(head..end)) else {
            continue;
        };
        let copies = if file.reason.is_empty() { 1000 } else { 100 };
        accepted += damaged(&file.path(), copies, body, |body| {
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
    damage_all("encrypted", 3000, |_, bytes| readers::encrypted_part(bytes));
}

#[test]
fn clear_parts() {
    damage_all("clear", 2000, |_, bytes| readers::clear_part(bytes));
}

#[test]
fn csv_files() {
    let (accepted, count) = damage_all("csv", 500, |_, bytes| readers::source(bytes));
    assert!(accepted > count / 20, "{accepted} of {count}");
}

#[test]
fn parquet_files() {
    damage_all("parquet", 700, |_, bytes| readers::source(bytes));
}
