// SPDX-License-Identifier: Apache-2.0
//! BFV messages in coefficients, modulo a power of two.
//!
//! Slots need a prime plaintext modulus `1 mod 2N`; the published one is 1024. Integers are then coefficients, which add
//! up and scale as slots do.

use hush_ring::{Coeff, Poly, Ring, RingError};

use super::PLAIN_BITS;
use crate::BenchError;

/// Encoding and decoding modulo `t = 2^`[`PLAIN_BITS`].
///
/// # Math
/// The message is `round(Q·m/t) = t⁻¹·m'` modulo `Q` with `m' = −[Q·m]_t` nearest to zero, as in `hush_schemes::bgv::Bfv`;
/// a phase times `t` is `m' + t·e` modulo `Q`.
pub(super) struct Coefficients {
    ring: Ring,
    /// `t⁻¹` and `t` modulo each prime.
    factors: Vec<(u64, u64)>,
    /// `Q` and `Q⁻¹` modulo `2^64`.
    q: u64,
    q_inverse: u64,
}

impl Coefficients {
    /// Of ciphertexts over this ring.
    ///
    /// # Errors
    /// None: every prime is odd.
    pub(super) fn new(ring: &Ring) -> Result<Self, BenchError> {
        let factors = |limb: &hush_ring::RingLimb| {
            let modulus = limb.modulus();
            let t = modulus.reduce_u64(1 << PLAIN_BITS);
            Ok((modulus.inv(t)?, t))
        };
        let factors = ring.limbs().iter().map(factors).collect::<Result<_, RingError>>()?;
        let q = ring.limbs().iter().fold(1_u64, |q, limb| q.wrapping_mul(limb.modulus().value()));
        // Newton: an odd number is its own inverse modulo 8, and every step doubles the bits.
        let step = |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(q.wrapping_mul(x)));
        Ok(Self { ring: ring.clone(), factors, q, q_inverse: (0..5).fold(q, step) })
    }

    /// The message with these coefficients, the others zero.
    ///
    /// # Errors
    /// [`RingError::Length`] for more than `N`.
    pub(super) fn encode(&self, values: &[u16]) -> Result<Poly<Coeff>, RingError> {
        let (found, expected) = (values.len(), self.ring.degree());
        if found > expected {
            return Err(RingError::Length { found, expected });
        }
        let scaled = |&value: &u16| centred(0_u64.wrapping_sub(self.q.wrapping_mul(u64::from(value))));
        let scaled: Vec<i64> = values.iter().map(scaled).collect();
        let mut poly = Poly::<Coeff>::zero(&self.ring);
        let rows = poly.words_mut().chunks_exact_mut(expected);
        for ((limb, row), (inverse, _)) in self.ring.limbs().iter().zip(rows).zip(&self.factors) {
            limb.lift_signed(&scaled, &mut row[..found]);
            limb.mul_scalar_assign(&mut row[..found], *inverse);
        }
        Ok(poly)
    }

    /// Whether the phase of a fresh ciphertext holds these coefficients, and zeros after them.
    ///
    /// `m' + t·e` of a fresh ciphertext is far smaller than any prime, so its residues are those of one integer nearest to
    /// zero modulo the first of them; any other phase has the wrong noise and is refused as well.
    pub(super) fn holds(&self, phase: &Poly<Coeff>, values: &[u16]) -> bool {
        let limbs = self.ring.limbs();
        let (degree, words) = (self.ring.degree(), phase.words());
        words.len() == self.ring.poly_words()
            && (0..degree).all(|index| {
                let residue = |place: usize| {
                    limbs[place].modulus().mul(words[place * degree + index], self.factors[place].1)
                };
                let (first, q) = (residue(0), limbs[0].modulus().value());
                let lifted = if first > q / 2 { first as i64 - q as i64 } else { first as i64 };
                let agrees = |place: usize| limbs[place].modulus().reduce_i64(lifted) == residue(place);
                let message = 0_u64.wrapping_sub((lifted as u64).wrapping_mul(self.q_inverse));
                (1..limbs.len()).all(agrees)
                    && message % (1 << PLAIN_BITS) == values.get(index).copied().map_or(0, u64::from)
            })
    }
}

/// The integer nearest to zero that is `x` modulo `t`.
fn centred(x: u64) -> i64 {
    let unused = u64::BITS - PLAIN_BITS;
    ((x << unused) as i64) >> unused
}

#[cfg(test)]
mod tests {
    use hush_keys::ChainSecret;
    use hush_ring::{Chain, Cpu};

    use super::super::cell::integer;
    use super::super::parameters::chain_params;
    use super::*;

    #[test]
    fn a_message_is_the_nearest_integer_to_its_share_of_the_modulus() {
        let chain = Chain::new(&chain_params(2048).unwrap(), 1, Cpu::detect().unwrap()).unwrap();
        let ring = chain.ring(chain.top()).unwrap();
        let values: Vec<u16> = (0..1024).collect();
        let poly = Coefficients::new(ring).unwrap().encode(&values).unwrap();
        let moduli: Vec<u128> = ring.limbs().iter().map(|limb| limb.modulus().value().into()).collect();
        let q: u128 = moduli.iter().product();
        for (index, &value) in values.iter().enumerate() {
            // Halves, of the value 512 alone, go down.
            let nearest = (q * u128::from(value) + 511) / 1024;
            for (place, modulus) in moduli.iter().enumerate() {
                assert_eq!(u128::from(poly.limb(place)[index]), nearest % modulus, "{value}");
            }
        }
    }

    #[test]
    fn every_coefficient_and_every_residue_counts() {
        let chain = Chain::new(&chain_params(1024).unwrap(), 1, Cpu::detect().unwrap()).unwrap();
        let coefficients = Coefficients::new(chain.ring(chain.top()).unwrap()).unwrap();
        let values: Vec<u16> = (0..1000).map(integer).collect();
        let secret = ChainSecret::generate(&chain).unwrap();
        let ciphertext = secret.encrypt(coefficients.encode(&values).unwrap()).unwrap().expand().unwrap();
        let phase = secret.phase(&ciphertext).unwrap();
        assert!(coefficients.holds(phase.poly(), &values));
        let mut wrong = values.clone();
        wrong[999] ^= 1;
        assert!(!coefficients.holds(phase.poly(), &wrong));
        wrong.truncate(999);
        assert!(!coefficients.holds(phase.poly(), &wrong), "a value beyond the expected ones");
        let other = ChainSecret::generate(&chain).unwrap();
        assert!(!coefficients.holds(other.phase(&ciphertext).unwrap().poly(), &values));
        assert!(coefficients.encode(&vec![0; 1025]).is_err());
    }
}
