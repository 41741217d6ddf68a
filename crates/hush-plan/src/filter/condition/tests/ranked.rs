// SPDX-License-Identifier: Apache-2.0
//! Conditions by ranks: in every chunk what is made of them, with the flags that its owner chooses there, is 1 where they are true.

use hush_testkit::Draw;

use super::*;
use crate::plan::{ChosenOf, Cut, Key};
use crate::quantity::RankFlag;

const NAMES: [&str; 8] = ["", "Z", "a", "ab", "ab%", "abc", "b", "ü"];

fn ranked_table() -> Schema {
    use ColumnType::{Decimal, Int, Text};
    use Protection::{Encrypt, Seal};
    schema(
        "t",
        vec![
            nullable(column("id", Int { bits: 64 }, Encrypt)),
            column("price", Decimal { precision: 12, scale: 2 }, Encrypt),
            nullable(column("name", Text, Seal)),
        ],
    )
}

#[derive(Clone, Debug)]
struct Ranked {
    id: Option<i128>,
    /// In hundredths.
    price: i128,
    name: Option<&'static str>,
}

impl Ranked {
    fn key(&self, column: &str) -> Option<Key> {
        match column {
            "id" => self.id.map(Key::Number),
            "price" => Some(Key::Number(self.price)),
            _ => self.name.map(|name| Key::Text(name.to_owned())),
        }
    }
}

type Truth = Box<dyn Fn(&Ranked) -> Option<bool>>;

fn compared<T: PartialOrd>(op: &str, one: T, other: T) -> bool {
    match op {
        "=" => one == other,
        "<>" => one != other,
        "<" => one < other,
        "<=" => one <= other,
        ">" => one > other,
        _ => one >= other,
    }
}

/// A random condition, and what it is for a row.
fn drawn(draw: &mut Draw, depth: usize) -> (String, Truth) {
    if depth > 0 && draw.below(3) > 0 {
        let (one, first) = drawn(draw, depth - 1);
        if draw.below(4) == 0 {
            return (format!("NOT ({one})"), Box::new(move |row| first(row).map(|truth| !truth)));
        }
        let (other, second) = drawn(draw, depth - 1);
        let is_and = draw.below(2) == 0;
        let word = if is_and { "AND" } else { "OR" };
        let truth = move |row: &Ranked| match (first(row), second(row)) {
            (Some(one), Some(other)) => Some(if is_and { one && other } else { one || other }),
            (Some(known), None) | (None, Some(known)) if known != is_and => Some(known),
            _ => None,
        };
        return (format!("({one}) {word} ({other})"), Box::new(truth));
    }
    let op = ["=", "<>", "<", "<=", ">", ">="][draw.below(6)];
    let id = |draw: &mut Draw| [i128::from(i64::MIN), -3, 0, 4, 5, 1 << 40][draw.below(6)];
    match draw.below(8) {
        0 => {
            let id = id(draw);
            (format!("id {op} {id}"), Box::new(move |row| Some(compared(op, row.id?, id))))
        }
        1 => {
            let (low, high) = (id(draw), id(draw));
            let truth = move |row: &Ranked| Some((low..=high).contains(&row.id?));
            (format!("id BETWEEN {low} AND {high}"), Box::new(truth))
        }
        2 => {
            let list = [id(draw), id(draw), id(draw)];
            let text = list.map(|id| id.to_string()).join(", ");
            (format!("id NOT IN ({text})"), Box::new(move |row| Some(!list.contains(&row.id?))))
        }
        // Between two units nothing lies.
        3 => {
            let thousandths = draw.below(60) as i128 - 10;
            let literal = format!(
                "{}{}.{:03}",
                if thousandths < 0 { "-" } else { "" },
                thousandths.abs() / 1000,
                thousandths.abs() % 1000
            );
            let truth = move |row: &Ranked| Some(compared(op, 10 * row.price, thousandths));
            (format!("price {op} {literal}"), Box::new(truth))
        }
        4 => {
            let name = NAMES[draw.below(8)];
            (format!("name {op} '{name}'"), Box::new(move |row| Some(compared(op, row.name?, name))))
        }
        5 => {
            let prefix = ["a", "ab", "ü", "z"][draw.below(4)];
            (format!("name LIKE '{prefix}%'"), Box::new(move |row| Some(row.name?.starts_with(prefix))))
        }
        6 => ("name IS NULL".to_owned(), Box::new(|row| Some(row.name.is_none()))),
        _ => ("id IS NOT NULL".to_owned(), Box::new(|row| Some(row.id.is_some()))),
    }
}

