// SPDX-License-Identifier: Apache-2.0
//! Sums of products with rounded components: what the roundings add to a phase, and how many bits each component needs.
//!
//! ```text
//!   phase  c_0 + c_1·s + … + c_d·s^d              restored  phase + t·(ε_0 + ε_1·s + … + ε_d·s^d)
//!   h_i = Q/2^w_i                                 ε_i       uniform between −h_i/2 and h_i/2
//! ```
//!
//! A rounding counts with the power of the secret that it meets, so that each component has a width `w_i` of its own. The powers' norms
//! are bounded by [`secret_power_norm`], which the owner compares with those of his secret: what is left to chance is the roundings alone.
//!
//! *Component 0* is taken at its worst. *The others* are modulo `Q` what uniform masks make of them, so that their roundings are uniform,
//! independent of each other and of the secret, as everywhere in [`super::NoiseModel`].
//!
//! *Ends of intervals.* Roundings are computed in 128 bits after the point (`docs/math/rounding.md`), and are of integers. Both move the
//! ends of the interval that rounds to one number, by [`SHIFT_LOG2`] and by one unit: its length, its middle and the chance of failure
//! are as much larger. `docs/math/products.md` has the proof.

use super::rounded::ROOM;
use super::{add_phase_log2, tail};
use crate::size::MAX_ROUNDED_BITS;

/// log2 of how far `u/Q` is from its sum in 128 bits, at most: eight primes below `2^47`, each over `2^128`.
const SHIFT_LOG2: f64 = 3.0 + 47.0 - 128.0;
/// Fewest bits of a step: a shorter one has too few integers.
const MIN_STEP_BITS: f64 = 4.0;

/// A bound on the squared norm of `s^power` in `Z[X]/(X^N + 1)` for uniform ternary secrets: `power!·(4N/3)^power`, rounded down; at most
/// `u128::MAX`.
///
/// # Math
/// The squared norm is the mean of `|ŝ|^(2·power)` over the slots, about `power!·(2N/3)^power`. The bound is `2^power` times that:
/// beyond it is about one secret in a million for degrees that fit a parameter set, less for small powers, none for the first. Such a
/// secret is found (`hush_keys::check_powers`), and its answers are refused.
pub fn secret_power_norm(degree: usize, power: u32) -> u128 {
    let factor = 4 * degree as u128;
    (1..=u128::from(power)).fold(1, |norm: u128, power| norm.saturating_mul(power).saturating_mul(factor) / 3)
}

/// log2 bound on the phase of a sum of products that is restored from `bits[i]` bits for component `i`. It had a phase of at most
/// `2^phase_log2`, in a ring of this degree with a modulus `Q = 2^log_q` and the plaintext modulus `2^t_log2`.
///
/// Exceeded with a chance below 2^-128 for each sum, if the secret's powers are within [`secret_power_norm`]. Infinite for bits that
/// nothing is rounded to: over [`MAX_ROUNDED_BITS`], or nearly all of `Q`.
pub fn rounded_product_phase_log2(
    degree: usize,
    bits: &[u32],
    t_log2: f64,
    log_q: f64,
    phase_log2: f64,
) -> f64 {
    let is_rounding = |bits: &u32| *bits <= MAX_ROUNDED_BITS && f64::from(*bits) + MIN_STEP_BITS <= log_q;
    if !bits.iter().all(is_rounding) {
        return f64::INFINITY;
    }
    let roundings = (0..).zip(bits).map(|(power, bits)| Component::new(degree, power, log_q, *bits));
    let sum = |of: &dyn Fn(&Component) -> f64| {
        roundings.clone().fold(f64::NEG_INFINITY, |sum, rounding| add_phase_log2(sum, of(&rounding)))
    };
    let hard = sum(&|rounding| rounding.hard_log2);
    let deviation = sum(&|rounding| 2.0 * rounding.deviation_log2) / 2.0;
    // By how much the chance is larger, from all coefficients of all components.
    let ends: f64 = roundings.clone().map(|rounding| rounding.ends).sum();
    let count = degree as f64 * (degree as f64 * ends).exp();
    let error = add_phase_log2(hard, tail(count).log2() + deviation);
    add_phase_log2(phase_log2, t_log2 + error)
}

