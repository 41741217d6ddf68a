// SPDX-License-Identifier: Apache-2.0
//! Numbers and positions after every kind of end: none is used twice, none is lost.

use arrow::array::{Int64Array, RecordBatch};
use ed25519_dalek::{Signer, SigningKey};
use hush_encode::clear_schema;
use hush_plan::schema::file::from_toml;
use hush_table::TableId;
use hush_table::part::ClearPartWriter;

use super::*;

const SCHEMA: &str = "format = 1\ntable = \"t\"\n[columns.n]\ntype = \"int(64)\"\nprotect = \"clear\"\n";

fn key(device: u8) -> DeviceKey {
    let owner = SigningKey::from_bytes(&[9; 32]);
    let of = (from_toml(SCHEMA).unwrap(), TableId::from_bytes([3; 16]), owner.verifying_key().to_bytes());
    DeviceKey::new(of, (&[], 0), Vec::new(), &[device; 32], |bytes| owner.sign(bytes).to_bytes())
}

fn rows(values: &[i64]) -> EncryptedRows {
    let schema = clear_schema(&from_toml(SCHEMA).unwrap());
    let mut writer = ClearPartWriter::new(&schema).unwrap();
    let column = std::sync::Arc::new(Int64Array::from(values.to_vec()));
    writer.push(&RecordBatch::try_new(schema, vec![column]).unwrap()).unwrap();
    EncryptedRows { rows: values.len(), chunks: 1, clear: Some(writer.finish().unwrap()), encrypted: None }
}

/// A place in rows, which has no mark.
fn at(position: u64) -> Option<Place> {
    Some(Place { position, mark: None })
}

/// A source of this length, without marks; a last line may lack its end.
fn length(length: u64) -> impl FnOnce(u64) -> Result<Option<Option<Mark>>, EdgeError> {
    move |position| Ok((position <= length + 1).then_some(None))
}

const FILE: SourceId = SourceId { device: 1, inode: 2, content: None };

#[test]
fn numbers_and_positions_survive_whatever_is_left_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(1);
    // Deleted when delivered, or not; with a part nobody names and a file not yet in place.
    for (number, delivered) in (0..).zip([true, false, true, true, false]) {
        let spool = Spool::open(directory.path(), &key).unwrap();
        assert_eq!(spool.resume(FILE, length(1000)).unwrap(), 10 * number);
        let waiting = spool.push(&key, &rows(&[number as i64]), at(10 * (number + 1))).unwrap();
        assert_eq!(waiting.number, number);
        let signed = spool.read(waiting).unwrap();
        signed.require_owner(&key.owner, key.table_id).unwrap();
        if delivered {
            spool.delivered(waiting, &signed).unwrap();
        }
        drop(spool);
        let parts = directory.path().join(PARTS_NAME);
        let left = FileKind::Clear.file_name(&Digest::of(b"left"));
        fs::write(parts.join(&left), "left").unwrap();
        fs::write(parts.join(format!("{left}.7-0.partial")), "half").unwrap();
        fs::write(directory.path().join("state.json.7-0.partial"), "half").unwrap();
    }
    let spool = Spool::open(directory.path(), &key).unwrap();
    let waiting: Vec<u64> = spool.waiting().unwrap().iter().map(|waiting| waiting.number).collect();
    assert_eq!(waiting, [1, 4]);
    assert_eq!(fs::read_dir(directory.path().join(PARTS_NAME)).unwrap().count(), 2);
    let left = fs::read_dir(directory.path()).unwrap().flatten();
    assert!(!left.into_iter().any(|file| file.file_name().to_string_lossy().contains("partial")));
}

#[test]
fn another_file_is_read_from_its_beginning_and_the_same_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(1);
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(FILE, length(1000)).unwrap(), 0);
    spool.push(&key, &rows(&[1]), at(77)).unwrap();
    assert_eq!(spool.resume(FILE, length(1000)).unwrap(), 77);
    let other = SourceId { inode: 3, ..FILE };
    assert_eq!(spool.resume(other, length(1000)).unwrap(), 0);
    drop(spool);
    // The delivery's name says 77, but of the file before.
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(other, length(1000)).unwrap(), 0);
    assert_eq!(spool.push(&key, &rows(&[2]), at(5)).unwrap().number, 1);
    // Cut and begun again, under the same name and number.
    assert_eq!(spool.resume(other, length(4)).unwrap(), 5);
    assert_eq!(spool.resume(other, length(3)).unwrap(), 0);
    drop(spool);
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(other, length(1000)).unwrap(), 0);
    // A place in bytes is no place in rows, and a place in the old file is no place in the new one.
    let of = |content: &[u8]| SourceId { content: Some(Digest::of(content)), ..other };
    spool.push(&key, &rows(&[3]), at(8)).unwrap();
    assert_eq!(spool.resume(of(b"a"), length(1000)).unwrap(), 0);
    spool.push(&key, &rows(&[4]), at(9)).unwrap();
    drop(spool);
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(of(b"a"), length(1000)).unwrap(), 9);
    assert_eq!(spool.resume(of(b"b"), length(1000)).unwrap(), 0);
    spool.push(&key, &rows(&[5]), at(10)).unwrap();
    // A stream between has no places.
    spool.push(&key, &rows(&[6]), None).unwrap();
    drop(spool);
    // The places of the files before are known.
    let spool = Spool::open(directory.path(), &key).unwrap();
    for (source, position) in [(other, 8), (FILE, 77), (of(b"a"), 9), (of(b"b"), 10), (FILE, 77)] {
        assert_eq!(spool.resume(source, length(1000)).unwrap(), position);
    }
    assert_eq!(spool.state().before.len(), 3);
}

