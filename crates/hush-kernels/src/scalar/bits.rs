// SPDX-License-Identifier: Apache-2.0
//! Bit streams by one 64-bit window per value.

use crate::BitWidth;

#[inline(always)]
pub(crate) fn pack(width: BitWidth, values: &[u64], packed: &mut [u8]) {
    // `pending` holds the bits that are not written yet, fewer than 64 of them before each value.
    let (mut pending, mut pending_bits) = (0u64, 0);
    let (words, tail) = packed.as_chunks_mut::<8>();
    let mut words = words.iter_mut();
    for &value in values {
        let value = value & width.mask();
        pending |= value << pending_bits;
        pending_bits += width.bits();
        if pending_bits >= u64::BITS {
            if let Some(word) = words.next() {
                *word = pending.to_le_bytes();
            }
            pending_bits -= u64::BITS;
            // The bits of the value that the word had no room for: none if it ended with the value.
            pending = value >> (width.bits() - pending_bits);
        }
    }
    let rest = words.next().map_or(tail, |word| word);
    let count = rest.len();
    rest.copy_from_slice(&pending.to_le_bytes()[..count]);
}

#[inline(always)]
pub(crate) fn unpack(width: BitWidth, packed: &[u8], values: &mut [u64]) {
    for (index, value) in values.iter_mut().enumerate() {
        *value = read(width, packed, index);
    }
}

#[inline(always)]
pub(crate) fn unpack_sum(width: BitWidth, packed: &[u8], count: usize) -> u64 {
    (0..count).fold(0, |sum, index| sum.wrapping_add(read(width, packed, index)))
}

/// No instruction for it in plain code.
#[inline(always)]
pub(crate) fn prefetch(_: &[u8]) {}

#[inline(always)]
pub(crate) fn all_below(values: &[u64], bound: u64) -> bool {
    values.iter().fold(true, |all, &value| all & (value < bound))
}

/// Value `index` of the stream: at most 56 + 7 bits, so eight bytes from the first one hold it.
#[inline(always)]
fn read(width: BitWidth, packed: &[u8], index: usize) -> u64 {
    let first_bit = index * width.bits() as usize;
    let rest = &packed[first_bit / 8..];
    let window = match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(bytes)
        }
    };
    window >> (first_bit % 8) & width.mask()
}