/// One of the codes of a rank.
fn code(rank: u32) -> u32 {
    2 * rank + rank * rank % 3 % 2
}

/// What a polynomial is for a row of a chunk.
fn of_row(term: &Term, chunk: &[Ranked], row: &Ranked) -> i64 {
    let of = |term: &Term| of_row(term, chunk, row);
    let Term::Chosen(flag) = term else {
        return match term {
            Term::Constant(integer) => *integer,
            Term::Add(one, other) => of(one) + of(other),
            Term::Mul(one, other) => of(one) * of(other),
            Term::Sub(one, other) => of(one) - of(other),
            other => panic!("{other:?}"),
        };
    };
    let keys = || chunk.iter().filter_map(|row| row.key(&flag.column));
    let below = |cut: &Cut| keys().filter(|key| cut.is_above(key)).count() as u32;
    let chosen = match &flag.of {
        ChosenOf::Valid => RankFlag::Valid,
        ChosenOf::AtLeast { cut, digit, next } => RankFlag::at(code(below(cut)), *digit, *next),
        ChosenOf::Equal { at, digit, next } => {
            let rank = below(&Cut { at: at.clone(), behind: false });
            let is_there = keys().any(|key| key == *at);
            RankFlag::at(if is_there { code(rank) } else { code(rank) ^ 1 }, *digit, *next)
        }
    };
    let rank = row.key(&flag.column).map(|own| keys().filter(|key| *key < own).count() as u32);
    i64::from(chosen.is_set(rank.map(code)))
}

#[test]
fn conditions_by_ranks_are_1_where_they_are_true() {
    let schema = ranked_table();
    let mut draw = Draw::of(41);
    let (mut decided, mut both) = (0, [0; 2]);
    for _ in 0..3000 {
        let (text, truth) = drawn(&mut draw, 2);
        let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {text}")).unwrap();
        let filter = query.filter.as_ref();
        let code = |name: &str| {
            let dimension = Dimension { column: name.to_owned(), grain: Grain::Each };
            Code::of(&schema, &dimension).unwrap().cut_by(filter)
        };
        let codes = ["id", "price", "name"].map(code);
        let columns = CodedColumns { schema: &schema, codes: &codes, hides: false };
        let Some(term) = polynomial(columns, filter.unwrap(), &mut Vec::new()) else { continue };
        decided += 1;
        let chunk: Vec<Ranked> = (0..draw.below(40))
            .map(|_| Ranked {
                id: [None, Some(-3), Some(0), Some(4), Some(5), Some(i128::from(i64::MAX))][draw.below(6)],
                price: draw.below(8) as i128 - 1,
                name: [None, Some(NAMES[draw.below(8)])][usize::from(draw.below(4) > 0)],
            })
            .collect();
        for row in &chunk {
            let is_true = truth(row) == Some(true);
            both[usize::from(is_true)] += 1;
            assert_eq!(of_row(&term, &chunk, row), i64::from(is_true), "{text}\n{row:?} in {chunk:?}");
        }
    }
    assert!(decided > 1500 && both.iter().all(|rows| *rows > 5000), "{decided} {both:?}");
}

/// A comparison reads as many flags whatever its constant.
#[test]
fn comparisons_read_as_many_flags_whatever_their_constants() {
    let schema = ranked_table();
    let flags = |text: &str| {
        let query = sql::parse(&schema, &format!("SELECT COUNT(*) FROM t WHERE {text}")).unwrap();
        let dimension = Dimension { column: "id".to_owned(), grain: Grain::Each };
        let codes = [Code::of(&schema, &dimension).unwrap().cut_by(query.filter.as_ref())];
        let columns = CodedColumns { schema: &schema, codes: &codes, hides: false };
        let term = polynomial(columns, query.filter.as_ref().unwrap(), &mut Vec::new()).unwrap();
        let mut found = Vec::new();
        let mut operand = |operand: crate::filter::Operand<'_>| {
            found.push(format!("{operand:?}"));
            Some(crate::plan::Factor::Column(0))
        };
        term.bind(&mut operand).unwrap();
        found.sort_unstable();
        found.dedup();
        (term.degree(), found.len())
    };
    for least in [i64::MIN, -1, 0, 17, i64::MAX] {
        assert_eq!(flags(&format!("id >= {least}")), (3, 5), "{least}");
        assert_eq!(flags(&format!("id = {least}")), (3, 6), "{least}");
    }
    assert_eq!(flags("id BETWEEN 5 AND 900"), (3, 10));
}
