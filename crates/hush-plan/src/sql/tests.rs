// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::tables::patients;

fn code(text: &str) -> &'static str {
    parse(&patients(), text).map(|_| "accepted").unwrap_or_else(|error| error.code())
}

fn names(text: &str) -> Vec<String> {
    parse(&patients(), text).unwrap().outputs().map(str::to_owned).collect()
}

#[test]
fn outputs_are_named_after_what_they_are() {
    let text =
        "SELECT ward, COUNT(*), AVG(age), STDDEV(charges), SUM(age + 1), Age AS a, p.age FROM patients p";
    let expected = ["ward", "count", "avg_age", "stddev_charges", "SUM(age + 1)", "a", "age"];
    assert_eq!(names(text), expected);
    assert_eq!(names("SELECT age, age, AGE FROM Patients"), ["age", "age_2", "age_3"]);
}

#[test]
fn a_star_stands_for_what_queries_can_use() {
    let stars = names("SELECT * FROM patients");
    assert_eq!(stars.len(), 15);
    assert!(!stars.iter().any(|name| name == "note" || name == "id"));
    assert_eq!(names("SELECT p.* FROM patients AS p"), stars);
    let fewer = names("SELECT * EXCLUDE (AGE, note) FROM patients");
    assert_eq!(fewer, stars.iter().filter(|name| *name != "age").cloned().collect::<Vec<_>>());
    assert_eq!(names("SELECT p.* EXCEPT (age) FROM patients p"), fewer);
    for (star, code) in [("* EXCLUDE (agee)", "HUSH-P003"), ("* REPLACE (1 AS age)", "HUSH-P005")] {
        let refused = parse(&patients(), &format!("SELECT {star} FROM patients")).unwrap_err();
        assert_eq!(refused.code(), code, "{star}");
    }
    assert_eq!(code("SELECT q.* FROM patients p"), "HUSH-P002");
    let notes = |text: &str| parse(&patients(), text).unwrap().notes();
    let [sealed, dropped] = notes("SELECT *, 1 AS one FROM patients").try_into().unwrap();
    assert!(sealed.starts_with("* leaves out note (sealed:"), "{sealed}");
    assert!(dropped.starts_with("* leaves out id (dropped:"), "{dropped}");
    assert!(notes("SELECT COUNT(*), ward FROM patients GROUP BY ward").is_empty());
}

#[test]
fn names_ignore_case_unless_quoted() {
    let query = parse(&patients(), "SELECT \"Odd Name\", WARD FROM PATIENTS WHERE \"year\" = 1").unwrap();
    assert_eq!(query.columns().into_iter().collect::<Vec<_>>(), ["Odd Name", "ward", "year"]);
    assert_eq!(query.filter_text().as_deref(), Some("year = 1"));
    assert_eq!(code("SELECT \"WARD\" FROM patients"), "HUSH-P003");
    assert_eq!(code("SELECT ward FROM \"Patients\""), "HUSH-P002");
}

#[test]
fn keys_and_sort_keys_may_be_ordinals_or_names_of_outputs() {
    let by = |tail: &str| {
        parse(&patients(), &format!("SELECT year % 10 AS y, COUNT(*) AS n FROM patients {tail}"))
    };
    let plain = by("GROUP BY year % 10 ORDER BY COUNT(*) DESC").unwrap();
    assert_eq!(by("GROUP BY 1 ORDER BY 2 DESC").unwrap(), plain);
    assert_eq!(by("GROUP BY y ORDER BY n DESC").unwrap(), plain);
    assert_eq!(by("GROUP BY 3").unwrap_err().code(), "HUSH-P009");
    assert_eq!(by("GROUP BY 0").unwrap_err().code(), "HUSH-P009");
    assert_eq!(by("GROUP BY 1 ORDER BY 99999999999999999999").unwrap_err().code(), "HUSH-P009");
}

#[test]
fn a_name_means_the_column_first_in_group_by_and_the_output_first_in_order_by() {
    let query = parse(&patients(), "SELECT year + 1 AS ward, ward AS w FROM patients ORDER BY ward").unwrap();
    assert_eq!(query.order[0].expr, query.items[0].expr);
    let query = parse(&patients(), "SELECT year AS ward FROM patients GROUP BY ward, 1").unwrap();
    assert_eq!(column_name(&query.keys[0]), Some("ward"));
}

