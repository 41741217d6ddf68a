// SPDX-License-Identifier: Apache-2.0
//! The pass whose values are made by others: the same batches and the same refusals as the pass of one thread.

use std::io::Read;

use super::*;

/// What a pass gives: batches, and the code and the words of what ended it.
pub(super) type Outcome = (Vec<RowBatch>, Option<(&'static str, String)>);

fn refusal(error: &SourceError) -> (&'static str, String) {
    (error.code(), error.to_string())
}

/// The pass of one thread.
pub(super) fn in_turn(reader: TypedReader) -> Outcome {
    let (mut batches, mut refused) = (Vec::new(), None);
    for batch in reader {
        match batch {
            Ok(batch) => batches.push(batch),
            Err(error) => refused = Some(refusal(&error)),
        }
    }
    (batches, refused)
}

/// The pass ahead: chunks in a random order, each read by one of three typers.
pub(super) fn ahead(reader: TypedReader, chunk_bytes: usize, random: &mut Random) -> Outcome {
    let (chunks, typer) = reader.chunks_ahead(1 + random.below(3) as usize, chunk_bytes);
    let mut typers: Vec<ChunkTyper> = (0..3).map(|_| typer.another()).collect();
    let mut waiting: Vec<_> = chunks.enumerate().collect();
    let mut read: Vec<(usize, Result<RowBatch, SourceError>)> = Vec::new();
    while !waiting.is_empty() {
        let (place, chunk) = waiting.swap_remove(random.below(waiting.len() as u64) as usize);
        let typer = &mut typers[random.below(3) as usize];
        read.push((place, chunk.and_then(|chunk| typer.read(chunk))));
    }
    read.sort_by_key(|(place, _)| *place);
    let (mut batches, mut refused) = (Vec::new(), None);
    for (_, batch) in read {
        match batch {
            Ok(batch) => batches.push(batch),
            Err(error) => {
                refused = Some(refusal(&error));
                break;
            }
        }
    }
    (batches, refused)
}

#[track_caller]
pub(super) fn assert_same(found: &Outcome, expected: &Outcome, what: &str) {
    assert_eq!(found.1, expected.1, "{what}");
    assert_eq!(found.0.len(), expected.0.len(), "{what}");
    for (found, expected) in found.0.iter().zip(&expected.0) {
        assert_eq!((found.first_row, found.rows), (expected.first_row, expected.rows), "{what}");
        assert_eq!(found.columns.len(), expected.columns.len(), "{what}");
        for (found, expected) in found.columns.iter().zip(&expected.columns) {
            match (found, expected) {
                (None, None) => {}
                (Some(ColumnData::Array(found)), Some(ColumnData::Array(expected))) => {
                    assert_eq!(found, expected, "{what}");
                }
                (Some(ColumnData::Units(found)), Some(ColumnData::Units(expected))) => {
                    assert_eq!(found.valid, expected.valid, "{what}");
                    assert!(same_values(&found.values, &expected.values), "{what}");
                }
                _ => panic!("{what}: other forms"),
            }
        }
    }
}

fn same_values(found: &Values, expected: &Values) -> bool {
    match (found, expected) {
        (Values::F64(found), Values::F64(expected)) => found == expected,
        (Values::I128(found), Values::I128(expected)) => found == expected,
        (Values::I64(found), Values::I64(expected)) => found == expected,
        _ => false,
    }
}

/// A random table of CSV.
struct Table {
    text: Vec<u8>,
    schema: Schema,
    text_limit: usize,
}

const WIDE: ColumnType = ColumnType::Decimal { precision: 30, scale: 4 };

fn table_of(random: &mut Random) -> Table {
    let mut label = column("label", ColumnType::Text, Protection::Seal);
    label.written.null_tokens = Some(vec![["", "NULL"][random.below(2) as usize].to_owned()]);
    let mut columns = vec![
        label,
        column("n", ColumnType::Int { bits: 32 }, Protection::Encrypt),
        column("wide", WIDE, Protection::Encrypt),
        column("day", ColumnType::Date, Protection::Clear),
        column("f", ColumnType::Float { digits: 6 }, Protection::Encrypt),
    ];
    columns[1].range = Some(UnitRange { low: -1000, high: 1000 });
    columns[1].nullable = random.below(4) != 0;
    columns.truncate(1 + random.below(5) as usize);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let ends: &[&[u8]] = match random.below(4) {
        0 => &[b"\n"],
        1 => &[b"\r\n"],
        2 => &[b"\r"],
        _ => &[b"\n", b"\r\n", b"\r"],
    };
    let mut text = if random.below(2) == 0 { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
    text.extend(names.join(",").as_bytes());
    text.extend(ends[0]);
    let rows = 1 + random.below(2 * CHUNK_ROWS as u64 + 3000);
    // Most tables have one fault, some none, few several.
    let (has_quotes, fault_every) = (random.below(3) != 0, 1 + random.below(2 * rows));
    let blank_every = 2 + random.below(2000);
    for _ in 0..rows {
        let is_faulty = random.below(fault_every) == 0;
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                text.push(b',');
            }
            let is_faulty = is_faulty && random.below(2) == 0;
            text.extend(cell(column, random, has_quotes, is_faulty));
        }
        if is_faulty && random.below(5) == 0 {
            text.extend(b",1");
        }
        text.extend(ends[random.below(ends.len() as u64) as usize]);
        if random.below(blank_every) == 0 {
            text.extend(ends[0]);
        }
    }
    match random.below(6) {
        0 => drop(text.pop()),
        1 => text.extend(b"\"never closed, 1"),
        _ => {}
    }
    let mut schema = schema(columns);
    schema.max_rows = if random.below(5) == 0 { random.below(rows) + 1 } else { 1_000_000 };
    let text_limit = [usize::MAX, 150_000, 70_000][random.below(3) as usize];
    Table { text, schema, text_limit }
}

fn cell(column: &Column, random: &mut Random, has_quotes: bool, is_faulty: bool) -> Vec<u8> {
    let missing: &[&[u8]] = if has_quotes { &[b"", b"NA", b"\"\"", b"\"NA\""] } else { &[b"", b"NA"] };
    if column.kind != ColumnType::Text && column.nullable && random.below(12) == 0 {
        return missing[random.below(missing.len() as u64) as usize].to_vec();
    }
    let number = random.below(2000) as i64 - 999;
    let plain = match column.kind {
        ColumnType::Text => return label(random, has_quotes, is_faulty),
        _ if is_faulty => {
            ["x", "1e9", "99999999999999999999", "2024-02-30"][random.below(4) as usize].to_owned()
        }
        ColumnType::Date => format!("20{:02}-{:02}-11", random.below(90) + 10, random.below(12) + 1),
        ColumnType::Decimal { .. } => format!("{number}.{:04}", random.below(10_000)),
        ColumnType::Float { .. } => format!("{number}e-{}", random.below(4)),
        _ => number.to_string(),
    };
    let written = match random.below(40) {
        0 if has_quotes => format!("\"{plain}\""),
        1 => format!(" {plain}\t"),
        _ => plain,
    };
    written.into_bytes()
}

fn label(random: &mut Random, has_quotes: bool, is_faulty: bool) -> Vec<u8> {
    let short: &[&[u8]] =
        &[b"", b"NULL", b"NA", b" a ", "\u{feff}b".as_bytes(), b"five'o", "\u{e9}".as_bytes()];
    let quoted: &[&[u8]] =
        &[b"\"\"", b"\"a,b\"", b"\"a\nb\"", b"\"\r\n\"", b"\"say \"\"no\"\"\"", b"in\"side", b"\"a\"b"];
    match random.below(3000) {
        // Longer than what is read at once, or than a record may be.
        0 => vec![b'l'; random.below(300_000) as usize],
        _ if is_faulty => b"\xff\xfe".to_vec(),
        odd if has_quotes && odd % 5 == 0 => quoted[random.below(quoted.len() as u64) as usize].to_vec(),
        _ => short[random.below(short.len() as u64) as usize].to_vec(),
    }
}

#[test]
fn random_csv_is_the_same_ahead() {
    let (mut whole, mut refused) = (0, std::collections::BTreeSet::new());
    for seed in 1..=150 {
        let mut random = Random(seed * 0x9e37_79b9);
        let Table { text, schema, text_limit } = table_of(&mut random);
        let source =
            Source::from_bytes(text.into(), &OpenOptions { delimiter: Some(b','), ..OpenOptions::default() });
        let source = source.unwrap();
        let reader = || source.typed(&schema).unwrap().with_text_limit(text_limit);
        let expected = in_turn(reader());
        for chunk_bytes in
            [0, 1 + random.below(1000) as usize, 100_000 + random.below(400_000) as usize, 1 << 26]
        {
            let found = ahead(reader(), chunk_bytes, &mut random);
            assert_same(&found, &expected, &format!("seed {seed}, {chunk_bytes} bytes a chunk"));
        }
        match expected.1 {
            Some((code, _)) => drop(refused.insert(code)),
            None => whole += 1,
        }
    }
    // Missing, wrong type, out of range, not UTF-8, ragged, too long, too large, unclosed, too many rows: most of them.
    assert!(whole >= 8 && refused.len() >= 6, "{whole} whole tables, refusals {refused:?}");
}

/// Gives its bytes in pieces and then fails, as a pipe does whose other end went away.
struct Broken {
    bytes: std::io::Cursor<Vec<u8>>,
    piece: usize,
}

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let room = buffer.len().min(self.piece);
        match self.bytes.read(&mut buffer[..room])? {
            0 => Err(std::io::Error::other("the other end went away")),
            count => Ok(count),
        }
    }
}

