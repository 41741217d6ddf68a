// SPDX-License-Identifier: Apache-2.0
//! The operations that a vector unit must provide, and the kernels that are written once for all units.
//!
//! A kernel is generic over the traits of this file; `L` is the number of residues that a register holds. A path
//! implements the traits, and its bounds are constants that kernels ask for:
//!
//! | trait | provides | used by |
//! |---|---|---|
//! | [`Isa`] | a proof that the machine has the path, and code that is compiled with its instructions | all |
//! | [`Vector`] | the three below, for one modulus | all |
//! | [`Residues`] | loads, stores, products | [`pointwise`], [`lift`], [`convert`] |
//! | [`Sums`] | sums of many products with few reductions | [`convert`], [`product`] |
//! | [`Butterflies`] | lazy arithmetic of transforms, transposition | [`ntt`] |
//!
//! *Inlining.* A kernel becomes straight code only when everything in it is inlined before its small loops are unrolled.
//! The compiler promises that for `#[inline(always)]` functions and closures alone, which may not name target features.
//! So the entries alone name them, the functions that `dispatch!` and [`Isa::run`] define, and everything below carries the attribute,
//! closures included. Slices that a kernel writes are parameters of its entry: there the compiler knows that they overlap with
//! nothing, as it does not for what a closure captures. Arrays of vectors are filled by loops: the closures of `array::map` and
//! `array::from_fn` would not be inlined in time.
//!
//! *Tails.* One strategy, in [`zip`]: the end of a slice, beyond whole vectors, is copied to a vector of zeros, goes through the same code,
//! and is copied back. Zero is a valid operand of every kernel.
//!
//! The portable vector of the tests follows these traits with any number of lanes, and checks the bounds as it computes.

pub(crate) mod convert;
pub(crate) mod lift;
pub(crate) mod ntt;
pub(crate) mod pointwise;
#[cfg(test)]
mod portable;
pub(crate) mod product;
#[cfg(test)]
mod tests;
pub(crate) mod zip;

use std::borrow::Cow;

use hush_arith::Modulus;

use crate::ntt::{
    schedule::Limits,
    tables::{Twiddle, TwiddleWord},
};

/// The bit length of a modulus from which reductions of whole words and of sums are exact on every path: below it a word
/// has quotients that are no exact doubles, and that 52-bit estimates miss by more than one.
pub(crate) const MIN_WORD_BITS: u32 = 16;

/// Proof that the machine has an instruction set. Values come from detection alone.
pub(crate) trait Isa: Copy {
    /// Runs a kernel that is compiled with the instruction set, if it is `#[inline(always)]` all through. The data are known not to
    /// overlap with anything else if they are one exclusive slice.
    fn run<D, R>(self, data: D, kernel: impl FnOnce(D) -> R) -> R;
}

/// An instruction set with registers of `L` residues.
pub(crate) trait Vector<const L: usize>: Isa {
    /// The number type of the transforms' tables.
    type Word: TwiddleWord;
    type Sums: Sums<L>;
    type Butterflies: Butterflies<L, Word = Self::Word>;

    /// Arithmetic for element-wise kernels and sums.
    fn residues(self, modulus: Modulus) -> Self::Sums;

    /// Arithmetic for transforms.
    fn butterflies(self, modulus: Modulus) -> Self::Butterflies;
}

/// Arithmetic modulo a prime on `L` residues at a time.
///
/// *Ranges.* A vector is **canonical** when its residues lie in `[0, q)`, and **reduced** when they lie in the range that
/// products take and give, which is the path's own: canonical for integers, `[−q, q]` for doubles.
pub(crate) trait Residues<const L: usize>: Copy {
    /// `L` residues in a register.
    type V: Copy;
    /// A constant residue in every lane, prepared for multiplication.
    type Factor: Copy;

    /// Canonical words.
    fn load(&self, words: &[u64; L]) -> Self::V;

    /// Stores a canonical vector.
    fn store(&self, words: &mut [u64; L], x: Self::V);

    /// The canonical vector of a reduced one.
    fn canonical(&self, x: Self::V) -> Self::V;

    /// `a − b`, reduced, for canonical vectors.
    fn sub(&self, a: Self::V, b: Self::V) -> Self::V;

    /// `a·b`, reduced, for reduced vectors.
    fn mul(&self, a: Self::V, b: Self::V) -> Self::V;

    /// `a.0·b.0 + a.1·b.1`, reduced, for reduced vectors.
    fn mul_pairs(&self, a: (Self::V, Self::V), b: (Self::V, Self::V)) -> Self::V;

    /// `acc + a·b`, canonical, for a canonical `acc` and reduced factors.
    fn mul_add(&self, acc: Self::V, a: Self::V, b: Self::V) -> Self::V;

    /// The canonical word `w` as a factor.
    fn factor(&self, modulus: Modulus, w: u64) -> Self::Factor;

    /// `y·w`, canonical, for a reduced `y`.
    fn mul_factor(&self, y: Self::V, w: Self::Factor) -> Self::V;

