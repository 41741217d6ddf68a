// SPDX-License-Identifier: Apache-2.0
//! BFV: the message in the high digits of the phase.
//!
//! # Math
//! A BFV phase is `round(Q·m/t) + e`. With `[·]_t` the residue nearest to zero, `Q·m − [Q·m]_t` is a multiple of
//! `t`, so `round(Q·m/t) = (Q·m − [Q·m]_t)/t` holds exactly, and modulo `Q` this is `−t⁻¹·[Q·m]_t`. Hence
//! `BFV phase = t⁻¹·(m' + t·e) mod Q` with `m' = −[Q·m]_t`: a BFV ciphertext is a BGV ciphertext of `−Q·m`, divided by
//! `t` modulo `Q`. Both schemes share one algebra:
//! - encode: `m' ← −[Q·m]_t`, then multiply by `t⁻¹ mod q_i`;
//! - decode: multiply the phase by `t`, lift, reduce modulo `t` to `m'`, multiply by `−Q⁻¹ mod t`.
//!
//! Encoding by `floor(Q/t)·m` instead would add an error of `Q mod t` whenever a sum wraps modulo `t`. Even so the
//! rounding of each message (up to 1/2) does not average out over a constant column; that is why sums of many
//! rows use the BGV encoding of [`super::sum`].

use hush_arith::{ArithError, Modulus};
use hush_ring::Ring;

use crate::SchemeError;

/// The maps between integers modulo a prime `t` and BFV phases over one ring.
#[derive(Clone, Debug)]
pub struct BfvEncoding {
    ring: Ring,
    t: Modulus,
    /// `−Q mod t`.
    minus_q: u64,
    /// `−Q⁻¹ mod t`.
    minus_q_inverse: u64,
    /// `t mod q_i` and `t⁻¹ mod q_i`.
    limbs: Vec<(u64, u64)>,
}

impl BfvEncoding {
    /// Constants for plaintext modulus `t`, a prime that does not divide `Q`.
    ///
    /// # Errors
    /// [`SchemeError::PlaintextModulus`] for any other `t`.
    pub fn new(ring: &Ring, t: u64) -> Result<Self, SchemeError> {
        let bad = |_: ArithError| SchemeError::PlaintextModulus { found: t, degree: ring.degree() };
        let t = Modulus::new(t).map_err(bad)?;
        let moduli = || ring.limbs().iter().map(|limb| limb.modulus());
        let one = t.reduce_u64(1);
        let minus_q = t.neg(moduli().fold(one, |product, q| t.mul(product, t.reduce_u64(q.value()))));
        let minus_q_inverse = t.inv(minus_q).map_err(bad)?;
        let pair =
            |q: Modulus| q.inv(q.reduce_u64(t.value())).map(|inverse| (q.reduce_u64(t.value()), inverse));
        let limbs = moduli().map(pair).collect::<Result<_, _>>().map_err(bad)?;
        Ok(Self { ring: ring.clone(), t, minus_q, minus_q_inverse, limbs })
    }

    /// The plaintext modulus.
    pub fn t(&self) -> u64 {
        self.t.value()
    }

    /// Residues of `round(Q·m/t)` modulo prime `limb`, for integers taken modulo `t`; the rest of `out` becomes
    /// zero.
    ///
    /// # Timing
    /// Independent of the values.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] if the values exceed `out` or there is no such limb.
    pub fn encode_limb(&self, limb: usize, values: &[i64], out: &mut [u64]) -> Result<(), SchemeError> {
        let constants = self.ring.limbs().get(limb).zip(self.limbs.get(limb));
        let Some((ring_limb, &(_, t_inverse))) = constants.filter(|_| values.len() <= out.len()) else {
            return Err(SchemeError::TooManyValues { found: values.len(), max: out.len() });
        };
        let q = ring_limb.modulus();
        out.fill(0);
        for (out, &value) in out.iter_mut().zip(values) {
            let residue = self.t.mul(self.t.reduce_i64(value), self.minus_q);
            *out = q.mul(q.reduce_i64(self.centered(residue)), t_inverse);
        }
        Ok(())
    }

    /// The message, nearest to zero, of one phase coefficient given by its residues (one for each prime).
    ///
    /// Right whenever `|t·e − [Q·m]_t| < Q/2`, that is whenever the error is below about `Q/(2t)`.
    ///
    /// # Errors
    /// [`SchemeError::TooManyValues`] unless there is one residue for each prime.
    pub fn decode(&self, residues: &[u64]) -> Result<i64, SchemeError> {
        let (found, max) = (residues.len(), self.limbs.len());
        if found != max {
            return Err(SchemeError::TooManyValues { found, max });
        }
        let limbs = self.ring.limbs().iter().zip(&self.limbs);
        let scaled: Vec<u64> =
            limbs.zip(residues).map(|((limb, (t, _)), &r)| limb.modulus().mul(r, *t)).collect();
        let lifted = self.ring.crt().lift_centered(&scaled);
        // As (high, low) words: value = high·2^128 + low.
        let (high, low) = lifted.into_words();
        let two_to_128 = self.t.add(self.t.reduce_u128(u128::MAX), self.t.reduce_u64(1));
        let high = self.t.mul(self.t.reduce_i128(high), two_to_128);
        let message = self.t.add(high, self.t.reduce_u128(low as u128));
        Ok(self.centered(self.t.mul(message, self.minus_q_inverse)))
    }

    /// The representative nearest to zero, by a mask.
    fn centered(&self, residue: u64) -> i64 {
        let (residue, t) = (residue as i64, self.t.value() as i64);
        residue - (t & -i64::from(residue > t / 2))
    }
}

#[cfg(test)]
mod tests;
