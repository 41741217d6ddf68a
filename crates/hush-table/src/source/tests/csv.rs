// SPDX-License-Identifier: Apache-2.0
//! CSV: dialect, places of errors, random tables against an independent parser, random bytes.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use hush_plan::error::Front;

use super::*;

fn names(source: &Source) -> Vec<&str> {
    source.columns().iter().map(|column| column.name.as_str()).collect()
}

fn code(result: Result<Source, SourceError>) -> (&'static str, String) {
    let error = result.expect_err("must be refused");
    assert!(!error.remedy().describe(Front::CommandLine).is_empty());
    (error.code(), error.to_string())
}

#[test]
fn delimiters_marks_and_line_ends() {
    for (text, delimiter) in [
        ("a,b\n1,2\n", b','),
        ("a;b\n1;2\n", b';'),
        ("a\tb\n1\t2", b'\t'),
        ("a|b\r\n1|2\r\n", b'|'),
        ("\u{feff}a,b\r1,2\r", b','),
        ("a;b\n1;\"2\"\n\n\n", b';'),
        ("\n\na,b\n\n1,2\n", b','),
    ] {
        let source = open(text).unwrap();
        assert_eq!(source.format(), Format::Csv { delimiter }, "{text:?}");
        assert_eq!(names(&source), ["a", "b"], "{text:?}");
        let two = schema(vec![column("a", INT, Protection::Encrypt), column("b", INT, Protection::Encrypt)]);
        let read = batches(&source, &two).unwrap();
        assert_eq!((units(&read, 0), units(&read, 1)), (vec![Some(1)], vec![Some(2)]), "{text:?}");
    }
    // The commas of a text do not outvote the semicolons between fields.
    let source = open("name;amount\n\"a, b, c\";1,50\n\"d, e\";2\n").unwrap();
    assert_eq!(source.format(), Format::Csv { delimiter: b';' });
    let money = schema(vec![
        column("name", ColumnType::Text, Protection::Drop),
        column("amount", MONEY, Protection::Encrypt),
    ]);
    assert_eq!(units(&batches(&source, &money).unwrap(), 1), [Some(150), Some(200)]);
}

/// In a table of one column a blank line is a row: none is lost.
#[test]
fn blank_lines_of_one_column_are_missing_values() {
    let one = |nullable| {
        let mut only = column("a", INT, Protection::Encrypt);
        only.nullable = nullable;
        schema(vec![only])
    };
    let rows = [Some(1), None, Some(2), None, None, Some(3)];
    for (text, expected) in [
        ("a\n1\n\n2\n\n\n3\n", &rows[..]),
        ("a\r\n1\r\n\r\n2\r\n\r\n\r\n3", &rows),
        ("a\r1\r\r2\r\r\r3\r", &rows),
        ("\n\na\n1\n\n2\n\"\"\n\n3\n", &rows),
        ("a\n\n1\n\n", &[None, Some(1), None]),
        ("a\r\n\r\n1\n\r\n", &[None, Some(1), None]),
        ("a\n1\n2", &[Some(1), Some(2)]),
    ] {
        let read = batches(&open(text).unwrap(), &one(true)).unwrap();
        assert_eq!(units(&read, 0), expected, "{text:?}");
    }
    // Across the reader's buffers, with as many rows as lines; and the line is told where none may be missing.
    let long: String =
        (0..200_000).map(|i| if i % 3 == 0 { "\r\n".to_owned() } else { format!("{i}\r\n") }).collect();
    let read = batches(&open(format!("a\r\n{long}")).unwrap(), &one(true)).unwrap();
    let expected: Vec<Option<i128>> = (0..200_000).map(|i| (i % 3 != 0).then_some(i)).collect();
    assert_eq!(units(&read, 0), expected);
    let refused = batches(&open("a\n1\n\n2\n").unwrap(), &one(false)).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().starts_with("line 3,")),
        ("HUSH-D020", true),
        "{refused}"
    );
    let refused = batches(&open("a\n\n\nx\n").unwrap(), &one(true)).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().starts_with("line 4,")),
        ("HUSH-D021", true),
        "{refused}"
    );
}

