// SPDX-License-Identifier: Apache-2.0
//! Profiles of tables made here, against what was put into them; proposals as a person would see them.

use bytes::Bytes;
use hush_plan::schema::file::{from_toml, require_approved, to_toml};
use hush_plan::schema::{Column, ColumnType, Protection, Schema, UnitRange};

use super::*;
use crate::profile::readings::Dates;
use crate::source::OpenOptions;

fn source(text: String) -> Source {
    Source::from_bytes(Bytes::from(text), &OpenOptions::default()).unwrap()
}

fn proposal(text: String) -> (TableProfile, Schema) {
    let found = profile(&source(text), &ProfileOptions::default()).unwrap();
    let schema = propose(&found, "t").schema;
    (found, schema)
}

fn one_column(name: &str, values: impl Iterator<Item = String>) -> (ColumnProfile, Column) {
    let text = format!("{name},other\n{}", values.map(|value| format!("{value},x\n")).collect::<String>());
    let (found, schema) = proposal(text);
    (found.columns()[0].clone(), schema.columns[0].clone())
}

/// The hospital table of the documentation.
fn patients(rows: u64) -> String {
    let mut text = "patient_id,name,email,ward,year,age,charges,bp,dob,notes\n".to_owned();
    for i in 0..rows {
        let mix = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let ward = ["cardiology", "oncology", "surgery"][(mix % 3) as usize];
        text += &format!(
            "P{i:06},Person {},p{i}@example.org,{ward},{},{},{}.{:02},{},{}-0{}-1{},seen and sent home in good shape {}\n",
            mix % 977,
            2019 + mix % 5,
            18 + mix % 80,
            mix % 40_000,
            mix % 100,
            90 + mix % 90,
            1930 + mix % 70,
            1 + mix % 9,
            mix % 10,
            i,
        );
    }
    text
}

#[test]
fn the_hospital_table() {
    let (found, schema) = proposal(patients(6000));
    assert_eq!(found.rows(), 6000);
    let row = |name: &str| schema.columns.iter().find(|column| column.name == name).unwrap();
    let shown = |name: &str| (row(name).kind, row(name).protect, row(name).reason.as_str());
    let money = ColumnType::Decimal { precision: 12, scale: 2 };
    assert_eq!(shown("patient_id"), (ColumnType::Text, Protection::Seal, "unique in every row"));
    assert_eq!(shown("name"), (ColumnType::Text, Protection::Seal, "name of a person (name)"));
    assert_eq!(shown("email"), (ColumnType::Text, Protection::Seal, "e-mail (name, 100 % of values)"));
    assert_eq!(shown("ward"), (ColumnType::Category, Protection::Clear, "few values; nobody singled out"));
    assert_eq!(
        shown("year"),
        (ColumnType::Int { bits: 16 }, Protection::Clear, "few values; nobody singled out")
    );
    assert_eq!(
        shown("age"),
        (ColumnType::Int { bits: 16 }, Protection::Encrypt, "quasi-identifier (whole years)")
    );
    assert_eq!(shown("charges"), (money, Protection::Encrypt, "money (name, two decimals)"));
    assert_eq!(
        shown("bp"),
        (ColumnType::Int { bits: 16 }, Protection::Decide, "clinical measurement (name)")
    );
    assert_eq!(shown("dob"), (ColumnType::Date, Protection::Encrypt, "birth date (name)"));
    assert_eq!(shown("notes"), (ColumnType::Text, Protection::Seal, "free text (name)"));
    assert_eq!(row("age").range, Some(UnitRange { low: 0, high: 999 }));
    assert_eq!(row("charges").range, Some(UnitRange { low: 0, high: 9_999_999 }));
    assert_eq!(schema.notes, ["clear together: ward + year single out 0 of 6000 rows"]);
    assert!(schema.columns.iter().all(|column| !column.nullable));
    // It reads back, and nobody has approved it.
    assert_eq!(from_toml(&to_toml(&schema)).as_ref(), Ok(&schema));
    assert_eq!(require_approved(&schema).unwrap_err().code(), "HUSH-S003");
    // What is proposed accepts the data.
    let read = source(patients(6000)).typed(&schema).unwrap().map(|batch| batch.unwrap().rows).sum::<usize>();
    assert_eq!(read, 6000);
}

