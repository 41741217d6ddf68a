// SPDX-License-Identifier: Apache-2.0
//! Tools for tests.

use hush_testkit::Draw;

use crate::{Domain, Poly, Ring};

/// A polynomial of uniform residues.
pub(crate) fn uniform<D: Domain>(draw: &mut Draw, ring: &Ring) -> Poly<D> {
    let limbs = ring.limbs().iter();
    let words: Vec<u64> = limbs
        .flat_map(|limb| {
            let q = limb.modulus().value();
            (0..ring.degree()).map(|_| draw.word() % q).collect::<Vec<_>>()
        })
        .collect();
    Poly::from_words(ring, words).unwrap()
}
