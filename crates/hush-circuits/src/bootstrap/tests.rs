// SPDX-License-Identifier: Apache-2.0
//! Each phase against what it should be over the integers, and all of them together.

use ethnum::I256;
use hush_params::bootstrap::{N15, N16};
use hush_rlwe::RlweError;
use hush_schemes::SchemeError;

use super::*;
use crate::noise::CkksNoise;
use crate::polynomial::Arithmetic;
use crate::testing::*;

/// A ring that is far too small, with the levels of a set or fewer.
fn toy_shape(like: &BootstrapShape, degree: u32) -> BootstrapShape {
    BootstrapShape { degree, program: 2, to_coefficients: 2, to_slots: 2, ..*like }
}

/// The same where each message stands `2^repeats_log2` times.
fn few_shape(like: &BootstrapShape, degree: u32, repeats_log2: u32) -> BootstrapShape {
    BootstrapShape { repeats_log2, ..toy_shape(like, degree) }
}

/// A message in every slot there is.
fn repeated(x: &[Complex], scheme: &Ckks) -> Vec<Complex> {
    x.iter().copied().cycle().take(scheme.slot_count()).collect()
}

struct Party {
    owner: Owner<Ckks>,
    bootstrapping: Bootstrapping,
    keys: BootstrapKeys,
}

fn party(shape: &BootstrapShape) -> Party {
    let cpu = Cpu::detect().unwrap();
    let chain = ChainParams::insecure_toy(shape.chain_spec().unwrap()).unwrap();
    let scheme = Bootstrapping::scheme(shape, &chain, cpu).unwrap();
    let bootstrapping = Bootstrapping::new(&scheme, shape).unwrap();
    let owner = Owner::of(scheme, &[]);
    let evaluation = owner.secret.evaluation_keys_up_to(&bootstrapping.key_levels()).unwrap();
    let encapsulation = owner.secret.encapsulation_keys().unwrap();
    let keys = BootstrapKeys { evaluation, encapsulation };
    Party { owner, bootstrapping, keys }
}

fn real(values: &[f64]) -> Vec<Complex> {
    values.iter().map(|&re| Complex { re, im: 0.0 }).collect()
}

/// log2 of the largest error.
fn worst(found: &[Complex], expected: &[Complex]) -> f64 {
    let errors = found.iter().zip(expected).map(|(&a, &b)| (a - b).re.hypot((a - b).im));
    errors.fold(0.0, f64::max).log2()
}

/// Random slots, and those that a sine instead of the identity, or an order of phases that mixes slots, is worst for.
fn messages(draw: &mut Draw, slots: usize) -> Vec<Vec<Complex>> {
    let extreme = |sign: f64| Complex { re: sign, im: -sign };
    vec![
        draw.complex(slots),
        vec![extreme(1.0); slots],
        (0..slots).map(|slot| extreme(if slot % 2 == 0 { 1.0 } else { -1.0 })).collect(),
        (0..slots).map(|slot| if slot == 5 { extreme(1.0) } else { Complex::default() }).collect(),
        vec![Complex::default(); slots],
    ]
}

#[test]
fn every_message_comes_back_within_the_bound() {
    for (set, degree, repeats_log2) in
        [(&N16, 128, 0), (&N16, 1024, 0), (&N15, 512, 0), (&N16, 1024, 4), (&N16, 256, 1), (&N15, 512, 3)]
    {
        let shape = few_shape(set.shape(), degree, repeats_log2);
        let party = party(&shape);
        let scheme = &party.owner.scheme;
        let bound = party.bootstrapping.error_log2(&CkksNoise::new(scheme)).unwrap();
        let mut draw = Draw::new();
        let mut largest = f64::NEG_INFINITY;
        for (index, x) in messages(&mut draw, shape.slots()).iter().enumerate() {
            let x = &repeated(x, scheme);
            // From the lowest level, and from above.
            let level = if index == 0 { shape.input() } else { Level(shape.input().0 + 1) };
            let a = party.owner.encrypt(x, level);
            let bootstrapped = party.bootstrapping.apply(scheme, &a, &party.keys).unwrap();
            assert_eq!(bootstrapped.level(), shape.output());
            // Beside what the encryption itself had for an error.
            let found = worst(&party.owner.decrypt(&bootstrapped), &party.owner.decrypt(&a));
            assert!(found < bound, "message {index}: 2^{found:.2}, bound 2^{bound:.2}, {draw}");
            largest = largest.max(found);
        }
        assert!(largest > bound - 12.5, "the bound 2^{bound:.2} is far from 2^{largest:.2}");
        // What is left is as good as any ciphertext of its level.
        let x = repeated(&draw.complex(shape.slots()), scheme);
        let a = party.owner.encrypt(&x, shape.input());
        let bootstrapped = party.bootstrapping.apply(scheme, &a, &party.keys).unwrap();
        let square = scheme.mul_rescale(&bootstrapped, &bootstrapped, &party.keys.evaluation).unwrap();
        let expected: Vec<Complex> = x.iter().map(|&z| z * z).collect();
        assert!(worst(&party.owner.decrypt(&square), &expected) < bound + 2.5);
    }
}

