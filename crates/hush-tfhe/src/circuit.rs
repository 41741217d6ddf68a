// SPDX-License-Identifier: Apache-2.0
//! Circuit bootstrapping: from ciphertexts of bits to selectors, which choose between two ciphertexts.
//!
//! # Math
//! A **selector** of a bit m encrypts `m·2^u` and `m·2^u·S` for every unit `2^u` of its digits, in rows as those of a [`RotationKey`](crate::RotationKey). One rotation, whose table has a
//! function for every unit, gives `m·2^u` in as many coefficients of one ciphertext. Each is turned to place 0. The trace then leaves that coefficient alone:
//!
//! ```text
//!   x ← x + σ_t(x)     σ_t: X ↦ X^(N/2^(t − 1) + 1), for t = 1 … log2 N
//! ```
//!
//! Step t doubles coefficients whose place is a multiple of `2^t` and cancels those at odd multiples of `2^(t − 1)`. The ciphertext is divided by N before, modulo the prime, so that
//! what remains has its value and its error of before. An automorphism brings `x` under the secret `σ_t(S)`; digits of its mask times rows that encrypt `σ_t(S)·2^u` bring it back. For the row of the
//! mask, a ciphertext `(b, a)` of m becomes one of `m·S`: `b·S + a·S²`, where digits of `a` times rows that encrypt `S²·2^u` give the second part, and b is added to the mask.
//!
//! *References.* Automorphisms for the trace: Chen, Dai, Kim and Song, ACNS 2021. Circuit bootstrapping: Chillotti et al., J. Cryptology 2020; by automorphisms: Wang et al., Eurocrypt 2024.

use hush_ring::{UniformSeed, Words};
use rayon::prelude::*;

use crate::digits::Digits;
use crate::rotation::Accumulator;
use crate::{Context, Lwe, ServerKey, Table, TfheError, rotation_label};
use hush_params::tfhe::{CircuitDigits, Gadget};

/// The keys that bring ciphertexts back under the secret: for each automorphism of the trace, and for the square.
///
/// *Layout.* `log2 N + 1` keys, of steps 1 to `log2 N` and of the square; each has a row for each digit, the lowest first; a row is a body and a mask in the evaluation domain.
#[derive(Clone)]
pub struct CircuitKey {
    words: Words,
    context: Context,
    digits: CircuitDigits,
}

/// A bit that chooses between two ciphertexts.
#[derive(Clone)]
pub struct Selector {
    /// Rows in the evaluation domain, those for digits of the body first.
    pub(crate) words: Words,
    pub(crate) code: u16,
}

impl Selector {
    /// Its rows in the evaluation domain, of body and mask each: for every digit of a body, the lowest first, and for every digit of a mask.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

impl CircuitKey {
    /// Rows of a key for a set.
    ///
    /// # Errors
    /// [`TfheError::NoCircuit`] for a set without circuit bootstrapping.
    pub fn row_count(context: &Context) -> Result<usize, TfheError> {
        let steps = context.set().degree().trailing_zeros() as usize;
        Ok((steps + 1) * digits_of(context)?.switch.levels as usize)
    }

    /// The polynomial under the automorphism of a step, from 1 on, coefficient by coefficient.
    ///
    /// # Timing
    /// Independent of coefficients.
    ///
    /// # Panics
    /// If a polynomial has not `N` coefficients.
    pub fn moved(context: &Context, step: usize, polynomial: &[u64], out: &mut [u64]) {
        let (degree, q) = (context.set().degree(), context.modulus());
        assert!(polynomial.len() == degree && out.len() == degree, "polynomials must have the ring's degree");
        let element = ((2 * degree) >> step) + 1;
        let mut to = 0;
        for word in polynomial {
            out[to & (degree - 1)] = if to < degree { *word } else { q.neg(*word) };
            to = (to + element) & (2 * degree - 1);
        }
    }

    /// Expands the masks of all rows, whose bodies are these, one after another and in the evaluation domain. The label of a row is that of a rotation key, with the number of the key for the bit.
    ///
    /// # Memory
    /// `2·N` words for each row: 3.1 MB.
    ///
    /// # Errors
    /// [`TfheError::NoCircuit`]; [`TfheError::Count`] unless there are [`CircuitKey::row_count`] bodies; [`TfheError::Residue`].
    pub fn expand(context: &Context, seed: UniformSeed, bodies: &[u64]) -> Result<Self, TfheError> {
        let (degree, digits) = (context.set().degree(), digits_of(context)?);
        let (found, expected) = (bodies.len() as u64, (Self::row_count(context)? * degree) as u64);
        if found != expected {
            return Err(TfheError::Count { what: "residues of a circuit key", found, expected });
        }
        if !context.limb().all_below(bodies) {
            return Err(TfheError::Residue);
        }
        let levels = digits.switch.levels as usize;
        let mut words = Words::recycled(2 * bodies.len());
        let rows = words.par_chunks_exact_mut(2 * degree).zip(bodies.par_chunks_exact(degree));
        rows.enumerate().for_each(|(number, (row, body))| {
            let (first, mask) = row.split_at_mut(degree);
            first.copy_from_slice(body);
            let label = rotation_label((number / levels) as u32, (number % levels) as u32, 1);
            seed.expand_limb(context.ring(), label, 0, mask);
        });
        Ok(Self { words, context: context.clone(), digits })
    }

