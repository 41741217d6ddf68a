// SPDX-License-Identifier: Apache-2.0
//! Predicted against measured noise, circuit by circuit.
//!
//! No error may exceed its bound, and no bound may be more than a stated number of bits above the largest measured error. The slack
//! has three sources: 2.5 bits between the largest of some thousand errors and a tail of 2^-128; half a bit to a bit and a half
//! wherever different operands are taken to be equal; and the distance between the largest slope and the slope at the slots.

use hush_params::{ChainParams, Level};
use hush_schemes::bgv::{Bfv, Bgv};
use hush_schemes::ckks::{Ckks, CkksCiphertext, Complex};

use super::*;
use crate::approximate::{Inverse, InverseSquareRoot, Sign, SquareRoot};
use crate::linear::{Diagonals, LinearTransform, Split};
use crate::polynomial::{IntegerPolynomial, RealPolynomial};
use crate::sums::{
    Window, mask, mask_noise, sum_all, sum_all_elements, sum_all_noise, sum_blocks, sum_blocks_elements,
    sum_blocks_noise,
};
use crate::testing::*;

/// Bits that a slot's bound is above that of a normal variable: most errors are products of two random polynomials, one of them
/// the secret or a digit, and the same slot may be large in both.
const SLOTS: f64 = 3.0;

/// The largest error of some runs.
struct Measured {
    name: &'static str,
    worst_log2: f64,
}

impl Measured {
    fn new(name: &'static str) -> Self {
        Self { name, worst_log2: f64::NEG_INFINITY }
    }
    fn absorb(&mut self, error_log2: f64) {
        self.worst_log2 = self.worst_log2.max(error_log2);
    }
    #[expect(clippy::print_stderr, reason = "docs/math/circuits.md shows these figures")]
    fn compare(&self, bound_log2: f64, slack: f64) {
        let (name, worst) = (self.name, self.worst_log2);
        eprintln!("{name}: {:.1} bits below the bound", bound_log2 - worst);
        assert!(worst <= bound_log2, "{name}: 2^{worst:.1}, predicted 2^{bound_log2:.1}");
        assert!(bound_log2 - worst <= slack, "{name}: 2^{worst:.1} of 2^{bound_log2:.1}, slack {slack}");
    }
}

fn slot_error_log2(owner: &Owner<Ckks>, found: &CkksCiphertext, expected: &[Complex]) -> f64 {
    let error = |(&a, &b): (&Complex, &Complex)| (a - b).re.hypot((a - b).im);
    owner.decrypt(found).iter().zip(expected).map(error).fold(0.0, f64::max).log2()
}

fn complex(values: impl IntoIterator<Item = f64>) -> Vec<Complex> {
    values.into_iter().map(|re| Complex { re, im: 0.0 }).collect()
}

