// SPDX-License-Identifier: Apache-2.0
//! Encryptions that are interrupted at many moments and go on; those that must not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hush_exec::Limits;
use hush_keys::OwnerSeed;
use hush_plan::Needs;
use hush_remote::{Progress, Silent};
use hush_table::source::OpenOptions;
use hush_table::{JOURNAL_NAME, SignedManifest, TableStore};

use super::*;
use crate::encrypt::plan_encodings;
use crate::policy::{Policy, propose_schema};
use crate::scheme::Lattice;
use crate::table::OwnedTable;
use crate::threads::thread_pool;

/// Four parts of 64 chunks and some rows, in files that end inside chunks.
const ROWS: u64 = 4 * 64 * 8192 + 10_000;
const FILES: u64 = 7;

/// A place with data, its owner and what the owner has seen.
struct Case {
    directory: tempfile::TempDir,
    owner: OwnerSeed,
    pins: Pins,
    half: PrivateHalf,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        for file in 0..FILES {
            let rows = (ROWS * file / FILES)..(ROWS * (file + 1) / FILES);
            let rows: String = rows.map(|row| format!("{}\n", value(row))).collect();
            fs::create_dir_all(data.join(format!("f={file}"))).unwrap();
            fs::write(data.join(format!("f={file}/part.csv")), format!("x\n{rows}")).unwrap();
        }
        let pins = Pins::in_directory(&directory.path().join("pins"));
        let source = Source::open(&data, &OpenOptions::default()).unwrap();
        let half = half(&source, "x");
        Self { owner: OwnerSeed::generate().unwrap(), pins, half, directory }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn place(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Encrypts the data to a place.
    fn run(&self, place: &Path, progress: &dyn Progress) -> Result<SignedManifest, ClientError> {
        self.run_as(place, progress, &self.owner, &self.half, None)
    }

    fn run_as(
        &self,
        place: &Path,
        progress: &dyn Progress,
        owner: &OwnerSeed,
        half: &PrivateHalf,
        replaces: Option<u64>,
    ) -> Result<SignedManifest, ClientError> {
        let source = Source::open(&self.data(), &OpenOptions::default())?;
        let (store, pool) = (TableStore::local(place)?, thread_pool(2)?);
        // Ids of secrets are drawn by every run.
        let half = PrivateHalf::new(half.schema.clone(), encodings(&half.schema));
        Encryption {
            source: &source,
            half: &half,
            owner,
            store: &store,
            pool: &pool,
            memory_limit: None,
            scheme: &Lattice,
            replaces,
            pins: Some(&self.pins),
        }
        .run(progress)
    }

    fn check(&self, place: &Path) {
        let store = TableStore::local_existing(place).unwrap();
        let table = OwnedTable::open_store(&store, &self.owner, &Lattice, 2, Limits::default()).unwrap();
        let sql = "SELECT COUNT(*) AS n, CAST(SUM(x) AS BIGINT) AS s FROM data";
        let answer = table.ask(sql, &Silent).unwrap();
        let number = |column: usize| answer.batches[0].column(column).as_primitive::<Int64Type>().value(0);
        assert_eq!((number(0), number(1)), (ROWS as i64, (0..ROWS).map(value).sum()));
        assert!(!place.join(JOURNAL_NAME).exists());
    }
}

fn value(row: u64) -> i64 {
    (row * 7919 % 1000) as i64 - 300
}

fn half(source: &Source, sensitive: &str) -> PrivateHalf {
    let policy = Policy { sensitive: vec![sensitive.to_owned()], clear: vec!["f".to_owned()] };
    let schema =
        Schema { approved: true, max_rows: 10 * ROWS, ..propose_schema(source, &policy).unwrap().schema };
    PrivateHalf::new(schema.clone(), encodings(&schema))
}

fn encodings(schema: &Schema) -> Vec<PrivateEncoding> {
    plan_encodings(schema, &Needs::of_purposes(schema).unwrap(), schema.max_rows).unwrap()
}

/// Copies a place whenever its journal has changed, and at other moments: what a kill would leave.
struct Snapshots {
    place: PathBuf,
    to: PathBuf,
    taken: Mutex<(u64, Vec<u8>, Vec<PathBuf>)>,
}

impl Progress for Snapshots {
    fn begin(&self, _: &str, _: Option<u64>, _: &str) {}

