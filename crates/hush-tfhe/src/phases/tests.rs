// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::INTEGERS;
use hush_ring::Cpu;

use super::*;
use crate::Context;

/// In the middle of what lower bits may be left, both bits are as far from where they are taken for the other.
#[test]
fn the_middle_of_every_bit_is_a_quarter() {
    let context = Context::new(&INTEGERS, Cpu::detect().unwrap()).unwrap();
    let q = context.modulus().value() as f64;
    for place in 0..32_i32 {
        let middle = middle(&context, place as usize) as f64 / q;
        // The largest that is left, once the bit before is gone.
        let rest = if place == 0 { 0.0 } else { 0.25 - 2f64.powi(-place - 1) };
        assert!((middle + rest / 2.0 - 0.25).abs() < 1e-9, "{place}: {middle}");
        assert!(middle > 0.124 && middle + rest < 0.376, "{place}");
    }
}

#[test]
fn a_digit_of_one_bit_is_not_cleaned() {
    assert_eq!([0, 1, 2, 3, 32].map(digits_cost), [0, 1, 3, 4, 48]);
}
