// SPDX-License-Identifier: Apache-2.0
//! A process that writes a table is killed, at whatever moment: there is no table or a whole one, never a half, and the
//! same command run again completes and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bytes::Bytes;
use ed25519_dalek::{Signer, SigningKey};
use hush_plan::packing::{Packing, Sum};
use hush_plan::{Encoding, EncodingId};
use hush_table::part::TREE_FROM_BYTES;
use hush_table::{
    EncodedChunk, EncryptionId, TableError, TableId, TableIdentity, TableLayout, TableStore, TableWriter,
};

const CHUNKS: u32 = 200;
const PLACE: &str = "HUSH_TEST_TABLE";

/// Writes a table of four parts, some 10 MB.
fn write(store: &TableStore) -> Result<(), TableError> {
    let sum = Encoding {
        id: EncodingId(0),
        params: "n12_q2x46_sec128_v1".to_owned(),
        packing: Packing::Sum(Sum { t_log2: 64 }),
    };
    let clear = Arc::new(Schema::empty());
    let layout = TableLayout { clear: clear.clone(), encodings: vec![sum], sealed_columns: 0 };
    let key = SigningKey::from_bytes(&[42; 32]);
    let identity = TableIdentity {
        table: "t".to_owned(),
        table_id: TableId::from_bytes([1; 16]),
        encryption: EncryptionId::from_bytes([2; 16]),
        version: 1,
        verifying_key: key.verifying_key().to_bytes(),
    };
    let mut writer = TableWriter::begin(store, identity, layout)?;
    let nothing = RecordBatch::new_empty(clear);
    for index in 0..CHUNKS {
        let mut seed = [0; 32];
        seed[..4].copy_from_slice(&index.to_le_bytes());
        let encoded = vec![Bytes::from(vec![index as u8; 50_000])];
        writer.push(&nothing, EncodedChunk { index, rows: 8192, seed, encoded, sealed: vec![] })?;
    }
    writer.finish(vec![], |bytes| key.sign(bytes).to_bytes())?;
    Ok(())
}

/// The process to be killed; run by the test below.
#[test]
#[ignore = "the child process of another test"]
fn child() {
    write(&TableStore::local(std::env::var(PLACE).unwrap()).unwrap()).unwrap();
}

fn spawn_and_kill(place: &Path, after: Duration) {
    let mut child = Command::new(std::env::current_exe().expect("a path of this test"))
        .args(["child", "--exact", "--ignored"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child process");
    std::thread::sleep(after);
    child.kill().expect("a child that is ours");
    child.wait().expect("a child that is ours");
}

#[test]
fn a_killed_writer_leaves_no_half_table() {
    let seed = RandomState::new().build_hasher().finish();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("t");
    for round in 0..12 {
        // From before the first part to about the end, at odd moments.
        spawn_and_kill(&place, Duration::from_micros((seed >> round) % 7919 * 10 + round * 1000));
        match TableStore::local_existing(&place).and_then(|store| store.load().map(|signed| (store, signed)))
        {
            Ok((store, signed)) => {
                assert_eq!(signed.manifest().chunk_count(), CHUNKS, "seed {seed}");
                store.verify(signed.manifest()).unwrap();
                store.delete().unwrap();
            }
            Err(error) => assert_eq!(error.code(), "HUSH-T020", "seed {seed}, round {round}"),
        }
    }
    let store = TableStore::local(&place).unwrap();
    write(&store).unwrap();
    store.verify(store.load().unwrap().manifest()).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&place)
        .unwrap()
        .chain(std::fs::read_dir(place.join("parts")).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    // Nothing but the table: its parts, the large ones with their hash trees.
    let manifest = store.load().unwrap();
    let files = manifest.manifest().parts.iter().filter_map(|part| part.encrypted).flat_map(|file| {
        let tree = (file.bytes >= TREE_FROM_BYTES).then(|| format!("{}.enc.tree", file.digest));
        tree.into_iter().chain([format!("{}.enc.parquet", file.digest)])
    });
    let mut expected: Vec<_> = files.chain([".lock", "manifest.hush", "parts"].map(str::to_owned)).collect();
    expected.sort();
    assert_eq!(names, expected);
}
