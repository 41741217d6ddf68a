// SPDX-License-Identifier: Apache-2.0
//! Programs on encrypted integers against the same programs in the clear.

use hush_testkit::Draw;
use hush_tfhe::integer::{Operand, Outcomes, Program, Step};

use super::*;

/// A secret with the keys of its server, made once.
struct Sides {
    secret: TfheSecret,
    key: ServerKey,
}

impl Sides {
    fn new() -> Self {
        let secret = secret(&INTEGERS);
        let key = server(&secret);
        Self { secret, key }
    }

    /// The results of a program on columns of values, and of the same in the clear.
    fn run(&self, program: &Program, columns: &[Vec<i128>]) -> (Vec<i128>, Vec<i128>) {
        let length = columns.first().map_or(0, Vec::len);
        let upload = |(vector, digits): (usize, usize)| {
            let digits: Vec<u64> =
                columns[vector].iter().flat_map(|value| Program::digits_of(*value, digits)).collect();
            self.secret.encrypt(&digits).unwrap().encode(self.secret.context())
        };
        let uploads: Vec<Vec<u8>> = program.inputs().map(upload).collect();
        let answer = program.serve(&self.key, length, &uploads).unwrap();
        let digits = self.secret.decrypt(program.answer_count(length), &answer).unwrap();
        let row = |row: usize| columns.iter().map(|column| column[row]).collect::<Vec<_>>();
        let clear = (0..length).map(|element| program.value(&row(element)));
        let clear: Vec<i128> = match program.is_summed() {
            // Sums wrap as a program's integers do.
            true => vec![wrapped(program, clear.sum())],
            false => clear.collect(),
        };
        (program.results(&digits), clear)
    }
}

fn wrapped(program: &Program, value: i128) -> i128 {
    let modulus = 1_i128 << (2 * program.digits());
    let rest = value.rem_euclid(modulus);
    if program.is_signed() && rest >= modulus / 2 { rest - modulus } else { rest }
}

const LESS: Outcomes = Outcomes { less: true, equal: false, greater: false };

fn full(vector: usize, digits: usize) -> Step {
    Step::Input { vector, digits, last: 3 }
}

/// A step on those before it, of which `bits` are places of bits.
fn any_step(random: &mut Draw, (places, bits): (usize, &[usize]), range: std::ops::Range<i128>) -> Step {
    let number = |random: &mut Draw| random.below(places);
    let constant = |random: &mut Draw| random.below(200) as i128 - 100;
    let operand = |random: &mut Draw| match random.below(3) {
        0 => Operand::Constant(range.start + random.below((range.end - range.start) as usize) as i128),
        _ => Operand::Step(number(random)),
    };
    let bit = |random: &mut Draw| bits[random.below(bits.len())];
    let some_bits = |random: &mut Draw| (0..1 + random.below(7)).map(|_| bit(random)).collect::<Vec<_>>();
    match random.below(9) {
        0 if !bits.is_empty() => Step::All(some_bits(random)),
        1 if !bits.is_empty() => Step::Any(some_bits(random)),
        2 if !bits.is_empty() => Step::Odd(some_bits(random)),
        3 if !bits.is_empty() => Step::Not(bit(random)),
        4 | 5 if !bits.is_empty() => Step::Choose(bit(random), operand(random), operand(random)),
        6 => Step::Product(number(random), number(random)),
        8 => {
            let entry =
                |random: &mut Draw| range.start + random.below((range.end - range.start) as usize) as i128;
            let entries = (0..1 + random.below(16)).map(|_| entry(random)).collect();
            Step::LookUp(number(random), entries)
        }
        7 => {
            let terms = (0..1 + random.below(4)).map(|_| (number(random), constant(random))).collect();
            Step::Linear(constant(random), terms)
        }
        _ => {
            let [less, equal, greater] = [(); 3].map(|()| random.below(2) == 1);
            Step::Compare(number(random), operand(random), Outcomes { less, equal, greater })
        }
    }
}

