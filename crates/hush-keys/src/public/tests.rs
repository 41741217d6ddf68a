// SPDX-License-Identifier: Apache-2.0
//! What devices encrypt decrypts to what plain integers give, in sums together with rows of the owner's own; and its noise is
//! what `hush_params` says.

use ethnum::I256;
use hush_params::{noise, preset, presets};
use hush_ring::Cpu;
use hush_rlwe::{Body, BodyId, BodyKind, CodecError, UncheckedBody, has_masks, masked_body_bytes};
use hush_schemes::bgv::public::PublicEncryptor;
use hush_schemes::bgv::sum::{NOT_SELECTED, SumAccumulator};
use hush_schemes::{SumError, Values};
use hush_testkit::Draw;

use super::*;
use crate::{Encryptor, OwnerSeed, PhaseLimit, SecretKind, SumColumn, decrypt_sum, decrypt_sum_chunk};

const SETS: [&str; 2] = ["n11_q1x46_sec128_v1", "n12_q2x46_sec128_v1"];

fn ring(name: &str) -> Ring {
    Ring::new(preset(name).unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn body<'a>(bytes: &'a [u8], ring: &Ring, column: u32, chunk: u32, rows: usize) -> Body<'a> {
    let element_count = rows.div_ceil(ring.degree()) as u32;
    let id = BodyId { column, chunk, element_count, lanes: 1 };
    UncheckedBody::decode(bytes).unwrap().conform(ring, BodyKind::Sum, id).unwrap()
}

/// The widest plaintext modulus for sums of `rows` rows with weights of up to `weight`, some of them from devices.
fn widest(ring: &Ring, rows: f64, weight: f64) -> u32 {
    let factor = noise::device_factor(ring.degree());
    let log_q = ring.set().unwrap().log_q();
    (2..250)
        .rev()
        .find(|t| noise::bgv_sum_phase_log2(f64::from(*t), rows, weight, factor) <= log_q - 1.0)
        .unwrap()
}

#[test]
fn sums_over_rows_of_a_device_and_of_the_owner_are_exact() {
    let mut draw = Draw::new();
    for set in presets().iter().filter(|set| set.degree() <= 8192) {
        let ring = Ring::new(set, Cpu::detect().unwrap()).unwrap();
        let rows = 2 * ring.degree() - 1 - draw.below(ring.degree());
        let t_log2 = widest(&ring, 2.0 * rows as f64, 100.0);
        let owner = OwnerSeed::generate().unwrap();
        let secrets =
            [[1; 16], [2; 16]].map(|id| owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, id));
        let key = public_sum_key(&ring, t_log2, &[(7, &secrets[0]), (9, &secrets[1])]).unwrap();
        let bits = t_log2.min(40) - 1;
        let mut value = |_| draw.below(1 << bits) as i64 - (1 << (bits - 1));
        let mut columns: [Vec<i64>; 4] = [0; 4].map(|_| (0..rows).map(&mut value).collect());
        columns[0][0] = -(1 << (bits - 1));
        let [own, own_other, sent, sent_other] = columns;

        let mut encryptor = Encryptor::new();
        let mut chunk = encryptor.begin_chunk(0, rows).unwrap();
        let column =
            |column, secret, values| SumColumn { column, secret, t_log2, values: Values::I64(values) };
        let mine = chunk
            .encrypt_sum(&ring, &[column(7, &secrets[0], &own), column(9, &secrets[1], &own_other)])
            .unwrap();
        let seed = chunk.seed();
        let theirs =
            PublicEncryptor::new().encrypt(&key, 3, &[Values::I64(&sent), Values::I64(&sent_other)]).unwrap();
        assert_eq!(theirs[0].len(), masked_body_bytes(&ring, rows.div_ceil(ring.degree()) as u32));
        assert!(has_masks(&theirs[0]) && !has_masks(&mine[0]));

        let bodies = |blobs: &[Vec<u8>], chunk| -> Vec<Body<'_>> {
            // The lifetime of what is given out is that of the blobs.
            let blobs: &'static [Vec<u8>] = Box::leak(blobs.to_vec().into_boxed_slice());
            [7, 9]
                .into_iter()
                .zip(blobs)
                .map(|(column, blob)| body(blob, &ring, column, chunk, rows))
                .collect()
        };
        for (secret, (stored, values)) in
            secrets.iter().zip(bodies(&theirs, 3).iter().zip([&sent, &sent_other]))
        {
            let decrypted = decrypt_sum_chunk(secret, seed, stored, rows, t_log2, PhaseLimit::NONE).unwrap();
            assert!(
                decrypted.iter().zip(values).all(|(found, value)| *found == I256::from(*value)),
                "{}",
                set.name()
            );
        }
        for group_count in [1, 3] {
            let groups: Vec<u32> = (0..rows)
                .map(|_| match draw.below(group_count + 1) {
                    0 => NOT_SELECTED,
                    group => group as u32 - 1,
                })
                .collect();
            let weights: Vec<i128> = (0..rows).map(|_| draw.below(201) as i128 - 100).collect();
            let mut sum = SumAccumulator::new(&ring, group_count, 2);
            let mut other = SumAccumulator::new(&ring, group_count, 2);
            sum.absorb_masked(seed, &groups, Some(&weights), &bodies(&mine, 0)).unwrap();
            other.absorb_masked(seed, &groups, Some(&weights), &bodies(&theirs, 3)).unwrap();
            other.absorb_unfiltered(seed, rows, &bodies(&theirs, 3)).unwrap();
            sum.merge(other).unwrap();
            let answers = sum.finish().unwrap();
            for (group, answer) in answers.iter().enumerate() {
                for (place, (own, sent)) in [(&own, &sent), (&own_other, &sent_other)].into_iter().enumerate()
                {
                    let weighed = |values: &[i64]| -> i128 {
                        let rows = values.iter().zip(&weights).zip(&groups);
                        rows.filter(|(_, g)| **g == group as u32).map(|((v, w), _)| i128::from(*v) * w).sum()
                    };
                    let all: i128 = if group == 0 { sent.iter().map(|v| i128::from(*v)).sum() } else { 0 };
                    let expected = (weighed(own) + weighed(sent) + all) << (128 - t_log2.min(127));
                    let found =
                        decrypt_sum(&secrets[place], answer, place, t_log2, PhaseLimit::NONE).unwrap();
                    // Modulo t, which sums of random rows may exceed.
                    let found = found.as_i128() << (128 - t_log2.min(127));
                    assert_eq!(found, expected, "{} group {group} column {place}", set.name());
                }
            }
        }
    }
}

