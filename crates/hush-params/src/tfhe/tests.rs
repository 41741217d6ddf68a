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
    assert!(least_noise_log2(559).is_none() && least_noise_log2(1101).is_none());
    assert_eq!(least_noise_log2(980), Some(-21.81));
}

#[test]
fn wrong_results_are_rarer_than_promised() {
    for set in SETS {
        assert!(set.failure_log2() < -128.0, "{}: 2^{:.1}", set.name(), set.failure_log2());
        assert_eq!(set.prime() % (2 * set.degree() as u64), 1);
        assert!(set.degree().is_power_of_two() && set.expansion().is_power_of_two());
        assert!(set.switch().bits * set.switch().levels < 32);
    }
}

/// Of circuit bootstrapping: bits out of bootstrappings, and results of the widest look-up, into a bootstrapping and as bits of the next index.
#[test]
fn wide_look_ups_are_rarely_wrong() {
    for set in SETS {
        let Some(circuit) = set.circuit() else {
            assert!(set.circuit_variances().is_none() && set.wide_failure_log2(16, 1).is_none());
            continue;
        };
        // What the formulas and the code are for.
        assert_eq!((set.rank(), set.expansion()), (1, 1));
        assert!(circuit.selector.levels <= 4);
        for bits in 1..=16 {
            let failure = set.wide_failure_log2(bits, 1).unwrap();
            assert!(failure < -128.0, "{}, {bits} bits: 2^{failure:.1}", set.name());
            let chained = set.chained_failure_log2(bits).unwrap();
            assert!(chained < -128.0, "{}, {bits} bits: 2^{chained:.1}", set.name());
        }
        let failure = set.circuit_failure_log2(set.norm()).unwrap();
        assert!(failure < -128.0, "{}: 2^{failure:.1}", set.name());
    }
    // A limit is one: more bits, and sums of results, would be wrong more often than that.
    assert!(WIDE.wide_failure_log2(8, 1).unwrap() < WIDE.wide_failure_log2(16, 1).unwrap());
    assert!(WIDE.wide_failure_log2(16, 8).unwrap() > -128.0);
}

/// The named sets for messages are those that the search finds, with norms for two halves of a message side by side.
#[test]
fn sets_for_messages_are_the_cheapest() {
    for (bits, set) in (2_u32..).zip(MESSAGES) {
        assert_eq!((set.message_bits(), set.norm()), (bits, (1 << bits.div_ceil(2)) + 1));
        let found = cheapest(bits, set.norm()).unwrap();
        assert_eq!(TfheSet { name: set.name, code: set.code, ..found }, *set);
    }
    assert_eq!(cheapest(12, 1), None, "no expansion that far");
}

/// The trace's variances by a simulation of its steps: errors of places in a polynomial of 16 coefficients, as sums of independent unit errors.
#[test]
fn errors_of_a_trace_are_counted() {
    let (degree, steps) = (16_usize, 4);
    // For each place the coefficients of all errors so far.
    let mut places: Vec<Vec<f64>> = vec![Vec::new(); degree];
    for step in 1..=steps {
        let element = ((2 * degree) >> step) + 1;
        let moved: Vec<(usize, f64)> = (0..degree)
            .map(|place| place * element % (2 * degree))
            .map(|to| (to % degree, if to < degree { 1.0 } else { -1.0 }))
            .collect();
        let before = places.clone();
        for (from, (to, sign)) in moved.iter().enumerate() {
            places[*to].iter_mut().zip(&before[from]).for_each(|(sum, error)| *sum += sign * error);
        }
        for place in 0..degree {
            for (other, errors) in places.iter_mut().enumerate() {
                errors.push(f64::from(u8::from(other == place)));
            }
        }
    }
    let sum: f64 = places.iter().flatten().map(|error| error * error).sum();
    let set = TfheSet::insecure_toy(16, degree, 1);
    let circuit = set.circuit().unwrap();
    let unit = 2f64.powi(circuit.switch.shift as i32) / set.prime() as f64;
    let digits = set.digits(circuit.switch);
    let automorphism = 16.0 * digits * set.large_noise() + 2.0 * 16.0 / 3.0 * unit * unit / 12.0;
    let found = (set.circuit_variances().unwrap().body - set.variances().rotation) / automorphism;
    assert!((found / sum - 1.0).abs() < 1e-6, "{found}, expected {sum}");
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

/// From slots to digits: what is added on the way is far below the distance of bits, and no bit is wrong with a chance of 2^-128, even of a number that has lost a sixteenth.
#[test]
fn numbers_survive_the_way_from_slots() {
    for degree_log2 in [12, 15, 16] {
        for powers in [1, 2] {
            let error = INTEGERS.bridge_error(1 << degree_log2, powers);
            assert!(error < 2f64.powi(-14), "2^{degree_log2}, {powers}: {error}");
            assert!(INTEGERS.bit_failure_of_phase_log2(error + 1.0 / 16.0) < -128.0);
        }
    }
    assert!(INTEGERS.bit_failure_of_phase_log2(0.13) >= 0.0);
    assert!(INTEGERS.bit_failure_of_phase_log2(0.12) > -128.0);
    // All bits of a residue are in digits, and the highest is no larger than the others may be.
    let bits = INTEGERS.log_q() - 1.0 - f64::from(bridge::SWITCH.bits * (bridge::SWITCH.levels - 1));
    assert!(bits + 0.1 < f64::from(bridge::SWITCH.bits - 1), "{bits}");
}
