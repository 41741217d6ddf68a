// SPDX-License-Identifier: Apache-2.0
//! Copies of columns that the owner reads, and encoded columns that a server adds up.

use std::collections::{BTreeMap, BTreeSet};

use super::{Structure, Sums, Workload};
use crate::fetch;
use crate::layout::Needs;
use crate::needs::needs_of;
use crate::quantity::Quantity;
use crate::schema::{ColumnType, Protection, Purpose};
use crate::sql::Query;

/// For each query copies of the encrypted columns that it reads.
pub(super) fn copies(workload: &Workload<'_>) -> Vec<Structure> {
    let rows = workload.situation.rows.max(1);
    let mut found: Vec<Structure> = Vec::new();
    for query in workload.queries.iter().filter(|_| !workload.schema.edge) {
        let Ok(Some(read)) = fetch::compile(workload.schema, query, rows, &|_| true) else { continue };
        let encrypted = read.sealed.iter().filter(|column| column.protect == Protection::Encrypt);
        let names: BTreeSet<String> =
            encrypted.filter(|column| !column.has_copy()).map(|column| column.name.clone()).collect();
        let copies = Structure::Copies(names.clone());
        if !names.is_empty() && !found.contains(&copies) {
            found.push(copies);
        }
    }
    found
}

/// For each query the quantities that purposes do not ask for yet, as far as a schema can.
pub(super) fn sums(workload: &Workload<'_>) -> Vec<Structure> {
    let Ok(present) = Needs::of_purposes(workload.schema) else { return Vec::new() };
    let mut found: Vec<Structure> = Vec::new();
    for sums in workload.queries.iter().filter_map(|query| lacking(workload, query, &present)) {
        let sums = Structure::Sums(sums);
        if !found.contains(&sums) {
            found.push(sums);
        }
    }
    found
}

/// What a query needs beside what there is; `None` if that is nothing, or no schema says it.
fn lacking(workload: &Workload<'_>, query: &Query, present: &Needs) -> Option<Sums> {
    let needs = needs_of(workload.schema, std::slice::from_ref(query)).ok()?;
    let is_there = |wanted: &Quantity| present.sums.keys().any(|known| known.is_same(wanted));
    let missing: Vec<&Quantity> = needs.sums.keys().filter(|quantity| !is_there(quantity)).collect();
    let mut sums = Sums::default();
    let mut purposes: BTreeMap<String, BTreeSet<Purpose>> = BTreeMap::new();
    let mut give = |name: &str, purpose| purposes.entry(name.to_owned()).or_default().insert(purpose);
    let mut together = BTreeSet::new();
    for quantity in &missing {
        match quantity {
            Quantity::Square(name) => {
                give(name, Purpose::Stddev);
            }
            Quantity::Valid(name) | Quantity::Value(name) => {
                let column = workload.schema.columns.iter().find(|column| column.name == *name)?;
                let is_time = matches!(column.kind, ColumnType::Date | ColumnType::Timestamp);
                give(name, if is_time { Purpose::Count } else { Purpose::Sum });
            }
            Quantity::Monomial(factors) if factors.iter().all(|factor| Some(factor) == factors.first()) => {
                match (factors.first(), factors.len()) {
                    (Some(name), 3) => give(name, Purpose::Skewness),
                    (Some(name), 4) => give(name, Purpose::Kurtosis),
                    _ => sums.products.insert(factors.clone()),
                };
            }
            Quantity::Product(left, right) => {
                sums.products.insert(vec![left.clone(), right.clone()]);
            }
            Quantity::Monomial(factors) => {
                sums.products.insert(factors.clone());
            }
            // These go with their product, and with declared groups.
            Quantity::BothValid(..) | Quantity::InCells { .. } => {}
            // Queries ask for sums of quantities, not for what these are made of.
            Quantity::Combination(_) | Quantity::Flag(_) | Quantity::Holds(_) | Quantity::Limb { .. } => {
                return None;
            }
            Quantity::Log(factors) | Quantity::Negative(factors) | Quantity::Zero(factors) => {
                let [name] = factors.as_slice() else { return None };
                give(name, Purpose::Geomean);
            }
            Quantity::Where { .. } => {
                together.extend(quantity.columns().into_iter().map(str::to_owned));
            }
        }
    }
    for name in needs.programs.iter().flat_map(|program| &program.columns) {
        let column = workload.schema.columns.iter().find(|column| column.name == *name)?;
        if !column.purposes.contains(&Purpose::Product) {
            give(name, Purpose::Product);
        }
    }
    sums.purposes = purposes;
    if !together.is_empty() {
        sums.moments.insert(together.into_iter().collect());
    }
    (!sums.is_empty()).then_some(sums)
}
