// SPDX-License-Identifier: Apache-2.0
//! CKKS over chains: levels of one prime, of two, and of a rational number of them.

use hush_schemes::RealScale;
use hush_schemes::ckks::{Ckks, CkksCiphertext};

use super::*;

struct Owner {
    scheme: Ckks,
    secret: ChainSecret,
    keys: EvaluationKeys,
}

impl Owner {
    fn new(params: &ChainParams, scale_log2: f64, steps: &[i64]) -> Self {
        let scheme = Ckks::new(params, scale_log2, Cpu::detect().unwrap()).unwrap();
        let secret = ChainSecret::generate(scheme.chain()).unwrap();
        let degree = scheme.chain().degree();
        let mut elements: Vec<usize> = steps.iter().map(|&k| rotation_element(degree, k)).collect();
        elements.push(2 * degree - 1);
        let keys = secret.evaluation_keys(true, &elements).unwrap();
        Self { scheme, secret, keys }
    }
    fn encrypt(&self, values: &[Complex], level: Level) -> CkksCiphertext {
        let fresh = self.secret.encrypt(self.scheme.encode(values, level).unwrap()).unwrap();
        self.scheme.ciphertext(fresh.expand().unwrap()).unwrap()
    }
    fn decrypt(&self, a: &CkksCiphertext) -> Vec<Complex> {
        self.scheme.decode(self.secret.phase(a.inner()).unwrap().poly(), a.scale()).unwrap()
    }
}

fn close(found: &[Complex], expected: &[Complex], precision_log2: i32) {
    for (index, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).re.hypot((found - expected).im);
        assert!(error < 2_f64.powi(precision_log2), "slot {index}: off by 2^{:.1}", error.log2());
    }
}

fn map(a: &[Complex], b: &[Complex], op: impl Fn(Complex, Complex) -> Complex) -> Vec<Complex> {
    a.iter().zip(b).map(|(&a, &b)| op(a, b)).collect()
}

/// Four levels of one prime each over a base of two, so that values have room at level 0.
fn roomy(degree: u32, digit_limbs: usize) -> ChainParams {
    let universe = primes_of(46)[..6].to_vec();
    let special = primes_of(47)[..digit_limbs].to_vec();
    let levels = (2..=6).map(|count| (0..count).collect()).collect();
    ChainParams::insecure_toy(ChainSpec { degree, universe, special, levels, digit_limbs }).unwrap()
}

/// Levels of 55 bits from primes of 30 to 46 bits: every level a set of its own, not a prefix.
fn rational(degree: u32) -> ChainParams {
    let chain = hush_params::ChainParams::rational_spec(degree, 55.0, 4, 70.0, 2).unwrap();
    ChainParams::insecure_toy(chain).unwrap()
}

#[test]
fn arithmetic_is_close_at_every_level_whatever_a_level_is_worth() {
    let pairs = {
        let universe = [primes_of(46), primes_of(30)].map(|primes| primes[..6].to_vec());
        let universe: Vec<u64> = (0..5).flat_map(|i| [universe[0][i], universe[1][i]]).collect();
        let levels = (2..=5_u8).map(|count| (0..2 * count).collect()).collect();
        let special = primes_of(47)[..2].to_vec();
        let spec = ChainSpec { degree: 128, universe, special, levels, digit_limbs: 2 };
        ChainParams::insecure_toy(spec).unwrap()
    };
    let cases = [
        (roomy(128, 1), 45.99, -28),
        (roomy(128, 3), 45.99, -28),
        (pairs, 76.0, -45),
        (rational(128), 55.0, -38),
    ];
    for (params, scale_log2, precision) in cases {
        let mut draw = Draw::new();
        let owner = Owner::new(&params, scale_log2, &[]);
        let scheme = &owner.scheme;
        for level in (1..=owner.scheme.chain().top().0).map(Level) {
            let (x, y) = (draw.complex(64), draw.complex(64));
            let (a, b) = (owner.encrypt(&x, level), owner.encrypt(&y, level));
            close(&owner.decrypt(&a), &x, precision);
            close(&owner.decrypt(&scheme.add(&a, &b).unwrap()), &map(&x, &y, |x, y| x + y), precision);
            close(&owner.decrypt(&scheme.sub(&a, &b).unwrap()), &map(&x, &y, |x, y| x - y), precision);
            close(&owner.decrypt(&scheme.add_plain(&a, &y).unwrap()), &map(&x, &y, |x, y| x + y), precision);
            let product = map(&x, &y, |x, y| x * y);
            let apart = scheme.relinearize(&scheme.mul(&a, &b).unwrap(), &owner.keys).unwrap();
            let apart = scheme.rescale(&apart).unwrap();
            close(&owner.decrypt(&apart), &product, precision);
            let merged = scheme.mul_rescale(&a, &b, &owner.keys).unwrap();
            assert_eq!(
                (merged.level(), merged.scale()),
                (level.below().unwrap(), scheme.scale(merged.level()).unwrap())
            );
            close(&owner.decrypt(&merged), &product, precision);
            let plain = scheme.rescale(&scheme.mul_plain(&a, &y).unwrap()).unwrap();
            close(&owner.decrypt(&plain), &product, precision);
            // Three ways to a level below, all at one scale: their sum needs no correction.
            let down = scheme.level_down(&a, merged.level()).unwrap();
            let sum = scheme.add(&scheme.add(&merged, &plain).unwrap(), &down).unwrap();
            close(&owner.decrypt(&sum), &map(&x, &product, |x, p| x + p + p), precision + 1);
            let constant = Complex { re: -0.75, im: 0.5 };
            let scaled = scheme.rescale(&scheme.mul_constant(&a, constant).unwrap()).unwrap();
            close(&owner.decrypt(&scaled), &map(&x, &x, |x, _| x * constant), precision);
            let shifted = scheme.add_constant(&scaled, constant).unwrap();
            close(&owner.decrypt(&shifted), &map(&x, &x, |x, _| x * constant + constant), precision);
        }
    }
}

