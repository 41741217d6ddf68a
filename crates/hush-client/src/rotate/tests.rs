// SPDX-License-Identifier: Apache-2.0
//! Tables before, during and after rotations: the same rows and answers, and what each key opens.

use hush_remote::Silent;
use hush_table::TableStore;

use super::*;
use crate::compact::Which;
use crate::history::history;
use crate::lived::Case;
use crate::machine::ProfileInUse;

struct Rotation {
    case: Case,
    next: OwnerKey,
}

impl Rotation {
    fn new() -> Self {
        Self { case: Case::new(), next: OwnerKey::temporary().unwrap() }
    }

    fn rotate(&self, way: RotateWay, to: Option<&OwnerKey>) -> Result<RotateReport, ClientError> {
        self.rotate_from(&self.case.owner, way, to)
    }

    fn rotate_from(
        &self,
        key: &OwnerKey,
        way: RotateWay,
        to: Option<&OwnerKey>,
    ) -> Result<RotateReport, ClientError> {
        let options = RotateOptions {
            way,
            new_key: to,
            forget: false,
            threads: 2,
            memory_limit: None,
            pins: self.case.pins.clone(),
        };
        rotate(TablePlace::Directory(&self.case.path("T")), &options, key, &Silent)
    }

    fn manifest(&self) -> Manifest {
        TableStore::local_existing(self.case.path("T")).unwrap().load().unwrap().manifest().clone()
    }

    /// Whether a key opens the table, or the code of its refusal.
    fn opens(&self, key: &OwnerKey) -> Result<(), &'static str> {
        let opened = TablePlace::Directory(&self.case.path("T")).open(key.seed(), &Pins::forgetful());
        opened.map(drop).map_err(|error| error.code())
    }
}

fn numbers(rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
    rows.into_iter().collect()
}

fn compact_all(case: &Case) {
    let options =
        CompactOptions { which: Which::All, threads: 2, memory_limit: None, pins: case.pins.clone() };
    compact(TablePlace::Directory(&case.path("T")), &options, &case.owner, &Silent).unwrap();
}

#[test]
fn rows_to_come_get_secrets_of_their_own() {
    let rotation = Rotation::new();
    let report = rotation.rotate(RotateWay::NewRows, None).unwrap();
    assert_eq!((report.version, report.domains, report.rows, report.table_rows), (2, 2, 0, 10));
    rotation.case.check(&numbers(0..10));
    rotation.case.append(10..25, Some("monday")).unwrap();
    let manifest = rotation.manifest();
    assert_eq!(manifest.parts.iter().map(|part| part.domain).collect::<Vec<_>>(), [0, 1]);
    rotation.case.check(&numbers(0..25));
    // What an answer takes is known before, domain by domain.
    let table = crate::OwnedTable::open_directory(
        &rotation.case.path("T"),
        &rotation.case.owner,
        &rotation.case.pins,
        2,
    );
    let table = table.unwrap();
    for sql in ["SELECT SUM(load), AVG(level) FROM t", "SELECT ward, SUM(load) FROM t GROUP BY ward"] {
        let asked = table.ask(sql, &Silent).unwrap();
        let analysis = table.analyze(&asked, 2, ProfileInUse::of_user()).unwrap();
        let (predicted, measured) = (analysis.predicted.prediction, analysis.measured);
        let encrypted = predicted.bytes_down - predicted.clear_half.bytes;
        assert_eq!(encrypted, measured.bytes_down - measured.clear_bytes, "{sql}");
        assert_eq!(predicted.blocks.len() % 2, 0, "{sql}: as many blocks of each domain");
    }
    // A third domain, deletions in each, and a compaction into the last one.
    rotation.rotate(RotateWay::NewRows, None).unwrap();
    rotation.case.append(25..30, None).unwrap();
    rotation.case.delete("load < 100").unwrap();
    let left: Vec<usize> = (0..30).filter(|number| number * 37 % 1001 >= 100).collect();
    rotation.case.check(&left);
    compact_all(&rotation.case);
    rotation.case.check(&left);
    assert_eq!(rotation.manifest().domains(), [2]);
    // The batch is still known.
    assert!(rotation.case.append(10..25, Some("monday")).unwrap().known_since.is_some());
}

