// SPDX-License-Identifier: Apache-2.0
//! Products in `Z[Y]/(Y^L + 1)`, modulo two primes of 46.9 bits.
//!
//! # Math
//! The kernels transform at most `N = 2^16` points. A longer ring splits first: with `ψ^L = −1` and `h` half the length of
//! `Y^(2h) − ψ^e`, which is `(Y^h − ψ^(e/2))·(Y^h + ψ^(e/2))`, a polynomial `u + v·Y^h` goes to `u ± ψ^(e/2)·v`. After
//! `log2(L/N)` layers there are rings `Z_q[Y]/(Y^N − ψ^e)`, and `Y = μX` with `μ^N = −ψ^e` makes each one negacyclic:
//! coefficient `k` is multiplied by `μ^k`.

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
    /// The layers from the whole ring down; each has the roots `ψ^(e/2)` of its parts and their inverses.
    layers: Vec<Vec<[u64; 2]>>,
    /// `μ^k` and `μ^−k` for each block; empty if there is one block alone.
    twists: Vec<[Vec<u64>; 2]>,
}

/// The longest ring for which the primes have roots.
pub(crate) const MAX_LEN: usize = 1 << 22;
/// The longest block.
const MAX_BLOCK: usize = hush_kernels::ntt::MAX_DEGREE;
/// Words of a layer that are combined while they are in the first cache.
const TILE: usize = 1024;

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
    /// `2·L/N` kernel transforms, and `2·(log2(L/N) + 1)` passes over `L` words if `L > N`.
    pub(crate) fn forward(&self, digits: &[u64]) -> Spectrum {
        let mut spectrum = self.zero();
        self.forward_into(digits, &mut spectrum);
        spectrum
    }

    /// As [`Transform::forward`], into a spectrum of this length.
    pub(crate) fn forward_into(&self, digits: &[u64], out: &mut Spectrum) {
        for (field, values) in self.fields.iter().zip(out.0.chunks_exact_mut(self.len)) {
            values[..digits.len()].copy_from_slice(digits);
            values[digits.len()..].fill(0);
            field.forward(self.cpu, values, digits.len());
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
        let (mut layers, mut twists) = (Vec::new(), Vec::new());
        // e of the parts of a layer, from left to right; Y^L + 1 = Y^L − ψ^L.
        let mut exponents = vec![len as u64];
        while exponents.len() * block < len {
            let root = |e: &u64| modulus.pow(psi, e / 2);
            layers.push(
                exponents
                    .iter()
                    .map(|e| Ok([root(e), modulus.inv(root(e))?]))
                    .collect::<Result<_, IntegerError>>()?,
            );
            exponents = exponents.iter().flat_map(|e| [e / 2, e / 2 + len as u64]).collect();
        }
        if len > block {
            for e in exponents {
                let mu = modulus.pow(psi, (e + len as u64) / block as u64);
                twists.push([powers(modulus, mu, block), powers(modulus, modulus.inv(mu)?, block)]);
            }
        }
        Ok(Self { modulus, plan, layers, twists })
    }

    /// `used` words from the start may differ from zero.
    fn forward(&self, cpu: Cpu, values: &mut [u64], used: usize) {
        let q = self.modulus;
        for (depth, roots) in self.layers.iter().enumerate() {
            let part_len = values.len() >> depth;
            for (part, &[root, _]) in values.chunks_exact_mut(part_len).zip(roots) {
                let (u, v) = part.split_at_mut(part_len / 2);
                if depth == 0 && used <= part_len / 2 {
                    v.copy_from_slice(u);
                    continue;
                }
                // v ← u − root·v = (u + root·v) − 2·root·v.
                let minus_twice = q.neg(q.add(root, root));
                for (u, v) in u.chunks_mut(TILE).zip(v.chunks_mut(TILE)) {
                    pointwise::mul_scalar_add_assign(cpu, q, u, v, root);
                    convert::combine_assign(cpu, q, v, minus_twice, u, 1);
                }
            }
        }
        for (index, block) in values.chunks_exact_mut(self.plan.degree()).enumerate() {
            if let Some([twist, _]) = self.twists.get(index) {
                pointwise::mul_assign(cpu, q, block, twist);
            }
            self.plan.forward(block);
        }
    }

    fn inverse(&self, cpu: Cpu, values: &mut [u64]) {
        let q = self.modulus;
        for (index, block) in values.chunks_exact_mut(self.plan.degree()).enumerate() {
            self.plan.inverse(block);
            if let Some([_, twist]) = self.twists.get(index) {
                pointwise::mul_assign(cpu, q, block, twist);
            }
        }
        let half = q.value().div_ceil(2);
        for (depth, roots) in self.layers.iter().enumerate().rev() {
            let part_len = values.len() >> depth;
            for (part, &[root, inverse]) in values.chunks_exact_mut(part_len).zip(roots) {
                let (u, v) = part.split_at_mut(part_len / 2);
                // v ← (u − v)/(2·root), then u ← u − root·v = (u + v)/2.
                let factor = q.mul(half, inverse);
                for (u, v) in u.chunks_mut(TILE).zip(v.chunks_mut(TILE)) {
                    convert::combine_assign(cpu, q, v, q.neg(factor), u, factor);
                    pointwise::mul_scalar_add_assign(cpu, q, u, v, q.neg(root));
                }
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