#[test]
fn kinds_of_columns() {
    let numbers = |f: &'static str| (0..100).map(move |i| f.replace("{}", &i.to_string()));
    for (values, kind) in [
        (numbers("{}"), Kind::Int),
        (numbers("-{}"), Kind::Int),
        (numbers("{}.0"), Kind::Int),
        (numbers("{}.00"), Kind::Decimal),
        (numbers("{}.5"), Kind::Decimal),
        (numbers("{}e-3"), Kind::Float),
        (numbers("0.1234567890{}"), Kind::Float),
        (numbers("0{}"), Kind::Text),
        (numbers("9{}99999999999999999999"), Kind::Text),
        (numbers("v{}"), Kind::Text),
        (numbers("{}:00"), Kind::Text),
        (numbers("20{}-01-01"), Kind::Text),
    ] {
        let values: Vec<String> = values.collect();
        assert_eq!(one_column("x", values.iter().cloned()).0.kind(), kind, "{}", values[11]);
    }
    let repeat = |words: &'static [&'static str]| (0..90).map(move |i| words[i % words.len()].to_owned());
    for (words, kind) in [
        (&["true", "False", ""][..], Kind::Bool),
        (&["yes", "NO"], Kind::Bool),
        (&["t", "f"], Kind::Category),
        (&["Y", "N", "NA"], Kind::Bool),
        (&["y", "no"], Kind::Bool),
        // Letters of one kind alone may be anything.
        (&["N", ""], Kind::Category),
        (&["N", "S"], Kind::Category),
        (&["F"], Kind::Category),
        (&["1", "0"], Kind::Int),
        (&["2024-01-01", "2023/12/31", "1.2.2020"], Kind::Date),
        (&["2024-01-01", "2024-01-01T10:00"], Kind::Timestamp),
        (&["2024-01-01 10:00:00+02:00"], Kind::Timestamp),
        (&["01/02/2024"], Kind::Date),
        (&["01/02/2024 10:00"], Kind::Timestamp),
        (&["13/02/2024", "02/13/2024"], Kind::Category),
        (&["", "NA"], Kind::Empty),
        (&["1", "x"], Kind::Category),
        (&["true", "1"], Kind::Category),
        (&["2024-01-01", "5"], Kind::Category),
    ] {
        assert_eq!(one_column("x", repeat(words)).0.kind(), kind, "{words:?}");
    }
}

/// Money of any size is a decimal; what binary floats print is not.
#[test]
fn long_decimals_are_told_from_floats() {
    let table = |values: &[&str]| one_column("x", values.iter().map(|text| (*text).to_owned())).1.kind;
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    let float = ColumnType::Float { digits: 6 };
    for (values, kind) in [
        (&["12345678901234567890.12", "5.10"][..], decimal(38, 2)),
        (&["12345678901234567890.12", "5.1", "7"], decimal(38, 2)),
        (&["0.123456789012", "3.000000000000"], decimal(18, 12)),
        (&["-99999999999999999999999999999.123456789", "0.000000001"], decimal(38, 9)),
        (&["0.1", "0.30000000000000004", "0.2"], float),
        (&["1234567890.5", "0.123456789"], float),
        (&["123456789012345678901234567890.5", "1.25", "0.333333333333"], float),
        (&["12345678901234567890.12", "5.1e3"], float),
        (&["999999999999999999999999999999999999999.5", "1.5"], float),
    ] {
        assert_eq!(table(values), kind, "{values:?}");
    }
}