#[test]
fn all_rows_are_written_anew_and_the_key_before_opens_nothing() {
    let mut rotation = Rotation::new();
    rotation.case.append(10..20, Some("monday")).unwrap();
    let before = rotation.manifest();
    let report = rotation.rotate(RotateWay::Everything, Some(&rotation.next)).unwrap();
    assert_eq!((report.rows, report.domains, report.resumed), (20, 1, false));
    assert_eq!((report.key, report.key_before), (rotation.next.id(), Some(rotation.case.owner.id())));
    let manifest = rotation.manifest();
    assert!(!manifest.rotating && manifest.earlier.is_empty() && manifest.domain == 1);
    assert!(manifest.parts.iter().all(|part| !before.parts.contains(part)));
    assert_eq!(rotation.opens(&rotation.next), Ok(()));
    assert_eq!(rotation.opens(&rotation.case.owner), Err("HUSH-K022"));
    let refused = rotation.case.append(20..21, None).unwrap_err();
    assert!(refused.to_string().contains("handed over"), "{refused}");
    // The same command again finds that it is done.
    let again = rotation.rotate(RotateWay::Everything, Some(&rotation.next)).unwrap();
    assert_eq!((again.version, again.rows, again.resumed), (manifest.version, 0, true));
    let first = std::mem::replace(&mut rotation.case.owner, OwnerKey::temporary().unwrap());
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.check(&numbers(0..20));
    assert!(
        rotation.case.append(10..20, Some("monday")).unwrap().known_since.is_some(),
        "batches stay known"
    );
    // And from this key to the next, whose table knows both.
    let third = OwnerKey::temporary().unwrap();
    rotation.rotate(RotateWay::Rewrap, Some(&third)).unwrap();
    assert_eq!(rotation.opens(&first), Err("HUSH-K022"));
    let names = history(TablePlace::Directory(&rotation.case.path("T")), Some(&third), &Pins::forgetful());
    assert_eq!(names.unwrap().versions[0].what, "rotate");
}

#[test]
fn another_key_gets_the_table_without_a_row_written_anew() {
    let mut rotation = Rotation::new();
    let parts = rotation.manifest().parts;
    let report = rotation.rotate(RotateWay::Rewrap, Some(&rotation.next)).unwrap();
    assert_eq!((report.rows, report.domains), (0, 1));
    assert_eq!(rotation.manifest().parts, parts);
    assert_eq!(rotation.opens(&rotation.case.owner), Err("HUSH-K022"));
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.check(&numbers(0..10));
    rotation.case.append(10..12, None).unwrap();
    rotation.case.check(&numbers(0..12));
}

/// A key may have the table again: it opens it, and the one between does not.
#[test]
fn a_table_goes_back_to_a_key_that_it_had() {
    let mut rotation = Rotation::new();
    rotation.rotate(RotateWay::Rewrap, Some(&rotation.next)).unwrap();
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.rotate(RotateWay::Everything, Some(&rotation.next)).unwrap();
    assert_eq!(
        (rotation.opens(&rotation.next), rotation.opens(&rotation.case.owner)),
        (Ok(()), Err("HUSH-K022"))
    );
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.append(10..12, None).unwrap();
    rotation.case.check(&numbers(0..12));
    // And on to the other one once more: that is no rotation of before which would be complete.
    let report = rotation.rotate(RotateWay::Rewrap, Some(&rotation.next)).unwrap();
    assert!(!report.resumed);
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.check(&numbers(0..12));
}

