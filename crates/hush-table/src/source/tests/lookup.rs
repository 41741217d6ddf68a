// SPDX-License-Identifier: Apache-2.0
//! Lookups against nested loops over rows that no reader has seen; what is refused.

use std::sync::Arc;

use arrow::array::{
    Array, AsArray, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use hush_plan::schema::units::format_date;
use hush_testkit::Draw;

use super::ahead::{ahead, assert_same, in_turn};
use super::parquet::write;
use super::*;
use crate::profile::{ProfileOptions, profile, propose};

const TEXT: ColumnType = ColumnType::Text;

/// A cell of rows that are made here: a number, and how a key of each type is made of it.
type Cell = Option<i64>;

/// Types of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Money,
    Day,
    Text,
}

impl Kind {
    fn of_column(self) -> ColumnType {
        match self {
            Self::Int => INT,
            Self::Money => MONEY,
            Self::Day => ColumnType::Date,
            Self::Text => TEXT,
        }
    }

    /// As CSV has it, in one of its spellings.
    fn written(self, value: i64, draw: &mut Draw) -> String {
        let blanks = if draw.below(4) == 0 { " " } else { "" };
        match self {
            Self::Int if value >= 0 && draw.below(4) == 0 => format!("{blanks}+{value}"),
            Self::Int => format!("{blanks}{value}"),
            Self::Money if value % 100 == 0 && draw.below(2) == 0 => format!("{blanks}{}", value / 100),
            Self::Money => {
                let sign = if value < 0 { "-" } else { "" };
                format!("{sign}{}.{:02}{blanks}", value.abs() / 100, value.abs() % 100)
            }
            Self::Day => format_date(value.into()),
            Self::Text => format!("\"k,{value}\n\""),
        }
    }

    fn array(self, values: &[Cell]) -> ArrayRef {
        match self {
            Self::Int => Arc::new(values.iter().map(|value| value.map(|v| v as i32)).collect::<Int32Array>()),
            Self::Money => {
                // A digit more after the point than the schema has.
                let array: Decimal128Array =
                    values.iter().map(|value| value.map(|v| i128::from(v) * 10)).collect();
                Arc::new(array.with_precision_and_scale(20, 3).unwrap())
            }
            Self::Day => {
                Arc::new(values.iter().map(|value| value.map(|v| v as i32)).collect::<Date32Array>())
            }
            Self::Text => {
                let texts = values.iter().map(|value| value.map(|v| format!("k,{v}\n")));
                Arc::new(texts.collect::<StringArray>())
            }
        }
    }
}

/// Columns of numbers, each written as its kind.
struct Rows {
    columns: Vec<(&'static str, Kind, Vec<Cell>)>,
}

impl Rows {
    fn len(&self) -> usize {
        self.columns[0].2.len()
    }

