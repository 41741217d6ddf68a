// SPDX-License-Identifier: Apache-2.0
//! A table of format version 2, kept in the repository: every later version must read it, every value of it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::packing::{ApproxSum, Packing, Slots, Sum};
use hush_plan::{Encoding, EncodingId};
use hush_table::{
    EncodedChunk, EncryptionId, Projection, SignedManifest, TableId, TableIdentity, TableLayout, TableStore,
    TableWriter,
};

const ROWS: u32 = 5;
/// BLAKE3 of the manifest as it was written.
const MANIFEST_DIGEST: &str = "b9815366053896a2c6f8e2e36832c6107d4abd4a01730b0ead1776ee01631860";

fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/table_v2")
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[42; 32])
}

fn encoding(id: u32, packing: Packing) -> Encoding {
    Encoding { id: EncodingId(id), params: "n12_q2x46_sec128_v1".to_owned(), packing }
}

fn layout() -> TableLayout {
    let field = |name: &str, kind| Field::new(name, kind, true);
    let primes = hush_params::PLAINTEXT_PRIMES_32[..2].to_vec();
    TableLayout {
        clear: Arc::new(Schema::new(vec![field("ward", DataType::Utf8), field("year", DataType::Int64)])),
        encodings: vec![
            encoding(0, Packing::Sum(Sum { t_log2: 64 })),
            encoding(3, Packing::Slots(Slots::of(primes))),
            encoding(7, Packing::ApproxSum(ApproxSum { scale_log2: 40 })),
        ],
        sealed_columns: 1,
    }
}

fn clear() -> RecordBatch {
    let wards = StringArray::from(vec![Some("north"), None, Some("süd"), Some(""), Some("north")]);
    let years = Int64Array::from(vec![Some(2023), Some(-1), None, Some(i64::MAX), Some(i64::MIN)]);
    RecordBatch::try_new(layout().clear, vec![Arc::new(wards), Arc::new(years)])
        .expect("columns of the schema")
}

/// Blobs are opaque to this crate: byte `i` of blob `b` is `i + b` modulo 256, 100 + b of them.
fn blob(number: u8) -> Bytes {
    (0..100 + number).map(|i| i.wrapping_add(number)).collect::<Vec<_>>().into()
}

fn chunk() -> EncodedChunk {
    EncodedChunk {
        index: 0,
        rows: ROWS,
        seed: [7; 32],
        encoded: vec![blob(0), blob(1), blob(2)],
        sealed: vec![blob(3)],
    }
}

#[test]
fn version_2_is_read_for_ever() {
    let store = TableStore::local_existing(place()).unwrap();
    let signed = store.load().unwrap();
    signed.require_key(&key().verifying_key().to_bytes()).unwrap();
    assert_eq!(signed.digest().to_string(), MANIFEST_DIGEST);
    let manifest = signed.manifest();
    assert_eq!((manifest.table.as_str(), manifest.version, manifest.rows), ("golden", 2, u64::from(ROWS)));
    assert_eq!(manifest.encodings, layout().encodings);
    assert_eq!(manifest.sealed_schema, b"sealed");
    store.verify(manifest).unwrap();

    let (place, entry) = manifest.placed_parts().next().unwrap();
    let everything = Projection { sealed: vec![0], ..Projection::encodings(manifest.encoding_ids()) };
    let rows = store.open_encrypted(manifest, place, entry).unwrap().read(&everything).unwrap();
    let (found, expected) = (&rows[0], chunk());
    assert_eq!((rows.len(), found.index, found.rows, found.seed), (1, 0, ROWS, Some(expected.seed)));
    assert_eq!((&found.encoded, &found.sealed), (&expected.encoded, &expected.sealed));
    assert_eq!(store.open_clear(manifest, entry).unwrap().read(&[0, 1]).unwrap(), [clear()]);
}

#[test]
fn its_manifest_is_written_as_it_was() {
    let stored = std::fs::read(place().join("manifest.hush")).unwrap();
    let manifest = SignedManifest::decode(&stored).unwrap().manifest().clone();
    let again = SignedManifest::sign(manifest, &key().verifying_key().to_bytes(), |bytes| {
        key().sign(bytes).to_bytes()
    });
    assert_eq!(again.unwrap().as_bytes(), stored);
}

/// Made the files under `tests/golden/table_v2`. Never to be run on them again: a new format gets a new folder.
#[test]
#[ignore = "writes a new golden table; see its documentation"]
fn write_golden_table() {
    let store = TableStore::local(place()).unwrap();
    let identity = TableIdentity {
        table: "golden".to_owned(),
        table_id: TableId::from_bytes(*b"a golden table.."),
        encryption: EncryptionId::from_bytes(*b"its encryption.."),
        version: 2,
        verifying_key: key().verifying_key().to_bytes(),
    };
    let mut writer = TableWriter::begin(&store, identity, layout()).unwrap();
    writer.push(&clear(), chunk()).unwrap();
    writer.finish(b"sealed".to_vec(), |bytes| key().sign(bytes).to_bytes()).unwrap();
}