/// Sums, masks and transforms of slots up to 1, on a chain with two levels.
fn linear_circuits_of_slots(params: &ChainParams, runs: usize) {
    let top = params.top();
    let scale_log2 = params.steady_scale_log2();
    let names = ["window", "all slots", "blocks", "mask", "transform"];
    let mut measured = names.map(Measured::new);
    let mut bounds = [0.0; 5];
    for _ in 0..runs {
        let (mut draw, mut owner) = (Draw::new(), ckks(params, scale_log2));
        let n = owner.scheme.slot_count();
        let window = Window::new(7, 3, n).unwrap();
        let diagonals: Vec<(i64, Vec<Complex>)> =
            [0, 1, 2, 3, 5, 9].map(|offset| (offset, complex(draw.reals(n, -1.0, 1.0)))).to_vec();
        let diagonals_of = Diagonals::new(n, diagonals.clone()).unwrap();
        let split = Split::by(4, &diagonals_of.offsets());
        let elements = [
            window.galois_elements(2 * n),
            sum_all_elements(&owner.scheme),
            sum_blocks_elements(&owner.scheme, 3).unwrap(),
            split.galois_elements(2 * n),
        ];
        owner.rekey(&elements.concat());
        let (scheme, keys) = (&owner.scheme, &owner.keys);
        let x = draw.complex(n);
        let a = owner.encrypt(&x, top);
        let keep: Vec<bool> = (0..n).map(|slot| slot % 3 == 0).collect();
        let transform = LinearTransform::with_split(scheme, &diagonals_of, top, split.clone()).unwrap();
        let found = [
            window.sum(scheme, &a, keys).unwrap(),
            sum_all(scheme, &a, keys).unwrap(),
            sum_blocks(scheme, &a, 3, keys).unwrap(),
            mask(scheme, &a, &keep).unwrap(),
            transform.apply(scheme, &a, keys).unwrap(),
        ];
        let zero = Complex { re: 0.0, im: 0.0 };
        let sum = |slots: &mut dyn Iterator<Item = usize>| slots.fold(zero, |sum, slot| sum + x[slot % n]);
        let slots = 0..n;
        let product = |slot: usize| {
            let terms = diagonals.iter().map(|(offset, d)| d[slot] * x[(slot + *offset as usize) % n]);
            terms.fold(zero, |sum, term| sum + term)
        };
        let expected: [Vec<Complex>; 5] = [
            slots.clone().map(|slot| sum(&mut (0..7).map(|j| slot + 3 * j))).collect(),
            slots.clone().map(|_| sum(&mut (0..n))).collect(),
            slots.clone().map(|slot| sum(&mut (slot / 8 * 8..slot / 8 * 8 + 8))).collect(),
            slots.clone().map(|slot| if keep[slot] { x[slot] } else { zero }).collect(),
            slots.map(product).collect(),
        ];
        for ((measured, found), expected) in measured.iter_mut().zip(&found).zip(&expected) {
            measured.absorb(slot_error_log2(&owner, found, expected));
        }
        let model = CkksNoise::new(scheme);
        // Both parts of a slot are up to 1.
        let fresh = model.fresh(top, 0.5).unwrap();
        let predicted = [
            window.noise(&model, fresh),
            sum_all_noise(&model, 1, fresh),
            sum_blocks_noise(&model, 3, fresh).unwrap(),
            mask_noise(&model, fresh).unwrap(),
            diagonals_of.noise(&split, &model, fresh).unwrap(),
        ];
        for (found, predicted) in found.iter().zip(&predicted) {
            assert_eq!(found.level(), predicted.level());
        }
        bounds = predicted.map(|noise| model.error_log2(&noise));
    }
    // Errors of different slots are taken to be equal, though their sum over a row grows only as its root.
    let row_log2 = (params.degree() as f64).log2() / 2.0;
    let slacks = [6.0, 5.0 + row_log2, 9.0, 5.0, 7.0];
    for ((measured, bound), slack) in measured.iter().zip(bounds).zip(slacks) {
        measured.compare(bound, slack + SLOTS);
    }
}

#[test]
fn linear_circuits_of_slots_are_within_their_bounds() {
    linear_circuits_of_slots(&toy(64, 2, 2), 24);
    linear_circuits_of_slots(&ChainParams::uniform(8192, 46, 2, 3, 1, 1).unwrap(), 1);
}

type Evaluation<'a> = Box<dyn Fn(&Owner<Ckks>, &CkksCiphertext) -> CkksCiphertext + 'a>;
type Prediction<'a> = Box<dyn Fn(&CkksNoise<'_>, SlotNoise) -> SlotNoise + 'a>;

/// One function of real slots: the plan's value, its evaluation and its prediction.
struct Case<'a> {
    name: &'static str,
    slack: f64,
    range: (f64, f64),
    depth: u32,
    value: Box<dyn Fn(f64) -> f64 + 'a>,
    evaluate: Evaluation<'a>,
    noise: Prediction<'a>,
}

