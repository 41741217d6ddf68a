// SPDX-License-Identifier: Apache-2.0
//! Folders of files: the same rows as one file that holds them all, in every kind of pass; what does not belong together.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, StructArray};

use super::parquet::write;
use super::*;

pub(super) fn random() -> (u64, Random) {
    let seed = std::env::var("HUSH_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    let seed = seed.unwrap_or(u64::from(now) | 1);
    (seed, Random(seed))
}

pub(super) fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn open_folder(folder: &Path) -> Result<Source, SourceError> {
    Source::open(folder, &OpenOptions::default())
}

/// Columns `n` (a number), `t` (a text), and the keys `year` and `ward`.
pub(super) fn patients() -> Schema {
    schema(vec![
        column("n", MONEY, Protection::Encrypt),
        column("t", ColumnType::Text, Protection::Clear),
        column("year", ColumnType::Int { bits: 16 }, Protection::Encrypt),
        column("ward", ColumnType::Category, Protection::Clear),
    ])
}

/// What batches hold.
pub(super) fn content(batches: Vec<RowBatch>) -> Vec<(u64, usize, u128)> {
    batches.iter().map(|batch| (batch.first_row, batch.rows, batch.fingerprint())).collect()
}

/// All chunks by way of a window, typed in any order.
pub(super) fn ahead(
    source: &Source,
    schema: &Schema,
    depth: usize,
    bytes: usize,
) -> Result<Vec<RowBatch>, SourceError> {
    let (raw, typer) = source.typed(schema)?.chunks_ahead(depth, bytes);
    let chunks: Vec<_> = raw.collect::<Result<_, _>>()?;
    let mut batches = Vec::new();
    for chunk in chunks.into_iter().rev() {
        batches.push(typer.another().read(chunk)?);
    }
    batches.reverse();
    Ok(batches)
}

/// All cells as text, in the order of the schema: that of a folder is the order of its first file.
pub(super) fn raw(source: &Source) -> Vec<Vec<Option<String>>> {
    let names = ["n", "t", "year", "ward"];
    let place = |name| source.columns().iter().position(|column| column.name == name);
    source.text_of(&names.into_iter().filter_map(place).collect::<Vec<_>>()).unwrap()
}

/// A row of a random table. The text may need quotes.
pub(super) type Row = (i64, Option<String>, u64, Option<&'static str>);

fn rows(random: &mut Random, count: u64) -> Vec<Row> {
    (0..count)
        .map(|_| {
            let texts = ["plain", "a, \"b\"", "two\nlines", "é", "x\r", ""];
            let text = texts[random.below(6) as usize];
            let wards = [Some("A"), Some("north wing/1"), None, Some("NA")];
            (
                random.below(2_000_000) as i64 - 1_000_000,
                (!text.is_empty()).then(|| text.to_owned()),
                2020 + random.below(3),
                wards[random.below(4) as usize],
            )
        })
        .collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn folder_of(row: &Row) -> String {
    let ward = row.3.map_or("__HIVE_DEFAULT_PARTITION__".to_owned(), |ward| ward.replace('/', "%2F"));
    format!("year={}/ward={ward}", row.2)
}

/// Files of a random dataset in the order in which they are read: name and rows.
pub(super) fn files(random: &mut Random) -> Vec<(String, Vec<Row>)> {
    let mut files = std::collections::BTreeMap::<Vec<u8>, (String, Vec<Row>)>::new();
    let file_count = 1 + random.below(12);
    for _ in 0..file_count {
        let limit = [3, 200, 9_000, 20_000][random.below(4) as usize];
        let count = random.below(limit);
        let one = rows(random, 1).remove(0);
        let name = format!("{}/part-{}.data", folder_of(&one), random.below(1000));
        let mut of_file = rows(random, count);
        of_file.iter_mut().for_each(|row| (row.2, row.3) = (one.2, one.3));
        files.insert(name.clone().into_bytes(), (name, of_file));
    }
    files.into_values().collect()
}

#[test]
fn a_folder_of_csv_is_the_file_of_all_its_rows() {
    let (seed, mut random) = random();
    for turn in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let files = files(&mut random);
        // The keys are the last columns of the single file. What is missing there has a text of its own.
        let mut single = "n,t,year,ward\n".to_owned();
        for (name, rows) in &files {
            let is_swapped = random.below(3) == 0;
            let mut text = if is_swapped { "t,n\n" } else { "n,t\n" }.to_owned();
            for (n, t, year, ward) in rows {
                let (t, n) = (
                    t.as_deref().map(quoted).unwrap_or_default(),
                    format!("{}.{:02}", n / 100, (n % 100).abs()),
                );
                text += &if is_swapped { format!("{t},{n}\n") } else { format!("{n},{t}\n") };
                single += &format!("{n},{t},{year},{}\n", ward.unwrap_or("-"));
            }
            if random.below(2) == 0 {
                text.pop();
            }
            put(directory.path(), name, text);
        }
        put(directory.path(), "_SUCCESS", "");
        put(directory.path(), ".hidden/x.csv", "other\n");
        put(directory.path(), "year=2020/_temporary/x.csv", "other\n");
        let mut expected_schema = patients();
        expected_schema.null_tokens = vec![String::new()];
        expected_schema.columns[3].written.null_tokens = Some(vec!["-".to_owned()]);
        let expected = open(&single).unwrap();
        if files.iter().all(|(_, rows)| rows.is_empty()) {
            let found = open_folder(directory.path()).unwrap();
            assert!(matches!(batches(&found, &patients()), Err(SourceError::NoRows)));
            continue;
        }
        let found = open_folder(directory.path()).unwrap();
        let expected = content(batches(&expected, &expected_schema).unwrap());
        let context = format!("HUSH_SEED={seed}, turn {turn}");
        assert!(content(batches(&found, &patients()).unwrap()) == expected, "{context}");
        for bytes in [0, 1000, 100_000, usize::MAX] {
            for depth in [1, 4] {
                let found = content(ahead(&found, &patients(), depth, bytes).unwrap());
                assert!(found == expected, "{context}, {bytes} bytes, depth {depth}");
            }
        }
        let mut wanted = raw(&open(&single).unwrap());
        wanted[3].iter_mut().filter(|cell| cell.as_deref() == Some("-")).for_each(|cell| *cell = None);
        assert!(raw(&found) == wanted, "{context}");
    }
}

pub(super) fn parquet(rows: &[Row], is_swapped: bool, is_narrow: bool, keys: bool) -> Vec<u8> {
    let n: ArrayRef = if is_narrow {
        Arc::new(Int32Array::from(rows.iter().map(|row| row.0 as i32).collect::<Vec<_>>()))
    } else {
        Arc::new(Int64Array::from(rows.iter().map(|row| row.0).collect::<Vec<_>>()))
    };
    let t: ArrayRef = Arc::new(rows.iter().map(|row| row.1.clone()).collect::<StringArray>());
    let mut columns = if is_swapped { vec![("t", t), ("n", n)] } else { vec![("n", n), ("t", t)] };
    if keys {
        columns.push((
            "year",
            Arc::new(Int64Array::from(rows.iter().map(|row| row.2 as i64).collect::<Vec<_>>())),
        ));
        columns.push(("ward", Arc::new(rows.iter().map(|row| row.3).collect::<StringArray>())));
    }
    write(columns, 3_000)
}

#[test]
fn a_folder_of_parquet_is_the_file_of_all_its_rows() {
    let (seed, mut random) = random();
    for turn in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let files = files(&mut random);
        let all: Vec<Row> = files.iter().flat_map(|(_, rows)| rows.clone()).collect();
        for (name, rows) in &files {
            put(directory.path(), name, parquet(rows, random.below(3) == 0, random.below(2) == 0, false));
        }
        let context = format!("HUSH_SEED={seed}, turn {turn}");
        let found = open_folder(directory.path());
        if all.is_empty() {
            assert!(matches!(found, Err(SourceError::NoRows)), "{context}");
            continue;
        }
        let found = found.unwrap();
        assert_eq!(found.rows(), Some(all.len() as u64), "{context}");
        let single = open(parquet(&all, false, false, true)).unwrap();
        let expected = content(batches(&single, &patients()).unwrap());
        assert!(content(batches(&found, &patients()).unwrap()) == expected, "{context}");
        for (bytes, depth) in [(0, 2), (20_000, 1), (usize::MAX, 4)] {
            let found = content(ahead(&found, &patients(), depth, bytes).unwrap());
            assert!(found == expected, "{context}, {bytes} bytes, depth {depth}");
        }
        assert!(raw(&found) == raw(&single), "{context}");
        // Columns of paths alone, and none at all.
        let none = |column: &Column| if column.name == "ward" { ReadAs::Array } else { ReadAs::Skip };
        let part = |source: &Source| {
            content(source.typed_with(&patients(), none).unwrap().map(Result::unwrap).collect())
        };
        assert!(part(&found) == part(&single), "{context}");
        let count = |source: &Source| -> Vec<usize> {
            let pass = source.typed_with(&patients(), |_| ReadAs::Skip).unwrap();
            pass.map(|batch| batch.unwrap().rows).collect()
        };
        assert_eq!(count(&found), count(&single), "{context}");
    }
}

/// The error of a folder of files, when it is opened or read.
#[track_caller]
fn refusal(files: &[(&str, &[u8])]) -> SourceError {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, bytes)| put(directory.path(), name, bytes));
    match open_folder(directory.path()) {
        Err(error) => error,
        Ok(source) => {
            let kinds = [("n", MONEY), ("t", ColumnType::Text), ("year", ColumnType::Int { bits: 16 })];
            let columns =
                kinds.into_iter().filter(|(name, _)| source.columns().iter().any(|c| c.name == *name));
            let schema = schema(columns.map(|(name, kind)| column(name, kind, Protection::Clear)).collect());
            let error = batches(&source, &schema).unwrap_err();
            let again = ahead(&source, &schema, 2, usize::MAX).unwrap_err();
            assert_eq!(error.to_string(), again.to_string());
            error
        }
    }
}

