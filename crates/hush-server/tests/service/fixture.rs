// SPDX-License-Identifier: Apache-2.0
//! Small tables as their owner would push them. The server never looks into encrypted blobs here, so random
//! bytes stand for them: these tests need no key.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use ed25519_dalek::{Signer, SigningKey};
use hush_params::Params;
use hush_plan::packing::{Packing, Sum};
use hush_plan::{Encoding, EncodingId};
use hush_table::{
    EncodedChunk, EncryptionId, KeyEntry, KeyKind, KeysToStore, SecretId, SignedManifest, TableId,
    TableIdentity, TableLayout, TableStore, TableWriter,
};
use tempfile::TempDir;

use crate::harness::Service;

/// Rows of the only chunk.
pub(crate) const ROWS: u32 = 100;

/// Properties by which the test tables differ.
#[derive(Clone, Copy)]
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// Fills the table id.
    pub(crate) table: u8,
    pub(crate) version: u64,
    /// Fills the chunk seed.
    pub(crate) seed: u8,
    /// Fills the signing key.
    pub(crate) signer: u8,
    /// Text of the clear column's rows.
    pub(crate) ward: &'static str,
    /// Whether it has a file of evaluation keys.
    pub(crate) keyed: bool,
}

pub(crate) const PLAIN: Recipe =
    Recipe { name: "visits", table: 1, version: 1, seed: 1, signer: 1, ward: "north", keyed: false };

/// A table in a directory of its own.
pub(crate) struct LocalTable {
    pub(crate) recipe: Recipe,
    directory: TempDir,
    pub(crate) manifest: SignedManifest,
}

impl Recipe {
    /// Writes the table.
    pub(crate) fn make(self) -> LocalTable {
        let directory = tempfile::tempdir().unwrap();
        let store = TableStore::local(directory.path()).unwrap();
        let clear = Arc::new(Schema::new(vec![
            Field::new("ward", DataType::Utf8, true),
            Field::new("year", DataType::Int64, true),
        ]));
        let layout =
            TableLayout { clear: Arc::clone(&clear), encodings: vec![encoding()], sealed_columns: 0 };
        let key = SigningKey::from_bytes(&[self.signer; 32]);
        let identity = TableIdentity {
            table: self.name.to_owned(),
            table_id: TableId::from_bytes([self.table; 16]),
            encryption: EncryptionId::from_bytes([self.table; 16]),
            version: self.version,
            verifying_key: key.verifying_key().to_bytes(),
        };
        let mut writer = TableWriter::begin(&store, identity, layout).unwrap();
        if self.keyed {
            let params = Params::named("n12_q2p1x34_d1_sec128_v1").unwrap();
            let bytes = KeyEntry::expected_bytes(&KeyKind::Relinearisation, &params).unwrap() as usize;
            let secret = SecretId::from_bytes([self.seed; 16]);
            let keys = KeysToStore { kind: KeyKind::Relinearisation, params, unit: 65537, secret };
            writer.put_keys(keys, vec![self.seed; bytes]).unwrap();
        }
        let wards = StringArray::from_iter_values((0..ROWS).map(|_| self.ward));
        let years = Int64Array::from_iter_values((0..i64::from(ROWS)).map(|row| 2020 + row % 4));
        let batch = RecordBatch::try_new(clear, vec![Arc::new(wards), Arc::new(years)]).unwrap();
        // Another version has other ciphertexts, also where it (wrongly) keeps the seed.
        let blob: Vec<u8> = (0..4000_u32).map(|at| (at as u8) ^ self.seed ^ (self.version as u8)).collect();
        let chunk = EncodedChunk {
            index: 0,
            rows: ROWS,
            seed: [self.seed; 32],
            encoded: vec![blob.into()],
            sealed: Vec::new(),
        };
        writer.push(&batch, chunk).unwrap();
        let manifest = writer.finish(vec![1, 2, 3], |bytes| key.sign(bytes).to_bytes()).unwrap();
        LocalTable { recipe: self, directory, manifest }
    }
}

impl LocalTable {
    pub(crate) fn base(&self) -> String {
        format!("/v1/tables/{}", self.recipe.name)
    }

    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/manifest", self.base())
    }

    /// Route and content of the file of evaluation keys.
    pub(crate) fn key(&self) -> (String, Vec<u8>) {
        let digest = self.manifest.manifest().keys[0].file.digest;
        let content = std::fs::read(self.directory.path().join(format!("keys/{digest}.key")));
        (format!("{}/parts/{digest}.key", self.base()), content.unwrap())
    }

    /// Route and content of each part file, the encrypted one first.
    pub(crate) fn parts(&self) -> Vec<(String, Vec<u8>)> {
        let entry = &self.manifest.manifest().parts[0];
        let part = |digest: String, half: &str| {
            let file = PathBuf::from("parts").join(format!("{digest}.{half}.parquet"));
            let route = format!("{}/parts/{digest}.{half}", self.base());
            (route, std::fs::read(self.directory.path().join(file)).unwrap())
        };
        vec![
            part(entry.encrypted.unwrap().digest.to_string(), "enc"),
            part(entry.clear.unwrap().digest.to_string(), "clear"),
        ]
    }

    /// Commits the table to a store as its owner does, past any server.
    pub(crate) fn copy_to(&self, store: &TableStore) {
        let local = TableStore::local(self.directory.path()).unwrap();
        local.copy_version(&self.manifest, store, &|_| ()).unwrap();
    }

    /// Uploads all parts but commits nothing.
    pub(crate) fn push_parts(&self, service: &Service) {
        for (route, content) in self.parts() {
            let put = service.put(&route, &content);
            assert!(matches!(put.status, 200 | 201), "{}", put.status);
        }
    }

    /// Uploads and commits; gives the commit's status.
    pub(crate) fn push(&self, service: &Service) -> u16 {
        self.push_parts(service);
        service.put(&self.manifest_path(), self.manifest.as_bytes()).status
    }
}

fn encoding() -> Encoding {
    Encoding {
        id: EncodingId(1),
        params: "n12_q2x46_sec128_v1".to_owned(),
        packing: Packing::Sum(Sum { t_log2: 64 }),
    }
}
