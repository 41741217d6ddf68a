// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn sets_are_secure_by_the_estimates() {
    for set in SETS {
        let least = least_noise_log2(set.dimension()).unwrap();
        let found = set.small_noise().log2() / 2.0;
        assert!(found >= least, "{}: noise 2^{found:.2}, at least 2^{least:.2}", set.name());
        let of_ring = GLWE_ESTIMATES
            .iter()
            .filter(|(dimension, log_q, _)| *dimension <= set.large_dimension() && set.log_q() <= *log_q)
            .map(|(.., bits)| *bits)
            .fold(0.0, f64::max);
        assert!(of_ring >= 132.0, "{}: {of_ring} bits", set.name());
    }
    let largest = |bits| crate::primes::primes_of(bits)[0];
    assert_eq!((INTEGERS.prime(), GATES.prime()), (largest(47), largest(38)));
    // A table of estimates that rises nowhere, so that a line between two of them is one.
    assert!(LWE_ESTIMATES.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
    assert!(least_noise_log2(559).is_none() && least_noise_log2(981).is_none());
    assert_eq!(least_noise_log2(980), Some(-21.81));
}

#[test]
fn wrong_results_are_rarer_than_promised() {
    for set in SETS {
        assert!(set.failure_log2() < -128.0, "{}: 2^{:.1}", set.name(), set.failure_log2());
        assert_eq!(set.prime() % (2 * set.degree() as u64), 1);
        assert!(set.degree().is_power_of_two());
        assert!(set.switch().bits * set.switch().levels < 32);
    }
}

/// The parameters that another library (tfhe-rs) states at 2^-129.58: `n` = 918, 45 of 64 bits of noise, `N` = 2048, 17 of 64 bits, one digit of
/// 23 bits, four of 4. The formulas are the same; only noise and digits of the ring differ, and are put in here.
#[test]
fn the_formulas_give_what_others_state() {
    let n = 918.0;
    let uniform = |bits: i32| (2f64.powi(2 * bits + 1) + 1.0) / 6.0 / 2f64.powi(128);
    let base = 2f64.powi(23);
    let rotation = n
        * (2.0 * 2048.0 * (base * base + 2.0) / 12.0 * uniform(17)
            + (1.0 + 2048.0 / 2.0) / (24.0 * base * base));
    let switch = 2048.0 * (4.0 * (256.0 + 2.0) / 12.0 * uniform(45) + 0.5 / (12.0 * 2f64.powi(32)));
    let modulus = (1.0 + n / 4.0) / (12.0 * 4096f64.powi(2));
    let x = 2f64.powi(-6) / (2.0 * (25.0 * rotation + switch + modulus)).sqrt();
    let log2 = (-x * x - (x * std::f64::consts::PI.sqrt()).ln()) / std::f64::consts::LN_2;
    assert!((log2 + 129.6).abs() < 0.5, "2^{log2:.2}");
}

#[test]
fn names_and_codes_differ() {
    assert_ne!(INTEGERS.name(), GATES.name());
    assert!(SETS.iter().enumerate().all(|(place, set)| usize::from(set.code()) == place + 1));
}
