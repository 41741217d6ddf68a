// SPDX-License-Identifier: Apache-2.0
//! The noise has the distribution that the proof needs, equal numbers are equal, and the attack that opens a secret from raw
//! decryptions fails on released ones.

use hush_params::noise::{ERROR_VARIANCE, release};
use hush_ring::{ExpandLabel, Poly, Ring, sample_errors};

use super::*;
use crate::{OwnerSeed, SecretKind, TableKeys};

const DEGREE: usize = 32;
/// Two primes of 46 bits: the noise must fit beside the message.
const PRIMES: [u64; 2] = [0x3fff_ffcc_0001, 0x3fff_ffb2_0001];

fn toy() -> Ring {
    Ring::insecure_toy(DEGREE, &PRIMES).unwrap()
}

fn keys(owner: &OwnerSeed) -> TableKeys<'_> {
    owner.of_table([1; 16], [2; 16])
}

/// log2 of the largest norm of a fresh element's error.
fn error_log2() -> f64 {
    0.5 * (2.0 * ERROR_VARIANCE * DEGREE as f64).log2()
}

fn draw(rng: &mut SecretRng) -> i64 {
    let mut random = [0; LEVEL_BYTES];
    rng.fill(&mut random);
    small_gaussian(&random)
}

/// Chi-square over 41 sizes with sign, 2^18 samples: above 101 with a chance of 2^-20 if the distribution is right.
#[test]
fn levels_are_discrete_gaussians() {
    let (samples, mut rng) = (1 << 18, SecretRng::from_os().unwrap());
    let mut counts = [0_f64; 41];
    for _ in 0..samples {
        let x = draw(&mut rng).clamp(-20, 20);
        counts[(x + 20) as usize] += 1.0;
    }
    let weight = |x: i64| (-(x * x) as f64 / 50.0).exp();
    let total: f64 = (-200..=200).map(weight).sum();
    let tail: f64 = (20..=200).map(weight).sum();
    let chi: f64 = counts
        .iter()
        .zip(-20_i64..)
        .map(|(count, x)| {
            let expected = f64::from(samples) * (if x.abs() == 20 { tail } else { weight(x) }) / total;
            (count - expected).powi(2) / expected
        })
        .sum();
    assert!(chi < 101.0, "chi-square {chi}: {counts:?}");
}

/// The table against floats: each probability to 14 digits, and all of it.
#[test]
fn the_table_is_that_of_the_distribution() {
    let weight = |x: f64| (-x * x / 50.0).exp();
    let total = 1.0 + 2.0 * (1..200).map(|x| weight(f64::from(x))).sum::<f64>();
    let unit = 128_f64.exp2();
    let mut below = 0_u128;
    for (size, entry) in CUMULATIVE.iter().enumerate() {
        let expected = weight(size as f64) / total * if size == 0 { 1.0 } else { 2.0 };
        let found = (entry - below) as f64 / unit;
        assert!((found - expected).abs() <= 1e-14 * expected + 1e-37, "{size}: {found} for {expected}");
        below = *entry;
    }
    assert_eq!(CUMULATIVE.last(), Some(&u128::MAX));
    assert_eq!(small_gaussian(&[0; LEVEL_BYTES]), 0);
    assert_eq!(small_gaussian(&[255; LEVEL_BYTES]), -(CUMULATIVE.len() as i64));
}

/// The deviation that the bound is computed with, within 5 standard errors.
#[test]
fn noise_has_the_deviation_that_was_asked_for() {
    for levels in [1, 2, 9, 60, MAX_LEVELS] {
        let mut phases = vec![I256::ZERO; 1 << 14];
        add_noise(&mut SecretRng::from_os().unwrap(), levels, &mut phases);
        let unit = release::deviation_log2(levels).exp2();
        let squares: f64 =
            phases.iter().map(|x| (x.as_f64() / unit).powi(2)).sum::<f64>() / phases.len() as f64;
        // The variance of a square of a normal variable is 2.
        let allowed = 5.0 * (2.0 / phases.len() as f64).sqrt();
        assert!((squares - 1.0).abs() < allowed, "{levels} levels: {squares}");
        let mean: f64 = phases.iter().map(|x| x.as_f64() / unit).sum::<f64>() / phases.len() as f64;
        assert!(mean.abs() < 5.0 / (phases.len() as f64).sqrt(), "{levels} levels: {mean}");
        // The lowest bit is even as often as odd: nothing of an error shows there.
        let odd = phases.iter().filter(|x| **x & I256::ONE == I256::ONE).count() as f64;
        assert!((odd - phases.len() as f64 / 2.0).abs() < 5.0 * (phases.len() as f64).sqrt() / 2.0);
    }
}

