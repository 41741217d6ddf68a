// SPDX-License-Identifier: Apache-2.0
//! Conditions that tables decide against the query engine's own filter, and what a catalogue adds up against one table.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use hush_remote::Silent;
use hush_testkit::Draw;

use super::*;
use crate::ask::table_in_memory;
use crate::finish::finish;
use crate::private::PrivateHalf;

const COLUMNS: [(&str, &str); 8] = [
    ("id", "int(64)"),
    ("n", "int(16)"),
    ("m", "decimal(12,2)"),
    ("l", "decimal(30,3)"),
    ("d", "date"),
    ("s", "timestamp"),
    ("b", "bool"),
    ("t", "text"),
];
const ROWS: usize = 60;
const TEXTS: [&str; 6] = ["it's", "50%", "a_b", "Zürich", "", "back\\slash"];
const DAY: i64 = 86_400_000_000;

/// So many values of a column, one in six of them NULL.
fn cells<T>(draw: &mut Draw, mut value: impl FnMut(&mut Draw) -> T) -> Vec<Option<T>> {
    (0..ROWS).map(|_| (draw.below(6) > 0).then(|| value(draw))).collect()
}

/// A table whose columns are clear, and its rows.
fn table(draw: &mut Draw) -> (OwnedTable, RecordBatch) {
    let money = |column: Vec<Option<i128>>, precision, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(column).with_precision_and_scale(precision, scale).unwrap())
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..ROWS as i64)),
        Arc::new(Int64Array::from(cells(draw, |draw| draw.below(9) as i64 - 4))),
        money(cells(draw, |draw| draw.below(400) as i128 - 200), 12, 2),
        money(
            cells(draw, |draw| (draw.below(9) as i128 - 4) * 10_i128.pow(26) + draw.below(3) as i128),
            30,
            3,
        ),
        Arc::new(Date32Array::from(cells(draw, |draw| draw.below(20) as i32 - 10))),
        Arc::new(TimestampMicrosecondArray::from(cells(draw, |draw| {
            (draw.below(20) as i64 - 10) * DAY / 2 + 1
        }))),
        Arc::new(BooleanArray::from(cells(draw, |draw| draw.below(2) == 0))),
        Arc::new(StringArray::from(cells(draw, |draw| TEXTS[draw.below(TEXTS.len())]))),
    ];
    let mut text = "format = 1\ntable = \"t\"\nstatus = \"approved\"\nmax_rows = 1000\n".to_owned();
    for (name, kind) in COLUMNS {
        text += &format!("[columns.{name}]\ntype = \"{kind}\"\nnullable = true\nprotect = \"clear\"\n");
    }
    let schema = crate::schema_file::parse_schema(&text).unwrap();
    let rows = RecordBatch::try_new(hush_encode::clear_schema(&schema), columns).unwrap();
    let table = table_in_memory(PrivateHalf::new(schema, Vec::new()), &rows, &[], 1).unwrap();
    (table, rows)
}

fn literal(draw: &mut Draw, column: &str) -> String {
    match column {
        "id" | "n" => [(draw.below(9) as i64 - 4).to_string(), "1.5".to_owned(), "-0.50".to_owned()]
            [draw.below(3)]
        .clone(),
        "m" => format!("{}.{:02}", draw.below(4) as i64 - 2, draw.below(100)),
        "l" => format!("{}00000000000000000000000000.00{}", draw.below(9) as i64 - 4, draw.below(3)),
        "d" => format!("DATE '19{}-01-0{}'", 69 + draw.below(2), 1 + draw.below(9)),
        "s" => format!("TIMESTAMP '1970-01-0{} 12:00:00.00000{}'", 1 + draw.below(9), draw.below(3)),
        "b" => ["TRUE", "FALSE"][draw.below(2)].to_owned(),
        _ => format!("'{}'", TEXTS[draw.below(TEXTS.len())].replace('\'', "''")),
    }
}

