// SPDX-License-Identifier: Apache-2.0
//! Rows that get new values, found by keys of every protection; twice, by keys of none and of several, and while others write.

use hush_remote::Silent;
use hush_table::TableStore;
use hush_table::source::OpenOptions;

use super::*;
use crate::append::{AppendOptions, append};
use crate::lived::{Case, row};

/// The rows with some numbers, as a file.
fn file(numbers: impl IntoIterator<Item = usize>) -> String {
    std::iter::once("id,ward,load,level\n".to_owned()).chain(numbers.into_iter().map(row)).collect()
}

/// A table of several parts, with deleted rows: 0 to 9 and 12 to 39.
fn grown() -> (Case, Vec<usize>) {
    let case = Case::new();
    case.append(10..25, None).unwrap();
    case.append(25..40, None).unwrap();
    case.delete("id IN ('id10', 'id11')").unwrap();
    (case, (0..10).chain(12..40).collect())
}

/// Numbers that are 1001 apart have the same load, and else other values.
#[test]
fn rows_get_new_values_by_an_encrypted_key() {
    let (case, rows) = grown();
    let changed = [3, 12, 13, 39];
    let given = file([39, 3, 13, 12].map(|number| number + 1001));
    let options = case.update(&given, "load");
    let counted = case.run_update(&UpdateOptions { dry_run: true, ..options.clone() }).unwrap();
    assert_eq!((counted.updated, counted.version, counted.table_rows), (4, 4, 38));
    case.check(&rows);
    let report = case.run_update(&options).unwrap();
    let expected = UpdateReport { given: 4, updated: 4, version: 5, table_rows: 38, dead_rows: 6, ..report };
    assert_eq!(report, expected);
    assert_eq!((report.unchanged, report.inserted, report.skipped, report.rows_beyond), (0, 0, 0, 0));
    // Changed rows stand at the end, in the order that they had.
    let left = rows.iter().copied().filter(|row| !changed.contains(row));
    let now: Vec<usize> = left.chain(changed.map(|row| row + 1001)).collect();
    case.check(&now);
    // Once more changes nothing.
    let files = case.files();
    let again = case.run_update(&options).unwrap();
    assert_eq!((again.updated, again.unchanged, again.version, again.bytes), (0, 4, 5, 0));
    assert_eq!(case.files(), files);
    // And back.
    case.run_update(&case.update(&file(changed), "load")).unwrap();
    case.check(&now.iter().copied().filter(|row| *row < 1001).chain(changed).collect::<Vec<_>>());
    let manifest = TableStore::local_existing(case.path("T")).unwrap().load().unwrap();
    let changes = manifest.manifest().changes.iter().filter(|change| change.what == ChangeKind::Update);
    let changes: Vec<_> = changes.map(|change| (change.version, change.added, change.removed)).collect();
    assert_eq!(changes, [(5, 4, 4), (6, 4, 4)]);
}