#[test]
fn like_with_another_escape_character_becomes_like_with_a_backslash() {
    let filter = |text: &str| parse(&patients(), &format!("SELECT ward FROM patients WHERE {text}"));
    let escaped = filter("ward NOT LIKE '50!%%' ESCAPE '!' OR ward ILIKE 'a\\b#__' ESCAPE '#'").unwrap();
    let plain = filter("ward NOT LIKE '50\\%%' OR ward ILIKE 'a\\\\b\\__'").unwrap();
    assert_eq!(escaped, plain);
    for refused in [
        "ward LIKE 'a' ESCAPE 'ab'",
        "ward LIKE ward ESCAPE '!'",
        "ward LIKE 'a!' ESCAPE '!'",
        "ward LIKE 'a' ESCAPE ''",
        "ward SIMILAR TO 'a' ESCAPE '!'",
    ] {
        assert_eq!(filter(refused).unwrap_err().code(), "HUSH-P005", "{refused}");
    }
}

#[test]
fn numbers_that_no_decimal_holds_are_doubles() {
    let query = parse(&patients(), "SELECT ward FROM patients WHERE rate IN (1e300, 2.5E-60, 1e3)").unwrap();
    let filter = query.filter_text().unwrap();
    assert_eq!(filter, "rate IN (CAST('1e300' AS DOUBLE), CAST('2.5E-60' AS DOUBLE), 1e3)");
}

#[test]
fn what_nobody_can_query_is_said_with_its_reason() {
    let mut schema = patients();
    for column in &mut schema.columns {
        column.protect = crate::Protection::Seal;
        column.reason = crate::schema::NO_VALUES.to_owned();
    }
    let star = parse(&schema, "SELECT * FROM patients").unwrap_err().report();
    assert!(
        star.contains("HUSH-P005") && star.contains("all sealed") && star.contains("hush decrypt"),
        "{star}"
    );
    let sealed = crate::tables::refusal(&schema, &[], 10, "SELECT SUM(age) FROM patients").report();
    assert!(sealed.contains("HUSH-P010") && sealed.contains("type in the schema"), "{sealed}");
}

#[test]
fn distinct_is_a_group_by() {
    let query = parse(&patients(), "SELECT DISTINCT ward, year FROM patients").unwrap();
    assert!(query.is_grouped() && query.keys.len() == 2);
    assert_eq!(code("SELECT DISTINCT COUNT(*) FROM patients"), "HUSH-P005");
    assert_eq!(code("SELECT DISTINCT ON (ward) ward FROM patients"), "HUSH-P005");
}