/// A fresh ciphertext of slots: `(b, a)` as evaluations.
struct Fresh {
    ciphertext: RlweCiphertext,
    mask: Vec<u64>,
    body: Vec<u64>,
}

fn encrypt(ring: &Ring, secret: &SecretKey, message: &[i64], errors: &[i32]) -> Fresh {
    let mask = UniformSeed::generate().unwrap().expand(ring, ExpandLabel::ciphertext());
    let mut words = vec![0; ring.poly_words()];
    for (index, (limb, words)) in ring.limbs().iter().zip(words.chunks_exact_mut(DEGREE)).enumerate() {
        limb.lift_signed(message, words);
        limb.add_scaled_error(words, errors, 1);
        limb.forward(words);
        let mut product = mask.limb(index).to_vec();
        limb.mul_assign(&mut product, secret.eval_limb(index));
        limb.sub_assign(words, &product);
    }
    let (first, body) = (mask.limb(0).to_vec(), words[..DEGREE].to_vec());
    let body_poly = Poly::from_words(ring, words).unwrap();
    Fresh { ciphertext: RlweCiphertext::new(vec![body_poly, mask]).unwrap(), mask: first, body }
}

fn fresh_errors(ring: &Ring, rng: &mut SecretRng) -> Vec<i32> {
    let mut random = vec![0; hush_ring::ERROR_BYTES * DEGREE];
    rng.fill(&mut random);
    let mut errors = vec![0; DEGREE];
    sample_errors(ring.cpu(), &random, &mut errors);
    errors
}

/// The attack on one ring element: `(p − b)/a`, centred; the secret itself if `p` is what the owner decrypted.
fn attack(ring: &Ring, fresh: &Fresh, published: &[I256]) -> Vec<i64> {
    let limb = &ring.limbs()[0];
    let q = limb.modulus();
    let modulus = I256::from(q.value());
    let mut p: Vec<u64> = published.iter().map(|p| ((p % modulus + modulus) % modulus).as_u64()).collect();
    limb.forward(&mut p);
    for (at, p) in p.iter_mut().enumerate() {
        *p = q.mul(q.sub(*p, fresh.body[at]), q.pow(fresh.mask[at], q.value() - 2));
    }
    limb.inverse(&mut p);
    let half = q.value() / 2;
    p.into_iter().map(|s| if s > half { s as i64 - q.value() as i64 } else { s as i64 }).collect()
}

/// Over 2^12 trials the attack finds every coefficient of the secret from raw phases, and from released ones no more than a
/// guess does: 1/3, within 5 standard deviations.
#[test]
fn the_attack_succeeds_on_raw_decryptions_and_fails_on_released_ones() {
    let (ring, owner) = (toy(), OwnerSeed::generate().unwrap());
    let levels = release::levels(error_log2(), 4096).unwrap();
    let (key, mut rng) = (keys(&owner).release_key(), SecretRng::from_os().unwrap());
    let flood = Flood::new(&key, levels);
    let (trials, mut guessed, mut ternary) = (4096_u32, 0.0, 0);
    for trial in 0..trials {
        let id = u128::from(trial).to_le_bytes();
        let secret = keys(&owner).secret(SecretKind::ApproxSlots, &ring, id);
        let message: Vec<i64> = (0..DEGREE as i64).map(|n| n * 1_000_003 - i64::from(trial)).collect();
        let fresh = encrypt(&ring, &secret, &message, &fresh_errors(&ring, &mut rng));
        let expected: Vec<i64> = secret.small().iter().map(|&s| i64::from(s)).collect();
        let raw = phase(&secret, &fresh.ciphertext).unwrap();
        assert_eq!(attack(&ring, &fresh, &raw), expected, "the attack works");

        let released = flood.element(&secret, &fresh.ciphertext).unwrap();
        let found = attack(&ring, &fresh, &released.phases);
        ternary += u32::from(found.iter().all(|s| s.abs() <= 1));
        let third = PRIMES[0] as i64 / 3;
        let guess = |s: &i64| if s.abs() * 2 <= third { 0 } else { s.signum() };
        guessed += found.iter().zip(&expected).filter(|(s, expected)| guess(s) == **expected).count() as f64;
    }
    let count = f64::from(trials) * DEGREE as f64;
    let allowed = 5.0 * (count * 2.0 / 9.0).sqrt();
    assert_eq!(ternary, 0, "no released element has a ternary solution");
    assert!((guessed - count / 3.0).abs() < allowed, "{guessed} of {count} guessed");
}