/// A declared DECIMAL stays one, whatever its values; a declared DOUBLE never becomes one of many digits.
#[test]
fn declared_types_of_parquet_are_kept() {
    use arrow::array::{ArrayRef, Decimal128Array, Decimal256Array, Float64Array, RecordBatch};
    let decimals = |values: [i128; 2], precision, scale| {
        let array =
            Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap();
        std::sync::Arc::new(array) as ArrayRef
    };
    let beyond = Decimal256Array::from(vec![arrow::datatypes::i256::ONE; 2]);
    let beyond = beyond.with_precision_and_scale(50, 10).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("fine", decimals([1, 10_i128.pow(20)], 38, 12)),
        ("large", decimals([-1, 10_i128.pow(37)], 38, 0)),
        ("whole", decimals([100, 5000], 20, 2)),
        ("wide", decimals([1, 10_i128.pow(37)], 38, 10)),
        ("small", decimals([1, 2], 10, 0)),
        ("measured", std::sync::Arc::new(Float64Array::from(vec![0.123_456_789_012, 0.5])) as ArrayRef),
        ("one", std::sync::Arc::new(Float64Array::from(vec![0.123_456_789_012; 2])) as ArrayRef),
        ("beyond", std::sync::Arc::new(beyond) as ArrayRef),
    ])
    .unwrap();
    let mut file = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let source = Source::from_bytes(Bytes::from(file), &OpenOptions::default()).unwrap();
    let schema = propose(&profile(&source, &ProfileOptions::default()).unwrap(), "t").schema;
    let kinds: Vec<ColumnType> = schema.columns.iter().map(|column| column.kind).collect();
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    let float = ColumnType::Float { digits: 6 };
    let int = ColumnType::Int { bits: 8 };
    let (last, kinds) = kinds.split_last().unwrap();
    assert_eq!(kinds, [decimal(38, 12), decimal(38, 0), decimal(20, 2), decimal(38, 10), int, float, float]);
    let reason = &schema.columns.last().unwrap().reason;
    assert!(*last == ColumnType::Text && reason.contains("Decimal256(50, 10)"), "{reason}");
    for column in &schema.columns {
        assert!(column.range.is_none_or(|range| range.max_abs() < 10_u128.pow(38)), "{}", column.name);
        if column.protect == Protection::Encrypt {
            let alone = Schema { columns: vec![column.clone()], ..schema.clone() };
            let needs = hush_plan::Needs::of_purposes(&alone).unwrap();
            let planned = hush_plan::plan_encodings(&alone, &needs, alone.max_rows, &mut String::new);
            assert!(planned.is_ok(), "{}: {:?}", column.name, planned);
        }
    }
}

/// Ranges show a power of ten, leave a factor of two, hold the data, and never end at an extreme.
#[test]
fn ranges_have_headroom_and_hide_extremes() {
    for (low, high) in [
        (0i64, 7),
        (0, 49),
        (0, 50),
        (3, 97),
        (-5, 4),
        (0, 499),
        (0, 12_345),
        (-2_000_000_000, 0),
        (0, i64::MAX),
        (i64::MIN, 5),
    ] {
        let (_, column) = one_column("x", [low, high].iter().cycle().take(20).map(i64::to_string));
        let range = column.range.unwrap();
        let (low, high) = (i128::from(low), i128::from(high));
        assert!(range.low <= low && high <= range.high, "{low}..{high}: {range:?}");
        if high < i128::from(i64::MAX) && low > i128::from(i64::MIN) {
            assert!(range.max_abs() >= RANGE_FACTOR * low.unsigned_abs().max(high.unsigned_abs()));
            assert!((range.max_abs() + 1).to_string().trim_end_matches('0') == "1", "{range:?}");
            assert_ne!(range.high, high);
        }
        let ColumnType::Int { bits } = column.kind else { panic!() };
        assert!(range.high < 1 << (bits - 1) && range.low >= -(1 << (bits - 1)));
    }
    let (_, column) = one_column("x", ["-0.004", "123456.789"].iter().map(|text| (*text).to_owned()));
    assert_eq!(column.kind, ColumnType::Decimal { precision: 12, scale: 3 });
    assert_eq!(column.range, Some(UnitRange { low: -999_999_999, high: 999_999_999 }));
    let (_, column) =
        one_column("x", ["-0.000000000000000000012", "0.5"].iter().map(|text| (*text).to_owned()));
    assert!(column.range.is_none_or(|range| range.low < 0));
    let (_, column) = one_column("x", ["-0.12345678901234567890"].iter().map(|text| (*text).to_owned()));
    assert!(column.range.unwrap().low < 0, "a small negative number is negative");
    let (_, column) = one_column("x", ["1850-01-01", "2024-01-01"].iter().map(|text| (*text).to_owned()));
    assert_eq!(column.range.unwrap().low, -719_162);
}

