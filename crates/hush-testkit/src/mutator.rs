// SPDX-License-Identifier: Apache-2.0
//! Damages good bytes in many ways, reproducibly.
//!
//! `HUSH_MUTATIONS` multiplies the number of damaged copies (1 if not set); `HUSH_MUTATION_SEED` gives other ones. A
//! panic while a copy is being decoded names the decoder, the seed and the number of the copy.

#![expect(clippy::print_stderr, reason = "a failure tells its seed")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::Draw;

/// Calls `decode` with `count` damaged copies of `golden`; gives how many of them it accepted.
///
/// `decode` returns whether it accepted the bytes, and asserts by itself what an accepted value must be.
///
/// # Panics
/// If `decode` does, or a variable above is no number.
pub fn damaged(decoder: &str, count: usize, golden: &[u8], mut decode: impl FnMut(&[u8]) -> bool) -> usize {
    damaged_by(damage, decoder, count, &[golden.to_vec()], |bytes| decode(bytes))
}

/// As [`damaged`], with copies of each of `golden` in turn, which `damage` changes one to three times each.
///
/// # Panics
/// As there, or if nothing is golden.
pub fn damaged_by<T: Clone>(
    mut damage: impl FnMut(&mut Draw, &mut T),
    decoder: &str,
    count: usize,
    golden: &[T],
    mut decode: impl FnMut(&T) -> bool,
) -> usize {
    let seed = number("HUSH_MUTATION_SEED").unwrap_or(0);
    let count = count * number("HUSH_MUTATIONS").unwrap_or(1) as usize;
    let mut accepted = 0;
    for copy in 0..count {
        let start = seed ^ (copy as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draw =
            Draw::of(decoder.bytes().fold(start, |seed, byte| Draw::of(seed).word() ^ u64::from(byte)));
        let mut value = golden[copy % golden.len()].clone();
        for _ in 0..1 + draw.below(3) {
            damage(&mut draw, &mut value);
        }
        // The decoder's state is of no interest after a panic: the test ends.
        match catch_unwind(AssertUnwindSafe(|| decode(&value))) {
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

/// A place: anywhere, or near one of the ends, where headers and footers are.
fn place(draw: &mut Draw, length: usize) -> usize {
    let near = length.min(64);
    match draw.below(4) {
        0 => draw.below(near),
        1 => length - near + draw.below(near),
        _ => draw.below(length),
    }
}

/// Cuts, moves or changes a few bytes.
pub(crate) fn damage(draw: &mut Draw, bytes: &mut Vec<u8>) {
    let at = place(draw, bytes.len());
    let run = 1 + draw.below(16);
    let end = bytes.len().min(at + run);
    match draw.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        // A piece of the bytes, inserted at another place or written over the bytes there.
        2 => {
            let from = place(draw, bytes.len());
            let piece = bytes[from..bytes.len().min(from + run)].to_vec();
            drop(bytes.splice(at..at, piece));
        }
        3 => {
            let from = place(draw, bytes.len());
            let piece = bytes[from..bytes.len().min(from + run)].to_vec();
            drop(bytes.splice(at..end, piece));
        }
        // What lengths and counts are made of, in four and in eight bytes.
        4 | 5 => {
            let wide = [0, 1, 0x7f, 0xff, 1 << 16, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX];
            let value = match draw.below(wide.len() + 2) {
                9 => bytes.len() as u64,
                10 => (bytes.len() as u64).wrapping_add(1),
                index => wide[index],
            };
            let width = if draw.below(2) == 0 { 4 } else { 8 };
            for (byte, new) in bytes.iter_mut().skip(at).zip(value.to_le_bytes().into_iter().take(width)) {
                *byte = new;
            }
        }
        6 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = draw.word() as u8;
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << draw.below(8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_many_different_and_the_same_in_every_run() {
        let golden: Vec<u8> = (0..100).collect();
        let copies = || {
            let mut copies = Vec::new();
            let accepted = damaged("a decoder", 200, &golden, |bytes| {
                copies.push(bytes.to_vec());
                bytes.first() == Some(&0)
            });
            assert!((20..200).contains(&accepted), "{accepted} accepted");
            copies
        };
        let mut first = copies();
        assert_eq!(first, copies());
        first.sort();
        first.dedup();
        assert!(first.len() > 150, "{} different", first.len());
    }

    #[test]
    fn a_panic_of_a_decoder_is_passed_on() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let result = catch_unwind(|| damaged("careless", 200, &[7; 64], |bytes| bytes[63] == 7));
        std::panic::set_hook(hook);
        assert!(result.is_err());
    }
}
