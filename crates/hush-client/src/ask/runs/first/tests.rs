// SPDX-License-Identifier: Apache-2.0

use std::collections::BTreeMap;

use hush_plan::ColumnType;
use hush_plan::run::RunForm;
use hush_testkit::Draw;

use super::*;
use crate::run::RunValues;

/// Whatever is asked for is left, with all that is alike in order, and nothing that cannot be among it.
#[test]
fn the_first_rows_are_left() {
    let form = RunForm::Units { low: -9, bits: 8 };
    let by = RunColumn { name: "x".to_owned(), kind: ColumnType::Int { bits: 8 }, nullable: true, form };
    let mut draw = Draw::new();
    for round in 0..400 {
        let mut number = 0;
        let mut all: Vec<(Option<i128>, u32)> = Vec::new();
        let mut block = |draw: &mut Draw| {
            let (mut values, mut numbers) = (RunValues::empty(&by), Vec::new());
            for _ in 0..draw.below(30) {
                let value = (draw.below(6) > 0).then(|| draw.below(40) as i128 - 9);
                values.push(form, value.map(Key::Number).as_ref());
                numbers.push(number);
                all.push((value, number));
                number += 1;
            }
            let groups = numbers.iter().map(|number| number * 7).collect();
            BlockRows { numbers, groups, columns: vec![values] }
        };
        let mut blocks: Blocks = (0..3)
            .map(|_| (0..draw.below(4) as u32).map(|place| (place, block(&mut draw))).collect())
            .collect();
        let (rows, descending, nulls_first) = (draw.below(50) as u64, round % 2 == 0, round % 3 == 0);
        let opens = Opens::First { rows, descending, nulls_first };
        let query =
            RunQuery { place: 0, cuts: Vec::new(), least: 0, segments: None, opens, needed: Vec::new() };
        keep_first(&by, &mut blocks, &query);
        let left = blocks.iter().flat_map(BTreeMap::values).flat_map(|rows| {
            let value = |row| match rows.columns.first().and_then(|values| values.key(form, row)) {
                Some(Key::Number(value)) => Some(value),
                _ => None,
            };
            let numbers = rows.numbers.iter().zip(&rows.groups).enumerate();
            numbers.map(move |(row, (number, group))| {
                assert_eq!(*group, number * 7);
                (value(row), *number)
            })
        });
        let left: Vec<(Option<i128>, u32)> = left.collect();
        assert!(left.iter().all(|row| all.contains(row)), "{round}");
        let spot = |value: Option<i128>| match value {
            None => (if nulls_first { -1 } else { 1 }, 0),
            Some(value) => (0, if descending { -value } else { value }),
        };
        let mut order: Vec<(i32, i128)> = all.iter().map(|(value, _)| spot(*value)).collect();
        order.sort_unstable();
        let limit = (rows as usize)
            .checked_sub(1)
            .and_then(|place| order.get(place.min(order.len().saturating_sub(1))));
        let wanted = all.iter().filter(|(value, _)| limit.is_some_and(|limit| spot(*value) <= *limit));
        assert!(wanted.clone().all(|row| left.contains(row)), "{round}: {left:?} of {all:?}, {rows}");
        let has_values = order.iter().filter(|(spot, _)| *spot == 0).count();
        let before = if nulls_first { order.len() - has_values } else { 0 };
        if rows as usize > before && (rows as usize) < before + has_values {
            assert_eq!(left.len(), wanted.count(), "{round}");
        }
    }
}
