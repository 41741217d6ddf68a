// SPDX-License-Identifier: Apache-2.0
//! Whether the powers of a secret are as small as rounded sums of products take them to be.
//!
//! A rounded component `c_i` brings the error `t·ε_i·s^i` into the phase, and plans bound the norm of `s^i` by
//! [`secret_power_norm`]. Nearly every secret keeps to it. The owner has the secret and need not rely on that: he looks, and refuses
//! answers where it is not so.
//!
//! # Timing
//! Independent of the secret, but for the answer.

use ethnum::I256;
use hush_params::noise::secret_power_norm;
use hush_ring::Ring;
use hush_rlwe::{MAX_PRODUCT_COMPONENTS, RlweError};
use zeroize::{Zeroize, Zeroizing};

use crate::{DecryptError, SecretKey};

/// Checks that the powers of a secret are within the norms by which sums of products with so many components are rounded
/// (`hush_params::noise::product_bits`). Once for each answer, before anything rounded is decrypted with
/// [`crate::decrypt_product`].
///
/// # Cost
/// For each component after the second a transform, and `N` numbers that are put together from residues.
///
/// # Errors
/// [`DecryptError::PowerNorm`] for a secret with a larger power, [`DecryptError::PowerWraps`] where `Q` is too small to tell;
/// [`DecryptError::Rlwe`] for more than [`MAX_PRODUCT_COMPONENTS`].
pub fn check_powers(secret: &SecretKey, components: usize) -> Result<(), DecryptError> {
    let ring = secret.ring();
    let limbs: Vec<&[u64]> = (0..ring.limb_count()).map(|limb| secret.eval_limb(limb)).collect();
    check(ring, &limbs, components)
}

/// As [`check_powers`], for the evaluations of a ternary polynomial.
///
/// # Ranges
/// A coefficient of `s^i` is at most `N^(i−1)`, which must be below half of `Q`. Then the lifted integers are the coefficients, and the
/// squares add up to at most `N^(2i−1)`, below `2^208` for `N` up to `2^16`.
fn check(ring: &Ring, secret: &[&[u64]], components: usize) -> Result<(), DecryptError> {
    if components > MAX_PRODUCT_COMPONENTS {
        let (found, most) = (components.saturating_sub(1), MAX_PRODUCT_COMPONENTS - 1);
        return Err(RlweError::ProductDegree { found, most }.into());
    }
    let degree = ring.degree();
    let mut power: Zeroizing<Vec<u64>> = Zeroizing::new(secret.concat());
    let mut largest = I256::ONE;
    // The first power has at most N ones, within any bound.
    for number in 2..components as u32 {
        largest = largest.saturating_mul(I256::from(degree as u64));
        if largest > ring.crt().lift_limit() {
            return Err(DecryptError::PowerWraps { power: number, log_q: ring.crt().log2_product() as u32 });
        }
        for ((limb, words), secret) in ring.limbs().iter().zip(power.chunks_exact_mut(degree)).zip(secret) {
            limb.mul_assign(words, secret);
        }
        let mut squared = squared_norm(ring, &power);
        let is_within = squared <= I256::from(secret_power_norm(degree, number));
        squared.0.zeroize();
        if !is_within {
            return Err(DecryptError::PowerNorm { power: number });
        }
    }
    Ok(())
}

/// The sum of the squares of a polynomial's coefficients, lifted; `evaluations` are limb after limb.
fn squared_norm(ring: &Ring, evaluations: &[u64]) -> I256 {
    let degree = ring.degree();
    let mut words = Zeroizing::new(evaluations.to_vec());
    for (limb, words) in ring.limbs().iter().zip(words.chunks_exact_mut(degree)) {
        limb.inverse(words);
    }
    let mut residues = Zeroizing::new(vec![0; ring.limb_count()]);
    let mut sum = I256::ZERO;
    for place in 0..degree {
        for (residue, limb) in residues.iter_mut().zip(words.chunks_exact(degree)) {
            *residue = limb[place];
        }
        let coefficient = ring.crt().lift_centered(&residues);
        sum = sum.wrapping_add(coefficient.wrapping_mul(coefficient));
    }
    sum
}

#[cfg(test)]
mod tests {
    use hush_params::{preset, presets};
    use hush_ring::{Cpu, SecretRng};

    use super::*;

    const PRIMES: [u64; 2] = [0x3fff_ffcc_0001, 0x3fff_ffb2_0001];

    /// Evaluations of small coefficients, limb after limb.
    fn evaluations(ring: &Ring, coefficients: &[i64]) -> Vec<Vec<u64>> {
        let limb = |limb: &hush_ring::RingLimb| {
            let mut words = vec![0; ring.degree()];
            limb.lift_signed(coefficients, &mut words);
            limb.forward(&mut words);
            words
        };
        ring.limbs().iter().map(limb).collect()
    }

    fn checked(ring: &Ring, coefficients: &[i64], components: usize) -> Result<(), DecryptError> {
        let limbs = evaluations(ring, coefficients);
        check(ring, &limbs.iter().map(Vec::as_slice).collect::<Vec<_>>(), components)
    }