/// The fewest bits for each of so many components with which a sum of products still decrypts, at most [`MAX_ROUNDED_BITS`] each; `None` if
/// more are needed, and without components. The arguments are those of [`rounded_product_phase_log2`].
///
/// The components add about as much each, and none of them could do with a bit less.
pub fn product_bits(
    degree: usize,
    components: u8,
    t_log2: f64,
    log_q: f64,
    phase_log2: f64,
) -> Option<Vec<u32>> {
    let fits = |bits: &[u32]| {
        rounded_product_phase_log2(degree, bits, t_log2, log_q, phase_log2) <= log_q - 1.0 - ROOM
    };
    let most = MAX_ROUNDED_BITS.min((log_q - MIN_STEP_BITS).max(0.0) as u32);
    let mut bits = vec![1; usize::from(components)];
    while !fits(&bits) {
        let weight = |power: usize| Component::new(degree, power as u32, log_q, bits[power]).weight_log2();
        let may_grow = (0..bits.len()).filter(|power| bits[*power] < most);
        let heaviest = may_grow.max_by(|a, b| weight(*a).total_cmp(&weight(*b)))?;
        bits[heaviest] += 1;
    }
    // The last bits were added to one component, and another may now do with less: the longest first.
    for power in (0..bits.len()).rev() {
        while bits[power] > 1 {
            bits[power] -= 1;
            if !fits(&bits) {
                bits[power] += 1;
                break;
            }
        }
    }
    Some(bits).filter(|bits| !bits.is_empty())
}

/// What the rounding of a component adds to a coefficient of the phase, in units of the plaintext modulus, as log2.
struct Component {
    /// What it adds at its worst: all of component 0; of another the middle of its intervals.
    hard_log2: f64,
    /// Deviation of the rest; −∞ for component 0.
    deviation_log2: f64,
    /// By which factor, less 1, a number is likelier than in an interval with sharp ends.
    ends: f64,
}

impl Component {
    /// Of the component that meets this power of the secret.
    fn new(degree: usize, power: u32, log_q: f64, bits: u32) -> Self {
        let bits = f64::from(bits);
        let shift = (SHIFT_LOG2 + bits).exp2();
        // Units at both ends.
        let length_log2 = add_phase_log2(log_q - bits + (1.0 + 2.0 * shift).log2(), 1.0);
        if power == 0 {
            return Self { hard_log2: length_log2 - 1.0, deviation_log2: f64::NEG_INFINITY, ends: 0.0 };
        }
        let norm_log2 = (secret_power_norm(degree, power) as f64).log2() / 2.0;
        let middle_log2 = add_phase_log2(0.0, log_q - bits + shift.log2() - 1.0);
        Self {
            // A coefficient of a product is at most the product of the norms.
            hard_log2: middle_log2 + (degree as f64).log2() / 2.0 + norm_log2,
            deviation_log2: length_log2 - 12f64.log2() / 2.0 + norm_log2,
            ends: 3.0 * (shift + (bits - log_q).exp2()),
        }
    }

