// SPDX-License-Identifier: Apache-2.0
//! Sums of products that keys for the powers of the secret bring back to two components.

use super::{ERROR_MAX, add_phase_log2};
use crate::ParamSet;

/// log2 bound on the phase of a sum of products of this degree once it has two components. It had a phase of at most `2^phase_log2`; the plaintext
/// modulus is `2^t_log2`. Hard: nothing exceeds it.
///
/// # Math
/// Every power from the square on, and every prime, adds `t·d·e` with a digit `d` of coefficients up to half the prime and an error up to 21: at most
/// `N` times their product.
pub fn relinearised_phase_log2(set: &ParamSet, degree: usize, t_log2: f64, phase_log2: f64) -> f64 {
    let digits = degree.saturating_sub(1) * set.limb_count();
    if digits == 0 {
        return phase_log2;
    }
    let digit_log2 = f64::from(set.residue_bits()) - 1.0;
    let error = (digits as f64).log2() + (set.degree() as f64).log2() + digit_log2 + ERROR_MAX.log2();
    add_phase_log2(phase_log2, t_log2 + error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset;

    #[test]
    fn keys_add_far_less_than_products_leave() {
        let set = preset("n13_q3x46_sec128_v1").unwrap();
        let t_log2 = 65_537f64.log2();
        assert_eq!(relinearised_phase_log2(set, 1, t_log2, 50.0), 50.0);
        let alone = relinearised_phase_log2(set, 4, t_log2, f64::NEG_INFINITY);
        // log2(9) + 13 + 45 + log2(21) + 16.
        assert!((alone - 81.56).abs() < 0.01, "{alone}");
        assert!(relinearised_phase_log2(set, 4, t_log2, 133.2) - 133.2 < 1e-9);
    }
}
