// SPDX-License-Identifier: Apache-2.0
//! From the secret of a ring of large degree to that of large ciphertexts: how numbers in slots become ciphertexts of one number.
//!
//! # Math
//! With `N = r·n`, the large secret S of degree n stands in the ring of degree N as `S(X^r)`. The key has, for each power p of the ring's secret s and each unit `2^u` of digits, a row that
//! encrypts `s^p·2^u` under it. Digits of the coefficients of a ciphertext `Σ c_p·s^p` times the rows give a ciphertext `(b, a)` under `S(X^r)` with the same phase. Its coefficient at place 0 is
//!
//! ```text
//!   b_0 + Σ_j S_j·a_(−j·r)        indices modulo N, with the other sign below 0
//! ```
//!
//! which is a large ciphertext of one number. A row is as N/n ciphertexts of the large secret, with errors of their own: the key is no easier to break than those of rotations are.
//!
//! *References.* Ring switching: Gentry, Halevi, Peikert and Smart, SCN 2012. Extraction: Chillotti et al., J. Cryptology 2020.

use hush_params::tfhe::bridge::SWITCH;
use hush_ring::{Ring, RingLimb, UniformSeed, Words};
use rayon::prelude::*;

use crate::digits::Digits;
use crate::{Context, Lwe, TfheError, rotation_label};

/// The key from the secret of a ring.
///
/// *Layout.* For each power of the secret, from the first on, a row for each digit, the lowest first; a row is a body and a mask in the evaluation domain.
#[derive(Clone)]
pub struct BridgeKey {
    words: Words,
    ring: Ring,
    limb: RingLimb,
    context: Context,
    powers: u32,
}

impl BridgeKey {
    /// Largest power of a secret that a key has.
    pub const MOST_POWERS: u32 = 2;

    /// Rows of a key.
    pub fn row_count(powers: u32) -> usize {
        (powers * SWITCH.levels) as usize
    }

    /// The ring of the key: of another degree, and the prime of the set.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for a set of several polynomials, whose secret no ring has room for; [`TfheError::Count`] for a degree that is less than the set's; [`TfheError::Ring`] for one that the prime does not suit.
    pub fn ring(context: &Context, degree: usize) -> Result<Ring, TfheError> {
        let set = context.set();
        if set.rank() != 1 {
            return Err(TfheError::Mixed { expected: hush_params::tfhe::INTEGERS.name() });
        }
        if degree < set.degree() {
            let (found, expected) = (degree as u64, set.degree() as u64);
            return Err(TfheError::Count { what: "coefficients of a ring", found, expected });
        }
        let limb = RingLimb::plaintext(degree, set.prime(), context.cpu())?;
        Ok(Ring::of_limbs(vec![limb], degree, context.cpu())?)
    }

    /// Expands the masks of all rows, whose bodies are these, one after another and in the evaluation domain. The label of a row is that of a rotation key, with the power for the bit.
    ///
    /// # Memory
    /// `2·N` words for each row: 3 MB for `N = 32768`.
    ///
    /// # Errors
    /// As [`BridgeKey::ring`]; [`TfheError::Count`] unless there are 1 or 2 powers and a body for each row; [`TfheError::Residue`].
    pub fn expand(
        context: &Context,
        (degree, powers): (usize, u32),
        seed: UniformSeed,
        bodies: &[u64],
    ) -> Result<Self, TfheError> {
        let ring = Self::ring(context, degree)?;
        if !(1..=Self::MOST_POWERS).contains(&powers) {
            let expected = powers.clamp(1, Self::MOST_POWERS).into();
            return Err(TfheError::Count { what: "powers of a secret", found: powers.into(), expected });
        }
        let (found, expected) = (bodies.len() as u64, (Self::row_count(powers) * degree) as u64);
        if found != expected {
            return Err(TfheError::Count { what: "residues of a key from slots", found, expected });
        }
        let limb = ring.limbs()[0].clone();
        if !limb.all_below(bodies) {
            return Err(TfheError::Residue);
        }
        let mut words = Words::recycled(2 * bodies.len());
        let rows = words.par_chunks_exact_mut(2 * degree).zip(bodies.par_chunks_exact(degree));
        rows.enumerate().for_each(|(number, (row, body))| {
            let (first, mask) = row.split_at_mut(degree);
            first.copy_from_slice(body);
            seed.expand_limb(&ring, Self::label(number), 0, mask);
        });
        Ok(Self { words, ring, limb, context: context.clone(), powers })
    }

    /// The label of the mask of a row, counted over all powers.
    pub fn label(number: usize) -> hush_ring::ExpandLabel {
        let levels = SWITCH.levels as usize;
        rotation_label((number / levels) as u32, (number % levels) as u32, 1)
    }

    /// The set with its ring.
    pub fn context(&self) -> &Context {
        &self.context
    }
    /// The ring that ciphertexts come from.
    pub fn source(&self) -> &Ring {
        &self.ring
    }
    /// Powers of the secret that it takes.
    pub fn powers(&self) -> u32 {
        self.powers
    }

    /// The coefficient at place 0 of a ciphertext, as a ciphertext of its own. Components are polynomials of coefficients modulo the prime, the body first; one is taken for each power of the secret.
    ///
    /// # Noise
    /// Less than [`hush_params::tfhe::TfheSet::bridge_error`].
    ///
    /// # Cost
    /// `p·levels + 2` transforms of degree N.
    ///
    /// # Errors
    /// [`TfheError::Count`] for more components than the key has powers, none, or polynomials of another degree; [`TfheError::Residue`].
    pub fn first_coefficient(&self, components: &[&[u64]]) -> Result<Lwe, TfheError> {
        let degree = self.ring.degree();
        let (found, expected) = (components.len() as u64, u64::from(self.powers) + 1);
        let [body, masks @ ..] = components else {
            return Err(TfheError::Count { what: "components", found, expected });
        };
        if found > expected {
            return Err(TfheError::Count { what: "components", found, expected });
        }
        for component in components {
            if component.len() != degree {
                let (found, expected) = (component.len() as u64, degree as u64);
                return Err(TfheError::Count { what: "coefficients", found, expected });
            }
            if !self.limb.all_below(component) {
                return Err(TfheError::Residue);
            }
        }
        let mut sums = Words::zeroed(2 * degree);
        if !masks.is_empty() {
            let mut digits = Digits::new(&self.limb, degree, SWITCH, masks.len());
            digits.cut(|number, quotient| quotient.copy_from_slice(masks[number]));
            let rows = 2 * degree * SWITCH.levels as usize * masks.len();
            digits.multiply(&self.words[..rows], &mut sums);
        }
        let (switched, mask) = sums.split_at(degree);
        let (q, own) = (self.context.modulus(), self.context.set().degree());
        let step = degree / own;
        let first = std::iter::once(mask[0]);
        let others = (1..own).map(|place| q.neg(mask[degree - place * step]));
        let body = q.add(body[0], switched[0]);
        Ok(Lwe::of_residues(q, first.chain(others).chain([body]).collect()))
    }
}

#[cfg(test)]
mod tests;
