// SPDX-License-Identifier: Apache-2.0
//! Damaged private halves. Outside, in the envelope, nothing but the very bytes opens. Inside, as a program of another version
//! might seal them: each is refused with its code, or is sealed again to the same, and keys are derived and queries planned.
//!
//! `HUSH_MUTATIONS` multiplies the number of copies, `HUSH_MUTATION_SEED` gives other ones.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hush_plan::{Limits, plan_query};
use hush_testkit::damaged_json;

use super::*;
use crate::columns::ColumnKeys;

/// Of the planner's corpus.
const SCHEMA: &str = include_str!("../../../hush-plan/tests/corpus/0.1/schema-patients.toml");

/// Queries with the encodings that were made for them.
const QUERIES: [(&str, &str); 3] = [
    (
        "SELECT ward, COUNT(*), AVG(age), STDDEV(charges), SUM(age * weight) FROM patients WHERE year = 2023 GROUP BY ward",
        include_str!("../../../hush-plan/tests/corpus/0.1/encodings-aggregate.json"),
    ),
    (
        "SELECT ward, age * visits - 3, -charges + disc FROM patients WHERE year > 2020 AND ward LIKE 'a%'",
        include_str!("../../../hush-plan/tests/corpus/0.1/encodings-rows.json"),
    ),
    (
        "SELECT score * rate - 2.50, age FROM patients WHERE NOT (weight IS NULL) LIMIT 10",
        include_str!("../../../hush-plan/tests/corpus/0.1/encodings-approximate.json"),
    ),
];

const ROWS: u64 = 1000;

fn owner() -> (OwnerSeed, TableId) {
    (OwnerSeed::generate().unwrap(), TableId::from_bytes([9; 16]))
}

fn half(encodings: &str) -> PrivateHalf {
    PrivateHalf { schema: from_toml(SCHEMA).unwrap(), encodings: serde_json::from_str(encodings).unwrap() }
}

/// What the sealed bytes hold.
fn contents(half: &PrivateHalf) -> Vec<u8> {
    let (schema, encodings) = (to_toml(&half.schema), half.encodings.clone());
    serde_json::to_vec(&Stored { format: FORMAT, schema, encodings }).unwrap()
}

fn sealed(owner: &OwnerSeed, table_id: TableId, contents: &[u8]) -> Vec<u8> {
    owner.seal_key(*table_id.as_bytes()).seal(PLACE, contents).unwrap()
}

#[test]
fn damaged_envelopes_do_not_open() {
    let ((owner, table_id), half) = (owner(), half(QUERIES[0].1));
    let golden = half.seal(&owner, table_id).unwrap();
    assert_eq!(PrivateHalf::open(&owner, table_id, &golden).unwrap(), half);
    let accepted = hush_testkit::damaged("envelope", 3000, &golden, |bytes| {
        match PrivateHalf::open(&owner, table_id, bytes) {
            Ok(opened) => {
                assert_eq!((bytes, &opened), (golden.as_slice(), &half));
                true
            }
            Err(error) => {
                assert_eq!(error.code(), "HUSH-K021", "{error}");
                false
            }
        }
    });
    assert!(accepted < 300, "{accepted}");
    // Of another table, another owner, another place.
    let elsewhere = owner.seal_key(*table_id.as_bytes()).seal(b"elsewhere", &contents(&half)).unwrap();
    assert!(PrivateHalf::open(&owner, TableId::from_bytes([8; 16]), &golden).is_err());
    assert!(PrivateHalf::open(&OwnerSeed::generate().unwrap(), table_id, &golden).is_err());
    assert!(PrivateHalf::open(&owner, table_id, &elsewhere).is_err());
}

#[test]
fn damaged_contents_are_refused_or_can_be_worked_with() {
    let (owner, table_id) = owner();
    let seen = RefCell::new(BTreeMap::<&str, usize>::new());
    for (query, encodings) in QUERIES {
        let half = half(encodings);
        let count = |what| *seen.borrow_mut().entry(what).or_default() += 1;
        let check = |bytes: &[u8]| match PrivateHalf::open(&owner, table_id, &sealed(&owner, table_id, bytes))
        {
            Err(error) => {
                assert_eq!(error.code(), "HUSH-C010", "{error}");
                false
            }
            Ok(opened) => {
                let again = opened.seal(&owner, table_id).unwrap();
                assert_eq!(PrivateHalf::open(&owner, table_id, &again).unwrap(), opened);
                count(derived(&owner, table_id, &opened, &half));
                count(planned(&opened, query));
                true
            }
        };
        let golden = contents(&half);
        assert!(check(&golden));
        let accepted = damaged_json("contents", 500, &golden, check);
        assert!(accepted > 2, "{accepted}");
    }
    let seen = seen.take();
    for what in ["keys", "planned"] {
        assert!(seen.get(what).is_some_and(|times| *times > 2), "{what}: {seen:?}");
    }
}

/// Keys are derived once the half was compared with the signed manifest, as `open_private` does.
fn derived(owner: &OwnerSeed, table_id: TableId, opened: &PrivateHalf, half: &PrivateHalf) -> &'static str {
    let public = |half: &PrivateHalf| -> Vec<_> {
        half.encodings.iter().map(|encoding| encoding.public.clone()).collect()
    };
    if public(opened) != public(half) {
        return "of another manifest";
    }
    let keys = ColumnKeys::derive(owner, *table_id.as_bytes(), &opened.encodings);
    keys.map_or_else(|error| error.code(), |_| "keys")
}

fn planned(opened: &PrivateHalf, query: &str) -> &'static str {
    let plan = hush_plan::sql::parse(&opened.schema, query).and_then(|query| {
        let digest = "0".repeat(64);
        plan_query(&opened.schema, &opened.encodings, ROWS, &digest, &query, &Limits::default())
    });
    plan.map_or_else(|error| error.code(), |_| "planned")
}
