// SPDX-License-Identifier: Apache-2.0
//! Radix-2 transforms: Cooley–Tukey forward, Gentleman–Sande inverse, both in place, `ψ` merged in the twiddles.

use hush_arith::Modulus;

use crate::ntt::order::{bit_reversed_powers, reverse_bits, transpose_index};

/// A constant `w < q` with `⌊w·2^64/q⌋`, for Shoup's multiplication.
#[derive(Debug, Clone, Copy)]
struct Twiddle {
    value: u64,
    companion: u64,
}

impl Twiddle {
    fn new(modulus: Modulus, value: u64) -> Self {
        Self { value, companion: modulus.shoup64(value) }
    }

    /// `w·x mod q`, in `[0, 2q)`, for any 64-bit `x`.
    #[inline]
    fn mul_lazy2(self, x: u64, q: u64) -> u64 {
        // The estimate falls short of ⌊w·x/q⌋ by at most 1 \[Har14, theorem 1\].
        let quotient = ((u128::from(self.companion) * u128::from(x)) >> 64) as u64;
        self.value.wrapping_mul(x).wrapping_sub(quotient.wrapping_mul(q))
    }
}

/// The constants of one transform.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    modulus: Modulus,
    /// `ψ^brv(i)` at `i`.
    forward: Vec<Twiddle>,
    /// `ψ^(−brv(i))` at `i`.
    inverse: Vec<Twiddle>,
    /// `N⁻¹`.
    scale: Twiddle,
}

pub(crate) fn new_tables(modulus: Modulus, degree: usize, psi: u64) -> Tables {
    Tables::new(modulus, degree, psi)
}

pub(crate) fn forward(tables: &Tables, data: &mut [u64]) {
    tables.forward(data);
}

pub(crate) fn inverse(tables: &Tables, data: &mut [u64]) {
    tables.inverse(data);
}

impl Tables {
    fn new(modulus: Modulus, degree: usize, psi: u64) -> Self {
        let powers = bit_reversed_powers(modulus, degree, psi);
        // ψ^(−j) = −ψ^(N−j), and the exponent N − brv(i) stands at index brv(N − brv(i)).
        let inverse = (0..degree).map(|i| match reverse_bits(i, degree) {
            0 => 1,
            exponent => modulus.neg(powers[reverse_bits(degree - exponent, degree)]),
        });
        let twiddle = |w| Twiddle::new(modulus, w);
        // N ≤ 2^16 is a power of two, and (q+1)/2 is the inverse of 2 modulo the odd prime q.
        let scale = modulus.pow(modulus.value().div_ceil(2), u64::from(degree.trailing_zeros()));
        Self {
            modulus,
            inverse: inverse.map(twiddle).collect(),
            forward: powers.iter().copied().map(twiddle).collect(),
            scale: twiddle(scale),
        }
    }

    /// Values lie below `(2l + 1)·q` after layer `l`: a butterfly adds less than `2q`.
    fn forward(&self, data: &mut [u64]) {
        let q = self.modulus.value();
        let degree = data.len();
        let mut block_count = 1;
        while block_count < degree {
            let half = degree / (2 * block_count);
            for (block, w) in data.chunks_exact_mut(2 * half).zip(&self.forward[block_count..]) {
                let (low, high) = block.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    let product = w.mul_lazy2(*y, q);
                    (*x, *y) = (*x + product, *x + 2 * q - product);
                }
            }
            block_count *= 2;
        }
        for x in data.iter_mut() {
            *x = self.modulus.reduce_u64(*x);
        }
        transpose_blocks(data);
    }

    /// Values stay below `2q` in every layer.
    fn inverse(&self, data: &mut [u64]) {
        transpose_blocks(data);
        let q = self.modulus.value();
        let degree = data.len();
        let mut block_count = degree / 2;
        while block_count > 0 {
            let half = degree / (2 * block_count);
            for (block, w) in data.chunks_exact_mut(2 * half).zip(&self.inverse[block_count..]) {
                let (low, high) = block.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    let (sum, difference) = (*x + *y, *x + 2 * q - *y);
                    // min(s, s − 2q) as unsigned words subtracts 2q where s ≥ 2q.
                    *x = sum.min(sum.wrapping_sub(2 * q));
                    *y = w.mul_lazy2(difference, q);
                }
            }
            block_count /= 2;
        }
        for x in data.iter_mut() {
            let scaled = self.scale.mul_lazy2(*x, q);
            *x = scaled.min(scaled.wrapping_sub(q));
        }
    }
}

/// Moves the value at `k` to `τ(k)`: transposes each 64-point block as an 8 × 8 matrix.
fn transpose_blocks(data: &mut [u64]) {
    let degree = data.len();
    for index in 0..degree {
        let other = transpose_index(index, degree);
        if index < other {
            data.swap(index, other);
        }
    }
}
