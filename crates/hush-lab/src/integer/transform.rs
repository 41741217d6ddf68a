// SPDX-License-Identifier: Apache-2.0
//! Products in `Z[Y]/(Y^L + 1)`, modulo two primes of 46.9 bits.
//!
//! # Math
//! The kernels transform at most `N = 2^16` points. A longer ring splits into `R = L/N` first: with `ψ^L = −1` and the `R` odd
//! multiples `e` of `N`, `Y^L + 1 = Π (Y^N − ψ^e)`. A polynomial `Σ_k a_k·Y^(kN)` of blocks `a_k` goes to `Σ_k ψ^(ek)·a_k` modulo
//! each factor, and `Y = μX` with `μ^N = −ψ^e` makes the factor negacyclic: coefficient `k` is multiplied by `μ^k`. Blocks are
//! recombined by one loop of weighted sums, not by `log2 R` layers: memory is slower than multiplications here.

use hush_arith::{MAX_MODULUS, Modulus};
use hush_kernels::{Cpu, NttPlan, convert, pointwise};

use super::IntegerError;

/// Transforms of one length.
#[derive(Debug, Clone)]
pub(crate) struct Transform {
    len: usize,
    cpu: Cpu,
    /// In ascending order.
    fields: [Field; 2],
    /// `q_0⁻¹ mod q_1`.
    first_inverse: u64,
}

/// The values of a polynomial: `L` words modulo the first prime, then `L` modulo the second. All canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spectrum(Vec<u64>);

#[derive(Debug, Clone)]
struct Field {
    modulus: Modulus,
    plan: NttPlan,
    /// For each factor; empty if there is one alone.
    factors: Vec<Factor>,
}

/// What leads to `Y^N − ψ^e` and back. Both lists of weights end with a zero, for the tag that the kernel expects.
#[derive(Debug, Clone)]
struct Factor {
    /// `ψ^(ek)` for each block `k`.
    weights: Vec<u64>,
    /// For the block with the index of this factor, `k`: `ψ^(−ek)/R` for each `e`.
    inverse_weights: Vec<u64>,
    /// `μ^k` and `μ^−k`.
    twist: [Vec<u64>; 2],
}

/// The longest ring for which the primes have roots.
pub(crate) const MAX_LEN: usize = 1 << 22;
/// The longest block.
const MAX_BLOCK: usize = hush_kernels::ntt::MAX_DEGREE;
/// Columns that are recombined together, so that they stay in the first cache.
const TILE: usize = 512;

impl Transform {
    /// Computes the tables: `4·L` words if `L > 2^16`, and the kernels' `O(min(L, 2^16))`.
    ///
    /// # Errors
    /// [`IntegerError::Kernel`] if `len` is no power of two from 16 on, [`IntegerError::TooLong`] above [`MAX_LEN`].
    pub(crate) fn new(len: usize, cpu: Cpu) -> Result<Self, IntegerError> {
        if len > MAX_LEN {
            return Err(IntegerError::TooLong { found: len as u64, max: MAX_LEN as u64 });
        }
        let [larger, smaller] = primes()?;
        let fields = [Field::new(smaller, len, cpu)?, Field::new(larger, len, cpu)?];
        let first_inverse = larger.inv(smaller.value())?;
        Ok(Self { len, cpu, fields, first_inverse })
    }

    /// The shortest ring, and the digit width in bits, for a product of so many bits.
    ///
    /// A ring of half the length serves products modulo `2^(bits·L/2) + 1` with the same digits. Sums of up to 16 products of
    /// `L/2` digits stay below `2^92 < q_0·q_1/2 − q_0`.
    ///
    /// # Errors
    /// [`IntegerError::TooLong`].
    pub(crate) fn shape(product_bits: u64) -> Result<(usize, u32), IntegerError> {
        let max = |len: usize| u64::from((92 - 4 - (len.ilog2() - 1)) / 2) * len as u64;
        (7..=MAX_LEN.ilog2())
            .map(|log2| 1 << log2)
            .find(|&len| product_bits <= max(len))
            .map(|len| (len, product_bits.div_ceil(len as u64).max(1) as u32))
            .ok_or(IntegerError::TooLong { found: product_bits, max: max(MAX_LEN) })
    }

    /// The length `L`.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The primes, in ascending order.
    pub(crate) fn moduli(&self) -> [Modulus; 2] {
        [self.fields[0].modulus, self.fields[1].modulus]
    }

    /// The transform of at most `L` digits below `2^46`; those that are missing count as zero.
    ///
    /// # Cost
    /// `2·L/N` kernel transforms and, if `L > N`, `2·L·L/N` products (half as many for half as many digits).
    pub(crate) fn forward(&self, digits: &[u64]) -> Spectrum {
        let mut spectrum = self.zero();
        self.forward_into(digits, &mut spectrum);
        spectrum
    }

