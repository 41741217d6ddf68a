// SPDX-License-Identifier: Apache-2.0
//! The automorphisms and the rotations of slots that they perform.
//!
//! Slot `i` of a row belongs to the root `ψ^(5^i)`, and its partner in the other row (or its complex conjugate) to
//! `ψ^(−5^i)`. Since 5 and −1 generate all odd residues modulo `2N`, every slot is met once.

/// The Galois element that moves each row `steps` places to the left; negative steps move to the right.
pub fn rotation_element(degree: usize, steps: i64) -> usize {
    let (order, row) = (2 * degree as u64, degree as i64 / 2);
    let steps = steps.rem_euclid(row.max(1)) as u64;
    let (mut power, mut base, mut exponent) = (1, 5 % order, steps);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * base % order;
        }
        base = base * base % order;
        exponent >>= 1;
    }
    power as usize
}

/// The Galois element that swaps the two rows, or conjugates complex slots: `−1`.
pub fn conjugation_element(degree: usize) -> usize {
    2 * degree - 1
}

/// The Galois element of the inverse automorphism of an odd `element`.
///
/// # Math
/// Newton: from an inverse modulo `2^k`, `x·(2 − g·x)` is one modulo `2^2k`; an odd `g` is its own inverse modulo 8.
pub fn inverse_element(degree: usize, element: usize) -> usize {
    let step = |x: usize| x.wrapping_mul(2_usize.wrapping_sub(element.wrapping_mul(x)));
    (0..5).fold(element, |x, _| step(x)) & (2 * degree - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_form_a_cycle_of_the_row_length() {
        for degree in [16, 64, 4096] {
            assert_eq!(rotation_element(degree, 0), 1);
            assert_eq!(rotation_element(degree, degree as i64 / 2), 1);
            assert_eq!(rotation_element(degree, 1), 5);
            let back = rotation_element(degree, -1) * 5 % (2 * degree);
            assert_eq!(back, 1);
            for element in (1..2 * degree).step_by(2) {
                assert_eq!(element * inverse_element(degree, element) % (2 * degree), 1);
            }
            let mut seen: Vec<usize> = (0..degree as i64 / 2).map(|k| rotation_element(degree, k)).collect();
            seen.extend(seen.clone().iter().map(|g| g * conjugation_element(degree) % (2 * degree)));
            seen.sort_unstable();
            assert!(seen.iter().copied().eq((0..degree).map(|k| 2 * k + 1)));
        }
    }
}
