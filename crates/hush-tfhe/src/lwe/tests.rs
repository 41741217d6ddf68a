// SPDX-License-Identifier: Apache-2.0
use hush_params::tfhe::SETS;
use hush_ring::Cpu;
use hush_testkit::Draw;

use super::*;

/// The error that a modulus switch adds, in places of a table, for secrets of several weights: its mean is half a place down, since the body is rounded down, and its variance that
/// of the formula, whatever the weight. Without the means of roundings taken out, it would grow with the weight, and be twice as large at its mean.
#[test]
fn modulus_switches_add_what_the_formula_says() {
    let mut draw = Draw::of_environment("HUSH_DRAW");
    for set in SETS {
        let context = Context::new(set, Cpu::detect().unwrap()).unwrap();
        for (weight, dropped) in [(0.0, 0), (0.4, 1), (0.5, 0), (1.0, 0), (1.0, 2)] {
            let bits: Vec<u32> = (0..set.dimension()).map(|_| u32::from(draw.unit() < weight)).collect();
            let (mut sum, mut squares, count) = (0.0, 0.0, 4000);
            for _ in 0..count {
                let words: Vec<u32> = (0..=set.dimension()).map(|_| draw.word() as u32).collect();
                let small = SmallLwe::from_words(&context, words).unwrap();
                let turns = small.turns(&context, dropped);
                let dot = |mask: &[u32]| {
                    mask.iter().zip(&bits).fold(0_u32, |sum, (a, s)| sum.wrapping_add(a.wrapping_mul(*s)))
                };
                let exact = small.body().wrapping_add(dot(small.mask()));
                let step = 32 - (2 * set.table_degree()).trailing_zeros() + dropped;
                let switched = (turns.body.wrapping_add(dot(&turns.mask)) >> dropped) << step;
                let error = f64::from(switched.wrapping_sub(exact) as i32) / f64::from(1_u32 << step);
                sum += error;
                squares += (error + 0.5) * (error + 0.5);
            }
            let (mean, variance) = (sum / f64::from(count), squares / f64::from(count));
            let fine = 2.0 * set.table_degree() as f64;
            let expected = set.variances().modulus_switch * fine * fine;
            // Five standard errors: of a mean, and of a variance of something like a normal distribution.
            assert!((mean + 0.5).abs() < 5.0 * (expected / f64::from(count)).sqrt(), "{draw}: {mean}");
            let ratio = variance / expected;
            assert!((ratio - 1.0).abs() < 5.0 * (2.0 / f64::from(count)).sqrt(), "{draw}: {ratio}");
        }
    }
}
