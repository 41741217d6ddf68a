// SPDX-License-Identifier: Apache-2.0
//! `Σ_i b_i·x_i` for short `b_i` and very many long `x_i` that exist only piece by piece.
//!
//! # Math
//! All digits have one width, such that the coefficients of the whole sum stay below `2^92`: 37 bits for 2^18 products.
//! Overlap-save: a block of [`LEN`] digits of `x_i` that begins `overlap` digits early, times all digits of `b_i`, is right from
//! digit `overlap` on. Transforms of blocks are multiplied and summed over `i`; one inverse transform per block ends it.
//!
//! # Cost
//! For each `i`, the transform of `x_i` once and a multiplication of its length for each sum: all sums together cost little
//! more than one.

use hush_kernels::{BitWidth, Cpu, bits::unpack_bits, convert, lazy};

use super::{
    IntegerError, digits,
    transform::{Spectrum, Transform},
};

/// Sums of one shape.
#[derive(Debug, Clone)]
pub(crate) struct LongSums {
    shape: SumShape,
    transform: Transform,
    cpu: Cpu,
    width: BitWidth,
    /// A multiple of 128, so that blocks begin at multiples of 16 bytes; not below the digits of a short integer less one.
    overlap: usize,
}

/// The sizes of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SumShape {
    /// Bits of the long integers.
    pub(crate) long_bits: u64,
    /// Bits of the short ones.
    pub(crate) short_bits: u64,
    /// Terms.
    pub(crate) count: usize,
}

/// Points of a transform: those of a group, of its multipliers and the accumulators fit the second cache.
const LEN: usize = 2048;
/// Terms that are transformed and summed together. At most [`convert::MAX_ROWS`].
const GROUP: usize = 16;

impl LongSums {
    /// # Errors
    /// [`IntegerError::TooLong`] if the short integers have some 40 000 bits or more.
    pub(crate) fn new(shape: SumShape, cpu: Cpu) -> Result<Self, IntegerError> {
        let transform = Transform::new(LEN, cpu)?;
        let overlap = |width: u32| shape.short_bits.div_ceil(u64::from(width)).next_multiple_of(128);
        let fits = |width: &u32| {
            let terms = overlap(*width).saturating_mul(shape.count as u64);
            2 * width + u64::BITS - terms.leading_zeros() <= 92 && overlap(*width) <= LEN as u64 / 2
        };
        let max = LEN as u64 * 8;
        let width = (1..=digits::MAX_DIGIT_BITS)
            .rev()
            .find(fits)
            .ok_or(IntegerError::TooLong { found: shape.short_bits, max })?;
        Ok(Self { shape, transform, cpu, width: BitWidth::new(width)?, overlap: overlap(width) as usize })
    }

    /// One sum for each row of `multipliers`, which has the words of a short integer for each term.
    ///
    /// `fill(i, first, bytes)` writes the bytes of `x_i` from byte `first` on, a multiple of 16; bits beyond the length are ignored.
    ///
    /// # Memory
    /// For each sum 17 bytes a digit: 2 MB for 4 251 866 bits, 9 MB for 19 575 950.
    pub(crate) fn sums(
        &self,
        multipliers: &[Vec<Vec<u64>>],
        mut fill: impl FnMut(usize, u64, &mut [u8]),
    ) -> Vec<Vec<u64>> {
        let zeros = || (0..self.block_count()).map(|_| self.transform.zero()).collect();
        let mut accumulators: Vec<Vec<Spectrum>> = multipliers.iter().map(|_| zeros()).collect();
        let mut digits = vec![0; LEN];
        let mut packed = vec![0; self.width.packed_bytes(LEN)];
        let mut long = vec![self.transform.zero(); GROUP];
        let mut products = [self.transform.zero(), self.transform.zero()];
        for first in (0..self.shape.count).step_by(GROUP) {
            let group = first..self.shape.count.min(first + GROUP);
            let short: Vec<Vec<Spectrum>> = multipliers
                .iter()
                .map(|row| row[group.clone()].iter().map(|b| self.spectrum(b)).collect())
                .collect();
            for block in 0..self.block_count() {
                for (index, long) in group.clone().zip(&mut long) {
                    self.load(block, &mut packed, |first, bytes| fill(index, first, bytes));
                    unpack_bits(self.cpu, self.width, &packed, &mut digits);
                    self.transform.forward_into(&digits, long);
                }
                // Two sums at a time share what they read of the long integers; a last one goes with itself.
                for (pair, short) in accumulators.chunks_mut(2).zip(short.chunks(2)) {
                    let both = [&short[0], &short[short.len() - 1]];
                    self.dot_pair(&long[..group.len()], both, &mut products);
                    for (row, product) in pair.iter_mut().zip(&products) {
                        self.accumulate(&mut row[block], product);
                    }
                }
            }
        }
        accumulators.into_iter().map(|row| self.finish(row)).collect()
    }

