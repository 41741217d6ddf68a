// SPDX-License-Identifier: Apache-2.0
//! Numbers of any width, one after another, lowest bit first.

use hush_ring::Cpu;
use hush_ring::bits::{self, BitWidth, MAX_BIT_WIDTH};

use crate::error::ClientError;

/// Most bits of numbers that the kernels take.
pub(super) const SHORT_BITS: u32 = MAX_BIT_WIDTH;

/// The lowest bits.
pub(super) fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(u128::BITS - bits).unwrap_or(0)
}

/// Numbers that are unpacked together: they stay in the first cache, and of any width they take whole bytes.
const TILE: usize = 512;

/// What `of` makes of numbers of at most [`SHORT_BITS`] bits, from as many bytes as so many rows take.
///
/// # Errors
/// [`ClientError::Cpu`] if `HUSH_CPU` asks for kernels that the machine lacks, [`ClientError::Internal`] for other widths or lengths.
pub(super) fn unpack_short<T>(
    packed: &[u8],
    bits: u32,
    rows: usize,
    of: impl Fn(u64) -> T,
) -> Result<Vec<T>, ClientError> {
    if bits == 0 {
        return Ok((0..rows).map(|_| of(0)).collect());
    }
    let (width, cpu) = (width(bits, packed, rows)?, cpu()?);
    let mut values = Vec::with_capacity(rows);
    let mut tile = [0; TILE];
    for packed in packed.chunks(width.packed_bytes(TILE)) {
        let tile = &mut tile[..TILE.min(rows - values.len())];
        bits::unpack_bits(cpu, width, packed, tile);
        values.extend(tile.iter().map(|number| of(*number)));
    }
    Ok(values)
}

/// The bytes of numbers of at most [`SHORT_BITS`] bits, behind `out`.
///
/// # Errors
/// As [`unpack_short`].
pub(super) fn pack_short(values: &[u64], bits: u32, out: &mut Vec<u8>) -> Result<(), ClientError> {
    let head = out.len();
    out.resize(head + (values.len() * bits as usize).div_ceil(8), 0);
    let packed = &mut out[head..];
    if bits > 0 {
        let width = width(bits, packed, values.len())?;
        bits::pack_bits(cpu()?, width, values, packed);
    }
    Ok(())
}

fn cpu() -> Result<Cpu, ClientError> {
    Cpu::detect().map_err(|source| ClientError::Cpu { source })
}

fn width(bits: u32, packed: &[u8], rows: usize) -> Result<BitWidth, ClientError> {
    let fits = |width: &BitWidth| width.packed_bytes(rows) == packed.len();
    let width = BitWidth::new(bits).ok().filter(fits);
    width.ok_or(ClientError::Internal { what: "a copy of a column has other bytes than its rows take" })
}

/// Numbers of any width.
pub(super) fn unpack_wide(bytes: &[u8], bits: u32, rows: usize) -> impl Iterator<Item = u128> + '_ {
    (0..rows).map(move |row| {
        let first = row * bits as usize;
        let (byte, shift) = (first / 8, (first % 8) as u32);
        let end = (first + bits as usize).div_ceil(8).min(bytes.len());
        // At most 17 bytes: the first may have bits of the number before.
        let (low, high) = bytes.get(byte..end).unwrap_or_default().split_at(1.min(end - byte));
        let high = high.iter().rev().fold(0_u128, |word, byte| word << 8 | u128::from(*byte));
        let low = u128::from(low.first().copied().unwrap_or(0) >> shift);
        (low | high << (8 - shift)) & mask(bits)
    })
}

/// The bytes of numbers of any width, behind `out`.
///
/// # Errors
/// The first that there is instead of a number.
pub(super) fn pack_wide<E>(
    values: impl Iterator<Item = Result<u128, E>>,
    bits: u32,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    // Fewer than eight bits between numbers.
    let (mut held, mut count) = (0_u128, 0_u32);
    for value in values {
        let value = value?;
        // In two, so that what is held fits.
        for (part, bits) in
            [(value & u128::from(u64::MAX), bits.min(64)), (value >> 64, bits.saturating_sub(64))]
        {
            held |= part << count;
            count += bits;
            while count >= 8 {
                out.push(held as u8);
                held >>= 8;
                count -= 8;
            }
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
    Ok(())
}
