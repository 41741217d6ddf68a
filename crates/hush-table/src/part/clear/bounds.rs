// SPDX-License-Identifier: Apache-2.0
//! Bounds of a column's values from the footer of a clear part, without reading a value.

// Bytes from outside are cut by pattern and `get`, numbers from outside added with care.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use arrow::array::{Array, ArrayRef, UInt64Array};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use super::{ClearPart, contain};
use crate::error::TableError;

/// Bounds of one column over all rows of a part. Each array has one entry for each run of rows that the file has
/// bounds of (the part's writer makes one run), of the column's type; NULL where nothing is known.
#[derive(Clone, Debug)]
pub struct ColumnBounds {
    /// No value is smaller.
    pub min: ArrayRef,
    /// No value is greater.
    pub max: ArrayRef,
    /// Number of NULLs.
    pub null_count: UInt64Array,
}

impl ClearPart {
    /// The bounds of a column (its position in the schema) in each run of rows; `None` if the file has no such column or
    /// no bounds of it that can be relied upon. Floating-point columns have none: the format leaves NaN out of its bounds,
    /// and has one zero. Texts whose bounds were cut have none either.
    ///
    /// # Errors
    /// [`TableError::Parquet`] if the footer does not read.
    ///
    /// # Cost
    /// Reads nothing: the footer was read when the part was opened.
    pub fn bounds(&self, column: usize) -> Result<Option<ColumnBounds>, TableError> {
        contain(self.digest, &self.source, || self.bounds_contained(column))
    }

    fn bounds_contained(&self, column: usize) -> Result<Option<ColumnBounds>, TableError> {
        let Some(field) = self.schema.fields().get(column) else { return Ok(None) };
        if field.data_type().is_floating() || field.data_type().is_nested() {
            return Ok(None);
        }
        let groups = self.footer().row_groups();
        let described = self.footer().file_metadata().schema_descr();
        let statistics = StatisticsConverter::try_new(field.name(), &self.schema, described);
        let converter =
            statistics.map_err(|cause| self.parquet(cause))?.with_missing_null_counts_as_zero(false);
        let read = || {
            let exact = [
                converter.row_group_is_min_value_exact(groups)?,
                converter.row_group_is_max_value_exact(groups)?,
            ];
            let bounds = ColumnBounds {
                min: converter.row_group_mins(groups)?,
                max: converter.row_group_maxes(groups)?,
                null_count: converter.row_group_null_counts(groups)?,
            };
            Ok((exact, bounds))
        };
        let (exact, bounds) = read().map_err(|cause| self.parquet(cause))?;
        let are_exact =
            exact.iter().all(|flags| flags.null_count() == 0 && flags.true_count() == flags.len());
        Ok(are_exact.then_some(bounds))
    }
}
