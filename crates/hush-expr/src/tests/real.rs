// SPDX-License-Identifier: Apache-2.0
//! Circuits with real coefficients against the plain meaning of their expressions: values, ranges, and how errors pass a turn.

use super::*;

fn unit_input(low: &str, high: &str) -> Input {
    Input { unit: ratio("1"), range: Interval::new(ratio(low), ratio(high)) }
}

fn real(text: &str, inputs: &[Input]) -> Result<RealCircuit, ExprError> {
    RealCircuit::build(&Expression::parse(text).unwrap(), inputs, 1)
}

/// Runs a circuit step by step; `shifts` are added to steps as they are computed.
fn run_real(circuit: &RealCircuit, encrypted: &[f64], shifts: &[(usize, f64)]) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::new();
    for (place, step) in circuit.steps().iter().enumerate() {
        let value = match step {
            RealStep::Input(input) => encrypted[*input],
            RealStep::Linear { constant, terms } => {
                terms.iter().fold(*constant, |sum, (place, c)| sum + c * values[*place])
            }
            RealStep::Product(a, b) => values[*a] * values[*b],
            RealStep::Total(_) => unreachable!("no means here"),
        };
        let shift = shifts.iter().find(|(shifted, _)| *shifted == place).map_or(0.0, |(_, shift)| *shift);
        values.push(value + shift);
    }
    values
}

/// Repetitions that stay within bounds for values from 1/4 to 3/4.
fn repetition() -> impl Strategy<Value = String> {
    let body = prop_oneof![
        Just("z^2/2 + x/4"),
        Just("2*z*(1 - z)"),
        Just("z - z^3/3 + y/8"),
        Just("z*(2 - x*z)"),
        Just("0.9*z + 0.1*x*y"),
        Just("(z + x)*(z - y)/3"),
        Just("-z^2*y + 1/3"),
        Just("1000*(z/1000 - (z*x)/2500)"),
    ];
    let pair =
        prop_oneof![Just("a := x, b := y, (a + b)/2, a*b"), Just("a := x, b := 1, a*b + 0.1, b*(2 - a*b)/2")];
    prop_oneof![
        (1..12_u32, body.clone()).prop_map(|(count, body)| format!("repeat({count}, z := x, {body})")),
        (1..6_u32, body).prop_map(|(count, body)| format!("y*repeat({count}, z := x + y/4, {body})^2 - x")),
        (1..8_u32, pair).prop_map(|(count, pair)| format!("repeat({count}, {pair})")),
    ]
}

proptest! {
    /// Values are what the text means, within the ranges, and states err no more than the derivatives of their turn say.
    #[test]
    fn real_circuits_compute_what_repetitions_mean(
        text in repetition(),
        x in 0.25..0.75_f64,
        y in 0.25..0.75_f64,
        shift in -1.0..1.0_f64,
    ) {
        let inputs = vec![unit_input("0.25", "0.75"); 2];
        let circuit = real(&text, &inputs).unwrap();
        let expression = Expression::parse(&text).unwrap();
        let exact: Vec<Ratio> = [x, y].iter().map(|&value| Ratio::from_f64(value).unwrap()).collect();
        // Names are in the order of the text.
        let given: Vec<usize> = expression.names().iter().map(|name| usize::from(name == "y")).collect();
        let encrypted: Vec<f64> = given.iter().map(|&place| [x, y][place]).collect();
        let of_names: Vec<Ratio> = given.iter().map(|&place| exact[place].clone()).collect();
        let values = run_real(&circuit, &encrypted, &[]);
        let output = Ratio::from_f64(*values.last().unwrap()).unwrap();
        let found = circuit.reading().result(&output, 1).to_f64();
        let expected = expression.value_at(&of_names).unwrap().to_f64();
        prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{}: {} {}", text, found, expected);
        for (value, range) in values.iter().zip(circuit.ranges()) {
            let slack = 1e-9 * (1.0 + value.abs());
            prop_assert!(*value >= range.low() - slack && *value <= range.high() + slack, "{}: {} {:?}", text, value, range);
        }
        // Off by less than the derivatives hold for, at every start of a turn.
        for turn in circuit.turns() {
            let shifts: Vec<(usize, f64)> = turn
                .starts
                .iter()
                .filter(|(place, _)| *place < turn.first)
                .map(|&(place, limit)| (place, shift * 0.9 * limit.exp2()))
                .collect();
            let shifted = run_real(&circuit, &encrypted, &shifts);
            for (state, slopes) in &turn.states {
                // A start that depends on another moves with it: its whole error counts.
                let bound: f64 =
                    slopes.iter().map(|&(start, slope)| slope * (shifted[start] - values[start]).abs()).sum();
                let within = turn.starts.iter().all(|&(start, limit)| {
                    (shifted[start] - values[start]).abs() <= limit.exp2()
                });
                let found = (shifted[*state] - values[*state]).abs();
                prop_assert!(!within || found <= bound + 1e-9 * (1.0 + values[*state].abs()), "{}: {} {}", text, found, bound);
            }
        }
    }
}