#[test]
fn missing_values_and_their_markers() {
    let (found, column) =
        one_column("x", ["1", "", "NA", "?", "2", "N/A"].iter().map(|text| (*text).to_owned()));
    assert_eq!((found.kind(), found.values(), found.missing()), (Kind::Int, 2, 4));
    assert!(column.nullable);
    assert_eq!(found.missing_markers(), ["?", "N/A", "NA"]);
    let tokens = |column: &Column| column.written.null_tokens.clone();
    assert_eq!(tokens(&column), Some(["", "?", "N/A", "NA"].map(str::to_owned).to_vec()));
    // Namibia is no missing country, though NA is a missing number beside it.
    let text = "x,country\n1,DE\nNA,NA\n3,NA\n".to_owned();
    let found = profile(&source(text.clone()), &ProfileOptions::default()).unwrap();
    let proposed = propose(&found, "t");
    assert_eq!(proposed.schema.null_tokens, [""]);
    let [x, country] = proposed.schema.columns.as_slice() else { panic!() };
    assert_eq!((tokens(x).map(|tokens| tokens.join("|")), tokens(country)), (Some("|NA".to_owned()), None));
    assert_eq!((x.nullable, country.nullable), (true, false));
    let said = |text: &str| proposed.warnings.iter().any(|warning| warning.contains(text));
    assert!(said("country has texts that often mean a missing value (\"NA\")"), "{:?}", proposed.warnings);
    assert!(said("3 rows alone"), "{:?}", proposed.warnings);
    assert!(source(text).typed(&proposed.schema).unwrap().all(|batch| batch.is_ok()));
    let (found, column) = one_column("x", ["a", "?", "b", "None"].iter().map(|text| (*text).to_owned()));
    assert_eq!((found.values(), found.missing(), column.nullable), (4, 0, false));
    let (_, schema) = proposal("x,y,z\n1,a,?\n?,b,c\n3,c,d\n".to_owned());
    let nullable: Vec<bool> = schema.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [true, false, false], "the marker of x is a text in z");
}

#[test]
fn the_order_of_dates_is_read_off_the_data_or_asked_for() {
    use hush_plan::schema::DateFormat;
    let dates = |values: &[&str]| {
        let (found, column) = one_column("admitted", values.iter().map(|text| (*text).to_owned()));
        (found.dates(), column)
    };
    let (order, column) = dates(&["03/04/2024", "31/12/2023", "1/2/2024"]);
    assert_eq!(order, Dates::Ordered(DateFormat::DayMonthYear));
    assert_eq!((column.kind, column.protect), (ColumnType::Date, Protection::Encrypt));
    assert_eq!(column.written.date_format, Some(DateFormat::DayMonthYear));
    let (order, column) = dates(&["03-04-2024 10:00", "12-31-2023 11:30", ""]);
    assert_eq!(order, Dates::Ordered(DateFormat::MonthDayYear));
    assert_eq!((column.kind, column.nullable), (ColumnType::Timestamp, true));
    let (order, column) = dates(&["03/04/2024", "12/11/2023"]);
    assert_eq!(
        (order, column.kind, column.protect),
        (Dates::Ambiguous, ColumnType::Date, Protection::Decide)
    );
    assert!(column.reason.contains("date_format"), "{}", column.reason);
    let (order, column) = dates(&["31.3.2024", "2024-01-31"]);
    assert_eq!((order, column.written.date_format), (Dates::Plain, None));
}