#[test]
fn random_programs_give_what_they_give_in_the_clear() {
    let sides = Sides::new();
    let mut random = Draw::of_environment("HUSH_DRAW");
    for round in 0..8 {
        let digits = 1 + random.below(4);
        let is_signed = random.below(2) == 1;
        let modulus = 1_i128 << (2 * digits);
        let low = if is_signed { -modulus / 2 } else { 0 };
        let mut value = |below: i128| random.below(below as usize) as i128;
        // Two vectors of any values, a short one, and one of bits.
        let short = 1.max(digits - 1);
        let columns: Vec<Vec<i128>> = vec![
            (0..2).map(|_| value(modulus) + low).collect(),
            (0..2).map(|_| value(modulus) + low).collect(),
            (0..2).map(|_| value(1 << (2 * short - 1))).collect(),
            (0..2).map(|_| value(2)).collect(),
        ];
        let mut steps = vec![
            full(0, digits),
            full(1, digits),
            Step::Input { vector: 2, digits: short, last: 1 },
            Step::Input { vector: 3, digits: 1, last: 1 },
        ];
        // The short vector is one of bits where it has one digit.
        let mut bits = if short == 1 { vec![2, 3] } else { vec![3] };
        for _ in 0..5 {
            let step = any_step(&mut random, (steps.len(), &bits), low..low + modulus);
            let gives_bit = match &step {
                Step::Choose(..) | Step::Linear(..) | Step::Product(..) => false,
                Step::LookUp(_, entries) => entries.iter().all(|entry| matches!(entry, 0 | 1)),
                _ => true,
            };
            if gives_bit {
                bits.push(steps.len());
            }
            steps.push(step);
        }
        let program = Program::new(digits, is_signed, steps, random.below(4) == 0).unwrap();
        let (found, clear) = sides.run(&program, &columns);
        assert_eq!(found, clear, "{random}, round {round}: {program:?} on {columns:?}");
    }
}

#[test]
fn every_outcome_is_told() {
    let sides = Sides::new();
    let columns =
        [vec![5, 9, -8], vec![5, 2, 12]].map(|column| column.into_iter().map(i128::from).collect::<Vec<_>>());
    for outcomes in 0..8 {
        let when = Outcomes { less: outcomes & 1 > 0, equal: outcomes & 2 > 0, greater: outcomes & 4 > 0 };
        for (digits, right) in [(3, Operand::Step(1)), (3, Operand::Constant(5))] {
            let steps = vec![full(0, digits), full(1, digits), Step::Compare(0, right, when)];
            let program = Program::new(digits, true, steps, false).unwrap();
            let (found, clear) = sides.run(&program, &columns);
            assert_eq!(found, clear, "{program:?}");
        }
    }
}

#[test]
fn integers_of_64_bits_are_compared_and_added() {
    let sides = Sides::new();
    let values = vec![i64::MIN, -1, i64::MAX].into_iter().map(i128::from);
    let columns = [values.clone().collect::<Vec<_>>(), values.rev().collect()];
    let inputs = [full(0, 32), full(1, 32)];
    for step in [Step::Compare(0, Operand::Step(1), LESS), Step::Linear(-7, vec![(0, 1), (1, -1)])] {
        let steps = inputs.iter().cloned().chain([step]).collect();
        let program = Program::new(32, true, steps, false).unwrap();
        let (found, clear) = sides.run(&program, &columns);
        assert_eq!(found, clear, "{program:?}");
    }
}

/// Every place, of one digit, below 8 and below 16; digits that entries share are not looked up, and below 8 two of the others are one look-up.
#[test]
fn entries_are_looked_up_at_every_place() {
    let sides = Sides::new();
    for (count, digits, bootstraps) in [(4, 4, 2), (8, 4, 2), (11, 4, 3), (16, 1, 1)] {
        let entries: Vec<i128> = match digits {
            1 => (0..count).map(|place| i128::from(place % 3 == 1)).collect(),
            // The highest of four digits is 1 in all.
            _ => (0..count).map(|place| 64 + place * place * 11 % 63).collect(),
        };
        let (sent, last) = if count == 4 { (1, 3) } else { (2, (count as u64 - 1) / 4) };
        let steps = vec![Step::Input { vector: 0, digits: sent, last }, Step::LookUp(0, entries)];
        let program = Program::new(digits.max(2), false, steps, false).unwrap();
        assert_eq!(program.cost(1).unwrap().bootstraps, bootstraps, "{count} entries");
        let (found, clear) = sides.run(&program, &[(0..count).collect::<Vec<_>>()]);
        assert_eq!(found, clear, "{program:?}");
    }
}