    /// As [`Transform::forward`], into a spectrum of this length.
    pub(crate) fn forward_into(&self, digits: &[u64], out: &mut Spectrum) {
        for (field, values) in self.fields.iter().zip(out.0.chunks_exact_mut(self.len)) {
            field.forward(self.cpu, digits, values);
        }
    }

    /// The polynomial from coefficient `from` on: `(r_0, h)`, such that coefficient `k` is `r_0[k] + q_0·h[k]` modulo
    /// `q_0·q_1`, with `r_0` and `h` canonical for `q_0` and `q_1`. In place of the values.
    ///
    /// # Cost
    /// As [`Transform::forward`], and one pass.
    pub(crate) fn inverse<'a>(&self, spectrum: &'a mut Spectrum, from: usize) -> [&'a [u64]; 2] {
        let (first, second) = spectrum.0.split_at_mut(self.len);
        self.fields[0].inverse(self.cpu, first);
        self.fields[1].inverse(self.cpu, second);
        let (first, second) = (&first[from..], &mut second[from..]);
        convert::sub_scale_assign(self.cpu, self.fields[1].modulus, second, first, self.first_inverse);
        [first, second]
    }

    /// A spectrum of zeros.
    pub(crate) fn zero(&self) -> Spectrum {
        Spectrum(vec![0; 2 * self.len])
    }

    /// `out ← a·b`, value by value.
    pub(crate) fn mul_into(&self, out: &mut Spectrum, a: &Spectrum, b: &Spectrum) {
        for (k, field) in self.fields.iter().enumerate() {
            let range = k * self.len..(k + 1) * self.len;
            let (a, b) = (&a.0[range.clone()], &b.0[range.clone()]);
            pointwise::mul_into(self.cpu, field.modulus, &mut out.0[range], a, b);
        }
    }

    /// `acc ← acc·x`, value by value.
    pub(crate) fn mul_assign(&self, acc: &mut Spectrum, x: &Spectrum) {
        let rows = acc.0.chunks_exact_mut(self.len).zip(x.0.chunks_exact(self.len));
        for (field, (acc, x)) in self.fields.iter().zip(rows) {
            pointwise::mul_assign(self.cpu, field.modulus, acc, x);
        }
    }

    /// `acc ← acc + a·b`, value by value.
    pub(crate) fn mul_add_assign(&self, acc: &mut Spectrum, a: &Spectrum, b: &Spectrum) {
        for (k, field) in self.fields.iter().enumerate() {
            let range = k * self.len..(k + 1) * self.len;
            let (a, b) = (&a.0[range.clone()], &b.0[range.clone()]);
            pointwise::mul_add_assign(self.cpu, field.modulus, &mut acc.0[range], a, b);
        }
    }
}

impl Spectrum {
    /// The words modulo one of the two primes.
    pub(crate) fn row(&self, prime: usize) -> &[u64] {
        let len = self.0.len() / 2;
        &self.0[prime * len..][..len]
    }

    /// The same, to be written.
    pub(crate) fn row_mut(&mut self, prime: usize) -> &mut [u64] {
        let len = self.0.len() / 2;
        &mut self.0[prime * len..][..len]
    }
}

impl Field {
    fn new(modulus: Modulus, len: usize, cpu: Cpu) -> Result<Self, IntegerError> {
        let block = len.min(MAX_BLOCK);
        let plan = NttPlan::new(modulus, block, cpu)?;
        let psi = modulus.psi(len)?;
        let count = len / block;
        let mut factors = Vec::new();
        if count > 1 {
            let inverse_count = modulus.inv(count as u64)?;
            let odd_power = |factor: usize, k: usize| modulus.pow(psi, ((2 * factor + 1) * k * block) as u64);
            for factor in 0..count {
                let weights = (0..count).map(|k| odd_power(factor, k)).chain([0]).collect();
                let inverse_weights = (0..count)
                    .map(|e| Ok(modulus.mul(modulus.inv(odd_power(e, factor))?, inverse_count)))
                    .chain([Ok(0)])
                    .collect::<Result<_, IntegerError>>()?;
                // −ψ^e = ψ^(e + L), a multiple of N in the exponent.
                let mu = modulus.pow(psi, (2 * factor + 1 + count) as u64);
                let twist = [powers(modulus, mu, block), powers(modulus, modulus.inv(mu)?, block)];
                factors.push(Factor { weights, inverse_weights, twist });
            }
        }
        Ok(Self { modulus, plan, factors })
    }

