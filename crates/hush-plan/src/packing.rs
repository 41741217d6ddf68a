// SPDX-License-Identifier: Apache-2.0
//! Packings: how the rows of one quantity sit in ring elements, and what can be computed on them there.
//!
//! A packing is a layout with its plaintext space. Each has a file here that chooses its parameters and says what it can do
//! (`Rules`); `hush-exec`, `hush-edge` and `hush-client` have a file of the same name for what they do with it. Everything else
//! asks the packing. CONTRIBUTING says how to add one.

pub(crate) mod approx_slots;
pub(crate) mod approx_sum;
pub(crate) mod slots;
pub(crate) mod sum;
mod written;

pub use slots::FILTER_PRIME;

use hush_params::{ParamSet, Params, size};
use num_bigint::BigInt;

pub use approx_slots::ApproxSlots;
pub use approx_sum::ApproxSum;
pub use slots::Slots;
pub use sum::Sum;
pub(crate) use written::{Layout, NoPacking, Plaintext};

use crate::program::Program;
use crate::writers::Writers;

/// How rows sit in ring elements, with the plaintext space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// CKKS by element-wise slots.
    ApproxSlots(ApproxSlots),
    /// CKKS by coefficient packing.
    ApproxSum(ApproxSum),
    /// BGV slots with one ciphertext per plaintext prime.
    Slots(Slots),
    /// BGV by coefficient packing, plaintext modulus a power of two, mask shared by the chunk's columns.
    Sum(Sum),
}

/// The form of stored polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Coefficients; the columns of a chunk over one ring share the mask.
    Coefficients,
    /// Evaluations; every ciphertext has a mask of its own.
    Evaluations,
}

/// The rules of a packing.
pub(crate) trait Rules {
    /// The layout that manifests write.
    fn layout(&self) -> Layout;

    /// The plaintext space that manifests write.
    fn plaintext(&self) -> Plaintext;

    /// Whether `set` has room for the plaintext space.
    fn fits(&self, set: &ParamSet) -> bool;

    /// Whether the parameters are of the kind that it is over, and have room for the plaintext space. All present packings are over
    /// rings; one over chains says so here.
    fn suits(&self, params: &Params) -> bool {
        params.ring().is_ok_and(|set| self.fits(set))
    }

    /// The use that a column of it was made for: `sums of 58 bits`.
    fn describe(&self) -> String;

    /// The plaintext space: `t = 2^58`.
    fn plaintext_words(&self) -> String;

    /// The form of stored polynomials; `None` where something else is stored.
    fn stored(&self) -> Option<Stored>;

    /// Bits of the largest number that a slot or coefficient holds.
    fn held_bits(&self) -> u64;

    /// How a freshly encrypted row decrypts.
    fn fresh(&self, set: &ParamSet, writers: Writers) -> Fit;

    /// log2 of the scale, for approximate packings.
    fn scale_log2(&self) -> Option<u32> {
        None
    }

    /// log2 of the largest plaintext modulus, for exact packings: answers are rounded to multiples of it.
    fn modulus_log2(&self) -> Option<f64> {
        None
    }

    /// Ciphertexts for each ring element.
    fn lanes(&self) -> usize {
        1
    }

    /// Rows that one ring element holds.
    fn rows_per_element(&self, set: &ParamSet) -> usize {
        set.degree()
    }

    /// Chunks of a part whose rows are in ring elements together.
    fn chunks_together(&self, _set: &ParamSet) -> u32 {
        1
    }

    /// Bytes of one ring element as it is stored, or as it is answered with residues rounded to so many bits.
    fn element_bytes(&self, set: &ParamSet, bits: Option<u32>) -> usize {
        self.lanes() * size::answer_poly_bytes(set, bits)
    }

    /// Whether masked sums can be had of it.
    fn sums(&self) -> bool {
        false
    }

    /// How a masked sum fits; `None` where there are none.
    fn sum(&self, _set: &ParamSet, _asked: &SumAsked<'_>) -> Option<SumFit> {
        None
    }

    /// Whether element-wise programs run on it.
    fn evaluates(&self) -> bool {
        false
    }

    /// How a program over columns up to `magnitude` fits; `None` where it does not.
    fn program(&self, _set: &ParamSet, _program: &Program, _magnitude: f64) -> Option<ProgramFit> {
        None
    }
}

/// How a value decrypts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// Distance in bits of the noise bound from its limit.
    pub(crate) margin: f64,
    /// Absolute error bound, for approximate packings.
    pub(crate) error: Option<f64>,
}

/// A sum that is asked for.
pub(crate) struct SumAsked<'a> {
    /// Rows of the table.
    pub(crate) rows: u64,
    /// Largest absolute value of a row, in units.
    pub(crate) max_abs: &'a BigInt,
    /// Largest absolute weight of a row.
    pub(crate) weight_max: &'a BigInt,
    /// The encrypters of the rows.
    pub(crate) writers: Writers,
}