#[test]
fn ranges_and_slopes_of_turns_are_near_what_they_are() {
    let inputs = [unit_input("0.25", "0.75")];
    let circuit = real("repeat(30, z := x, 2*z*(1 - z))", &inputs).unwrap();
    assert_eq!(circuit.turns().len(), 30);
    // From 3/8 to 1/2 after the first turn, and at 1/2 in the end.
    let state = |turn: usize| circuit.turns()[turn].states[0].clone();
    let factor = |turn: usize| circuit.ranges()[state(turn).0];
    let first = factor(0);
    assert!((first.high() / first.low() - 0.5 / 0.375).abs() < 0.02, "{first:?}");
    let last = factor(29);
    assert!(last.high() / last.low() < 1.02, "{last:?}");
    // The derivative 2 − 4z is 1/2 at most behind the first turn, and small in the end.
    let slope = |turn: usize| state(turn).1.iter().map(|(_, slope)| slope).sum::<f64>();
    assert!(
        slope(1) < 2.0 * slope(0) && slope(29) < 0.1 * slope(1),
        "{} {} {}",
        slope(0),
        slope(1),
        slope(29)
    );
}

#[test]
fn a_coefficient_takes_no_level_where_it_need_not() {
    let inputs = vec![unit_input("-1", "1"); 2];
    let levels = |circuit: &RealCircuit| {
        let mut depths: Vec<usize> = Vec::new();
        for step in circuit.steps() {
            let own = match step {
                RealStep::Input(_) => 0,
                RealStep::Linear { terms, .. } => {
                    terms.iter().map(|&(at, c)| depths[at] + usize::from(!is_whole(c))).max().unwrap()
                }
                RealStep::Product(a, b) => 1 + depths[*a].max(depths[*b]),
                RealStep::Total(of) => depths[*of],
            };
            depths.push(own);
        }
        depths.last().copied().unwrap()
    };
    let depth = |text: &str| levels(&real(text, &inputs).unwrap());
    assert_eq!(depth("repeat(2, z := x, z^2/2 + y/3)"), 2);
    // Multiples of one another, as long as values stay small that way.
    assert_eq!(depth("repeat(1, z := x, 3*z*y - z^2/4 + y)"), 1);
    assert_eq!(depth("repeat(2, z := x, 3*z*y - z^2/4 + y)"), 3);
    assert_eq!(depth("0.3*x*y + 0.7*x^2"), 2);
    // Values would become too large without a division now and then.
    let long = depth("repeat(20, z := x, z^2/2 + y/3)");
    assert!((21..=26).contains(&long), "{long}");
    // In smaller units they stay where they are.
    let small = vec![unit_input("-0.25", "0.25"); 2];
    assert_eq!(real("repeat(20, z := 4*x, z^2/2 + 4*y/3)", &small).map(|circuit| levels(&circuit)), Ok(20));
    assert_eq!(depth("x^1000"), 10);
    assert_eq!(depth("repeat(10, z := x, z^2)"), 10);
    assert_eq!(depth("repeat(100, z := x, 0.9*z + 0.1*y)*y"), 2);
}

#[test]
fn repetitions_are_their_turns_one_after_the_other() {
    let same = |a: &str, b: &str| {
        assert_eq!(circuit(a).steps(), circuit(b).steps(), "{a}");
        let expression = Expression::parse(a).unwrap();
        let again = Expression::parse(&expression.to_string()).unwrap();
        assert_eq!(again, expression, "{expression}");
    };
    same("repeat(2, z := x, z*z + y)", "(x*x + y)*(x*x + y) + y");
    same("repeat(3, a := x, b := y, b, a)", "0*x + y");
    // Names outside are seen where no state has them.
    same("repeat(1, x := x + y, x*x) + x", "(x + y)*(x + y) + x");
    same("repeat(2, z := x, repeat(2, w := z, w*y))", "x*y*y*y*y");
    let value = |text: &str, values: &[&str]| {
        let values: Vec<Ratio> = values.iter().map(|value| ratio(value)).collect();
        Expression::parse(text).unwrap().value_at(&values).unwrap()
    };
    assert_eq!(value("repeat(3, z := x, z^2 - 1)", &["2"]), ratio("63"));
    assert_eq!(value("repeat(10, a := 0*x, b := 1, b, a + b)", &["5"]), ratio("55"));
    // Beyond any number of digits that is kept, and near what it is.
    let endless = value("repeat(400, z := x, z/3 + z^2/7)", &["0.1"]);
    assert!(endless.to_f64() < 1e-100 && !endless.is_zero());
}

