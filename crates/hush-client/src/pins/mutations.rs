// SPDX-License-Identifier: Apache-2.0
//! Damaged pins: each is refused and left as it is, or allows the manifest and is renewed.
//!
//! `tests/corpus/README.md` describes the files from which this starts. `HUSH_MUTATIONS` multiplies the number of copies, and
//! `HUSH_MUTATION_SEED` gives other ones.

use std::fs;

use hush_table::Digest;
use hush_testkit::CorpusFile;
use serde_json::Value;

use super::*;
use crate::corpus::corpus;
use crate::error::ErrorKind;

const PLACE: &str = "https://example.org/tables/golden";

/// A table's manifest, of version 2.
pub(crate) fn manifest() -> SignedManifest {
    let bytes = include_bytes!("../../../hush-table/tests/golden/table_v2/manifest.hush");
    SignedManifest::decode(bytes).unwrap()
}

/// Pins in a directory of their own.
pub(crate) fn remembered() -> (tempfile::TempDir, Pins) {
    let directory = tempfile::tempdir().unwrap();
    let pins = Pins { directory: Some(directory.path().to_owned()) };
    (directory, pins)
}

fn refused(path: &Path, bytes: &[u8], error: &ClientError) -> Result<(), String> {
    let codes = ["HUSH-C043", "HUSH-R022", "HUSH-T010", "HUSH-T011", "HUSH-T021"];
    assert!(codes.contains(&error.code()), "{}: {error}", error.code());
    assert_eq!(fs::read(path).unwrap(), bytes, "a refused pin is kept");
    Err(error.code().to_owned())
}

/// Whether a pin with these bytes lets the manifest pass; the code if not.
pub(crate) fn check_version(pins: &Pins, manifest: &SignedManifest, bytes: &[u8]) -> Result<(), String> {
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
    Ok(())
}

/// Whether a pin with these bytes lets the table have the name; the code if not.
pub(crate) fn check_place(pins: &Pins, manifest: &SignedManifest, bytes: &[u8]) -> Result<(), String> {
    let path = pins.place_path(PLACE).unwrap();
    fs::write(&path, bytes).unwrap();
    if let Err(error) = pins.check_place(PLACE, manifest) {
        return refused(&path, bytes, &error);
    }
    let was: Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(was, manifest.manifest().table_id.to_string());
    Ok(())
}

/// Pins that allow the manifest, and pins that are refused.
pub(crate) fn made() -> Vec<CorpusFile> {
    let now = Pin::of(&manifest());
    let json = |pin: Pin| serde_json::to_string(&pin).unwrap();
    let (good, id) = (json(now), serde_json::to_string(&now.table_id).unwrap());
    let (other_digest, other_id) = (Digest::of(b"another manifest"), TableId::from_bytes([7; 16]));
    let read = |name: &str, text: String| CorpusFile::read(name, "json", text);
    let refused = |name: &str, code: &str, text: String| CorpusFile::refused(name, code, "json", text);
    let damaged = |name: &str, text: String| refused(name, "HUSH-C043", text);
    let edited = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    vec![
        read("pin", good.clone()),
        read("pin-earlier", json(Pin { version: 1, digest: other_digest, ..now })),
        read("place", id.clone()),
        refused("pin-later", "HUSH-T010", json(Pin { version: 3, ..now })),
        refused("pin-last-version-of-all", "HUSH-T010", json(Pin { version: u64::MAX, ..now })),
        refused("pin-fork", "HUSH-T011", json(Pin { digest: other_digest, ..now })),
        refused("pin-other-table", "HUSH-T021", json(Pin { table_id: other_id, ..now })),
        refused("place-other-table", "HUSH-R022", serde_json::to_string(&other_id).unwrap()),
        damaged("pin-unknown-member", edited("{", "{\"more\":0,")),
        damaged("pin-version-twice", edited("\"version\":2", "\"version\":1,\"version\":2")),
        damaged("pin-negative-version", edited("\"version\":2", "\"version\":-2")),
        damaged("pin-version-beyond-64-bits", edited("\"version\":2", "\"version\":18446744073709551618")),
        damaged("pin-without-version", edited("\"version\":2,", "")),
        damaged(
            "pin-capital-digits",
            edited(&now.digest.to_string(), &now.digest.to_string().to_uppercase()),
        ),
        damaged("pin-odd-digits", edited(&now.digest.to_string(), &now.digest.to_string()[1..])),
        damaged("pin-of-a-place", id.clone()),
        damaged("pin-two", good.repeat(2)),
        damaged("pin-cut", good[..good.len() / 2].to_owned()),
        damaged("pin-empty", String::new()),
        damaged("pin-too-long", good.clone() + &" ".repeat(1000)),
        damaged("pin-deep", "[".repeat(1000)),
        damaged("place-path", "\"../victim\"".to_owned()),
        damaged("place-null", "null".to_owned()),
        damaged("place-of-a-pin", good),
        damaged("place-empty", String::new()),
        damaged("place-too-long", id + &" ".repeat(1000)),
    ]
}

#[test]
fn damaged_pins_are_refused_or_allow_the_manifest() {
    let ((_directory, pins), manifest) = (remembered(), manifest());
    let accepted = corpus().damaged("pin", 800, |_, bytes| check_version(&pins, &manifest, bytes).is_ok());
    assert!(accepted.copies > 20, "{accepted:?}");
    let accepted = corpus().damaged("place", 600, |_, bytes| check_place(&pins, &manifest, bytes).is_ok());
    assert!(accepted.copies > 0, "{accepted:?}");
}

#[test]
fn pins_are_read_up_to_their_largest_size() {
    let ((_directory, pins), manifest) = (remembered(), manifest());
    let padded = |golden: &[u8], length: usize| [golden, &vec![b' '; length - golden.len()]].concat();
    let limit = PIN_MAX_BYTES as usize;
    let version = serde_json::to_vec(&Pin::of(&manifest)).unwrap();
    assert!(version.len() < limit / 4, "a pin is far from its limit");
    let place = serde_json::to_vec(&manifest.manifest().table_id).unwrap();
    for (length, accepted) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
        assert_eq!(check_version(&pins, &manifest, &padded(&version, length)).is_ok(), accepted, "{length}");
        assert_eq!(check_place(&pins, &manifest, &padded(&place, length)).is_ok(), accepted, "{length}");
    }
    // Ten gigabytes; the disk holds only the first page.
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
