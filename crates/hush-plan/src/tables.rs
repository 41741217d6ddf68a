// SPDX-License-Identifier: Apache-2.0
//! Schemas for tests.

use crate::catalog::Catalog;
use crate::encoding::PrivateEncoding;
use crate::error::PlanError;
use crate::layout::{Needs, plan_encodings};
use crate::limits::{Limits, Shown};
use crate::needs::needs_of;
use crate::predict::Site;
use crate::schema::{Column, ColumnType, Protection, Purpose, Schema, UnitRange};
use crate::sql;
use crate::ways::{self, Case};

pub(crate) fn column(name: &str, kind: ColumnType, protect: Protection) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        nullable: false,
        range: None,
        protect,
        purposes: Vec::new(),
        reason: String::new(),
        written: crate::schema::Written::default(),
        join: None,
    }
}

pub(crate) fn ranged(mut column: Column, low: i128, high: i128) -> Column {
    column.range = Some(UnitRange { low, high });
    column
}

pub(crate) fn nullable(mut column: Column) -> Column {
    column.nullable = true;
    column
}

pub(crate) fn with_purposes(mut column: Column, purposes: &[Purpose]) -> Column {
    column.purposes = purposes.to_vec();
    column
}

pub(crate) fn schema(table: &str, columns: Vec<Column>) -> Schema {
    Schema {
        table: table.to_owned(),
        columns,
        null_tokens: Vec::new(),
        max_rows: 10_000,
        approved: true,
        approved_by: String::new(),
        notes: Vec::new(),
        products: Vec::new(),
        moments: Vec::new(),
        cubes: Vec::new(),
        groups: Vec::new(),
        runs: Vec::new(),
        filters: Vec::new(),
        derived: Vec::new(),
        measures: Vec::new(),
        filter_factors: None,
        answer_keys: false,
        constant_keys: false,
        edge: false,
        erasable: false,
        allow: crate::limits::Shown::ALL,
        release: None,
    }
}

/// The table of the main job, and one column of each other kind.
pub(crate) fn patients() -> Schema {
    use ColumnType::{Bool, Category, Date, Decimal, Float, Int, Text, Timestamp};
    use Protection::{Clear, Drop, Encrypt, Seal};
    schema(
        "patients",
        vec![
            column("ward", Category, Clear),
            ranged(nullable(column("year", Int { bits: 16 }, Clear)), 1900, 2100),
            ranged(nullable(column("age", Int { bits: 8 }, Encrypt)), 0, 120),
            ranged(column("charges", Decimal { precision: 12, scale: 2 }, Encrypt), 0, 999_999_999),
            ranged(nullable(column("bp", Int { bits: 16 }, Encrypt)), 0, 300),
            ranged(column("visits", Int { bits: 16 }, Encrypt), 0, 1000),
            ranged(column("disc", Decimal { precision: 3, scale: 2 }, Clear), 0, 100),
            ranged(nullable(column("weight", Int { bits: 8 }, Clear)), -10, 10),
            column("rate", Float { digits: 4 }, Clear),
            column("score", Float { digits: 3 }, Encrypt),
            column("smoker", Bool, Encrypt),
            column("born", Date, Encrypt),
            column("admitted", Date, Clear),
            column("seen", Timestamp, Encrypt),
            column("Odd Name", Int { bits: 32 }, Clear),
            column("note", Text, Seal),
            column("id", Text, Drop),
        ],
    )
}

/// Why no server can answer a query on the ciphertexts of a table of so many rows.
pub(crate) fn refusal(schema: &Schema, encodings: &[PrivateEncoding], rows: u64, text: &str) -> PlanError {
    let (query, site, limits) = (sql::parse(schema, text).unwrap(), Site::local(rows), Limits::default());
    let catalog = Catalog::new(schema, encodings, rows).unwrap();
    let case = Case {
        schema,
        catalog: &catalog,
        query: &query,
        limits: &limits,
        hide: Shown::default(),
        shape: &site.shape,
        round: None,
    };
    match ways::on_ciphertexts(&case) {
        Ok(_) => panic!("{text} has an answer"),
        Err(refusal) => refusal,
    }
}

/// Encodings that a query needs, over the schema's largest row count.
pub(crate) fn encodings_for(schema: &Schema, queries: &[&str]) -> Vec<PrivateEncoding> {
    let queries: Vec<_> = queries.iter().map(|text| sql::parse(schema, text).unwrap()).collect();
    encodings(schema, &needs_of(schema, &queries).unwrap(), schema.max_rows)
}

pub(crate) fn encodings(schema: &Schema, needs: &Needs, rows: u64) -> Vec<PrivateEncoding> {
    let mut next = 0u32;
    plan_encodings(schema, needs, rows, &mut || {
        next += 1;
        format!("{next:032x}")
    })
    .unwrap()
}