    /// As a file or batches of some kind.
    fn source(&self, draw: &mut Draw) -> Source {
        let arrays = || self.columns.iter().map(|(name, kind, values)| (*name, kind.array(values)));
        match draw.below(3) {
            0 => {
                let names: Vec<&str> = self.columns.iter().map(|(name, _, _)| *name).collect();
                let delimiter = if draw.below(2) == 0 { "," } else { "|" };
                let mut text = format!("{}\n", names.join(delimiter));
                for row in 0..self.len() {
                    let cells: Vec<String> = self
                        .columns
                        .iter()
                        .map(|(_, kind, values)| {
                            values[row].map_or_else(String::new, |v| kind.written(v, draw))
                        })
                        .collect();
                    text.push_str(&format!("{}\n", cells.join(delimiter)));
                }
                open(text).unwrap()
            }
            1 => open(write(arrays().collect(), 1 + draw.below(3000))).unwrap(),
            _ => {
                let columns = arrays().map(|(name, array)| (name, array, true));
                let all = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
                let (mut batches, mut at) = (Vec::new(), 0);
                while at < all.num_rows() {
                    let rows = draw.below(2500).min(all.num_rows() - at);
                    batches.push(all.slice(at, rows));
                    at += rows;
                }
                Source::from_batches("rows", all.schema(), &batches).unwrap()
            }
        }
    }
}

/// Numbers of which some are missing.
fn drawn(draw: &mut Draw, rows: usize, range: usize) -> Vec<Cell> {
    (0..rows).map(|_| (draw.below(6) > 0).then(|| draw.below(range) as i64 - range as i64 / 3)).collect()
}

/// A table whose key of `kinds` stands in no two rows, and some rows without one.
fn dimension(draw: &mut Draw, kinds: &[Kind], range: usize) -> Rows {
    const NAMES: [&str; 2] = ["k1", "k2"];
    let mut keys: Vec<Vec<Cell>> = Vec::new();
    for _ in 0..1 + draw.below(2 * range) {
        let key: Vec<Cell> = kinds.iter().map(|_| drawn(draw, 1, range)[0]).collect();
        if key.contains(&None) || !keys.contains(&key) {
            keys.push(key);
        }
    }
    let of_key = |(place, kind): (usize, &Kind)| {
        (NAMES[place], *kind, keys.iter().map(|key| key[place]).collect::<Vec<Cell>>())
    };
    let mut columns: Vec<_> = kinds.iter().enumerate().map(of_key).collect();
    columns.insert(draw.below(columns.len() + 1), ("n", Kind::Int, drawn(draw, keys.len(), 1000)));
    columns.insert(draw.below(columns.len() + 1), ("t", Kind::Text, drawn(draw, keys.len(), 1000)));
    Rows { columns }
}

/// For each row of the facts the row of the dimension that has its key, by nested loops.
fn found(facts: &Rows, dimension: &Rows, keys: &[(&str, &str)]) -> Vec<Option<usize>> {
    let values = |rows: &Rows, name: &str, row: usize| {
        rows.columns.iter().find(|(known, _, _)| *known == name).unwrap().2[row]
    };
    let is_match = |own: usize, theirs: usize| {
        keys.iter().all(|(key, their_key)| {
            let value = values(facts, key, own);
            value.is_some() && value == values(dimension, their_key, theirs)
        })
    };
    (0..facts.len()).map(|own| (0..dimension.len()).find(|theirs| is_match(own, *theirs))).collect()
}

fn pairs(keys: &[(&str, &str)]) -> Vec<(String, String)> {
    keys.iter().map(|(own, theirs)| ((*own).to_owned(), (*theirs).to_owned())).collect()
}

/// The values of a column of texts.
fn texts(batches: &[RowBatch], position: usize) -> Vec<Option<String>> {
    let of_batch = |batch: &RowBatch| {
        let Some(ColumnData::Array(array)) = &batch.columns[position] else { panic!("no array") };
        let texts = array.as_string::<i32>().iter().map(|text| text.map(str::to_owned));
        texts.collect::<Vec<_>>()
    };
    batches.iter().flat_map(of_batch).collect()
}

#[test]
fn rows_get_what_nested_loops_find() {
    let mut draw = Draw::new();
    for turn in 0..40 {
        let kinds: Vec<Kind> = (0..1 + draw.below(2))
            .map(|_| [Kind::Int, Kind::Money, Kind::Day, Kind::Text][draw.below(4)])
            .collect();
        // Reference keys are the same numbers, whatever they are written as.
        let range = [5, 60][draw.below(2)];
        let count = if turn % 8 == 0 { CHUNK_ROWS + draw.below(2 * CHUNK_ROWS) } else { 1 + draw.below(300) };
        let names = [("a", "k1"), ("b", "k2")];
        let keys = &names[..kinds.len()];
        let mut columns: Vec<_> = kinds
            .iter()
            .zip(keys)
            .map(|(kind, (own, _))| (*own, *kind, drawn(&mut draw, count, range)))
            .collect();
        columns.push(("x", Kind::Int, drawn(&mut draw, count, 100)));
        let facts = Rows { columns };
        let dimension = dimension(&mut draw, &kinds, range);
        let expected = found(&facts, &dimension, keys);
        let (rows, theirs) = (facts.source(&mut draw), dimension.source(&mut draw));
        let joined = rows.with_lookup(theirs, &pairs(keys)).unwrap();
        assert_eq!(joined.columns().len(), facts.columns.len() + 2);
        let own = facts.columns.iter().map(|(name, kind, _)| {
            let protect = match (kind, draw.below(3)) {
                (_, 0) => Protection::Drop,
                (Kind::Text, _) | (_, 1) => Protection::Clear,
                _ => Protection::Encrypt,
            };
            column(name, kind.of_column(), protect)
        });
        let mut all: Vec<Column> = own.collect();
        let place = draw.below(all.len() + 1);
        all.insert(place, column("t", TEXT, Protection::Seal));
        all.push(column("n", INT, if draw.below(2) == 0 { Protection::Encrypt } else { Protection::Clear }));
        let schema = schema(all);
        let passed = in_turn(joined.typed(&schema).unwrap());
        assert_eq!(passed.1, None, "{draw:?}");
        let value = |name: &str, row: Option<usize>| -> Cell {
            dimension.columns.iter().find(|(known, _, _)| *known == name).unwrap().2[row?]
        };
        let wanted: Vec<_> =
            expected.iter().map(|row| value("t", *row).map(|v| format!("k,{v}\n"))).collect();
        assert_eq!(texts(&passed.0, place), wanted, "{draw:?}");
        let wanted: Vec<_> = expected.iter().map(|row| value("n", *row).map(i128::from)).collect();
        let last = schema.columns.len() - 1;
        let numbers = match schema.columns[last].protect {
            Protection::Encrypt => units(&passed.0, last),
            _ => passed.0.iter().flat_map(|batch| integers(batch, last)).collect(),
        };
        assert_eq!(numbers, wanted, "{draw:?}");
        // The facts are as they are without a lookup.
        let alone = in_turn(rows.typed(&without(&schema)).unwrap());
        for (with, alone) in passed.0.iter().zip(&alone.0) {
            assert_eq!((with.first_row, with.rows), (alone.first_row, alone.rows));
            let own = schema.columns.iter().zip(&with.columns).filter(|(column, _)| !is_given(column));
            let own =
                RowBatch { first_row: 0, rows: 0, columns: own.map(|(_, data)| copied(data)).collect() };
            let alone =
                RowBatch { first_row: 0, rows: 0, columns: alone.columns.iter().map(copied).collect() };
            assert_eq!(own.fingerprint(), alone.fingerprint(), "{draw:?}");
        }
        // Again, and on several threads.
        assert_same(&in_turn(joined.typed(&schema).unwrap()), &passed, "again");
        let mut random = Random(0x9e37_79b9 + turn);
        let chunk_bytes = [0, 1000, 1 << 20][draw.below(3)];
        assert_same(&ahead(joined.typed(&schema).unwrap(), chunk_bytes, &mut random), &passed, "ahead");
        check_profile(&joined, &dimension, &expected, &kinds);
    }
}

/// Missing values and rows as a profile counts them.
fn check_profile(joined: &Source, dimension: &Rows, expected: &[Option<usize>], kinds: &[Kind]) {
    let profile = profile(joined, &ProfileOptions::default()).unwrap();
    assert_eq!(profile.rows(), expected.len() as u64);
    let values = &dimension.columns.iter().find(|(name, _, _)| *name == "n").unwrap().2;
    let missing = expected.iter().filter(|row| row.is_none_or(|row| values[row].is_none())).count();
    let found = profile.columns().iter().find(|column| column.name() == "n").unwrap();
    assert_eq!(found.missing(), missing as u64, "{kinds:?}");
}

fn is_given(column: &Column) -> bool {
    ["n", "t"].contains(&column.name.as_str())
}

fn without(schema: &Schema) -> Schema {
    let columns = schema.columns.iter().filter(|column| !is_given(column)).cloned().collect();
    Schema { columns, ..schema.clone() }
}

fn copied(data: &Option<ColumnData>) -> Option<ColumnData> {
    Some(match data.as_ref()? {
        ColumnData::Array(array) => ColumnData::Array(array.clone()),
        ColumnData::Units(TypedColumn { values, valid }) => {
            let values = match values {
                Values::F64(values) => Values::F64(values.clone()),
                Values::I128(values) => Values::I128(values.clone()),
                Values::I64(values) => Values::I64(values.clone()),
            };
            ColumnData::Units(TypedColumn { values, valid: valid.clone() })
        }
    })
}

fn integers(batch: &RowBatch, position: usize) -> Vec<Option<i128>> {
    let Some(ColumnData::Array(array)) = &batch.columns[position] else { panic!("no array") };
    let array: &Int64Array = array.as_primitive();
    array.iter().map(|value| value.map(i128::from)).collect()
}

/// Types, purposes and all: a proposal for rows with a lookup reads them.
#[test]
fn a_proposal_has_the_columns_of_both() {
    let facts = open("id,part\n1,7\n2,+8\n3,\n4,9\n").unwrap();
    let parts = open("key;size;price\n7.0;3;1,5\n8;4;2,25\n").unwrap();
    let joined = facts.with_lookup(parts, &pairs(&[("part", "key")])).unwrap();
    assert_eq!((joined.table_name(), joined.rows()), ("table".to_owned(), None));
    let profile = profile(&joined, &ProfileOptions::default()).unwrap();
    let proposed = propose(&profile, "t").schema;
    let names: Vec<&str> = proposed.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["id", "part", "size", "price"]);
    let price = &proposed.columns[3];
    assert!(matches!(price.kind, ColumnType::Decimal { scale: 2, .. }) && price.nullable, "{price:?}");
    let read = |kind| {
        let all = [("id", INT), ("part", INT), ("size", INT), ("price", kind)];
        let columns = all.map(|(name, kind)| column(name, kind, Protection::Encrypt));
        units(&batches(&joined, &schema(columns.to_vec())).unwrap(), 3)
    };
    assert_eq!(read(MONEY), [Some(150), Some(225), None, None]);
}

