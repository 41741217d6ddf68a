// SPDX-License-Identifier: Apache-2.0
//! Random trees against three-valued logic by its definition; every rule of the one spelling broken; both limits at their ends.

use proptest::prelude::*;

use super::*;

/// A tree as somebody may write it: NOT over anything, lists in lists.
#[derive(Clone, Debug)]
enum Tree {
    And(Box<Tree>, Box<Tree>),
    Atom(usize),
    Not(Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

const ATOMS: usize = 4;

fn tree() -> impl Strategy<Value = Tree> {
    (0..ATOMS).prop_map(Tree::Atom).prop_recursive(5, 24, 2, |inner| {
        let pair = || (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        prop_oneof![
            pair().prop_map(|(a, b)| Tree::And(a, b)),
            pair().prop_map(|(a, b)| Tree::Or(a, b)),
            inner.prop_map(|inner| Tree::Not(Box::new(inner))),
        ]
    })
}

fn atom(index: usize) -> Predicate {
    Predicate::clear(format!("x{index} = 1"))
}

fn built(tree: &Tree) -> Predicate {
    match tree {
        Tree::And(a, b) => built(a).and(built(b)),
        Tree::Atom(index) => atom(*index),
        Tree::Not(inner) => built(inner).negated(),
        Tree::Or(a, b) => built(a).or(built(b)),
    }
}

/// Truth as 2, NULL as 1, falsehood as 0: AND is the least, OR the greatest, NOT the distance from 2.
fn meaning(tree: &Tree, atoms: &[u8]) -> u8 {
    match tree {
        Tree::And(a, b) => meaning(a, atoms).min(meaning(b, atoms)),
        Tree::Atom(index) => atoms[*index],
        Tree::Not(inner) => 2 - meaning(inner, atoms),
        Tree::Or(a, b) => meaning(a, atoms).max(meaning(b, atoms)),
    }
}

fn truth(predicate: &Predicate, atoms: &[u8]) -> u8 {
    let value = |atom: &Atom| {
        let Atom::Clear(sql) = atom;
        atoms[sql[1..2].parse::<usize>().unwrap()]
    };
    match predicate {
        Predicate::And(members) => members.iter().map(|member| truth(member, atoms)).min().unwrap(),
        Predicate::Is(atom) => value(atom),
        Predicate::Not(atom) => 2 - value(atom),
        Predicate::Or(members) => members.iter().map(|member| truth(member, atoms)).max().unwrap(),
    }
}

proptest! {
    #[test]
    fn what_is_built_means_what_was_written_and_has_the_one_spelling(tree in tree()) {
        let predicate = built(&tree);
        prop_assert_eq!(predicate.check(), Ok(()));
        for case in 0..3_u32.pow(ATOMS as u32) {
            let atoms: Vec<u8> = (0..ATOMS as u32).map(|index| (case / 3_u32.pow(index) % 3) as u8).collect();
            prop_assert_eq!(truth(&predicate, &atoms), meaning(&tree, &atoms), "{} for {:?}", predicate, atoms);
        }
        prop_assert_eq!(&predicate.clone().negated().negated(), &predicate);
        prop_assert_eq!(&predicate.clone().and(predicate.clone()), &predicate);
        let json = serde_json::to_vec(&predicate).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Predicate>(&json).unwrap(), predicate);
    }
}

#[test]
fn one_condition_has_one_spelling_whatever_its_brackets() {
    let [a, b, c] = [0, 1, 2].map(atom);
    let all = |members: &[&Predicate]| Predicate::all(members.iter().map(|&member| member.clone()));
    assert_eq!(a.clone().and(b.clone().and(c.clone())), all(&[&a, &b, &c]).unwrap());
    assert_eq!(all(&[&a, &b, &a, &c, &b]), all(&[&a, &b, &c]));
    assert_eq!(all(&[&a]), Some(a.clone()));
    assert_eq!(all(&[]), None);
    let neither = a.clone().or(b.clone()).negated();
    assert_eq!(neither, a.clone().negated().and(b.clone().negated()));
    let shown = a.and(b.clone().or(c.clone().negated())).or(b.and(c).negated());
    let expected = "x0 = 1 AND (x1 = 1 OR NOT (x2 = 1)) OR NOT (x1 = 1) OR NOT (x2 = 1)";
    assert_eq!(shown.to_string(), expected);
}

/// Read as SQL, `IS DISTINCT FROM` would take the next member for a part of its right side.
#[test]
fn members_end_where_they_end() {
    let (same, other) = ("a IS NOT DISTINCT FROM b", "b IS DISTINCT FROM c");
    let [same, other, last] = [same, other, "d"].map(Predicate::clear);
    assert_eq!(same.to_string(), "a IS NOT DISTINCT FROM b");
    let shown = same.clone().and(other.clone()).and(last.clone()).or(other.negated());
    let expected =
        "(a IS NOT DISTINCT FROM b) AND (b IS DISTINCT FROM c) AND d OR NOT (b IS DISTINCT FROM c)";
    assert_eq!(shown.to_string(), expected);
    assert_eq!(same.or(last).to_string(), "(a IS NOT DISTINCT FROM b) OR d");
}

#[test]
fn other_spellings_are_refused() {
    let [a, b, c] = [0, 1, 2].map(atom);
    let and = |members: &[&Predicate]| Predicate::And(members.iter().map(|&member| member.clone()).collect());
    let or = |members: &[&Predicate]| Predicate::Or(members.iter().map(|&member| member.clone()).collect());
    let inside = |leaf: &Predicate| and(&[&b, &or(&[&c, &and(&[&a, &or(&[&b, leaf])])])]);
    for (wrong, fault) in [
        (and(&[]), PredicateFault::Short { found: 0 }),
        (or(&[&a]), PredicateFault::Short { found: 1 }),
        (and(&[&a, &and(&[&b, &c])]), PredicateFault::Nested),
        (or(&[&or(&[&a, &b]), &c]), PredicateFault::Nested),
        (and(&[&a, &b, &a]), PredicateFault::Repeated),
        (or(&[&and(&[&a, &b]), &and(&[&a, &b])]), PredicateFault::Repeated),
    ] {
        assert_eq!(wrong.check(), Err(fault), "{wrong:?}");
        // Wherever it stands.
        assert!(inside(&wrong).check().is_err(), "{wrong:?}");
    }
    assert_eq!(inside(&and(&[&a, &a.clone().negated()])).check(), Ok(()));
}

#[test]
fn a_predicate_is_walked_up_to_its_limits() {
    let deep = |depth: usize| {
        (1..depth).fold(atom(0), |inner, level| {
            let members = vec![atom(level), inner];
            if level % 2 == 0 { Predicate::And(members) } else { Predicate::Or(members) }
        })
    };
    assert_eq!(deep(MAX_PREDICATE_DEPTH).check(), Ok(()));
    let (found, limit) = (MAX_PREDICATE_DEPTH + 1, MAX_PREDICATE_DEPTH);
    let fault = TooMuch { what: Measure::Nesting, found, limit };
    assert_eq!(deep(found).check(), Err(PredicateFault::TooMuch(fault)));
    // The reader of JSON takes what is allowed, within a plan.
    let json =
        format!("{}{}{}", "[".repeat(12), serde_json::to_string(&deep(limit)).unwrap(), "]".repeat(12));
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());

    let wide = |nodes: usize| Predicate::And((1..nodes).map(atom).collect());
    assert_eq!(wide(MAX_PREDICATE_NODES).check(), Ok(()));
    let (found, limit) = (MAX_PREDICATE_NODES + 1, MAX_PREDICATE_NODES);
    let fault = TooMuch { what: Measure::Nodes, found, limit };
    assert_eq!(wide(found).check(), Err(PredicateFault::TooMuch(fault)));
}
