// SPDX-License-Identifier: Apache-2.0
//! Uniform vectors that are regenerated from a seed instead of stored: the `a` parts of public and evaluation keys.
//!
//! *Definition.* A residue is a 32-bit word of the row's stream for moduli of up to 31 bits, else a 64-bit word, cut to the bits of the
//! modulus. A word that is not below the modulus is replaced by the next good one of the words behind the vector, so that residues
//! are exactly uniform. With `q` just below a power of two that happens about once in `2^20` words, and the loops that do the work are
//! plain additions of words.

use hush_kernels::{AesCtr128, Cpu};
use zerocopy::IntoBytes as _;

use super::OddModulus;
use crate::random::derived_key;
use crate::{LabError, Seed};

/// The longest modulus in 32-bit words.
const NARROW_BITS: u32 = 31;
/// Bytes of the rows that are generated together: small enough for the first cache.
const BATCH_BYTES: usize = 8192;

/// A matrix of uniform residues, by rows.
pub(crate) struct Rows {
    stream: AesCtr128,
    length: usize,
    modulus: OddModulus,
}

impl Rows {
    /// Rows of [`Stream`](crate::Stream) `label`; row `r` has the words of nonce `r`.
    pub(crate) fn new(
        seed: &Seed,
        label: &str,
        length: usize,
        modulus: OddModulus,
    ) -> Result<Self, LabError> {
        let stream = AesCtr128::new(Cpu::detect()?, &derived_key(seed, label));
        Ok(Self { stream, length, modulus })
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn modulus(&self) -> OddModulus {
        self.modulus
    }

    pub(crate) fn is_narrow(&self) -> bool {
        is_narrow(self.modulus)
    }

    /// Calls `each` with `⟨row, secret⟩ mod q` for the rows `0..count` in their order.
    ///
    /// # Cost
    /// `count · length` products, and as many words of the stream.
    pub(crate) fn dot_each(&self, count: u64, secret: &[u64], mut each: impl FnMut(u64, u64)) {
        debug_assert_eq!(secret.len(), self.length);
        if self.is_narrow() {
            let secret: Vec<u32> = secret.iter().map(|&residue| residue as u32).collect();
            self.dot_each_in(count, &secret, &mut each);
        } else {
            self.dot_each_in(count, secret, &mut each);
        }
    }

    fn dot_each_in<W: Word>(&self, count: u64, secret: &[W], each: &mut impl FnMut(u64, u64)) {
        let mut buffer = Buffer::<W>::new(self.length);
        let mut first = 0;
        while first < count {
            let last = count.min(first + batch_rows::<W>(self.length) as u64);
            let batch: Vec<u64> = (first..last).collect();
            self.generate(&batch, &mut buffer);
            for (&row, words) in batch.iter().zip(buffer.words.chunks_exact(self.length)) {
                each(row, W::dot(words, secret, self.modulus));
            }
            first = last;
        }
    }

    /// Writes rows, one after the other.
    fn generate<W: Word>(&self, rows: &[u64], buffer: &mut Buffer<W>) {
        let per_row = blocks_per_row::<W>(self.length);
        let mask = u64::MAX >> (64 - self.modulus.bits());
        let blocks = &mut buffer.blocks[..2 * per_row];
        for (&row, words) in rows.iter().zip(buffer.words.chunks_exact_mut(self.length)) {
            if W::read(self.fill(row, 0, blocks), mask, self.modulus, words) {
                self.repair(row, per_row, mask, words);
            }
        }
    }

    /// Overwrites `blocks`, two words each, with those of a row from `first` on; gives their bytes.
    fn fill<'a>(&self, row: u64, first: u64, blocks: &'a mut [u64]) -> &'a [u8] {
        self.stream.fill_words(row, first, blocks);
        for word in &mut *blocks {
            *word = word.to_le();
        }
        blocks.as_bytes()
    }

    /// Replaces the words that are not residues.
    #[cold]
    fn repair<W: Word>(&self, row: u64, per_row: usize, mask: u64, words: &mut [W]) {
        let q = self.modulus.value();
        let mut next = per_row as u64;
        let mut block = [0; 2];
        let (mut spare, mut at) = (vec![W::default(); 16 / W::BYTES], 16 / W::BYTES);
        for word in words {
            while word.wide() >= q {
                if at == spare.len() {
                    W::read(self.fill(row, next, &mut block), mask, self.modulus, &mut spare);
                    (next, at) = (next + 1, 0);
                }
                *word = spare[at];
                at += 1;
            }
        }
    }
}

