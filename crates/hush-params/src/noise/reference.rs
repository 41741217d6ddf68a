// SPDX-License-Identifier: Apache-2.0
//! Every bound once more, from its formula and in plain numbers instead of logarithms.

use super::release;
use super::*;
use crate::chain::uniform_spec;
use crate::{ChainParams, Level};
use hush_testkit::Draw;

/// Deviations that `count` sub-Gaussian numbers stay within: `2·count·exp(−k²/2) = 2^-128`.
fn k(count: f64) -> f64 {
    (2.0 * (2.0 * count * 128_f64.exp2()).ln()).sqrt()
}

/// The same for the slots of a polynomial of degree `n`: `2n` two-sided bounds, and `cos(π/8)` for eight directions.
fn k_slot(n: f64) -> f64 {
    k(2.0 * n) / (2_f64.sqrt() * 0.923_879_532_511_286_7)
}

fn assert_is(found_log2: f64, expected: f64, what: &str) {
    let found = found_log2.exp2();
    let is_close = (found - expected).abs() <= 1e-6 * expected.abs();
    assert!(is_close || (found == 0.0 && expected == 0.0), "{what}: {found} instead of {expected}");
}

#[test]
fn sums() {
    for (rows, weight, n) in [(1.0_f64, 1.0, 2048_usize), (50.0, 3.0, 4096), (1e7, 1000.0, 16384)] {
        let deviation = (10.5 * rows).sqrt() * weight;
        assert!((sum_deviation(rows, weight) / deviation - 1.0).abs() < 1e-12);
        let devices = (1.0 + 2.0 * 20.0 * 2.0 / 3.0 * n as f64).sqrt();
        assert!((device_factor(n) / devices - 1.0).abs() < 1e-12);
        for factor in [1.0, devices] {
            let error = k(1.0) * factor * deviation;
            assert_is(bgv_sum_phase_log2(3.0, rows, weight, factor), 8.0 * (0.5 + error), "BGV");
            let rounding = rows * weight / 2.0;
            assert_is(ckks_sum_error_log2(2.0, rows, weight, factor), (error + rounding) / 4.0, "CKKS");
            assert_is(ckks_sum_noise_log2(2.0, rows, weight, factor), error / 4.0, "noise");
        }
        let slot = k(n as f64) * (10.5 * n as f64).sqrt() + n as f64 / 2.0;
        assert_is(ckks_slot_error_log2(5.0, n), slot / 32.0, "slot");
        assert_is(product_phase_log2(n, 3.0, 5.0), n as f64 * 8.0 * 32.0, "product");
    }
    // Fewer rows than one, weights below one: as one.
    assert_eq!(sum_deviation(0.0, 0.0), sum_deviation(1.0, 1.0));
    assert_eq!(ckks_sum_error_log2(9.0, 0.0, 0.5, 1.0), ckks_sum_error_log2(9.0, 1.0, 1.0, 1.0));
}

#[test]
fn releases() {
    for n in [2048_usize, 8192] {
        let degree = n as f64;
        let norm = (2.0 * 10.5 * degree).sqrt();
        assert_is(release::element_norm_log2(n), norm, "norm");
        assert_is(release::stored_norm_log2(n, 1.0), norm, "owner");
        for factor in [1.5, 300.0] {
            let coefficient = k(degree) * factor * 10.5_f64.sqrt();
            assert_is(release::coefficient_log2(n, factor), coefficient, "coefficient");
            assert_is(release::stored_norm_log2(n, factor), coefficient * degree.sqrt(), "device");
            let levels = 7;
            let sigma = 5.0 * ((4_f64.powi(levels) - 1.0) / 3.0).sqrt();
            assert_is(release::deviation_log2(7), sigma, "levels");
            let off = k(degree) * sigma + coefficient + 0.5;
            assert_is(release::stored_off_log2(7, n, factor), off, "off");
            assert_is(release::off_log2(7, 30.0, 4.0), k(30.0) * sigma + 16.0, "numbers");
            let slot = k(degree / 2.0) * sigma * (degree / 2.0).sqrt();
            assert_is(release::slot_off_log2(7, n), slot, "slot");
        }
    }
}

