// SPDX-License-Identifier: Apache-2.0
//! Conditions that tables decide against the query engine's own filter, what a catalogue adds up against one table, and groups against rows.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use hush_remote::Silent;
use hush_testkit::Draw;

use hush_exec::Limits;
use hush_keys::OwnerSeed;
use hush_table::TableStore;
use hush_table::source::Source;

use super::*;
use crate::ask::table_in_memory;
use crate::encrypt::encrypt_parts;
use crate::finish::finish;
use crate::private::PrivateHalf;
use crate::scheme::NoOp;

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
fn table(draw: &mut Draw, name: &str) -> (OwnedTable, RecordBatch) {
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
    let mut text = format!("format = 1\ntable = \"{name}\"\nstatus = \"approved\"\nmax_rows = 1000\n");
    for (name, kind) in COLUMNS {
        text += &format!("[columns.{name}]\ntype = \"{kind}\"\nnullable = true\nprotect = \"clear\"\n");
    }
    let schema = crate::schema_file::parse_schema(&text).unwrap();
    let rows = RecordBatch::try_new(hush_encode::clear_schema(&schema), columns).unwrap();
    let table = table_in_memory(PrivateHalf::new(schema, Vec::new()), &rows, &[], 1).unwrap();
    (table, rows)
}

/// The same rows under join keys, but for their numbers and one column.
fn keyed(rows: &RecordBatch, name: &str, owner: &OwnerSeed) -> OwnedTable {
    let mut text = format!("format = 1\ntable = \"{name}\"\nstatus = \"approved\"\nmax_rows = 1000\n");
    for (name, kind) in COLUMNS {
        let protect = if matches!(name, "id" | "l") { "clear" } else { "joinkey" };
        text += &format!("[columns.{name}]\ntype = \"{kind}\"\nnullable = true\nprotect = \"{protect}\"\n");
    }
    let half = PrivateHalf::new(crate::schema_file::parse_schema(&text).unwrap(), Vec::new());
    let store = TableStore::memory();
    let source = |first, count| {
        let piece = rows.slice(first, count);
        Source::from_batches(name, piece.schema(), std::slice::from_ref(&piece)).unwrap()
    };
    encrypt_parts(&[source(0, 25), source(25, ROWS - 25)], &half, owner, &store, &NoOp).unwrap();
    OwnedTable::open_store(&store, owner, &NoOp, 1, Limits::default()).unwrap()
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
    let (table, rows) = table(&mut draw, "t");
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
    let (table, rows) = table(&mut draw, "t");
    let catalogue = Catalogue::new(vec![&table]).unwrap();
    let mut seen = 0;
    for _ in 0..200 {
        let condition = condition(&mut draw, 1);
        let (planned, questions) = catalogue
            .questions(&format!("SELECT id FROM t WHERE {condition}"), None, &Known::new(&catalogue.tables))
            .unwrap();
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
    let (table, _) = table(&mut draw, "t");
    let catalogue = Catalogue::new(vec![&table]).unwrap();
    let functions = ["MEDIAN", "MODE", "SUM", "AVG", "STDDEV", "VAR_POP", "COUNT", "SKEWNESS", "KURTOSIS"];
    // Sums of cubes of the last column have more than 76 digits.
    for (column, functions) in [("n", &functions[..]), ("m", &functions[..]), ("l", &functions[..7])] {
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

/// Joins, each with the aliases that it has.
const JOINS: [(&str, &[&str]); 16] = [
    ("t a", &["a"]),
    ("t a JOIN u b ON a.n = b.n", &["a", "b"]),
    ("t a JOIN u b ON a.n = b.id AND a.m < b.m", &["a", "b"]),
    ("t a LEFT JOIN u b ON a.n = b.n AND b.b", &["a", "b"]),
    ("t a RIGHT JOIN u b ON a.d = b.d", &["a", "b"]),
    ("t a FULL JOIN u b ON a.n = b.n", &["a", "b"]),
    ("t a CROSS JOIN u b", &["a", "b"]),
    ("t a JOIN t b ON a.t = b.t", &["a", "b"]),
    ("t a JOIN u b ON a.n = b.n JOIN t c ON c.n = b.n", &["a", "b", "c"]),
    ("(SELECT id, n, m, l, d, s, b, t FROM t WHERE n > -3) a JOIN u b ON a.n = b.n", &["a", "b"]),
    (
        "(SELECT x.n + 1 AS n, x.m, x.l, y.d, y.s, x.b, y.t, x.id FROM t x JOIN u y ON x.n = y.n) a JOIN u b ON a.n = b.n",
        &["a", "b"],
    ),
    (
        "(SELECT n, SUM(m) AS m, MAX(d) AS d, MIN(t) AS t, COUNT(*) AS id, SUM(l) AS l FROM t GROUP BY n) a JOIN u b ON a.n = b.n",
        &["b"],
    ),
    ("(SELECT * FROM t x WHERE EXISTS (SELECT 1 FROM u y WHERE y.n = x.n AND y.b)) a", &["a"]),
    ("(SELECT * FROM t x WHERE b OR EXISTS (SELECT 1 FROM u y WHERE y.n = x.n AND y.m < x.m)) a", &["a"]),
    (
        "(SELECT * FROM t x WHERE NOT EXISTS (SELECT 1 FROM u y JOIN t z ON y.id = z.n WHERE y.n = x.n)) a",
        &["a"],
    ),
    (
        "(SELECT * FROM t x WHERE n NOT IN (SELECT n FROM u y WHERE n > 1)) a LEFT JOIN u b ON b.id = a.n",
        &["a", "b"],
    ),
];

fn aggregate(draw: &mut Draw, alias: &mut dyn FnMut(&mut Draw) -> String) -> String {
    let (x, y) = (alias(draw), alias(draw));
    let column = |draw: &mut Draw, of: &[&str]| of[draw.below(of.len())].to_owned();
    let number = column(draw, &["n", "m", "l"]);
    let distinct = ["", "", "DISTINCT "][draw.below(3)];
    match draw.below(16) {
        0 => "COUNT(*)".to_owned(),
        1 => format!("COUNT({distinct}{x}.{})", column(draw, &["n", "m", "d", "t", "b"])),
        2 => format!("SUM({distinct}{x}.{number})"),
        3 => format!("AVG({x}.{number})"),
        4 => format!("{}({x}.{})", column(draw, &["MIN", "MAX"]), column(draw, &["n", "m", "d", "t", "s"])),
        5 => format!("{}({x}.{})", column(draw, &["STDDEV", "VAR_POP"]), column(draw, &["n", "m"])),
        6 => format!("SUM({x}.n * {y}.m - 2 * {x}.m)"),
        7 => format!("SUM(CASE WHEN {y}.b THEN {x}.{number} WHEN {x}.n > 1 THEN {y}.n ELSE 0 END)"),
        8 => format!("SUM({x}.{number}) FILTER (WHERE {y}.n > 0)"),
        9 => format!("{}({x}.b)", column(draw, &["BOOL_AND", "BOOL_OR"])),
        11 => format!("SUM({x}.{number} * {y}.m)"),
        13 => format!("MEDIAN({x}.{})", column(draw, &["n", "m", "l", "d", "s"])),
        14 => format!("QUANTILE_DISC({x}.{}, 0.3)", column(draw, &["n", "m", "d", "t", "b"])),
        15 => format!("MODE({x}.{}) FILTER (WHERE {y}.n > 0)", column(draw, &["n", "t", "s"])),
        10 => format!("COUNT(CASE WHEN {x}.b THEN {y}.n END)"),
        _ => format!("SUM({x}.m * 2.5 + {x}.n)"),
    }
}

/// A question about `t` and `u` that adds up.
fn question(draw: &mut Draw) -> String {
    let (from, aliases) = JOINS[draw.below(JOINS.len())];
    let mut alias = |draw: &mut Draw| aliases[draw.below(aliases.len())].to_owned();
    let mut outputs: Vec<String> = (0..draw.below(3))
        .map(|_| {
            let form = draw.below(6);
            let (x, y) = (alias(draw), alias(draw));
            match form {
                0 => format!("EXTRACT(MONTH FROM {x}.d)"),
                1 => format!("{x}.n + {y}.n"),
                _ => format!("{x}.{}", ["n", "t", "b", "d"][form - 2]),
            }
        })
        .collect();
    let keys = outputs.len();
    outputs.extend((0..1 + draw.below(3)).map(|_| aggregate(draw, &mut alias)));
    let named = outputs.iter().enumerate().map(|(place, text)| format!("{text} AS c{place}"));
    let mut sql = format!("SELECT {} FROM {from}", named.collect::<Vec<_>>().join(", "));
    if draw.below(2) == 0 {
        let x = alias(draw);
        sql += &format!(
            " WHERE {x}.{}",
            ["n > 0", "m < 1.5", "b", "t LIKE '%a%'", "d IS NOT NULL"][draw.below(5)]
        );
    }
    if keys > 0 {
        let keys = outputs[..keys].join(", ");
        sql += &match draw.below(8) {
            0 => format!(" GROUP BY ROLLUP ({keys})"),
            1 => format!(" GROUP BY CUBE ({keys})"),
            2 => format!(" GROUP BY GROUPING SETS (({keys}), (1), ())"),
            _ => format!(" GROUP BY {keys}"),
        };
    }
    sql
}

/// The rows of a result as texts, in an order of their own.
fn texts(outcome: CatalogueOutcome) -> (SchemaRef, Vec<Vec<String>>) {
    let batches = outcome.batches;
    let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
    let text = |row| {
        let cell = |column: &ArrayRef| arrow::util::display::array_value_to_string(column, row).unwrap();
        batch.columns().iter().map(cell).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = (0..batch.num_rows()).map(text).collect();
    rows.sort();
    (batch.schema(), rows)
}

/// Many outputs, and classes of keys before all.
fn liked(groups: &Scan) -> f64 {
    groups.outputs.len() as f64 + if groups.classes.is_some() { 100.0 } else { 0.0 }
}

/// A partner that anybody is, a sum beyond 38 digits, and groups that turn out to be too many.
#[test]
fn questions_that_groups_do_not_fit_are_answered() {
    let mut draw = Draw::new();
    let tables = [table(&mut draw, "t").0, table(&mut draw, "u").0];
    let catalogue = Catalogue::new(tables.iter().collect()).unwrap();
    let possible = |_: &Scan, groups: &Scan| catalogue.question(groups).ok().map(|_| 1.0);
    let ask = |sql: &str, gain: Option<Gain<'_>>| {
        let batches =
            catalogue.ask_for(sql, gain, &Silent).unwrap_or_else(|error| panic!("{sql}: {error}")).batches;
        let column = concat_batches(&batches[0].schema(), &batches).unwrap().column(0).clone();
        arrow::util::display::array_value_to_string(&column, 0).unwrap()
    };
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM u)", "60"),
        ("SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE id > 58)", "0"),
        ("SELECT COUNT(*) FROM t WHERE id = 3 OR EXISTS (SELECT 1 FROM u WHERE id > 59)", "1"),
        (
            "SELECT SUM((t.id + 4611686018427387904) * 4611686018427387904) FROM t JOIN u ON t.id = u.id",
            SUM_OF_PRODUCTS,
        ),
        (
            "SELECT COUNT(s) FROM (SELECT SUM(t.m) OVER (PARTITION BY t.n ORDER BY t.id) + SUM(t.m + 1) OVER () * 0 AS s FROM t JOIN u ON t.id = u.id WHERE t.m IS NOT NULL) q WHERE s IS NULL",
            "0",
        ),
        (
            "SELECT MAX(s) FROM (SELECT SUM((t.id + 4611686018427387904) * 4611686018427387904) OVER () AS s FROM t JOIN u ON t.id = u.id) q",
            SUM_OF_PRODUCTS,
        ),
    ] {
        assert_eq!(ask(sql, None), expected, "{sql}");
        assert_eq!(ask(sql, Some(&possible)), expected, "{sql}");
    }
}

/// `60·2^124 + 2^62·(0 + 1 + … + 59)`.
const SUM_OF_PRODUCTS: &str = "1276058875953519246150339030485607383040";

/// Groups of a table's rows give what its rows give, wherever a plan takes them.
#[test]
fn groups_stand_for_rows() {
    let mut draw = Draw::new();
    let tables = [table(&mut draw, "t").0, table(&mut draw, "u").0];
    let catalogue = Catalogue::new(tables.iter().collect()).unwrap();
    let possible = |_: &Scan, groups: &Scan| catalogue.question(groups).ok().map(|_| liked(groups));
    let (mut grouped, mut joined, mut classes) = (0, 0, 0);
    for _ in 0..300 {
        let sql = question(&mut draw);
        let by_rows = catalogue.ask_for(&sql, None, &Silent);
        let by_groups = catalogue.ask_for(&sql, Some(&possible), &Silent);
        let (by_rows, by_groups) = match (by_rows, by_groups) {
            (Ok(by_rows), Ok(by_groups)) => (by_rows, by_groups),
            (Err(rows), Err(groups)) => {
                assert_eq!(rows.code(), groups.code(), "{sql}");
                continue;
            }
            (rows, groups) => panic!("{sql}: {:?} but {:?}", rows.err(), groups.err()),
        };
        let is_group = |answer: &TableAnswer| answer.sql.contains("(") || answer.sql.contains("GROUP BY");
        let asked: Vec<String> = by_groups.answers.iter().map(|answer| answer.sql.clone()).collect();
        if by_groups.answers.iter().any(is_group) {
            grouped += 1;
            classes += usize::from(asked.iter().any(|sql| sql.contains(") THEN 0")));
            joined += usize::from(by_groups.answers.len() > 1);
        }
        assert_eq!(texts(by_groups), texts(by_rows), "{sql}\n{asked:#?}");
    }
    assert!(grouped > 100 && joined > 50 && classes > 5, "{grouped} {joined} {classes}");
}

/// Questions about join keys have the results of the same questions about their values, as rows and as groups; and a server gets tokens alone.
#[test]
fn join_keys_mean_what_their_values_mean() {
    let mut draw = Draw::new();
    let (t, u) = (table(&mut draw, "t"), table(&mut draw, "u"));
    let clear = Catalogue::new(vec![&t.0, &u.0]).unwrap();
    let owner = OwnerSeed::generate().unwrap();
    let keyed = [keyed(&t.1, "t", &owner), keyed(&u.1, "u", &owner)];
    let keyed = Catalogue::new(keyed.iter().collect()).unwrap();
    let possible = |_: &Scan, groups: &Scan| keyed.question(groups).ok().map(|_| liked(groups));
    let (mut decided, mut grouped, mut classes) = (0, 0, 0);
    // Questions drawn at random may all be of other kinds for a while.
    for round in 0.. {
        if round >= 300 && decided > 40 && grouped > 40 && classes > 0 {
            break;
        }
        assert!(round < 3000, "{decided} {grouped} {classes}");
        let sql = match round % 2 {
            0 => format!("SELECT * FROM t WHERE {}", condition(&mut draw, 2)),
            _ => question(&mut draw),
        };
        let expected = clear.ask_for(&sql, None, &Silent);
        let found = [keyed.ask_for(&sql, None, &Silent), keyed.ask_for(&sql, Some(&possible), &Silent)];
        for found in found {
            let (expected, found) = match (&expected, found) {
                (Ok(expected), Ok(found)) => (expected.clone(), found),
                (Err(expected), Err(found)) => {
                    assert_eq!(expected.code(), found.code(), "{sql}");
                    continue;
                }
                (expected, found) => panic!("{sql}: {:?} but {:?}", expected.as_ref().err(), found.err()),
            };
            for answer in &found.answers {
                let constants: Vec<&str> = answer.sql.split('\'').skip(1).step_by(2).collect();
                decided += usize::from(!constants.is_empty());
                assert!(constants.iter().all(|constant| constant.len() >= 32), "{}", answer.sql);
                grouped += usize::from(answer.sql.contains("GROUP BY"));
                classes += usize::from(answer.sql.contains(") THEN 0"));
            }
            assert_eq!(texts(found), texts(expected), "{sql}");
        }
    }
}