    /// `acc + y·w`, canonical, for a canonical `acc` and a `y` that is reduced or comes from [`Residues::load_small`].
    fn mul_add_factor(&self, acc: Self::V, y: Self::V, w: Self::Factor) -> Self::V;

    /// Integers with the residues of these, for [`Residues::mul_add_factor`] alone.
    fn load_small(&self, integers: &[i32; L]) -> Self::V;

    /// The constant of [`Residues::load_signed`].
    fn word_shift(&self, modulus: Modulus) -> Self::Factor;

    /// The canonical residues of signed words, if `q` has at least [`MIN_WORD_BITS`] bits.
    fn load_signed(&self, integers: &[i64; L], shift: Self::Factor) -> Self::V;
}

/// Sums of products with few reductions, if `q` has at least [`MIN_WORD_BITS`] bits.
pub(crate) trait Sums<const L: usize>: Residues<L> {
    /// Products that a sum takes on top of a reduced vector.
    const BATCH: usize;
    /// `L` sums of at most [`Sums::BATCH`] products.
    type Sum: Copy;
    /// A weight in memory, prepared once for many columns.
    type Number: Copy;
    /// A weight in every lane.
    type Weight: Copy;

    /// Products of canonical vectors that a sum takes on top of a reduced one, modulo a prime of so many bits: at least [`Sums::BATCH`].
    fn most_products(_bits: u32) -> usize {
        Self::BATCH
    }

    /// The sum that starts with a reduced vector.
    fn start(&self, x: Self::V) -> Self::Sum;

    /// `sum + a·b` for canonical vectors.
    fn add_product(&self, sum: Self::Sum, a: Self::V, b: Self::V) -> Self::Sum;

    /// The canonical words as numbers.
    fn numbers<'w>(&self, modulus: Modulus, words: &'w [u64]) -> Cow<'w, [Self::Number]>;

    /// The number in every lane.
    fn weight(&self, number: &Self::Number) -> Self::Weight;

    /// The integers in the low 52 bits, which must be below `2^47`, for [`Sums::add_weighted`] alone.
    fn load_digits(&self, words: &[u64; L]) -> Self::V;

    /// The integers from bit 52 on, for [`Sums::add_weighted`] alone.
    fn load_tags(&self, words: &[u64; L]) -> Self::V;

    /// `sum + y·w`.
    fn add_weighted(&self, sum: Self::Sum, y: Self::V, w: Self::Weight) -> Self::Sum;

    /// The sum, reduced.
    fn reduce_sum(&self, sum: Self::Sum) -> Self::V;

    /// A vector of zeros.
    fn zero(&self) -> Self::V;
}

/// Lazy arithmetic modulo a prime, for transforms.
///
/// *Ranges.* Vectors are kept modulo `q` and within bounds that [`Butterflies::LIMITS`] states in units of `q`; the walk over the
/// passes asks for reductions where the bounds demand them. A vector is **lazy** when it is within `reset`.
pub(crate) trait Butterflies<const L: usize>: Copy {
    /// `L` residues in a register.
    type V: Copy;
    /// A twiddle in every lane, or one for each.
    type Factor: Copy;
    /// The number type of tables.
    type Word: TwiddleWord;

    /// The bounds of the path.
    const LIMITS: Limits;
    /// The largest number of rows that a pass keeps in registers.
    const MAX_RADIX: usize;
    /// Whether two columns or blocks go side by side, so that one fills the waits of the other.
    const PAIRS: bool;

    /// The constant in every lane.
    fn splat(&self, w: &Twiddle<Self::Word>) -> Self::Factor;

    /// One constant for each lane: values and companions.
    fn load_factors(&self, values: &[Self::Word; L], companions: &[Self::Word; L]) -> Self::Factor;

    fn zero(&self) -> Self::V;

    /// Canonical words.
    fn load_words(&self, words: &[u64; L]) -> Self::V;

    /// Stores a canonical vector as words.
    fn store_words(&self, words: &mut [u64; L], x: Self::V);

    /// A vector that [`Butterflies::store`] stored.
    fn load(&self, words: &[u64; L]) -> Self::V;

    /// Stores the bits of a vector between two passes.
    fn store(&self, words: &mut [u64; L], x: Self::V);

    /// `(x + w·y, x − w·y)`: both bounds are that of `x` and `growth`. `y` stays below `forward`.
    fn butterfly(&self, x: Self::V, y: Self::V, w: Self::Factor) -> (Self::V, Self::V);

    /// `(x + y, x − y)` for vectors within `layer`: the sum's bound is that of both, the difference's twice `layer`.
    fn sum_difference(&self, x: Self::V, y: Self::V) -> (Self::V, Self::V);

    /// `w·y`, lazy, for `y` within twice `layer`.
    fn mul(&self, y: Self::V, w: Self::Factor) -> Self::V;

    /// `x`, lazy, for `x` within `forward`.
    fn reduce(&self, x: Self::V) -> Self::V;

    /// The canonical vector of a lazy one.
    fn canonical(&self, x: Self::V) -> Self::V;

    /// Transposes `L` vectors as a square matrix.
    fn transpose(&self, rows: [Self::V; L]) -> [Self::V; L];
}
