// SPDX-License-Identifier: Apache-2.0

#![allow(clippy::indexing_slicing)]

use hush_plan::ColumnType;
use hush_plan::run::RunForm;

use super::*;

/// The value at every place of all rows, one by one, and none behind them.
#[test]
fn a_place_is_found_among_many_lists() {
    let form = RunForm::Units { low: -4, bits: 16 };
    let by = RunColumn { name: "x".to_owned(), kind: ColumnType::Int { bits: 32 }, nullable: false, form };
    let mut draw = hush_testkit::Draw::new();
    for round in 0..300 {
        let domain = [1, 3, 50, 5000][draw.below(4)];
        let lists: Vec<Vec<Key>> = (0..draw.below(6))
            .map(|_| {
                let mut keys: Vec<Key> =
                    (0..draw.below(40)).map(|_| Key::Number(draw.below(domain) as i128 - 4)).collect();
                keys.sort_unstable();
                keys
            })
            .collect();
        let mut rows: Vec<Key> = lists.concat();
        rows.sort_unstable();
        // Half of them as keys, half as values of rows.
        let values = lists.iter().map(|keys| {
            let mut values = RunValues::empty(&by);
            keys.iter().for_each(|key| values.push(form, Some(key)));
            values
        });
        let values: Vec<RunValues> = values.collect();
        let rising = || -> Vec<Rising<'_>> {
            let lists = lists.iter().zip(&values).enumerate();
            lists
                .map(|(place, (keys, values))| {
                    let of = if place % 2 == 0 { List::Keys(keys) } else { List::Rows(values) };
                    Rising { of, places: 0..keys.len() }
                })
                .collect()
        };
        for place in 0..rows.len() + 2 {
            let found = at_place(&by, rising(), place as u64);
            assert_eq!(found.as_ref(), rows.get(place), "{round}: {lists:?} at {place}");
            let (found, next) = at_places(&by, &rising(), place as u64);
            let expected = (rows.get(place), rows.get(place + 1));
            assert_eq!((found.as_ref(), next.as_ref()), expected, "{round}: {lists:?} at {place}");
        }
    }
}
