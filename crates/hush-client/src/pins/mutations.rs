// SPDX-License-Identifier: Apache-2.0
//! Damaged pins: each is refused and left as it is, or says what allows the manifest, and is then renewed.
//!
//! `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use std::fs;

use serde_json::Value;

use super::*;
use crate::error::ErrorKind;
use hush_testkit::damaged;
use hush_testkit::damaged_json;

const PLACE: &str = "https://example.org/tables/golden";

/// A table's manifest, of version 2.
fn manifest() -> SignedManifest {
    let bytes = include_bytes!("../../../hush-table/tests/golden/table_v1/manifest.hush");
    SignedManifest::decode(bytes).unwrap()
}

fn pins() -> (tempfile::TempDir, Pins) {
    let directory = tempfile::tempdir().unwrap();
    let pins = Pins { directory: Some(directory.path().to_owned()) };
    (directory, pins)
}

fn refused(path: &Path, bytes: &[u8], error: &ClientError) -> bool {
    let codes = ["HUSH-C043", "HUSH-R022", "HUSH-T010", "HUSH-T011", "HUSH-T021"];
    assert!(codes.contains(&error.code()), "{}: {error}", error.code());
    assert_eq!(fs::read(path).unwrap(), bytes, "a refused pin is kept");
    false
}

/// Whether a pin with these bytes lets the manifest pass.
fn check_version(pins: &Pins, manifest: &SignedManifest, bytes: &[u8]) -> bool {
    let path = pins.path(manifest).unwrap();
    fs::write(&path, bytes).unwrap();
    if let Err(error) = pins.check_and_remember(manifest) {
        return refused(&path, bytes, &error);
    }
    // Read once more, without our types.
    let (was, now): (Value, Pin) =
        (serde_json::from_slice(bytes).unwrap(), serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
    assert_eq!(now, Pin::of(manifest));
    assert_eq!(was["table_id"], manifest.manifest().table_id.to_string());
    let version = was["version"].as_u64().unwrap();
    assert!(version <= 2);
    assert!(version < 2 || was["digest"] == manifest.digest().to_string());
    pins.check_and_remember(manifest).unwrap();
    true
}

/// Whether a pin with these bytes lets the table have the name.
fn check_place(pins: &Pins, manifest: &SignedManifest, bytes: &[u8]) -> bool {
    let path = pins.place_path(PLACE).unwrap();
    fs::write(&path, bytes).unwrap();
    if let Err(error) = pins.check_place(PLACE, manifest) {
        return refused(&path, bytes, &error);
    }
    let was: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(was, manifest.manifest().table_id.to_string());
    true
}

#[test]
fn damaged_pins_are_refused_or_allow_the_manifest() {
    let ((_directory, pins), manifest) = (pins(), manifest());
    let golden = serde_json::to_vec(&Pin::of(&manifest)).unwrap();
    assert!(check_version(&pins, &manifest, &golden));
    let accepted = damaged_json("pin", 1500, &golden, |bytes| check_version(&pins, &manifest, bytes));
    assert!(accepted > 20, "{accepted}");
    let older = serde_json::to_vec(&Pin { version: 1, ..Pin::of(&manifest) }).unwrap();
    assert!(check_version(&pins, &manifest, &older));

    let golden = serde_json::to_vec(&manifest.manifest().table_id).unwrap();
    assert!(check_place(&pins, &manifest, &golden));
    damaged_json("pin of a place", 300, &golden, |bytes| check_place(&pins, &manifest, bytes));
    damaged("pin of a place", 300, &golden, |bytes| check_place(&pins, &manifest, bytes));
}

#[test]
fn pins_are_read_up_to_their_largest_size() {
    let ((_directory, pins), manifest) = (pins(), manifest());
    let padded = |golden: &[u8], length: usize| [golden, &vec![b' '; length - golden.len()]].concat();
    let limit = PIN_MAX_BYTES as usize;
    let version = serde_json::to_vec(&Pin::of(&manifest)).unwrap();
    assert!(version.len() < limit / 4, "a pin is far from its limit");
    let place = serde_json::to_vec(&manifest.manifest().table_id).unwrap();
    for (length, accepted) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
        assert_eq!(check_version(&pins, &manifest, &padded(&version, length)), accepted, "{length}");
        assert_eq!(check_place(&pins, &manifest, &padded(&place, length)), accepted, "{length}");
    }
    // Ten gigabytes, of which the disk holds the first page.
    let (path, place_path) = (pins.path(&manifest).unwrap(), pins.place_path(PLACE).unwrap());
    for (path, golden) in [(&path, &version), (&place_path, &place)] {
        fs::write(path, golden).unwrap();
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10 << 30).unwrap();
    }
    let errors =
        [pins.check_and_remember(&manifest).unwrap_err(), pins.check_place(PLACE, &manifest).unwrap_err()];
    for error in errors {
        assert_eq!((error.code(), error.kind()), ("HUSH-C043", ErrorKind::Damaged));
        assert!(error.to_string().contains("Way out"), "{error}");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), 10 << 30);
}
