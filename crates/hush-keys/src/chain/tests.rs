// SPDX-License-Identifier: Apache-2.0
//! Schemes over chains, from keys to decryption, against arithmetic on the clear values.

use hush_params::chain::ChainSpec;
use hush_params::primes::primes_of;
use hush_params::{ChainParams, Level, preset};
use hush_ring::Cpu;
use hush_rlwe::{RlweError, rotation_element};
use hush_schemes::SchemeError;
use hush_schemes::bgv::{Bfv, Bgv, BgvCiphertext, sum_elements};
use hush_schemes::ckks::Complex;
use hush_testkit::Draw;

use super::*;

mod approx;
mod chosen;
mod expand;
mod fused;
mod mutations;
mod noise;
mod objects;
mod paths;

const T: u64 = 65537;

/// Test inputs of this module's kinds.
trait Inputs {
    fn values(&mut self, count: usize) -> Vec<i64>;
    fn complex(&mut self, count: usize) -> Vec<Complex>;
}

impl Inputs for Draw {
    fn values(&mut self, count: usize) -> Vec<i64> {
        self.residues(T, count)
    }
    fn complex(&mut self, count: usize) -> Vec<Complex> {
        let (re, im) = (self.reals(count, -1.0, 1.0), self.reals(count, -1.0, 1.0));
        re.iter().zip(im).map(|(&re, im)| Complex { re, im }).collect()
    }
}

/// Four levels of one prime each over a base of one, on a ring far too small.
fn toy(degree: u32, digit_limbs: usize) -> ChainParams {
    let universe = primes_of(46)[..5].to_vec();
    let special = primes_of(47)[..digit_limbs].to_vec();
    let levels = (1..=5).map(|count| (0..count).collect()).collect();
    ChainParams::insecure_toy(ChainSpec { degree, universe, special, levels, digit_limbs }).unwrap()
}

fn centered(value: i128) -> i64 {
    let t = i128::from(T);
    let residue = value.rem_euclid(t);
    (if residue > t / 2 { residue - t } else { residue }) as i64
}

fn zip(a: &[i64], b: &[i64], op: impl Fn(i128, i128) -> i128) -> Vec<i64> {
    a.iter().zip(b).map(|(&a, &b)| centered(op(a.into(), b.into()))).collect()
}

struct Party {
    scheme: Bgv,
    secret: ChainSecret,
    keys: EvaluationKeys,
}

