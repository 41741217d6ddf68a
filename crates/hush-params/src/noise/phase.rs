// SPDX-License-Identifier: Apache-2.0
//! Known facts about a phase: norms of its bounded parts, deviations of its random part.

use super::add_phase_log2;

/// Bounds on a polynomial modulo `X^N + 1`, each as log2.
///
/// A slot is the value at one of the roots of `X^N + 1`. Coefficients are averages of slots (times roots of unity), and the
/// Euclidean norm of the coefficients is the root mean square of the slots, which gives every inequality used here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// The largest coefficient.
    pub coefficient_log2: f64,
    /// The Euclidean norm of the coefficients.
    pub euclidean_log2: f64,
    /// The largest slot.
    pub slot_log2: f64,
}

impl Norms {
    /// The polynomial 0.
    pub const ZERO: Self = Self {
        coefficient_log2: f64::NEG_INFINITY,
        euclidean_log2: f64::NEG_INFINITY,
        slot_log2: f64::NEG_INFINITY,
    };

    /// Coefficients up to `2^log2`, chosen as badly as can be: all of them may point the same way in one slot.
    pub fn of_coefficients(degree: f64, log2: f64) -> Self {
        let degree_log2 = degree.log2();
        Self {
            coefficient_log2: log2,
            euclidean_log2: degree_log2 / 2.0 + log2,
            slot_log2: degree_log2 + log2,
        }
    }

    /// Slots up to `2^log2`.
    pub fn of_slots(log2: f64) -> Self {
        Self { coefficient_log2: log2, euclidean_log2: log2, slot_log2: log2 }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            coefficient_log2: add_phase_log2(self.coefficient_log2, other.coefficient_log2),
            euclidean_log2: add_phase_log2(self.euclidean_log2, other.euclidean_log2),
            slot_log2: add_phase_log2(self.slot_log2, other.slot_log2),
        }
    }

    /// The product: a coefficient is an inner product (Cauchy-Schwarz), a slot the product of two.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let (left, right) = (self.slot_log2 + other.euclidean_log2, self.euclidean_log2 + other.slot_log2);
        Self {
            coefficient_log2: self.euclidean_log2 + other.euclidean_log2,
            euclidean_log2: left.min(right),
            slot_log2: self.slot_log2 + other.slot_log2,
        }
    }

    /// Times `2^log2`.
    #[must_use]
    pub fn scaled(self, log2: f64) -> Self {
        Self {
            coefficient_log2: self.coefficient_log2 + log2,
            euclidean_log2: self.euclidean_log2 + log2,
            slot_log2: self.slot_log2 + log2,
        }
    }
}

/// Deviations of `Σ A_j·g_j` for fixed polynomials `A_j` and independent `g_j` with independent sub-Gaussian coefficients of
/// proxy 1, each as log2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// For a coefficient: the root of `Σ ‖A_j‖²`, Euclidean norms.
    pub coefficient_log2: f64,
    /// For the largest slot, divided by the root of `N`: the root of the largest `Σ |A_j(ζ)|²`.
    pub slot_log2: f64,
}

impl Deviations {
    /// Nothing random.
    pub const ZERO: Self = Self { coefficient_log2: f64::NEG_INFINITY, slot_log2: f64::NEG_INFINITY };

    /// With an independent error.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let root_of_squares = |a: f64, b: f64| add_phase_log2(2.0 * a, 2.0 * b) / 2.0;
        Self {
            coefficient_log2: root_of_squares(self.coefficient_log2, other.coefficient_log2),
            slot_log2: root_of_squares(self.slot_log2, other.slot_log2),
        }
    }

    /// With an error that may be the same one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            coefficient_log2: add_phase_log2(self.coefficient_log2, other.coefficient_log2),
            slot_log2: add_phase_log2(self.slot_log2, other.slot_log2),
        }
    }

    /// Times a fixed polynomial.
    #[must_use]
    pub fn times(self, fixed: Norms) -> Self {
        let (left, right) = (fixed.slot_log2 + self.coefficient_log2, fixed.euclidean_log2 + self.slot_log2);
        Self { coefficient_log2: left.min(right), slot_log2: fixed.slot_log2 + self.slot_log2 }
    }

    /// Times `2^log2`.
    #[must_use]
    pub fn scaled(self, log2: f64) -> Self {
        Self { coefficient_log2: self.coefficient_log2 + log2, slot_log2: self.slot_log2 + log2 }
    }
}

