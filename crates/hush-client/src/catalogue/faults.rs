// SPDX-License-Identifier: Apache-2.0
//! Refusals of the engine before any row is there: its words, which name columns and types and quote the question.

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use hush_plan::error::Clause;
use hush_plan::{PlanError, Schema};

use crate::error::ClientError;

/// The refusal of a plan over tables of these schemas.
pub(super) fn of_plan(error: &DataFusionError, schemas: &[&Schema]) -> ClientError {
    match error.find_root() {
        DataFusionError::External(source) => match source.downcast_ref::<PlanError>() {
            Some(refusal) => refusal.clone().into(),
            None => ClientError::Tables { what: source.to_string() },
        },
        DataFusionError::SchemaError(fault, _) => match &**fault {
            SchemaError::FieldNotFound { field, .. } => {
                let found = match &field.relation {
                    Some(table) => format!("{}.{}", table.table(), field.name),
                    None => field.name.clone(),
                };
                let tables: Vec<&str> = schemas.iter().map(|schema| schema.table.as_str()).collect();
                let (clause, table) = (Clause::Select, tables.join(", "));
                PlanError::UnknownColumn { clause, found, quoted: false, nearest: None, table }.into()
            }
            SchemaError::AmbiguousReference { field } => {
                let what = format!(
                    "several of them have a column {}\n  Way out: write the table before it, as in t.{}.",
                    field.name, field.name
                );
                ClientError::Tables { what }
            }
            fault => ClientError::Tables { what: fault.to_string() },
        },
        root => ClientError::Tables { what: root.message().into_owned() },
    }
}
