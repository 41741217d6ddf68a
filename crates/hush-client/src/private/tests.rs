// SPDX-License-Identifier: Apache-2.0

use hush_keys::OwnerSeed;

use super::*;
use crate::pins::mutations::manifest;

const SCHEMA: &str = r#"format = 1
table = "t"
status = "approved"
order = [{ by = "charges", within = ["ward"], sum = ["age"] }]
[columns.ward]
type = "category"
protect = "seal"
[columns.age]
type = "int(8)"
range = [0, 120]
protect = "encrypt"
for = ["order"]
[columns.charges]
type = "int(32)"
protect = "encrypt"
"#;

#[test]
fn sorted_runs_are_sealed_with_their_numbers() {
    let owner = OwnerSeed::generate().unwrap();
    let keys = || owner.of_table([9; 16], [1; 16]);
    let mut half = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let numbers: Vec<u32> = half.runs.iter().map(|run| run.number).collect();
    assert_eq!((numbers, half.next_run), (vec![0, 1], 2));
    half.runs[0].columns.reverse();
    assert_eq!(PrivateHalf::open(keys(), &half.seal(keys()).unwrap()).unwrap(), half);
    let described = half.describe_runs(manifest().manifest());
    let starts: Vec<_> =
        described.iter().filter_map(|text| text.split_once(", in ")).map(|(start, _)| start).collect();
    assert_eq!(starts, ["#0 by charges within ward: 3 columns", "#1 by age: 1 column"]);
    half.runs.pop();
    let refused = PrivateHalf::open(keys(), &half.seal(keys()).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("of other sorted runs than its numbers"), "{refused}");
}

/// A table of version 0.1 names no cipher, and its half keeps its bytes.
#[test]
fn the_cipher_is_named_where_it_is_not_that_of_before() {
    let owner = OwnerSeed::generate().unwrap();
    let keys = || owner.of_table([9; 16], [1; 16]);
    let new = PrivateHalf::new(from_toml(SCHEMA).unwrap(), Vec::new());
    let earlier = PrivateHalf { cipher: Cipher::XChaCha20Poly1305, ..new.clone() };
    for (half, names) in [(new, true), (earlier, false)] {
        let sealed = half.seal(keys()).unwrap();
        let plain = keys().schema_seal().open(PLACE, &sealed).unwrap();
        assert_eq!(String::from_utf8_lossy(&plain).contains("\"cipher\":\"XAES-256-GCM\""), names);
        assert_eq!(String::from_utf8_lossy(&plain).contains("cipher"), names);
        assert_eq!(PrivateHalf::open(keys(), &sealed).unwrap(), half);
    }
}

/// Tables of before have neither, and keep their bytes.
#[test]
fn a_half_without_sorted_runs_says_nothing_of_them() {
    let stored = serde_json::from_str::<Stored>(r#"{"format":2,"schema":"","encodings":[]}"#).unwrap();
    assert!(stored.runs.is_empty() && stored.next_run.is_none());
    assert!(!serde_json::to_string(&stored).unwrap().contains("run"));
}