/// Whether residues are kept and generated in 32-bit words.
pub(crate) fn is_narrow(modulus: OddModulus) -> bool {
    modulus.bits() <= NARROW_BITS
}

/// Sums of rows for several receivers at once: a row is generated once for all that want it.
pub(crate) struct Sums<'a> {
    rows: &'a Rows,
    pending: Vec<(u64, u64)>,
    batch: usize,
    state: State,
}

enum State {
    Narrow(Partial<u32>),
    Wide(Partial<u64>),
}

impl<'a> Sums<'a> {
    /// For `count` receivers, 64 at most.
    pub(crate) fn new(rows: &'a Rows, count: usize) -> Self {
        debug_assert!(count <= 64);
        let length = rows.length;
        let (batch, state) = if rows.is_narrow() {
            (batch_rows::<u32>(length), State::Narrow(Partial::new(length, count)))
        } else {
            (batch_rows::<u64>(length), State::Wide(Partial::new(length, count)))
        };
        Self { rows, pending: Vec::with_capacity(batch), batch, state }
    }

    /// Adds a row for every receiver with its bit set.
    pub(crate) fn push(&mut self, row: u64, receivers: u64) {
        self.pending.push((row, receivers));
        if self.pending.len() == self.batch {
            self.flush();
        }
    }

    /// The sums modulo q.
    pub(crate) fn finish(mut self) -> Vec<Vec<u64>> {
        self.flush();
        match self.state {
            State::Narrow(partial) => partial.reduced(self.rows.modulus),
            State::Wide(partial) => partial.reduced(self.rows.modulus),
        }
    }

    fn flush(&mut self) {
        match &mut self.state {
            State::Narrow(partial) => partial.add(self.rows, &self.pending),
            State::Wide(partial) => partial.add(self.rows, &self.pending),
        }
        self.pending.clear();
    }
}

/// Sums without reduction: of words, and of those sums before they could overflow.
struct Partial<W: Word> {
    buffer: Buffer<W>,
    indices: Vec<u64>,
    words: Vec<Vec<W>>,
    totals: Vec<Vec<W::Total>>,
    /// Rows in `words`, `2^(bits of W − bits of q)` at most.
    held: u64,
}

impl<W: Word> Partial<W> {
    fn new(length: usize, count: usize) -> Self {
        Self {
            buffer: Buffer::new(length),
            indices: Vec::new(),
            words: vec![vec![W::default(); length]; count],
            totals: vec![vec![W::Total::default(); length]; count],
            held: 0,
        }
    }

    fn add(&mut self, rows: &Rows, pending: &[(u64, u64)]) {
        if self.words.len() <= 2 {
            return self.add_at_once(rows, pending);
        }
        self.indices.clear();
        self.indices.extend(pending.iter().map(|&(row, _)| row));
        rows.generate(&self.indices, &mut self.buffer);
        let capacity = 1 << (8 * W::BYTES as u32 - rows.modulus.bits());
        for ((_, receivers), row) in pending.iter().zip(self.buffer.words.chunks_exact(rows.length)) {
            if self.held == capacity {
                carry(&mut self.totals, &mut self.words);
                self.held = 0;
            }
            for (receiver, sum) in self.words.iter_mut().enumerate() {
                if receivers >> receiver & 1 == 1 {
                    W::accumulate(sum, row);
                }
            }
            self.held += 1;
        }
    }

