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
