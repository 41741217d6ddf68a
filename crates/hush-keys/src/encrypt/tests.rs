// SPDX-License-Identifier: Apache-2.0
//! Encryption refuses wrong inputs, and no two ciphertexts share a mask.

use std::collections::HashSet;

use ethnum::I256;
use hush_params::{PLAINTEXT_PRIMES_32, preset};
use hush_ring::Cpu;
use hush_schemes::SchemeError;

use super::*;
use crate::{OwnerSeed, SecretKind};

fn ring(name: &str) -> Ring {
    Ring::new(preset(name).unwrap(), Cpu::detect().unwrap()).unwrap()
}

fn column<'a>(secret: &'a SecretKey, column: u32, values: &'a [i64]) -> SumColumn<'a> {
    SumColumn { column, secret, t_log2: 27, values: Values::I64(values) }
}

#[test]
fn no_column_and_no_secret_comes_twice_in_a_chunk() {
    let ring = ring("n11_q1x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let (one, two) = (
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]),
        owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [2; 16]),
    );
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, 2).unwrap();
    chunk.encrypt_sum(&ring, &[column(&one, 1, &[1, 2])]).unwrap();
    let again = chunk.encrypt_sum(&ring, &[column(&one, 5, &[1, 2])]);
    assert!(matches!(again, Err(EncryptError::Repeated { column: 5 })));
    let both = chunk.encrypt_sum(&ring, &[column(&two, 2, &[1, 2]), column(&two, 3, &[3, 4])]);
    assert!(matches!(both, Err(EncryptError::Repeated { column: 3 })));
    // A column of an earlier failed call stays used: its errors may have been drawn.
    assert!(matches!(
        chunk.encrypt_sum(&ring, &[column(&two, 2, &[1, 2])]),
        Err(EncryptError::Repeated { .. })
    ));
    let mut next = encryptor.begin_chunk(1, 2).unwrap();
    next.encrypt_sum(&ring, &[column(&one, 1, &[1, 2]), column(&two, 2, &[1, 2])]).unwrap();
    let encoder = SlotEncoder::new(&self::ring("n12_q2x46_sec128_v1"), &PLAINTEXT_PRIMES_32[..1]).unwrap();
    let slots = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Slots, encoder.ring(), [9; 16]);
    let values = Values::I64(&[1, 2]);
    let column = |column| SlotColumn {
        column,
        secret: &slots,
        encoder: &encoder,
        max_abs: ethnum::I256::new(2),
        shared: false,
        values,
    };
    next.encrypt_slots(&column(1)).unwrap();
    next.encrypt_slots(&column(2)).unwrap();
    assert!(matches!(next.encrypt_slots(&column(2)), Err(EncryptError::Repeated { column: 2 })));
}

#[test]
fn values_out_of_range_are_refused_by_position() {
    let ring = ring("n11_q1x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let mut encryptor = Encryptor::new();
    for (values, index) in [([0, 1 << 26], 1), ([-(1 << 26) - 1, 0], 0), ([i64::MIN, i64::MAX], 0)] {
        let mut chunk = encryptor.begin_chunk(0, 2).unwrap();
        let error = chunk.encrypt_sum(&ring, &[column(&secret, 3, &values)]).unwrap_err();
        let EncryptError::Scheme { column: 3, source } = error else { panic!("{error}") };
        assert_eq!(source, SchemeError::ValueRange { index, limit_log2: 26 });
    }
    let mut chunk = encryptor.begin_chunk(0, 2).unwrap();
    let limits = [(1 << 26) - 1, -(1 << 26)];
    assert!(chunk.encrypt_sum(&ring, &[column(&secret, 3, &limits)]).is_ok());
    let mut chunk = encryptor.begin_chunk(0, 1).unwrap();
    let scale = Scale::from_log2(40).unwrap();
    let values = [f64::NAN];
    let approx = ApproxSumColumn { column: 3, secret: &secret, scale, limit_log2: 45, values: &values };
    let error = chunk.encrypt_approx_sum(&ring, &[approx]).unwrap_err();
    assert!(matches!(error, EncryptError::Scheme { source: SchemeError::NotFinite { index: 0 }, .. }));
}

#[test]
fn shapes_and_moduli_are_checked() {
    let (small, large) = (ring("n11_q1x46_sec128_v1"), ring("n12_q2x46_sec128_v1"));
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &small, [1; 16]);
    let mut encryptor = Encryptor::new();
    for rows in [0, MAX_CHUNK_ROWS + 1] {
        assert!(matches!(encryptor.begin_chunk(0, rows), Err(EncryptError::ChunkRows { .. })));
    }
    let mut chunk = encryptor.begin_chunk(0, 3).unwrap();
    let error = chunk.encrypt_sum(&small, &[column(&secret, 3, &[1, 2])]).unwrap_err();
    assert!(matches!(error, EncryptError::RowCount { column: 3, found: 2, expected: 3 }));
    assert!(matches!(
        chunk.encrypt_sum(&large, &[column(&secret, 3, &[1, 2, 3])]),
        Err(EncryptError::Ring(_))
    ));
    for t_log2 in [0, 41, 256] {
        let mut chunk = encryptor.begin_chunk(0, 1).unwrap();
        let column = SumColumn { column: 0, secret: &secret, t_log2, values: Values::I64(&[0]) };
        let error = chunk.encrypt_sum(&small, &[column]).unwrap_err();
        assert!(matches!(error, EncryptError::TooNarrow { found, log_q: 45 } if found == t_log2), "{error}");
    }
    // The widest decoder has 256 bits; the largest ring has room for more.
    let wide = ring("n14_q6x46_sec128_v1");
    assert_eq!(wide.crt().log2_product() as u32, 275);
    assert!([1, 255].into_iter().all(|t_log2| power_of_two(&wide, t_log2).is_ok()));
    assert!([0, 256, 269].into_iter().all(|t_log2| power_of_two(&wide, t_log2).is_err()));
    assert!(power_of_two(&small, 39).is_ok() && power_of_two(&small, 40).is_err());
}

