// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::SETS;
use hush_ring::Cpu;
use hush_testkit::Draw;

use super::*;

/// Digits give back the word, but for what is left out, are balanced, and have no mean.
#[test]
fn digits_are_those_of_words() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for set in SETS {
        let context = Context::new(set, Cpu::detect().unwrap()).unwrap();
        let seed = UniformSeed::from_bytes([7; 32]);
        let bodies = vec![0; SwitchKey::row_count(&context)];
        let key = SwitchKey::expand(&context, seed, &bodies).unwrap();
        let SwitchDigits { bits, levels } = set.switch();
        let (half, left_out) = (1_i32 << (bits - 1), 32 - bits * levels);
        let mut digits = vec![0; levels as usize];
        let mut sums = vec![0_i64; levels as usize];
        let count = 20_000;
        let edges = [0, 1, u32::MAX, 1 << 31, (1 << 31) - 1, u32::MAX << left_out, 1 << (left_out - 1)];
        for word in edges.into_iter().chain((0..count).map(|_| draw.word() as u32)) {
            key.cut(word, &mut digits);
            let value = (1..)
                .zip(&digits)
                .fold(0_u32, |sum, (level, digit)| sum.wrapping_add((*digit as u32) << (32 - bits * level)));
            let rest = word.wrapping_sub(value) as i32;
            assert!(rest.unsigned_abs() <= 1 << (left_out - 1), "{word}: {digits:?}");
            assert!(digits.iter().all(|digit| (-half..=half).contains(digit)), "{word}: {digits:?}");
            sums.iter_mut().zip(&digits).for_each(|(sum, digit)| *sum += i64::from(*digit));
        }
        // Five standard errors of a mean of uniform digits; half a digit would be far out.
        let limit = 5.0 * f64::from(half) / 3_f64.sqrt() * f64::from(count).sqrt();
        assert!(sums.iter().all(|sum| (*sum as f64).abs() < limit), "{draw}: {sums:?}, {limit}");
    }
}
