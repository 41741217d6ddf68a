// SPDX-License-Identifier: Apache-2.0
//! The work that a plan is predicted to take, so that plans can be compared.
//!
//! # Model
//! Number-theoretic transforms, each counted as `N·log2 N` butterflies, everywhere: in keys, encryption, evaluation and decryption.
//! With `L` primes in a ciphertext, `K` special ones and `d` digits: an encryption is `L` transforms and one for its slots; a
//! product of BFV `10·L + 7·L'` with `L' = L + 2` auxiliary primes, of the others none; a key switch `L + d·(L + K) + 2·(L + K)`;
//! a relinearisation key `2·d·(L + K)`; a decryption one for each prime that is left and one for its slots. Point-wise work is left
//! out: it follows the same numbers.

use hush_params::ChainParams;
use hush_ring::Level;

use super::kind::SchemeKind;
use super::lane::BootstrappedLane;
use super::place::Schedule;
use super::placed::Body;

/// Butterflies of a whole run over `length` values, in one lane.
pub(super) fn work(scheme: SchemeKind, body: &Body, params: &ChainParams, length: usize) -> f64 {
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
    let mut transforms = (primes + 1.0) * body.used_inputs().len() as f64;
    for depth in body.products() {
        let limbs = halfway(depth);
        if scheme == SchemeKind::Bfv {
            transforms += 10.0 * limbs + 7.0 * (limbs + 2.0);
        }
        if !params.special().is_empty() {
            transforms += limbs + (digits + 2.0) * (limbs + special);
        }
    }
    transforms += halfway(body.level_depth()) + 1.0;
    let keys = 2.0 * digits * (primes + special);
    (blocks * transforms + keys) * degree * degree.log2()
}

/// Transforms of a key switch of one polynomial at a level.
pub(super) fn switch(params: &ChainParams, level: Level) -> f64 {
    let limbs = params.levels().get(usize::from(level.0)).map_or(0, Vec::len) as f64;
    let special = params.special().len() as f64;
    let digits = (limbs / params.digit_limbs().max(1) as f64).ceil();
    limbs + (digits + 2.0) * (limbs + special)
}

/// Transforms of a bootstrapping of one value with real slots: a key switch for each key, as if none were hoisted, and the products of the reduction.
pub(super) fn bootstrap(params: &ChainParams, lane: &BootstrappedLane) -> f64 {
    let bootstrapping = lane.bootstrapping();
    let keys = bootstrapping.key_levels();
    let rotations: f64 = keys.values().map(|&level| switch(params, level)).sum();
    let products = REDUCTION_PRODUCTS * switch(params, bootstrapping.shape().reduction());
    f64::from(lane.passes()) * (rotations + products)
}

/// Butterflies of a run with bootstrapping over `length` values.
pub(super) fn bootstrapped_work(
    body: &Body,
    schedule: &Schedule,
    (params, lane): (&ChainParams, &BootstrappedLane),
    length: usize,
) -> f64 {
    let bootstrapping = lane.bootstrapping();
    let degree = params.degree() as f64;
    let blocks = (length as f64 / bootstrapping.shape().slots() as f64).ceil();
    let products: f64 = body.product_levels(schedule).into_iter().map(|level| switch(params, level)).sum();
    let raises = schedule.raises.len() as f64 * bootstrap(params, lane);
    let keys: f64 = bootstrapping.key_levels().values().map(|&level| 2.0 * switch(params, level)).sum();
    (blocks * (products + raises) + keys) * degree * degree.log2()
}

/// Products of a polynomial of degree 30 and of three doublings.
const REDUCTION_PRODUCTS: f64 = 13.0;
