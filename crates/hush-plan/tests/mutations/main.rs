// SPDX-License-Identifier: Apache-2.0
//! Texts that people and owners give: schema files, SQL, plans, encodings. Damaged copies of good ones are refused with a
//! typed error, or are values that print to what is accepted again and with which planning goes on; no copy ends in a panic.
//!
//! `tests/corpus/README.md` says what is in the files that this starts from.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod plans;
mod readers;
mod words;

use hush_testkit::{Corpus, CorpusFile};

use readers::{encodings, plan, query, read, schema, workload};

fn corpus() -> Corpus {
    Corpus::of(env!("CARGO_MANIFEST_DIR"))
}

/// All files for one reader as text, refused ones included but for long ones: copies of those take long and are refused.
fn texts(reader: &str) -> Vec<String> {
    let files = corpus().files().into_iter();
    let files = files.filter(|file| file.reader() == reader && file.bytes.len() < 3000);
    files.map(|file| String::from_utf8(file.bytes).unwrap()).collect()
}

/// What takes a line of a program to write.
fn dangerous() -> Vec<CorpusFile> {
    let query = |name: &str, code: &str, text: String| CorpusFile::refused(name, code, "sql", text);
    let schema = |name: &str, code: &str, text: String| CorpusFile::refused(name, code, "toml", text);
    let head = "format = 1\ntable = \"t\"\n";
    let column = "[columns.x]\ntype = \"int(8)\"\nprotect = \"clear\"\n";
    let select = |expression: &str| format!("SELECT {expression} FROM patients");
    vec![
        query(
            "query-deep-brackets",
            "HUSH-P012",
            select(&format!("{}1{}", "(".repeat(9000), ")".repeat(9000))),
        ),
        query("query-deep-not", "HUSH-P012", select(&format!("{}1", "NOT ".repeat(500)))),
        query("query-deep-casts", "HUSH-P012", select(&"CAST(".repeat(45))),
        query("query-deep-arrays", "HUSH-P012", select(&"ARRAY[".repeat(45))),
        query("query-deep-intervals", "HUSH-P012", select(&"INTERVAL ".repeat(45))),
        query("query-deep-name", "HUSH-P012", select(&"a.".repeat(45))),
        query("query-long-intervals", "HUSH-P012", select(&format!("{}'1' DAY", "INTERVAL ".repeat(7000)))),
        query("query-long-sum", "HUSH-P012", select(&format!("1{}", " + 1".repeat(9000)))),
        query("query-long-in", "HUSH-P012", select(&format!("year{}", " IN (1)".repeat(9000)))),
        query("query-long-ilike", "HUSH-P012", select(&format!("ward{}", " ILIKE 'a'".repeat(6000)))),
        query("query-long-similar", "HUSH-P012", select(&format!("ward{}", " SIMILAR TO 'a'".repeat(4000)))),
        query("query-long-union", "HUSH-P012", format!("SELECT 1{}", " UNION SELECT 1".repeat(4000))),
        query("query-long-text", "HUSH-P012", select(&"x".repeat(70_000))),
        schema(
            "schema-deep-array",
            "HUSH-S001",
            format!("{head}products = {}\n{column}", "[".repeat(60_000)),
        ),
        schema("schema-deep-key", "HUSH-S001", format!("{head}x{} = 1\n{column}", ".x".repeat(30_000))),
    ]
}

#[test]
fn what_earlier_versions_read_is_read_and_what_was_dangerous_is_refused() {
    let made: Vec<_> = plans::made().into_iter().chain(dangerous()).collect();
    corpus().check(&made, read);
}

#[test]
fn schemas_by_words_mutations() {
    let texts = texts("schema");
    let accepted = words::reworded("schema", 3000, &texts, &SCHEMA_WORDS, |text| schema(text).is_ok());
    assert!(accepted > 20, "{accepted}");
}

#[test]
fn schemas_by_bytes_mutations() {
    let mut codes = Vec::new();
    let accepted = corpus().damaged("schema", 400, |_, bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        schema(text).map_err(|code| codes.push(code)).is_ok()
    });
    codes.sort_unstable();
    codes.dedup();
    assert!(accepted.copies > 50 && codes.len() > 4, "{accepted:?} {codes:?}");
}

