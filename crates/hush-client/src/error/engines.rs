// SPDX-License-Identifier: Apache-2.0
//! Errors of the engines that compute on values: their texts are dropped, because they may quote some.

use arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use hush_exec::{ExecError, OutcomeFault};

use super::ClientError;

impl From<ArrowError> for ClientError {
    fn from(_: ArrowError) -> Self {
        Self::Arrow
    }
}

impl From<DataFusionError> for ClientError {
    fn from(error: DataFusionError) -> Self {
        let what = match error.find_root() {
            DataFusionError::ArrowError(error, _) => match **error {
                ArrowError::DivideByZero => "a division by zero; guard it with NULLIF",
                ArrowError::ArithmeticOverflow(_) => "an overflow; cast to a wider type first",
                ArrowError::CastError(_) | ArrowError::ParseError(_) => "a value cannot be converted",
                _ => "the query engine refused a value",
            },
            DataFusionError::External(fault) if fault.is::<OutcomeFault>() => {
                return Self::Exec(ExecError::Outcome);
            }
            DataFusionError::ResourcesExhausted(_) => "it needs more memory than there is",
            DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
                "an expression over the results does not fit their types; cast them"
            }
            DataFusionError::NotImplemented(_) => {
                "the query engine does not have this function for these types"
            }
            _ => "the query engine refused it",
        };
        Self::Finish { what }
    }
}
