// SPDX-License-Identifier: Apache-2.0
//! Primes.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::One;

use crate::Stream;

/// Whether `candidate` is prime, by trial division and Miller-Rabin with the first 16 primes as bases: without error below
/// `3.3·10^24`; above, a composite that nobody constructed passes with a chance far below `2^-32`.
///
/// Cost: 16 modular powers.
pub fn is_prime(candidate: &BigUint) -> bool {
    const BASES: [u32; 16] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];
    if *candidate < BigUint::from(2_u32) {
        return false;
    }
    for base in BASES {
        if (candidate % base) == BigUint::ZERO {
            return *candidate == BigUint::from(base);
        }
    }
    let less_one = candidate - 1_u32;
    let twos = less_one.trailing_zeros().unwrap_or(0);
    let odd = &less_one >> twos;
    BASES.iter().all(|&base| {
        let mut power = BigUint::from(base).modpow(&odd, candidate);
        if power.is_one() || power == less_one {
            return true;
        }
        (1..twos).any(|_| {
            power = &power * &power % candidate;
            power == less_one
        })
    })
}

/// The largest prime below `2^bits`, for `2 ≤ bits ≤ 64`; 3 outside.
pub fn prime_below_power(bits: u32) -> u64 {
    let Some(mut candidate) = u64::MAX.checked_shr(64_u32.saturating_sub(bits)).filter(|_| bits >= 2) else {
        return 3;
    };
    while !is_prime(&candidate.into()) {
        candidate -= 2;
    }
    candidate
}

/// A uniform prime of exactly `bits` bits, for `bits ≥ 3`, with the second highest bit set too, so that products have `2·bits` bits.
///
/// Cost: some `bits/3` Miller-Rabin tests; most end with a small factor.
pub fn random_prime(bits: u64, randomness: &mut Stream) -> BigUint {
    let bits = bits.max(3);
    loop {
        let mut bytes = vec![0; bits.div_ceil(8) as usize];
        randomness.fill(&mut bytes);
        let mut candidate = BigUint::from_bytes_le(&bytes) & ((BigUint::one() << bits) - 1_u32);
        candidate.set_bit(bits - 1, true);
        candidate.set_bit(bits - 2, true);
        if candidate.is_even() {
            candidate += 1_u32;
        }
        if is_prime(&candidate) {
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn small_primes_are_those_of_the_sieve() {
        let mut composite = vec![false; 20_000];
        for p in 2..composite.len() {
            if !composite[p] {
                (p * p..composite.len()).step_by(p).for_each(|multiple| composite[multiple] = true);
            }
            assert_eq!(is_prime(&BigUint::from(p)), !composite[p], "{p}");
        }
        assert!(!is_prime(&BigUint::ZERO) && !is_prime(&BigUint::one()));
        // A strong pseudoprime to the bases 2 to 37.
        assert!(!is_prime(&"3317044064679887385961981".parse().unwrap()));
    }

    #[test]
    fn primes_have_the_size_asked_for() {
        assert_eq!(
            [26, 52, 60, 64].map(|bits| (1_u128 << bits) - u128::from(prime_below_power(bits))),
            [5, 47, 93, 59]
        );
        assert_eq!([0, 1, 2, 3].map(prime_below_power), [3, 3, 3, 7]);
        let mut stream = Stream::derive(&Seed::from_text("primes"), "p");
        for bits in [3, 8, 65, 256] {
            assert_eq!(random_prime(bits, &mut stream).bits(), bits);
        }
    }
}
