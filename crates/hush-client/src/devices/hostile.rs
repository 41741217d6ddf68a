// SPDX-License-Identifier: Apache-2.0
//! Deliveries that certified devices have tampered with: right signatures and digests around anything. Each is rejected for its
//! fault, and an honest delivery beside it is taken.

mod padding;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use hush_edge::DeviceKey;
use hush_encode::clear_schema;
use hush_plan::{EncodingId, Quantity};
use hush_remote::Silent;
use hush_schemes::Values;
use hush_schemes::bgv::public::PublicEncryptor;
use hush_table::delivery::DELIVERY_FORMAT;
use hush_table::part::{ClearPartWriter, EncryptedPartWriter, FileKind, WrittenPart};
use hush_table::source::{OpenOptions, Source};
use hush_table::{Delivery, DeliveryId, EncodedChunk, Projection, SignedDelivery, StreamId, TableStore};

use super::{Accepted, MAX_REJECTIONS, accept_deliveries, device_key};
use crate::owner::{self, EncryptOptions, OwnerKey};
use crate::pins::Pins;
use crate::place::TablePlace;
use crate::table::OwnedTable;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
max_rows = 100000
edge = true
[columns.site]
type = "category"
protect = "clear"
[columns.day]
type = "int(8)"
range = [0, 31]
protect = "clear"
[columns.load]
type = "int(32)"
range = [0, 1000]
protect = "encrypt"
[columns.temp]
type = "int(16)"
range = [-50, 50]
nullable = true
protect = "encrypt"
for = ["sum", "stddev"]
"#;
const OWN_SUM: i64 = 5 * 100;

/// The choices of a device for a delivery of four rows.
pub(crate) struct Crafted {
    day: i64,
    /// Values by quantity: `load`, `valid temp`, `temp`, `square temp`; `level` in units of its scale. Values after the fourth stand
    /// after the last row.
    values: BTreeMap<&'static str, Vec<i64>>,
    /// A constant polynomial that is added to the mask of `load`.
    shift: u64,
    /// A later change to the body of `load`.
    body: fn(&mut Vec<u8>),
    seed: Option<[u8; 32]>,
    /// Whether `load` is encrypted in a run of its own.
    apart: bool,
}

impl Crafted {
    pub(crate) fn honest() -> Self {
        let values = [
            ("load", vec![1, 2, 3, 1000]),
            ("valid temp", vec![1, 0, 1, 1]),
            ("temp", vec![-50, 0, 7, 50]),
            ("square temp", vec![2500, 0, 49, 2500]),
        ];
        Self { day: 5, values: values.into(), shift: 0, body: |_| {}, seed: None, apart: false }
    }

    fn with(what: &'static str, row: usize, value: i64) -> Self {
        let mut crafted = Self::honest();
        crafted.values.get_mut(what).unwrap()[row] = value;
        crafted
    }
}

pub(crate) struct Case {
    directory: tempfile::TempDir,
    pub(crate) owner: OwnerKey,
    pub(crate) device: DeviceKey,
}

impl Case {
    pub(crate) fn new() -> Self {
        let rows: String = (0..5).map(|row| format!("a,{row},100,{row}\n")).collect();
        Self::of(SCHEMA, &format!("site,day,load,temp\n{rows}"))
    }

    fn of(text: &str, rows: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let owner = OwnerKey::temporary().unwrap();
        let (file, schema) = (directory.path().join("t.csv"), directory.path().join("schema.toml"));
        std::fs::write(&file, rows).unwrap();
        std::fs::write(&schema, text).unwrap();
        let options = EncryptOptions {
            source: Source::open(&file, &OpenOptions::default()).unwrap(),
            schema: crate::read_approved_schema(&schema).unwrap(),
            output: directory.path().join("T"),
            workload: None,
            threads: 2,
            memory_limit: None,
            pins: Pins::forgetful(),
            replace: false,
        };
        owner::encrypt(&options, &owner, &Silent).unwrap();
        let place = directory.path().join("T");
        let device = device_key(TablePlace::Directory(&place), &owner, &Pins::forgetful()).unwrap();
        Self { directory, owner, device }
    }

