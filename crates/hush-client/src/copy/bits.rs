// SPDX-License-Identifier: Apache-2.0
//! Unpacking numbers of any width, one after another, lowest bit first.
//!
//! Eight numbers of `B` bits are `B` bytes, so that every eighth number begins a byte, and the places of the seven others are known when this is
//! compiled. Nothing here asks how large a number is but for its width.

/// Most bits of numbers that lie in eight bytes wherever they begin.
pub(super) const SHORT_BITS: u32 = 57;
/// Numbers that are unpacked together.
const TOGETHER: usize = 8;
/// Bytes that eight numbers of [`SHORT_BITS`] bits, and eight bytes behind the begin of the last, do not exceed.
const WINDOW: usize = 64;

/// The lowest bits.
pub(super) fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(u128::BITS - bits).unwrap_or(0)
}

/// Hands packed numbers of at most [`SHORT_BITS`] bits to `put`, in order. What is missing behind the last byte counts as 0.
pub(super) fn each_short(bytes: &[u8], bits: u32, rows: usize, put: impl FnMut(u64)) {
    /// A match of the width with an instance for each.
    macro_rules! of_width {
        ($($width:literal)*) => {
            match bits {
                $($width => each::<$width>(bytes, rows, put),)*
                _ => {}
            }
        };
    }
    of_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45
        46 47 48 49 50 51 52 53 54 55 56 57);
}

fn each<const B: usize>(bytes: &[u8], rows: usize, mut put: impl FnMut(u64)) {
    let (mut rest, mut left) = (bytes, rows);
    while left >= TOGETHER
        && let Some(window) = rest.first_chunk::<WINDOW>()
    {
        eight::<B>(window).into_iter().for_each(&mut put);
        rest = rest.get(B..).unwrap_or_default();
        left -= TOGETHER;
    }
    while left > 0 {
        let mut window = [0; WINDOW];
        let held = rest.len().min(WINDOW);
        window[..held].copy_from_slice(&rest[..held]);
        eight::<B>(&window).into_iter().take(left).for_each(&mut put);
        rest = rest.get(B..).unwrap_or_default();
        left = left.saturating_sub(TOGETHER);
    }
}

#[inline(always)]
fn eight<const B: usize>(window: &[u8; WINDOW]) -> [u64; TOGETHER] {
    let mask = mask(B as u32) as u64;
    std::array::from_fn(|place| {
        let first = place * B;
        let (byte, shift) = (first / 8, first % 8);
        let word: [u8; 8] = std::array::from_fn(|at| window[byte + at]);
        u64::from_le_bytes(word) >> shift & mask
    })
}

/// Packed numbers of any width.
pub(super) fn wide(bytes: &[u8], bits: u32, rows: usize) -> impl Iterator<Item = u128> + '_ {
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