/// An attacker who chooses the data can put a value on the boundary of rounding and see which way it went. With the noise this
/// says nothing about the error's sign, without it everything.
#[test]
fn values_on_a_boundary_of_rounding_tell_nothing_of_the_error() {
    let (ring, owner) = (toy(), OwnerSeed::generate().unwrap());
    let secret = keys(&owner).secret(SecretKind::ApproxSlots, &ring, [1; 16]);
    let levels = release::levels(error_log2(), 4096).unwrap();
    let (key, mut rng) = (keys(&owner).release_key(), SecretRng::from_os().unwrap());
    let flood = Flood::new(&key, levels);
    // A boundary between two multiples of 2^70, as rounding to digits has them.
    let boundary = I256::ONE << 69_u32;
    let rounds_up = |phase: &I256| ((*phase + boundary) >> 70_u32) > ((boundary - I256::ONE) >> 70_u32);
    let (mut counts, mut raw_counts) = ([[0.0; 2]; 2], [[0.0; 2]; 2]);
    for _ in 0..512 {
        let errors = fresh_errors(&ring, &mut rng);
        let fresh = encrypt(&ring, &secret, &[0; DEGREE], &errors);
        let released = flood.element(&secret, &fresh.ciphertext).unwrap().phases;
        let raw = phase(&secret, &fresh.ciphertext).unwrap();
        for ((released, raw), error) in released.iter().zip(raw.iter()).zip(&errors).filter(|(_, e)| **e != 0)
        {
            let sign = usize::from(*error > 0);
            // The message half a step up, which the attacker chose.
            counts[sign][usize::from(rounds_up(&(released + boundary - I256::ONE)))] += 1.0;
            raw_counts[sign][usize::from(rounds_up(&(raw + boundary)))] += 1.0;
        }
    }
    let chi = |counts: [[f64; 2]; 2]| {
        let [[a, b], [c, d]] = counts;
        let total = a + b + c + d;
        total * (a * d - b * c).powi(2) / ((a + b) * (c + d) * (a + c).max(1.0) * (b + d).max(1.0))
    };
    // One degree of freedom: above 28 with a chance of 2^-23.
    assert!(chi(counts) < 28.0, "{counts:?}");
    assert!(chi(raw_counts) > 1000.0, "without noise the sign shows: {raw_counts:?}");
}

#[test]
fn the_same_number_is_released_as_the_same_value_and_no_other() {
    let (ring, owner) = (toy(), OwnerSeed::generate().unwrap());
    let secret = keys(&owner).secret(SecretKind::ApproxSlots, &ring, [1; 16]);
    let mut rng = SecretRng::from_os().unwrap();
    let fresh = encrypt(&ring, &secret, &[7; DEGREE], &fresh_errors(&ring, &mut rng));
    let other = encrypt(&ring, &secret, &[7; DEGREE], &fresh_errors(&ring, &mut rng));
    let noise = |flood: Flood<'_>, fresh: &Fresh| {
        let released = flood.element(&secret, &fresh.ciphertext).unwrap();
        let raw = phase(&secret, &fresh.ciphertext).unwrap();
        let noise: Vec<I256> = released.phases.iter().zip(raw.iter()).map(|(p, raw)| p - raw).collect();
        (released.number, noise)
    };
    let key = keys(&owner).release_key();
    let flood = Flood::new(&key, 50);
    let first = noise(flood, &fresh);
    assert_eq!(noise(flood, &fresh), first);
    let next_encryption = owner.of_table([1; 16], [3; 16]).release_key();
    let others = [
        noise(flood, &other),
        noise(Flood::new(&key, 51), &fresh),
        noise(Flood::new(&next_encryption, 50), &fresh),
    ];
    for other in &others {
        assert_ne!(other.1, first.1);
        assert!(other.1.iter().zip(&first.1).filter(|(a, b)| a == b).count() < 2);
    }
    assert_ne!(others[0].0, first.0);
    assert_ne!(others[1].0, first.0, "other noise of the same ciphertext counts anew");
}
