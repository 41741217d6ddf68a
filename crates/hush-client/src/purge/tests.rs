// SPDX-License-Identifier: Apache-2.0
//! Purges of directories, object stores and servers, with statements that are checked, altered and exchanged, and servers that lie.

mod served;

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hush_remote::Silent;
use hush_table::manifest::ChangeKind;
use hush_table::source::{OpenOptions, Source};
use hush_table::{DeadRows, TableStore};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;

pub(crate) use self::served::Service;
use super::*;
use crate::append::{AppendOptions, append};
use crate::owner::{EncryptOptions, encrypt};
use crate::table::OwnedTable;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
[columns.id]
type = "text"
protect = "seal"
[columns.ward]
type = "category"
protect = "clear"
[columns.load]
type = "int(32)"
range = [0, 100000]
protect = "encrypt"
"#;

/// An owner with a table in the directory `T`.
pub(crate) struct Case {
    directory: tempfile::TempDir,
    pub(crate) owner: OwnerKey,
    pub(crate) pins: Pins,
}

fn source(rows: std::ops::Range<usize>) -> Source {
    let rows: String = rows.map(|row| format!("id{row},{},{row}\n", ["a", "b"][row % 2])).collect();
    Source::from_bytes(format!("id,ward,load\n{rows}").into_bytes().into(), &OpenOptions::default()).unwrap()
}

impl Case {
    /// Version 1, of the rows 0 to 9.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(&directory.path().join("pins"));
        let case = Self { directory, owner: OwnerKey::temporary().unwrap(), pins };
        case.encrypt(0..10);
        case
    }

    /// The next version has these rows and no others.
    pub(crate) fn encrypt(&self, rows: std::ops::Range<usize>) {
        let schema = self.path("schema.toml");
        std::fs::write(&schema, SCHEMA).unwrap();
        let options = EncryptOptions {
            source: source(rows),
            schema: crate::read_approved_schema(&schema).unwrap(),
            output: self.path("T"),
            workload: None,
            threads: 1,
            memory_limit: None,
            pins: self.pins.clone(),
            replace: true,
        };
        encrypt(&options, &self.owner, &Silent).unwrap();
    }

    fn append(&self, place: TablePlace<'_>, rows: std::ops::Range<usize>) {
        let (source, pins) = (source(rows), self.pins.clone());
        let options = AppendOptions { source, batch: None, threads: 1, memory_limit: None, pins };
        append(place, &options, &self.owner, &Silent).unwrap();
    }

    /// The next version of the directory's table, without these rows of its first part.
    pub(crate) fn delete_rows(&self, rows: &[u64]) -> SignedManifest {
        let store = self.store();
        let mut next = store.load().unwrap().manifest().clone();
        let part = &mut next.parts[0];
        let list = DeadRows::new(part.rows, rows.iter().copied());
        let before = part.living_rows();
        part.dead = Some(store.put_dead_rows(&list).unwrap());
        let removed = before.saturating_sub(part.living_rows());
        next.version += 1;
        next.record(ChangeKind::Delete, 0, removed);
        let seed = self.owner.seed();
        let key = seed.verifying_key().to_bytes();
        let next = SignedManifest::sign(next, &key, |bytes| seed.sign(bytes)).unwrap();
        store.commit(&next).unwrap();
        next
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn store(&self) -> TableStore {
        TableStore::local_existing(self.path("T")).unwrap()
    }

    /// The same versions in an object store, one after the other: what `next` makes is copied when it is there.
    fn bucket(&self, next: impl FnOnce()) -> (Arc<InMemory>, TableStore) {
        let objects = Arc::new(InMemory::new());
        let bucket = TableStore::new(objects.clone(), "a/t".into());
        let copy = || self.store().copy_version(&self.store().load().unwrap(), &bucket, &|_| ()).unwrap();
        copy();
        next();
        copy();
        (objects, bucket)
    }

    fn purge(&self, place: TablePlace<'_>, statement: &str) -> Result<PurgeReport, ClientError> {
        purge(place, &self.path(statement), &self.owner, &self.pins)
    }

    fn check(&self, place: TablePlace<'_>, statement: &str) -> Result<CheckedStatement, ClientError> {
        check_statement(&self.path(statement), place, &self.pins)
    }
}

