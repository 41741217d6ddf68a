// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::schema::file::column_from_toml;
use crate::tables::patients;

fn of(change: impl FnOnce(&mut Alteration)) -> Alteration {
    let mut alteration = Alteration::default();
    change(&mut alteration);
    alteration
}

fn name(text: &str) -> String {
    text.to_owned()
}

fn dropping(columns: &[&str]) -> Alteration {
    of(|alteration| alteration.drop = columns.iter().map(|column| name(column)).collect())
}

fn renaming(from: &str, to: &str) -> Alteration {
    of(|alteration| alteration.rename = vec![(name(from), name(to))])
}

fn adding(text: &str) -> Alteration {
    of(|alteration| alteration.add = vec![column_from_toml(text).unwrap()])
}

fn widening(column: &str, low: &str, high: &str) -> Alteration {
    of(|alteration| alteration.widen = vec![(name(column), [name(low), name(high)])])
}

fn purposes(column: &str, further: &[Purpose]) -> Alteration {
    of(|alteration| alteration.purposes = vec![(name(column), further.to_vec())])
}

/// The fixture with sets of columns.
fn schema() -> Schema {
    let mut schema = patients();
    schema.products = vec![vec![name("age"), name("bp")], vec![name("bp"), name("visits")]];
    schema.moments = vec![vec![name("age"), name("bp"), name("visits")], vec![name("age"), name("bp")]];
    from_toml(&to_toml(&schema)).unwrap()
}

fn column<'a>(schema: &'a Schema, name: &str) -> &'a Column {
    schema.columns.iter().find(|column| column.name == name).unwrap()
}

/// Every alteration, asked for twice, is the same as once.
#[test]
fn an_alteration_once_more_changes_nothing() {
    let cases = [
        dropping(&["age", "note"]),
        renaming("age", "years"),
        adding(r#"height = { type = "int(16)", range = [0, 300], protect = "encrypt" }"#),
        adding(r#"id = { type = "text", protect = "seal" }"#),
        widening("age", "-5", "140"),
        widening("age", "0", "70000"),
        widening("charges", "0", "12345678901.5"),
        purposes("age", &[Purpose::Variance, Purpose::Sum]),
        of(|alteration| alteration.products = vec![vec![name("age"), name("age")]]),
        of(|alteration| alteration.moments = vec![vec![name("bp"), name("visits")]]),
        of(|alteration| {
            *alteration = renaming("age", "years");
            alteration.widen = widening("years", "0", "130").widen;
            alteration.drop = vec![name("seen")];
        }),
    ];
    for alteration in cases {
        let once = altered(&schema(), &alteration).unwrap();
        assert_ne!(once, schema(), "{alteration:?}");
        assert_eq!(altered(&once, &alteration).unwrap(), once, "{alteration:?}");
        assert!(once.approved);
    }
    assert_eq!(altered(&schema(), &Alteration::default()).unwrap(), schema());
}

#[test]
fn sets_of_columns_follow_their_columns() {
    let renamed = altered(&schema(), &renaming("bp", "pressure")).unwrap();
    assert_eq!(
        renamed.products,
        [vec![name("age"), name("pressure")], vec![name("pressure"), name("visits")]]
    );
    assert_eq!(renamed.moments[1], [name("age"), name("pressure")]);
    let dropped = altered(&schema(), &dropping(&["age"])).unwrap();
    assert_eq!(dropped.products, [vec![name("bp"), name("visits")]]);
    assert_eq!(dropped.moments, [vec![name("bp"), name("visits")]]);
    // Files may go on having it.
    assert_eq!(column(&dropped, "age").protect, Protection::Drop);
}

#[test]
fn added_columns_may_be_missing_and_stand_last() {
    let added = altered(&schema(), &adding(r#"id = { type = "text", protect = "seal" }"#)).unwrap();
    let last = added.columns.last().unwrap();
    assert_eq!((last.name.as_str(), last.nullable, last.protect), ("id", true, Protection::Seal));
    assert_eq!(added.columns.len(), schema().columns.len());
}

#[test]
fn types_widen_with_ranges_of_encrypted_columns() {
    let kind = |schema: &Schema, name: &str| type_name(column(schema, name).kind);
    let wide = altered(&schema(), &widening("age", "0", "200")).unwrap();
    assert_eq!((kind(&wide, "age").as_str(), column(&wide, "age").range.unwrap().high), ("int(16)", 200));
    let wide = altered(&schema(), &widening("charges", "0", "123456789012.34")).unwrap();
    assert_eq!(kind(&wide, "charges"), "decimal(14,2)");
    // The range of a clear column is for whoever computes with it as a weight; its type is that of its files.
    assert!(altered(&schema(), &widening("year", "1800", "2100")).is_ok());
    let refused = altered(&schema(), &widening("weight", "-10", "200")).unwrap_err();
    assert!(matches!(refused, AlterFault::Range { is_fixed: true, .. }), "{refused}");
}

#[test]
fn what_a_query_would_misunderstand_is_refused() {
    type Expected = fn(&AlterFault) -> bool;
    let cases: [(Alteration, Expected); 14] = [
        (renaming("age", "bp"), |fault| matches!(fault, AlterFault::Taken { dropped: false, .. })),
        (renaming("age", "BP"), |fault| matches!(fault, AlterFault::Taken { .. })),
        (renaming("age", "id"), |fault| matches!(fault, AlterFault::Taken { dropped: true, .. })),
        (renaming("agee", "x"), |fault| matches!(fault, AlterFault::NoColumn { .. })),
        (renaming("id", "x"), |fault| matches!(fault, AlterFault::Dropped { .. })),
        (adding(r#"Age = { type = "text", protect = "seal" }"#), |fault| {
            matches!(fault, AlterFault::Taken { .. })
        }),
        (adding(r#"x = { type = "text", protect = "DECIDE" }"#), |fault| {
            matches!(fault, AlterFault::Undecided { .. })
        }),
        (widening("age", "1", "120"), |fault| matches!(fault, AlterFault::Narrower { .. })),
        (widening("age", "0", "119"), |fault| matches!(fault, AlterFault::Narrower { .. })),
        (widening("age", "130", "0"), |fault| matches!(fault, AlterFault::Range { .. })),
        (widening("score", "0", "1"), |fault| matches!(fault, AlterFault::NoRange { .. })),
        (widening("smoker", "0", "1"), |fault| matches!(fault, AlterFault::NoRange { .. })),
        (purposes("note", &[Purpose::Sum]), |fault| matches!(fault, AlterFault::NotEncrypted { .. })),
        (of(|alteration| alteration.products = vec![vec![name("age"), name("ward")]]), |fault| {
            matches!(fault, AlterFault::Schema(_))
        }),
    ];
    for (alteration, expected) in cases {
        let refused = altered(&schema(), &alteration).unwrap_err();
        assert!(expected(&refused), "{alteration:?}: {refused}");
    }
    let all: Vec<String> = schema().columns.iter().map(|column| column.name.clone()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(altered(&schema(), &dropping(&all)).unwrap_err(), AlterFault::NoColumns);
}

/// A column that was there to be summed, counted and averaged without a word still is.
#[test]
fn purposes_are_added_to_those_that_go_without_saying() {
    let given = altered(&schema(), &purposes("visits", &[Purpose::Variance])).unwrap();
    assert_eq!(
        column(&given, "visits").purposes,
        [Purpose::Sum, Purpose::Avg, Purpose::Count, Purpose::Variance]
    );
    assert_eq!(altered(&schema(), &purposes("visits", &[Purpose::Avg])).unwrap(), schema());
}