#[test]
fn a_column_of_numbers_with_some_texts_is_said_to_be_one() {
    let values = (0..200).map(|i| match i % 20 {
        3 => "<5".to_owned(),
        9 => "haemolytic".to_owned(),
        _ => format!("{}.{}", i * 7 % 90, i % 10),
    });
    let (found, _) = one_column("crp", values.clone());
    let expected = AlmostNumber { kind: Kind::Decimal, texts: 20, censored: 10, separated: 0 };
    assert_eq!((found.kind(), found.almost_number()), (Kind::Text, Some(expected)));
    let text = format!("crp\n{}\n", values.collect::<Vec<_>>().join("\n"));
    let warnings = propose(&profile(&source(text), &ProfileOptions::default()).unwrap(), "t").warnings;
    let said = "crp would be decimal(12,1) but for 20 texts in 200 values, 10 of them limits such as <5";
    assert!(warnings.iter().any(|warning| warning.starts_with(said)), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("haemolytic")), "{warnings:?}");
    // Codes, names and true texts are none.
    for words in [["v1", "v2", "7"], ["007", "008", "x"], ["anna", "bert", "<5"]] {
        let (found, _) = one_column("x", (0..30).map(|i| words[i % 3].to_owned()));
        assert_eq!(found.almost_number(), None, "{words:?}");
    }
}

#[test]
fn numbers_in_groups_of_digits_are_told_from_lists_and_versions() {
    let separated = |text: &'static str| {
        let (found, _) = one_column(
            "x",
            (0..30).map(move |i| if i == 0 { "a".to_owned() } else { format!("\"{text}\"") }),
        );
        found.almost_number().map_or(0, |almost| almost.separated)
    };
    for text in ["1,234.50", "-12,345", "1'234.5", "1\u{2019}234", "1\u{202f}234\u{202f}567", "1.234.567"] {
        assert_eq!(separated(text), 29, "{text}");
    }
    for text in [
        "1,23",
        "1,2,3",
        "1234,567",
        ",123",
        "1,234,",
        "1,234.",
        "1,234.5.6",
        "1.2.3",
        "555 123 456",
        "1,234 kg",
        "1.234",
    ] {
        assert_eq!(separated(text), 0, "{text}");
    }
}

/// Six digits of the largest number, where the type has them.
#[test]
fn floats_keep_digits_of_the_numbers_that_there_are() {
    let digits = |factor: &'static str| {
        let (_, column) =
            one_column("x", (1..90).map(move |i| format!("{}.{}e{factor}", i % 9 + 1, i * 7919)));
        match column.kind {
            ColumnType::Float { digits } => digits,
            other => panic!("{other:?}"),
        }
    };
    let found = ["3", "0", "-1", "-5", "-9", "-12"].map(digits);
    assert_eq!(found, [6, 6, 6, 10, 14, 15]);
    let text = (1..90).map(|i| format!("{}e-13\n", i % 9 + 1)).collect::<String>();
    let found = profile(&source(format!("x\n{text}")), &ProfileOptions::default()).unwrap();
    let warnings = propose(&found, "t").warnings;
    assert!(warnings.iter().any(|warning| warning.contains("float(15) keeps 3 digits")), "{warnings:?}");
}

/// The first value that makes a column a text is counted once: no share exceeds the whole.
#[test]
fn shares_of_patterns_stay_below_the_whole() {
    let (_, column) =
        one_column("contact", ["a@example.org", "b@example.org"].map(str::to_owned).into_iter());
    assert_eq!(column.reason, "e-mail (100 % of values)");
}

#[test]
fn distinct_values_and_uniqueness() {
    let (found, _) = one_column("x", (0..5000).map(|i| (i % 1234).to_string()));
    assert_eq!((found.distinct(), found.unique(), found.distinct_is_estimate()), (1234, false, false));
    let (found, column) = one_column("x", (0..50_000).map(|i| format!("k{}", i * 7919 % 1_000_003)));
    assert!(found.unique() && found.distinct_is_estimate());
    assert!((45_000..=50_000).contains(&found.distinct()), "{}", found.distinct());
    assert_eq!(column.protect, Protection::Seal);
    let (found, column) = one_column("x", (0..300).map(|i| (1000 + (i * 7) % 300).to_string()));
    assert!(found.consecutive());
    assert_eq!(column.reason, "row number (unique in every row)");
    let (found, _) = one_column("x", (0..30).map(|_| "5".to_owned()));
    assert!(found.constant() && !found.unique());
}