#[test]
fn encrypting_again_gives_another_seed_and_other_bytes() {
    let ring = ring("n11_q1x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let mut encryptor = Encryptor::new();
    let (mut seeds, mut bodies) = (HashSet::new(), HashSet::new());
    for _ in 0..50 {
        let mut chunk = encryptor.begin_chunk(0, 1).unwrap();
        assert!(seeds.insert(chunk.seed()));
        let body = chunk.encrypt_sum(&ring, &[column(&secret, 0, &[7])]).unwrap();
        assert!(bodies.insert(body));
    }
}

/// The noise that is in a ciphertext is the noise that the planner counts with: variance 10.5.
///
/// 2^17 coefficients; the sample variance has standard deviation 10.5·√(1.95/2^17) = 0.0405. The interval of
/// ±0.3 is 7.4 of them wide each way: false alarm below 2^-42.
#[test]
fn fresh_noise_has_the_variance_that_the_planner_assumes() {
    let ring = ring("n11_q1x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    let rows = 1 << 17;
    let values = vec![5_i64; rows];
    let mut encryptor = Encryptor::new();
    let mut chunk = encryptor.begin_chunk(0, rows).unwrap();
    let seed = chunk.seed();
    let bytes = chunk.encrypt_sum(&ring, &[column(&secret, 0, &values)]).unwrap().remove(0);
    let id = BodyId { column: 0, chunk: 0, element_count: 64, lanes: 1 };
    let body = hush_rlwe::UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
    // A modulus of 255 bits leaves the lifted phase as it is.
    let phases = crate::decrypt_sum_chunk(&secret, seed, &body, rows, 255, crate::PhaseLimit::NONE).unwrap();
    let t = I256::ONE << 27;
    let (mut sum, mut squares) = (0.0, 0.0);
    for phase in phases {
        let error: I256 = phase - I256::from(5);
        assert_eq!(error % t, I256::ZERO);
        let error = I256::as_f64(error / t);
        assert!(error.abs() <= hush_params::noise::ERROR_MAX);
        sum += error;
        squares += error * error;
    }
    let n = rows as f64;
    assert!((squares / n - hush_params::noise::ERROR_VARIANCE).abs() < 0.3, "variance {}", squares / n);
    assert!((sum / n).abs() < 7.0 * (10.5 / n).sqrt(), "mean {}", sum / n);
}

/// A chunk of few rows stores few coefficients, and decrypts to the same values.
#[test]
fn cut_chunks_decrypt() {
    let ring = ring("n12_q2x46_sec128_v1");
    let owner = OwnerSeed::generate().unwrap();
    let secret = owner.of_table([0; 16], [0; 16]).secret(SecretKind::Sum, &ring, [1; 16]);
    for rows in [1, 100, 4095, 4096, 4097, 8192] {
        let values: Vec<i64> = (0..rows as i64).map(|row| row * 7919 % 1000 - 300).collect();
        let mut encryptor = Encryptor::new();
        let mut chunk = encryptor.begin_chunk(0, rows).unwrap().cut();
        let seed = chunk.seed();
        let bytes = chunk.encrypt_sum(&ring, &[column(&secret, 0, &values)]).unwrap().remove(0);
        let element_count = rows.div_ceil(4096) as u32;
        let id = BodyId { column: 0, chunk: 0, element_count, lanes: 1 };
        let body =
            hush_rlwe::UncheckedBody::decode(&bytes).unwrap().conform(&ring, BodyKind::Sum, id).unwrap();
        // 92 bits a value, and 48 bytes of header and checksum.
        assert!(bytes.len() <= 48 + (92 * rows).div_ceil(8) + 2, "{rows} {}", bytes.len());
        let limit = crate::PhaseLimit::from_log2(60.0);
        let found = crate::decrypt_sum_chunk(&secret, seed, &body, rows, 27, limit).unwrap();
        assert!(found.iter().zip(&values).all(|(found, value)| *found == I256::from(*value)), "{rows}");
        if rows % 4096 > 0 && rows % 4096 < 4095 {
            let more = crate::decrypt_sum_chunk(&secret, seed, &body, rows + 1, 27, limit).unwrap_err();
            assert_eq!(more, crate::DecryptError::Coefficients { found: rows, expected: rows + 1 });
        }
    }
}