#[test]
fn columns_that_are_not_given_keep_their_values() {
    let (case, rows) = grown();
    let columns = ["id", "ward", "load", "level"];
    let (path, mut expected) = (case.path("T"), Vec::new());
    let place = TablePlace::Directory(&path);
    let old = case.texts(place, &columns);
    // By a sealed key, a sealed key with a clear one, and a clear one of several rows.
    for (text, key, all, changes) in [
        (
            "id,load\nid7,1000\nid30,0\n",
            "id",
            false,
            [("id7,b,259", "id7,b,1000"), ("id30,a,109", "id30,a,0")],
        ),
        (
            "ward,id,level\na,id9,0.5\na,id12,-0.5\n",
            "ward,id",
            false,
            [("id9,a,333,0.25", "id9,a,333,0.5"), ("id12,a,444,-1.5", "id12,a,444,-0.5")],
        ),
    ] {
        let options = UpdateOptions { all, ..case.update(text, key) };
        let report = case.run_update(&options).unwrap();
        assert_eq!((report.updated, report.table_rows), (2, rows.len() as u64), "{key}");
        let before = if expected.is_empty() { old.clone() } else { expected.clone() };
        let is_changed = |line: &&String| changes.iter().any(|(from, _)| line.starts_with(from));
        let changed: Vec<String> = before
            .iter()
            .filter(is_changed)
            .map(|line| changes.iter().fold(line.clone(), |line, (from, to)| line.replacen(from, to, 1)))
            .collect();
        assert_eq!(changed.len(), 2, "{before:?}");
        expected = before.iter().filter(|line| !is_changed(line)).cloned().chain(changed).collect();
        assert_eq!(case.texts(place, &columns), expected, "{key}");
    }
    let options = case.update("ward,level\nc,7.25\n", "ward");
    let refused = case.run_update(&options).unwrap_err();
    assert_eq!((refused.code(), refused.to_string().contains("have the key of row 1")), ("HUSH-C093", true));
    let report = case.run_update(&UpdateOptions { all: true, ..options }).unwrap();
    let of_ward: Vec<String> = case.texts(place, &["ward", "level"]);
    assert_eq!(report.updated as usize, of_ward.iter().filter(|line| *line == "c,7.25").count());
    assert!(report.updated > 10 && of_ward.iter().all(|line| !line.starts_with("c,") || line == "c,7.25"));
}

/// Values that are looked up by a column that the table does not keep; given itself, such a column is refused.
#[test]
fn values_may_be_looked_up() {
    let case = Case::new();
    let given = case.update("id,note\nid7,heavy\nid2,light\n", "id");
    assert_eq!(case.run_update(&given).unwrap_err().code(), "HUSH-C094");
    let weights = "note,level,load\nlight,0.5,1\nnone,0,0\nheavy,-1.5,900\n";
    let weights = Source::from_bytes(weights.as_bytes().into(), &OpenOptions::default()).unwrap();
    let source = given.source.with_lookup(weights, &[("note".to_owned(), "note".to_owned())]).unwrap();
    let options = UpdateOptions { source, ..given };
    assert_eq!(case.run_update(&options).unwrap().updated, 2);
    assert_eq!(case.run_update(&options).unwrap().unchanged, 2);
    let path = case.path("T");
    let rows = case.texts(TablePlace::Directory(&path), &["id", "ward", "load", "level"]);
    for row in ["id7,b,900,-1.5", "id2,c,1,0.5"] {
        assert!(rows.iter().any(|found| found == row), "{rows:?}");
    }
}

/// What is not given is decrypted and encrypted again, and does not move.
#[test]
fn approximate_values_stay_through_many_updates() {
    let case = Case::new();
    let path = case.path("T");
    let levels = || case.texts(TablePlace::Directory(&path), &["id", "level"]);
    let mut before = levels();
    before.sort();
    for load in 0..6 {
        let rows = (0..10).map(|row| format!("id{row},{}\n", load + row)).collect::<String>();
        case.run_update(&case.update(&format!("id,load\n{rows}"), "id")).unwrap();
    }
    let mut after = levels();
    after.sort();
    assert_eq!(after, before);
}

/// A query that began with the version before reads the lists of deleted rows of that version.
#[test]
fn lists_that_are_replaced_stay_for_readers() {
    let case = Case::new();
    let (path, listed) = (case.path("T"), |kept: &str| {
        let files = std::fs::read_dir(case.path("T/versions")).into_iter().flatten();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        texts.filter(|text| text.lines().any(|line| line == kept)).count()
    });
    case.delete("id = 'id3'").unwrap();
    let version = TableStore::local_existing(&path).unwrap().load().unwrap();
    let first = version.manifest().parts[0].dead.unwrap().file.digest;
    let name = format!("{first}.dead");
    assert_eq!(listed(&name), 0);
    case.delete("id = 'id4'").unwrap();
    assert_eq!(listed(&name), 1);
    assert!(path.join("parts").join(&name).exists());
    case.check(&[0, 1, 2, 5, 6, 7, 8, 9]);
}