#[test]
fn roundings() {
    let n = 8192.0;
    let random = |variance: f64| 0.5 + k(2.0 * n) * variance.sqrt();
    assert_is(rounding_log2(8192, 0), 0.5, "one");
    assert_is(rounding_log2(8192, 1), 0.5, "one");
    assert_is(rounding_log2(8192, 2), random((1.0 + n) / 12.0), "two");
    let square = 2.0 * (2.0 * n * 4.0 / 9.0);
    assert_is(rounding_log2(8192, 3), random((1.0 + n + n * square) / 12.0), "three");
}

/// A phase in plain numbers: message and products as largest coefficient, norm, largest slot; deviations of coefficient and slot.
#[derive(Clone, Copy, Debug)]
struct Plain {
    message: [f64; 3],
    random: [f64; 2],
    products: [f64; 3],
}

/// [`NoiseModel`] in plain numbers.
struct Linear {
    n: f64,
    unit: f64,
    view: View,
}

impl Linear {
    fn bound(&self) -> bool {
        self.view == View::Bound
    }

    fn polynomial(&self, coefficient: f64) -> [f64; 3] {
        [coefficient, coefficient * self.n.sqrt(), coefficient * self.n]
    }

    fn message(&self, coefficient: f64) -> Plain {
        Plain { message: self.polynomial(coefficient), random: [0.0; 2], products: [0.0; 3] }
    }

    fn with_error(a: Plain, error: [f64; 2]) -> Plain {
        Plain { random: std::array::from_fn(|i| a.random[i].hypot(error[i])), ..a }
    }

    fn scaled(a: Plain, by: f64) -> Plain {
        Plain {
            message: a.message.map(|x| x * by),
            random: a.random.map(|x| x * by),
            products: a.products.map(|x| x * by),
        }
    }

    /// `g_0 + Σ g_i·s_i`: the norm of a ternary secret is at most `√N`, and `√(2N/3)` in the mean.
    fn times_secrets(&self, variance: f64, count: f64) -> [f64; 2] {
        let square = if self.bound() { self.n } else { self.n * 2.0 / 3.0 };
        let slot = k_slot(self.n).powi(2) * self.n * 2.0 / 3.0;
        [variance * (1.0 + count * square), variance * (1.0 + count * slot)].map(f64::sqrt)
    }

    fn rounding(&self) -> [f64; 2] {
        self.times_secrets(1.0 / 12.0, 1.0).map(|x| x * self.unit)
    }

    /// `Σ_d c_d·u·e_d/P` with `c_d` uniform below the product of its primes.
    fn digits(&self, chain: &ChainParams, level: Level) -> [f64; 2] {
        let mut products = vec![0.0_f64; chain.digit_count()];
        for &place in &chain.levels()[level.index()] {
            let product = &mut products[usize::from(place) / chain.digit_limbs()];
            *product = product.max(1.0) * chain.universe_log2()[usize::from(place)].exp2();
        }
        let squares: f64 = products.iter().map(|product| product * product).sum();
        let mean = squares * self.n * 10.5 / 12.0;
        let second = if self.bound() { 2.0 } else { 1.0 };
        let by = self.unit / chain.log_p().exp2();
        [(mean * second).sqrt() * by, mean.sqrt() * k_slot(self.n) * by]
    }

    fn norms(&self, random: [f64; 2]) -> [f64; 3] {
        let square =
            2.0 * 2_f64.ln() * self.n * random[0].powi(2) + 4.0 * 128.0 * 2_f64.ln() * random[1].powi(2);
        [k(self.n) * random[0], square.sqrt(), k_slot(self.n) * self.n.sqrt() * random[1]]
    }

    fn product(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        [a[1] * b[1], (a[2] * b[1]).min(a[1] * b[2]), a[2] * b[2]]
    }

    fn messages(&self, a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        if self.bound() { Self::product(a, b) } else { self.polynomial(a[1] * b[0]) }
    }

