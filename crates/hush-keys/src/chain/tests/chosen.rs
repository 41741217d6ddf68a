// SPDX-License-Identifier: Apache-2.0
//! Chains that the library chose, put to the work that they were chosen for.

use hush_params::chain::presets::chain_presets;
use hush_params::chain::{ChainRequest, KeySwitching, Plaintexts};
use hush_params::presets::chain_preset;
use hush_params::security::SecurityLevel;
use hush_schemes::ckks::Ckks;

use super::*;

fn request(plaintexts: Plaintexts, depth: u32) -> ChainRequest {
    ChainRequest {
        plaintexts,
        depth,
        slots: 2048,
        sums_log2: 1.0,
        key_switching: KeySwitching::Used,
        security: SecurityLevel::Bits128,
    }
}

/// Encryptions under each secret: heavy tails show in one run of twenty or fewer, or not at all.
const RUNS: usize = 24;

/// `x ← (x + x)²` as often as the chain allows: errors that are powers of one another.
#[test]
fn exact_chains_hold_the_depth_that_was_asked_for() {
    for depth in 1..=4 {
        let params = ChainParams::choose(&request(Plaintexts::Exact { t: T }, depth)).unwrap().into_params();
        let party = Party::new(&params, &[]);
        let public = party.secret.public_key().unwrap();
        for _ in 0..RUNS {
            let mut x = Draw::new().values(params.degree());
            let message = party.scheme.encode(&x, params.top()).unwrap();
            let mut a = party.scheme.ciphertext(encrypt_public(&public, message).unwrap()).unwrap();
            for _ in 0..depth {
                let sum = party.scheme.add(&a, &a).unwrap();
                a = party.scheme.mul_mod_switch(&sum, &sum, &party.keys).unwrap();
                x = zip(&x, &x, |x, y| (x + y) * (x + y));
            }
            assert_eq!(a.level(), Level(0));
            assert!(party.decrypt(&a) == x, "depth {depth}");
        }
    }
}

/// The same in BFV, with chains of one level.
#[test]
fn scaled_chains_hold_the_depth_that_was_asked_for() {
    for depth in 1..=3 {
        let params =
            ChainParams::choose(&request(Plaintexts::ExactScaled { t: T }, depth)).unwrap().into_params();
        let scheme = Bfv::new(&params, T, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let keys = secret.evaluation_keys(true, &[]).unwrap();
        let public = secret.public_key().unwrap();
        for _ in 0..RUNS / 3 {
            let mut x = Draw::new().values(params.degree());
            let message = scheme.encode(&x, params.top()).unwrap();
            let mut a = encrypt_public(&public, message).unwrap();
            for _ in 0..depth {
                let mut sum = a.clone();
                sum.add_assign(&a).unwrap();
                a = scheme.mul_relinearize(&sum, &sum, &keys).unwrap();
                x = zip(&x, &x, |x, y| (x + y) * (x + y));
            }
            assert!(scheme.decode(secret.phase(&a).unwrap().poly()).unwrap() == x, "depth {depth}");
        }
    }
}

#[test]
fn approximate_chains_keep_the_precision_that_was_asked_for() {
    for (scale_log2, error_log2) in [(Some(40.0), -12.0), (Some(55.0), -25.0), (None, -10.0), (None, -20.0)] {
        let plaintexts = Plaintexts::Approximate { scale_log2, value_log2: 0.0, error_log2 };
        let chosen = ChainParams::choose(&request(plaintexts, 2)).unwrap();
        let own_scale_log2 = chosen.scale_log2().unwrap();
        assert!(scale_log2.is_none_or(|asked| asked == own_scale_log2));
        let scheme = Ckks::new(chosen.params(), own_scale_log2, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let keys = secret.evaluation_keys(true, &[]).unwrap();
        let public = secret.public_key().unwrap();
        // Small enough to stay below 1 on the way.
        let x: Vec<Complex> = (0..scheme.slot_count())
            .map(|i| Complex { re: (i as f64 * 0.7).sin() / 4.0, im: (i as f64 * 0.3).cos() / 5.0 })
            .collect();
        let message = scheme.encode(&x, chosen.params().top()).unwrap();
        let mut a = scheme.ciphertext(encrypt_public(&public, message).unwrap()).unwrap();
        let mut expected = x;
        for _ in 0..2 {
            let sum = scheme.add(&a, &a).unwrap();
            a = scheme.mul_rescale(&sum, &sum, &keys).unwrap();
            expected = expected.iter().map(|&z| (z + z) * (z + z)).collect();
        }
        let found = scheme.decode(secret.phase(a.inner()).unwrap().poly(), a.scale()).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            let error = (*found - *expected).re.hypot((*found - *expected).im);
            let bound = chosen.error_log2().unwrap();
            assert!(bound <= error_log2 && error.log2() <= bound, "off by 2^{:.1} of {bound}", error.log2());
        }
    }
}

/// The smallest named chain with keys: one product of slots modulo 65537, in both exact schemes.
#[test]
fn the_smallest_named_chain_holds_a_product() {
    let params = chain_preset("n12_q2p1x34_d1_sec128_v1").unwrap().params().unwrap();
    let (x, y) = (Draw::new().values(4096), Draw::new().values(4096));
    let expected = zip(&x, &y, |x, y| x * y);
    let party = Party::new(&params, &[]);
    let (a, b) = (party.encrypt(&x, Level(1)), party.encrypt(&y, Level(1)));
    assert_eq!(party.decrypt(&party.scheme.mul_mod_switch(&a, &b, &party.keys).unwrap()), expected);

    let scheme = Bfv::new(&params, T, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let keys = secret.evaluation_keys(true, &[]).unwrap();
    let encrypt = |x: &[i64]| secret.encrypt(scheme.encode(x, Level(1)).unwrap()).unwrap().expand().unwrap();
    let product = scheme.mul_relinearize(&encrypt(&x), &encrypt(&y), &keys).unwrap();
    assert_eq!(scheme.decode(secret.phase(&product).unwrap().poly()).unwrap(), expected);
}

/// The numbers of every named chain are primes with the roots of unity that its ring needs.
#[test]
fn every_named_chain_can_be_built() {
    for preset in chain_presets() {
        let params = preset.params().unwrap();
        assert!(Chain::new(&params, T, Cpu::detect().unwrap()).is_ok(), "{}", preset.name());
    }
}