#[test]
fn every_refusal_of_the_parser_has_its_code() {
    let cases = [
        ("HUSH-P001", "SELEC ward FROM patients"),
        ("HUSH-P001", "SELECT ward FROM patients WHERE"),
        ("HUSH-P001", "SELECT 'open FROM patients"),
        ("HUSH-P002", "SELECT ward FROM patient"),
        ("HUSH-P002", "SELECT ward FROM db.patients"),
        ("HUSH-P002", "SELECT 1"),
        ("HUSH-P003", "SELECT nope FROM patients"),
        ("HUSH-P003", "SELECT x.ward FROM patients"),
        ("HUSH-P004", ""),
        ("HUSH-P004", "SELECT ward FROM patients; SELECT ward FROM patients"),
        ("HUSH-P004", "DROP TABLE patients"),
        ("HUSH-P004", "INSERT INTO patients VALUES (1)"),
        ("HUSH-P005", "SELECT a.ward FROM patients a JOIN patients b ON a.ward = b.ward"),
        ("HUSH-P005", "SELECT ward FROM patients, patients"),
        ("HUSH-P005", "WITH t AS (SELECT 1) SELECT ward FROM patients"),
        ("HUSH-P005", "SELECT ward FROM (SELECT * FROM patients) t"),
        ("HUSH-P005", "SELECT ward FROM patients WHERE ward IN (SELECT ward FROM patients)"),
        ("HUSH-P005", "SELECT ward FROM patients WHERE EXISTS (SELECT ward FROM patients)"),
        ("HUSH-P005", "SELECT (SELECT 1) FROM patients"),
        ("HUSH-P005", "SELECT ward FROM patients UNION SELECT ward FROM patients"),
        ("HUSH-P005", "SELECT SUM(age) OVER (PARTITION BY ward), COUNT(*) FROM patients"),
        ("HUSH-P005", "SELECT ward FROM patients GROUP BY ROLLUP (ward)"),
        ("HUSH-P005", "SELECT ward FROM patients GROUP BY ALL"),
        ("HUSH-P005", "SELECT ward INTO x FROM patients"),
        ("HUSH-P005", "SELECT ward FROM patients FOR UPDATE"),
        ("HUSH-P005", "SELECT ward FROM patients WHERE year = ?"),
        ("HUSH-P005", "SELECT * RENAME (ward AS w) FROM patients"),
        ("HUSH-P005", "SELECT STRING_AGG(ward, ',') FROM patients"),
        ("HUSH-P005", "SELECT ARG_MAX(ward, age) FROM patients"),
        ("HUSH-P005", "SELECT GROUPING(ward) FROM patients GROUP BY ward"),
        ("HUSH-P005", "SELECT (ward, year) FROM patients"),
        (
            "HUSH-P005",
            "SELECT ward FROM patients WHERE NOT (ward, year) IN (SELECT ward, year FROM patients)",
        ),
        ("HUSH-P005", "SELECT ward FROM patients FETCH FIRST 2 ROWS WITH TIES"),
        ("HUSH-P005", "SELECT ARRAY[1] FROM patients"),
        ("HUSH-P005", "SELECT SUM(age, 2) FROM patients"),
        ("HUSH-P005", "SELECT SUM(*) FROM patients"),
        ("HUSH-P006", "SELECT random() FROM patients"),
        ("HUSH-P006", "SELECT ward FROM patients WHERE read_file(ward) = 'x'"),
        ("HUSH-P006", "SELECT pg_catalog.abs(year) FROM patients"),
        ("HUSH-P008", "SELECT ward FROM patients WHERE SUM(age) > 1"),
        ("HUSH-P008", "SELECT SUM(COUNT(*)) FROM patients"),
        ("HUSH-P008", "SELECT COUNT(*) FROM patients GROUP BY SUM(age)"),
        ("HUSH-P009", "SELECT ward FROM patients LIMIT -1"),
        ("HUSH-P009", "SELECT ward FROM patients LIMIT year"),
        ("HUSH-P009", "SELECT ward FROM patients OFFSET 9223372036854775808"),
    ];
    for (expected, text) in cases {
        assert_eq!(code(text), expected, "{text}");
    }
}

#[test]
fn hostile_texts_are_refused_without_recursion() {
    let long = format!("SELECT {} FROM patients", vec!["year"; 100_000].join("+"));
    let chain = format!("SELECT {} FROM patients", vec!["year"; 1000].join("+"));
    let nested = format!("SELECT {}year{} FROM patients", "(".repeat(300), ")".repeat(300));
    for text in [long, chain, nested] {
        assert_eq!(code(&text), "HUSH-P012");
    }
    let list = vec!["2023"; 5000].join(",");
    assert_eq!(code(&format!("SELECT ward FROM patients WHERE year IN ({list})")), "accepted");
}

#[test]
fn quotes_in_literals_arrive_as_they_were_typed() {
    for literal in ["''", "''''", "''''''", "'a''''b'", "'it''s'", "''''''''"] {
        let query = parse(&patients(), &format!("SELECT ward FROM patients WHERE ward = {literal}")).unwrap();
        assert_eq!(query.filter.unwrap().to_string(), format!("\"ward\" = {literal}"));
    }
    assert_eq!(names("SELECT age AS \"a\"\"b\" FROM patients"), ["a\"b"]);
}

