// SPDX-License-Identifier: Apache-2.0
//! Comparisons, logic, extremes and choices: what they are parsed to, print as, and mean.

use super::*;

/// The values of `a`, `b` and `c`, which is 0 or 1, at a text.
fn value(text: &str, [a, b, c]: [&str; 3]) -> Result<Ratio, ExprError> {
    let expression = Expression::parse(text)?;
    let known =
        |name: &String| ratio([a, b, c][["a", "b", "c"].iter().position(|known| known == name).unwrap()]);
    expression.value_at(&expression.names().iter().map(known).collect::<Vec<_>>())
}

fn printed(text: &str) -> String {
    Expression::parse(text).expect(text).to_string()
}

#[test]
fn every_operator_has_its_rank() {
    for (text, expected) in [
        ("a = b", "(a=b@3)"),
        ("a == b", "(a=b@3)"),
        ("a != b", "(a!=b@3)"),
        ("a <> b", "(a!=b@3)"),
        ("a < b", "(a<b@3)"),
        ("a <= b", "(a<=b@3)"),
        ("a > b", "(a>b@3)"),
        ("a >= b", "(a>=b@3)"),
        ("a+1 < b*2", "((a+1)<(b*2)@5)"),
        ("not a < b", "!(a<b@7)@1"),
        ("not not a", "!!a@5@1"),
        ("not a and b", "(!a@1 and b@7)"),
        ("a and b and c", "(a and b and c@3)"),
        ("a or b and c", "(a or (b and c@8)@3)"),
        ("a and b or c", "((a and b@3) or c@9)"),
        // Equal rank, from the left.
        ("a or b xor c", "((a or b@3) xor c@8)"),
        ("a xor b or c or d xor e", "(((a xor b@3) or c or d@9) xor e@19)"),
        ("a xor (b or c)", "(a xor (b or c@10)@3)"),
        ("2*(a>b)", "(2*(a>b@5))"),
        ("min(a, b+1, 3)", "min(a,(b+1),3@1)"),
        ("1 + max (a, b)", "(1+max(a,b@5))"),
        ("if(a < b or c, a, -b)", "(((a<b@6) or c@10)?a:-b@1)"),
        ("sum(a < 5)", "sum[(a<5@7)]"),
        ("dot(a < 5, not b)", "dot[(a<5@7),!b@12]"),
    ] {
        assert_eq!(written(text), expected, "{text}");
    }
}

#[test]
fn spaces_matter_only_where_words_would_run_on() {
    for (text, expected) in [
        ("a<-b", "a < -b"),
        ("a<=-b", "a <= -b"),
        ("a=-b", "a = -b"),
        ("a!=b", "a != b"),
        ("a<>b", "a != b"),
        ("a==b", "a = b"),
        ("not(a<b)and(c<d)", "not a < b and c < d"),
        ("(a)xor(not(b))or\tc", "a xor not b or c"),
        ("if(a,b,c)*2", "if(a, b, c)*2"),
        ("a<b and\n\nnot\nc", "a < b and not c"),
        // No operators, but names that begin as they do.
        ("notable + order*android - xorn", "notable + order*android - xorn"),
        ("Not + AND", "Not + AND"),
        ("and_1 < not2", "and_1 < not2"),
        // Names of functions, but for a parenthesis.
        ("min + max*if", "min + max*if"),
        ("min(min, if) < max", "min(min, if) < max"),
    ] {
        assert_eq!(printed(text), expected, "{text}");
        same_again(text);
    }
}

#[test]
fn parentheses_are_printed_where_they_mean_something() {
    for text in [
        "(a or b) xor c",
        "a or (b xor c)",
        "a or (b or c)",
        "(a or b) and c",
        "(a and b) and c",
        "not (a and b)",
        "(not a) < b",
        "(a < b) < c",
        "a < (b < c)",
        "2*(a < b) + (b = c)",
        "-(not a)",
        "(a < b)^2 / (1 + 1)",
        "min(a or b, if(a, b, c < 1))",
        "mean(a < b and c)",
    ] {
        assert_eq!(printed(text), text);
    }
    assert_eq!(printed("((a) or ((b and (c)))) xor ((not (a)))"), "(a or b and c) xor not a");
}

