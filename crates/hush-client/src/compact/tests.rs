// SPDX-License-Identifier: Apache-2.0
//! Tables before and after their parts were written anew: the same rows in the same order, and the same answers.

mod devices;
mod places;
mod seals;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::display::array_value_to_string;
use hush_keys::Cipher;
use hush_plan::{Needs, Quantity, needs_of};
use hush_remote::Silent;
use hush_table::source::{OpenOptions, Source};
use hush_table::{DeadRows, TableStore};
use object_store::memory::InMemory;

use super::*;
use crate::append::{AppendOptions, append};
use crate::decrypt::TableDecryption;
use crate::encrypt::{encrypt_parts, plan_encodings};
use crate::owner::{EncryptOptions, encrypt};
use crate::private::PrivateHalf;
use crate::roots::RowKeys;
use crate::table::OwnedTable;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 1000000
null_tokens = [""]
[columns.id]
type = "text"
protect = "seal"
[columns.ward]
type = "category"
nullable = true
protect = "clear"
[columns.load]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
[columns.level]
type = "float(3)"
protect = "encrypt"
[columns.cost]
type = "decimal(24,2)"
protect = "encrypt"
[columns.temp]
type = "float(2)"
range = [-50, 50]
nullable = true
protect = "encrypt"
[columns.seen]
type = "date"
nullable = true
protect = "encrypt"
for = ["count"]
[columns.flag]
type = "bool"
protect = "encrypt"
"#;
/// Sums are asked for, and products of rows evaluated.
const WORKLOAD: &str = "SELECT ward, load * load AS square FROM t; SELECT SUM(level) FROM t;";
/// Whose answers are exact.
const QUERIES: [&str; 7] = [
    "SELECT COUNT(*) AS n, SUM(load) AS s, SUM(cost) AS c, SUM(temp) AS t, COUNT(temp) AS m, COUNT(seen) AS d FROM t",
    "SELECT ward, COUNT(*) AS n, AVG(load) AS a, SUM(cost) AS c, COUNT(temp) AS m FROM t GROUP BY ward ORDER BY ward",
    "SELECT SUM(load) AS s, COUNT(seen) AS d FROM t WHERE ward = 'b'",
    "SELECT SUM(temp) AS s FROM t WHERE ward IS NULL",
    "SELECT ward, load * load AS square FROM t WHERE ward = 'c'",
    "SELECT ward, SUM(load) AS s FROM t WHERE ward <> 'a' GROUP BY ward ORDER BY ward",
    "SELECT COUNT(*) AS n FROM t WHERE ward = 'nobody'",
];

/// A row as a file has it; equal numbers have equal rows.
fn row(number: usize) -> String {
    let ward = ["a", "b", "c", ""][number % 4];
    let level = [-1.5, 0.25, 1.125, 0.12344][number % 4];
    let temp =
        if number.is_multiple_of(5) { String::new() } else { format!("{}.{:02}", number % 50, number % 100) };
    let seen =
        if number.is_multiple_of(7) { String::new() } else { format!("2024-02-{:02}", number % 28 + 1) };
    let cost = format!("{}.{:02}", 1_000_000_000_000_000_000_000_u128 + number as u128, number % 100);
    format!(
        "id{number},{ward},{},{level},{cost},{temp},{seen},{}\n",
        number * 37 % 1001,
        number.is_multiple_of(2)
    )
}

fn source(rows: impl IntoIterator<Item = usize>) -> Source {
    let rows: String = rows.into_iter().map(row).collect();
    let text = format!("id,ward,load,level,cost,temp,seen,flag\n{rows}");
    Source::from_bytes(text.into_bytes().into(), &OpenOptions::default()).unwrap()
}

/// A table of the rows 0 to 9, its owner and what the owner has seen.
struct Case {
    directory: tempfile::TempDir,
    owner: OwnerKey,
    pins: Pins,
}

