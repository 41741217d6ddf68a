// SPDX-License-Identifier: Apache-2.0
//! Ciphertexts rounded to `w` bits for each coefficient: what that adds to a phase, and which `w` is enough.
//!
//! Restored components differ from what they were by `t·(Q/2^w·r + r')` with `r` and `r'` up to 1/2 (`docs/math/rounding.md`).
//! The component that no secret multiplies is taken at its worst. The others are modulo `Q` what a uniform mask makes of them, so
//! that their roundings are uniform and say nothing of the secret, as everywhere in [`NoiseModel`].

use super::{NoiseModel, View, add_phase_log2, tail};

/// Room that must be left, in bits: doubles cannot tell `Q/2` from a little less.
pub(super) const ROOM: f64 = 1e-3;

/// log2 of what no coefficient of `Σ r_i·s^i` exceeds for `components` (1 to 3) polynomials `r_i` with coefficients up to 1/2;
/// infinite for more.
pub fn rounding_log2(degree: usize, components: u8) -> f64 {
    let model = NoiseModel::new(degree, 1, View::Bound);
    let random = match components {
        0 | 1 => return -1.0,
        2 => model.rounding(),
        3 => model.rounding().with(model.rounding_times_square()),
        _ => return f64::INFINITY,
    };
    // Half of the chance of failure; the phase itself has the other half.
    add_phase_log2(-1.0, tail(2.0 * degree as f64).log2() + random.coefficient_log2)
}

/// log2 bound on the phase of a restored ciphertext, which had a phase of at most `2^phase_log2`.
pub fn rounded_phase_log2(phase_log2: f64, t_log2: f64, log_q: f64, bits: u32, rounding_log2: f64) -> f64 {
    let step = add_phase_log2(log_q - f64::from(bits), 0.0);
    add_phase_log2(phase_log2, t_log2 + step + rounding_log2)
}

/// The fewest bits with which a ciphertext with a phase of at most `2^phase_log2` still decrypts; `None` if not even all of
/// `log_q` would do.
pub fn rounded_bits(phase_log2: f64, t_log2: f64, log_q: f64, rounding_log2: f64) -> Option<u32> {
    let phase = |bits: u32| rounded_phase_log2(phase_log2, t_log2, log_q, bits, rounding_log2);
    (1..log_q as u32).find(|bits| phase(*bits) <= log_q - 1.0 - ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_bits_that_fit() {
        let log_q = 138.0;
        for (phase, components) in [(50.0, 1), (50.0, 2), (120.0, 3), (136.9, 3)] {
            let rounding = rounding_log2(8192, components);
            let bits = rounded_bits(phase, 45.0, log_q, rounding).unwrap();
            assert!(rounded_phase_log2(phase, 45.0, log_q, bits, rounding) < log_q - 1.0);
            assert!(rounded_phase_log2(phase, 45.0, log_q, bits - 1, rounding) >= log_q - 1.0);
        }
        assert_eq!(rounded_bits(50.0, 45.0, log_q, -1.0), Some(46));
        assert_eq!(rounded_bits(137.0, 45.0, log_q, -1.0), None);
        assert_eq!(rounded_bits(f64::INFINITY, 45.0, log_q, -1.0), None);
        assert_eq!(rounded_bits(50.0, 45.0, log_q, rounding_log2(8192, 4)), None);
    }

    #[test]
    fn roundings_that_meet_the_secret_count_more() {
        let [one, two, three] = [1, 2, 3].map(|components| rounding_log2(8192, components));
        assert_eq!(one, -1.0);
        // Half a unit, and 14 deviations of the root of N/12; then of N/12 times 16/9 N.
        assert!((two - 8.6).abs() < 0.1, "{two}");
        assert!((three - 15.5).abs() < 0.3, "{three}");
    }
}
