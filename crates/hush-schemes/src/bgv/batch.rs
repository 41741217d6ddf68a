// SPDX-License-Identifier: Apache-2.0
//! Vectors of integers modulo a prime `t`, in two rows that rotations move.
//!
//! # Math
//! For a prime `t ≡ 1 mod 2N` the ring `Z_t[X]/(X^N + 1)` is `N` copies of `Z_t`. Slot `i` of row `r` is the value at
//! `ψ^((−1)^r·5^i)`, so that `X ↦ X^(5^k)` moves both rows `k` places to the left and `X ↦ X^(−1)` swaps them
//! (`hush_rlwe::rotation_element`). Differs from [`super::slots`], which has the order of stored tables and does not rotate.

use hush_arith::Modulus;
use hush_ring::{BaseConverter, Coeff, Eval, Poly, Ring, RingLimb, Words};
use hush_rlwe::{conjugation_element, rotation_element};

use zeroize::Zeroizing;

use crate::{SchemeError, Values};

/// Encodes and decodes vectors modulo `t`. Public tables.
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    plain: RingLimb,
    /// Entry of the transform that holds slot `i`: row 0, then row 1.
    entries: Vec<u32>,
}

impl BatchEncoder {
    /// Tables for plaintext modulus `t`.
    ///
    /// # Errors
    /// [`SchemeError::PlaintextModulus`] unless `t` is a prime in range, `1 mod 2N`, that is no prime of `ring`.
    pub fn new(ring: &Ring, t: u64) -> Result<Self, SchemeError> {
        let degree = ring.degree();
        let bad = SchemeError::PlaintextModulus { found: t, degree };
        let divides = ring.limbs().iter().any(|limb| limb.modulus().value() == t);
        let plain = RingLimb::plaintext(degree, t, ring.cpu()).ok().filter(|_| !divides).ok_or(bad)?;
        let order = 2 * degree;
        let mut entry = vec![0_u32; order];
        for index in 0..degree {
            entry[plain.root_exponent(index)] = index as u32;
        }
        let (step, swap) = (rotation_element(degree, 1), conjugation_element(degree));
        let row: Vec<usize> =
            std::iter::successors(Some(1), |&power| Some(power * step % order)).take(degree / 2).collect();
        let both = row.iter().copied().chain(row.iter().map(|&power| power * swap % order));
        let entries = both.map(|exponent| entry[exponent]).collect();
        Ok(Self { plain, entries })
    }

    /// The plaintext modulus.
    pub fn t(&self) -> Modulus {
        self.plain.modulus()
    }

    /// Values per polynomial: `N`, in two rows of `N/2`.
    pub fn slot_count(&self) -> usize {
        self.entries.len()
    }

    /// The coefficients modulo `t`, each nearest to zero, of the polynomial with these slots; missing slots are zero.
    ///
    /// # Timing
    /// Independent of the values.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] for more than `N`.
    pub fn coefficients(&self, values: &[i64]) -> Result<Vec<i64>, SchemeError> {
        let (found, max) = (values.len(), self.slot_count());
        if found > max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        let (mut slots, mut words) = (Words::recycled(max), Words::recycled(max));
        Values::I64(values).residues_into(&self.plain, &mut slots);
        for (&entry, &slot) in self.entries.iter().zip(&*slots) {
            words[entry as usize] = slot;
        }
        self.plain.inverse(&mut words);
        Ok(words.iter().map(|&word| self.centered(word)).collect())
    }

    /// The slots, nearest to zero, of a polynomial with these coefficients modulo `t`.
    ///
    /// # Panics
    /// If there are not `N` coefficients; the ring fixes both.
    pub fn slots(&self, mut words: Words) -> Vec<i64> {
        self.plain.forward(&mut words);
        self.entries.iter().map(|&entry| self.centered(words[entry as usize])).collect()
    }

    /// `factor·y mod t`, coefficient by coefficient, for the integer `y` nearest to zero that is `scale·phase` modulo `Q`.
    ///
    /// # Errors
    /// [`SchemeError::Ring`], which distinct primes rule out.
    pub fn reduce(&self, phase: &Poly<Coeff>, scale: u64, factor: u64) -> Result<Words, SchemeError> {
        let ring = phase.ring();
        let degree = ring.degree();
        let targets = std::slice::from_ref(&self.plain);
        let converter = BaseConverter::with_factor(ring.limbs(), targets, |q| Ok(q.reduce_u64(scale)))?;
        let mut rows = Zeroizing::new(Words::recycled(converter.row_count() * degree));
        rows.copy_from_slice(phase.words());
        converter.prepare(&mut rows);
        let mut out = Words::recycled(degree);
        converter.convert(0, &rows, &mut out);
        self.plain.mul_scalar_assign(&mut out, factor);
        Ok(out)
    }

    /// The representative nearest to zero, by a mask.
    pub fn centered(&self, residue: u64) -> i64 {
        let (residue, t) = (residue as i64, self.t().value() as i64);
        residue - (t & -i64::from(residue > t / 2))
    }
}

/// The polynomial with these small coefficients over `ring`; missing ones are zero.
///
/// # Timing
/// Independent of the coefficients.
///
/// # Errors
/// [`SchemeError::TooManyValues`] for more than `N`.
pub(crate) fn lift(ring: &Ring, coefficients: &[i64]) -> Result<Poly<Coeff>, SchemeError> {
    let (found, max) = (coefficients.len(), ring.degree());
    if found > max {
        return Err(SchemeError::TooManyValues { found, max });
    }
    let mut poly = Poly::recycled(ring);
    for (index, limb) in ring.limbs().iter().enumerate() {
        Values::I64(coefficients).residues_into(limb, poly.limb_mut(index));
    }
    Ok(poly)
}

/// A clear polynomial, ready for products.
pub(crate) fn lift_eval(ring: &Ring, coefficients: &[i64]) -> Result<Poly<Eval>, SchemeError> {
    Ok(lift(ring, coefficients)?.into_eval())
}