/// Values up to 4, and small ones that are multiplied on the way: with as much less of an error.
#[test]
fn large_and_small_values_come_back_within_their_bounds() {
    // With small primes the rounding after the last doubling is soon most of the error.
    for (set, degree, gain) in [(&N16, 256, 0.6), (&N15, 512, 0.3)] {
        let shape = toy_shape(set.shape(), degree);
        let party = party(&shape);
        let (scheme, bootstrapping) = (&party.owner.scheme, &party.bootstrapping);
        assert_eq!(bootstrapping.headroom_log2(), 2);
        let model = CkksNoise::new(scheme);
        let mut draw = Draw::new();
        for (largest_log2, up) in [(2.0_f64, 0), (1.0, 0), (-3.0, 5), (-6.0, 8), (-1.0, 0), (-14.0, 16)] {
            let size = largest_log2.exp2();
            let values = draw.reals(scheme.slot_count(), -size, size);
            let x: Vec<Complex> = real(&values);
            let extreme = real(&vec![size; scheme.slot_count()]);
            let known = model.known(shape.input(), largest_log2 + 0.5, f64::NEG_INFINITY).unwrap();
            let bound = model.error_log2(&bootstrapping.noise_of_small(&model, (known, up)).unwrap());
            for x in [x, extreme] {
                let a = party.owner.encrypt(&x, shape.input());
                let before = party.owner.decrypt(&a);
                let alone = bootstrapping.apply_small(scheme, (&a, up), &party.keys).unwrap();
                let [both, other] = bootstrapping.apply_pair(scheme, ([&a, &a], up), &party.keys).unwrap();
                for found in [alone, both, other] {
                    let found = worst(&party.owner.decrypt(&found), &before);
                    assert!(
                        found < bound,
                        "2^{largest_log2}, up {up}: 2^{found:.2}, bound 2^{bound:.2}, {draw}"
                    );
                }
            }
            let plain = model.error_log2(&bootstrapping.noise(&model, known).unwrap());
            let gained = gain * f64::from(up.min(8));
            assert!(bound <= plain - gained, "up {up}: 2^{bound:.2} and 2^{plain:.2}");
        }
        let a = party.owner.encrypt(&real(&[0.0]), shape.input());
        let refused = bootstrapping.apply_small(scheme, (&a, 17), &party.keys).unwrap_err();
        assert_eq!(refused, CircuitError::Slot { found: 17, max: 16 });
    }
}