fn condition(draw: &mut Draw, depth: usize) -> String {
    let (column, _) = COLUMNS[draw.below(COLUMNS.len())];
    let not = ["", "NOT "][draw.below(2)];
    let form = if depth == 0 { draw.below(6) } else { draw.below(9) };
    let (low, high) = (literal(draw, column), literal(draw, column));
    match form {
        0 => format!("{column} IS {not}NULL"),
        1 => format!("{column} {not}IN ({low}, {high})"),
        2 if column != "b" => format!("{column} {not}BETWEEN {low} AND {high}"),
        3 => format!("t {not}LIKE '{}'", ["%'s", "a\\_b", "_0\\%", "%ü%"][draw.below(4)].replace('\'', "''")),
        4 => ["n < m", "m <> l", "b", "NOT b", "n = id", "abs(n) > 2"][draw.below(6)].to_owned(),
        6..9 => {
            let and = ["AND", "OR"][draw.below(2)];
            format!("{not}({} {and} {})", condition(draw, depth - 1), condition(draw, depth - 1))
        }
        _ => format!("{column} {} {low}", ["=", "<>", "<", "<=", ">", ">="][draw.below(6)]),
    }
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

/// A table leaves the rows that the engine's own filter leaves, whatever was moved down to it; and most conditions are.
#[test]
fn conditions_that_a_table_decides_are_those_of_the_engine() {
    let mut draw = Draw::new();
    let (table, rows) = table(&mut draw);
    let catalogue = Catalogue::new(vec![&table]).unwrap();
    let (mut moved, mut all) = (0, 0);
    for _ in 0..400 {
        let condition = condition(&mut draw, 2);
        let expected = finish(rows.clone(), &format!("SELECT id FROM merged WHERE {condition} ORDER BY id"));
        let expected = ids(&expected.unwrap_or_else(|error| panic!("{condition}: {error}")));
        let outcome = catalogue.ask(&format!("SELECT id FROM t WHERE {condition} ORDER BY id"), &Silent);
        let outcome = outcome.unwrap_or_else(|error| panic!("{condition}: {error}"));
        assert_eq!(ids(&outcome.batches), expected, "{condition}");
        // The question alone leaves these rows too, if it has the whole condition.
        let asked = &outcome.answers[0];
        all += 1;
        if asked.rows == expected.len() && asked.sql.contains("WHERE") {
            moved += 1;
        }
    }
    assert!(moved * 3 > all * 2, "{moved} of {all}");
}

/// What is rendered is a condition of its own: put to the engine it leaves the same rows.
#[test]
fn a_rendered_condition_means_what_the_plan_means() {
    let mut draw = Draw::new();
    let (table, rows) = table(&mut draw);
    let catalogue = Catalogue::new(vec![&table]).unwrap();
    let mut seen = 0;
    for _ in 0..200 {
        let condition = condition(&mut draw, 1);
        let (planned, questions) =
            catalogue.questions(&format!("SELECT id FROM t WHERE {condition}")).unwrap();
        assert_eq!(planned.scans.len(), 1);
        let Some((_, rendered)) = questions[0].sql.split_once(" WHERE ") else { continue };
        let of = |condition: &str| {
            ids(&finish(rows.clone(), &format!("SELECT id FROM merged WHERE {condition} ORDER BY id"))
                .unwrap())
        };
        let (expected, found) = (of(&condition), of(rendered));
        // A part that was not rendered leaves more rows, never fewer.
        assert!(expected.iter().all(|id| found.contains(id)), "{condition}: {rendered}");
        seen += usize::from(expected == found);
    }
    assert!(seen > 100, "{seen}");
}

/// Means and deviations of rows that come in several pieces are those of one piece.
#[test]
fn statistics_of_several_pieces_are_exact() {
    let mut draw = Draw::new();
    let (table, _) = table(&mut draw);
    let catalogue = Catalogue::new(vec![&table]).unwrap();
    let functions = ["SUM", "AVG", "STDDEV", "VAR_POP", "COUNT", "SKEWNESS", "KURTOSIS"];
    // Sums of cubes of the last column have more than 76 digits.
    for (column, functions) in [("n", &functions[..]), ("m", &functions[..]), ("l", &functions[..5])] {
        let calls: Vec<String> = functions.iter().map(|name| format!("{name}({column})")).collect();
        let calls = calls.join(", ");
        let one = table.ask(&format!("SELECT {calls} FROM t"), &Silent).unwrap().batches;
        let pieces = format!(
            "SELECT {calls} FROM (SELECT {column} FROM t WHERE id < 20 UNION ALL SELECT {column} FROM t WHERE id >= 20) AS u"
        );
        let several = catalogue.ask(&pieces, &Silent).unwrap().batches;
        let (one, several) =
            (concat_batches(&one[0].schema(), &one), concat_batches(&several[0].schema(), &several));
        let texts = |batch: &RecordBatch| -> Vec<String> {
            let text = |column: &ArrayRef| arrow::util::display::array_value_to_string(column, 0).unwrap();
            batch.columns().iter().map(text).collect()
        };
        assert_eq!(texts(&one.unwrap()), texts(&several.unwrap()), "{column}");
    }
    let distinct = "SELECT AVG(DISTINCT n) AS a, COUNT(DISTINCT m) AS c, AVG(m) AS b FROM t";
    let one = table.ask(distinct, &Silent).unwrap().batches;
    let several = catalogue.ask(distinct, &Silent).unwrap().batches;
    assert_eq!(format!("{:?}", one[0].columns()), format!("{:?}", several[0].columns()));
}
