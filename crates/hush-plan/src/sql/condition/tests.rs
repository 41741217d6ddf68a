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

/// The clear members, whether they are all, and the owner's condition with its columns.
fn parts(text: &str) -> (Option<String>, bool, String, Vec<String>) {
    let found = Condition::parse(&schema(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let clear = found.clear().map(|predicate| predicate.to_string());
    (clear, found.is_clear(), found.owned().predicate.to_string(), found.owned().columns.clone())
}

#[test]
fn members_over_clear_columns_are_for_everyone_and_the_whole_for_the_owner() {
    let (clear, is_clear, sql, columns) = parts("ward = 'a'");
    assert!(clear.is_some() && is_clear);
    assert_eq!((sql.as_str(), columns), ("\"ward\" = 'a'", vec!["ward".to_owned()]));
    let (clear, is_clear, sql, columns) = parts("WHERE id = 'x'");
    assert_eq!(
        (clear, is_clear, sql.as_str(), columns),
        (None, false, "\"id\" = 'x'", vec!["id".to_owned()])
    );
    let (clear, is_clear, sql, columns) =
        parts("where (ward = 'a' AND (id = 'x' AND year > 2020)) AND AGE + 1 > 5");
    let clear = clear.unwrap();
    assert!(clear.contains("\"ward\" = 'a'") && clear.contains("\"year\" > 2020"), "{clear}");
    assert!(!is_clear && !clear.contains("id") && !clear.contains("age"), "{clear}");
    assert_eq!(columns, ["age", "id", "ward", "year"]);
    assert!(sql.contains("\"id\" = 'x'") && sql.contains("\"age\" + 1 > 5"), "{sql}");
    // OR holds its members together.
    let (clear, is_clear, _, columns) = parts("ward = 'a' OR age = 5");
    assert_eq!((clear, is_clear, columns), (None, false, vec!["age".to_owned(), "ward".to_owned()]));
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