#[test]
fn what_is_wrong_with_a_repetition_is_said_with_its_place() {
    let error = |text: &str| Expression::parse(text).unwrap_err();
    assert_eq!(error("repeat(0, z := x, z)"), ExprError::Count { position: 8, max: 1000 });
    assert_eq!(error("repeat(1001, z := x, z)"), ExprError::Count { position: 8, max: 1000 });
    assert_eq!(error("repeat(n, z := x, z)"), ExprError::Count { position: 8, max: 1000 });
    assert_eq!(error("repeat(5, x)").code(), "HUSH-X001");
    assert_eq!(error("repeat(5, z := x)").code(), "HUSH-X001");
    assert_eq!(error("repeat(5, z := x, z := y, z, z)").code(), "HUSH-X001");
    assert_eq!(error("repeat(5, z := x, y, z)").code(), "HUSH-X001");
    assert_eq!(error("repeat(5, and := x, 1)").code(), "HUSH-X001");
    assert_eq!(error("z := x").code(), "HUSH-X001");
    let many = "repeat(1000, z := x, repeat(1000, w := z, w*x))";
    assert!(matches!(error(many), ExprError::TooLarge { .. }));
    let wild = real("repeat(100, z := x, 2*z^2 + 1)", &[unit_input("0", "1")]).unwrap_err();
    assert!(matches!(wild, ExprError::TooLarge { .. }));
    // A state is not seen outside, nor by the starts.
    assert_eq!(Expression::parse("repeat(2, z := z, z*z) + z").unwrap().names(), ["z"]);
}

/// Runs a circuit on vectors; `shifts` are added to every element of a step.
fn run_vectors(circuit: &RealCircuit, encrypted: &[Vec<f64>], shifts: &[(usize, Vec<f64>)]) -> Vec<Vec<f64>> {
    let length = encrypted[0].len();
    let mut values: Vec<Vec<f64>> = Vec::new();
    for (place, step) in circuit.steps().iter().enumerate() {
        let mut value: Vec<f64> = match step {
            RealStep::Total(of) => vec![values[*of].iter().sum(); length],
            RealStep::Input(input) => encrypted[*input].clone(),
            RealStep::Linear { constant, terms } => (0..length)
                .map(|at| terms.iter().fold(*constant, |sum, (place, c)| sum + c * values[*place][at]))
                .collect(),
            RealStep::Product(a, b) => (0..length).map(|at| values[*a][at] * values[*b][at]).collect(),
        };
        if let Some((_, shift)) = shifts.iter().find(|(shifted, _)| *shifted == place) {
            value.iter_mut().zip(shift).for_each(|(value, shift)| *value += shift);
        }
        values.push(value);
    }
    values
}

