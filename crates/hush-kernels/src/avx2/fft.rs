// SPDX-License-Identifier: Apache-2.0
//! The passes of the scalar code, compiled for wider registers. Products and sums stay apart: a fused operation would round
//! once less, and paths would differ.

use crate::{operands::Roots, scalar::fft as scalar};

#[target_feature(enable = "avx2,fma")]
pub(crate) fn evaluate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    scalar::evaluate(re, im, roots);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn interpolate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    scalar::interpolate(re, im, roots);
}

#[target_feature(enable = "avx2,fma")]
pub(crate) fn scale_and_round(x: &mut [f64], factor: f64) {
    scalar::scale_and_round(x, factor);
}