#[test]
fn real_slots_come_back_alone_and_in_pairs() {
    let shape = toy_shape(N16.shape(), 256);
    let party = party(&shape);
    let (owner, scheme) = (&party.owner, &party.owner.scheme);
    let mut draw = Draw::new();
    let [x, y] = [(); 2].map(|()| real(&draw.reals(scheme.slot_count(), -1.0, 1.0)));
    let [a, b] = [&x, &y].map(|values| owner.encrypt(values, shape.input()));
    let alone = party.bootstrapping.apply_real(scheme, &a, &party.keys).unwrap();
    let [left, right] = party.bootstrapping.apply_pair(scheme, ([&a, &b], 1), &party.keys).unwrap();
    let [first, second] = party.bootstrapping.apply_pair(scheme, ([&a, &b], 0), &party.keys).unwrap();
    let found = [(&alone, &x), (&left, &x), (&right, &y), (&first, &x), (&second, &y)];
    for (found, expected) in found {
        assert_eq!(found.level(), shape.output());
        assert!(worst(&owner.decrypt(found), expected) < -20.0, "{draw}");
    }
    // What one has for an imaginary part is nothing to the other.
    let off: Vec<Complex> = y.iter().map(|z| Complex { re: z.re, im: draw.reals(1, -0.1, 0.1)[0] }).collect();
    for up in [0, 1] {
        let imaginary = owner.encrypt(&off, shape.input());
        let pair = party.bootstrapping.apply_pair(scheme, ([&a, &imaginary], up), &party.keys).unwrap();
        for (found, expected) in pair.iter().zip([&x, &y]) {
            assert!(worst(&owner.decrypt(found), expected) < -20.0, "{draw}");
        }
    }
    // The imaginary part of a real bootstrapping is lost, and not noise.
    let complex = owner.encrypt(&draw.complex(scheme.slot_count()), shape.input());
    let found = owner.decrypt(&party.bootstrapping.apply_real(scheme, &complex, &party.keys).unwrap());
    assert!(found.iter().all(|z| z.im.abs() < 1e-6));
    // Of two levels.
    let other = owner.encrypt(&y, Level(shape.input().0 + 1));
    let [_, found] = party.bootstrapping.apply_pair(scheme, ([&a, &other], 1), &party.keys).unwrap();
    assert!(worst(&owner.decrypt(&found), &y) < -20.0, "{draw}");
}

/// Bootstrapped twice, values are as near as a division at their scale leaves them: alone, in pairs, small ones, and at the ends.
#[test]
fn what_a_bootstrapping_errs_by_is_bootstrapped_too() {
    for (shape, gained) in [(toy_shape(N16.shape(), 256), 6.0), (toy_shape(N15.shape(), 512), 1.0)] {
        let party = party(&shape);
        let (owner, scheme, bootstrapping) = (&party.owner, &party.owner.scheme, &party.bootstrapping);
        let model = CkksNoise::new(scheme);
        let mut draw = Draw::new();
        for (size_log2, up) in [(0.0_f64, 0), (2.0, 0), (-5.0, 7)] {
            let size = size_log2.exp2();
            let level = Level(shape.input().0 + 1);
            let known = model.known(level, size_log2 + 0.5, f64::NEG_INFINITY).unwrap();
            let [x, y] = [(); 2].map(|()| real(&draw.reals(shape.slots(), -size, size)));
            let z = real(&vec![size; scheme.slot_count()]);
            let [a, b, c] = [&x, &y, &z].map(|values| owner.encrypt(values, level));
            for values in [vec![&a], vec![&a, &b], vec![&c, &b, &a]] {
                let count = values.len();
                let refined = bootstrapping.noise_of_refined(&model, (known, up), count).unwrap();
                let plain = bootstrapping.noise_of_all(&model, (known, up), count).unwrap();
                let [bound, plain] = [refined, plain].map(|noise| model.error_log2(&noise));
                let least = if up == 0 { gained } else { 0.0 };
                assert!(bound < plain - least, "2^{bound:.2}, 2^{plain:.2} for one");
                let found = bootstrapping.apply_refined(scheme, (&values, up), &party.keys).unwrap();
                let once = bootstrapping.apply_all(scheme, (&values, up), &party.keys).unwrap();
                assert_eq!(found.len(), count);
                for ((found, once), before) in found.iter().zip(&once).zip(values) {
                    assert_eq!(found.level(), shape.output());
                    let before = owner.decrypt(before);
                    let [found, once] = [found, once].map(|a| worst(&owner.decrypt(a), &before));
                    assert!(found < bound, "{shape:?}: 2^{found:.2}, bound 2^{bound:.2}, {draw}");
                    assert!(
                        found < once - least,
                        "{shape:?}, up {up}: 2^{found:.2} after 2^{once:.2}, {draw}"
                    );
                }
            }
            let refused = bootstrapping.apply_refined(scheme, (&[&a], 17), &party.keys).unwrap_err();
            assert_eq!(refused, CircuitError::Slot { found: 17, max: 16 });
        }
    }
    // What repeats comes out as its mean, and the difference from it as well.
    let shape = few_shape(N16.shape(), 128, 2);
    let party = party(&shape);
    let scheme = &party.owner.scheme;
    let a = party.owner.encrypt(&real(&[0.5]), shape.input());
    let refused = party.bootstrapping.apply_refined(scheme, (&[&a], 0), &party.keys).unwrap_err();
    assert_eq!(refused, CircuitError::Shape);
    let model = CkksNoise::new(scheme);
    let known = model.known(shape.input(), 0.0, f64::NEG_INFINITY).unwrap();
    let refused = party.bootstrapping.noise_of_refined(&model, (known, 0), 1).unwrap_err();
    assert_eq!(refused, CircuitError::Shape);
}

