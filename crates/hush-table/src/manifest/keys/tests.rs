// SPDX-License-Identifier: Apache-2.0
//! Chains and keys of a manifest: their text, and every rule broken.

use hush_params::ChainError;
use hush_params::{DefinitionFault, ParamsError};

use super::*;
use crate::digest::Digest;
use crate::error::{KeyFault, TableError};
use crate::fixture::{manifest, sign};
use crate::manifest::SignedManifest;

const PRESET: &str = "n13_q3p1x46_d1_sec128_v1";
const SECRET: SecretId = SecretId::from_bytes(*b"secret of chains");

/// A chain that is no preset.
fn own() -> Params {
    Params::Chain(ChainParams::uniform(8192, 40, 1, 3, 1, 1).unwrap().into())
}

fn entry(params: &Params, kind: KeyKind) -> KeyEntry {
    let bytes = KeyEntry::expected_bytes(&kind, params).unwrap();
    let digest = Digest::of(format!("{kind:?}{}", params.name()).as_bytes());
    KeyEntry { kind, params: params.name(), unit: 65537, secret: SECRET, file: PartFile { digest, bytes } }
}

fn galois(elements: &[u32]) -> KeyKind {
    KeyKind::Galois { elements: elements.to_vec() }
}

/// The table of the other tests, with a relinearisation key over a preset and Galois keys over a chain of its own.
fn keyed() -> Manifest {
    let preset = Params::named(PRESET).unwrap();
    let Params::Chain(chain) = own() else { unreachable!() };
    Manifest {
        chains: vec![ChainDefinition::of(&chain)],
        keys: vec![entry(&preset, KeyKind::Relinearisation), entry(&own(), galois(&[3, 5, 16383]))],
        ..manifest()
    }
}

