// SPDX-License-Identifier: Apache-2.0
//! Sums of slots, and masks that keep some slots and clear the others.
//!
//! # Math
//! `W_(c,s)(v)_i = Σ_(j<c) v_(i+j·s)`, indices modulo the row length. Two windows make a longer one,
//! `W_(a+b,s)(v) = W_(a,s)(v) + rot_(a·s) W_(b,s)(v)`, so that `log2 c` rotations double a window and as many at most add the
//! binary digits of `c` up.

use hush_rlwe::{EvaluationKeys, RlweCiphertext, conjugation_element, rotation_element};

use crate::noise::CircuitNoise;
use crate::{CircuitError, SlotScheme};

#[cfg(test)]
mod tests;

/// A sum of `count` slots at distance `stride` from one another, taken at every slot at once.
///
/// *Invariant.* `1 ≤ count` and `count·stride` is at most the row length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    count: usize,
    stride: usize,
}

impl Window {
    /// `count` slots, `stride` apart, on rows of `row_slots`.
    ///
    /// # Errors
    /// [`CircuitError::Slot`] if `count` or `stride` is 0 or the window is longer than a row.
    pub fn new(count: usize, stride: usize, row_slots: usize) -> Result<Self, CircuitError> {
        let found = count.saturating_mul(stride);
        if found == 0 || found > row_slots {
            return Err(CircuitError::Slot { found, max: row_slots });
        }
        Ok(Self { count, stride })
    }

    /// Blocks of `2^count_log2` neighbours: the sum of a block stands in its first slot.
    ///
    /// # Errors
    /// As [`Window::new`].
    pub fn block(count_log2: u32, row_slots: usize) -> Result<Self, CircuitError> {
        Self::new(1_usize.checked_shl(count_log2).unwrap_or(0), 1, row_slots)
    }

    /// The Galois elements that [`Window::sum`] uses, each once.
    pub fn galois_elements(&self, degree: usize) -> Vec<usize> {
        let mut steps: Vec<usize> =
            self.steps().into_iter().flat_map(|(own, double)| [own, double]).flatten().collect();
        steps.sort_unstable();
        steps.dedup();
        steps.into_iter().map(|steps| rotation_element(degree, steps as i64)).filter(|&g| g != 1).collect()
    }

    /// For each binary digit of the count, from the lowest: the rotation that adds the window of that size to the sum (if the
    /// digit is 1 and the sum is not empty), and the rotation that doubles the window (unless it is the last).
    fn steps(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let digits = usize::BITS - self.count.leading_zeros();
        let step = |digit: u32| {
            let below = self.count & ((1 << digit) - 1);
            let own = (self.count >> digit & 1 == 1 && below != 0).then_some(below * self.stride);
            (own, (digit + 1 < digits).then_some(self.stride << digit))
        };
        (0..digits).map(step).collect()
    }

    /// `W(v)`: in slot `i` the sum of the slots `i, i + stride, …`, round the end of the row.
    ///
    /// # Cost
    /// `⌊log2 count⌋` key switches, and one less than the binary weight of `count`.
    ///
    /// # Noise
    /// Times `count`, and as much of a key switch's.
    ///
    /// # Errors
    /// [`CircuitError::Scheme`] if a key of [`Window::galois_elements`] is missing.
    pub fn sum<S: SlotScheme>(
        &self,
        scheme: &S,
        a: &S::Ciphertext,
        keys: &EvaluationKeys,
    ) -> Result<S::Ciphertext, CircuitError> {
        let degree = scheme.chain().degree();
        let rotate = |a: &RlweCiphertext, steps: usize| match rotation_element(degree, steps as i64) {
            1 => Ok(a.clone()),
            element => a.automorphism(keys, element),
        };
        let mut power = scheme.inner(a).clone();
        let mut sum: Option<RlweCiphertext> = None;
        for (digit, (own, double)) in self.steps().into_iter().enumerate() {
            if self.count >> digit & 1 == 1 {
                sum = Some(match (sum, own) {
                    (Some(mut sum), Some(steps)) => {
                        sum.add_assign(&rotate(&power, steps)?)?;
                        sum
                    }
                    _ => power.clone(),
                });
            }
            if let Some(steps) = double {
                let moved = rotate(&power, steps)?;
                power.add_assign(&moved)?;
            }
        }
        scheme.like(a, sum.unwrap_or(power))
    }
}