#[test]
fn distinct_from_binds_tighter_than_and_and_or() {
    let filter = |text: &str| {
        let query = parse(&patients(), &format!("SELECT ward FROM patients WHERE {text}")).unwrap();
        query.filter.unwrap().to_string()
    };
    assert_eq!(
        filter("year IS DISTINCT FROM 1 AND year = 2 OR year = 3"),
        "(\"year\" IS DISTINCT FROM 1) AND \"year\" = 2 OR \"year\" = 3"
    );
    assert_eq!(
        filter("year = 4 AND year IS NOT DISTINCT FROM 1 OR year IS DISTINCT FROM 2 AND year = 3"),
        "\"year\" = 4 AND (\"year\" IS NOT DISTINCT FROM 1) OR (\"year\" IS DISTINCT FROM 2) AND \"year\" = 3"
    );
    assert_eq!(filter("year IS DISTINCT FROM (1 + 1)"), "\"year\" IS DISTINCT FROM (1 + 1)");
    assert_eq!(
        filter("ward = 'it''s' AND year IS DISTINCT FROM - - 1 OR ward = '''' AND year = 2"),
        "\"ward\" = 'it''s' AND (\"year\" IS DISTINCT FROM -(-1)) OR \"ward\" = '''' AND \"year\" = 2"
    );
}

/// Texts can look alike where trees differ.
#[test]
fn conditions_around_distinct_from_stand_where_parentheses_would_put_them() {
    let filter = |text: &str| {
        parse(&patients(), &format!("SELECT ward FROM patients WHERE {text}")).unwrap().filter.unwrap()
    };
    let (one, two) = ("year IS DISTINCT FROM 1", "year IS NOT DISTINCT FROM 2");
    for form in [
        "year = 4 AND {1} OR year = 3",
        "NOT {1} AND year = 3",
        "NOT {1} OR year = 3 AND NOT {2} AND year = 5",
        "{1} AND {2} OR year = 3",
        "year = 4 OR {1} AND {2} AND year = 6 OR {1} OR year = 7",
        "(year = 4 AND {1} OR {2} AND year = 5) AND year = 8",
        "CASE WHEN year = 4 AND {1} OR year = 3 THEN NOT {2} OR year = 9 ELSE {1} END AND year = 3",
    ] {
        let plain = form.replace("{1}", one).replace("{2}", two);
        let closed = form.replace("{1}", &format!("({one})")).replace("{2}", &format!("({two})"));
        let (plain, closed) = (filter(&plain), filter(&closed));
        assert_eq!(shape(&plain), shape(&closed), "{form}");
    }
}

/// The tree of a condition without parentheses.
fn shape(expr: &Expr) -> String {
    match bare(expr) {
        Expr::BinaryOp { left, op, right } => format!("[{} {op} {}]", shape(left), shape(right)),
        Expr::Case { conditions, else_result, .. } => {
            let branches =
                conditions.iter().map(|when| format!("{} {};", shape(&when.condition), shape(&when.result)));
            format!(
                "[{}{}]",
                branches.collect::<String>(),
                else_result.as_ref().map_or(String::new(), |last| shape(last))
            )
        }
        Expr::UnaryOp { op, expr } => format!("[{op} {}]", shape(expr)),
        other => other.to_string(),
    }
}

#[test]
fn syntax_errors_do_not_repeat_the_text() {
    for text in ["SELECT ward FROM patients WHERE year = 4711 4711", "SELECT 'secret-4711"] {
        let error = parse(&patients(), text).unwrap_err();
        assert!(!error.report().contains("4711"), "{}", error.report());
    }
}

#[test]
fn reports_name_place_reason_and_ways_out() {
    let error = parse(&patients(), "SELECT ward FROM patient").unwrap_err();
    assert_eq!(error.report(), "HUSH-P002 no table \"patient\"; this file's table is \"patients\".");
    let error = parse(&patients(), "SELECT 1 FROM patients a, patients b").unwrap_err();
    let expected =
        "HUSH-P005 FROM: a join or a second table is not supported.\n  Ways out: join before encrypting.";
    assert_eq!(error.report(), expected);
}

#[test]
fn constants_are_found_in_every_notation() {
    for text in ["x + 1", "concat(x, 'a')", "concat(x, E'a')", "concat(x, N'a')", "x = X'00'", "'unfinished"]
    {
        assert!(has_literal(text), "{text}");
    }
    for text in ["x", "\"it's 5\"", "CAST(x AS DECIMAL(38,0))", "MIN(x) + y"] {
        assert!(!has_literal(text), "{text}");
    }
}