#[test]
fn what_does_not_belong_together_is_named() {
    let (one, two) = (b"n,t\n1,a\n".as_slice(), b"n,t\n2,b\nx,c\n".as_slice());
    let numbers = write(vec![("n", Arc::new(Int64Array::from(vec![1])))], 10);
    let texts = write(vec![("n", Arc::new(StringArray::from(vec!["1"])))], 10);
    let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let field = Arc::new(arrow::datatypes::Field::new("x", array.data_type().clone(), true));
    let nested = write(vec![("n", Arc::new(StructArray::from(vec![(field, array)])))], 10);
    let bad = write(vec![("n", Arc::new(StringArray::from(vec!["1", "x"])))], 10);
    let good = write(vec![("n", Arc::new(StringArray::from(vec!["1", "2", "3"])))], 10);
    for (files, code, words) in [
        (vec![("_SUCCESS", one), (".x", one)], "HUSH-D040", "no files below"),
        (
            vec![("a.csv", one), ("b.parquet", &numbers)],
            "HUSH-D041",
            "b.parquet is Parquet, but a.csv is not",
        ),
        (vec![("a.parquet", &numbers), ("b.csv", one)], "HUSH-D041", "b.csv is CSV, but a.parquet is not"),
        (
            vec![("a.csv", one), ("b.csv.gz", b"\x1f\x8bxx")],
            "HUSH-D002",
            "b.csv.gz: neither CSV nor Parquet: a compressed",
        ),
        (vec![("a.csv", one), ("b.csv", b"")], "HUSH-D010", "b.csv: the file is empty"),
        (
            vec![("a.csv", one), ("b.csv", b"n,u\n1,2\n")],
            "HUSH-D042",
            "b.csv has other columns than a.csv; it lacks column t; it adds column u",
        ),
        (vec![("a.csv", one), ("b.csv", b"n\n1\n")], "HUSH-D042", "it lacks column t"),
        (vec![("a.csv", one), ("b.csv", b"n;t\n1;2\n")], "HUSH-D042", "b.csv has other columns"),
        (vec![("a", &numbers), ("b", &texts)], "HUSH-D043", "column n is Utf8 in b, but Int64 in a"),
        (vec![("a", &numbers), ("b", &nested)], "HUSH-D043", "in b, but Int64 in a"),
        (
            vec![("year=1/a", one), ("ward=1/b", one)],
            "HUSH-D044",
            "year=1/a: its folders give column year, those of ward=1/b column ward",
        ),
        (
            vec![("year=1/a", one), ("z", one)],
            "HUSH-D044",
            "z: its folders give no column, those of year=1/a column year",
        ),
        (
            vec![("year=1/ward=2/a", one), ("ward=2/year=1/b", one)],
            "HUSH-D044",
            "year, ward, those of ward=2/year=1/b columns ward, year",
        ),
        (vec![("n=1/a", one)], "HUSH-D044", "n=1/a: column n stands both in the path and in the file"),
        (vec![("k=1/k=1/a", one)], "HUSH-D044", "k=1/k=1/a: its path has the key k twice"),
        (vec![("=1/a", one)], "HUSH-D044", "a value but no key"),
        (vec![("k=%ff/a", one)], "HUSH-D044", "not UTF-8"),
        (vec![("a.csv", one), ("b.csv", two)], "HUSH-D021", "b.csv: line 3, column n: not a decimal(12,2)"),
        (vec![("a", b"n,t\n"), ("b.csv", two), ("c", b"n,t\ny,c\n")], "HUSH-D021", "b.csv: line 3, column n"),
        (vec![("a", b"n,t\n1,2\n3\n"), ("b.csv", two)], "HUSH-D015", "a: line 3: 1 fields, the header has 2"),
        (
            vec![("a", b"n,t\n1,\"2\n"), ("b.csv", one)],
            "HUSH-D016",
            "a: line 2: a quote is opened and never closed",
        ),
        (vec![("a", &good), ("b", &bad)], "HUSH-D021", "b: row 2, column n"),
        (
            vec![("year=2020/a", one), ("year=old/a", one)],
            "HUSH-D021",
            "year=old/a: in its path, column year: not an int(16)",
        ),
        (vec![("a.csv", b"n,t\n"), ("b.csv", b"n,t\n")], "HUSH-D011", "no rows"),
    ] {
        let error = refusal(&files);
        assert!(error.code() == code && error.to_string().contains(words), "{code} {words}: {error}");
    }
}