/// Whoever has the key before, a copy of all versions and the new manifest has nothing of the rows to come.
#[test]
fn the_key_before_derives_nothing_of_a_new_domain() {
    let mut rotation = Rotation::new();
    rotation.rotate(RotateWay::NewRows, Some(&rotation.next)).unwrap();
    let leaver = std::mem::replace(&mut rotation.case.owner, OwnerKey::temporary().unwrap());
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.append(10..20, None).unwrap();
    let manifest = rotation.manifest();
    let (id, encryption) = (*manifest.table_id.as_bytes(), *manifest.encryption.as_bytes());
    // By its own seed, or by roots that it opened before: none of them is the new one.
    let of_seed = leaver.seed().of_table(id, encryption);
    assert!(crate::roots::open_roots(&manifest.sealed_roots, of_seed).is_err());
    let part = manifest.parts.iter().find(|part| part.domain == 1).unwrap();
    let store = TableStore::local_existing(rotation.case.path("T")).unwrap();
    let place = manifest.placed_parts().find(|(_, entry)| *entry == part).unwrap().0;
    let wanted = hush_table::Projection { sealed: vec![0], ..hush_table::Projection::default() };
    let chunk = store.open_encrypted(&manifest, place, part).unwrap().read(&wanted).unwrap().remove(0);
    let at = crate::chunk::sealed_place(0, part.append.map(|append| append.id), chunk.written);
    assert!(of_seed.column_seal(0, hush_keys::Cipher::Xaes256Gcm).open(&at, &chunk.sealed[0]).is_err());
    let opened = TablePlace::Directory(&rotation.case.path("T"))
        .open(rotation.case.owner.seed(), &rotation.case.pins)
        .unwrap();
    assert!(
        opened.keys.present().seals[0].key.open(&at, &chunk.sealed[0]).is_ok(),
        "opening is tried on what must open"
    );
}

/// Interrupted between any two versions, the same command goes on.
#[test]
fn an_interrupted_rotation_goes_on() {
    let rotation = Rotation::new();
    for first in (10..40).step_by(10) {
        rotation.case.append(first..first + 10, None).unwrap();
    }
    // The first version alone.
    let place = rotation.case.path("T");
    let options = RotateOptions {
        way: RotateWay::Everything,
        new_key: Some(&rotation.next),
        forget: false,
        threads: 1,
        memory_limit: None,
        pins: rotation.case.pins.clone(),
    };
    {
        let place = TablePlace::Directory(&place);
        let destination = Destination::of(place).unwrap();
        let opened = place.open(rotation.case.owner.seed(), &rotation.case.pins).unwrap();
        begin(place, &options, &rotation.case.owner, &destination, &opened).unwrap();
    }
    assert!(rotation.manifest().rotating);
    let Rotation { mut case, mut next } = rotation;
    std::mem::swap(&mut case.owner, &mut next);
    // Queries go on.
    case.check(&numbers(0..40));
    case.append(40..45, None).unwrap();
    case.delete("load = 37").unwrap();
    std::mem::swap(&mut case.owner, &mut next);
    let rotation = Rotation { case, next };
    let report = rotation.rotate(RotateWay::Everything, Some(&rotation.next)).unwrap();
    assert_eq!((report.resumed, report.rows, report.domains), (true, 39, 1));
    let Rotation { mut case, mut next } = rotation;
    std::mem::swap(&mut case.owner, &mut next);
    case.check(&numbers((0..45).filter(|number| *number != 1)));
}

/// To another key while one to the same key is under way: it begins anew, with that key.
#[test]
fn a_rotation_to_another_key_does_not_go_on_with_one_to_the_same() {
    let mut rotation = Rotation::new();
    let place = rotation.case.path("T");
    {
        let (place, options) = (TablePlace::Directory(&place), options_of(&rotation, false));
        let destination = Destination::of(place).unwrap();
        let opened = place.open(rotation.case.owner.seed(), &rotation.case.pins).unwrap();
        begin(place, &options, &rotation.case.owner, &destination, &opened).unwrap();
    }
    assert!(rotation.manifest().rotating);
    let report = rotation.rotate(RotateWay::Everything, Some(&rotation.next)).unwrap();
    assert_eq!((report.resumed, report.rows, report.domains), (false, 10, 1));
    assert_eq!(rotation.manifest().domain, 2);
    std::mem::swap(&mut rotation.case.owner, &mut rotation.next);
    rotation.case.check(&numbers(0..10));
}

