// SPDX-License-Identifier: Apache-2.0
//! Chosen chains, pinned by shape, and refusals. `hush-keys` tests that the chains do their work.

use super::*;
use crate::Level;

const BGV: ChainRequest = ChainRequest {
    plaintexts: Plaintexts::Exact { t: 65537 },
    depth: 1,
    slots: 4096,
    sums_log2: 0.0,
    key_switching: KeySwitching::Used,
    security: SecurityLevel::Bits128,
};

fn shape(chain: &ChainParams) -> (usize, usize, usize, u32) {
    let bits = 64 - chain.universe()[0].leading_zeros();
    (chain.degree(), chain.universe().len(), chain.special().len(), bits)
}

fn approximate(scale_log2: f64, error_log2: f64) -> Plaintexts {
    Plaintexts::Approximate { scale_log2: Some(scale_log2), value_log2: 0.0, error_log2 }
}

/// Degree, ciphertext primes, special primes and bits for each depth.
fn shapes(plaintexts: Plaintexts, depths: std::ops::RangeInclusive<u32>) -> Vec<(usize, usize, usize, u32)> {
    let chain = |depth| ChainParams::choose(&ChainRequest { plaintexts, depth, ..BGV }).unwrap();
    depths.map(|depth| shape(chain(depth).params())).collect()
}

#[test]
fn the_smallest_ring_that_serves_is_taken() {
    let exact = shapes(BGV.plaintexts, 0..=6);
    let expected = [
        (4096, 1, 1, 30),
        (4096, 2, 1, 33),
        (8192, 3, 3, 31),
        (8192, 4, 1, 30),
        (16384, 5, 4, 30),
        (16384, 6, 3, 30),
        (16384, 7, 4, 30),
    ];
    assert_eq!(exact, expected);
    // Level 0 has a larger prime, since a value needs room beside its scale; every level is worth 40 bits.
    assert_eq!(shapes(approximate(40.0, -10.0), 4..=5), [(16384, 5, 5, 42), (16384, 6, 3, 42)]);
    let chain = ChainParams::choose(&ChainRequest { plaintexts: approximate(55.0, -20.0), depth: 4, ..BGV });
    let chain = chain.unwrap().into_params();
    assert_eq!((chain.degree(), chain.top()), (16384, Level(4)));
    for level in (1..=4).map(Level) {
        let worth = chain.log_q(level).unwrap() - chain.log_q(level.below().unwrap()).unwrap();
        assert!((worth - 55.0).abs() < 3.0 + 1e-9, "{worth} bits at level {level}");
    }
}

#[test]
fn chains_of_one_level_grow_with_the_depth() {
    let found = shapes(Plaintexts::ExactScaled { t: 65537 }, 0..=4);
    let expected = [(4096, 1, 1, 30), (4096, 2, 1, 31), (8192, 3, 3, 33), (8192, 3, 1, 44), (8192, 4, 1, 42)];
    assert_eq!(found, expected);
    let request = ChainRequest { plaintexts: Plaintexts::ExactScaled { t: 65537 }, depth: 3, ..BGV };
    assert_eq!(ChainParams::choose(&request).unwrap().params().top(), Level(0));
    let deep = ChainRequest { depth: u32::MAX, ..request };
    assert_eq!(ChainParams::choose(&deep), Err(ChainError::Unreachable { depth: u32::MAX, bits: 17 }));
}

#[test]
fn what_is_asked_for_costs_what_it_must() {
    let degree = |request: ChainRequest| ChainParams::choose(&request).unwrap().params().degree();
    assert_eq!(degree(ChainRequest { slots: 8192, ..BGV }), 8192);
    assert_eq!(degree(ChainRequest { security: SecurityLevel::Bits256, ..BGV }), 8192);
    let many = ChainRequest { sums_log2: 20.0, ..BGV };
    assert_eq!(degree(many), 8192);
    let unswitched = ChainRequest { key_switching: KeySwitching::Never, ..BGV };
    let chain = ChainParams::choose(&unswitched).unwrap().into_params();
    assert_eq!((chain.degree(), chain.special().len(), chain.top()), (4096, 0, Level(0)));
    let wide = ChainRequest { plaintexts: Plaintexts::Exact { t: 0x1fff_ffc2_0001 }, depth: 4, ..BGV };
    let chain = ChainParams::choose(&wide).unwrap().into_params();
    assert!(chain.log_q(chain.top()).unwrap() > 5.0 * 45.0);
    assert!(!chain.universe().contains(&0x1fff_ffc2_0001));
}

#[test]
fn what_nothing_serves_is_refused() {
    let refused = |request| ChainParams::choose(&request).unwrap_err();
    let slots = ChainRequest { slots: 40000, ..BGV };
    assert_eq!(refused(slots), ChainError::PlaintextModulus { found: 65537, slots: 40000 });
    let huge = ChainRequest { plaintexts: Plaintexts::Exact { t: u64::MAX }, ..BGV };
    assert!(matches!(refused(huge), ChainError::PlaintextModulus { .. }));
    let endless = ChainRequest { depth: u32::MAX, ..BGV };
    assert!(matches!(refused(endless), ChainError::Unreachable { .. }));
    for scale_log2 in [f64::NAN, f64::INFINITY, 0.0, -5.0, 1e9] {
        let odd = ChainRequest { plaintexts: approximate(scale_log2, -10.0), ..BGV };
        assert!(matches!(refused(odd), ChainError::Unreachable { .. }), "{scale_log2}");
    }
    let deep = ChainRequest { depth: 60, ..BGV };
    assert!(matches!(refused(deep), ChainError::Unreachable { depth: 60, bits: 17 }));
    let level = SecurityLevel::Bits256;
    let large = refused(ChainRequest { depth: 12, security: level, ..BGV });
    let ChainError::TooLarge { found, .. } = large else { panic!("{large}") };
    // The largest ring with slots for 65537.
    assert_eq!(large, ChainError::TooLarge { level, found, degree: 32768, max: 462, depth: 12 });
    assert!(found > 462 && large.to_string().contains("lower the depth"), "{large}");
    let many = ChainRequest { plaintexts: approximate(40.0, -10.0), slots: 40000, ..BGV };
    assert_eq!(refused(many), ChainError::Slots { found: 40000, max: 32768 });
    let precise = ChainRequest { plaintexts: approximate(40.0, -30.0), ..BGV };
    let ChainError::Imprecise { found, expected: -30.0 } = refused(precise) else { panic!("not imprecise") };
    // The stated least error is reachable; an error of one bit less is not.
    let with = |error_log2| ChainRequest { plaintexts: approximate(40.0, error_log2), ..BGV };
    assert!(ChainParams::choose(&with(found + 1e-6)).is_ok());
    assert!(matches!(refused(with(found - 1.1)), ChainError::Imprecise { .. }), "{found}");
    let twice = ChainRequest { key_switching: KeySwitching::Never, depth: 2, ..BGV };
    assert!(matches!(refused(twice), ChainError::Unreachable { .. }));
}
