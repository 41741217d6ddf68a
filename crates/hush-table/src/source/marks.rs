// SPDX-License-Identifier: Apache-2.0
//! Where fields of CSV end, found for 64 bytes at a time.

/// Bytes that are looked at together: one for each bit of a word.
const BLOCK_BYTES: usize = 64;
/// Marks that are written without asking whether there are so many.
const LIKELY_MARKS: usize = 8;
/// What stands before the first field: one less than nothing.
const BEFORE: u32 = u32::MAX;

/// What fields are written like.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// Whether fields may stand in quotes.
    pub(super) has_quotes: bool,
}

/// Puts the places of delimiters and line feeds that end fields into `marks`, behind a place before the first field, and returns the
/// number of carriage returns outside quotes. `None` if there are more than `most` marks, or quotes elsewhere than around whole fields
/// and, doubled, within.
///
/// # Cost
/// A pass over the bytes, which are at most 2^32.
pub(super) fn find(bytes: &[u8], dialect: Dialect, most: usize, marks: &mut Vec<u32>) -> Option<usize> {
    marks.clear();
    marks.resize(most + 1 + BLOCK_BYTES, 0);
    *marks.first_mut()? = BEFORE;
    let (mut found, mut base, mut quotes) = (1, 0u32, Quotes::default());
    let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
    let mut last = [0; BLOCK_BYTES];
    last.get_mut(..rest.len())?.copy_from_slice(rest);
    // Bits of what stands behind the text.
    let behind = u64::MAX.checked_shl(rest.len() as u32).unwrap_or_default();
    for (block, behind) in blocks.iter().map(|block| (block, 0)).chain([(&last, behind)]) {
        let ends = bits(block, |byte| (byte == dialect.delimiter) | (byte == b'\n')) & !behind;
        let mut left = if dialect.has_quotes { quotes.outside(block, ends, behind)? } else { ends };
        let count = left.count_ones() as usize;
        let room: &mut [u32; BLOCK_BYTES] = marks.get_mut(found..)?.first_chunk_mut()?;
        let (likely, others) = room.split_at_mut(LIKELY_MARKS);
        let mut write = |mark: &mut u32| {
            *mark = base.wrapping_add(left.trailing_zeros());
            left &= left.wrapping_sub(1);
        };
        likely.iter_mut().for_each(&mut write);
        if count > LIKELY_MARKS {
            others.iter_mut().take(count - LIKELY_MARKS).for_each(write);
        }
        found += count;
        if found > most + 1 {
            return None;
        }
        base = base.wrapping_add(BLOCK_BYTES as u32);
    }
    marks.truncate(found);
    // A quote that is never closed is for the parser to refuse.
    let returns = if dialect.has_quotes { quotes.returns } else { memchr::memchr_iter(b'\r', bytes).count() };
    (quotes.inside == 0).then_some(returns)
}

/// What is quoted of a text that comes block by block.
#[derive(Default)]
struct Quotes {
    /// All ones where the next block begins between quotes.
    inside: u64,
    /// 1 where a quote may not open a field at the next block's first byte.
    within_field: u64,
    /// 1 where the next block begins behind a closing quote.
    closed: u64,
    /// Carriage returns outside quotes.
    returns: usize,
}

impl Quotes {
    /// Those of `ends` that are not quoted; `None` for a quote inside a field that does not begin with one, or text behind one that closes
    /// a field.
    fn outside(&mut self, block: &[u8; BLOCK_BYTES], ends: u64, behind: u64) -> Option<u64> {
        let quotes = bits(block, |byte| byte == b'"') & !behind;
        let returns = bits(block, |byte| byte == b'\r');
        // Ones from every opening quote to the byte before its closing one.
        let inside = parities(quotes) ^ self.inside;
        let (opening, closing, marks) = (quotes & inside, quotes & !inside, ends & !inside);
        // The second of two quotes opens what the first has closed.
        let within_field = !(marks | closing) << 1 | self.within_field;
        let after_closing = closing << 1 | self.closed;
        if opening & within_field != 0 || after_closing & !(marks | opening | returns | behind) != 0 {
            return None;
        }
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        self.within_field = !(marks | closing) >> 63;
        self.closed = closing >> 63;
        self.returns += (returns & !inside).count_ones() as usize;
        Some(marks)
    }
}

/// Bit `i` of the result is the parity of bits 0 to `i`.
fn parities(bits: u64) -> u64 {
    (0..6).fold(bits, |parities, step| parities ^ parities << (1 << step))
}

/// One bit for each byte that `is` says yes to.
fn bits(block: &[u8; BLOCK_BYTES], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; BLOCK_BYTES];
    // Without a branch: the compiler compares as many bytes at once as the processor can.
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(*byte));
    }
    // The product has flag `i` of eight at bit `56 + i`.
    let eight = |flags: &[u8; 8]| u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let words = flags.as_chunks().0.iter().enumerate();
    words.fold(0, |bits, (number, flags)| bits | eight(flags) << (8 * number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::Random;

    #[test]
    fn bits_are_those_of_the_bytes() {
        let mut random = Random(0x2545_f491);
        for _ in 0..2000 {
            let block: [u8; BLOCK_BYTES] = std::array::from_fn(|_| random.below(5) as u8);
            let found = bits(&block, |byte| byte == 3);
            let expected = block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == 3));
            assert_eq!(found, expected);
            let mut parity = 0;
            for at in 0..64 {
                parity ^= found >> at & 1;
                assert_eq!(parities(found) >> at & 1, parity);
            }
        }
    }
}
