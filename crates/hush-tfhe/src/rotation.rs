// SPDX-License-Identifier: Apache-2.0
//! Blind rotations: a polynomial is turned by the phase of a small ciphertext, which nobody sees.

use hush_ring::{ExpandLabel, MaskPurpose, UniformSeed, Words};
use rayon::prelude::*;

use crate::lwe::Turns;
use crate::{Context, Lwe, Table, TfheError};

/// For each bit of the small secret an encryption of it that products with digits are taken of (RGSW).
///
/// *Layout.* For each bit `k + 1` rows, for the digits of the body and of each coefficient polynomial; a row is a ciphertext of `k + 1` polynomials in the evaluation domain,
/// the body first. The row of the body encrypts `s_i·2^shift`, that of polynomial `j` the same times `S_j`.
#[derive(Clone)]
pub struct RotationKey {
    words: Words,
    context: Context,
}

/// The label of polynomial `component` (from 1 on) in row `row` of bit `bit`.
pub fn rotation_label(bit: u32, row: u32, component: u8) -> ExpandLabel {
    ExpandLabel { purpose: MaskPurpose::KeySwitch, column: bit, ring_index: row, lane: component }
}

impl RotationKey {
    /// Rows of a key for a set.
    pub fn row_count(context: &Context) -> usize {
        context.set().dimension() * (context.set().rank() + 1)
    }

    /// Expands the coefficient polynomials of all rows, whose bodies are these, one after another and in the evaluation domain.
    ///
    /// # Memory
    /// `n·(k + 1)²·N` words: 62 MB for digits, 46 MB for gates.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are [`RotationKey::row_count`] bodies; [`TfheError::Residue`].
    pub fn expand(context: &Context, seed: UniformSeed, bodies: &[u64]) -> Result<Self, TfheError> {
        let (degree, components) = (context.set().degree(), context.set().rank() + 1);
        let (found, expected) = (bodies.len() as u64, (Self::row_count(context) * degree) as u64);
        if found != expected {
            return Err(TfheError::Count { what: "residues of a rotation key", found, expected });
        }
        if !context.limb().all_below(bodies) {
            return Err(TfheError::Residue);
        }
        let mut words = Words::recycled(bodies.len() * components);
        let rows = words.par_chunks_exact_mut(components * degree).zip(bodies.par_chunks_exact(degree));
        rows.enumerate().for_each(|(number, (row, body))| {
            let (bit, of_bit) = ((number / components) as u32, (number % components) as u32);
            let (first, masks) = row.split_at_mut(degree);
            first.copy_from_slice(body);
            for (component, mask) in (1..).zip(masks.chunks_exact_mut(degree)) {
                seed.expand_limb(context.ring(), rotation_label(bit, of_bit, component), 0, mask);
            }
        });
        Ok(Self { words, context: context.clone() })
    }

    /// The set with its ring.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// What each table holds at the place that its ciphertext's phase names. One pass over the key for all of them.
    ///
    /// # Math
    /// The accumulator starts as `X^b·T`, turned back, and for each bit becomes `acc + s_i·(X^(−a_i) − 1)·acc`. The product with the bit is `Σ digit·row`: digits are those
    /// of the difference, in units of `2^shift`, rounded.
    ///
    /// # Cost
    /// `2·(k + 1)` transforms for each bit and ciphertext.
    pub(crate) fn rotate(&self, inputs: &[(Turns, &Table)]) -> Vec<Lwe> {
        let set = self.context.set();
        let (degree, components) = (set.degree(), set.rank() + 1);
        let limb = self.context.limb();
        let back = |turn: u32| (2 * degree - turn as usize) % (2 * degree);
        let mut accumulators: Vec<Words> = inputs
            .iter()
            .map(|(turns, table)| {
                let mut accumulator = Words::zeroed(components * degree);
                table.turned(&self.context, back(turns.body), &mut accumulator[..degree]);
                accumulator
            })
            .collect();
        let mut digits = Words::recycled(components * degree);
        let mut sums = Words::recycled(components * degree);
        for (bit, rows) in self.words.chunks_exact(components * components * degree).enumerate() {
            for ((turns, _), accumulator) in inputs.iter().zip(&mut accumulators) {
                let turn = turns.mask.get(bit).map_or(0, |turn| back(*turn));
                if turn == 0 {
                    continue;
                }
                for (digits, part) in digits.chunks_exact_mut(degree).zip(accumulator.chunks_exact(degree)) {
                    limb.turned_digits(digits, part, turn, set.gadget_shift());
                    limb.forward(digits);
                }
                let pairs: Vec<(&[u64], &[u64])> =
                    digits.chunks_exact(degree).zip(rows.chunks_exact(components * degree)).collect();
                limb.multiply_sum(degree, &mut sums, &pairs);
                for (part, sum) in accumulator.chunks_exact_mut(degree).zip(sums.chunks_exact_mut(degree)) {
                    limb.inverse(sum);
                    limb.add_assign(part, sum);
                }
            }
        }
        accumulators.iter().map(|accumulator| self.first(accumulator)).collect()
    }

    /// The first coefficient of a ciphertext of polynomials.
    ///
    /// # Math
    /// That of `c_j·S_j` is `c_j[0]·S_j[0] − Σ c_j[m]·S_j[N − m]`.
    fn first(&self, accumulator: &[u64]) -> Lwe {
        let (degree, q) = (self.context.set().degree(), self.context.modulus());
        let (body, masks) = accumulator.split_at(degree);
        let mut words = Vec::with_capacity(masks.len() + 1);
        for mask in masks.chunks_exact(degree) {
            words.push(mask[0]);
            words.extend(mask[1..].iter().rev().map(|word| q.neg(*word)));
        }
        words.push(body[0]);
        Lwe::of_residues(q, words)
    }
}
