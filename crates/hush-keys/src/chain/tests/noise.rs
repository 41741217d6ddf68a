// SPDX-License-Identifier: Apache-2.0
//! Measured noise against the formulas of `hush_params::noise`, operation by operation.
//!
//! # Statistics
//! Every comparison is over 8192 coefficients: one secret at `N = 8192`, or 128 secrets of toys at `N = 64`. The sample
//! variance of a polynomial is a mean of `N/2` squared values of its embedding, which are exponentially distributed for a
//! random polynomial; hence its relative deviation is `√(2/8192)` = 1.6 % for an error, `√(6/8192)` = 2.7 % for a product of
//! two random polynomials, `√(14/8192)` = 4.1 % for one of three (BFV products: error, mask, secret). Measured over predicted
//! variance is accepted from 0.7 to 1.5: 7.3 deviations below and 12 above (where a single embedding of a threefold
//! product would have to carry the sum: `4096·e^(−3·∛2048)` = 2^-43), a false alarm in less than 2^40 runs of a comparison.
//! A coefficient beyond the bound has a chance below 2^-128.

use ethnum::I256;
use hush_params::noise::{NoiseModel, Norms, Operands, PhaseNoise, View};
use hush_schemes::RealScale;
use hush_schemes::ckks::Ckks;

use super::*;

/// Measured and predicted: squares summed over everything seen, and the largest error.
struct Measured {
    name: &'static str,
    squares: f64,
    count: f64,
    largest: f64,
}

impl Measured {
    fn new(name: &'static str) -> Self {
        Self { name, squares: 0.0, count: 0.0, largest: 0.0 }
    }

    fn absorb(&mut self, errors: &[f64]) {
        self.squares += errors.iter().map(|e| e * e).sum::<f64>();
        self.count += errors.len() as f64;
        self.largest = errors.iter().fold(self.largest, |largest, e| largest.max(e.abs()));
    }

    fn compare(&self, expected_variance_log2: f64, bound_log2: f64) {
        let ratio = self.squares / self.count / expected_variance_log2.exp2();
        assert!(ACCEPTED.contains(&ratio), "{}: variance off by {ratio:.3}", self.name);
        let largest_log2 = self.largest.log2();
        assert!(largest_log2 <= bound_log2, "{}: 2^{largest_log2:.1} above 2^{bound_log2:.1}", self.name);
    }
}

/// The coefficients, nearest to zero.
fn integers(poly: &Poly<Coeff>) -> Vec<f64> {
    let (ring, degree) = (poly.ring(), poly.ring().degree());
    let lift = |index: usize| -> I256 {
        let residues: Vec<u64> =
            (0..ring.limb_count()).map(|limb| poly.words()[limb * degree + index]).collect();
        ring.crt().lift_centered(&residues)
    };
    (0..degree).map(|index| lift(index).as_f64()).collect()
}

/// One secret, its keys, and messages with coefficients uniform in a range.
struct Bench {
    secret: ChainSecret,
    keys: EvaluationKeys,
    draw: Draw,
    range: i64,
}

