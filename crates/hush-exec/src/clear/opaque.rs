// SPDX-License-Identifier: Apache-2.0
//! Conditions into which the query engine does not look.
//!
//! Before a filter runs, the engine computes intervals of its columns, for estimates that nothing here needs, and fails where types differ:
//! for `k = 4 AND k * k <= 3`, whose product is a wider decimal. It does not look through a function that is not its own.

use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarUDF, Volatility, create_udf};

/// The same condition, as the value of a function.
pub(super) fn opaque(condition: Expr) -> Expr {
    static SELECTED: OnceLock<Arc<ScalarUDF>> = OnceLock::new();
    let selected = SELECTED.get_or_init(|| {
        let identity = |values: &[ColumnarValue]| {
            let internal = || DataFusionError::Internal("a condition is one value".to_owned());
            values.first().cloned().ok_or_else(internal)
        };
        let (boolean, stable) = (DataType::Boolean, Volatility::Immutable);
        Arc::new(create_udf("selected", vec![boolean.clone()], boolean, stable, Arc::new(identity)))
    });
    selected.call(vec![condition])
}