    fn advance(&self, _: u64) {
        let mut taken = self.taken.lock().unwrap();
        taken.0 += 1;
        let journal = fs::read(self.place.join(JOURNAL_NAME)).unwrap_or_default();
        if journal != taken.1 || taken.0.is_multiple_of(60) {
            let copy = self.to.join(format!("killed-{}", taken.0));
            copy_directory(&self.place, &copy);
            taken.1 = journal;
            taken.2.push(copy);
        }
    }

    fn end(&self) {}
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_directory(&path, &copy);
        } else if let Err(error) = fs::copy(&path, &copy) {
            // A part has got its name meanwhile.
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
    }
}

/// An encryption, and what kills at many of its moments would have left.
fn killed(case: &Case, name: &str) -> (SignedManifest, Vec<PathBuf>) {
    let (place, to) = (case.place(name), case.place(&format!("{name}-killed")));
    let snapshots = Snapshots { place: place.clone(), to, taken: Mutex::default() };
    let signed = case.run(&place, &snapshots).unwrap();
    (signed, snapshots.taken.into_inner().unwrap().2)
}

fn names(place: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(place.join("parts")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_encryption_goes_on_where_it_was_killed() {
    let case = Case::new();
    let (whole, snapshots) = killed(&case, "T");
    case.check(&case.place("T"));
    assert!(snapshots.len() >= 4, "{}", snapshots.len());
    let mut most = 0;
    for place in &snapshots {
        let journal = place.join(JOURNAL_NAME).exists();
        let signed = case.run(place, &Silent).unwrap();
        case.check(place);
        let (found, expected) = (signed.manifest(), whole.manifest());
        // What the journal named is part of the table, under the same identity. Without one, nothing is.
        let kept = found.parts.iter().zip(&expected.parts).take_while(|(a, b)| a == b).count();
        assert!(found.parts.iter().skip(kept).all(|part| !expected.parts.contains(part)));
        assert_eq!(journal, kept > 0);
        assert_eq!(journal, found.encryption == expected.encryption);
        assert_eq!(names(place).len(), names(&case.place("T")).len(), "nothing is left over");
        most = most.max(kept);
    }
    assert!(most >= 2, "{most}");
}

#[test]
fn a_lost_part_is_encrypted_again_with_those_behind_it() {
    let case = Case::new();
    let (whole, snapshots) = killed(&case, "T");
    let place = snapshots.last().unwrap();
    let second = whole.manifest().parts[1].encrypted.unwrap().digest;
    fs::remove_file(place.join(format!("parts/{second}.enc.parquet"))).unwrap();
    let signed = case.run(place, &Silent).unwrap();
    case.check(place);
    assert_eq!(signed.manifest().parts[0], whole.manifest().parts[0]);
    assert!(signed.manifest().parts[1..].iter().all(|part| !whole.manifest().parts.contains(part)));
}

/// The refusal of a continuation, which leaves the place as it is.
#[track_caller]
fn refused(place: &Path, outcome: Result<SignedManifest, ClientError>) -> Unfinished {
    let Err(ClientError::Unfinished { what, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(place.join(JOURNAL_NAME).exists() && !names(place).is_empty());
    what
}

#[test]
fn what_has_changed_is_not_continued() {
    let case = Case::new();
    let (_, snapshots) = killed(&case, "T");
    let place = snapshots.last().unwrap();
    let files = names(place);
    let other = OwnerSeed::generate().unwrap();
    assert_eq!(refused(place, case.run_as(place, &Silent, &other, &case.half, None)), Unfinished::Sealed);
    let mut half = case.half.clone();
    half.schema.columns[0].nullable ^= true;
    assert_eq!(refused(place, case.run_as(place, &Silent, &case.owner, &half, None)), Unfinished::Schema);

    let first = case.data().join("f=0/part.csv");
    let (text, time) = (fs::read(&first).unwrap(), fs::metadata(&first).unwrap().modified().unwrap());
    let write = |bytes: &[u8], time: SystemTime| {
        fs::write(&first, bytes).unwrap();
        fs::File::options().write(true).open(&first).unwrap().set_modified(time).unwrap();
    };
    let file = || Unfinished::File { file: "f=0/part.csv".to_owned() };
    write(&text, SystemTime::UNIX_EPOCH);
    assert_eq!(refused(place, case.run(place, &Silent)), file());
    write(&[&text[..], b"1\n"].concat(), time);
    assert_eq!(refused(place, case.run(place, &Silent)), file());
    // Neither size nor time tells.
    let mut changed = text.clone();
    let digit = changed.iter().position(u8::is_ascii_digit).unwrap();
    changed[digit] = if changed[digit] == b'1' { b'2' } else { b'1' };
    write(&changed, time);
    let Unfinished::Rows { first: 1, last } = refused(place, case.run(place, &Silent)) else {
        panic!("rows")
    };
    assert_eq!(last, 64 * 8192);
    write(&text, time);
    let last = case.data().join(format!("f={}", FILES - 1));
    let aside = case.place("aside");
    fs::rename(&last, &aside).unwrap();
    assert_eq!(refused(place, case.run(place, &Silent)), Unfinished::Files);
    fs::rename(&aside, &last).unwrap();

    // What was not yet in the journal may be gone, by the writer that came next; what is in it is used.
    assert!(names(place).is_subset(&files));
    let continued = case.run(place, &Silent).unwrap();
    let first = continued.manifest().parts[0].encrypted.unwrap().digest;
    assert!(files.contains(&format!("{first}.enc.parquet")));
    case.check(place);
}

#[test]
fn the_journal_of_a_version_that_was_seen_is_not_used() {
    let case = Case::new();
    let (whole, snapshots) = killed(&case, "T");
    let journal = fs::read(snapshots.last().unwrap().join(JOURNAL_NAME)).unwrap();
    let place = case.place("T");
    // The version that it would write is there: the next one is encrypted anew.
    fs::write(place.join(JOURNAL_NAME), &journal).unwrap();
    let next = case.run_as(&place, &Silent, &case.owner, &case.half, Some(1)).unwrap();
    assert_ne!(next.manifest().encryption, whole.manifest().encryption);
    // Somebody has removed the manifest, but the owner has seen that version.
    case.pins.check_and_remember(&whole).unwrap();
    let again = case.run(snapshots.last().unwrap(), &Silent).unwrap();
    assert_ne!(again.manifest().encryption, whole.manifest().encryption);
    assert!(again.manifest().parts.iter().all(|part| !whole.manifest().parts.contains(part)));
}

#[test]
fn damaged_journals_are_refused() {
    let case = Case::new();
    let (_, snapshots) = killed(&case, "T");
    let place = snapshots.last().unwrap();
    let path = place.join(JOURNAL_NAME);
    let journal = fs::read(&path).unwrap();
    let source = Source::open(&case.data(), &OpenOptions::default()).unwrap();
    let (store, pool) = (TableStore::local(place).unwrap(), thread_pool(1).unwrap());
    let encryption = Encryption {
        source: &source,
        half: &case.half,
        owner: &case.owner,
        store: &store,
        pool: &pool,
        memory_limit: None,
        scheme: &Lattice,
        replaces: None,
        pins: Some(&case.pins),
    };
    assert!(Journal::open(&encryption, &journal).is_some());
    for place in 0..journal.len() {
        let mut damaged = journal.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Journal::open(&encryption, &damaged).is_none(), "byte {place}");
        assert!(Journal::open(&encryption, &journal[..place]).is_none(), "{place} bytes");
    }
    assert!(Journal::open(&encryption, &[&journal[..], &[0]].concat()).is_none());
    // What other versions might seal.
    let keys = case.owner.of_table(journal[8..24].try_into().unwrap(), journal[24..40].try_into().unwrap());
    let plain = keys.journal_seal().open(PLACE, &journal[40..]).unwrap();
    let text = String::from_utf8(plain.to_vec()).unwrap();
    let sealed = |text: &str| {
        let sealed = keys.journal_seal().seal(PLACE, text.as_bytes()).unwrap();
        [&journal[..40], &sealed].concat()
    };
    assert!(Journal::open(&encryption, &sealed(&text)).is_some());
    for (from, to) in [
        ("{\"version\":", "{\"more\":1,\"version\":"),
        ("\"chunks\":64", "\"chunks\":-1"),
        ("\"files\"", "\"file\""),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(Journal::open(&encryption, &sealed(&text.replace(from, to))).is_none(), "{from}");
    }
    fs::write(&path, &journal[..100]).unwrap();
    assert_eq!(refused(place, case.run(place, &Silent)), Unfinished::Sealed);
}
