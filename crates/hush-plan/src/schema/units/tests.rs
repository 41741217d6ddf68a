// SPDX-License-Identifier: Apache-2.0
//! Values against hand-written ones, an independent calendar (counting day by day) and big integers.

use num_bigint::BigInt;

use super::*;

fn units(kind: ColumnType, text: &str) -> Option<i128> {
    parse_units(kind, text.as_bytes(), DecimalPoint::Dot)
}

#[test]
fn integers_keep_to_their_type() {
    let int8 = ColumnType::Int { bits: 8 };
    for (text, expected) in [
        ("0", Some(0)),
        ("-128", Some(-128)),
        ("+127", Some(127)),
        ("128", None),
        ("5.0", Some(5)),
        ("5.5", None),
        ("007", Some(7)),
        ("1e2", Some(100)),
        ("", None),
        ("-", None),
        (".", None),
        ("1 ", None),
        ("1_0", None),
        ("0x10", None),
        ("nan", None),
        ("1e", None),
        ("1e999999", None),
    ] {
        assert_eq!(units(int8, text), expected, "{text}");
    }
    let int64 = ColumnType::Int { bits: 64 };
    assert_eq!(units(int64, "-9223372036854775808"), Some(i128::from(i64::MIN)));
    assert_eq!(units(int64, "9223372036854775808"), None);
}

#[test]
fn decimals_are_exact_or_refused() {
    let money = ColumnType::Decimal { precision: 12, scale: 2 };
    for (text, expected) in [
        ("10.5", Some(1050)),
        ("10.50000", Some(1050)),
        ("10.505", None),
        ("-0.01", Some(-1)),
        (".5", Some(50)),
        ("5.", Some(500)),
        ("1e-2", Some(1)),
        ("9999999999.99", Some(999_999_999_999)),
        ("10000000000.00", None),
        ("1,5", None),
        ("1.2.3", None),
    ] {
        assert_eq!(units(money, text), expected, "{text}");
    }
    assert_eq!(parse_units(money, b"1,5", DecimalPoint::DotOrComma), Some(150));
    assert_eq!(parse_units(money, b"1.000,50", DecimalPoint::DotOrComma), None);
    let wide = ColumnType::Decimal { precision: 38, scale: 0 };
    let all_nines = "9".repeat(38);
    assert_eq!(units(wide, &all_nines), Some(10i128.pow(38) - 1));
    assert_eq!(units(wide, &format!("{all_nines}9")), None);
    assert_eq!(units(wide, &format!("1{}", "0".repeat(38))), None);
}

#[test]
fn ranged_floats_round_half_away_from_zero() {
    let float = ColumnType::Float { digits: 2 };
    for (text, expected) in [
        ("0.005", 1),
        ("-0.005", -1),
        ("0.004999999999999999999999999999999999999999999", 0),
        ("1.125", 113),
        ("1e-300", 0),
        ("1.5e3", 150_000),
    ] {
        assert_eq!(units(float, text), Some(expected), "{text}");
    }
}

/// Random digit strings: `units_exact` must be what big integers say.
#[test]
fn numbers_agree_with_big_integers() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..5000 {
        let whole: String = (0..next() % 24 + 1).map(|_| char::from(b'0' + (next() % 10) as u8)).collect();
        let fraction: String = (0..next() % 12).map(|_| char::from(b'0' + (next() % 10) as u8)).collect();
        let sign = if next() % 2 == 0 { "-" } else { "" };
        let text = format!("{sign}{whole}.{fraction}");
        let scale = (next() % 14) as u8;
        let numerator: BigInt = format!("{sign}{whole}{fraction}").parse().unwrap();
        let scaled = numerator * BigInt::from(10).pow(u32::from(scale));
        let divisor = BigInt::from(10).pow(fraction.len() as u32);
        let expected =
            (&scaled % &divisor == BigInt::ZERO).then(|| i128::try_from(&scaled / &divisor).unwrap());
        let number = scan_number(text.as_bytes(), DecimalPoint::Dot).unwrap();
        assert_eq!(number.units_exact(scale), expected, "{text} at {scale}");
    }
}

#[test]
fn dates_agree_with_counting_day_by_day() {
    let lengths = |year: i64| {
        let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    };
    let mut day_number = -719_162i64; // 0001-01-01
    for year in 1..=9999i64 {
        for (month, length) in lengths(year).into_iter().enumerate() {
            let text = format!("{year:04}-{:02}-01", month + 1);
            assert_eq!(parse_date(text.as_bytes(), None), Some(day_number), "{text}");
            assert_eq!(format_date(i128::from(day_number)), text);
            let beyond = format!("{year:04}-{:02}-{:02}", month + 1, length + 1);
            assert_eq!(parse_date(beyond.as_bytes(), None), None, "{beyond}");
            day_number += length;
        }
    }
    assert_eq!(parse_date(b"1970-01-01", None), Some(0));
    assert_eq!(i128::from(day_number - 1), DATE_BOUNDS.high);
}