/// Repetitions with means, for values from 1/4 to 3/4.
const MEANS: [&str; 10] = [
    "repeat(6, w := 0, w - mean((w*x - y)*x))",
    "repeat(4, w := x, w - mean((w*x - y)*x))",
    "repeat(5, a := 0, b := 1, a - mean(a + b*x - y)/2, b - mean((a + b*x - y)*x)/2)",
    "repeat(3, z := x, z - mean(z) + y*mean(z^2))",
    "repeat(4, z := x, (z + mean(z*y))/2)",
    "x - mean(x)",
    "repeat(3, s := 1/2, t := x, mean(s*t)/2, t - s*t)",
    "repeat(2, z := x, repeat(2, w := z, w - mean(w)/2) + y/4)",
    "repeat(2, z := x, y*repeat(2, w := z, w - mean(w)/2))",
    "repeat(3, w := 0, w + sum((y - w*x)*x)/20)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Values are what the text means, within the ranges, and errors of every element for itself move states no more than the derivatives say.
    #[test]
    fn means_are_over_all_elements(
        which in 0..MEANS.len(),
        columns in proptest::collection::vec(proptest::collection::vec(0.25..0.75_f64, 5), 2),
        signs in proptest::collection::vec(any::<bool>(), 64),
    ) {
        let text = MEANS[which];
        let expression = Expression::parse(text).unwrap();
        let names = expression.names().len();
        let inputs = vec![unit_input("0.25", "0.75"); names];
        let circuit = RealCircuit::build(&expression, &inputs, 5).unwrap();
        let values = run_vectors(&circuit, &columns[..names], &[]);
        let exact: Vec<Vec<Ratio>> = columns[..names]
            .iter()
            .map(|column| column.iter().map(|&value| Ratio::from_f64(value).unwrap()).collect())
            .collect();
        let vectors: Vec<&[Ratio]> = exact.iter().map(Vec::as_slice).collect();
        let expected = expression.values(&vectors).unwrap();
        for (found, expected) in values.last().unwrap().iter().zip(&expected) {
            let found = circuit.reading().result(&Ratio::from_f64(*found).unwrap(), 1).to_f64();
            prop_assert!((found - expected.to_f64()).abs() < 1e-9, "{}: {} {}", text, found, expected.to_f64());
        }
        for (value, range) in values.iter().zip(circuit.ranges()) {
            let slack = 1e-9 * (1.0 + range.magnitude());
            let is_within = |value: &f64| *value >= range.low() - slack && *value <= range.high() + slack;
            prop_assert!(value.iter().all(is_within), "{}: {:?} {:?}", text, value, range);
        }
        for turn in circuit.turns() {
            let mut signs = signs.iter().cycle();
            let shifts: Vec<(usize, Vec<f64>)> = turn
                .starts
                .iter()
                .filter(|(place, _)| *place < turn.first)
                .map(|&(place, limit)| {
                    let of_element = |_| if *signs.next().unwrap() { 0.5 } else { -0.5 } * limit.exp2();
                    (place, (0..5).map(of_element).collect())
                })
                .collect();
            let shifted = run_vectors(&circuit, &columns[..names], &shifts);
            let moved = |place: usize| {
                shifted[place].iter().zip(&values[place]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            let within = turn.starts.iter().all(|&(start, limit)| moved(start) <= limit.exp2());
            for (state, slopes) in &turn.states {
                let bound: f64 = slopes.iter().map(|&(start, slope)| slope * moved(start)).sum();
                let slack = 1e-9 * (1.0 + circuit.ranges()[*state].magnitude());
                prop_assert!(!within || moved(*state) <= bound + slack, "{}: {} {}", text, moved(*state), bound);
            }
        }
    }
}

/// Turns are counted whether their errors are followed or not.
#[test]
fn every_turn_is_counted() {
    let inputs = vec![unit_input("0.25", "0.75"); 2];
    // The step of x^4 comes again in the first turn, where it is what the turn starts from.
    let circuit = real("repeat(3, z := x^4, x^4*z + y/2)", &inputs).unwrap();
    assert_eq!(circuit.turn_starts().len(), 3);
    assert!(circuit.turns().len() < 3);
    assert!(circuit.turns().iter().all(|turn| circuit.turn_starts().contains(&turn.first)));
    assert!(circuit.turn_starts().windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(real("x^4*y", &inputs).unwrap().turn_starts().len(), 0);
}

/// A short text with repetitions inside one another is passed as often as they have states, and not as often as the product of their numbers.
#[test]
fn nested_repetitions_of_many_states_are_gathered() {
    let level = |inside: String, depth: usize| {
        let names: Vec<String> = (0..8).map(|state| format!("v{depth}_{state}")).collect();
        let starts: Vec<String> = names.iter().map(|name| format!("{name} := 0")).collect();
        let mut next: Vec<String> = names[1..].to_vec();
        next.push("x".into());
        next[0] = format!("{} + {inside}", next[0]);
        format!("repeat(1, {}, {})", starts.join(", "), next.join(", "))
    };
    let text = (0..12).fold("x".to_owned(), level);
    let circuit = real(&text, &[unit_input("0", "1")]).unwrap();
    assert_eq!(circuit.reading().factor, Ratio::one());
}

/// What is added to a mean goes into it, where it is the same for every element, and nowhere else.
#[test]
fn a_step_of_gradient_descent_shrinks_errors() {
    let slopes = |text: &str| {
        let inputs = vec![unit_input("0.5", "1"); 2];
        let circuit = RealCircuit::build(&Expression::parse(text).unwrap(), &inputs, 8).unwrap();
        let turn = circuit.turns().last().unwrap().clone();
        let (state, slopes) = turn.states[0].clone();
        // By the state before, which is the first step of the turn's starts that is no vector.
        let before = slopes.iter().filter(|(at, _)| !matches!(circuit.steps()[*at], RealStep::Input(_)));
        (before.map(|(_, slope)| slope).sum::<f64>(), state)
    };
    // |1 − x²| is 3/4 at most; left outside, 1 and x² would add.
    assert!(slopes("repeat(3, w := 0, w - mean((w*x - y)*x))").0 < 0.76);
    assert!(slopes("repeat(3, w := y, w - mean((w*x - y)*x))").0 > 1.5);
}
