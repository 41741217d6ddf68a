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

use hush_ring::Cpu;
use hush_ring::fft::{self, Roots};

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
    cpu: Cpu,
    /// `ζ^k`, `0 ≤ k < N/2`.
    twist: Vec<Complex>,
    roots: Roots,
}

impl Embedding {
    /// Tables for the ring of degree `degree`, a power of two and at least 4.
    pub(crate) fn new(degree: usize, cpu: Cpu) -> Self {
        let slots = degree / 2;
        let twist = (0..slots).map(|k| Complex::unit(PI * k as f64 / degree as f64)).collect();
        Self { cpu, twist, roots: Roots::new(slots) }
    }

    /// The values of the polynomial at the slots' roots.
    ///
    /// # Shapes
    /// `coefficients`: `N`. Result: `N/2`, slot order.
    pub(crate) fn evaluate(&self, coefficients: &[f64]) -> Vec<Complex> {
        let slots = self.twist.len();
        let (low, high) = coefficients.split_at(slots);
        let folded = low.iter().zip(high).zip(&self.twist);
        let (mut re, mut im): (Vec<f64>, Vec<f64>) =
            folded.map(|((&re, &im), &twist)| Complex { re, im } * twist).map(|z| (z.re, z.im)).unzip();
        fft::evaluate(self.cpu, &mut re, &mut im, &self.roots);
        let slot = |j: usize| bit_reverse(j, slots);
        (0..slots).map(slot).map(|at| Complex { re: re[at], im: im[at] }).collect()
    }

    /// The real polynomial that takes these values at the slots' roots (and their conjugates at the others).
    ///
    /// # Shapes
    /// `values`: `N/2`. Result: `N` real coefficients.
    pub(crate) fn interpolate(&self, values: &[Complex]) -> Vec<f64> {
        let slots = self.twist.len();
        let mut parts = vec![0.0; 2 * slots];
        let (re, im) = parts.split_at_mut(slots);
        for (j, value) in values.iter().enumerate().take(slots) {
            let at = bit_reverse(j, slots);
            (re[at], im[at]) = (value.re, value.im);
        }
        fft::interpolate(self.cpu, re, im, &self.roots);
        let scale = 1.0 / slots as f64;
        for ((re, im), &twist) in re.iter_mut().zip(im).zip(&self.twist) {
            let turned = Complex { re: *re, im: *im } * twist.conj();
            (*re, *im) = (turned.re * scale, turned.im * scale);
        }
        parts
    }
}

/// The bits of an index below `len`, a power of two, reversed.
fn bit_reverse(index: usize, len: usize) -> usize {
    index.reverse_bits() >> (usize::BITS - len.trailing_zeros()).min(usize::BITS - 1)
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
            let values = Embedding::new(degree, Cpu::detect().unwrap()).evaluate(&coefficients);
            for (slot, &value) in values.iter().enumerate() {
                assert!(distance(value, evaluate_directly(&coefficients, slot)) < 1e-10 * degree as f64);
            }
        }
    }

    #[test]
    fn interpolation_inverts_evaluation() {
        let degree = 4096;
        let embedding = Embedding::new(degree, Cpu::detect().unwrap());
        let coefficients: Vec<f64> = (0..degree).map(|k| ((k * 7919) % 10007) as f64 - 5000.0).collect();
        let back = embedding.interpolate(&embedding.evaluate(&coefficients));
        for (a, b) in coefficients.iter().zip(&back) {
            assert!((a - b).abs() < 1e-8);
        }
    }

    #[test]
    fn products_of_polynomials_are_products_of_slots() {
        let degree = 16;
        let embedding = Embedding::new(degree, Cpu::detect().unwrap());
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
