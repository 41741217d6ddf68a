// SPDX-License-Identifier: Apache-2.0
//! Circuits against the plain meaning of their expressions, and texts against the parser.

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;

mod cut;
mod logic;
mod real;
mod trees;

fn ratio(text: &str) -> Ratio {
    Ratio::from_decimal(text).unwrap()
}

/// Integers from −1000 to 1000, in units of 1/100.
fn cents() -> Input {
    Input { unit: ratio("0.01"), range: Interval::new(ratio("-1000"), ratio("1000")) }
}

fn circuit(text: &str) -> Circuit {
    let expression = Expression::parse(text).unwrap();
    Circuit::build(&expression, &vec![cents(); expression.names().len()]).unwrap()
}

/// Runs a circuit step by step.
fn run(circuit: &Circuit, encrypted: &[BigInt]) -> Vec<BigInt> {
    let mut values: Vec<BigInt> = Vec::new();
    for step in circuit.steps() {
        let value = match step {
            Step::Input(place) => encrypted[*place].clone(),
            Step::Linear { constant, terms } => {
                terms.iter().fold(constant.clone(), |sum, (place, c)| sum + c * &values[*place])
            }
            Step::Product(a, b) => &values[*a] * &values[*b],
        };
        values.push(value);
    }
    values
}

fn shape(text: &str) -> (u32, usize) {
    let circuit = circuit(text);
    (circuit.depth(), circuit.product_count())
}

#[test]
fn products_are_associated_anew_and_powers_are_balanced() {
    assert_eq!(shape("x*x*x*x"), (2, 2));
    assert_eq!(shape("x^7"), (3, 4));
    assert_eq!(shape("x^64"), (6, 6));
    assert_eq!(shape("a*(b*(c*d))"), (2, 3));
    // The sum comes late: it is joined last.
    assert_eq!(shape("a*b*(c*d + 1)"), (2, 3));
    assert_eq!(shape("y*(x+z)"), (1, 1));
    assert_eq!(shape("3*x - y/4 + 2"), (0, 0));
}

#[test]
fn nested_products_of_sums_are_distributed_where_that_saves_depth() {
    // As it stands: three products one after the other.
    assert_eq!(shape("1 + x*(2 + x*(3 + x*4))").0, 2);
    // Distributed it would be as deep, with one product more.
    assert_eq!(shape("y*(x+z)*2"), (1, 1));
}

#[test]
fn equal_parts_are_one_and_constants_are_folded() {
    assert_eq!(shape("(x+y)*(x+y) + (x+y)^2 + 3*(2*x+2*y)*(y+x)/7"), (1, 1));
    assert_eq!(shape("(x-y)*(y-x)"), (1, 1));
    let folded = circuit("2*3*x*0.5 - 3*x + x*y*0 + y");
    assert_eq!(
        (folded.steps().len(), &folded.reading().factor, &folded.reading().constant),
        (1, &ratio("0.01"), &Ratio::zero())
    );
    assert_eq!(circuit("x/3 + 7 - 2").reading().factor.to_string(), "1/300");
}

#[test]
fn the_range_of_a_square_knows_its_sign() {
    let range = circuit("(x-y)^2").ranges().last().unwrap().clone();
    assert_eq!((range.low(), range.high()), (&Ratio::zero(), &ratio("4000000")));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let code = |text: &str| {
        let built = Expression::parse(text)
            .and_then(|expression| Circuit::build(&expression, &vec![cents(); expression.names().len()]));
        let error = built.expect_err(text);
        (error.code(), error.to_string())
    };
    for (text, expected, place) in [
        ("x + ", "HUSH-X001", "position 5"),
        ("(x", "HUSH-X001", "position 3"),
        ("x y", "HUSH-X001", "position 3"),
        ("", "HUSH-X001", "position 1"),
        ("2x", "HUSH-X002", "position 1"),
        ("1.2.3*x", "HUSH-X002", "position 1"),
        ("x^2.5", "HUSH-X003", "position 3"),
        ("x^1025", "HUSH-X003", "position 3"),
        ("x^2^3", "HUSH-X003", "position 3"),
        ("x^-1", "HUSH-X003", "position 3"),
        ("y + sqrt(x)", "HUSH-X004", "position 5"),
        ("dot(x)", "HUSH-X005", "position 1"),
        ("1 + sum(x)", "HUSH-X006", "position 5"),
        ("x / y", "HUSH-X007", "position 5"),
        ("x / (2 - 2)", "HUSH-X008", "position 5"),
        ("x - x + 3", "HUSH-X009", ""),
        ("x^64*x^64*(x^64)^64", "HUSH-X010", ""),
    ] {
        let (found, message) = code(text);
        assert_eq!(found, expected, "{text}: {message}");
        assert!(message.contains(place), "{text}: {message}");
    }
    assert_eq!(code(&"(".repeat(1000)).0, "HUSH-X010");
    assert_eq!(code(&"-".repeat(1000)).0, "HUSH-X010");
    assert_eq!(code(&"x*".repeat(40_000)).0, "HUSH-X010");
    assert_eq!(code(&format!("x*{}", "9".repeat(2000))).0, "HUSH-X002");
}

