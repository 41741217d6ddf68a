// SPDX-License-Identifier: Apache-2.0
//! The passes of the scalar code, compiled for wider registers. Products and sums stay apart: a fused operation would round
//! once less, and paths would differ.

use crate::{operands::Roots, scalar::fft as scalar};

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn evaluate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    scalar::evaluate(re, im, roots);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn interpolate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    scalar::interpolate(re, im, roots);
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,avx512vbmi,avx512vpopcntdq")]
pub(crate) fn scale_and_round(x: &mut [f64], factor: f64) {
    scalar::scale_and_round(x, factor);
}
