// SPDX-License-Identifier: Apache-2.0
//! One prime of a ring, with its loops on slices of `N` words.
//!
//! The hot paths of the layers above work limb by limb on borrowed slices, so that nothing is allocated and a
//! chunk stays in cache. Residues go in and come out canonical unless a method says otherwise.
//!
//! # Panics
//! Methods that take several slices panic if the lengths differ, transforms if a slice has not `N` words: both
//! are fixed by the layout, never by data.

use std::ops::Range;
use std::sync::Arc;

use hush_arith::Modulus;
use hush_kernels::{
    AesCtr128, BitWidth, Cpu, NttPlan, bits, convert, gadget, lazy, lift, pointwise, product, sample,
};

use crate::RingError;

/// A prime and its precomputed tables; cheap to clone.
#[derive(Clone, Debug)]
pub struct RingLimb {
    plan: Arc<NttPlan>,
    width: BitWidth,
}

impl RingLimb {
    pub(crate) fn new(plan: NttPlan, width: BitWidth) -> Self {
        Self { plan: Arc::new(plan), width }
    }

    /// The loops for slots modulo a plaintext prime, `N` of them.
    ///
    /// # Errors
    /// A [`RingError`] unless `modulus` is a prime in range with `modulus ≡ 1 mod 2·degree`.
    pub fn plaintext(degree: usize, modulus: u64, cpu: Cpu) -> Result<Self, RingError> {
        let modulus = Modulus::new(modulus)?;
        Ok(Self::new(NttPlan::new(modulus, degree, cpu)?, BitWidth::of_modulus(modulus)))
    }

    /// The prime.
    pub fn modulus(&self) -> Modulus {
        self.plan.modulus()
    }

    pub(crate) fn cpu(&self) -> Cpu {
        self.plan.cpu()
    }

    /// Coefficients to values, in place.
    pub fn forward(&self, words: &mut [u64]) {
        self.plan.forward(words);
    }
    /// Values to coefficients, in place.
    pub fn inverse(&self, words: &mut [u64]) {
        self.plan.inverse(words);
    }

    /// `out += x`.
    pub fn add_assign(&self, out: &mut [u64], x: &[u64]) {
        pointwise::add_assign(self.cpu(), self.modulus(), out, x);
    }
    /// `out −= x`.
    pub fn sub_assign(&self, out: &mut [u64], x: &[u64]) {
        pointwise::sub_assign(self.cpu(), self.modulus(), out, x);
    }
    /// `out = a + b`, entry by entry.
    pub fn add_into(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        pointwise::add_into(self.cpu(), self.modulus(), out, a, b);
    }
    /// `out = a − b`, entry by entry.
    pub fn sub_into(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        pointwise::sub_into(self.cpu(), self.modulus(), out, a, b);
    }
    /// `words = −words`.
    pub fn neg_assign(&self, words: &mut [u64]) {
        pointwise::neg_assign(self.cpu(), self.modulus(), words);
    }
    /// `out *= x`, entry by entry.
    pub fn mul_assign(&self, out: &mut [u64], x: &[u64]) {
        pointwise::mul_assign(self.cpu(), self.modulus(), out, x);
    }
    /// `out = a·b`, entry by entry.
    pub fn mul_into(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        pointwise::mul_into(self.cpu(), self.modulus(), out, a, b);
    }
    /// `out += a·b`, entry by entry.
    pub fn mul_add_assign(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        pointwise::mul_add_assign(self.cpu(), self.modulus(), out, a, b);
    }
    /// `out = (a_0·b_0, a_0·b_1 + a_1·b_0, a_1·b_1)`, entry by entry.
    pub fn tensor(&self, out: [&mut [u64]; 3], a: (&[u64], &[u64]), b: (&[u64], &[u64])) {
        pointwise::tensor(self.cpu(), self.modulus(), out, a, b);
    }
    /// `out += scalar·(a_0·b_0, a_0·b_1 + a_1·b_0)`, entry by entry, for a canonical scalar.
    pub fn tensor_add_assign(
        &self,
        out: (&mut [u64], &mut [u64]),
        a: (&[u64], &[u64]),
        b: (&[u64], &[u64]),
        scalar: u64,
    ) {
        pointwise::tensor_add_assign(self.cpu(), self.modulus(), out, a, b, scalar);
    }
    /// `out = a·b` for polynomials in the secret; see [`product::multiply`].
    pub fn multiply(&self, places: usize, out: &mut [u64], operands: (&[u64], &[u64])) {
        product::multiply(self.cpu(), self.modulus(), places, out, operands);
    }
    /// `acc += Σ a·b` for polynomials in the secret; see [`product::multiply_add`].
    pub fn multiply_add(&self, places: usize, acc: &mut [u64], pairs: &[(&[u64], &[u64])]) {
        product::multiply_add(self.cpu(), self.modulus(), places, acc, pairs);
    }
    /// `out = Σ a·b` for polynomials in the secret; see [`product::multiply_sum`].
    pub fn multiply_sum(&self, places: usize, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
        product::multiply_sum(self.cpu(), self.modulus(), places, out, pairs);
    }
    /// The same in some of the places, added to what is there.
    pub fn multiply_add_within(
        &self,
        places: (usize, Range<usize>),
        acc: &mut [u64],
        pairs: &[(&[u64], &[u64])],
    ) {
        product::multiply_add_within(self.cpu(), self.modulus(), places, acc, pairs);
    }
    /// The digits of `X^turn·moved − x`, rounded, in units of `2^shift`; see [`gadget::turned_digits`].
    pub fn turned_digits(&self, out: &mut [u64], (moved, x): (&[u64], &[u64]), turn: usize, shift: u32) {
        gadget::turned_digits(self.cpu(), self.modulus(), out, (moved, x), turn, shift);
    }
    /// Residues nearest to 0 in units of `2^shift`, rounded; see [`gadget::round`].
    pub fn round(&self, words: &mut [u64], shift: u32) {
        gadget::round(self.cpu(), self.modulus(), words, shift);
    }
    /// Cuts the lowest digit off; see [`gadget::cut_digits`].
    pub fn cut_digits(&self, low: &mut [u64], rest: &mut [u64], bits: u32) {
        gadget::cut_digits(self.cpu(), self.modulus(), low, rest, bits);
    }
    /// `words *= scalar`, for a canonical scalar.
    pub fn mul_scalar_assign(&self, words: &mut [u64], scalar: u64) {
        pointwise::mul_scalar_assign(self.cpu(), self.modulus(), words, scalar);
    }

