// SPDX-License-Identifier: Apache-2.0
//! Operands beside slices: the types and constants that the API modules check and every path computes with.

use crate::KernelError;

/// Random bytes per sample of [`crate::sample::cbd21_into`].
pub const CBD21_BYTES: usize = 6;
/// Random bytes per sample of [`crate::sample::ternary_into`].
pub const TERNARY_BYTES: usize = 8;
/// Most rows of a sum of [`crate::convert`]: far more than any basis has, far fewer than the accumulators hold
/// ([`crate::lazy::MAX_PRODUCT_TERMS`]) and than the float quotients lose precision over.
pub const MAX_ROWS: usize = 64;
/// Where the tag of a word begins.
pub const TAG_SHIFT: u32 = 52;
/// The bits of a word that are no tag, and the low half of a product.
pub(crate) const LOW_52: u64 = (1 << TAG_SHIFT) - 1;
/// Words of a block: those of the smallest unit of a transform.
pub(crate) const BLOCK: usize = 64;
/// Bytes that memory is fetched in.
pub(crate) const CACHE_LINE: usize = 64;
/// The widest packed value, in bits.
pub const MAX_BIT_WIDTH: u32 = 56;

/// Most rows of a polynomial that is multiplied.
pub const MAX_COMPONENTS: usize = 8;
/// Places come in multiples of so many, which every path has whole vectors for.
pub const PLACES: usize = 8;

/// The shape of a product of polynomials: rows of as many places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) places: usize,
    /// The first place that is computed, and the one behind the last: both fill whole vectors.
    pub(crate) within: (usize, usize),
    /// Rows of the left operand.
    pub(crate) left: usize,
    /// Rows of the right one.
    pub(crate) right: usize,
    /// Whether what the accumulator holds counts.
    pub(crate) adds: bool,
}

impl Rows {
    /// Rows of the product.
    pub(crate) fn product(self) -> usize {
        self.left + self.right - 1
    }

    /// The rows of the left operand that meet one of the right in a row of the product.
    #[inline(always)]
    pub(crate) fn terms(self, row: usize) -> std::ops::Range<usize> {
        (row + 1).saturating_sub(self.right)..self.left.min(row + 1)
    }
}

/// Values that a word of a selection is about.
pub(crate) const SELECTED: usize = 64;

/// Words of a selection out of so many values.
#[inline]
pub const fn selection_words(values: usize) -> usize {
    values.div_ceil(SELECTED)
}

/// Body and mask.
pub type Pair<'a> = (&'a [u64], &'a [u64]);

/// Where the words of one block come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// The number of the block that they are in.
    pub(crate) source: u32,
    /// Their places in it, below 64.
    pub(crate) places: [u8; BLOCK],
}

/// Real and imaginary parts of `exp(πi·k/h)`, `0 ≤ k < h`, for the stages `h = 1, 2, 4, …, n/2` one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Roots {
    /// Real parts.
    pub re: Vec<f64>,
    /// Imaginary parts.
    pub im: Vec<f64>,
}

impl Roots {
    /// The roots of transforms of length `n`, a power of two, correct to an ulp.
    pub fn new(n: usize) -> Self {
        let stages = (0..n.trailing_zeros()).map(|log2| 1_usize << log2);
        let angles = stages.flat_map(|h| (0..h).map(move |k| std::f64::consts::PI * k as f64 / h as f64));
        let (re, im) = angles.map(|angle| (angle.cos(), angle.sin())).unzip();
        Self { re, im }
    }

    /// The `h` roots of a stage.
    pub(crate) fn stage(&self, h: usize) -> (&[f64], &[f64]) {
        (&self.re[h - 1..2 * h - 1], &self.im[h - 1..2 * h - 1])
    }
}

/// The number of bits of one packed value, in `1..=`[`MAX_BIT_WIDTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitWidth(u32);

impl BitWidth {
    /// Checks a width.
    ///
    /// # Errors
    /// [`KernelError::BitWidthOutOfRange`].
    pub const fn new(bits: u32) -> Result<Self, KernelError> {
        if bits >= 1 && bits <= MAX_BIT_WIDTH {
            Ok(Self(bits))
        } else {
            Err(KernelError::BitWidthOutOfRange { found: bits, max: MAX_BIT_WIDTH })
        }
    }

    /// The width that holds the canonical residues of a modulus.
    pub const fn of_modulus(modulus: hush_arith::Modulus) -> Self {
        // A modulus has at most 47 bits.
        Self(modulus.bits())
    }

    /// The number of bits.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The number of bytes that `count` packed values take: `⌈count·w/8⌉`.
    ///
    /// Exact for every count below `2^58`; above it saturates, so that a size check on hostile input fails safely.
    #[inline]
    pub const fn packed_bytes(self, count: usize) -> usize {
        count.saturating_mul(self.0 as usize).div_ceil(8)
    }

    /// A word with the `w` low bits set: the largest value that fits.
    #[inline]
    pub const fn mask(self) -> u64 {
        (1 << self.0) - 1
    }
}
