// SPDX-License-Identifier: Apache-2.0
//! Polynomials modulo `Q` in fewer bits: the bits of a ciphertext that no decryption needs are left out.
//!
//! # Math
//! The phase of a ciphertext is `m + t·e (mod Q)`. For a coefficient `x` of one of its components let
//! `u = t⁻¹·x mod Q`. *Rounding* keeps the upper `w` bits of `u`, *restoring* takes them back:
//!
//! ```text
//! r = ⌊2^w·u/Q⌉ mod 2^w        x' = t·⌊Q·r/2^w⌉ mod Q = x + t·ε        |ε| ≤ Q/2^(w+1) + 1
//! ```
//!
//! `x'` differs from `x` by a multiple of `t`: the message is the same, the error larger. `docs/math/rounding.md` has the proof
//! and what `w` must be.

use hush_arith::Modulus;
use hush_kernels::{BitWidth, bits};
use hush_params::size::{MAX_ROUNDED_BITS, rounded_widths};

use crate::{Coeff, Poly, Ring, RingError};

/// Rounds the polynomials of one ring for one plaintext modulus. Public tables.
#[derive(Clone, Debug)]
pub struct Rounding {
    ring: Ring,
    bits: u32,
    /// `Q mod 2^64`.
    q_low: u64,
    limbs: Vec<LimbRounding>,
    /// How coefficients are packed: all their bits, or the lower ones and then the others.
    widths: Vec<BitWidth>,
}

/// Constants for one prime `q`.
#[derive(Clone, Copy, Debug)]
struct LimbRounding {
    /// `(t·Q/q)⁻¹ mod q`.
    enter: u64,
    /// `⌊2^128/q⌋`.
    reciprocal: u128,
    /// `t·2^-w mod q`.
    leave: u64,
}

impl Rounding {
    /// Rounding to `bits` bits. `t` gives the residue of the plaintext modulus modulo each prime.
    ///
    /// # Errors
    /// [`RingError::RoundedBits`] unless `bits` is in `1..=`[`MAX_ROUNDED_BITS`]; [`RingError::Arith`] if a prime divides the
    /// plaintext modulus.
    pub fn new(ring: &Ring, bits: u32, t: impl Fn(Modulus) -> u64) -> Result<Self, RingError> {
        if !(1..=MAX_ROUNDED_BITS).contains(&bits) {
            return Err(RingError::RoundedBits { found: bits, max: MAX_ROUNDED_BITS });
        }
        let moduli: Vec<Modulus> = ring.limbs().iter().map(|limb| limb.modulus()).collect();
        let limb = |q: &Modulus| {
            let q = *q;
            let others = moduli.iter().filter(|other| **other != q);
            let rest = others.fold(1, |rest, other| q.mul(rest, q.reduce_u64(other.value())));
            let t = t(q);
            let power = q.pow(2, u64::from(bits));
            Ok(LimbRounding {
                enter: q.inv(q.mul(t, rest))?,
                // A prime does not divide 2^128, so this is the quotient of 2^128 too.
                reciprocal: u128::MAX / u128::from(q.value()),
                leave: q.mul(t, q.inv(power)?),
            })
        };
        let limbs = moduli.iter().map(limb).collect::<Result<_, RingError>>()?;
        let q_low = moduli.iter().fold(1u64, |product, q| product.wrapping_mul(q.value()));
        let widths = rounded_widths(bits).map(BitWidth::new).collect::<Result<_, _>>()?;
        Ok(Self { ring: ring.clone(), bits, q_low, limbs, widths })
    }

    /// The ring.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The bits of a rounded coefficient.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Rounds all coefficients of a polynomial.
    ///
    /// # Cost
    /// For each residue two products and a sum of 128 bits.
    ///
    /// # Errors
    /// [`RingError::RingMismatch`] for a polynomial of another ring.
    pub fn round(&self, mut poly: Poly<Coeff>) -> Result<Vec<u64>, RingError> {
        self.ring.check_same(poly.ring())?;
        // u/Q = Σ_i [x·(t·Q/q_i)⁻¹ mod q_i]/q_i mod 1, in 128 bits after the point: each term is below by less than q_i/2^128.
        let mut fractions = vec![1u128 << (127 - self.bits); self.ring.degree()];
        for (index, (limb, constants)) in self.ring.limbs().iter().zip(&self.limbs).enumerate() {
            let words = poly.limb_mut(index);
            limb.mul_scalar_assign(words, constants.enter);
            for (fraction, word) in fractions.iter_mut().zip(words) {
                let term = constants.reciprocal.wrapping_mul(u128::from(*word));
                *fraction = fraction.wrapping_add(term);
            }
        }
        Ok(fractions.into_iter().map(|fraction| (fraction >> (128 - self.bits)) as u64).collect())
    }

    /// A polynomial that rounds to these coefficients, with the same message in its phase; bits above [`Rounding::bits`] are
    /// ignored.
    ///
    /// # Errors
    /// [`RingError::Length`] unless there are `N`.
    pub fn restore(&self, rounded: &[u64]) -> Result<Poly<Coeff>, RingError> {
        let degree = self.ring.degree();
        if rounded.len() != degree {
            return Err(RingError::Length { found: rounded.len(), expected: degree });
        }
        // ⌊Q·r/2^w⌉ = (Q·r + 2^(w−1) − ρ)/2^w with ρ = (Q·r + 2^(w−1)) mod 2^w, and Q vanishes modulo each prime.
        let (half, mask) = (1u64 << (self.bits - 1), (1u64 << self.bits) - 1);
        let rest = |word: &u64| {
            let remainder = self.q_low.wrapping_mul(*word).wrapping_add(half) & mask;
            half as i64 - remainder as i64
        };
        let rests: Vec<i64> = rounded.iter().map(rest).collect();
        let mut poly = Poly::zero(&self.ring);
        for (index, (limb, constants)) in self.ring.limbs().iter().zip(&self.limbs).enumerate() {
            let words = poly.limb_mut(index);
            limb.lift_signed(&rests, words);
            limb.mul_scalar_assign(words, constants.leave);
        }
        Ok(poly)
    }