/// The model of a phase, a message and two errors: see [`super::NoiseModel`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseNoise {
    /// The message part (BGV: `f·m` before reduction; CKKS: `Δ·m`; BFV: at most `Q/2`, and of no consequence).
    pub message: Norms,
    /// The error that is linear in what was drawn at random.
    pub random: Deviations,
    /// Products of errors.
    pub products: Norms,
}

impl PhaseNoise {
    /// A message without an error.
    pub fn clear(message: Norms) -> Self {
        Self { message, random: Deviations::ZERO, products: Norms::ZERO }
    }

    /// The same error about another message.
    #[must_use]
    pub fn with_message(self, message: Norms) -> Self {
        Self { message, ..self }
    }

    /// The phase times `2^log2`.
    #[must_use]
    pub fn scaled(self, log2: f64) -> Self {
        Self {
            message: self.message.scaled(log2),
            random: self.random.scaled(log2),
            products: self.products.scaled(log2),
        }
    }

    /// With an independent error added.
    #[must_use]
    pub fn with_error(self, random: Deviations) -> Self {
        Self { random: self.random.with(random), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hush_testkit::Draw;

    /// The norms of a polynomial, by definition.
    fn norms(p: &[f64]) -> [f64; 3] {
        let n = p.len();
        let slot = |k: usize| {
            let angle = |j: usize| std::f64::consts::PI * ((2 * k + 1) * j % (2 * n)) as f64 / n as f64;
            let (re, im) = p
                .iter()
                .enumerate()
                .fold((0.0, 0.0), |(re, im), (j, c)| (re + c * angle(j).cos(), im + c * angle(j).sin()));
            f64::hypot(re, im)
        };
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        [
            largest(&mut p.iter().map(|c| c.abs())),
            p.iter().map(|c| c * c).sum::<f64>().sqrt(),
            largest(&mut (0..n).map(slot)),
        ]
    }

    fn exact(p: &[f64]) -> Norms {
        let [coefficient, euclidean, slot] = norms(p).map(f64::log2);
        Norms { coefficient_log2: coefficient, euclidean_log2: euclidean, slot_log2: slot }
    }

    fn assert_within(found: &[f64], bound: Norms) {
        let [coefficient, euclidean, slot] = norms(found);
        let is_within = |found: f64, log2: f64| found <= log2.exp2() * (1.0 + 1e-9);
        assert!(is_within(coefficient, bound.coefficient_log2), "{coefficient} {bound:?}");
        assert!(is_within(euclidean, bound.euclidean_log2), "{euclidean} {bound:?}");
        assert!(is_within(slot, bound.slot_log2), "{slot} {bound:?}");
    }

    fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
        let n = a.len();
        let mut product = vec![0.0; n];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                product[(i + j) % n] += if i + j < n { x * y } else { -x * y };
            }
        }
        product
    }

    #[test]
    fn sums_and_products_keep_to_their_norms() {
        let mut draw = Draw::new();
        for n in [1, 2, 16, 64] {
            // Spread out, aligned in one slot, and a single coefficient.
            let mut one = vec![0.0; n];
            one[n / 2] = -3.0;
            let polynomials = [draw.reals(n, -1.0, 1.0), vec![1.0; n], one];
            for a in &polynomials {
                assert_within(a, exact(a));
                assert_within(a, Norms::of_coefficients(n as f64, exact(a).coefficient_log2));
                assert_within(a, Norms::of_slots(exact(a).slot_log2));
                for b in &polynomials {
                    let sum: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
                    assert_within(&sum, exact(a).plus(exact(b)));
                    assert_within(&product(a, b), exact(a).times(exact(b)));
                    assert_within(&product(a, b), exact(a).times(exact(b)).plus(Norms::ZERO).scaled(0.0));
                }
            }
        }
    }

    /// `A·g` for a fixed `A`: every coefficient has the norm of `A` for its deviation, a slot the slot of `A`.
    #[test]
    fn a_fixed_factor_gives_deviations_its_norms() {
        let fixed = exact(&[1.0, 2.0, -2.0, 0.0]);
        let unit = Deviations { coefficient_log2: 0.0, slot_log2: 0.0 };
        let found = unit.times(fixed);
        assert_eq!((found.coefficient_log2, found.slot_log2), (fixed.euclidean_log2, fixed.slot_log2));
        // The norm of a product of two is not the product of norms.
        assert!(found.times(fixed).coefficient_log2 > 2.0 * fixed.euclidean_log2);
        assert!((found.with(found).slot_log2 - found.slot_log2 - 0.5).abs() < 1e-12);
        assert!((found.plus(found).slot_log2 - found.slot_log2 - 1.0).abs() < 1e-12);
        assert_eq!(found.with(Deviations::ZERO), found);
    }
}
