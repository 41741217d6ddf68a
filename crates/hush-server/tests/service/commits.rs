// SPDX-License-Identifier: Apache-2.0
//! Manifests: what becomes a table, and what must not replace one.

use ed25519_dalek::{Signer, SigningKey};
use hush_table::manifest::{Cubes, Runs};
use hush_table::manifest::{Predecessor, key_id, succession_bytes};
use hush_table::{
    CubeSums, CubesId, Digest, FileKind, Manifest, PartCubes, PartRuns, RunBytes, RunsId, SignedManifest,
    StoredCube, TableStore,
};

use crate::fixture::{PLAIN, ROWS, Recipe};
use crate::harness::start;

#[test]
fn a_pushed_table_is_listed_described_and_returned() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push_parts(&service);
    assert_eq!(service.get("/v1/tables").json(), serde_json::json!([]));
    assert_eq!(service.get(&table.base()).code(), "HUSH-V014");
    assert_eq!(table.push(&service), 201);
    assert_eq!(table.push(&service), 200);

    let list = service.get("/v1/tables").json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    let bytes: usize = table.parts().iter().map(|(_, content)| content.len()).sum();
    let expected = serde_json::json!({
        "name": "visits", "version": 1, "rows": ROWS, "bytes": bytes, "key_id": table.manifest.manifest().key_id,
    });
    assert_eq!(list[0], expected);
    let facts = service.get(&table.base()).json();
    assert_eq!(facts["manifest"], table.manifest.digest().to_string());
    assert_eq!(facts["clear_columns"][0]["name"], "ward");
    assert_eq!(facts["encodings"][0]["layout"], "sum");
    assert_eq!(service.get(&table.manifest_path()).body, table.manifest.as_bytes());
    for (route, content) in table.parts() {
        assert_eq!(service.get(&route).body, content);
    }
    // On disk it is a table like any other.
    let store = hush_table::TableStore::local_existing(service.path("tables/visits")).unwrap();
    let loaded = store.load().unwrap();
    assert_eq!(loaded, table.manifest);
    assert_eq!(store.missing_parts(loaded.manifest()).unwrap(), []);
}

#[test]
fn a_manifest_must_be_sound_complete_and_in_its_place() {
    let service = start(&[]);
    let table = PLAIN.make();
    let missing = service.put(&table.manifest_path(), table.manifest.as_bytes());
    assert_eq!((missing.status, missing.code().as_str()), (409, "HUSH-V019"));
    table.push_parts(&service);
    let whole = table.manifest.as_bytes();
    for at in [0, 9, 15, 60, whole.len() / 2, whole.len() - 70, whole.len() - 1] {
        let mut altered = whole.to_vec();
        altered[at] ^= 0x10;
        let refused = service.put(&table.manifest_path(), &altered);
        assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V016"), "byte {at}");
    }
    for length in [0, 1, 19, whole.len() - 1] {
        assert_eq!(
            service.put(&table.manifest_path(), &whole[..length]).code(),
            "HUSH-V016",
            "{length} bytes"
        );
    }
    assert_eq!(service.put("/v1/tables/other/manifest", whole).code(), "HUSH-V016");
    assert_eq!(service.get("/v1/tables").json(), serde_json::json!([]));
    assert_eq!(service.put(&table.manifest_path(), whole).status, 201);
}

#[test]
fn evaluation_keys_are_admitted_as_parts_are() {
    let service = start(&[]);
    let table = Recipe { keyed: true, ..PLAIN }.make();
    table.push_parts(&service);
    let commit =
        |service: &crate::harness::Service| service.put(&table.manifest_path(), table.manifest.as_bytes());
    let missing = commit(&service);
    assert_eq!((missing.status, missing.code().as_str()), (409, "HUSH-V019"));
    // Not under the digest of another content, and not of another length.
    let (route, content) = table.key();
    let mut other = content.clone();
    other[99] ^= 1;
    assert_eq!(service.put(&route, &other).code(), "HUSH-V013");
    assert_eq!(service.put(&route, &content[1..]).code(), "HUSH-V013");
    assert_eq!(service.put(&route, &content).status, 201);
    assert_eq!(commit(&service).status, 201);
    assert_eq!(service.get(&route).body, content);
    let store = hush_table::TableStore::local_existing(service.path("tables/visits")).unwrap();
    store.verify(table.manifest.manifest()).unwrap();
    // Keys above the limit of parts are refused before they are read.
    let small = start(&["--max-part-bytes", "100000"]);
    table.push_parts(&small);
    let large = small.put(&route, &content);
    assert_eq!(large.status, 413, "{}", large.code());
}