impl Case {
    fn new() -> Self {
        let case = Self::empty();
        case.encrypt(0..10, false);
        case
    }

    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(&directory.path().join("pins"));
        Self { directory, owner: OwnerKey::temporary().unwrap(), pins }
    }

    /// Parts of two rows each as one encryption may have cut them, with the numbers of their chunks by place.
    fn of_parts(parts: usize) -> Self {
        Self::sealed_by(Cipher::Xaes256Gcm, parts)
    }

    /// As [`Case::of_parts`], with the sealed columns of a cipher.
    fn sealed_by(cipher: Cipher, parts: usize) -> Self {
        let case = Self::empty();
        std::fs::write(case.path("schema.toml"), SCHEMA).unwrap();
        let schema = crate::read_approved_schema(&case.path("schema.toml")).unwrap();
        let queries = hush_plan::sql::parse_workload(&schema, WORKLOAD).unwrap();
        let mut needs = Needs::of_purposes(&schema).unwrap();
        needs.merge(needs_of(&schema, &queries).unwrap());
        let encodings = plan_encodings(&schema, &needs, schema.max_rows).unwrap();
        let half = PrivateHalf { cipher, ..PrivateHalf::new(schema, encodings) };
        let sources: Vec<Source> = (0..parts).map(|part| source(2 * part..2 * part + 2)).collect();
        let store = TableStore::local(case.path("T")).unwrap();
        encrypt_parts(&sources, &half, case.owner.seed(), &store, &Lattice).unwrap();
        case
    }

    fn encrypt(&self, rows: Range<usize>, replace: bool) {
        let (schema, workload) = (self.path("schema.toml"), self.path("workload.sql"));
        std::fs::write(&schema, SCHEMA).unwrap();
        std::fs::write(&workload, WORKLOAD).unwrap();
        let options = EncryptOptions {
            source: source(rows),
            schema: crate::read_approved_schema(&schema).unwrap(),
            output: self.path("T"),
            workload: Some(workload),
            threads: 2,
            memory_limit: None,
            pins: self.pins.clone(),
            replace,
        };
        encrypt(&options, &self.owner, &Silent).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn append_to(&self, place: TablePlace<'_>, rows: Range<usize>) {
        let (source, pins) = (source(rows), self.pins.clone());
        let options = AppendOptions { source, batch: None, threads: 2, memory_limit: None, pins };
        append(place, &options, &self.owner, &Silent).unwrap();
    }

    fn append(&self, rows: Range<usize>) {
        self.append_to(TablePlace::Directory(&self.path("T")), rows);
    }

    /// Deletes rows of a part, as a version of its own.
    fn delete_in(&self, store: &TableStore, part: usize, rows: impl IntoIterator<Item = u64>) {
        let signed = store.load().unwrap();
        let mut next = signed.manifest().clone();
        next.version += 1;
        let mut list = DeadRows::new(next.parts[part].rows, rows);
        if let Some(before) = store.dead_rows(&next.parts[part]).unwrap() {
            list = list.union(&before);
        }
        next.parts[part].dead = Some(store.put_dead_rows(&list).unwrap());
        next.record(ChangeKind::Delete, 0, list.count());
        let owner = self.owner.seed();
        let key = owner.verifying_key().to_bytes();
        store.commit(&SignedManifest::sign(next, &key, |bytes| owner.sign(bytes)).unwrap()).unwrap();
    }

    fn delete(&self, part: usize, rows: impl IntoIterator<Item = u64>) {
        self.delete_in(&self.files(), part, rows);
    }

    fn files(&self) -> TableStore {
        TableStore::local_existing(self.path("T")).unwrap()
    }

    fn manifest(&self) -> Manifest {
        self.files().load().unwrap().manifest().clone()
    }

    fn options(&self, which: Which) -> CompactOptions {
        CompactOptions { which, threads: 2, memory_limit: None, pins: self.pins.clone() }
    }

    fn compact_at(&self, place: TablePlace<'_>, which: Which) -> Result<CompactReport, ClientError> {
        compact(place, &self.options(which), &self.owner, &Silent)
    }

    fn compact(&self, which: Which) -> CompactReport {
        self.compact_at(TablePlace::Directory(&self.path("T")), which).unwrap()
    }

    /// The table in an object store.
    fn bucket(&self) -> TableStore {
        let bucket = TableStore::new(Arc::new(InMemory::new()), "t".into());
        let local = self.files();
        local.copy_version(&local.load().unwrap(), &bucket, &|_| ()).unwrap();
        bucket
    }

    /// The rows that the table gives back, one text each.
    fn rows_at(&self, place: TablePlace<'_>) -> Vec<String> {
        let decryption = TableDecryption::open(place, &self.owner, &self.pins, None, &Silent).unwrap();
        let batches: Vec<_> = decryption.map(Result::unwrap).collect();
        texts(&batches)
    }

    fn rows(&self) -> Vec<String> {
        self.rows_at(TablePlace::Directory(&self.path("T")))
    }

    /// What the table answers to all queries, and the sum of its reals.
    fn answers_at(&self, place: TablePlace<'_>) -> (Vec<Vec<String>>, f64) {
        let table = match place {
            TablePlace::Directory(path) => OwnedTable::open_directory(path, &self.owner, &self.pins, 2),
            TablePlace::Bucket(store) => OwnedTable::open_bucket(store, &self.owner, &self.pins, 2),
            TablePlace::Server(..) => panic!("opened by the tests of servers"),
        };
        answers_of(&table.unwrap())
    }

    fn answers(&self) -> (Vec<Vec<String>>, f64) {
        self.answers_at(TablePlace::Directory(&self.path("T")))
    }
}