    pub(crate) fn table(&self) -> PathBuf {
        self.directory.path().join("T")
    }

    /// Puts a delivery beside the table, as anyone with write access can: nobody checks it before the owner.
    pub(crate) fn deliver(&self, device: &DeviceKey, stream: u8, crafted: &Crafted) -> DeliveryId {
        let id = DeliveryId { device: device.id(), stream: StreamId::from_bytes([stream; 16]), number: 0 };
        let encrypted = encrypted(device, id, crafted);
        let clear = clear(device, crafted.day);
        let store = TableStore::local_existing(self.table()).unwrap();
        store.put_part(&encrypted).unwrap();
        store.put_part(&clear).unwrap();
        let delivery = Delivery {
            format: DELIVERY_FORMAT,
            table_id: device.table_id,
            encodings: device.digest,
            id,
            rows: 4,
            chunks: 1,
            clear: Some(clear.file),
            encrypted: Some(encrypted.file),
        };
        let sign = |bytes: &[u8]| device.sign(bytes);
        let signed =
            SignedDelivery::sign(delivery, &device.verifying_key(), &device.certificate, sign).unwrap();
        let folder = self.table().join("deliveries");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(id.file_name()), signed.as_bytes()).unwrap();
        id
    }

    pub(crate) fn accept(&self, discard: &[String]) -> Accepted {
        let table = self.table();
        accept_deliveries(TablePlace::Directory(&table), &self.owner, &Pins::forgetful(), discard).unwrap()
    }

    pub(crate) fn sum(&self) -> i64 {
        let table = OwnedTable::open_directory(&self.table(), &self.owner, &Pins::forgetful(), 2).unwrap();
        let outcome = table.ask("SELECT SUM(load) AS s, STDDEV(temp) AS d FROM t", &Silent).unwrap();
        let column = outcome.batches[0].column(0).clone();
        column.as_any().downcast_ref::<Int64Array>().unwrap().value(0)
    }
}

fn encrypted(device: &DeviceKey, id: DeliveryId, crafted: &Crafted) -> WrittenPart {
    let word = |quantity: &Quantity| match quantity {
        Quantity::Square(_) => "square temp",
        Quantity::Valid(_) => "valid temp",
        Quantity::Value(name) if name == "load" => "load",
        Quantity::Value(name) if name == "level" => "level",
        _ => "temp",
    };
    let mut blobs: BTreeMap<u32, Bytes> = BTreeMap::new();
    for family in &device.families {
        let ids = family.key.columns().iter().map(|column| column.column);
        let words = ids.clone().map(|id| {
            let encoding = device.encodings.iter().find(|encoding| encoding.public.id.0 == id).unwrap();
            word(&encoding.quantity)
        });
        let words: Vec<&str> = words.collect();
        let values: Vec<Values<'_>> = words.iter().map(|word| Values::I64(&crafted.values[*word])).collect();
        let bodies = PublicEncryptor::new().encrypt(&family.key, 0, &values).unwrap();
        let others = PublicEncryptor::new().encrypt(&family.key, 0, &values).unwrap();
        for ((id, word), (mut body, other)) in ids.zip(words).zip(bodies.into_iter().zip(others)) {
            if word == "load" {
                if crafted.apart {
                    body = other;
                }
                if crafted.shift > 0 {
                    body = padding::shifted(family.key.ring(), id, &body, crafted.shift);
                }
                (crafted.body)(&mut body);
            }
            blobs.insert(id, body.into());
        }
    }
    let ids: Vec<EncodingId> = device.encodings.iter().map(|encoding| encoding.public.id).collect();
    let mut writer = EncryptedPartWriter::new(&ids, &[], 0);
    let encoded = ids.iter().map(|id| blobs[&id.0].clone()).collect();
    let seed = crafted.seed.unwrap_or_else(|| id.chunk_seed(0));
    writer.push(EncodedChunk { index: 0, rows: 4, seed, encoded, sealed: Vec::new() }).unwrap();
    writer.finish().unwrap()
}