impl Window {
    /// Bounds of [`Window::sum`], step by step.
    pub fn noise<M: CircuitNoise>(&self, model: &M, a: M::Noise) -> M::Noise {
        let rotated = |a, steps: usize| match rotation_element(model.degree(), steps as i64) {
            1 => a,
            _ => model.rotated(a),
        };
        let (mut power, mut sum) = (a, None);
        for (digit, (own, double)) in self.steps().into_iter().enumerate() {
            if self.count >> digit & 1 == 1 {
                sum = Some(match (sum, own) {
                    (Some(sum), Some(steps)) => model.sum(sum, rotated(power, steps)),
                    _ => power,
                });
            }
            if let Some(steps) = double {
                power = model.sum(power, rotated(power, steps));
            }
        }
        sum.unwrap_or(power)
    }
}

/// Bounds of [`sum_all`] for a scheme with this number of rows.
pub fn sum_all_noise<M: CircuitNoise>(model: &M, row_count: usize, a: M::Noise) -> M::Noise {
    let row = Window { count: model.degree() / 2, stride: 1 }.noise(model, a);
    if row_count == 1 { row } else { model.sum(row, model.rotated(row)) }
}

/// Bounds of [`sum_blocks`].
///
/// # Errors
/// As there, except for errors of keys.
pub fn sum_blocks_noise<M: CircuitNoise>(
    model: &M,
    count_log2: u32,
    a: M::Noise,
) -> Result<M::Noise, CircuitError> {
    let row_slots = model.degree() / 2;
    let window = Window::block(count_log2, row_slots)?;
    let sums = window.noise(model, a);
    if window.count == row_slots {
        return Ok(sums);
    }
    let spread = |sum, _| model.sum(sum, model.rotated(sum));
    Ok((0..count_log2).fold(model.masked(sums)?, spread))
}

/// Bounds of [`mask`] and [`mask_result`].
///
/// # Errors
/// As there.
pub fn mask_noise<M: CircuitNoise>(model: &M, a: M::Noise) -> Result<M::Noise, CircuitError> {
    model.masked(a)
}

/// The Galois elements of [`sum_all`].
pub fn sum_all_elements<S: SlotScheme>(scheme: &S) -> Vec<usize> {
    let degree = scheme.chain().degree();
    let row = Window { count: scheme.row_slots(), stride: 1 };
    let swap = (scheme.row_count() == 2).then(|| conjugation_element(degree));
    row.galois_elements(degree).into_iter().chain(swap).collect()
}

/// The sum of all slots of all rows, in every slot.
///
/// # Cost
/// `log2` of the number of slots key switches.
///
/// # Errors
/// [`CircuitError::Scheme`] if a key of [`sum_all_elements`] is missing.
pub fn sum_all<S: SlotScheme>(
    scheme: &S,
    a: &S::Ciphertext,
    keys: &EvaluationKeys,
) -> Result<S::Ciphertext, CircuitError> {
    let row = Window { count: scheme.row_slots(), stride: 1 }.sum(scheme, a, keys)?;
    if scheme.row_count() == 1 {
        return Ok(row);
    }
    let mut sum = scheme.inner(&row).clone();
    sum.add_assign(&scheme.inner(&row).automorphism(keys, conjugation_element(scheme.chain().degree()))?)?;
    scheme.like(a, sum)
}