    /// What it adds, for comparison with others.
    fn weight_log2(&self) -> f64 {
        add_phase_log2(self.hard_log2, tail(1.0).log2() + self.deviation_log2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{bgv_fresh_phase_log2, product_phase_log2};
    use crate::preset;

    const T: f64 = 65537.0;

    /// The bound on a product of so many stored ciphertexts.
    fn product(degree: usize, factors: u8) -> f64 {
        let fresh = bgv_fresh_phase_log2(T.log2());
        (1..factors).fold(fresh, |phase, _| product_phase_log2(degree, phase, fresh))
    }

    #[test]
    fn norms_of_powers_are_above_their_means() {
        assert_eq!(secret_power_norm(8192, 0), 1);
        assert_eq!(secret_power_norm(8192, 1), 4 * 8192 / 3);
        for power in 1..=7 {
            let factorial = (1..=power).fold(1.0, |product, factor| product * f64::from(factor));
            let bound = factorial * (4.0 * 16384.0 / 3.0f64).powi(power as i32);
            let found = secret_power_norm(16384, power) as f64;
            assert!(found <= bound && found > bound * 0.999, "{power}");
        }
        assert_eq!(secret_power_norm(1 << 16, 40), u128::MAX / 3);
    }

    /// The fewest: with one bit less in any component the bound is beyond half the modulus.
    #[test]
    fn no_component_can_do_with_less() {
        for (name, factors) in [
            ("n12_q2x46_sec128_v1", 2),
            ("n12_q3x34_sec128_v1", 3),
            ("n13_q3x46_sec128_v1", 4),
            ("n13_q4x46_sec128_v1", 5),
            ("n14_q5x46_sec128_v1", 5),
        ] {
            let set = preset(name).unwrap();
            let (degree, log_q) = (set.degree(), set.log_q());
            let phase = product(degree, factors);
            let bound = |bits: &[u32]| rounded_product_phase_log2(degree, bits, T.log2(), log_q, phase);
            let bits = product_bits(degree, factors + 1, T.log2(), log_q, phase).unwrap();
            assert!(bound(&bits) <= log_q - 1.0 && bits.is_sorted(), "{name}: {bits:?}");
            for power in 0..bits.len() {
                let mut fewer = bits.clone();
                fewer[power] -= 1;
                assert!(bound(&fewer) > log_q - 1.0 - ROOM, "{name}: {bits:?} less one in {power}");
            }
            let fewer: Vec<u32> = bits.iter().map(|bits| bits - 1).collect();
            assert!(bound(&fewer) > log_q - 1.0, "{name}: {bits:?}");
        }
    }

    /// Close to what an estimate by hand gives: components take a power's norm more each.
    #[test]
    fn components_take_seven_bits_more_each() {
        let set = preset("n13_q3x46_sec128_v1").unwrap();
        let bits = product_bits(8192, 5, T.log2(), set.log_q(), product(8192, 4)).unwrap();
        assert_eq!(bits, [18, 27, 35, 42, 50]);
    }

    /// One component is a body, and two are a ciphertext: as [`super::super::rounded_bits`] has it, up to a bit.
    #[test]
    fn few_components_are_as_rounded_ciphertexts() {
        let (log_q, phase) = (138.0, 50.0);
        let whole = |components| {
            let rounding = crate::noise::rounding_log2(8192, components);
            crate::noise::rounded_bits(phase, 45.0, log_q, rounding).unwrap()
        };
        assert_eq!(product_bits(8192, 1, 45.0, log_q, phase), Some(vec![whole(1)]));
        let two = product_bits(8192, 2, 45.0, log_q, phase).unwrap();
        assert!(two[1].abs_diff(whole(2)) <= 1 && two[0] < whole(2), "{two:?}");
    }

    #[test]
    fn what_does_not_fit_has_no_bits() {
        let of = |components, log_q, phase| product_bits(8192, components, T.log2(), log_q, phase);
        assert_eq!(of(0, 138.0, 50.0), None);
        assert_eq!(of(3, 138.0, 137.0), None);
        assert_eq!(of(3, 138.0, f64::INFINITY), None);
        assert_eq!(of(3, 20.0, 1.0), None);
        // More than can be packed: of six factors at N = 2^14, for the last component.
        let large = preset("n14_q5x46_sec128_v1").unwrap().log_q();
        assert_eq!(product_bits(16384, 7, T.log2(), large, product(16384, 6)), None);
        let bound = |bits: &[u32]| rounded_product_phase_log2(8192, bits, T.log2(), 138.0, 50.0);
        assert!(bound(&[63, 63]).is_finite());
        assert_eq!(bound(&[20, 64]), f64::INFINITY);
        assert_eq!(rounded_product_phase_log2(8192, &[20, 59], T.log2(), 60.0, 50.0), f64::INFINITY);
        assert_eq!(bound(&[]), 50.0);
    }
}