/// A server adds up cubes and knows nothing of them, but it takes no file that holds others than its entry says.
#[test]
fn cubes_are_admitted_as_the_manifest_names_them() {
    let service = start(&[]);
    let table = PLAIN.make();
    assert_eq!(table.push(&service), 201);
    let memory = TableStore::memory();
    let cubes = vec![StoredCube::new(4, &CubeSums::zeros(10, &[24, 60]))];
    let good = memory.put_cubes(&PartCubes { id: CubesId::from_bytes([1; 16]), cubes }).unwrap();
    let commit = |cubes: &Cubes| {
        let mut next = table.manifest.manifest().clone();
        next.version = 2;
        next.parts[0].cubes = Some(cubes.clone());
        let key = SigningKey::from_bytes(&[PLAIN.signer; 32]);
        let verifying = key.verifying_key().to_bytes();
        let next = SignedManifest::sign(next, &verifying, |bytes| key.sign(bytes).to_bytes()).unwrap();
        service.put(&table.manifest_path(), next.as_bytes())
    };
    let missing = commit(&good);
    assert_eq!((missing.status, missing.code().as_str()), (409, "HUSH-V019"));
    let route = format!("{}/parts/{}.cubes", table.base(), good.file.digest);
    let content = memory.open_part(FileKind::Cubes, &good.file).unwrap().read_all().unwrap();
    assert_eq!(service.put(&route, &content[1..]).code(), "HUSH-V013");
    assert_eq!(service.put(&route, &content).status, 201);
    let other = Cubes { id: CubesId::from_bytes([2; 16]), ..good.clone() };
    let more = Cubes { numbers: vec![4, 5], ..good.clone() };
    for wrong in [other, more] {
        let refused = commit(&wrong);
        assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V021"));
    }
    assert_eq!(commit(&good).status, 201);
    assert_eq!(service.get(&route).body, content);
    let store = TableStore::local_existing(service.path("tables/visits")).unwrap();
    store.verify(store.load().unwrap().manifest()).unwrap();
}

/// A server looks into no sorted run, but it takes no version whose runs are not there, or of other bytes than their file.
#[test]
fn runs_are_admitted_as_the_manifest_names_them() {
    let service = start(&[]);
    let table = PLAIN.make();
    assert_eq!(table.push(&service), 201);
    let memory = TableStore::memory();
    let run = RunBytes { number: 4, index: vec![1; 40].into(), block_bytes: 9, blocks: vec![2; 27].into() };
    let good = memory.put_runs(&PartRuns { id: RunsId::from_bytes([1; 16]), runs: vec![run] }).unwrap();
    let commit = |runs: &Runs| {
        let mut next = table.manifest.manifest().clone();
        next.version = 2;
        next.parts[0].runs = Some(runs.clone());
        let key = SigningKey::from_bytes(&[PLAIN.signer; 32]);
        let verifying = key.verifying_key().to_bytes();
        let next = SignedManifest::sign(next, &verifying, |bytes| key.sign(bytes).to_bytes()).ok()?;
        Some(service.put(&table.manifest_path(), next.as_bytes()))
    };
    let missing = commit(&good).unwrap();
    assert_eq!((missing.status, missing.code().as_str()), (409, "HUSH-V019"));
    let route = format!("{}/parts/{}.runs", table.base(), good.file.digest);
    let content = memory.open_part(FileKind::Runs, &good.file).unwrap().read_all().unwrap();
    assert_eq!(service.put(&route, &content[1..]).code(), "HUSH-V013");
    assert_eq!(service.put(&route, &content).status, 201);
    // A block more in a file that is longer, and in one that is not.
    let mut more = good.clone();
    more.runs[0].blocks += 1;
    assert!(commit(&more).is_none());
    more.file.bytes += 9;
    let refused = commit(&more).unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (409, "HUSH-V019"));
    assert_eq!(commit(&good).unwrap().status, 201);
    assert_eq!(service.get(&route).body, content);
    let store = TableStore::local_existing(service.path("tables/visits")).unwrap();
    let present = store.load().unwrap();
    store.verify(present.manifest()).unwrap();
    assert_eq!(store.run_blocks(&present.manifest().parts[0], 4, &[0, 2]).unwrap(), [2; 18][..]);
}