#[test]
fn fractions_print_and_round_as_decimals() {
    assert_eq!(ratio("-1.50e-3").to_string(), "-0.0015");
    assert_eq!(Ratio::new(1.into(), 3.into()).unwrap().to_decimal(4), "0.3333");
    assert_eq!(Ratio::new((-2).into(), 3.into()).unwrap().to_decimal(2), "-0.67");
    for value in [0.1, -3.0e-300, 5e-324, f64::MAX, 1.0, -0.0, 2.5] {
        assert_eq!(Ratio::from_f64(value).unwrap().to_f64(), value, "{value}");
    }
    assert!([f64::NAN, f64::INFINITY].into_iter().all(|value| Ratio::from_f64(value).is_none()));
    assert!(
        ["", ".", "-", "1e", "1e999", "nan", "1_0", "0x1", "１"]
            .into_iter()
            .all(|t| Ratio::from_decimal(t).is_none())
    );
}

#[test]
fn ranges_known_from_the_distributed_form_leave_out_no_constant() {
    // a² + 2a reaches 120, (1 + a)² 121.
    let circuit = circuit("(1 + a)^2");
    let found = run(&circuit, &[1000.into()]).pop().unwrap();
    assert_eq!(circuit.reading().result(&Ratio::from(found.clone()), 1), ratio("121"));
    assert!(&Ratio::from(found) <= circuit.ranges().last().unwrap().high());
}

/// Values of [`cents`], their bounds often among them.
fn values() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(prop_oneof![-1000_i64..=1000, Just(-1000), Just(1000)], 3)
}

