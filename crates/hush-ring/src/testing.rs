// SPDX-License-Identifier: Apache-2.0
//! What the tests share.

use crate::{Domain, Poly, Ring, os_random};

/// A small generator for test inputs (splitmix64); the seed is printed by the assertions.
pub(crate) struct Draw {
    pub(crate) seed: u64,
    state: u64,
}

impl Draw {
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 8];
        os_random(&mut bytes).unwrap();
        let seed = u64::from_le_bytes(bytes);
        Self { seed, state: seed }
    }
    pub(crate) fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub(crate) fn poly<D: Domain>(&mut self, ring: &Ring) -> Poly<D> {
        let limbs = ring.limbs().iter();
        let words: Vec<u64> = limbs
            .flat_map(|limb| {
                let q = limb.modulus().value();
                (0..ring.degree()).map(|_| self.word() % q).collect::<Vec<_>>()
            })
            .collect();
        Poly::from_words(ring, words).unwrap()
    }
}