    /// Bytes of a packed rounded polynomial.
    pub fn packed_bytes(&self) -> usize {
        self.widths.iter().map(|width| width.packed_bytes(self.ring.degree())).sum()
    }

    /// Appends the packed coefficients that [`Rounding::round`] gives. Those of over 56 bits are packed as their lower 32 bits,
    /// all of them, and then the others.
    ///
    /// # Panics
    /// Unless there are `N`.
    pub fn pack(&self, rounded: &[u64], bytes: &mut Vec<u8>) {
        let mut shift = 0;
        for width in &self.widths {
            let words: Vec<u64> = rounded.iter().map(|word| (word >> shift) & width.mask()).collect();
            let start = bytes.len();
            bytes.resize(start + width.packed_bytes(words.len()), 0);
            bits::pack_bits(self.ring.cpu(), *width, &words, &mut bytes[start..]);
            shift += width.bits();
        }
    }

    /// The coefficients in [`Rounding::packed_bytes`] bytes.
    ///
    /// # Panics
    /// If there are more or fewer.
    pub fn unpack(&self, mut packed: &[u8]) -> Vec<u64> {
        let mut rounded = vec![0; self.ring.degree()];
        let mut words = vec![0; self.ring.degree()];
        let mut shift = 0;
        for width in &self.widths {
            let (here, rest) = packed.split_at(width.packed_bytes(words.len()));
            bits::unpack_bits(self.ring.cpu(), *width, here, &mut words);
            for (rounded, word) in rounded.iter_mut().zip(&words) {
                *rounded |= word << shift;
            }
            shift += width.bits();
            packed = rest;
        }
        rounded
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    const MODULI: [u64; 3] = [70368744177601, 70368744177377, 70368744176833];

    fn ring() -> Ring {
        Ring::insecure_toy(16, &MODULI).unwrap()
    }

    fn q() -> BigUint {
        MODULI.iter().product()
    }

    /// The integers below `Q` with these residues.
    fn integers(poly: &Poly<Coeff>) -> Vec<BigUint> {
        let coefficient = |place: usize| {
            let terms = MODULI.iter().enumerate().map(|(index, modulus)| {
                let rest = q() / modulus;
                let inverse = rest.modinv(&(*modulus).into()).unwrap();
                rest * inverse * poly.limb(index)[place]
            });
            terms.sum::<BigUint>() % q()
        };
        (0..16).map(coefficient).collect()
    }

    proptest! {
        /// Beside the formulas in big integers.
        #[test]
        fn rounded_and_restored_as_the_formulas_say(
            w in 2..=MAX_ROUNDED_BITS, t_log2 in 1u32..120, words in proptest::collection::vec(any::<u64>(), 48),
        ) {
            let (ring, q) = (ring(), q());
            let words: Vec<u64> =
                words.iter().enumerate().map(|(place, word)| word % MODULI[place / 16]).collect();
            let poly = Poly::<Coeff>::from_words(&ring, words).unwrap();
            let t = BigUint::from(1u8) << t_log2;
            let rounding = Rounding::new(&ring, w, |q| q.pow(2, u64::from(t_log2))).unwrap();
            let rounded = rounding.round(poly.clone()).unwrap();
            let inverse = t.modinv(&q).unwrap();
            for (x, r) in integers(&poly).iter().zip(&rounded) {
                let u = x * &inverse % &q;
                let nearest = ((u << (w + 1)) + &q) / (&q << 1u32);
                prop_assert_eq!(nearest % (BigUint::from(1u8) << w), BigUint::from(*r));
            }
            let mut packed = Vec::new();
            rounding.pack(&rounded, &mut packed);
            prop_assert_eq!(packed.len(), rounding.packed_bytes());
            prop_assert_eq!(&rounding.unpack(&packed), &rounded);
            let restored = rounding.restore(&rounded).unwrap();
            for ((x, y), r) in integers(&poly).iter().zip(integers(&restored)).zip(&rounded) {
                let nearest = ((&q * r) + (BigUint::from(1u8) << (w - 1))) >> w;
                prop_assert_eq!(nearest * &t % &q, y.clone());
                // (y − x)/t mod Q is small.
                let error = (y + &q - x) * &inverse % &q;
                let error = error.clone().min(&q - error);
                prop_assert!(error <= (&q >> (w + 1)) + 1u8);
            }
            prop_assert_eq!(rounding.round(restored).unwrap(), rounded);
        }
    }

    #[test]
    fn bits_and_lengths_out_of_range_are_refused() {
        let ring = ring();
        for bits in [0, 64] {
            let error = Rounding::new(&ring, bits, |_| 2).unwrap_err();
            assert_eq!(error, RingError::RoundedBits { found: bits, max: MAX_ROUNDED_BITS });
        }
        assert!(matches!(Rounding::new(&ring, 20, |_| 0), Err(RingError::Arith(_))));
        let rounding = Rounding::new(&ring, 20, |_| 2).unwrap();
        assert_eq!(rounding.restore(&[0; 15]).unwrap_err(), RingError::Length { found: 15, expected: 16 });
    }
}