#[test]
fn sums_over_many_elements_are_carried() {
    let sides = Sides::new();
    let columns = [(0..40).map(|value| i128::from(value * 37 % 64)).collect::<Vec<_>>()];
    let program = Program::new(6, false, vec![Step::Input { vector: 0, digits: 3, last: 3 }], true).unwrap();
    let (found, clear) = sides.run(&program, &columns);
    assert_eq!(found, clear);
    assert_eq!(clear, [columns[0].iter().sum::<i128>()]);
}

/// The count is that of the code that evaluates: it cannot be off unless the shapes of digits differ.
#[test]
fn costs_scale_with_elements() {
    let steps = vec![full(0, 4), full(1, 4), Step::Compare(0, Operand::Step(1), LESS)];
    let program = Program::new(4, false, steps, false).unwrap();
    let (one, three) = (program.cost(1).unwrap(), program.cost(3).unwrap());
    // Four orders, and three that join them.
    assert_eq!((one.bootstraps, one.rounds), (7, 3));
    assert_eq!((three.bootstraps, three.rounds), (21, 3));
    assert_eq!(program.cost(0).unwrap().bootstraps, 0);
}

#[test]
fn programs_that_are_none_are_refused() {
    let refused = |digits, steps| Program::new(digits, false, steps, false).unwrap_err().code();
    assert_eq!(refused(0, vec![full(0, 1)]), "HUSH-B008");
    assert_eq!(refused(33, vec![full(0, 1)]), "HUSH-B008");
    assert_eq!(refused(2, vec![]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 3)]), "HUSH-B008");
    assert_eq!(refused(2, vec![full(0, 2), Step::Product(0, 1)]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::Not(0)]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::All(vec![])]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::Linear(1, vec![])]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::LookUp(0, vec![])]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::LookUp(0, vec![0; 17])]), "HUSH-B004");
    assert_eq!(refused(2, vec![full(0, 2), Step::LookUp(0, vec![1, 16])]), "HUSH-B008");
    assert_eq!(refused(2, vec![full(0, 2), Step::Compare(0, Operand::Constant(16), LESS)]), "HUSH-B008");
    assert_eq!(refused(2, vec![full(0, 2), Step::Compare(0, Operand::Constant(-1), LESS)]), "HUSH-B008");
}

#[test]
fn objects_of_other_shapes_are_refused() {
    let sides = Sides::new();
    let context = sides.secret.context();
    let program = Program::new(2, false, vec![full(0, 2)], false).unwrap();
    let upload = sides.secret.encrypt(&[1, 2, 3, 0]).unwrap().encode(context);
    let code = |length, uploads: &[Vec<u8>]| program.serve(&sides.key, length, uploads).unwrap_err().code();
    assert_eq!(code(2, &[]), "HUSH-B004");
    assert_eq!(code(3, std::slice::from_ref(&upload)), "HUSH-B004");
    for (at, expected) in [
        (0, "HUSH-B001"),
        (6, "HUSH-B001"),
        (8, "HUSH-B001"),
        (10, "HUSH-B003"),
        (12, "HUSH-B004"),
        (16, "HUSH-B004"),
        (30, "HUSH-B002"),
    ] {
        let mut damaged = upload.clone();
        damaged[at] ^= 1;
        assert_eq!(code(2, &[damaged]), expected, "byte {at}");
    }
    for length in 0..upload.len() {
        assert!(program.serve(&sides.key, 2, &[upload[..length].to_vec()]).is_err(), "{length} bytes");
    }
    let other = secret(&GATES);
    let bits = other.encrypt_bits(&[true; 4]).unwrap().encode(other.context());
    assert_eq!(code(2, &[bits]), "HUSH-B003");
    assert!(sides.secret.encrypt_bits(&[true]).is_err() && other.encrypt(&[1]).is_err());
    assert!(sides.secret.encrypt(&[16]).is_err());
}
