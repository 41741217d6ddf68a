// SPDX-License-Identifier: Apache-2.0
//! Blind rotations: a polynomial is turned by the phase of a small ciphertext, which nobody sees.

use hush_arith::Modulus;
use hush_ring::{ExpandLabel, MaskPurpose, UniformSeed, Words};
use rayon::prelude::*;

use crate::digits::Digits;
use crate::lwe::Turns;
use crate::{Context, Lwe, Table, TfheError};

/// For each bit of the small secret an encryption of it that products with digits are taken of (RGSW).
///
/// *Layout.* For each bit the rows for the digits of the body, then those of each coefficient polynomial, the lowest digit first; a row is a ciphertext of `k + 1` polynomials in the evaluation
/// domain, the body first. A row of the body encrypts `s_i·2^u` for the unit `2^u` of its digit, one of polynomial `j` the same times `S_j`.
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
        context.set().dimension() * rows_of_bit(context)
    }

    /// Expands the coefficient polynomials of all rows, whose bodies are these, one after another and in the evaluation domain.
    ///
    /// # Memory
    /// `n·(k + 1)²·l·N` words: 62 MB for digits of two bits, 46 MB for gates, up to 220 MB for messages of 8 bits.
    ///
    /// # Errors
    /// [`TfheError::Count`] unless there are [`RotationKey::row_count`] bodies; [`TfheError::Residue`].
    pub fn expand(context: &Context, seed: UniformSeed, bodies: &[u64]) -> Result<Self, TfheError> {
        let (degree, components) = (context.set().degree(), context.set().rank() + 1);
        let of_bit = rows_of_bit(context);
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
            let (bit, of_bit) = ((number / of_bit) as u32, (number % of_bit) as u32);
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

    /// Tables turned back by the phases of ciphertexts, encrypted. One pass over the key for all of them.
    ///
    /// # Math
    /// The accumulator starts as `X^b·T`, turned back, and for each bit becomes `acc + s_i·(X^(−a_i) − 1)·acc`. The product with the bit is `Σ digit·row`: digits are those
    /// of the difference, in units of `2^shift`, rounded. An accumulator of η times the degree is `Σ X^i·acc_i(X^η)` with η polynomials of degree N, its **parts**: the key is one of polynomials in `X^η`, and
    /// multiplies each part by itself. A turn by `a` brings part i to part `i + a` modulo η, turned by the quotient.
    ///
    /// # Cost
    /// `η·(k + 1)·(l + 1)` transforms for each bit and ciphertext.
    pub(crate) fn turn(&self, inputs: &[(Turns, &Table)]) -> Vec<Accumulator> {
        let set = self.context.set();
        let (degree, components, parts) = (set.degree(), set.rank() + 1, set.expansion());
        let places = 2 * set.table_degree();
        let (limb, gadget) = (self.context.limb(), set.gadget());
        let back = |turn: u32| (places - turn as usize) % places;
        let start = |(turns, table): &(Turns, &Table)| {
            let mut words = Words::zeroed(parts * components * degree);
            let mut turned = vec![0; set.table_degree()];
            table.turned(&self.context, back(turns.body), &mut turned);
            for (part, words) in words.chunks_exact_mut(components * degree).enumerate() {
                let own = turned.iter().skip(part).step_by(parts);
                words.iter_mut().zip(own).for_each(|(word, own)| *word = *own);
            }
            Accumulator { words, degree, components }
        };
        let mut accumulators: Vec<Accumulator> = inputs.iter().map(start).collect();
        let mut digits = Digits::new(limb, degree, gadget, components);
        let mut sums = Words::recycled(parts * components * degree);
        for (bit, rows) in
            self.words.chunks_exact(rows_of_bit(&self.context) * components * degree).enumerate()
        {
            for ((turns, _), accumulator) in inputs.iter().zip(&mut accumulators) {
                let turn = turns.mask.get(bit).map_or(0, |turn| back(*turn));
                if turn == 0 {
                    continue;
                }
                for (part, sums) in sums.chunks_exact_mut(components * degree).enumerate() {
                    let from = (part + places - turn) % parts;
                    let turn = (turn + from) / parts % (2 * degree);
                    digits.cut(|component, out| {
                        let pair = (accumulator.part(from, component), accumulator.part(part, component));
                        limb.turned_digits(out, pair, turn, gadget.shift);
                    });
                    digits.multiply(rows, sums);
                }
                limb.add_assign(&mut accumulator.words, &sums);
            }
        }
        accumulators
    }

    /// The first coefficients of tables turned back, as many as each has functions.
    pub(crate) fn rotate(&self, inputs: &[(Turns, &Table)]) -> Vec<Lwe> {
        let found = self.turn(inputs).into_iter().zip(inputs).flat_map(|(accumulator, (_, table))| {
            (0..table.functions()).map(move |place| accumulator.coefficient(self.context.modulus(), place))
        });
        found.collect()
    }
}

/// Rows of one bit.
fn rows_of_bit(context: &Context) -> usize {
    (context.set().rank() + 1) * context.set().gadget().levels as usize
}

/// A ciphertext of a polynomial of η times the degree, part by part, the body first.
pub(crate) struct Accumulator {
    words: Words,
    degree: usize,
    components: usize,
}

impl Accumulator {
    /// A ciphertext of one part.
    pub(crate) fn of_words(words: Words, degree: usize) -> Self {
        let components = words.len() / degree;
        Self { words, degree, components }
    }

    /// All words: of one part, the body and the coefficient polynomials.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    fn part(&self, part: usize, component: usize) -> &[u64] {
        &self.words[(part * self.components + component) * self.degree..][..self.degree]
    }

    /// The coefficient at a place, as a ciphertext of one number.
    ///
    /// # Math
    /// Coefficient p of `c_j·S_j` is `Σ_(m ≤ p) c_j[p − m]·S_j[m] − Σ_(m > p) c_j[N + p − m]·S_j[m]`. In the place `i + η·p` of a polynomial of η parts is place p of part i.
    pub(crate) fn coefficient(&self, q: Modulus, place: usize) -> Lwe {
        let parts = self.words.len() / (self.components * self.degree);
        let (part, place) = (place % parts, place / parts);
        let mut words = Vec::with_capacity((self.components - 1) * self.degree + 1);
        for component in 1..self.components {
            let (front, back) = self.part(part, component).split_at(place + 1);
            words.extend(front.iter().rev());
            words.extend(back.iter().rev().map(|word| q.neg(*word)));
        }
        words.push(self.part(part, 0)[place]);
        Lwe::of_residues(q, words)
    }
}
