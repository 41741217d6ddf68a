// SPDX-License-Identifier: Apache-2.0
//! Random primes of some thousand bits.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

use super::words;

/// Rounds of Miller-Rabin: a composite passes all with probability below `4^−40`.
const ROUNDS: usize = 40;
/// Candidates are first divided by the primes below.
const SIEVE_BOUND: u64 = 1 << 14;

/// A random prime of exactly `bits ≥ 2` bits; `random` fills words.
///
/// # Cost
/// `0.7·bits` candidates; about one in twenty is left for an exponentiation.
pub(crate) fn random_prime(bits: u64, random: &mut impl FnMut(&mut [u64])) -> BigUint {
    loop {
        let mut candidate = random_bits(bits, random);
        candidate.set_bit(bits - 1, true);
        candidate.set_bit(0, true);
        if !has_factor_below(&candidate, SIEVE_BOUND) && is_probable_prime(&candidate, random) {
            return candidate;
        }
    }
}

/// A random integer below `2^bits`.
pub(crate) fn random_bits(bits: u64, random: &mut impl FnMut(&mut [u64])) -> BigUint {
    let mut words = vec![0; bits.div_ceil(64) as usize];
    random(&mut words);
    words::mask_assign(&mut words, bits);
    words::to_big(&words)
}

/// Whether a prime below the bound divides `n` and is not `n` itself.
pub(crate) fn has_factor_below(n: &BigUint, bound: u64) -> bool {
    // Products of primes that fill a word: one pass over `n` for each.
    let mut group = Vec::new();
    let mut product = 1u64;
    let divides = |product: u64, group: &[u64]| {
        let rest = (n % product).to_u64().unwrap_or(0);
        group.iter().any(|&p| rest.is_multiple_of(p) && *n != BigUint::from(p))
    };
    for p in (2..bound).filter(|&p| hush_arith::prime::is_prime(p)) {
        match product.checked_mul(p) {
            Some(next) => product = next,
            None => {
                if divides(product, &group) {
                    return true;
                }
                group.clear();
                product = p;
            }
        }
        group.push(p);
    }
    divides(product, &group)
}

/// Miller-Rabin with random bases, base 2 first.
pub(crate) fn is_probable_prime(n: &BigUint, random: &mut impl FnMut(&mut [u64])) -> bool {
    let (one, two) = (BigUint::one(), BigUint::from(2u8));
    if *n < BigUint::from(4u8) {
        return *n > one;
    }
    if n.is_even() {
        return false;
    }
    let last = n - &one;
    let twos = last.trailing_zeros().unwrap_or(0);
    let odd = &last >> twos;
    (0..ROUNDS).all(|round| {
        let base = if round == 0 { two.clone() } else { random_bits(n.bits() + 64, random) % n };
        let mut x = base.modpow(&odd, n);
        // A multiple of n says nothing.
        if base.is_zero() || x == one || x == last {
            return true;
        }
        (1..twos).any(|_| {
            x = &x * &x % n;
            x == last
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weak_random() -> impl FnMut(&mut [u64]) {
        let mut state = 1u64;
        move |words| {
            for word in words {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *word = state ^ state >> 29;
            }
        }
    }

    #[test]
    fn small_numbers_agree_with_the_exact_test() {
        let mut random = weak_random();
        for n in 0u64..2000 {
            let big = BigUint::from(n);
            assert_eq!(is_probable_prime(&big, &mut random), hush_arith::prime::is_prime(n), "{n}");
            let composite = n > 1 && !hush_arith::prime::is_prime(n);
            assert_eq!(has_factor_below(&big, 50), n == 0 || composite && (2..50).any(|p| n % p == 0), "{n}");
        }
    }

    #[test]
    fn primes_have_the_bits_asked_for() {
        let mut random = weak_random();
        for bits in [2, 3, 64, 65, 400] {
            let prime = random_prime(bits, &mut random);
            assert_eq!(prime.bits(), bits);
            assert!(is_probable_prime(&prime, &mut random));
        }
        // 2^521 − 1 is a Mersenne prime; its square is not.
        let mersenne = (BigUint::one() << 521u32) - 1u8;
        assert!(is_probable_prime(&mersenne, &mut random));
        assert!(!is_probable_prime(&(&mersenne * &mersenne), &mut random));
    }
}