    /// `out += scalar·x`, for a canonical scalar.
    pub fn mul_scalar_add_assign(&self, out: &mut [u64], x: &[u64], scalar: u64) {
        pointwise::mul_scalar_add_assign(self.cpu(), self.modulus(), out, x, scalar);
    }

    /// `out = Σ weights[i]·rows[i]`, column by column, for rows of any modulus and canonical weights; the last weight belongs to
    /// the tags of the first row; see [`convert::tagged_sum`].
    pub fn tagged_sum(&self, out: &mut [u64], rows: &[u64], weights: &[u64]) {
        convert::tagged_sum(self.cpu(), self.modulus(), out, rows, weights);
    }
    /// `out.k = Σ a[i]·b.k[i]`, column by column: two sums that share a factor.
    pub fn dot_pair(&self, out: (&mut [u64], &mut [u64]), a: &[&[u64]], b: (&[&[u64]], &[&[u64]])) {
        convert::dot_pair(self.cpu(), self.modulus(), out, a, b);
    }
    /// `out = (out − x)·factor`, for a canonical factor.
    pub fn sub_scale_assign(&self, out: &mut [u64], x: &[u64], factor: u64) {
        convert::sub_scale_assign(self.cpu(), self.modulus(), out, x, factor);
    }
    /// `out = alpha·out + beta·x`, for canonical factors.
    pub fn combine_assign(&self, out: &mut [u64], alpha: u64, x: &[u64], beta: u64) {
        convert::combine_assign(self.cpu(), self.modulus(), out, alpha, x, beta);
    }
    /// `out` = the integers nearest to zero that are `x` modulo `source`, which is at most twice this prime.
    pub fn recenter(&self, source: Modulus, out: &mut [u64], x: &[u64]) {
        convert::recenter(self.cpu(), source, self.modulus(), out, x);
    }
    /// The odd exponent `e` such that entry `index` of a transform is the value at `ψ^e`.
    pub fn root_exponent(&self, index: usize) -> usize {
        self.plan.root_exponent(index)
    }

    /// Residues of signed words.
    pub fn lift_signed(&self, source: &[i64], out: &mut [u64]) {
        lift::lift_signed(self.cpu(), self.modulus(), source, out);
    }
    /// `out += scale·error`, for a canonical scale: the noise `t·e` of a BGV encoding.
    pub fn add_scaled_error(&self, out: &mut [u64], error: &[i32], scale: u64) {
        lift::add_scaled_error(self.cpu(), self.modulus(), out, error, scale);
    }