/// A key may be what an earlier lookup gives, wanted or not.
#[test]
fn lookups_follow_each_other() {
    let facts = open("part\n1\n2\n3\n").unwrap();
    let parts = open("part,brand\n1,x\n2,y\n").unwrap();
    let brands = open("name,country\ny,DE\nx,FR\n").unwrap();
    let joined = facts.with_lookup(parts, &pairs(&[("part", "part")])).unwrap();
    let joined = joined.with_lookup(brands, &pairs(&[("brand", "name")])).unwrap();
    assert_eq!(joined.lookups()[1].1, pairs(&[("brand", "name")]));
    for protect in [Protection::Drop, Protection::Seal] {
        let columns = vec![
            column("part", INT, Protection::Drop),
            column("brand", TEXT, protect),
            column("country", TEXT, Protection::Seal),
        ];
        let read = batches(&joined, &schema(columns)).unwrap();
        let expected = [Some("FR"), Some("DE"), None].map(|text| text.map(str::to_owned));
        assert_eq!(texts(&read, 2), expected);
        assert_eq!(read[0].columns[1].is_some(), protect == Protection::Seal);
        assert!(read[0].columns[0].is_none());
    }
    // Of a lookup nothing of which is wanted nothing is read.
    let broken = open("name,country\nx,FR\nx,FR\n").unwrap();
    let joined = facts.with_lookup(broken, &pairs(&[("part", "name")])).unwrap();
    let columns = vec![column("part", INT, Protection::Encrypt), column("country", TEXT, Protection::Drop)];
    assert_eq!(units(&batches(&joined, &schema(columns)).unwrap(), 0).len(), 3);
}