#[test]
fn a_column_is_read_as_it_says_it_is_written() {
    use hush_plan::schema::DateFormat;
    let text = "day,crp,country\n03/04/2024,<5,NA\n31/12/2023,> 200,\n2024-01-02,NA,DE\n";
    let mut day = column("day", ColumnType::Date, Protection::Encrypt);
    let mut crp = column("crp", MONEY, Protection::Encrypt);
    let mut country = column("country", ColumnType::Text, Protection::Seal);
    country.written.null_tokens = Some(vec![String::new()]);
    let read = |day: &Column, crp: &Column| {
        let all = schema(vec![day.clone(), crp.clone(), country.clone()]);
        open(text).and_then(|source| batches(&source, &all))
    };
    assert_eq!(
        read(&day, &crp).unwrap_err().to_string(),
        "line 2, column day: not a date (value hidden); 1 more"
    );
    day.written.date_format = Some(DateFormat::DayMonthYear);
    assert!(read(&day, &crp).unwrap_err().to_string().starts_with("line 2, column crp: not a decimal"));
    crp.written.censored = true;
    let found = read(&day, &crp).unwrap();
    let days = ["2024-04-03", "2023-12-31", "2024-01-02"]
        .map(|day| hush_plan::schema::units::parse_date(day.as_bytes(), None).map(i128::from));
    assert_eq!((units(&found, 0), units(&found, 1)), (days.to_vec(), vec![Some(500), Some(20_000), None]));
    let Some(ColumnData::Array(countries)) = &found[0].columns[2] else { panic!("not an array") };
    assert_eq!(countries.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("NA"), None, Some("DE")]);
}

#[test]
fn headers() {
    assert_eq!(names(&open(",x , y\n0,1,2\n").unwrap()), ["column_1", "x", "y"]);
    assert_eq!(names(&open("2019,2020,total\n1,2,3\n").unwrap()), ["2019", "2020", "total"]);
    assert_eq!(code(open("")).0, "HUSH-D010");
    assert_eq!(code(open("\n\n")).0, "HUSH-D010");
    assert_eq!(code(open("1,2\n3,4\n")).0, "HUSH-D013");
    assert_eq!(code(open("a,b,a\n1,2,3\n")), ("HUSH-D012", "two columns are named a".to_owned()));
    assert_eq!(code(open(b"a,\xff\n1,2\n")).0, "HUSH-D014");
    assert_eq!(code(open(b"\xff\xfea\0,\0b\0")).0, "HUSH-D002");
    assert_eq!(code(open(b"\x1f\x8b\x08\x00")).0, "HUSH-D002");
    assert_eq!(code(open(b"a\0b,c\n")).0, "HUSH-D002");
    assert_eq!(code(Source::open(Path::new("/nowhere/x.csv"), &OpenOptions::default())).0, "HUSH-D001");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(Source::open(empty.path(), &OpenOptions::default())).0, "HUSH-D040");
}

/// Reads a two-column file and expects a refusal.
#[track_caller]
fn refused(text: &str, columns: Vec<Column>, expected_code: &str, message: &str) {
    let error =
        open(text).and_then(|source| batches(&source, &schema(columns))).expect_err("must be refused");
    assert_eq!((error.code(), error.to_string().as_str()), (expected_code, message));
    assert!(!format!("{error:?}{error}").contains("SECRET"), "a value leaked");
}

#[test]
fn refusals_name_line_and_column_and_hide_values() {
    let age = || column("age", ColumnType::Int { bits: 8 }, Protection::Encrypt);
    let id = || column("id", ColumnType::Text, Protection::Seal);
    refused(
        "id,age\na,1\nb,SECRET\nc,2\nd,999\ne,x\n",
        vec![id(), age()],
        "HUSH-D021",
        "line 3, column age: not an int(8) (value hidden); 2 more",
    );
    refused(
        "id,age\n\"a\n\nb\",1\n\n\"c\nd\",SECRET\n",
        vec![id(), age()],
        "HUSH-D021",
        "line 6, column age: not an int(8) (value hidden)",
    );
    refused(
        "id,age\r\na,1\r\nb,SECRET\r\n",
        vec![id(), age()],
        "HUSH-D021",
        "line 3, column age: not an int(8) (value hidden)",
    );
    let ranged = || Column { range: Some(UnitRange { low: 0, high: 99 }), ..age() };
    refused(
        "id,age\na,1\nb,100\nc,-1\n",
        vec![id(), ranged()],
        "HUSH-D022",
        "line 3, column age: outside the declared range (value hidden); 1 more",
    );
    let present = || Column { nullable: false, ..age() };
    refused(
        "id,age\na,1\nb,NA\n",
        vec![id(), present()],
        "HUSH-D020",
        "line 3, column age: a value is missing",
    );
    refused(
        "id,age\na,1\nb\nSECRET,2\n",
        vec![id(), age()],
        "HUSH-D015",
        "line 3: 1 fields, the header has 2",
    );
    refused(
        "id,age\na,1\nb,2,SECRET\n",
        vec![id(), age()],
        "HUSH-D015",
        "line 3: 3 fields, the header has 2",
    );
    refused(
        "id,age\na,1\nb,\"2\nSECRET,3\n",
        vec![id(), age()],
        "HUSH-D016",
        "line 3: a quote is opened and never closed",
    );
    refused(
        "id,age\na,1\nb,\"",
        vec![id(), age()],
        "HUSH-D016",
        "line 3: a quote is opened and never closed",
    );
    // The first fault in the file is the one reported, whatever its kind or column.
    refused(
        "id,age\na,x\nb,2,SECRET\n",
        vec![id(), age()],
        "HUSH-D021",
        "line 2, column age: not an int(8) (value hidden)",
    );
    refused("id,age\n", vec![id(), age()], "HUSH-D011", "the table has column names but no rows");
    refused(
        "id,age\na,1\n",
        vec![id()],
        "HUSH-S020",
        "the data has column age, which the schema does not list",
    );
    refused("id\na\n", vec![id(), age()], "HUSH-S021", "the schema lists column age, which the data lacks");
    let encrypted_text = Column { protect: Protection::Encrypt, ..id() };
    refused(
        "id,age\na,1\n",
        vec![encrypted_text, age()],
        "HUSH-D006",
        "column id: text cannot be encrypted to compute on",
    );
    let mut short = schema(vec![id(), age()]);
    short.max_rows = 1;
    let error = batches(&open("id,age\na,1\nb,2\n").unwrap(), &short).unwrap_err();
    assert_eq!(error.code(), "HUSH-D024");
    let source = open(b"id,age\nok,1\n\xff\xfe,2\n").unwrap();
    let error = batches(&source, &schema(vec![id(), age()])).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("HUSH-D023", "line 3, column id: not UTF-8 text (value hidden)")
    );
}