/// How a sum fits.
pub(crate) struct SumFit {
    pub(crate) fit: Fit,
    /// Bits that the sum takes at most.
    pub(crate) needed_bits: u64,
    /// Bits that the column has for it.
    pub(crate) held_bits: u64,
    /// The part of the error that encryption adds, for approximate packings.
    pub(crate) noise: Option<f64>,
}

/// How a program fits.
pub(crate) struct ProgramFit {
    pub(crate) fit: Fit,
    /// Largest absolute value of a result, for approximate packings.
    pub(crate) largest: Option<f64>,
}

/// A packing with its parameters, for one quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) packing: Packing,
    pub(crate) params: &'static str,
    pub(crate) max_abs: BigInt,
}

impl Packing {
    /// Its name in manifests, docs and messages: `approx_sum`.
    pub fn name(&self) -> &'static str {
        self.rules().layout().name()
    }

    /// The use that a column of it was made for, as far as it tells: `sums of 58 bits`.
    pub fn describe(&self) -> String {
        self.rules().describe()
    }

    /// The scheme that encrypts it.
    pub fn scheme(&self) -> &'static str {
        if self.is_approximate() { "CKKS" } else { "BGV" }
    }

    /// Whether what it decrypts to is message and error together.
    pub fn is_approximate(&self) -> bool {
        self.scale_log2().is_some()
    }

    /// log2 of the scale, for approximate packings.
    pub fn scale_log2(&self) -> Option<u32> {
        self.rules().scale_log2()
    }

    /// Whether the parameters are of the kind that it is over, have room for the plaintext space, and this version knows both.
    pub fn fits(&self, params: &Params) -> bool {
        self.rules().suits(params)
    }

    /// The form of stored polynomials; `None` where something else is stored.
    pub fn stored(&self) -> Option<Stored> {
        self.rules().stored()
    }

    /// Whether a server can round it to fewer bits.
    pub fn rounds(&self) -> bool {
        self.rules().modulus_log2().is_some()
    }

    /// Whether a server can add up its rows under a mask.
    pub fn sums(&self) -> bool {
        self.rules().sums()
    }

    /// Whether a server can evaluate element-wise programs on it.
    pub fn evaluates(&self) -> bool {
        self.rules().evaluates()
    }

    /// Ciphertexts for each ring element.
    pub fn lanes(&self) -> usize {
        self.rules().lanes()
    }

    /// Rows that one ring element holds.
    pub fn rows_per_element(&self, set: &ParamSet) -> usize {
        self.rules().rows_per_element(set)
    }

    /// Bytes of one ring element as it is stored, or as it is answered with residues rounded to so many bits.
    pub fn element_bytes(&self, set: &ParamSet, bits: Option<u32>) -> usize {
        self.rules().element_bytes(set, bits)
    }

    /// Chunks of a part whose rows are in ring elements together: those at the places 0 to this less one, and so on. The first of them has the
    /// ring elements, and the others have none.
    pub fn chunks_together(&self, set: &ParamSet) -> u32 {
        self.rules().chunks_together(set)
    }

    /// Ring elements of a full chunk, on average.
    pub fn elements_of_chunk(&self, set: &ParamSet) -> f64 {
        let together = self.chunks_together(set);
        f64::from(self.element_count(set, together * size::CHUNK_ROWS)) / f64::from(together)
    }

    /// Ring elements that `rows` rows take, those of chunks that are together.
    pub fn element_count(&self, set: &ParamSet, rows: u32) -> u32 {
        (rows as usize).div_ceil(self.rows_per_element(set)) as u32
    }

    pub(crate) fn rules(&self) -> &dyn Rules {
        match self {
            Self::ApproxSlots(packing) => packing,
            Self::ApproxSum(packing) => packing,
            Self::Slots(packing) => packing,
            Self::Sum(packing) => packing,
        }
    }

    /// Reads what [`Packing::written`] gives.
    pub(crate) fn read(layout: Layout, plaintext: Plaintext) -> Result<Self, NoPacking> {
        let packing = match layout {
            Layout::ApproxSlots => ApproxSlots::read(plaintext).map(Self::ApproxSlots),
            Layout::ApproxSum => ApproxSum::read(plaintext).map(Self::ApproxSum),
            Layout::Slots => Slots::read(plaintext, false).map(Self::Slots),
            Layout::SharedSlots => Slots::read(plaintext, true).map(Self::Slots),
            Layout::Sum => Sum::read(plaintext).map(Self::Sum),
        };
        packing.ok_or(NoPacking { layout })
    }

    /// Layout and plaintext space, as manifests write them.
    pub(crate) fn written(&self) -> (Layout, Plaintext) {
        (self.rules().layout(), self.rules().plaintext())
    }
}