fn clear(device: &DeviceKey, day: i64) -> WrittenPart {
    let schema = clear_schema(&device.schema);
    let columns: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec!["a"; 4])), Arc::new(Int64Array::from(vec![day; 4]))];
    let mut writer = ClearPartWriter::new(&schema).unwrap();
    writer.push(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.finish().unwrap()
}

/// The seed of the owner's only chunk, which everybody can read.
fn owners_seed(table: &Path) -> [u8; 32] {
    let store = TableStore::local_existing(table).unwrap();
    let signed = store.load().unwrap();
    let (place, entry) = signed.manifest().placed_parts().next().unwrap();
    let part = store.open_encrypted(signed.manifest(), place, entry).unwrap();
    part.read(&Projection { seed: true, ..Projection::default() }).unwrap()[0].seed.unwrap()
}

/// Changes a coefficient of the body, which is a row, and makes the checksum right.
fn change_a_row(body: &mut [u8]) {
    body[34] ^= 1;
    mend_checksum(body);
}

/// Changes a coefficient of the mask, which stands behind the body, and makes the checksum right.
fn change_a_mask(body: &mut [u8]) {
    let last = body.len() - 16 - 100;
    body[last] ^= 1;
    mend_checksum(body);
}

fn mend_checksum(body: &mut [u8]) {
    let end = body.len() - 16;
    let checksum = blake3::hash(&body[..end]);
    body[end..].copy_from_slice(&checksum.as_bytes()[..16]);
}

#[test]
fn each_tampered_delivery_is_rejected_for_what_it_is_and_the_honest_one_is_taken() {
    let case = Case::new();
    let seed = owners_seed(&case.table());
    let changed = |change: &dyn Fn(&mut Crafted)| {
        let mut crafted = Crafted::honest();
        change(&mut crafted);
        crafted
    };
    // The delivery, its fault, and whether only the owner's key can find it.
    let tampered: Vec<(Crafted, &str, bool)> = vec![
        (Crafted::with("load", 2, 100_000), "load: what a row decrypts to is outside", true),
        (Crafted::with("load", 0, 1001), "load: what a row decrypts to is outside", true),
        (Crafted::with("load", 0, -1), "load: what a row decrypts to is outside", true),
        (Crafted::with("square temp", 2, 50), "temp: what a row decrypts to does not follow", true),
        (Crafted::with("valid temp", 2, 0), "temp: what a row decrypts to is outside", true),
        (Crafted::with("valid temp", 0, 2), "temp: what a row decrypts to is outside", true),
        (Crafted::with("temp", 1, 9), "temp: what a row decrypts to is outside", true),
        (
            changed(&|crafted| crafted.body = |body| change_a_row(body)),
            "load: what a row decrypts to is outside",
            true,
        ),
        (changed(&|crafted| crafted.body = |body| change_a_mask(body)), "do not share their masks", false),
        // Each column is right by itself, but no sum of several of them could be.
        (changed(&|crafted| crafted.apart = true), "do not share their masks", false),
        (changed(&|crafted| crafted.seed = Some(seed)), "another seed than its name gives", false),
        (changed(&|crafted| crafted.body = |body| body[200] ^= 1), "checksum mismatch", false),
        (changed(&|crafted| crafted.body = |body| body.truncate(300)), "", false),
        (
            changed(&|crafted| crafted.body = |body| body.resize(body.len() + (1 << 20), 0)),
            "more bytes than its rows can take",
            false,
        ),
        (changed(&|crafted| crafted.day = 200), "column day: a clear value", false),
    ];
    let mut total = OWN_SUM;
    for (stream, (crafted, why, is_secret)) in (1..).zip(&tampered) {
        // Each case has its own device, so that none has used up its chances.
        let place = case.table();
        let device = device_key(TablePlace::Directory(&place), &case.owner, &Pins::forgetful()).unwrap();
        let id = case.deliver(&device, stream, crafted);
        case.deliver(&case.device, stream, &Crafted::honest());
        total += 1006;
        let accepted = case.accept(&[]);
        assert_eq!((accepted.deliveries, accepted.rejected.len()), (1, 1), "{why}: {accepted:?}");
        let rejected = &accepted.rejected[0];
        assert_eq!(rejected.delivery, id.to_string());
        assert!(rejected.why.contains(why), "{}, expected {why}", rejected.why);
        let store = TableStore::local_existing(&place).unwrap();
        let known = store.load().unwrap().manifest().devices.rejections_of(device.id());
        assert_eq!(known, usize::from(*is_secret), "{why}");
        assert_eq!(case.sum(), total, "{why}");
        let discarded = case.accept(&[id.to_string()]);
        assert_eq!((discarded.discarded, discarded.waiting, discarded.rejected.len()), (1, 0, 0), "{why}");
    }
    assert!(MAX_REJECTIONS < tampered.len());
}