#[test]
fn only_the_owner_replaces_a_table_and_only_by_newer_versions() {
    let service = start(&[]);
    let second = Recipe { version: 2, seed: 2, ..PLAIN }.make();
    assert_eq!(second.push(&service), 201);
    let cases = [
        (Recipe { version: 1, seed: 3, ..PLAIN }, "HUSH-V018"),
        (Recipe { version: 2, seed: 4, ..PLAIN }, "HUSH-V018"),
        (Recipe { version: 3, seed: 5, signer: 9, ..PLAIN }, "HUSH-V017"),
        (Recipe { version: 3, seed: 6, table: 9, ..PLAIN }, "HUSH-V017"),
    ];
    for (recipe, code) in cases {
        let other = recipe.make();
        other.push_parts(&service);
        let refused = service.put(&other.manifest_path(), other.manifest.as_bytes());
        assert_eq!((refused.status, refused.code().as_str()), (409, code));
        assert_eq!(service.get(&second.manifest_path()).body, second.manifest.as_bytes());
    }
    let third = Recipe { version: 3, seed: 7, ..PLAIN }.make();
    assert_eq!(third.push(&service), 201);
    assert_eq!(service.get(&third.base()).json()["version"], 3);
}

/// The same table as version `version`, signed by the key of the last number of `owners`. Each of these is a key and the first version that was
/// not its own any more.
fn handed_over(of: &Manifest, version: u64, owners: &[(u8, u64)], signer: u8) -> SignedManifest {
    let key = |number: u8| SigningKey::from_bytes(&[number; 32]);
    let next = owners.iter().skip(1).map(|(owner, _)| *owner).chain([signer]);
    let predecessors = owners.iter().zip(next).map(|((owner, until), next)| {
        let message = succession_bytes(of.table_id, *until, &key(next).verifying_key().to_bytes());
        let verifying = Digest::from_bytes(key(*owner).verifying_key().to_bytes());
        Predecessor { key: verifying, until: *until, signature: key(*owner).sign(&message).to_bytes() }
    });
    let verifying = key(signer).verifying_key().to_bytes();
    let predecessors = predecessors.collect();
    let manifest = Manifest { version, predecessors, key_id: key_id(&verifying), ..of.clone() };
    SignedManifest::sign(manifest, &verifying, |bytes| key(signer).sign(bytes).to_bytes()).unwrap()
}