fn answers_of(table: &OwnedTable) -> (Vec<Vec<String>>, f64) {
    let ask =
        |sql: &str| texts(&table.ask(sql, &Silent).unwrap_or_else(|error| panic!("{sql}: {error}")).batches);
    let level = ask("SELECT SUM(level) AS s FROM t").concat();
    (QUERIES.iter().map(|sql| ask(sql)).collect(), level.trim().parse().unwrap_or(0.0))
}

fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let mut found = Vec::new();
    for batch in batches {
        for at in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| array_value_to_string(column, at).unwrap());
            found.push(cells.collect::<Vec<_>>().join("|"));
        }
    }
    found
}

/// The numbers of the rows that a table gives back, by their sealed names.
fn numbers(rows: &[String]) -> Vec<usize> {
    rows.iter()
        .map(|row| row.split('|').next().unwrap().strip_prefix("id").unwrap().parse().unwrap())
        .collect()
}

fn assert_same(before: &(Vec<Vec<String>>, f64), after: &(Vec<Vec<String>>, f64), rows: usize) {
    assert_eq!(before.0, after.0);
    // Each real is rounded once, to one digit more than is declared.
    assert!((before.1 - after.1).abs() <= 1e-4 * rows as f64 + 1e-3, "{} {}", before.1, after.1);
}

#[test]
fn small_parts_become_one_with_the_same_rows_and_answers() {
    let case = Case::new();
    for first in (10..40).step_by(6) {
        case.append(first..first + 6);
    }
    let (rows, answers) = (case.rows(), case.answers());
    let report = case.compact(Which::Worth);
    assert_eq!((report.parts, report.made_parts, report.steps, report.removed_rows), (6, 1, 1, 0));
    assert_eq!((report.rows, report.table_rows, report.table_parts, report.version), (40, 40, 1, 7));
    assert!(report.made_bytes < report.bytes);
    assert_eq!((report.state.small_parts, report.state.due_parts), (6, 0));
    assert_eq!(case.rows(), rows);
    assert_eq!(numbers(&rows), (0..40).collect::<Vec<_>>());
    assert_same(&answers, &case.answers(), 40);
    let manifest = case.manifest();
    let change = manifest.changes.last().unwrap();
    assert_eq!((change.version, change.what, change.added, change.removed), (7, ChangeKind::Compact, 0, 0));
    assert!(manifest.parts[0].append.is_some_and(|append| append.first == 0));
    // There is nothing left to do, and rows can come as before.
    let again = case.compact(Which::Worth);
    assert_eq!((again.steps, again.version, again.table_parts), (0, 7, 1));
    case.append(40..43);
    assert_eq!(numbers(&case.rows()), (0..43).collect::<Vec<_>>());
}

