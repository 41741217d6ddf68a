// SPDX-License-Identifier: Apache-2.0
//! Primality of 64-bit integers. Public data only: the running time depends on the value.

/// Tells whether `n` is prime.
///
/// # Math
/// The strong-pseudoprime test to the twelve bases 2, 3, …, 37. No composite below
/// `318 665 857 834 031 151 167 461 > 2^64` passes it, so the answer is exact.
///
/// # Cost
/// At most 12 exponentiations mod `n`.
///
/// # References
/// Sorenson and Webster, "Strong pseudoprimes to twelve prime bases", Math. Comp. 86 (2017).
pub fn is_prime(n: u64) -> bool {
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    // Here n is odd, above 37 and no multiple of a base; n = 0 and n = 1 need a word of their own.
    if n < 2 {
        return false;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&base| is_strong_probable_prime(n, base, odd, twos))
}

/// One round: `base^odd = 1`, or `base^(odd·2^i) = −1` for some `i < twos`, mod `n`.
fn is_strong_probable_prime(n: u64, base: u64, odd: u64, twos: u32) -> bool {
    let mut x = pow_mod(base, odd, n);
    if x == 1 || x == n - 1 {
        return true;
    }
    for _ in 1..twos {
        x = mul_mod(x, x, n);
        if x == n - 1 {
            return true;
        }
    }
    false
}

fn mul_mod(a: u64, b: u64, n: u64) -> u64 {
    // The remainder is below n, so the cast keeps all of it.
    ((u128::from(a) * u128::from(b)) % u128::from(n)) as u64
}

fn pow_mod(mut base: u64, mut exponent: u64, n: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul_mod(result, base, n);
        }
        base = mul_mod(base, base, n);
        exponent >>= 1;
    }
    result
}

const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

#[cfg(test)]
mod tests {
    use super::is_prime;

    #[test]
    fn agrees_with_the_sieve_below_100_000() {
        let limit = 100_000;
        let mut composite = vec![false; limit];
        for n in 0..limit {
            let sieve_says = n >= 2 && !composite[n];
            assert_eq!(is_prime(n as u64), sieve_says, "n = {n}");
            if sieve_says {
                for multiple in (n * n..limit).step_by(n) {
                    composite[multiple] = true;
                }
            }
        }
    }

    #[test]
    fn refuses_strong_pseudoprimes_to_fewer_bases() {
        // Smallest strong pseudoprimes to the first k prime bases, OEIS A014233.
        for n in [
            2047,
            1_373_653,
            25_326_001,
            3_215_031_751,
            2_152_302_898_747,
            3_474_749_660_383,
            341_550_071_728_321,
            3_825_123_056_546_413_051,
        ] {
            assert!(!is_prime(n), "{n} is composite");
        }
    }

    #[test]
    fn knows_large_primes() {
        // The Mersenne primes 2^61 − 1 and 2^31 − 1, and the largest prime below 2^64.
        for n in [(1 << 61) - 1, u64::MAX - 58, (1 << 31) - 1] {
            assert!(is_prime(n), "{n} is prime");
        }
        assert!(!is_prime(u64::MAX));
    }
}
