// SPDX-License-Identifier: Apache-2.0
//! The work that a plan is predicted to take, so that plans can be compared.
//!
//! # Model
//! Number-theoretic transforms, each counted as `N·log2 N` butterflies, everywhere: in keys, encryption, evaluation and decryption.
//! With `L` primes in a ciphertext, `K` special ones and `d` digits: an encryption is `L` transforms and one for its slots; a
//! product of BFV `10·L + 7·L'` with `L' = L + 2` auxiliary primes, of the others none; a key switch `L + d·(L + K) + 2·(L + K)`;
//! a relinearisation key `2·d·(L + K)`; a decryption one for each prime that is left and one for its slots. Point-wise work is left
//! out: it follows the same numbers.

use hush_expr::{Circuit, Step};
use hush_params::ChainParams;

use super::kind::SchemeKind;

/// Butterflies of a whole run over `length` values, in one lane.
pub(super) fn work(scheme: SchemeKind, circuit: &Circuit, params: &ChainParams, length: usize) -> f64 {
    let degree = params.degree() as f64;
    let slots = if scheme == SchemeKind::Ckks { degree / 2.0 } else { degree };
    let blocks = (length as f64 / slots).ceil();
    let (primes, special) = (params.universe().len() as f64, params.special().len() as f64);
    let digits = if params.special().is_empty() { 0.0 } else { params.digit_count() as f64 };
    let divisions = params.levels().len() as f64 - 1.0;
    // On the way down half of the primes that leave have left.
    let halfway = |depth: u32| {
        let left = f64::from(depth).min(divisions) / divisions.max(1.0);
        let least = params.levels().first().map_or(0.0, |level| level.len() as f64);
        primes - (primes - least) * left
    };
    let mut transforms = (primes + 1.0) * circuit.used_inputs().len() as f64;
    for (place, step) in circuit.steps().iter().enumerate() {
        if let Step::Product(..) = step {
            let limbs = halfway(circuit.depth_of(place).saturating_sub(1));
            if scheme == SchemeKind::Bfv {
                transforms += 10.0 * limbs + 7.0 * (limbs + 2.0);
            }
            if !params.special().is_empty() {
                transforms += limbs + (digits + 2.0) * (limbs + special);
            }
        }
    }
    transforms += halfway(circuit.depth()) + 1.0;
    let keys = 2.0 * digits * (primes + special);
    (blocks * transforms + keys) * degree * degree.log2()
}
