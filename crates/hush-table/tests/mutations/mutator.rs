// SPDX-License-Identifier: Apache-2.0
//! Damages good bytes in many ways, reproducibly. Shared by the mutation tests of several crates.
//!
//! `HUSH_MUTATIONS` multiplies the number of damaged copies (1 if not set); `HUSH_MUTATION_SEED` gives other ones. A
//! panic while a copy is being decoded names the decoder, the seed and the number of the copy.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls `decode` with `count` damaged copies of `golden`; gives how many of them it accepted.
///
/// `decode` returns whether it accepted the bytes, and asserts by itself what an accepted value must be.
pub(crate) fn damaged(
    decoder: &str,
    count: usize,
    golden: &[u8],
    decode: impl FnMut(&[u8]) -> bool,
) -> usize {
    damaged_by(Draw::damage, decoder, count, golden, decode)
}

/// As [`damaged`], each copy damaged one to three times by `damage`.
pub(crate) fn damaged_by(
    mut damage: impl FnMut(&mut Draw, &mut Vec<u8>),
    decoder: &str,
    count: usize,
    golden: &[u8],
    mut decode: impl FnMut(&[u8]) -> bool,
) -> usize {
    let seed = number("HUSH_MUTATION_SEED").unwrap_or(0);
    let count = count * number("HUSH_MUTATIONS").unwrap_or(1) as usize;
    let mut accepted = 0;
    for copy in 0..count {
        let mut draw = Draw(seed ^ (copy as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        decoder.bytes().for_each(|byte| draw.0 = draw.next() ^ u64::from(byte));
        let mut bytes = golden.to_vec();
        for _ in 0..1 + draw.below(3) {
            damage(&mut draw, &mut bytes);
        }
        // The decoder's state is of no interest after a panic: the test ends.
        match catch_unwind(AssertUnwindSafe(|| decode(&bytes))) {
            Ok(took) => accepted += usize::from(took),
            Err(panic) => {
                eprintln!("{decoder}: copy {copy} of HUSH_MUTATION_SEED={seed}");
                resume_unwind(panic);
            }
        }
    }
    accepted
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// SplitMix64.
pub(crate) struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.next().checked_rem(end as u64).unwrap_or(0) as usize
    }

    /// A place: anywhere, or near one of the ends, where headers and footers are.
    fn place(&mut self, length: usize) -> usize {
        let near = length.min(64);
        match self.below(4) {
            0 => self.below(near),
            1 => length - near + self.below(near),
            _ => self.below(length),
        }
    }

    /// Cuts, moves or changes a few bytes.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        let at = self.place(bytes.len());
        let run = 1 + self.below(16);
        let end = bytes.len().min(at + run);
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            // A piece of the bytes at another place, inserted or over what is there.
            2 => {
                let from = self.place(bytes.len());
                let piece = bytes[from..bytes.len().min(from + run)].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            3 => {
                let from = self.place(bytes.len());
                let piece = bytes[from..bytes.len().min(from + run)].to_vec();
                drop(bytes.splice(at..end, piece));
            }
            // What lengths and counts are made of, in four and in eight bytes.
            4 | 5 => {
                let wide = [0, 1, 0x7f, 0xff, 1 << 16, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX];
                let value = match self.below(wide.len() + 2) {
                    9 => bytes.len() as u64,
                    10 => (bytes.len() as u64).wrapping_add(1),
                    index => wide[index],
                };
                let width = if self.below(2) == 0 { 4 } else { 8 };
                for (byte, new) in bytes.iter_mut().skip(at).zip(value.to_le_bytes().into_iter().take(width))
                {
                    *byte = new;
                }
            }
            6 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = self.next() as u8;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
        }
    }
}
