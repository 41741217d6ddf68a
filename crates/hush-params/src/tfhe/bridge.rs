// SPDX-License-Identifier: Apache-2.0
//! From slots to digits: what a number loses on the way from a ring to TFHE, and the chance of a wrong bit.
//!
//! # Math
//! A ciphertext of a ring of degree N with p powers of its secret goes to the prime q, rounded, and then under the large secret, by digits of [`SWITCH`] times rows of a key. Bounds, in relation to q:
//!
//! ```text
//!   rounding     (1 + N + N² + … + N^p)/(2·q)              a power of a ternary secret has coefficients up to N^(p − 1)
//!   digits       p·N·levels·2^(bits − 1)·21/q              nothing is left out
//! ```
//!
//! They cannot be passed: errors are at most 21, and a digit at most half of its base. What the number had before, the owner of the circuit adds ([`TfheSet::bit_failure_of_phase_log2`]).
//!
//! A bit is found by a rotation of `b/2 + r`, where r is what is left of lower bits, below 1/4: the bit before is taken away, times up to [`PREVIOUS_NORM`]. In the middle of the range of r, both bits are 1/8 or more from where they are taken for the
//! other.

use super::noise::chance_log2;
use super::{Gadget, TfheSet, Variances};
use crate::noise::ERROR_MAX;

/// The digits of a residue on the way under the large secret: all of its bits.
pub const SWITCH: Gadget = Gadget { shift: 0, bits: 8, levels: 6 };

/// The norm of the bit before, where it is taken away from the next one.
pub const PREVIOUS_NORM: u32 = 8;

/// The distance from either bit to where it is taken for the other.
const DISTANCE: f64 = 1.0 / 8.0;

impl TfheSet {
    /// A bound on what the way from a ring of this degree adds to a number, in relation to the modulus: of ciphertexts with so many powers of the secret.
    pub fn bridge_error(&self, degree: usize, powers: u32) -> f64 {
        let degree = degree as f64;
        let rounding: f64 = (0..=powers as i32).map(|power| degree.powi(power)).sum::<f64>() / 2.0;
        let of_row = degree * 2f64.powi(SWITCH.bits as i32 - 1) * ERROR_MAX;
        (rounding + f64::from(powers * SWITCH.levels) * of_row) / self.prime() as f64
    }

    /// log2 of a bound on the chance that a bit is taken for the other, in a number that is off by so much at most, in relation to the modulus; 0 or more if it may be for certain.
    pub fn bit_failure_of_phase_log2(&self, error: f64) -> f64 {
        let Variances { rotation, key_switch, modulus_switch } = self.variances();
        let norm = f64::from(PREVIOUS_NORM);
        // Places of a table are half a step wide on either side.
        let left = DISTANCE - error - 0.5 / self.table_degree() as f64;
        if left <= 0.0 {
            return 0.0;
        }
        chance_log2(left, norm * norm * rotation + key_switch + modulus_switch)
    }
}
