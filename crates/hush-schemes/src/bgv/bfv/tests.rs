// SPDX-License-Identifier: Apache-2.0
//! The scaled encoding against exact rational rounding.

use ethnum::I256;

use super::*;

fn toy() -> Ring {
    Ring::insecure_toy(16, &[0x3fff_ffcc_0001, 0x3fff_ffb2_0001]).unwrap()
}

/// `round(Q·m/t)` for `m` nearest to zero modulo `t`; no ties, since `t` is odd.
fn scaled(ring: &Ring, m: i64, t: u64) -> I256 {
    let q = ring.crt().moduli().fold(I256::ONE, |product, q| product * I256::from(q.value()));
    let t = I256::from(t);
    (q * I256::from(m) * 2 + t).div_euclid(t * 2)
}

#[test]
fn encoding_is_the_exact_rounding() {
    let ring = toy();
    for t in [97, 65537, 0xfff0_0001, 0x1fff_ffc2_0001] {
        let encoding = BfvEncoding::new(&ring, t).unwrap();
        let half = (t / 2) as i64;
        let values = [0, 1, -1, half, -half, half / 3, -(half / 7), 42];
        for index in 0..ring.limb_count() {
            let mut words = [7; 16];
            encoding.encode_limb(index, &values, &mut words).unwrap();
            let q = I256::from(ring.limbs()[index].modulus().value());
            for (&m, &word) in values.iter().zip(&words) {
                assert_eq!(scaled(&ring, m, t).rem_euclid(q), I256::from(word), "t = {t}, m = {m}");
            }
            assert_eq!(words[8..], [0; 8]);
        }
    }
}

#[test]
fn decoding_tolerates_noise_up_to_its_bound_and_sums_that_wrap() {
    let ring = toy();
    let t = 65537;
    let encoding = BfvEncoding::new(&ring, t).unwrap();
    // Q/(2t) is about 2^75.
    let bound = I256::ONE << 74;
    for m in [0, 1, -1, 32768, -32768, 1234] {
        for noise in [I256::ZERO, bound, -bound] {
            let residues = ring.crt().residues(scaled(&ring, m, t) + noise);
            assert_eq!(encoding.decode(&residues).unwrap(), m);
        }
    }
    // 100000 times 30000 wraps 45774 times modulo t; each term's rounding is exact or below 1.
    let sum = scaled(&ring, 30_000, t) * 100_000;
    let residues = ring.crt().residues(sum);
    let expected = (100_000_i64 * 30_000).rem_euclid(65537);
    assert_eq!(encoding.decode(&residues).unwrap().rem_euclid(65537), expected);
}

#[test]
fn unsuitable_moduli_and_shapes_are_refused() {
    let ring = toy();
    for t in [0, 1, 96, 0x3fff_ffcc_0001] {
        assert!(matches!(BfvEncoding::new(&ring, t), Err(SchemeError::PlaintextModulus { .. })), "{t}");
    }
    let encoding = BfvEncoding::new(&ring, 97).unwrap();
    assert!(encoding.encode_limb(0, &[0; 17], &mut [0; 16]).is_err());
    assert!(encoding.encode_limb(2, &[0], &mut [0; 16]).is_err());
    assert!(encoding.decode(&[0]).is_err());
}
