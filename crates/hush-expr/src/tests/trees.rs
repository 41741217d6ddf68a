// SPDX-License-Identifier: Apache-2.0
//! Random expressions of every kind against an evaluation of their own, and their texts against the parser.

use super::*;

/// Another tree, with another meaning of its own.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(&'static str),
    Infix(&'static str, Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Call(&'static str, Vec<Tree>),
}

impl Tree {
    /// Operators that bind more tightly have a greater one.
    fn rank(&self) -> u8 {
        match self {
            Self::Infix("or" | "xor", ..) => 0,
            Self::Infix("and", ..) => 1,
            Self::Not(_) => 2,
            Self::Infix("+" | "-", ..) => 4,
            Self::Infix("*", ..) => 5,
            Self::Infix(..) => 3,
            Self::Leaf(_) | Self::Call(..) => 9,
        }
    }

    /// Parentheses where they must be, or everywhere.
    fn text(&self, everywhere: bool) -> String {
        let inside = |tree: &Self, least: u8| {
            let text = tree.text(everywhere);
            if everywhere || tree.rank() < least { format!("({text})") } else { text }
        };
        let rank = self.rank();
        match self {
            Self::Leaf(text) => (*text).to_owned(),
            // Comparisons do not chain.
            Self::Infix(operator, a, b) => {
                format!("{} {operator} {}", inside(a, rank + u8::from(rank == 3)), inside(b, rank + 1))
            }
            Self::Not(of) => format!("not {}", inside(of, rank)),
            Self::Call(name, of) => {
                let of: Vec<String> = of.iter().map(|tree| tree.text(everywhere)).collect();
                format!("{name}({})", of.join(","))
            }
        }
    }

    /// `None` where a condition is neither 0 nor 1.
    fn value(&self, values: &[Ratio]) -> Option<Ratio> {
        let truth = |tree: &Self| match tree.value(values)?.to_string().as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        let bit = |holds: bool| ratio(if holds { "1" } else { "0" });
        Some(match self {
            Self::Leaf(text) => match ["a", "b", "c"].iter().position(|name| name == text) {
                Some(place) => values[place].clone(),
                None => ratio(text),
            },
            Self::Infix(operator @ ("and" | "or" | "xor"), a, b) => {
                let count = u8::from(truth(a)?) + u8::from(truth(b)?);
                bit(match *operator {
                    "and" => count == 2,
                    "or" => count > 0,
                    _ => count == 1,
                })
            }
            Self::Infix(operator, a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                let difference = &a - &b;
                let (is_less, is_equal) = (difference.is_negative(), difference.is_zero());
                match *operator {
                    "+" => &a + &b,
                    "-" => difference,
                    "*" => &a * &b,
                    "=" | "==" => bit(is_equal),
                    "!=" | "<>" => bit(!is_equal),
                    "<" => bit(is_less),
                    "<=" => bit(is_less || is_equal),
                    ">" => bit(!is_less && !is_equal),
                    _ => bit(!is_less),
                }
            }
            Self::Not(of) => bit(!truth(of)?),
            Self::Call("if", parts) => {
                let chosen = if truth(&parts[0])? { 1 } else { 2 };
                let branches = [parts[1].value(values)?, parts[2].value(values)?];
                branches[chosen - 1].clone()
            }
            Self::Call("lookup", parts) => {
                let mut parts = parts.iter().map(|tree| tree.value(values)).collect::<Option<Vec<_>>>()?;
                let place = usize::try_from(parts.remove(0).to_integer()?).ok()?;
                parts.get(place)?.clone()
            }
            Self::Call(name, of) => {
                let mut all = of.iter().map(|tree| tree.value(values)).collect::<Option<Vec<_>>>()?;
                all.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
                if *name == "min" { all.remove(0) } else { all.pop()? }
            }
        })
    }
}

fn infix(
    operators: &'static [&'static str],
    left: &BoxedStrategy<Tree>,
    right: &BoxedStrategy<Tree>,
) -> BoxedStrategy<Tree> {
    (prop::sample::select(operators), left.clone(), right.clone())
        .prop_map(|(operator, a, b)| Tree::Infix(operator, Box::new(a), Box::new(b)))
        .boxed()
}