#[test]
fn what_cannot_be_undone_is_refused_before_anything_changes() {
    let rotation = Rotation::new();
    let code = |way, to: Option<&OwnerKey>| rotation.rotate(way, to).unwrap_err().code();
    assert_eq!(code(RotateWay::Rewrap, None), "HUSH-C114");
    assert_eq!(code(RotateWay::Everything, Some(&rotation.case.owner)), "HUSH-C113");
    assert_eq!(
        rotation.rotate_from(&rotation.next, RotateWay::NewRows, None).unwrap_err().code(),
        "HUSH-K020"
    );
    // Secrets that are derived from the seed itself stay with it.
    let place = rotation.case.path("T");
    {
        let store = TableStore::local_existing(&place).unwrap();
        let owner = rotation.case.owner.seed();
        let mut manifest = rotation.manifest();
        manifest.version += 1;
        manifest.sealed_roots = Vec::new();
        let key = owner.verifying_key().to_bytes();
        let signed = hush_table::SignedManifest::sign(manifest, &key, |bytes| owner.sign(bytes)).unwrap();
        store.wait_for_writers(std::time::Duration::from_secs(5)).unwrap().commit(&signed).unwrap();
    }
    for way in [RotateWay::Rewrap, RotateWay::NewRows, RotateWay::Everything] {
        assert_eq!(code(way, Some(&rotation.next)), "HUSH-C110");
    }
    assert_eq!(rotation.manifest().version, 2);
}

/// Rows that were encrypted before a rotation do not land behind it: they are under secrets of before.
#[test]
fn what_was_prepared_before_a_rotation_does_not_land_behind_it() {
    let rotation = Rotation::new();
    let bucket = rotation.case.bucket();
    let place = TablePlace::Bucket(&bucket);
    let pins = Pins::forgetful();
    let owner = rotation.case.owner.seed();
    let stale = place.open(owner, &pins).unwrap();
    let options = |way| RotateOptions {
        way,
        new_key: None,
        forget: false,
        threads: 1,
        memory_limit: None,
        pins: pins.clone(),
    };
    rotate(place, &options(RotateWay::NewRows), &rotation.case.owner, &Silent).unwrap();
    let destination = Destination::of(place).unwrap();
    let committer = Committer { place, owner, pins: &pins, destination: &destination };
    let mut change = Nothing;
    let refused = committer.commit(&stale, &mut change).err().unwrap();
    assert_eq!(refused.code(), "HUSH-C074");
}

/// A version behind the one that it is made from, and no other change.
struct Nothing;

impl Edit for Nothing {
    type Done = std::convert::Infallible;

    fn next(&mut self, present: &Opened) -> Result<Next<Self::Done>, ClientError> {
        let mut next = present.manifest.manifest().clone();
        next.version += 1;
        Ok(Next::Version(Box::new(next)))
    }

    fn has_landed(&self, _: &Manifest) -> Result<bool, ClientError> {
        Ok(false)
    }
}

/// A key in a file, with leave to change it.
fn key_at(path: &std::path::Path) -> OwnerKey {
    let passphrase = || hush_keys::keyfile::Passphrase::new("correct horse battery".to_owned());
    if !path.exists() {
        let new = hush_keys::keyfile::NewPassphrase::new(passphrase()).unwrap();
        OwnerKey::create(path, None, &new, hush_keys::keyfile::WorkFactor::Log2(14)).unwrap();
    }
    OwnerKey::open(path, &passphrase()).unwrap().to_change(path, &passphrase(), None)
}

