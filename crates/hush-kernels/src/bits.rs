// SPDX-License-Identifier: Apache-2.0
//! Residues as a bit stream: `w` bits each, lowest bit first, bytes in little-endian order.
//!
//! Value `i` takes the bits `i·w … (i+1)·w − 1` of the stream, where bit `j` is bit `j mod 8` of byte `⌊j/8⌋`.
//! The unused high bits of the last byte are zero when written and ignored when read.
//!
//! # Timing
//! Constant-time in the values.

use crate::{Cpu, KernelError, cpu::dispatch};

/// The widest packed value, in bits.
pub const MAX_BIT_WIDTH: u32 = 56;

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

/// Writes the `w` low bits of each value; bits above are dropped.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(values.len())` long.
pub fn pack_bits(cpu: Cpu, width: BitWidth, values: &[u64], packed: &mut [u8]) {
    assert_eq!(packed.len(), width.packed_bytes(values.len()), "the packed length must fit the values");
    debug_assert!(values.iter().all(|&x| x <= width.mask()), "values must fit the width");
    dispatch!(cpu, bits::pack(width, values, packed));
}

/// Reads `values.len()` values.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(values.len())` long.
pub fn unpack_bits(cpu: Cpu, width: BitWidth, packed: &[u8], values: &mut [u64]) {
    assert_eq!(packed.len(), width.packed_bytes(values.len()), "the packed length must fit the values");
    dispatch!(cpu, bits::unpack(width, packed, values));
}

/// The sum of `count` values, modulo `2^64`: exact where `count·2^w` does not exceed that.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(count)` long.
pub fn unpack_sum(cpu: Cpu, width: BitWidth, packed: &[u8], count: usize) -> u64 {
    assert_eq!(packed.len(), width.packed_bytes(count), "the packed length must fit the values");
    dispatch!(cpu, bits::unpack_sum(width, packed, count))
}

/// Whether every value is below the bound. Reads all of them, whatever it finds.
pub fn all_below(cpu: Cpu, values: &[u64], bound: u64) -> bool {
    dispatch!(cpu, bits::all_below(values, bound))
}

#[cfg(test)]
mod tests;