#[test]
fn depth_is_what_the_chain_says() {
    for (params, scale_log2, precision) in [(roomy(128, 2), 45.99, -22), (rational(128), 55.0, -32)] {
        let mut draw = Draw::new();
        let owner = Owner::new(&params, scale_log2, &[]);
        let x = draw.complex(64).iter().map(|z| *z * Complex { re: 0.6, im: 0.2 }).collect::<Vec<_>>();
        let mut power = owner.encrypt(&x, owner.scheme.chain().top());
        let mut expected = x;
        while power.level() > Level(0) {
            power = owner.scheme.mul_rescale(&power, &power, &owner.keys).unwrap();
            expected = map(&expected, &expected, |x, y| x * y);
            close(&owner.decrypt(&power), &expected, precision);
        }
        let refused = owner.scheme.mul_rescale(&power, &power, &owner.keys).unwrap_err();
        assert_eq!(refused, SchemeError::Rlwe(RlweError::LastLevel));
    }
}

#[test]
fn rotations_move_slots_and_conjugation_conjugates() {
    let mut draw = Draw::new();
    let steps: Vec<i64> = (0..6).map(|k| 1 << k).chain([-7]).collect();
    let owner = Owner::new(&roomy(128, 2), 45.99, &steps);
    let x = draw.complex(64);
    let a = owner.encrypt(&x, Level(3));
    let rotated = |steps: i64| {
        let mut turned = x.clone();
        turned.rotate_left(steps.rem_euclid(64) as usize);
        turned
    };
    for steps in [0, 1, 8, -7, 64] {
        close(&owner.decrypt(&owner.scheme.rotate(&a, steps, &owner.keys).unwrap()), &rotated(steps), -28);
    }
    for (turned, steps) in
        owner.scheme.rotate_many(&a, &[-7, 0, 32], &owner.keys).unwrap().iter().zip([-7, 0, 32])
    {
        close(&owner.decrypt(turned), &rotated(steps), -28);
    }
    let conjugates: Vec<Complex> = x.iter().map(|z| z.conj()).collect();
    close(&owner.decrypt(&owner.scheme.conjugate(&a, &owner.keys).unwrap()), &conjugates, -28);
    let sum = x.iter().fold(Complex::default(), |sum, &z| sum + z);
    close(&owner.decrypt(&owner.scheme.sum_slots(&a, &owner.keys).unwrap()), &[sum; 64], -24);
}

/// A product of large values at a large scale, not divided: the phase needs more than two primes.
#[test]
fn large_phases_are_read_whole() {
    let owner = Owner::new(&roomy(128, 1), 45.99, &[]);
    let values = vec![Complex { re: 1e9, im: -2e9 }; 64];
    let a = owner.encrypt(&values, Level(4));
    let product = owner.scheme.mul(&a, &a).unwrap();
    let expected = Complex { re: 1e9, im: -2e9 } * Complex { re: 1e9, im: -2e9 };
    for found in owner.decrypt(&product) {
        assert!((found - expected).re.hypot((found - expected).im) < 1e-6 * expected.re.abs());
    }
}

#[test]
fn bad_values_and_scales_are_refused() {
    let owner = Owner::new(&roomy(128, 1), 45.99, &[]);
    let scheme = &owner.scheme;
    let one = Complex { re: 1.0, im: 0.0 };
    let encode = |values: &[Complex]| scheme.encode(values, Level(1)).unwrap_err();
    assert_eq!(encode(&[one; 65]), SchemeError::TooManyValues { found: 65, max: 64 });
    assert_eq!(encode(&[one, Complex { re: f64::NAN, im: 0.0 }]), SchemeError::NotFinite { index: 1 });
    for huge in [1e30, f64::MAX] {
        assert!(matches!(encode(&[Complex { re: huge, im: -huge }; 64]), SchemeError::ValueRange { .. }));
    }
    let (a, b) = (owner.encrypt(&[one], Level(2)), owner.encrypt(&[one], Level(1)));
    let levels = RlweError::LevelMismatch { left: Level(2), right: Level(1) };
    assert_eq!(scheme.add(&a, &b).unwrap_err(), SchemeError::Rlwe(levels));
    let other = scheme.ciphertext_at(a.inner().clone(), RealScale::new(3e12)).unwrap();
    assert!(matches!(scheme.add(&a, &other).unwrap_err(), SchemeError::RealScales { .. }));
    let refused = Ckks::new(&roomy(128, 1), 30.0, Cpu::detect().unwrap()).unwrap_err();
    assert!(matches!(refused, SchemeError::RealScale { .. }));
}