#[test]
fn the_reader_ends_after_an_error() {
    let source = open("a\n1\nx\n").unwrap();
    let mut reader = source.typed(&schema(vec![column("a", INT, Protection::Encrypt)])).unwrap();
    assert!(reader.next().is_some_and(|batch| batch.is_err()));
    assert!(reader.next().is_none());
}

#[test]
fn a_record_without_end_is_refused_in_bounded_memory() {
    let mut text = b"a,b\n1,\"".to_vec();
    text.resize(20 << 20, b'x');
    let columns =
        vec![column("a", INT, Protection::Encrypt), column("b", ColumnType::Text, Protection::Seal)];
    let error = batches(&open(text).unwrap(), &schema(columns)).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("HUSH-D017", "line 2: a record of more than 16777216 bytes")
    );
    let wide = format!("{}\n", "a,".repeat(20_000));
    assert_eq!(code(open(wide)).0, "HUSH-D018");
}

#[test]
fn arrow_arrays_have_the_columns_types() {
    let text = "t,c,i,d,f,b,day,at\n\
        \" kept \",x,-5,-1.50,1.5e3,yes,2024-02-29,2024-02-29T12:00:00.5Z\n\
        NA,,NA,NA,NA,NA,NA,NA\n";
    let clear = |name: &str, kind| column(name, kind, Protection::Clear);
    let columns = vec![
        clear("t", ColumnType::Text),
        clear("c", ColumnType::Category),
        clear("i", ColumnType::Int { bits: 16 }),
        clear("d", MONEY),
        clear("f", ColumnType::Float { digits: 2 }),
        clear("b", ColumnType::Bool),
        clear("day", ColumnType::Date),
        clear("at", ColumnType::Timestamp),
    ];
    let read = batches(&open(text).unwrap(), &schema(columns)).unwrap();
    let array = |i: usize| match &read[0].columns[i] {
        Some(ColumnData::Array(array)) => array.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(array(0).as_string::<i32>().value(0), " kept ");
    assert_eq!(array(1).as_string::<i32>().value(0), "x");
    assert_eq!(array(2).as_primitive::<Int64Type>().value(0), -5);
    assert_eq!(array(3).as_primitive::<Decimal128Type>().value(0), -150);
    assert_eq!(array(3).data_type(), &DataType::Decimal128(12, 2));
    assert_eq!(array(4).as_primitive::<Float64Type>().value(0), 1500.0);
    assert!(array(5).as_boolean().value(0));
    assert_eq!(array(6).as_primitive::<Date32Type>().value(0), 19_782);
    assert_eq!(
        array(7).as_primitive::<TimestampMicrosecondType>().value(0),
        19_782 * 86_400_000_000 + 43_200_500_000
    );
    for i in 0..8 {
        assert!(array(i).is_null(1) && array(i).is_valid(0), "{i}");
    }
}

#[test]
fn forms_follow_protections() {
    let text = "a,b,c,d,f,g\n1,2,3,4,1.25,1.255\n";
    let float = ColumnType::Float { digits: 2 };
    let ranged =
        Column { range: Some(UnitRange { low: 0, high: 1000 }), ..column("g", float, Protection::Encrypt) };
    let columns = [
        column("g", float, Protection::Encrypt),
        column("a", INT, Protection::Encrypt),
        column("b", INT, Protection::Drop),
        column("c", INT, Protection::Decide),
        column("d", ColumnType::Text, Protection::Decide),
        column("f", float, Protection::Encrypt),
    ];
    let read =
        batches(&open(text).unwrap(), &schema([vec![ranged], columns[1..].to_vec()].concat())).unwrap();
    let kinds: Vec<String> = read[0].columns.iter().map(|column| format!("{column:?}")).collect();
    assert!(
        kinds[2] == "None" && kinds[4].contains("Utf8") && kinds[5].contains("F64(1 values)"),
        "{kinds:?}"
    );
    assert_eq!((units(&read, 0), units(&read, 3)), (vec![Some(126)], vec![Some(3)]));
}

#[test]
fn wide_decimals_keep_every_digit() {
    let kind = ColumnType::Decimal { precision: 38, scale: 10 };
    let nines = format!("{}.{}", "9".repeat(28), "9".repeat(10));
    let text = format!("x\n{nines}\n-{nines}\n0.0000000001\n");
    let read = batches(&open(text).unwrap(), &schema(vec![column("x", kind, Protection::Encrypt)])).unwrap();
    let most = 10i128.pow(38) - 1;
    assert_eq!(units(&read, 0), [Some(most), Some(-most), Some(1)]);
}

/// RFC 4180 as its grammar stands, one byte at a time: the independent reference.
fn slow_records(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let (mut quoted, mut i) = (false, 0);
    while i < text.len() {
        match (text[i], quoted) {
            (b'"', true) if text.get(i + 1) == Some(&b'"') => {
                field.push(b'"');
                i += 1;
            }
            (b'"', _) => quoted = !quoted,
            (b',', false) => record.push(std::mem::take(&mut field)),
            (b'\n', false) => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            (byte, _) => field.push(byte),
        }
        i += 1;
    }
    records
}

/// Random tables that span chunks and buffers, with quotes, delimiters and line breaks inside fields.
#[test]
fn random_tables_read_as_written() {
    for seed in 1..=12u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let rows = [1, 2, 100, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2 * CHUNK_ROWS + 77]
            [random.below(7) as usize];
        let (mut text, mut texts, mut numbers, mut cents) =
            ("t,n,m\n".to_owned(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let word: String = (0..random.below(12))
                .map(|_| ['a', 'b', '"', ',', '\n', ' ', 'é', '1'][random.below(8) as usize])
                .collect();
            let number = random.next() as i64 >> random.below(64);
            let amount = (random.below(1 << 30) as i64 - (1 << 29)) / (1 + random.below(1000) as i64);
            let missing = random.below(10) == 0;
            let sign = if amount < 0 { "-" } else { "" };
            let written = if missing { "NA".to_owned() } else { number.to_string() };
            let amount_text = format!("{sign}{}.{:02}", amount.abs() / 100, amount.abs() % 100);
            text += &format!("\"{}\",{written},{amount_text}\n", word.replace('"', "\"\""));
            texts.push(word);
            numbers.push((!missing).then_some(i128::from(number)));
            cents.push(Some(i128::from(amount)));
        }
        let columns = vec![
            column("t", ColumnType::Text, Protection::Seal),
            column("n", INT, Protection::Encrypt),
            column("m", MONEY, Protection::Encrypt),
        ];
        let read = batches(&open(&text).unwrap(), &schema(columns)).unwrap();
        assert_eq!(units(&read, 1), numbers, "seed {seed}");
        assert_eq!(units(&read, 2), cents, "seed {seed}");
        let reference = slow_records(text.as_bytes());
        let mut row = 0;
        for batch in &read {
            let Some(ColumnData::Array(array)) = &batch.columns[0] else { panic!() };
            for value in array.as_string::<i32>().iter() {
                let expected = Some(texts[row].as_str()).filter(|text| !text.is_empty());
                assert_eq!(value, expected, "seed {seed}, row {row}");
                assert_eq!(value.unwrap_or_default().as_bytes(), reference[row + 1][0]);
                row += 1;
            }
        }
        assert_eq!(row, rows);
    }
}

/// Whatever the bytes: a table or a typed error, the same one every time.
#[test]
fn random_bytes_never_panic() {
    let alphabet = b"ab1,\"\n\r;|\t\xff-. e\xef\xbb\xbf\0";
    for seed in 1..=3000u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let header: &[u8] = if seed % 2 == 0 { b"a,b\n" } else { b"" };
        let body = (0..random.below(60)).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]);
        let text: Vec<u8> = header.iter().copied().chain(body).collect();
        let read = |text: &[u8]| -> Result<usize, SourceError> {
            let source = open(text)?;
            let kinds = [ColumnType::Text, INT, MONEY, ColumnType::Date];
            let list = source.columns().iter().enumerate();
            let columns = list
                .map(|(i, c)| column(&c.name, kinds[(i + seed as usize) % 4], Protection::Clear))
                .collect();
            Ok(batches(&source, &schema(columns))?.iter().map(|batch| batch.rows).sum())
        };
        match (read(&text), read(&text)) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
}