#[test]
fn date_variants() {
    let expected = parse_date(b"2024-03-04", None);
    for same in ["2024/03/04", "2024.03.04", "4.3.2024", "04.03.2024"] {
        assert_eq!(parse_date(same.as_bytes(), None), expected, "{same}");
    }
    for wrong in
        ["03/04/2024", "04-03-2024", "2024-3-4", "2024-03/04", "4.3.24", "0000-01-01", "32.1.2024", "..2024"]
    {
        assert_eq!(parse_date(wrong.as_bytes(), None), None, "{wrong}");
    }
}

#[test]
fn a_format_says_which_is_the_day() {
    use DateFormat::{DayMonthYear, MonthDayYear, YearMonthDay};
    let day = |text: &str, format| parse_date(text.as_bytes(), Some(format));
    let march = parse_date(b"2024-03-04", None);
    for separator in ["/", "-", "."] {
        let written = |text: &str| text.replace('/', separator);
        assert_eq!(day(&written("04/03/2024"), DayMonthYear), march);
        assert_eq!(day(&written("4/3/2024"), DayMonthYear), march);
        assert_eq!(day(&written("03/04/2024"), MonthDayYear), march);
        assert_eq!(day(&written("2024/3/4"), YearMonthDay), march);
        assert_eq!(day(&written("04/03/2024"), YearMonthDay), None);
        for format in [DayMonthYear, MonthDayYear, YearMonthDay] {
            assert_eq!(day(&written("2024/03/04"), format), march);
        }
    }
    for wrong in ["31/4/2024", "13/13/2024", "4/3/24", "4/3-2024", "4/3/2024/", "a/3/2024", "04032024"] {
        assert_eq!(day(wrong, DayMonthYear), None, "{wrong}");
    }
    assert_eq!(day("13/04/2024", MonthDayYear), None);
    let noon = parse_timestamp(b"2024-03-04T12:30", None);
    assert_eq!(parse_timestamp(b"04/03/2024 12:30", Some(DayMonthYear)), noon);
    assert_eq!(parse_timestamp(b"04/03/2024 12:30", None), None);
}

#[test]
fn limits_of_measurements_are_their_bounds() {
    for (text, bound) in
        [("<5", "5"), ("<= 0.05", "0.05"), (">200", "200"), (">=7", "7"), ("≤1,5", "1,5"), ("≥ 3", "3")]
    {
        assert_eq!(censored_bound(text.as_bytes()), Some(bound.as_bytes()), "{text}");
    }
    for text in ["5", "", "=5", "~5", "5<", " <5"] {
        assert_eq!(censored_bound(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn timestamps_and_offsets() {
    for (text, expected) in [
        ("1970-01-01T00:00:00Z", Some(0)),
        ("1970-01-01 00:00:01.5", Some(1_500_000)),
        ("1970-01-01T02:00+02:00", Some(0)),
        ("1970-01-01T00:00:00.1234567-0130", Some(5_400_123_456)),
        ("1969-12-31T23:59:59.999999", Some(-1)),
        ("1970-01-02", Some(86_400_000_000)),
        ("1970-01-01T24:00", None),
        ("1970-01-01T00:00:60", None),
        ("1970-01-01T", None),
        ("1970-01-01T00:00:00.", None),
        ("1970-01-01T00:00:00+2", None),
        ("0001-01-01T00:00+01:00", None),
    ] {
        assert_eq!(parse_timestamp(text.as_bytes(), None), expected, "{text}");
    }
    for micros in [0i128, -1, 1_500_000, TIMESTAMP_BOUNDS.low, TIMESTAMP_BOUNDS.high] {
        let text = format_timestamp(micros);
        assert_eq!(parse_timestamp(text.as_bytes(), None).map(i128::from), Some(micros), "{text}");
    }
}

#[test]
fn units_are_written_as_they_are_read() {
    let kinds = [
        ColumnType::Bool,
        ColumnType::Date,
        ColumnType::Decimal { precision: 38, scale: 38 },
        ColumnType::Decimal { precision: 12, scale: 2 },
        ColumnType::Float { digits: 6 },
        ColumnType::Int { bits: 64 },
        ColumnType::Timestamp,
    ];
    for kind in kinds {
        let bounds = type_bounds(kind).unwrap();
        for value in [bounds.low, bounds.low + 1, -1, 0, 1, bounds.high - 1, bounds.high] {
            let value = value.clamp(bounds.low, bounds.high);
            assert_eq!(units(kind, &format_units(kind, value)), Some(value), "{kind:?}");
        }
    }
}
