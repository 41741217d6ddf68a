// SPDX-License-Identifier: Apache-2.0
//! Discrete Fourier transforms in double precision, real and imaginary parts apart.
//!
//! # Math
//! `evaluate` takes `z` to `Z_j = Σ_k z_k·exp(2πi·jk/n)`, in bit-reversed order of `j`; `interpolate` takes values in that order
//! to `n·z`. Radix 2, decimation in frequency and in time, so that neither direction reorders.
//!
//! # Ranges
//! Every operation is rounded once, in the same order on every path, so that all paths give the same bits.
//!
//! # Timing
//! Constant-time in the data.
//!
//! # Panics
//! All functions panic unless the parts have one length `n`, a power of two, and the roots `n − 1`.

pub use crate::operands::Roots;
use crate::{Cpu, cpu::dispatch};

/// Coefficients in order to values in bit-reversed order, in place.
pub fn evaluate(cpu: Cpu, re: &mut [f64], im: &mut [f64], roots: &Roots) {
    check(re, im, roots);
    dispatch!(cpu, plain fft::evaluate(re: &mut [f64], im: &mut [f64], roots: &Roots));
}

/// Values in bit-reversed order to `n` times the coefficients, in place.
pub fn interpolate(cpu: Cpu, re: &mut [f64], im: &mut [f64], roots: &Roots) {
    check(re, im, roots);
    dispatch!(cpu, plain fft::interpolate(re: &mut [f64], im: &mut [f64], roots: &Roots));
}

/// `x[i] ← x[i]·factor`, rounded to an integer, ties to even.
pub fn scale_and_round(cpu: Cpu, x: &mut [f64], factor: f64) {
    dispatch!(cpu, plain fft::scale_and_round(x: &mut [f64], factor: f64));
}

fn check(re: &[f64], im: &[f64], roots: &Roots) {
    assert!(re.len().is_power_of_two() && re.len() == im.len(), "two parts of one length, a power of two");
    let expected = re.len() - 1;
    assert!(roots.re.len() == expected && roots.im.len() == expected, "roots of transforms of this length");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn reals(random: &mut Random, count: usize) -> Vec<f64> {
        random
            .words(count)
            .into_iter()
            .map(|word| (word >> 12) as f64 / f64::from(40).exp2() - 2048.0)
            .collect()
    }

    fn reversed(index: usize, n: usize) -> usize {
        if n == 1 { 0 } else { index.reverse_bits() >> (usize::BITS - n.trailing_zeros()) }
    }

    #[test]
    fn values_are_the_sums_of_the_definition() {
        let mut random = Random::new(51);
        for n in [1, 2, 4, 8, 16, 64, 256] {
            let [re, im] = [(); 2].map(|()| reals(&mut random, n));
            let roots = Roots::new(n);
            for cpu in Cpu::available() {
                let (mut x, mut y) = (re.clone(), im.clone());
                evaluate(cpu, &mut x, &mut y, &roots);
                for j in 0..n {
                    let (mut expected_re, mut expected_im) = (0.0, 0.0);
                    for k in 0..n {
                        let angle = std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                        expected_re += re[k] * angle.cos() - im[k] * angle.sin();
                        expected_im += re[k] * angle.sin() + im[k] * angle.cos();
                    }
                    let at = reversed(j, n);
                    let error = (x[at] - expected_re).hypot(y[at] - expected_im);
                    assert!(error < 1e-9 * n as f64, "{cpu}, n = {n}, j = {j}: {error}");
                }
                interpolate(cpu, &mut x, &mut y, &roots);
                for k in 0..n {
                    let error = (x[k] / n as f64 - re[k]).hypot(y[k] / n as f64 - im[k]);
                    assert!(error < 1e-11, "{cpu}, n = {n}, k = {k}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_path_gives_the_same_bits() {
        let mut random = Random::new(52);
        for n in [1, 2, 4, 8, 32, 2048] {
            let [re, im] = [(); 2].map(|()| reals(&mut random, n));
            let roots = Roots::new(n);
            let run = |cpu: Cpu| {
                let (mut x, mut y) = (re.clone(), im.clone());
                evaluate(cpu, &mut x, &mut y, &roots);
                let values = (x.clone(), y.clone());
                interpolate(cpu, &mut x, &mut y, &roots);
                scale_and_round(cpu, &mut x, 1.5);
                (values, x, y)
            };
            let specified = run(Cpu::scalar());
            for cpu in crate::testing::vector_paths() {
                assert!(run(cpu) == specified, "{cpu}, n = {n}");
            }
        }
    }

    #[test]
    fn rounding_is_to_even_and_keeps_what_is_no_number() {
        for cpu in Cpu::available() {
            let mut x = [0.25, 0.75, -0.25, 1.25, 1e300, f64::INFINITY, f64::NAN, -0.1, 3.5];
            scale_and_round(cpu, &mut x, 2.0);
            assert_eq!(x[..6], [0.0, 2.0, 0.0, 2.0, 2e300, f64::INFINITY], "{cpu}");
            assert!(x[6].is_nan() && x[7] == 0.0 && x[8] == 7.0);
        }
    }

    #[test]
    #[should_panic(expected = "roots of transforms of this length")]
    fn other_roots_are_refused() {
        evaluate(Cpu::scalar(), &mut [0.0; 4], &mut [0.0; 4], &Roots::new(8));
    }
}