#[test]
fn files_are_told_by_what_they_hold() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(1);
    let spool = Spool::open(directory.path(), &key).unwrap();
    let mark = Mark { head: 7, tail: 8 };
    let place = Place { position: 50, mark: Some(mark) };
    assert_eq!(spool.resume(FILE, |_| Ok(None)).unwrap(), 0);
    spool.push(&key, &rows(&[1]), Some(place)).unwrap();
    drop(spool);
    // Place and mark stand in the delivery's name alone.
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(FILE, |position| Ok((position == 50).then_some(Some(mark)))).unwrap(), 50);
    // The same beginning with other rows behind: nobody can tell which of them were delivered.
    let changed = spool.resume(FILE, |_| Ok(Some(Some(Mark { tail: 9, ..mark })))).unwrap_err();
    assert_eq!(changed.code(), "HUSH-G008");
    // Another beginning: another file, though its number is that of one before.
    assert_eq!(spool.resume(FILE, |_| Ok(Some(Some(Mark { head: 9, ..mark })))).unwrap(), 0);
    assert_eq!(spool.resume(FILE, |_| Ok(Some(Some(mark)))).unwrap(), 0);
}

#[test]
fn what_is_no_spool_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let parts = directory.path().join(PARTS_NAME);
    fs::create_dir(&parts).unwrap();
    fs::write(parts.join("thesis.doc"), "years").unwrap();
    let refused = Spool::open(directory.path(), &key(1)).unwrap_err();
    assert!(matches!(refused, EdgeError::Spool { fault: SpoolFault::NotEmpty, .. }), "{refused}");
    fs::remove_file(parts.join("thesis.doc")).unwrap();
    fs::write(directory.path().join("notes.partial"), "years").unwrap();
    assert_eq!(Spool::open(directory.path(), &key(1)).unwrap_err().code(), "HUSH-G007");
    fs::remove_file(directory.path().join("notes.partial")).unwrap();
    // The files of a spool whose making was interrupted.
    fs::write(directory.path().join("state.json.7-0.partial"), "half").unwrap();
    drop(Spool::open(directory.path(), &key(1)).unwrap());
    // Files that came later are not its own either.
    fs::write(parts.join("thesis.doc"), "years").unwrap();
    drop(Spool::open(directory.path(), &key(1)).unwrap());
    assert!(parts.join("thesis.doc").exists());
}

#[test]
fn a_spool_belongs_to_one_key_and_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::open(directory.path(), &key(1)).unwrap();
    assert_eq!(Spool::open(directory.path(), &key(1)).unwrap_err().code(), "HUSH-G007");
    drop(spool);
    assert_eq!(Spool::open(directory.path(), &key(2)).unwrap_err().code(), "HUSH-G007");
    fs::write(directory.path().join(STATE), "{").unwrap();
    assert_eq!(Spool::open(directory.path(), &key(1)).unwrap_err().code(), "HUSH-G007");
}

#[test]
fn equal_clear_rows_of_two_deliveries_stay_until_the_last_is_delivered() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(1);
    let spool = Spool::open(directory.path(), &key).unwrap();
    let waiting = [0, 1].map(|place| spool.push(&key, &rows(&[5, 5]), at(place)).unwrap());
    let signed = waiting.map(|waiting| spool.read(waiting).unwrap());
    assert_eq!(signed[0].delivery().clear, signed[1].delivery().clear);
    let count = || fs::read_dir(directory.path().join(PARTS_NAME)).unwrap().count();
    spool.delivered(waiting[0], &signed[0]).unwrap();
    assert_eq!(count(), 1);
    spool.delivered(waiting[1], &signed[1]).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn key_files_are_read_back_and_kept_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let written = key(1);
    written.write(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let read = DeviceKey::read(&path).unwrap();
    assert_eq!((read.verifying_key(), read.certificate), (written.verifying_key(), written.certificate));
    assert_eq!(written.write(&path).unwrap_err().code(), "HUSH-G001");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(DeviceKey::read(&path).unwrap_err().code(), "HUSH-G003");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let good = fs::read(&path).unwrap();
    hush_testkit::damaged_json("device key", 200, &good, |bytes| {
        fs::write(&path, bytes).unwrap();
        DeviceKey::read(&path).is_ok()
    });
}
