// SPDX-License-Identifier: Apache-2.0
use ethnum::I256;
use num_bigint::{BigInt, Sign};

use super::CrtBasis;
use crate::{ArithError, Modulus, prime::is_prime};

/// The first `count` primes at or below `start`.
fn primes_below(start: u64, count: usize) -> Vec<Modulus> {
    (0..=start)
        .map(|i| start - i)
        .filter(|&n| is_prime(n))
        .take(count)
        .map(|q| Modulus::new(q).unwrap())
        .collect()
}

fn product(moduli: &[Modulus]) -> BigInt {
    moduli.iter().map(|q| BigInt::from(q.value())).product()
}

/// `x mod 2^256` as a signed 256-bit integer.
fn wrap(x: &BigInt) -> I256 {
    let modulus = BigInt::from(1) << 256u32;
    let canonical: BigInt = ((x % &modulus) + &modulus) % &modulus;
    let (_, mut bytes) = canonical.to_bytes_le();
    bytes.resize(32, 0);
    I256::from_le_bytes(bytes.try_into().unwrap())
}

fn residues_of(x: &BigInt, moduli: &[Modulus]) -> Vec<u64> {
    let residue = |q: &Modulus| {
        let q = BigInt::from(q.value());
        u64::try_from(((x % &q) + &q) % &q).unwrap()
    };
    moduli.iter().map(residue).collect()
}

/// Pseudo-random integers of many magnitudes with `|x| ≤ bound`, and the bound itself.
fn integers(bound: &BigInt) -> Vec<BigInt> {
    let mut list = vec![BigInt::from(0), BigInt::from(1), BigInt::from(-1), bound.clone(), -bound];
    let mut state = 7u64;
    for i in 0..200u32 {
        let digits: Vec<u32> = (0..10)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 32) as u32
            })
            .collect();
        let sign = if i % 2 == 0 { Sign::Plus } else { Sign::Minus };
        list.push((BigInt::from_slice(sign, &digits) >> i) % (bound + 1));
    }
    list
}

#[test]
fn lifts_agree_with_big_integers_up_to_the_stated_bound() {
    let sizes = [(1, 46), (2, 46), (4, 46), (5, 46), (6, 46), (3, 30), (9, 35), (64, 46)];
    for (count, bits) in sizes {
        let moduli = primes_below(1 << bits, count);
        let basis = CrtBasis::new(&moduli).unwrap();
        let q = product(&moduli);
        // Q·(1/2 − 2^−40), rounded down.
        let bound: BigInt = &q / 2 - (&q >> 40u32) - 1;
        for x in integers(&bound) {
            assert_eq!(
                basis.lift_centered(&residues_of(&x, &moduli)),
                wrap(&x),
                "{count} primes of {bits} bits, x = {x}"
            );
        }
    }
}

#[test]
fn residues_agree_with_big_integers() {
    let moduli = [primes_below(1 << 46, 6), primes_below(100, 3)].concat();
    let basis = CrtBasis::new(&moduli).unwrap();
    let mut list = integers(&((BigInt::from(1) << 255u32) - 1));
    list.push(BigInt::from(-1) << 255u32);
    for x in list {
        assert_eq!(basis.residues(wrap(&x)), residues_of(&x, &moduli), "x = {x}");
    }
}

#[test]
fn refuses_bad_bases() {
    let moduli = primes_below(1 << 40, 65);
    assert_eq!(CrtBasis::new(&[]), Err(ArithError::EmptyBasis));
    assert_eq!(CrtBasis::new(&moduli), Err(ArithError::TooManyModuli { found: 65, max: 64 }));
    let found = moduli[0].value();
    assert_eq!(
        CrtBasis::new(&[moduli[0], moduli[1], moduli[0]]),
        Err(ArithError::DuplicateModulus { found })
    );
}

#[test]
fn describes_itself() {
    let moduli = primes_below(1 << 46, 4);
    let basis = CrtBasis::new(&moduli).unwrap();
    assert_eq!(basis.moduli().collect::<Vec<_>>(), moduli);
    assert_eq!((basis.len(), basis.is_empty()), (4, false));
    assert!((basis.log2_product() - 184.0).abs() < 1e-9);
}
