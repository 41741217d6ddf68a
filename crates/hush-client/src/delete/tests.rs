// SPDX-License-Identifier: Apache-2.0
//! Rows that go out of tables by conditions on columns of every protection; twice, all of them, and while others write.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hush_remote::Silent;
use hush_table::TableStore;

use super::*;
use crate::append::{AppendOptions, append};
use crate::lived::Case;
use crate::table::OwnedTable;

/// A table of several parts: rows 0 to 9 as encrypted, then two appends.
fn grown() -> (Case, Vec<usize>) {
    let case = Case::new();
    case.append(10..40, None).unwrap();
    // Two chunks, so that a part has more than one.
    case.append(40..40 + 9000, None).unwrap();
    (case, (0..9040).collect())
}

/// A condition, and which rows meet it.
type Tried = (&'static str, fn(usize) -> bool);

fn load(row: usize) -> usize {
    row * 37 % 1001
}

fn conditions() -> Vec<Tried> {
    vec![
        ("WHERE id = 'id7'", |row| row == 7),
        ("id IN ('id8', 'id12', 'id8300', 'nobody')", |row| [8, 12, 8300].contains(&row)),
        ("where ward = 'b' AND load > 990", |row| row % 3 == 1 && load(row) > 990),
        ("level < 0 AND load < 20", |row| row % 4 == 0 && load(row) < 20),
        ("level = 0.25 AND load * 2 BETWEEN 200 AND 260", |row| {
            row % 4 == 1 && (100..=130).contains(&load(row))
        }),
        ("ward = 'a' AND id LIKE 'id90%'", |row| row % 3 == 0 && format!("id{row}").starts_with("id90")),
        ("(ward = 'c' AND id = 'id5') OR load = 37", |row| row == 5 || load(row) == 37),
        ("ward = 'c'", |row| row % 3 == 2),
    ]
}

#[test]
fn rows_go_by_conditions_on_columns_of_every_protection() {
    let (case, mut rows) = grown();
    let (bucket, path) = (case.bucket(), case.path("T"));
    for (version, (condition, is_met)) in (4..).zip(conditions()) {
        let gone = rows.iter().filter(|row| is_met(**row)).count() as u64;
        assert!(gone > 0, "{condition}");
        rows.retain(|row| !is_met(*row));
        let left = rows.len() as u64;
        let expected = DeleteReport { rows: gone, version, table_rows: left, dead_rows: 9040 - left };
        let before = case.files();
        let counted = DeleteOptions { dry_run: true, ..case.deletion(condition) };
        let counted = delete_rows(TablePlace::Directory(&path), &counted, &case.owner, &Silent).unwrap();
        assert_eq!((counted.rows, counted.version), (gone, version - 1), "{condition}");
        assert_eq!(case.files(), before);
        assert_eq!(case.delete(condition).unwrap(), expected, "{condition}");
        case.check(&rows);
        // What is gone meets no condition.
        assert_eq!(case.delete(condition).unwrap_err().code(), "HUSH-C076", "{condition}");
    }
    // The same in an object store, by an owner who has not seen the directory.
    let case = Case { pins: Pins::in_directory(&case.path("others")), ..case };
    let place = TablePlace::Bucket(&bucket);
    for (condition, _) in conditions() {
        delete_rows(place, &case.deletion(condition), &case.owner, &Silent).unwrap();
    }
    case.check_at(place, &rows);
}

#[test]
fn rows_are_added_to_what_is_left_and_go_again() {
    let case = Case::new();
    case.delete("load < 100").unwrap();
    let left = |rows: std::ops::Range<usize>| rows.filter(|row| load(*row) >= 100);
    case.append(10..30, None).unwrap();
    case.check(&left(0..10).chain(10..30).collect::<Vec<_>>());
    case.delete("load < 100").unwrap();
    case.check(&left(0..30).collect::<Vec<_>>());
    let manifest = TableStore::local_existing(case.path("T")).unwrap().load().unwrap();
    let changes = manifest.manifest().changes.iter().filter(|change| change.what == ChangeKind::Delete);
    let removed: Vec<_> = changes.map(|change| (change.version, change.added, change.removed)).collect();
    let low = |rows: std::ops::Range<usize>| rows.filter(|row| load(*row) < 100).count() as u64;
    assert_eq!(removed, [(2, 0, low(0..10)), (4, 0, low(10..30))]);
}

#[test]
fn all_rows_go_only_where_that_is_said() {
    let case = Case::new();
    case.append(10..15, None).unwrap();
    for condition in ["load >= 0", "ward IN ('a', 'b', 'c')", "1 = 1"] {
        let refused = case.delete(condition).unwrap_err();
        assert_eq!(refused.code(), "HUSH-C077", "{condition}: {refused}");
    }
    let path = case.path("T");
    let options = DeleteOptions { all: true, ..case.deletion("load >= 0") };
    let report = delete_rows(TablePlace::Directory(&path), &options, &case.owner, &Silent).unwrap();
    assert_eq!((report.rows, report.table_rows, report.dead_rows), (15, 0, 15));
    case.check(&[]);
    assert_eq!(case.delete("load >= 0").unwrap_err().code(), "HUSH-C076");
    case.append(3..7, None).unwrap();
    case.check(&[3, 4, 5, 6]);
}

#[test]
fn what_cannot_be_evaluated_deletes_nothing() {
    let case = Case::new();
    let before = case.files();
    for (condition, code) in [
        ("nobody = 1", "HUSH-P003"),
        ("load = 'many'", "HUSH-P"),
        ("SUM(load) > 1", "HUSH-P"),
        ("load > 1; DROP TABLE t", "HUSH-P"),
        ("", "HUSH-P"),
        ("CAST(id AS INT) > 1", "HUSH-E050"),
        ("load > 1000", "HUSH-C076"),
    ] {
        let refused = case.delete(condition).unwrap_err();
        assert!(refused.code().starts_with(code), "{condition}: {} {refused}", refused.code());
    }
    let (stranger, path) = (OwnerKey::temporary().unwrap(), case.path("T"));
    let refused = delete_rows(TablePlace::Directory(&path), &case.deletion("load = 0"), &stranger, &Silent);
    assert_eq!(refused.unwrap_err().code(), "HUSH-K020");
    assert_eq!(case.files(), before);
    case.check(&(0..10).collect::<Vec<_>>());
}

/// What WHERE leaves of a question is what a deletion takes, whether or not a hidden column stands beside: of integers `/` leaves whole numbers there.
#[test]
fn deletions_take_the_rows_that_questions_count() {
    for condition in ["load / 7 > 3", "load / 7 > 3 AND id <> 'none'", "load % 5 = 2 OR load / 2 = 3"] {
        let case = Case::new();
        let table = OwnedTable::open_directory(&case.path("T"), &case.owner, &case.pins, 2).unwrap();
        let counted = table.ask(&format!("SELECT COUNT(*) FROM t WHERE {condition}"), &Silent).unwrap();
        let counted = counted.batches[0].column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!(case.delete(condition).unwrap().rows as i64, counted, "{condition}");
    }
}

/// Three delete and four append at a time, where one goes behind another.
#[test]
fn deletions_and_appends_at_once_lose_nothing() {
    let case = Case::new();
    let bucket = case.bucket();
    let (place, owner) = (TablePlace::Bucket(&bucket), &case.owner);
    let pins = |name: &str, number: usize| Pins::in_directory(&case.path(&format!("{name}-{number}")));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let options = case.options(10 * number + 10..10 * number + 20, None);
            let options = AppendOptions { pins: pins("append", number), threads: 1, ..options };
            scope.spawn(move || append(place, &options, owner, &Silent).unwrap());
        }
        for number in 0..3 {
            let options = case.deletion(&format!("id IN ('id{}', 'id{}')", number, number + 3));
            let options = DeleteOptions { pins: pins("delete", number), threads: 1, ..options };
            scope.spawn(move || assert_eq!(delete_rows(place, &options, owner, &Silent).unwrap().rows, 2));
        }
    });
    let manifest = place.look(&case.pins).unwrap();
    assert_eq!((manifest.manifest().version, manifest.manifest().living_rows()), (8, 44));
    // Appends stand in the order in which they came.
    let rows = case.numbers(place);
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (6..50).collect::<Vec<_>>());
    case.check_at(place, &rows);
}

/// The answer to the commit is lost, and others write before the owner looks again.
#[test]
fn a_deletion_that_has_landed_is_known_again() {
    let (case, _) = grown();
    let path = case.path("T");
    let version = || TableStore::local_existing(&path).unwrap().load().unwrap();
    let finder = Finder::new(TablePlace::Directory(&path), 1).unwrap();
    let before = version();
    let list = |part: usize, rows: &[u64]| {
        let entry = &before.manifest().parts[part];
        (id_of(entry), DeadRows::new(entry.rows, rows.iter().copied()))
    };
    let lists = [list(0, &[2, 5]), list(2, &[8999])];
    let has_landed = || are_dead(&lists, version().manifest(), &finder).unwrap();
    assert!(!has_landed());
    case.delete("id = 'id2'").unwrap();
    assert!(!has_landed());
    case.delete("id IN ('id5', 'id9039')").unwrap();
    assert!(has_landed());
    // More rows of the same parts are gone, and there are more parts.
    case.delete("id IN ('id6', 'id9000')").unwrap();
    case.append(0..3, None).unwrap();
    assert!(has_landed());
}
