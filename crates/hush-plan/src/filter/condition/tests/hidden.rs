// SPDX-License-Identifier: Apache-2.0
//! Conditions whose constants are encrypted.

use super::*;
use crate::filter::Inner;
use crate::plan::Formula;

fn hidden(text: &str, grain: Grain) -> Option<Computed> {
    let schema = table();
    let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {text}")).unwrap();
    let mut codes = codes(&schema);
    codes[0] = Code::of(&schema, &Dimension { column: "day".to_owned(), grain }).unwrap();
    computed(CodedColumns { schema: &schema, codes: &codes, hides: true }, query.filter.as_ref().unwrap())
}

/// What it is for a row: as a server computes it, but for the encryption.
fn evaluated(condition: &Computed, known: &BTreeMap<Quantity, i64>) -> i64 {
    let sum = |place: usize| -> i64 {
        let terms = condition.sums[place].iter();
        terms
            .map(|(quantity, constant)| quantity.as_ref().map_or(1, |quantity| known[quantity]) * constant)
            .sum()
    };
    condition.formula.evaluate(&sum)
}

/// All that a server sees: which quantities meet constants, and what is made of the sums.
fn form(condition: &Computed) -> (Vec<Vec<Option<Quantity>>>, Formula) {
    let of_sum = |sum: &Inner| sum.iter().map(|(quantity, _)| quantity.clone()).collect();
    (condition.sums.iter().map(of_sum).collect(), condition.formula.clone())
}

/// Random conditions are 1 where they are true, and 0 where they are false or NULL; others of their form, with other constants, have the same form.
#[test]
fn forms_say_nothing_of_constants() {
    let mut draws = Draws { form: 11, constants: 12 };
    let rows = rows(&mut draws);
    let known: Vec<BTreeMap<Quantity, i64>> = rows.iter().map(values).collect();
    let (mut decided, mut differing) = (0, 0);
    for seed in 0..2000_u64 {
        let drawn = |constants| {
            condition(&mut Draws { form: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), constants }, 3)
        };
        let both = [drawn(seed), drawn(seed + 77_777)].map(|(text, truth)| {
            let found = hidden(&text, Grain::Each);
            for (row, known) in rows.iter().zip(&known) {
                let expected = i64::from(truth(row) == Some(true));
                assert!(
                    found.as_ref().is_none_or(|found| evaluated(found, known) == expected),
                    "{text}\n{row:?}"
                );
            }
            found
        });
        let [one, other] = &both;
        assert_eq!(one.as_ref().map(form), other.as_ref().map(form));
        decided += usize::from(one.is_some());
        differing += usize::from(one != other);
    }
    assert!(decided > 500 && differing > 400, "{decided} {differing}");
}

/// Where clear columns decide, a server would see their constants.
#[test]
fn clear_members_are_refused() {
    for text in ["year = 1 AND size > 3", "size > 3 OR city = 'x'", "NOT (fresh OR year IS NULL)"] {
        assert_eq!(hidden(text, Grain::Each), None, "{text}");
    }
}

/// Ranges that constants make of nothing, of all, or of few values take as much as any other.
#[test]
fn ranges_are_as_many_as_their_form_may_have() {
    let sums = |text: &str| hidden(text, Grain::Each).unwrap().sums.iter().map(Vec::len).collect::<Vec<_>>();
    let one = sums("day >= 100 AND day < 200");
    // Both ends, and what lies beyond either: docs/math/constants.md.
    assert_eq!(one.len(), 5);
    for text in [
        "day < 100",
        "day > 5000",
        "day = -5",
        "day BETWEEN 3000 AND 10",
        "day >= 200 AND day < 100",
        "day > -100 AND day < 9000 AND day > 5",
    ] {
        assert_eq!(sums(text), one, "{text}");
    }
    assert_eq!(sums("day IN (1, 2)").len(), 9);
    // So many that they are refused are not worked out one by one.
    let list = (0..3000).map(|day| day.to_string()).collect::<Vec<_>>().join(", ");
    let constants = sums(&format!("day IN ({list})")).iter().sum::<usize>();
    assert!((crate::filter::MAX_CONSTANTS..500_000).contains(&constants), "{constants}");
    assert_eq!(sums("day IN (1, 1)"), sums("day IN (1, 2000)"));
    assert_eq!(sums("day <> 4"), sums("day <> -5"));
    // An equal member stands once where it shows, and is there once more where it is hidden.
    let twice = "(size > 3 OR fresh) AND (size > 3 OR fresh)";
    assert_eq!(sums(twice), sums("(size > 3 OR fresh) AND (size > 4 OR fresh)"));
}

/// Numbers that no column and no integer has room for have the form of others, and the truth of what they are.
#[test]
fn numbers_beyond_all_values_have_the_form_of_others() {
    let digits = |count: usize| "9".repeat(count);
    let usual = form(&hidden("size > 3 AND cost < 1.5", Grain::Each).unwrap());
    let row = Row { size: Some(0), cost: 100, ..rows(&mut Draws { form: 3, constants: 4 })[0] };
    for (least, most, expected) in [
        (format!("-{}", digits(50)), digits(60), 1),
        (digits(40), digits(40), 0),
        (format!("-0.{}1", "0".repeat(30)), format!("{}.{}", digits(39), digits(30)), 1),
        (format!("0.{}1", "0".repeat(30)), digits(3), 0),
        (format!("-{}.{}", digits(39), digits(30)), format!("-{}", digits(38)), 0),
    ] {
        let text = format!("size > {least} AND cost < {most}");
        let found = hidden(&text, Grain::Each).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((form(&found), evaluated(&found, &values(&row))), (usual.clone(), expected), "{text}");
    }
}
