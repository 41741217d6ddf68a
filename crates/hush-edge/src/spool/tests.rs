// SPDX-License-Identifier: Apache-2.0
//! Numbers and positions after every kind of end: none is used twice, none is lost.

use arrow::array::{Int64Array, RecordBatch};
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::schema::file::from_toml;
use hush_table::TableId;
use hush_table::part::ClearPartWriter;

use super::*;
use crate::clear_schema;

const SCHEMA: &str = "format = 1\ntable = \"t\"\n[columns.n]\ntype = \"int(64)\"\nprotect = \"clear\"\n";

fn key(device: u8) -> DeviceKey {
    let owner = SigningKey::from_bytes(&[9; 32]);
    let of = (from_toml(SCHEMA).unwrap(), TableId::from_bytes([3; 16]), owner.verifying_key().to_bytes());
    DeviceKey::new(of, &[], Vec::new(), &[device; 32], |bytes| owner.sign(bytes).to_bytes())
}

fn rows(values: &[i64]) -> EncryptedRows {
    let schema = clear_schema(&from_toml(SCHEMA).unwrap());
    let mut writer = ClearPartWriter::new(&schema).unwrap();
    let column = std::sync::Arc::new(Int64Array::from(values.to_vec()));
    writer.push(&RecordBatch::try_new(schema, vec![column]).unwrap()).unwrap();
    EncryptedRows { rows: values.len(), clear: Some(writer.finish().unwrap()), encrypted: None }
}

const FILE: SourceId = SourceId { device: 1, inode: 2, content: None };

#[test]
fn numbers_and_positions_survive_whatever_is_left_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let key = key(1);
    // Deleted when delivered, or not; with a part nobody names and a file not yet in place.
    for (number, delivered) in (0..).zip([true, false, true, true, false]) {
        let spool = Spool::open(directory.path(), &key).unwrap();
        assert_eq!(spool.resume(FILE, 1000).unwrap(), 10 * number);
        let waiting = spool.push(&key, &rows(&[number as i64]), 10 * (number + 1)).unwrap();
        assert_eq!(waiting.number, number);
        let signed = spool.read(waiting).unwrap();
        signed.require_owner(&key.owner, key.table_id).unwrap();
        if delivered {
            spool.delivered(waiting, &signed).unwrap();
        }
        drop(spool);
        let parts = directory.path().join(PARTS_NAME);
        fs::write(parts.join("0123.clear.parquet"), "left").unwrap();
        fs::write(parts.join("0123.clear.parquet.7-0.partial"), "half").unwrap();
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
    assert_eq!(spool.resume(FILE, 1000).unwrap(), 0);
    spool.push(&key, &rows(&[1]), 77).unwrap();
    assert_eq!(spool.resume(FILE, 1000).unwrap(), 77);
    let other = SourceId { inode: 3, ..FILE };
    assert_eq!(spool.resume(other, 1000).unwrap(), 0);
    drop(spool);
    // The delivery's name says 77, but of the file before.
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(other, 1000).unwrap(), 0);
    assert_eq!(spool.push(&key, &rows(&[2]), 5).unwrap().number, 1);
    // Cut and begun again, under the same name and number.
    assert_eq!(spool.resume(other, 4).unwrap(), 5);
    assert_eq!(spool.resume(other, 3).unwrap(), 0);
    drop(spool);
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(other, 1000).unwrap(), 0);
    // Places in bytes are none in rows, and those in what was there before none in what is there now.
    let of = |content: &[u8]| SourceId { content: Some(Digest::of(content)), ..other };
    spool.push(&key, &rows(&[3]), 8).unwrap();
    assert_eq!(spool.resume(of(b"a"), 1000).unwrap(), 0);
    spool.push(&key, &rows(&[4]), 9).unwrap();
    drop(spool);
    let spool = Spool::open(directory.path(), &key).unwrap();
    assert_eq!(spool.resume(of(b"a"), 1000).unwrap(), 9);
    assert_eq!(spool.resume(of(b"b"), 1000).unwrap(), 0);
    spool.push(&key, &rows(&[5]), 10).unwrap();
    assert_eq!(spool.resume(other, 1000).unwrap(), 0);
}

#[test]
fn a_spool_belongs_to_one_key_and_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::open(directory.path(), &key(1)).unwrap();
    assert_eq!(Spool::open(directory.path(), &key(1)).unwrap_err().code(), "HUSH-T023");
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
    let waiting = [0, 1].map(|place| spool.push(&key, &rows(&[5, 5]), place).unwrap());
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