#[test]
fn types_that_widen_are_one_column() {
    let directory = tempfile::tempdir().unwrap();
    let one = |array: ArrayRef| write(vec![("n", array)], 10);
    put(directory.path(), "a", one(Arc::new(Int32Array::from(vec![1]))));
    put(directory.path(), "b", one(Arc::new(Int64Array::from(vec![i64::MAX]))));
    put(directory.path(), "c", one(Arc::new(arrow::array::NullArray::new(1))));
    let source = open_folder(directory.path()).unwrap();
    assert_eq!(source.columns()[0].kind, Some(DataType::Int64));
    let read = batches(&source, &schema(vec![column("n", INT, Protection::Encrypt)])).unwrap();
    assert_eq!(units(&read, 0), [Some(1), Some(i64::MAX.into()), None]);
}

#[test]
fn files_are_read_in_the_order_of_their_bytes() {
    let directory = tempfile::tempdir().unwrap();
    // By components, `a/` would come before `a-b`.
    for (i, name) in ["B", "k/x", "a-b", "a/x", "a/y/z", "a0", "ä"].iter().enumerate() {
        put(directory.path(), name, format!("n,t\n{i},x\n"));
    }
    let source = open_folder(directory.path()).unwrap();
    let names: Vec<String> = source.files().unwrap().map(|file| file.unwrap().0.name.to_string()).collect();
    assert_eq!(names, ["B", "a-b", "a/x", "a/y/z", "a0", "k/x", "ä"]);
    assert_eq!(raw(&source)[0].iter().flatten().map(String::as_str).collect::<String>(), "0234516");
    assert_eq!(source.file_marks().len(), 7);
}