/// The Galois elements of [`sum_blocks`].
///
/// # Errors
/// As [`Window::block`].
pub fn sum_blocks_elements<S: SlotScheme>(scheme: &S, count_log2: u32) -> Result<Vec<usize>, CircuitError> {
    let window = Window::block(count_log2, scheme.row_slots())?;
    let degree = scheme.chain().degree();
    let mut elements = window.galois_elements(degree);
    if window.count < scheme.row_slots() {
        let back = (0..count_log2).map(|k| rotation_element(degree, -(1 << k)));
        // A block is at most half a row, so that no rotation to the right is one of those to the left.
        elements.extend(back);
    }
    Ok(elements)
}

/// The sum of each block of `2^count_log2` neighbours, in every slot of the block.
///
/// # Level
/// CKKS: one lower, unless a block is a row. BGV and BFV: unchanged.
///
/// # Cost
/// `2·count_log2` key switches and a product with a clear mask; half of it and no product if a block is a row.
///
/// # Errors
/// As [`Window::block`]; [`CircuitError::Levels`]; [`CircuitError::Scheme`] if a key of [`sum_blocks_elements`] is missing.
pub fn sum_blocks<S: SlotScheme>(
    scheme: &S,
    a: &S::Ciphertext,
    count_log2: u32,
    keys: &EvaluationKeys,
) -> Result<S::Ciphertext, CircuitError> {
    let window = Window::block(count_log2, scheme.row_slots())?;
    if window.count == scheme.row_slots() {
        return window.sum(scheme, a, keys);
    }
    let firsts: Vec<bool> = (0..scheme.slot_count()).map(|slot| slot % window.count == 0).collect();
    let sums = mask(scheme, &window.sum(scheme, a, keys)?, &firsts)?;
    let mut spread = scheme.inner(&sums).clone();
    for k in 0..count_log2 {
        let moved = spread.automorphism(keys, rotation_element(scheme.chain().degree(), -(1 << k)))?;
        spread.add_assign(&moved)?;
    }
    scheme.like(&sums, spread)
}

/// Keeps the slots where `keep` is true and clears the others; slots beyond the end of `keep` are cleared.
///
/// # Level
/// CKKS: one lower. BGV and BFV: unchanged.
///
/// # Noise
/// A product with a clear polynomial. In BGV and BFV a cleared slot is zero; in CKKS it is as far from zero as the rounding
/// of the mask and the error of the ciphertext make it: about `2^-k` of the largest slot at a scale of `2^k`.
///
/// # Errors
/// [`CircuitError::Slot`] if `keep` has more entries than there are slots; [`CircuitError::Levels`].
pub fn mask<S: SlotScheme>(
    scheme: &S,
    a: &S::Ciphertext,
    keep: &[bool],
) -> Result<S::Ciphertext, CircuitError> {
    let (found, max) = (keep.len(), scheme.slot_count());
    if found > max {
        return Err(CircuitError::Slot { found, max });
    }
    let value = |&keep: &bool| if keep { scheme.one() } else { S::Value::default() };
    let values: Vec<S::Value> = keep.iter().map(value).collect();
    scheme.mul_clear(a, &values)
}

/// Clears all but the named slots. Call it before a result leaves: its decryptor then learns those slots, and nothing about the
/// intermediate values that rotations and sums left in the others.
///
/// This bounds the values of slots. The error of a ciphertext may still depend on other values; if that matters, flood the result
/// with noise too.
///
/// # Level
/// As [`mask`].
///
/// # Errors
/// [`CircuitError::Slot`] if a slot does not exist; [`CircuitError::Levels`].
pub fn mask_result<S: SlotScheme>(
    scheme: &S,
    a: &S::Ciphertext,
    slots: &[usize],
) -> Result<S::Ciphertext, CircuitError> {
    let max = scheme.slot_count();
    let mut keep = vec![false; max];
    for &slot in slots {
        *keep.get_mut(slot).ok_or(CircuitError::Slot { found: slot, max: max.saturating_sub(1) })? = true;
    }
    mask(scheme, a, &keep)
}