impl Party {
    fn new(params: &ChainParams, elements: &[usize]) -> Self {
        let scheme = Bgv::new(params, T, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let keys = secret.evaluation_keys(true, elements).unwrap();
        Self { scheme, secret, keys }
    }
    fn encrypt(&self, values: &[i64], level: Level) -> BgvCiphertext {
        let fresh = self.secret.encrypt(self.scheme.encode(values, level).unwrap()).unwrap();
        self.scheme.ciphertext(fresh.expand().unwrap()).unwrap()
    }
    fn decrypt(&self, ciphertext: &BgvCiphertext) -> Vec<i64> {
        self.scheme.decode(self.secret.phase(ciphertext.inner()).unwrap().poly(), ciphertext).unwrap()
    }
}

#[test]
fn bgv_arithmetic_follows_the_integers_at_every_level_and_digit_size() {
    for digit_limbs in [1, 2, 3, 5] {
        let mut draw = Draw::new();
        let party = Party::new(&toy(64, digit_limbs), &[]);
        let scheme = &party.scheme;
        for level in (0..=4).map(Level) {
            let (x, y) = (draw.values(64), draw.values(64));
            let (a, b) = (party.encrypt(&x, level), party.encrypt(&y, level));
            assert_eq!(party.decrypt(&a), x, "{draw}");
            assert_eq!(party.decrypt(&scheme.add(&a, &b).unwrap()), zip(&x, &y, |x, y| x + y));
            assert_eq!(party.decrypt(&scheme.sub(&a, &b).unwrap()), zip(&x, &y, |x, y| x - y));
            assert_eq!(party.decrypt(&scheme.neg(&a)), zip(&x, &y, |x, _| -x));
            assert_eq!(party.decrypt(&scheme.add_plain(&a, &y).unwrap()), zip(&x, &y, |x, y| x + y));
            assert_eq!(party.decrypt(&scheme.mul_scalar(&a, -7)), zip(&x, &y, |x, _| -7 * x));
            if level == Level(0) {
                continue;
            }
            assert_eq!(party.decrypt(&scheme.mul_plain(&a, &y).unwrap()), zip(&x, &y, |x, y| x * y));
            let product = scheme.mul(&a, &b).unwrap();
            let expected = zip(&x, &y, |x, y| x * y);
            assert_eq!(party.decrypt(&product), expected, "degree 2, level {level}");
            let relinearized = scheme.relinearize(&product, &party.keys).unwrap();
            assert_eq!(relinearized.inner().components().len(), 2);
            assert_eq!(party.decrypt(&relinearized), expected, "relinearised, level {level}");
            let switched_down = scheme.mod_switch(&relinearized).unwrap();
            assert_eq!(
                (party.decrypt(&switched_down), switched_down.level()),
                (expected.clone(), level.below().unwrap())
            );
            let merged = scheme.mul_mod_switch(&a, &b, &party.keys).unwrap();
            assert_eq!(party.decrypt(&merged), expected, "merged, level {level}");
        }
    }
}

#[test]
fn bgv_goes_as_deep_as_the_chain() {
    let mut draw = Draw::new();
    let party = Party::new(&toy(128, 2), &[]);
    let x = draw.values(128);
    let mut power = party.encrypt(&x, Level(4));
    let mut expected = x;
    for _ in 0..4 {
        power = party.scheme.mul_mod_switch(&power, &power, &party.keys).unwrap();
        expected = zip(&expected, &expected, |x, y| x * y);
        assert_eq!(party.decrypt(&power), expected, "{draw}");
    }
    assert_eq!(power.level(), Level(0));
    let refused = party.scheme.mul_mod_switch(&power, &power, &party.keys).unwrap_err();
    assert_eq!(refused, SchemeError::Rlwe(RlweError::LastLevel));
}

#[test]
fn bgv_sums_of_operands_with_different_factors_are_exact() {
    let mut draw = Draw::new();
    let party = Party::new(&toy(64, 1), &[]);
    let (x, y) = (draw.values(64), draw.values(64));
    let fresh = party.encrypt(&x, Level(2));
    let switched = party.scheme.mod_switch_to(&party.encrypt(&y, Level(4)), Level(2)).unwrap();
    assert_ne!(fresh.factor(), switched.factor());
    let sum = party.scheme.add(&fresh, &switched).unwrap();
    assert_eq!(party.decrypt(&sum), zip(&x, &y, |x, y| x + y), "{draw}");
    let other = party.encrypt(&y, Level(3));
    let refused = party.scheme.add(&fresh, &other).unwrap_err();
    assert_eq!(refused, SchemeError::Rlwe(RlweError::LevelMismatch { left: Level(2), right: Level(3) }));
}

#[test]
fn bgv_rotations_move_rows() {
    let mut draw = Draw::new();
    let degree = 64;
    let mut elements: Vec<usize> = [1, 3, -5].map(|steps| rotation_element(degree, steps)).into();
    elements.extend(sum_elements(degree));
    let party = Party::new(&toy(degree as u32, 2), &elements);
    let scheme = &party.scheme;
    let x = draw.values(degree);
    let a = party.encrypt(&x, Level(3));
    let (first, second) = x.split_at(degree / 2);
    let rotated = |steps: i64| -> Vec<i64> {
        let turn = |row: &[i64]| {
            let mut row = row.to_vec();
            row.rotate_left(steps.rem_euclid(degree as i64 / 2) as usize);
            row
        };
        [turn(first), turn(second)].concat()
    };
    for steps in [0, 1, 3, -5] {
        assert_eq!(party.decrypt(&scheme.rotate_rows(&a, steps, &party.keys).unwrap()), rotated(steps));
    }
    let many = scheme.rotate_rows_many(&a, &[3, 0, -5], &party.keys).unwrap();
    for (ciphertext, steps) in many.iter().zip([3, 0, -5]) {
        assert_eq!(party.decrypt(ciphertext), rotated(steps), "hoisted by {steps}");
    }
    assert_eq!(party.decrypt(&scheme.swap_rows(&a, &party.keys).unwrap()), [second, first].concat());
    let sum = centered(x.iter().map(|&x| i128::from(x)).sum());
    assert_eq!(party.decrypt(&scheme.sum_slots(&a, &party.keys).unwrap()), vec![sum; degree]);
    let missing = scheme.rotate_rows(&a, 7, &party.keys).unwrap_err();
    let element = rotation_element(degree, 7);
    assert_eq!(missing, SchemeError::Rlwe(RlweError::MissingKey { element }));
}

#[test]
fn rotations_over_the_extended_ring_follow_one_another() {
    let mut draw = Draw::new();
    let degree = 64;
    let [baby, giant] = [3, 8].map(|steps| rotation_element(degree, steps));
    for digit_limbs in [1, 2] {
        let party = Party::new(&toy(degree as u32, digit_limbs), &[baby, giant]);
        let scheme = &party.scheme;
        let mut x = draw.values(degree);
        let a = scheme.mod_switch_to(&party.encrypt(&x, Level(4)), Level(2)).unwrap();
        let hoisted = a.inner().hoist(scheme.chain()).unwrap();
        let one = Poly::from_signed(scheme.chain().level(Level(2)).unwrap().extended(), &[1]).unwrap();
        let one = hush_ring::Repeated::new(&one.into_eval());
        let pairs = hoisted.sums(&party.keys, &[baby], &[vec![(0, &one)]]).unwrap();
        let pair = &pairs[0];
        let (body, mask) = pair.switch_automorphism(&party.keys, giant).unwrap().drop_special().unwrap();
        let inner = RlweCiphertext::new(vec![body, mask]).unwrap();
        let rotated = scheme.ciphertext_at(inner.clone(), a.factor()).unwrap();
        x[..32].rotate_left(11);
        x[32..].rotate_left(11);
        assert_eq!(party.decrypt(&rotated), x, "{draw}");
        let missing = pair.switch_automorphism(&party.keys, 127).unwrap_err();
        assert_eq!(missing, RlweError::MissingKey { element: 127 });
        assert!(scheme.ciphertext_at(inner, T).is_err());
    }
}

#[test]
fn bgv_inner_products_by_coefficients() {
    let mut draw = Draw::new();
    let party = Party::new(&toy(64, 1), &[]);
    let (x, y) = (draw.values(64), draw.values(64));
    let encrypt = |message| {
        let fresh = party.secret.encrypt(message).unwrap();
        party.scheme.ciphertext(fresh.expand().unwrap()).unwrap()
    };
    let a = encrypt(party.scheme.encode_coefficients(&x, Level(1)).unwrap());
    let b = encrypt(party.scheme.encode_reversed(&y, Level(1)).unwrap());
    let product = party.scheme.mul(&a, &b).unwrap();
    let phase = party.secret.phase(product.inner()).unwrap();
    let found = party.scheme.decode_coefficients(phase.poly(), &product).unwrap()[0];
    let expected = centered(x.iter().zip(&y).map(|(&x, &y)| i128::from(x) * i128::from(y)).sum());
    assert_eq!(found, expected, "{draw}");
}

#[test]
fn public_keys_encrypt() {
    let mut draw = Draw::new();
    let party = Party::new(&toy(64, 1), &[]);
    let public = party.secret.public_key().unwrap();
    let x = draw.values(64);
    let message = party.scheme.encode(&x, Level(4)).unwrap();
    let a = party.scheme.ciphertext(encrypt_public(&public, message).unwrap()).unwrap();
    assert_eq!(party.decrypt(&a), x);
    let squared = party.scheme.mul_mod_switch(&a, &a, &party.keys).unwrap();
    assert_eq!(party.decrypt(&squared), zip(&x, &x, |x, y| x * y));
    let low = party.scheme.encode(&x, Level(2)).unwrap();
    assert!(encrypt_public(&public, low).is_err());
}

#[test]
fn bfv_arithmetic_follows_the_integers_and_needs_no_level() {
    for digit_limbs in [1, 2, 5] {
        let mut draw = Draw::new();
        let scheme = Bfv::new(&toy(64, digit_limbs), T, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let steps = rotation_element(64, 3);
        let keys = secret.evaluation_keys(true, &[steps, 127]).unwrap();
        let decrypt = |a: &RlweCiphertext| scheme.decode(secret.phase(a).unwrap().poly()).unwrap();
        for level in (1..=4).map(Level) {
            let encrypt =
                |x: &[i64]| secret.encrypt(scheme.encode(x, level).unwrap()).unwrap().expand().unwrap();
            let (x, y) = (draw.values(64), draw.values(64));
            let (a, b) = (encrypt(&x), encrypt(&y));
            assert_eq!(decrypt(&a), x);
            assert_eq!(decrypt(&scheme.add_plain(&a, &y).unwrap()), zip(&x, &y, |x, y| x + y));
            assert_eq!(decrypt(&scheme.mul_plain(&a, &y).unwrap()), zip(&x, &y, |x, y| x * y));
            let expected = zip(&x, &y, |x, y| x * y);
            assert_eq!(decrypt(&scheme.mul(&a, &b).unwrap()), expected, "level {level}");
            let product = scheme.mul_relinearize(&a, &b, &keys).unwrap();
            assert_eq!(decrypt(&product), expected, "level {level}");
            let square = scheme.mul_relinearize(&a, &a, &keys).unwrap();
            assert_eq!(decrypt(&square), zip(&x, &x, |x, y| x * y), "level {level}");
            if level > Level(1) {
                let again = scheme.mul_relinearize(&product, &a, &keys).unwrap();
                assert_eq!(decrypt(&again), zip(&expected, &x, |x, y| x * y), "level {level}");
                let lower = product.mod_switch(scheme.chain()).unwrap();
                assert_eq!(decrypt(&lower), expected, "level {level}");
            }
            let mut turned = x.clone();
            turned[..32].rotate_left(3);
            turned[32..].rotate_left(3);
            assert_eq!(decrypt(&scheme.rotate_rows(&a, 3, &keys).unwrap()), turned);
            turned.copy_from_slice(&[&x[32..], &x[..32]].concat());
            assert_eq!(decrypt(&scheme.swap_rows(&a, &keys).unwrap()), turned);
        }
    }
}

/// Sums without keys on a chain of one level, modulo a large prime: the baseline of the split-table benchmark.
#[test]
fn bfv_sums_are_exact_on_a_chain_without_special_primes() {
    let mut draw = Draw::new();
    let set = preset("n13_q3x46_sec128_v1").unwrap();
    let (universe, levels) = (set.moduli().to_vec(), vec![vec![0, 1, 2]]);
    let spec = ChainSpec { degree: 8192, universe, special: Vec::new(), levels, digit_limbs: 1 };
    let params = ChainParams::new(spec).unwrap();
    let t = hush_params::PLAINTEXT_PRIMES_45[0];
    let scheme = Bfv::new(&params, t, Cpu::detect().unwrap()).unwrap();
    let secret = ChainSecret::generate(scheme.chain()).unwrap();
    let columns: [Vec<i64>; 3] = [(); 3].map(|()| (0..8192).map(|_| draw.word() as i64 >> 22).collect());
    let encrypt = |values: &Vec<i64>| {
        secret.encrypt(scheme.encode(values, Level(0)).unwrap()).unwrap().expand().unwrap()
    };
    let [mut sum, second, third] = columns.each_ref().map(encrypt);
    sum.add_assign(&second).unwrap();
    sum.add_assign(&third).unwrap();
    let found = scheme.decode(secret.phase(&sum).unwrap().poly()).unwrap();
    let expected: Vec<i64> = (0..8192).map(|slot| columns.iter().map(|values| values[slot]).sum()).collect();
    assert_eq!(found, expected, "{draw}");
    assert!(scheme.encode(&vec![0; 8193], Level(0)).is_err());
}

#[test]
fn bgv_and_bfv_convert_exactly() {
    let mut draw = Draw::new();
    let params = toy(64, 1);
    let party = Party::new(&params, &[]);
    let bfv = Bfv::new(&params, T, Cpu::detect().unwrap()).unwrap();
    let (x, y) = (draw.values(64), draw.values(64));
    let (a, b) = (party.encrypt(&x, Level(3)), party.encrypt(&y, Level(3)));
    let product = party.scheme.mul_mod_switch(&a, &b, &party.keys).unwrap();
    let expected = zip(&x, &y, |x, y| x * y);
    let converted = party.scheme.to_bfv(&product).unwrap();
    assert_eq!(bfv.decode(party.secret.phase(&converted).unwrap().poly()).unwrap(), expected);
    let squared = bfv.mul(&converted, &converted).unwrap();
    let back = party.scheme.from_bfv(&squared).unwrap();
    assert_eq!(party.decrypt(&back), zip(&expected, &expected, |x, y| x * y), "{draw}");
}

#[test]
fn keys_of_another_chain_are_refused() {
    let (party, other) = (Party::new(&toy(64, 1), &[]), Party::new(&toy(64, 2), &[]));
    let a = party.encrypt(&[1, 2], Level(2));
    let product = party.scheme.mul(&a, &a).unwrap();
    // The rings agree, so that only the decomposition tells the chains apart.
    let decomposed =
        hush_rlwe::Decomposed::new(party.scheme.chain(), &product.inner().components()[2]).unwrap();
    let refused = other.keys.relinearisation().unwrap().apply_decomposed(&decomposed).unwrap_err();
    assert_eq!(refused, RlweError::ChainMismatch);
    let none = EvaluationKeys::new();
    let refused = party.scheme.relinearize(&product, &none).unwrap_err();
    assert_eq!(refused, SchemeError::Rlwe(RlweError::MissingKey { element: 0 }));
    let small = Party::new(&toy(128, 1), &[]);
    assert!(small.secret.phase(a.inner()).is_err());
}
