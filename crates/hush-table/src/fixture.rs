// SPDX-License-Identifier: Apache-2.0
//! Shared by the tests of manifests, parts and stores: a reproducible source of bytes, a signer, small tables.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::packing::{Packing, Sum};
use hush_plan::{Encoding, EncodingId};

use crate::manifest::{
    BODY_FORMAT, ClearColumn, DeviceRules, Lengths, Manifest, PartEntry, PartFile, key_id,
};
use crate::{
    CHUNK_ROWS, Digest, EncodedChunk, EncryptionId, SignedManifest, TableId, TableIdentity, TableLayout,
};

/// A stream of bytes from a printable seed: BLAKE3 in its extendable-output mode.
pub(crate) struct Random {
    pub(crate) seed: u64,
    stream: blake3::OutputReader,
}

impl Random {
    /// From a seed; a failing test prints it.
    pub(crate) fn of(seed: u64) -> Self {
        Self { seed, stream: blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof() }
    }

    /// From a fresh seed.
    pub(crate) fn fresh() -> Self {
        Self::of(RandomState::new().build_hasher().finish())
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.fill(&mut bytes);
        bytes
    }

    /// A number below `end`; the bias does not matter here.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let mut word = [0; 8];
        self.stream.fill(&mut word);
        (u64::from_le_bytes(word) % end as u64) as usize
    }
}

pub(crate) fn signer(byte: u8) -> SigningKey {
    SigningKey::from_bytes(&[byte; 32])
}

/// The verifying key and the closure that [`SignedManifest::sign`] wants.
pub(crate) fn credentials(byte: u8) -> ([u8; 32], impl FnOnce(&[u8]) -> [u8; 64]) {
    let key = signer(byte);
    (key.verifying_key().to_bytes(), move |bytes: &[u8]| key.sign(bytes).to_bytes())
}

pub(crate) fn sign(manifest: Manifest) -> SignedManifest {
    let (key, sign) = credentials(7);
    SignedManifest::sign(manifest, &key, sign).expect("a good manifest")
}

pub(crate) fn encoding(id: u32) -> Encoding {
    Encoding {
        id: EncodingId(id),
        params: "n12_q2x46_sec128_v1".to_owned(),
        packing: Packing::Sum(Sum { t_log2: 64 }),
    }
}

pub(crate) fn table_id() -> TableId {
    TableId::from_bytes(*b"0123456789abcdef")
}

/// Two parts, 524 288 and 5 rows, one clear column, two encodings, one sealed column.
pub(crate) fn manifest() -> Manifest {
    let file = |text: &str, bytes| Some(PartFile { digest: Digest::of(text.as_bytes()), bytes });
    Manifest {
        format: BODY_FORMAT,
        table: "patients".to_owned(),
        table_id: table_id(),
        encryption: EncryptionId::from_bytes(*b"an encryption .."),
        domain: 0,
        earlier: Vec::new(),
        rotating: false,
        version: 3,
        key_id: key_id(&signer(7).verifying_key().to_bytes()),
        predecessors: Vec::new(),
        rows: 524_293,
        chunk_rows: CHUNK_ROWS,
        clear_columns: vec![ClearColumn { name: "ward".to_owned(), arrow_type: "Utf8".to_owned() }],
        encodings: vec![encoding(1), encoding(4)],
        sealed_columns: 1,
        unsealed: Vec::new(),
        generation: 0,
        generations: Vec::new(),
        parts: vec![
            PartEntry {
                rows: 524_288,
                chunks: 64,
                clear: file("c0", 1000),
                encrypted: file("e0", 2000),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: None,
                cubes: None,
                runs: None,
                domain: 0,
                generation: 0,
            },
            PartEntry {
                rows: 5,
                chunks: 1,
                clear: file("c1", 10),
                encrypted: file("e1", 20),
                delivery: None,
                append: None,
                first_chunk: None,
                dead: None,
                cubes: None,
                runs: None,
                domain: 0,
                generation: 0,
            },
        ],
        devices: DeviceRules::default(),
        chains: Vec::new(),
        keys: Vec::new(),
        zones: None,
        batches: Vec::new(),
        changes: Vec::new(),
        lengths: Lengths::default(),
        sealed_roots: Vec::new(),
        sealed_schema: vec![0xde, 0xad],
    }
}

pub(crate) fn identity(version: u64) -> TableIdentity {
    TableIdentity {
        table: "patients".to_owned(),
        table_id: table_id(),
        encryption: EncryptionId::from_bytes(*b"an encryption .."),
        version,
        verifying_key: signer(7).verifying_key().to_bytes(),
    }
}

pub(crate) fn clear_schema() -> SchemaRef {
    let field = |name: &str, kind| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![field("ward", DataType::Utf8), field("year", DataType::Int64)]))
}

pub(crate) fn layout() -> TableLayout {
    TableLayout { clear: clear_schema(), encodings: vec![encoding(1), encoding(4)], sealed_columns: 1 }
}

/// One chunk's clear rows: row `i` of the table has ward `w{i % 7}` (missing for every eleventh) and year `i`.
pub(crate) fn clear_rows(first: u64, rows: u32) -> RecordBatch {
    let numbers = first..first + u64::from(rows);
    let wards: StringArray = numbers.clone().map(|i| (i % 11 != 0).then(|| format!("w{}", i % 7))).collect();
    let years: Int64Array = numbers.map(|i| Some(i as i64)).collect();
    RecordBatch::try_new(clear_schema(), vec![Arc::new(wards), Arc::new(years)]).expect("matching columns")
}

/// A chunk of [`layout`] with random blobs of `blob_bytes` and a few bytes more.
pub(crate) fn chunk(random: &mut Random, index: u32, rows: u32, blob_bytes: usize) -> EncodedChunk {
    let seed = random.bytes(32).try_into().expect("32 bytes");
    let mut blob = |extra: usize| Bytes::from(random.bytes(blob_bytes + extra));
    EncodedChunk { index, rows, seed, encoded: vec![blob(0), blob(3)], sealed: vec![blob(1)] }
}
