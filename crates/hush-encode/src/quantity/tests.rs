// SPDX-License-Identifier: Apache-2.0
//! Products and their combinations in 128 bits, and beyond, beside integers of 256 bits.

use hush_testkit::Draw;

use super::*;

const COLUMNS: [&str; 3] = ["a", "b", "c"];

/// Columns of numbers of at most so many bits, some of them as large as they can be.
fn batch(draw: &mut Draw, rows: usize, bits: [u32; 3]) -> RowBatch {
    let number = |draw: &mut Draw, bits: u32| {
        let most = i64::MAX >> (63 - bits);
        match draw.below(6) {
            0 => most,
            1 => -most,
            2 => 0,
            _ => ((draw.below(1 << 31) as i64) << 31 | draw.below(1 << 31) as i64) % most.max(1),
        }
    };
    let column = |bits: u32, draw: &mut Draw| {
        let values = (0..rows).map(|_| number(draw, bits)).collect();
        Some(ColumnData::Units(TypedColumn { values: Cells::I64(values), valid: None }))
    };
    RowBatch { first_row: 0, rows, columns: bits.into_iter().map(|bits| column(bits, draw)).collect() }
}

fn whole(quantity: &QuantityValues<'_>) -> Vec<I256> {
    match quantity.view() {
        View::Exact(Values::I64(values)) => values.iter().map(|value| I256::from(*value)).collect(),
        View::Exact(Values::I128(values)) => values.iter().map(|value| I256::from(*value)).collect(),
        View::Exact(Values::I256(values)) => values.to_vec(),
        View::Approx(_) => Vec::new(),
    }
}

/// The product of some columns in a row.
fn product(batch: &RowBatch, factors: &[usize], row: usize) -> I256 {
    let value = |place: &usize| match &batch.columns[*place] {
        Some(ColumnData::Units(TypedColumn { values: Cells::I64(values), .. })) => I256::from(values[row]),
        _ => panic!("columns are of 64 bits"),
    };
    factors.iter().map(value).fold(I256::ONE, |product, value| product * value)
}

#[test]
fn products_and_combinations_are_exact_whether_128_bits_hold_them_or_not() {
    let (mut draw, positions) = (Draw::new(), BTreeMap::from([("a", 0), ("b", 1), ("c", 2)]));
    let (mut short, mut long) = (0, 0);
    for round in 0..600 {
        let bits = [[7, 20, 30], [40, 43, 44], [62, 30, 33], [63, 62, 62]][round % 4];
        let batch = batch(&mut draw, 5, bits);
        let factors =
            |draw: &mut Draw| -> Vec<usize> { (0..1 + draw.below(3)).map(|_| draw.below(3)).collect() };
        let terms: Vec<(i64, Vec<usize>)> =
            (0..1 + draw.below(4)).map(|_| (draw.below(2000) as i64 - 1000, factors(&mut draw))).collect();
        let named = |factors: &[usize]| factors.iter().map(|place| COLUMNS[*place].to_owned()).collect();
        let monomial = Quantity::Monomial(named(&terms[0].1));
        let found = quantity_values(&monomial, &batch, &positions).unwrap();
        let expected: Vec<I256> = (0..5).map(|row| product(&batch, &terms[0].1, row)).collect();
        assert_eq!(whole(&found), expected, "{draw:?}");
        let combined = terms.iter().map(|(weight, factors)| (*weight, Quantity::Monomial(named(factors))));
        let combination = Quantity::Combination(combined.collect());
        let found = quantity_values(&combination, &batch, &positions).unwrap();
        let sum = |row: usize| {
            let multiples =
                terms.iter().map(|(weight, factors)| product(&batch, factors, row) * I256::from(*weight));
            multiples.fold(I256::ZERO, |sum, multiple| sum + multiple)
        };
        assert_eq!(whole(&found), (0..5).map(sum).collect::<Vec<_>>(), "{draw:?}");
        match found {
            QuantityValues::I128(_) => short += 1,
            _ => long += 1,
        }
    }
    assert!(short > 100 && long > 100, "{short} {long}");
}

/// Steps at the ends of 128 bits: what fits is short, and one more is not.
#[test]
fn the_last_number_of_128_bits_is_held() {
    let column =
        |values: Vec<i128>| Some(ColumnData::Units(TypedColumn { values: Cells::I128(values), valid: None }));
    let positions = BTreeMap::from([("a", 0)]);
    let value = || Quantity::Value("a".to_owned());
    for (number, weight, is_short) in [
        (i128::MAX, 1, true),
        (i128::MIN, 1, true),
        (i128::MIN, -1, false),
        (i128::MAX / 2, 2, true),
        (i128::MAX / 2 + 1, 2, false),
    ] {
        let batch = RowBatch { first_row: 0, rows: 1, columns: vec![column(vec![number])] };
        let found =
            quantity_values(&Quantity::Combination(vec![(weight, value())]), &batch, &positions).unwrap();
        assert_eq!(whole(&found), [I256::from(number) * I256::from(weight)]);
        assert_eq!(matches!(found, QuantityValues::I128(_)), is_short, "{number} {weight}");
        let twice = Quantity::Combination(vec![(weight, value()), (weight, value())]);
        let found = quantity_values(&twice, &batch, &positions).unwrap();
        assert_eq!(whole(&found), [I256::from(number) * I256::from(weight) * I256::from(2)]);
    }
}