/// A store that keeps to the rules does not let the seed of another chunk in.
#[test]
fn a_store_refuses_seeds_that_do_not_follow_from_the_delivery() {
    let case = Case::new();
    let seed = owners_seed(&case.table());
    for (stream, chosen, is_taken) in [(1, Some(seed), false), (2, None, true)] {
        let crafted = Crafted { seed: chosen, ..Crafted::honest() };
        let id = case.deliver(&case.device, stream, &crafted);
        let path = case.table().join("deliveries").join(id.file_name());
        let signed = SignedDelivery::decode(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let store = TableStore::local_existing(case.table()).unwrap();
        let delivered = store.deliver(&signed);
        assert_eq!(delivered.is_ok(), is_taken, "{delivered:?}");
        assert!(store.open_part(FileKind::Clear, &signed.delivery().clear.unwrap()).is_ok());
    }
}

/// What was taken in, decided and removed stands in the table's history.
#[test]
fn the_history_tells_of_devices() {
    let case = Case::new();
    let (table, pins) = (case.table(), Pins::forgetful());
    let place = TablePlace::Directory(&table);
    case.deliver(&case.device, 1, &Crafted::honest());
    assert_eq!(case.accept(&[]).deliveries, 1);
    // A delivery that is rejected for what it holds is remembered, and so is one that is discarded.
    let bad = case.deliver(&case.device, 2, &Crafted::with("load", 3, 1001));
    assert_eq!(case.accept(&[]).rejected.len(), 1);
    case.accept(&[bad.to_string()]);
    let device = case.device.id().to_string();
    crate::revoke_device(place, &case.owner, &pins, &device, false).unwrap();
    crate::revoke_device(place, &case.owner, &pins, &device, true).unwrap();
    let history = crate::history(place, Some(&case.owner), &pins).unwrap();
    let told: Vec<_> = history
        .versions
        .iter()
        .map(|change| (change.version, change.what, change.added, change.removed, change.living_rows))
        .collect();
    let expected = [
        (6, "devices", 0, 4, Some(5)),
        (5, "devices", 0, 0, Some(9)),
        (4, "devices", 0, 0, Some(9)),
        (3, "devices", 0, 0, Some(9)),
        (2, "accept", 4, 0, Some(9)),
        (1, "encrypt", 5, 0, Some(5)),
    ];
    assert_eq!(told, expected);
    assert_eq!(crate::history(place, None, &pins).unwrap(), history);
    let stranger = OwnerKey::temporary().unwrap();
    assert_eq!(crate::history(place, Some(&stranger), &pins).unwrap_err().code(), "HUSH-K020");
}