#[test]
fn conditions_are_the_numbers_0_and_1() {
    let values = ["0.5", "-2", "1"];
    for (text, expected) in [
        ("(a < b) + 2*(a <= a) + 4*(a > b) + 8*(b >= b) + 16*(a = b) + 32*(a != b)", "46"),
        ("c and not c or c", "1"),
        ("c xor c xor c", "1"),
        ("c or c xor c", "0"),
        ("not c", "0"),
        ("min(a, b, c)", "-2"),
        ("max(a, b, c, b)", "1"),
        ("if(a > b, a, b)", "0.5"),
        ("if(c = 0, a, 3*b)", "-6"),
        ("1 - 1 or 2*a", "1"),
        ("sum(a > 0)", "1"),
        ("a/3 + a/3 + a/3 = a", "1"),
    ] {
        assert_eq!(value(text, values), Ok(ratio(expected)), "{text}");
    }
}

#[test]
fn errors_have_their_places() {
    let chain = "one comparison, or 'and' between two";
    for (text, at, expects) in [
        ("a < b < c", 7, chain),
        ("(a = b != c)", 8, chain),
        ("sum(a <= b == c)", 12, chain),
        ("a and", 6, "a number, a name"),
        ("and", 1, "a number, a name"),
        ("2*or", 3, "a number, a name"),
        ("a < not b", 5, "a number, a name"),
        ("-not a", 2, "a number, a name"),
        ("xor(a, b)", 1, "a number, a name"),
        ("a = = b", 5, "a number, a name"),
        ("a => b", 4, "a number, a name"),
        ("a < = b", 5, "a number, a name"),
        ("if(a, b, and)", 10, "a number, a name"),
        ("not", 4, "a number, a name"),
        ("a not b", 3, "an operator or the end"),
        ("a ! b", 3, "an operator or the end"),
        ("a andb", 3, "an operator or the end"),
        ("a And b", 3, "an operator or the end"),
        ("min(a, b", 9, "a comma or a closing parenthesis"),
        ("(a or b", 8, "a closing parenthesis"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        let ExprError::Unexpected { position, expected } = error else { unreachable!("{text}: {error}") };
        assert_eq!(position, at, "{text}");
        assert!(expected.starts_with(expects), "{text}: {expected}");
    }
    for (text, code, message) in [
        ("1 + min(a)", "HUSH-X005", "position 5: min takes at least 2 argument(s), found 1"),
        ("max(a)", "HUSH-X005", "position 1: max takes at least 2 argument(s), found 1"),
        ("if(a, b)", "HUSH-X005", "position 1: if takes 3 argument(s), found 2"),
        ("if(a, b, c, a)", "HUSH-X005", "position 1: if takes 3 argument(s), found 4"),
        ("a < maximum(b, c)", "HUSH-X004", "position 5: no function of this name"),
        ("a < 2b", "HUSH-X002", "position 5: not a number"),
        ("a < sum(b)", "HUSH-X006", "position 5: sum(...) must be the whole expression"),
        ("min(a, mean(b))", "HUSH-X006", "position 8: mean(...) must be the whole expression"),
        ("c and a", "HUSH-X012", "position 3: a condition may be neither 0 nor 1"),
        ("a or c", "HUSH-X012", "position 3: a condition"),
        ("c or c xor c xor b", "HUSH-X012", "position 8: a condition"),
        ("c = 1 or a", "HUSH-X012", "position 7: a condition"),
        ("not (a+b)", "HUSH-X012", "position 1: a condition"),
        ("2*if(b, a, c)", "HUSH-X012", "position 3: a condition"),
        // Every part has a value, or there is none.
        ("not c and a", "HUSH-X012", "position 7: a condition"),
        ("if(c, a, 1/(c - c))", "HUSH-X008", "position 12: a division by zero"),
        ("2*lookup(a, 5, 6, 7)", "HUSH-X014", "position 3: a place"),
        ("lookup(b, 5, 6)", "HUSH-X014", "position 1: a place"),
        ("lookup(a/2, 5, 6)", "HUSH-X014", "position 1: a place"),
    ] {
        let error = value(text, ["3", "-1", "1"]).expect_err(text);
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.to_string().starts_with(message), "{text}: {error}");
        assert!(!error.ways_out().is_empty());
    }
}