    /// As [`Partial::add`], for few receivers: words are cut and added in one pass, which is taken back in the rare case that one is
    /// no residue.
    fn add_at_once(&mut self, rows: &Rows, pending: &[(u64, u64)]) {
        let per_row = blocks_per_row::<W>(rows.length);
        let capacity = 1 << (8 * W::BYTES as u32 - rows.modulus.bits());
        let mask = u64::MAX >> (64 - rows.modulus.bits());
        let blocks = &mut self.buffer.blocks[..2 * per_row];
        for &(row, receivers) in pending {
            if self.held == capacity {
                carry(&mut self.totals, &mut self.words);
                self.held = 0;
            }
            let bytes = rows.fill(row, 0, blocks);
            for (receiver, sum) in self.words.iter_mut().enumerate() {
                if receivers >> receiver & 1 == 1 && W::accumulate_read(sum, bytes, mask, rows.modulus) {
                    let words = &mut self.buffer.words[..rows.length];
                    W::read(bytes, mask, rows.modulus, words);
                    W::take_back(sum, words);
                    rows.repair(row, per_row, mask, words);
                    W::accumulate(sum, words);
                }
            }
            self.held += 1;
        }
    }

    fn reduced(mut self, modulus: OddModulus) -> Vec<Vec<u64>> {
        carry(&mut self.totals, &mut self.words);
        let reduced =
            |total: Vec<W::Total>| total.into_iter().map(|sum| modulus.reduce(sum.into())).collect();
        self.totals.into_iter().map(reduced).collect()
    }
}

fn carry<W: Word>(totals: &mut [Vec<W::Total>], words: &mut [Vec<W>]) {
    for (total, words) in totals.iter_mut().zip(words) {
        W::carry(total, words);
    }
}

struct Buffer<W> {
    /// Of one row.
    blocks: Vec<u64>,
    words: Vec<W>,
}

impl<W: Word> Buffer<W> {
    fn new(length: usize) -> Self {
        let rows = batch_rows::<W>(length);
        Self { blocks: vec![0; 2 * blocks_per_row::<W>(length)], words: vec![W::default(); rows * length] }
    }
}

fn batch_rows<W: Word>(length: usize) -> usize {
    (BATCH_BYTES / (length * W::BYTES).max(1)).clamp(1, 64)
}

fn blocks_per_row<W: Word>(length: usize) -> usize {
    (length * W::BYTES).div_ceil(16)
}

/// A word of a stream.
trait Word: Copy + Default {
    const BYTES: usize;
    /// Holds `2^32` sums of words.
    type Total: Copy + Default + Into<u128>;

    fn wide(self) -> u64;
    /// Cuts words out of bytes; whether some are no residues.
    fn read(bytes: &[u8], mask: u64, modulus: OddModulus, out: &mut [Self]) -> bool;
    /// Adds without reduction; the caller bounds the number of terms.
    fn accumulate(sum: &mut [Self], row: &[Self]);
    /// Cuts words out of bytes and adds them; whether some are no residues.
    fn accumulate_read(sum: &mut [Self], bytes: &[u8], mask: u64, modulus: OddModulus) -> bool;
    /// Undoes an addition.
    fn take_back(sum: &mut [Self], row: &[Self]);
    /// Adds sums to totals and clears them.
    fn carry(totals: &mut [Self::Total], sums: &mut [Self]);
    /// The inner product modulo q.
    fn dot(a: &[Self], b: &[Self], modulus: OddModulus) -> u64;
}