/// The code and the words of a refusal by the whole pass of `kind`, with `n` from the dimension.
fn refused(facts: &Source, dimension: Source, kind: ColumnType, nullable: bool) -> (&'static str, String) {
    let joined = facts.with_lookup(dimension, &pairs(&[("k", "key")])).unwrap();
    let given = Column { nullable, ..column("n", INT, Protection::Encrypt) };
    let error = batches(&joined, &schema(vec![column("k", kind, Protection::Clear), given])).unwrap_err();
    assert!(!error.to_string().contains("4711"), "{error}");
    assert!(!error.remedy().describe(hush_plan::error::Front::CommandLine).is_empty());
    (error.code(), error.to_string())
}

#[test]
fn passes_refuse_keys_that_do_not_tell() {
    let facts = open("k\n4711\n5\n").unwrap();
    let refused = |text: &str, kind, nullable| refused(&facts, open(text).unwrap(), kind, nullable);
    let (code, words) = refused("key,n\n1,1\n4711,1\n2,2\n\"4711\",3\n", INT, true);
    assert_eq!((code, words.as_str()), ("HUSH-D053", "table: rows 2 and 4 have one key (value hidden)"));
    // Texts that are one number are one key of numbers and two of texts.
    assert_eq!(refused("key,n\n4711,1\n4711.0,1\n", MONEY, true).0, "HUSH-D053");
    assert_eq!(refused("key,n\n4711,1\n4711.0,x\n", TEXT, true).0, "HUSH-D021");
    let (code, words) = refused("key,n\n5,1\n", INT, false);
    let expected = "table: row 1 finds no value for column n, which the schema says is never missing";
    assert_eq!((code, words.as_str()), ("HUSH-D055", expected));
    let (code, words) = refused("key,n\n5,\n4711,1\n", INT, false);
    assert!(code == "HUSH-D055" && words.contains("row 2 finds"), "{words}");
    // A key that is none of that type, and a value out of its: the file and the line.
    let (code, words) = refused("key,n\n5,1\nx4711,1\n", INT, true);
    assert!(code == "HUSH-D021" && words.starts_with("table: line 3, column key"), "{words}");
    let (code, words) = refused("key,n\n5,1\n6,4711x\n", INT, true);
    assert!(code == "HUSH-D021" && words.starts_with("table: line 3, column n"), "{words}");
    assert_eq!(refused("key,n\n", INT, true).0, "HUSH-D011");
    assert_eq!(refused("key,n\n5,1,1\n", INT, true).0, "HUSH-D015");
    let float = ColumnType::Float { digits: 2 };
    assert_eq!(refused("key,n\n5,1\n", float, true).0, "HUSH-D052");
}