    /// Powers by the school's rule, in integers.
    fn squared_norms(coefficients: &[i64], powers: usize) -> Vec<i128> {
        let degree = coefficients.len();
        let mut power: Vec<i128> = coefficients.iter().map(|s| i128::from(*s)).collect();
        let mut norms = Vec::new();
        for _ in 0..powers {
            norms.push(power.iter().map(|x| x * x).sum());
            let mut next = vec![0; degree];
            for (i, x) in power.iter().enumerate() {
                for (j, s) in coefficients.iter().enumerate() {
                    let sign = if i + j < degree { 1 } else { -1 };
                    next[(i + j) % degree] += sign * x * i128::from(*s);
                }
            }
            power = next;
        }
        norms
    }

    #[test]
    fn norms_are_those_of_integers() {
        let ring = Ring::insecure_toy(32, &PRIMES).unwrap();
        let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
        let small: Vec<i64> = secret.small().iter().map(|s| i64::from(*s)).collect();
        let mut power: Vec<Vec<u64>> = evaluations(&ring, &small);
        for (number, norm) in (1..).zip(squared_norms(&small, 7)) {
            assert_eq!(squared_norm(&ring, &power.concat()), I256::from(norm), "power {number}");
            for (index, (limb, words)) in ring.limbs().iter().zip(&mut power).enumerate() {
                limb.mul_assign(words, secret.eval_limb(index));
            }
        }
    }

    /// Refused exactly where a power is beyond its bound, and for the first of them.
    #[test]
    fn the_first_power_beyond_its_norm_is_named() {
        let ring = Ring::insecure_toy(64, &[PRIMES[0], PRIMES[1]]).unwrap();
        let ones = vec![1; 64];
        assert!(checked(&ring, &ones, 2).is_ok());
        assert_eq!(checked(&ring, &ones, 3), Err(DecryptError::PowerNorm { power: 2 }));
        assert_eq!(checked(&ring, &ones, 8), Err(DecryptError::PowerNorm { power: 2 }));
        // Ones that become fewer: powers are within their norms for longer.
        let mut seen = [0; 9];
        for count in 1..=64 {
            let secret: Vec<i64> = (0..64).map(|place| i64::from(place < count)).collect();
            let beyond = |(power, norm): &(u32, i128)| *norm as u128 > secret_power_norm(64, *power);
            let first = (1..).zip(squared_norms(&secret, 7)).find(beyond).map(|(power, _)| power);
            let expected = first.map_or(Ok(()), |power| Err(DecryptError::PowerNorm { power }));
            assert_eq!(checked(&ring, &secret, 8), expected, "{count} ones");
            seen[first.unwrap_or(0) as usize] += 1;
        }
        assert!(seen[0] > 0 && seen.iter().filter(|count| **count > 0).count() > 2, "{seen:?}");
    }

    #[test]
    fn powers_that_would_wrap_are_refused() {
        // Q of 46 bits: N^3 fits, N^4 does not.
        let ring = Ring::insecure_toy(1 << 12, &PRIMES[..1]).unwrap();
        let unit: Vec<i64> = (0..1 << 12).map(|place| i64::from(place == 0)).collect();
        assert!(checked(&ring, &unit, 5).is_ok());
        assert_eq!(checked(&ring, &unit, 6), Err(DecryptError::PowerWraps { power: 5, log_q: 45 }));
        let wide = Ring::insecure_toy(1 << 12, &PRIMES).unwrap();
        assert!(checked(&wide, &unit, 8).is_ok());
        let error = RlweError::ProductDegree { found: 8, most: 7 };
        assert_eq!(checked(&wide, &unit, 9), Err(error.into()));
    }

    /// Secrets of the sets keep to the norms, and are not far below: the mean is `2^-i` of the bound.
    #[test]
    fn secrets_of_every_set_pass() {
        for set in presets() {
            let ring = Ring::new(set, Cpu::detect().unwrap()).unwrap();
            let components = match ring.limb_count() {
                1 => 3,
                2 => 5,
                _ => MAX_PRODUCT_COMPONENTS,
            };
            for _ in 0..3 {
                let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
                assert_eq!(check_powers(&secret, components.min(6)), Ok(()), "{}", set.name());
            }
        }
        let ring = Ring::new(preset("n13_q3x46_sec128_v1").unwrap(), Cpu::detect().unwrap()).unwrap();
        let secret = SecretKey::sample(&ring, [0; 16], &mut SecretRng::from_os().unwrap());
        let limb = |limb| secret.eval_limb(limb).iter().zip(secret.eval_limb(limb));
        let square: Vec<u64> = (0..3)
            .flat_map(|index| limb(index).map(move |(x, y)| (index, *x, *y)))
            .map(|(index, x, y)| ring.limbs()[index].modulus().mul(x, y))
            .collect();
        let ratio = squared_norm(&ring, &square).as_f64() / secret_power_norm(8192, 2) as f64;
        assert!((0.2..0.3).contains(&ratio), "{ratio}");
    }
}
