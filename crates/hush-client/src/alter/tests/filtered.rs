// SPDX-License-Identifier: Apache-2.0
//! Columns for conditions without keys that a table gets later.

use hush_plan::{Limits as QueryLimits, WayName};

use super::*;

/// A question by products, and by columns that come back.
fn by_both_ways(table: &Altered, sql: &str) -> [Vec<String>; 2] {
    [WayName::Filter, WayName::Fetch].map(|way| {
        let limits = QueryLimits { way: Some(way), ..QueryLimits::default() };
        let found = table.table().with_limits(limits).ask(sql, &Silent);
        texts(&found.unwrap_or_else(|error| panic!("{sql} by {}: {error}", way.name())).batches)
    })
}

/// Rows that are there get flags and limbs, and so do those that come later.
#[test]
fn columns_get_flags_and_limbs_when_they_are_asked_for() {
    let mut table = Altered::new(60);
    let purposes =
        vec![("load".to_owned(), vec![Purpose::Filter]), ("cost".to_owned(), vec![Purpose::Measure])];
    let report = table.alter(Alteration { purposes, ..Alteration::default() });
    assert!(report.changed && report.rows == 60, "{report:?}");
    let counted = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM t WHERE load >= 300 AND load < 700";
    let [found, right] = by_both_ways(&table, counted);
    assert_eq!(found, right);
    let measures = || Alteration { measures: vec!["cost * load".to_owned()], ..Alteration::default() };
    let product = "SELECT SUM(cost * load) AS s FROM t WHERE load < 500";
    // Until it is measured, the rows that match answer it.
    let limits = QueryLimits { way: Some(WayName::Filter), rows_of_slot: 0, ..QueryLimits::default() };
    assert!(table.table().with_limits(limits).ask(product, &Silent).is_err());
    let [found, right] = by_both_ways(&table, product);
    assert_eq!(found, right);
    assert_eq!(table.alter(measures()).rows, 60);
    assert!(!table.alter(measures()).changed);
    table.append(60..80, |_| Vec::new());
    for sql in [counted, product] {
        let [found, right] = by_both_ways(&table, sql);
        assert_eq!(found, right, "{sql}");
    }
    let refused = |text: &str| {
        let alteration = Alteration { measures: vec![text.to_owned()], ..Alteration::default() };
        table.try_alter(alteration).unwrap_err().code()
    };
    assert_eq!([refused("cost * nobody"), refused("cost *"), refused("note")], ["HUSH-C129"; 3]);
}