/// A fault in a value before the place where reading fails is told first, wherever that is.
#[test]
fn a_file_that_cannot_be_read_on_is_refused_as_in_turn() {
    let columns = vec![column("a", INT, Protection::Encrypt), column("b", INT, Protection::Encrypt)];
    let schema = schema(columns);
    let mut codes = std::collections::BTreeSet::new();
    for seed in 1..=30 {
        let mut random = Random(seed * 77);
        let bad = random.below(3 * CHUNK_ROWS as u64);
        let row = |row| if row == bad { "1,x\n".to_owned() } else { format!("{row},{}\n", row * 3) };
        let text: String =
            std::iter::once("a,b\n".to_owned()).chain((0..2 * CHUNK_ROWS as u64).map(row)).collect();
        let kept = 10 + random.below(text.len() as u64 - 10) as usize;
        let piece = 1 + random.below(100_000) as usize;
        let stream = || {
            let bytes = std::io::Cursor::new(text.as_bytes()[..kept].to_vec());
            // What is looked at when a stream is opened has no fault.
            let start = std::io::Cursor::new(text.as_bytes()[..kept].to_vec());
            let source = Source::from_stream(Box::new(start), &OpenOptions::default()).unwrap();
            let Origin::Stream { rest, .. } = &source.origin else { panic!("not a stream") };
            *rest.lock().unwrap() = Some(Box::new(Broken { bytes, piece }));
            let origin = Origin::Stream { start: Bytes::new(), rest: rest.clone() };
            Source { origin, ..source.clone() }.typed(&schema).unwrap()
        };
        let expected = in_turn(stream());
        codes.insert(expected.1.as_ref().unwrap().0);
        for chunk_bytes in [1000, 1 << 26] {
            let found = ahead(stream(), chunk_bytes, &mut random);
            assert_same(&found, &expected, &format!("seed {seed}, {chunk_bytes} bytes a chunk"));
        }
    }
    assert_eq!(codes.len(), 2, "{codes:?}");
}

#[test]
fn a_consumer_that_leaves_early_hangs_nothing() {
    let text = format!("x\n{}", (0..30_000).map(|i| format!("{i}\n")).collect::<String>());
    let source = open(text).unwrap();
    let schema = schema(vec![column("x", INT, Protection::Encrypt)]);
    let (mut chunks, mut typer) = source.typed(&schema).unwrap().chunks_ahead(1, 1 << 20);
    let first = typer.read(chunks.next().unwrap().unwrap()).unwrap();
    assert_eq!((first.first_row, first.rows), (0, CHUNK_ROWS));
    drop(chunks);
}