/// The number of rows and the sum of `load`.
pub(crate) fn ask(table: &OwnedTable) -> Result<(i64, i64), ClientError> {
    let asked = table
        .ask("SELECT COUNT(*) AS n, CAST(SUM(load) AS BIGINT) AS s FROM t WHERE ward <> 'x'", &Silent)?;
    let number = |column: usize| asked.batches[0].column(column).as_primitive::<Int64Type>().value(0);
    Ok((number(0), number(1)))
}

fn paths(files: &[StoredFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}

/// Everything in a directory, by name, with its content.
fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut open, mut found) = (vec![directory.to_owned()], Vec::new());
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                found.push((path.clone(), std::fs::read(path).unwrap()))
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_directory_is_purged_and_the_statement_holds() {
    let case = Case::new();
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    let old = OwnedTable::open_directory(&path, &case.owner, &case.pins, 1).unwrap();
    let before: Vec<_> = tree(&path.join("parts"));
    case.encrypt(0..5);
    case.append(place, 5..7);
    let new = OwnedTable::open_directory(&path, &case.owner, &case.pins, 1).unwrap();
    let all = tree(&path);
    let looked = look_at_purge(place, &case.owner, &case.pins).unwrap();
    assert_eq!(tree(&path).len(), all.len());

    let report = case.purge(place, "statement.json").unwrap();
    assert_eq!(report, looked);
    assert_eq!((report.version, report.deleted.len()), (3, 2), "{report:?}");
    assert!(before.iter().all(|(path, _)| !path.exists()));
    let bytes: usize = before.iter().map(|(_, content)| content.len()).sum();
    assert_eq!(PurgeReport::bytes(&report.deleted), bytes as u64);
    assert_eq!(ask(&new).unwrap(), (7, 21));
    // Whoever is asking the old version is told so, and gets no answer.
    let refused = ask(&old).unwrap_err();
    assert!(refused.code() == "HUSH-E031" || refused.code() == "HUSH-T030", "{} {refused}", refused.code());

    let checked = case.check(place, "statement.json").unwrap();
    let said = checked.statement;
    assert_eq!((said.version, said.manifest), (3, case.store().load().unwrap().digest()));
    assert_eq!((paths(&said.deleted), said.deleted_bytes), (paths(&report.deleted), bytes as u64));
    assert_eq!(
        (said.place.as_str(), said.table.as_str()),
        (path.canonicalize().unwrap().to_str().unwrap(), "t")
    );
    assert_eq!(place_of_statement(&case.path("statement.json")).unwrap(), said.place);
    assert!(said.not_proven.iter().any(|what| what.contains("backups")));
    // The statement holds for later versions too, as long as nobody puts the files back.
    case.append(place, 7..8);
    case.check(place, "statement.json").unwrap();
    let (file, content) = &before[0];
    std::fs::write(file, content).unwrap();
    // The file system's clock goes in steps, in which the manifest may have been written too.
    let touch = |time: SystemTime| {
        std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap()
    };
    touch(SystemTime::now());
    let refused = case.check(place, "statement.json").unwrap_err();
    assert!(refused.code() == "HUSH-C101" && refused.to_string().contains("parts/"), "{refused}");
    // Another purge finds it again: at once if it has its old time, as copies that keep times have, and else after a day.
    let report = case.purge(place, "young.json").unwrap();
    assert_eq!((report.deleted.len(), report.unnamed.len(), file.exists()), (0, 1, true));
    touch(SystemTime::now() - Duration::from_secs(3600));
    let report = case.purge(place, "second.json").unwrap();
    assert_eq!(report.deleted.len(), 1);
    assert!(case.check(place, "statement.json").is_ok() && case.check(place, "second.json").is_ok());
}

