// SPDX-License-Identifier: Apache-2.0
//! Forecasts against what evaluation reports, and the sets that follow from them.

use super::*;
use crate::bench::Question;
use crate::bv11::{
    InsecureBv11, InsecureBv11Leveled, InsecureBv11LeveledParams, InsecureBv11Params, Overflow, rung,
};
use crate::eval::evaluate;
use crate::primes::prime_below_power;
use crate::{InsecureScheme, Seed, Stream};

fn circuit(text: &str, width: u32) -> Circuit {
    let values: Vec<(String, u64)> = ('a'..='l').map(|name| (name.to_string(), 1)).collect();
    Circuit::parse(text, width, &values).unwrap()
}

/// The exceeded limit, by name of the variant.
fn unpromised(security: u32, circuit: &Circuit) -> Vec<&'static str> {
    let plain = InsecureBv11Params::for_circuit(security, 0, circuit).unwrap();
    let leveled = InsecureBv11LeveledParams::for_circuit(security, 0, circuit).unwrap();
    for bits in [plain.security_bits(), leveled.security_bits()] {
        assert!(bits > f64::from(security) - 1.0, "{security}: {bits}");
    }
    let variants = [("bv11", plain.promises(circuit)), ("bv11-leveled", leveled.promises(circuit))];
    variants.into_iter().filter(|(_, promised)| !promised).map(|(name, _)| name).collect()
}

#[test]
fn sets_promise_the_questions_of_the_benchmark_and_adders() {
    let none: [&str; 0] = [];
    for security in [42, 52, 62, 72] {
        for question in Question::ALL {
            assert_eq!(
                unpromised(security, &circuit(question.expression(), 1)),
                none,
                "{security} {question:?}"
            );
        }
        for (text, width) in [("1*1+1*0+1*1+0*1+1*1+1*1", 1), ("3+6", 3), ("a+b+c+d+e+f+g+h", 1), ("a", 1)] {
            assert_eq!(unpromised(security, &circuit(text, width)), none, "{security} {text}");
        }
    }
}

#[test]
fn a_set_that_promises_is_left_and_only_others_grow() {
    for security in [42, 52, 62, 72, 128] {
        let one = circuit("a*b", 1);
        let named = InsecureBv11Params::named(security, 1).unwrap();
        assert_eq!(InsecureBv11Params::for_circuit(security, 1, &one).unwrap(), named);
        let derived = InsecureBv11LeveledParams::derive(security, 1).unwrap();
        assert_eq!(InsecureBv11LeveledParams::for_circuit(security, 1, &one).unwrap(), derived);
        // More depth than the circuit has, as asked for.
        assert_eq!(InsecureBv11Params::for_circuit(security, 2, &one).unwrap().depth(), 2);
    }
    let eleven = circuit(Question::Eleven.expression(), 1);
    let (named, grown) =
        (InsecureBv11Params::named(42, 1).unwrap(), InsecureBv11Params::for_circuit(42, 1, &eleven).unwrap());
    assert!(!named.promises(&eleven) && grown.promises(&eleven));
    assert!(grown.rung.q.bits() <= named.rung.q.bits() + 4, "{grown:?}");
    // More sums than any modulus here has room for: the usual sets.
    let wide = circuit(&format!("({0})*({0})*({0})", vec!["a"; 1300].join("+")), 1);
    let named = InsecureBv11Params::named(42, 2).unwrap();
    assert_eq!(InsecureBv11Params::for_circuit(42, 0, &wide).unwrap(), named);
    let derived = InsecureBv11LeveledParams::derive(42, 2).unwrap();
    assert_eq!(InsecureBv11LeveledParams::for_circuit(42, 0, &wide).unwrap(), derived);
}

/// Every gate's bound is as the forecast says or a little below, as the forecast does not know how many samples are summed.
fn agrees<S: InsecureScheme>(scheme: &S, ladder: &Ladder, circuit: &Circuit, seed: &Seed) {
    let forecast = ladder.of_circuit(circuit).unwrap();
    let is_above = |forecast: f64, reported: f64| {
        let forecast = forecast.log2();
        assert!((forecast - 0.5..=forecast + 1e-9).contains(&reported), "{reported} forecast {forecast}");
    };
    let mut unsafe_count = 0;
    let evaluation = evaluate(scheme, circuit, seed, &mut |step| {
        is_above(forecast.gates[step.gate], step.noise.bound_log2);
        unsafe_count += usize::from(!step.noise.is_safe());
    })
    .unwrap();
    for (&bound, noise) in forecast.results.iter().zip(&evaluation.finished) {
        is_above(bound, noise.bound_log2);
        unsafe_count += usize::from(!noise.is_safe());
    }
    assert_eq!(forecast.results.len(), evaluation.finished.len());
    assert_eq!(evaluation.unpromised, unsafe_count);
    assert!(forecast.overflow.is_some() || unsafe_count == 0);
}

#[test]
fn forecasts_of_random_circuits_are_bounds_of_what_evaluation_reports() {
    let seed = Seed::from_text("forecast");
    let params = InsecureBv11Params::custom(2, 16, prime_below_power(52), None, Overflow::Show).unwrap();
    let plain = InsecureBv11::generate(&params, &seed, &mut |_| {}).unwrap();
    let rungs = [(18, 46), (16, 32), (14, 18)].map(|(n, bits)| rung(n, prime_below_power(bits)).unwrap());
    let rungs = InsecureBv11LeveledParams::custom(rungs.to_vec(), None, Overflow::Show).unwrap();
    let leveled = InsecureBv11Leveled::generate(&rungs, &seed, &mut |_| {}).unwrap();
    let mut random = Stream::derive(&seed, "circuits");
    let mut count = 0;
    while count < 60 {
        // Terms of names joined at random, parentheses around some of them.
        let mut text = "a".to_owned();
        for name in 'b'..='h' {
            text = match random.below(6) {
                0 => format!("({text})*{name}"),
                1 => format!("({text})*({name}+a)"),
                2 => format!("{text}*{name}"),
                _ => format!("{text}+{name}"),
            };
        }
        let circuit = circuit(&text, 1 + random.below(2) as u32);
        if circuit.depth() <= 2 {
            agrees(&plain, &params.ladder(), &circuit, &seed);
            agrees(&leveled, &rungs.ladder(), &circuit, &seed);
            count += 1;
        }
    }
    let deep = circuit("a*b*c*d*e", 1);
    assert_eq!(params.ladder().of_circuit(&deep), None);
}