/// Attack: whoever had the table once keeps the signature that gave it, and whoever has it now keeps the table.
#[test]
fn a_table_passes_to_the_key_that_its_owner_signed_and_to_no_other() {
    let service = start(&[]);
    let table = PLAIN.make();
    assert_eq!(table.push(&service), 201);
    let (path, body) = (table.manifest_path(), table.manifest.manifest());
    let put = |manifest: &SignedManifest| {
        let answer = service.put(&path, manifest.as_bytes());
        if answer.status < 300 { "taken".to_owned() } else { answer.code() }
    };
    let foreign = "HUSH-V017";
    // Another key, with no signature of the owner's, or with that of somebody else's owner.
    assert_eq!(put(&handed_over(body, 2, &[], 2)), foreign);
    assert_eq!(put(&handed_over(body, 2, &[(3, 2)], 2)), foreign);
    assert_eq!(put(&handed_over(body, 2, &[(1, 2)], 2)), "taken");
    // The key before has given it away.
    assert_eq!(put(&handed_over(body, 3, &[], 1)), foreign);
    // It comes back with version 4, and the key between cannot take it again by the signature of version 2.
    assert_eq!(put(&handed_over(body, 4, &[(1, 2), (2, 4)], 1)), "taken");
    assert_eq!(put(&handed_over(body, 5, &[(1, 2)], 2)), foreign);
    assert_eq!(put(&handed_over(body, 5, &[(1, 2), (2, 4)], 1)), "taken");
    // Two handed over at once, as a copy that was rotated twice is pushed.
    assert_eq!(put(&handed_over(body, 9, &[(1, 2), (2, 4), (1, 7), (5, 8)], 6)), "taken");
    assert_eq!(put(&handed_over(body, 10, &[(1, 2), (2, 4), (1, 7)], 5)), foreign);
}

#[test]
fn a_chunk_seed_serves_once_per_key_even_after_deletion() {
    let service = start(&[]);
    let table = PLAIN.make();
    assert_eq!(table.push(&service), 201);
    let elsewhere = Recipe { name: "elsewhere", table: 2, version: 5, ..PLAIN }.make();
    elsewhere.push_parts(&service);
    let refused = service.put(&elsewhere.manifest_path(), elsewhere.manifest.as_bytes());
    assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V020"));
    assert_eq!(service.call("DELETE", &table.base(), &[], b"").status, 204);
    let refused = service.put(&elsewhere.manifest_path(), elsewhere.manifest.as_bytes());
    assert_eq!(refused.code(), "HUSH-V020");
    // The very same ciphertexts again reveal nothing new.
    assert_eq!(table.push(&service), 201);
}

#[test]
fn a_part_that_is_not_what_its_manifest_says_is_refused() {
    let service = start(&[]);
    let table = PLAIN.make();
    let garbage = b"PAR1 this is no part PAR1".repeat(8);
    // The right digest of the wrong thing, with a manifest that its owner signed.
    let mut body = table.manifest.manifest().clone();
    let file = hush_table::PartFile { digest: hush_table::Digest::of(&garbage), bytes: garbage.len() as u64 };
    body.parts[0].encrypted = Some(file);
    let key = ed25519_dalek::SigningKey::from_bytes(&[PLAIN.signer; 32]);
    let sign = |bytes: &[u8]| ed25519_dalek::Signer::sign(&key, bytes).to_bytes();
    let manifest = hush_table::SignedManifest::sign(body, &key.verifying_key().to_bytes(), sign).unwrap();
    table.push_parts(&service);
    let route = format!("{}/parts/{}.enc", table.base(), file.digest);
    assert_eq!(service.put(&route, &garbage).status, 201);
    let refused = service.put(&table.manifest_path(), manifest.as_bytes());
    assert_eq!((refused.status, refused.code().as_str()), (422, "HUSH-V021"));
}

#[test]
fn a_deleted_table_is_gone_with_its_files() {
    let service = start(&[]);
    let table = PLAIN.make();
    table.push(&service);
    let growing = format!("{}/parts/{}.enc", table.base(), "0".repeat(64));
    service.call("PUT", &growing, &[("content-range", "bytes 0-2/9")], b"abc");
    assert_eq!(service.call("DELETE", &table.base(), &[], b"").status, 204);
    assert_eq!(service.get(&table.base()).code(), "HUSH-V014");
    assert_eq!(service.call("DELETE", &table.base(), &[], b"").code(), "HUSH-V014");
    assert_eq!(service.offset(&growing), 0);
    assert_eq!(std::fs::read_dir(service.path("tables")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(service.path("uploads")).unwrap().count(), 0);
}