    fn forward(&self, cpu: Cpu, digits: &[u64], values: &mut [u64]) {
        if self.factors.is_empty() {
            values[..digits.len()].copy_from_slice(digits);
            values[digits.len()..].fill(0);
            return self.plan.forward(values);
        }
        let block_len = self.plan.degree();
        let used = digits.len().div_ceil(block_len).max(1);
        let mut tile = vec![0; used * TILE];
        for at in (0..block_len).step_by(TILE) {
            for (k, row) in tile.chunks_exact_mut(TILE).enumerate() {
                let rest = digits.get(k * block_len + at..).unwrap_or(&[]);
                let (copied, zeros) = row.split_at_mut(rest.len().min(TILE));
                copied.copy_from_slice(&rest[..copied.len()]);
                zeros.fill(0);
            }
            for (block, factor) in values.chunks_exact_mut(block_len).zip(&self.factors) {
                // The kernel's last weight is for a tag above 52 bits, which digits do not have: any weight does.
                let out = &mut block[at..at + TILE];
                convert::tagged_sum(cpu, self.modulus, out, &tile, &factor.weights[..used + 1]);
            }
        }
        for (block, factor) in values.chunks_exact_mut(block_len).zip(&self.factors) {
            pointwise::mul_assign(cpu, self.modulus, block, &factor.twist[0]);
            self.plan.forward(block);
        }
    }

    fn inverse(&self, cpu: Cpu, values: &mut [u64]) {
        let block_len = self.plan.degree();
        for (index, block) in values.chunks_exact_mut(block_len).enumerate() {
            self.plan.inverse(block);
            if let Some(factor) = self.factors.get(index) {
                pointwise::mul_assign(cpu, self.modulus, block, &factor.twist[1]);
            }
        }
        if self.factors.is_empty() {
            return;
        }
        let mut tile = vec![0; self.factors.len() * TILE];
        for at in (0..block_len).step_by(TILE) {
            for (row, block) in tile.chunks_exact_mut(TILE).zip(values.chunks_exact(block_len)) {
                row.copy_from_slice(&block[at..at + TILE]);
            }
            for (block, factor) in values.chunks_exact_mut(block_len).zip(&self.factors) {
                let out = &mut block[at..at + TILE];
                convert::tagged_sum(cpu, self.modulus, out, &tile, &factor.inverse_weights);
            }
        }
    }
}

/// The two largest primes `q ≡ 1 mod 2·MAX_LEN`, which have 46.9 bits: larger first.
fn primes() -> Result<[Modulus; 2], IntegerError> {
    let step = 2 * MAX_LEN as u64;
    let mut found = (1..=MAX_MODULUS / step).rev().filter_map(|k| Modulus::new(k * step + 1).ok());
    match (found.next(), found.next()) {
        (Some(larger), Some(smaller)) => Ok([larger, smaller]),
        _ => Err(hush_arith::ArithError::EmptyBasis.into()),
    }
}

fn powers(modulus: Modulus, base: u64, count: usize) -> Vec<u64> {
    std::iter::successors(Some(1), |&power| Some(modulus.mul(power, base))).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every path and, by way of a small block, every layer: `Y^i·Y^j` and a dense product against the definition.
    #[test]
    fn products_are_negacyclic() {
        for cpu in Cpu::available() {
            for len in [16usize, 256, 1 << 17, 1 << 18] {
                let transform = Transform::new(len, cpu).unwrap();
                let [q0, q1] = transform.moduli();
                let at = |index: usize| {
                    let mut digits = vec![0; index + 1];
                    digits[index] = 3 + index as u64;
                    transform.forward(&digits)
                };
                for (i, j) in [(0, 0), (1, len - 1), (len / 2, len / 2 - 1), (len - 1, len - 1), (len / 3, 5)]
                {
                    let mut product = at(i);
                    transform.mul_assign(&mut product, &at(j));
                    let [first, second] = transform.inverse(&mut product, 0);
                    let product = u128::from(3 + i as u64) * u128::from(3 + j as u64);
                    let modulus = u128::from(q0.value()) * u128::from(q1.value());
                    let expected = if i + j < len { product } else { modulus - product };
                    for k in 0..len {
                        let found = u128::from(first[k]) + u128::from(q0.value()) * u128::from(second[k]);
                        assert_eq!(
                            found,
                            if k == (i + j) % len { expected } else { 0 },
                            "{cpu} {len} {i} {j}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_primes_have_46_9_bits() {
        let [larger, smaller] = primes().unwrap();
        assert!(smaller.value() < larger.value() && smaller.value() > MAX_MODULUS / 128 * 127);
    }

    #[test]
    fn lengths_are_checked() {
        assert!(Transform::new(8, Cpu::scalar()).is_err());
        assert!(Transform::new(48, Cpu::scalar()).is_err());
        assert!(matches!(Transform::new(2 * MAX_LEN, Cpu::scalar()), Err(IntegerError::TooLong { .. })));
    }
}