#[test]
fn queries_mutations() {
    let texts = texts("query");
    let accepted = words::reworded("query", 3000, &texts, &SQL_WORDS, |text| query(text).is_ok());
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn workloads_mutations() {
    let mut texts = texts("workload");
    texts.extend(self::texts("query"));
    words::reworded("workload", 500, &texts, &[";", ";;", "--", "/*", "*/", "\n", "'"], |text| {
        workload(text).is_ok()
    });
}

#[test]
fn plans_and_encodings_mutations() {
    for name in ["plan", "encodings"] {
        let reader = if name == "plan" { plan } else { encodings };
        let texts = texts(name);
        let accepted =
            words::reworded(name, 600, &texts, &PLAN_WORDS, |text| reader(text.as_bytes()).is_ok());
        assert!(accepted > 10, "{name}: {accepted}");
        for text in &texts {
            hush_testkit::damaged(name, 200, text.as_bytes(), |bytes| reader(bytes).is_ok());
        }
    }
}

const SCHEMA_WORDS: [&str; 40] = [
    "format",
    "table",
    "status",
    "approved_by",
    "unlisted",
    "null_tokens",
    "max_rows",
    "products",
    "columns",
    "type",
    "range",
    "nullable",
    "protect",
    "for",
    "reason",
    "\"int(64)\"",
    "\"decimal(38,38)\"",
    "\"decimal(38,0)\"",
    "\"float(15)\"",
    "\"float(0)\"",
    "\"date\"",
    "\"timestamp\"",
    "\"text\"",
    "\"category\"",
    "\"bool\"",
    "\"encrypt\"",
    "\"clear\"",
    "\"seal\"",
    "\"DECIDE\"",
    "true",
    "[",
    "]",
    "= ",
    "\n",
    "\n# ",
    "\"\"\"",
    "'''",
    "\"\\u0000\"",
    "2024-02-30",
    "\"0001-01-01\"",
];

const SQL_WORDS: [&str; 102] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "DISTINCT",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IS NULL",
    "IS NOT NULL",
    "IS DISTINCT FROM",
    "IN (1, NULL)",
    "IN ('a')",
    "BETWEEN 1 AND 2",
    "LIKE 'a%'",
    "LIKE '%!%' ESCAPE '!'",
    "CASE WHEN year > 1 THEN 2 ELSE 3 END",
    "CASE age WHEN 1 THEN 2 END",
    "CAST(year AS INT)",
    "CAST(age AS DECIMAL(38,10))",
    "CAST(charges AS DOUBLE)",
    "::int",
    "::text",
    "SUM(age)",
    "AVG(charges)",
    "COUNT(*)",
    "COUNT(DISTINCT ward)",
    "STDDEV(bp)",
    "VARIANCE(age)",
    "SKEWNESS(age)",
    "KURTOSIS_POP(year)",
    "SUM(age * weight)",
    "SUM(age * age)",
    "MIN(year)",
    "MAX(year)",
    "SUM(CASE WHEN year = 1 THEN age END)",
    "FILTER (WHERE year = 1)",
    "OVER ()",
    "COALESCE(year, 1)",
    "ABS(year)",
    "ROUND(AVG(age), 2)",
    "NULLIF(year, 0)",
    "UPPER(ward)",
    "SUBSTRING(ward FROM 1 FOR 2)",
    "EXTRACT(YEAR FROM admitted)",
    "DATE '2024-02-29'",
    "TIMESTAMP '2024-01-01'",
    "INTERVAL '1' DAY",
    "AT TIME ZONE 'UTC'",
    "COLLATE x",
    "UNION SELECT 1",
    "EXISTS (SELECT 1)",
    "(SELECT 1)",
    "JOIN patients ON TRUE",
    "(ward, age)",
    "IN ((ward, 1))",
    "= ANY (ARRAY[1, 2])",
    "> ALL (SELECT age FROM patients)",
    "COUNT_IF(year > 1)",
    "SUM(year > 1)",
    "SIGN(age)",
    "MOD(year, 2)",
    "STRING_AGG(ward, ',' ORDER BY age)",
    "ARG_MAX(year, age)",
    "DISTINCT ON (ward)",
    "ROLLUP (ward)",
    "FETCH FIRST 2 ROWS ONLY",
    "* EXCLUDE (age)",
    "WITH t AS (SELECT 1)",
    "ISNULL",
    "NOTNULL",
    "DIV",
    "ILIKE",
    "XOR",
    "||",
    "->",
    "@>",
    "~",
    "!",
    "%",
    "*",
    "/",
    "-",
    "=",
    "<>",
    "<=",
    "ward",
    "age",
    "charges",
    "score",
    "rate",
    "\"Odd Name\"",
    "p.",
    "note",
    "''",
    "\"\"",
    "?",
];

const PLAN_WORDS: [&str; 20] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "\"add\"",
    "\"clear\"",
    "\"column\"",
    "\"constant\"",
    "\"neg\"",
    ",",
    ":",
    "\"\\ud800\"",
    "{\"neg\":{\"column\":1}}",
    "\"and\"",
    "\"or\"",
    "\"not\"",
    "\"is\"",
    "{\"is\":{\"clear\":\"TRUE\"}}",
    "{\"and\":[{\"not\":{\"clear\":\"a\"}},{\"is\":{\"clear\":\"a\"}}]}",
];