/// Texts of random expressions.
fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abc]",
        "[abc]",
        (0_u32..20).prop_map(|n| n.to_string()),
        (0_u32..300).prop_map(|n| format!("{}.{:02}", n / 100, n % 100)),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (pair.clone(), "[-+*]").prop_map(|((a, b), op)| format!("({a}{op}{b})")),
            (pair, "[-+*]").prop_map(|((a, b), op)| format!("{a} {op} {b}")),
            (inner.clone(), 1_u32..5).prop_map(|(a, k)| format!("({a})^{k}")),
            inner.clone().prop_map(|a| format!("-({a})")),
            (inner, 1_u32..9).prop_map(|(a, k)| format!("({a})/{k}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is built computes what the text says, within the ranges that it states, and no deeper than the text.
    #[test]
    fn circuits_compute_what_expressions_mean(text in texts(), values in values()) {
        let expression = Expression::parse(&text).unwrap();
        let inputs = vec![cents(); expression.names().len()];
        let encrypted: Vec<BigInt> = values.iter().map(|&value| value.into()).collect();
        let clear: Vec<Ratio> = encrypted.iter().map(|value| &Ratio::from(value.clone()) * &ratio("0.01")).collect();
        match Circuit::build(&expression, &inputs) {
            Ok(circuit) => {
                let outputs = run(&circuit, &encrypted);
                for (value, range) in outputs.iter().zip(circuit.ranges()) {
                    let value = Ratio::from(value.clone());
                    prop_assert!(range.low() <= &value && &value <= range.high(), "{text}");
                }
                let output = Ratio::from(outputs.last().unwrap().clone());
                prop_assert_eq!(circuit.reading().result(&output, 1), expression.value_at(&clear).unwrap(), "{}", text);
                let used: Vec<bool> = circuit.last_uses().iter().enumerate().map(|(at, &last)| last > at).collect();
                prop_assert!(used[..used.len() - 1].iter().all(|&used| used), "{text}: an unused step");
            }
            Err(ExprError::Constant) => {
                let elsewhere: Vec<Ratio> = clear.iter().map(|value| &(value * &ratio("3")) + &ratio("1.7")).collect();
                prop_assert_eq!(expression.value_at(&clear).unwrap(), expression.value_at(&elsewhere).unwrap(), "{}", text);
            }
            Err(error) => prop_assert!(matches!(error, ExprError::TooLarge { .. }), "{text}: {error}"),
        }
    }
}

fn same_again(text: &str) {
    let Ok(expression) = Expression::parse(text) else { return };
    let printed = expression.to_string();
    let again = Expression::parse(&printed);
    assert!(again.is_ok(), "{text} printed as {printed}: {again:?}");
    let again = again.unwrap();
    assert_eq!(again.to_string(), printed, "{text}");
    assert_eq!(again.names(), expression.names());
    let values = vec![ratio("1.5"); again.names().len()];
    assert_eq!(
        again.value_at(&values).ok(),
        expression.value_at(&values).ok(),
        "{text} printed as {printed}"
    );
    // Must not panic.
    let _ = Circuit::build(&expression, &vec![cents(); expression.names().len()]);
}

/// Writes what it is given, in full parentheses.
struct Writer(Vec<String>);

impl Fold for Writer {
    type Value = String;
    type Error = ExprError;

    fn call(&mut self, function: Function, arguments: Vec<String>) -> Result<String, ExprError> {
        Ok(format!("{}[{}]", function.name(), arguments.join(",")))
    }
    fn choose(&mut self, c: String, then: String, otherwise: String, at: usize) -> Result<String, ExprError> {
        Ok(format!("({c}?{then}:{otherwise}@{at})"))
    }
    fn compare(
        &mut self,
        comparison: Comparison,
        a: String,
        b: String,
        at: usize,
    ) -> Result<String, ExprError> {
        Ok(format!("({a}{}{b}@{at})", comparison.symbol()))
    }
    fn extreme(&mut self, is_greatest: bool, values: Vec<String>, at: usize) -> Result<String, ExprError> {
        Ok(format!("{}({}@{at})", if is_greatest { "max" } else { "min" }, values.join(",")))
    }
    fn look_up(&mut self, place: String, entries: Vec<String>, at: usize) -> Result<String, ExprError> {
        Ok(format!("{place}[{}@{at}]", entries.join(",")))
    }
    fn logic(&mut self, operation: Logic, terms: Vec<String>, at: usize) -> Result<String, ExprError> {
        Ok(format!("({}@{at})", terms.join(&format!(" {} ", operation.name()))))
    }
    fn name(&mut self, index: usize) -> Result<String, ExprError> {
        Ok(self.0[index].clone())
    }
    fn negative(&mut self, value: String) -> Result<String, ExprError> {
        Ok(format!("-{value}"))
    }
    fn not(&mut self, value: String, at: usize) -> Result<String, ExprError> {
        Ok(format!("!{value}@{at}"))
    }
    fn number(&mut self, number: &Ratio) -> Result<String, ExprError> {
        Ok(number.to_string())
    }
    fn power(&mut self, base: String, exponent: u32) -> Result<String, ExprError> {
        Ok(format!("{base}^{exponent}"))
    }
    fn product(&mut self, factors: Vec<String>) -> Result<String, ExprError> {
        Ok(format!("({})", factors.join("*")))
    }
    fn reciprocal(&mut self, value: String, position: usize) -> Result<String, ExprError> {
        Ok(format!("(1/{value}@{position})"))
    }
    fn sum(&mut self, terms: Vec<String>) -> Result<String, ExprError> {
        Ok(format!("({})", terms.join("+")))
    }
}

/// What a fold makes of a text.
fn written(text: &str) -> String {
    let expression = Expression::parse(text).expect(text);
    let mut writer = Writer(expression.names().to_vec());
    expression.fold(&mut writer).unwrap()
}

#[test]
fn a_fold_visits_every_piece_from_left_to_right() {
    assert_eq!(written("1+(x*0+y)*1-z/2"), "(1+(((x*0)+y)*1)+-(z*(1/2@15)))");
    assert_eq!(written("dot(x, x^2)"), "dot[x,x^2]");
    assert_eq!(written("2*lookup(x + y, 5, -1/2)"), "(2*(x+y)[5,(-1*(1/2@23))@3])");
}
