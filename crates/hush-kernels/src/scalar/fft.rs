// SPDX-License-Identifier: Apache-2.0
//! Radix-2 passes over parts that stand apart, which the compiler makes as wide as the path allows.

use crate::operands::Roots;

#[inline(always)]
pub(crate) fn evaluate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    let mut half = re.len() / 2;
    while half > 0 {
        let stage = roots.stage(half);
        for (re, im) in re.chunks_exact_mut(2 * half).zip(im.chunks_exact_mut(2 * half)) {
            split_then_turn(re.split_at_mut(half), im.split_at_mut(half), stage);
        }
        half /= 2;
    }
}

#[inline(always)]
pub(crate) fn interpolate(re: &mut [f64], im: &mut [f64], roots: &Roots) {
    let mut half = 1;
    while half < re.len() {
        let stage = roots.stage(half);
        for (re, im) in re.chunks_exact_mut(2 * half).zip(im.chunks_exact_mut(2 * half)) {
            turn_back_then_join(re.split_at_mut(half), im.split_at_mut(half), stage);
        }
        half *= 2;
    }
}

#[inline(always)]
pub(crate) fn scale_and_round(x: &mut [f64], factor: f64) {
    for x in x {
        *x = (*x * factor).round_ties_even();
    }
}

type Halves<'a> = (&'a mut [f64], &'a mut [f64]);

/// `(a, b) ← (a + b, (a − b)·w)`.
#[inline(always)]
fn split_then_turn(re: Halves<'_>, im: Halves<'_>, w: (&[f64], &[f64])) {
    let n = w.0.len();
    // Slices of one length, so that the loop needs no checks.
    let (ar, br, ai, bi, wr, wi) =
        (&mut re.0[..n], &mut re.1[..n], &mut im.0[..n], &mut im.1[..n], &w.0[..n], &w.1[..n]);
    for k in 0..n {
        let (dr, di) = (ar[k] - br[k], ai[k] - bi[k]);
        ar[k] += br[k];
        ai[k] += bi[k];
        br[k] = dr * wr[k] - di * wi[k];
        bi[k] = dr * wi[k] + di * wr[k];
    }
}

/// `(a, b) ← (a + b·w̄, a − b·w̄)`.
#[inline(always)]
fn turn_back_then_join(re: Halves<'_>, im: Halves<'_>, w: (&[f64], &[f64])) {
    let n = w.0.len();
    let (ar, br, ai, bi, wr, wi) =
        (&mut re.0[..n], &mut re.1[..n], &mut im.0[..n], &mut im.1[..n], &w.0[..n], &w.1[..n]);
    for k in 0..n {
        let (tr, ti) = (br[k] * wr[k] + bi[k] * wi[k], bi[k] * wr[k] - br[k] * wi[k]);
        (ar[k], br[k]) = (ar[k] + tr, ar[k] - tr);
        (ai[k], bi[k]) = (ai[k] + ti, ai[k] - ti);
    }
}