#[test]
fn nothing_is_deleted_without_a_statement_or_by_others() {
    let case = Case::new();
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    case.encrypt(0..5);
    let before = tree(&path);
    std::fs::write(case.path("there.json"), "mine").unwrap();
    std::os::unix::fs::symlink(case.path("nowhere"), case.path("link.json")).unwrap();
    for (name, code) in
        [("there.json", "HUSH-C106"), ("link.json", "HUSH-C106"), ("no/such/place.json", "HUSH-C040")]
    {
        assert_eq!(case.purge(place, name).unwrap_err().code(), code, "{name}");
    }
    assert_eq!(std::fs::read(case.path("there.json")).unwrap(), b"mine");
    let stranger = OwnerKey::temporary().unwrap();
    let refused = purge(place, &case.path("new.json"), &stranger, &case.pins).unwrap_err();
    assert_eq!(refused.code(), "HUSH-K020");
    std::fs::write(path.join(hush_table::JOURNAL_NAME), "sealed").unwrap();
    assert_eq!(case.purge(place, "new.json").unwrap_err().code(), "HUSH-T024");
    std::fs::remove_file(path.join(hush_table::JOURNAL_NAME)).unwrap();
    assert!(!case.path("new.json").exists(), "a purge that failed has stated nothing");
    // The locks are new; nothing else has changed.
    let left = tree(&path);
    let left: Vec<_> = left.into_iter().filter(|(path, _)| !path.ends_with(".lock")).collect();
    let before: Vec<_> = before.into_iter().filter(|(path, _)| !path.ends_with(".lock")).collect();
    assert!(left == before);
}

#[test]
fn statements_that_were_changed_are_refused() {
    let case = Case::new();
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    case.encrypt(0..5);
    case.purge(place, "statement.json").unwrap();
    let whole = std::fs::read(case.path("statement.json")).unwrap();
    let refused = |bytes: &[u8], what: &dyn std::fmt::Display| {
        std::fs::write(case.path("changed.json"), bytes).unwrap();
        let refused = case.check(place, "changed.json").unwrap_err();
        assert_eq!(refused.code(), "HUSH-C103", "{what}: {refused}");
    };
    for at in 0..whole.len() {
        for flip in [0x01, 0x20] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            refused(&changed, &format!("byte {at}"));
        }
        refused(&[&whole[..at], &whole[at + 1..]].concat(), &format!("without byte {at}"));
    }
    refused(&[&whole[..], b"\n"].concat(), &"a line more");
    refused(b"", &"nothing");
    // Blanks are no matter of the signature, and still those of one form alone.
    let value: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    refused(&serde_json::to_vec(&value).unwrap(), &"other blanks");
    // What names files elsewhere is no statement, whoever signed it.
    let checked = case.check(place, "statement.json").unwrap().statement;
    for bad in ["/etc/passwd", "parts/../../x", "parts/.lock", "other/x", "parts/a/b", ""] {
        let deleted = vec![StoredFile { path: bad.to_owned(), bytes: 1 }];
        let bytes = statement::encode(Statement { deleted, ..checked.clone() }, case.owner.seed()).unwrap();
        refused(&bytes, &bad);
    }
    let newer = Statement { format: "hushtable purge 2".into(), ..checked };
    refused(&statement::encode(newer, case.owner.seed()).unwrap(), &"another form");
    assert_eq!(case.check(place, "absent.json").unwrap_err().code(), "HUSH-C040");
}

#[test]
fn statements_of_other_tables_and_owners_are_refused() {
    let (case, other) = (Case::new(), Case::new());
    let (path, other_path) = (case.path("T"), other.path("T"));
    let (place, elsewhere) = (TablePlace::Directory(&path), TablePlace::Directory(&other_path));
    let old = case.store().load().unwrap();
    let parts = tree(&path.join("parts"));
    case.encrypt(0..5);
    other.encrypt(0..5);
    case.purge(place, "statement.json").unwrap();
    other.purge(elsewhere, "statement.json").unwrap();
    let refused = check_statement(&other.path("statement.json"), place, &case.pins).unwrap_err();
    assert!(refused.code() == "HUSH-C104" && refused.to_string().contains("another owner"), "{refused}");
    // One owner's statement about another table of the owner's.
    let said = case.check(place, "statement.json").unwrap().statement;
    let foreign = Statement { table_id: hush_table::TableId::from_bytes([9; 16]), ..said.clone() };
    std::fs::write(case.path("foreign.json"), statement::encode(foreign, case.owner.seed()).unwrap())
        .unwrap();
    let refused = case.check(place, "foreign.json").unwrap_err();
    assert!(refused.code() == "HUSH-C104" && refused.to_string().contains("another table"), "{refused}");
    // Somebody puts the version from before the purge back.
    let present = std::fs::read(path.join("manifest.hush")).unwrap();
    std::fs::write(path.join("manifest.hush"), old.as_bytes()).unwrap();
    parts.iter().for_each(|(path, content)| std::fs::write(path, content).unwrap());
    assert_eq!(case.check(place, "statement.json").unwrap_err().code(), "HUSH-C105");
    std::fs::write(path.join("manifest.hush"), present).unwrap();
    assert_eq!(case.check(place, "statement.json").unwrap_err().code(), "HUSH-C101");
    // Another manifest of the same version.
    let forked = Statement { manifest: hush_table::Digest::of(b"another"), ..said };
    std::fs::write(case.path("forked.json"), statement::encode(forked, case.owner.seed()).unwrap()).unwrap();
    assert_eq!(case.check(place, "forked.json").unwrap_err().code(), "HUSH-C105");
    std::fs::remove_file(path.join("manifest.hush")).unwrap();
    assert_eq!(case.check(place, "statement.json").unwrap_err().code(), "HUSH-T020");
}