/// The error of a sum of all ones over a whole ring element weighs one slot of `E·u` most, which a bound on independent
/// coefficients would miss. Errors of many keys deviate as the model says, and none is beyond it.
#[test]
fn the_noise_is_within_its_bound_and_not_far_below() {
    for name in SETS {
        let ring = ring(name);
        let rows = ring.degree();
        let owner = OwnerSeed::generate().unwrap();
        let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
        let zeros = vec![0_i64; rows];
        let scale_log2 = 8;
        let bound = (ring.degree() as f64 * ERROR_VARIANCE).sqrt() * noise::device_factor(ring.degree());
        let mut squares = 0.0;
        let rounds = 24;
        for _ in 0..rounds {
            let key = public_sum_key(&ring, scale_log2, &[(0, &secret)]).unwrap();
            let blob = PublicEncryptor::new().encrypt(&key, 0, &[Values::I64(&zeros)]).unwrap().remove(0);
            let stored = body(&blob, &ring, 0, 0, rows);
            let mut sum = SumAccumulator::new(&ring, 1, 1);
            sum.absorb_unfiltered(key.seed(), rows, &[stored]).unwrap();
            let answer = sum.finish().unwrap().remove(0);
            // Read with a plaintext modulus so wide that the error is part of the message.
            let phase = decrypt_sum(&secret, &answer, 0, 45, PhaseLimit::NONE).unwrap().as_f64()
                / f64::from(1 << scale_log2);
            assert!(phase.abs() < noise::tail(1.0) * bound, "{name}: {phase} beyond {bound}");
            squares += phase * phase;
        }
        let deviation = (squares / f64::from(rounds)).sqrt();
        let naive = bound / DEVICE_SLOT_RATIO.sqrt();
        assert!((naive / 4.0..bound).contains(&deviation), "{name}: {deviation}, expected about {naive}");
    }
}

#[test]
fn two_encryptions_of_one_chunk_share_nothing() {
    let ring = ring(SETS[0]);
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let key = public_sum_key(&ring, 20, &[(0, &secret)]).unwrap();
    let mut encryptor = PublicEncryptor::new();
    let values = [5_i64; 40];
    let blobs = [0; 2].map(|_| encryptor.encrypt(&key, 0, &[Values::I64(&values)]).unwrap().remove(0));
    let same = blobs[0].iter().zip(&blobs[1]).skip(40).filter(|(a, b)| a == b).count();
    // One byte in 256 agrees by chance.
    assert!(same * 64 < blobs[0].len(), "{same} of {} bytes agree", blobs[0].len());
}