    /// The uniform residues that belong to a stream's key and nonce. Public data only.
    pub(crate) fn fill_uniform(&self, key: [u8; 16], nonce: u64, out: &mut [u64]) {
        AesCtr128::new(self.cpu(), &key).fill_uniform(nonce, self.modulus(), out);
    }

    /// Adds the residues of [`RingLimb::fill_uniform`] to accumulators without reduction.
    pub(crate) fn accumulate_uniform(&self, key: [u8; 16], nonce: u64, sums: &mut [u64]) {
        AesCtr128::new(self.cpu(), &key).accumulate_uniform(nonce, self.modulus(), sums);
    }

    /// Bytes that `count` packed residues take.
    pub fn packed_bytes(&self, count: usize) -> usize {
        self.width.packed_bytes(count)
    }
    /// Packs residues, [`RingLimb::packed_bytes`] of them.
    pub fn pack(&self, words: &[u64], packed: &mut [u8]) {
        bits::pack_bits(self.cpu(), self.width, words, packed);
    }
    /// Unpacks residues. They are below `2^width`; whether they are below the prime, [`RingLimb::all_below`] says. Bytes that are not there are
    /// zeros: of a cut body the last limbs are short.
    pub fn unpack(&self, packed: &[u8], words: &mut [u64]) {
        let whole = self.packed_bytes(words.len());
        if packed.len() >= whole {
            return bits::unpack_bits(self.cpu(), self.width, packed, words);
        }
        let mut padded = vec![0; whole];
        padded[..packed.len()].copy_from_slice(packed);
        bits::unpack_bits(self.cpu(), self.width, &padded, words);
    }
    /// Asks for packed residues that are unpacked soon; see [`bits::prefetch`].
    pub fn prefetch(&self, packed: &[u8]) {
        bits::prefetch(self.cpu(), packed);
    }
    /// Bits of a packed residue.
    pub fn width_bits(&self) -> usize {
        self.width.bits() as usize
    }
    /// The sum of `N` packed residues, canonical: `N` of at most 47 bits fit a word for every ring.
    pub fn unpack_sum(&self, packed: &[u8]) -> u64 {
        let count = self.plan.degree();
        self.modulus().reduce_u64(bits::unpack_sum(self.cpu(), self.width, packed, count))
    }
    /// Whether all words are canonical.
    pub fn all_below(&self, words: &[u64]) -> bool {
        bits::all_below(self.cpu(), words, self.modulus().value())
    }

    /// Adds residues to accumulators without reduction; see [`lazy::MAX_SUM_TERMS`].
    pub fn accumulate(&self, sums: &mut [u64], x: &[u64]) {
        lazy::accumulate(self.cpu(), sums, x);
    }
    /// Reduces any words.
    pub fn reduce_assign(&self, words: &mut [u64]) {
        lazy::reduce_assign(self.cpu(), self.modulus(), words);
    }
    /// Adds products to two-word accumulators without reduction; see [`lazy::MAX_PRODUCT_TERMS`].
    pub fn mul_accumulate(&self, low: &mut [u64], high: &mut [u64], a: &[u64], b: &[u64]) {
        lazy::mul_accumulate(self.cpu(), low, high, a, b);
    }
    /// Reduces two-word accumulators.
    pub fn reduce_wide(&self, out: &mut [u64], low: &[u64], high: &[u64]) {
        lazy::reduce_wide(self.cpu(), self.modulus(), out, low, high);
    }
}

/// Centred binomial errors of parameter 21 from `6` random bytes each. Constant-time.
///
/// # Panics
/// If `random` is not [`ERROR_BYTES`] times as long as `out`.
pub fn sample_errors(cpu: Cpu, random: &[u8], out: &mut [i32]) {
    sample::cbd21_into(cpu, random, out);
}

/// Uniform ternary values from `8` random bytes each. Constant-time.
///
/// # Panics
/// If `random` is not [`TERNARY_BYTES`] times as long as `out`.
pub fn sample_ternary(cpu: Cpu, random: &[u8], out: &mut [i8]) {
    sample::ternary_into(cpu, random, out);
}

/// Random bytes per error.
pub const ERROR_BYTES: usize = sample::CBD21_BYTES;
/// Random bytes per ternary value.
pub const TERNARY_BYTES: usize = sample::TERNARY_BYTES;
