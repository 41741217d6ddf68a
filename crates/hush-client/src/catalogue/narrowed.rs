// SPDX-License-Identifier: Apache-2.0
//! Tables as the engine plans over them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableSource};

use crate::tokens::Tokens;

/// A table of the engine's that may leave out rows that do not meet a condition, and need not.
#[derive(Debug)]
pub(super) struct Narrowed {
    /// Its columns.
    pub(super) schema: SchemaRef,
    /// Its join keys.
    pub(super) tokens: Arc<Tokens>,
}

impl TableSource for Narrowed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

/// The join keys of what is scanned.
pub(super) fn tokens_of(source: &Arc<dyn TableSource>) -> Arc<Tokens> {
    source.downcast_ref::<Narrowed>().map(|narrowed| Arc::clone(&narrowed.tokens)).unwrap_or_default()
}