    fn random_times(&self, random: [f64; 2], fixed: [f64; 3]) -> [f64; 2] {
        if self.bound() {
            [(fixed[2] * random[0]).min(fixed[1] * random[1]), fixed[2] * random[1]]
        } else {
            random.map(|x| x * fixed[1])
        }
    }

    fn random_sum(a: [f64; 2], b: [f64; 2], operands: Operands) -> [f64; 2] {
        std::array::from_fn(|i| if operands == Operands::Dependent { a[i] + b[i] } else { a[i].hypot(b[i]) })
    }

    fn add(&self, a: Plain, b: Plain, operands: Operands) -> Plain {
        let message = if self.bound() {
            std::array::from_fn(|i| a.message[i] + b.message[i])
        } else {
            self.polynomial(a.message[0].hypot(b.message[0]))
        };
        let products = std::array::from_fn(|i| a.products[i] + b.products[i]);
        Plain { message, random: Self::random_sum(a.random, b.random, operands), products }
    }

    fn mul_clear(&self, a: Plain, clear: f64) -> Plain {
        let clear = self.polynomial(clear);
        Plain {
            message: self.messages(a.message, clear),
            random: self.random_times(a.random, clear),
            products: Self::product(a.products, clear),
        }
    }

    fn tensor(&self, a: Plain, b: Plain, own: f64, operands: Operands) -> Plain {
        let [left, right] = [self.random_times(b.random, a.message), self.random_times(a.random, b.message)];
        let random = Self::random_sum(left, right, operands);
        let message = self.messages(a.message, b.message);
        if !self.bound() {
            let common = if operands == Operands::Dependent { 2_f64.sqrt() } else { 1.0 };
            let both = a.random[0] * b.random[0] * self.n.sqrt() * common * own;
            return Self::with_error(Plain { message, random, products: [0.0; 3] }, [both, 0.0]);
        }
        let errors = |a: &Plain| -> [f64; 3] {
            let norms = self.norms(a.random);
            std::array::from_fn(|i| norms[i] + a.products[i])
        };
        let both = Self::product(errors(&a), errors(&b)).map(|x| x * own);
        let cross = [Self::product(a.message, b.products), Self::product(b.message, a.products)];
        let products = std::array::from_fn(|i| both[i] + cross[0][i] + cross[1][i]);
        Plain { message, random, products }
    }

    fn tensor_scaled(&self, a: Plain, b: Plain, t: f64, q: f64, operands: Operands) -> Plain {
        let quotient = self.times_secrets(1.0 / 12.0, 1.0);
        let quotient = if self.bound() { self.norms(quotient) } else { self.polynomial(quotient[0]) };
        let [a, b] = [a, b].map(|phase| Plain { message: quotient, ..phase });
        let product = Self::scaled(self.tensor(a, b, 1.0 / q, operands), t);
        let product = Plain { message: self.polynomial(q / 2.0), ..product };
        let second = if self.bound() { 2.0 } else { 1.0 };
        let square = 2.0 * self.n * (4.0 / 9.0) * second;
        let slot = k_slot(self.n).powi(2) * self.n * 2.0 / 3.0;
        let r_s_s = [(self.n * square / 12.0).sqrt(), slot / 12_f64.sqrt()];
        Self::with_error(Self::with_error(product, r_s_s), self.times_secrets(1.0 / 12.0, 1.0))
    }
}

fn assert_same(found: PhaseNoise, expected: Plain, view: View, what: &str) {
    assert_is(found.message.coefficient_log2, expected.message[0], what);
    assert_is(found.random.coefficient_log2, expected.random[0], what);
    if view == View::Bound {
        assert_is(found.message.euclidean_log2, expected.message[1], what);
        assert_is(found.message.slot_log2, expected.message[2], what);
        assert_is(found.random.slot_log2, expected.random[1], what);
        assert_is(found.products.coefficient_log2, expected.products[0], what);
        assert_is(found.products.euclidean_log2, expected.products[1], what);
        assert_is(found.products.slot_log2, expected.products[2], what);
    }
}