#[test]
fn deleted_rows_go_and_parts_without_rows_too() {
    let case = Case::new();
    case.append(10..20);
    case.append(20..23);
    case.delete(0, [0, 9]);
    case.delete(1, 0..10);
    case.delete(2, [1]);
    let (rows, answers) = (case.rows(), case.answers());
    let kept: Vec<usize> = (1..9).chain([20, 22]).collect();
    assert_eq!(numbers(&rows), kept);
    let plan = plan_compaction(TablePlace::Directory(&case.path("T")), Which::Worth, &case.pins).unwrap();
    assert_eq!((plan.parts, plan.rows, plan.removed_rows, plan.table_rows), (3, 10, 13, 10));
    assert_eq!((plan.state.deleted_percent, plan.version), (100, 6));
    let report = case.compact(Which::Worth);
    assert_eq!((report.removed_rows, report.table_rows, report.table_parts), (13, 10, 1));
    assert_eq!(case.rows(), rows);
    assert_same(&answers, &case.answers(), 10);
    let manifest = case.manifest();
    assert_eq!((manifest.rows, manifest.dead_rows(), manifest.changes.last().unwrap().removed), (10, 0, 13));
    // All that is left may go too.
    case.delete(0, 0..10);
    let report = case.compact(Which::Worth);
    assert_eq!((report.made_parts, report.table_rows, report.table_parts), (0, 0, 0));
    assert!(case.rows().is_empty());
    case.append(7..9);
    assert_eq!(numbers(&case.rows()), [7, 8]);
}