#[test]
fn a_raised_ciphertext_is_the_message_and_small_multiples_of_the_modulus() {
    let shape = toy_shape(N16.shape(), 4096);
    let party = party(&shape);
    let (owner, scheme) = (&party.owner, &party.owner.scheme);
    let mut draw = Draw::new();
    let x = draw.complex(scheme.slot_count());
    let a = owner.encrypt(&x, Level(0));
    let raised = party.keys.encapsulation.raise(a.inner()).unwrap();
    let phase = owner.secret.phase(&raised).unwrap();
    let ring = phase.poly().ring().clone();
    let q0 = scheme.chain().ring(Level(0)).unwrap().limbs().iter();
    let q0: I256 = q0.fold(I256::ONE, |q, limb| q * I256::from(limb.modulus().value()));
    // The first four primes hold what has 66 bits.
    let low = hush_ring::Ring::of_limbs(ring.limbs()[..4].to_vec(), ring.degree(), ring.cpu()).unwrap();
    let before = owner.secret.phase(a.inner()).unwrap();
    let mut squares = 0.0;
    for column in 0..ring.degree() {
        let residues: Vec<u64> = (0..4).map(|limb| phase.poly().limb(limb)[column]).collect();
        let value = low.crt().lift_centered(&residues);
        let multiple = (value * 2 + q0).div_euclid(q0 * 2);
        assert!(multiple.abs() < I256::from(BootstrapShape::RANGE), "{multiple}, {draw}");
        // Modulo q0 nothing has changed but for the errors of two key switches.
        let residues = [before.poly().limb(0)[column], before.poly().limb(1)[column]];
        let own = before.poly().ring().crt().lift_centered(&residues);
        assert!((value - multiple * q0 - own).abs() < I256::from(1_u32 << 20), "{draw}");
        squares += multiple.as_f64().powi(2);
    }
    // A sum of 32 uniform numbers and a rounding have variance 33/12.
    let variance = squares / ring.degree() as f64;
    assert!((variance - 2.75).abs() < 0.6, "{variance}, {draw}");
    let above = owner.encrypt(&x, Level(1));
    assert!(party.keys.encapsulation.raise(above.inner()).is_err());
}

/// Shapes at the ends of what there is: one level for a transform or many, fillers at level 0 or none, messages multiplied or not.
#[test]
fn bounds_hold_for_shapes_of_many_kinds() {
    let base = *N15.shape();
    let shapes = [
        BootstrapShape { to_slots: 1, to_coefficients: 1, program: 0, ..base },
        BootstrapShape { to_slots: 5, to_coefficients: 3, program: 1, ..base },
        BootstrapShape { to_slots: 9, to_coefficients: 9, program: 1, ..base },
        BootstrapShape { gain_log2: 0, low: 2, base: 4, high: 4, ..base },
        BootstrapShape { gain_log2: 12, ..base },
        BootstrapShape { base: 5, low: 4, high: 5, gain_log2: 8, ..base },
        // One slot, and two.
        BootstrapShape { repeats_log2: 6, ..base },
        BootstrapShape { repeats_log2: 5, to_slots: 3, to_coefficients: 1, ..*N16.shape() },
    ];
    for shape in shapes.map(|shape| BootstrapShape { degree: 128, ..shape }) {
        let party = party(&shape);
        let scheme = &party.owner.scheme;
        let model = CkksNoise::new(scheme);
        let mut draw = Draw::new();
        for x in messages(&mut draw, shape.slots()) {
            let x = repeated(&x, scheme);
            // Down through the segments as well.
            for level in [shape.input(), scheme.chain().top()] {
                let a = party.owner.encrypt(&x, level);
                let found = party.bootstrapping.apply(scheme, &a, &party.keys).unwrap();
                let noise = party.bootstrapping.noise(&model, model.fresh(level, 0.5).unwrap()).unwrap();
                let (found, bound) = (worst(&party.owner.decrypt(&found), &x), model.error_log2(&noise));
                assert!(found < bound, "{shape:?} from {level}: 2^{found:.2}, bound 2^{bound:.2}, {draw}");
            }
        }
    }
}

