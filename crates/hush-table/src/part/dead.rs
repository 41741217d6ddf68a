// SPDX-License-Identifier: Apache-2.0
//! Lists of deleted rows of a part.
//!
//! ```text
//! "HUSHDEAD"  form: u8   rows of the part: u32   then, by form,
//!   0: runs    for each run of deleted rows, the living rows before it and its own, as LEB128 numbers
//!   1: bits    one bit a row, the lowest bit of a byte first; 1 for a deleted row
//! ```
//!
//! Numbers are little-endian. Of the two forms a list has the shorter one, runs if both are as long; so a set of rows has one list.
// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use arrow::buffer::{BooleanBuffer, MutableBuffer};
use arrow::util::bit_util;

use super::CHUNK_ROWS;

/// First bytes of a list.
const MAGIC: &[u8; 8] = b"HUSHDEAD";
const HEADER_BYTES: u64 = 13;
const RUNS: u8 = 0;
const BITS: u8 = 1;

/// The rows of a part that were deleted, and so those that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadRows {
    /// A bit for each row of the part: whether it was deleted.
    dead: BooleanBuffer,
    count: u64,
}

impl DeadRows {
    /// The list of these rows of a part, counted from 0; rows beyond its `rows` are left out.
    pub fn new(rows: u64, dead: impl IntoIterator<Item = u64>) -> Self {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let mut bits = MutableBuffer::from_len_zeroed(rows.div_ceil(8));
        for row in dead.into_iter().filter_map(|row| usize::try_from(row).ok()).filter(|row| *row < rows) {
            bit_util::set_bit(bits.as_slice_mut(), row);
        }
        Self::of_bits(BooleanBuffer::new(bits.into(), 0, rows))
    }

    fn of_bits(dead: BooleanBuffer) -> Self {
        let count = dead.count_set_bits() as u64;
        Self { dead, count }
    }

    /// The rows that are in this list or in another of the same part.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::of_bits(&self.dead | &other.dead)
    }

    /// How many rows were deleted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether a row, counted from 0, was deleted.
    pub fn contains(&self, row: u64) -> bool {
        usize::try_from(row).is_ok_and(|row| row < self.dead.len() && self.dead.value(row))
    }

    /// Runs of neighbouring rows, deleted ones and others, in order: whether they count, and how many they are.
    pub fn runs(&self) -> Vec<(bool, usize)> {
        let (mut runs, mut at) = (Vec::new(), 0);
        for (start, end) in self.dead.set_slices() {
            if start > at {
                runs.push((true, start.saturating_sub(at)));
            }
            runs.push((false, end.saturating_sub(start)));
            at = end;
        }
        if self.dead.len() > at {
            runs.push((true, self.dead.len().saturating_sub(at)));
        }
        runs
    }

    /// The rows of a chunk of the part, counted from 0, that count; `None` if all do.
    pub fn living_of_chunk(&self, chunk: usize) -> Option<BooleanBuffer> {
        self.living_of_rows(chunk.saturating_mul(CHUNK_ROWS as usize), CHUNK_ROWS as usize)
    }

    /// Which of up to `rows` rows from row `first` on count; `None` if all do.
    pub fn living_of_rows(&self, first: usize, rows: usize) -> Option<BooleanBuffer> {
        let first = first.min(self.dead.len());
        let dead = self.dead.slice(first, rows.min(self.dead.len().saturating_sub(first)));
        (dead.count_set_bits() > 0).then(|| !&dead)
    }

    /// Most bytes that a list of rows of a part of so many rows takes.
    pub fn max_bytes(rows: u64) -> u64 {
        HEADER_BYTES.saturating_add(rows.div_ceil(8))
    }

    /// The list as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut runs = Vec::new();
        let mut before = 0;
        for (start, end) in self.dead.set_slices() {
            put_number(&mut runs, start.saturating_sub(before));
            put_number(&mut runs, end.saturating_sub(start));
            before = end;
        }
        let mut list = MAGIC.to_vec();
        let rows = u32::try_from(self.dead.len()).unwrap_or(u32::MAX);
        let is_short = runs.len() <= self.dead.len().div_ceil(8);
        list.push(if is_short { RUNS } else { BITS });
        list.extend_from_slice(&rows.to_le_bytes());
        match is_short {
            true => list.extend_from_slice(&runs),
            false => list.extend_from_slice(self.dead.sliced().as_slice()),
        }
        list
    }

    /// The list that some bytes are, of a part of `rows` rows; `None` if they are none.
    pub fn decode(bytes: &[u8], rows: u64) -> Option<Self> {
        let (form, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
        let (found, mut rest) = rest.split_first_chunk::<4>()?;
        if u64::from(u32::from_le_bytes(*found)) != rows || bytes.len() as u64 > Self::max_bytes(rows) {
            return None;
        }
        let rows = usize::try_from(rows).ok()?;
        let mut bits = MutableBuffer::from_len_zeroed(rows.div_ceil(8));
        match *form {
            RUNS => {
                let mut at = 0_usize;
                while !rest.is_empty() {
                    let start = at.checked_add(take_number(&mut rest)?)?;
                    at = start.checked_add(take_number(&mut rest)?).filter(|end| *end <= rows)?;
                    (start..at).for_each(|row| bit_util::set_bit(bits.as_slice_mut(), row));
                }
            }
            BITS if rest.len() == bits.len() => {
                let beyond = rest.last().map_or(0, |last| last.checked_shr(rows as u32 % 8).unwrap_or(0));
                if rows % 8 > 0 && beyond > 0 {
                    return None;
                }
                bits.as_slice_mut().copy_from_slice(rest);
            }
            _ => return None,
        }
        let list = Self::of_bits(BooleanBuffer::new(bits.into(), 0, rows));
        // One spelling for a set: no empty runs, no neighbouring ones, no long numbers, and the shorter form.
        (list.encode() == bytes).then_some(list)
    }
}

fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The number at the front; five groups of seven bits are more than any part has rows.
fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for place in 0..5_u32 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f).checked_shl(place.saturating_mul(7))?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeSet;

    use hush_testkit::Draw;

    use super::*;

    fn rows_of(list: &DeadRows, rows: u64) -> BTreeSet<u64> {
        (0..rows).filter(|row| list.contains(*row)).collect()
    }

    #[test]
    fn lists_are_sets_of_rows() {
        let mut draw = Draw::new();
        for _ in 0..300 {
            let rows = 1 + draw.below(10_000) as u64;
            let mut some = || -> BTreeSet<u64> {
                let count = [0, 1, 3, 40, 9000][draw.below(5)];
                let step = 1 + draw.below(3);
                let first = draw.below(rows as usize);
                (0..count).map(|at| (first + at * step) as u64).filter(|row| *row < rows).collect()
            };
            let (one, other) = (some(), some());
            let list = |set: &BTreeSet<u64>| DeadRows::new(rows, set.iter().copied());
            let union = list(&one).union(&list(&other));
            let expected: BTreeSet<u64> = &one | &other;
            assert_eq!(rows_of(&union, rows + 9), expected, "{draw:?}");
            assert_eq!(union.count(), expected.len() as u64);
            let encoded = union.encode();
            assert!(encoded.len() as u64 <= DeadRows::max_bytes(rows));
            assert_eq!(DeadRows::decode(&encoded, rows).as_ref(), Some(&union));
            assert_eq!(DeadRows::decode(&encoded, rows + 1), None);
            let mut at = 0;
            for (counts, length) in union.runs() {
                assert!((at..at + length).all(|row| union.contains(row as u64) != counts));
                at += length;
            }
            assert_eq!(at as u64, rows);
            for chunk in 0..4 {
                let first = chunk * u64::from(CHUNK_ROWS);
                let here: Vec<bool> = (first..rows.min(first + u64::from(CHUNK_ROWS)))
                    .map(|row| !union.contains(row))
                    .collect();
                match union.living_of_chunk(chunk as usize) {
                    Some(living) => assert_eq!(living.iter().collect::<Vec<_>>(), here),
                    None => assert!(here.iter().all(|living| *living)),
                }
            }
        }
    }

    #[test]
    fn a_set_has_one_list() {
        let list = |form: u8, rest: &[u8]| [MAGIC, &[form][..], &20_u32.to_le_bytes(), rest].concat();
        let sound = DeadRows::decode(&list(RUNS, &[3, 2]), 20).unwrap();
        assert_eq!(rows_of(&sound, 20), BTreeSet::from([3, 4]));
        assert!(DeadRows::decode(&list(BITS, &[0x55, 0x55, 0x05]), 20).is_some());
        let wrong: [(u8, &[u8]); 12] = [
            (RUNS, &[3, 0]),
            (RUNS, &[3]),
            (RUNS, &[3, 1, 0, 1]),
            (RUNS, &[0x83, 0x00, 1]),
            (RUNS, &[19, 2]),
            (RUNS, &[0, 1, 1, 1]),
            (RUNS, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]),
            (BITS, &[0x18, 0, 0]),
            (BITS, &[0x55, 0x55, 0x85]),
            (BITS, &[0x55, 0x55]),
            (BITS, &[0x55, 0x55, 0x05, 0]),
            (2, &[3, 2]),
        ];
        for (form, rest) in wrong {
            assert_eq!(DeadRows::decode(&list(form, rest), 20), None, "{form} {rest:?}");
        }
        assert_eq!(DeadRows::decode(b"HUSHDEAD", 20), None);
    }
}
