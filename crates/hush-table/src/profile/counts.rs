// SPDX-License-Identifier: Apache-2.0
//! How often values occur, in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Maps keyed by hashes: the key is spread once more, not hashed again.
pub(super) type HashedMap<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// A hasher for keys that are hashes already.
#[derive(Clone, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value, SECRETS[3]);
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }
}

/// A 64-bit hash of a cell; missing cells have one of their own. Folded multiplication over eight bytes at a
/// time. Two of a million distinct values share a hash with a chance below 10^-7. Not keyed: the owner's own
/// data is not an adversary, and a sampled count must be the same in every run.
#[inline]
pub(super) fn hash_value(cell: Option<&[u8]>) -> u64 {
    let Some(bytes) = cell else { return SECRETS[2] };
    let mut hash = SECRETS[0] ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let mut eight = [0u8; 8];
        eight.copy_from_slice(word);
        hash = mix(hash ^ u64::from_le_bytes(eight), SECRETS[1]);
    }
    let rest = words.remainder().iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    mix(mix(hash ^ rest, SECRETS[1]), SECRETS[2])
}

/// Extends the hash of a tuple by one more value.
#[inline]
pub(super) fn hash_tuple(tuple: u64, value: u64) -> u64 {
    mix(tuple.rotate_left(23) ^ value, SECRETS[1]) ^ SECRETS[0]
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Odd constants without structure: the fractional parts of √2, √3, √5 and √7 in 64 bits, lowest bit set.
const SECRETS: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// Counts of hashed values by adaptive sampling: exact while at most `capacity` distinct ones are seen;
/// beyond, only those whose hash begins with `skipped_log2` zero bits are kept, all occurrences of them, and totals
/// are scaled by `2^skipped_log2` [Gibbons 2001, distinct sampling]. Relative error about `1/√capacity`.
#[derive(Clone, Debug)]
pub(super) struct TupleCounts {
    counts: HashedMap<u64, u64>,
    skipped_log2: u32,
    capacity: usize,
}

impl TupleCounts {
    pub(super) fn new(capacity: usize) -> Self {
        Self { counts: HashedMap::default(), skipped_log2: 0, capacity }
    }

    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        if hash.leading_zeros() < self.skipped_log2 {
            return;
        }
        *self.counts.entry(hash).or_insert(0) += 1;
        if self.counts.len() > self.capacity {
            self.skipped_log2 += 1;
            let skipped = self.skipped_log2;
            self.counts.retain(|hash, _| hash.leading_zeros() >= skipped);
        }
    }

    /// Distinct values.
    pub(super) fn distinct(&self) -> u64 {
        self.scaled(self.counts.len() as u64)
    }

    /// Rows whose value fewer than `limit` rows have.
    pub(super) fn rows_below(&self, limit: u64) -> u64 {
        self.scaled(self.counts.values().filter(|count| **count < limit).sum())
    }

    /// Whether no value seen occurs twice.
    pub(super) fn all_once(&self) -> bool {
        self.counts.values().all(|count| *count == 1)
    }

    pub(super) fn is_estimate(&self) -> bool {
        self.skipped_log2 > 0
    }

    fn scaled(&self, count: u64) -> u64 {
        count.checked_shl(self.skipped_log2).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_below_the_capacity_and_close_above() {
        let mut exact = TupleCounts::new(1000);
        for i in 0..2500u32 {
            exact.add(hash_value(Some(&(i % 900).to_le_bytes())));
        }
        assert!(!exact.is_estimate());
        assert_eq!(exact.distinct(), 900);
        // 700 values occur three times, 200 twice.
        assert_eq!(exact.rows_below(3), 400);
        let mut sampled = TupleCounts::new(4096);
        for i in 0..300_000u32 {
            // 200,000 values: one half twice, one half once.
            sampled.add(hash_value(Some(format!("value {}", i % 200_000).as_bytes())));
        }
        assert!(sampled.is_estimate());
        let near = |found: u64, truth: f64| (found as f64 - truth).abs() < 0.1 * truth;
        assert!(near(sampled.distinct(), 200_000.0), "{}", sampled.distinct());
        assert!(near(sampled.rows_below(2), 100_000.0), "{}", sampled.rows_below(2));
        assert!(!sampled.all_once());
    }

    /// Short similar keys must not collide or cluster: 2^20 of them all differ, and each leading bit is fair.
    #[test]
    fn hashes_of_small_numbers_differ() {
        let mut hashes: Vec<u64> =
            (0..1u32 << 20).map(|i| hash_value(Some(i.to_string().as_bytes()))).collect();
        let leading = hashes.iter().filter(|hash| hash.leading_zeros() >= 4).count();
        assert!((60_000..71_000).contains(&leading), "{leading} of 65536");
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 1 << 20);
        assert_ne!(hash_value(None), hash_value(Some(b"")));
        assert_ne!(hash_tuple(hash_tuple(0, 1), 2), hash_tuple(hash_tuple(0, 2), 1));
    }
}
