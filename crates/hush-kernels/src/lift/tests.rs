// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, lengths, moduli};

#[test]
fn signed_words_lift_to_their_residues() {
    let mut random = Random::new(31);
    for modulus in moduli() {
        let q = i128::from(modulus.value());
        let mut integers =
            vec![0, 1, -1, i64::MAX, i64::MIN, q as i64, -(q as i64), q as i64 - 1, 1 - q as i64];
        integers.extend(random.words(120).iter().enumerate().map(|(i, &x)| x as i64 >> (i % 64)));
        for len in lengths().filter(|&len| len <= integers.len()).chain([integers.len()]) {
            let src = &integers[..len];
            let expected: Vec<u64> = src.iter().map(|&x| i128::from(x).rem_euclid(q) as u64).collect();
            for cpu in Cpu::available() {
                let mut out = vec![0; len];
                lift_signed(cpu, modulus, src, &mut out);
                assert_eq!(out, expected, "{cpu}, q = {q}");
            }
        }
    }
}

#[test]
fn errors_are_scaled_and_added() {
    let mut random = Random::new(32);
    for modulus in moduli() {
        let q = i128::from(modulus.value());
        let mut error = vec![0, 1, -1, 21, -21, i32::MAX, i32::MIN];
        error.extend(random.words(123).iter().enumerate().map(|(i, &x)| x as i32 >> (i % 32)));
        for len in lengths().filter(|&len| len <= error.len()).chain([error.len()]) {
            let start = random.residues(modulus, len);
            for scale in [0, 1 % modulus.value(), modulus.value() - 1, (1 << 29) % modulus.value()] {
                let expected: Vec<u64> = start
                    .iter()
                    .zip(&error)
                    .map(|(&x, &e)| (i128::from(x) + i128::from(e) * i128::from(scale)).rem_euclid(q) as u64)
                    .collect();
                for cpu in Cpu::available() {
                    let mut out = start.clone();
                    add_scaled_error(cpu, modulus, &mut out, &error[..len], scale);
                    assert_eq!(out, expected, "{cpu}, q = {q}, scale {scale}");
                }
            }
        }
    }
}