/// Numbers, and conditions: each of the other as well, now and then.
fn trees(depth: u32) -> (BoxedStrategy<Tree>, BoxedStrategy<Tree>) {
    if depth == 0 {
        let leaf = |texts: &'static [&'static str]| prop::sample::select(texts).prop_map(Tree::Leaf).boxed();
        return (leaf(&["a", "b", "c", "2", "0.5", "1"]), leaf(&["c", "0", "1", "1.0"]));
    }
    let (number, condition) = trees(depth - 1);
    let some = |of: &BoxedStrategy<Tree>| prop::collection::vec(of.clone(), 2..4);
    let choice = |of: &BoxedStrategy<Tree>| {
        (condition.clone(), of.clone(), of.clone()).prop_map(|(c, a, b)| Tree::Call("if", vec![c, a, b]))
    };
    let comparisons: &[&str] = &["=", "==", "!=", "<>", "<", "<=", ">", ">="];
    let numbers = prop_oneof![
        2 => number.clone(),
        4 => infix(&["+", "-", "*"], &number, &number),
        2 => (prop::sample::select(vec!["min", "max"]), some(&number)).prop_map(|(name, of)| Tree::Call(name, of)),
        2 => choice(&number),
        1 => condition.clone(),
        2 => (condition.clone(), prop::collection::vec(prop::sample::select(vec!["2", "0.5", "7"]), 2..5)).prop_map(
            |(place, entries)| {
                let entries = entries.into_iter().map(Tree::Leaf);
                Tree::Call("lookup", std::iter::once(place).chain(entries).collect())
            }
        ),
    ];
    let conditions = prop_oneof![
        8 => condition.clone(),
        16 => infix(comparisons, &number, &number),
        4 => infix(comparisons, &condition, &condition),
        24 => infix(&["and", "or", "xor"], &condition, &condition),
        12 => condition.clone().prop_map(|of| Tree::Not(Box::new(of))),
        4 => some(&condition).prop_map(|of| Tree::Call("max", of)),
        4 => choice(&condition),
        1 => number.clone(),
    ];
    (numbers.boxed(), conditions.boxed())
}

/// Texts of random expressions, with all that there is.
fn all_texts() -> impl Strategy<Value = String> {
    let (numbers, conditions) = trees(4);
    let tree = prop_oneof![numbers, conditions];
    prop_oneof![
        texts(),
        (tree.clone(), any::<bool>()).prop_map(|(tree, everywhere)| tree.text(everywhere)),
        (tree, texts()).prop_map(|(tree, text)| format!("-({})/3 <= ({text})", tree.text(false))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// By ranks alone and with parentheses everywhere, a text means what its tree does.
    #[test]
    fn texts_mean_what_their_trees_do(tree in prop_oneof![trees(4).0, trees(4).1], values in values(), c in any::<bool>()) {
        let mut clear: Vec<Ratio> = values.iter().map(|&value| &Ratio::from(BigInt::from(value)) * &ratio("0.01")).collect();
        clear[2] = ratio(if c { "1" } else { "0" });
        let expected = tree.value(&clear);
        for text in [tree.text(false), tree.text(true)] {
            let expression = Expression::parse(&text).unwrap();
            let place = |name: &String| ["a", "b", "c"].iter().position(|known| known == name).unwrap();
            let values: Vec<Ratio> = expression.names().iter().map(|name| clear[place(name)].clone()).collect();
            match (&expected, expression.value_at(&values)) {
                (Some(expected), found) => prop_assert_eq!(Ok(expected), found.as_ref(), "{}", text),
                (None, found) => prop_assert!(
                    matches!(found, Err(ExprError::NotBoolean { .. } | ExprError::Place { .. })),
                    "{text}: {found:?}"
                ),
            }
            same_again(&text);
        }
    }

    #[test]
    fn what_is_accepted_prints_to_the_same(text in all_texts()) {
        same_again(&text);
    }

    /// Damaged texts: an error or an expression that prints to itself, never a panic.
    #[test]
    fn mutations(text in all_texts(), edits in prop::collection::vec((any::<u16>(), 0_usize..4, "[-+*/^().,<>=!0-9a-ze \u{e9}\u{0}]"), 1..6)) {
        let mut letters: Vec<char> = text.chars().collect();
        for (place, kind, with) in edits {
            let place = usize::from(place) % (letters.len() + 1);
            let with = with.chars().next().unwrap();
            match kind {
                0 => letters.insert(place, with),
                1 if place < letters.len() => letters[place] = with,
                2 if place < letters.len() => drop(letters.remove(place)),
                _ => letters.truncate(place.max(1)),
            }
        }
        same_again(&letters.into_iter().collect::<String>());
    }
}