/// Random walks over all operations. The rings are small, so that every term counts.
#[test]
fn the_leveled_model_is_its_formulas() {
    let mut draw = Draw::new();
    let chain = ChainParams::insecure_toy(uniform_spec(1024, 30, 1, 3, 2, 2)).unwrap();
    let (n, level) = (1024, Level(2));
    let q = chain.log_q(level).unwrap();
    for view in [View::Bound, View::Expected] {
        for unit in [1_u64, 17] {
            let model = NoiseModel::new(n, unit, view);
            let plain = Linear { n: n as f64, unit: unit as f64, view };
            let secrets = plain.times_secrets(10.5, 2.0).map(|x| x * unit as f64);
            let start = |draw: &mut Draw| {
                let size = draw.below(8) as f64;
                let (m, p) = (model.message(size), plain.message(size.exp2()));
                let fresh = [10.5_f64.sqrt() * unit as f64; 2];
                match draw.below(3) {
                    0 => (model.fresh(m), Linear::with_error(p, fresh)),
                    1 => (model.fresh_public(m), Linear::with_error(p, secrets)),
                    _ => (
                        model.encoded(model.fresh(m)),
                        Linear::with_error(Linear::with_error(p, fresh), [12_f64.powf(-0.5); 2]),
                    ),
                }
            };
            for _ in 0..400 {
                let mut at = start(&mut draw);
                let mut walk = String::new();
                for _ in 0..4 {
                    let other = if draw.below(2) == 0 { start(&mut draw) } else { at };
                    let operands =
                        if draw.below(2) == 0 { Operands::Dependent } else { Operands::Independent };
                    let (name, found, expected) = match draw.below(8) {
                        0 => ("add", model.add(at.0, other.0, operands), plain.add(at.1, other.1, operands)),
                        1 => ("sum", model.sum(at.0, 3.0), Linear::scaled(at.1, 8.0)),
                        2 => ("clear", model.mul_clear(at.0, 2.0), plain.mul_clear(at.1, 4.0)),
                        3 => (
                            "tensor",
                            model.tensor(at.0, other.0, operands),
                            plain.tensor(at.1, other.1, 1.0, operands),
                        ),
                        4 => (
                            "scaled",
                            model.tensor_scaled(at.0, other.0, 4.0, q, operands),
                            plain.tensor_scaled(at.1, other.1, 16.0, q.exp2(), operands),
                        ),
                        5 => (
                            "mod_switch",
                            model.mod_switch(at.0, -20.0),
                            Linear::with_error(Linear::scaled(at.1, (-20_f64).exp2()), plain.rounding()),
                        ),
                        6 => {
                            let switch = Linear::with_error(at.1, plain.digits(&chain, level));
                            (
                                "switch",
                                model.key_switched(at.0, &chain, level),
                                Linear::with_error(switch, plain.rounding()),
                            )
                        }
                        _ => {
                            let ratio = (chain.log_q(Level(1)).unwrap() - q).exp2();
                            let both =
                                Linear::scaled(Linear::with_error(at.1, plain.digits(&chain, level)), ratio);
                            let found = model.relinearized_and_mod_switched(at.0, &chain, level).unwrap();
                            ("both", found, Linear::with_error(both, plain.rounding()))
                        }
                    };
                    walk = format!("{walk} {name}");
                    assert_same(found, expected, view, &format!("{draw} {view:?} {unit}{walk}"));
                    at = (found, expected);
                    if found.message.slot_log2.max(found.products.slot_log2) > 300.0 {
                        break;
                    }
                }
                if view == View::Bound {
                    let errors = plain.norms(at.1.random);
                    let coefficient = errors[0] + at.1.products[0];
                    assert_is(model.error_log2(at.0), coefficient, "error");
                    assert_is(model.phase_log2(at.0), at.1.message[0] + coefficient, "phase");
                    let slot = (errors[2] + at.1.products[2]) / 64.0;
                    assert_is(model.slot_error_log2(at.0, 6.0), slot, "slot");
                }
            }
        }
    }
}