#[test]
fn entries_are_numbers_and_there_are_few() {
    assert_eq!(
        value("lookup(a + b, 5, 2^3 - 1/2, -7)", ["3", "-2", "0"]),
        Ok(Ratio::from_decimal("7.5").unwrap())
    );
    assert_eq!(value("lookup(a, 5)", ["0", "0", "0"]), Ok(Ratio::from_decimal("5").unwrap()));
    let many = |count: usize| format!("lookup(a{})", ", 1".repeat(count));
    for (text, code, message) in [
        ("lookup(a, 5, b)", "HUSH-X001", "position 14: expected a number, for an entry"),
        ("lookup(a, 5, 2*(1 - b))", "HUSH-X001", "position 14: expected a number"),
        ("lookup(a)", "HUSH-X005", "position 1: lookup takes at least 2"),
        (&many(17), "HUSH-X010", "the expression has entries of a table beyond the limit of 16"),
    ] {
        let error = Expression::parse(text).expect_err(text);
        assert_eq!(error.code(), code, "{text}: {error}");
        assert!(error.to_string().starts_with(message), "{text}: {error}");
    }
    same_again(&many(16));
}

#[test]
fn no_circuit_of_sums_and_products_has_them() {
    for (text, position, what) in [
        ("a < b", 3, "<"),
        ("a == 3", 3, "="),
        ("a <> 3", 3, "!="),
        ("a >= 3", 3, ">="),
        ("a and b", 3, "and"),
        ("1 + (a or b xor c)", 8, "or"),
        ("(a xor b)^2", 4, "xor"),
        ("a*(not b)", 4, "not"),
        ("-min(a, b)", 2, "min"),
        ("a + max(b, 0)", 5, "max"),
        ("sum(2*if(a, b, c))", 7, "if"),
        ("2*lookup(a, 5, 6)", 3, "lookup"),
        ("dot(a, b > 1)", 10, ">"),
        ("a/(2 < 3)", 6, "<"),
        ("a + 0*(1 <= 2)", 10, "<="),
        // The outer one.
        ("a = 1 or b", 7, "or"),
    ] {
        let expression = Expression::parse(text).unwrap();
        assert!(expression.needs_gates(), "{text}");
        let built = Circuit::build(&expression, &vec![cents(); expression.names().len()]);
        assert_eq!(built, Err(ExprError::Gates { position, what }), "{text}");
    }
    let error = ExprError::Gates { position: 3, what: "<" };
    assert_eq!(error.code(), "HUSH-X011");
    assert!(error.to_string().starts_with("position 3: '<' is neither a sum nor a product"), "{error}");
    for text in ["a", "sum(a^2 - b/3)", "dot(a, -b)", "min*max + if"] {
        assert!(!Expression::parse(text).unwrap().needs_gates(), "{text}");
    }
}

/// The parser limits the nesting; words that take turns do not nest. All runs on a stack of usual size for a thread.
#[test]
fn depth_is_limited_and_fits_the_stack() {
    let nested = |depth: usize| {
        let opening = "a or not b and 1 < 2 - 3/(";
        format!("{}a{}", opening.repeat(depth), ")^2".repeat(depth))
    };
    let refused = |text: &str| {
        let limit = ExprError::TooLarge { what: crate::error::Size::Nesting, limit: 64 };
        assert_eq!(Expression::parse(text).err(), Some(limit), "{}", &text[..20]);
    };
    same_again(&nested(64));
    refused(&nested(65));
    same_again(&format!("{}a", "not ".repeat(64)));
    refused(&format!("{}a", "not ".repeat(65)));
    same_again(&format!("{}a{}", "if(not ".repeat(32), ", 1, 0)".repeat(32)));
    refused(&format!("{}a{}", "min(1, ".repeat(65), ")".repeat(65)));
    refused(&"not (".repeat(20_000 / 5));
    let turns = format!("{}1 < 2", "a or a = 1 and a xor ".repeat(1000));
    same_again(&turns);
    assert_eq!(value(&turns, ["1", "0", "0"]), Ok(Ratio::zero()));
    let many = Expression::parse(&"a or b xor ".repeat(5000));
    assert!(matches!(many, Err(ExprError::TooLarge { what: crate::error::Size::Operations, .. })));
}