/// Primes are forgotten within a segment alone: beyond, a factor of 1 would be encoded with what two scales differ by, or with no bit at all.
#[test]
fn descents_through_segments_keep_their_precision() {
    let base = *N15.shape();
    for shape in [base, BootstrapShape { high: 5, ..base }] {
        let shape = toy_shape(&shape, 128);
        let chain = ChainParams::insecure_toy(shape.chain_spec().unwrap()).unwrap();
        let owner = Owner::of(Bootstrapping::scheme(&shape, &chain, Cpu::detect().unwrap()).unwrap(), &[]);
        let x = Draw::new().complex(owner.scheme.slot_count());
        let model = CkksNoise::new(&owner.scheme);
        for level in (shape.output().0..=shape.top().0).map(Level) {
            for to in [shape.output(), shape.input()] {
                let lowered = owner.scheme.level_down(&owner.encrypt(&x, level), to).unwrap();
                let found = worst(&owner.decrypt(&lowered), &x);
                assert!(found < -20.0, "{shape:?} from {level} to {to}: 2^{found:.2}");
                let noise = model.lowered(&model.fresh(level, 0.5).unwrap(), to).unwrap();
                assert!(found < model.error_log2(&noise), "{level} to {to}");
            }
        }
    }
}

#[test]
fn twenty_in_a_row_add_no_more_than_twenty_times_the_error() {
    let shape = toy_shape(N16.shape(), 128);
    let party = party(&shape);
    let (owner, scheme) = (&party.owner, &party.owner.scheme);
    let bound = party.bootstrapping.error_log2(&CkksNoise::new(scheme)).unwrap();
    // Repeated, the sine would draw values of ±1 towards zero by its own error each time.
    let x = Draw::new().complex(scheme.slot_count());
    let mut a = owner.encrypt(&x, shape.input());
    for _ in 0..20 {
        a = party.bootstrapping.apply(scheme, &a, &party.keys).unwrap();
    }
    assert!(worst(&owner.decrypt(&a), &x) < bound + 20_f64.log2());
}

#[test]
fn exactly_the_listed_keys_are_needed_at_exactly_their_levels() {
    keys_are_needed_at_their_levels(&toy_shape(N16.shape(), 64));
    keys_are_needed_at_their_levels(&few_shape(N16.shape(), 64, 2));
}

fn keys_are_needed_at_their_levels(shape: &BootstrapShape) {
    let party = party(shape);
    let (owner, scheme) = (&party.owner, &party.owner.scheme);
    let a = owner.encrypt(&Draw::new().complex(scheme.slot_count()), shape.input());
    let levels = party.bootstrapping.key_levels();
    assert_eq!(levels.len(), party.keys.evaluation.iter().count());
    for (&element, &level) in &levels {
        let mut lower = levels.clone();
        lower.insert(element, Level(level.0 - 1));
        let evaluation = owner.secret.evaluation_keys_up_to(&lower).unwrap();
        let keys = BootstrapKeys { evaluation, ..party.keys.clone() };
        let refused = party.bootstrapping.apply(scheme, &a, &keys).unwrap_err();
        let expected = Level(level.0 - 1);
        assert_eq!(refused, RlweError::KeyLevel { element: element as u32, found: level, expected }.into());
        lower.remove(&element);
        let evaluation = owner.secret.evaluation_keys_up_to(&lower).unwrap();
        let keys = BootstrapKeys { evaluation, ..party.keys.clone() };
        let refused = party.bootstrapping.apply(scheme, &a, &keys).unwrap_err();
        assert_eq!(refused, RlweError::MissingKey { element }.into());
    }
    let whole = owner.secret.galois_key(5).unwrap();
    let some = owner.secret.galois_key_up_to(5, shape.input()).unwrap();
    assert!(some.memory_bytes() < whole.memory_bytes() / 3);
}