#[test]
fn a_file_that_changes_is_noticed() {
    for change in ["longer", "gone", "later"] {
        let directory = tempfile::tempdir().unwrap();
        put(directory.path(), "a", "n,t\n1,x\n");
        put(directory.path(), "b", "n,t\n2,x\n");
        let source = open_folder(directory.path()).unwrap();
        let marks = source.file_marks();
        let path = directory.path().join("b");
        match change {
            "longer" => std::fs::write(&path, "n,t\n2,x\n3,y\n").unwrap(),
            "gone" => std::fs::remove_file(&path).unwrap(),
            _ => {
                let time = std::time::SystemTime::UNIX_EPOCH;
                std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            }
        }
        let schema = schema(vec![
            column("n", INT, Protection::Clear),
            column("t", ColumnType::Text, Protection::Clear),
        ]);
        for error in [batches(&source, &schema).unwrap_err(), ahead(&source, &schema, 2, 1000).unwrap_err()] {
            assert!(error.code() == "HUSH-D045" && error.to_string().starts_with("b has changed"), "{error}");
        }
        let again = open_folder(directory.path()).unwrap().file_marks();
        assert_eq!(again[0], marks[0]);
        assert_ne!(again.get(1), marks.get(1));
    }
}

#[test]
fn a_chunk_of_many_small_files_keeps_the_limit_on_texts() {
    let directory = tempfile::tempdir().unwrap();
    let text = "long ".repeat(100);
    (0..40).for_each(|i| put(directory.path(), &format!("k=1/{i}"), format!("n,t\n{i},{text}\n")));
    let source = open_folder(directory.path()).unwrap();
    let schema = schema(vec![
        column("n", INT, Protection::Clear),
        column("t", ColumnType::Text, Protection::Clear),
        column("k", ColumnType::Text, Protection::Clear),
    ]);
    assert_eq!(batches(&source, &schema).unwrap()[0].rows, 40);
    for bytes in [0, 10_000, usize::MAX] {
        let pass = source.typed(&schema).unwrap().with_text_limit(15_000);
        let (mut chunks, mut typer) = pass.chunks_ahead(1, bytes);
        let error = match chunks.next().unwrap() {
            Ok(chunk) => typer.read(chunk).unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.code(), "HUSH-D025", "{bytes}: {error}");
    }
}

#[test]
fn digests_tell_rows_apart() {
    let schema =
        schema(vec![column("n", INT, Protection::Encrypt), column("t", ColumnType::Text, Protection::Clear)]);
    let digests = |text: &str| content(batches(&open(text).unwrap(), &schema).unwrap());
    let expected = digests("n,t\n1,ab\n2,c\n");
    assert_eq!(digests("n;t\r\n01;\"ab\"\r\n2;c"), expected);
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["ab", "c"]));
    let parquet = open(write(vec![("n", ints), ("t", texts)], 10)).unwrap();
    assert_eq!(content(batches(&parquet, &schema).unwrap()), expected);
    for other in [
        "n,t\n2,c\n1,ab\n",
        "n,t\n1,a\n2,bc\n",
        "n,t\n1,ab\n,c\n",
        "n,t\n1,ab\n2,\n",
        "n,t\n1,ab\n0,c\n",
        "n,t\n1,ab\n",
    ] {
        assert_ne!(digests(other), expected, "{other}");
    }
    assert_ne!(digests("n,t\n0,a\n"), digests("n,t\n,a\n"));
}
