// SPDX-License-Identifier: Apache-2.0
//! Damaged copies of an owner's key files and schemas. Each is refused with a typed error or is sound; none ends in a
//! panic.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;

use hush_keys::OwnerSeed;
use hush_keys::keyfile::{MIN_WORK_LOG2, NewPassphrase, Passphrase, WorkFactor, load, store};
use hush_plan::error::Front;
use hush_plan::schema::file::{from_toml, to_toml};

use hush_testkit::damaged;

#[test]
fn key_files() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("good"), directory.path().join("copy"));
    let passphrase = || Passphrase::new("correct horse".to_owned());
    let seed = OwnerSeed::generate().unwrap();
    let new = NewPassphrase::new(passphrase()).unwrap();
    store(&path, &seed, &new, WorkFactor::Log2(MIN_WORK_LOG2)).unwrap();
    std::fs::write(&copy, b"").unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600)).unwrap();
    let good = std::fs::read(&path).unwrap();
    let accepted = damaged("key file", 100, &good, |bytes| {
        std::fs::write(&copy, bytes).unwrap();
        match load(&copy, &passphrase()) {
            // Encryption is authenticated: only the very bytes open, in any armour.
            Ok(loaded) => {
                assert_eq!(loaded.key_id(), seed.key_id());
                true
            }
            Err(error) => {
                assert!(error.code().starts_with("HUSH-K0"), "{error}");
                false
            }
        }
    });
    assert!(accepted < 10, "{accepted}");
}

const SCHEMA: &str = r#"# Proposal.
format = 1
table = "patients"
status = "proposed"      # encrypt refuses until "approved"
approved_by = "Ann"
null_tokens = ["", "NA"]
max_rows = 100000      # sums are sized for this many

[columns."s\u00fcd \"x\""]
type = "int(32)"
range = [-5, 1000]
nullable = true
protect = "encrypt"
for = ["sum", "avg", "stddev"]
reason = "a number"

[columns.charges]
type = "decimal(12,2)"
range = [0, 9999999.99]
protect = "encrypt"
for = ["sum"]

[columns.day]
type = "date"
protect = "clear"

[columns.note]
type = "text"
protect = "seal"
"#;

#[test]
fn schemas() {
    let mut seen = Vec::new();
    let mut check = |bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        match from_toml(text) {
            Ok(schema) => {
                let again = from_toml(&to_toml(&schema)).unwrap();
                assert_eq!(again, schema, "{text}");
                true
            }
            Err(error) => {
                assert!(!error.remedy().describe(Front::CommandLine).is_empty());
                seen.push(error.code());
                false
            }
        }
    };
    let whole = check(SCHEMA.as_bytes());
    let accepted = damaged("schema", 4000, SCHEMA.as_bytes(), check);
    assert!(whole, "{seen:?}");
    assert!(accepted > 100, "{accepted}");
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 4, "{seen:?}");
}