#[test]
fn few_deleted_rows_wait_until_they_are_asked_for() {
    let case = Case::new();
    case.delete(0, [3]);
    assert_eq!(case.compact(Which::Worth).steps, 0);
    assert_eq!(case.compact(Which::Due).steps, 0);
    let report = case.compact(Which::Deleted);
    assert_eq!((report.steps, report.removed_rows, report.table_rows), (1, 1, 9));
    assert_eq!(case.compact(Which::Deleted).steps, 0);
    // Every part, whatever it is like.
    assert_eq!(case.compact(Which::All).rows, 9);
    assert_eq!(numbers(&case.rows()), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
}

/// Parts of an encryption have their chunks numbered by place. Those behind a part that goes keep the numbers in their files.
#[test]
fn parts_behind_keep_the_numbers_of_their_chunks() {
    let case = Case::of_parts(6);
    case.delete(1, [0, 1]);
    case.delete(2, [0]);
    case.delete(3, [1]);
    let (rows, answers) = (case.rows(), case.answers());
    let report = case.compact(Which::Worth);
    // Chunks 1 to 3 of the encryption went, and one stands in their place.
    assert_eq!((report.parts, report.table_parts, report.removed_rows), (3, 4, 4));
    let firsts: Vec<_> = case.manifest().parts.iter().map(|part| part.first_chunk).collect();
    assert_eq!(firsts, [None, None, Some(4), Some(5)]);
    assert_eq!(case.rows(), rows);
    assert_eq!(numbers(&rows), [0, 1, 5, 6, 8, 9, 10, 11]);
    assert_same(&answers, &case.answers(), 8);
    let all = case.compact(Which::All);
    assert_eq!((all.table_parts, all.table_rows, all.parts), (1, 8, 4));
    assert_eq!(case.rows(), rows);
    assert_same(&answers, &case.answers(), 8);
}

/// What has been rounded once stays as it is.
#[test]
fn values_do_not_drift() {
    let case = Case::new();
    case.append(10..14);
    let first = case.rows();
    case.compact(Which::All);
    let once = case.rows();
    assert_eq!(first, once);
    for _ in 0..5 {
        case.compact(Which::All);
    }
    assert_eq!(case.rows(), once);
    // One digit more than the schema says is kept.
    let level = |number: usize| ["-1.5", "0.25", "1.125", "0.1234"][number % 4];
    let found: Vec<String> = once.iter().map(|row| row.split('|').nth(3).unwrap().to_owned()).collect();
    assert_eq!(found, (0..14).map(|number| level(number).to_owned()).collect::<Vec<_>>());
}

/// As if the process had ended behind a step, in the middle of the next one, and before its commit.
#[test]
fn an_interrupted_compaction_goes_on() {
    let case = Case::of_parts(2);
    // Two runs of small parts, with a full part's end between them that nothing continues.
    for first in (4..10).step_by(2) {
        case.append(first..first + 2);
    }
    case.delete(1, [0]);
    case.delete(3, [1]);
    let (rows, answers) = (case.rows(), case.answers());
    let path = case.path("T");
    let (place, options) = (TablePlace::Directory(&path), case.options(Which::All));
    let files = || std::fs::read_dir(case.path("T/parts")).unwrap().count();
    {
        let opened = place.open(case.owner.seed(), &case.pins).unwrap();
        let compaction = Compaction::new(place, &options, case.owner.seed(), &opened).unwrap();
        let step = |run: Range<usize>| Step { present: place.look(&case.pins).unwrap(), run };
        let destination = Destination::of(place).unwrap();
        // One step is done.
        let first = step(0..2);
        let stored = compaction.store(&first, &destination, &Silent).unwrap();
        let version = compaction.commit(&first, stored, &destination).unwrap().unwrap();
        assert_eq!(version.manifest().parts.len(), 4);
        // The next one fails before its commit: what it has stored goes again.
        let before = files();
        let second = step(0..2);
        let stored = compaction.store(&second, &destination, &Silent).unwrap();
        assert!(files() > before);
        drop(stored);
        assert_eq!(files(), before);
    }
    assert_eq!(case.rows(), rows);
    assert_same(&answers, &case.answers(), rows.len());
    let report = case.compact(Which::Worth);
    assert_eq!((report.parts, report.table_parts), (4, 1));
    assert_eq!(case.rows(), rows);
    assert_same(&answers, &case.answers(), rows.len());
}

#[test]
fn more_rows_than_a_part_holds_are_done_in_steps() {
    let case = Case::new();
    // More than a step takes, in parts that nothing continues.
    let ends = [300_000, 540_000, 560_000];
    let mut first = 10;
    for end in ends {
        case.append(first..end);
        first = end;
    }
    let report = case.compact(Which::All);
    assert!(report.steps > 1, "{report:?}");
    assert_eq!((report.table_rows, report.removed_rows), (560_000, 0));
    assert_eq!(numbers(&case.rows()), (0..560_000).collect::<Vec<_>>());
    // Every part was written anew, once or with the next step.
    let made: HashSet<_> =
        case.manifest().parts.iter().filter_map(|part| part.append).map(|a| a.id).collect();
    assert_eq!(made.len() as u64, report.steps.min(made.len() as u64));
    assert_eq!(case.compact(Which::Worth).steps, 0);
}

#[test]
fn an_append_can_say_when_it_is_due() {
    let case = Case::new();
    for number in 0..7 {
        assert_eq!(case.compact(Which::Due).steps, 0);
        case.append(10 + number..11 + number);
    }
    // Seven rows behind a part of ten: that one waits.
    assert_eq!(case.compact(Which::Due).steps, 0);
    case.append(17..18);
    let report = case.compact(Which::Due);
    assert_eq!((report.parts, report.table_parts, report.state.due_parts), (8, 2, 8));
    assert_eq!(numbers(&case.rows()), (0..18).collect::<Vec<_>>());
}

#[test]
fn a_stranger_and_a_replaced_table_are_refused() {
    let case = Case::new();
    case.append(10..12);
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    let stranger = OwnerKey::temporary().unwrap();
    let refused = compact(place, &case.options(Which::All), &stranger, &Silent).unwrap_err();
    assert_eq!(refused.code(), "HUSH-K020");
    let opened = place.open(case.owner.seed(), &case.pins).unwrap();
    let options = case.options(Which::All);
    let compaction = Compaction::new(place, &options, case.owner.seed(), &opened).unwrap();
    case.encrypt(0..10, true);
    let wanted = Wanted::of(opened.manifest.manifest(), Which::All);
    let refused = compaction.run(wanted, CompactReport::default(), &Silent).unwrap_err();
    assert_eq!(refused.code(), "HUSH-C074");
    assert_eq!(numbers(&case.rows()), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_column_that_cannot_be_had_again_is_told() {
    let case = Case::new();
    let path = case.path("T");
    let without = |lost: Quantity| {
        let mut opened = TablePlace::Directory(&path).open(case.owner.seed(), &case.pins).unwrap();
        opened.half.encodings.retain(|encoding| encoding.quantity != lost);
        let (owner, manifest) = (case.owner.seed(), opened.manifest.manifest());
        opened.keys = RowKeys::open(owner, manifest, &opened.half).unwrap().0;
        Reader::new(&opened).map(drop).unwrap_err()
    };
    let refused = without(Quantity::Value("temp".into()));
    assert_eq!((refused.code(), refused.kind()), ("HUSH-C090", hush_table::error::ErrorKind::Refused));
    assert!(refused.to_string().starts_with("column temp: the table has numbers computed"), "{refused}");
    let refused = without(Quantity::Valid("seen".into()));
    assert!(refused.to_string().starts_with("column seen: the table does not have which"), "{refused}");
}

/// Nothing but the parts is as large as the table.
#[test]
fn a_low_limit_on_memory_is_refused_and_changes_nothing() {
    let case = Case::new();
    case.append(10..12);
    let options = CompactOptions { memory_limit: Some(1 << 20), ..case.options(Which::All) };
    let path = case.path("T");
    let refused = compact(TablePlace::Directory(&path), &options, &case.owner, &Silent).unwrap_err();
    assert_eq!(refused.code(), "HUSH-C060");
    assert_eq!((case.manifest().version, case.manifest().parts.len()), (2, 2));
}

/// Equal rows have equal files there, so that a new part can have the name of the one that it replaces.
#[test]
fn a_table_without_encrypted_columns_is_compacted_too() {
    let case = Case::empty();
    let schema = "format = 1\ntable = \"t\"\nstatus = \"approved\"\nmax_rows = 100\n[columns.ward]\ntype = \"category\"\nprotect = \"clear\"\n";
    std::fs::write(case.path("schema.toml"), schema).unwrap();
    let rows =
        |text: &str| Source::from_bytes(text.as_bytes().to_vec().into(), &OpenOptions::default()).unwrap();
    let options = EncryptOptions {
        source: rows("ward\na\nb\n"),
        schema: crate::read_approved_schema(&case.path("schema.toml")).unwrap(),
        output: case.path("T"),
        workload: None,
        threads: 2,
        memory_limit: None,
        pins: case.pins.clone(),
        replace: false,
    };
    encrypt(&options, &case.owner, &Silent).unwrap();
    assert_eq!(case.compact(Which::All).steps, 1);
    for _ in 0..2 {
        let (source, pins) = (rows("ward\nc\n"), case.pins.clone());
        let options = AppendOptions { source, batch: None, threads: 2, memory_limit: None, pins };
        append(TablePlace::Directory(&case.path("T")), &options, &case.owner, &Silent).unwrap();
    }
    case.delete(0, [0]);
    assert_eq!(case.compact(Which::Worth).table_parts, 1);
    assert_eq!(case.rows(), ["b", "c", "c"]);
}
