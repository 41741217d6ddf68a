// SPDX-License-Identifier: Apache-2.0
//! Between real coefficients and residues: rounding at a scale, and back.

use ethnum::I256;
use hush_arith::Modulus;
use hush_ring::{Coeff, Poly, Ring, Words, fft};
use zeroize::Zeroizing;

use crate::{RealScale, SchemeError, Values};

/// `round(scale·c)`, checked to be below a quarter of the modulus and `2^126`.
pub(super) fn rounded(
    mut coefficients: Vec<f64>,
    scale: RealScale,
    ring: &Ring,
) -> Result<Vec<f64>, SchemeError> {
    let limit_log2 = (ring.crt().log2_product() as u32).saturating_sub(2).min(126);
    fft::scale_and_round(ring.cpu(), &mut coefficients, scale.value());
    // An overflow of the embedding is infinite or not a number, and refused as well.
    let limit = f64::from(limit_log2).exp2();
    if let Some(index) = coefficients.iter().position(|c| c.is_nan() || c.abs() >= limit) {
        let limit_log2 = limit_log2.saturating_sub(scale.log2().max(0.0) as u32);
        return Err(SchemeError::ValueRange { index, limit_log2 });
    }
    Ok(coefficients)
}

/// `round(scale·c)` over a ring.
pub(super) fn integers(
    coefficients: Vec<f64>,
    scale: RealScale,
    ring: &Ring,
) -> Result<Poly<Coeff>, SchemeError> {
    let rounded = rounded(coefficients, scale, ring)?;
    let largest = rounded.iter().fold(0.0_f64, |largest, c| largest.max(c.abs()));
    let mut poly = Poly::recycled(ring);
    if largest < f64::from(62).exp2() {
        let narrow: Vec<i64> = if largest < f64::from(51).exp2() {
            // The bits of 2^52 + 2^51 + c are those of 2^52 + 2^51 plus c: no conversion instruction is needed.
            let shift = f64::from(52).exp2() * 1.5;
            rounded.iter().map(|&c| (c + shift).to_bits().wrapping_sub(shift.to_bits()) as i64).collect()
        } else {
            rounded.iter().map(|&c| c as i64).collect()
        };
        for (index, limb) in ring.limbs().iter().enumerate() {
            limb.lift_signed(&narrow, poly.limb_mut(index));
        }
    } else {
        let wide: Vec<i128> = rounded.iter().map(|&c| c as i128).collect();
        for (index, limb) in ring.limbs().iter().enumerate() {
            Values::I128(&wide).residues_into(limb, poly.limb_mut(index));
        }
    }
    Ok(poly)
}

/// The coefficients of a phase as reals, divided by the scale.
pub(super) fn reals(phase: &Poly<Coeff>, scale: RealScale) -> Result<Vec<f64>, SchemeError> {
    let inverse = 1.0 / scale.value();
    match two_limb_reals(phase, inverse) {
        Some(reals) => Ok(reals),
        None => five_limb_reals(phase, inverse),
    }
}

/// The coefficients as reals, if they are what the first two primes say: below `2^90` or so, as nearly all phases are. A third
/// prime tells.
///
/// # Math
/// With `x_0` nearest to zero modulo `q_0` and `d` nearest to zero that is `(x − x_0)/q_0` modulo `q_1`, `x = x_0 + q_0·d`.
fn two_limb_reals(phase: &Poly<Coeff>, inverse: f64) -> Option<Vec<f64>> {
    let (ring, degree) = (phase.ring(), phase.ring().degree());
    let [first, second, rest @ ..] = ring.limbs() else { return None };
    let (p, q) = (first.modulus(), second.modulus());
    let third = rest.first();
    let fits = |source: Modulus, target: Modulus| source.value() / 2 < target.value();
    if !fits(p, q) || third.is_some_and(|third| !(fits(p, third.modulus()) && fits(q, third.modulus()))) {
        return None;
    }
    let mut low = Zeroizing::new(Words::recycled(degree));
    let mut digit = Zeroizing::new(Words::recycled(degree));
    second.recenter(p, &mut low, phase.limb(0));
    digit.copy_from_slice(phase.limb(1));
    second.sub_scale_assign(&mut digit, &low, q.inv(q.reduce_u64(p.value())).ok()?);
    if let Some(third) = third {
        let mut check = Zeroizing::new(Words::recycled(degree));
        third.recenter(q, &mut check, &digit);
        third.mul_scalar_assign(&mut check, third.modulus().reduce_u64(p.value()));
        third.recenter(p, &mut low, phase.limb(0));
        third.add_assign(&mut check, &low);
        let difference = check.iter().zip(phase.limb(2)).fold(0, |all, (found, word)| all | (found ^ word));
        if difference != 0 {
            return None;
        }
    }
    let centered = |residue: u64, modulus: Modulus| {
        let (residue, modulus) = (residue as i64, modulus.value() as i64);
        residue - (modulus & -i64::from(residue > modulus / 2))
    };
    // Most phases fit a word. Converting a word takes one instruction; converting two words takes a call.
    let narrow = digit.iter().all(|&digit| centered(digit, q).unsigned_abs() < 1 << 15);
    let parts = phase.limb(0).iter().zip(digit.iter()).map(|(&x, &d)| (centered(x, p), centered(d, q)));
    Some(match narrow {
        true => parts.map(|(x, d)| (x + p.value() as i64 * d) as f64 * inverse).collect(),
        false => parts
            .map(|(x, d)| (i128::from(x) + i128::from(p.value()) * i128::from(d)) as f64 * inverse)
            .collect(),
    })
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
