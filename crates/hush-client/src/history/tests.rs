// SPDX-License-Identifier: Apache-2.0
//! Histories of manifests that say much, little and nothing, and of tables that owners have changed.

use std::path::Path;

use hush_table::manifest::Change;
use hush_table::{PartFile, TableStore};

use super::*;

/// A manifest with these living and dead rows and changes; whoever signed it does not matter here.
fn manifest(version: u64, living: u64, dead: u64, changes: &[(u64, ChangeKind, u64, u64)]) -> Manifest {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
    let mut manifest = TableStore::local_existing(golden).unwrap().load().unwrap().manifest().clone();
    manifest.parts.truncate(1);
    let file = PartFile { digest: hush_table::Digest::of(b"dead"), bytes: 9 };
    manifest.parts[0].rows = living + dead;
    manifest.parts[0].dead = (dead > 0).then_some(hush_table::manifest::Dead { rows: dead, file });
    (manifest.version, manifest.rows) = (version, living + dead);
    let change = |(at, (version, what, added, removed)): (usize, &(u64, ChangeKind, u64, u64))| Change {
        version: *version,
        at: 1_795_622_400 + at as u64,
        what: *what,
        added: *added,
        removed: *removed,
    };
    manifest.changes = changes.iter().enumerate().map(change).collect();
    manifest
}

fn living(history: &History) -> Vec<(u64, Option<u64>)> {
    history.versions.iter().map(|change| (change.version, change.living_rows)).collect()
}

#[test]
fn living_rows_are_counted_back_from_the_present_ones() {
    use ChangeKind as K;
    let changes = [
        (1, K::Encrypt, 100, 0),
        (2, K::Append, 20, 0),
        (3, K::Delete, 0, 30),
        (4, K::Update, 5, 5),
        (5, K::Compact, 0, 0),
    ];
    let history = History::of(&manifest(5, 90, 7, &changes));
    assert_eq!((history.living_rows, history.deleted_rows, history.stored_rows), (90, 7, 97));
    let expected = [(5, Some(90)), (4, Some(90)), (3, Some(90)), (2, Some(120)), (1, Some(100))];
    assert_eq!(living(&history), expected);
    assert_eq!((history.since, history.versions[0].at.as_str()), (Some(1), "2026-11-25T16:00:04Z"));
    assert_eq!(history.versions[4].at, "2026-11-25T16:00:00Z");
    let names: Vec<_> = history.versions.iter().map(|change| change.what).collect();
    assert_eq!(names, ["compact", "update", "delete", "append", "encrypt"]);
    let json = serde_json::to_value(&history).unwrap();
    assert_eq!(json["versions"][3]["living_rows"], 120);
}

/// A number that cannot be known is not guessed.
#[test]
fn versions_that_do_not_say_what_they_changed_end_the_count() {
    use ChangeKind as K;
    let nothing = History::of(&manifest(7, 90, 0, &[]));
    assert!(nothing.versions.is_empty() && nothing.since.is_none());
    // Version 5 says nothing, and neither does the present one.
    let gap = [(3, K::Append, 1, 0), (4, K::Append, 2, 0), (6, K::Append, 4, 0)];
    let history = History::of(&manifest(6, 90, 0, &gap));
    assert_eq!(living(&history), [(6, Some(90)), (4, None), (3, None)]);
    assert_eq!(history.since, Some(3));
    assert_eq!(living(&History::of(&manifest(7, 90, 0, &gap))), [(6, None), (4, None), (3, None)]);
    // More rows came than there are: the owner's list does not fit the table.
    let wrong = [(1, K::Encrypt, 10, 0), (2, K::Append, 100, 0)];
    assert_eq!(living(&History::of(&manifest(2, 90, 0, &wrong))), [(2, Some(90)), (1, None)]);
}

#[test]
fn times_beyond_the_calendar_are_its_last() {
    assert_eq!(utc(0), "1970-01-01T00:00:00Z");
    assert_eq!(utc(u64::MAX), "9999-12-31T23:59:59Z");
}