fn polynomial_case<'a>(name: &'static str, p: &'a RealPolynomial, range: (f64, f64), slack: f64) -> Case<'a> {
    Case {
        name,
        slack,
        range,
        depth: p.depth(),
        value: Box::new(|x| p.value(x)),
        evaluate: Box::new(|owner, a| p.evaluate(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| p.noise(model, a).unwrap()),
    }
}

fn functions_of_slots(params: &ChainParams, cases: &[Case<'_>], runs: usize) {
    let scale_log2 = params.steady_scale_log2();
    for case in cases {
        let (mut measured, mut bound) = (Measured::new(case.name), 0.0);
        let level = Level(case.depth as u8);
        for _ in 0..runs {
            let (mut draw, owner) = (Draw::new(), ckks(params, scale_log2));
            let (low, high) = case.range;
            let mut x = draw.reals(owner.scheme.slot_count(), low, high);
            // The ends, where slopes are largest, and the middle.
            x[..3].copy_from_slice(&[low, high, f64::midpoint(low, high)]);
            let found = (case.evaluate)(&owner, &owner.encrypt_real(&x, level));
            let expected = complex(x.iter().map(|&x| (case.value)(x)));
            measured.absorb(slot_error_log2(&owner, &found, &expected));
            let model = CkksNoise::new(&owner.scheme);
            let fresh = model.fresh(level, low.abs().max(high.abs()).log2()).unwrap();
            let predicted = (case.noise)(&model, fresh);
            assert_eq!(predicted.level(), found.level(), "{}", case.name);
            bound = model.error_log2(&predicted);
        }
        measured.compare(bound, case.slack + SLOTS);
    }
}

/// Polynomials, inverses, roots and signs, to be checked on chains that hold nine levels.
fn with_functions(check: impl Fn(&[Case<'_>])) {
    let coefficients = [0.3, -0.8, 0.5, 0.25, -0.4, 0.6, 0.1, -0.2];
    let power = RealPolynomial::power(&coefficients).unwrap();
    let sigmoid = RealPolynomial::interpolation(|x| 1.0 / (1.0 + (-x).exp()), 15, -4.0, 4.0).unwrap();
    let wide = RealPolynomial::interpolation(f64::sin, 31, -8.0, 8.0).unwrap();
    let inverse = Inverse::new(0.5, 1.5, 20).unwrap();
    let steps = InverseSquareRoot::from_start(3, 2, 0.2, 1.0).unwrap();
    let root = SquareRoot::new(0.5, 1.5, 20).unwrap();
    let sign = Sign::new(4, 8).unwrap();
    // In exact arithmetic these results are as good as stated; the rest of the error is noise.
    let iterated = |x: f64| {
        let product =
            |y: f64| (0..4).fold((y, 1.0 + y), |(p, product), _| (p * p, product * (1.0 + p * p))).1;
        product(1.0 - x)
    };
    let newton = |plan: &InverseSquareRoot, start: &RealPolynomial, x: f64| {
        (0..plan.iterations()).fold(start.value(x), |y, _| y * (3.0 - x * y * y) / 2.0)
    };
    let start_of = |plan: &InverseSquareRoot, low, high| {
        RealPolynomial::interpolation(|x| 1.0 / x.sqrt(), plan.start_degree(), low, high).unwrap()
    };
    let inverse_of_root = InverseSquareRoot::new(0.5, 1.5, 20).unwrap();
    let starts = [start_of(&steps, 0.2, 1.0), start_of(&inverse_of_root, 0.5, 1.5)];
    let mut cases = vec![
        polynomial_case("powers", &power, (-1.0, 1.0), 8.0),
        polynomial_case("sigmoid", &sigmoid, (-4.0, 4.0), 7.0),
        polynomial_case("sine on a wide interval", &wide, (-8.0, 8.0), 8.0),
    ];
    cases.push(Case {
        name: "inverse",
        slack: 6.0,
        range: (0.5, 1.5),
        depth: inverse.depth(),
        value: Box::new(iterated),
        evaluate: Box::new(|owner, a| inverse.evaluate(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| inverse.noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "inverse square root by Newton",
        slack: 12.0,
        range: (0.2, 1.0),
        depth: steps.depth(),
        value: Box::new(|x| newton(&steps, &starts[0], x)),
        evaluate: Box::new(|owner, a| steps.evaluate(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| steps.noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "square root",
        slack: 8.0,
        range: (0.5, 1.5),
        depth: root.depth(),
        value: Box::new(|x| x * newton(&inverse_of_root, &starts[1], x)),
        evaluate: Box::new(|owner, a| root.evaluate(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| root.noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "sign",
        slack: 9.0,
        range: (-1.0, 1.0),
        depth: sign.depth(),
        value: Box::new(|x| sign.value(x)),
        evaluate: Box::new(|owner, a| sign.evaluate(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| sign.noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "absolute value",
        slack: 11.0,
        range: (-1.0, 1.0),
        depth: sign.depth() + 1,
        value: Box::new(|x| x * sign.value(x)),
        evaluate: Box::new(|owner, a| sign.abs(&owner.scheme, a, &owner.keys).unwrap()),
        noise: Box::new(|model, a| sign.abs_noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "maximum of a slot and its opposite",
        slack: 11.0,
        range: (-0.5, 0.5),
        depth: sign.depth() + 1,
        value: Box::new(|x| f64::midpoint(x, -x) + x * sign.value(2.0 * x)),
        evaluate: Box::new(|owner, a| {
            sign.maximum(&owner.scheme, a, &owner.scheme.neg(a), &owner.keys).unwrap()
        }),
        noise: Box::new(|model, a| sign.maximum_noise(model, a).unwrap()),
    });
    cases.push(Case {
        name: "comparison",
        slack: 8.0,
        range: (-0.5, 0.5),
        depth: sign.depth(),
        value: Box::new(|x| 0.5 + 0.5 * sign.value(2.0 * x)),
        evaluate: Box::new(|owner, a| {
            sign.compare(&owner.scheme, a, &owner.scheme.neg(a), &owner.keys).unwrap()
        }),
        noise: Box::new(|model, a| sign.compare_noise(model, a).unwrap()),
    });
    check(&cases);
}

#[test]
fn functions_of_slots_are_within_their_bounds() {
    with_functions(|cases| functions_of_slots(&toy(64, 9, 3), cases, 8));
    let cubic = RealPolynomial::chebyshev(&[0.1, 0.7, -0.3, 0.2], -1.0, 1.0).unwrap();
    let real = ChainParams::uniform(8192, 46, 2, 3, 1, 1).unwrap();
    let linear = RealPolynomial::chebyshev(&[0.1, 0.7], -1.0, 1.0).unwrap();
    functions_of_slots(&real, &[polynomial_case("a line at a real size", &linear, (-1.0, 1.0), 6.0)], 1);
    let real = ChainParams::uniform(16384, 46, 2, 5, 2, 2).unwrap();
    functions_of_slots(&real, &[polynomial_case("a cubic at a real size", &cubic, (-1.0, 1.0), 8.0)], 1);
}

/// The same functions where a person would evaluate them: 16384 slots at 128-bit security.
#[test]
fn functions_of_slots_are_within_their_bounds_at_a_real_size() {
    let params = ChainParams::uniform(32768, 46, 2, 11, 3, 3).unwrap();
    with_functions(|cases| functions_of_slots(&params, cases, 1));
}

/// log2 of the largest coefficient of a phase.
fn phase_log2(secret: &hush_keys::ChainSecret, a: &hush_rlwe::RlweCiphertext) -> f64 {
    let phase = secret.phase(a).unwrap();
    largest_log2(phase.poly())
}

fn largest_log2(poly: &hush_ring::Poly<hush_ring::Coeff>) -> f64 {
    let (ring, degree) = (poly.ring(), poly.ring().degree());
    let coefficient = |index: usize| {
        let residues: Vec<u64> =
            (0..ring.limb_count()).map(|limb| poly.words()[limb * degree + index]).collect();
        ring.crt().lift_centered(&residues).as_f64().abs()
    };
    (0..degree).map(coefficient).fold(0.0, f64::max).log2()
}

#[test]
fn integer_circuits_are_within_their_bounds() {
    for (params, runs) in [(toy(64, 4, 2), 8), (ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap(), 1)] {
        let (top, degree) = (params.top(), params.degree());
        let names = ["fresh", "window", "all slots", "mask", "transform", "polynomial"];
        let mut measured = names.map(Measured::new);
        let mut bounds = [0.0; 6];
        for _ in 0..runs {
            let mut draw = Draw::new();
            let mut owner: Owner<Bgv> = bgv(&params);
            let window = Window::new(5, 2, degree / 2).unwrap();
            let offsets = [0, 1, 2, 5, 9];
            let diagonals = offsets.map(|offset| (offset, draw.integers(degree / 2)));
            let diagonals = Diagonals::new(degree / 2, diagonals).unwrap();
            let split = Split::by(4, &diagonals.offsets());
            let elements = [
                window.galois_elements(degree),
                sum_all_elements(&owner.scheme),
                split.galois_elements(degree),
            ];
            owner.rekey(&elements.concat());
            let (scheme, keys) = (&owner.scheme, &owner.keys);
            let a = owner.encrypt(&draw.integers(degree), top);
            let keep: Vec<bool> = (0..degree).map(|_| draw.below(2) == 0).collect();
            let transform = LinearTransform::with_split(scheme, &diagonals, top, split.clone()).unwrap();
            let coefficients = draw.integers(4);
            let polynomial = IntegerPolynomial::new(scheme.encoder(), &coefficients).unwrap();
            let found = [
                a.clone(),
                window.sum(scheme, &a, keys).unwrap(),
                sum_all(scheme, &a, keys).unwrap(),
                mask(scheme, &a, &keep).unwrap(),
                transform.apply(scheme, &a, keys).unwrap(),
                polynomial.evaluate(scheme, &a, keys).unwrap(),
            ];
            let model = BgvNoise::new(&params, T);
            let fresh = model.fresh(top);
            let predicted = [
                fresh,
                window.noise(&model, fresh),
                sum_all_noise(&model, 2, fresh),
                mask_noise(&model, fresh).unwrap(),
                diagonals.noise(&split, &model, fresh).unwrap(),
                polynomial.noise(&model, fresh).unwrap(),
            ];
            for ((measured, found), predicted) in measured.iter_mut().zip(&found).zip(&predicted) {
                assert_eq!(found.level(), predicted.level());
                assert!(model.decrypts(predicted), "{}", measured.name);
                measured.absorb(phase_log2(&owner.secret, found.inner()));
            }
            bounds = predicted.map(|noise| model.phase_log2(&noise));
        }
        let slack = 8.0;
        measured.iter().zip(bounds).for_each(|(measured, bound)| measured.compare(bound, slack));
    }
}

#[test]
fn integer_polynomials_in_bfv_are_within_their_bounds() {
    let params = toy(64, 6, 2);
    let (mut measured, mut bound) = (Measured::new("BFV polynomial"), 0.0);
    for _ in 0..8 {
        let mut draw = Draw::new();
        let owner: Owner<Bfv> = bfv(&params);
        let coefficients = draw.integers(8);
        let polynomial = IntegerPolynomial::new(owner.scheme.encoder(), &coefficients).unwrap();
        let a = owner.encrypt(&draw.integers(64), params.top());
        let found = polynomial.evaluate_invariant(&owner.scheme, &a, &owner.keys).unwrap();
        // t·phase is Q·m + t·e. Its residue is −[Q·m]_t + t·e: the error to within 1/2.
        let mut scaled = owner.secret.phase(&found).unwrap().poly().clone();
        scaled.mul_scalar_assign(T.into());
        measured.absorb(largest_log2(&scaled) - (T as f64).log2());
        let model = BfvNoise::new(&params, T);
        let predicted = polynomial.noise_invariant(&model, model.fresh()).unwrap();
        assert!(model.decrypts(&predicted));
        bound = model.error_log2(&predicted);
    }
    // Three products, each by a quotient with a largest slot of 2^5 deviations, and norms in place of squares.
    measured.compare(bound, 24.0);
}