/// Only keys of one kind compare.
#[test]
fn kinds_of_keys_agree() {
    let facts = open("k\n5\n").unwrap();
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let float = ColumnType::Float { digits: 0 };
    let keys: [(ArrayRef, &[ColumnType]); 5] = [
        (Arc::new(Int32Array::from(vec![5])), &[INT, MONEY]),
        (Arc::new(Decimal128Array::from(vec![50]).with_precision_and_scale(5, 1).unwrap()), &[INT, MONEY]),
        (Arc::new(StringArray::from(vec!["5"])), &[TEXT, ColumnType::Category]),
        (Arc::new(Date32Array::from(vec![5])), &[ColumnType::Date]),
        (Arc::new(arrow::array::Float64Array::from(vec![5.0])), &[]),
    ];
    for (key, kinds) in keys {
        let file = write(vec![("key", key.clone()), ("n", one.clone())], 10);
        for kind in [INT, MONEY, TEXT, ColumnType::Category, ColumnType::Date, ColumnType::Timestamp, float] {
            let facts =
                if kind == ColumnType::Date { open("k\n1970-01-06\n").unwrap() } else { facts.clone() };
            let joined = facts.with_lookup(open(&file).unwrap(), &pairs(&[("k", "key")])).unwrap();
            let columns = vec![column("k", kind, Protection::Clear), column("n", INT, Protection::Encrypt)];
            let read = batches(&joined, &schema(columns));
            match read {
                Ok(read) => {
                    assert!(kinds.contains(&kind), "{kind:?} with {}", key.data_type());
                    assert_eq!(units(&read, 1), [Some(1)], "{kind:?} with {}", key.data_type());
                }
                Err(error) => {
                    assert!(!kinds.contains(&kind), "{kind:?} with {}: {error}", key.data_type());
                    assert_eq!(error.code(), "HUSH-D052", "{error}");
                }
            }
        }
    }
}