impl Bench {
    fn new(params: &ChainParams, unit: u64, range: i64) -> Self {
        let chain = Chain::new(params, unit, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(&chain).unwrap();
        let keys = secret.evaluation_keys(true, &[5]).unwrap();
        Self { secret, keys, draw: Draw::new(), range }
    }

    fn chain(&self) -> &Chain {
        self.secret.chain()
    }

    /// log2 of the largest coefficient of a message, or of the root of the mean square.
    fn message_log2(&self, view: View) -> f64 {
        match view {
            View::Bound => (self.range as f64).log2(),
            View::Expected => ((2 * self.range + 1) as f64).log2() - 12_f64.log2() / 2.0,
        }
    }

    fn message(&mut self) -> Poly<Coeff> {
        let ring = self.chain().ring(self.chain().top()).unwrap().clone();
        let width = 2 * self.range as u64 + 1;
        let mut coefficient = || i128::from((self.draw.word() % width) as i64 - self.range);
        let coefficients: Vec<i128> = (0..ring.degree()).map(|_| coefficient()).collect();
        Poly::from_signed(&ring, &coefficients).unwrap()
    }

    fn encrypt(&mut self) -> (Poly<Eval>, RlweCiphertext) {
        let message = self.message();
        let fresh = self.secret.encrypt(message.clone()).unwrap().expand().unwrap();
        (message.into_eval(), fresh)
    }

    fn error(&self, ciphertext: &RlweCiphertext, message: &Poly<Eval>) -> Vec<f64> {
        let mut phase = self.secret.phase(ciphertext).unwrap().poly().clone();
        phase.sub_assign(&message.clone().into_coeff()).unwrap();
        integers(&phase)
    }
}

/// What [`measure`] compares, in order.
fn predicted(params: &ChainParams, unit: u64, message_log2: f64, view: View) -> Vec<PhaseNoise> {
    let (model, top) = (NoiseModel::new(params.degree(), unit, view), params.top());
    let below = top.below().unwrap();
    let ratio = params.log_q(below).unwrap() - params.log_q(top).unwrap();
    let none = model.message(message_log2);
    let fresh = model.fresh(none);
    let product = model.tensor(fresh, fresh, Operands::Independent);
    let square = model.tensor(fresh, fresh, Operands::Dependent);
    let switched = model.key_switched(none, params, top);
    let merged = model.relinearized_and_mod_switched(product, params, top).unwrap();
    vec![
        fresh,
        model.fresh_public(none),
        model.add(fresh, fresh, Operands::Independent),
        model.mul_clear(fresh, message_log2),
        product,
        square,
        switched,
        model.key_switched(fresh, params, top),
        model.mod_switch(fresh, ratio),
        merged,
    ]
}

/// `repetitions` secrets, and every operation once under each.
fn measure(params: &ChainParams, unit: u64, range: i64, repetitions: usize) {
    let names = [
        "fresh",
        "public key",
        "sum",
        "clear product",
        "tensor",
        "square",
        "key switch",
        "rotation",
        "modulus switch",
        "merged modulus switch",
    ];
    let mut measured = names.map(Measured::new);
    let mut messages_log2 = [0.0; 2];
    for _ in 0..repetitions {
        let mut bench = Bench::new(params, unit, range);
        messages_log2 = [View::Expected, View::Bound].map(|view| bench.message_log2(view));
        let ((x, a), (y, b)) = (bench.encrypt(), bench.encrypt());
        let clear = bench.message().into_eval();
        let public = bench.secret.public_key().unwrap();
        let z = bench.message();
        let chain = bench.chain().clone();
        let tau = chain.automorphism(5).unwrap();
        let by_public = encrypt_public(&public, z.clone()).unwrap();
        let (mut sum, mut sum_message) = (a.clone(), x.clone());
        sum.add_assign(&b).unwrap();
        sum_message.add_assign(&y).unwrap();
        let mut scaled = a.clone();
        scaled.mul_clear_assign(&clear).unwrap();
        let product = a.mul(&b).unwrap();
        let relinearized = product.relinearize(&bench.keys).unwrap();
        let before = bench.secret.phase(&product).unwrap().poly().clone().into_eval();
        let rotated = a.automorphism(&bench.keys, 5).unwrap();
        let times = |x: &Poly<Eval>, y: &Poly<Eval>| Poly::product(x, y).unwrap();
        let errors = [
            bench.error(&a, &x),
            bench.error(&by_public, &z.into_eval()),
            bench.error(&sum, &sum_message),
            bench.error(&scaled, &times(&x, &clear)),
            bench.error(&product, &times(&x, &y)),
            bench.error(&a.mul(&a).unwrap(), &times(&x, &x)),
            bench.error(&relinearized, &before),
            bench.error(&rotated, &tau.apply(&x).unwrap()),
            divided(&bench, &a.mod_switch(&chain).unwrap(), &x),
            divided(&bench, &product.relinearize_and_mod_switch(&bench.keys).unwrap(), &times(&x, &y)),
        ];
        measured.iter_mut().zip(&errors).for_each(|(measured, errors)| measured.absorb(errors));
    }
    let expected = predicted(params, unit, messages_log2[0], View::Expected);
    let bound = predicted(params, unit, messages_log2[1], View::Bound);
    let model = NoiseModel::new(params.degree(), unit, View::Bound);
    for (measured, (expected, bound)) in measured.iter().zip(expected.iter().zip(bound)) {
        measured.compare(2.0 * expected.random.coefficient_log2, model.error_log2(bound));
    }
}

/// Error of a ciphertext one level down against the message times the ratio of the moduli.
fn divided(bench: &Bench, ciphertext: &RlweCiphertext, message: &Poly<Eval>) -> Vec<f64> {
    let chain = bench.chain();
    let ratio = chain.level(chain.top()).unwrap().mod_switch().unwrap().ratio();
    let phase = integers(bench.secret.phase(ciphertext).unwrap().poly());
    let message = integers(&message.clone().into_coeff());
    phase.iter().zip(&message).map(|(phase, message)| phase - message * ratio).collect()
}

#[test]
fn approximate_and_bgv_noise_is_as_predicted_on_toys() {
    for digit_limbs in [1, 2, 5] {
        let params = toy(64, digit_limbs);
        measure(&params, 1, 1 << 20, 128);
        measure(&params, T, T as i64 / 2, 128);
    }
}

#[test]
fn noise_at_a_real_size_is_as_predicted() {
    let params = ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap();
    measure(&params, 1, 1 << 20, 1);
    measure(&params, T, T as i64 / 2, 1);
}

/// `t·phase` is `Q·m + t·e` for the exact phase `Q·m/t + e`: the error needs no message.
fn scaled_errors(secret: &ChainSecret, ciphertext: &RlweCiphertext) -> Vec<f64> {
    let mut phase = secret.phase(ciphertext).unwrap().poly().clone();
    phase.mul_scalar_assign(T.into());
    integers(&phase).iter().map(|error| error / T as f64).collect()
}

fn measure_bfv(params: &ChainParams, repetitions: usize) {
    let scheme = Bfv::new(params, T, Cpu::detect().unwrap()).unwrap();
    let (top, t_log2) = (params.top(), (T as f64).log2());
    let log_q = params.log_q(top).unwrap();
    let predicted = |view| {
        let model = NoiseModel::new(params.degree(), 1, view);
        let fresh = model.encoded(model.fresh(model.message(log_q - 1.0)));
        let product = model.tensor_scaled(fresh, fresh, t_log2, log_q, Operands::Independent);
        let square = model.tensor_scaled(fresh, fresh, t_log2, log_q, Operands::Dependent);
        let relinearized = model.key_switched(product, params, top);
        let below = top.below().unwrap();
        let lower = model.mod_switch(relinearized, params.log_q(below).unwrap() - log_q);
        [fresh, product, square, relinearized, lower]
            .map(|a| (2.0 * a.random.coefficient_log2, model.error_log2(a)))
    };
    let names = ["BFV fresh", "BFV tensor", "BFV square", "BFV relinearised", "BFV modulus switch"];
    let mut measured = names.map(Measured::new);
    for _ in 0..repetitions {
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let keys = secret.evaluation_keys(true, &[]).unwrap();
        let mut draw = Draw::new();
        let mut encrypt = || {
            let message = scheme.encode(&draw.values(params.degree()), top).unwrap();
            secret.encrypt(message).unwrap().expand().unwrap()
        };
        let (a, b) = (encrypt(), encrypt());
        let product = scheme.mul(&a, &b).unwrap();
        let relinearized = product.relinearize(&keys).unwrap();
        let lower = relinearized.mod_switch(scheme.chain()).unwrap();
        let seen = [a.clone(), product, scheme.mul(&a, &a).unwrap(), relinearized, lower];
        for (measured, ciphertext) in measured.iter_mut().zip(&seen) {
            measured.absorb(&scaled_errors(&secret, ciphertext));
        }
    }
    let pairs = predicted(View::Expected).into_iter().zip(predicted(View::Bound));
    for (measured, ((variance, _), (_, bound))) in measured.iter().zip(pairs) {
        measured.compare(variance, bound);
    }
}

#[test]
fn bfv_noise_is_as_predicted() {
    measure_bfv(&toy(64, 2), 128);
    measure_bfv(&ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap(), 1);
}

/// What decoding makes of an encoding, and of a fresh ciphertext, slot by slot.
#[test]
fn slot_errors_are_as_predicted() {
    let params = ChainParams::uniform(8192, 46, 1, 3, 1, 1).unwrap();
    let (scale_log2, degree) = (45.99, params.degree() as f64);
    let scheme = Ckks::new(&params, scale_log2, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let (top, mut draw) = (params.top(), Draw::new());
    let values = draw.complex(4096);
    // Coarse, so that the rounding of `f64` does not show.
    let coarse = RealScale::new(2_f64.powi(20));
    let encoding = scheme.encode_at(&values, top, coarse).unwrap();
    let fresh = secret.encrypt(scheme.encode(&values, top).unwrap()).unwrap().expand().unwrap();
    let phase = secret.phase(&fresh).unwrap();
    let scale = scheme.scale(top).unwrap();
    let errors = |poly: &Poly<Coeff>, scale: RealScale| -> Vec<f64> {
        let decoded = scheme.decode(poly, scale).unwrap();
        let error = |(found, expected): (&Complex, &Complex)| {
            (found.re - expected.re).hypot(found.im - expected.im) * scale.value()
        };
        decoded.iter().zip(&values).map(error).collect()
    };
    let predicted = |view| {
        let model = NoiseModel::new(params.degree(), 1, view);
        let none = PhaseNoise::clear(Norms::ZERO);
        [model.encoded(none), model.encoded(model.fresh(none))].map(|noise| {
            (2.0 * noise.random.coefficient_log2 + degree.log2(), model.slot_error_log2(noise, 0.0))
        })
    };
    let pairs = predicted(View::Expected).into_iter().zip(predicted(View::Bound));
    let seen = [("encoding", errors(&encoding, coarse)), ("fresh slots", errors(phase.poly(), scale))];
    for ((name, errors), ((variance, _), (_, bound))) in seen.iter().zip(pairs) {
        let mut measured = Measured::new(name);
        measured.absorb(errors);
        measured.compare(variance, bound);
    }
}

/// Four products one after the other, with the division after each: the model follows the whole way.
#[test]
fn noise_after_a_deep_circuit_is_within_the_bound() {
    let params = toy(64, 2);
    let model = NoiseModel::new(64, T, View::Bound);
    for _ in 0..16 {
        let party = Party::new(&params, &[]);
        let mut a = party.encrypt(&Draw::new().values(64), params.top());
        let mut noise = model.fresh(model.message((T as f64).log2() - 1.0));
        while a.level() > Level(0) {
            let product = model.tensor(noise, noise, Operands::Dependent);
            noise = model.relinearized_and_mod_switched(product, &params, a.level()).unwrap();
            a = party.scheme.mul_mod_switch(&a, &a, &party.keys).unwrap();
            let phase = integers(party.secret.phase(a.inner()).unwrap().poly());
            let largest = phase.iter().fold(0_f64, |largest, x| largest.max(x.abs())).log2();
            let bound = model.phase_log2(noise);
            assert!(largest <= bound && bound < largest + 8.0, "2^{largest:.1} of 2^{bound:.1}");
        }
    }
}

/// Accepted ratios of variances; see the module.
const ACCEPTED: std::ops::Range<f64> = 0.7..1.5;
