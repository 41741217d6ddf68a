// SPDX-License-Identifier: Apache-2.0
//! Aggregates of clear values in their order, beside a sorted list.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use hush_plan::plan::AggregateTask;

use crate::fixture::{Fixture, Random};
use crate::reference::{ask, task, texts};

/// In each group, of rows that a condition leaves, at random places.
#[test]
fn aggregates_of_values_in_their_order() {
    let mut random = Random::announced("values in their order");
    let fixture = Fixture::random(&mut random, &[8192 + 700, 5000]);
    let only = "CASE WHEN \"year\" <> 2021 THEN \"weight\" END";
    for draw in 0..8 {
        let denominator = 1 + random.below(20) as usize;
        let numerator = random.below(denominator as u64 + 1) as usize;
        let part = format!("{numerator}, {denominator}");
        let calls = [
            "COUNT(*)".to_owned(),
            format!("quantile_at({only}, {part}, 0)"),
            format!("quantile_at({only}, {part}, 1)"),
            format!("quantile_disc({only}, {part}, 0)"),
            format!("quantile_disc({only}, {part}, 1)"),
            format!("mode({only})"),
            format!("quantile_cont(CAST({only} AS DOUBLE), {part})"),
        ];
        let task = AggregateTask { clear: calls.to_vec(), ..task(&["\"ward\""], Vec::new(), &[]) };
        // A last draw without any row.
        let filter = (draw == 7).then_some("\"year\" = 2021");
        let found = ask(&fixture, 2, filter, &task).clear;
        let wards = texts(&found, "k0");
        for (group, ward) in wards.iter().enumerate() {
            let of_group = fixture.rows.iter().filter(|row| row.ward == *ward && row.year != 2021);
            let mut values: Vec<i64> = of_group.filter_map(|row| row.weight).collect();
            if draw == 7 {
                values.clear();
            }
            values.sort_unstable();
            let whole = |name: &str| number(&found, name, group);
            let Some(last) = values.len().checked_sub(1) else {
                assert!((1..6).all(|call| whole(&format!("c{call}")).is_none()), "no value");
                continue;
            };
            let place = last * numerator / denominator;
            let upto = (values.len() * numerator).div_ceil(denominator).max(1) - 1;
            let next = (place + 1).min(last);
            for (call, at) in [place, next, upto, last - upto].into_iter().enumerate() {
                let call = call + 1;
                assert_eq!(whole(&format!("c{call}")), Some(values[at]), "{} of group {group}", calls[call]);
            }
            let often = |value: &i64| values.iter().filter(|other| *other == value).count();
            let mode = values.iter().copied().reduce(|a, b| if often(&b) > often(&a) { b } else { a });
            assert_eq!(whole("c5"), mode, "the mode of group {group}");
            let behind = (last * numerator % denominator) as f64 / denominator as f64;
            let between = values[place] as f64 + (values[next] - values[place]) as f64 * behind;
            let column = found.column_by_name("c6").unwrap().as_primitive::<Float64Type>();
            assert_eq!(column.value(group), between, "{} of group {group}", calls[6]);
        }
    }
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> Option<i64> {
    let column = arrow::compute::cast(batch.column_by_name(name).unwrap(), &DataType::Int64).unwrap();
    column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row))
}