#[test]
fn what_cannot_be_bootstrapped_is_refused_before_any_work() {
    let shape = toy_shape(N16.shape(), 64);
    let party = party(&shape);
    let (owner, scheme, bootstrapping) = (&party.owner, &party.owner.scheme, &party.bootstrapping);
    let x = Draw::new().complex(scheme.slot_count());
    let low = owner.encrypt(&x, Level(shape.input().0 - 1));
    let expected = shape.to_coefficients;
    assert_eq!(
        bootstrapping.apply(scheme, &low, &party.keys).unwrap_err(),
        CircuitError::Levels { found: low.level(), expected }
    );
    let a = owner.encrypt(&x, shape.input());
    let scaled = scheme.ciphertext_at(a.inner().clone(), RealScale::new(3.0)).unwrap();
    let refused = bootstrapping.apply(scheme, &scaled, &party.keys).unwrap_err();
    assert!(matches!(refused, CircuitError::Scheme(SchemeError::RealScales { .. })));
    // Bounds know what is too large.
    let model = CkksNoise::new(scheme);
    let largest_log2 = 0.6 + f64::from(bootstrapping.headroom_log2());
    let large = model.fresh(shape.input(), largest_log2).unwrap();
    let refused = CircuitError::Magnitude { found_log2: largest_log2 };
    assert_eq!(bootstrapping.noise(&model, large).unwrap_err(), refused);
    assert!(bootstrapping.noise(&model, model.fresh(low.level(), 0.0).unwrap()).is_err());
    // A scheme of another shape, or of other scales.
    let chain = scheme.chain().params();
    for other in
        [BootstrapShape { to_slots: 3, program: 1, ..shape }, BootstrapShape { gain_log2: 20, ..shape }]
    {
        assert!(Bootstrapping::new(scheme, &other).is_err());
    }
    let cpu = Cpu::detect().unwrap();
    let plain = Ckks::new(chain, chain.steady_scale_log2(), cpu).unwrap();
    assert_eq!(Bootstrapping::new(&plain, &shape).unwrap_err(), CircuitError::Shape);
    assert_eq!(bootstrapping.error_log2(&CkksNoise::new(&plain)).unwrap_err(), CircuitError::Shape);
    let smaller = BootstrapShape { degree: 32, ..shape };
    assert_eq!(Bootstrapping::scheme(&smaller, chain, cpu).unwrap_err(), CircuitError::Shape);
    // A ciphertext of another ring.
    let foreign = ckks(&toy(32, 6, 2), TOY_SCALE_LOG2);
    let foreign = foreign.encrypt(&x[..16], shape.input());
    let own = scheme.scale(foreign.level()).unwrap();
    let foreign = foreign.inner().clone();
    assert!(scheme.ciphertext_at(foreign, own).is_err());
    // Keys of the dense and the sparse secret the wrong way round.
    let key = || owner.secret.relinearisation_key().unwrap();
    assert_eq!(EncapsulationKeys::new(key(), key()).unwrap_err(), RlweError::ChainMismatch);
}

/// With rows so large that several limbs are made together.
#[test]
fn rings_of_65536_compute_as_small_ones() {
    let mut owner = ckks(&toy(1 << 16, 4, 2), TOY_SCALE_LOG2);
    let element = hush_rlwe::rotation_element(1 << 16, 1);
    owner.rekey(&[element, conjugation_element(1 << 16)]);
    let mut draw = Draw::new();
    let slots = owner.scheme.slot_count();
    let (x, y) = (draw.complex(slots), draw.complex(slots));
    let (a, b) = (owner.encrypt(&x, Level(3)), owner.encrypt(&y, Level(3)));
    let (scheme, keys) = (&owner.scheme, &owner.keys);
    let product = scheme.mul_rescale(&a, &b, keys).unwrap();
    let together = scheme.mul_rescale_all(&[(&a, &b), (&a, &a)], keys).unwrap();
    assert_eq!(together[0], product);
    let moved = scheme.rotate(&product, 1, keys).unwrap();
    assert_eq!(scheme.rotate_many(&product, &[1], keys).unwrap().first(), Some(&moved));
    let mut expected: Vec<Complex> = x.iter().zip(&y).map(|(&x, &y)| x * y).collect();
    expected.rotate_left(1);
    assert_close(&owner.decrypt(&moved), &expected, -18.0);
    let diagonals = crate::linear::Diagonals::new(slots, [(0, y.clone()), (1, x.clone())]).unwrap();
    let transform = LinearTransform::new(scheme, &diagonals, Level(2)).unwrap();
    let mut next = x.clone();
    next.rotate_left(1);
    let expected: Vec<Complex> = (0..slots).map(|i| y[i] * x[i] + x[i] * next[i]).collect();
    let a = owner.encrypt(&x, Level(2));
    assert_close(&owner.decrypt(&transform.apply(scheme, &a, keys).unwrap()), &expected, -18.0);
}