macro_rules! word {
    ($word:ty, $double:ty, $terms:expr) => {
        impl Word for $word {
            const BYTES: usize = size_of::<$word>();
            type Total = $double;

            fn wide(self) -> u64 {
                self.into()
            }

            fn read(bytes: &[u8], mask: u64, modulus: OddModulus, out: &mut [Self]) -> bool {
                let (mask, largest) = (mask as $word, modulus.value() as $word - 1);
                let mut over = 0;
                for (word, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                    *word = <$word>::from_le_bytes(*bytes) & mask;
                    // The highest bit tells a negative difference: words and q are shorter than a word.
                    over |= largest.wrapping_sub(*word);
                }
                over >> (<$word>::BITS - 1) == 1
            }

            fn accumulate(sum: &mut [Self], row: &[Self]) {
                for (sum, &word) in sum.iter_mut().zip(row) {
                    *sum = sum.wrapping_add(word);
                }
            }

            fn accumulate_read(sum: &mut [Self], bytes: &[u8], mask: u64, modulus: OddModulus) -> bool {
                let (mask, largest) = (mask as $word, modulus.value() as $word - 1);
                let mut over = 0;
                for (sum, bytes) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    let word = <$word>::from_le_bytes(*bytes) & mask;
                    *sum = sum.wrapping_add(word);
                    over |= largest.wrapping_sub(word);
                }
                over >> (<$word>::BITS - 1) == 1
            }

            fn take_back(sum: &mut [Self], row: &[Self]) {
                for (sum, &word) in sum.iter_mut().zip(row) {
                    *sum = sum.wrapping_sub(word);
                }
            }

            fn carry(totals: &mut [$double], sums: &mut [Self]) {
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total = total.wrapping_add((*sum).into());
                    *sum = 0;
                }
            }

            fn dot(a: &[Self], b: &[Self], modulus: OddModulus) -> u64 {
                let q = <$double>::from(modulus.value());
                let terms = 1 << $terms(modulus.bits());
                let pieces = a.chunks(terms).zip(b.chunks(terms)).map(|(a, b)| {
                    let products = a.iter().zip(b).map(|(&x, &y)| <$double>::from(x).wrapping_mul(y.into()));
                    products.fold(0, <$double>::wrapping_add) % q
                });
                (pieces.sum::<$double>() % q) as u64
            }
        }
    };
}

// So many products of residues fit their sum, as a power of two.
word!(u32, u64, |bits: u32| 64 - 2 * bits.max(16));
word!(u64, u128, |bits: u32| 128 - 2 * bits.max(56));

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;
    use crate::Stream;

    /// A row word by word, after the definition.
    fn reference(seed: &Seed, row: u64, length: usize, q: u64) -> Vec<u64> {
        let bits = 64 - q.leading_zeros();
        let size = if bits <= 31 { 4 } else { 8 };
        let mut bytes = vec![0; 16 * 256 + length.div_ceil(16 / size) * 16];
        let mut stream = Stream::derive(seed, "rows");
        stream.seek(row);
        stream.fill(&mut bytes);
        let words: Vec<u64> = bytes
            .chunks(size)
            .map(|word| {
                word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)) & ((1 << bits) - 1)
            })
            .collect();
        let (first, spare) = words.split_at(length.div_ceil(16 / size) * (16 / size));
        let mut spare = spare.iter().copied().filter(|&word| word < q);
        first[..length].iter().map(|&word| if word < q { word } else { spare.next().unwrap() }).collect()
    }

    #[test]
    fn sums_and_products_agree_with_the_definition() {
        let seed = Seed::from_text("rows");
        for q in [
            5,
            (1 << 25) + 3,
            (1 << 26) - 5,
            (1 << 26) - 3,
            (1 << 28) - 57,
            (1 << 40) - 87,
            (1 << 40) - 85,
            (1 << 28) + 3,
            (1 << 31) - 1,
            (1 << 31) + 11,
            (1 << 52) - 47,
            (1 << 59) + 1,
            (1 << 60) - 93,
        ] {
            let modulus = OddModulus::new(q).unwrap();
            let length = 137;
            let rows = Rows::new(&seed, "rows", length, modulus).unwrap();
            let expected: Vec<Vec<u64>> = (0..45).map(|row| reference(&seed, row, length, q)).collect();
            let secret = reference(&seed, 99, length, q);

            for receivers in 1..=3 {
                let mut sums = Sums::new(&rows, receivers);
                (0..45).for_each(|row| sums.push(row, row % 8));
                for (receiver, sum) in sums.finish().into_iter().enumerate() {
                    let wanted = |row: &usize| (row % 8) >> receiver & 1 == 1;
                    let column =
                        |k| (0..45).filter(wanted).map(|row| u128::from(expected[row][k])).sum::<u128>();
                    assert_eq!(
                        sum,
                        (0..length).map(|k| (column(k) % u128::from(q)) as u64).collect::<Vec<_>>()
                    );
                }
            }
            rows.dot_each(45, &secret, |row, found| {
                let terms = expected[row as usize].iter().zip(&secret);
                let sum: BigUint = terms.map(|(&x, &y)| BigUint::from(x) * y).sum();
                assert_eq!(BigUint::from(found), sum % q);
            });
        }
    }
}
