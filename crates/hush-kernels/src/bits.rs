// SPDX-License-Identifier: Apache-2.0
//! Residues as a bit stream: `w` bits each, lowest bit first, bytes in little-endian order.
//!
//! Value `i` takes the bits `i·w … (i+1)·w − 1` of the stream, where bit `j` is bit `j mod 8` of byte `⌊j/8⌋`.
//! The unused high bits of the last byte are zero when written and ignored when read.
//!
//! # Timing
//! Constant-time in the values.

pub use crate::operands::{BitWidth, MAX_BIT_WIDTH};
use crate::{Cpu, cpu::dispatch};

/// Writes the `w` low bits of each value; bits above are dropped.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(values.len())` long.
pub fn pack_bits(cpu: Cpu, width: BitWidth, values: &[u64], packed: &mut [u8]) {
    assert_eq!(packed.len(), width.packed_bytes(values.len()), "the packed length must fit the values");
    debug_assert!(values.iter().all(|&x| x <= width.mask()), "values must fit the width");
    dispatch!(cpu, bits::pack(width: BitWidth, values: &[u64], packed: &mut [u8]));
}

/// Reads `values.len()` values.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(values.len())` long.
pub fn unpack_bits(cpu: Cpu, width: BitWidth, packed: &[u8], values: &mut [u64]) {
    assert_eq!(packed.len(), width.packed_bytes(values.len()), "the packed length must fit the values");
    dispatch!(cpu, bits::unpack(width: BitWidth, packed: &[u8], values: &mut [u64]));
}

/// The sum of `count` values, modulo `2^64`: exact where `count·2^w` does not exceed that.
///
/// # Panics
/// If `packed` is not [`BitWidth::packed_bytes`]`(count)` long.
pub fn unpack_sum(cpu: Cpu, width: BitWidth, packed: &[u8], count: usize) -> u64 {
    assert_eq!(packed.len(), width.packed_bytes(count), "the packed length must fit the values");
    dispatch!(cpu, bits::unpack_sum(width: BitWidth, packed: &[u8], count: usize) -> u64)
}

/// Asks for the bytes of a stream that is unpacked soon: others that lie elsewhere can be computed with while these come from memory.
pub fn prefetch(cpu: Cpu, packed: &[u8]) {
    dispatch!(cpu, bits::prefetch(packed: &[u8]));
}

/// Whether every value is below the bound. Reads all values in any case.
pub fn all_below(cpu: Cpu, values: &[u64], bound: u64) -> bool {
    dispatch!(cpu, bits::all_below(values: &[u64], bound: u64) -> bool)
}

#[cfg(test)]
mod tests;
