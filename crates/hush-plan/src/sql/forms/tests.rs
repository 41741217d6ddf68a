// SPDX-License-Identifier: Apache-2.0
//! Forms as text, and what is refused before it is written out.

use super::super::statement::parse_query;
use crate::error::PlanError;

/// The query as text, which is the same query when it is read again: engines are given the text.
fn read(text: &str) -> Result<String, PlanError> {
    let query = parse_query(text)?;
    assert_eq!(parse_query(&query.to_string()), Ok(query.clone()), "{text}");
    Ok(query.to_string())
}

fn where_of(condition: &str) -> String {
    let text = read(&format!("SELECT n FROM t WHERE {condition}")).unwrap();
    text.strip_prefix("SELECT n FROM t WHERE ").unwrap().to_owned()
}

#[test]
fn rows_are_compared_part_by_part() {
    for (written, expected) in [
        ("(a, b) = (1, 2)", "((a) = (1) AND (b) = (2))"),
        ("((a, b)) <> (1, 2)", "((a) <> (1) OR (b) <> (2))"),
        ("(a, b) < (1, 2)", "((a) < (1) OR ((a) = (1) AND ((b) < (2))))"),
        ("(a, b) >= (1, 2)", "((a) > (1) OR ((a) = (1) AND ((b) >= (2))))"),
        (
            "(a, b, c) <= (1, 2, 3)",
            "((a) < (1) OR ((a) = (1) AND ((b) < (2) OR ((b) = (2) AND ((c) <= (3))))))",
        ),
        ("(a, b) IN ((1, 2), (3, 4))", "((((a) = (1) AND (b) = (2))) OR (((a) = (3) AND (b) = (4))))"),
        ("(a, b) NOT IN ((1, 2))", "(NOT ((((a) = (1) AND (b) = (2)))))"),
        ("x = ANY (ARRAY[1, 2])", "x IN (1, 2)"),
        ("x <> ALL (ARRAY[1, 2])", "x NOT IN (1, 2)"),
        ("x + 1 > ANY (ARRAY[1, 2])", "((x + 1) > 1 OR (x + 1) > 2)"),
        ("x < ALL (ARRAY[1, 2, y])", "((x) < 1 AND ((x) < 2 AND (x) < y))"),
        // What is printed means the same when it is read again.
        ("(a, b) NOT IN ((1, 2)) IS NULL", "(NOT ((((a) = (1) AND (b) = (2))))) IS NULL"),
        ("x <> ANY (ARRAY[y OR z, NOT w])", "((x) <> (y OR z) OR (x) <> (NOT w))"),
        ("x + 1 = ANY (ARRAY[2])", "(x + 1) IN (2)"),
        ("x < ALL (ARRAY[])", "(true)"),
        ("x = ANY (ARRAY[])", "(false)"),
        ("x = ANY (SELECT y FROM u)", "x IN (SELECT y FROM u)"),
        ("x <> ALL (SELECT y FROM u)", "x NOT IN (SELECT y FROM u)"),
        ("x > ALL (SELECT y FROM u)", "x > ALL(SELECT y FROM u)"),
        (
            "n > 1 AND (a, b) IN (SELECT c, d FROM u)",
            r#"n > 1 AND EXISTS (SELECT 1 FROM (SELECT c, d FROM u) AS "hush sought" ("hush sought 0", "hush sought 1") WHERE "hush sought"."hush sought 0" = (a) AND "hush sought"."hush sought 1" = (b))"#,
        ),
        // Where a part is NULL, IN is unknown, and EXISTS is not.
        ("NOT (a, b) IN (SELECT c, d FROM u)", "NOT (a, b) IN (SELECT c, d FROM u)"),
    ] {
        assert_eq!(where_of(written), expected, "{written}");
    }
}