#[test]
fn a_bucket_is_purged_of_versions_and_parts() {
    let case = Case::new();
    let (objects, bucket) = case.bucket(|| case.encrypt(0..5));
    let place = TablePlace::Bucket(&bucket);
    let looked = look_at_purge(place, &case.owner, &case.pins).unwrap();
    let report = case.purge(place, "statement.json").unwrap();
    assert_eq!(report, looked);
    let versions = report.deleted.iter().filter(|file| file.path.starts_with("versions/")).count();
    assert_eq!((versions, report.deleted.len()), (1, 3), "{report:?}");
    assert!(report.not_proven.iter().any(|what| what.contains("noncurrent")), "{report:?}");
    case.check(place, "statement.json").unwrap();
    let table = OwnedTable::open_bucket(&bucket, &case.owner, &case.pins, 1).unwrap();
    assert_eq!(ask(&table).unwrap(), (5, 10));
    let version = report.deleted.iter().find(|file| file.path.starts_with("versions/")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let location = object_store::path::Path::from(format!("a/t/{}", version.path));
    runtime.block_on(objects.put(&location, "back".into())).unwrap();
    let refused = case.check(place, "statement.json").unwrap_err();
    assert!(refused.code() == "HUSH-C101" && refused.to_string().contains("versions/"), "{refused}");
    assert_eq!(paths(&case.purge(place, "again.json").unwrap().deleted), [version.path.as_str()]);
    case.check(place, "statement.json").unwrap();
}

/// Lists of deleted rows go with the versions that had them. One that a later version has again is told.
#[test]
fn old_lists_of_deleted_rows_go() {
    let case = Case::new();
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    let first = case.delete_rows(&[1, 2]);
    let second = case.delete_rows(&[1, 2, 7]);
    let report = case.purge(place, "statement.json").unwrap();
    let list = |signed: &SignedManifest| {
        format!("parts/{}.dead", signed.manifest().parts[0].dead.unwrap().file.digest)
    };
    assert_eq!(paths(&report.deleted), [list(&first)]);
    let table = OwnedTable::open_directory(&path, &case.owner, &case.pins, 1).unwrap();
    assert_eq!(ask(&table).unwrap(), (7, 45 - 1 - 2 - 7));
    assert!(path.join(list(&second)).exists());
    case.delete_rows(&[1, 2]);
    let checked = case.check(place, "statement.json").unwrap();
    assert_eq!((checked.named_again, checked.unasked), (1, 0));
}

/// Appends and purges of a directory wait for each other, and no rows are lost.
#[test]
fn purges_beside_appends_lose_nothing() {
    let case = Case::new();
    let path = case.path("T");
    let place = TablePlace::Directory(&path);
    case.encrypt(0..5);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let case = &case;
            scope.spawn(move || case.append(place, 10 * number + 100..10 * number + 110));
            scope.spawn(move || case.purge(place, &format!("{number}.json")).unwrap());
        }
    });
    let store = case.store();
    let signed = store.load().unwrap();
    store.verify(signed.manifest()).unwrap();
    let table = OwnedTable::open_directory(&path, &case.owner, &case.pins, 1).unwrap();
    assert_eq!(ask(&table).unwrap(), (45, 10 + (100..140).sum::<i64>()));
    (0..4).for_each(|number| drop(case.check(place, &format!("{number}.json")).unwrap()));
    // Rows with equal clear columns share a file.
    let named: HashSet<_> = named_files(signed.manifest()).collect();
    assert_eq!(tree(&path.join("parts")).len(), named.len());
}
