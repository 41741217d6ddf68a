// SPDX-License-Identifier: Apache-2.0
//! The bound, the part that goes first, and columns that join those of their part.

use hush_params::preset;
use hush_ring::Cpu;
use hush_table::Digest;

use super::*;

fn ring() -> Ring {
    Ring::new(preset("n11_q1x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn key(number: u8) -> Key {
    let file = PartFile { digest: Digest::from_bytes([number; 32]), bytes: 1 };
    Key { file, dead: None, first_chunk: 0, rows: 10, params: 1 }
}

fn sum(columns: usize, residue: u64) -> KeptSum {
    KeptSum { mask: Arc::new(Poly::zero(&ring())), bodies: vec![Arc::from([residue]); columns] }
}

const A: EncodingId = EncodingId(3);
const B: EncodingId = EncodingId(5);

/// Bytes of a part with one column.
fn one() -> usize {
    let cache = SumCache::default();
    cache.keep(key(0), &[A], sum(1, 0));
    cache.bytes()
}

#[test]
fn what_was_not_asked_for_longest_goes_first() {
    let cache = SumCache::new(2 * one() + one() / 2);
    cache.keep(key(1), &[A], sum(1, 1));
    cache.keep(key(2), &[A], sum(1, 2));
    assert_eq!(cache.bytes(), 2 * one());
    assert!(cache.find(&key(1), &[A]).is_some());
    cache.keep(key(3), &[A], sum(1, 3));
    let found = [1, 2, 3].map(|number| cache.find(&key(number), &[A]).map(|sum| sum.bodies[0][0]));
    assert_eq!(found, [Some(1), None, Some(3)]);
    assert_eq!(cache.bytes(), 2 * one());
}

#[test]
fn the_bound_holds_whatever_comes() {
    let cache = SumCache::new(3 * one());
    for number in 0..=255 {
        let columns: Vec<EncodingId> = (0..=u32::from(number) % 7).map(EncodingId).collect();
        cache.keep(key(number % 13), &columns, sum(columns.len(), 0));
        assert!(cache.bytes() <= 3 * one() && cache.bytes() > 0);
    }
    let wide: Vec<EncodingId> = (0..10_000).map(EncodingId).collect();
    cache.keep(key(200), &wide, sum(wide.len(), 0));
    assert!(cache.find(&key(200), &wide).is_none() && cache.bytes() <= 3 * one());
    let nothing = SumCache::new(0);
    nothing.keep(key(1), &[A], sum(1, 1));
    assert!(nothing.find(&key(1), &[A]).is_none() && nothing.bytes() == 0);
}

#[test]
fn columns_of_a_part_are_kept_together_and_found_in_the_order_asked_for() {
    let cache = SumCache::default();
    cache.keep(key(1), &[B], sum(1, 5));
    assert!(cache.find(&key(1), &[A, B]).is_none());
    cache.keep(key(1), &[A], sum(1, 3));
    cache.keep(key(1), &[A], sum(1, 3));
    let found = cache.find(&key(1), &[B, A]).unwrap();
    assert_eq!(found.bodies.iter().map(|body| body[0]).collect::<Vec<_>>(), [5, 3]);
    assert_eq!(cache.bytes(), one() + BODY_OVERHEAD + 8);
    assert!(cache.find(&key(1), &[]).is_some_and(|sum| sum.bodies.is_empty()));
}

#[test]
fn a_sum_is_found_by_its_own_key_alone() {
    let cache = SumCache::default();
    cache.keep(key(1), &[A], sum(1, 1));
    let file = PartFile { bytes: 2, ..key(1).file };
    for other in [
        key(2),
        Key { file, ..key(1) },
        Key { first_chunk: 1, ..key(1) },
        Key { rows: 11, ..key(1) },
        Key { params: 2, ..key(1) },
    ] {
        assert!(cache.find(&other, &[A]).is_none(), "{other:?}");
    }
    assert!(cache.clone().find(&key(1), &[A]).is_some());
}

/// Sums of files that are gone, and of rows that are deleted now, are no longer anywhere.
#[test]
fn sums_of_old_versions_are_forgotten() {
    let dead =
        |number: u8| Dead { rows: 1, file: PartFile { digest: Digest::from_bytes([number; 32]), bytes: 1 } };
    let cache = SumCache::default();
    let of = |number: u8, list: Option<u8>| Key { dead: list.map(dead), ..key(number) };
    let all = [of(1, None), of(2, None), of(2, Some(20)), of(2, Some(21)), of(3, None), of(4, Some(40))];
    all.iter().for_each(|key| cache.keep(*key, &[A], sum(1, 1)));
    // The present version has file 2 with list 21. File 1 and list 40 are gone; file 3 is another table's.
    let entry = |number: u8, list| hush_table::PartEntry {
        rows: 10,
        chunks: 1,
        clear: None,
        encrypted: Some(key(number).file),
        delivery: None,
        append: None,
        first_chunk: None,
        dead: list,
        cubes: None,
        runs: None,
        domain: 0,
        generation: 0,
    };
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../hush-table/tests/golden/table_v2");
    let golden = hush_table::TableStore::local_existing(golden).unwrap().load().unwrap();
    let present = Manifest { parts: vec![entry(2, Some(dead(21)))], ..golden.manifest().clone() };
    cache.forget_old(&present, &[1, 40].map(|number| Digest::from_bytes([number; 32])).into());
    let found: Vec<bool> = all.iter().map(|key| cache.find(key, &[A]).is_some()).collect();
    assert_eq!(found, [false, false, false, true, true, false]);
    assert_eq!(cache.bytes(), 2 * one());
}