#[test]
fn masks_that_differ_or_are_missing_are_refused() {
    let ring = ring(SETS[0]);
    let owner = OwnerSeed::generate().unwrap();
    let secrets =
        [[1; 16], [2; 16]].map(|id| owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, id));
    let key = public_sum_key(&ring, 20, &[(0, &secrets[0]), (1, &secrets[1])]).unwrap();
    let values = [5_i64; 40];
    let both = [Values::I64(&values), Values::I64(&values)];
    let mut encryptor = PublicEncryptor::new();
    let (first, second) =
        (encryptor.encrypt(&key, 0, &both).unwrap(), encryptor.encrypt(&key, 0, &both).unwrap());
    let mut seeded = Encryptor::new();
    let mut chunk = seeded.begin_chunk(0, 40).unwrap();
    let column = SumColumn { column: 1, secret: &secrets[1], t_log2: 20, values: both[1] };
    let own = chunk.encrypt_sum(&ring, &[column]).unwrap();
    let of = |blob| body(blob, &ring, 0, 0, 40);
    let other = |blob| body(blob, &ring, 1, 0, 40);
    let mut sum = SumAccumulator::new(&ring, 1, 2);
    for pair in [[of(&first[0]), other(&second[1])], [of(&first[0]), other(&own[0])]] {
        let refused = SumError::Codec(CodecError::Masks);
        assert_eq!(sum.absorb_unfiltered(key.seed(), 40, &pair), Err(refused.clone()));
        assert_eq!(sum.absorb_masked(key.seed(), &[0; 40], None, &[pair[1], pair[0]]), Err(refused));
    }
    assert!(sum.absorb_unfiltered(key.seed(), 40, &[of(&first[0]), other(&first[1])]).is_ok());
}

#[test]
fn what_does_not_fit_is_refused() {
    let ring = ring(SETS[0]);
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    assert!(matches!(public_sum_key(&ring, 40, &[(0, &secret)]), Err(PublicKeyError::TooNarrow { .. })));
    let key = public_sum_key(&ring, 20, &[(4, &secret)]).unwrap();
    let mut encryptor = PublicEncryptor::new();
    let mut refused = |columns: &[Values<'_>]| encryptor.encrypt(&key, 0, columns).unwrap_err();
    assert!(matches!(refused(&[]), PublicKeyError::Columns { found: 0, expected: 1 }));
    assert!(matches!(refused(&[Values::I64(&[])]), PublicKeyError::Columns { .. }));
    let large = refused(&[Values::I64(&[0, 1 << 19])]);
    assert!(matches!(large, PublicKeyError::Scheme { column: 4, .. }), "{large:?}");
}

/// The direct sum against the definition in another form: Parseval, and a polynomial with one known large slot.
#[test]
fn slots_are_found() {
    let degree = 64;
    let mut peak = vec![0.0; degree];
    // p(ζ^-1) = N for the coefficients of the geometric series in ζ; real parts halve it.
    for (power, coefficient) in peak.iter_mut().enumerate() {
        *coefficient = (std::f64::consts::PI / degree as f64 * power as f64).cos();
    }
    let found = largest_slot_squared(&peak);
    assert!((found / (degree as f64 / 2.0).powi(2) - 1.0).abs() < 0.05, "{found}");
    let mut unit = vec![0.0; degree];
    unit[5] = -3.0;
    assert!((largest_slot_squared(&unit) - 9.0).abs() < 1e-9);
}

/// Against the definition, term by term.
#[test]
fn the_largest_slot_is_that_of_the_definition() {
    let mut draw = hush_testkit::Draw::new();
    for degree in [1_usize, 2, 16, 64] {
        let coefficients = draw.reals(degree, -3.0, 3.0);
        let slot = |k: usize| {
            let angle = |j: usize| std::f64::consts::PI * ((2 * k + 1) * j) as f64 / degree as f64;
            let terms = || coefficients.iter().enumerate();
            let real: f64 = terms().map(|(j, c)| c * angle(j).cos()).sum();
            let imaginary: f64 = terms().map(|(j, c)| c * angle(j).sin()).sum();
            real.hypot(imaginary).powi(2)
        };
        let expected = (0..degree).map(slot).fold(0.0, f64::max);
        // A single coefficient has one slot, which no odd exponent below the degree names.
        let found = if degree == 1 { coefficients[0].powi(2) } else { largest_slot_squared(&coefficients) };
        assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{draw} {degree}: {found} {expected}");
    }
}

/// Equal coefficients add up in the first slot: about `(2N/π)²`, where random ones have `N` times their variance.
#[test]
fn aligned_coefficients_have_a_large_slot() {
    assert!(has_large_slot(&[1.0; 1024], 2.0 / 3.0));
    let mut draw = hush_testkit::Draw::new();
    let ternary: Vec<f64> = (0..1024).map(|_| draw.below(3) as f64 - 1.0).collect();
    assert!(!has_large_slot(&ternary, 2.0 / 3.0), "{draw}");
    // A single coefficient is as large in every slot.
    let single = |size: f64| has_large_slot(&[&[size][..], &[0.0; 63]].concat(), 1.0);
    assert!(!single((20.0 * 64.0_f64).sqrt() * 0.999) && single((20.0 * 64.0_f64).sqrt() * 1.001));
}
