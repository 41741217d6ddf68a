// SPDX-License-Identifier: Apache-2.0

use super::*;

const SCHEMA: &str = r#"format = 1
table = "visits"
status = "approved"
max_rows = 1000
[columns.id]
type = "text"
protect = "seal"
[columns.ward]
type = "category"
protect = "clear"
[columns.age]
type = "int(32)"
range = [0, 120]
protect = "encrypt"
[columns.year]
type = "int(32)"
protect = "clear"
[columns.note]
type = "text"
protect = "drop"
"#;

fn schema() -> Schema {
    crate::schema::file::from_toml(SCHEMA).unwrap()
}

fn parts(text: &str) -> (Option<String>, Option<(String, Vec<String>)>) {
    let found = Condition::parse(&schema(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let clear = found.clear().map(|predicate| predicate.to_string());
    (clear, found.owned().map(|owned| (owned.sql.clone(), owned.columns.clone())))
}

#[test]
fn members_over_clear_columns_are_for_the_server_and_the_others_for_the_owner() {
    let owned = |sql: &str, columns: &[&str]| {
        Some((sql.to_owned(), columns.iter().map(|name| (*name).to_owned()).collect()))
    };
    assert_eq!(parts("ward = 'a'").1, None);
    assert_eq!(parts("WHERE id = 'x'"), (None, owned("(\"id\" = 'x')", &["id"])));
    let (clear, rest) = parts("where (ward = 'a' AND (id = 'x' AND year > 2020)) AND AGE + 1 > 5");
    assert!(
        clear
            .as_ref()
            .is_some_and(|text| text.contains("\"ward\" = 'a'") && text.contains("\"year\" > 2020"))
    );
    let (sql, columns) = rest.unwrap();
    assert!(sql.starts_with("(\"id\" = 'x') AND (CAST(\"age\" AS DECIMAL(38,0)) + "), "{sql}");
    assert_eq!(columns, ["age", "id"]);
    // OR holds its members together.
    assert_eq!(parts("ward = 'a' OR age = 5").1.unwrap().1, ["age", "ward"]);
    assert_eq!(parts("ward = 'a' OR age = 5").0, None);
    assert_eq!(Condition::parse(&schema(), "where Age>5").unwrap().text(), "age > 5");
    // A name that begins as the word.
    assert_eq!(Condition::parse(&schema(), "wherever = 1").unwrap_err().code(), "HUSH-P003");
}

#[test]
fn what_is_no_condition_is_refused() {
    for text in [
        "",
        "1",
        "age",
        "age > 5) OR (TRUE",
        "age > 5) LIMIT 1 --",
        "age > 5 GROUP BY ward",
        "age > 5; DROP TABLE visits",
        "age IN (SELECT 1)",
        "SUM(age) > 5",
        "note = 'x'",
        "nobody = 1",
        "age = 'ten'",
        "ROW_NUMBER() OVER () = 1",
    ] {
        assert!(Condition::parse(&schema(), text).is_err(), "{text}");
    }
}
