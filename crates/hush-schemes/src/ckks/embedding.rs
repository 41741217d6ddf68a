// SPDX-License-Identifier: Apache-2.0
//! The canonical embedding of real polynomials, by a twisted complex FFT of half length.
//!
//! # Math
//! `ζ = exp(iπ/N)` is a primitive `2N`-th root of unity. A real polynomial `m` of degree below `N` is
//! determined by its values at `ζ^(4j+1)`, `0 ≤ j < N/2`: the other roots of `X^N + 1` are their conjugates.
//! Since `ζ^((4j+1)·N/2) = i`,
//! `m(ζ^(4j+1)) = Σ_{k<N/2} (m_k + i·m_{k+N/2})·ζ^k · exp(2πi·jk/(N/2))`,
//! which is a DFT of length `N/2` of the folded and twisted coefficients.
//!
//! The slots stand in the order `j = 0, 1, …`, which is not the order of rotations: nothing here rotates.
//!
//! # Precision
//! `f64` throughout, twiddles correct to half an ulp. The transform of a vector `z` errs by at most about
//! `2^-52·log2(N)·‖z‖₂` in the 2-norm, and is tested against a direct sum; the error of encryption exceeds
//! that by far at every scale that a parameter set allows.

use std::f64::consts::PI;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    fn unit(angle: f64) -> Self {
        Self { re: angle.cos(), im: angle.sin() }
    }
    /// The complex conjugate.
    pub fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }
}

impl std::ops::Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl std::ops::Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl std::ops::Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// Precomputed roots for one ring degree.
#[derive(Debug)]
pub(crate) struct Embedding {
    /// `N/2`.
    slots: usize,
    /// `ζ^k`, `0 ≤ k < N/2`.
    twist: Vec<Complex>,
    /// For each stage of `h` butterflies a block, `exp(πi·k/h)`, `0 ≤ k < h`; the stages one after the other.
    roots: Vec<Complex>,
}

impl Embedding {
    /// Tables for the ring of degree `degree`, a power of two and at least 4.
    pub(crate) fn new(degree: usize) -> Self {
        let slots = degree / 2;
        let twist = (0..slots).map(|k| Complex::unit(PI * k as f64 / degree as f64)).collect();
        let stages = (0..slots.trailing_zeros()).map(|log2| 1 << log2);
        let roots = stages
            .flat_map(|half| (0..half).map(move |k| Complex::unit(PI * k as f64 / half as f64)))
            .collect();
        Self { slots, twist, roots }
    }

    /// The values of the polynomial at the slots' roots.
    ///
    /// # Shapes
    /// `coefficients`: `N`. Result: `N/2`, slot order.
    pub(crate) fn evaluate(&self, coefficients: &[f64]) -> Vec<Complex> {
        let (low, high) = coefficients.split_at(self.slots);
        let folded = low.iter().zip(high).zip(&self.twist);
        let mut values: Vec<Complex> =
            folded.map(|((&re, &im), &twist)| Complex { re, im } * twist).collect();
        self.transform(&mut values, |root| root);
        values
    }

    /// The real polynomial that takes these values at the slots' roots (and their conjugates at the others).
    ///
    /// # Shapes
    /// `values`: `N/2`. Result: `N` real coefficients.
    pub(crate) fn interpolate(&self, mut values: Vec<Complex>) -> Vec<f64> {
        self.transform(&mut values, Complex::conj);
        let scale = 1.0 / self.slots as f64;
        for (value, &twist) in values.iter_mut().zip(&self.twist) {
            *value = *value * twist.conj();
        }
        let re = values.iter().map(|value| value.re * scale);
        re.chain(values.iter().map(|value| value.im * scale)).collect()
    }

    /// In-place DFT, decimation in time after a bit reversal; `side` picks the sign of the exponent.
    fn transform(&self, values: &mut [Complex], side: impl Fn(Complex) -> Complex) {
        bit_reverse(values);
        let mut half = 1;
        while half < values.len() {
            let roots = &self.roots[half - 1..2 * half - 1];
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), &root) in low.iter_mut().zip(high).zip(roots) {
                    let turned = *b * side(root);
                    (*a, *b) = (*a + turned, *a - turned);
                }
            }
            half *= 2;
        }
    }
}

fn bit_reverse(values: &mut [Complex]) {
    let bits = values.len().trailing_zeros();
    for i in 0..values.len() {
        let j = i.reverse_bits() >> (usize::BITS - bits).min(usize::BITS - 1);
        if i < j {
            values.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: powers of ζ, summed directly.
    fn evaluate_directly(coefficients: &[f64], slot: usize) -> Complex {
        let degree = coefficients.len();
        let terms = coefficients.iter().enumerate().map(|(k, &coefficient)| {
            let exponent = (4 * slot + 1) * k % (2 * degree);
            let root = Complex::unit(PI * exponent as f64 / degree as f64);
            Complex { re: coefficient * root.re, im: coefficient * root.im }
        });
        terms.fold(Complex::default(), |sum, term| sum + term)
    }

    fn distance(a: Complex, b: Complex) -> f64 {
        (a - b).re.hypot((a - b).im)
    }

    #[test]
    fn evaluation_follows_the_definition() {
        for degree in [4, 8, 64, 256] {
            let coefficients: Vec<f64> = (0..degree).map(|k| ((k * 37 + 11) % 101) as f64 - 50.0).collect();
            let values = Embedding::new(degree).evaluate(&coefficients);
            for (slot, &value) in values.iter().enumerate() {
                assert!(distance(value, evaluate_directly(&coefficients, slot)) < 1e-10 * degree as f64);
            }
        }
    }

    #[test]
    fn interpolation_inverts_evaluation() {
        let degree = 4096;
        let embedding = Embedding::new(degree);
        let coefficients: Vec<f64> = (0..degree).map(|k| ((k * 7919) % 10007) as f64 - 5000.0).collect();
        let back = embedding.interpolate(embedding.evaluate(&coefficients));
        for (a, b) in coefficients.iter().zip(&back) {
            assert!((a - b).abs() < 1e-8);
        }
    }

    #[test]
    fn products_of_polynomials_are_products_of_slots() {
        let degree = 16;
        let embedding = Embedding::new(degree);
        let x: Vec<f64> = (0..degree).map(|k| k as f64 - 3.0).collect();
        let y: Vec<f64> = (0..degree).map(|k| 2.0 - (k * k % 7) as f64).collect();
        let mut product = vec![0.0; degree];
        for (i, a) in x.iter().enumerate() {
            for (j, b) in y.iter().enumerate() {
                let sign = if i + j < degree { 1.0 } else { -1.0 };
                product[(i + j) % degree] += sign * a * b;
            }
        }
        let expected = embedding.evaluate(&product);
        let slots = embedding.evaluate(&x).into_iter().zip(embedding.evaluate(&y));
        for ((a, b), &product) in slots.zip(&expected) {
            assert!(distance(a * b, product) < 1e-9);
        }
    }
}
