// SPDX-License-Identifier: Apache-2.0

#![allow(clippy::indexing_slicing, clippy::needless_range_loop, reason = "a test fails by panicking")]
use std::collections::BTreeSet;

use hush_testkit::Draw;

use super::*;

const DEGREE: usize = 16;

fn matching(most: u8, digits: usize, padding: i64) -> MatchingRows {
    MatchingRows {
        most,
        digits,
        columns: Vec::new(),
        phases: vec![0.0; MatchingRows::sum_count(most, digits)],
        padding,
        is_masked: padding == 0,
    }
}

/// Rows that match: of a slot the ring elements, and the digits of each.
type Drawn = Vec<(usize, u64, Row)>;

/// The slots of all sums over some rows, by their definition, with what slots behind the rows add.
fn sums(matching: &MatchingRows, elements: &[usize], rows: &Drawn) -> Vec<Vec<i128>> {
    let modulus = modulus().unwrap();
    let most = u64::from(matching.most);
    let mut sums = vec![vec![0_i128; DEGREE]; MatchingRows::sum_count(matching.most, matching.digits)];
    let powers = |number: u64| (0..=most).map(move |power| modulus.pow(number, power) as i128);
    for (slot, number, digits) in rows {
        for (place, power) in powers(*number).enumerate() {
            sums[place][*slot] += power;
        }
        for (digit, value) in digits.iter().enumerate() {
            for (place, power) in powers(*number).take(most as usize).enumerate() {
                sums[most as usize + 1 + digit * most as usize + place][*slot] += power * i128::from(*value);
            }
        }
    }
    for (number, count) in (0..).zip(elements) {
        for slot in *count..DEGREE {
            for (place, power) in powers(number).enumerate() {
                sums[place][slot] += power * i128::from(matching.padding);
            }
        }
    }
    sums
}

/// Ring elements of so many rows, one behind the other with gaps.
fn placed(elements: &[usize]) -> Vec<Element> {
    (0..).zip(elements).map(|(number, rows)| Element { first: place(number, 0), rows: *rows }).collect()
}

fn place(number: u64, slot: usize) -> u64 {
    100 * number + slot as u64
}

fn drawn(draw: &mut Draw, elements: &[usize], (most, digits): (usize, usize)) -> Drawn {
    let mut rows = Vec::new();
    for slot in 0..DEGREE {
        let there: Vec<u64> =
            (0..).zip(elements).filter(|(_, rows)| slot < **rows).map(|(number, _)| number).collect();
        let count = draw.below(most + 1).min(there.len());
        let mut numbers = BTreeSet::new();
        while numbers.len() < count {
            numbers.insert(there[draw.below(there.len())]);
        }
        let mut digits = || (0..digits).map(|_| draw.below(65_537) as u64).collect();
        rows.extend(numbers.into_iter().map(|number| (slot, number, digits())));
    }
    rows
}

#[test]
fn slots_tell_which_rows_match_and_what_they_are() {
    let mut draw = Draw::new();
    for (most, digits, padding) in [(1, 0, 0), (1, 2, 1), (4, 3, 0), (4, 1, 1), (16, 2, 1), (4, 1, -3)] {
        let matching = matching(most, digits, padding);
        let elements: Vec<usize> =
            (0..50).map(|place| if place % 9 == 4 { draw.below(DEGREE) } else { DEGREE }).collect();
        let rows = drawn(&mut draw, &elements, (most.into(), digits));
        let sums = sums(&matching, &elements, &rows);
        let of_run =
            SlotsOfRun { matching: &matching, modulus: modulus().unwrap(), elements: placed(&elements) };
        for slot in 0..DEGREE {
            let found = of_run.rows(slot, &sums).unwrap();
            let expected: Vec<(u64, Row)> = rows
                .iter()
                .filter(|row| row.0 == slot)
                .map(|(_, number, row)| (place(*number, slot), row.clone()))
                .collect();
            assert_eq!((found.count, found.rows), (expected.len() as u64, expected));
        }
    }
}

/// Each number of an answer that is altered is noticed, but for values that nothing else tells: where as many rows match as are told apart, or one in the
/// first ring element does.
#[test]
fn sums_that_no_rows_make_are_refused() {
    let mut draw = Draw::new();
    let (most, digits) = (4_u8, 2);
    for padding in [0, 1] {
        let matching = matching(most, digits, padding);
        let elements = vec![DEGREE, 3, DEGREE, DEGREE, 7, DEGREE, DEGREE];
        let rows = drawn(&mut draw, &elements, (most.into(), digits));
        let sums = sums(&matching, &elements, &rows);
        let of_run =
            SlotsOfRun { matching: &matching, modulus: modulus().unwrap(), elements: placed(&elements) };
        for slot in 0..DEGREE {
            let count = rows.iter().filter(|row| row.0 == slot).count();
            for place in 0..sums.len() {
                let mut forged = sums.clone();
                // One row more, in the first element, would be a row like any: nothing tells it from what a server may have added up.
                forged[place][slot] += 2 + draw.below(60_000) as i128;
                let found = of_run.rows(slot, &forged);
                let is_value = place > usize::from(most);
                // Of a row in the first element no power but that of 0 says anything.
                let is_first = rows.iter().any(|row| (row.0, row.1) == (slot, 0));
                let is_alone = is_value && is_first && (place - 1).is_multiple_of(most.into());
                match (is_value, is_alone || count == usize::from(most)) {
                    // Other digits: what bounds them comes later.
                    (true, true) => assert!(found.is_ok()),
                    (true, false) => assert!(found.is_err(), "{place} of {count}"),
                    // More rows than are told apart are counted; others that are no rows are refused.
                    (false, _) => {
                        let other =
                            found.is_ok_and(|found| found.count <= most.into() && !found.rows.is_empty());
                        assert!(!other, "{place} of {count}");
                    }
                }
            }
        }
    }
}

#[test]
fn more_rows_than_are_told_apart_are_counted() {
    let matching = matching(2, 1, 0);
    let elements = vec![DEGREE; 9];
    let rows: Drawn = (0..5).map(|number| (3, number, vec![7])).collect();
    let sums = sums(&matching, &elements, &rows);
    let of_run = SlotsOfRun { matching: &matching, modulus: modulus().unwrap(), elements: placed(&elements) };
    let found = of_run.rows(3, &sums).unwrap();
    assert_eq!((found.count, found.rows.len()), (5, 0));
    assert_eq!(of_run.rows(4, &sums).unwrap().count, 0);
    // More than there are ring elements.
    let mut forged = sums;
    forged[0][3] = 10;
    assert!(of_run.rows(3, &forged).is_err());
}

#[test]
fn limbs_are_digits_of_either_sign() {
    let t = FILTER_PRIME;
    assert_eq!([0, 511, 512].map(|limb| limb_of(limb, 9, true)), [Some(0), Some(511), None]);
    assert_eq!([0, 255, 256].map(|limb| limb_of(limb, 9, false)), [Some(0), Some(255), None]);
    assert_eq!([t - 1, t - 256, t - 257].map(|limb| limb_of(limb, 9, false)), [Some(-1), Some(-256), None]);
}