    /// The two sums of products of one group.
    fn dot_pair(&self, long: &[Spectrum], short: [&Vec<Spectrum>; 2], out: &mut [Spectrum; 2]) {
        let [left, right] = out;
        for (prime, modulus) in self.transform.moduli().into_iter().enumerate() {
            let a: Vec<&[u64]> = long.iter().map(|spectrum| spectrum.row(prime)).collect();
            let b: [Vec<&[u64]>; 2] =
                short.map(|row| row.iter().map(|spectrum| spectrum.row(prime)).collect());
            let out = (left.row_mut(prime), right.row_mut(prime));
            convert::dot_pair(self.cpu, modulus, out, &a, (&b[0], &b[1]));
        }
    }

    /// Adds canonical words unreduced: at most once for each group, and there are fewer than [`lazy::MAX_SUM_TERMS`].
    fn accumulate(&self, acc: &mut Spectrum, x: &Spectrum) {
        for prime in 0..2 {
            lazy::accumulate(self.cpu, acc.row_mut(prime), x.row(prime));
        }
    }

    fn spectrum(&self, short: &[u64]) -> Spectrum {
        let digits = digits::split(short, self.width.bits());
        let used = self.shape.short_bits.div_ceil(u64::from(self.width.bits())) as usize;
        self.transform.forward(&digits[..used.min(digits.len())])
    }

    /// Digits of a block that are not seen by the block before.
    fn step(&self) -> usize {
        LEN - self.overlap
    }

    /// Enough for the digits of a long integer and of a short one after it.
    fn block_count(&self) -> usize {
        let digits = self.shape.long_bits.div_ceil(u64::from(self.width.bits())) as usize + self.overlap;
        digits.div_ceil(self.step())
    }

    /// The bytes of one block of a long integer, zeros where it has none.
    fn load(&self, block: usize, packed: &mut [u8], fill: impl FnOnce(u64, &mut [u8])) {
        let width = self.width.bits() as usize;
        // The overlap is a multiple of 128 digits, hence of 16 bytes. Only the first block begins before the integer does.
        let (before, first) = match block {
            0 => (self.overlap * width / 8, 0),
            _ => (0, (block * self.step() - self.overlap) * width / 8),
        };
        let (zeros, bytes) = packed.split_at_mut(before);
        zeros.fill(0);
        let left = self.shape.long_bits.saturating_sub(8 * first as u64);
        let used = bytes.len().min(left.div_ceil(8) as usize);
        let (bytes, zeros) = bytes.split_at_mut(used);
        zeros.fill(0);
        fill(first as u64, bytes);
        if let Some(last) = bytes.last_mut().filter(|_| 8 * used as u64 > left) {
            *last &= (1 << (left % 8)) - 1;
        }
    }

    fn finish(&self, row: Vec<Spectrum>) -> Vec<u64> {
        let mut halves = [Vec::new(), Vec::new()];
        for mut acc in row {
            for (prime, modulus) in self.transform.moduli().into_iter().enumerate() {
                lazy::reduce_assign(self.cpu, modulus, acc.row_mut(prime));
            }
            for (half, part) in halves.iter_mut().zip(self.transform.inverse(&mut acc, self.overlap)) {
                half.extend_from_slice(part);
            }
        }
        let mut words = Vec::new();
        let pair = [&halves[0][..], &halves[1][..]];
        digits::join(&self.transform, pair, self.width.bits(), digits::Sign::None, &mut words);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer::words;
    use num_bigint::BigUint;

    #[test]
    fn sums_agree_with_num_bigint() {
        let cpu = Cpu::detect().unwrap();
        let mix = |seed: u64| {
            (0..).map(move |i: u64| (seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes() ^ i << 32)
        };
        // The last shape has more terms than the accumulators hold.
        for (long_bits, short_bits, count) in
            [(1u64, 1u64, 1usize), (64, 64, 3), (184_319, 500, 17), (500_000, 3000, 40), (100, 100, 5000)]
        {
            let sums = LongSums::new(SumShape { long_bits, short_bits, count }, cpu).unwrap();
            let long: Vec<Vec<u64>> = (0..count as u64)
                .map(|i| mix(i << 20).take(long_bits.div_ceil(64) as usize + 1).collect())
                .collect();
            let short = |row: u64| -> Vec<Vec<u64>> {
                let word = |i| {
                    let mut words: Vec<u64> = match row {
                        0 => mix(i << 7).take(short_bits.div_ceil(64) as usize).collect(),
                        _ => vec![u64::MAX; short_bits.div_ceil(64) as usize],
                    };
                    words::mask_assign(&mut words, short_bits);
                    words
                };
                (0..count as u64).map(word).collect()
            };
            let multipliers = [short(0), short(1)];
            let found = sums.sums(&multipliers, |i, first, bytes| {
                let all: Vec<u8> = long[i].iter().flat_map(|word| word.to_le_bytes()).collect();
                assert_eq!(first % 16, 0);
                bytes.copy_from_slice(&all[first as usize..][..bytes.len()]);
            });
            for (row, found) in multipliers.iter().zip(found) {
                let power = BigUint::from(1u8) << long_bits;
                let term = |(b, x): (&Vec<u64>, &Vec<u64>)| words::to_big(b) * (words::to_big(x) % &power);
                let expected: BigUint = row.iter().zip(&long).map(term).sum();
                assert_eq!(words::to_big(&found), expected, "{long_bits} {short_bits} {count}");
            }
        }
    }
}
