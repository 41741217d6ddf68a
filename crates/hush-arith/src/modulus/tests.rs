// SPDX-License-Identifier: Apache-2.0
use num_bigint::BigInt;

use super::{MAX_MODULUS, Modulus};
use crate::{ArithError, prime::is_prime};

/// A small deterministic generator (splitmix64), so that a failure reproduces.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Tiny primes, one of each size class in use, and the largest prime allowed.
fn moduli() -> Vec<Modulus> {
    let largest = (0..).map(|i| MAX_MODULUS - i).find(|&n| is_prime(n)).unwrap();
    let below = |bits: u32| (1..).map(|i| (1u64 << bits) - i).find(|&n| is_prime(n)).unwrap();
    let above = |bits: u32| (1..).map(|i| (1u64 << bits) + i).find(|&n| is_prime(n)).unwrap();
    [
        2,
        3,
        5,
        17,
        257,
        65537,
        below(30),
        below(32),
        above(32),
        below(35),
        below(45),
        below(46),
        above(46),
        largest,
    ]
    .map(|q| Modulus::new(q).unwrap())
    .to_vec()
}

/// Values around the places where an estimate could go wrong, then random ones.
fn residues(q: u64, random: &mut Random) -> Vec<u64> {
    let mut list: Vec<u64> =
        [0, 1, 2, q / 2, q / 2 + 1, q.wrapping_sub(2), q - 1].iter().map(|x| x % q).collect();
    list.extend((0..40).map(|_| random.word() % q));
    list
}

#[test]
fn ring_operations_agree_with_wide_integers() {
    let mut random = Random(1);
    for modulus in moduli() {
        let q = u128::from(modulus.value());
        let list = residues(modulus.value(), &mut random);
        for &a in &list {
            assert_eq!(u128::from(modulus.neg(a)), (q - u128::from(a)) % q);
            for &b in &list {
                let (wide_a, wide_b) = (u128::from(a), u128::from(b));
                assert_eq!(u128::from(modulus.add(a, b)), (wide_a + wide_b) % q, "{a} + {b} mod {q}");
                assert_eq!(u128::from(modulus.sub(a, b)), (wide_a + q - wide_b) % q, "{a} - {b} mod {q}");
                assert_eq!(u128::from(modulus.mul(a, b)), wide_a * wide_b % q, "{a} * {b} mod {q}");
            }
        }
    }
}

#[test]
fn reductions_agree_with_big_integers() {
    let mut random = Random(2);
    for modulus in moduli() {
        let q = BigInt::from(modulus.value());
        let expected = |x: BigInt| ((x % &q) + &q) % &q;
        let mut words = vec![0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1];
        let top = u64::MAX / modulus.value() * modulus.value();
        words.extend([top, top - 1, modulus.value(), modulus.value() - 1]);
        words.extend((0..40).map(|_| random.word()));
        for &low in &words {
            assert_eq!(BigInt::from(modulus.reduce_u64(low)), expected(low.into()), "{low} mod {q}");
            assert_eq!(BigInt::from(modulus.reduce_i64(low as i64)), expected((low as i64).into()));
            for &high in &words {
                let x = u128::from(high) << 64 | u128::from(low);
                assert_eq!(BigInt::from(modulus.reduce_u128(x)), expected(x.into()), "{x} mod {q}");
                assert_eq!(BigInt::from(modulus.reduce_i128(x as i128)), expected((x as i128).into()));
            }
        }
    }
}

#[test]
fn inverses_and_powers() {
    let mut random = Random(3);
    for modulus in moduli() {
        assert_eq!(modulus.inv(0), Err(ArithError::ZeroHasNoInverse { modulus: modulus.value() }));
        for a in residues(modulus.value(), &mut random).into_iter().filter(|&a| a != 0) {
            let inverse = modulus.inv(a).unwrap();
            assert_eq!(modulus.mul(a, inverse), 1 % modulus.value());
            let cube = modulus.mul(modulus.mul(a, a), a);
            assert_eq!(modulus.pow(a, 3), cube);
            assert_eq!(modulus.pow(a, 0), 1);
        }
    }
}

#[test]
fn shoup_companions_are_the_exact_floor() {
    let mut random = Random(4);
    for modulus in moduli() {
        for w in residues(modulus.value(), &mut random) {
            let expected = (u128::from(w) << 52) / u128::from(modulus.value());
            assert_eq!(u128::from(modulus.shoup52(w)), expected, "{w} mod {modulus}");
            let expected = (u128::from(w) << 64) / u128::from(modulus.value());
            assert_eq!(u128::from(modulus.shoup64(w)), expected, "{w} mod {modulus}");
        }
    }
}

#[test]
fn roots_have_the_order_they_claim() {
    for degree in [1usize, 2, 16, 1024, 65536] {
        let order = 2 * degree as u64;
        let q = (1..).map(|i| (1u64 << 46) - i * order + 1).find(|&n| is_prime(n)).unwrap();
        let modulus = Modulus::new(q).unwrap();
        let psi = modulus.psi(degree).unwrap();
        assert_eq!(modulus.pow(psi, degree as u64), q - 1);
        assert_eq!(modulus.psi(degree), Ok(psi));
    }
    // 3 generates the units mod 17 but 2 does not: 2^(16/8) = 4 has order 4 only.
    let seventeen = Modulus::new(17).unwrap();
    assert_eq!(seventeen.psi(4), Ok(9));
    for degree in [0, 3, 16, 1 << 20] {
        assert_eq!(seventeen.psi(degree), Err(ArithError::NoRootOfUnity { modulus: 17, degree }));
    }
    assert!(Modulus::new(2).unwrap().psi(1).is_err());
}

#[test]
fn refuses_bad_moduli() {
    for found in [0, 1, MAX_MODULUS + 1, u64::MAX] {
        assert_eq!(Modulus::new(found), Err(ArithError::ModulusOutOfRange { found, max: MAX_MODULUS }));
    }
    assert_eq!(Modulus::new(91), Err(ArithError::NotPrime { found: 91 }));
}