#[test]
fn columns_are_checked_before_a_row_is_read() {
    let facts = open("k,n\n5,1\n").unwrap();
    let refused = |text: &str, on: &[(&str, &str)]| {
        let error = facts.with_lookup(open(text).unwrap(), &pairs(on)).unwrap_err();
        assert!(!error.remedy().describe(hush_plan::error::Front::CommandLine).is_empty());
        (error.code(), error.to_string())
    };
    let (code, words) = refused("key,n\n5,1\n", &[("k", "key")]);
    assert!(code == "HUSH-D051" && words.contains("column n is"), "{words}");
    assert_eq!(refused("key,k\n5,1\n", &[("k", "key")]).0, "HUSH-D051");
    let (code, words) = refused("key,m\n5,1\n", &[("kk", "key")]);
    assert!(code == "HUSH-D050" && words.contains("the rows that look it up have no column kk"), "{words}");
    let (code, words) = refused("key,m\n5,1\n", &[("k", "kk")]);
    assert!(code == "HUSH-D050" && words.contains("it has no column kk"), "{words}");
    assert_eq!(refused("key,m\n5,1\n", &[("k", "key"), ("n", "key")]).0, "HUSH-D050");
    assert_eq!(refused("key,m\n5,1\n", &[]).0, "HUSH-D050");
    assert_eq!(refused("key\n5\n\n", &[("k", "key")]).0, "HUSH-D050");
    // A key of one name is no clash.
    let other = open("k,m\n5,1\n").unwrap();
    assert_eq!(facts.with_lookup(other, &pairs(&[("k", "k")])).unwrap().columns().len(), 3);
}

/// A profile refuses what it knows to be wrong.
#[test]
fn profiles_refuse_keys_that_stand_there_twice() {
    let facts = open("k\n5\n").unwrap();
    let read = |text: &str| {
        let joined = facts.with_lookup(open(text).unwrap(), &pairs(&[("k", "key")])).unwrap();
        profile(&joined, &ProfileOptions::default())
    };
    let error = read("key,n\n4711,1\nNA,1\n4711,2\n").unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("rows 1 and 3")), ("HUSH-D053", true), "{error}");
    assert_eq!(read("key,n\n").unwrap_err().code(), "HUSH-D011");
    assert_eq!(read("key,n\n1,2,3\n").unwrap_err().code(), "HUSH-D015");
    assert!(read("key,n\n5,1\n5.0,1\n,1\n,1\n").is_ok());
}

/// The texts that rows get count against the memory for texts before they are copied.
#[test]
fn texts_of_many_rows_are_within_their_limit() {
    let facts = open(format!("k,s\n{}", "1,abc\n".repeat(3000))).unwrap();
    let other = open(format!("key,t\n1,{}\n", "x".repeat(1000))).unwrap();
    let joined = facts.with_lookup(other, &pairs(&[("k", "key")])).unwrap();
    let all = ["k", "s", "t"].map(|name| column(name, TEXT, Protection::Seal)).to_vec();
    let read = |limit| {
        let mut reader = joined.typed(&schema(all.clone())).unwrap().with_text_limit(limit);
        reader.next().unwrap().map(|batch| batch.rows)
    };
    assert_eq!(read(3000 * 1004).unwrap(), 3000);
    let error = read(3000 * 1004 - 1).unwrap_err();
    assert_eq!(error.code(), "HUSH-D025", "{error}");
    assert!(joined.decode_bytes() > facts.decode_bytes() + 1000);
}

/// What an interrupted encryption remembers of its data changes with a lookup, by its file and by its rows.
#[test]
fn a_changed_lookup_shows() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        Source::open(&path, &OpenOptions::default()).unwrap()
    };
    let facts = file("facts.csv", "k\n1\n2\n");
    let with = |text: &str| facts.with_lookup(file("parts.csv", text), &pairs(&[("k", "key")])).unwrap();
    let all = schema(vec![column("k", INT, Protection::Drop), column("n", INT, Protection::Encrypt)]);
    let prints = |source: &Source| batches(source, &all).unwrap()[0].fingerprint();
    let before = with("key,n\n1,5\n2,6\n");
    let (marks, rows) = (before.file_marks(), prints(&before));
    let names: Vec<&str> = marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["facts.csv", "parts.csv"]);
    let after = with("key,n\n1,5\n2,60\n");
    assert_eq!(after.file_marks()[0], marks[0]);
    assert_ne!(after.file_marks()[1], marks[1]);
    assert_ne!(prints(&after), rows);
    // The same rows in another order give the facts the same values.
    assert_eq!(prints(&with("n,key\n9,\n6,2\n5,1\n")), rows);
    assert_eq!(before.table_name(), "facts");
}