/// Columns that are harmless alone but not together are left to a person, with the count.
#[test]
fn clear_columns_are_judged_together() {
    // ward and shift have 5 or more rows per value; one combination occurs once.
    let mut text = "ward,shift,v\n".to_owned();
    for i in 0..60 {
        text += &format!("w{},s{},{i}\n", i % 2, i % 2);
    }
    text += "w0,s1,99\n";
    let (found, schema) = proposal(text.clone());
    assert_eq!(schema.columns[0].protect, Protection::Clear);
    assert_eq!(schema.columns[1].protect, Protection::Decide);
    assert_eq!(schema.columns[1].reason, "few values, but ward + shift single out 1 rows together");
    assert_eq!(schema.notes, ["clear together: ward + shift single out 1 of 61 rows"]);
    let both = SingledOut { rows: 61, alone: 1, few: 1, estimated: false };
    assert_eq!(found.singled_out(&["ward", "shift"]), Some(both));
    assert_eq!(found.singled_out(&["ward", "v"]), None, "v was not watched");
    assert_eq!(singled_out(&source(text.clone()), &["ward", "shift"]).unwrap(), both);
    let all = singled_out(&source(text.clone()), &["ward", "v", "no such column"]).unwrap();
    assert_eq!((all.alone, all.few), (61, 61));
    let options = ProfileOptions { clear: vec!["v".to_owned()] };
    let watched = profile(&source(text), &options).unwrap();
    assert_eq!(watched.singled_out(&["v", "ward"]).unwrap().alone, 61);
}

#[test]
fn a_proposal_shows_no_value_of_the_data() {
    let text = format!(
        "name,amount,code,day\n{}",
        (0..500)
            .map(|i| {
                format!(
                    "Zanzibar{},7{:03}.{:02},QX{:04},2011-1{}-2{}\n",
                    i % 50,
                    531 + i % 400,
                    i % 89,
                    i,
                    i % 3,
                    i % 9
                )
            })
            .collect::<String>()
    );
    let (_, schema) = proposal(text);
    let file = to_toml(&schema);
    for secret in ["Zanzibar", "7531", "7930", "QX", "2011"] {
        assert!(!file.contains(secret), "{secret} in\n{file}");
    }
}

#[test]
fn tables_without_rows_and_ragged_ones_are_refused() {
    let refuse = |text: &str| profile(&source(text.to_owned()), &ProfileOptions::default()).unwrap_err();
    assert_eq!(refuse("a,b\n").code(), "HUSH-D011");
    assert_eq!(refuse("a,b\n1,2\n3\n").to_string(), "line 3: 1 fields, the header has 2");
}

/// Whatever the cells are, the proposal accepts the very data that it was made from.
#[test]
fn proposals_accept_their_own_data() {
    const POOL: [&str; 32] = [
        "Y",
        "n",
        "<5",
        "13/04/2024",
        "04/30/2024 10:00",
        "1e-11",
        "",
        "NA",
        "?",
        "-",
        "0",
        "7",
        "-3",
        "1.5",
        "2.50",
        "007",
        "1e3",
        "1e-30",
        "99999999999999999999",
        "true",
        "no",
        "2024-02-29",
        "2024-02-29T01:02:03.4Z",
        "1.2.2003",
        "x",
        " y ",
        "12345678901234567",
        "0.1234567891",
        "-9223372036854775808",
        "NaN",
        "+4",
        "1e40",
    ];
    for seed in 1..=600u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % bound
        };
        let columns = 1 + below(4);
        let choices: Vec<Vec<&str>> = (0..columns)
            .map(|_| (0..1 + below(3)).map(|_| POOL[below(POOL.len() as u64) as usize]).collect())
            .collect();
        let mut text = (0..columns).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",") + "\n";
        for _ in 0..1 + below(40) {
            let row: Vec<String> =
                choices.iter().map(|c| format!("\"{}\"", c[below(c.len() as u64) as usize])).collect();
            text += &(row.join(",") + "\n");
        }
        let (_, schema) = proposal(text.clone());
        for batch in source(text.clone()).typed(&schema).unwrap() {
            if let Err(error) = batch {
                panic!("seed {seed}: {error}\n{}\n{text}", to_toml(&schema));
            }
        }
        assert_eq!(from_toml(&to_toml(&schema)).as_ref(), Ok(&schema), "seed {seed}");
    }
}
