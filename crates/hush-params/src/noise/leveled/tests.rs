// SPDX-License-Identifier: Apache-2.0

use super::*;
use hush_testkit::Draw;

fn chain() -> ChainParams {
    ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap()
}

#[test]
fn by_hand() {
    let model = NoiseModel::new(8192, 1, View::Expected);
    let near = |log2: f64, expected: f64| {
        let found = (2.0 * log2).exp2();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    };
    let zero = model.message(0.0);
    near(model.fresh(zero).random.coefficient_log2, 10.5);
    near(model.fresh_public(zero).random.coefficient_log2, 10.5 * (1.0 + 4.0 * 8192.0 / 3.0));
    near(model.rounding().coefficient_log2, (1.0 + 8192.0 * 2.0 / 3.0) / 12.0);
    // Digits as large as P: N·3·10.5/12 and the rounding.
    let found = (2.0 * model.key_switch(&chain(), Level(2)).coefficient_log2).exp2();
    let hand = 8192.0 * (3.0 * 10.5 / 12.0 + 2.0 / 36.0);
    assert!((found / hand - 1.0).abs() < 1e-3, "{found} {hand}");
    // A product of an error with itself: 2·N·σ⁴.
    let error =
        PhaseNoise::clear(Norms::ZERO).with_error(Deviations { coefficient_log2: 1.0, slot_log2: 1.0 });
    near(model.tensor(error, error, Operands::Dependent).random.coefficient_log2, 2.0 * 8192.0 * 16.0);
}

#[test]
fn the_bound_is_above_the_expectation_and_grows_with_the_unit() {
    let [bound, expected] = [View::Bound, View::Expected].map(|view| NoiseModel::new(8192, 65537, view));
    let level = Level(1);
    let walk = |model: &NoiseModel| {
        let fresh = model.fresh_public(model.message(15.0));
        let product = model.tensor(fresh, fresh, Operands::Dependent);
        model.relinearized_and_mod_switched(product, &chain(), level).unwrap()
    };
    let (high, low) = (walk(&bound), walk(&expected));
    assert!(high.message.coefficient_log2 > low.message.coefficient_log2);
    let spread = bound.error_log2(high) - low.random.coefficient_log2;
    assert!((3.0..20.0).contains(&spread), "{spread}");
    let gap = key_switch_log2(&chain(), level, 65537) - key_switch_log2(&chain(), level, 1);
    assert!((gap - 65537_f64.log2()).abs() < 1e-9);
    assert!(public_encryption_log2(8192, 1) < 14.0);
    assert_eq!(bound.relinearized_and_mod_switched(high, &chain(), Level(0)), None);
}

/// A normal polynomial, squared three times: the largest coefficient is far beyond what independent terms would give, and within
/// the bound.
#[test]
fn powers_of_an_error_are_within_the_bound() {
    let n = 256;
    let mut draw = Draw::new();
    let model = NoiseModel::new(n, 1, View::Bound);
    let unit = Deviations { coefficient_log2: 0.0, slot_log2: 0.0 };
    let square = |p: &[f64]| -> Vec<f64> {
        let mut square = vec![0.0; n];
        for (i, x) in p.iter().enumerate() {
            for (j, y) in p.iter().enumerate() {
                square[(i + j) % n] += if i + j < n { x * y } else { -x * y };
            }
        }
        square
    };
    for _ in 0..8 {
        // Sums of twelve uniform numbers.
        let mut p: Vec<f64> = (0..n).map(|_| draw.reals(12, -0.5, 0.5).iter().sum()).collect();
        let mut phase = PhaseNoise::clear(Norms::ZERO).with_error(unit);
        let norm = |p: &[f64]| p.iter().map(|c| c * c).sum::<f64>().sqrt().log2();
        assert!(norm(&p) <= model.norms(unit).euclidean_log2);
        for _ in 0..3 {
            p = square(&p);
            phase = model.tensor(phase, phase, Operands::Dependent);
            let largest = p.iter().fold(0_f64, |largest, c| largest.max(c.abs())).log2();
            assert!(largest <= model.error_log2(phase), "{draw}: 2^{largest} of {phase:?}");
            assert!(norm(&p) <= phase.products.euclidean_log2, "{draw}");
        }
    }
}

/// `u·(e·v + e_0 + e_1·s)`: in every coefficient a scalar product of 2N + 1 errors with numbers of up to 1.
#[test]
fn the_error_of_a_public_key_is_that_of_2n_and_1_errors() {
    for (degree, unit) in [(4096_usize, 1_u64), (8192, 65537)] {
        let deviation = (10.5 * (1.0 + 2.0 * degree as f64)).sqrt();
        let expected = tail(degree as f64) * deviation * unit as f64;
        let found = public_encryption_log2(degree, unit).exp2();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
}