#[test]
fn rows_whose_key_is_not_in_the_table_are_refused_left_out_or_added() {
    let (case, rows) = grown();
    let given = file([4 + 1001, 10, 200]);
    let options = case.update(&given, "load");
    let refused = case.run_update(&options).unwrap_err();
    assert_eq!(refused.code(), "HUSH-C092");
    assert!(refused.to_string().starts_with("2 keys are not in"), "{refused}");
    case.check(&rows);
    let report = case.run_update(&UpdateOptions { missing: MissingRows::Skip, ..options.clone() }).unwrap();
    assert_eq!((report.updated, report.skipped, report.inserted), (1, 2, 0));
    let mut now: Vec<usize> = rows.into_iter().filter(|row| *row != 4).chain([4 + 1001]).collect();
    case.check(&now);
    let report = case.run_update(&UpdateOptions { missing: MissingRows::Insert, ..options.clone() }).unwrap();
    assert_eq!((report.updated, report.unchanged, report.inserted), (0, 1, 2));
    now.extend([10, 200]);
    case.check(&now);
    // A row to be added needs all columns.
    let options = case.update("id,load\nid900,5\n", "id");
    let refused = case.run_update(&UpdateOptions { missing: MissingRows::Insert, ..options }).unwrap_err();
    assert_eq!(refused.code(), "HUSH-C095");
    case.check(&now);
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let (case, rows) = grown();
    let before = case.files();
    for (text, key, code) in [
        ("id,load\nid1,5\nid1,6\n", "id", "HUSH-C079"),
        ("id,load\n,5\nid1,6\n", "id", "HUSH-D020"),
        ("ward,load\na,5\n,6\n", "ward", "HUSH-C078"),
        ("id,load\nid1,5000\n", "id", "HUSH-D"),
        ("id,load\nid1,x\n", "id", "HUSH-D"),
        ("id,age\nid1,5\n", "id", "HUSH-S020"),
        ("id,note\nid1,x\n", "id", "HUSH-C094"),
        ("id,load\nid1,5\n", "ward", "HUSH-U001"),
        ("id,load\nid1,5\n", "nobody", "HUSH-U001"),
        ("level,load\n1.5,5\n", "level", "HUSH-U001"),
    ] {
        let refused = case.run_update(&case.update(text, key)).unwrap_err();
        assert!(refused.code().starts_with(code), "{text}: {} {refused}", refused.code());
        assert!(!refused.to_string().contains("id1"), "{refused}");
    }
    // No rows at all are no change.
    let report = case.run_update(&case.update("id,load\n", "id")).unwrap();
    assert_eq!((report.given, report.version), (0, 4));
    assert_eq!(case.files(), before);
    case.check(&rows);
}

/// Four update and four append at a time, where one goes behind another.
#[test]
fn updates_and_appends_at_once_lose_nothing() {
    let case = Case::new();
    let bucket = case.bucket();
    let (place, owner) = (TablePlace::Bucket(&bucket), &case.owner);
    let pins = |name: &str, number: usize| Pins::in_directory(&case.path(&format!("{name}-{number}")));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let options = case.options(10 * number + 10..10 * number + 20, None);
            let options = AppendOptions { pins: pins("append", number), threads: 1, ..options };
            scope.spawn(move || append(place, &options, owner, &Silent).unwrap());
            let options = case.update(&file([number + 1001, number + 5 + 1001]), "load");
            let options = UpdateOptions { pins: pins("update", number), threads: 1, ..options };
            scope.spawn(move || assert_eq!(update_rows(place, &options, owner, &Silent).unwrap().updated, 2));
        }
    });
    let manifest = place.look(&case.pins).unwrap();
    assert_eq!((manifest.manifest().version, manifest.manifest().living_rows()), (9, 50));
    let rows = case.numbers(place);
    let mut sorted: Vec<usize> = rows.clone();
    sorted.sort_unstable();
    let changed = [0, 1, 2, 3, 5, 6, 7, 8].map(|number| number + 1001);
    assert_eq!(sorted, [4, 9].into_iter().chain(10..50).chain(changed).collect::<Vec<_>>());
    case.check_at(place, &rows);
}