#[test]
fn functions_of_dialects_are_written_out() {
    for (written, expected) in [
        ("MOD(a, b + 1)", r#"((a) % (b + 1)) AS "MOD(a, b + 1)""#),
        ("SIGN(a)", r#"CASE WHEN (a) > 0 THEN 1 WHEN (a) < 0 THEN -1 WHEN (a) = 0 THEN 0 END AS "SIGN(a)""#),
        ("IF(a > 1, b, c) AS d", "CASE WHEN a > 1 THEN b ELSE c END AS d"),
        ("COUNT_IF(a > 1)", r#"count(*) FILTER (WHERE a > 1) AS "COUNT_IF(a > 1)""#),
        ("COUNTIF(a) FILTER (WHERE b) AS n", "count(*) FILTER (WHERE (b) AND (a)) AS n"),
        ("COUNT_IF(a) OVER (ORDER BY b) AS n", "count(CASE WHEN a THEN 1 END) OVER (ORDER BY b) AS n"),
        ("SUM(a > 1) AS n", "SUM(CASE WHEN a > 1 THEN 1 WHEN NOT (a > 1) THEN 0 END) AS n"),
        ("AVG(a IS NULL) AS n", "AVG(CASE WHEN a IS NULL THEN 1 WHEN NOT (a IS NULL) THEN 0 END) AS n"),
        ("SUM(DISTINCT a > 1) AS n", "SUM(DISTINCT CASE WHEN a > 1 THEN 1 WHEN NOT (a > 1) THEN 0 END) AS n"),
        ("EVERY(a > 1) AS n", "bool_and(a > 1) AS n"),
        ("APPROX_COUNT_DISTINCT(a) AS n", "count(DISTINCT a) AS n"),
        ("APPROX_QUANTILE(a, 0.5) AS n", "quantile_cont(a, 0.5) AS n"),
        ("APPROX_MEDIAN(a) AS n", "median(a) AS n"),
        ("SUM(a), MOD(1, 2, 3), SUM(DISTINCT a)", "SUM(a), MOD(1, 2, 3), SUM(DISTINCT a)"),
    ] {
        assert_eq!(read(&format!("SELECT {written} FROM t")).unwrap(), format!("SELECT {expected} FROM t"));
    }
    let inner = "SELECT MAX(m) FROM (SELECT MOD(n, 3) AS m, 1 FROM t) AS u";
    let expected = "SELECT MAX(m) FROM (SELECT ((n) % (3)) AS m, 1 FROM t) AS u";
    assert_eq!(read(inner).unwrap(), expected);
}

#[test]
fn fetch_is_a_limit() {
    for (written, expected) in [
        ("FETCH FIRST 3 ROWS ONLY", "LIMIT 3"),
        ("FETCH NEXT ROW ONLY", "LIMIT 1"),
        ("OFFSET 2 FETCH FIRST 3 ROWS ONLY", "LIMIT 3 OFFSET 2"),
    ] {
        let found = read(&format!("SELECT n FROM t ORDER BY n {written}")).unwrap();
        assert_eq!(found, format!("SELECT n FROM t ORDER BY n {expected}"), "{written}");
    }
    for kept in ["FETCH FIRST 3 ROWS WITH TIES", "FETCH FIRST 3 PERCENT ROWS ONLY"] {
        assert!(read(&format!("SELECT n FROM t {kept}")).unwrap().contains("FETCH"), "{kept}");
    }
    assert!(read("SELECT n FROM t LIMIT 2 FETCH FIRST 3 ROWS ONLY").is_err());
}

#[test]
fn what_becomes_too_long_is_refused() {
    let refused = |text: &str| read(&format!("SELECT n FROM t WHERE {text}")).unwrap_err();
    assert_eq!(refused("(a, b) = (1, 2, 3)").code(), "HUSH-P005");
    assert_eq!(refused("(a, b) IN ((1, 2), (3))").code(), "HUSH-P005");
    // Ten levels of a hundred values: 100^10 comparisons.
    let list = vec!["1"; 100].join(", ");
    let deep = (0..10).fold("x".to_owned(), |inner, _| format!("({inner}) > ANY (ARRAY[{list}])"));
    assert_eq!(refused(&deep).code(), "HUSH-P012");
    let signs = (0..10).fold("x".to_owned(), |inner, _| format!("SIGN({inner})"));
    assert_eq!(refused(&format!("{signs} > 0")).code(), "HUSH-P012");
    // Two hundred rows have more operators than a query may have.
    let rows: Vec<String> = (0..200).map(|row| format!("({row}, {row})")).collect();
    assert_eq!(refused(&format!("(a, b) IN ({})", rows.join(", "))).code(), "HUSH-P012");
    let rows: Vec<String> = (0..60).map(|row| format!("({row}, {row})")).collect();
    assert!(where_of(&format!("(a, b) IN ({})", rows.join(", "))).len() < 3000);
}
