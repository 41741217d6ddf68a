// SPDX-License-Identifier: Apache-2.0
//! Sums of multiples, and products.

use super::carry::Column;
use super::digit::{BASE, DIGIT_BITS, Digit, Integer};
use super::engine::Engine;
use crate::TfheError;

impl Engine<'_> {
    /// `constant + Σ factor·integer`, modulo `4^count`, for each element.
    ///
    /// # Method
    /// A factor's digits scale those of the integer. A negative one is taken of the complement: `−x = 3…3 − x + 1`.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn linear(
        &mut self,
        count: usize,
        constant: i128,
        terms: &[(Vec<Integer>, i128)],
        length: usize,
    ) -> Result<Vec<Integer>, TfheError> {
        let mut rest = constant;
        let mut elements = vec![vec![Column::new(); count]; length];
        for (integers, factor) in terms {
            let size = factor.unsigned_abs();
            if *factor < 0 {
                rest = rest.wrapping_add(size as i128);
            }
            // A sum of two of them with factor 1 has room for what a choice gives.
            let is_plain =
                size == 1 && integers.iter().flat_map(|integer| &integer.0).all(|digit| digit.most < BASE);
            let integers = if is_plain { integers.clone() } else { self.cleaned(integers)? };
            for (columns, integer) in elements.iter_mut().zip(&integers) {
                for place in 0..count {
                    let digit = integer.0.get(place).cloned().unwrap_or_else(|| Digit::constant(0));
                    let digit = if *factor < 0 { digit.taken_from(BASE - 1)? } else { digit };
                    for (shift, column) in columns.iter_mut().skip(place).enumerate() {
                        let scale = size.checked_shr(DIGIT_BITS * shift as u32).unwrap_or(0) as u32
                            & (BASE as u32 - 1);
                        if scale > 0 && digit.known() != Some(0) {
                            column.push(digit.scaled(scale)?);
                        }
                    }
                }
            }
        }
        for columns in &mut elements {
            for (column, digit) in columns.iter_mut().zip(Integer::constant(rest, count).0) {
                if digit.known() != Some(0) {
                    column.push(digit);
                }
            }
        }
        self.add_up(elements)
    }

    /// Products modulo `4^count`, element by element.
    ///
    /// # Method
    /// Each pair of digits gives both digits of its product; of a square, pairs of different digits count twice.
    ///
    /// # Errors
    /// As [`Engine::apply`].
    pub(super) fn multiply(
        &mut self,
        count: usize,
        (left, right, is_square): (&[Integer], &[Integer], bool),
    ) -> Result<Vec<Integer>, TfheError> {
        let left = self.cleaned(left)?;
        let right = if is_square { left.clone() } else { self.cleaned(right)? };
        let low = self.look_up(|pair| (pair / BASE) * (pair % BASE) % BASE)?;
        let high = self.look_up(|pair| (pair / BASE) * (pair % BASE) / BASE)?;
        let (mut jobs, mut places) = (Vec::new(), Vec::new());
        for (element, (left, right)) in left.iter().zip(&right).enumerate() {
            for (i, a) in left.0.iter().enumerate() {
                for (j, b) in right.0.iter().enumerate().take(count.saturating_sub(i)) {
                    if a.most * b.most == 0 || (is_square && j < i) {
                        continue;
                    }
                    let (pair, times) = (a.beside(b)?, if is_square && i != j { 2 } else { 1 });
                    if a.most * b.most >= BASE && i + j + 1 < count {
                        jobs.push((pair.clone(), &high));
                        places.push((element, i + j + 1, times));
                    }
                    jobs.push((pair, &low));
                    places.push((element, i + j, times));
                }
            }
        }
        let mut elements = vec![vec![Column::new(); count]; left.len()];
        for ((element, place, times), digit) in places.into_iter().zip(self.apply(&jobs)?) {
            if digit.known() != Some(0) {
                elements[element][place].push(digit.scaled(times)?);
            }
        }
        self.add_up(elements)
    }
}
