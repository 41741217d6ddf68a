// SPDX-License-Identifier: Apache-2.0
//! Between real coefficients and residues: rounding at a scale, and back.

use ethnum::I256;
use hush_ring::{Coeff, Poly, Ring};

use crate::{RealScale, SchemeError, Values};

/// `round(scale·c)`, checked to be below a quarter of the modulus and `2^126`.
pub(super) fn rounded(coefficients: &[f64], scale: RealScale, ring: &Ring) -> Result<Vec<f64>, SchemeError> {
    let limit_log2 = (ring.crt().log2_product() as u32).saturating_sub(2).min(126);
    let scaled: Vec<f64> = coefficients.iter().map(|c| (c * scale.value()).round_ties_even()).collect();
    // An overflow of the embedding is infinite or not a number, and refused as well.
    let limit = f64::from(limit_log2).exp2();
    if let Some(index) = scaled.iter().position(|c| c.is_nan() || c.abs() >= limit) {
        let limit_log2 = limit_log2.saturating_sub(scale.log2().max(0.0) as u32);
        return Err(SchemeError::ValueRange { index, limit_log2 });
    }
    Ok(scaled)
}

/// `round(scale·c)` over a ring.
pub(super) fn integers(
    coefficients: &[f64],
    scale: RealScale,
    ring: &Ring,
) -> Result<Poly<Coeff>, SchemeError> {
    let scaled = rounded(coefficients, scale, ring)?;
    let mut poly = Poly::recycled(ring);
    if scaled.iter().all(|c| c.abs() < f64::from(62).exp2()) {
        let narrow: Vec<i64> = scaled.iter().map(|&c| c as i64).collect();
        for (index, limb) in ring.limbs().iter().enumerate() {
            limb.lift_signed(&narrow, poly.limb_mut(index));
        }
    } else {
        let wide: Vec<i128> = scaled.iter().map(|&c| c as i128).collect();
        for (index, limb) in ring.limbs().iter().enumerate() {
            Values::I128(&wide).residues_into(limb, poly.limb_mut(index));
        }
    }
    Ok(poly)
}

/// The coefficients of a phase as reals, divided by the scale.
pub(super) fn reals(phase: &Poly<Coeff>, scale: RealScale) -> Result<Vec<f64>, SchemeError> {
    let inverse = 1.0 / scale.value();
    match two_limb_integers(phase) {
        Some(integers) => Ok(integers.iter().map(|&integer| integer as f64 * inverse).collect()),
        None => five_limb_reals(phase, inverse),
    }
}

/// The coefficients, if they are what the first two primes say: below `2^90` or so, as nearly all phases are. A third prime
/// tells.
fn two_limb_integers(phase: &Poly<Coeff>) -> Option<zeroize::Zeroizing<Vec<i128>>> {
    let limbs = phase.ring().limbs();
    let (first, second) = (limbs.first()?.modulus(), limbs.get(1)?.modulus());
    let inverse = second.inv(second.reduce_u64(first.value())).ok()?;
    let integer = |(&low, &high): (&u64, &u64)| {
        let digit = second.mul(second.sub(high, second.reduce_u64(low)), inverse);
        let half = (digit > second.value() / 2) as i128;
        i128::from(low) + i128::from(first.value()) * (i128::from(digit) - half * i128::from(second.value()))
    };
    let integers: Vec<i128> = phase.limb(0).iter().zip(phase.limb(1)).map(integer).collect();
    let integers = zeroize::Zeroizing::new(integers);
    let agrees = limbs.get(2).is_none_or(|third| {
        let mut residues = integers.iter().zip(phase.limb(2));
        residues.all(|(&integer, &residue)| third.modulus().reduce_i128(integer) == residue)
    });
    agrees.then_some(integers)
}

/// The coefficients of a larger phase. None is beyond five primes: scales and messages are bounded at encoding.
fn five_limb_reals(phase: &Poly<Coeff>, inverse: f64) -> Result<Vec<f64>, SchemeError> {
    let ring = phase.ring();
    let limbs: Vec<_> = ring.limbs().iter().take(5).cloned().collect();
    let count = limbs.len();
    let low = Ring::of_limbs(limbs, ring.degree(), ring.cpu())?;
    let (degree, words) = (ring.degree(), phase.words());
    let mut residues = zeroize::Zeroizing::new([0_u64; 5]);
    let real = |index: usize| {
        for (limb, residue) in residues.iter_mut().take(count).enumerate() {
            *residue = words[limb * degree + index];
        }
        let lifted: I256 = low.crt().lift_centered(&residues[..count]);
        lifted.as_f64() * inverse
    };
    Ok((0..degree).map(real).collect())
}
