// SPDX-License-Identifier: Apache-2.0
//! One reader for each kind of file: the code of a refusal, or nothing after a look at what the value must be.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use hush_params::Named;
use hush_plan::error::Front;
use hush_plan::schema::Protection;
use hush_table::manifest::{KeyEntry, PartEntry, PartPlace, key_id};
use hush_table::part::PartSource;
use hush_table::profile::{ProfileOptions, profile, propose};
use hush_table::source::{ColumnData, OpenOptions, Source, SourceError};
use hush_table::{CHUNK_ROWS, ClearPart, EncryptedPart, Pin, Projection, SignedManifest, TableError};
use hush_testkit::CorpusFile;

pub(crate) fn golden(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/table_v2").join(name)).unwrap()
}

/// Of the golden table; the parts of the corpus are read as its parts.
pub(crate) fn golden_manifest() -> SignedManifest {
    SignedManifest::decode(&golden("manifest.hush")).unwrap()
}

pub(crate) fn golden_part(half: &str) -> Vec<u8> {
    let signed = golden_manifest();
    let entry = &signed.manifest().parts[0];
    let file = if half == "enc" { entry.encrypted } else { entry.clear };
    golden(PathBuf::from("parts").join(format!("{}.{half}.parquet", file.unwrap().digest)).to_str().unwrap())
}

pub(crate) fn read(file: &CorpusFile, bytes: &[u8]) -> Result<(), String> {
    match file.reader() {
        "clear" => clear_part(file, bytes),
        "csv" | "parquet" => source(bytes),
        "encrypted" => encrypted_part(file, bytes),
        "manifest" => manifest(bytes),
        other => panic!("{}: no reader {other}", file.path()),
    }
}

fn table_code(error: TableError) -> String {
    assert!(error.code().starts_with("HUSH-T0"), "{error}");
    error.code().to_owned()
}

/// A manifest that keeps the rules can be pinned and walked through, and is written as it was.
pub(crate) fn manifest(bytes: &[u8]) -> Result<(), String> {
    let signed = SignedManifest::decode(bytes).map_err(table_code)?;
    assert_eq!(signed.as_bytes(), bytes);
    let manifest = signed.manifest();
    assert_eq!(manifest.check().map_err(table_code), Ok(()));
    assert_eq!(manifest.key_id, key_id(signed.key()));
    assert_eq!(Pin::of(&signed).check(&signed).map_err(table_code), Ok(()));
    assert_eq!(manifest.clear_schema().unwrap().fields().len(), manifest.clear_columns.len());
    assert_eq!(manifest.placed_parts().map(|(_, part)| part.rows).sum::<u64>(), manifest.rows);
    let definitions = manifest.definitions().unwrap();
    for entry in &manifest.keys {
        let params = definitions.resolve(Named::Name(&entry.params)).unwrap();
        assert!(params.is_secure());
        assert_eq!(KeyEntry::expected_bytes(&entry.kind, &params), Ok(entry.file.bytes));
    }
    assert!(u64::from(manifest.chunk_count()) * u64::from(CHUNK_ROWS) >= manifest.rows);
    Ok(())
}

/// A container around any body, signed by the corpus' key.
pub(crate) fn container(body: &[u8]) -> Vec<u8> {
    let key = signer();
    let mut bytes = b"HUSHTBL1\x02\0\0\0".to_vec();
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes.extend(key.verifying_key().to_bytes());
    let signature = key.sign(&bytes).to_bytes();
    bytes.extend(signature);
    bytes
}

pub(crate) fn signer() -> SigningKey {
    SigningKey::from_bytes(&[42; 32])
}

/// Which part of the golden table a file is read as: its only one, or one of three chunks that might follow others.
fn part(file: &CorpusFile) -> (SignedManifest, PartPlace, PartEntry) {
    let signed = golden_manifest();
    let (mut place, entry) = signed.manifest().placed_parts().next().unwrap();
    let mut entry = entry.clone();
    if file.name.contains("three-chunks") {
        place = PartPlace { first_chunk: 64, first_row: 64 * u64::from(CHUNK_ROWS) };
        (entry.rows, entry.chunks) = (THREE_CHUNKS_ROWS, 3);
    }
    (signed, place, entry)
}

fn encrypted_part(file: &CorpusFile, bytes: &[u8]) -> Result<(), String> {
    let (signed, place, entry) = part(file);
    let manifest = signed.manifest();
    let wanted = Projection { sealed: vec![0], seed: true, ..Projection::encodings(manifest.encoding_ids()) };
    let source = PartSource::from_memory(Bytes::copy_from_slice(bytes));
    let part = EncryptedPart::open(source, manifest, place, &entry).map_err(table_code)?;
    let rows = part.read(&wanted).map_err(table_code)?;
    assert_eq!(rows.len(), entry.chunks as usize);
    assert_eq!(rows.iter().map(|row| u64::from(row.rows)).sum::<u64>(), entry.rows);
    for (row, index) in rows.iter().zip(place.first_chunk..) {
        assert_eq!((row.index, row.seed.is_some()), (index, true));
        assert_eq!((row.encoded.len(), row.sealed.len()), (manifest.encodings.len(), 1));
    }
    let blobs = rows.iter().flat_map(|row| row.encoded.iter().chain(&row.sealed)).map(Bytes::len);
    assert!(blobs.sum::<usize>() <= bytes.len());
    // One column of the last chunk alone is what it is among all.
    let last = Projection {
        encodings: wanted.encodings[1..2].to_vec(),
        chunks: Some(vec![place.first_chunk + entry.chunks - 1]),
        ..Projection::default()
    };
    let alone = part.read(&last).map_err(table_code)?;
    assert_eq!(alone[0].encoded[0], rows[entry.chunks as usize - 1].encoded[1]);
    Ok(())
}

fn clear_part(file: &CorpusFile, bytes: &[u8]) -> Result<(), String> {
    let (signed, _, entry) = part(file);
    let manifest = signed.manifest();
    let schema = manifest.clear_schema().unwrap();
    let source = PartSource::from_memory(Bytes::copy_from_slice(bytes));
    let part = ClearPart::open(source, manifest, &entry).map_err(table_code)?;
    let batches = part.read(&[0, 1]).map_err(table_code)?;
    assert_eq!(batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), entry.rows);
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    Ok(())
}

/// A file that a person gives: profiled, proposed, and read by the proposal.
fn source(bytes: &[u8]) -> Result<(), String> {
    let code = |error: SourceError| {
        assert!(!error.remedy().describe(Front::CommandLine).is_empty() && !error.to_string().is_empty());
        error.code().to_owned()
    };
    let source = Source::from_bytes(Bytes::copy_from_slice(bytes), &OpenOptions::default()).map_err(code)?;
    let found = profile(&source, &ProfileOptions::default()).map_err(code)?;
    let mut schema = propose(&found, "t").schema;
    assert_eq!(schema.columns.len(), source.columns().len());
    for column in &mut schema.columns {
        // What nobody would upload is read as well.
        if matches!(column.protect, Protection::Decide | Protection::Drop) {
            column.protect = Protection::Seal;
        }
    }
    let mut rows = 0;
    for batch in source.typed(&schema).map_err(code)? {
        let batch = batch.map_err(code)?;
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
    Ok(())
}

/// Of a part of three chunks, the last of which is short.
pub(crate) const THREE_CHUNKS_ROWS: u64 = 2 * CHUNK_ROWS as u64 + 5;
