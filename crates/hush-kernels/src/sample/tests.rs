// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::testing::{Random, lengths};

#[test]
fn binomial_samples_count_bits() {
    let mut random = Random::new(51);
    for len in lengths() {
        let bytes = random.bytes(CBD21_BYTES * len);
        let bit =
            |sample: usize, bit: usize| i32::from(bytes[CBD21_BYTES * sample + bit / 8] >> (bit % 8) & 1);
        let count = |sample: usize, bits: std::ops::Range<usize>| bits.map(|i| bit(sample, i)).sum::<i32>();
        let expected: Vec<i32> = (0..len).map(|i| count(i, 0..21) - count(i, 21..42)).collect();
        for cpu in Cpu::available() {
            let mut out = vec![99; len];
            cbd21_into(cpu, &bytes, &mut out);
            assert_eq!(out, expected, "{cpu}, {len}");
        }
    }
}

#[test]
fn binomial_samples_reach_their_ends() {
    let ends = [([0xFF, 0xFF, 0x1F, 0, 0, 0], 21), ([0, 0, 0xE0, 0xFF, 0xFF, 0xFF], -21)];
    for (bytes, expected) in ends {
        for cpu in Cpu::available() {
            let mut out = [0; 17];
            cbd21_into(cpu, &bytes.repeat(17), &mut out);
            assert_eq!(out, [expected; 17], "{cpu}");
        }
    }
}

#[test]
fn binomial_samples_have_the_stated_moments() {
    // 2^17 samples: mean 0 ± 6·sqrt(10.5/2^17) = ±0.054, variance 10.5 ± 6·sqrt(2·10.5²/2^17) = ±0.25;
    // a false alarm has probability below 2^−28, and the seed is fixed.
    let count = 1 << 17;
    let mut out = vec![0; count];
    cbd21_into(Cpu::scalar(), &Random::new(52).bytes(CBD21_BYTES * count), &mut out);
    let mean = out.iter().map(|&x| f64::from(x)).sum::<f64>() / count as f64;
    let variance = out.iter().map(|&x| f64::from(x * x)).sum::<f64>() / count as f64;
    assert!(mean.abs() < 0.054, "mean {mean}");
    assert!((variance - 10.5).abs() < 0.25, "variance {variance}");
}

#[test]
fn ternary_samples_split_the_words_in_thirds() {
    let third = u64::MAX / 3;
    // ⌊3u/2^64⌋ steps at ⌈2^64/3⌉ = third + 1 and ⌈2^65/3⌉ = 2·third + 1.
    let cases = [(0, -1), (third, -1), (third + 1, 0), (2 * third, 0), (2 * third + 1, 1), (u64::MAX, 1)];
    for cpu in Cpu::available() {
        for len in lengths() {
            let words: Vec<(u64, i8)> = (0..len).map(|i| cases[i % cases.len()]).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|(word, _)| word.to_le_bytes()).collect();
            let mut out = vec![99; len];
            ternary_into(cpu, &bytes, &mut out);
            assert!(out.iter().zip(&words).all(|(found, (_, expected))| found == expected), "{cpu}, {len}");
        }
    }
}
