// SPDX-License-Identifier: Apache-2.0
//! Recrypt: decryption under encryption.

use hush_kernels::{BitWidth, bits::unpack_bits, lazy};

use super::{
    Cnt12Error, InsecureCnt12Ciphertext, InsecureCnt12PublicKey,
    circuit::{self, Gates},
};
use crate::integer::{
    IntegerError,
    modulus::{LongModulus, MAX_PRODUCTS},
    words,
};

/// Bits of the digits that encrypted key bits are summed in.
const DIGIT_BITS: u32 = 46;
/// Digits that are summed while they are in the second cache. A multiple of 64, so that a chunk begins at a multiple of 16 bytes
/// and is whole words.
const CHUNK: usize = 4096;

impl InsecureCnt12PublicKey {
    /// A ciphertext of the same bit with little noise.
    ///
    /// # Math
    /// `c/p` is nearly `Σ s_i·z_i` modulo 2, and the bit is `c − ⌊c/p⌉` modulo 2. A box has one `s_i = 1`, so bit `b` of its number is
    /// the sum of the encrypted `s_i` with bit `b` of `z_i` set. `circuit::rounded_sum` adds the numbers of the boxes.
    ///
    /// # Noise
    /// In: at most [`super::InsecureCnt12Parameters::refreshable_bits`], or the bit is lost. Out: in practice below
    /// [`super::InsecureCnt12Parameters::refreshed_noise_bits`].
    ///
    /// # Cost
    /// Two passes over `Θ·γ` bits of expanded seeds, then 31 products modulo `x_0`, and 14 that are reduced together, for
    /// `θ = 15`, `n = 4`.
    ///
    /// # Errors
    /// [`Cnt12Error::CiphertextSize`], [`Cnt12Error::Integer`].
    ///
    /// # References
    /// eprint 2011/440, section 4, after van Dijk, Gentry, Halevi and Vaikuntanathan (eprint 2009/616, section 6).
    pub fn recrypt(&self, ct: &InsecureCnt12Ciphertext) -> Result<InsecureCnt12Ciphertext, Cnt12Error> {
        self.check(ct)?;
        let numbers = self.expand(&ct.words);
        let columns = self.box_sums(&numbers)?;
        let gates = ResidueGates { modulus: &self.modulus };
        // Parameters have boxes and columns, so there is a sum.
        let rounded = circuit::rounded_sum(&gates, columns).unwrap_or_default();
        let parity = self.constant(ct.words[0] & 1 == 1);
        Ok(InsecureCnt12Ciphertext { words: self.modulus.add(&rounded, &parity.words) })
    }

    /// Bit `b` of the number of each box, encrypted: entry `[b][box]`.
    pub(crate) fn box_sums(&self, numbers: &[u32]) -> Result<Vec<Vec<Vec<u64>>>, Cnt12Error> {
        let l = self.parameters.literal();
        let box_len = l.secret_bits / l.boxes;
        let mut columns = vec![Vec::with_capacity(l.boxes); l.precision as usize + 1];
        for (at, numbers) in numbers.chunks_exact(box_len).enumerate() {
            let first = at * box_len;
            for (column, mut sum) in columns.iter_mut().zip(self.mask_sums(first, numbers)?) {
                sum.resize(self.modulus.word_count(), 0);
                column.push(sum);
            }
            for (index, number) in numbers.iter().enumerate() {
                for (b, column) in columns.iter_mut().enumerate() {
                    if number >> b & 1 == 1 {
                        words::add_assign(&mut column[at], &self.secret_bits[first + index]);
                    }
                }
            }
            columns.iter_mut().for_each(|column| self.modulus.normalize(&mut column[at]));
        }
        Ok(columns)
    }

    /// `Σ χ_i` over the numbers with bit `b` set, for each `b`, where the first number belongs to key bit `first`.
    fn mask_sums(&self, first: usize, numbers: &[u32]) -> Result<Vec<Vec<u64>>, Cnt12Error> {
        let l = self.parameters.literal();
        let width = BitWidth::new(DIGIT_BITS).map_err(IntegerError::from)?;
        let chunk_bytes = width.packed_bytes(CHUNK);
        let total_bytes = l.ciphertext_bits.div_ceil(8) as usize;
        let mut joiners = vec![Joiner::default(); l.precision as usize + 1];
        let (mut packed, mut digits) = (vec![0; chunk_bytes], vec![0; CHUNK]);
        let mut sums = vec![vec![0; CHUNK]; joiners.len()];
        for start in (0..total_bytes).step_by(chunk_bytes) {
            sums.iter_mut().for_each(|sum| sum.fill(0));
            let used = chunk_bytes.min(total_bytes - start);
            packed[used..].fill(0);
            let is_cut = start + used == total_bytes && !l.ciphertext_bits.is_multiple_of(8);
            for (index, number) in numbers.iter().enumerate().filter(|(_, number)| **number != 0) {
                self.masks.fill((l.zero_count + first + index) as u64, start as u64, &mut packed[..used]);
                if is_cut {
                    packed[used - 1] &= (1 << (l.ciphertext_bits % 8)) - 1;
                }
                unpack_bits(self.cpu, width, &packed, &mut digits);
                for (b, sum) in sums.iter_mut().enumerate() {
                    if number >> b & 1 == 1 {
                        lazy::accumulate(self.cpu, sum, &digits);
                    }
                }
            }
            joiners.iter_mut().zip(&sums).for_each(|(joiner, sum)| joiner.push(sum));
        }
        Ok(joiners.into_iter().map(|joiner| joiner.words).collect())
    }
}

/// Digits with room for carries, joined to words as they come.
#[derive(Clone, Default)]
struct Joiner {
    words: Vec<u64>,
    carry: u64,
}

impl Joiner {
    /// Adds [`CHUNK`] digits below `2^62` at the end.
    fn push(&mut self, digits: &[u64]) {
        let (mut window, mut held) = (0u64, 0u32);
        for &digit in digits {
            let sum = digit + self.carry;
            self.carry = sum >> DIGIT_BITS;
            let digit = sum & ((1 << DIGIT_BITS) - 1);
            window |= digit << held;
            held += DIGIT_BITS;
            if held >= 64 {
                self.words.push(window);
                held -= 64;
                window = digit >> (DIGIT_BITS - held);
            }
        }
    }
}

/// Encrypted bits as residues below `x_0`.
struct ResidueGates<'a> {
    modulus: &'a LongModulus,
}

impl Gates for ResidueGates<'_> {
    type Bit = Vec<u64>;

    fn xor(&self, a: &Vec<u64>, b: &Vec<u64>) -> Vec<u64> {
        self.modulus.add(a, b)
    }

    fn sum_of_products(&self, pairs: Vec<(Vec<u64>, Vec<u64>)>) -> Option<Vec<u64>> {
        let sum = |pairs: &[(Vec<u64>, Vec<u64>)]| {
            let pairs: Vec<(&[u64], &[u64])> = pairs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            self.modulus.sum_of_products(&pairs)
        };
        pairs.chunks(MAX_PRODUCTS).map(sum).reduce(|a, b| self.modulus.add(&a, &b))
    }
}