/// A copy of a version is noise once its root is forgotten: to the key that made it, and to a copy of the key file from before it.
#[test]
fn copies_of_what_was_forgotten_open_no_more() {
    let keys = tempfile::tempdir().unwrap();
    let (path, backup) = (keys.path().join("k.hushkey"), keys.path().join("copy.hushkey"));
    let owner = key_at(&path);
    std::fs::copy(&path, &backup).unwrap();
    let mut rotation = Rotation { case: Case::erasable(owner), next: OwnerKey::temporary().unwrap() };
    rotation.case.check(&numbers(0..10));
    assert!(rotation.manifest().sealed_roots.len() < 64, "no root is sealed");
    let copy = rotation.case.bucket();
    let opens = |key: &OwnerKey| {
        let opened = TablePlace::Bucket(&copy).open(key.seed(), &Pins::forgetful());
        opened.map(drop).map_err(|error| error.code())
    };
    assert_eq!(opens(&key_at(&path)), Ok(()));
    assert_eq!(opens(&key_at(&backup)), Err("HUSH-K023"), "a copy from before the encryption");
    let passphrase = hush_keys::keyfile::Passphrase::new("correct horse battery".to_owned());
    let refused = key_at(&path).check_backup(&passphrase, &backup).unwrap_err();
    assert_eq!(refused.code(), "HUSH-K019");
    rotation.case.append(10..15, Some("monday")).unwrap();
    let options = |way, forget| RotateOptions {
        way,
        new_key: None,
        forget,
        threads: 2,
        memory_limit: None,
        pins: rotation.case.pins.clone(),
    };
    let directory = rotation.case.path("T");
    let place = TablePlace::Directory(&directory);
    let run = |way, forget| rotate(place, &options(way, forget), &rotation.case.owner, &Silent);
    assert_eq!(run(RotateWay::NewRows, true).unwrap_err().code(), "HUSH-C115");
    // Without `forget` the copy still opens.
    let report = run(RotateWay::Everything, false).unwrap();
    assert_eq!((report.forgotten, report.key_file_changed), (0, true));
    assert_eq!(opens(&key_at(&path)), Ok(()));
    let report = run(RotateWay::Everything, true).unwrap();
    assert_eq!((report.forgotten, report.rows), (2, 15));
    rotation.case.check(&numbers(0..15));
    for key in [&rotation.case.owner, &key_at(&path)] {
        assert_eq!(opens(key), Err("HUSH-K023"));
    }
    // To another key: it gets the roots that the table has, and the one before keeps none.
    let next = key_at(&keys.path().join("next.hushkey"));
    rotation.rotate(RotateWay::Rewrap, Some(&next)).unwrap();
    let before = std::mem::replace(&mut rotation.case.owner, next);
    rotation.case.check(&numbers(0..15));
    assert!(rotation.case.append(10..15, Some("monday")).unwrap().known_since.is_some());
    let third = key_at(&keys.path().join("third.hushkey"));
    let all = RotateOptions { new_key: Some(&third), ..options_of(&rotation, true) };
    let report = rotate(TablePlace::Directory(&directory), &all, &rotation.case.owner, &Silent).unwrap();
    assert_eq!((report.forgotten, report.domains), (1, 1));
    assert_eq!(rotation.opens(&before), Err("HUSH-K022"));
    rotation.case.owner = third;
    rotation.case.check(&numbers(0..15));
}

fn options_of(rotation: &Rotation, forget: bool) -> RotateOptions<'static> {
    let pins = rotation.case.pins.clone();
    RotateOptions { way: RotateWay::Everything, new_key: None, forget, threads: 2, memory_limit: None, pins }
}

/// A key that is read alone makes no table that can be erased: its root would be nowhere.
#[test]
fn a_key_without_leave_makes_no_table_that_can_be_erased() {
    let keys = tempfile::tempdir().unwrap();
    let path = keys.path().join("k.hushkey");
    drop(key_at(&path));
    let passphrase = hush_keys::keyfile::Passphrase::new("correct horse battery".to_owned());
    let owner = OwnerKey::open(&path, &passphrase).unwrap();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Case::erasable(owner)));
    assert!(made.is_err());
    assert_eq!(key_at(&path).seed().lacks_of(key_at(&path).seed()), 0);
    // And a table that seals its roots has nothing to forget.
    let rotation = Rotation::new();
    let all = options_of(&rotation, true);
    let refused =
        rotate(TablePlace::Directory(&rotation.case.path("T")), &all, &rotation.case.owner, &Silent);
    assert_eq!(refused.unwrap_err().code(), "HUSH-C116");
}
