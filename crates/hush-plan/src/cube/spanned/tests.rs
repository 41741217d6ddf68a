// SPDX-License-Identifier: Apache-2.0
use hush_testkit::Draw;

use super::*;

fn monomial(name: &str) -> Quantity {
    Quantity::Value(name.to_owned())
}

fn combination(terms: &[(i64, &str)]) -> Quantity {
    Quantity::combination(terms.iter().map(|(weight, name)| (*weight, monomial(name))).collect())
}

fn expressed(lanes: &[Quantity], form: &[(i64, &str)]) -> Option<Vec<(usize, i64)>> {
    let span = Span::of(lanes.iter().enumerate());
    let quantities: Vec<(Quantity, i64)> =
        form.iter().map(|(weight, name)| (monomial(name), *weight)).collect();
    let form = quantities.iter().map(|(quantity, weight)| (quantity, BigInt::from(*weight))).collect();
    let found = span.express(form)?;
    Some(found.into_iter().map(|(lane, weight)| (lane, i64::try_from(weight).unwrap())).collect())
}

#[test]
fn a_sum_is_what_combinations_make() {
    let lanes = [monomial("p"), combination(&[(100, "p"), (-1, "pd")])];
    assert_eq!(expressed(&lanes, &[(1, "pd")]), Some(vec![(0, 100), (1, -1)]));
    assert_eq!(expressed(&lanes, &[(200, "p"), (-2, "pd")]), Some(vec![(1, 2)]));
    assert_eq!(expressed(&lanes, &[(7, "p")]), Some(vec![(0, 7)]));
    assert_eq!(expressed(&lanes, &[(1, "d")]), None);
    // Half of a sum is not a combination with whole weights.
    let both = [combination(&[(1, "a"), (1, "b")]), combination(&[(1, "a"), (-1, "b")])];
    assert_eq!(expressed(&both, &[(1, "a")]), None);
    assert_eq!(expressed(&both, &[(2, "a")]), Some(vec![(0, 1), (1, 1)]));
    assert!(
        is_spanned(&monomial("b"), &[both[0].clone(), monomial("a")]) && !is_spanned(&monomial("b"), &both)
    );
    // Lanes that others make are not used.
    let dependent = [monomial("a"), combination(&[(3, "a")]), monomial("b")];
    assert_eq!(expressed(&dependent, &[(3, "a"), (1, "b")]), Some(vec![(0, 3), (2, 1)]));
}

/// A random combination of random lanes is found to be one, and what is found makes it.
#[test]
fn random_combinations_are_found_again() {
    let mut draw = Draw::of(25);
    let mut below = |bound: usize| draw.below(bound) as i64;
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut found_none = 0;
    for _ in 0..3000 {
        let mut terms = || -> Vec<(i64, &str)> {
            let all = names.iter().map(|name| (below(9) - 4, *name));
            all.collect::<Vec<_>>().into_iter().filter(|(weight, _)| *weight > 1 || *weight < -1).collect()
        };
        let lanes: Vec<Vec<(i64, &str)>> =
            (0..4).map(|_| terms()).filter(|terms| !terms.is_empty()).collect();
        let quantities: Vec<Quantity> = lanes.iter().map(|terms| combination(terms)).collect();
        let add = |weights: &[(usize, i64)]| {
            let mut sum: BTreeMap<&str, i64> = BTreeMap::new();
            for (lane, weight) in weights {
                lanes[*lane].iter().for_each(|(of, name)| *sum.entry(name).or_default() += of * weight);
            }
            sum.retain(|_, weight| *weight != 0);
            sum
        };
        let weights: Vec<(usize, i64)> = (0..lanes.len()).map(|lane| (lane, below(7) - 3)).collect();
        let wanted = add(&weights);
        let form: Vec<(i64, &str)> = wanted.iter().map(|(name, weight)| (*weight, *name)).collect();
        // Of dependent lanes others may be found, or those that are left may take fractions.
        match expressed(&quantities, &form) {
            Some(found) => assert_eq!(add(&found), wanted),
            None => found_none += 1,
        }
        let stray = [form.as_slice(), &[(1, "z")]].concat();
        assert_eq!(expressed(&quantities, &stray), None);
    }
    assert!(found_none < 30, "{found_none}");
}