    /// Selectors of bits: ciphertexts of the messages 0 and 1, as they come from bootstrappings or wide look-ups. A message beyond 1 gives a selector of nothing.
    ///
    /// # Cost
    /// One rotation each, and `l_c·(log2 N + 1)·(l_t + 2)` transforms more, with `l_c` levels of selectors and `l_t` of the keys.
    ///
    /// # Errors
    /// [`TfheError::Mixed`] for keys or ciphertexts of another set.
    pub fn selectors(&self, key: &ServerKey, bits: &[&Lwe]) -> Result<Vec<Selector>, TfheError> {
        let set = self.context.set();
        if key.context().set() != set {
            return Err(TfheError::Mixed { expected: set.name() });
        }
        key.expect_own(bits.iter().copied())?;
        let table = self.table()?;
        let q = self.context.modulus();
        let share = q.inv(q.reduce_u64(set.degree() as u64)).map_err(|_| TfheError::Residue)?;
        // A message of p bits below one that stays 0: times 2^(p − 1) it is a quarter.
        let factor = self.context.message_count() / 2;
        Ok(key.in_groups(bits, |group| {
            let scaled: Vec<Lwe> = group.iter().map(|bit| bit.scaled(factor)).collect();
            let turned = key.turned(&scaled.iter().collect::<Vec<_>>(), |_| &table);
            key.rotation().turn(&turned).iter().map(|accumulator| self.selector(accumulator, share)).collect()
        }))
    }

    /// For the message 1 every unit of the digits of a selector, 0 for the message 0.
    fn table(&self) -> Result<Table, TfheError> {
        let q = self.context.modulus();
        let units: Vec<u64> = self.digits.selector.units().map(|unit| q.reduce_u64(1 << unit)).collect();
        let value = |message: u64, function: usize| {
            // Functions are as many as a power of two.
            Ok(if message == 1 { units.get(function).copied().unwrap_or(0) } else { 0 })
        };
        Table::laid_out(&self.context, (2, units.len().next_power_of_two()), value)
    }

    /// The selector of what has a unit of each level in its first coefficients.
    fn selector(&self, accumulator: &Accumulator, share: u64) -> Selector {
        let (degree, limb) = (self.context.set().degree(), self.context.limb());
        let levels = self.digits.selector.levels as usize;
        let mut words = Words::zeroed(4 * levels * degree);
        let (bodies, masks) = words.split_at_mut(2 * levels * degree);
        let rows = bodies.chunks_exact_mut(2 * degree).zip(masks.chunks_exact_mut(2 * degree));
        for (level, (of_body, of_mask)) in rows.enumerate() {
            for (out, part) in of_body.chunks_exact_mut(degree).zip(accumulator.words().chunks_exact(degree))
            {
                self.turned_back(out, part, level);
                limb.mul_scalar_assign(out, share);
            }
            self.trace(of_body);
            let mut digits = Digits::new(limb, degree, self.digits.switch, 1);
            let (body, mask) = of_body.split_at(degree);
            self.switch(&mut digits, mask, self.trace_steps(), of_mask);
            limb.add_assign(&mut of_mask[degree..], body);
            of_body.chunks_exact_mut(degree).for_each(|row| limb.forward(row));
            of_mask.chunks_exact_mut(degree).for_each(|row| limb.forward(row));
        }
        Selector { words, code: self.context.set().code() }
    }

    fn trace_steps(&self) -> usize {
        self.context.set().degree().trailing_zeros() as usize
    }

    /// `X^(−places)` times a polynomial.
    fn turned_back(&self, out: &mut [u64], polynomial: &[u64], places: usize) {
        let q = self.context.modulus();
        let (front, rest) = polynomial.split_at(places);
        let (low, high) = out.split_at_mut(rest.len());
        low.copy_from_slice(rest);
        high.iter_mut().zip(front).for_each(|(out, word)| *out = q.neg(*word));
    }

    /// Leaves N times the first coefficient of a ciphertext, body and mask, and cancels the others.
    fn trace(&self, ciphertext: &mut [u64]) {
        let (degree, limb) = (self.context.set().degree(), self.context.limb());
        let mut digits = Digits::new(limb, degree, self.digits.switch, 1);
        let mut moved = Words::recycled(2 * degree);
        let mut back = Words::recycled(2 * degree);
        for step in 1..=self.trace_steps() {
            for (out, part) in moved.chunks_exact_mut(degree).zip(ciphertext.chunks_exact(degree)) {
                Self::moved(&self.context, step, part, out);
            }
            let (body, mask) = moved.split_at(degree);
            self.switch(&mut digits, mask, step - 1, &mut back);
            limb.add_assign(ciphertext, &back);
            limb.add_assign(&mut ciphertext[..degree], body);
        }
    }

    /// Digits of a mask times the rows of a key: `mask·key` under the secret.
    fn switch(&self, digits: &mut Digits<'_>, mask: &[u64], key: usize, out: &mut [u64]) {
        let (degree, Gadget { shift, levels, .. }) = (mask.len(), self.digits.switch);
        let limb = self.context.limb();
        digits.cut(|_, quotient| {
            quotient.copy_from_slice(mask);
            limb.round(quotient, shift);
        });
        let rows = 2 * degree * levels as usize;
        digits.multiply(&self.words[key * rows..][..rows], out);
    }
}

/// The digits of circuit bootstrapping that a set has.
pub(crate) fn digits_of(context: &Context) -> Result<CircuitDigits, TfheError> {
    let set = context.set();
    set.circuit().ok_or(TfheError::NoCircuit { set: set.name() })
}
