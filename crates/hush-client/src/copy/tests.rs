// SPDX-License-Identifier: Apache-2.0

use hush_plan::Protection;
use hush_plan::schema::{Purpose, UnitRange, Written};
use hush_testkit::Draw;

use super::*;

fn column(kind: ColumnType, range: Option<(i128, i128)>, nullable: bool) -> Column {
    let range = range.map(|(low, high)| UnitRange { low, high });
    Column {
        name: "x".into(),
        kind,
        nullable,
        range,
        protect: Protection::Encrypt,
        purposes: vec![Purpose::Fetch],
        reason: String::new(),
        written: Written::default(),
        join: None,
    }
}

/// Values at the ends of every width, missing ones among them, come back as they were, in the bits that their range needs.
#[test]
fn values_of_every_width_come_back() {
    let mut draw = Draw::new();
    let decimal = ColumnType::Decimal { precision: 38, scale: 0 };
    let most = 10_i128.pow(38) - 1;
    let ranges = [
        (0, 0),
        (0, 1),
        (-5, 250),
        (7, 1 << 57),
        (i128::from(i64::MIN), i128::from(i64::MAX)),
        (-most, most),
    ];
    for (low, high) in ranges {
        for nullable in [false, true] {
            for rows in [0, 1, 7, 8, 9, 1000] {
                let column = column(decimal, Some((low, high)), nullable);
                let value = |draw: &mut Draw| match draw.below(4) {
                    0 => low,
                    1 => high,
                    _ => low.wrapping_add_unsigned(
                        u128::from(draw.word()) % (high.abs_diff(low).saturating_add(1)),
                    ),
                };
                let values: Vec<i128> = (0..rows).map(|_| value(&mut draw)).collect();
                let valid = nullable.then(|| (0..rows).map(|_| draw.below(3) > 0).collect::<Vec<bool>>());
                let is_valid = |row: usize| valid.as_ref().is_none_or(|valid| valid[row]);
                let known: Vec<i128> = values
                    .iter()
                    .enumerate()
                    .map(|(row, value)| if is_valid(row) { *value } else { 0 })
                    .collect();
                let data = TypedColumn { values: Values::I128(known.clone()), valid: valid.clone() };
                let packed = pack(&column, &data).unwrap();
                let bits = shape(&column).bits as usize;
                assert_eq!(
                    packed.len(),
                    HEAD + (rows * bits).div_ceil(8) + if nullable { rows.div_ceil(8) } else { 0 }
                );
                let found = unpack(&packed, rows).unwrap();
                let units: Vec<i128> = match found.values {
                    Values::I64(values) => values.into_iter().map(i128::from).collect(),
                    Values::I128(values) => values,
                    Values::F64(_) => panic!("integers"),
                };
                assert_eq!(units, known, "{draw:?}: {low} to {high}, {rows} rows");
                assert_eq!(found.valid, valid.filter(|valid| valid.contains(&false)));
            }
        }
    }
}

#[test]
fn doubles_come_back_to_the_bit() {
    let column = column(ColumnType::Float { digits: 2 }, None, false);
    let values = vec![0.0, -0.0, f64::MIN_POSITIVE, -1.5e300, 0.1];
    let packed = pack(&column, &TypedColumn { values: Values::F64(values.clone()), valid: None }).unwrap();
    let Values::F64(found) = unpack(&packed, values.len()).unwrap().values else { panic!("doubles") };
    assert!(found.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
}

/// Bytes of other rows, other lengths and unknown forms are refused; a value outside its range is never cut.
#[test]
fn what_was_not_packed_so_is_refused() {
    let column = column(ColumnType::Int { bits: 16 }, Some((0, 100)), true);
    let packed = pack(&column, &TypedColumn { values: Values::I64(vec![1, 2, 100]), valid: None }).unwrap();
    assert!(unpack(&packed, 3).is_ok());
    for rows in [0, 2, 9, 100] {
        assert!(unpack(&packed, rows).is_err(), "{rows} rows");
    }
    for length in 0..packed.len() {
        assert!(unpack(&packed[..length], 3).is_err(), "{length} bytes");
    }
    for (at, byte) in [(0, 9), (18, 200)] {
        let mut other = packed.clone();
        other[at] = byte;
        assert!(unpack(&other, 3).is_err());
    }
    for value in [-1, 128, i64::MAX] {
        assert!(pack(&column, &TypedColumn { values: Values::I64(vec![value]), valid: None }).is_err());
    }
}

/// Arrays of every type and width are those of the values, with their types, missing ones and both ends.
#[test]
fn arrays_are_those_of_the_values() {
    let mut draw = Draw::new();
    let int = ColumnType::Int { bits: 64 };
    let cases =
        (0..=64).map(|bits| (int, -(1_i128 << bits >> 1), (1_i128 << bits >> 1) - i128::from(bits > 0)));
    let decimal = ColumnType::Decimal { precision: 38, scale: 3 };
    let most = 10_i128.pow(38) - 1;
    let others = [
        (ColumnType::Bool, 0, 1),
        (ColumnType::Date, -719_162, 2_932_896),
        (ColumnType::Timestamp, i128::from(i64::MIN), i128::from(i64::MAX)),
        (ColumnType::Timestamp, -5, 1 << 50),
        (decimal, -most, most),
        (decimal, -50, 1 << 40),
        (decimal, 0, i128::from(i64::MAX)),
    ];
    for (kind, low, high) in cases.chain(others) {
        for (nullable, rows) in
            [false, true].into_iter().flat_map(|n| [0, 1, 7, 8, 9, 63, 64, 65, 200].map(|r| (n, r)))
        {
            let column = column(kind, Some((low, high)), nullable);
            let value = |draw: &mut Draw| match draw.below(3) {
                0 => low,
                1 => high,
                _ => low + (u128::from(draw.word()) % (high.abs_diff(low) + 1)) as i128,
            };
            let known: Vec<Option<i128>> =
                (0..rows).map(|_| (!nullable || draw.below(4) > 0).then(|| value(&mut draw))).collect();
            let units: Vec<i128> = known.iter().map(|known| known.unwrap_or(0)).collect();
            let valid = nullable.then(|| known.iter().map(Option::is_some).collect());
            let packed = pack(&column, &TypedColumn { values: Values::I128(units), valid }).unwrap();
            let found = opened(&column, &packed, rows).unwrap();
            let short = known.iter().map(|known| known.and_then(|known| i64::try_from(known).ok()));
            let expected: ArrayRef = match kind {
                ColumnType::Bool => {
                    Arc::new(short.map(|known| known.map(|bit| bit == 1)).collect::<BooleanArray>())
                }
                ColumnType::Date => {
                    Arc::new(short.map(|known| known.map(|day| day as i32)).collect::<Date32Array>())
                }
                ColumnType::Timestamp => Arc::new(short.collect::<TimestampMicrosecondArray>()),
                ColumnType::Int { .. } => Arc::new(short.collect::<Int64Array>()),
                _ => {
                    let units = known.iter().copied().collect::<Decimal128Array>();
                    Arc::new(units.with_precision_and_scale(38, 3).unwrap())
                }
            };
            assert_eq!(&found, &expected, "{draw:?}: {kind:?}, {low} to {high}, {rows} rows");
            assert_eq!(&hush_encode::arrow_type(kind), found.data_type());
            assert_eq!(found.nulls().is_some(), known.contains(&None));
        }
    }
}
