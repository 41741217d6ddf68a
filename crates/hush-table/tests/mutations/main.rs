// SPDX-License-Identifier: Apache-2.0
//! Thousands of damaged copies of good files: each is refused with a typed error, or is a value that keeps the rules of
//! its format; no copy ends in a panic.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::schema::Protection;
use hush_table::part::PartSource;
use hush_table::profile::{ProfileOptions, profile, propose};
use hush_table::source::{ColumnData, OpenOptions, Source};
use hush_table::{CHUNK_ROWS, ClearPart, EncryptedPart, Projection, SignedManifest};

use hush_testkit::damaged;

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/table_v1").join(name)).unwrap()
}

fn manifest() -> SignedManifest {
    SignedManifest::decode(&golden("manifest.hush")).unwrap()
}

fn part(half: &str) -> Vec<u8> {
    let signed = manifest();
    let entry = &signed.manifest().parts[0];
    let file = if half == "enc" { entry.encrypted } else { entry.clear };
    golden(PathBuf::from("parts").join(format!("{}.{half}.parquet", file.unwrap().digest)).to_str().unwrap())
}

#[test]
fn manifests() {
    let good = golden("manifest.hush");
    let accepted = damaged("manifest", 2000, &good, |bytes| match SignedManifest::decode(bytes) {
        Ok(_) => bytes == good,
        Err(error) => {
            assert!(error.code().starts_with("HUSH-T00"), "{error}");
            false
        }
    });
    // Copies in which the changes undo each other, or put the same bytes there.
    assert!(accepted < 200, "{accepted}");
}

/// The owner's own key signs anything: what is behind the signature is reached.
#[test]
fn bodies_of_manifests_behind_a_good_signature() {
    let key = SigningKey::from_bytes(&[42; 32]);
    let body = manifest().manifest().to_json().unwrap();
    let accepted = damaged("manifest body", 3000, &body, |body| {
        let mut bytes = b"HUSHTBL1\x01\0\0\0".to_vec();
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes.extend(key.verifying_key().to_bytes());
        let signature = key.sign(&bytes).to_bytes();
        bytes.extend(signature);
        let Ok(signed) = SignedManifest::decode(&bytes) else { return false };
        let sign = |bytes: &[u8]| key.sign(bytes).to_bytes();
        let again = SignedManifest::sign(signed.manifest().clone(), &key.verifying_key().to_bytes(), sign);
        assert_eq!(again.unwrap().as_bytes(), bytes);
        true
    });
    assert!(accepted > 0, "none of the copies reaches the end of the rules");
}

#[test]
fn encrypted_parts() {
    let signed = manifest();
    let manifest = signed.manifest();
    let (place, entry) = manifest.placed_parts().next().unwrap();
    let wanted = Projection { sealed: vec![0], seed: true, ..Projection::encodings(manifest.encoding_ids()) };
    damaged("encrypted part", 3000, &part("enc"), |bytes| {
        let source = PartSource::Memory(Bytes::copy_from_slice(bytes));
        let read = EncryptedPart::open(source, manifest, place, entry).and_then(|part| part.read(&wanted));
        let Ok(rows) = read else { return false };
        assert_eq!(rows.len(), entry.chunks as usize);
        for row in rows {
            assert_eq!((row.index, u64::from(row.rows)), (0, entry.rows));
            assert_eq!((row.encoded.len(), row.sealed.len()), (manifest.encodings.len(), 1));
            let blobs = row.encoded.iter().chain(&row.sealed).map(|blob| blob.len());
            assert!(blobs.sum::<usize>() <= bytes.len());
        }
        true
    });
}

#[test]
fn clear_parts() {
    let signed = manifest();
    let manifest = signed.manifest();
    let entry = &manifest.parts[0];
    let schema = manifest.clear_schema().unwrap();
    damaged("clear part", 2000, &part("clear"), |bytes| {
        let source = PartSource::Memory(Bytes::copy_from_slice(bytes));
        let read = ClearPart::open(source, manifest, entry).and_then(|part| part.read(&[0, 1]));
        let Ok(batches) = read else { return false };
        assert_eq!(batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), entry.rows);
        assert!(batches.iter().all(|batch| batch.schema() == schema));
        true
    });
}

const CSV: &str = "id;name;when;amount;flag\n1;\"Ann \"\"A\"\" O'Neil\";2024-02-29;1,50;true\n\
                   2;\"two\nlines\";1999-12-31;-2,25;false\n3;;2000-01-01;;true\n4;Zoë;2024-01-01;1000000,00;false\n";

/// A file that a person gives: profiled, proposed, and read by the proposal.
fn read_all(bytes: &[u8]) -> bool {
    let Ok(source) = Source::from_bytes(Bytes::copy_from_slice(bytes), &OpenOptions::default()) else {
        return false;
    };
    let Ok(found) = profile(&source, &ProfileOptions::default()) else { return false };
    let mut schema = propose(&found, "t");
    assert_eq!(schema.columns.len(), source.columns().len());
    for column in &mut schema.columns {
        if column.protect == Protection::Decide {
            column.protect = Protection::Seal;
        }
    }
    let Ok(reader) = source.typed(&schema) else { return false };
    let mut rows = 0;
    for batch in reader {
        let Ok(batch) = batch else { return false };
        assert_eq!((batch.first_row, batch.columns.len()), (rows, schema.columns.len()));
        assert!((1..=CHUNK_ROWS as usize).contains(&batch.rows));
        for column in batch.columns.iter().flatten() {
            let length = match column {
                ColumnData::Array(array) => array.len(),
                ColumnData::Units(units) => units.values.len(),
            };
            assert_eq!(length, batch.rows);
        }
        rows += batch.rows as u64;
    }
    assert_eq!(rows, found.rows());
    true
}

#[test]
fn csv_files() {
    assert!(read_all(CSV.as_bytes()));
    let accepted = damaged("csv", 2000, CSV.as_bytes(), read_all);
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn parquet_files() {
    let good = part("clear");
    assert!(read_all(&good));
    damaged("parquet", 1000, &good, read_all);
}