#[test]
fn keys_have_one_text_and_tables_without_keys_have_theirs() {
    let signed = sign(keyed());
    assert_eq!(SignedManifest::decode(signed.as_bytes()).unwrap().manifest(), &keyed());
    let plain = String::from_utf8(manifest().to_json().unwrap()).unwrap();
    assert!(!plain.contains("keys\":") && !plain.contains("chains"));
    let text = String::from_utf8(keyed().to_json().unwrap()).unwrap();
    let first = &keyed().keys[0];
    // By hand: (3 + 1 primes)·8192·46 bits for each of 3 digits, element and seed, header and checksum.
    let bytes = 3 * 4 * 8192 * 46 / 8 + 36 + 96;
    let expected = format!(
        concat!(
            r#""keys":[{{"kind":"relinearisation","params":"{}","unit":65537,"secret":"{}","#,
            r#""file":{{"digest":"{}","bytes":{}}}}},{{"kind":{{"galois":{{"elements":[3,5,16383]}}}},"params":"chain:"#
        ),
        PRESET, SECRET, first.file.digest, bytes
    );
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains(r#""chains":["6875736820636861696e207631000000"#), "{text}");
    // Members come in one order: chains, keys, the sealed schema last.
    let places =
        ["\"parts\":", "\"chains\":", "\"keys\":", "\"sealed_schema\":"].map(|name| text.find(name).unwrap());
    assert!(places.is_sorted());
}

fn fault(change: impl FnOnce(&mut Manifest)) -> ManifestFault {
    let mut manifest = keyed();
    change(&mut manifest);
    match manifest.check() {
        Err(TableError::BadManifest { fault }) => fault,
        other => panic!("expected a broken rule, found {other:?}"),
    }
}

#[test]
fn every_rule_of_keys_is_checked() {
    keyed().check().unwrap();
    let key = |index, fault| ManifestFault::Key { index, fault };
    let bytes = keyed().keys[0].file.bytes;
    for found in [0, bytes - 1, bytes + 1, u64::MAX] {
        let fault = fault(|m| m.keys[0].file.bytes = found);
        assert_eq!(fault, key(0, KeyFault::Bytes { found, expected: bytes }));
    }
    for params in ["n12_q2x46_sec128_v1", "n13_q3p1x46", "chain:00", "n12_q2p0x46_d1_sec128_v1"] {
        assert_eq!(fault(|m| m.keys[0].params = params.to_owned()), key(0, KeyFault::Params), "{params}");
    }
    assert_eq!(fault(|m| m.keys[1].unit = 0), key(1, KeyFault::Unit));
    for elements in [&[] as &[u32], &[1], &[4], &[16385], &[5, 3], &[3, 3], &[u32::MAX]] {
        let fault = fault(|m| m.keys[1].kind = galois(elements));
        assert_eq!(fault, key(1, KeyFault::Elements), "{elements:?}");
    }
    // The same file, the same key in another file.
    assert_eq!(fault(|m| m.keys[1].file.digest = m.keys[0].file.digest), key(1, KeyFault::Repeated));
    let again = |m: &mut Manifest| {
        m.keys.push(KeyEntry {
            file: PartFile { digest: Digest::of(b"more"), ..m.keys[0].file },
            ..m.keys[0].clone()
        });
    };
    assert_eq!(fault(again), key(2, KeyFault::Repeated));
    let mut others = keyed();
    again(&mut others);
    others.keys[2].secret = SecretId::from_bytes([0; 16]);
    others.check().unwrap();
    let most: Vec<u32> = (0..8191).map(|i| 2 * i + 3).collect();
    let large = fault(|m| m.keys[1] = entry(&own(), galois(&most)));
    assert!(matches!(large, ManifestFault::Key { index: 1, fault: KeyFault::TooLarge { .. } }), "{large:?}");
    let many = fault(|m| m.keys = vec![m.keys[0].clone(); MAX_KEYS + 1]);
    let limit = MAX_KEYS as u64;
    assert_eq!(many, ManifestFault::TooMany { what: Counted::Keys, found: limit + 1, limit });
}

/// Keys of powers are over a ring, which has one file of them.
#[test]
fn every_rule_of_keys_of_powers_is_checked() {
    let ring = Params::named("n13_q3x46_sec128_v1").unwrap();
    let with = |change: fn(&mut KeyEntry)| {
        let powers = entry(&ring, KeyKind::Powers { highest: 4 });
        let mut manifest = Manifest { keys: vec![powers], ..manifest() };
        change(&mut manifest.keys[0]);
        manifest
    };
    let good = with(|_| ());
    good.check().unwrap();
    // Nine bodies of three primes of 46 bits, a seed, header and checksum.
    assert_eq!(good.keys[0].file.bytes, 9 * 3 * 8192 * 46 / 8 + 32 + 48);
    let text = String::from_utf8(good.to_json().unwrap()).unwrap();
    assert!(
        text.contains(r#"{"kind":{"powers":{"highest":4}},"params":"n13_q3x46_sec128_v1","unit":65537,"#)
    );
    let signed = sign(good.clone());
    assert_eq!(SignedManifest::decode(signed.as_bytes()).unwrap().manifest(), &good);
    let fault = |change: fn(&mut KeyEntry)| match with(change).check() {
        Err(TableError::BadManifest { fault: ManifestFault::Key { index: 0, fault } }) => fault,
        other => panic!("expected a broken rule, found {other:?}"),
    };
    for (highest, change) in [
        (0, (|entry| entry.kind = KeyKind::Powers { highest: 0 }) as fn(&mut KeyEntry)),
        (1, |entry| entry.kind = KeyKind::Powers { highest: 1 }),
        (8, |entry| entry.kind = KeyKind::Powers { highest: 8 }),
        (u32::MAX, |entry| entry.kind = KeyKind::Powers { highest: u32::MAX }),
    ] {
        assert_eq!(fault(change), KeyFault::Powers { found: highest, most: 7 });
    }
    let bytes = good.keys[0].file.bytes;
    assert_eq!(fault(|entry| entry.file.bytes += 1), KeyFault::Bytes { found: bytes + 1, expected: bytes });
    assert_eq!(fault(|entry| entry.unit = 0), KeyFault::Unit);
    assert_eq!(fault(|entry| entry.params = PRESET.to_owned()), KeyFault::Params);
    assert_eq!(fault(|entry| entry.kind = KeyKind::Relinearisation), KeyFault::Params);
    let mut twice = good.clone();
    let file = PartFile { digest: Digest::of(b"more"), ..twice.keys[0].file };
    twice.keys.push(KeyEntry { file, secret: SecretId::from_bytes([0; 16]), ..twice.keys[0].clone() });
    let Err(TableError::BadManifest { fault }) = twice.check() else { panic!("two files for one ring") };
    assert_eq!(fault, ManifestFault::Key { index: 1, fault: KeyFault::Repeated });
}

#[test]
fn every_rule_of_chains_is_checked() {
    // A chain that keys name and nobody defines.
    assert_eq!(fault(|m| m.chains.clear()), ManifestFault::Key { index: 1, fault: KeyFault::Params });
    assert_eq!(fault(|m| drop(m.keys.pop())), ManifestFault::ChainUnused { index: 0 });
    let many = fault(|m| m.chains = vec![m.chains[0].clone(); MAX_CHAINS + 1]);
    let limit = MAX_CHAINS as u64;
    assert_eq!(many, ManifestFault::TooMany { what: Counted::Chains, found: limit + 1, limit });
    let long = fault(|m| m.chains[0].0 = vec![0; MAX_DEFINITION_BYTES + 1]);
    assert!(matches!(long, ManifestFault::TooMany { what: Counted::DefinitionBytes, .. }), "{long:?}");
    let cause = |change: fn(&mut Manifest)| match fault(change) {
        ManifestFault::Chain { cause, .. } => *cause,
        other => panic!("{other:?}"),
    };
    let repeated = cause(|m| m.chains.push(m.chains[0].clone()));
    assert_eq!(repeated, ParamsError::Repeated { found: own().fingerprint() });
    // A ring of 2048 has no room for four primes of 40 bits.
    let insecure = cause(|m| m.chains[0].0[16..20].copy_from_slice(&2048_u32.to_le_bytes()));
    let ParamsError::Definition { fault: DefinitionFault::Chain(ChainError::Insecure { found, max, .. }) } =
        insecure
    else {
        panic!("{insecure:?}")
    };
    assert_eq!((found, max), (160, 53));
    let short = cause(|m| m.chains[0].0.truncate(60));
    assert!(matches!(short, ParamsError::Definition { fault: DefinitionFault::Form { .. } }), "{short:?}");
}

/// No present packing is over a chain; an encoding that names one is refused for its packing, not for its name.
#[test]
fn an_encoding_can_name_a_chain_where_its_packing_takes_one() {
    let id = manifest().encodings[0].id;
    for params in [PRESET.to_owned(), own().name()] {
        let fault = fault(|m| m.encodings[0].params = params);
        assert_eq!(fault, ManifestFault::Plaintext { id });
    }
    let unknown = fault(|m| m.encodings[0].params = format!("chain:{}", "0".repeat(64)));
    assert_eq!(unknown, ManifestFault::Params { id });
}
