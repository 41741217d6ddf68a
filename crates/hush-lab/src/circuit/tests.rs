// SPDX-License-Identifier: Apache-2.0

use proptest::prelude::*;

use super::*;

fn result(text: &str, width: u32, values: &[(&str, u64)]) -> u64 {
    let values: Vec<_> = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let circuit = Circuit::parse(text, width, &values).unwrap();
    circuit.result(&circuit.values())
}

#[test]
fn bits_add_as_xor_and_multiply_as_and() {
    for (text, expected) in
        [("1+(1*0+1)*1", 0), ("1", 1), ("1+1", 0), ("1*1", 1), ("1*1*0", 0), ("1-1+1", 1), ("1^3", 1)]
    {
        assert_eq!(result(text, 1, &[]), expected, "{text}");
    }
    let circuit = Circuit::parse("1+(1*0+1)*1", 1, &[]).unwrap();
    assert_eq!((circuit.depth(), circuit.operations(), circuit.inputs().len()), (2, (2, 2), 5));
    // Chains are balanced: eight factors are three deep.
    assert_eq!(Circuit::parse("1*1*1*1*1*1*1*1", 1, &[]).unwrap().depth(), 3);
    // Of two values of a name the last one counts.
    assert_eq!(result("x", 1, &[("x", 0), ("x", 1)]), 1);
    // A name is one input, however often it occurs.
    assert_eq!(Circuit::parse("x*x+x", 1, &[("x".to_owned(), 1)]).unwrap().inputs().len(), 1);
}

proptest! {
    #[test]
    fn words_are_integers_modulo_a_power_of_two(width in 1_u32..=8, x in any::<u8>(), y in any::<u8>(), z in any::<u8>()) {
        let mask = (1_u64 << width) - 1;
        let [x, y, z] = [x, y, z].map(|value| u64::from(value) & mask);
        let values = [("x", x), ("y", y), ("z", z)];
        prop_assert_eq!(result("x+y", width, &values), (x + y) & mask);
        prop_assert_eq!(result("x*y+z", width, &values), (x * y + z) & mask);
        prop_assert_eq!(result("(x+y+z)*(x+z)", width, &values), ((x + y + z) * (x + z)) & mask);
        prop_assert_eq!(result("x^3 + y*1", width, &values), (x * x * x + y) & mask);
    }

    #[test]
    fn no_text_panics(text in "[01x+*()^/ -]{0,24}", width in 0_u32..40) {
        let _ = Circuit::parse(&text, width, &[("x".to_owned(), 1)]);
    }
}

#[test]
fn an_adder_of_three_bits_is_two_deep() {
    let values = [("a".to_owned(), 5), ("b".to_owned(), 6)];
    assert_eq!(Circuit::parse("a+b", 3, &values).unwrap().depth(), 2);
}

#[test]
fn what_gates_cannot_do_is_refused() {
    let refused = |text: &str, width| Circuit::parse(text, width, &[]).unwrap_err();
    assert!(matches!(refused("1+", 1), LabError::Expression(_)));
    assert!(matches!(refused("2", 1), LabError::Value { .. }));
    assert!(matches!(refused("0.5", 4), LabError::Value { .. }));
    assert!(matches!(refused("x", 4), LabError::Name { .. }));
    assert!(matches!(refused("1-1", 4), LabError::Unsupported { .. }));
    assert!(matches!(refused("1/1", 1), LabError::Unsupported { .. }));
    assert!(matches!(refused("sum(1)", 1), LabError::Unsupported { .. }));
    assert!(matches!(refused("1", 33), LabError::Parameter { .. }));
    assert!(matches!(refused("((3^64)^64)^64", 32), LabError::Gates { .. }));
}
